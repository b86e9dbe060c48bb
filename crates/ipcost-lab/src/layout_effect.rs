//! Whether a cell's cost depends on where its buffers begin within a page.

use std::collections::BTreeMap;

use ipcost_model::{BufferLayout, LayoutEffect, LayoutPlace, Metric, Pattern, Plan};
use ipcost_stats::{Random, arc, median, quantile_sorted};

use crate::batches::Batches;
use crate::rules::{self, AppliedRule, nanoseconds};

/// The probability that any cell is falsely called dependent on its layout.
const FALSE_ALARMS: f64 = 0.01;
/// The least dependence worth reporting: 5 %.
const LEAST_EFFECT: f64 = 0.05;
/// More epochs tell no more about a dependence that matters, and a scan takes time with the square of their number.
const MOST_EPOCHS: usize = 120;
/// Bytes between neighbouring places.
const STEP_BYTES: u64 = 16;

/// An epoch of a cell.
struct Epoch {
    layout: BufferLayout,
    log_cost: f64,
}

/// For each cell, the places at which its buffers cost more.
///
/// Only cells whose epochs vary by more than the least effect are looked at. That choice takes no account of places, so
/// the level is shared by those alone.
pub fn layout_effects(plan: &Plan, batches: &Batches<'_>) -> Vec<Option<LayoutEffect>> {
    let epochs: Vec<Vec<Epoch>> = (0..plan.cells.len()).map(|cell| epochs(batches, cell)).collect();
    let places: Vec<Vec<LayoutPlace>> = epochs
        .iter()
        .zip(&plan.cells)
        .map(
            |(epochs, planned)| {
                if varies(epochs) { places(planned.cell.pattern, epochs) } else { Vec::new() }
            },
        )
        .collect();
    let tests: usize = places.iter().map(Vec::len).sum();
    let level = FALSE_ALARMS / tests.max(1) as f64;
    let mut random = Random::new(plan.seed);
    epochs
        .iter()
        .zip(places)
        .map(|(epochs, places)| {
            let found = places.into_iter().filter_map(|place| effect(place, epochs, level, &mut random));
            let surest = found.min_by(|(p, _), (q, _)| p.total_cmp(q));
            surest.map(|(_, effect)| effect)
        })
        .collect()
}

/// A cell's epochs with a known layout; of very many, some that are evenly spaced.
fn epochs(batches: &Batches<'_>, cell: usize) -> Vec<Epoch> {
    let layouts: BTreeMap<u32, Option<BufferLayout>> =
        batches.of(cell).iter().map(|sample| (sample.epoch, sample.layout)).collect();
    let costs = batches.logs(Metric::Wall, cell).by_epoch();
    let some = costs.iter().step_by(costs.len().div_ceil(MOST_EPOCHS).max(1));
    let epoch = |(epoch, log_cost): &(u32, Option<f64>)| {
        Some(Epoch { layout: layouts.get(epoch).copied()??, log_cost: (*log_cost)? })
    };
    some.filter_map(epoch).collect()
}

/// Whether costs vary by more than the least effect, but for the few extremes.
fn varies(epochs: &[Epoch]) -> bool {
    let mut costs: Vec<f64> = epochs.iter().map(|epoch| epoch.log_cost).collect();
    costs.sort_by(f64::total_cmp);
    !costs.is_empty() && quantile_sorted(&costs, 0.9) - quantile_sorted(&costs, 0.1) > LEAST_EFFECT.ln_1p()
}

/// The places that a pattern has buffers at and that differ between epochs.
fn places(pattern: Pattern, epochs: &[Epoch]) -> Vec<LayoutPlace> {
    use LayoutPlace::{ClientRecv, ClientSend, Ring, ServerRecv, ServerSend, ToClient, ToServer};
    let all: &[LayoutPlace] = match pattern {
        Pattern::Stream => &[ClientSend, ServerRecv, ToServer, Ring],
        Pattern::Rr | Pattern::Connect => {
            &[ClientSend, ServerRecv, ToServer, ServerSend, ClientRecv, ToClient, Ring]
        }
        Pattern::Floor => &[ClientSend],
    };
    let is_drawn = |place: &&LayoutPlace| {
        let mut seen = epochs.iter().map(|epoch| at(**place, &epoch.layout));
        let first = seen.next().flatten();
        first.is_some() && seen.any(|other| other != first)
    };
    all.iter().filter(is_drawn).copied().collect()
}

fn at(place: LayoutPlace, layout: &BufferLayout) -> Option<u64> {
    match place {
        LayoutPlace::ClientSend => Some(layout.client?.send_offset.into()),
        LayoutPlace::ClientRecv => Some(layout.client?.recv_offset.into()),
        LayoutPlace::ServerSend => Some(layout.server?.send_offset.into()),
        LayoutPlace::ServerRecv => Some(layout.server?.recv_offset.into()),
        LayoutPlace::ToServer => Some(layout.distances()?[0]),
        LayoutPlace::ToClient => Some(layout.distances()?[1]),
        LayoutPlace::Ring => layout.ring_offset.map(u64::from),
    }
}

/// The effect of a place, with its p-value.
fn effect(
    place: LayoutPlace,
    epochs: &[Epoch],
    level: f64,
    random: &mut Random,
) -> Option<(f64, LayoutEffect)> {
    let places: Vec<u64> = epochs.iter().map(|epoch| at(place, &epoch.layout)).collect::<Option<_>>()?;
    let costs: Vec<f64> = epochs.iter().map(|epoch| epoch.log_cost).collect();
    let found = arc(&places, &costs, level, random).filter(|found| found.shift > LEAST_EFFECT.ln_1p())?;
    let cost = |is_slow: bool| {
        let side = (0..costs.len()).filter(|epoch| found.members.contains(epoch) == is_slow);
        median(&side.map(|epoch| costs[epoch]).collect::<Vec<_>>()).map(f64::exp)
    };
    let page = ipcost_model::PAGE_BYTES;
    let length = (found.to + page - found.from) % page + STEP_BYTES;
    let effect = LayoutEffect {
        place,
        from: found.from,
        to: found.to,
        share: (length as f64 / page as f64).min(1.0),
        epochs: found.members.len() as u32,
        wall_ns_per_op: cost(true)?,
        elsewhere_ns_per_op: cost(false)?,
    };
    Some((found.p, effect))
}

/// What was seen, and what to do about it.
pub fn words(effect: &LayoutEffect) -> AppliedRule {
    let found = format!(
        "costs {} instead of {} if {} {} to {} bytes after a page ({:.0} % of all places, {} epochs)",
        nanoseconds(effect.wall_ns_per_op),
        nanoseconds(effect.elsewhere_ns_per_op),
        place_text(effect.place),
        effect.from,
        effect.to,
        effect.share * 100.0,
        effect.epochs
    );
    let remedy = "places are drawn for every epoch, so intervals cover both: in your own program move the buffer by a few dozen bytes, and set send_offset and recv_offset to measure one place";
    AppliedRule::new(rules::BUFFER_LAYOUT, found, remedy)
}

/// A place in words.
fn place_text(place: LayoutPlace) -> &'static str {
    match place {
        LayoutPlace::ClientSend => "the client's send buffer begins",
        LayoutPlace::ClientRecv => "the client's receive buffer begins",
        LayoutPlace::ServerSend => "the server's send buffer begins",
        LayoutPlace::ServerRecv => "the server's receive buffer begins",
        LayoutPlace::ToServer => "the server's receive buffer begins, counted from the client's send buffer,",
        LayoutPlace::ToClient => "the client's receive buffer begins, counted from the server's send buffer,",
        LayoutPlace::Ring => "the ring begins",
    }
}
