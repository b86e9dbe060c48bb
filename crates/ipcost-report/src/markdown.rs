//! Markdown as code hosts render it (GFM), fit for a pull request: what was found, one table a workload, and how it was
//! measured behind a fold.

use std::collections::BTreeSet;

use ipcost_model::{Document, WorkloadRecord};

use crate::numbers::three_digits;
use crate::page::Page;
use crate::rerun::{Rerun, rerun};
use crate::rows::{self, CellRow, Figures, Under};
use crate::words::{capitalised, escaped};
use crate::{over_pace, terminal, words};

const VERDICT: &str = "verdict";

/// The document as Markdown.
pub fn render(document: &Document) -> String {
    let mut out = String::new();
    let strata = words::strata(document);
    for tables in &strata {
        out.push_str(&format!("- {}\n", text(&words::sentence_of(document, tables))));
    }
    document.held_back().for_each(|found| out.push_str(&format!("- {}\n", text(found))));
    for tables in &strata {
        let (title, lines) = match tables[..] {
            [together, apart] => (words::work(together), beside(document, [together, apart])),
            _ => (words::workload(tables[0]), table(document, tables[0])),
        };
        out.push_str(&format!("\n### {}\n\n{lines}", text(&capitalised(&title))));
        if let Some(paces) = words::paces(document, tables) {
            out.push_str(&format!("\n{}\n", text(&paces)));
        }
    }
    for section in over_pace::sections(document) {
        let title = text(&section.title);
        let page = Page { blocks: section.blocks, ..Page::default() };
        out.push_str(&format!("\n### {title}\n\n{}", page.markdown()));
    }
    if !document.warnings.is_empty() {
        out.push_str("\n### Warnings\n\n");
        document.warnings.iter().for_each(|warning| out.push_str(&format!("- {}\n", text(&warning.message))));
    }
    out.push_str(&details(document));
    out
}

/// A workload alone.
fn table(document: &Document, table: &WorkloadRecord) -> String {
    let rows: Vec<CellRow<'_>> = rows::rows(document, table).collect();
    let measures: BTreeSet<&String> = rows.iter().flat_map(|row| row.cell.measures.keys()).collect();
    let (rate, _) = rows::titles(document, table);
    let mut titles: Vec<String> =
        ["transport", "cost", &rate, "CPU/op", "p50", "p99"].map(str::to_owned).to_vec();
    titles.extend(measures.iter().map(|name| text(name)));
    titles.extend([against(document, table), VERDICT.to_owned()]);
    let columns = titles.len();
    let mut out = head(&titles);
    for row in &rows {
        let fields = |figures: &Figures| {
            let known = [&figures.cost, &figures.rate, &figures.cpu, &figures.p50, &figures.p99];
            let measured = |name: &&String| row.cell.measures.get(*name).copied().map(three_digits);
            let more = measures.iter().map(|name| measured(name).unwrap_or_default());
            let mut fields: Vec<String> = known.map(String::clone).into_iter().chain(more).collect();
            fields.extend(judged(figures));
            fields
        };
        out.push_str(&line(&[vec![name(row, row.cheapest)], side(row, columns - 1, fields)].concat()));
        for (what, costs) in rows::beneath_each(std::slice::from_ref(row)) {
            out.push_str(&line(&beneath(what, &costs, columns - 1)));
        }
    }
    out
}

/// The same work on one core and on two.
fn beside(document: &Document, tables: [&WorkloadRecord; 2]) -> String {
    let sides = tables.map(|table| {
        let cores = words::cores(table.placement).to_owned();
        vec![cores, "CPU/op".to_owned(), against(document, table), VERDICT.to_owned()]
    });
    let columns = sides[0].len();
    let mut out = head(&[vec!["transport".to_owned()], sides.concat()].concat());
    let fields = |figures: &Figures| {
        let [ratio, verdict] = judged(figures);
        vec![figures.cost.clone(), figures.cpu.clone(), ratio, verdict]
    };
    for (one, two) in rows::rows(document, tables[0]).zip(rows::rows(document, tables[1])) {
        let name = name(&one, one.cheapest || two.cheapest);
        let both = [one, two];
        let sides = both.each_ref().map(|row| side(row, columns, fields));
        out.push_str(&line(&[vec![name], sides.concat()].concat()));
        for (what, costs) in rows::beneath_each(&both) {
            out.push_str(&line(&beneath(what, &costs, columns)));
        }
    }
    out
}

/// What the ratios of a table are to.
fn against(document: &Document, table: &WorkloadRecord) -> String {
    let label = |id| format!("× {}", text(&words::label(document, id)));
    table.baseline.as_deref().map_or("ratio".to_owned(), label)
}

fn name(row: &CellRow<'_>, strong: bool) -> String {
    let name = text(&row.name);
    if strong { format!("**{name}**") } else { name }
}

/// What a row says of one table; without figures, why there are none, in the last of so many columns.
fn side(row: &CellRow<'_>, columns: usize, fields: impl Fn(&Figures) -> Vec<String>) -> Vec<String> {
    if let Some(figures) = &row.figures {
        return fields(figures);
    }
    let mut missing = vec![String::new(); columns - 1];
    missing.push(text(&row.why_missing()));
    missing
}

/// The ratio with its interval, and the verdict.
fn judged(figures: &Figures) -> [String; 2] {
    [format!("{} {}", figures.ratio, figures.bounds).trim().to_owned(), text(&figures.verdict)]
}

/// A line beneath a row: its head, and under the first of so many columns of every side what it says there.
fn beneath(head: &str, sides: &[Option<&Under>], columns: usize) -> Vec<String> {
    let mut fields = vec![format!("… {head}")];
    for side in sides {
        let line = side.cloned().unwrap_or_default();
        fields.push(line.cost);
        fields.resize(fields.len() + columns - 3, String::new());
        fields.push(format!("{} {}", line.ratio, line.bounds).trim().to_owned());
        fields.push(line.verdict);
    }
    fields
}

/// The titles of a table, and the line beneath: words to the left, figures to the right.
fn head(titles: &[String]) -> String {
    let alignment = |title: &String| if title == "transport" || title == VERDICT { "---" } else { "---:" };
    let alignments: Vec<String> = titles.iter().map(|title| alignment(title).to_owned()).collect();
    line(titles) + &line(&alignments)
}

fn line(fields: &[String]) -> String {
    format!("| {} |\n", fields.join(" | "))
}

/// The machine, the method, and what to type to run it again.
fn details(document: &Document) -> String {
    let host = &document.host;
    let mut out = "\n<details>\n<summary>How this was measured</summary>\n\n".to_owned();
    let mut fact = |name: &str, value: &str| out.push_str(&format!("- {}: {}\n", text(name), text(value)));
    fact("run", &terminal::how(document));
    fact(
        "made by",
        &format!("{} {}, started {}", document.tool.name, document.tool.version, document.started),
    );
    fact("system", &format!("{} {}, {}", host.os, host.kernel, host.arch));
    fact("processor", &format!("{}, {} cores ({} physical)", host.cpu, host.cores, host.physical_cores));
    for (name, value) in &host.more {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        fact(&name.replace('_', " "), &value);
    }
    if let Some(Rerun { command, job_file }) = rerun(document) {
        if let Some(file) = job_file {
            out.push_str(&format!(
                "\nTo measure it again, save this as `job.toml`:\n\n{}",
                block("toml", &file)
            ));
            out.push_str(&format!("\nand run\n\n{}", block("sh", &command)));
        } else {
            out.push_str(&format!("\nTo measure it again:\n\n{}", block("sh", &command)));
        }
    }
    out.push_str("\n</details>\n");
    out
}

/// A block of code that no text can end.
fn block(kind: &str, code: &str) -> String {
    let fence = "`".repeat(longest_run_of_backticks(code).max(2) + 1);
    let lines: String = code.lines().map(|line| escaped(line) + "\n").collect();
    format!("{fence}{kind}\n{lines}{fence}\n")
}

fn longest_run_of_backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A command to copy, between more backticks than it has in a row.
pub fn code(command: &str) -> String {
    let safe = escaped(command).replace('\n', " ");
    let most = safe.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(most + 1);
    let space = if most > 0 { " " } else { "" };
    format!("{fence}{space}{safe}{space}{fence}")
}

/// Text that stays text: no markup, no HTML, no mention of people, no reference to issues, no link.
pub fn text(raw: &str) -> String {
    /// Takes no room, and parts what would be read together.
    const PART: &str = "&#8203;";
    let safe = escaped(raw);
    let mut out = String::with_capacity(safe.len());
    let mut rest = safe.as_str();
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' | '#' => out.push_str(&format!("{c}{PART}")),
            ':' if after.starts_with("//") => out.push_str(&format!(":{PART}")),
            '.' if out.to_ascii_lowercase().ends_with("www") => out.push_str(&format!("{PART}.")),
            '_' if out.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric) => {
                out.push(c)
            }
            // At the beginning it would number a list.
            '.' | ')'
                if after.starts_with(' ')
                    && !out.is_empty()
                    && out.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                out.extend(['\\', c])
            }
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '~' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn everything_is_shown() {
        insta::assert_snapshot!(render(&fixture::measured()));
    }

    #[test]
    fn one_core_and_two_stand_side_by_side() {
        let shown = render(&fixture::on_one_core_and_on_two());
        insta::assert_snapshot!(shown.split("<details>").next().unwrap());
    }

    #[test]
    fn text_stays_text() {
        for (raw, safe) in [
            ("a|b", "a\\|b"),
            ("`rm`", "\\`rm\\`"),
            ("<img src=x>", "&lt;img src=x&gt;"),
            ("two\nlines", "two\\\\nlines"),
            ("so_sndbuf=4096", "so_sndbuf=4096"),
            ("_it_ *is*", "\\_it\\_ \\*is\\*"),
            ("@torvalds #1", "@&#8203;torvalds #&#8203;1"),
            ("https://example.org www.example.org", "https:&#8203;//example.org www&#8203;.example.org"),
            ("&lt;", "&amp;lt;"),
            ("[a](b)", "\\[a\\](b)"),
        ] {
            assert_eq!(text(raw), safe);
        }
    }

    #[test]
    fn a_label_cannot_leave_its_field_or_the_fence() {
        let mut document = fixture::measured();
        let label = "x | y\n```\n</details> <script>";
        document.cells[0].label = label.to_owned();
        document.job.cells =
            vec![ipcost_model::Matrix { label: Some(label.to_owned()), ..Default::default() }];
        let shown = render(&document);
        let rows: Vec<usize> = shown
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.matches(" | ").count())
            .collect();
        assert!(rows.iter().all(|fields| fields == &rows[0]), "{shown}");
        let (before, fenced) =
            shown.split_once("````toml").expect("a fence that is longer than what it holds");
        assert!(!before.contains("<script>") && !before.contains("</details>"), "{shown}");
        assert!(fenced.lines().filter(|line| line.starts_with("````")).count() == 1, "{shown}");
    }
}
