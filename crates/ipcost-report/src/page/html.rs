//! A page as HTML, which loads nothing and needs no script.

use super::{Block, Claim, Column, Field, Frame, Page, Section, Table, Tone, Value};
use crate::html::{Fragment, site, text};

/// What the answer is called, and where links to it lead.
const ANSWER: (&str, &str) = ("words", "In plain words");
/// The same of how it was measured.
const NOTES: (&str, &str) = ("how", "How it was measured");

impl Page<'_> {
    /// As HTML: the answer first.
    pub fn html(&self) -> String {
        self.site().render()
    }

    /// As a page of a site, to which links may be added.
    pub fn site(&self) -> site::Page {
        let mut sections: Vec<site::Section> = Vec::new();
        let mut links = Vec::new();
        for ((id, title), part) in [(ANSWER, &self.answer), (("", ""), &self.blocks), (NOTES, &self.notes)] {
            // What stands alone has a section of its own, as the answer and the notes do.
            let (own, alone): (Vec<&Block<'_>>, Vec<&Block<'_>>) =
                part.iter().partition(|block| id.is_empty() && matches!(block, Block::Section(_)));
            if !alone.is_empty() {
                let title = if title.is_empty() { self.title.as_str() } else { title };
                let id = if id.is_empty() { "figures" } else { id };
                let section = alone.into_iter().fold(site::Section::new(id, title), block);
                links.push((format!("#{id}"), title.to_owned()));
                sections.push(section);
            }
            for block in own {
                if let Block::Section(inner) = block {
                    if !inner.id.is_empty() {
                        links.push((format!("#{}", inner.id), inner.title.clone()));
                    }
                    sections.push(section(inner));
                }
            }
        }
        site::Page {
            title: self.title.clone(),
            about: self.about.join(" · "),
            links,
            sections: sections
                .into_iter()
                .filter(|section| !section.is_empty())
                .map(site::Section::fragment)
                .collect(),
        }
    }

    /// All of it as one section of another page.
    pub fn fragment(&self, id: &str) -> Fragment {
        let section =
            self.about.iter().fold(site::Section::new(id, &self.title), |section, line| section.note(line));
        let parts = [&self.answer, &self.blocks, &self.notes];
        parts.into_iter().flatten().fold(section, block).fragment()
    }
}

fn section(section: &Section<'_>) -> site::Section {
    section.blocks.iter().fold(site::Section::new(&section.id, &section.title), block)
}

fn block(section: site::Section, block: &Block<'_>) -> site::Section {
    match block {
        Block::Section(inner) => {
            let all = |section: site::Section| inner.blocks.iter().fold(section, self::block);
            match (inner.id.is_empty(), inner.title.is_empty()) {
                (true, true) => all(section),
                (false, true) => section.part(all(site::Section::new(&inner.id, ""))),
                (_, false) => all(section.heading_at(&inner.id, &inner.title)),
            }
        }
        Block::Details(inner) => {
            section.folded(&inner.title, inner.blocks.iter().fold(site::Section::new("", ""), self::block))
        }
        Block::Paragraph(said) => match said.tone {
            Tone::Quiet | Tone::Open => section.note(&said.text),
            Tone::Caution => section.caution(&said.text),
            _ => section.paragraph(&said.text),
        },
        Block::List(entries) => {
            let entries: Vec<(Option<usize>, String)> =
                entries.iter().map(|said| (None, said.text.clone())).collect();
            section.sentences(&entries)
        }
        Block::Table(inner) => section.table(inner),
        Block::Figure(figure) => match (figure.draw)(Frame::Page) {
            Ok(picture) if figure.reading.is_empty() => section.picture(&picture),
            Ok(picture) => section.note(&figure.reading).picture(&picture),
            // A page without a picture still says everything.
            Err(_) => section,
        },
        Block::Claim(inner) => claim(section, inner),
        Block::Item(inner) => section.item(inner),
    }
}

fn claim(section: site::Section, claim: &Claim) -> site::Section {
    let badge = site::Badge { text: claim.text.clone(), known: claim.known, said: claim.said.clone() };
    let section = section.badges(&[badge]);
    claim.more.iter().fold(section, |section, line| section.note(line.trim()))
}

impl Table {
    /// As HTML that scrolls by itself where a screen is narrow.
    pub(crate) fn html(&self) -> String {
        let above = |column: &Column| format!("<th scope=\"col\">{}</th>", text(&column.title));
        let head: String = self.columns.iter().map(above).collect();
        let empty = Field::default();
        let row = |row: &Vec<Field>| {
            let fields = self.columns.iter().zip(row.iter().chain(std::iter::repeat(&empty)));
            format!("<tr>{}</tr>\n", fields.map(|(column, it)| field(it, column.folds)).collect::<String>())
        };
        let rows: String = self.rows.iter().map(row).collect();
        format!(
            "<div class=\"scroll\"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
        )
    }
}

fn field(field: &Field, folds: bool) -> String {
    let whole = field.value.text();
    let said = text(whole.trim_start_matches(' '));
    // A row under another begins with spaces, which HTML would drop.
    let indent = "&emsp;".repeat((whole.len() - whole.trim_start_matches(' ').len()) / 2);
    let inner = match &field.link {
        Some(link) => format!("<a href=\"{}\">{said}</a>", text(link)),
        None => said,
    };
    let folds = if folds { " folds" } else { "" };
    format!("<td class=\"{}{folds}\">{indent}{inner}</td>", class(&field.value, field.tone))
}

fn class(value: &Value, tone: Tone) -> &'static str {
    match (tone, value) {
        (Tone::Good, _) => "word cheaper",
        (Tone::Bad, _) => "word dearer",
        (Tone::Open, _) => "word open",
        (_, Value::Text(_) | Value::Brief(_) | Value::Empty) => "reason",
        (_, Value::Name(_) | Value::Flag(_)) => "name",
        (_, Value::Interval(..) | Value::CostInterval(..) | Value::Range(..)) => "interval",
        _ => "number",
    }
}
