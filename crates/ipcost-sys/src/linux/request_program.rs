//! The programs that follow requests in the kernel: at the begin and the end of calls, and where threads leave and take processors.
//!
//! A connection has the moments of the request that is under way. A thread has a log of what it did last: calls, and times in which it did
//! not run. Only when a request was slow do its moments and the logs of its threads leave the kernel.

use super::bpf_instructions::{
    Label, LoadSize, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Register, STACK, When, Writer, helper,
};
use super::call_program::{
    READ_AT, SAVED, TracepointOffsets, choose_call, end_in_time, leave_32_bits, look_up, name_file,
};
use super::kernel_types::KernelTypes;
use super::moving_calls::Countable;

use LoadSize::{Double, Word};

/// How much a thread's log holds, a power of two.
pub const MOST_SPANS: usize = 128;
/// Bytes of a span in a log: `Span` of `request_trace.rs`.
pub const SPAN_BYTES: usize = 72;
/// Bytes before them.
pub const HEAD_BYTES: usize = 64;
pub const LOG_BYTES: usize = HEAD_BYTES + MOST_SPANS * SPAN_BYTES;
/// A span in which the thread did not run.
pub const AWAY: u32 = 1;
/// A span that is a system call.
pub const CALL: u32 = 2;
/// Buckets of times: eight for each doubling.
pub const BUCKETS: usize = 512;
pub const TALLY_BYTES: usize = HEAD_BYTES + BUCKETS * 8;
/// Bytes of a request that leaves the kernel.
pub const REQUEST_BYTES: usize = 64;

/// What happens at an end of a connection.
pub mod stage {
    pub const SENT: u32 = 0;
    pub const READ: u32 = 1;
    pub const REPLIED: u32 = 2;
    pub const RETURNED: u32 = 3;
}

// A thread's log: how many spans it has had, then what it is in.
const COUNT_AT: i16 = 0;
const CALL_BEGAN_AT: i16 = 8;
const CALL_AT: i16 = 16;
const STATE_AT: i16 = 20;
const LEFT_AT: i16 = 24;
const WOKEN_AT: i16 = 32;
const WAKER_AT: i16 = 40;
const THREAD_AT: i16 = 44;
const PROCESS_AT: i16 = 48;
/// What the call that it is in sends to, if it does: the kind and the number.
const OUT_KIND_AT: i16 = 52;
const OUT_AT: i16 = 56;

// A span.
const SPAN_END_AT: i16 = HEAD_BYTES as i16;
const SPAN_BEGIN_AT: i16 = SPAN_END_AT + 8;
const SPAN_WOKEN_OR_FILE_AT: i16 = SPAN_END_AT + 16;
const SPAN_SINCE_OR_RESULT_AT: i16 = SPAN_END_AT + 24;
const SPAN_KIND_AT: i16 = SPAN_END_AT + 32;
const SPAN_CALL_AT: i16 = SPAN_END_AT + 36;
const SPAN_STATE_AT: i16 = SPAN_END_AT + 40;
const SPAN_PROCESSOR_AT: i16 = SPAN_END_AT + 44;
const SPAN_WAKER_AT: i16 = SPAN_END_AT + 48;
const SPAN_BEFORE_AT: i16 = SPAN_END_AT + 52;
const SPAN_NAME_AT: i16 = SPAN_END_AT + 56;
const NAME_BYTES: i32 = 16;

// A connection.
const SENT_AT: i16 = 0;
const READ_AT_NS: i16 = 8;
const REPLIED_AT: i16 = 16;
const RETURNED_AT: i16 = 24;
const READER_AT: i16 = 32;
const REPLIER_AT: i16 = 36;
const OVERLAPS_AT: i16 = 40;
const CONVERSATION_AT: i16 = 44;
/// How often more of the reply was sent after the client had read of it.
const PIECES_AT: i16 = 48;
/// Whether it was handed over.
const HANDED_AT: i16 = 52;
/// What comes so much later is no piece of a reply, but sent unasked; and so are more pieces than that, if they take as long.
const LATE_NS: i32 = 1_000_000_000;
const MOST_PIECES: i32 = 16;

// A conversation's tally.
const LIMIT_AT: i16 = 0;
const REQUESTS_AT: i16 = 8;
const SLOW_AT: i16 = 16;
const SLOWEST_AT: i16 = 24;
const OVERLAPPED_AT: i16 = 32;
const OLDEST_UNREAD_AT: i16 = 40;

// Places on the stack.
/// Thread, and process in the upper half.
const WHO_AT: i16 = READ_AT - 8;
const PROCESS_KEY_AT: i16 = WHO_AT + 4;
/// The end of a connection: number, whether it goes out, kind.
const END_AT: i16 = WHO_AT - 16;
const IS_OUT_AT: i16 = END_AT + 8;
const KIND_AT: i16 = END_AT + 12;
/// What the program is told, to be handed on.
const CONTEXT_AT: i16 = END_AT - 8;
const NOW_AT: i16 = CONTEXT_AT - 8;
const RESULT_AT: i16 = NOW_AT - 8;
/// A key of 4 bytes, then the number of a call.
const KEY_AT: i16 = RESULT_AT - 8;
const NUMBER_AT: i16 = KEY_AT + 4;
const REQUEST_AT: i16 = KEY_AT - REQUEST_BYTES as i16;

/// Descriptors of the maps that the programs share.
#[derive(Debug, Clone, Copy)]
pub struct Maps {
    /// Which processes are followed.
    pub processes: i32,
    /// Ends of connections: their connection and what happens there.
    pub ends: i32,
    pub connections: i32,
    pub tallies: i32,
    /// Logs of threads.
    pub threads: i32,
    /// A log with nothing in it.
    pub empty_log: i32,
    /// Since when a processor runs what it runs, by processor.
    pub switched: i32,
    /// How many more requests may leave the kernel.
    pub budget: i32,
    /// Until when requests are followed: who follows them may have been stopped.
    pub until: i32,
    /// What leaves the kernel.
    pub rings: i32,
}

/// Where a task has what is needed of it, bytes.
#[derive(Debug, Clone, Copy)]
pub struct TaskOffsets {
    thread: i16,
    state: i16,
    name: i16,
}

impl TaskOffsets {
    pub fn of(types: &KernelTypes) -> Option<Self> {
        let of = |field: &str| types.offset("task_struct", field).and_then(|at| i16::try_from(at).ok());
        Some(Self { thread: of("pid")?, state: of("__state").or_else(|| of("state"))?, name: of("comm")? })
    }
}

/// The program at the begin of calls: notes that a thread is in it; where it sends, that a request or its reply is on its way.
///
/// Its end would be too late: on one processor the reader may run before it.
pub fn at_enter(maps: &Maps, calls: &[Countable], offsets: &TracepointOffsets) -> Option<Vec<u64>> {
    let mut program = Writer::default();
    let p = &mut program;
    let (end, told, named, logged, replies) = (p.label(), p.label(), p.label(), p.label(), p.label());
    p.load(Double, R6, R1, 0); // the saved registers
    p.load(Double, R7, R1, 8); // the call's number
    begin(p, maps, end);
    leave_32_bits(p, end);
    p.jump_if(R8, When::Is, 0, told);
    note_call(p);
    p.place(told);
    p.copy(R0, R7);
    let outward: Vec<Countable> = calls.iter().filter(|call| !call.is_in).copied().collect();
    name_end(p, &outward, offsets, end, end);
    p.jump_if(R8, When::Is, 0, named);
    note_out(p);
    p.place(named);
    find_connection(p, maps, end);
    p.jump_if(R8, When::IsNot, 0, logged);
    register(p, maps, end);
    note_call(p);
    note_out(p);
    p.place(logged);
    p.load(Double, R7, STACK, NOW_AT);
    p.load(Word, R1, STACK, NUMBER_AT);
    p.jump_if(R1, When::Is, stage::REPLIED as i32, replies);
    p.jump_if(R1, When::IsNot, stage::SENT as i32, end);
    sent(p, maps, end);
    p.place(replies);
    replied(p, end);
    finish(program, end)
}

/// The program at the end of calls: adds the call to its thread's log; where something was read, the request or its reply has come.
pub fn at_exit(maps: &Maps, calls: &[Countable], offsets: &TracepointOffsets) -> Option<Vec<u64>> {
    let mut program = Writer::default();
    let p = &mut program;
    let (end, plain, named, unlogged) = (p.label(), p.label(), p.label(), p.label());
    let (came, logged, returned) = (p.label(), p.label(), p.label());
    p.store(Double, STACK, CONTEXT_AT, R1);
    p.load(Double, R6, R1, 0); // the saved registers
    p.load(Double, R7, R1, 8); // the result
    p.store(Double, STACK, RESULT_AT, R7);
    p.store_number(Double, STACK, END_AT, 0);
    p.store_number(Double, STACK, IS_OUT_AT, 0);
    begin(p, maps, end);
    leave_32_bits(p, end);
    p.load(Word, R0, R6, SAVED.number);
    let inward: Vec<Countable> = calls.iter().filter(|call| call.is_in).copied().collect();
    name_end(p, &inward, offsets, plain, plain);
    p.jump_if(R8, When::Is, 0, unlogged);
    p.jump(named);
    p.place(plain);
    // What it sent to was found at its begin.
    p.jump_if(R8, When::Is, 0, end);
    p.load(Double, R1, R8, OUT_AT);
    p.store(Double, STACK, END_AT, R1);
    p.load(Word, R1, R8, OUT_KIND_AT);
    p.store(Word, STACK, KIND_AT, R1);
    p.store_number(Word, STACK, IS_OUT_AT, 1);
    p.place(named);
    log_call(p, unlogged);
    p.place(unlogged);
    p.load(Double, R1, STACK, END_AT);
    p.jump_if(R1, When::Is, 0, end);
    p.load(Word, R1, STACK, IS_OUT_AT);
    p.jump_if(R1, When::IsNot, 0, end); // that was told at its begin
    p.load(Double, R1, STACK, RESULT_AT);
    p.jump_if(R1, When::SignedMore, 0, came);
    p.jump(end);
    p.place(came);
    find_connection(p, maps, end);
    p.jump_if(R8, When::IsNot, 0, logged);
    register(p, maps, end);
    p.place(logged);
    p.load(Double, R7, STACK, NOW_AT);
    p.load(Word, R1, STACK, NUMBER_AT);
    p.jump_if(R1, When::Is, stage::RETURNED as i32, returned);
    p.jump_if(R1, When::IsNot, stage::READ as i32, end);
    read(p, end);
    p.place(returned);
    came_back(p, maps, end);
    hand_over(p, maps, end);
    finish(program, end)
}

/// The program where a processor goes from one thread to another.
pub fn at_switch(maps: &Maps, task: &TaskOffsets) -> Option<Vec<u64>> {
    let mut program = Writer::default();
    let p = &mut program;
    let (end, next, timed) = (p.label(), p.label(), p.label());
    p.store(Double, STACK, CONTEXT_AT, R1);
    p.load(Double, R6, R1, 8); // who leaves
    p.load(Double, R7, R1, 16); // who comes
    p.call(helper::NOW);
    p.store(Double, STACK, NOW_AT, R0);
    p.load(Word, R1, R6, task.thread);
    p.jump_if(R1, When::Is, 0, next); // a processor that did nothing
    p.store(Word, STACK, WHO_AT, R1);
    look_up(p, maps.threads, WHO_AT);
    p.jump_if(R0, When::Is, 0, next);
    p.load(Double, R1, STACK, NOW_AT);
    p.store(Double, R0, LEFT_AT, R1);
    let preempted = p.label();
    p.set(R2, 0); // ready
    p.load(Double, R3, STACK, CONTEXT_AT);
    p.load(Double, R3, R3, 0); // whether it would have gone on
    p.jump_if(R3, When::IsNot, 0, preempted);
    p.load(Word, R2, R6, task.state);
    p.place(preempted);
    p.store(Word, R0, STATE_AT, R2);
    p.place(next);
    // Since when the one who leaves has run.
    p.set(R9, 0);
    p.store_number(Word, STACK, KEY_AT, 0);
    look_up(p, maps.switched, KEY_AT);
    p.jump_if(R0, When::Is, 0, timed); // never; the verifier wants it
    p.load(Double, R9, R0, 0);
    p.load(Double, R1, STACK, NOW_AT);
    p.store(Double, R0, 0, R1);
    p.place(timed);
    p.store(Double, STACK, RESULT_AT, R9);
    p.load(Word, R1, R7, task.thread);
    p.jump_if(R1, When::Is, 0, end);
    p.store(Word, STACK, WHO_AT, R1);
    look_up(p, maps.threads, WHO_AT);
    p.jump_if(R0, When::Is, 0, end);
    p.copy(R8, R0);
    p.load(Double, R7, R8, LEFT_AT);
    p.jump_if(R7, When::Is, 0, end); // it left before it was followed
    span(p);
    p.store(Double, R9, SPAN_BEGIN_AT, R7);
    p.load(Double, R1, R8, WOKEN_AT);
    p.store(Double, R9, SPAN_WOKEN_OR_FILE_AT, R1);
    p.load(Double, R1, STACK, RESULT_AT);
    p.store(Double, R9, SPAN_SINCE_OR_RESULT_AT, R1);
    p.store_number(Word, R9, SPAN_KIND_AT, AWAY as i32);
    for (from, to) in [(CALL_AT, SPAN_CALL_AT), (STATE_AT, SPAN_STATE_AT), (WAKER_AT, SPAN_WAKER_AT)] {
        p.load(Word, R1, R8, from);
        p.store(Word, R9, to, R1);
    }
    p.load(Word, R1, R6, task.thread);
    p.store(Word, R9, SPAN_BEFORE_AT, R1);
    p.copy(R1, R9);
    p.add(R1, SPAN_NAME_AT.into());
    p.set(R2, NAME_BYTES);
    p.copy(R3, R6);
    p.add(R3, task.name.into());
    p.call(helper::READ_KERNEL);
    p.store_number(Double, R8, LEFT_AT, 0);
    finish(program, end)
}

/// The program where a thread is woken.
pub fn at_waking(maps: &Maps, task: &TaskOffsets) -> Option<Vec<u64>> {
    let mut program = Writer::default();
    let p = &mut program;
    let (end, first) = (p.label(), p.label());
    p.load(Double, R6, R1, 0); // who is woken
    p.load(Word, R1, R6, task.thread);
    p.store(Word, STACK, WHO_AT, R1);
    look_up(p, maps.threads, WHO_AT);
    p.jump_if(R0, When::Is, 0, end);
    p.copy(R8, R0);
    p.load(Double, R1, R8, LEFT_AT);
    p.jump_if(R1, When::Is, 0, first); // it is about to leave
    p.load(Double, R2, R8, WOKEN_AT);
    p.jump_if_register(R2, When::AtLeast, R1, end); // once more
    p.place(first);
    p.call(helper::NOW);
    p.store(Double, R8, WOKEN_AT, R0);
    p.call(helper::PROCESS_AND_THREAD);
    p.store(Word, R8, WAKER_AT, R0);
    finish(program, end)
}

/// Goes on for processes that are followed while anything is: with the time, and the thread's log in register 8, or 0.
fn begin(p: &mut Writer, maps: &Maps, end: Label) {
    p.call(helper::PROCESS_AND_THREAD);
    p.store(Double, STACK, WHO_AT, R0);
    look_up(p, maps.processes, PROCESS_KEY_AT);
    p.jump_if(R0, When::Is, 0, end);
    end_in_time(p, maps.until, KEY_AT, end);
    p.store(Double, STACK, NOW_AT, R0);
    look_up(p, maps.threads, WHO_AT);
    p.copy(R8, R0);
}

/// Notes in the log of register 8 that the thread is in the call of register 7.
fn note_call(p: &mut Writer) {
    p.load(Double, R1, STACK, NOW_AT);
    p.store(Double, R8, CALL_BEGAN_AT, R1);
    p.copy(R1, R7);
    p.add(R1, 1); // 0 is none
    p.store(Word, R8, CALL_AT, R1);
    p.store_number(Double, R8, OUT_AT, 0);
}

/// Notes what the call sends to.
fn note_out(p: &mut Writer) {
    p.load(Double, R1, STACK, END_AT);
    p.store(Double, R8, OUT_AT, R1);
    p.load(Word, R1, STACK, KIND_AT);
    p.store(Word, R8, OUT_KIND_AT, R1);
}

/// Goes on for the calls, the number in register 0 and the saved registers in 6, with the key of their end on the stack. What is none of
/// them jumps to `other`; what leads nowhere any more to `lost`.
fn name_end(p: &mut Writer, calls: &[Countable], offsets: &TracepointOffsets, other: Label, lost: Label) {
    choose_call(p, calls, other, |p, kind| p.store_number(Word, STACK, IS_OUT_AT, i32::from(!kind.is_in)));
    name_file(p, offsets, other, lost);
    p.store(Double, STACK, END_AT, R0);
    p.store(Word, STACK, KIND_AT, R9);
}

/// Goes on with the end's connection in register 6, and what happens there on the stack.
fn find_connection(p: &mut Writer, maps: &Maps, end: Label) {
    look_up(p, maps.ends, END_AT);
    p.jump_if(R0, When::Is, 0, end);
    p.load(Word, R1, R0, 0);
    p.store(Word, STACK, KEY_AT, R1);
    p.load(Word, R1, R0, 4);
    p.store(Word, STACK, NUMBER_AT, R1);
    look_up(p, maps.connections, KEY_AT);
    p.jump_if(R0, When::Is, 0, end); // never; the verifier wants it
    p.copy(R6, R0);
}

/// Goes on with a new log for the thread in register 8.
fn register(p: &mut Writer, maps: &Maps, end: Label) {
    p.store_number(Word, STACK, REQUEST_AT, 0); // the only key
    look_up(p, maps.empty_log, REQUEST_AT);
    p.jump_if(R0, When::Is, 0, end); // never; the verifier wants it
    p.copy(R3, R0);
    p.set_map(R1, maps.threads);
    p.copy(R2, STACK);
    p.add(R2, WHO_AT.into());
    p.set(R4, 0);
    p.call(helper::UPDATE);
    look_up(p, maps.threads, WHO_AT);
    p.jump_if(R0, When::Is, 0, end);
    p.copy(R8, R0);
    p.load(Double, R1, STACK, WHO_AT);
    p.store(Word, R8, THREAD_AT, R1);
    p.shift_right(R1, 32);
    p.store(Word, R8, PROCESS_AT, R1);
}

/// A request is sent, the first of it or more; register 6 has the connection, 7 the time.
fn sent(p: &mut Writer, maps: &Maps, end: Label) {
    let (first, done, unanswered) = (p.label(), p.label(), p.label());
    p.load(Double, R1, R6, SENT_AT);
    p.jump_if(R1, When::Is, 0, first);
    p.load(Double, R2, R6, RETURNED_AT);
    p.jump_if(R2, When::Is, 0, unanswered);
    p.load(Double, R3, R6, REPLIED_AT);
    p.jump_if_register(R2, When::AtLeast, R3, done);
    p.store_number(Word, R6, OVERLAPS_AT, 1); // there is more that it has not read
    p.place(done);
    count(p, maps, first);
    p.place(first);
    p.load(Double, R7, STACK, NOW_AT);
    p.store(Double, R6, SENT_AT, R7);
    for at in [READ_AT_NS, REPLIED_AT, RETURNED_AT, READER_AT, PIECES_AT] {
        p.store_number(Double, R6, at, 0); // what is beside the last two, too
    }
    p.store_number(Word, R6, OVERLAPS_AT, 0);
    // More of it, in pieces, unless replies show that it is another one.
    p.place(unanswered);
    p.jump(end);
}

/// The server reads.
fn read(p: &mut Writer, end: Label) {
    p.load(Double, R1, R6, SENT_AT);
    p.jump_if(R1, When::Is, 0, end);
    p.load(Double, R1, R6, READ_AT_NS);
    p.jump_if(R1, When::IsNot, 0, end);
    p.store(Double, R6, READ_AT_NS, R7);
    p.load(Word, R1, STACK, WHO_AT);
    p.store(Word, R6, READER_AT, R1);
    p.jump(end);
}

/// The server replies.
fn replied(p: &mut Writer, end: Label) {
    let (unasked, is_piece, goes_on) = (p.label(), p.label(), p.label());
    p.load(Double, R1, R6, SENT_AT);
    p.jump_if(R1, When::Is, 0, end);
    p.load(Double, R2, R6, READ_AT_NS);
    p.jump_if(R2, When::Is, 0, unasked); // it replies to an earlier one
    p.load(Double, R2, R6, RETURNED_AT);
    p.load(Double, R3, R6, REPLIED_AT);
    p.store(Double, R6, REPLIED_AT, R7);
    p.load(Word, R4, STACK, WHO_AT);
    p.store(Word, R6, REPLIER_AT, R4);
    p.jump_if(R2, When::Is, 0, end); // the client has read nothing yet
    // After a pause in which the client had read all, it is unasked.
    p.copy(R4, R7);
    p.subtract_register(R4, R2);
    p.jump_if_register(R3, When::AtLeast, R2, is_piece);
    p.jump_if(R4, When::AtLeast, LATE_NS, unasked);
    p.place(is_piece);
    p.load(Word, R2, R6, PIECES_AT);
    p.add(R2, 1);
    p.store(Word, R6, PIECES_AT, R2);
    // So are many pieces that take long.
    p.jump_if(R2, When::AtLeast, MOST_PIECES, goes_on);
    p.jump(end);
    p.place(goes_on);
    p.copy(R4, R7);
    p.subtract_register(R4, R1);
    p.jump_if(R4, When::AtLeast, LATE_NS, unasked);
    p.jump(end);
    p.place(unasked);
    overlaps(p, end);
}

fn overlaps(p: &mut Writer, end: Label) {
    p.store_number(Word, R6, OVERLAPS_AT, 1);
    p.jump(end);
}

/// The client has read of the reply: goes on if it took too long by now, and that is new.
fn came_back(p: &mut Writer, maps: &Maps, end: Label) {
    let is_reply = p.label();
    p.load(Double, R1, R6, SENT_AT);
    p.jump_if(R1, When::Is, 0, end);
    p.load(Double, R2, R6, REPLIED_AT);
    p.jump_if(R2, When::IsNot, 0, is_reply);
    overlaps(p, end); // what comes was sent before it
    p.place(is_reply);
    p.store(Double, R6, RETURNED_AT, R7);
    p.subtract_register(R7, R1);
    for at in [OVERLAPS_AT, HANDED_AT] {
        p.load(Word, R1, R6, at);
        p.jump_if(R1, When::IsNot, 0, end);
    }
    find_tally(p, maps, end);
    p.load(Double, R1, R9, LIMIT_AT);
    p.jump_if_register(R1, When::AtLeast, R7, end);
    p.store_number(Word, R6, HANDED_AT, 1);
}

/// Sets register 9 to the tally of the connection's conversation.
fn find_tally(p: &mut Writer, maps: &Maps, end: Label) {
    p.load(Word, R1, R6, CONVERSATION_AT);
    p.store(Word, STACK, KEY_AT, R1);
    look_up(p, maps.tallies, KEY_AT);
    p.jump_if(R0, When::Is, 0, end); // never; the verifier wants it
    p.copy(R9, R0);
}

/// Counts the connection's last request, which has its reply.
fn count(p: &mut Writer, maps: &Maps, end: Label) {
    let (counts, is_no_oldest, is_no_slowest) = (p.label(), p.label(), p.label());
    find_tally(p, maps, end);
    p.load(Double, R3, R6, SENT_AT);
    // How long it was not read.
    p.load(Double, R1, R6, READ_AT_NS);
    p.subtract_register(R1, R3);
    p.load(Double, R2, R9, OLDEST_UNREAD_AT);
    p.jump_if_register(R2, When::AtLeast, R1, is_no_oldest);
    p.store(Double, R9, OLDEST_UNREAD_AT, R1);
    p.place(is_no_oldest);
    p.load(Word, R1, R6, OVERLAPS_AT);
    p.jump_if(R1, When::Is, 0, counts);
    add_one(p, R9, OVERLAPPED_AT);
    p.jump(end);
    p.place(counts);
    add_one(p, R9, REQUESTS_AT);
    p.load(Double, R7, R6, RETURNED_AT);
    p.subtract_register(R7, R3);
    bucket(p);
    p.load(Double, R1, R9, SLOWEST_AT);
    p.jump_if_register(R1, When::AtLeast, R7, is_no_slowest);
    p.store(Double, R9, SLOWEST_AT, R7);
    p.place(is_no_slowest);
    p.load(Double, R1, R9, LIMIT_AT);
    p.jump_if_register(R1, When::AtLeast, R7, end);
    add_one(p, R9, SLOW_AT);
}

/// Counts a time, in register 7, among those of about its length: by its power of two and the three bits after the first.
fn bucket(p: &mut Writer) {
    const LEAST: i32 = 8;
    let long = p.label();
    p.copy(R1, R7);
    p.jump_if(R1, When::AtLeast, LEAST, long);
    p.set(R1, LEAST);
    p.place(long);
    p.copy(R4, R1);
    p.set(R2, 0);
    for bits in [32, 16, 8, 4, 2, 1] {
        let less = p.label();
        p.copy(R3, R1);
        p.shift_right(R3, bits);
        p.jump_if(R3, When::Is, 0, less);
        p.copy(R1, R3);
        p.add(R2, bits);
        p.place(less);
    }
    p.copy(R5, R2);
    p.add(R5, -3);
    p.shift_right_by(R4, R5);
    p.and(R4, 7);
    p.shift_left(R2, 3);
    p.add_register(R2, R4);
    p.and(R2, BUCKETS as i32 - 1);
    p.shift_left(R2, 3); // a count has 8 bytes
    p.copy(R1, R9);
    p.add_register(R1, R2);
    add_one(p, R1, HEAD_BYTES as i16);
}

/// Hands a request over, with the logs of the threads that it went through, as far as there is a budget.
fn hand_over(p: &mut Writer, maps: &Maps, end: Label) {
    p.store_number(Word, STACK, KEY_AT, 0);
    look_up(p, maps.budget, KEY_AT);
    p.jump_if(R0, When::Is, 0, end); // never; the verifier wants it
    p.load(Double, R1, R0, 0);
    p.jump_if(R1, When::Is, 0, end);
    p.add(R1, -1);
    p.store(Double, R0, 0, R1);
    for (to, from) in [(0, SENT_AT), (8, READ_AT_NS), (16, REPLIED_AT)] {
        p.load(Double, R1, R6, from);
        p.store(Double, STACK, REQUEST_AT + to, R1);
    }
    p.load(Double, R1, STACK, NOW_AT);
    p.store(Double, STACK, REQUEST_AT + 24, R1);
    for (to, from) in [(36, READER_AT), (40, REPLIER_AT), (44, CONVERSATION_AT)] {
        p.load(Word, R1, R6, from);
        p.store(Word, STACK, REQUEST_AT + to, R1);
    }
    p.load(Word, R1, STACK, WHO_AT);
    p.store(Word, STACK, REQUEST_AT + 32, R1);
    p.load(Double, R1, STACK, END_AT);
    p.store(Double, STACK, REQUEST_AT + 48, R1);
    p.load(Double, R1, STACK, IS_OUT_AT); // and the kind
    p.store(Double, STACK, REQUEST_AT + 56, R1);
    p.copy(R4, STACK);
    p.add(R4, REQUEST_AT.into());
    output(p, maps, REQUEST_BYTES);
    p.copy(R4, R8);
    output(p, maps, LOG_BYTES);
    let other = p.label();
    p.load(Word, R7, R6, READER_AT);
    p.store(Word, STACK, KEY_AT, R7);
    output_log(p, maps, other);
    p.place(other);
    p.load(Word, R1, R6, REPLIER_AT);
    p.jump_if_register(R1, When::Is, R7, end);
    p.store(Word, STACK, KEY_AT, R1);
    output_log(p, maps, end);
}

fn output_log(p: &mut Writer, maps: &Maps, unknown: Label) {
    look_up(p, maps.threads, KEY_AT);
    p.jump_if(R0, When::Is, 0, unknown);
    p.copy(R4, R0);
    output(p, maps, LOG_BYTES);
}

/// Puts so many bytes from register 4 on into the processor's ring.
fn output(p: &mut Writer, maps: &Maps, bytes: usize) {
    const THIS_PROCESSOR: u64 = 0xffff_ffff;
    p.load(Double, R1, STACK, CONTEXT_AT);
    p.set_map(R2, maps.rings);
    p.set_long(R3, THIS_PROCESSOR);
    p.set(R5, bytes as i32);
    p.call(helper::OUTPUT);
}

/// Adds a call to the log of register 8, if its begin is there.
fn log_call(p: &mut Writer, unlogged: Label) {
    p.load(Double, R7, R8, CALL_BEGAN_AT);
    p.jump_if(R7, When::Is, 0, unlogged);
    span(p);
    p.store(Double, R9, SPAN_BEGIN_AT, R7);
    p.load(Double, R1, STACK, END_AT);
    p.store(Double, R9, SPAN_WOKEN_OR_FILE_AT, R1);
    p.load(Double, R1, STACK, RESULT_AT);
    p.store(Double, R9, SPAN_SINCE_OR_RESULT_AT, R1);
    p.store_number(Word, R9, SPAN_KIND_AT, CALL as i32);
    p.load(Word, R1, R8, CALL_AT);
    p.store(Word, R9, SPAN_CALL_AT, R1);
    // Which kind of file, and whether it went out.
    p.load(Word, R1, STACK, KIND_AT);
    p.store(Word, R9, SPAN_STATE_AT, R1);
    p.load(Word, R1, STACK, IS_OUT_AT);
    p.store(Word, R9, SPAN_WAKER_AT, R1);
    p.store_number(Double, R8, CALL_BEGAN_AT, 0);
    p.store_number(Word, R8, CALL_AT, 0);
}

/// Sets register 9 so that the next span of the log in register 8 is at its places, with its end and its processor.
fn span(p: &mut Writer) {
    p.call(helper::PROCESSOR);
    p.load(Double, R1, R8, COUNT_AT);
    p.copy(R2, R1);
    p.and(R2, MOST_SPANS as i32 - 1);
    p.multiply(R2, SPAN_BYTES as i32);
    p.copy(R9, R8);
    p.add_register(R9, R2);
    p.store(Word, R9, SPAN_PROCESSOR_AT, R0);
    p.add(R1, 1);
    p.store(Double, R8, COUNT_AT, R1);
    p.load(Double, R1, STACK, NOW_AT);
    p.store(Double, R9, SPAN_END_AT, R1);
}

fn add_one(p: &mut Writer, at: Register, offset: i16) {
    p.set(R2, 1);
    p.add_to_memory(at, offset, R2);
}

fn finish(mut program: Writer, end: Label) -> Option<Vec<u64>> {
    program.place(end);
    program.set(R0, 0); // the result, which means nothing here
    program.exit();
    program.finish()
}
