//! The processors available to this program.

use windows_sys::Win32::System::SystemInformation::{
    GetLogicalProcessorInformation, RelationProcessorCore, SYSTEM_LOGICAL_PROCESSOR_INFORMATION,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessAffinityMask};

/// The logical processors of each physical core, ascending, within this program's affinity.
///
/// Machines with more than 64 processors put them in groups; these are the processors of this program's group, the only
/// ones that affinity masks can name.
pub fn by_core() -> Vec<Vec<usize>> {
    let allowed = allowed();
    let mut cores: Vec<Vec<usize>> = core_masks()
        .into_iter()
        .map(|mask| members(mask & allowed))
        .filter(|core| !core.is_empty())
        .collect();
    if cores.is_empty() {
        cores = members(allowed).into_iter().map(|cpu| vec![cpu]).collect();
    }
    cores
}

fn allowed() -> usize {
    let (mut own, mut all) = (0, 0);
    // SAFETY: the handle denotes this process; the pointers are to two masks.
    let result = unsafe { GetProcessAffinityMask(GetCurrentProcess(), &mut own, &mut all) };
    // If unknown, there is at least one processor.
    if result == 0 || own == 0 { 1 } else { own }
}

fn core_masks() -> Vec<usize> {
    let mut bytes = 0;
    // SAFETY: without a buffer, the call returns how many bytes it needs.
    unsafe { GetLogicalProcessorInformation(std::ptr::null_mut(), &mut bytes) };
    let count = bytes as usize / size_of::<SYSTEM_LOGICAL_PROCESSOR_INFORMATION>();
    let mut entries = vec![SYSTEM_LOGICAL_PROCESSOR_INFORMATION::default(); count];
    // SAFETY: the buffer has as many bytes as the call asked for.
    if unsafe { GetLogicalProcessorInformation(entries.as_mut_ptr(), &mut bytes) } == 0 {
        return Vec::new();
    }
    let cores = entries.iter().filter(|entry| entry.Relationship == RelationProcessorCore);
    cores.map(|entry| entry.ProcessorMask).collect()
}

fn members(mask: usize) -> Vec<usize> {
    (0..usize::BITS as usize).filter(|cpu| mask >> cpu & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_name_processors() {
        assert_eq!(members(0b1010), [1, 3]);
        assert!(members(0).is_empty());
        assert!(by_core().iter().all(|core| !core.is_empty()));
    }
}
