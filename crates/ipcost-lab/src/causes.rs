//! Causes of biased results, in the words that a run's warnings and the doctor share.

use std::time::Duration;

use ipcost_model::units::duration_text;

/// The share of the processors' time that others may take.
pub const NEIGHBOUR_SHARE: f64 = 0.05;
/// The share of stolen time that is worth reporting.
pub const STEAL_SHARE: f64 = 0.01;
/// Clock readings that cost more are not cheap.
pub const SLOW_CLOCK_NS: u64 = 200;
/// Steps of the clock above this are coarse.
pub const COARSE_CLOCK_NS: u64 = 1_000;

/// A problem, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Stable; for programs.
    pub code: &'static str,
    /// What was found, with the value.
    pub found: String,
    /// What to do, or what to take into account.
    pub advice: String,
}

impl Cause {
    /// Both in one line.
    pub fn sentence(&self) -> String {
        format!("{}; {}", self.found, self.advice)
    }
}

/// The hypervisor gave processor time to others.
pub fn steal(share: f64) -> Cause {
    Cause {
        code: "steal",
        found: format!("the hypervisor took {:.1} % of the processors' time for others", share * 100.0),
        advice: "measure when the host is quieter".to_owned(),
    }
}

/// Other processes were busy.
pub fn neighbour(share: f64) -> Cause {
    Cause {
        code: "busy-neighbour",
        found: format!("other work took {:.0} % of the processors' time", share * 100.0),
        advice: "stop it and measure again".to_owned(),
    }
}

/// The process that did most of the work of others.
pub fn culprit(name: &str, id: u32) -> String {
    format!("most of it {name} (process {id})")
}

/// A CPU quota throttled this program.
pub fn quota(cores: f64, times: u64, time: Duration) -> Cause {
    Cause {
        code: "cpu-quota",
        found: format!(
            "the CPU quota of {cores:.2} processors throttled the measurement {times} times, for {} in all",
            duration_text(time)
        ),
        advice: "raise the control group's quota, or measure outside it".to_owned(),
    }
}

/// The clock is slow to read, or coarse.
pub fn slow_clock(source: Option<&str>, read_ns: u64, step_ns: u64) -> Cause {
    Cause {
        code: "slow-clock",
        found: format!(
            "reading the clock{} takes {read_ns} ns and its resolution is {step_ns} ns, which limits latencies",
            source.map_or_else(String::new, |source| format!(" ({source})")),
        ),
        advice: "costs are not affected, since a batch reads the clock twice; use a clock source such as tsc"
            .to_owned(),
    }
}

/// Wine replaced Windows.
pub fn wine(version: &str) -> Cause {
    Cause {
        code: "wine",
        found: format!("this was measured under Wine {version}, which is not Windows"),
        advice: "its figures say nothing about Windows, only that the program works".to_owned(),
    }
}

/// The program was built without optimisation.
pub fn debug_build() -> Cause {
    Cause {
        code: "debug-build",
        found: "this program was built without optimisation, and so was its native peer".to_owned(),
        advice: "build with --release".to_owned(),
    }
}

/// A time in a sentence.
pub fn nanoseconds(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}
