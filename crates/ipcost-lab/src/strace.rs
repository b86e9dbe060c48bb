//! Reads strace's output: calls of all threads by name, with their bytes and failures (`strace(1)`).

use std::collections::BTreeMap;
use std::path::Path;

/// Files and addresses used for name resolution.
const RESOLVING: [&str; 9] = [
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/nscd/socket",
    "/systemd/resolve/",
    "/etc/services",
    "htons(53)",
];

/// The command that runs a program under strace, writing a line for every call of all its threads and children to a
/// file, without the data that calls move.
pub fn traced(command: &[String], file: &Path) -> Vec<String> {
    let mut words: Vec<String> =
        ["strace", "-f", "-qq", "-s", "0", "-e", "signal=none", "-o"].map(str::to_owned).to_vec();
    words.push(file.to_string_lossy().into_owned());
    words.push("--".to_owned());
    words.extend(command.iter().cloned());
    words
}

/// All calls of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// The number of calls.
    pub count: u64,
    /// Bytes moved, by calls that move bytes.
    pub moved: u64,
    /// Bytes that calls asked to move, if shown.
    pub asked: u64,
    /// Calls that moved less than asked.
    pub partial: u64,
    /// Failures, by error.
    pub failures: BTreeMap<String, u64>,
}

/// A whole trace, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls by name.
    pub calls: BTreeMap<String, Calls>,
    /// Calls for name resolution, by what they touch.
    pub lookups: BTreeMap<String, u64>,
}

impl Tally {
    /// Counts the lines of a trace; skips lines that are not calls.
    pub fn of(trace: &str) -> Self {
        let mut tally = Self::default();
        // By thread: the beginning of a call that others interrupted.
        let mut begun: BTreeMap<&str, &str> = BTreeMap::new();
        for line in trace.lines() {
            let Some((thread, rest)) = line.trim_start().split_once(' ') else { continue };
            let rest = rest.trim_start();
            if let Some(beginning) = rest.strip_suffix("<unfinished ...>") {
                begun.insert(thread, beginning);
            } else if let Some(end) = rest.strip_prefix("<... ").and_then(|rest| rest.split_once("resumed>"))
            {
                if let Some(beginning) = begun.remove(thread) {
                    tally.add(&format!("{beginning}{}", end.1));
                }
            } else {
                tally.add(rest);
            }
        }
        tally
    }

    fn add(&mut self, line: &str) {
        let Some((name, rest)) = line.split_once('(') else { return };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return;
        }
        let calls = self.calls.entry(name.to_owned()).or_default();
        calls.count += 1;
        let mut words = result.split_whitespace();
        let value = words.next().and_then(|word| word.parse::<i64>().ok());
        match (value, words.next()) {
            (Some(..0), Some(error)) => *calls.failures.entry(error.to_owned()).or_default() += 1,
            (Some(moved @ 0..), _) if Direction::of(name).is_some() => {
                let moved = moved.unsigned_abs();
                // A traced program may print lines that look like strace's.
                calls.moved = calls.moved.saturating_add(moved);
                if let Some(asked) = asked(arguments) {
                    calls.asked = calls.asked.saturating_add(asked);
                    calls.partial += u64::from(moved < asked);
                }
            }
            _ => {}
        }
        if let Some(what) = RESOLVING.iter().find(|what| arguments.contains(**what)) {
            *self.lookups.entry((*what).to_owned()).or_default() += 1;
        }
    }
}

/// How many bytes a call asks to move: the third argument if the second is data.
fn asked(arguments: &str) -> Option<u64> {
    let mut words = arguments.split(", ").skip(1);
    let data = words.next()?.trim_start();
    if !data.starts_with('"') && !data.starts_with("0x") {
        return None;
    }
    words.next()?.trim_end().trim_end_matches(')').parse().ok()
}

/// The direction in which a call moves bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Into the process.
    Read,
    /// Out of it.
    Write,
}

impl Direction {
    /// The direction of a call by its name; `None` if it moves no bytes.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "read" | "readv" | "recvfrom" | "recvmsg" | "recv" | "pread64" | "preadv" => Some(Self::Read),
            "write" | "writev" | "sendto" | "sendmsg" | "send" | "pwrite64" | "pwritev" => Some(Self::Write),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
10 read(3, \"\"..., 832)               = 832
10 sendto(4, \"\"..., 64, MSG_NOSIGNAL, NULL, 0) = 20
11 recvfrom(5,  <unfinished ...>
10 recvfrom(5, 0x7f61046aed50, 5, 0, NULL, NULL) = -1 EAGAIN (Resource temporarily unavailable)
11 <... recvfrom resumed>\"\"..., 8, 0, NULL, NULL) = 8
10 sendmsg(4, {msg_name=NULL, msg_namelen=0, msg_iov=[...], msg_iovlen=2, msg_controllen=0, msg_flags=0}, 0) = 15
10 openat(AT_FDCWD, \"/etc/hosts\", O_RDONLY|O_CLOEXEC) = 6
10 connect(3, {sa_family=AF_UNIX, sun_path=\"/var/run/nscd/socket\"}, 110) = -1 ENOENT (No such file or directory)
10 exit_group(0)                       = ?
10 +++ exited with 0 +++
rubbish
";

    #[test]
    fn calls_are_counted_with_bytes_and_failures() {
        let tally = Tally::of(TRACE);
        let calls = |name: &str| tally.calls[name].clone();
        assert_eq!((calls("read").moved, calls("read").partial), (832, 0));
        assert_eq!((calls("sendto").moved, calls("sendto").asked, calls("sendto").partial), (20, 64, 1));
        let received = calls("recvfrom");
        assert_eq!(
            (received.count, received.moved, received.asked),
            (2, 8, 8),
            "unfinished calls are joined"
        );
        assert_eq!(received.failures, BTreeMap::from([("EAGAIN".to_owned(), 1)]));
        assert_eq!(
            (calls("sendmsg").moved, calls("sendmsg").asked),
            (15, 0),
            "what is not shown is not known"
        );
        assert_eq!(calls("connect").failures["ENOENT"], 1);
        assert_eq!(
            tally.lookups,
            BTreeMap::from([("/etc/hosts".to_owned(), 1), ("/nscd/socket".to_owned(), 1)])
        );
        assert_eq!(calls("exit_group").count, 1);
        assert_eq!(tally.calls.len(), 7);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(text in "[ -~\n]{0,200}") {
            let _ = Tally::of(&text);
        }
    }
}
