//! A page as Markdown, fit for a pull request.

use super::{Block, ClaimBlock, Item, Page, Paragraph, Section, Table, Tone};
use crate::markdown::{block, code, text};

/// Headings begin here: a pull request has a title already.
const FIRST_LEVEL: usize = 3;
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
    for each in all {
        match each {
            Block::Section(inner) => section(inner, level, out),
            Block::Details(inner) => details(inner, level, out),
            // A picture is a file of its own.
            Block::Figure(_) => {}
            Block::Paragraph(said) => add(out, &format!("{}\n", paragraph(said))),
            Block::List(entries) => {
                let entries: String = entries.iter().map(|said| format!("- {}\n", paragraph(said))).collect();
                add(out, &entries);
            }
            Block::Table(inner) => {
                add(out, &table(inner));
                add(out, format!("{}\n", text(&inner.terms)).trim_start());
            }
            Block::Claim(inner) => add(out, &claim(inner)),
            Block::Item(inner) => add(out, &item(inner)),
            Block::Code(inner) => add(out, &block(inner.language, &inner.text)),
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

fn claim(claim: &ClaimBlock) -> String {
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
    // Side by side there is room for what matters most.
    let has_room = |place: &usize| table.sides < 2 || !table.columns[*place].details;
    let shown: Vec<usize> = table.shown().into_iter().filter(has_room).collect();
    let columns = || shown.iter().map(|place| &table.columns[*place]);
    let head: String = columns().map(|column| format!(" {} |", text(&column.title))).collect();
    let rule: String = columns().map(|column| if column.right { "---:|" } else { "---|" }).collect();
    let row = |row: &Vec<super::Field>| {
        let field = |place: &usize| {
            let Some(field) = row.get(*place) else { return " |".to_owned() };
            let said = text(&field.value.text());
            if field.tone == Tone::Strong && !said.is_empty() {
                format!(" **{said}** |")
            } else {
                format!(" {said} |")
            }
        };
        format!("|{}\n", shown.iter().map(field).collect::<String>())
    };
    let rows: String = table.rows.iter().map(row).collect();
    format!("|{head}\n|{rule}\n{rows}")
}
