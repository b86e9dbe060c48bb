//! Command lines as people type them: a server or transports in place of a command, lists of several words, other names of transports.

use std::ffi::OsString;

use clap::{Arg, Command};
use ipcost_features::app::{KINDS, find_named};
use ipcost_model::units::parse_size;
use ipcost_model::{OptionName, Pattern, Placement, nearest, unknown};
use ipcost_sys::transport;

use super::watch::SLOWEST_HUNDREDTH;

/// Other names of transports.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("uds", "unix"),
    ("unix-socket", "unix"),
    ("unix_socket", "unix"),
    ("unix-stream", "unix"),
    ("unixsocket", "unix"),
    ("af_unix", "unix"),
    ("af-unix", "unix"),
    ("loopback", "tcp"),
    ("localhost", "tcp"),
    ("tcp4", "tcp"),
    ("pipes", "pipe"),
    ("shared-memory", "shm"),
];

/// The name of a transport as the program has it; what is none stays as it is, and is refused where transports are looked up.
pub fn transport(text: &str) -> Result<String, std::convert::Infallible> {
    let lower = text.to_lowercase();
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == lower).map(|(_, name)| *name);
    Ok(known.or_else(|| transport::find(&lower).map(|_| lower.as_str())).unwrap_or(text).to_owned())
}

/// Whether a word is a transport, or a list of them.
fn names_transports(word: &str) -> bool {
    let is_one = |name: &str| transport(name).is_ok_and(|name| transport::find(&name).is_some());
    word.trim_end_matches(',').split(',').all(is_one)
}

fn names_patterns(word: &str) -> bool {
    word.split(',').all(|name| name.parse::<Pattern>().is_ok())
}

fn is_size(word: &str) -> bool {
    word.split(',').all(|size| parse_size(size).is_ok())
}

/// Whether a word belongs to a list: no word that stands for anything else does.
type Takes = fn(&str) -> bool;

/// Flags of lists, and what further words of each look like.
const LISTS: [(&[&str], Takes); 5] = [
    (&["--transports", "--transport"], names_transports),
    (&["--patterns", "--pattern"], names_patterns),
    (&["--sizes", "--size", "--replies", "--reply"], is_size),
    (&["--placement"], |word| word.parse::<Placement>().is_ok()),
    (&["--concurrency"], |word| word.parse::<u32>().is_ok()),
];

/// What people write between two things that they compare.
const BETWEEN: [&str; 4] = ["vs", "vs.", "versus", "against"];

/// Words as the commands take them.
#[derive(Debug)]
pub struct Understood {
    pub words: Vec<OsString>,
    /// What to say where they are read as another command than the one typed.
    pub note: Option<String>,
}

/// Reads words as the commands take them.
///
/// # Errors
/// The command line that was probably meant, where it needs more than was typed.
pub fn understood(mut words: Vec<OsString>, commands: &Command) -> Result<Understood, String> {
    LISTS.iter().for_each(|(flags, takes)| join_lists(&mut words, flags, *takes));
    repeat_options(&mut words);
    end_slow(&mut words);
    let (path, from) = command_of(&words, commands);
    if let Some(said) = from_elsewhere(&words).or_else(|| negative(&words, path.last().unwrap_or(&commands)))
    {
        return Err(said);
    }
    let Some(at) = first_plain(&words, path.last().unwrap_or(&commands), from) else {
        return Ok(Understood { words, note: None });
    };
    let word = |at: usize| words.get(at).and_then(|word| word.to_str()).unwrap_or_default().to_owned();
    let plain = word(at);
    let name = |depth: usize| path.get(depth).map_or("", |command| command.get_name());
    let takes_transports = path
        .last()
        .is_some_and(|command| command.get_arguments().any(|arg| arg.get_long() == Some("transports")));
    let mut note = None;
    match (from > 1, name(0)) {
        (false, _) if find_named(&plain).is_ok() => {
            words.insert(1, "app".into());
            note = Some(format!("{plain} is a server: this is ipcost app {plain}"));
        }
        (true, "load") if plain != "app" && find_named(&plain).is_ok() => words.insert(at, "app".into()),
        (true, "ab") if !plain.ends_with(".toml") => {
            return Err(two_arms(&plain, &word(at + 1), &word(at + 2)));
        }
        _ if takes_transports && names_transports(&plain) => {
            words.insert(at, "--transports".into());
            join_lists(&mut words, &["--transports"], names_transports);
            describe(&mut words, at + 2)?;
            if from == 1 {
                words.insert(1, "run".into());
            }
            if name(0) == "explain" {
                fill_in(&mut words, &[("--pattern", "rr"), ("--size", "64"), ("--placement", "one-core")]);
            }
        }
        (false, _) if at == 1 && !plain.ends_with(".toml") => return Err(unknown_command(&plain, commands)),
        _ => {}
    }
    Ok(Understood { words, note })
}

/// Puts the flags before patterns and sizes that follow a list of transports: `unix tcp rr 4k`.
fn describe(words: &mut Vec<OsString>, mut at: usize) -> Result<(), String> {
    while let Some(word) = words.get(at).and_then(|word| word.to_str())
        && !word.starts_with('-')
        && !word.ends_with(".toml")
    {
        let (flags, takes): (_, Takes) = match word {
            word if names_patterns(word) => ("--patterns", names_patterns),
            word if is_size(word) => ("--sizes", is_size),
            word => {
                let known =
                    transport::states().iter().map(|state| state.capabilities.name).collect::<Vec<_>>();
                let text = unknown("transport, pattern or size", word, known.iter().copied());
                return Err(text);
            }
        };
        words.insert(at, flags.into());
        join_lists(words, &[flags], takes);
        at += 2;
    }
    Ok(())
}

/// Lets `--slow` take no value where what follows is no time: `--slow redis`.
fn end_slow(words: &mut [OsString]) {
    let text = |word: &OsString| word.to_str().unwrap_or_default().to_owned();
    for at in 0..words.len().saturating_sub(1) {
        let next = text(&words[at + 1]);
        if text(&words[at]) == "--slow"
            && !next.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-')
        {
            words[at] = format!("--slow={SLOWEST_HUNDREDTH}").into();
        }
    }
}

/// What other tools call what this one does.
const ELSEWHERE: [(&str, &str); 9] = [
    ("diff", "ipcost compare"),
    ("trend", "ipcost list --trend CELL"),
    ("history", "ipcost list"),
    ("bench", "ipcost run"),
    ("benchmark", "ipcost run"),
    ("measure", "ipcost run"),
    ("test", "ipcost run"),
    ("version", "ipcost --version"),
    ("server", "ipcost app"),
];

/// The command that is meant by a word of another tool's.
fn from_elsewhere(words: &[OsString]) -> Option<String> {
    let first = words.get(1)?.to_str()?;
    let (_, meant) = ELSEWHERE.iter().find(|(word, _)| *word == first)?;
    Some(format!("there is no command {first}; that is {meant}"))
}

/// That a flag's value begins with a minus: it would be taken for a flag.
fn negative(words: &[OsString], command: &Command) -> Option<String> {
    let pairs = words.windows(2).filter_map(|pair| pair[0].to_str().zip(pair[1].to_str()));
    let is_negative = |value: &str| {
        value.strip_prefix('-').is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    let (flag, value) =
        pairs.into_iter().find(|(flag, value)| takes_next(command, flag) && is_negative(value))?;
    Some(format!("{flag} {value}: it must be 0 or more"))
}

/// That a first word means nothing here, with what was probably meant.
fn unknown_command(word: &str, commands: &Command) -> String {
    if names_patterns(word) {
        return format!("{word} is a pattern: ipcost --patterns {word}");
    }
    if is_size(word) {
        return format!("{word} is a size: ipcost --sizes {word}");
    }
    let transports = transport::states();
    let known: Vec<&str> = (commands.get_subcommands().filter(|known| !known.is_hide_set()))
        .map(Command::get_name)
        .chain(transports.iter().map(|state| state.capabilities.name))
        .chain(KINDS.iter().map(|kind| kind.name))
        .collect();
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("unknown command, transport or server {word:?}; did you mean {near:?}?"),
        None => format!("unknown command, transport or server {word:?}; ipcost help lists the commands"),
    }
}

/// What `ab` is asked with two words in place of a job file.
fn two_arms(one: &str, two: &str, three: &str) -> String {
    let server = if one == "app" { two } else { one };
    if find_named(server).is_ok() {
        return format!(
            "ab compares settings, libraries and builds; two servers are measured one by one and compared: ipcost app {server} --tcp 127.0.0.1:PORT --name a, the same for the other as b, and ipcost compare a b"
        );
    }
    let two = if BETWEEN.contains(&two) { three } else { two };
    if names_transports(one) {
        return format!(
            "ab compares settings, libraries and builds; transports are compared by ipcost {one} {two}"
        )
        .trim_end()
        .to_owned();
    }
    let other = if two.is_empty() { "OTHER" } else { two };
    format!("to compare two builds of a peer: ipcost ab --a-peer {one} --b-peer {other}")
}

/// The command that words name, with its own below it, and where the words that follow begin; that of `run` where they name none.
fn command_of<'a>(words: &[OsString], commands: &'a Command) -> (Vec<&'a Command>, usize) {
    let mut path: Vec<&Command> = Vec::new();
    let mut from = 1;
    while let Some(found) =
        words.get(from).and_then(|word| path.last().unwrap_or(&commands).find_subcommand(word))
    {
        path.push(found);
        from += 1;
    }
    if path.is_empty() {
        path.extend(commands.find_subcommand("run"));
    }
    (path, from)
}

/// The first word that is neither a flag nor a flag's value.
fn first_plain(words: &[OsString], command: &Command, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match words.get(at)?.to_str()? {
            "--" => return None,
            flag if flag.len() > 1 && flag.starts_with('-') => {
                at += if takes_next(command, flag) { 2 } else { 1 }
            }
            _ => return Some(at),
        }
    }
}

/// Whether the word after a flag is its value.
fn takes_next(command: &Command, flag: &str) -> bool {
    let is_it = |arg: &&Arg| match flag.strip_prefix("--") {
        Some(long) => {
            arg.get_long() == Some(long) || arg.get_all_aliases().is_some_and(|others| others.contains(&long))
        }
        None => {
            let letters = flag.strip_prefix('-').unwrap_or_default();
            arg.get_short().is_some_and(|short| letters.ends_with(short))
        }
    };
    command.get_arguments().find(is_it).is_some_and(|arg| arg.get_action().takes_values())
}

/// Makes one list of the words that follow a flag of lists.
fn join_lists(words: &mut Vec<OsString>, flags: &[&str], takes: Takes) {
    let is_flag = |word: &OsString| {
        word.to_str().is_some_and(|word| flags.contains(&word.split('=').next().unwrap_or_default()))
    };
    let mut at = 0;
    while let Some(flag) = words.iter().skip(at).position(is_flag).map(|found| at + found) {
        let value = if words[flag].to_str().is_some_and(|word| word.contains('=')) { flag } else { flag + 1 };
        // Written as in a sentence: `unix, tcp`.
        if let Some(list) = words.get(value).and_then(|word| word.to_str()).filter(|word| word.contains(','))
        {
            words[value] =
                list.split(',').map(str::trim).collect::<Vec<_>>().join(",").trim_end_matches(',').into();
        }
        at = value + 1;
        while let Some(next) = words.get(at).and_then(|word| word.to_str()) {
            let separates = BETWEEN.contains(&next)
                && words.get(at + 1).and_then(|word| word.to_str()).is_some_and(takes);
            if !separates && !takes(next) {
                break;
            }
            let next = words.remove(at);
            if !separates {
                words[value].push(",");
                words[value].push(next.to_string_lossy().trim_end_matches(','));
            }
        }
    }
}

/// Sets each option that follows another one: `--option a=1 b=2`.
fn repeat_options(words: &mut Vec<OsString>) {
    const FLAG: &str = "--option";
    let mut at = 0;
    while at + 2 < words.len() {
        let sets = |word: &OsString| {
            word.to_str()
                .and_then(|word| word.split_once('='))
                .is_some_and(|(name, _)| !name.starts_with('-') && OptionName::find(name).is_ok())
        };
        if words[at] == FLAG && sets(&words[at + 1]) && sets(&words[at + 2]) {
            words.insert(at + 2, FLAG.into());
        }
        at += 1;
    }
}

/// Adds flags that are not given, in the singular or in the plural.
fn fill_in(words: &mut Vec<OsString>, flags: &[(&str, &str)]) {
    for (flag, value) in flags {
        let is_given = words.iter().filter_map(|word| word.to_str()).any(|word| word.starts_with(flag));
        if !is_given {
            words.extend([OsString::from(flag), value.into()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        understood(words, &crate::args::table()).unwrap().words.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn what_people_type_is_read_as_what_they_mean() {
        for (typed, meant) in [
            ("ipcost", "ipcost"),
            ("ipcost list", "ipcost list"),
            ("ipcost redis", "ipcost app redis"),
            ("ipcost nginx --concurrency 2", "ipcost app nginx --concurrency 2"),
            ("ipcost unix tcp", "ipcost run --transports unix,tcp"),
            ("ipcost unix,tcp pipe -q", "ipcost run --transports unix,tcp,pipe -q"),
            ("ipcost uds localhost", "ipcost run --transports uds,localhost"),
            ("ipcost run --transports unix tcp --plan", "ipcost run --transports unix,tcp --plan"),
            ("ipcost --transports=unix tcp", "ipcost --transports=unix,tcp"),
            ("ipcost --transport unix tcp", "ipcost --transport unix,tcp"),
            ("ipcost --transports unix job.toml", "ipcost --transports unix job.toml"),
            ("ipcost load redis --limit 1ms", "ipcost load app redis --limit 1ms"),
            ("ipcost load app redis", "ipcost load app redis"),
            ("ipcost --quiet redis", "ipcost app --quiet redis"),
            ("ipcost --epochs 4 unix tcp", "ipcost run --epochs 4 --transports unix,tcp"),
            ("ipcost --seed 7 -q tcp vs unix", "ipcost run --seed 7 -q --transports tcp,unix"),
            ("ipcost run unix tcp", "ipcost run --transports unix,tcp"),
            ("ipcost load unix tcp", "ipcost load --transports unix,tcp"),
            ("ipcost load --limit 1ms redis", "ipcost load --limit 1ms app redis"),
            ("ipcost sweep size unix tcp", "ipcost sweep size --transports unix,tcp"),
            (
                "ipcost --sizes 64 16KiB --patterns rr stream x",
                "ipcost --sizes 64,16KiB --patterns rr,stream x",
            ),
            ("ipcost --placement one-core two-cores", "ipcost --placement one-core,two-cores"),
            (
                "ipcost --option recv_buffer=1 join=writev,copy job.toml",
                "ipcost --option recv_buffer=1 --option join=writev,copy job.toml",
            ),
            ("ipcost compare unix tcp", "ipcost compare unix tcp"),
            ("ipcost unix, tcp", "ipcost run --transports unix,tcp"),
            (
                "ipcost unix tcp rr connect 4k 64",
                "ipcost run --transports unix,tcp --patterns rr,connect --sizes 4k,64",
            ),
            ("ipcost run unix rr -q", "ipcost run --transports unix --patterns rr -q"),
            ("ipcost -- unix", "ipcost -- unix"),
            (
                "ipcost explain unix tcp",
                "ipcost explain --transports unix,tcp --pattern rr --size 64 --placement one-core",
            ),
            (
                "ipcost explain unix tcp --sizes 4KiB",
                "ipcost explain --transports unix,tcp --sizes 4KiB --pattern rr --placement one-core",
            ),
            ("ipcost explain rr/tcp/64/c1 rr/unix/64/c1", "ipcost explain rr/tcp/64/c1 rr/unix/64/c1"),
        ] {
            assert_eq!(read(typed), meant, "{typed}");
        }
    }

    #[test]
    fn what_means_nothing_comes_with_what_was_probably_meant() {
        for (typed, parts) in [
            ("ipcost unx", &["did you mean \"unix\"?"][..]),
            ("ipcost rdis", &["did you mean \"redis\"?"]),
            ("ipcost unix unx", &["unknown transport, pattern or size", "did you mean \"unix\"?"]),
            ("ipcost rr", &["--patterns rr"]),
            ("ipcost 4k", &["--sizes 4k"]),
            ("ipcost diff", &["ipcost compare"]),
            ("ipcost --budget -5s", &["--budget -5s", "0 or more"]),
            ("ipcost xyzzy", &["ipcost help"]),
        ] {
            let words = typed.split(' ').map(OsString::from).collect();
            let said = understood(words, &crate::args::table()).unwrap_err();
            assert!(parts.iter().all(|part| said.contains(part)), "{typed}: {said}");
        }
    }

    #[test]
    fn whatever_is_typed_is_read_or_refused() {
        const TYPED: [&str; 28] = [
            "", "é", "-", "--", "-1", "=", ",", "unix,", "tcp", "vs", "rr", "4k", "--sizes", "--transports",
            "--transport=", "--placement", "one-core", "--option", "join=writev", "a=1", "-q", "watch",
            "load", "ab", "explain", "sweep", "redis", "x.toml",
        ];
        let table = crate::args::table();
        for first in TYPED {
            for second in TYPED {
                for third in TYPED {
                    let words = ["ipcost", first, second, third].map(OsString::from).to_vec();
                    let _ = understood(words, &table);
                }
            }
        }
    }

    #[test]
    fn other_names_are_of_transports_and_are_none_themselves() {
        for (other, name) in OTHER_NAMES {
            assert!(transport::find(name).is_some() && transport::find(other).is_none(), "{other}");
            assert_eq!(transport(&other.to_uppercase()), Ok(name.to_owned()));
        }
        assert_eq!(transport("TCP"), Ok("tcp".to_owned()));
        assert_eq!(transport("tpc"), Ok("tpc".to_owned()));
    }
}
