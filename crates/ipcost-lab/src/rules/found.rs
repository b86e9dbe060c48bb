//! What the machine does to a run, in the words that warnings, the doctor and explanations share.

use std::collections::BTreeSet;
use std::time::Duration;

use ipcost_model::protocol::PeerRole;
use ipcost_model::units::duration_text;
use ipcost_model::{HeldBackRecord, Pattern};

use super::{
    ANOTHER_IPCOST, AppliedRule, BUSY_NEIGHBOUR, CPU_QUOTA, DEBUG_BUILD, IRQ_TIME_ACCOUNTING,
    LEAST_HELD_BACK, SLOW_CLOCK, STEAL, WINE,
};

/// The hypervisor gave processor time to others.
pub fn steal(share: f64) -> AppliedRule {
    let found = format!("the hypervisor took {:.1} % of the processors' time for others", share * 100.0);
    AppliedRule::new(STEAL, found, "measure when the host is quieter")
}

/// Other processes were busy.
pub fn neighbour(share: f64) -> AppliedRule {
    let found = format!("other work took {:.0} % of the processors' time", share * 100.0);
    AppliedRule::new(BUSY_NEIGHBOUR, found, "stop it and measure again")
}

/// The process that did most of the work of others.
pub fn culprit(name: &str, id: u32) -> String {
    format!("most of it {name} (process {id})")
}

/// Other processes of this program measured at the same time.
pub fn another_ipcost(processes: &BTreeSet<u32>) -> AppliedRule {
    let numbers: Vec<String> = processes.iter().map(u32::to_string).collect();
    let found =
        format!("another ipcost measured on this machine at the same time (process {})", numbers.join(", "));
    AppliedRule::new(ANOTHER_IPCOST, found, "measure one after the other; --wait does that")
}

/// Why a side holds something back, with what is known of its option.
pub fn holds_back(nodelay: Option<bool>) -> &'static str {
    match nodelay {
        Some(false) => "writes in pieces and has TCP_NODELAY off (Nagle's algorithm)",
        None => "probably writes in pieces without TCP_NODELAY (Nagle's algorithm)",
        Some(true) => "has TCP_NODELAY on: it corks (TCP_CORK, MSG_MORE)",
    }
}

/// Whether a wait for delayed acknowledgements is worth a word.
pub fn weighs(held: &HeldBackRecord) -> bool {
    held.share >= LEAST_HELD_BACK
}

/// What a side sends.
pub fn message_of(pattern: Pattern, side: PeerRole) -> &'static str {
    match (pattern, side) {
        (Pattern::Stream, _) => "message",
        (_, PeerRole::Client) => "request",
        (_, PeerRole::Server) => "reply",
    }
}

/// What to do about it.
pub fn nodelay_remedy(pattern: Pattern, side: PeerRole) -> String {
    let message = message_of(pattern, side);
    format!("set TCP_NODELAY in the {side}, or write each {message} with one call")
}

/// How often something happens: one in each operation, one in so many, or so many in each.
pub fn one_in(rate: f64) -> String {
    match rate {
        rate if rate >= 1.5 => format!("{rate:.1} in each operation"),
        rate if rate > 0.67 => "one in each operation".to_owned(),
        rate => format!("one in {:.0} operations", (1.0 / rate).max(2.0)),
    }
}

/// A CPU quota throttled this program.
pub fn quota(cores: f64, times: u64, time: Duration) -> AppliedRule {
    let found = format!(
        "the CPU quota of {cores:.2} processors throttled the measurement {times} times, for {} in all",
        duration_text(time)
    );
    AppliedRule::new(CPU_QUOTA, found, "raise the control group's quota, or measure outside it")
}

/// The clock is slow to read, or coarse.
pub fn slow_clock(source: Option<&str>, read_ns: u64, step_ns: u64) -> AppliedRule {
    let found = format!(
        "reading the clock{} takes {read_ns} ns and its resolution is {step_ns} ns, which limits latencies",
        source.map_or_else(String::new, |source| format!(" ({source})")),
    );
    let remedy =
        "costs are not affected, since a batch reads the clock twice; use a clock source such as tsc";
    AppliedRule::new(SLOW_CLOCK, found, remedy)
}

/// Time in softirqs is in no process's account; `whose` processor time is too low as a result.
pub fn irq_time_accounting(whose: &str) -> AppliedRule {
    let found = format!(
        "processor time of {whose} is too low: what it receives over loopback is handled in softirqs, which this kernel charges to no process (CONFIG_IRQ_TIME_ACCOUNTING)"
    );
    let remedy = "compare elapsed times; softirq_ns_per_op of pinned cells shows the softirq time of their cores, and booted with tsc=noirqtime an x86 kernel charges it to processes";
    AppliedRule::new(IRQ_TIME_ACCOUNTING, found, remedy)
}

pub fn wine(version: &str) -> AppliedRule {
    let found = format!("this was measured under Wine {version}, which is not Windows");
    AppliedRule::new(WINE, found, "its figures say nothing about Windows, only that the program works")
}

/// The program was built without optimisation.
pub fn debug_build() -> AppliedRule {
    let found = "this program was built without optimisation, and so was its native peer";
    AppliedRule::new(DEBUG_BUILD, found, "build with --release")
}

/// A time in a sentence.
pub fn nanoseconds(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}
