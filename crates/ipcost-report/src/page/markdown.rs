//! A page as Markdown, fit for a pull request.

use super::{Block, Claim, Item, Page, Paragraph, Section, Table, Tone};
use crate::markdown::{code, text};

/// Headings begin here: a pull request has a title already.
const FIRST_LEVEL: usize = 3;
/// And end here.
const LAST_LEVEL: usize = 6;

impl Page<'_> {
    /// As Markdown: the answer first.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        if !self.title.is_empty() {
            out.push_str(&format!("**{}**\n", text(&self.title)));
        }
        let about: String = self.about.iter().map(|line| format!("- {}\n", text(line))).collect();
        add(&mut out, &about);
        for part in [&self.answer, &self.blocks, &self.notes] {
            blocks(part, FIRST_LEVEL, &mut out);
        }
        out
    }
}

/// Adds a block after an empty line.
fn add(out: &mut String, block: &str) {
    if block.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(block);
}

fn blocks(all: &[Block<'_>], level: usize, out: &mut String) {
    for block in all {
        match block {
            Block::Section(inner) => section(inner, level, out),
            Block::Details(inner) => details(inner, level, out),
            // A picture is a file of its own.
            Block::Figure(_) => {}
            Block::Paragraph(said) => add(out, &format!("{}\n", paragraph(said))),
            Block::List(entries) => {
                let entries: String = entries.iter().map(|said| format!("- {}\n", paragraph(said))).collect();
                add(out, &entries);
            }
            Block::Table(inner) => add(out, &table(inner)),
            Block::Claim(inner) => add(out, &claim(inner)),
            Block::Item(inner) => add(out, &item(inner)),
        }
    }
}

fn section(section: &Section<'_>, level: usize, out: &mut String) {
    let mut inner = String::new();
    blocks(&section.blocks, (level + 1).min(LAST_LEVEL), &mut inner);
    if inner.is_empty() {
        return;
    }
    if !section.title.is_empty() {
        add(out, &format!("{} {}\n", "#".repeat(level), text(&section.title)));
    }
    add(out, &inner);
}

fn details(section: &Section<'_>, level: usize, out: &mut String) {
    let mut inner = String::new();
    blocks(&section.blocks, level, &mut inner);
    if !inner.is_empty() {
        // GitHub reads Markdown in it after an empty line.
        let summary = text(&section.title);
        add(out, &format!("<details><summary>{summary}</summary>\n\n{inner}\n</details>\n"));
    }
}

fn paragraph(said: &Paragraph) -> String {
    let safe = text(said.text.trim());
    match said.tone {
        Tone::Strong | Tone::Caution => format!("**{safe}**"),
        _ => safe,
    }
}

fn claim(claim: &Claim) -> String {
    let more: String = claim.more.iter().map(|line| format!("  - {}\n", text(line.trim()))).collect();
    format!("- {}: {}\n{more}", text(&claim.text), text(&claim.said))
}

fn item(item: &Item) -> String {
    let mut out = format!("- {} {}\n", item.sign, text(item.text.trim()));
    let mut add = |line: &str| out.push_str(&format!("  - {line}\n"));
    if !item.why.is_empty() {
        add(&text(item.why.trim()));
    }
    if let Some(command) = &item.command {
        add(&code(command));
    }
    if let Some(advice) = &item.advice {
        add(&text(advice.trim()));
    }
    out
}

fn table(table: &Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let head: String = table.columns.iter().map(|column| format!(" {} |", text(&column.title))).collect();
    let rule: String =
        table.columns.iter().map(|column| if column.right { "---:|" } else { "---|" }).collect();
    let row = |row: &Vec<super::Field>| {
        let field = |index: usize| row.get(index).map(|field| text(&field.value.text())).unwrap_or_default();
        let fields: String = (0..table.columns.len()).map(|index| format!(" {} |", field(index))).collect();
        format!("|{fields}\n")
    };
    let rows: String = table.rows.iter().map(row).collect();
    format!("|{head}\n|{rule}\n{rows}")
}
