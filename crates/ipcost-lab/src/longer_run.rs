//! What a longer run would answer, and what is in its way.

use ipcost_model::{Host, LongerRun, Placement, Plan, PlannedContrast, Stopped};

use crate::analysis::Judge;
use crate::campaign::CampaignState;
use crate::machine_observer::Observed;

/// The least that a longer run takes, as a multiple of this one.
const MORE_THAN_THIS: f64 = 1.25;

/// The host's fact that it is a virtual machine.
const HYPERVISOR_FACT: &str = "hypervisor";
/// What a longer run would likely answer: the budget for half of what ten times this one would, or more.
pub(crate) fn longer(outcome: &CampaignState, judge: &Judge<'_>, host: &Host) -> Option<LongerRun> {
    let plan = &outcome.plan;
    if outcome.stopped != Stopped::Budget || plan.epochs_exact.is_some() || outcome.epochs == 0 {
        return None;
    }
    let open = judge.open();
    let mut likely: Vec<u32> = open.iter().filter_map(|(_, epochs)| *epochs).collect();
    likely.sort_unstable();
    let budget = likely.get(likely.len().saturating_sub(1) / 2).map(|epochs| {
        let each = outcome.elapsed_of_epochs().as_secs_f64() / f64::from(outcome.epochs);
        (outcome.timing.calibration_s + each * f64::from(*epochs), *epochs)
    });
    let answers = budget.map_or(0, |(_, epochs)| likely.iter().filter(|likely| **likely <= epochs).count());
    // In steps of a ninth or less: it is a guess.
    let rounded = |seconds: f64| {
        let step = if seconds > 120.0 { 60.0 } else { 10.0 };
        (seconds / step).ceil() * step
    };
    // This one was not enough, whatever the forecast.
    let more = plan.budget.as_secs_f64() * MORE_THAN_THIS;
    let budget_s = budget.map(|(seconds, _)| rounded(seconds.max(more)));
    let in_the_way = in_the_way(&outcome.observed, host, &open, plan);
    (!open.is_empty()).then_some(LongerRun {
        open: open.len() as u32,
        answers: answers as u32,
        budget_s,
        in_the_way,
    })
}

/// What on this machine keeps intervals wide: what took its processors, or how it wakes one up for another, where that is what most of the
/// open contrasts wait for.
fn in_the_way(
    observed: &Observed,
    host: &Host,
    open: &[(PlannedContrast, Option<u32>)],
    plan: &Plan,
) -> Option<String> {
    let fact = |name: &str| host.more.get(name).and_then(|value| value.as_str());
    let is_apart = |cell: usize| plan.cells[cell].point.placement == Placement::Apart;
    let apart = open.iter().filter(|(contrast, _)| is_apart(contrast.a)).count();
    let pressure = observed.pressures().into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((found, _)) = pressure {
        return Some(found.found);
    }
    if apart * 2 <= open.len() {
        return None;
    }
    let most = match (apart, open.len()) {
        (1, 1) => "it runs on two cores".to_owned(),
        (apart, all) if apart == all => "all of them run on two cores".to_owned(),
        (apart, _) => format!("{apart} of them run on two cores"),
    };
    if host.physical_cores < 2 {
        return Some(format!("{most}, which here are two threads of one core"));
    }
    fact(HYPERVISOR_FACT).map(|_| {
        format!("{most}, where every wake-up passes through the hypervisor (ipcost doctor: virtual-machine, idle-states)")
    })
}
