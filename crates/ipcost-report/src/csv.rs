//! Comma-separated values, tidy: one row a cell, or one row a sample, under one line of names.
//!
//! Fields are quoted as RFC 4180 has it; lines end with a line feed alone. Text that a spreadsheet would take for a
//! formula has an apostrophe before it.

use std::collections::{BTreeSet, HashMap};

use ipcost_model::{
    CellRecord, ContrastRecord, ContrastWithin, Document, Estimate, LatencySummary, Metric, PaceRecord,
    Point, PointProperty, Ran, RanRecord, Sample, UsagePerOp,
};

use crate::words::{self, escaped};

/// Columns: a name, and what stands in it.
type CsvColumns<T> = &'static [(&'static str, fn(&T) -> String)];

/// What a cell is called; the columns of its point follow.
const NAMES: CsvColumns<CellRecord> = &[("id", |cell| text(&cell.id)), ("label", |cell| text(&cell.label))];

/// What was measured of a cell.
const RECORD: CsvColumns<CellRecord> = &[
    ("available", |cell| cell.available.to_string()),
    ("reason", |cell| text(cell.reason.as_deref().unwrap_or_default())),
    ("epochs", |cell| cell.epochs.to_string()),
    ("batches", |cell| cell.batches.to_string()),
    ("ops", |cell| cell.ops.to_string()),
    ("wall_ns_per_op", |cell| of(cell.wall_ns_per_op, |cost| cost.median)),
    ("wall_ns_per_op_lo", |cell| bound(cell.wall_ns_per_op, |cost| cost.lo)),
    ("wall_ns_per_op_hi", |cell| bound(cell.wall_ns_per_op, |cost| cost.hi)),
    ("cpu_ns_per_op", |cell| of(cell.cpu_ns_per_op, |cost| cost.median)),
    ("cpu_ns_per_op_lo", |cell| bound(cell.cpu_ns_per_op, |cost| cost.lo)),
    ("cpu_ns_per_op_hi", |cell| bound(cell.cpu_ns_per_op, |cost| cost.hi)),
    ("sent_ns_per_op", |cell| of(cell.sent_ns_per_op, |cost| cost.median)),
    ("sent_ns_per_op_lo", |cell| bound(cell.sent_ns_per_op, |cost| cost.lo)),
    ("sent_ns_per_op_hi", |cell| bound(cell.sent_ns_per_op, |cost| cost.hi)),
    ("wait_ns", |cell| of(cell.wait_ns, |wait_ns| wait_ns)),
    ("ops_per_s", |cell| of(cell.ops_per_s, |rate| rate)),
    ("bytes_per_s", |cell| of(cell.bytes_per_s, |rate| rate)),
    ("latency_ns_p50", |cell| latency(cell, |summary| summary.p50)),
    ("latency_ns_p90", |cell| latency(cell, |summary| summary.p90)),
    ("latency_ns_p99", |cell| latency(cell, |summary| summary.p99)),
    ("latency_ns_p999", |cell| latency(cell, |summary| summary.p999)),
    ("latency_ns_max", |cell| latency(cell, |summary| summary.max)),
    ("latency_count", |cell| latency(cell, |summary| summary.count)),
    ("loop", |cell| {
        (if cell.pace.as_ref().is_some_and(|pace| pace.open) { "open" } else { "closed" }).to_owned()
    }),
    ("offered_per_s", |cell| paced(cell, |pace| pace.offered_per_s)),
    ("late_ns_p50", |cell| late(cell, |summary| summary.p50)),
    ("late_ns_p99", |cell| late(cell, |summary| summary.p99)),
    ("queued", |cell| paced(cell, |pace| pace.queued)),
    ("unsent", |cell| paced(cell, |pace| pace.unsent)),
    ("client_user_ns_per_op", |cell| usage(cell, |used| used.client_user_ns)),
    ("client_sys_ns_per_op", |cell| usage(cell, |used| used.client_sys_ns)),
    ("server_user_ns_per_op", |cell| usage(cell, |used| used.server_user_ns)),
    ("server_sys_ns_per_op", |cell| usage(cell, |used| used.server_sys_ns)),
    ("voluntary_switches_per_op", |cell| usage(cell, |used| used.voluntary_switches)),
    ("involuntary_switches_per_op", |cell| usage(cell, |used| used.involuntary_switches)),
    ("mode1_share", |cell| of(cell.modes.first(), |mode| mode.share)),
    ("mode1_wall_ns_per_op", |cell| of(cell.modes.first(), |mode| mode.wall_ns_per_op)),
    ("mode2_share", |cell| of(cell.modes.get(1), |mode| mode.share)),
    ("mode2_wall_ns_per_op", |cell| of(cell.modes.get(1), |mode| mode.wall_ns_per_op)),
];

/// What is known of a cell against another.
const CONTRAST: CsvColumns<ContrastRecord> = &[
    ("compared_with", |contrast| text(&contrast.b)),
    ("ratio", |contrast| number(contrast.ratio)),
    ("ratio_lo", |contrast| of(contrast.lo, |lo| lo)),
    ("ratio_hi", |contrast| of(contrast.hi, |hi| hi)),
    ("verdict", |contrast| contrast.verdict.to_string()),
];

const SAMPLE: CsvColumns<Sample> = &[
    ("epoch", |sample| sample.epoch.to_string()),
    ("round", |sample| sample.round.to_string()),
    ("position", |sample| sample.position.to_string()),
    ("ops", |sample| sample.ops.to_string()),
    ("wall_ns", |sample| sample.wall_ns.to_string()),
    ("elapsed_ns", |sample| sample.elapsed_ns.map_or_else(String::new, |ns| ns.to_string())),
    ("sent_ns", |sample| sample.sent_ns.map_or_else(String::new, |ns| ns.to_string())),
    ("client_user_ns", |sample| sample.client.user_ns.to_string()),
    ("client_sys_ns", |sample| sample.client.sys_ns.to_string()),
    ("client_voluntary_switches", |sample| sample.client.voluntary_switches.to_string()),
    ("client_involuntary_switches", |sample| sample.client.involuntary_switches.to_string()),
    ("server_user_ns", |sample| sample.server.user_ns.to_string()),
    ("server_sys_ns", |sample| sample.server.sys_ns.to_string()),
    ("server_voluntary_switches", |sample| sample.server.voluntary_switches.to_string()),
    ("server_involuntary_switches", |sample| sample.server.involuntary_switches.to_string()),
];

/// Where the scheduler put the batches of a cell; these and the next stand at the end of a row.
const SCHEDULED: CsvColumns<CellRecord> = &[
    ("together_share", |cell| ran(cell, Ran::Together, |_, share| Some(share))),
    ("together_wall_ns_per_op", |cell| ran(cell, Ran::Together, |seen, _| seen.wall_ns_per_op)),
    ("apart_share", |cell| ran(cell, Ran::Apart, |_, share| Some(share))),
    ("apart_wall_ns_per_op", |cell| ran(cell, Ran::Apart, |seen, _| seen.wall_ns_per_op)),
    ("mixed_share", |cell| ran(cell, Ran::Mixed, |_, share| Some(share))),
    ("mixed_wall_ns_per_op", |cell| ran(cell, Ran::Mixed, |seen, _| seen.wall_ns_per_op)),
];

/// What is known of a cell against another where both ran alike.
const WITHIN: CsvColumns<ContrastRecord> = &[
    ("together_ratio", |contrast| within(contrast, Ran::Together, |within| Some(within.ratio))),
    ("together_ratio_lo", |contrast| within(contrast, Ran::Together, |within| within.lo)),
    ("together_ratio_hi", |contrast| within(contrast, Ran::Together, |within| within.hi)),
    ("apart_ratio", |contrast| within(contrast, Ran::Apart, |within| Some(within.ratio))),
    ("apart_ratio_lo", |contrast| within(contrast, Ran::Apart, |within| within.lo)),
    ("apart_ratio_hi", |contrast| within(contrast, Ran::Apart, |within| within.hi)),
];

/// Where a batch ran, at the end of a row.
const WHEREABOUTS: CsvColumns<Sample> = &[
    ("ran", |sample| sample.whereabouts.map_or_else(String::new, |seen| seen.ran.to_string())),
    ("migrations", |sample| sample.whereabouts.map_or_else(String::new, |seen| seen.migrations.to_string())),
];

/// The arm of a cell, at the end of a row.
const ARM: CsvColumns<CellRecord> =
    &[(ARM_COLUMN, |cell| cell.arm.map_or_else(String::new, |arm| arm.to_string()))];
/// Its column, which is younger than those of other parts of a cell.
const ARM_COLUMN: &str = "arm";

/// Means and pooled percentiles of a cell, at the end of a row.
const MEANS: CsvColumns<CellRecord> = &[
    ("wall_ns_per_op_mean", |cell| of(cell.wall_ns_per_op_mean, |cost| cost)),
    ("latency_ns_p99_pooled", |cell| {
        latency(cell, |summary| summary.pooled.map_or(summary.p99, |pooled| pooled.p99))
    }),
    ("congestion", |cell| text(cell.congestion.as_deref().unwrap_or_default())),
];

/// The ratio of the means, at the end of a row.
const MEAN: CsvColumns<ContrastRecord> = &[
    ("mean_ratio", |contrast| of(contrast.mean, |mean| mean.ratio)),
    ("mean_ratio_lo", |contrast| of(contrast.mean.and_then(|mean| mean.lo), |lo| lo)),
    ("mean_ratio_hi", |contrast| of(contrast.mean.and_then(|mean| mean.hi), |hi| hi)),
    ("mean_verdict", |contrast| contrast.mean.map_or_else(String::new, |mean| mean.verdict.to_string())),
];

/// Softirq time of pinned cells, at the very end of a row.
const SOFTIRQ: CsvColumns<CellRecord> =
    &[("softirq_ns_per_op", |cell| of(cell.softirq_ns_per_op, |softirq| softirq))];
/// The same of a batch.
const SOFTIRQ_OF_SAMPLE: CsvColumns<Sample> =
    &[("softirq_ns", |sample| sample.softirq_ns.map_or_else(String::new, |ns| ns.to_string()))];

/// One row a cell: what it is, what it cost, and its ratio to what it is compared with, by wall and by CPU.
pub fn cells(document: &Document) -> String {
    let measures: BTreeSet<&String> = document.cells.iter().flat_map(|cell| cell.measures.keys()).collect();
    let mut contrasts = HashMap::new();
    for contrast in &document.contrasts {
        contrasts.entry((contrast.metric, contrast.a.as_str())).or_insert(contrast);
    }
    let of_contrast = |metric: Metric, cell: &CellRecord, columns: CsvColumns<ContrastRecord>| {
        let known = contrasts.get(&(metric, cell.id.as_str()));
        known.map_or_else(|| vec![String::new(); columns.len()], |contrast| fields(*contrast, columns))
    };
    let mut header =
        [identity_names(), names("", RECORD), names("", CONTRAST), names("cpu_", CONTRAST)].concat();
    header.extend(measures.iter().map(|name| text(&format!("measure_{name}"))));
    header.extend([names("", SCHEDULED), names("", WITHIN), names("", ARM)].concat());
    header.extend([names("", MEANS), names("", MEAN), names("", SOFTIRQ)].concat());
    let row = |cell: &CellRecord| {
        let mut row = [identity(cell), fields(cell, RECORD)].concat();
        for metric in [Metric::Wall, Metric::Cpu] {
            row.extend(of_contrast(metric, cell, CONTRAST));
        }
        row.extend(measures.iter().map(|name| of(cell.measures.get(*name), |value| *value)));
        row.extend(fields(cell, SCHEDULED));
        row.extend(of_contrast(Metric::Wall, cell, WITHIN));
        row.extend([fields(cell, ARM), fields(cell, MEANS)].concat());
        row.extend(of_contrast(Metric::Wall, cell, MEAN));
        row.extend(fields(cell, SOFTIRQ));
        row
    };
    lines(header, document.cells.iter().map(row))
}

/// One row a sample, in the order in which they were measured, with what its cell is; without those during which the
/// machine was suspended, which count for nothing.
pub fn samples(document: &Document) -> String {
    let measures: BTreeSet<&String> =
        document.samples.iter().flat_map(|sample| sample.measures.keys()).collect();
    let identities: Vec<Vec<String>> = document.cells.iter().map(identity).collect();
    let mut header = [identity_names(), names("", SAMPLE)].concat();
    header.extend(measures.iter().map(|name| text(&format!("measure_{name}"))));
    header.extend([names("", WHEREABOUTS), names("", ARM), names("", SOFTIRQ_OF_SAMPLE)].concat());
    let row = |sample: &Sample| {
        let mut row = identities.get(sample.cell as usize)?.clone();
        row.extend(fields(sample, SAMPLE));
        row.extend(measures.iter().map(|name| of(sample.measures.get(*name), |value| *value)));
        row.extend(fields(sample, WHEREABOUTS));
        row.extend(fields(document.cells.get(sample.cell as usize)?, ARM));
        row.extend(fields(sample, SOFTIRQ_OF_SAMPLE));
        Some(row)
    };
    lines(header, document.samples.iter().filter(|sample| !sample.suspended).filter_map(row))
}

/// Of the batches that the scheduler put so, with their share of the cell's.
fn ran(cell: &CellRecord, ran: Ran, value: fn(&RanRecord, f64) -> Option<f64>) -> String {
    let seen = words::shares(cell).into_iter().find(|(seen, _)| seen.ran == ran);
    seen.and_then(|(seen, share)| value(seen, share)).map_or_else(String::new, number)
}

/// Of the contrast where both ran so.
fn within(contrast: &ContrastRecord, ran: Ran, value: fn(&ContrastWithin) -> Option<f64>) -> String {
    let within = contrast.within.iter().find(|within| within.ran == ran);
    within.and_then(value).map_or_else(String::new, number)
}

fn lines(header: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> String {
    std::iter::once(header).chain(rows).map(|row| row.join(",") + "\n").collect()
}

fn names<T>(before: &str, columns: CsvColumns<T>) -> Vec<String> {
    columns.iter().map(|(name, _)| format!("{before}{name}")).collect()
}

fn fields<T>(of: &T, columns: CsvColumns<T>) -> Vec<String> {
    columns.iter().map(|(_, field)| field(of)).collect()
}

/// As many digits as it takes to read the same number back.
pub fn number(value: f64) -> String {
    format!("{value:?}")
}

/// A number of what may be absent; then the field is empty.
fn of<T>(whole: Option<T>, part: impl Fn(T) -> f64) -> String {
    whole.map_or_else(String::new, |whole| number(part(whole)))
}

fn bound(estimate: Option<Estimate>, end: impl Fn(Estimate) -> Option<f64>) -> String {
    of(estimate.and_then(end), |end| end)
}

fn paced(cell: &CellRecord, part: fn(&PaceRecord) -> Option<f64>) -> String {
    of(cell.pace.as_ref().and_then(part), |value| value)
}

fn late(cell: &CellRecord, part: fn(&LatencySummary) -> u64) -> String {
    let late = cell.pace.as_ref().and_then(|pace| pace.late_ns.as_ref());
    late.map_or_else(String::new, |summary| part(summary).to_string())
}

fn latency(cell: &CellRecord, part: fn(&LatencySummary) -> u64) -> String {
    cell.latency_ns.as_ref().map_or_else(String::new, |summary| part(summary).to_string())
}

fn usage(cell: &CellRecord, part: fn(&UsagePerOp) -> f64) -> String {
    of(cell.usage_per_op.as_ref(), part)
}

/// The parts of a cell that stand at the beginning of a row.
fn older_columns() -> impl Iterator<Item = PointProperty> {
    Point::COLUMNS.into_iter().filter(|column| column.name != ARM_COLUMN)
}

/// The names of what identifies a cell.
fn identity_names() -> Vec<String> {
    let columns = older_columns().map(|column| column.name.to_owned());
    names("", NAMES).into_iter().chain(columns).collect()
}

/// What identifies a cell.
fn identity(cell: &CellRecord) -> Vec<String> {
    let columns = older_columns().map(|column| text(&(column.value)(cell)));
    fields(cell, NAMES).into_iter().chain(columns).collect()
}

/// Text as a field: on one line, no formula, quoted where it must be.
pub fn text(value: &str) -> String {
    let mut safe = String::new();
    // Where a comma is the decimal point, spreadsheets take a semicolon to separate fields.
    let mut begins = true;
    for letter in escaped(value).chars() {
        if begins && ['=', '+', '-', '@'].contains(&letter) {
            safe.push('\'');
        }
        safe.push(letter);
        begins = letter == ';' || begins && letter == ' ';
    }
    if safe.contains([',', '"']) { format!("\"{}\"", safe.replace('"', "\"\"")) } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// Reads fields back as RFC 4180 has it.
    fn parsed(line: &str) -> Vec<String> {
        let (mut row, mut field, mut quoted) = (Vec::new(), String::new(), false);
        let mut letters = line.chars().peekable();
        while let Some(c) = letters.next() {
            match (c, quoted) {
                ('"', true) if letters.peek() == Some(&'"') => field.extend(letters.next()),
                ('"', _) => quoted = !quoted,
                (',', false) => row.push(std::mem::take(&mut field)),
                (c, _) => field.push(c),
            }
        }
        row.push(field);
        row
    }

    fn column(csv: &str, name: &str) -> Vec<String> {
        let mut rows = csv.lines().map(parsed);
        let header = rows.next().unwrap();
        let index =
            header.iter().position(|known| known == name).unwrap_or_else(|| panic!("no column {name}"));
        rows.map(|row| {
            assert_eq!(row.len(), header.len(), "every row is as long as the header");
            row[index].clone()
        })
        .collect()
    }

    #[test]
    fn a_row_a_cell() {
        insta::assert_snapshot!(cells(&fixture::measured()));
    }

    #[test]
    fn a_row_a_sample() {
        let document = fixture::measured();
        let csv = samples(&document);
        let walls: Vec<String> = document.samples.iter().map(|sample| sample.wall_ns.to_string()).collect();
        assert_eq!(column(&csv, "wall_ns"), walls);
        let ids: Vec<&str> =
            document.samples.iter().map(|sample| document.cells[sample.cell as usize].id.as_str()).collect();
        assert_eq!(column(&csv, "id"), ids);
    }

    #[test]
    fn numbers_read_back_exactly() {
        let mut document = fixture::measured();
        let wall = document.cells[0].wall_ns_per_op.as_mut().unwrap();
        wall.median = 0.1 + 0.2;
        assert_eq!(column(&cells(&document), "wall_ns_per_op")[0].parse::<f64>().unwrap(), 0.1 + 0.2);
    }

    #[test]
    fn hostile_labels_stay_one_field() {
        for (label, field) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("-1+1", "'-1+1"),
            ("@SUM(1)", "'@SUM(1)"),
            ("a,b\"c", "a,b\"c"),
            ("a;=1;b; @x", "a;'=1;b; '@x"),
            ("two\nlines", "two\\nlines"),
            ("\t=1", "\\t=1"),
            ("\u{1b}[31m", "\\u{1b}[31m"),
        ] {
            let mut document = fixture::measured();
            document.cells[0].label = label.to_owned();
            assert_eq!(column(&cells(&document), "label")[0], field);
            assert_eq!(cells(&document).lines().count(), document.cells.len() + 1);
        }
    }
}
