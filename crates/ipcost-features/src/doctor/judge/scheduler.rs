//! Who else runs, what holds this program back, memory.

use std::time::Duration;

use ipcost_lab::rules::{
    self, BLAME, NEIGHBOUR_SHARE, STEAL_SHARE, culprit, irq_time_accounting, neighbour, quota, steal,
};
use ipcost_model::facts::{ActivitySample, MachineFacts};
use ipcost_model::units::counted;

use super::{CheckResult, DoctorCheck, check, known};

/// A client and a server.
const PAIR: f64 = 2.0;
/// The share of time in which some task waits for memory, per cent, from which on it is felt.
const MEMORY_PRESSURE_PERCENT: f64 = 1.0;

pub const CHECKS: &[DoctorCheck] = &[
    check(&rules::STEAL, |facts| {
        let sample = facts.sample.as_ref();
        known(sample.and_then(|sample| Some((sample, sample.stolen?))), |(sample, share)| {
            stolen(sample, share)
        })
    }),
    check(&rules::BUSY_NEIGHBOUR, |facts| {
        let sample = facts.sample.as_ref();
        known(sample.and_then(|sample| Some((sample, sample.others?))), |(sample, share)| {
            others(facts, sample, share)
        })
    }),
    check(&rules::CPU_QUOTA, |facts| match (&facts.sample, facts.scheduler.cpu_quota) {
        (None, None) => Vec::new(),
        (_, None) => CheckResult::good("none").into(),
        (sample, Some(cores)) => quotas(cores, sample.as_ref().and_then(|sample| sample.throttled)).into(),
    }),
    check(&rules::PROCESSORS_ALLOWED, |facts| {
        let allowed = u64::from(facts.processor.processors);
        known(facts.scheduler.processors_online.filter(|_| allowed > 0), |online| {
            match allowed < online {
                true => CheckResult::note(format!("{allowed} of {online}")).advice(
                    "an affinity or a cpuset holds this program to them; placement two-cores needs two physical cores among them",
                ),
                false => CheckResult::good(format!("all {online}")),
            }
        })
    }),
    check(&rules::PREEMPTION, |facts| {
        known(facts.scheduler.preemption.as_deref(), |model| match model {
            "rt" => {
                CheckResult::note("a real-time kernel").advice("results do not carry over to other kernels")
            }
            model => CheckResult::good(model),
        })
    }),
    check(&rules::IRQ_TIME_ACCOUNTING, |facts| {
        known(facts.scheduler.irq_time_accounting, |apart| {
            let cause = irq_time_accounting("TCP");
            match apart {
                true => CheckResult::bends(cause.found).advice(cause.remedy),
                false => CheckResult::good("softirq time is charged to the process it interrupts"),
            }
        })
    }),
    check(&rules::CONTAINER, |facts| match (&facts.scheduler.container, facts.processor.processors) {
        (None, 0) => Vec::new(),
        (None, _) => CheckResult::good("none").into(),
        (Some(kind), _) => CheckResult::note(format!("a container ({kind})"))
            .advice("if that is not where your programs run, measure outside it as well")
            .into(),
    }),
    check(&rules::SECCOMP, |facts| {
        known(facts.scheduler.seccomp_filters, |filters| {
            match filters {
                0 => CheckResult::good("none"),
                filters => CheckResult::bends(counted(filters, "seccomp filter"))
                    .advice("for a container: docker run --security-opt seccomp=unconfined, if your programs run without filters, too"),
            }
        })
    }),
    check(&rules::MEMORY_PRESSURE, |facts| {
        known(facts.scheduler.memory_pressure_percent, |percent| {
            let found = format!("some task waited for memory {percent:.1} % of the last ten seconds");
            match percent >= MEMORY_PRESSURE_PERCENT {
                true => CheckResult::bends(found).advice("free memory, and measure again"),
                false => CheckResult::good(format!("{percent:.1} % of the last ten seconds")),
            }
        })
    }),
    check(&rules::SWAP, |facts| {
        known(facts.scheduler.swap_used_bytes, |used| match used {
            0 => CheckResult::good("none in use"),
            used => CheckResult::note(format!("{} MiB in use", used.div_ceil(1_048_576)))
                .command("swapoff --all && swapon --all")
                .advice("only where the free memory can take it"),
        })
    }),
];

fn stolen(sample: &ActivitySample, share: f64) -> CheckResult {
    let since_boot = sample.stolen_since_boot.unwrap_or(0.0);
    let cause = steal(if share > STEAL_SHARE { share } else { since_boot });
    if share > STEAL_SHARE {
        return CheckResult::bends(format!(
            "{} while they were busy for {:.1} s",
            cause.found, sample.busy_s
        ))
        .advice(cause.remedy);
    }
    if since_boot > STEAL_SHARE {
        return CheckResult::note(format!(
            "{} since the machine was started, little of it just now",
            cause.found
        ))
        .advice("runs tell how much it was while they measured");
    }
    CheckResult::good(format!("{:.1} % of {:.1} s", share * 100.0, sample.busy_s))
}

fn others(facts: &MachineFacts, sample: &ActivitySample, share: f64) -> CheckResult {
    let load = facts
        .scheduler
        .load_average
        .map_or_else(String::new, |[one, ..]| format!("; load {one:.2} over a minute"));
    if share <= NEIGHBOUR_SHARE {
        return CheckResult::good(format!("{:.0} % over {:.1} s{load}", share * 100.0, sample.quiet_s));
    }
    let cause = neighbour(share);
    let answer = CheckResult::bends(format!("{} over {:.1} s{load}", cause.found, sample.quiet_s))
        .advice(cause.remedy);
    // A process that took but little of it is not to be blamed.
    let guilty = sample.busiest.as_ref().filter(|(_, _, own)| *own > BLAME * share);
    CheckResult { aside: guilty.map(|(name, id, _)| culprit(name, *id)), ..answer }
}

fn quotas(cores: f64, throttled: Option<(u64, f64)>) -> CheckResult {
    let (times, seconds) = throttled.unwrap_or((0, 0.0));
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let cause = quota(cores, times, time);
    match (times, cores < PAIR) {
        (1.., _) => {
            CheckResult::bends(cause.found.replace("the measurement", "this program")).advice(cause.remedy)
        }
        (0, true) => CheckResult::bends(format!(
            "a CPU quota of {cores:.2} processors, which is less than a client and a server can use"
        ))
        .advice(cause.remedy),
        (0, false) => {
            CheckResult::note(format!("a CPU quota of {cores:.2} processors, not used up just now"))
                .advice("runs tell whether it held them back")
        }
    }
}
