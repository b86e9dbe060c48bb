//! Markdown as code hosts render it (GFM), fit for a pull request: what was found, one table a workload, and how it was
//! measured behind a fold.

use std::collections::{BTreeSet, HashMap};

use ipcost_model::{CellRecord, ContrastRecord, Document, Metric, Pattern, WorkloadRecord};

use crate::numbers::{rate, ratio, three_digits, throughput, time};
use crate::rows;
use crate::words::{capitalised, escaped};
use crate::{again, terminal, words};

/// The document as Markdown.
pub fn render(document: &Document) -> String {
    let sheet = Sheet::of(document);
    let mut out = String::new();
    for table in &document.workloads {
        out.push_str(&format!("- {}\n", text(&words::sentence(document, table))));
    }
    for table in &document.workloads {
        out.push_str(&format!("\n### {}\n\n", text(&capitalised(&words::workload(table)))));
        sheet.table(table, &mut out);
    }
    if !document.warnings.is_empty() {
        out.push_str("\n### Warnings\n\n");
        document.warnings.iter().for_each(|warning| out.push_str(&format!("- {}\n", text(&warning.message))));
    }
    out.push_str(&details(document));
    out
}

/// A document's cells and contrasts, found by id.
struct Sheet<'a> {
    cells: HashMap<&'a str, &'a CellRecord>,
    contrasts: HashMap<&'a str, &'a ContrastRecord>,
}

impl<'a> Sheet<'a> {
    fn of(document: &'a Document) -> Self {
        let cells = document.cells.iter().map(|cell| (cell.id.as_str(), cell)).collect();
        let mut contrasts = HashMap::new();
        for contrast in document.contrasts.iter().filter(|contrast| contrast.metric == Metric::Wall) {
            contrasts.entry(contrast.a.as_str()).or_insert(contrast);
        }
        Self { cells, contrasts }
    }

    fn label(&self, id: &str) -> String {
        text(self.cells.get(id).map_or(id, |cell| &cell.label))
    }

    fn table(&self, table: &WorkloadRecord, out: &mut String) {
        let cells: Vec<&CellRecord> =
            table.cells.iter().filter_map(|id| self.cells.get(id.as_str()).copied()).collect();
        let measures: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.measures.keys()).collect();
        let against =
            table.baseline.as_deref().map_or("ratio".to_owned(), |id| format!("× {}", self.label(id)));
        let rate = if table.pattern == Pattern::Stream { "bytes/s" } else { "ops/s" };
        let mut titles: Vec<String> =
            ["transport", "cost", rate, "CPU/op", "p50", "p99"].map(str::to_owned).to_vec();
        titles.extend(measures.iter().map(|name| text(name)));
        titles.extend([against, "verdict".to_owned()]);
        out.push_str(&line(&titles));
        let alignments: Vec<String> = (0..titles.len())
            .map(|index| if index == 0 || index + 1 == titles.len() { "---" } else { "---:" }.to_owned())
            .collect();
        out.push_str(&line(&alignments));
        for cell in cells {
            self.rows(table, cell, &measures, out);
        }
    }

    fn rows(
        &self,
        table: &WorkloadRecord,
        cell: &CellRecord,
        measures: &BTreeSet<&String>,
        out: &mut String,
    ) {
        let columns = 8 + measures.len();
        let (Some(cost), true) = (cell.wall_ns_per_op, cell.available) else {
            let mut row = vec![text(&cell.label)];
            row.resize(columns - 1, String::new());
            row.push(match &cell.reason {
                Some(reason) => format!("unavailable: {}", text(reason)),
                None => "not measured".to_owned(),
            });
            return out.push_str(&line(&row));
        };
        let rate = match cell.pattern {
            Pattern::Stream => cell.bytes_per_s.map(throughput),
            _ => cell.ops_per_s.map(rate),
        };
        let winner = table.fastest.as_ref().is_some_and(|fastest| fastest.claimed && fastest.cell == cell.id);
        let label = text(&cell.label);
        let (times, verdict) = self.judged(table, cell);
        let mut row = vec![
            if winner { format!("**{label}**") } else { label },
            time(cost.median),
            rate.unwrap_or_default(),
            cell.cpu_ns_per_op.map(|cpu| time(cpu.median)).unwrap_or_default(),
            cell.latency_ns.map(|summary| time(summary.p50 as f64)).unwrap_or_default(),
            cell.latency_ns.map(|summary| time(summary.p99 as f64)).unwrap_or_default(),
        ];
        row.extend(
            measures
                .iter()
                .map(|name| cell.measures.get(*name).copied().map(three_digits).unwrap_or_default()),
        );
        row.extend([times, verdict]);
        out.push_str(&line(&row));
        for (what, cost) in rows::beneath(cell) {
            let mut row = vec![format!("… {what}"), cost];
            row.resize(columns, String::new());
            out.push_str(&line(&row));
        }
    }

    /// The ratio with its interval, and the verdict.
    fn judged(&self, table: &WorkloadRecord, cell: &CellRecord) -> (String, String) {
        if table.baseline.as_ref() == Some(&cell.id) {
            return ("1".to_owned(), "baseline".to_owned());
        }
        let Some(contrast) = self.contrasts.get(cell.id.as_str()) else { return Default::default() };
        let bounds = words::bounds_text(contrast);
        let mut verdict = contrast.verdict.to_string();
        if table.baseline.as_ref() != Some(&contrast.b) {
            verdict.push_str(&format!(" (× {})", self.label(&contrast.b)));
        }
        (format!("{} {bounds}", ratio(contrast.ratio)), verdict)
    }
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
    let (kind, job) = again::job(document);
    let fence = "`".repeat(longest_run_of_backticks(&job).max(2) + 1);
    let how = if kind == "toml" {
        "To run it again: `ipcost run job.toml` with this as `job.toml`"
    } else {
        "The job"
    };
    out.push_str(&format!("\n{how}:\n\n{fence}{kind}\n{job}{fence}\n\n</details>\n"));
    out
}

fn longest_run_of_backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Text that stays text: no markup, no HTML, no mention of people, no reference to issues, no link.
fn text(raw: &str) -> String {
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
