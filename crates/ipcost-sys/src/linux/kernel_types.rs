//! Where fields are in the structures of the kernel that runs (`Documentation/bpf/btf.rst`).

use std::io;

const MAGIC: u16 = 0xeb9f;
/// Bytes that begin every type.
const TYPE_BYTES: usize = 12;
const MEMBER_BYTES: usize = 12;
/// A member without a name is searched so deep.
const MOST_LEVELS: usize = 8;
/// And so many members are looked at; the longest structure has some hundreds.
const MOST_MEMBERS: usize = 1 << 14;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const ALIAS: u32 = 8;

/// The types of the kernel that runs.
#[derive(Debug)]
pub struct KernelTypes {
    types: Vec<u8>,
    names: Vec<u8>,
    /// Where each type begins, from number 1 on.
    places: Vec<usize>,
}

impl KernelTypes {
    /// Reads them.
    ///
    /// # Errors
    /// If the kernel does not tell them (`CONFIG_DEBUG_INFO_BTF`), or not as known here.
    pub fn read() -> io::Result<Self> {
        let bytes = std::fs::read("/sys/kernel/btf/vmlinux")?;
        Self::parse(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// `None` if they are not as they should be.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let start = word(bytes, 4)? as usize;
        if bytes.first_chunk().copied().map(u16::from_ne_bytes) != Some(MAGIC) {
            return None;
        }
        let section = |at: usize| {
            let from = start.checked_add(word(bytes, at)? as usize)?;
            bytes.get(from..from.checked_add(word(bytes, at + 4)? as usize)?).map(<[u8]>::to_vec)
        };
        let (types, names) = (section(8)?, section(16)?);
        let mut places = Vec::new();
        let mut at = 0;
        while at < types.len() {
            places.push(at);
            let info = word(&types, at + 4)?;
            let count = (info & 0xffff) as usize;
            at += TYPE_BYTES
                + match kind(info) {
                    // Numbers, variables and tags.
                    1 | 14 | 17 => 4,
                    // Arrays.
                    3 => 12,
                    // Enumerations, and what functions take.
                    6 | 13 => 8 * count,
                    STRUCTURE | UNION | 15 | 19 => MEMBER_BYTES * count,
                    // Pointers, names of types, and the like.
                    2 | 7..=12 | 16 | 18 => 0,
                    _ => return None,
                };
        }
        Some(Self { types, names, places })
    }

    /// Where a field is in a structure, bytes.
    pub fn offset(&self, structure: &str, field: &str) -> Option<i32> {
        let of_structure = |at: &&usize| {
            let at = **at;
            word(&self.types, at + 4).is_some_and(|info| kind(info) == STRUCTURE)
                && word(&self.types, at).and_then(|name| self.name(name)) == Some(structure.as_bytes())
        };
        let mut left = MOST_MEMBERS;
        let found = self.places.iter().filter(of_structure);
        let bits = found.copied().find_map(|at| self.within(at, field.as_bytes(), MOST_LEVELS, &mut left))?;
        i32::try_from(bits / 8).ok()
    }

    /// The number of the type that describes a tracepoint.
    pub fn tracepoint(&self, name: &str) -> Option<u32> {
        let name = format!("btf_trace_{name}");
        let is_wanted = |at: &usize| {
            word(&self.types, at + 4).is_some_and(|info| kind(info) == ALIAS)
                && word(&self.types, *at).and_then(|at| self.name(at)) == Some(name.as_bytes())
        };
        // Number 0 is no type.
        u32::try_from(self.places.iter().position(is_wanted)? + 1).ok()
    }

    /// Where a field is, bits, also in members that have no name.
    fn within(&self, at: usize, field: &[u8], levels: usize, left: &mut usize) -> Option<u32> {
        let info = word(&self.types, at + 4)?;
        if !matches!(kind(info), STRUCTURE | UNION) || levels == 0 {
            return None;
        }
        // Where members may have any number of bits, the upper byte tells how many.
        let mask = if info >> 31 == 1 { 0xff_ffff } else { u32::MAX };
        (0..(info & 0xffff) as usize).find_map(|index| {
            *left = left.checked_sub(1)?;
            let member = at + TYPE_BYTES + index * MEMBER_BYTES;
            let offset = word(&self.types, member + 8)? & mask;
            match self.name(word(&self.types, member)?)? {
                name if name == field => Some(offset),
                [] => {
                    let kind = word(&self.types, member + 4)? as usize;
                    let inner = self.places.get(kind.checked_sub(1)?)?;
                    self.within(*inner, field, levels - 1, left)?.checked_add(offset)
                }
                _ => None,
            }
        })
    }

    fn name(&self, at: u32) -> Option<&[u8]> {
        self.names.get(at as usize..)?.split(|byte| *byte == 0).next()
    }
}

fn kind(info: u32) -> u32 {
    info >> 24 & 0x1f
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

/// Reads bytes as such types.
pub(crate) fn read_bytes(bytes: &[u8]) {
    if let Some(types) = KernelTypes::parse(bytes) {
        let _ = types.offset("task_struct", "files");
    }
}

#[cfg(test)]
mod tests {
    use ipcost_testing::opened;

    use super::*;

    /// A structure `s` with a field `a` at byte 4, and at byte 8 one without a name, a union that has `b`.
    fn some() -> Vec<u8> {
        let names = b"\0s\0a\0b\0";
        let types = [
            [1, STRUCTURE << 24 | 2, 16].as_slice(),
            &[3, 2, 32],
            &[0, 3, 64],
            // A number of 4 bytes, and its bits.
            &[0, 1 << 24, 4, 32],
            &[0, UNION << 24 | 1, 4],
            &[5, 2, 0],
        ]
        .concat();
        let types: Vec<u8> = types.into_iter().flat_map(u32::to_ne_bytes).collect();
        let sizes = [24, 0, types.len() as u32, types.len() as u32, names.len() as u32];
        let mut bytes = [MAGIC.to_ne_bytes(), [1, 0]].concat();
        bytes.extend(sizes.into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend(types);
        bytes.extend(names);
        bytes
    }

    #[test]
    fn fields_are_found_in_members_without_a_name() {
        let types = KernelTypes::parse(&some()).unwrap();
        assert_eq!(types.offset("s", "a"), Some(4));
        assert_eq!(types.offset("s", "b"), Some(8));
        assert_eq!(types.offset("s", "c"), None);
        assert_eq!(types.offset("a", "a"), None);
    }

    #[test]
    fn cut_bytes_are_no_types() {
        let some = some();
        for end in 0..some.len() {
            assert!(KernelTypes::parse(&some[..end]).is_none(), "{end}");
        }
    }

    #[test]
    fn the_kernel_tells_its_types() {
        let Some(types) = opened("bpf", KernelTypes::read()) else { return };
        assert_eq!(types.offset("list_head", "next"), Some(0));
        assert_eq!(types.offset("list_head", "prev"), Some(8));
        assert!(types.tracepoint("sys_exit").is_some());
        assert!(types.offset("task_struct", "files").is_some_and(|at| at > 0));
    }
}
