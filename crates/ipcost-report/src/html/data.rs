//! The figures of the page's charts: values to place, and their texts. The page's script computes none of them.

use std::collections::{BTreeMap, HashMap};

use ipcost_model::units::size_text;
use ipcost_model::{CellRecord, Document, Estimate, Measure, Sample, WorkloadRecord};
use serde_json::{Map, Value, json};

use super::charts::{Transport, transports};
use super::crossings::{MOST_CROSSED, crossings};
use super::pairs::{Pairs, Quantity, Ratio, Source};
use crate::figures::series::{Across, SeriesPanel, panels};
use crate::figures::texts;
use crate::figures::ticks::{self, Ladder, percent};
use crate::numbers::{ratio, three_digits, time};
use crate::words::{capitalised, escaped, has_closed_loop, latency, verdict, workload};

/// With more pairs of cells in its tables, a document's page has the ratios of the run, and no quotients of any two values.
const MOST_PAIRS: usize = 10_000;
/// Tables of at least so many cells have an order from cheap to costly, of which the page draws the first.
const ORDERED: usize = 40;
/// The most batches of a cell.
const MOST_BATCHES: usize = 4_000;
/// Everything that the charts show.
pub fn figures(document: &Document) -> Value {
    let mut shown = PageData::of(document);
    let samples = samples(document);
    let cells: Vec<Value> =
        shown.cells.clone().into_iter().map(|(place, cell)| shown.cell(cell, &samples[place])).collect();
    let workloads: Vec<Value> = document.workloads.iter().map(|table| shown.workload(table)).collect();
    let panels = panels(document, Across::Size);
    let panels: Vec<Value> =
        panels.iter().filter(|panel| panel.values().len() > 1).map(|panel| shown.panel(panel)).collect();
    let margin = document.analysis.margin;
    let transports: Vec<Value> = shown
        .transports
        .iter()
        .map(|one| json!({"name": escaped(one.name), "colour": one.colour, "mark": one.mark}))
        .collect();
    let loops = latency(document);
    let hidden = if has_closed_loop(document) {
        ": it does not tell how long a queue at a given rate waits"
    } else {
        ""
    };
    json!({
        "transports": transports,
        "quantities": [
            {"name": "wall", "short": Quantity::Wall.short(), "title": "cost (elapsed time per operation)"},
            {"name": "cpu", "short": Quantity::Cpu.short(), "title": "CPU time per operation, both processes"},
            {"name": "p99", "short": Quantity::P99.short(), "title": "99th percentile of latency",
                "note": format!("The 99th percentile is each epoch's own, and the median over epochs: {loops}{hidden}.")},
        ],
        "sources": [
            "no interval: a quotient of two values that the run did not compare",
            "the run's contrast",
            "the run's contrast, inverted",
            "no interval yet: too few epochs",
        ],
        "percentiles": ["50 %", "90 %", "99 %", "99.9 %", "largest"],
        "parts": ["client, user", "client, system", "server, user", "server, system"],
        "floors": texts::FLOORS,
        "paired": shown.paired,
        "crossed": MOST_CROSSED,
        "margin": {"from": short(1.0 - margin), "to": short(1.0 + margin), "text": format!("{} %", percent(margin))},
        "ticks": shown.ticks(),
        "cells": cells,
        "workloads": workloads,
        "panels": panels,
    })
}

/// The samples of each cell.
fn samples(document: &Document) -> Vec<Vec<&Sample>> {
    let mut by_cell = vec![Vec::new(); document.cells.len()];
    for sample in &document.samples {
        if let Some(samples) = by_cell.get_mut(sample.cell as usize) {
            samples.push(sample);
        }
    }
    by_cell
}

/// Six digits: more than a screen has.
fn short(value: f64) -> Value {
    let value: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

/// The least and the largest of values.
struct Span(f64, f64);

impl Span {
    fn new() -> Self {
        Self(f64::INFINITY, 0.0)
    }

    /// The value as the page takes it; `null` where it cannot be placed.
    fn add(&mut self, value: f64) -> Value {
        if value > 0.0 && value.is_finite() {
            (self.0, self.1) = (self.0.min(value), self.1.max(value));
        }
        short(value)
    }

    fn add_some(&mut self, value: Option<f64>) -> Value {
        value.map_or(Value::Null, |value| self.add(value))
    }
}

/// What the page shows of a document.
struct PageData<'a> {
    document: &'a Document,
    /// The transports, in the order of the document.
    transports: Vec<Transport<'a>>,
    /// The cells that were measured, with their places in the document.
    cells: Vec<(usize, &'a CellRecord)>,
    /// Their places among these.
    places: HashMap<&'a str, usize>,
    pairs: Pairs<'a>,
    /// Whether there is room for the ratio of any two cells of a table.
    paired: bool,
    /// Of everything in nanoseconds.
    times: Span,
    ratios: Span,
    last_epoch: u32,
}

impl<'a> PageData<'a> {
    fn of(document: &'a Document) -> Self {
        let transports = transports(document);
        let measured = |(_, cell): &(usize, &CellRecord)| cell.available && cell.epochs > 0;
        let cells: Vec<_> = document.cells.iter().enumerate().filter(measured).collect();
        let mut places = HashMap::new();
        for (place, (_, cell)) in cells.iter().enumerate() {
            places.entry(cell.id.as_str()).or_insert(place);
        }
        let mut ratios = Span::new();
        for value in [1.0, 1.0 - document.analysis.margin, 1.0 + document.analysis.margin] {
            ratios.add(value);
        }
        let (pairs, times) = (Pairs::of(document), Span::new());
        let pairs_of = |table: &WorkloadRecord| table.cells.len().saturating_mul(table.cells.len());
        let paired = document.workloads.iter().map(pairs_of).fold(0, usize::saturating_add) <= MOST_PAIRS;
        Self { document, transports, cells, places, pairs, paired, times, ratios, last_epoch: 1 }
    }

    fn transport(&self, cell: &CellRecord) -> usize {
        self.transports.iter().position(|one| one.name == cell.transport).unwrap_or_default()
    }

    fn ticks(&self) -> Value {
        let ladders = |ladders: Vec<Ladder>| -> Value {
            let ladder = |ladder: Ladder| -> Vec<Value> {
                ladder.into_iter().map(|(value, text)| json!([short(value), text])).collect()
            };
            ladders.into_iter().map(ladder).collect()
        };
        let whole = |ladder: &Ladder| ladder[1].0 >= 1.0;
        let epochs = ticks::linear(1.0, f64::from(self.last_epoch), |epoch, _| format!("epoch {epoch}"));
        let epochs: Vec<Ladder> =
            epochs.into_iter().filter(whole).map(|ladder| ladder[1..].to_vec()).collect();
        json!({
            "time": ladders(ticks::linear(self.times.0, self.times.1, |ns, most| ticks::time(ns, Some(most)))),
            "time_log": ladders(ticks::logarithmic(self.times.0, self.times.1, |ns| ticks::time(ns, None))),
            "ratio_log": ladders(ticks::logarithmic(self.ratios.0, self.ratios.1, ticks::number)),
            "epoch": ladders(epochs),
        })
    }

    /// A value, its bounds, and both as texts.
    fn estimate(&mut self, cell: &CellRecord, quantity: Quantity) -> Value {
        let Some(cost) = quantity.of(cell) else { return Value::Null };
        let Estimate { median, lo, hi } = cost;
        let interval = match quantity {
            Quantity::P99 => "no interval".to_owned(),
            Quantity::Wall | Quantity::Cpu => texts::time_interval(&cost),
        };
        let span = &mut self.times;
        json!([span.add(median), span.add_some(lo), span.add_some(hi), time(median), interval])
    }

    /// A time and its text.
    fn time(&mut self, ns: f64) -> Value {
        json!([self.times.add(ns), time(ns)])
    }

    fn cell(&mut self, cell: &CellRecord, samples: &[&Sample]) -> Value {
        let mut out = Map::new();
        let mut add = |name: &str, value: Value| {
            if !value.is_null() {
                out.insert(name.to_owned(), value);
            }
        };
        add("label", json!(escaped(&cell.label)));
        add("transport", json!(self.transport(cell)));
        add("epochs", json!(cell.epochs));
        for quantity in Quantity::ALL {
            add(quantity.name(), self.estimate(cell, quantity));
        }
        if !cell.modes.is_empty() {
            let mut mode = |mode: &ipcost_model::Mode| {
                let cost = mode.wall_ns_per_op;
                json!([self.times.add(cost), format!("{}: {}", texts::share(mode), time(cost))])
            };
            add("modes", cell.modes.iter().map(&mut mode).collect());
        }
        if let Some(floor) = cell.floor.as_ref().filter(|floor| floor.ns_per_op > 0.0) {
            let made_of = escaped(&floor.made_of);
            let text = format!("{} ({}: {made_of})", texts::multiple(floor), time(floor.ns_per_op));
            add("floor", json!([self.times.add(floor.ns_per_op), text]));
        }
        if let Some(latency) = &cell.latency_ns {
            let all = [latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
            let all: Vec<Value> = all.iter().map(|ns| self.time(*ns as f64)).collect();
            add("latency", json!({"times": all, "count": latency.count}));
        }
        if let Some(usage) = &cell.usage_per_op {
            let parts =
                [usage.client_user_ns, usage.client_sys_ns, usage.server_user_ns, usage.server_sys_ns];
            let whole = parts.iter().sum();
            let switches = [usage.voluntary_switches, usage.involuntary_switches].map(three_digits);
            let parts: Vec<Value> = parts.iter().map(|ns| self.time(*ns)).collect();
            add("usage", json!({"parts": parts, "whole": self.times.add(whole), "switches": switches}));
        }
        if !samples.is_empty() {
            let every = samples.len().div_ceil(MOST_BATCHES);
            let batches: Vec<Value> =
                samples.iter().step_by(every).map(|sample| self.batch(sample)).collect();
            add("batches", json!(batches));
            if every > 1 {
                add("every", json!(format!("Only one in {every} batches is drawn.")));
            }
        }
        Value::Object(out)
    }

    /// Epoch, round, position, operations, and the two costs of one with their texts.
    fn batch(&mut self, sample: &Sample) -> Value {
        self.last_epoch = self.last_epoch.max(sample.epoch);
        let [wall, cpu] = [Measure::Wall, Measure::Cpu].map(|measure| measure.of(sample).unwrap_or_default());
        json!([
            sample.epoch,
            sample.round,
            sample.position,
            sample.ops,
            self.times.add(wall),
            time(wall),
            self.times.add(cpu),
            time(cpu)
        ])
    }

    fn workload(&mut self, table: &'a WorkloadRecord) -> Value {
        let measured: Vec<usize> =
            table.cells.iter().filter_map(|id| self.places.get(id.as_str()).copied()).collect();
        let against = |place: &usize| -> Option<usize> {
            let baseline = self.pairs.baseline(table, &self.cells[*place].1.id)?;
            self.places.get(baseline).copied()
        };
        let against: Vec<Option<usize>> = measured.iter().map(against).collect();
        let mut ratios = Map::new();
        let mut cheapest = Map::new();
        for quantity in Quantity::ALL {
            ratios.insert(quantity.name().to_owned(), self.ratios(quantity, &measured, &against));
            if measured.len() >= ORDERED {
                cheapest.insert(quantity.name().to_owned(), json!(self.cheapest(quantity, &measured)));
            }
        }
        json!({
            "pattern": table.pattern.name(),
            "name": capitalised(&workload(table)),
            "cells": measured,
            "against": against,
            "cheapest": cheapest,
            "ratios": ratios,
        })
    }

    fn cheapest(&self, quantity: Quantity, cells: &[usize]) -> Vec<usize> {
        let cost = |place: &usize| {
            quantity.of(self.cells[*place].1).map_or(f64::INFINITY, |estimate| estimate.median)
        };
        let mut order = cells.to_vec();
        order.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        order
    }

    /// Ratios by the cell in the denominator, then by the one in the numerator.
    fn ratios(&mut self, quantity: Quantity, cells: &[usize], against: &[Option<usize>]) -> Value {
        let mut by_baseline: BTreeMap<usize, Map<String, Value>> = BTreeMap::new();
        for (place, against) in cells.iter().zip(against) {
            let cell = self.cells[*place].1;
            let baselines: Vec<usize> = if self.paired {
                cells.to_vec()
            } else {
                let partners = self.pairs.partners(&cell.id).iter();
                partners.filter_map(|id| self.places.get(id).copied()).chain(*against).collect()
            };
            for baseline in baselines.into_iter().chain(*against).filter(|baseline| baseline != place) {
                let Some(found) = self.pairs.compare(quantity, cell, self.cells[baseline].1) else {
                    continue;
                };
                let found = self.ratio(&found);
                by_baseline.entry(baseline).or_default().insert(place.to_string(), found);
            }
        }
        by_baseline.into_iter().map(|(baseline, of)| (baseline.to_string(), Value::Object(of))).collect()
    }

    /// Its value and text; of contrasts also the bounds, the interval, the verdict and the source.
    fn ratio(&mut self, found: &Ratio) -> Value {
        let value = self.ratios.add(found.ratio);
        let text = ratio(found.ratio);
        let source = match found.source {
            Source::Quotient => return json!([value, text]),
            Source::Swapped => 2,
            Source::Contrast if found.lo.is_none() || found.hi.is_none() => 3,
            Source::Contrast => 1,
        };
        let said = found.verdict.filter(|_| found.source == Source::Contrast);
        let said = said.map(|said| verdict(said, found.ratio, self.document.analysis.margin));
        let interval = texts::ratio_interval(found.ratio, found.lo, found.hi);
        let (lo, hi) = (self.ratios.add_some(found.lo), self.ratios.add_some(found.hi));
        json!([value, text, lo, hi, interval, said.unwrap_or_default(), source])
    }

    fn panel(&self, panel: &SeriesPanel<'_>) -> Value {
        let place = |cell: &CellRecord| self.places.get(cell.id.as_str());
        let line = |line: &crate::figures::series::Line<'_>| {
            let points: Vec<Value> = line
                .points
                .iter()
                .filter_map(|point| Some(json!([point.at, size_text(point.at), place(point.cell)?])))
                .collect();
            let transport = line.points.first().map_or(0, |point| self.transport(point.cell));
            json!({"label": escaped(line.label), "transport": transport, "dashes": line.dashes, "points": points})
        };
        let lines: Vec<Value> = panel.lines.iter().map(line).collect();
        let mut all = Map::new();
        for quantity in Quantity::ALL {
            let found = crossings(panel, quantity, &self.pairs);
            let found = found.iter().map(|crossing| {
                json!({"lines": crossing.lines, "from": crossing.from, "to": crossing.to,
                    "known": crossing.known, "text": crossing.text})
            });
            all.insert(quantity.name().to_owned(), found.collect());
        }
        let sizes: Vec<Value> = panel.values().iter().map(|size| json!([size, size_text(*size)])).collect();
        let floors: Vec<Value> = panel
            .floors()
            .iter()
            .map(|floor| {
                let of: Vec<String> = floor.of.iter().map(|label| escaped(label)).collect();
                json!({"name": escaped(&floor.name()), "of": of, "points": floor.points})
            })
            .collect();
        json!({
            "pattern": panel.pattern.name(),
            "title": panel.title,
            "sizes": sizes,
            "lines": lines,
            "floors": floors,
            "crossings": all,
        })
    }
}
