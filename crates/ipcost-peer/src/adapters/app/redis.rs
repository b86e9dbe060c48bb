//! Redis, and servers that speak as it does: <https://redis.io/docs/latest/develop/reference/protocol-spec/>, version 2.

use std::env;
use std::time::Duration;

use ipcost_sys::transport::Connection;

use super::kind::{
    Alias, LINE_END, Listens, Login, NO_PASSWORD, ReportedFacts, ServerKind, Setup, Speech, Started, Taken,
    address_of, line, passed,
};
use super::trust::Trust;
use crate::PeerError;
use crate::adapters::redis::resp::command;
use crate::adapters::redis::{ControlConnection, USER, WELCOME, access};
use crate::adapters::refused;
use crate::adapters::server_address::{ServerAddress, be_let_in, end_in_time};

pub(super) const KIND: ServerKind = ServerKind {
    name: "redis",
    title: "Redis",
    aliases: &[
        Alias::new("valkey", "Valkey", Some(&["valkey-server"])),
        Alias::new("keydb", "KeyDB", Some(&[])),
        Alias::new("dragonfly", "Dragonfly", Some(&[])),
    ],
    programs: &["redis-server", "valkey-server"],
    places: &[],
    package: "redis-server",
    users: &["redis", "valkey"],
    least: "PING",
    least_anywhere: true,
    typical: "GET ipcost:typical",
    typical_anywhere: Some("INFO server"),
    pipelines: true,
    private_login: None,
    open_to_all: None,
    takes_tls: false,
    behind: None,
    listens: Listens {
        unix: "unixsocket /run/redis/redis-server.sock and unixsocketperm 770 in redis.conf",
        tcp: "port 6379 in redis.conf",
        page: "docs/app.md#redis",
    },
    burst: 600,
    most_clients: None,
    start,
    speech: |login, request, _| Ok(Box::new(RedisCommands::new(login, request)?)),
    facts,
};

/// The value that the typical request gets, bytes.
const TYPICAL_BYTES: usize = 1000;
/// The variable that Redis's own client takes the password from.
const PASSWORD: &str = "REDISCLI_AUTH";
const PATIENCE: Duration = Duration::from_secs(5);

/// Commands that read and change nothing, from the flag `readonly` of `COMMAND`, and those without a key.
const READING: &[&str] = &[
    "BITCOUNT", "BITPOS", "DBSIZE", "ECHO", "EXISTS", "EXPIRETIME", "GEODIST", "GEOHASH", "GEOPOS", "GET",
    "GETBIT", "GETRANGE", "HEXISTS", "HGET", "HGETALL", "HKEYS", "HLEN", "HMGET", "HRANDFIELD", "HSCAN",
    "HSTRLEN", "HVALS", "INFO", "LINDEX", "LLEN", "LPOS", "LRANGE", "MGET", "PFCOUNT", "PING", "PTTL",
    "RANDOMKEY", "SCAN", "SCARD", "SDIFF", "SINTER", "SINTERCARD", "SISMEMBER", "SMEMBERS", "SMISMEMBER",
    "SRANDMEMBER", "SSCAN", "STRLEN", "SUBSTR", "SUNION", "TIME", "TTL", "TYPE", "XLEN", "XRANGE",
    "XREVRANGE", "ZCARD", "ZCOUNT", "ZDIFF", "ZINTER", "ZINTERCARD", "ZLEXCOUNT", "ZMSCORE", "ZRANDMEMBER",
    "ZRANGE", "ZRANGEBYLEX", "ZRANGEBYSCORE", "ZRANK", "ZREVRANGE", "ZREVRANGEBYLEX", "ZREVRANGEBYSCORE",
    "ZREVRANK", "ZSCAN", "ZSCORE", "ZUNION",
];

/// What the one user of a private server may ask for; everything else is off, also for others who reach its port and do not know
/// its password.
const ALLOWED: &str = "-@all +@read -@dangerous -@scripting +ping +echo +time +info +set";
/// The same where the user's own command may change data.
const ALLOWED_WRITING: &str = "-@all +@read +@write -@dangerous -@scripting +ping +echo +time +info";

/// Started so it writes nothing to disk.
fn start(setup: &Setup<'_>) -> Result<Started, PeerError> {
    let dir = setup.room.to_string_lossy().into_owned();
    let socket = setup.socket.to_string_lossy().into_owned();
    let port = setup.port.to_string();
    let mut arguments: Vec<String> = [
        "--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", &dir, "--bind", "127.0.0.1",
        "--port", &port, "--unixsocket", &socket, "--unixsocketperm", "700",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.extend(access(setup.secret, if setup.writes { ALLOWED_WRITING } else { ALLOWED }));
    Ok(Started {
        arguments,
        unix: address_of(setup.socket),
        then: vec![
            format!("SET ipcost:typical {}", "v".repeat(TYPICAL_BYTES)),
            // As long as the values of redis-benchmark.
            "SET ipcost:small VXK".to_owned(),
        ],
        ..Started::default()
    })
}

fn facts(login: &Login, at: &ServerAddress) -> Result<ReportedFacts, PeerError> {
    let mut control = ControlConnection::open(at, PATIENCE)?;
    let _ends = end_in_time(control.connection())?;
    let proof = proof(login);
    if let Some(words) = proof.as_ref().filter(|_| login.secret.is_none()) {
        let mut trust = Trust::of(login);
        trust.look(control.connection())?;
        trust.check()?;
        control.ask(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    let names = ["valkey_version", "redis_version"];
    let mut version = None;
    for name in names {
        let value = control.ask_info("server", name).map_err(|error| match error.to_string() {
            text if text.contains("NOAUTH") => {
                refused(format!("the server wants a password; set it in {PASSWORD}"))
            }
            text => refused(text),
        });
        version = version.or(value?);
    }
    let login = if proof.is_some() { "a password" } else { NO_PASSWORD };
    Ok(ReportedFacts { version: version.unwrap_or_default(), login: login.to_owned(), offers_tls: false })
}

/// The command that proves who asks, if anything does: the secret of a private server, or the user's own password.
fn proof(login: &Login) -> Option<Vec<String>> {
    let (user, password) = match &login.secret {
        Some(secret) => (Some(USER.to_owned()), secret.clone()),
        None => (login.user.clone(), env::var(PASSWORD).ok()?),
    };
    Some(["AUTH".to_owned()].into_iter().chain(user).chain([password]).collect())
}

/// One command, again and again.
#[derive(Debug)]
struct RedisCommands {
    request: Vec<u8>,
    greeting: Option<Vec<u8>>,
    trust: Trust,
    /// Values of the reply that are still to come; 0 between replies.
    pending: u64,
    /// Bytes of a text that are still to come.
    skip: usize,
}

impl RedisCommands {
    fn new(login: &Login, request: &str) -> Result<Self, PeerError> {
        let words = shlex::split(request).filter(|words| !words.is_empty()).ok_or_else(|| {
            refused(format!(
                "\"{request}\" is not a command; write it as redis-cli takes it, quotes in pairs"
            ))
        })?;
        let name = words[0].to_ascii_uppercase();
        if !login.writes && !READING.contains(&name.as_str()) {
            return Err(refused(format!(
                "{name} is not known to only read; give --writes if it may change data, or a command that only reads, such as GET"
            )));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let greeting =
            proof(login).map(|words| command(&words.iter().map(String::as_str).collect::<Vec<_>>()));
        Ok(Self { request: command(&words), greeting, trust: Trust::of(login), pending: 0, skip: 0 })
    }
}

impl Speech for RedisCommands {
    fn greet(&mut self, connection: &mut Connection) -> Result<(), PeerError> {
        let Some(greeting) = &self.greeting else { return Ok(()) };
        self.trust.look(connection)?;
        self.trust.check()?;
        let rejected = format!("the server refused the password of {PASSWORD}; set another");
        be_let_in(connection, greeting, WELCOME, "the server does not answer AUTH", &rejected)
    }

    fn request(&self) -> &[u8] {
        &self.request
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Taken, PeerError> {
        let mut at = 0;
        if self.pending == 0 {
            self.pending = 1;
        }
        while self.pending > 0 {
            if self.skip > 0 {
                at += passed(&mut self.skip, &bytes[at..]);
                if self.skip > 0 {
                    return Ok(Taken { bytes: at, complete: false });
                }
                self.pending -= 1;
                continue;
            }
            let Some(line) = line(&bytes[at..], NOT_REDIS)? else {
                return Ok(Taken { bytes: at, complete: false });
            };
            at += line.len() + LINE_END.len();
            self.line(line)?;
        }
        Ok(Taken { bytes: at, complete: true })
    }
}

const NOT_REDIS: &str = "it answers with something other than a reply of Redis; is it one?";

impl RedisCommands {
    fn line(&mut self, line: &[u8]) -> Result<(), PeerError> {
        let (kind, rest) = line.split_first().ok_or(NOT_REDIS)?;
        let number =
            || std::str::from_utf8(rest).ok().and_then(|text| text.parse::<i64>().ok()).ok_or(NOT_REDIS);
        match kind {
            b'+' | b':' => self.pending -= 1,
            b'$' => match usize::try_from(number()?) {
                Ok(length) => self.skip = length + 2,
                Err(_) => self.pending -= 1,
            },
            b'*' => self.pending = (self.pending - 1).saturating_add(u64::try_from(number()?).unwrap_or(0)),
            b'-' => {
                let text = String::from_utf8_lossy(rest).into_owned();
                let way_out = if text.starts_with("NOAUTH") {
                    format!("; set the password in {PASSWORD}")
                } else {
                    String::new()
                };
                return Err(refused(format!("it refused the command: {text}{way_out}")));
            }
            _ => return Err(NOT_REDIS.into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::{LONGEST_LINE, taken_by};
    use super::*;

    fn commands(request: &str) -> Result<RedisCommands, PeerError> {
        RedisCommands::new(&Login::default(), request)
    }

    #[test]
    fn a_command_is_what_its_words_say_and_none_writes_unasked() {
        assert_eq!(commands("GET 'a b'").unwrap().request, command(&["GET", "a b"]));
        assert!(commands("SET a b").unwrap_err().to_string().contains("--writes"));
        assert!(commands("eval x").is_err() && commands("").is_err() && commands("GET 'a").is_err());
        let writing = Login { writes: true, ..Login::default() };
        assert!(RedisCommands::new(&writing, "SET a b").is_ok());
    }

    #[test]
    fn a_reply_is_taken_however_it_arrives() {
        let reply: &[u8] = b"*3\r\n$5\r\nab\r\nc\r\n*2\r\n:1\r\n$-1\r\n+x\r\n";
        for step in 1..=reply.len() {
            let mut speech = commands("PING").unwrap();
            assert_eq!(taken_by(&mut speech, reply, step), (reply.len(), true), "{step}");
        }
        let two = b"+PONG\r\n+PONG\r\n";
        assert_eq!(commands("PING").unwrap().take(two).unwrap(), Taken { bytes: 7, complete: true });
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        let mut speech = commands("PING").unwrap();
        assert!(speech.take(b"-ERR no\r\n").unwrap_err().to_string().contains("ERR no"));
        assert!(commands("PING").unwrap().take(b"HTTP/1.1 400\r\n").is_err());
        assert!(commands("PING").unwrap().take(&vec![b'+'; LONGEST_LINE + 1]).is_err());
        // More values than can be counted.
        let endless = format!("*{0}\r\n*{0}\r\n*{0}\r\n", i64::MAX);
        assert!(!commands("PING").unwrap().take(endless.as_bytes()).unwrap().complete);
    }
}
