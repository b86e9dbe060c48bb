//! How often the processors entered each idle state (`Documentation/admin-guide/pm/cpuidle.rst` of Linux).

use crate::system::kernel_files;

/// An idle state, all processors together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    pub name: String,
    /// Exit latency, microseconds.
    pub exit_us: u64,
    pub entered: u64,
}

/// The states now; empty if the kernel does not choose any, as in most virtual machines.
pub fn states() -> Vec<IdleState> {
    let mut states: Vec<IdleState> = Vec::new();
    let processors = kernel_files::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    for processor in processors {
        let dirs = kernel_files::read_dir(processor.path().join("cpuidle")).into_iter().flatten().flatten();
        for dir in dirs.map(|entry| entry.path()) {
            let text = |file: &str| kernel_files::read_to_string(dir.join(file)).ok();
            let [Some(name), Some(latency), Some(usage)] = ["name", "latency", "usage"].map(text) else {
                continue;
            };
            add(&mut states, &name, &latency, &usage);
        }
    }
    states
}

/// What decides how deeply processors sleep, such as `intel_idle` or `haltpoll`; it differs by processor family.
pub fn driver() -> Option<String> {
    let text = kernel_files::read_to_string("/sys/devices/system/cpu/cpuidle/current_driver").ok()?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty() && name != "none")
}

/// Adds one processor's state, from the texts of three of its files.
fn add(states: &mut Vec<IdleState>, name: &str, latency: &str, usage: &str) {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (Some(exit_us), Some(entered)) = (number(latency), number(usage)) else { return };
    match states.iter_mut().find(|state| state.name == name.trim()) {
        Some(state) => state.entered = state.entered.saturating_add(entered),
        None => states.push(IdleState { name: name.trim().to_owned(), exit_us, entered }),
    }
}

/// Reads lines as such texts, three for each state.
pub(crate) fn read_text(text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    let mut states = Vec::new();
    lines.chunks_exact(3).for_each(|lines| add(&mut states, lines[0], lines[1], lines[2]));
}

/// Times each state was entered since `earlier`.
pub fn since(earlier: &[IdleState], now: &[IdleState]) -> Vec<IdleState> {
    let before = |state: &IdleState| {
        earlier.iter().find(|known| known.name == state.name).map_or(state.entered, |known| known.entered)
    };
    let passed = |state: &IdleState| IdleState {
        entered: state.entered.saturating_sub(before(state)),
        ..state.clone()
    };
    now.iter().map(passed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_added_up_and_what_is_no_number_is_left_out() {
        let mut states = Vec::new();
        for usage in ["7\n", "18446744073709551615", "x"] {
            add(&mut states, "C1\n", "2", usage);
        }
        assert_eq!(states, [IdleState { name: "C1".into(), exit_us: 2, entered: u64::MAX }]);
    }

    #[test]
    fn states_are_compared_by_name() {
        let state = |name: &str, entered| IdleState { name: name.to_owned(), exit_us: 1, entered };
        let passed = since(&[state("C1", 5)], &[state("C1", 9), state("C6", 4)]);
        assert_eq!(passed, [state("C1", 4), state("C6", 0)]);
        // Holds on any machine.
        assert_eq!(since(&states(), &[]), []);
    }
}
