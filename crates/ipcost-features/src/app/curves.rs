//! What is saved over how long the server works on a request, as curves of the page and of pictures.

use ipcost_model::{Estimate, Placement, Ran};
use ipcost_report::numbers::time;
use ipcost_report::saving::{Curves, MeasuredSaving, PlacementPanel, per_cent};
use ipcost_report::words::cores;

use super::{App, Curve, Saving, words};

/// The most letters of a request.
const MOST: usize = 60;
/// How close the points of a line are: so many a decade.
const A_DECADE: i32 = 24;
/// Up to here the points of a line are equally far apart, nanoseconds, as a power of ten.
const FIRST_DECADE: i32 = 3;
/// Where a line ends at least, nanoseconds, as a power of ten.
const LAST_DECADE: i32 = 7;

/// From how much work on the saving stops mattering, where that is known.
pub(super) fn curves(app: &App) -> Option<Curves> {
    let least = app.requests.iter().find(|request| request.least)?;
    if app.curves.is_empty() {
        return None;
    }
    let has_curve = |saving: &Saving| app.curves.iter().any(|curve| saving.is_where(curve));
    let of_least = |saving: &&Saving| saving.is_plain() && saving.request == least.request;
    // What mixes placements is not drawn.
    let is_missing = |saving: &&Saving| !has_curve(saving) && !saving.is_split(&app.savings);
    let without = app.savings.iter().filter(of_least).filter(is_missing);
    let note = |saving: &Saving| {
        format!(
            "Not drawn:{}, where it is open whether {} is cheaper.",
            on_cores(saving.placement, saving.ran),
            words::shortened(&least.request, MOST)
        )
    };
    Some(Curves {
        server: words::server(&app.title, &app.version),
        least: words::shortened(&least.request, MOST),
        margin: app.margin,
        panels: app.curves.iter().map(|curve| panel(app, curve, &least.request)).collect(),
        notes: without.map(note).collect(),
    })
}

fn panel(app: &App, curve: &Curve, least: &str) -> PlacementPanel {
    let is_own = |saving: &&Saving| saving.is_where(curve) && saving.is_plain() && saving.request != least;
    let own = app.savings.iter().filter(is_own);
    let requests: Vec<MeasuredSaving> = own.map(|saving| measured(saving, curve)).collect();
    let last =
        requests.iter().map(|request| request.work_ns.log10().ceil()).fold(f64::from(LAST_DECADE), f64::max);
    let name = match (curve.placement, curve.ran) {
        (Placement::Free, None) => "wherever the system runs client and server".to_owned(),
        (placement, ran) => words::place(placement, ran).trim_start().to_owned(),
    };
    PlacementPanel {
        name,
        said: said(curve, app.margin),
        line: line(curve, last as i32),
        numbers: curve.points.clone(),
        until_ns: curve.until_ns,
        requests,
    }
}

fn on_cores(placement: Placement, ran: Option<Ran>) -> String {
    match (placement, ran) {
        (Placement::Free, None) => format!(" on {}", cores(placement)),
        (placement, ran) => words::place(placement, ran),
    }
}

/// From how much work on it stops mattering.
fn said(curve: &Curve, margin: f64) -> String {
    let margin = per_cent(margin);
    match curve.until_ns {
        Some(until_ns) => format!("from {} of work on, less than {margin} is saved", time(until_ns)),
        None if curve.saved_ns < 0.0 => "a Unix socket saves nothing".to_owned(),
        None => format!("less than {margin} is saved of any request"),
    }
}

/// What is saved of another request, at what it takes over TCP on top of the least one.
fn measured(saving: &Saving, curve: &Curve) -> MeasuredSaving {
    let Estimate { median, lo, hi } = saving.ratio;
    MeasuredSaving {
        request: words::shortened(&saving.request, MOST),
        work_ns: saving.tcp_ns - curve.least_ns,
        share: Estimate { median: 1.0 - median, lo: hi.map(|hi| 1.0 - hi), hi: lo.map(|lo| 1.0 - lo) },
    }
}

/// The points of a line, from no work up to a power of ten.
fn line(curve: &Curve, last: i32) -> Vec<(f64, f64)> {
    let first = 10f64.powi(FIRST_DECADE);
    let below = (0..A_DECADE).map(|step| first * f64::from(step) / f64::from(A_DECADE));
    let steps = FIRST_DECADE * A_DECADE..=last * A_DECADE;
    let above = steps.map(|step| 10f64.powf(f64::from(step) / f64::from(A_DECADE)));
    below.chain(above).map(|work_ns| (work_ns, curve.share(work_ns))).collect()
}

#[cfg(test)]
mod tests;
