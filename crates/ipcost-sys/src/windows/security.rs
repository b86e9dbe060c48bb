//! Access to this program's objects: only this user and the system.

use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr;

use windows_sys::Win32::Foundation::{HANDLE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{
    GetTokenInformation, PSECURITY_DESCRIPTOR, SECURITY_ATTRIBUTES, TOKEN_QUERY, TOKEN_USER, TokenUser,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::text::{text, wide};
use super::{checked, owned};

#[derive(Debug)]
pub struct Security {
    descriptor: PSECURITY_DESCRIPTOR,
}

impl Security {
    /// Full access for this user and the system, none for others; objects created within a directory inherit it.
    pub fn only_this_user() -> io::Result<Self> {
        let rules = format!("D:P(A;OICI;GA;;;{})(A;OICI;GA;;;SY)", own_sid()?);
        let rules = wide(rules)?;
        let mut descriptor = ptr::null_mut();
        // SAFETY: the text ends in NUL; the pointer is to where the call writes the descriptor's address.
        checked(unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                rules.as_ptr(),
                SDDL_REVISION_1,
                &mut descriptor,
                ptr::null_mut(),
            )
        })?;
        Ok(Self { descriptor })
    }

    /// For calls that create objects; valid only while this lives.
    pub fn attributes(&self, inherit: bool) -> SECURITY_ATTRIBUTES {
        SECURITY_ATTRIBUTES {
            nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
            lpSecurityDescriptor: self.descriptor,
            bInheritHandle: inherit.into(),
        }
    }
}

impl Drop for Security {
    fn drop(&mut self) {
        // SAFETY: the system has allocated it for us, and it is no longer referred to.
        unsafe { LocalFree(self.descriptor) };
    }
}

/// This user's identifier, as text.
fn own_sid() -> io::Result<String> {
    /// More than the longest identifier takes.
    const ROOM: usize = 32;
    let mut token: HANDLE = ptr::null_mut();
    // SAFETY: the handle denotes this process; the pointer is to where the call writes the token, which is ours.
    let token = unsafe {
        checked(OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &mut token))?;
        owned(token)?
    };
    // Words, to align the structure at the beginning.
    let mut buffer = [0_u64; ROOM];
    let mut length = 0;
    // SAFETY: the token is open; the buffer has the stated size.
    checked(unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            buffer.as_mut_ptr().cast(),
            size_of_val(&buffer) as u32,
            &mut length,
        )
    })?;
    // SAFETY: the call has written this structure to the beginning of the buffer, which is aligned for it.
    let sid = unsafe { (*buffer.as_ptr().cast::<TOKEN_USER>()).User.Sid };
    let mut words = ptr::null_mut();
    // SAFETY: the identifier lies in the buffer; the pointer is to where the call writes the text's address.
    checked(unsafe { ConvertSidToStringSidW(sid, &mut words) })?;
    // SAFETY: the text ends in NUL, is ours, and is freed once it has been copied.
    unsafe {
        let length = (0..).take_while(|index| *words.add(*index) != 0).count();
        let sid = text(std::slice::from_raw_parts(words, length));
        LocalFree(words.cast());
        Ok(sid)
    }
}
