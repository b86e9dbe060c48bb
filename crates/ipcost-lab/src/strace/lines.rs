//! The lines of a trace: calls that others interrupted are joined, and times are read.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// A whole call of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceLine<'a> {
    /// The thread, by number.
    pub thread: &'a str,
    /// When it began, nanoseconds since 1970 by the wall clock, where strace was told to write it (`-ttt`).
    pub began_ns: Option<u64>,
    /// When its last part was written, on the same clock.
    written_ns: Option<u64>,
    text: Cow<'a, str>,
}

/// The parts of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts<'a> {
    /// As in `syscalls(2)`.
    pub name: &'a str,
    /// What is between the parentheses, and the second of these.
    pub arguments: &'a str,
    /// What it returned, with how long it took.
    pub result: &'a str,
}

impl TraceLine<'_> {
    /// Its parts; `None` if it is no call, or one that did not end.
    pub fn parts(&self) -> Option<Parts<'_>> {
        let (name, rest) = self.text.split_once('(')?;
        let (arguments, result) = rest.rsplit_once(" = ")?;
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then_some(Parts { name, arguments, result })
    }

    /// When it ended, nanoseconds since 1970: as long after its begin as it took.
    pub fn ended_ns(&self) -> Option<u64> {
        let took_ns = self.parts().and_then(|parts| parts.took_ns());
        match (self.began_ns, took_ns) {
            (Some(began_ns), Some(took_ns)) => began_ns.checked_add(took_ns.into()),
            _ => self.written_ns,
        }
    }
}

impl<'a> Parts<'a> {
    /// The number that it returned, if one.
    pub fn value(&self) -> Option<i64> {
        self.result.split_whitespace().next()?.split('<').next()?.parse().ok()
    }

    /// The word after what it returned: the name of an error, if it failed.
    pub fn error(&self) -> Option<&'a str> {
        self.result.split_whitespace().nth(1)
    }

    /// How long it took, nanoseconds: what `-T` writes at the end.
    pub fn took_ns(&self) -> Option<u32> {
        let seconds = self.result.strip_suffix('>')?.rsplit_once('<')?.1;
        let seconds: f64 = seconds.parse().ok().filter(|seconds| *seconds >= 0.0)?;
        Some((seconds * 1e9).round() as u32)
    }

    pub fn argument(&self, place: usize) -> Option<&'a str> {
        let (mut depth, mut start, mut index) = (0_usize, 0, 0);
        let (mut is_text, mut is_escaped, mut before) = (false, false, b' ');
        for (at, byte) in self.arguments.bytes().enumerate() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_text = !is_text,
                _ if is_text => {}
                b'(' | b'[' | b'{' => depth += 1,
                // What a descriptor is follows its number; strace escapes such signs within.
                b'<' if before.is_ascii_digit() => depth += 1,
                b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
                b')' if depth > 0 => depth -= 1,
                b',' | b')' if depth == 0 => {
                    if index == place {
                        return Some(self.arguments[start..at].trim());
                    }
                    (index, start) = (index + 1, at + 1);
                }
                _ => {}
            }
            before = byte;
        }
        None
    }
}

/// Takes a trace apart, with or without times.
pub fn each_line<'a>(trace: &'a str, take: &mut dyn FnMut(TraceLine<'a>)) {
    // By thread: the beginning of a call that others interrupted.
    let mut begun: BTreeMap<&str, (Option<u64>, &str)> = BTreeMap::new();
    for line in trace.lines() {
        let Some((thread, rest)) = line.trim_start().split_once(' ') else { continue };
        let (written_ns, rest) = stamp(rest.trim_start());
        if let Some(beginning) = rest.strip_suffix("<unfinished ...>") {
            begun.insert(thread, (written_ns, beginning));
        } else if let Some((_, end)) = rest.strip_prefix("<... ").and_then(|rest| rest.split_once("resumed>"))
        {
            if let Some((began_ns, beginning)) = begun.remove(thread) {
                let text = Cow::Owned(format!("{beginning}{end}"));
                take(TraceLine { thread, began_ns, written_ns, text });
            }
        } else {
            take(TraceLine { thread, began_ns: written_ns, written_ns, text: Cow::Borrowed(rest) });
        }
    }
}

/// The time at the start of a line, such as `1700000000.123456`, and the rest.
fn stamp(line: &str) -> (Option<u64>, &str) {
    let read = || {
        let (stamp, rest) = line.split_once(' ')?;
        let (seconds, fraction) = stamp.split_once('.')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_stamp = digits(seconds) && digits(fraction) && fraction.len() <= 9;
        let fraction: u64 = is_stamp.then(|| format!("{fraction:0<9}").parse().ok())??;
        let ns = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)?;
        Some((ns, rest.trim_start()))
    };
    read().map_or((None, line), |(ns, rest)| (Some(ns), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
10 1700000000.000010 recvfrom(5<socket:[7]>,  <unfinished ...>
11 1700000000.5 sendmsg(4<pipe:[7]>, {msg_name={sun_path=\"/a, \\\")b\"}, msg_iov=[{\"\"..., 3}], x(1)}, 0) = 15 <0.000002>
10 1700000000.700000 <... recvfrom resumed>\"\"..., 8, 0, NULL, NULL) = -1 EAGAIN (Resource temporarily unavailable) <0.699980>
12 read(3</tmp/a, b>, 0x7f00, 7) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)
12 1700000000.8 <... poll resumed>) = 1
";

    fn lines(trace: &str) -> Vec<TraceLine<'_>> {
        let mut found = Vec::new();
        each_line(trace, &mut |line| found.push(line));
        found
    }

    #[test]
    fn interrupted_calls_are_joined_with_their_times() {
        const SECOND: u64 = 1_700_000_000_000_000_000;
        let found = lines(TRACE);
        let [sent, received, read] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (sent.thread, sent.began_ns, sent.ended_ns()),
            ("11", Some(SECOND + 500_000_000), Some(SECOND + 500_002_000))
        );
        assert_eq!(
            (received.began_ns, received.ended_ns()),
            (Some(SECOND + 10_000), Some(SECOND + 699_990_000))
        );
        assert_eq!((read.began_ns, read.ended_ns()), (None, None));
        let parts = received.parts().unwrap();
        assert_eq!((parts.name, parts.value(), parts.error()), ("recvfrom", Some(-1), Some("EAGAIN")));
        let parts = read.parts().unwrap();
        assert_eq!((parts.value(), parts.error()), (None, Some("ERESTARTSYS")));
    }

    #[test]
    fn arguments_are_told_apart() {
        let found = lines(TRACE);
        let argument = |line: usize, place| found[line].parts().unwrap().argument(place);
        assert_eq!([argument(0, 0), argument(0, 2), argument(0, 3)], [Some("4<pipe:[7]>"), Some("0"), None]);
        assert_eq!([argument(1, 1), argument(1, 2), argument(1, 6)], [Some("\"\"..."), Some("8"), None]);
        assert_eq!([argument(2, 0), argument(2, 2)], [Some("3</tmp/a, b>"), Some("7")]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(text in "[ -~é\n]{0,200}", call in "[ -~é]{0,60}") {
            for text in [text.as_str(), &format!("1 2.3 read({call}) = {call}")] {
                for line in lines(text) {
                    let _ = (line.ended_ns(), line.parts().map(|parts| parts.argument(2)));
                }
            }
        }
    }
}
