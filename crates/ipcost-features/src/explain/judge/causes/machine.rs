//! What the machine does to all cells alike: quotas, the hypervisor, neighbours.

use ipcost_lab::machine_observer::Observed;

use crate::explain::NamedCause;

/// Quotas, the hypervisor, neighbours.
pub(super) fn of_the_machine(observed: &Observed) -> Vec<NamedCause> {
    let named = |(found, weight): (ipcost_lab::rules::AppliedRule, f64)| NamedCause {
        code: found.rule.code.to_owned(),
        cell: None,
        sentence: found.found,
        remedy: found.remedy,
        weight: weight.clamp(0.0, 1.0),
        ..NamedCause::default()
    };
    observed.pressures().into_iter().map(named).collect()
}

/// The share of the processors' time that was not to be had: taken by others on this machine, or on the one below it.
pub(super) fn elsewhere(observed: &Observed) -> f64 {
    (observed.others().unwrap_or(0.0) + observed.stolen().unwrap_or(0.0)).min(1.0)
}
