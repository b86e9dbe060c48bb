//! What was seen without whose programs it was: placeholders for command lines, paths, units, containers and numbers of processes.

use super::record::{Conversation, Party, Watched, WatchedTransport};
use super::slow::{SlowConversation, SlowRecord};

/// What stands for what: the same for the same.
#[derive(Debug, Default)]
struct Placeholders {
    pids: Vec<u32>,
    places: Vec<String>,
}

impl Placeholders {
    /// The number that stands for a process.
    fn pid(&mut self, pid: u32) -> u32 {
        index_of(&mut self.pids, &pid) as u32 + 1
    }

    /// What stands for a path.
    fn place(&mut self, path: &str) -> String {
        format!("[path {}]", index_of(&mut self.places, &path.to_owned()) + 1)
    }

    /// A conversation: who it is between, and where.
    fn conversation(&mut self, sides: [&mut Party; 2], medium: WatchedTransport, address: &mut String) {
        if !medium.is_inet() && !address.is_empty() {
            *address = self.place(address);
        }
        for side in sides {
            side.pid = side.pid.map(|pid| self.pid(pid));
            if !side.command.is_empty() {
                "[command]".clone_into(&mut side.command);
            }
            side.unit = side.unit.take().map(|_| "[unit]".to_owned());
            side.container = side.container.take().map(|_| "[container]".to_owned());
        }
    }

    /// A text in which each known path, and each number of a process as texts name them, is replaced, in one pass: what stands for one is
    /// never taken for another.
    fn text(&mut self, text: &str) -> String {
        let mut replaced = String::new();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let begins = !replaced.ends_with(is_of_path);
            let known =
                self.places.iter().filter(|place| !place.is_empty() && rest.starts_with(place.as_str()));
            // Of two of which one begins with the other, the longer one is meant.
            let known = known.max_by_key(|place| place.len()).cloned();
            let whole = known.filter(|place| begins && !rest[place.len()..].starts_with(is_of_path));
            if let Some(place) = whole {
                replaced += &self.place(&place);
                rest = &rest[place.len()..];
            } else if let Some((before, pid, after)) = process(rest) {
                replaced += &format!("{before}{}", self.pid(pid));
                rest = after;
            } else {
                replaced.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
        replaced
    }
}

/// Whether a letter may go on with a path.
fn is_of_path(letter: char) -> bool {
    letter.is_alphanumeric() || "/._-@".contains(letter)
}

fn index_of<T: PartialEq + Clone>(known: &mut Vec<T>, value: &T) -> usize {
    known.iter().position(|other| other == value).unwrap_or_else(|| {
        known.push(value.clone());
        known.len() - 1
    })
}

/// The number of a process at the begin of a text, with what is before and after it: `redis (4711)`, `process 4711`.
fn process(text: &str) -> Option<(&str, u32, &str)> {
    let (before, end) = if text.starts_with('(') { ("(", ")") } else { ("process ", "") };
    let digits = text.strip_prefix(before)?;
    let number = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let pid = digits[..digits.len() - number.len()].parse().ok()?;
    number.starts_with(end).then_some((before, pid, number))
}

impl SlowRecord {
    fn redact(&mut self, known: &mut Placeholders) {
        for SlowConversation { client, server, medium, address, causes, .. } in &mut self.conversations {
            known.conversation([client, server], *medium, address);
            causes.iter_mut().for_each(|cause| cause.found = known.text(&cause.found));
        }
        for request in &mut self.requests {
            request.found = known.text(&request.found);
            for lane in &mut request.lanes {
                (lane.pid, lane.thread) = (known.pid(lane.pid), known.pid(lane.thread));
                let others = lane.spans.iter_mut().filter_map(|span| span.other.as_mut());
                others.for_each(|other| *other = known.text(other));
            }
        }
        self.shares.iter_mut().for_each(|share| share.pid = known.pid(share.pid));
    }
}

impl Watched {
    /// The same with placeholders for command lines, paths, units, containers and numbers of processes. What is the same stays the same.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        let mut known = Placeholders::default();
        // Paths first: texts are searched for them.
        for Conversation { client, server, medium, address, .. } in &mut self.conversations {
            known.conversation([client, server], *medium, address);
        }
        for finding in &mut self.findings {
            finding.pid = finding.pid.map(|pid| known.pid(pid));
            finding.address = finding.address.as_deref().map(|text| known.text(text));
            finding.found = known.text(&finding.found);
            finding.remedy = known.text(&finding.remedy);
        }
        if let Some(slow) = &mut self.slow {
            slow.redact(&mut known);
        }
        if let Some(traced) = &mut self.traced {
            traced.processes.iter_mut().for_each(|pid| *pid = known.pid(*pid));
        }
        if let Some(what_if) = &mut self.what_if {
            let texts = what_if.notes.iter_mut().chain(&mut what_if.sentences);
            texts.chain([&mut what_if.conversation]).for_each(|text| *text = known.text(text));
        }
        for unseen in &mut self.unseen {
            [&mut unseen.what, &mut unseen.why, &mut unseen.remedy]
                .into_iter()
                .for_each(|text| *text = known.text(text));
        }
        self.request.pid = self.request.pid.map(|pid| known.pid(pid));
        self.request.path = self.request.path.take().map(|path| known.place(&path));
        self.request.command = self.request.command.take().map(|_| "[command]".to_owned());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_replaced_once_and_whole() {
        let mut known = Placeholders::default();
        for path in ["/run/a", "/run/ab"] {
            known.place(path);
        }
        // What stands for one process is the number of another.
        assert_eq!((known.pid(7), known.pid(1)), (1, 2));
        assert_eq!(known.text("x (7) asks y (1), process 7"), "x (1) asks y (2), process 1");
        assert_eq!(known.text("over /run/ab, not /run/a"), "over [path 2], not [path 1]");
        assert_eq!(known.text("/run/abc /srv/run/a /run/a/b"), "/run/abc /srv/run/a /run/a/b");
        // One that has no row has a number of its own.
        assert_eq!(known.text("z (99), again (99)"), "z (3), again (3)");
        assert_eq!(known.text("(ListenOverflows) (12 ms) (3.5)"), "(ListenOverflows) (12 ms) (3.5)");
    }
}
