//! Collapses what `perf script` prints: each stack once, with what its samples weigh.

use std::collections::BTreeMap;

/// The fields that [`Collapse`] reads, as `perf script --fields` takes them.
pub const FIELDS: &str = "comm,period,ip,sym,dso";
/// The end of a kernel function's name, as in other tools that collapse stacks.
pub const KERNEL: &str = "_[k]";
/// A frame of neither a known function nor a known file.
const UNKNOWN: &str = "[unknown]";
/// A kernel function whose name is not known.
const HIDDEN: &str = "[kernel]";

/// The sampled stacks of one side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stacks {
    /// The weight of each stack: thread name and functions, outermost first, joined by `;`. Kernel functions end in
    /// [`KERNEL`]. The unit is the event's (cycles, or nanoseconds), the same for both sides: a share is a share of the
    /// processor time.
    pub weights: BTreeMap<String, u64>,
    /// The number of samples: a frame of `n` samples is off by about its `√n`.
    pub samples: u64,
}

impl Stacks {
    /// Whether the system hides the names of kernel functions from this user. They show with `kernel.kptr_restrict` at 0 and
    /// `kernel.perf_event_paranoid` of at most 1, or as root.
    pub fn hides_kernel(&self) -> bool {
        let frames = self.weights.keys().flat_map(|stack| stack.split(';'));
        let mut kernel = frames.filter_map(|name| name.strip_suffix(KERNEL)).peekable();
        kernel.peek().is_some() && kernel.all(|name| name == HIDDEN)
    }
}

/// Collapses a text line by line.
#[derive(Debug, Default)]
pub struct Collapse {
    stacks: Stacks,
    sample: StackSample,
}

/// The sample being read.
#[derive(Debug, Default)]
struct StackSample {
    thread: String,
    /// Once the line with the name has ended.
    period: Option<u64>,
    frames: Vec<String>,
}

impl Collapse {
    /// Takes the next line.
    pub fn line(&mut self, line: &str) {
        if self.sample.period.is_none() {
            self.sample.begin(line);
        } else if line.trim().is_empty() {
            self.end_sample();
        } else if let Some(frame) = frame(line) {
            self.sample.frames.push(frame);
        }
    }

    /// All stacks of the lines so far.
    pub fn finish(mut self) -> Stacks {
        self.end_sample();
        self.stacks
    }

    fn end_sample(&mut self) {
        let sample = std::mem::take(&mut self.sample);
        let Some(period) = sample.period else { return };
        let weight = self.stacks.weights.entry(sample.stack()).or_default();
        *weight = weight.saturating_add(period);
        self.stacks.samples += 1;
    }
}

impl StackSample {
    /// A thread's name may hold anything, even line ends: only a number at the end of a line ends it.
    fn begin(&mut self, line: &str) {
        let line = line.trim();
        let (name, last) = line.rsplit_once(char::is_whitespace).unwrap_or(("", line));
        self.period = last.parse().ok();
        let part = if self.period.is_some() { name } else { line };
        if !self.thread.is_empty() && !part.is_empty() {
            self.thread.push(' ');
        }
        self.thread.push_str(part.trim());
    }

    fn stack(mut self) -> String {
        // Code without frame pointers uses that register for data, so the chain ends in addresses of nothing.
        while self.frames.len() > 1 && self.frames.last().is_some_and(|frame| frame == UNKNOWN) {
            self.frames.pop();
        }
        // Frames without the name of a function tell only where they are.
        self.frames.dedup_by(|a, b| a == b && a.starts_with('['));
        let thread = if self.thread.is_empty() { UNKNOWN } else { &self.thread };
        let names = std::iter::once(thread).chain(self.frames.iter().rev().map(String::as_str));
        // The separator of collapsed stacks.
        names.map(|name| name.replace(';', ":")).collect::<Vec<_>>().join(";")
    }
}

/// The frame of a line `address function (file)`.
fn frame(line: &str) -> Option<String> {
    let (address, rest) = line.trim().split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    // Both may hold parentheses; paths are absolute.
    let file_at = rest.find(" (/").or_else(|| rest.rfind(" ("));
    let (function, file) = rest.split_at(file_at.unwrap_or(rest.len()));
    let file = file.trim_start_matches([' ', '(']).trim_end_matches(')');
    let name = match (function, file) {
        (UNKNOWN, UNKNOWN | "" | "[kernel.kallsyms]") if is_kernel(address) => HIDDEN.to_owned(),
        (UNKNOWN, UNKNOWN | "") => return Some(UNKNOWN.to_owned()),
        (UNKNOWN, file) => format!("[{}]", file_name(file)),
        (function, _) => without_hash(function).to_owned(),
    };
    Some(if is_kernel(address) { name + KERNEL } else { name })
}

/// The kernel has the upper half of the addresses.
fn is_kernel(address: u64) -> bool {
    address >> 63 == 1
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path).trim_matches(['[', ']'])
}

/// A Rust function without the hash of its older names, which differs between builds: `a::b::h0123456789abcdef`.
fn without_hash(function: &str) -> &str {
    match function.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => function,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
redis-server     333444 \n\
\tffffffff81b6cd84 _copy_to_iter ([kernel.kallsyms])\n\
\tffffffff821ef691 [unknown] ([kernel.kallsyms])\n\
\t           f82ad read (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\
\t           f82ae [unknown] (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\
\t    56423f451de0 [unknown] ([unknown])\n\
\t               0 [unknown] ([unknown])\n\
\n\
redis-server     6 \n\
\tffffffff81b6cd84 _copy_to_iter ([kernel.kallsyms])\n\
\tffffffff821ef691 [unknown] ([kernel.kallsyms])\n\
\t           f82ad read (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\
\t           f82ae [unknown] (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\
\n\
io thread     10 \n\
\t           1234 <alloc::vec::Vec<u8> as Write>::write::h0123456789abcdef (/opt/a (b)/peer)\n\
\n";

    fn collapsed(text: &str) -> Stacks {
        let mut collapse = Collapse::default();
        text.lines().for_each(|line| collapse.line(line));
        collapse.finish()
    }

    fn weights(text: &str) -> Vec<(String, u64)> {
        collapsed(text).weights.into_iter().collect()
    }

    #[test]
    fn equal_stacks_are_joined_outermost_first() {
        let stacks = collapsed(SCRIPT);
        assert_eq!(stacks.samples, 3);
        assert_eq!(
            stacks.weights,
            BTreeMap::from([
                ("io thread;<alloc::vec::Vec<u8> as Write>::write".to_owned(), 10),
                ("redis-server;[libc.so.6];read;[kernel]_[k];_copy_to_iter_[k]".to_owned(), 333_450),
            ])
        );
    }

    #[test]
    fn the_last_sample_needs_no_blank_line() {
        assert_eq!(weights("a 1\n\t12 f (x)"), [("a;f".to_owned(), 1)]);
    }

    #[test]
    fn a_stack_of_unknown_addresses_stays_one_frame() {
        let text = "jit 5\n\t12 [unknown] ([unknown])\n\t13 [unknown] ([unknown])\n\n";
        assert_eq!(weights(text), [("jit;[unknown]".to_owned(), 5)]);
    }

    #[test]
    fn hidden_kernel_functions_are_one_frame_of_the_kernel() {
        let hidden = "a 5\n\tffffffff00000001 [unknown] ([unknown])\n\tffffffff00000002 [unknown] ([unknown])\n\t12 f (x)\n\n";
        assert_eq!(weights(hidden), [("a;f;[kernel]_[k]".to_owned(), 5)]);
        assert!(collapsed(hidden).hides_kernel());
        assert!(!collapsed(&format!("{hidden}{SCRIPT}")).hides_kernel());
        assert!(!collapsed("a 5\n\t12 f (x)\n").hides_kernel(), "no kernel, no names");
    }

    #[test]
    fn a_thread_name_cannot_break_the_format() {
        assert_eq!(weights("a;b 12 7\n\t12 f;g (x)\n\n"), [("a:b 12;f:g".to_owned(), 7)]);
        assert_eq!(weights("two\nlines 7\n\t12 f (x)\n\n"), [("two lines;f".to_owned(), 7)]);
        assert_eq!(weights("\n\n 7\n\t12 f (x)\n\n"), [("[unknown];f".to_owned(), 7)]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(text in "[ -~\n\t]{0,200}") {
            let _ = collapsed(&text);
        }
    }
}
