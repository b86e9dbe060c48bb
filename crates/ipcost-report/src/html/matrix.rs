//! What is known where, as a table whose fields are coloured: a row for each work or claim, a column for each group of hosts. It needs
//! no script, and scrolls within its own box while the names of its rows stay.

use super::text;
use crate::figures::claims::Known;

/// Rows with longer names, in characters, have room for a sentence.
const SENTENCE: usize = 30;
/// A field with several colours is divided into at most so many parts.
const PARTS: u64 = 12;

/// The table.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// What the names of the rows are.
    pub corner: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, in parts.
    pub parts: Vec<RowGroup>,
}

/// A column.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What else it is, line by line.
    pub lines: Vec<String>,
    /// Where its name leads to.
    pub link: Option<String>,
}

/// Rows that belong together.
#[derive(Debug, Clone, Default)]
pub struct RowGroup {
    /// What they have in common; empty for nothing.
    pub title: String,
    /// The rows.
    pub rows: Vec<MatrixRow>,
}

/// A row.
#[derive(Debug, Clone, Default)]
pub struct MatrixRow {
    /// Its name.
    pub name: String,
    /// Where its name leads to.
    pub link: Option<String>,
    /// A field for each column; `None` if nothing was measured there.
    pub fields: Vec<Option<MatrixField>>,
}

/// A field.
#[derive(Debug, Clone, Default)]
pub struct MatrixField {
    /// Its text.
    pub name: String,
    /// What stands beneath in small letters.
    pub small: String,
    /// Its colours, with the share of each.
    pub tints: Vec<(Tint, f64)>,
    /// Whether nothing is known, so that the whole field is hatched.
    pub is_open: bool,
}

/// A colour of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// Of a transport, by its place in the palette.
    Transport(usize),
    /// Of what is known of a claim.
    Claim(Known),
    /// Hatched: nothing is known.
    Open,
}

impl Tint {
    fn class(self) -> String {
        match self {
            Self::Transport(slot) => format!("t{slot}"),
            Self::Claim(Known::Open | Known::NotTested) | Self::Open => "hatched".to_owned(),
            Self::Claim(known) => format!("of-{}", known.class()),
        }
    }
}

impl Matrix {
    pub(super) fn render(&self) -> String {
        let columns: String = self.columns.iter().map(column).collect();
        let span = self.columns.len() + 1;
        let part = |part: &RowGroup| {
            let title = match part.title.is_empty() {
                true => String::new(),
                false => format!(
                    "<tr><th colspan=\"{span}\" scope=\"rowgroup\"><span>{}</span></th></tr>\n",
                    text(&part.title)
                ),
            };
            format!("<tbody>{title}{}</tbody>\n", part.rows.iter().map(row).collect::<String>())
        };
        let parts: String = self.parts.iter().map(part).collect();
        let names = self.parts.iter().flat_map(|part| &part.rows).map(|row| row.name.chars().count());
        let class = if names.max() > Some(SENTENCE) { "map matrix sentences" } else { "map matrix" };
        format!(
            "<div class=\"scroll\"><table class=\"{class}\">\n<thead><tr><th scope=\"col\">{}</th>{columns}</tr></thead>\n\
             {parts}</table></div>\n",
            text(&self.corner)
        )
    }
}

fn linked(name: &str, link: Option<&String>) -> String {
    match link {
        Some(link) => format!("<a href=\"{}\">{}</a>", text(link), text(name)),
        None => text(name),
    }
}

fn column(column: &Column) -> String {
    let lines: String = column.lines.iter().map(|line| format!("<small>{}</small>", text(line))).collect();
    format!("<th scope=\"col\"><b>{}</b>{lines}</th>", linked(&column.name, column.link.as_ref()))
}

fn row(row: &MatrixRow) -> String {
    let fields = row.fields.iter().map(|field| field.as_ref().map_or_else(|| "<td></td>".to_owned(), shown));
    let name = linked(&row.name, row.link.as_ref());
    format!("<tr><th scope=\"row\">{name}</th>{}</tr>\n", fields.collect::<String>())
}

fn shown(field: &MatrixField) -> String {
    let class = if field.is_open { "undecided" } else { "known" };
    let all: f64 = field.tints.iter().map(|(_, share)| share).sum();
    let tint = |(tint, share): &(Tint, f64)| {
        let parts = ((share / all * PARTS as f64).round() as u64).clamp(1, PARTS);
        format!("<i class=\"{} w{parts}\"></i>", tint.class())
    };
    let tints: String = field.tints.iter().map(tint).collect();
    let tints = if tints.is_empty() { tints } else { format!("<span class=\"tints\">{tints}</span>") };
    let small = match field.small.is_empty() {
        true => String::new(),
        false => format!("<small>{}</small>", text(&field.small)),
    };
    format!("<td class=\"{class}\">{tints}<b>{}</b>{small}</td>", text(&field.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_colours_of_their_shares_and_text_stays_text() {
        let evil = "<i onclick=\"a()\">";
        let field = MatrixField {
            name: evil.to_owned(),
            small: evil.to_owned(),
            tints: vec![(Tint::Transport(3), 3.0), (Tint::Open, 1.0)],
            is_open: false,
        };
        let open = MatrixField { name: "open".to_owned(), is_open: true, ..MatrixField::default() };
        let row = MatrixRow {
            name: evil.to_owned(),
            link: Some(evil.to_owned()),
            fields: vec![Some(field), None, Some(open)],
        };
        let column =
            Column { name: evil.to_owned(), lines: vec![evil.to_owned()], link: Some(evil.to_owned()) };
        let matrix = Matrix {
            corner: evil.to_owned(),
            columns: vec![column],
            parts: vec![RowGroup { title: evil.to_owned(), rows: vec![row] }],
        };
        let html = matrix.render();
        assert!(html.contains("<i class=\"t3 w9\"></i><i class=\"hatched w3\"></i>"), "{html}");
        assert!(html.contains("<td></td><td class=\"undecided\"><b>open</b></td>"), "{html}");
        assert!(!html.contains("<i onclick") && html.matches("&lt;i onclick=").count() == 9, "{html}");
    }
}
