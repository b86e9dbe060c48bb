//! How this program shares the machine: preemption, containers, quotas, load, memory.

use std::io::Read;

use ipcost_model::facts::SchedulerFacts;

use super::text::{field, kibibytes, line, listed, value_of};
use crate::quota;
use crate::system::{kernel_files, machine};

/// Facts about sharing the machine.
pub fn scheduler() -> SchedulerFacts {
    let machine = machine::read();
    let chosen = line("/sys/kernel/debug/sched/preempt");
    let command_line = line("/proc/cmdline");
    let configuration = configuration(&machine.kernel);
    SchedulerFacts {
        preemption: preemption(&machine.version, chosen.as_deref(), command_line.as_deref()),
        irq_time_accounting: configuration
            .and_then(|text| irq_time_accounting(&text, command_line.as_deref())),
        container: container(),
        seccomp_filters: kernel_files::read_to_string("/proc/self/status")
            .ok()
            .as_deref()
            .and_then(seccomp_filters),
        processors_online: line("/sys/devices/system/cpu/online").as_deref().and_then(listed),
        cpu_quota: quota::throttling().and_then(|throttling| throttling.cores),
        load_average: line("/proc/loadavg").as_deref().and_then(load_average),
        swap_used_bytes: swap_used(),
        memory_pressure_percent: kernel_files::read_to_string("/proc/pressure/memory")
            .ok()
            .as_deref()
            .and_then(pressure),
    }
}

/// The preemption model, from the kernel's version as `uname -v` shows it, from the choice at run time (`none voluntary
/// (full)`), and from the kernel's command line; a kernel with a choice shows it only to root.
fn preemption(version: &str, chosen: Option<&str>, command_line: Option<&str>) -> Option<String> {
    let has = |wanted: &str| version.split_whitespace().any(|word| word == wanted);
    if has("PREEMPT_RT") {
        return Some("rt".to_owned());
    }
    if let Some(mark) = chosen.and_then(|text| text.split('(').nth(1)?.split(')').next()) {
        return Some(mark.to_owned());
    }
    if has("PREEMPT_DYNAMIC") {
        let booted = command_line?.split_whitespace().rev().find_map(|word| word.strip_prefix("preempt="))?;
        return Some(booted.to_owned());
    }
    let static_ones = [("PREEMPT_LAZY", "lazy"), ("PREEMPT", "full")];
    static_ones.into_iter().find(|(word, _)| has(word)).map(|(_, name)| name.to_owned())
}

/// The kernel's configuration as text: its own copy, if it was built with one, or where distributions install it, by the kernel's
/// release.
fn configuration(release: &str) -> Option<String> {
    let installed = [
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
        format!("/lib/modules/{release}/build/.config"),
    ];
    let own = || kernel_files::read("/proc/config.gz").ok().and_then(|packed| unpacked(&packed));
    own().or_else(|| installed.iter().find_map(|path| kernel_files::read_to_string(path).ok()))
}

/// Text from gzip; `None` if it is no such text, or one that no configuration is as long as.
fn unpacked(packed: &[u8]) -> Option<String> {
    const MOST: u64 = 4 << 20;
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether the kernel keeps time in interrupts and softirqs apart from tasks: its configuration says so, and its command line does
/// not take it back (`tsc=noirqtime`, `Documentation/admin-guide/kernel-parameters.txt` of Linux). An option whose own conditions
/// are not met is not in a configuration at all.
fn irq_time_accounting(configuration: &str, command_line: Option<&str>) -> Option<bool> {
    let is_configuration = configuration.lines().any(|line| line.starts_with("CONFIG_"));
    let built_in = configuration.lines().any(|line| line.trim_end() == "CONFIG_IRQ_TIME_ACCOUNTING=y");
    let switched_off =
        command_line.is_some_and(|line| line.split_whitespace().any(|word| word == "tsc=noirqtime"));
    is_configuration.then_some(built_in && !switched_off)
}

/// When every kernel of gVisor says that it was built; it has its own in place of the host's.
const GVISOR: &str = "#1 SMP Sun Jan 10 15:06:54 PST 2016";

/// The kind of container, by the marks it leaves.
fn container() -> Option<String> {
    if line("/proc/version").is_some_and(|version| version.contains(GVISOR)) {
        return Some("gVisor".to_owned());
    }
    if let Some(kind) = line("/run/systemd/container") {
        return Some(kind);
    }
    let marks = [("/run/.containerenv", "podman"), ("/.dockerenv", "docker")];
    marks.into_iter().find(|(path, _)| kernel_files::exists(path)).map(|(_, kind)| kind.to_owned())
}

/// From `/proc/self/status` (`proc_pid_status(5)`); older kernels only say whether there are any.
fn seccomp_filters(status: &str) -> Option<u64> {
    let number = |name: &str| value_of(status, name)?.parse::<u64>().ok();
    const FILTERED: u64 = 2;
    number("Seccomp_filters").or_else(|| Some(u64::from(number("Seccomp")? == FILTERED)))
}

fn swap_used() -> Option<u64> {
    let of = |name: &str| field("/proc/meminfo", name).as_deref().and_then(kibibytes);
    of("SwapTotal")?.checked_sub(of("SwapFree")?)
}

/// `/proc/loadavg` (`proc_loadavg(5)`).
fn load_average(text: &str) -> Option<[f64; 3]> {
    let words = text.split_whitespace().take(3);
    let averages: Option<Vec<f64>> =
        words.map(|word| word.parse().ok().filter(|load| plausible(*load))).collect();
    averages?.try_into().ok()
}

/// The share of the last ten seconds in which some task waited, from `/proc/pressure/memory`, per cent.
fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let value = some.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
    value.parse().ok().filter(|percent| plausible(*percent))
}

/// Reads a text as each of the files above.
pub(crate) fn read_text(text: &str) {
    let _ = (load_average(text), pressure(text), seccomp_filters(text));
    let _ = preemption(text, Some(text), Some(text));
    let _ = irq_time_accounting(text, Some(text));
}

/// A number that JSON can hold.
fn plausible(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn preemption_is_told_where_it_can_be() {
        let model = |version, chosen, booted| preemption(version, chosen, booted);
        assert_eq!(model("#1 SMP PREEMPT_RT Debian 6.1", None, None).as_deref(), Some("rt"));
        let dynamic = "#1 SMP PREEMPT_DYNAMIC Debian 6.1";
        assert_eq!(model(dynamic, Some("none (voluntary) full"), None).as_deref(), Some("voluntary"));
        assert_eq!(model(dynamic, None, Some("quiet preempt=none preempt=full")).as_deref(), Some("full"));
        assert_eq!(model(dynamic, None, Some("quiet")), None);
        assert_eq!(model("#1 SMP PREEMPT x", None, None).as_deref(), Some("full"));
        assert_eq!(model("#1 SMP x", None, Some("preempt=none")), None);
        assert_eq!(model("", Some("no parentheses"), None), None);
    }

    #[test]
    fn a_configuration_is_unpacked() {
        use std::io::Write;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"CONFIG_HZ=250\n").unwrap();
        assert_eq!(unpacked(&packed.finish().unwrap()).as_deref(), Some("CONFIG_HZ=250\n"));
        assert_eq!(unpacked(b"CONFIG_HZ=250\n"), None);
    }

    #[test]
    fn the_accounting_of_interrupts_is_read_from_the_configuration() {
        let with = "# Linux/x86 6.12.0 Kernel Configuration\nCONFIG_HZ=250\nCONFIG_IRQ_TIME_ACCOUNTING=y\n";
        let without = "CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n";
        assert_eq!(irq_time_accounting(with, None), Some(true));
        assert_eq!(irq_time_accounting(with, Some("quiet tsc=reliable")), Some(true));
        assert_eq!(irq_time_accounting(with, Some("tsc=reliable tsc=noirqtime quiet")), Some(false));
        assert_eq!(irq_time_accounting(without, None), Some(false));
        assert_eq!(irq_time_accounting("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n", None), Some(false));
        assert_eq!(irq_time_accounting("CONFIG_HAVE_IRQ_TIME_ACCOUNTING=y\n", None), Some(false));
        for rubbish in ["", "\u{1f}\u{8b}", "IRQ_TIME_ACCOUNTING=y"] {
            assert_eq!(irq_time_accounting(rubbish, Some("tsc=noirqtime")), None, "{rubbish}");
        }
    }

    #[test]
    fn load_and_pressure() {
        assert_eq!(load_average("1.57 7.61 6.59 3/118 19370"), Some([1.57, 7.61, 6.59]));
        assert_eq!((load_average("1 2"), load_average("a b c"), load_average("NaN 1 1")), (None, None, None));
        let text = "some avg10=2.50 avg60=0.00 avg300=0.00 total=9\nfull avg10=9.00 avg60=0.00\n";
        assert_eq!(
            (pressure(text), pressure("full avg10=1.0"), pressure("some avg10=inf")),
            (Some(2.5), None, None)
        );
    }

    #[test]
    fn seccomp_is_counted_or_at_least_noticed() {
        assert_eq!(seccomp_filters("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t3\n"), Some(3));
        assert_eq!((seccomp_filters("Seccomp:\t2\n"), seccomp_filters("Seccomp:\t0\n")), (Some(1), Some(0)));
        assert_eq!((seccomp_filters(""), seccomp_filters("Seccomp: x")), (None, None));
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in any::<String>()) {
            let _ = (load_average(&text), pressure(&text), seccomp_filters(&text), preemption(&text, Some(&text), Some(&text)));
        }
    }
}
