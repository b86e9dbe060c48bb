//! A page as HTML, which loads nothing and needs no script.

use super::{Block, ClaimBlock, Column, Field, FieldValue, Frame, Item, Page, Section, Table, Tone};
use crate::html::{document, download, text};

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
        // What links lead to, the title and the body.
        let mut sections: Vec<(&str, &str, String)> = Vec::new();
        for ((id, title), part) in [(ANSWER, &self.answer), (("", ""), &self.blocks), (NOTES, &self.notes)] {
            // What stands alone has a section of its own, as the answer and the notes do.
            let (own, alone): (Vec<&Block<'_>>, Vec<&Block<'_>>) =
                part.iter().partition(|block| id.is_empty() && matches!(block, Block::Section(_)));
            if !alone.is_empty() {
                let title = if title.is_empty() { self.title.as_str() } else { title };
                let id = if id.is_empty() { "figures" } else { id };
                let document = self.document.filter(|_| id == NOTES.0).map(|document| {
                    download(document).unwrap_or_else(|| {
                        note("The document is too large for a page; --json FILE writes it.")
                    })
                });
                let body = alone.into_iter().map(block).chain(document).collect();
                sections.push((id, title, body));
            }
            for block in own {
                if let Block::Section(inner) = block {
                    sections.push((&inner.id, &inner.title, body(inner)));
                }
            }
        }
        sections.retain(|(.., body)| !body.is_empty());
        let links = sections.iter().filter(|(id, ..)| !id.is_empty()).take(MOST_LINKS);
        let link =
            |(id, title, _): &(&str, &str, String)| format!("<a href=\"#{}\">{}</a>", text(id), text(title));
        let section = |(id, title, body): &(&str, &str, String)| {
            format!(
                "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
                 <h2 id=\"{id}-title\">{}</h2>\n{body}</section>\n",
                text(title),
                id = text(id)
            )
        };
        let (links, sections): (String, String) =
            (links.map(link).collect(), sections.iter().map(section).collect());
        document(&self.title, &self.about.join(" · "), &links, &sections)
    }
}

fn body(section: &Section<'_>) -> String {
    section.blocks.iter().map(block).collect()
}

fn block(block: &Block<'_>) -> String {
    match block {
        Block::Section(inner) => {
            let (id, body) = (text(&inner.id), body(inner));
            match (id.is_empty(), inner.title.is_empty()) {
                // A chart that has nothing to show leaves no heading behind.
                _ if body.is_empty() => body,
                (true, true) => body,
                (false, true) => format!("<div id=\"{id}\">\n{body}</div>\n"),
                (true, false) => format!("<h3>{}</h3>\n{body}", text(&inner.title)),
                (false, false) => format!("<h3 id=\"{id}\">{}</h3>\n{body}", text(&inner.title)),
            }
        }
        Block::Details(inner) => {
            let body = body(inner);
            if body.is_empty() { body } else { folded(&inner.title, &body) }
        }
        Block::Paragraph(said) => match said.tone {
            Tone::Quiet | Tone::Open => note(&said.text),
            Tone::Caution => format!("<p class=\"caution\">{}</p>\n", text(&said.text)),
            _ => format!("<p>{}</p>\n", text(&said.text)),
        },
        Block::List(entries) => {
            let entries = entries.iter().map(|said| format!("<li>{}</li>\n", text(&said.text)));
            format!("<ul class=\"verdicts\">\n{}</ul>\n", entries.collect::<String>())
        }
        Block::Table(inner) => {
            let terms = if inner.terms.is_empty() { String::new() } else { note(&inner.terms) };
            let body = inner.html() + &terms;
            if inner.folded.is_empty() { body } else { folded(inner.folded, &body) }
        }
        Block::Figure(figure) => match (figure.draw)(Frame::Page) {
            Ok(picture) => {
                let reading = if figure.reading.is_empty() { String::new() } else { note(&figure.reading) };
                format!("{reading}<div class=\"published\">\n{}</div>\n", picture.inline())
            }
            // A page without a picture still says everything.
            Err(_) => String::new(),
        },
        Block::Claim(inner) => claim(inner),
        Block::Item(inner) => item(inner),
        Block::Code(inner) => {
            let lines = inner.text.lines().map(text).collect::<Vec<_>>().join("\n");
            format!("<pre class=\"{}\">{lines}</pre>\n", text(inner.language))
        }
    }
}

fn note(said: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", text(said))
}

fn folded(summary: &str, body: &str) -> String {
    format!("<details><summary>{}</summary>\n{body}</details>\n", text(summary))
}

fn claim(claim: &ClaimBlock) -> String {
    let more: String = claim.more.iter().map(|line| note(line.trim())).collect();
    format!(
        "<ul class=\"known\">\n<li>{}<span class=\"badge {}\">{}</span></li>\n</ul>\n{more}",
        text(&claim.text),
        claim.known.class(),
        text(&claim.said)
    )
}

fn item(item: &Item) -> String {
    let class = match item.tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Caution => "bends",
        Tone::Quiet | Tone::Open => "quiet",
        Tone::Plain | Tone::Strong => "plain",
    };
    let mut inner = format!("<p><span class=\"sign\">{}</span> {}</p>\n", item.sign, text(&item.text));
    if !item.why.is_empty() {
        inner.push_str(&note(&item.why));
    }
    if let Some(command) = &item.command {
        inner.push_str(&format!("<pre class=\"command\">{}</pre>\n", text(command)));
    }
    if let Some(advice) = &item.advice {
        inner.push_str(&format!("<p>→ {}</p>\n", text(advice)));
    }
    format!("<div class=\"item {class}\">\n{inner}</div>\n")
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
        (Tone::Bad, _) => "word worse",
        (Tone::Open, _) => "word open",
        _ if right => "",
        (_, FieldValue::Text(_) | FieldValue::Brief(_) | FieldValue::Empty) => "reason",
        (_, FieldValue::Name(_) | FieldValue::Flag(_)) => "name",
        (_, FieldValue::Interval(..) | FieldValue::CostInterval(..) | FieldValue::Range(..)) => "interval",
        _ => "number",
    }
}

#[cfg(test)]
mod tests {
    use ipcost_model::ClaimVerdict;

    use super::*;
    use crate::page::{Code, Paragraph};

    #[test]
    fn what_comes_from_outside_is_text_wherever_it_stands() {
        let evil = "<script>alert(1)</script>\"'&";
        let texts = || [Paragraph::plain(evil), Paragraph::quiet(evil), Paragraph::caution(evil)];
        let claim = ClaimBlock {
            text: evil.to_owned(),
            known: ClaimVerdict::Holds,
            said: evil.to_owned(),
            more: vec![evil.to_owned()],
            unfolded: false,
        };
        let item = Item {
            text: evil.to_owned(),
            why: evil.to_owned(),
            command: Some(evil.to_owned()),
            advice: Some(evil.to_owned()),
            ..Item::default()
        };
        let table = || {
            let field = Field::from(evil).toned(Tone::Bad);
            Table::new(&[Column::text("").titled(evil)]).rows([vec![field]])
        };
        let inner = || Section::new(evil, evil).with_all(texts());
        let section = Section::new(evil, evil)
            .with_all(texts())
            .with(claim)
            .with(item)
            .with(table())
            .with(Code { language: "sh", text: evil.to_owned() })
            .with(Block::List(texts().to_vec()))
            .with(inner().open())
            .with(Section::new(evil, "").with_all(texts()).open())
            .with(inner().folded());
        let mut page = Page::new(evil);
        page.about.push(evil.to_owned());
        page.blocks.push(section.open());
        let html = page.html();
        assert!(!html.contains("<script") && !html.contains("\"'&"), "{html}");
        assert_eq!(html.matches("&lt;script&gt;").count(), 38, "{html}");
    }
}
