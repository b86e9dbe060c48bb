//! Messages for unknown names, with the nearest known one.

use crate::text::{escaped, shortened};

/// A longer text, in bytes, is not a misspelt name; comparing it takes time.
const LONGEST_MEANT: usize = 200;

/// The most characters shown of an unknown name.
const MOST_SHOWN: usize = 120;
/// A list of more bytes than this takes several lines of a terminal.
const LONG_LIST: usize = 200;

/// The shortest name of which a longer one is likely to be meant.
const LEAST_PART: usize = 3;

/// The candidate nearest to `name`, if any is near enough to be meant.
///
/// Near is a Damerau–Levenshtein distance of at most a third of the longer name (at least 1), or else a name that contains this one.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST_MEANT {
        return None;
    }
    let lower = name.to_lowercase();
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let near = candidates
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lower, candidate), *candidate))
        .filter(|(distance, candidate)| {
            let longer = lower.chars().count().max(candidate.chars().count());
            *distance <= (longer / 3).max(1)
        })
        .min_by_key(|(distance, _)| *distance);
    let holds = |candidate: &&&str| lower.len() >= LEAST_PART && candidate.contains(&lower);
    let longer = || candidates.iter().filter(holds).min_by_key(|candidate| candidate.len()).copied();
    near.map(|(_, candidate)| candidate).or_else(longer)
}

/// One line for an unknown name: its kind, the nearest known name, and all known ones unless a long list would hide that name.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let name = shortened(name, MOST_SHOWN);
    let list = escaped(&known.clone().into_iter().collect::<Vec<_>>().join(", "));
    match nearest(&name, known).map(escaped) {
        Some(near) if list.len() > LONG_LIST => {
            format!("unknown {what} \"{name}\"; did you mean \"{near}\"?")
        }
        Some(near) => format!("unknown {what} \"{name}\"; did you mean \"{near}\"? (known: {list})"),
        None => format!("unknown {what} \"{name}\" (known: {list})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_in_short_and_obeys_nobody() {
        let error = unknown("transport", &format!("\u{1b}[31m{}\n", "x".repeat(1_000_000)), ["tcp"]);
        assert!(error.starts_with("unknown transport \"\\u{1b}[31mxxx") && error.len() < 300, "{error}");
    }

    #[test]
    fn suggests_a_near_name_and_nothing_far() {
        let known = ["pipe", "fifo", "unix", "unix-abstract", "tcp"];
        assert_eq!(nearest("unx", known), Some("unix"));
        assert_eq!(nearest("UNIX", known), Some("unix"));
        assert_eq!(nearest("unix-abstrct", known), Some("unix-abstract"));
        assert_eq!(nearest("sctp-one-to-many", known), None);
        assert_eq!(nearest("nodelay", ["backlog", "tcp_nodelay"]), Some("tcp_nodelay"));
        assert_eq!(nearest("x", known), None);
    }

    #[test]
    fn names_the_way_out() {
        assert_eq!(
            unknown("transport", "tpc", ["unix", "tcp"]),
            "unknown transport \"tpc\"; did you mean \"tcp\"? (known: unix, tcp)"
        );
        let long = "x".repeat(300);
        assert_eq!(
            unknown("transport", "tpc", [long.as_str(), "tcp"]),
            "unknown transport \"tpc\"; did you mean \"tcp\"?"
        );
    }
}
