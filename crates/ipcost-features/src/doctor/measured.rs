//! What the machine's congestion control changes here, measured: streams over TCP under it and under the usual one, by turns.

use std::time::Duration;

use ipcost_lab::document::document;
use ipcost_lab::lab::about;
use ipcost_lab::progress::Silent;
use ipcost_lab::{Contrasts, Lab, LabError, PlanSettings};
use ipcost_model::{
    COMMON_CONGESTION, ContrastRecord, Document, Job, LatencyMode, Metric, Placement, parse_cell_id,
};
use ipcost_report::numbers::{bounds, ratio};
use ipcost_report::words::cores;
use ipcost_sys::interrupt::Interrupt;

/// How long it may take.
const BUDGET: Duration = Duration::from_secs(6);
const STREAM: &str = "stream/tcp/65536/c1";

/// What a message of a stream costs under [`COMMON_CONGESTION`], relative to the same under the machine's own.
pub(super) fn congestion() -> Result<String, LabError> {
    let mut cells = Vec::new();
    for placement in [Placement::Together, Placement::Apart] {
        for option in [String::new(), format!("/tcp_congestion={COMMON_CONGESTION}")] {
            let id = format!("{STREAM}/{placement}{option}");
            cells.push(parse_cell_id(&id)?);
        }
    }
    let job = Job { cells, floor: false, ..Job::default() };
    let lab = Lab::open(&job, &mut |_| ())?;
    let seed = 1;
    let settings =
        PlanSettings { budget: Some(BUDGET), latency: LatencyMode::Off, ..PlanSettings::of(&job, seed) };
    let plan = lab.plan(lab.cells(&job)?, &settings)?;
    let never = Interrupt::never().map_err(|error| LabError::Failed(error.to_string()))?;
    let (outcome, _) = lab.run(plan, &Contrasts, &never, |_| Silent)?;
    let nothing = || LabError::Failed("nothing was compared".to_owned());
    sentence(&document(outcome, about(&job, seed))).ok_or_else(nothing)
}

/// Each placement in words; `None` if there is none.
fn sentence(document: &Document) -> Option<String> {
    let of = |contrast: &ContrastRecord| {
        let cell = document.cell(&contrast.a)?;
        let bounds = bounds(contrast.ratio, (contrast.lo, contrast.hi), None);
        Some(format!("{} × {bounds} on {}", ratio(contrast.ratio), cores(cell.placement)))
    };
    let wall = document.contrasts.iter().filter(|contrast| contrast.metric == Metric::Wall);
    let all: Vec<String> = wall.filter_map(of).collect();
    let told = || {
        format!("under {COMMON_CONGESTION} a 64 KiB message of a TCP stream would cost {}", all.join(" and "))
    };
    (!all.is_empty()).then(told)
}
