//! Lines of Go's benchmark format, for benchstat and its kin: one line a cell and epoch.
//!
//! Source: the Go project's design document 14313, "Go Benchmark Data Format".

use std::collections::HashMap;

use ipcost_model::units::counted;
use ipcost_model::{CellRecord, Document, NATIVE, Pattern, Placement};

use crate::epochs::{self, EpochCost};
use crate::words::{capitalised, escaped};

/// What is taken of an epoch, by its unit.
type UnitValue = (&'static str, fn(&EpochCost) -> Option<f64>);

const VALUES: [UnitValue; 4] = [
    ("ns/op", |cost| Some(cost.wall_ns)),
    ("cpu-ns/op", |cost| cost.cpu_ns),
    ("sent-ns/op", |cost| cost.sent_ns),
    ("switches/op", |cost| cost.switches),
];

/// The document as benchmark lines. A value is the median over an epoch's rounds, since rounds are not independent and
/// epochs are: what compares the lines may treat them as a sample.
pub fn render(document: &Document) -> String {
    let mut out = comment(&format!(
        "ipcost {}, started {}, seed {}, {}",
        document.tool.version,
        document.started,
        document.seed,
        counted(document.schedule.epochs, "epoch")
    ));
    let host = &document.host;
    for (key, value) in [
        ("goos", host.os.as_str()),
        ("goarch", goarch(&host.arch)),
        ("cpu", &host.cpu),
        ("kernel", &host.kernel),
    ] {
        out.push_str(&format!("{key}: {}\n", escaped(value)));
    }
    for (unit, _) in VALUES {
        out.push_str(&format!("Unit {unit} better=lower\n"));
    }
    out.push('\n');
    let mut names = HashMap::new();
    for (cell, epochs) in document.cells.iter().zip(epochs::costs(document)) {
        let name = unique(name(cell), &mut names);
        if epochs.is_empty() {
            let reason = cell.reason.as_deref().unwrap_or("not measured");
            out.push_str(&comment(&format!("no {name}: {reason}")));
        }
        for cost in &epochs {
            out.push_str(&line(&name, host.cores, cost));
        }
    }
    out
}

fn line(name: &str, cores: u32, cost: &EpochCost) -> String {
    // The format's counts are signed.
    let mut line = format!("{name}-{} {}", cores.max(1), cost.ops.min(i64::MAX as u64));
    for (unit, value) in VALUES {
        if let Some(value) = value(cost) {
            line.push_str(&format!(" {value:?} {unit}"));
        }
    }
    line + "\n"
}

/// A line that readers of the format pass over.
fn comment(text: &str) -> String {
    format!("# {}\n", escaped(text))
}

/// The cell as a benchmark's name: what it does, then keys and values; what has its usual value is left out.
fn name(cell: &CellRecord) -> String {
    let mut name = format!("Benchmark{}", capitalised(cell.pattern.name()));
    let mut key = |key: &str, value: &str| name.push_str(&format!("/{key}={}", word(value)));
    key("transport", &cell.transport);
    key("size", &cell.size.to_string());
    if cell.pattern != Pattern::Stream && cell.reply != cell.size {
        key("reply", &cell.reply.to_string());
    }
    key("c", &cell.concurrency.to_string());
    if cell.placement != Placement::Free {
        key("placement", cell.placement.name());
    }
    if cell.client != NATIVE || cell.server != NATIVE {
        key("client", &cell.client);
        key("server", &cell.server);
    }
    for (setting, value) in cell.settings() {
        key(setting, &value);
    }
    if let Some(arm) = cell.arm {
        key("arm", arm.name());
    }
    if !cell.id.starts_with(&format!("{}/{}/", cell.pattern, cell.transport)) {
        // The job gave it a label.
        key("label", &cell.label);
    }
    name
}

/// Text that does not end a name, or a part of one.
fn word(text: &str) -> String {
    let plain = |c: char| if c.is_whitespace() || c.is_control() || c == '/' { '_' } else { c };
    escaped(&text.chars().map(plain).collect::<String>())
}

/// A name that occurs before is numbered, as Go's own benchmarks are.
fn unique(name: String, seen: &mut HashMap<String, u32>) -> String {
    let count = seen.entry(name.clone()).or_insert(0);
    *count += 1;
    if *count == 1 { name } else { format!("{name}#{:02}", *count - 1) }
}

/// An architecture as Go names it.
fn goarch(arch: &str) -> &str {
    match arch {
        "x86_64" => "amd64",
        "x86" => "386",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64",
        "loongarch64" => "loong64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_line_a_cell_and_epoch() {
        insta::assert_snapshot!(render(&fixture::measured()));
    }

    #[test]
    fn labels_become_one_word_and_stay_apart() {
        let mut document = fixture::measured();
        for (cell, label) in document.cells.iter_mut().zip(["a b", "a/b", "Unit x"]) {
            cell.transport = "unix".to_owned();
            cell.label = label.to_owned();
            cell.id = format!("{label}!");
        }
        let text = render(&document);
        assert!(text.contains("/label=a_b-2 "), "{text}");
        assert!(text.contains("/label=a_b#01-2 "), "{text}");
        assert!(text.lines().all(|line| !line.starts_with("Unit x")), "{text}");
    }
}
