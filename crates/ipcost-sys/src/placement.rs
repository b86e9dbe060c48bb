//! The processors, and where to place a pair of processes.

use ipcost_model::Placement;

use crate::system::processors::by_core;

use crate::SysError;
use crate::facts::text::{line, listed};

/// The processors available to this program, by physical core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// For each physical core, its logical processors, ascending.
    pub cores: Vec<Vec<usize>>,
}

impl Topology {
    /// Reads it, within this program's affinity.
    ///
    /// If a core's siblings are unknown, every processor counts as its own core.
    pub fn read() -> Self {
        let mut cores = by_core();
        cores.sort();
        Self { cores }
    }

    /// The number of logical processors.
    pub fn processors(&self) -> usize {
        self.cores.iter().map(Vec::len).sum()
    }

    /// Where client and server run: a processor each, or `None` if the scheduler decides.
    pub fn pair(&self, placement: Placement) -> Result<Option<(usize, usize)>, SysError> {
        // The last cores: interrupts and system services tend to sit on the first.
        match (placement, self.cores.as_slice()) {
            (Placement::Free, _) => Ok(None),
            (_, []) => Err(SysError::UnknownProcessors(placement)),
            (Placement::Together, [.., last]) => Ok(Some((last[0], last[0]))),
            (Placement::Apart, [.., before, last]) => Ok(Some((last[0], before[0]))),
            (Placement::Apart, _) => Err(SysError::Unsupported(
                "placement two-cores needs two physical cores; this machine offers one",
            )),
        }
    }

    /// Where a client runs next to a server on this processor, or apart from it; `None` if this program may not run there, or the
    /// scheduler decides.
    pub fn client_of(&self, server: usize, placement: Placement) -> Option<usize> {
        let own = self.cores.iter().position(|core| core.contains(&server));
        match placement {
            Placement::Free => None,
            Placement::Together => own.map(|_| server),
            Placement::Apart => {
                let mut others = self.cores.iter().enumerate().filter(|(core, _)| Some(*core) != own);
                others.next_back().map(|(_, core)| core[0])
            }
        }
    }
}

/// How many processors of the machine are online, whether this program may run on them or not.
pub fn processors_online() -> u64 {
    let told = line("/sys/devices/system/cpu/online").as_deref().and_then(listed);
    told.unwrap_or_else(|| Topology::read().processors().max(1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_follow_the_cores() {
        let smt = Topology { cores: vec![vec![0, 2], vec![1, 3]] };
        assert_eq!(smt.pair(Placement::Free).unwrap(), None);
        assert_eq!(smt.pair(Placement::Together).unwrap(), Some((1, 1)));
        assert_eq!(smt.pair(Placement::Apart).unwrap(), Some((1, 0)));
        assert_eq!(smt.processors(), 4);
        assert_eq!(smt.client_of(2, Placement::Together), Some(2));
        assert_eq!(
            (smt.client_of(2, Placement::Apart), smt.client_of(1, Placement::Apart)),
            (Some(1), Some(0))
        );
        assert_eq!(smt.client_of(9, Placement::Together), None, "this program may not run there");
        assert_eq!(smt.client_of(2, Placement::Free), None);
        let one = Topology { cores: vec![vec![0, 1]] };
        assert!(one.pair(Placement::Apart).is_err());
        assert!(one.pair(Placement::Together).is_ok());
        let unknown = Topology { cores: Vec::new() };
        assert_eq!(unknown.pair(Placement::Free).unwrap(), None, "the scheduler needs no help");
        assert!(unknown.pair(Placement::Together).is_err() && unknown.pair(Placement::Apart).is_err());
    }

    #[test]
    fn this_machine_has_a_processor() {
        assert!(Topology::read().processors() >= 1);
    }
}
