//! Processor times since the system started (`GetSystemTimes`).

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::GetSystemTimes;

use ipcost_model::ProcessorTimes;

/// Windows' time units in a clock tick of 10 ms, the contract's unit.
const UNITS_PER_TICK: u64 = 100_000;

/// Reads them; Windows does not report the hypervisor's share.
pub fn read() -> Option<ProcessorTimes> {
    let [mut idle, mut kernel, mut user] = [FILETIME::default(); 3];
    // SAFETY: the pointers are to three times.
    if unsafe { GetSystemTimes(&mut idle, &mut kernel, &mut user) } == 0 {
        return None;
    }
    let ticks = |time: FILETIME| {
        ((u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime)) / UNITS_PER_TICK
    };
    // Kernel time includes idle time.
    let total = ticks(kernel) + ticks(user);
    Some(ProcessorTimes { busy: total.saturating_sub(ticks(idle)), stolen: 0, total })
}
