//! What this user may look at.

use ipcost_lab::rules;
use ipcost_model::facts::Counting;

use super::{CheckResult, DoctorCheck, check, known};

pub const CHECKS: &[DoctorCheck] = &[
    check(&rules::PERFORMANCE_COUNTERS, |facts| {
        known(facts.permissions.counting, |counting| {
            counters(counting, facts.permissions.perf_event_paranoid)
        })
    }),
    check(&rules::SYSTEM_CALL_TRACING, |facts| {
        known(facts.permissions.tracing, |works| match (works, facts.permissions.ptrace_scope) {
            (true, _) => CheckResult::good("permitted"),
            (false, Some(3..)) => {
                CheckResult::missing("kernel.yama.ptrace_scope is 3, so no process may trace another")
                    .advice("it cannot be lowered before the next boot")
            }
            (false, Some(2)) => CheckResult::missing("kernel.yama.ptrace_scope is 2, so only root may trace")
                .command("sysctl -w kernel.yama.ptrace_scope=1"),
            (false, _) => CheckResult::missing("strace is installed and may not trace")
                .advice("a container may forbid it; docker run --cap-add SYS_PTRACE permits it"),
        })
    }),
    check(&rules::NETWORK_NAMESPACE, |facts| {
        known(facts.permissions.network_namespace.as_ref(), |namespace| {
            match namespace {
            Ok(()) => CheckResult::good("permitted"),
            Err(reason) => CheckResult::missing(format!("not permitted: {reason}")).advice(
                "root may; for others see user.max_user_namespaces, kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns, as far as this kernel has them",
            ),
        }
        })
    }),
    check(&rules::IO_URING, |facts| {
        known(facts.permissions.io_uring_disabled, |disabled| match disabled {
            0 => CheckResult::good("permitted"),
            1 => CheckResult::note("for one group only").command("sysctl -w kernel.io_uring_disabled=0"),
            _ => CheckResult::note("forbidden").command("sysctl -w kernel.io_uring_disabled=0"),
        })
    }),
];

fn counters(counting: Counting, paranoid: Option<i64>) -> CheckResult {
    let level = paranoid.map_or_else(String::new, |level| format!("kernel.perf_event_paranoid is {level}: "));
    let permit = "sysctl -w kernel.perf_event_paranoid=1";
    match counting {
        Counting::Kernel => CheckResult::good("instructions and cycles, the kernel's too"),
        Counting::User => CheckResult::note(format!(
            "{level}your own programs can be counted, the kernel's work for them cannot"
        ))
        .command(permit),
        Counting::Forbidden => CheckResult::missing(format!("{level}nothing can be counted")).command(permit),
        Counting::Absent => {
            CheckResult::missing("this processor shows no counters of instructions and cycles")
                .advice("a virtual machine has them only where its host passes them on")
        }
    }
}
