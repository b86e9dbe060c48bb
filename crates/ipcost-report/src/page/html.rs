//! A page as HTML, which loads nothing and needs no script.

use super::{Block, ClaimBlock, Column, Field, FieldValue, Frame, Page, Section, Table, Tone};
use crate::html::{site, text};

/// What the answer is called, and where links to it lead.
const ANSWER: (&str, &str) = ("words", "In plain words");
/// The same of how it was measured.
const NOTES: (&str, &str) = ("how", "How it was measured");
/// So many links are at the top of a page.
const MOST_LINKS: usize = 16;
/// How many rows of a table are shown at once: a browser takes seconds to lay out thousands. The style counts the same way.
const MOST_ROWS: usize = 300;

impl Page<'_> {
    /// As HTML: the answer first.
    pub fn html(&self) -> String {
        self.site().render()
    }

    fn site(&self) -> site::SitePage {
        let mut sections: Vec<(String, String, site::SiteSection)> = Vec::new();
        for ((id, title), part) in [(ANSWER, &self.answer), (("", ""), &self.blocks), (NOTES, &self.notes)] {
            // What stands alone has a section of its own, as the answer and the notes do.
            let (own, alone): (Vec<&Block<'_>>, Vec<&Block<'_>>) =
                part.iter().partition(|block| id.is_empty() && matches!(block, Block::Section(_)));
            if !alone.is_empty() {
                let title = if title.is_empty() { self.title.as_str() } else { title };
                let id = if id.is_empty() { "figures" } else { id };
                let mut section = alone.into_iter().fold(site::SiteSection::new(id, title), block);
                if let Some(document) = self.document.filter(|_| id == NOTES.0) {
                    section = section.download(document);
                }
                sections.push((id.to_owned(), title.to_owned(), section));
            }
            for block in own {
                if let Block::Section(inner) = block {
                    sections.push((inner.id.clone(), inner.title.clone(), section(inner)));
                }
            }
        }
        sections.retain(|(_, _, section)| !section.is_empty());
        let links = sections.iter().filter(|(id, _, _)| !id.is_empty());
        let links = links.map(|(id, title, _)| (format!("#{id}"), title.clone())).take(MOST_LINKS).collect();
        site::SitePage {
            title: self.title.clone(),
            about: self.about.join(" · "),
            links,
            sections: sections.into_iter().map(|(_, _, section)| section).collect(),
        }
    }
}

fn section(section: &Section<'_>) -> site::SiteSection {
    section.blocks.iter().fold(site::SiteSection::new(&section.id, &section.title), block)
}

fn block(section: site::SiteSection, block: &Block<'_>) -> site::SiteSection {
    match block {
        Block::Section(inner) => {
            let all = inner.blocks.iter().fold(site::SiteSection::new(&inner.id, ""), self::block);
            match (inner.id.is_empty(), inner.title.is_empty()) {
                // A chart that has nothing to show leaves no heading behind.
                _ if all.is_empty() => section,
                (true, true) => section.with(all),
                (false, true) => section.part(all),
                (_, false) => section.heading_at(&inner.id, &inner.title).with(all),
            }
        }
        Block::Details(inner) => {
            let all = inner.blocks.iter().fold(site::SiteSection::new("", ""), self::block);
            if all.is_empty() { section } else { section.folded(&inner.title, all) }
        }
        Block::Paragraph(said) => match said.tone {
            Tone::Quiet | Tone::Open => section.note(&said.text),
            Tone::Caution => section.caution(&said.text),
            _ => section.paragraph(&said.text),
        },
        Block::List(entries) => section.sentences(entries.iter().map(|said| said.text.as_str())),
        Block::Table(inner) if inner.folded.is_empty() => section.table(inner),
        Block::Table(inner) => section.folded(inner.folded, site::SiteSection::new("", "").table(inner)),
        Block::Figure(figure) => match (figure.draw)(Frame::Page) {
            Ok(picture) if figure.reading.is_empty() => section.picture(&picture),
            Ok(picture) => section.note(&figure.reading).picture(&picture),
            // A page without a picture still says everything.
            Err(_) => section,
        },
        Block::Claim(inner) => claim(section, inner),
        Block::Item(inner) => section.item(inner),
        Block::Code(inner) => section.code(inner.language, &inner.text),
    }
}

fn claim(section: site::SiteSection, claim: &ClaimBlock) -> site::SiteSection {
    let badge = site::Badge { text: claim.text.clone(), known: claim.known, said: claim.said.clone() };
    let section = section.badges(&[badge]);
    claim.more.iter().fold(section, |section, line| section.note(line.trim()))
}

impl Table {
    /// As HTML that scrolls by itself where a screen is narrow. Boxes to tick show what is left out at first, without a script.
    pub(crate) fn html(&self) -> String {
        let shown = self.shown();
        let details = |place: usize| if self.columns[place].details { " more" } else { "" };
        let head: String = shown
            .iter()
            .map(|place| {
                let column = &self.columns[*place];
                let right = if column.right { "number" } else { "" };
                let title = text(&column.title);
                format!("<th scope=\"col\" class=\"{right}{}\">{title}</th>", details(*place))
            })
            .collect();
        let empty = Field::default();
        let row = |row: &Vec<Field>| {
            let fields =
                shown.iter().map(|place| field(row.get(*place).unwrap_or(&empty), &self.columns[*place]));
            format!("<tr>{}</tr>\n", fields.collect::<String>())
        };
        let rows: String = self.rows.iter().map(row).collect();
        let mut boxes = String::new();
        if shown.iter().any(|place| self.columns[*place].details) {
            // Side by side, more columns are more than a screen holds.
            let checked = if self.sides > 1 { "" } else { " checked" };
            boxes.push_str(&tick("columns", checked, "all columns"));
        }
        if self.rows.len() > MOST_ROWS {
            boxes.push_str(&tick("rows", "", &format!("all {} rows", self.rows.len())));
        }
        format!(
            "<div class=\"table\">{boxes}<div class=\"scroll\"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div></div>\n"
        )
    }
}

/// A box to tick.
fn tick(class: &str, checked: &str, what: &str) -> String {
    format!(
        "<label class=\"{class}\"><input type=\"checkbox\" autocomplete=\"off\"{checked}> {what}</label>\n"
    )
}

fn field(field: &Field, column: &Column) -> String {
    let whole = field.value.text();
    let said = text(whole.trim_start_matches(' '));
    // A row under another begins with spaces, which HTML would drop.
    let indent = "&emsp;".repeat((whole.len() - whole.trim_start_matches(' ').len()) / 2);
    let tone = match field.tone {
        Tone::Strong => "first",
        Tone::Quiet => "quiet",
        _ => "",
    };
    let of = |is: bool, class: &'static str| if is { class } else { "" };
    let classes = [
        class(field, column.right),
        of(column.right, "number"),
        of(column.folds, "folds"),
        of(column.details, "more"),
        tone,
    ];
    let classes: Vec<&str> = classes.into_iter().filter(|class| !class.is_empty()).collect();
    format!("<td class=\"{}\">{indent}{said}</td>", classes.join(" "))
}

fn class(field: &Field, right: bool) -> &'static str {
    match (field.tone, &field.value) {
        (Tone::Good, _) => "word cheaper",
        (Tone::Bad, _) => "word dearer",
        (Tone::Open, _) => "word open",
        _ if right => "",
        (_, FieldValue::Text(_) | FieldValue::Brief(_) | FieldValue::Empty) => "reason",
        (_, FieldValue::Name(_) | FieldValue::Flag(_)) => "name",
        (_, FieldValue::Interval(..) | FieldValue::CostInterval(..) | FieldValue::Range(..)) => "interval",
        _ => "number",
    }
}
