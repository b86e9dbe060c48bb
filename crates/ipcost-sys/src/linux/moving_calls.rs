//! The system calls that move data or wait for it, by number.

use crate::observed::CallDirection::{self, In, Other, Out, Wait};
use crate::observed::MovingCall;

pub fn of_number(number: i64) -> Option<&'static MovingCall> {
    CALLS.iter().find(|call| call.number == number)
}

/// The call of a name; `None` if it moves no data, or its number is not known on this architecture.
pub fn of_name(name: &str) -> Option<&'static MovingCall> {
    CALLS.iter().find(|call| call.name == name)
}

/// The number of an error by its name, such as `EAGAIN`: those with which these calls fail (`errno(3)`), and those with
/// which a signal interrupts them.
pub fn error_number(name: &str) -> Option<i32> {
    let mut errors = KNOWN_ERRORS.iter().chain(INTERRUPTED);
    errors.find(|(known, _)| *known == name).map(|(_, number)| *number)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const fn call(
    number: libc::c_long,
    name: &'static str,
    direction: CallDirection,
    descriptor: Option<usize>,
    asked: Option<usize>,
) -> MovingCall {
    MovingCall { number, name, direction, descriptor, asked }
}

/// Frequent ones first. What only files offer is left out (`pread`), and so are messages of System V, which have no descriptor.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub const CALLS: &[MovingCall] = &[
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
pub const CALLS: &[MovingCall] = &[];

macro_rules! numbered {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

const KNOWN_ERRORS: &[(&str, i32)] = numbered!(
    EAGAIN EINTR EPIPE ECONNRESET EINPROGRESS ECONNREFUSED EBADF EFAULT EINVAL ENOTCONN EPERM ENOENT ESRCH EIO ENXIO
    E2BIG ENOMEM EACCES EBUSY EXDEV ENODEV ENOTDIR EISDIR ENFILE EMFILE ENOTTY EFBIG ENOSPC ESPIPE EROFS EDOM ERANGE
    EDEADLK ENAMETOOLONG ENOSYS ELOOP ENODATA ETIME EPROTO EBADMSG EOVERFLOW EBADFD EILSEQ ENOTSOCK EDESTADDRREQ
    EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL
    ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ENOBUFS EISCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT EHOSTDOWN
    EHOSTUNREACH EALREADY ESTALE EREMOTEIO EDQUOT ECANCELED EKEYREJECTED ENOKEY EKEYEXPIRED ENOLINK
);
/// Errors that only the kernel and who traces programs see (`linux/errno.h`).
const INTERRUPTED: &[(&str, i32)] =
    &[("ERESTARTSYS", 512), ("ERESTARTNOINTR", 513), ("ERESTARTNOHAND", 514), ("ERESTART_RESTARTBLOCK", 516)];

/// A call of which the kernel can count what it moves, as one argument is its descriptor and its result says how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Countable {
    pub number: i32,
    /// Whether data go to the program.
    pub is_in: bool,
    /// Which argument is the descriptor.
    pub descriptor: usize,
    /// Which argument has flags that may ask to leave the data there (`MSG_PEEK`).
    pub flags: Option<usize>,
    /// Whether the result is bytes. Otherwise it is messages.
    pub tells_bytes: bool,
}

/// Those, in the order of their numbers.
pub fn countable() -> Vec<Countable> {
    let countable = CALLS.iter().filter_map(|call| {
        let is_in = match call.direction {
            In => true,
            Out => false,
            Wait | Other => return None,
        };
        // One that sends to a message queue returns 0.
        if [libc::SYS_mq_timedreceive, libc::SYS_mq_timedsend].contains(&call.number) {
            return None;
        }
        let flags = match call.number {
            libc::SYS_recvfrom | libc::SYS_recvmmsg => Some(3),
            libc::SYS_recvmsg => Some(2),
            _ => None,
        };
        let tells_bytes = ![libc::SYS_recvmmsg, libc::SYS_sendmmsg].contains(&call.number);
        let number = i32::try_from(call.number).ok()?;
        Some(Countable { number, is_in, descriptor: call.descriptor?, flags, tells_bytes })
    });
    let mut countable: Vec<_> = countable.collect();
    countable.sort_unstable_by_key(|call| call.number);
    countable
}

/// A filter names so many threads at most, as the kernel takes no more than 4096 letters.
pub const MOST_THREADS: usize = 64;
/// And so many to leave out.
pub const MOST_LEFT_OUT: usize = 16;

/// The kernel's filter for these calls, of all threads but some, or of some alone; `None` if there is nothing to sample.
pub fn filter(without: &[u32], only: Option<&[u32]>) -> Option<String> {
    let mut filter = one_of("id", CALLS.iter().map(|call| call.number), 1)?;
    for thread in without.iter().take(MOST_LEFT_OUT) {
        filter += &format!("&&common_pid!={thread}");
    }
    if let Some(only) = only {
        filter += "&&";
        filter += &one_of("common_pid", only.iter().copied().map(i64::from), 4)?;
    }
    Some(filter)
}

/// Whether a field is one of these numbers, of which ranges are one.
fn one_of(field: &str, numbers: impl Iterator<Item = i64>, at_once: usize) -> Option<String> {
    let mut numbers: Vec<i64> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    let ranges = numbers.chunk_by(|one, next| *next == one + 1);
    let ranges: Vec<_> = ranges.filter_map(|range| Some((*range.first()?, *range.last()?))).collect();
    (!ranges.is_empty()).then(|| within(field, &ranges, at_once))
}

/// Halves the ranges with each comparison, until few are left: the kernel makes one after the other, for every call of every program.
fn within(field: &str, ranges: &[(i64, i64)], at_once: usize) -> String {
    if ranges.len() <= at_once {
        let range = |(first, last): &(i64, i64)| match first == last {
            true => format!("{field}=={first}"),
            false => format!("({field}>={first}&&{field}<={last})"),
        };
        let ranges: Vec<String> = ranges.iter().map(range).collect();
        return format!("({})", ranges.join("||"));
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    let from = high[0].0;
    let [low, high] = [low, high].map(|half| within(field, half, at_once));
    format!("(({field}<{from}&&{low})||({field}>={from}&&{high}))")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_there_once() {
        for call in CALLS {
            assert_eq!(of_number(call.number), Some(call));
            assert_eq!(of_name(call.name), Some(call));
            assert_eq!(CALLS.iter().filter(|other| other.name == call.name).count(), 1, "{call:?}");
        }
        assert_eq!(of_number(-1), None);
    }

    #[test]
    fn errors_have_numbers() {
        assert_eq!(error_number("EAGAIN"), Some(libc::EAGAIN));
        assert_eq!(error_number("ERESTARTSYS"), Some(512));
        assert_eq!(error_number("EVERYTHING"), None);
    }

    #[test]
    #[cfg_attr(not(target_arch = "x86_64"), ignore = "the table of calls is empty there")]
    fn countable_calls_have_a_descriptor_and_a_result() {
        let all = countable();
        assert!(all.is_sorted_by_key(|call| call.number));
        let of = |number: i64| all.iter().find(|call| i64::from(call.number) == number).copied();
        let splice = of(libc::SYS_splice).unwrap();
        assert_eq!((splice.is_in, splice.descriptor, splice.tells_bytes), (false, 2, true));
        assert!(!of(libc::SYS_recvmmsg).unwrap().tells_bytes);
        for other in [libc::SYS_close, libc::SYS_ppoll, libc::SYS_mq_timedsend, libc::SYS_process_vm_readv] {
            assert_eq!(of(other), None);
        }
    }

    #[test]
    fn ranges_are_halved() {
        let numbers = [1, 2, 7, 9, 4];
        assert_eq!(one_of("id", [].into_iter(), 1), None);
        assert_eq!(one_of("id", numbers.into_iter(), 4).unwrap(), "((id>=1&&id<=2)||id==4||id==7||id==9)");
        let halved = "((id<7&&((id>=1&&id<=2)||id==4))||(id>=7&&(id==7||id==9)))";
        assert_eq!(one_of("id", numbers.into_iter(), 2).unwrap(), halved);
    }

    #[test]
    #[cfg_attr(not(target_arch = "x86_64"), ignore = "the table of calls is empty there")]
    fn a_filter_names_calls_and_threads() {
        let all = filter(&[], None).unwrap();
        assert!(all.contains(&format!("(id=={})", libc::SYS_epoll_pwait2)), "{all}");
        assert!(!all.contains("common_pid"), "{all}");
        let some = filter(&[7, 8], Some(&[9, 20])).unwrap();
        assert_eq!(some, all + "&&common_pid!=7&&common_pid!=8&&(common_pid==9||common_pid==20)");
    }

    #[test]
    fn the_longest_filter_is_taken() {
        /// Without the zero at its end; the kernel takes a page.
        const MOST_LETTERS: usize = 4095;
        let threads: Vec<u32> = (0..MOST_THREADS as u32).map(|index| 4_194_303 - 2 * index).collect();
        if let Some(filter) = filter(&threads, Some(&threads)) {
            assert!(filter.len() <= MOST_LETTERS, "{}", filter.len());
        }
    }
}
