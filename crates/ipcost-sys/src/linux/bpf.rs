//! Programs that run in the kernel, and their maps (`bpf(2)`). All of them end with their descriptors.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const MAP_DELETE: libc::c_int = 3;
const MAP_NEXT_KEY: libc::c_int = 4;
const PROGRAM_LOAD: libc::c_int = 5;
const OBJECT_INFO: libc::c_int = 15;
const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const MAP_LOOKUP_BATCH: libc::c_int = 24;
const ENABLE_STATISTICS: libc::c_int = 32;
const HASH: u32 = 1;
const ARRAY: u32 = 2;
const RINGS: u32 = 4;
const ARRAY_OF_PROCESSOR: u32 = 6;
const TRACING: u32 = 26;
const AT_TRACEPOINT: u32 = 23;
/// Room for the verifier's words, bytes.
const LOG_BYTES: usize = 1 << 20;
/// A complaint's last lines say why.
const SHOWN_LINES: usize = 4;

/// What `bpf(2)` takes, of which each command reads the part that it needs.
#[repr(C)]
#[derive(Default)]
struct CreateMap {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct LoadProgram {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    /// Version, flags, name, interface.
    unused: [u32; 7],
    attach_kind: u32,
    /// What would describe the program.
    unused_too: [u32; 9],
    attach_type: u32,
}

#[repr(C)]
#[derive(Default)]
struct OpenTracepoint {
    name: u64,
    program: u32,
    padding: u32,
}

#[repr(C)]
#[derive(Default)]
struct OfElement {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct OfBatch {
    from: u64,
    next: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    element_flags: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct OfObject {
    descriptor: u32,
    info_bytes: u32,
    info: u64,
}

/// What may be copied to and from a map byte by byte.
///
/// # Safety
/// It has no padding, and any bytes are a valid value.
pub unsafe trait Plain: Copy + Default {}

// SAFETY: any bytes are a number.
unsafe impl Plain for u32 {}
// SAFETY: any bytes are a number.
unsafe impl Plain for u64 {}

/// A map that programs and this process share, with keys and values of fixed sizes.
#[derive(Debug)]
pub struct Map<K, V> {
    descriptor: OwnedFd,
    holds: std::marker::PhantomData<(K, V)>,
}

impl<K: Plain, V: Plain> Map<K, V> {
    /// Makes a hash map; its memory is taken now, as programs at tracepoints need it.
    pub fn hash(entries: u32) -> io::Result<Self> {
        Self::create(HASH, entries)
    }

    /// Makes an array, with numbers as keys. Its values are 0.
    pub fn array(entries: u32) -> io::Result<Self> {
        Self::create(ARRAY, entries)
    }

    /// Makes an array of which each processor has its own. Only programs in the kernel use its values.
    pub fn array_of_processor(entries: u32) -> io::Result<Self> {
        Self::create(ARRAY_OF_PROCESSOR, entries)
    }

    fn create(kind: u32, entries: u32) -> io::Result<Self> {
        let [key_bytes, value_bytes] = [size_of::<K>(), size_of::<V>()].map(|bytes| bytes as u32);
        let mut request = CreateMap { kind, key_bytes, value_bytes, entries, flags: 0 };
        // SAFETY: the structure has no pointers.
        let descriptor = unsafe { opened(MAP_CREATE, &mut request) }?;
        Ok(Self { descriptor, holds: std::marker::PhantomData })
    }

    /// Its descriptor, which a program names it by.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    pub fn into_descriptor(self) -> OwnedFd {
        self.descriptor
    }

    pub fn value(&self, key: &K) -> io::Result<V> {
        let mut value = V::default();
        let (key, into) = (address(key), (&raw mut value) as u64);
        let mut request = OfElement { map: self.number(), key, value: into, ..OfElement::default() };
        // SAFETY: the kernel reads a key and writes a value, each as long as its type.
        unsafe { call(MAP_LOOKUP, &mut request) }?;
        Ok(value)
    }

    pub fn set(&self, key: &K, value: &V) -> io::Result<()> {
        let (key, value) = (address(key), address(value));
        let mut request = OfElement { map: self.number(), key, value, ..OfElement::default() };
        // SAFETY: the kernel reads a key and a value, each as long as its type.
        unsafe { call(MAP_UPDATE, &mut request) }.map(drop)
    }

    /// Removes a key, if it is there.
    pub fn remove(&self, key: &K) {
        let mut request = OfElement { map: self.number(), key: address(key), ..OfElement::default() };
        // SAFETY: the kernel reads a key, as long as its type. It fails only for a key that is not there.
        let _ = unsafe { call(MAP_DELETE, &mut request) };
    }

    /// The keys alone, where values are long; some may be missing while others are added or removed.
    pub fn keys(&self, most: usize) -> Vec<K> {
        let mut found: Vec<K> = Vec::new();
        while found.len() < most {
            let mut next = K::default();
            let (key, value) = (found.last().map_or(0, address), (&raw mut next) as u64);
            let mut request = OfElement { map: self.number(), key, value, ..OfElement::default() };
            // SAFETY: the kernel reads a key, if there is one, and writes a key, each as long as its type.
            if unsafe { call(MAP_NEXT_KEY, &mut request) }.is_err() {
                break;
            }
            found.push(next);
        }
        found
    }

    /// Hands over all keys with their values, each once, many with a call (Linux 5.6).
    pub fn for_each(&self, found: &mut dyn FnMut(&K, &V)) -> io::Result<()> {
        /// All keys of one hash must fit at once; then the kernel goes on with the next.
        const AT_ONCE: usize = 4096;
        let (mut keys, mut values) = (vec![K::default(); AT_ONCE], vec![V::default(); AT_ONCE]);
        let mut place: Option<u32> = None;
        loop {
            let mut next = 0_u32;
            let mut request = OfBatch {
                from: place.as_ref().map_or(0, address),
                next: (&raw mut next) as u64,
                keys: keys.as_mut_ptr() as u64,
                values: values.as_mut_ptr() as u64,
                count: AT_ONCE as u32,
                map: self.number(),
                ..OfBatch::default()
            };
            // SAFETY: the kernel writes that many keys and values at most, and a place of the size of a hash's.
            let called = unsafe { call(MAP_LOOKUP_BATCH, &mut request) };
            let is_last = match called {
                // The end; what was found before it counts.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => true,
                result => result.map(|_| false)?,
            };
            let pairs = keys.iter().zip(&values).take(request.count as usize);
            pairs.for_each(|(key, value)| found(key, value));
            if is_last {
                return Ok(());
            }
            place = Some(next);
        }
    }

    fn number(&self) -> u32 {
        self.descriptor.as_raw_fd().cast_unsigned()
    }
}

impl Map<u32, u32> {
    /// Makes an array of rings, by processor; each takes the descriptor of an event with one.
    pub fn rings(processors: u32) -> io::Result<Self> {
        Self::create(RINGS, processors)
    }
}

/// Has the kernel measure how long programs run, of all users, until the descriptor is closed (Linux 5.8).
pub fn enable_statistics() -> io::Result<OwnedFd> {
    // Run times are number 0.
    // SAFETY: the structure has no pointers.
    unsafe { opened(ENABLE_STATISTICS, &mut 0_u32) }
}

/// How long a program has run while that was measured, nanoseconds, and how often.
pub fn run_time(program: &OwnedFd) -> io::Result<(u64, u64)> {
    /// Where `struct bpf_prog_info` has them, in words of 8 bytes.
    const AT: usize = 24;
    let mut info = [0_u64; AT + 2];
    let mut request = OfObject {
        descriptor: program.as_raw_fd().cast_unsigned(),
        info_bytes: size_of_val(&info) as u32,
        info: info.as_mut_ptr() as u64,
    };
    // SAFETY: the kernel writes so many bytes at most; the places that it reads pointers from are zero.
    unsafe { call(OBJECT_INFO, &mut request) }?;
    Ok((info[AT], info[AT + 1]))
}

/// Loads a program for a tracepoint, by the number of the type that describes it. It is told what the tracepoint is, and
/// may read through these pointers.
///
/// # Errors
/// If this user may not, or the kernel refuses it: then with the end of the verifier's words.
pub fn load(instructions: &[u64], tracepoint: u32, license: &CStr) -> io::Result<OwnedFd> {
    let mut request = LoadProgram {
        kind: TRACING,
        attach_kind: AT_TRACEPOINT,
        attach_type: tracepoint,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        ..LoadProgram::default()
    };
    // SAFETY: the kernel only reads the instructions, of that number, and the text, which ends with a zero.
    let refused = match unsafe { opened(PROGRAM_LOAD, &mut request) } {
        Err(error) if error.raw_os_error() != Some(libc::EPERM) => error,
        result => return result,
    };
    let mut log = vec![0_u8; LOG_BYTES];
    request.log_level = 1;
    request.log_bytes = LOG_BYTES as u32;
    request.log = log.as_mut_ptr() as u64;
    // SAFETY: as before, and the kernel writes so many bytes at most.
    match unsafe { opened(PROGRAM_LOAD, &mut request) } {
        Err(_) => Err(io::Error::new(refused.kind(), format!("{refused}{}", last_lines(&log)))),
        loaded => loaded,
    }
}

/// The last lines of a text that ends with a zero, each after a separator.
fn last_lines(log: &[u8]) -> String {
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].iter().map(|line| format!("; {line}")).collect()
}

/// Runs a program whenever its tracepoint is passed, on every processor, until the descriptor is closed.
pub fn attach(program: &OwnedFd) -> io::Result<OwnedFd> {
    let program = program.as_raw_fd().cast_unsigned();
    let mut request = OpenTracepoint { name: 0, program, padding: 0 };
    // SAFETY: the program knows its tracepoint, so that there is no name to read.
    unsafe { opened(RAW_TRACEPOINT_OPEN, &mut request) }
}

fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of) as u64
}

/// # Safety
/// As for [`call`], and the command returns a new descriptor.
unsafe fn opened<T>(command: libc::c_int, request: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise.
    let descriptor = unsafe { call(command, request) }?;
    // SAFETY: the call has just returned this descriptor to us alone. The kernel opens all of these close-on-exec.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// # Safety
/// The structure is the command's, and its pointers are valid for what the command does.
unsafe fn call<T>(command: libc::c_int, request: &mut T) -> io::Result<libc::c_int> {
    let pointer: *mut T = request;
    // SAFETY: the structure is valid for its size; the rest is the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}

#[cfg(test)]
mod tests {
    use ipcost_testing::opened;

    use super::*;

    #[test]
    fn the_verifiers_last_words_are_shown() {
        assert_eq!(last_lines(b"one\ntwo\n\nthree\nfour\nfive\n\0\0"), "; two; three; four; five");
        assert_eq!(last_lines(b"\0"), "");
    }

    #[test]
    fn a_structure_is_as_long_as_its_version() {
        assert_eq!(std::mem::offset_of!(LoadProgram, attach_kind), 68);
        assert_eq!(std::mem::offset_of!(LoadProgram, attach_type), 108);
        assert_eq!(size_of::<LoadProgram>(), 112);
    }

    #[test]
    fn a_refused_program_says_why() {
        let Some(types) = opened("bpf", super::super::kernel_types::KernelTypes::read()) else { return };
        let tracepoint = types.tracepoint("sys_exit").unwrap();
        // It ends without a result: `exit`.
        let error = load(&[0x95], tracepoint, c"GPL").unwrap_err();
        if error.raw_os_error() != Some(libc::EPERM) {
            assert!(error.to_string().contains("R0 !read_ok"), "{error}");
        }
    }

    #[test]
    fn a_map_hands_over_each_key_once() {
        const COUNT: u32 = 10_000;
        let Some(map) = opened("bpf", Map::<u32, u64>::array(COUNT)) else { return };
        assert_eq!(map.value(&7).unwrap(), 0);
        assert!(map.value(&COUNT).is_err());
        let mut keys = Vec::new();
        map.for_each(&mut |key, value| {
            keys.push(*key);
            assert_eq!(*value, 0);
        })
        .unwrap();
        assert_eq!(keys, (0..COUNT).collect::<Vec<_>>());
    }
}
