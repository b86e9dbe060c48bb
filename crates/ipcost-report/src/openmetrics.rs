//! OpenMetrics text: what a monitoring system scrapes. It is also valid in Prometheus's older text format, so that it
//! can lie in a directory from which an agent collects.
//!
//! Source: the OpenMetrics specification 1.0.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_model::{CellRecord, ContrastRecord, Document, Estimate, LatencySummary, UsagePerOp};

use crate::words::escaped;

const SECOND_NS: f64 = 1e9;

/// The document's cells and contrasts as metrics, all gauges but the summary of latencies.
pub fn render(document: &Document) -> String {
    let mut out = Exposition::default();
    run(document, &mut out);
    document.cells.iter().for_each(|cell| self::cell(cell, &mut out));
    document.contrasts.iter().for_each(|contrast| self::contrast(contrast, &mut out));
    out.text()
}

fn run(document: &Document, out: &mut Exposition) {
    let host = &document.host;
    let about = [
        ("version", document.tool.version.as_str()),
        ("started", &document.started),
        ("seed", &document.seed.to_string()),
        ("stopped", document.stopped.name()),
        ("os", &host.os),
        ("kernel", &host.kernel),
        ("arch", &host.arch),
        ("cpu", &host.cpu),
    ];
    out.gauge("ipcost_run_info", "", "The run, and the machine it was made on.", &labels(&about), 1.0);
    out.gauge("ipcost_run_elapsed_seconds", "seconds", "How long the run took.", "", document.elapsed_s);
    out.gauge("ipcost_run_warnings", "", "How many warnings it gave.", "", document.warnings.len() as f64);
}

fn cell(cell: &CellRecord, out: &mut Exposition) {
    let size = cell.size.to_string();
    let reply = cell.reply.to_string();
    let concurrency = cell.concurrency.to_string();
    let about = labels(&[
        ("cell", &cell.id),
        ("label", &cell.label),
        ("pattern", cell.pattern.name()),
        ("transport", &cell.transport),
        ("size", &size),
        ("reply", &reply),
        ("concurrency", &concurrency),
        ("placement", cell.placement.name()),
        ("client", &cell.client),
        ("server", &cell.server),
    ]);
    let available = if cell.available { 1.0 } else { 0.0 };
    out.gauge("ipcost_cell_available", "", "Whether the cell could be measured here.", &about, available);
    out.gauge("ipcost_cell_epochs", "", "Complete epochs.", &about, cell.epochs.into());
    estimate(out, "wall", "Elapsed time for one operation", &about, cell.wall_ns_per_op);
    estimate(
        out,
        "cpu",
        "User and system time of both processes for one operation",
        &about,
        cell.cpu_ns_per_op,
    );
    estimate(
        out,
        "sent",
        "Time until the last send returned, for one operation",
        &about,
        cell.sent_ns_per_op,
    );
    if let Some(wait_ns) = cell.wait_ns {
        let help = "What a burst takes besides its operations, however many they are.";
        out.gauge("ipcost_wait_seconds", "seconds", help, &about, wait_ns / 1e9);
    }
    if let Some(rate) = cell.bytes_per_s {
        let help = "Payload bytes a second, both directions, from the median of wall.";
        out.gauge("ipcost_payload_bytes_per_second", "bytes_per_second", help, &about, rate);
    }
    if let Some(summary) = &cell.latency_ns {
        latency(out, &about, summary);
    }
    if let Some(used) = &cell.usage_per_op {
        usage(out, &about, used);
    }
    for (name, value) in &cell.measures {
        let help = "What else was measured, by name: median over epochs, for one operation unless it ends in _per_call.";
        out.gauge("ipcost_operation_measure", "", help, &and(&about, &[("measure", name)]), *value);
    }
}

fn estimate(out: &mut Exposition, what: &str, help: &str, about: &str, estimate: Option<Estimate>) {
    let Some(Estimate { median, lo, hi }) = estimate else { return };
    for (part, told, value) in [
        ("", "median over epochs", Some(median)),
        ("_lower", "the lower end of its interval", lo),
        ("_upper", "the upper end of its interval", hi),
    ] {
        if let Some(value) = value {
            let name = format!("ipcost_operation_{what}{part}_seconds");
            out.gauge(&name, "seconds", &format!("{help}: {told}."), about, value / SECOND_NS);
        }
    }
}

fn latency(out: &mut Exposition, about: &str, summary: &LatencySummary) {
    let help = "The operations' own latencies.";
    let name = "ipcost_operation_latency_seconds";
    for (quantile, ns) in
        [("0.5", summary.p50), ("0.9", summary.p90), ("0.99", summary.p99), ("0.999", summary.p999)]
    {
        let labels = and(about, &[("quantile", quantile)]);
        out.put(name, Kind { kind: "summary", unit: "seconds", help }, "", &labels, ns as f64 / SECOND_NS);
    }
    out.put(name, Kind { kind: "summary", unit: "seconds", help }, "_count", about, summary.count as f64);
    let help = "The largest latency seen.";
    out.gauge("ipcost_operation_latency_max_seconds", "seconds", help, about, summary.max as f64 / SECOND_NS);
}

fn usage(out: &mut Exposition, about: &str, used: &UsagePerOp) {
    for (role, mode, ns) in [
        ("client", "user", used.client_user_ns),
        ("client", "system", used.client_sys_ns),
        ("server", "user", used.server_user_ns),
        ("server", "system", used.server_sys_ns),
    ] {
        let labels = and(about, &[("role", role), ("mode", mode)]);
        let help = "Processor time for one operation, median over epochs.";
        out.gauge("ipcost_operation_processor_seconds", "seconds", help, &labels, ns / SECOND_NS);
    }
    for (kind, count) in [("voluntary", used.voluntary_switches), ("involuntary", used.involuntary_switches)]
    {
        let help = "Context switches of both processes for one operation, median over epochs.";
        out.gauge("ipcost_operation_switches", "", help, &and(about, &[("kind", kind)]), count);
    }
}

fn contrast(contrast: &ContrastRecord, out: &mut Exposition) {
    let about = labels(&[("metric", contrast.metric.name()), ("a", &contrast.a), ("b", &contrast.b)]);
    for (part, told, value) in [
        ("", "median over epochs", Some(contrast.ratio)),
        ("_lower", "the lower end of its interval", contrast.lo),
        ("_upper", "the upper end of its interval", contrast.hi),
    ] {
        if let Some(value) = value {
            let help = format!("The cost of cell a over the cost of cell b: {told}.");
            out.gauge(&format!("ipcost_contrast{part}_ratio"), "ratio", &help, &about, value);
        }
    }
    let verdict = and(&about, &[("verdict", contrast.verdict.name())]);
    out.gauge("ipcost_contrast_verdict_info", "", "What the contrast is known to be.", &verdict, 1.0);
}

fn labels(pairs: &[(&str, &str)]) -> String {
    let quoted = |value: &str| escaped(value).replace('\\', "\\\\").replace('"', "\\\"");
    let written: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(value))).collect();
    written.join(",")
}

fn and(about: &str, more: &[(&str, &str)]) -> String {
    format!("{about},{}", labels(more))
}

/// What a family of metrics is.
#[derive(Debug, Clone, Copy)]
struct Kind<'a> {
    kind: &'a str,
    unit: &'a str,
    help: &'a str,
}

/// Families by name, each in one piece, as the format wants them; of twins the first stays.
#[derive(Debug, Default)]
struct Exposition {
    families: BTreeMap<String, Vec<String>>,
    seen: BTreeSet<String>,
}

impl Exposition {
    fn gauge(&mut self, name: &str, unit: &str, help: &str, labels: &str, value: f64) {
        self.put(name, Kind { kind: "gauge", unit, help }, "", labels, value);
    }

    fn put(&mut self, family: &str, about: Kind<'_>, suffix: &str, labels: &str, value: f64) {
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let series = format!("{family}{suffix}{braces}");
        if !self.seen.insert(series.clone()) {
            return;
        }
        let lines = self.families.entry(family.to_owned()).or_insert_with(|| {
            let Kind { kind, unit, help } = about;
            let mut head = vec![format!("# HELP {family} {help}"), format!("# TYPE {family} {kind}")];
            if !unit.is_empty() {
                head.push(format!("# UNIT {family} {unit}"));
            }
            head
        });
        lines.push(format!("{series} {value:?}"));
    }

    fn text(self) -> String {
        let lines = self.families.into_values().flatten();
        lines.chain(["# EOF".to_owned()]).map(|line| line + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn everything_is_exposed() {
        insta::assert_snapshot!(render(&fixture::measured()));
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(labels(&[("cell", "a\"b\\c\nd")]), r#"cell="a\"b\\c\\nd""#);
    }
}
