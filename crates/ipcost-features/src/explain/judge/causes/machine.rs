//! What the machine does to all cells alike: quotas, the hypervisor, neighbours.

use ipcost_lab::causes as shared;
use ipcost_lab::surroundings::Observed;

use crate::explain::NamedCause;

/// The share of the processors' time that others may take.
const NEIGHBOUR_SHARE: f64 = 0.1;
/// Clock ticks a second in which the kernel counts processor time (`sysconf(_SC_CLK_TCK)`, 100 on Linux).
const TICKS_PER_S: f64 = 100.0;

/// Quotas, the hypervisor, neighbours.
pub(super) fn of_the_machine(observed: &Observed) -> Vec<NamedCause> {
    let mut found = Vec::new();
    let mut tell = |code: &str, weight: f64, cause: shared::Cause, more: &str| {
        found.push(NamedCause {
            code: code.to_owned(),
            cell: None,
            sentence: format!("{}{more}", cause.found),
            remedy: cause.advice,
            weight: weight.clamp(0.0, 1.0),
        });
    };
    if let Some(throttling) = observed.throttling.filter(|throttling| throttling.times > 0) {
        let cores = throttling.cores.unwrap_or_default();
        tell("cpu-quota", 0.9, shared::quota(cores, throttling.times, throttling.time), "");
    }
    let Some(times) = observed.processors.filter(|times| times.total > 0) else { return found };
    let stolen = times.stolen as f64 / times.total as f64;
    if stolen > shared::STEAL_SHARE {
        tell("steal", stolen, shared::steal(stolen), "");
    }
    let others = others(observed).unwrap_or(0.0);
    if others > NEIGHBOUR_SHARE {
        // A process that took but little of it is not to be blamed.
        let busiest =
            observed.busiest.as_ref().filter(|busy| busy.ticks as f64 > others * times.total as f64 / 4.0);
        let whom = busiest.map_or_else(
            || "no single process most of it".to_owned(),
            |busy| shared::culprit(&busy.name, busy.id),
        );
        tell("busy-neighbour", others, shared::neighbour(others), &format!(", {whom}"));
    }
    found
}

/// The share of the processors' time that others took.
pub(super) fn others(observed: &Observed) -> Option<f64> {
    let times = observed.processors.filter(|times| times.total > 0)?;
    let own = observed.own_cpu.as_secs_f64() * TICKS_PER_S;
    Some(((times.busy as f64 - own) / times.total as f64).clamp(0.0, 1.0))
}

/// The share of the processors' time that was not to be had: taken by others on this machine, or on the one below it.
pub(super) fn elsewhere(observed: &Observed) -> f64 {
    let stolen = observed.processors.filter(|times| times.total > 0);
    let stolen = stolen.map_or(0.0, |times| times.stolen as f64 / times.total as f64);
    (others(observed).unwrap_or(0.0) + stolen).min(1.0)
}
