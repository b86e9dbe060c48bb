//! The system's own description.

use std::ffi::CStr;
use std::os::raw::c_char;

use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX, OSVERSIONINFOW};
use windows_sys::Win32::System::WindowsProgramming::GetComputerNameW;
use windows_sys::w;

use super::text::text;
pub use crate::contract::SystemReport;

pub fn read() -> SystemReport {
    SystemReport {
        name: name().unwrap_or_default(),
        kernel: kernel(),
        version: String::new(),
        cpu: cpu(),
        memory_bytes: memory_bytes(),
        wine: wine(),
    }
}

fn name() -> Option<String> {
    let mut buffer = [0; 256];
    let mut length = buffer.len() as u32;
    // SAFETY: the pointers are to a buffer and its length.
    let result = unsafe { GetComputerNameW(buffer.as_mut_ptr(), &mut length) };
    (result != 0).then(|| text(&buffer))
}

/// Major, minor and build number, as `ver` shows them.
fn kernel() -> String {
    let mut version =
        OSVERSIONINFOW { dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32, ..Default::default() };
    // SAFETY: the pointer is to a structure that contains its size. Unlike GetVersionEx, this call hides nothing from
    // programs that do not name the system in a manifest.
    unsafe { RtlGetVersion(&mut version) };
    format!("{}.{}.{}", version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber)
}

fn cpu() -> Option<String> {
    let mut buffer = [0_u16; 256];
    let mut bytes = size_of_val(&buffer) as u32;
    // SAFETY: the names end in NUL; the pointers are to a buffer and its length in bytes.
    let result = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            w!("HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0"),
            w!("ProcessorNameString"),
            RRF_RT_REG_SZ,
            std::ptr::null_mut(),
            buffer.as_mut_ptr().cast(),
            &mut bytes,
        )
    };
    (result == 0).then(|| text(&buffer).trim().to_owned())
}

fn memory_bytes() -> Option<u64> {
    let mut status =
        MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
    // SAFETY: the pointer is to a structure that contains its length.
    let result = unsafe { GlobalMemoryStatusEx(&mut status) };
    (result != 0).then_some(status.ullTotalPhys)
}

/// The version of Wine, recognised by a function that Windows lacks.
fn wine() -> Option<String> {
    // SAFETY: the names end in NUL; the library is part of every process and stays.
    let function = unsafe {
        let library = GetModuleHandleA(c"ntdll.dll".as_ptr().cast());
        if library.is_null() {
            return None;
        }
        GetProcAddress(library, c"wine_get_version".as_ptr().cast())?
    };
    // SAFETY: a function of this name is Wine's, takes no arguments, and returns a static string.
    let version = unsafe {
        let function = std::mem::transmute::<
            unsafe extern "system" fn() -> isize,
            extern "C" fn() -> *const c_char,
        >(function);
        CStr::from_ptr(function())
    };
    Some(version.to_string_lossy().into_owned())
}
