//! The few instructions that programs in the kernel need here, in their numbers
//! (`Documentation/bpf/standardization/instruction-set.rst`).

/// A register: 0 has results, 1 to 5 arguments, 6 to 9 survive calls, 10 is the end of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register(pub u8);

/// Results of calls, and of the program.
pub const R0: Register = Register(0);
/// The first argument; when the program begins, what it is told.
pub const R1: Register = Register(1);
/// The second argument.
pub const R2: Register = Register(2);
pub const R3: Register = Register(3);
pub const R4: Register = Register(4);
pub const R5: Register = Register(5);
/// One that survives calls.
pub const R6: Register = Register(6);
/// One that survives calls.
pub const R7: Register = Register(7);
/// One that survives calls.
pub const R8: Register = Register(8);
/// One that survives calls.
pub const R9: Register = Register(9);
/// The end of the stack, which grows down.
pub const STACK: Register = Register(10);

/// How much of memory is read or written; shorter values are extended with zeros.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub enum LoadSize {
    /// 4 bytes.
    Word = 0x00,
    /// 2 bytes.
    Half = 0x08,
    /// 8 bytes.
    Double = 0x18,
}

/// When a jump is made.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub enum When {
    Is = 0x10,
    /// At least, without signs.
    AtLeast = 0x30,
    IsNot = 0x50,
    SignedMore = 0x60,
}

/// A place that is jumped to, perhaps before it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// Functions of the kernel by number (`bpf-helpers(7)`).
pub mod helper {
    pub const LOOK_UP: i32 = 1;
    pub const UPDATE: i32 = 2;
    /// `bpf_ktime_get_ns`: the monotonic clock.
    pub const NOW: i32 = 5;
    /// `bpf_get_smp_processor_id`
    pub const PROCESSOR: i32 = 8;
    /// `bpf_get_current_pid_tgid`: the process in the upper half.
    pub const PROCESS_AND_THREAD: i32 = 14;
    /// `bpf_perf_event_output`: puts bytes into a ring.
    pub const OUTPUT: i32 = 25;
    /// `bpf_probe_read_kernel`: fills what it cannot read with zeros.
    pub const READ_KERNEL: i32 = 113;
    /// `bpf_get_ns_current_pid_tgid`: the same numbers, in a namespace.
    pub const PROCESS_IN_NAMESPACE: i32 = 120;
    /// `bpf_get_current_task_btf`: a pointer that may be read through.
    pub const CURRENT_TASK: i32 = 158;
}

/// A program that is being written.
#[derive(Debug, Default)]
pub struct Writer {
    instructions: Vec<u64>,
    /// Where each label is.
    places: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Writer {
    pub fn copy(&mut self, into: Register, from: Register) {
        self.push(0xbf, into, from, 0, 0);
    }

    pub fn set(&mut self, into: Register, number: i32) {
        self.push(0xb7, into, R0, 0, number);
    }

    /// Sets a register to a number of 64 bits.
    pub fn set_long(&mut self, into: Register, number: u64) {
        self.push_long(into, R0, number);
    }

    pub fn set_map(&mut self, into: Register, descriptor: i32) {
        const IS_MAP: Register = Register(1);
        self.push_long(into, IS_MAP, descriptor.cast_unsigned().into());
    }

    pub fn add(&mut self, into: Register, number: i32) {
        self.push(0x07, into, R0, 0, number);
    }

    pub fn add_register(&mut self, into: Register, from: Register) {
        self.push(0x0f, into, from, 0, 0);
    }

    pub fn subtract_register(&mut self, into: Register, from: Register) {
        self.push(0x1f, into, from, 0, 0);
    }

    pub fn multiply(&mut self, into: Register, number: i32) {
        self.push(0x27, into, R0, 0, number);
    }

    /// Keeps the bits of a mask.
    pub fn and(&mut self, into: Register, mask: i32) {
        self.push(0x57, into, R0, 0, mask);
    }

    pub fn shift_left(&mut self, into: Register, bits: i32) {
        self.push(0x67, into, R0, 0, bits);
    }

    /// Shifts to the right, without a sign.
    pub fn shift_right(&mut self, into: Register, bits: i32) {
        self.push(0x77, into, R0, 0, bits);
    }

    /// Shifts to the right by a register, without a sign.
    pub fn shift_right_by(&mut self, into: Register, bits: Register) {
        self.push(0x7f, into, bits, 0, 0);
    }

    /// Reads memory at an offset from a register.
    pub fn load(&mut self, size: LoadSize, into: Register, from: Register, offset: i16) {
        self.push(0x61 | size as u8, into, from, offset, 0);
    }

    /// Writes a register to memory.
    pub fn store(&mut self, size: LoadSize, at: Register, offset: i16, from: Register) {
        self.push(0x63 | size as u8, at, from, offset, 0);
    }

    /// Writes a number to memory.
    pub fn store_number(&mut self, size: LoadSize, at: Register, offset: i16, number: i32) {
        self.push(0x62 | size as u8, at, R0, offset, number);
    }

    /// Adds a register to 8 bytes of memory, whatever other processors add meanwhile.
    pub fn add_to_memory(&mut self, at: Register, offset: i16, from: Register) {
        self.push(0xdb, at, from, offset, 0);
    }

    /// Calls a function of the kernel.
    pub fn call(&mut self, function: i32) {
        self.push(0x85, R0, R0, 0, function);
    }

    pub fn exit(&mut self) {
        self.push(0x95, R0, R0, 0, 0);
    }

    /// A label, to be placed once.
    pub fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Places a label before the next instruction.
    pub fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.instructions.len());
    }

    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(0x05, R0, R0, 0, 0);
    }

    /// Jumps if a register compares so with a number.
    pub fn jump_if(&mut self, one: Register, when: When, number: i32, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(0x05 | when as u8, one, R0, 0, number);
    }

    /// Jumps if a register compares so with another.
    pub fn jump_if_register(&mut self, one: Register, when: When, other: Register, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(0x0d | when as u8, one, other, 0, 0);
    }

    /// The instructions; `None` if a label has no place, or is too far away.
    pub fn finish(mut self) -> Option<Vec<u64>> {
        for (from, to) in self.jumps {
            let place = self.places[to.0]?;
            // A jump counts from the instruction after it.
            let distance = i16::try_from(place as i64 - from as i64 - 1).ok()?;
            self.instructions[from] |= u64::from(distance.cast_unsigned()) << 16;
        }
        Some(self.instructions)
    }

    fn push(&mut self, code: u8, into: Register, from: Register, offset: i16, number: i32) {
        let registers = into.0 | from.0 << 4;
        self.instructions.push(
            u64::from(code)
                | u64::from(registers) << 8
                | u64::from(offset.cast_unsigned()) << 16
                | u64::from(number.cast_unsigned()) << 32,
        );
    }

    /// A number of 64 bits takes two instructions.
    fn push_long(&mut self, into: Register, kind: Register, number: u64) {
        self.push(0x18, into, kind, 0, (number as u32).cast_signed());
        self.push(0, R0, R0, 0, ((number >> 32) as u32).cast_signed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_distances() {
        let mut writer = Writer::default();
        let (start, end) = (writer.label(), writer.label());
        writer.place(start);
        writer.jump_if(R1, When::Is, 5, end);
        writer.set_long(R2, 0x1_0000_0002);
        writer.jump(start);
        writer.place(end);
        writer.exit();
        let expected =
            [0x0000_0005_0003_0115, 0x0000_0002_0000_0218, 0x0000_0001_0000_0000, 0xfffc_0005, 0x95];
        assert_eq!(writer.finish().unwrap(), expected);
    }

    #[test]
    fn a_label_without_a_place_is_an_error() {
        let mut writer = Writer::default();
        let label = writer.label();
        writer.jump(label);
        assert_eq!(writer.finish(), None);
    }
}
