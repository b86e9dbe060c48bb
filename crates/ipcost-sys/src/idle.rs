//! How often the processors went into which idle state (`Documentation/admin-guide/pm/cpuidle.rst` of Linux).

use crate::system::kernel_files;

/// An idle state, all processors together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// How long it takes to leave it, microseconds.
    pub exit_us: u64,
    /// How often it was entered.
    pub entered: u64,
}

/// The states now; empty where the kernel does not choose any, as in most virtual machines.
pub fn states() -> Vec<IdleState> {
    let mut states: Vec<IdleState> = Vec::new();
    let processors = kernel_files::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    for processor in processors {
        let dirs = kernel_files::read_dir(processor.path().join("cpuidle")).into_iter().flatten().flatten();
        for dir in dirs.map(|entry| entry.path()) {
            let text = |file: &str| {
                kernel_files::read_to_string(dir.join(file)).ok().map(|text| text.trim().to_owned())
            };
            let number = |file: &str| text(file)?.parse::<u64>().ok();
            let (Some(name), Some(exit_us), Some(entered)) =
                (text("name"), number("latency"), number("usage"))
            else {
                continue;
            };
            match states.iter_mut().find(|state| state.name == name) {
                Some(state) => state.entered += entered,
                None => states.push(IdleState { name, exit_us, entered }),
            }
        }
    }
    states
}

/// How often each state was entered since `earlier`.
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
    fn states_are_compared_by_name() {
        let state = |name: &str, entered| IdleState { name: name.to_owned(), exit_us: 1, entered };
        let passed = since(&[state("C1", 5)], &[state("C1", 9), state("C6", 4)]);
        assert_eq!(passed, [state("C1", 4), state("C6", 0)]);
        // Whatever this machine has.
        assert_eq!(since(&states(), &[]), []);
    }
}
