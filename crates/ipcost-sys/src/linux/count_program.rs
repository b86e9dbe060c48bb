//! The program that counts in the kernel, at the end of every system call.
//!
//! It is attached to the tracepoint itself. At a perf event it would miss calls: the kernel runs none of those on a
//! processor where a task has been interrupted while it reads or writes a map.
//!
//! At the end of a call its number and arguments are still among the saved registers, so nothing is kept from its begin.

use std::ffi::CStr;

use super::bpf_instructions::{
    Label, LoadSize, R0, R1, R2, R3, R4, R6, R7, R8, R9, Register, STACK, When, Writer, helper,
};
use super::call_program::{
    self, READ_AT, SAVED, TracepointOffsets, end_in_time, leave_32_bits, look_up, name_file,
};
use super::moving_calls::Countable;

pub const TRACEPOINT: &str = "sys_exit";
/// `bpf_probe_read_kernel` is only for programs whose licence goes with the GPL. That of this crate does: MIT is one of its two.
pub const LICENSE: &CStr = c"Dual MIT/GPL";
/// Bytes of a key: process, descriptor, number, kind, 0.
pub const KEY_BYTES: i16 = 24;
/// Bytes of counts in one direction: bytes, calls, empty ones, calls that tell no bytes.
pub const WAY_BYTES: i16 = 32;

const CALLS_AT: i16 = 8;
const EMPTY_AT: i16 = 16;
const UNSIZED_AT: i16 = 24;

// Places on the stack.
const KEY_AT: i16 = READ_AT - KEY_BYTES;
const NUMBER_AT: i16 = KEY_AT + 8;
/// Bytes that the call moved; 0 if it does not tell.
const MOVED_AT: i16 = KEY_AT - 8;
/// The counts of a new key.
const NEW_AT: i16 = MOVED_AT - 2 * WAY_BYTES;

/// How processes are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// As in the first namespace, where every process has a number.
    First,
    /// As in another one, by the device and the number of its file.
    Namespace(u64, u64),
}

/// What the program is for.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The calls, in the order of their numbers.
    pub calls: &'a [Countable],
    /// How processes are numbered.
    pub numbers: Numbers,
    /// The process whose calls are left out.
    pub without: Option<u32>,
    /// Where structures of the kernel have their fields.
    pub offsets: TracepointOffsets,
    /// The descriptor of the map of counts.
    pub counts: i32,
    /// The descriptor of the map that counts what was missed.
    pub lost: i32,
    /// The descriptor of the map that holds until when anything is counted, nanoseconds on the monotonic clock: the process that
    /// counts may have been stopped.
    pub until: i32,
}

/// Writes the program; `None` if no call is wanted.
pub fn write(wanted: &Wanted<'_>) -> Option<Vec<u64>> {
    if wanted.calls.is_empty() {
        return None;
    }
    let mut program = Writer::default();
    let (end, lost) = (program.label(), program.label());
    choose_call(&mut program, wanted.calls, end);
    end_in_time(&mut program, wanted.until, KEY_AT, end);
    name_process(&mut program, wanted, end);
    name_file(&mut program, &wanted.offsets, end, lost);
    program.store(LoadSize::Double, STACK, NUMBER_AT, R0); // the number
    program.store(LoadSize::Double, STACK, KEY_AT + 16, R9); // the kind
    count(&mut program, wanted.counts, end, lost);
    count_lost(&mut program, wanted.lost, lost);
    program.place(end);
    program.set(R0, 0); // the result, which means nothing here
    program.exit();
    program.finish()
}

/// Goes on for wanted calls that moved something or found nothing, and then has the result in register 7, the
/// direction's place among the counts in 8, the descriptor in 9, and the bytes on the stack.
fn choose_call(program: &mut Writer, calls: &[Countable], end: Label) {
    let matters = program.label();
    program.load(LoadSize::Double, R6, R1, 0); // the saved registers
    program.load(LoadSize::Double, R7, R1, 8); // the result
    program.jump_if(R7, When::SignedMore, 0, matters); // it moved something
    program.jump_if(R7, When::IsNot, -libc::EAGAIN, end); // it failed, or there was nothing more
    program.place(matters);
    program.load(LoadSize::Word, R0, R6, SAVED.number); // the call's number
    call_program::choose_call(program, calls, end, |program, kind| {
        program.set(R8, if kind.is_in { 0 } else { WAY_BYTES.into() }); // the direction
        match kind.tells_bytes {
            true => program.store(LoadSize::Double, STACK, MOVED_AT, R7), // as many bytes as the result
            false => program.store_number(LoadSize::Double, STACK, MOVED_AT, 0), // unknown
        }
    });
    leave_32_bits(program, end);
}

/// Puts the process and the descriptor into the key.
fn name_process(program: &mut Writer, wanted: &Wanted<'_>, end: Label) {
    match wanted.numbers {
        Numbers::First => {
            program.call(helper::PROCESS_AND_THREAD);
            program.shift_right(R0, 32); // the process alone
        }
        Numbers::Namespace(device, number) => {
            program.set_long(R1, device);
            program.set_long(R2, number);
            program.copy(R3, STACK);
            program.add(R3, READ_AT.into()); // where thread and process go
            program.set(R4, 8); // bytes there
            program.call(helper::PROCESS_IN_NAMESPACE);
            program.jump_if(R0, When::IsNot, 0, end); // it is of another namespace
            program.load(LoadSize::Word, R0, STACK, READ_AT + 4); // the process
        }
    }
    if let Some(without) = wanted.without {
        program.jump_if(R0, When::Is, without.cast_signed(), end);
    }
    program.store(LoadSize::Word, STACK, KEY_AT, R0);
    program.store(LoadSize::Word, STACK, KEY_AT + 4, R9);
}

/// Adds to the counts of the key, which may be new.
fn count(program: &mut Writer, counts: i32, end: Label, lost: Label) {
    let (found, moved) = (program.label(), program.label());
    look_up(program, counts, KEY_AT);
    program.jump_if(R0, When::IsNot, 0, found);
    for at in (NEW_AT..MOVED_AT).step_by(8) {
        program.store_number(LoadSize::Double, STACK, at, 0); // new counts
    }
    program.set_map(R1, counts);
    program.copy(R2, STACK);
    program.add(R2, KEY_AT.into());
    program.copy(R3, STACK);
    program.add(R3, NEW_AT.into());
    program.set(R4, 1); // only if no other processor was faster (BPF_NOEXIST)
    program.call(helper::UPDATE);
    look_up(program, counts, KEY_AT);
    program.jump_if(R0, When::Is, 0, lost); // the map is full
    program.place(found);
    program.add_register(R0, R8); // the direction's counts
    program.set(R2, 1);
    program.jump_if(R7, When::SignedMore, 0, moved);
    program.add_to_memory(R0, EMPTY_AT, R2);
    program.jump(end);
    program.place(moved);
    program.load(LoadSize::Double, R1, STACK, MOVED_AT);
    program.add_to_memory(R0, 0, R1); // bytes
    program.add_to_memory(R0, CALLS_AT, R2);
    program.jump_if(R1, When::IsNot, 0, end);
    program.add_to_memory(R0, UNSIZED_AT, R2);
    program.jump(end);
}

/// Counts a call that is in no other count.
fn count_lost(program: &mut Writer, map: i32, lost: Label) {
    const ONE: Register = R1;
    let end = program.label();
    program.place(lost);
    program.store_number(LoadSize::Word, STACK, KEY_AT, 0); // the only key
    look_up(program, map, KEY_AT);
    program.jump_if(R0, When::Is, 0, end); // never; the verifier wants it
    program.set(ONE, 1);
    program.add_to_memory(R0, 0, ONE);
    program.place(end);
}
