//! Memcached, by its text protocol: <https://github.com/memcached/memcached/blob/master/doc/protocol.txt>.

use ipcost_sys::transport::Connection;

use super::kind::{
    Alias, Ending, LINE_END, Listens, Login, NO_PASSWORD, ReportedFacts, ServerKind, Setup, Speech, Started,
    Taken, address_of, line, passed,
};
use super::look::hear;
use crate::PeerError;
use crate::adapters::refused;
use crate::adapters::server_address::{ServerAddress, be_let_in};

pub(super) const KIND: ServerKind = ServerKind {
    name: "memcached",
    title: "Memcached",
    aliases: &[Alias::new("memcache", "Memcached", None)],
    programs: &["memcached"],
    places: &[],
    package: "memcached",
    users: &["memcache", "memcached"],
    least: "version",
    least_anywhere: true,
    typical: "get ipcost-typical",
    typical_anywhere: Some("stats settings"),
    pipelines: true,
    private_login: None,
    open_to_all: None,
    takes_tls: false,
    behind: None,
    listens: Listens {
        unix: "a second memcached with -s /run/memcached/memcached.sock -a 0770, as one process listens on one socket",
        tcp: "a second memcached with -l 127.0.0.1 -p 11211, as one process listens on one socket",
        page: "docs/app.md#memcached",
    },
    burst: 600,
    most_clients: None,
    start,
    speech: |login, request, _| Ok(Box::new(MemcachedCommands::new(login, request)?)),
    facts,
};

/// The user of a private server.
const USER: &str = "ipcost";
/// The value that the typical request gets, bytes.
const TYPICAL_BYTES: usize = 1000;

/// Commands that read and change nothing, whatever their arguments.
const READING: &[&str] = &["get", "gets", "me", "mn", "version"];
/// What `stats` may be asked for: its other arguments reset or switch something.
const STATISTICS: &[&str] = &["conns", "items", "settings", "sizes", "slabs"];
/// Flags of `mg` that only read; others create an item, or renew one.
const READING_FLAGS: &[char] = &['b', 'c', 'f', 'h', 'k', 'l', 'O', 's', 't', 'v'];
/// Commands that send a value, and which word is its length.
const STORING: &[(&str, usize)] =
    &[("set", 4), ("add", 4), ("replace", 4), ("append", 4), ("prepend", 4), ("cas", 4), ("ms", 2)];
/// Commands that a connection does not outlive, or whose reply has no end.
const ENDLESS: &[&str] = &["quit", "shutdown", "watch"];

/// Memcached listens on a Unix socket or on ports, never on both (`-s` "disables network support"). So there are two processes
/// with the same settings, but for the socket.
fn start(setup: &Setup<'_>) -> Result<Started, PeerError> {
    // It takes no command before a set with the user and the password of this file (doc/protocol.txt, "Authentication").
    let users = setup.file("users", format!("{USER}:{}\n", setup.secret).as_bytes())?;
    let users = users.to_string_lossy();
    // -F: no one can empty the cache. -U 0: it listens on no UDP port.
    let with = |words: &[&str]| -> Vec<String> {
        ["-U", "0", "-F", "-Y", &users].iter().chain(words).map(|word| (*word).to_owned()).collect()
    };
    let socket = setup.socket.to_string_lossy();
    Ok(Started {
        arguments: with(&["-s", &socket, "-a", "0700"]),
        second: Some(with(&["-l", "127.0.0.1", "-p", &setup.port.to_string()])),
        unix: address_of(setup.socket),
        then: vec![format!("set ipcost-typical 0 0 {TYPICAL_BYTES}\n{}", "v".repeat(TYPICAL_BYTES))],
        // It looks for signals once a second.
        ending: Ending::Killed,
        ..Started::default()
    })
}

fn facts(login: &Login, at: &ServerAddress) -> Result<ReportedFacts, PeerError> {
    let reply = hear(&mut MemcachedCommands::new(login, "version")?, at)?;
    let version = String::from_utf8_lossy(&reply).trim_start_matches("VERSION").trim().to_owned();
    let how = if login.secret.is_some() { "a password" } else { NO_PASSWORD };
    Ok(ReportedFacts { login: how.to_owned(), ..ReportedFacts::open(version) })
}

/// One command, again and again.
#[derive(Debug)]
struct MemcachedCommands {
    request: Vec<u8>,
    /// What a private server is shown first on a connection.
    greeting: Option<Vec<u8>>,
    /// Bytes of a value that are still to come.
    skip: usize,
    /// Whether the reply ends with that value.
    is_last: bool,
}

impl MemcachedCommands {
    fn new(login: &Login, request: &str) -> Result<Self, PeerError> {
        let lines = request.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\r\n", "\n");
        let (line, value) = match lines.split_once('\n') {
            Some((line, value)) => (line, Some(value.strip_suffix('\n').unwrap_or(value))),
            None => (lines.as_str(), None),
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(name) = words.first() else {
            return Err(refused("there is no command; give one, such as --request 'get key'"));
        };
        let is_meta = name.len() == 2 && name.starts_with('m');
        if ENDLESS.contains(name)
            || words.contains(&"noreply")
            || (is_meta && words.iter().skip(2).any(|word| *word == "q"))
        {
            return Err(refused(format!(
                "\"{line}\" has no reply that ends; give a command that is answered"
            )));
        }
        if !login.writes && !reads(&words) {
            return Err(refused(format!(
                "\"{line}\" is not known to only read; give --writes if it may change data, or a command that only reads, such as get"
            )));
        }
        let mut sent = format!("{}\r\n", words.join(" "));
        match (STORING.iter().find(|(storing, _)| storing == name), value) {
            (Some((_, length)), value) => {
                let value = value.unwrap_or_default();
                if words.get(*length).and_then(|length| length.parse().ok()) != Some(value.len()) {
                    return Err(refused(format!(
                        "\"{line}\" does not have the length of its value, {}; write it as '{name} … {0}\\r\\nVALUE'",
                        value.len()
                    )));
                }
                sent.push_str(value);
                sent.push_str("\r\n");
            }
            (None, Some(_)) => {
                return Err(refused(format!("{name} sends no value; give one command on one line")));
            }
            (None, None) => {}
        }
        let greeting = login.secret.as_ref().map(|secret| {
            let proof = format!("{USER} {secret}");
            format!("set login 0 0 {}\r\n{proof}\r\n", proof.len()).into_bytes()
        });
        Ok(Self { request: sent.into_bytes(), greeting, skip: 0, is_last: false })
    }

    /// Takes a line; whether the reply ends with it.
    fn line(&mut self, line: &str) -> Result<bool, PeerError> {
        let mut words = line.split(' ');
        let first = words.next().unwrap_or_default();
        let mut length = |at: usize| -> Result<usize, PeerError> {
            // A value ends with CR and LF, which do not count.
            Ok(words
                .nth(at)
                .and_then(|length| length.parse::<usize>().ok())
                .ok_or(NOT_MEMCACHED)?
                .saturating_add(2))
        };
        match first {
            "VALUE" => {
                self.skip = length(2)?;
                Ok(false)
            }
            "VA" => {
                self.skip = length(0)?;
                self.is_last = true;
                Ok(false)
            }
            "STAT" | "ITEM" => Ok(false),
            "ERROR" => Err("it does not know the command; check its name and arguments".into()),
            "CLIENT_ERROR" | "SERVER_ERROR" => Err(refused(format!("it refused the command: {line}"))),
            "VERSION" | "MN" | "HD" | "EN" | "ME" | "NS" | "EX" | "NF" | "STORED" | "NOT_STORED"
            | "EXISTS" | "NOT_FOUND" | "DELETED" | "TOUCHED" | "OK" | "RESET" | "BUSY" | "END" => Ok(true),
            // What a counter is now.
            number if number.parse::<u64>().is_ok() => Ok(true),
            _ => Err(NOT_MEMCACHED.into()),
        }
    }
}

/// Whether a command changes nothing.
fn reads(words: &[&str]) -> bool {
    match words {
        ["stats", rest @ ..] => rest.len() <= 1 && rest.iter().all(|word| STATISTICS.contains(word)),
        ["mg", _, flags @ ..] => flags.iter().all(|flag| flag.starts_with(READING_FLAGS)),
        [name, ..] => READING.contains(name),
        [] => false,
    }
}

impl Speech for MemcachedCommands {
    fn greet(&mut self, connection: &mut Connection) -> Result<(), PeerError> {
        let Some(greeting) = &self.greeting else { return Ok(()) };
        let rejected = "the private server refuses the password that it was started with";
        be_let_in(connection, greeting, b"STORED\r\n", "the server does not answer a login", rejected)
    }

    fn request(&self) -> &[u8] {
        &self.request
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Taken, PeerError> {
        let mut at = 0;
        loop {
            at += passed(&mut self.skip, &bytes[at..]);
            if self.skip > 0 {
                return Ok(Taken { bytes: at, complete: false });
            }
            if std::mem::take(&mut self.is_last) {
                return Ok(Taken { bytes: at, complete: true });
            }
            let Some(line) = line(&bytes[at..], NOT_MEMCACHED)? else {
                return Ok(Taken { bytes: at, complete: false });
            };
            at += line.len() + LINE_END.len();
            let ends = self.line(std::str::from_utf8(line).map_err(|_| NOT_MEMCACHED)?)?;
            if ends {
                return Ok(Taken { bytes: at, complete: true });
            }
        }
    }
}

const NOT_MEMCACHED: &str = "it answers with something other than a reply of Memcached; is it one?";

#[cfg(test)]
mod tests {
    use super::super::kind::{LONGEST_LINE, taken_by};
    use super::*;

    fn commands(request: &str) -> Result<MemcachedCommands, PeerError> {
        MemcachedCommands::new(&Login::default(), request)
    }

    fn writing(request: &str) -> Result<MemcachedCommands, PeerError> {
        let login = Login { writes: true, ..Login::default() };
        MemcachedCommands::new(&login, request)
    }

    #[test]
    fn no_command_writes_unasked() {
        for reading in ["get a b", "version", "stats", "stats items", "mg key v s k", "mn"] {
            assert!(commands(reading).is_ok(), "{reading}");
        }
        let writes = [
            "set a 0 0 1\\r\\nx", "delete a", "gat 1 a", "stats reset", "mg a N30 v", "mg a T0", "flush_all",
            "md a",
        ];
        for changing in writes {
            assert!(commands(changing).unwrap_err().to_string().contains("--writes"), "{changing}");
            assert!(writing(changing).is_ok(), "{changing}");
        }
    }

    #[test]
    fn a_command_is_sent_with_its_value_and_is_answered() {
        assert_eq!(commands(" get  a ").unwrap().request, b"get a\r\n");
        for text in ["set a 0 0 3\r\nx y", "set a 0 0 3\nx y\n", "set a 0 0 3\\r\\nx y"] {
            assert_eq!(writing(text).unwrap().request, b"set a 0 0 3\r\nx y\r\n", "{text}");
        }
        assert!(writing("set a 0 0 4\nx y").unwrap_err().to_string().contains("its value, 3"));
        assert!(writing("set a 0 0 3").is_err() && writing("get a\nget b").is_err());
        for endless in ["quit", "delete a noreply", "mg a v q", "watch"] {
            assert!(writing(endless).unwrap_err().to_string().contains("no reply that ends"), "{endless}");
        }
        assert!(commands("").is_err());
    }

    #[test]
    fn a_reply_is_taken_however_it_arrives() {
        let replies: [(&str, &[u8]); 5] = [
            ("get a b", b"VALUE a 0 5\r\nEND\r\n\r\nVALUE b 1 0\r\n\r\nEND\r\n"),
            ("stats", b"STAT pid 1\r\nSTAT uptime 2\r\nEND\r\n"),
            ("mg a v", b"VA 4 k\r\nHD\r\n\r\n"),
            ("version", b"VERSION 1.6.18\r\n"),
            ("mn", b"MN\r\n"),
        ];
        for (request, reply) in replies {
            for step in 1..=reply.len() {
                let mut speech = commands(request).unwrap();
                assert_eq!(taken_by(&mut speech, reply, step), (reply.len(), true), "{request} {step}");
            }
        }
        let two = b"MN\r\nMN\r\n";
        assert_eq!(commands("mn").unwrap().take(two).unwrap(), Taken { bytes: 4, complete: true });
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        let error = |reply: &[u8]| commands("get a").unwrap().take(reply).unwrap_err().to_string();
        assert!(error(b"ERROR\r\n").contains("does not know the command"));
        assert!(error(b"CLIENT_ERROR unauthenticated\r\n").contains("unauthenticated"));
        for reply in ["-ERR unknown command\r\n", "HTTP/1.1 400 Bad Request\r\n", "VALUE a 0 x\r\n", "END\n"]
        {
            assert!(error(reply.as_bytes()).contains("is it one?"), "{reply}");
        }
        assert!(error(&vec![b'x'; LONGEST_LINE + 1]).contains("is it one?"));
        assert!(error(b"VERSION \xff\r\n").contains("is it one?"));
    }
}
