//! The system calls that move data or wait for it, by number.

use crate::observed::CallDirection::{self, In, Other, Out, Wait};

/// A call, and which of its arguments matter. No argument with an address does.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number on this architecture.
    pub number: i64,
    /// Its name.
    pub name: &'static str,
    /// Where data go.
    pub direction: CallDirection,
    /// Which argument is the descriptor, if one is.
    pub descriptor: Option<usize>,
    /// Which argument says how many bytes are asked for, if one does.
    pub asked: Option<usize>,
}

/// The call of a number.
pub fn of_number(number: i64) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.number == number)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const fn call(
    number: libc::c_long,
    name: &'static str,
    direction: CallDirection,
    descriptor: Option<usize>,
    asked: Option<usize>,
) -> Call {
    Call { number, name, direction, descriptor, asked }
}

/// Frequent ones first. What only files offer is left out (`pread`), and so are messages of System V, which have no descriptor.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub const CALLS: &[Call] = &[
    call(libc::SYS_read, "read", In, Some(0), Some(2)),
    call(libc::SYS_write, "write", Out, Some(0), Some(2)),
    call(libc::SYS_recvfrom, "recvfrom", In, Some(0), Some(2)),
    call(libc::SYS_sendto, "sendto", Out, Some(0), Some(2)),
    call(libc::SYS_recvmsg, "recvmsg", In, Some(0), None),
    call(libc::SYS_sendmsg, "sendmsg", Out, Some(0), None),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_epoll_wait, "epoll_wait", Wait, Some(0), None),
    call(libc::SYS_epoll_pwait, "epoll_pwait", Wait, Some(0), None),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_poll, "poll", Wait, None, None),
    call(libc::SYS_ppoll, "ppoll", Wait, None, None),
    call(libc::SYS_readv, "readv", In, Some(0), None),
    call(libc::SYS_writev, "writev", Out, Some(0), None),
    call(libc::SYS_close, "close", Other, Some(0), None),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_select, "select", Wait, None, None),
    call(libc::SYS_pselect6, "pselect6", Wait, None, None),
    call(libc::SYS_epoll_pwait2, "epoll_pwait2", Wait, Some(0), None),
    // What moves through its ring is no call; this tells that a program uses one.
    call(libc::SYS_io_uring_enter, "io_uring_enter", Wait, Some(0), None),
    call(libc::SYS_recvmmsg, "recvmmsg", In, Some(0), None),
    call(libc::SYS_sendmmsg, "sendmmsg", Out, Some(0), None),
    call(libc::SYS_sendfile, "sendfile", Out, Some(0), Some(3)),
    call(libc::SYS_splice, "splice", Out, Some(2), Some(4)),
    call(libc::SYS_tee, "tee", Out, Some(1), Some(2)),
    call(libc::SYS_vmsplice, "vmsplice", Out, Some(0), None),
    call(libc::SYS_mq_timedreceive, "mq_timedreceive", In, Some(0), Some(2)),
    call(libc::SYS_mq_timedsend, "mq_timedsend", Out, Some(0), Some(2)),
    call(libc::SYS_process_vm_readv, "process_vm_readv", In, None, None),
    call(libc::SYS_process_vm_writev, "process_vm_writev", Out, None, None),
    call(libc::SYS_connect, "connect", Other, Some(0), None),
    call(libc::SYS_accept, "accept", Other, Some(0), None),
    call(libc::SYS_accept4, "accept4", Other, Some(0), None),
    call(libc::SYS_shutdown, "shutdown", Other, Some(0), None),
];

/// None: the numbers of this architecture are not known here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const CALLS: &[Call] = &[];

/// The kernel's filter for these calls, of all threads but some, or of some alone; `None` if there is nothing to sample.
///
/// Numbers that follow each other are one comparison, as the kernel makes one after the other.
pub fn filter(without: &[u32], only: Option<&[u32]>) -> Option<String> {
    let mut numbers: Vec<i64> = CALLS.iter().map(|call| call.number).collect();
    numbers.sort_unstable();
    let ranges = numbers.chunk_by(|one, next| *next == one + 1);
    let range = |range: &[i64]| Some(format!("(id>={}&&id<={})", range.first()?, range.last()?));
    let calls: Vec<String> = ranges.filter_map(range).collect();
    if calls.is_empty() {
        return None;
    }
    let mut filter = format!("({})", calls.join("||"));
    for thread in without {
        filter += &format!("&&common_pid!={thread}");
    }
    if let Some(only) = only {
        let threads: Vec<String> = only.iter().map(|thread| format!("common_pid=={thread}")).collect();
        filter += &format!("&&({})", threads.join("||"));
    }
    Some(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_there_once() {
        for call in CALLS {
            assert_eq!(of_number(call.number), Some(call));
            assert_eq!(CALLS.iter().filter(|other| other.name == call.name).count(), 1, "{call:?}");
        }
        assert_eq!(of_number(-1), None);
    }

    #[test]
    fn a_filter_names_calls_and_threads() {
        let Some(all) = filter(&[], None) else { return };
        let read = libc::SYS_read;
        assert!(all.contains(&format!("(id>={read}&&id<={})", libc::SYS_write)), "{all}");
        assert!(!all.contains("common_pid"), "{all}");
        let some = filter(&[7, 8], Some(&[9, 10])).unwrap();
        assert_eq!(some, all + "&&common_pid!=7&&common_pid!=8&&(common_pid==9||common_pid==10)");
    }
}
