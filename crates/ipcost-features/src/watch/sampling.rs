//! A sample of the calls that move data: in windows whose length follows how many calls there are, so that neither the programs nor the
//! processors have much to bear.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ipcost_sys::call_samples::{CallSampler, SampleError};
use ipcost_sys::clock::now_ns;
use ipcost_sys::observed::MovedCall;

/// One window is in each.
const SLOT: Duration = Duration::from_millis(100);
/// The calls that a window is to hold. Each costs its program some 0.6 µs: a hundredth of a processor in all.
const CALLS: usize = 1_500;
/// The same where all calls are counted anyway, and a sample only tells how they are made.
const FEW_CALLS: usize = 500;
/// As long as nothing is known, so many calls a second are expected: a window ends early where there are more.
const FEW: f64 = 1_000.0;
/// No window is shorter, nanoseconds: it takes time to open one.
const SHORTEST_NS: f64 = 1e6;
/// How often an open window is emptied, nanoseconds: at a rate of calls that would not fill a fourth of it, more seldom.
const STEP_NS: [f64; 2] = [5e6, 20e6];
/// Windows lie at another place in each slot, so that they do not keep pace with programs: the golden ratio spreads them evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// The calls of a window.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// How long it was open, nanoseconds.
    pub lasted_ns: u64,
    /// Of how long it tells, nanoseconds: since the one before.
    pub stands_for_ns: u64,
    /// Whether it goes on where the one before ended.
    pub continues: bool,
    /// What was called, in the order of the ends.
    pub calls: Vec<MovedCall>,
    /// Records that the kernel had no room for.
    pub lost: u64,
}

/// Samples until it is dropped.
#[derive(Debug)]
pub struct Sampling {
    windows: Arc<Mutex<Vec<Window>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampling {
    /// Begins, with smaller windows where all calls are counted anyway.
    pub fn start(are_counted: bool) -> Result<Self, SampleError> {
        let sampler = CallSampler::open(None)?;
        let most = if are_counted { FEW_CALLS } else { CALLS };
        let (windows, ended) = (Arc::default(), Arc::default());
        let thread = {
            let (windows, ended) = (Arc::clone(&windows), Arc::clone(&ended));
            std::thread::spawn(move || sample(sampler, most, &windows, &ended))
        };
        Ok(Self { windows, ended, thread: Some(thread) })
    }

    /// The windows since the last time.
    pub fn take(&self) -> Vec<Window> {
        std::mem::take(&mut *self.windows.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn sample(mut sampler: CallSampler, most: usize, windows: &Mutex<Vec<Window>>, ended: &AtomicBool) {
    let slot_ns = SLOT.as_nanos() as f64;
    let (mut calls_per_ns, mut place, mut is_open, mut opened_ns) = (FEW / 1e9, 0.0, false, 0);
    let mut told_ns = now_ns();
    while !ended.load(Ordering::Relaxed) {
        let wanted_ns = (most as f64 / calls_per_ns).clamp(SHORTEST_NS, slot_ns);
        let is_whole = wanted_ns >= slot_ns;
        if !is_whole && is_open {
            // What came since the last window is of no whole one.
            sampler.disable();
            sampler.take(&mut drop);
            is_open = false;
        }
        let before_ns = if is_whole { 0.0 } else { (slot_ns - wanted_ns) * place };
        place = (place + GOLDEN).fract();
        rest(before_ns);
        let continues = is_open;
        if !is_open {
            opened_ns = halfway(|| sampler.enable());
        }
        let mut window = Window { continues, ..Window::default() };
        let mut left_ns = wanted_ns;
        let step_ns = (most as f64 / 4.0 / calls_per_ns).clamp(STEP_NS[0], STEP_NS[1]);
        // A burst ends the window early: the kernel has room for few more calls than it is to hold.
        while left_ns > 0.0 && window.calls.len() < most {
            rest(left_ns.min(step_ns));
            left_ns -= step_ns;
            window.lost += sampler.take(&mut |call| window.calls.push(call)).lost;
        }
        is_open = is_whole && window.calls.len() < most;
        let closed_ns = if is_open { now_ns() } else { halfway(|| sampler.disable()) };
        window.lost += sampler.take(&mut |call| window.calls.push(call)).lost;
        window.lasted_ns = closed_ns - opened_ns;
        let after_ns = (slot_ns - before_ns - window.lasted_ns as f64).max(0.0);
        window.stands_for_ns = closed_ns + after_ns as u64 - told_ns;
        told_ns += window.stands_for_ns;
        opened_ns = closed_ns;
        let rate = window.calls.len() as f64 / window.lasted_ns.max(1) as f64;
        // A burst that comes is worse than one that is over.
        calls_per_ns = rate.max(calls_per_ns / 2.0).max(1e-12);
        windows.lock().unwrap_or_else(PoisonError::into_inner).push(window);
        rest(after_ns);
    }
}

fn rest(ns: f64) {
    std::thread::sleep(Duration::from_nanos(ns.max(0.0) as u64));
}

/// The middle of the time that something takes: processors are switched one after the other.
fn halfway(act: impl FnOnce()) -> u64 {
    let began = now_ns();
    act();
    began + (now_ns() - began) / 2
}
