//! Stacks and waits as a tree of frames, each as wide as its time.

use std::collections::BTreeMap;

use ipcost_lab::stacks::KERNEL;
use ipcost_model::escaped;
use ipcost_model::protocol::PeerRole;
use ipcost_report::picture::FrameKind;

use super::{FlameCell, FlameError, FlameSide};

/// The most frames of a stack, above its side. `perf` follows 127.
const MOST_FRAMES: usize = 256;
/// The longest time of an operation that is believed, nanoseconds: 30 years. Sums stay finite.
const LONGEST_NS: f64 = 1e18;

/// Identifies a frame among its neighbours. A function may be named like a wait or a side.
pub type FrameKey = (FrameKind, String);

/// A frame, with those that it calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeFrame {
    /// Its own time and that of all frames in it, nanoseconds per operation.
    pub ns: f64,
    /// The frames that it calls.
    pub inner: BTreeMap<FrameKey, TreeFrame>,
}

impl TreeFrame {
    /// The frames of a cell: its sides, in them what they do.
    pub fn of_cell(cell: &FlameCell) -> Result<Self, FlameError> {
        let mut whole = Self::default();
        for side in [PeerRole::Client, PeerRole::Server] {
            let of_side = cell.sides.of(side);
            check(&cell.label, side, of_side)?;
            whole.ns += of_side.cpu_ns;
            let frame = whole.inner.entry((FrameKind::Whole, side.to_string())).or_default();
            frame.ns += of_side.cpu_ns;
            frame.add_stacks(of_side);
            for wait in &of_side.waits {
                frame.add([(FrameKind::Wait, format!("waits in {}", wait.call))], wait.ns);
                frame.ns += wait.ns;
                whole.ns += wait.ns;
            }
        }
        if whole.ns > 0.0 { Ok(whole) } else { Err(FlameError::Empty { label: escaped(&cell.label) }) }
    }

    fn add_stacks(&mut self, side: &FlameSide) {
        // Not as an integer: the weights of a hostile program may exceed it.
        let all: f64 = side.stacks.values().map(|weight| *weight as f64).sum();
        for (stack, weight) in side.stacks.iter().filter(|(_, weight)| **weight > 0) {
            let keys = stack.split(';').take(MOST_FRAMES).map(key);
            self.add(keys, side.cpu_ns * (*weight as f64 / all));
        }
    }

    /// Adds time to the frames of a stack, outermost first, but not to this frame.
    fn add(&mut self, stack: impl IntoIterator<Item = FrameKey>, ns: f64) {
        let mut frame = self;
        for key in stack {
            frame = frame.inner.entry(key).or_default();
            frame.ns += ns;
        }
    }

    /// The longest times of another tree whose frames this one lacks: the names of side and frame, nanoseconds per
    /// operation; the longest first.
    pub fn lacks(&self, other: &Self) -> Vec<(String, f64)> {
        let mut lacking = Vec::new();
        for (side, theirs) in &other.inner {
            let ours = self.inner.get(side);
            collect_lacking(&side.1, ours, theirs, &mut lacking);
        }
        lacking.sort_by(|a, b| b.1.total_cmp(&a.1));
        lacking
    }
}

fn collect_lacking(
    side: &str,
    ours: Option<&TreeFrame>,
    theirs: &TreeFrame,
    lacking: &mut Vec<(String, f64)>,
) {
    for ((kind, name), their) in &theirs.inner {
        match ours.and_then(|ours| ours.inner.get(&(*kind, name.clone()))) {
            Some(our) => collect_lacking(side, Some(our), their, lacking),
            None => lacking.push((format!("{side}: {name}"), their.ns)),
        }
    }
}

fn key(name: &str) -> FrameKey {
    match name.strip_suffix(KERNEL) {
        Some(name) => (FrameKind::Kernel, name.to_owned()),
        None => (FrameKind::User, name.to_owned()),
    }
}

fn check(label: &str, side: PeerRole, of_side: &FlameSide) -> Result<(), FlameError> {
    let waits = of_side.waits.iter().map(|wait| (format!("the wait in {}", escaped(&wait.call)), wait.ns));
    let mut times = std::iter::once(("the processor time".to_owned(), of_side.cpu_ns)).chain(waits);
    match times.find(|(_, ns)| !(0.0..=LONGEST_NS).contains(ns)) {
        Some((what, ns)) => Err(FlameError::NotATime { label: escaped(label), side, what, ns }),
        None => Ok(()),
    }
}
