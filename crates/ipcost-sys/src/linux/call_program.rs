//! What programs at system calls share: which call it is, and which file a descriptor is of.

use super::bpf_instructions::{Label, LoadSize, R0, R1, R2, R3, R6, R9, STACK, When, Writer, helper};
use super::kernel_types::KernelTypes;
use super::moving_calls::Countable;
use crate::observed::CalledOn;

/// The kind of a socket.
const SOCKET: u32 = 1;
/// The kind of a pipe.
const PIPE: u32 = 2;
/// The kind and the number by which programs know what a call is on.
pub fn kind_and_number(on: CalledOn) -> (u32, u64) {
    match on {
        CalledOn::Socket(number) => (SOCKET, number.into()),
        CalledOn::Pipe(number) => (PIPE, number),
    }
}

/// What a call is on, by what programs know it by.
pub fn called_on(kind: u32, number: u64) -> CalledOn {
    match kind {
        SOCKET => CalledOn::Socket(number as u32),
        _ => CalledOn::Pipe(number),
    }
}

/// So many bytes every program leaves on the stack for what is read from the kernel.
const READ_BYTES: i16 = 80;
/// Where they are.
pub const READ_AT: i16 = -READ_BYTES;

/// Where registers of user space are as the kernel saves them (`struct pt_regs`), bytes.
pub struct Saved {
    pub number: i16,
    pub arguments: [i16; 4],
    /// The bits of this one tell that a program has 64 bits.
    mode: i16,
    mode_mask: i32,
    mode_wanted: i32,
}

/// `cs` is `__USER_CS` for programs of 64 bits.
#[cfg(target_arch = "x86_64")]
pub const SAVED: Saved =
    Saved { number: 120, arguments: [112, 104, 96, 56], mode: 136, mode_mask: 0xffff, mode_wanted: 0x33 };

/// The first argument is where it was saved before the result took its place. `PSR_MODE32_BIT` of `pstate` is clear.
#[cfg(not(target_arch = "x86_64"))]
pub const SAVED: Saved =
    Saved { number: 280, arguments: [272, 8, 16, 24], mode: 264, mode_mask: 0x10, mode_wanted: 0 };

/// How to come from a task to the file of a descriptor, bytes.
#[derive(Debug, Clone, Copy)]
pub struct TracepointOffsets {
    files: i16,
    table: i16,
    table_length: i16,
    table_files: i16,
    inode: i16,
    mode: i16,
    number: i16,
}

impl TracepointOffsets {
    /// Finds them; `None` if this kernel has others.
    pub fn of(types: &KernelTypes) -> Option<Self> {
        let of = |structure: &str, field: &str| {
            types.offset(structure, field).and_then(|at| i16::try_from(at).ok())
        };
        Some(Self {
            files: of("task_struct", "files")?,
            table: of("files_struct", "fdt")?,
            table_length: of("fdtable", "max_fds")?,
            table_files: of("fdtable", "fd")?,
            inode: of("file", "f_inode")?,
            mode: of("inode", "i_mode")?,
            number: of("inode", "i_ino")?,
        })
    }
}

/// Jumps where the number in register 0 leads to; half of the numbers are left after each comparison.
fn branch(program: &mut Writer, branches: &[(i32, Label)], otherwise: Label) {
    const AT_ONCE: usize = 3;
    if branches.len() <= AT_ONCE {
        for (number, to) in branches {
            program.jump_if(R0, When::Is, *number, *to);
        }
        program.jump(otherwise);
        return;
    }
    let (low, high) = branches.split_at(branches.len() / 2);
    let upper = program.label();
    program.jump_if(R0, When::AtLeast, high[0].0, upper);
    branch(program, low, otherwise);
    program.place(upper);
    branch(program, high, otherwise);
}

/// Goes on for these calls, in the order of their numbers, with the descriptor in register 9 and what `each` does for its kind; the number is in
/// register 0, the saved registers are in 6. Others jump to `other`, and so does what is only looked at.
pub fn choose_call(
    program: &mut Writer,
    calls: &[Countable],
    other: Label,
    mut each: impl FnMut(&mut Writer, &Countable),
) {
    let chosen = program.label();
    // Calls that are alike share what follows.
    let mut kinds: Vec<(Countable, Label)> = Vec::new();
    let mut branches = Vec::new();
    for call in calls {
        let kind = Countable { number: 0, ..*call };
        let known = kinds.iter().find(|(other, _)| *other == kind).map(|(_, label)| *label);
        let label = known.unwrap_or_else(|| program.label());
        if known.is_none() {
            kinds.push((kind, label));
        }
        branches.push((call.number, label));
    }
    branch(program, &branches, other);
    for (kind, label) in kinds {
        program.place(label);
        program.load(LoadSize::Word, R9, R6, SAVED.arguments[kind.descriptor]);
        if let Some(flags) = kind.flags {
            program.load(LoadSize::Word, R1, R6, SAVED.arguments[flags]);
            program.and(R1, libc::MSG_PEEK);
            program.jump_if(R1, When::IsNot, 0, other); // the data are still there
        }
        each(program, &kind);
        program.jump(chosen);
    }
    program.place(chosen);
}

/// Goes on until the time that a map holds as its only value is over, with the time in register 0. The key goes to a place on the stack.
pub fn end_in_time(program: &mut Writer, until: i32, key_at: i16, end: Label) {
    program.store_number(LoadSize::Word, STACK, key_at, 0); // the only key
    look_up(program, until, key_at);
    program.jump_if(R0, When::Is, 0, end); // never; the verifier wants it
    program.load(LoadSize::Double, R1, R0, 0);
    program.store(LoadSize::Double, STACK, READ_AT, R1);
    program.call(helper::NOW);
    program.load(LoadSize::Double, R1, STACK, READ_AT);
    program.jump_if_register(R0, When::AtLeast, R1, end);
}

/// Goes on for programs of 64 bits, with the saved registers in register 6: those of 32 bits have other numbers of calls.
pub fn leave_32_bits(program: &mut Writer, end: Label) {
    program.load(LoadSize::Half, R1, R6, SAVED.mode);
    program.and(R1, SAVED.mode_mask);
    program.jump_if(R1, When::IsNot, SAVED.mode_wanted, end);
}

/// From the descriptor in register 9: sets register 0 to the number of its file, and 9 to [`SOCKET`] or [`PIPE`]. Elsewhere it jumps:
/// to `other` for another file, to `lost` where the descriptor leads nowhere any more. Register 6 is used, too.
///
/// The verifier knows types up to the table. What cannot be read after it is 0, from which no more can be read.
pub fn name_file(program: &mut Writer, offsets: &TracepointOffsets, other: Label, lost: Label) {
    /// The bits of a mode that tell what a file is.
    const KIND: i32 = libc::S_IFMT as i32;
    let (socket, named) = (program.label(), program.label());
    program.call(helper::CURRENT_TASK);
    program.load(LoadSize::Double, R0, R0, offsets.files); // its descriptors
    program.jump_if(R0, When::Is, 0, lost); // it has none any more
    program.load(LoadSize::Double, R6, R0, offsets.table); // their table
    program.jump_if(R6, When::Is, 0, lost); // never; some verifiers want it
    program.load(LoadSize::Word, R1, R6, offsets.table_length);
    program.jump_if_register(R9, When::AtLeast, R1, lost); // the table is shorter
    program.load(LoadSize::Double, R0, R6, offsets.table_files); // the files of the table
    program.shift_left(R9, 3); // a pointer has 8 bytes
    program.add_register(R0, R9);
    follow(program, 0); // the file
    program.jump_if(R0, When::Is, 0, lost); // closed meanwhile
    follow(program, offsets.inode); // its inode
    // Its number is soon after its mode: one reading of both takes less than two.
    let both = offsets.number - offsets.mode + 8;
    let is_near = (8..=READ_BYTES).contains(&both);
    program.copy(R6, R0);
    read(program, offsets.mode, if is_near { both.into() } else { 2 });
    program.load(LoadSize::Half, R9, STACK, READ_AT);
    program.and(R9, KIND);
    program.jump_if(R9, When::Is, libc::S_IFSOCK as i32, socket);
    program.jump_if(R9, When::IsNot, libc::S_IFIFO as i32, other); // another file
    program.set(R9, PIPE as i32);
    program.jump(named);
    program.place(socket);
    program.set(R9, SOCKET as i32);
    program.place(named);
    match is_near {
        true => program.load(LoadSize::Double, R0, STACK, READ_AT + both - 8),
        false => {
            program.copy(R0, R6);
            follow(program, offsets.number);
        }
    }
}

/// Reads so many bytes of the kernel to the stack, at an offset from register 0.
fn read(program: &mut Writer, offset: i16, bytes: i32) {
    program.copy(R3, R0);
    program.add(R3, offset.into());
    program.copy(R1, STACK);
    program.add(R1, READ_AT.into());
    program.set(R2, bytes);
    program.call(helper::READ_KERNEL);
}

/// Sets register 0 to the 8 bytes at an offset from it.
fn follow(program: &mut Writer, offset: i16) {
    read(program, offset, 8);
    program.load(LoadSize::Double, R0, STACK, READ_AT);
}

/// Sets register 0 to where a map has the value of the key at a place on the stack, or to 0.
pub fn look_up(program: &mut Writer, map: i32, key_at: i16) {
    program.set_map(R1, map);
    program.copy(R2, STACK);
    program.add(R2, key_at.into());
    program.call(helper::LOOK_UP);
}
