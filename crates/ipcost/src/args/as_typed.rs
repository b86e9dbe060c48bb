//! Command lines as people type them: a server or transports in place of a command, lists of several words, other names of transports.

use std::ffi::OsString;

use ipcost_features::app::find_named;
use ipcost_sys::transport;

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
    word.split(',').all(is_one)
}

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
pub fn understood(mut words: Vec<OsString>, is_command: impl Fn(&str) -> bool) -> Result<Understood, String> {
    join_transports(&mut words);
    let typed = words.clone();
    let word = |at: usize| typed.get(at).and_then(|word| word.to_str()).unwrap_or_default().to_owned();
    let (first, second) = (word(1), word(2));
    let mut note = None;
    match first.as_str() {
        command if is_command(command) || command.is_empty() => {}
        server if find_named(server).is_ok() => {
            words.insert(1, "app".into());
            note = Some(format!("{server} is a server: this is ipcost app {server}"));
        }
        list if names_transports(list) => {
            let run = [OsString::from("run"), "--transports".into()];
            words.splice(1..1, run);
            join_transports(&mut words);
        }
        _ => {}
    }
    match (first.as_str(), second.as_str()) {
        ("load", server) if server != "app" && find_named(server).is_ok() => words.insert(2, "app".into()),
        ("explain", list) if names_transports(list) => {
            words.insert(2, "--transports".into());
            join_transports(&mut words);
            fill_in(&mut words, &[("--pattern", "rr"), ("--size", "64"), ("--placement", "one-core")]);
        }
        ("ab", one) if !one.is_empty() && !one.starts_with('-') && !one.ends_with(".toml") => {
            let server = if one == "app" { word(3) } else { one.to_owned() };
            if find_named(&server).is_ok() {
                return Err(format!(
                    "ab compares settings, libraries and builds; two servers are measured one by one and compared: ipcost app {server} --tcp 127.0.0.1:PORT --name a, the same for the other as b, and ipcost compare a b"
                ));
            }
            let other = Some(word(3)).filter(|other| !other.is_empty()).unwrap_or_else(|| "OTHER".to_owned());
            return Err(format!(
                "to compare two builds of a peer: ipcost ab --a-peer {one} --b-peer {other}"
            ));
        }
        ("watch", program) if !program.is_empty() && !program.starts_with('-') => {
            let (flag, value) = match program.rsplit_once(':') {
                Some((_, port)) if port.parse::<u16>().is_ok() => ("--port", port),
                _ if program.starts_with('/') || program.starts_with('@') => ("--path", program),
                _ if program.parse::<u32>().is_ok() => ("--pid", program),
                _ => ("--command", program),
            };
            words.splice(2..3, [OsString::from(flag), value.into()]);
        }
        _ => {}
    }
    Ok(Understood { words, note })
}

/// Makes one list of the transports that follow `--transports`, each a word.
fn join_transports(words: &mut Vec<OsString>) {
    let is_flag = |word: &OsString| {
        word.to_str().is_some_and(|word| {
            let name = word.split('=').next().unwrap_or_default();
            ["--transports", "--transport"].contains(&name)
        })
    };
    let Some(flag) = words.iter().position(is_flag) else { return };
    let value = if words[flag].to_str().is_some_and(|word| word.contains('=')) { flag } else { flag + 1 };
    while let Some(next) = words.get(value + 1).and_then(|word| word.to_str())
        && names_transports(next)
    {
        let next = words.remove(value + 1);
        words[value].push(",");
        words[value].push(next);
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
        let is_command = |word: &str| ["run", "app", "load", "watch", "explain", "list"].contains(&word);
        understood(words, is_command).unwrap().words.join(" ".as_ref()).into_string().unwrap()
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
            ("ipcost watch", "ipcost watch"),
            ("ipcost watch 123", "ipcost watch --pid 123"),
            ("ipcost watch redis-server", "ipcost watch --command redis-server"),
            ("ipcost watch :6379", "ipcost watch --port 6379"),
            ("ipcost watch localhost:6379 --wide", "ipcost watch --port 6379 --wide"),
            ("ipcost watch /run/x.sock", "ipcost watch --path /run/x.sock"),
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
    fn other_names_are_of_transports_and_are_none_themselves() {
        for (other, name) in OTHER_NAMES {
            assert!(transport::find(name).is_some() && transport::find(other).is_none(), "{other}");
            assert_eq!(transport(&other.to_uppercase()), Ok(name.to_owned()));
        }
        assert_eq!(transport("TCP"), Ok("tcp".to_owned()));
        assert_eq!(transport("tpc"), Ok("tpc".to_owned()));
    }
}
