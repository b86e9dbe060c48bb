//! Job objects: a peer's process with all that it starts. They end with their last handle, and so with the engine,
//! however that ends.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use ipcost_model::Usage;
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::JobObjects::{
    CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_BASIC_ACCOUNTING_INFORMATION,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicAccountingInformation, JobObjectBasicProcessIdList,
    JobObjectExtendedLimitInformation, QueryInformationJobObject, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    OpenProcess, PROCESS_NAME_WIN32, PROCESS_QUERY_LIMITED_INFORMATION, QueryFullProcessImageNameW,
};

use super::text::text;
use super::{checked, owned, usage};

/// The exit status of killed processes.
const KILLED: u32 = 1;
/// The most processes of a job to list.
const MOST_LISTED: usize = 256;

#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    /// An empty job; all its processes end when this is dropped, or when this process ends.
    pub fn new() -> io::Result<Self> {
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the result is ours alone; pointer and length describe the structure of this kind.
        unsafe {
            let job = owned(CreateJobObjectW(ptr::null(), ptr::null()))?;
            checked(SetInformationJobObject(
                job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            ))?;
            Ok(Self(job))
        }
    }

    pub fn handle(&self) -> HANDLE {
        self.0.as_raw_handle()
    }

    /// Kills every process of it, without waiting.
    pub fn kill(&self) {
        // SAFETY: the handle is open. It fails only if nothing is left to kill.
        unsafe { TerminateJobObject(self.handle(), KILLED) };
    }

    /// Adds its processes' usage to the children's. If the job reports less than its first process alone used, as under
    /// Wine, that process's usage counts.
    pub fn account(&self, first: &OwnedHandle) {
        let mut times = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the handle is open; pointer and length describe the structure of this kind.
        let result = unsafe {
            QueryInformationJobObject(
                self.handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut times).cast(),
                size_of_val(&times) as u32,
                ptr::null_mut(),
            )
        };
        let of_first = usage::of(first.as_raw_handle());
        let of_job = if result != 0 {
            usage::from_units(times.TotalUserTime as u64, times.TotalKernelTime as u64)
        } else {
            Usage::default()
        };
        usage::add_children(if of_job.cpu_ns() < of_first.cpu_ns() { of_first } else { of_job });
    }

    pub fn members(&self) -> Vec<u32> {
        #[repr(C)]
        struct List {
            assigned: u32,
            listed: u32,
            numbers: [usize; MOST_LISTED],
        }
        let mut list = List { assigned: 0, listed: 0, numbers: [0; MOST_LISTED] };
        // SAFETY: the handle is open; the structure is JOBOBJECT_BASIC_PROCESS_ID_LIST with room for more than one. If
        // there are too many, the call fails, but the list so far is valid.
        unsafe {
            QueryInformationJobObject(
                self.handle(),
                JobObjectBasicProcessIdList,
                (&raw mut list).cast(),
                size_of::<List>() as u32,
                ptr::null_mut(),
            );
        }
        let listed = (list.listed as usize).min(MOST_LISTED);
        list.numbers[..listed].iter().map(|number| *number as u32).collect()
    }
}

/// A process's number and program, for messages.
pub fn shown(process: u32) -> String {
    let program = program(process).unwrap_or_else(|| "?".to_owned());
    format!("{process} ({program})")
}

fn program(process: u32) -> Option<String> {
    let mut buffer = [0_u16; 1024];
    let mut length = buffer.len() as u32;
    // SAFETY: an opened handle is ours to close; the pointers are to a buffer and its length.
    unsafe {
        let handle = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, process);
        if handle.is_null() {
            return None;
        }
        let handle = OwnedHandle::from_raw_handle(handle);
        let result = QueryFullProcessImageNameW(
            handle.as_raw_handle(),
            PROCESS_NAME_WIN32,
            buffer.as_mut_ptr(),
            &mut length,
        );
        (result != 0).then(|| text(&buffer[..length as usize]))
    }
}
