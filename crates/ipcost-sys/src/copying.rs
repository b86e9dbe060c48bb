//! Copying bytes at the processor's cost, whichever library of C is linked.

use std::ptr;

/// More than this is copied by the library: musl's string instruction is as fast there as what others do.
const SMALL: usize = 256;

/// Copies bytes.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn copy_slice(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    // SAFETY: as long as each other, and a mutable slice overlaps nothing.
    unsafe { copy(from.as_ptr(), to.as_mut_ptr(), from.len()) }
}

/// Copies bytes between places.
///
/// With musl a call of `memcpy` for few bytes costs tens of cycles more than with glibc, even for none: half of what it
/// costs to stream 64 B through shared memory (`cargo xtask bench packaged`). There, few bytes are moved in registers.
///
/// # Safety
/// Both places have as many bytes, and do not overlap.
#[inline]
pub unsafe fn copy(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        if cfg!(target_env = "musl") && count <= SMALL {
            copy_small(from, to, count);
        } else {
            ptr::copy_nonoverlapping(from, to, count);
        }
    }
}

/// Blocks, and a last one that ends where the bytes end; it may overlap the one before it.
///
/// # Safety
/// As [`copy`].
#[inline]
unsafe fn copy_small(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: every block lies within the count, and blocks need no alignment.
    unsafe {
        match count {
            0 => {}
            1 => *to = *from,
            2..4 => ends::<[u8; 2]>(from, to, count),
            4..8 => ends::<u32>(from, to, count),
            8..16 => ends::<u64>(from, to, count),
            16..=32 => ends::<u128>(from, to, count),
            _ => {
                let mut done = 0;
                while done + 32 < count {
                    block::<[u128; 2]>(from.add(done), to.add(done));
                    done += 32;
                }
                block::<[u128; 2]>(from.add(count - 32), to.add(count - 32));
            }
        }
    }
}

/// The first block and the last.
///
/// # Safety
/// The count is that of one block at least and of two at most.
#[inline]
unsafe fn ends<T: Copy>(from: *const u8, to: *mut u8, count: usize) {
    let last = count - size_of::<T>();
    // SAFETY: as the caller promises.
    unsafe {
        block::<T>(from, to);
        block::<T>(from.add(last), to.add(last));
    }
}

/// # Safety
/// Both places have as many bytes as the type.
#[inline]
unsafe fn block<T: Copy>(from: *const u8, to: *mut u8) {
    // SAFETY: as the caller promises; the types are plain numbers.
    unsafe { to.cast::<T>().write_unaligned(from.cast::<T>().read_unaligned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_bytes_as_asked_are_copied_and_no_others() {
        let from: Vec<u8> = (0..600_u32).map(|byte| (byte % 251) as u8 + 1).collect();
        for count in 0..=SMALL {
            for offset in [0, 1, 7, 16] {
                for way in [copy, copy_small] {
                    let mut to = vec![0; 300];
                    // SAFETY: both have so many bytes from there on.
                    unsafe { way(from.as_ptr().add(offset), to.as_mut_ptr().add(offset), count) };
                    assert_eq!(
                        to[offset..offset + count],
                        from[offset..offset + count],
                        "{count} from {offset}"
                    );
                    assert!(
                        to[..offset].iter().chain(&to[offset + count..]).all(|byte| *byte == 0),
                        "{count}"
                    );
                }
            }
        }
    }
}
