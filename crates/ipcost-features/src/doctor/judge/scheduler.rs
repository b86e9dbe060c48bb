//! Who else runs, what holds this program back, memory.

use std::time::Duration;

use ipcost_lab::causes::{NEIGHBOUR_SHARE, STEAL_SHARE, culprit, neighbour, quota, steal};
use ipcost_model::facts::{Facts, Sample};
use ipcost_model::units::counted;

use super::{Answer, Check, check, known};

/// A client and a server.
const PAIR: f64 = 2.0;
/// The share of time in which some task waits for memory, per cent, from which on it is felt.
const MEMORY_PRESSURE_PERCENT: f64 = 1.0;

pub const CHECKS: &[Check] = &[
    check(
        "steal",
        "what the hypervisor takes from busy processors",
        "A processor that is taken away in the middle of a hop makes that hop cost milliseconds.",
        |facts| {
            let sample = facts.sample.as_ref();
            known(sample.and_then(|sample| Some((sample, sample.stolen?))), |(sample, share)| {
                stolen(sample, share)
            })
        },
    ),
    check(
        "busy-neighbour",
        "other processes that take processor time",
        "Other work takes cores and caches away from the measurement, more from one cell than from another.",
        |facts| {
            let sample = facts.sample.as_ref();
            known(sample.and_then(|sample| Some((sample, sample.others?))), |(sample, share)| {
                others(facts, sample, share)
            })
        },
    ),
    check(
        "cpu-quota",
        "CPU quotas of this program's control groups",
        "Once the quota of a period is used up, everything waits for the next one, in the middle of a batch.",
        |facts| match (&facts.sample, facts.scheduler.cpu_quota) {
            (None, None) => Vec::new(),
            (_, None) => Answer::good("none").into(),
            (sample, Some(cores)) => {
                quotas(cores, sample.as_ref().and_then(|sample| sample.throttled)).into()
            }
        },
    ),
    check(
        "processors-allowed",
        "whether this program may use every processor",
        "What runs on the other processors is not seen here, but shares caches and frequencies.",
        |facts| {
            let allowed = u64::from(facts.processor.processors);
            known(facts.scheduler.processors_online.filter(|_| allowed > 0), |online| {
                match allowed < online {
                true => Answer::note(format!("{allowed} of {online}")).advice(
                    "an affinity or a cpuset holds this program to them; placement apart needs two physical cores among them",
                ),
                false => Answer::good(format!("all {online}")),
            }
            })
        },
    ),
    check(
        "preemption",
        "the kernel's preemption model",
        "A real-time kernel handles interrupts in threads, so that TCP over loopback wakes one task more.",
        |facts| {
            known(facts.scheduler.preemption.as_deref(), |model| match model {
                "rt" => {
                    Answer::note("a real-time kernel").advice("results do not carry over to other kernels")
                }
                model => Answer::good(model),
            })
        },
    ),
    check(
        "container",
        "whether this runs in a container",
        "Limits, the network and sometimes the processors are the container's and not the machine's.",
        |facts| match (&facts.scheduler.container, facts.processor.processors) {
            (None, 0) => Vec::new(),
            (None, _) => Answer::good("none").into(),
            (Some(kind), _) => Answer::note(format!("a container ({kind})"))
                .advice("if that is not where your programs run, measure outside it as well")
                .into(),
        },
    ),
    check(
        "seccomp",
        "seccomp filters that look at every system call",
        "Each system call of a hop passes the filters first, over pipes and sockets alike, and costs more than it does without.",
        |facts| {
            known(facts.scheduler.seccomp_filters, |filters| {
                match filters {
                0 => Answer::good("none"),
                filters => Answer::bends(counted(filters, "seccomp filter"))
                    .advice("for a container: docker run --security-opt seccomp=unconfined, if your programs run without filters, too"),
            }
            })
        },
    ),
    check(
        "memory-pressure",
        "whether tasks wait for memory",
        "A page that has to be found, or fetched back, costs more than thousands of hops.",
        |facts| {
            known(facts.scheduler.memory_pressure_percent, |percent| {
                let found = format!("some task waited for memory {percent:.1} % of the last ten seconds");
                match percent >= MEMORY_PRESSURE_PERCENT {
                    true => Answer::bends(found).advice("free memory, and measure again"),
                    false => Answer::good(format!("{percent:.1} % of the last ten seconds")),
                }
            })
        },
    ),
    check(
        "swap",
        "whether swap is in use",
        "Swapped-out pages may come back during a measurement.",
        |facts| {
            known(facts.scheduler.swap_used_bytes, |used| match used {
                0 => Answer::good("none in use"),
                used => Answer::note(format!("{} MiB in use", used.div_ceil(1_048_576)))
                    .command("swapoff --all && swapon --all")
                    .advice("only where the free memory can take it"),
            })
        },
    ),
];

fn stolen(sample: &Sample, share: f64) -> Answer {
    let since_boot = sample.stolen_since_boot.unwrap_or(0.0);
    let cause = steal(if share > STEAL_SHARE { share } else { since_boot });
    if share > STEAL_SHARE {
        return Answer::bends(format!("{} while they were busy for {:.1} s", cause.found, sample.busy_s))
            .advice(cause.advice);
    }
    if since_boot > STEAL_SHARE {
        return Answer::note(format!("{} since the machine was started, little of it just now", cause.found))
            .advice("runs tell how much it was while they measured");
    }
    Answer::good(format!("{:.1} % of {:.1} s", share * 100.0, sample.busy_s))
}

fn others(facts: &Facts, sample: &Sample, share: f64) -> Answer {
    let load = facts
        .scheduler
        .load_average
        .map_or_else(String::new, |[one, ..]| format!("; load {one:.2} over a minute"));
    if share <= NEIGHBOUR_SHARE {
        return Answer::good(format!("{:.0} % over {:.1} s{load}", share * 100.0, sample.quiet_s));
    }
    let cause = neighbour(share);
    let answer =
        Answer::bends(format!("{} over {:.1} s{load}", cause.found, sample.quiet_s)).advice(cause.advice);
    // A process that took but little of it is not to be blamed.
    let guilty = sample.busiest.as_ref().filter(|(_, _, own)| *own > share / 4.0);
    Answer { aside: guilty.map(|(name, id, _)| culprit(name, *id)), ..answer }
}

fn quotas(cores: f64, throttled: Option<(u64, f64)>) -> Answer {
    let (times, seconds) = throttled.unwrap_or((0, 0.0));
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let cause = quota(cores, times, time);
    match (times, cores < PAIR) {
        (1.., _) => {
            Answer::bends(cause.found.replace("the measurement", "this program")).advice(cause.advice)
        }
        (0, true) => Answer::bends(format!(
            "a CPU quota of {cores:.2} processors, which is less than a client and a server can use"
        ))
        .advice(cause.advice),
        (0, false) => Answer::note(format!("a CPU quota of {cores:.2} processors, not used up just now"))
            .advice("runs tell whether it held them back"),
    }
}
