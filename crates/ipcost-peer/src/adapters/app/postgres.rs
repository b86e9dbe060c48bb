//! PostgreSQL: <https://www.postgresql.org/docs/current/protocol.html>, version 3.0, simple queries.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use hmac::{Hmac, KeyInit, Mac};
use ipcost_sys::private_dir::check_own;
use ipcost_sys::transport::{Channel, Connection, tls};
use ipcost_sys::{driven_program, found_file, programs, unguessable};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{
    AUTHENTICATION_TAG, COPY_IN_RESPONSE_TAG, DATA_ROW_TAG, ERROR_RESPONSE_TAG, ErrorFields, Header, Message,
    READY_FOR_QUERY_TAG,
};
use postgres_protocol::message::frontend;
use sha2::{Digest, Sha256};

use super::kind::{
    Alias, Ending, Listens, Login, NO_PASSWORD, ReportedFacts, ServerKind, Setup, Speech, Started, Taken,
    address_of, passed,
};
use super::trust::Trust;
use crate::adapters::server_address::{ServerAddress, no_reply};
use crate::adapters::{refused, system};
use crate::{PeerError, ended, receive_all, send_all};

pub(super) const KIND: ServerKind = ServerKind {
    name: "postgres",
    title: "PostgreSQL",
    aliases: &[Alias::new("postgresql", "PostgreSQL", None), Alias::new("pgbouncer", "PgBouncer", Some(&[]))],
    programs: &["postgres"],
    places: &["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"],
    package: "postgresql",
    users: &["postgres"],
    least: "SELECT 1",
    least_anywhere: true,
    typical: TYPICAL,
    typical_anywhere: Some(TYPICAL),
    pipelines: false,
    private_login: Some(("ipcost", "postgres")),
    open_to_all: None,
    takes_tls: true,
    behind: None,
    listens: Listens {
        unix: "unix_socket_directories = '/run/postgresql' in postgresql.conf",
        tcp: "listen_addresses = 'localhost' and port = 5432 in postgresql.conf",
        page: "docs/app.md#postgresql",
    },
    burst: 0,
    most_clients: None,
    start,
    speech: |login, request, _| Ok(Box::new(PostgresQueries::new(login, request)?)),
    facts,
};

/// Of the server's own catalogue, which every database has.
const TYPICAL: &str = "SELECT oid, relname, relkind FROM pg_class ORDER BY relname LIMIT 10";
/// The longest message of a greeting, and the most; servers send a few dozen short ones.
const LONGEST_GREETING: usize = 65_536;
const MOST_MESSAGES: u32 = 1000;
/// The longest message of a server, which allocates no more for one than 1 GiB.
const LONGEST_MESSAGE: usize = 1 << 30;
/// The superuser of a private server, who can come in over neither socket.
const OWNER: &str = "postgres";

/// The files of a server that offers TLS.
const CERTIFICATE: &str = "server.crt";
const KEY: &str = "server.key";

/// A cluster, made once in a run, with one role that has no rights and the run's secret as its password.
fn start(setup: &Setup<'_>) -> Result<Started, PeerError> {
    let data = setup.data()?;
    let shown = data.to_string_lossy().into_owned();
    setup.make_once(|| {
        let initdb = setup.program.with_file_name("initdb");
        let words =
            ["-D", &shown, "-U", OWNER, "--auth=reject", "--no-sync", "--encoding=UTF8", "--locale=C"];
        run(setup, &initdb, &words, None)?;
        let role = format!("CREATE ROLE ipcost LOGIN PASSWORD '{}';\n", verifier(setup.secret)?);
        let role = setup.file("role.sql", role.as_bytes())?;
        run(setup, setup.program, &["--single", "-D", &shown, "postgres"], Some(&role))
    })?;
    let rules = b"local postgres ipcost scram-sha-256\nhost postgres ipcost 127.0.0.1/32 scram-sha-256\n";
    let rules = setup.file("rules", rules)?;
    let port = setup.port.to_string();
    let dir = setup.room.to_string_lossy();
    if setup.settings.tls {
        make_certificate(setup)?;
    }
    let settings = [
        format!("hba_file={}", rules.display()),
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={port}"),
        format!("unix_socket_directories={dir}"),
        "unix_socket_permissions=0700".to_owned(),
        format!("ssl={}", if setup.settings.tls { "on" } else { "off" }),
        format!("ssl_cert_file={dir}/{CERTIFICATE}"),
        format!("ssl_key_file={dir}/{KEY}"),
        "fsync=off".to_owned(),
        // In its directory instead of /dev/shm, where a killed server would leave it.
        "dynamic_shared_memory_type=mmap".to_owned(),
        "max_connections=300".to_owned(),
    ];
    let mut arguments = vec!["-D".to_owned(), shown];
    arguments.extend(settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]));
    Ok(Started {
        arguments,
        unix: address_of(&setup.room.join(format!(".s.PGSQL.{port}"))),
        ending: Ending::Interrupted,
        ..Started::default()
    })
}

/// What the server keeps of a password (RFC 5802), after one round: more rounds make guessing of weak passwords slow, which takes
/// every login a millisecond or more, and this one has 128 random bits.
fn verifier(secret: &str) -> Result<String, PeerError> {
    let salt = unguessable().map_err(system("cannot get random numbers"))?;
    let keyed = |key: &[u8], text: &[u8]| {
        let mut hash = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes every key");
        hash.update(text);
        hash.finalize().into_bytes()
    };
    let salted = keyed(secret.as_bytes(), &[salt.as_bytes(), &1_u32.to_be_bytes()].concat());
    let stored = Sha256::digest(keyed(&salted, b"Client Key"));
    let server = keyed(&salted, b"Server Key");
    let [salt, stored, server] = [salt.as_bytes(), &stored, &server].map(|bytes| BASE64.encode(bytes));
    Ok(format!("SCRAM-SHA-256$1:{salt}${stored}:{server}"))
}

/// A certificate that no one vouches for, as Debian's package makes one.
fn make_certificate(setup: &Setup<'_>) -> Result<(), PeerError> {
    let words = ["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    let files = ["-subj", "/CN=localhost", "-days", "2", "-out", CERTIFICATE, "-keyout", KEY];
    run(setup, Path::new("openssl"), &[&words[..], &files].concat(), None)
}

/// Runs a program of the cluster to its end.
fn run(setup: &Setup<'_>, program: &Path, words: &[&str], input: Option<&Path>) -> Result<(), PeerError> {
    let arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    setup.run(program, &arguments, input)
}

fn facts(login: &Login, at: &ServerAddress) -> Result<ReportedFacts, PeerError> {
    let mut queries = PostgresQueries::new(login, "SELECT 1")?;
    let mut connection = at.connect_patiently()?;
    queries.greet(&mut connection)?;
    let _ = send_all(&mut *connection, queries.farewell());
    let version = queries.version.split(' ').next().unwrap_or_default().to_owned();
    Ok(ReportedFacts {
        version,
        login: queries.how.to_owned(),
        offers_tls: agrees_to_tls(&mut *at.connect_patiently()?)?,
    })
}

/// Whether the server agrees to TLS; libpq asks it over TCP (`sslmode=prefer`), and over a Unix socket never.
fn agrees_to_tls(connection: &mut Connection) -> Result<bool, PeerError> {
    let mut asks = BytesMut::new();
    frontend::ssl_request(&mut asks);
    let failed =
        |error| refused(format!("the server does not say whether it offers TLS: {}", no_reply(&error)));
    send_all(connection, &asks).map_err(failed)?;
    let mut word = [0];
    receive_all(connection, &mut word).map_err(failed)?;
    Ok(word == *b"S")
}

/// One query, again and again.
struct PostgresQueries {
    user: String,
    database: String,
    /// The password of a private server's user; the user's own are never shown to one.
    secret: Option<String>,
    trust: Trust,
    place: Option<(String, u16)>,
    writes: bool,
    /// Whether TLS is taken over TCP where the server offers it.
    tls: bool,
    request: BytesMut,
    farewell: BytesMut,
    /// What the server has told while greeting.
    version: String,
    how: &'static str,
    /// Bytes of a message that are still to come.
    skip: usize,
    /// The error that the server has sent in this reply.
    error: Option<String>,
    /// Rows of this reply.
    rows: u64,
    /// Whether the last one had none.
    was_empty: bool,
}

impl PostgresQueries {
    fn new(login: &Login, query: &str) -> Result<Self, PeerError> {
        if query.contains('\0') {
            return Err(refused("a query cannot hold the character NUL; take it out"));
        }
        let own = || env::var("PGUSER").or_else(|_| env::var("USER")).or_else(|_| env::var("LOGNAME"));
        let user = login.user.clone().or_else(|| own().ok());
        let user = user.ok_or_else(|| refused("no user is named; give --user NAME, or set PGUSER"))?;
        let database = login.database.clone().or_else(|| env::var("PGDATABASE").ok());
        let (mut request, mut farewell) = (BytesMut::new(), BytesMut::new());
        frontend::query(query, &mut request).map_err(unsendable)?;
        frontend::terminate(&mut farewell);
        Ok(Self {
            database: database.unwrap_or_else(|| user.clone()),
            user,
            secret: login.secret.clone(),
            trust: Trust::of(login),
            place: login.place.clone(),
            writes: login.writes,
            tls: login.tls,
            request,
            farewell,
            version: String::new(),
            how: NO_PASSWORD,
            skip: 0,
            error: None,
            rows: 0,
            was_empty: false,
        })
    }

    fn startup(&self) -> Result<BytesMut, PeerError> {
        // The server itself refuses what would write, whatever the query calls.
        let options = if self.writes { "" } else { "-c default_transaction_read_only=on" };
        let settings = [
            ("user", self.user.as_str()),
            ("database", &self.database),
            ("application_name", "ipcost"),
            ("options", options),
        ];
        let mut startup = BytesMut::new();
        let settings = settings.into_iter().filter(|(_, value)| !value.is_empty());
        frontend::startup_message(settings, &mut startup).map_err(unsendable)?;
        Ok(startup)
    }

    fn password(&self) -> Result<Vec<u8>, PeerError> {
        if let Some(secret) = &self.secret {
            return Ok(secret.clone().into_bytes());
        }
        self.trust.check()?;
        if let Ok(password) = env::var("PGPASSWORD") {
            return Ok(password.into_bytes());
        }
        let wanted = |of_file: &str| {
            refused(format!(
                "the server wants a password of {}; set it in PGPASSWORD or in ~/.pgpass{of_file}",
                self.user
            ))
        };
        let Some(path) = password_file() else { return Err(wanted("")) };
        // As libpq does: a file that others can read is not used.
        if programs::others_can_read(&path) {
            return Err(wanted(&format!(
                "; {0} is not used, since others can read it: chmod 600 {0}",
                path.display()
            )));
        }
        let file = found_file::open(&path).map_err(|_| wanted(""))?;
        check_own(&file, &path).map_err(|why| wanted(&format!("; {} is not used: {why}", path.display())))?;
        let lines = io::read_to_string(file).unwrap_or_default();
        let (host, port) = self.place.clone().unwrap_or_default();
        let who = PostgresLogin { host: &host, port, database: &self.database, user: &self.user };
        in_lines(&lines, &who).map(String::into_bytes).ok_or_else(|| wanted(""))
    }

    /// What a request for proof of identity is answered with, if anything.
    fn authenticate(
        &mut self,
        asked: &Message,
        scram: &mut Option<ScramSha256>,
        is_local: bool,
    ) -> Result<Option<BytesMut>, PeerError> {
        let mut answer = BytesMut::new();
        let wrong = |error: io::Error| refused(format!("the server's side of SCRAM is wrong: {error}"));
        match (asked, &mut *scram) {
            (Message::AuthenticationOk, _) => return Ok(None),
            // Whatever listens there may pass it on; TLS without a known certificate shows no more of who that is.
            (Message::AuthenticationCleartextPassword, _) if !is_local => {
                return Err(refused(
                    "the server asks for the password in clear text over TCP, which is never sent there; let it ask with scram-sha-256 (pg_hba.conf)",
                ));
            }
            (Message::AuthenticationCleartextPassword, _) => {
                self.how = "a password in clear text";
                frontend::password_message(&self.password()?, &mut answer).map_err(unsendable)?;
            }
            (Message::AuthenticationMd5Password(body), _) => {
                self.how = "md5";
                let hash = md5_hash(self.user.as_bytes(), &self.password()?, body.salt());
                frontend::password_message(hash.as_bytes(), &mut answer).map_err(unsendable)?;
            }
            (Message::AuthenticationSasl(_), _) => {
                self.how = SCRAM_SHA_256;
                let started = ScramSha256::new(&self.password()?, ChannelBinding::unsupported());
                frontend::sasl_initial_response(SCRAM_SHA_256, started.message(), &mut answer)
                    .map_err(unsendable)?;
                *scram = Some(started);
            }
            (Message::AuthenticationSaslContinue(body), Some(scram)) => {
                if rounds(body.data()).is_some_and(|rounds| rounds > MOST_ROUNDS) {
                    return Err(refused(format!(
                        "the server asks for more than {MOST_ROUNDS} rounds of SCRAM; lower scram_iterations, and set the password again"
                    )));
                }
                scram.update(body.data()).map_err(wrong)?;
                frontend::sasl_response(scram.message(), &mut answer).map_err(unsendable)?;
            }
            (Message::AuthenticationSaslFinal(body), Some(scram)) => {
                scram.finish(body.data()).map_err(wrong)?;
                return Ok(None);
            }
            _ => return Err(refused(UNKNOWN_LOGIN)),
        }
        Ok(Some(answer))
    }
}

/// The rounds of hashing that a server's first message of SCRAM asks for: `i=4096` (RFC 5802, section 5.1).
fn rounds(message: &[u8]) -> Option<u64> {
    let rounds = message.split(|byte| *byte == b',').find_map(|part| part.strip_prefix(b"i="))?;
    std::str::from_utf8(rounds).ok()?.parse().ok()
}

/// The file of passwords: `PGPASSFILE`, or `~/.pgpass`.
fn password_file() -> Option<PathBuf> {
    let named = env::var_os("PGPASSFILE").map(PathBuf::from);
    let file = named.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".pgpass")))?;
    file.is_file().then_some(file)
}

/// Whom a line of that file must be for.
struct PostgresLogin<'a> {
    /// As it was given, or the directory of the socket.
    host: &'a str,
    port: u16,
    database: &'a str,
    user: &'a str,
}

/// Directories in which libpq looks for a socket if none is given, as it was built; its file then says `localhost`.
const USUAL: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// The password in lines of host, port, database, user and password; a backslash escapes a colon. By the rules of libpq: the host
/// must be the one that is asked, as it is named, and so must the port.
fn in_lines(lines: &str, who: &PostgresLogin<'_>) -> Option<String> {
    let port = who.port.to_string();
    lines.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = vec![String::new()];
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            match letter {
                ':' => fields.push(String::new()),
                '\\' => fields.last_mut()?.extend(letters.next()),
                letter => fields.last_mut()?.push(letter),
            }
        }
        let [host, of_port, of, user, password] = <[String; 5]>::try_from(fields).ok()?;
        let fits = |field: &str, value: &str| field == "*" || field == value;
        let fits_host = fits(&host, who.host) || (USUAL.contains(&who.host) && host == "localhost");
        let fits_all = fits_host && fits(&of_port, &port) && fits(&of, who.database) && fits(&user, who.user);
        fits_all.then_some(password)
    })
}

/// The message and the code of an error.
fn error_in(mut fields: ErrorFields<'_>) -> String {
    let (mut text, mut code) = ("an error without a text".to_owned(), None);
    while let Ok(Some(field)) = fields.next() {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'M' => text = value.replace(char::is_control, " "),
            b'C' => code = Some(value),
            _ => {}
        }
    }
    match code.as_deref() {
        Some("25006") => format!("{text}; give --writes if the query may change data"),
        Some("53300") => format!("{text}; raise max_connections, or lower --concurrency"),
        Some(code) => format!("{text} ({code})"),
        None => text,
    }
}

impl Speech for PostgresQueries {
    fn greet(&mut self, connection: &mut Connection) -> Result<(), PeerError> {
        let failed = |error| {
            refused(format!("the server does not answer the greeting of PostgreSQL: {}", no_reply(&error)))
        };
        self.trust.look(connection)?;
        let is_local = driven_program::is_unix(connection);
        if self.tls && !is_local && agrees_to_tls(connection)? {
            tls::encrypt(connection)?;
        }
        send_all(connection, &self.startup()?).map_err(failed)?;
        let (mut buffer, mut piece, mut scram) = (BytesMut::new(), [0; 4096], None);
        let mut messages = 0;
        loop {
            while let Some(message) = whole(&mut buffer)? {
                messages += 1;
                if messages > MOST_MESSAGES {
                    return Err(refused(NOT_POSTGRES));
                }
                match message {
                    Message::ParameterStatus(status) => {
                        if self.version.is_empty() && status.name().is_ok_and(|name| name == "server_version")
                        {
                            self.version = status.value().unwrap_or_default().to_owned();
                        }
                    }
                    Message::BackendKeyData(_) | Message::NoticeResponse(_) => {}
                    Message::ErrorResponse(error) => {
                        return Err(refused(format!(
                            "the server refused the connection: {}",
                            error_in(error.fields())
                        )));
                    }
                    Message::ReadyForQuery(_) => return Ok(()),
                    other => {
                        if let Some(answer) = self.authenticate(&other, &mut scram, is_local)? {
                            send_all(connection, &answer).map_err(failed)?;
                        }
                    }
                }
            }
            match connection.receive(&mut piece).map_err(failed)? {
                0 => return Err(failed(ended())),
                more => buffer.extend_from_slice(&piece[..more]),
            }
        }
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
            let Some(header) = Header::parse(&bytes[at..]).map_err(|_| NOT_POSTGRES)? else {
                return Ok(Taken { bytes: at, complete: false });
            };
            let (kind, length) = (header.tag(), header.len() as usize);
            if !kind.is_ascii_alphabetic() || length > LONGEST_MESSAGE {
                return Err(NOT_POSTGRES.into());
            }
            match kind {
                ERROR_RESPONSE_TAG | READY_FOR_QUERY_TAG if length > LONGEST_GREETING => {
                    return Err(NOT_POSTGRES.into());
                }
                // Its text is looked at whole.
                ERROR_RESPONSE_TAG | READY_FOR_QUERY_TAG if bytes.len() - at < 1 + length => {
                    return Ok(Taken { bytes: at, complete: false });
                }
                ERROR_RESPONSE_TAG => {
                    let message = Message::parse(&mut BytesMut::from(&bytes[at..][..1 + length]));
                    let Ok(Some(Message::ErrorResponse(error))) = message else {
                        return Err(NOT_POSTGRES.into());
                    };
                    self.error = Some(error_in(error.fields()));
                }
                COPY_IN_RESPONSE_TAG => {
                    return Err("it asks for data to copy; give a query that returns rows".into());
                }
                DATA_ROW_TAG => self.rows += 1,
                READY_FOR_QUERY_TAG => {
                    self.was_empty = std::mem::take(&mut self.rows) == 0;
                    return match self.error.take() {
                        Some(error) => Err(refused(format!("the query failed: {error}"))),
                        None => Ok(Taken { bytes: at + 1 + length, complete: true }),
                    };
                }
                _ => {}
            }
            self.skip = 1 + length;
        }
    }

    fn is_empty(&self) -> bool {
        self.was_empty
    }

    fn farewell(&self) -> &[u8] {
        &self.farewell
    }
}

/// A server may ask for billions, which would take an hour; a million takes a second, and 4096 are usual.
const MOST_ROUNDS: u64 = 1_000_000;
const NOT_POSTGRES: &str = "it answers with something other than a message of PostgreSQL; is it one?";

const UNKNOWN_LOGIN: &str =
    "the server wants a way of login that is not known here; use scram-sha-256, md5, trust or peer";

/// The next message of a greeting, if all of it is there.
fn whole(buffer: &mut BytesMut) -> Result<Option<Message>, PeerError> {
    match Header::parse(buffer).map_err(|_| refused(NOT_POSTGRES))? {
        Some(header) if header.len() as usize > LONGEST_GREETING => Err(refused(NOT_POSTGRES)),
        Some(header) if buffer.len() <= header.len() as usize => Ok(None),
        Some(header) => Message::parse(buffer).map_err(|_| {
            refused(if header.tag() == AUTHENTICATION_TAG { UNKNOWN_LOGIN } else { NOT_POSTGRES })
        }),
        None => Ok(None),
    }
}

fn unsendable(error: io::Error) -> PeerError {
    refused(format!("the server cannot be sent this: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::kind::taken_by;
    use super::*;

    #[test]
    fn a_server_cannot_ask_for_hours_of_hashing() {
        assert_eq!(rounds(b"r=x,s=QSXCR+Q6sek8bf92,i=4096"), Some(4096));
        assert_eq!(rounds(b"r=i=7,s=x"), None);
        let login = Login { user: Some("me".to_owned()), ..Login::default() };
        let mut queries =
            PostgresQueries::new(&login, "SELECT 1").map_err(|error| error.to_string()).unwrap();
        let mut scram = Some(ScramSha256::new(b"x", ChannelBinding::unsupported()));
        let first = asks(11, b"r=x,s=QSXCR+Q6sek8bf92,i=4294967295");
        let error = queries.authenticate(&first, &mut scram, false).unwrap_err().to_string();
        assert!(error.contains("more than 1000000 rounds"), "{error}");
    }

    fn queries() -> PostgresQueries {
        let login = Login { user: Some("me".to_owned()), ..Login::default() };
        PostgresQueries::new(&login, "SELECT 1").map_err(|error| error.to_string()).unwrap()
    }

    fn asks(kind: u32, rest: &[u8]) -> Message {
        let body = [&kind.to_be_bytes()[..], rest].concat();
        let mut bytes = BytesMut::from(&reply(&[(AUTHENTICATION_TAG, &body)])[..]);
        whole(&mut bytes).map_err(|error| error.to_string()).unwrap().unwrap()
    }

    fn reply(kinds: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, body) in kinds {
            bytes.push(*kind);
            bytes.extend((body.len() as u32 + 4).to_be_bytes());
            bytes.extend_from_slice(body);
        }
        bytes
    }

    #[test]
    fn a_length_that_no_server_sends_is_an_error_and_takes_no_memory() {
        for kind in [b'E', b'Z', b'D', b'T'] {
            for length in [0, 3, u32::MAX, 1 << 31] {
                let bytes = [&[kind][..], &u32::to_be_bytes(length), b"MCxx"].concat();
                let taken = queries().take(&bytes);
                assert!(taken.is_err(), "{kind} {length}: {taken:?}");
            }
        }
    }

    #[test]
    fn a_reply_ends_when_the_server_is_ready_however_it_arrives() {
        let reply = reply(&[(b'T', b"row"), (b'D', &[7; 300]), (b'C', b"SELECT 1\0"), (b'Z', b"I")]);
        for step in 1..=reply.len() {
            let mut speech = queries();
            assert_eq!(taken_by(&mut speech, &reply, step), (reply.len(), true), "{step}");
        }
    }

    #[test]
    fn an_error_is_told_with_what_to_do() {
        let error = reply(&[(b'E', b"SERROR\0C25006\0Mcannot execute INSERT\0\0"), (b'Z', b"I")]);
        let error = queries().take(&error).unwrap_err().to_string();
        assert!(error.contains("cannot execute INSERT; give --writes"));
        assert!(queries().take(b"HTTP/1.1 400 Bad Request\r\n").is_err());
        assert!(whole(&mut BytesMut::from("HTTP/1.1")).is_err());
    }

    #[test]
    fn the_file_of_passwords_is_read_as_libpq_does() {
        let lines = "# none\nother:5432:*:me:no\nlocalhost:*:db:you:no\n/run:*:db:me:a\\:b\nlocalhost:5432:*:me:d\n*:*:shop:me:c\n";
        let found =
            |host, port, database, user| in_lines(lines, &PostgresLogin { host, port, database, user });
        assert_eq!(found("/run", 5432, "db", "me").as_deref(), Some("a:b"));
        assert_eq!(found("127.0.0.1", 5432, "shop", "me").as_deref(), Some("c"));
        assert_eq!(found("/run", 5432, "shop", "nobody"), None);
        // A line is for the host and the port that it names, and for no other server of this machine.
        assert_eq!(found("127.0.0.1", 5432, "db", "me"), None);
        assert_eq!(found("localhost", 5433, "db", "me"), None);
        assert_eq!(found("localhost", 5432, "db", "me").as_deref(), Some("d"));
        assert_eq!(found("/var/run/postgresql", 5432, "db", "me").as_deref(), Some("d"));
    }

    #[test]
    fn a_login_sends_what_the_server_asks_for() {
        let mut speech = queries();
        assert!(
            speech
                .startup()
                .map_err(|error| error.to_string())
                .unwrap()
                .ends_with(b"options\0-c default_transaction_read_only=on\0\0")
        );
        assert!(speech.authenticate(&asks(0, &[]), &mut None, false).unwrap().is_none());
        assert!(speech.authenticate(&asks(7, &[]), &mut None, false).is_err());
    }

    #[test]
    fn no_password_goes_in_clear_text_to_whoever_has_the_port() {
        let mut speech = queries();
        speech.secret = Some("word".to_owned());
        let asks = asks(3, &[]);
        let error = speech.authenticate(&asks, &mut None, false).unwrap_err().to_string();
        assert!(error.contains("clear text") && error.contains("scram-sha-256"), "{error}");
        assert_eq!(speech.authenticate(&asks, &mut None, true).unwrap().unwrap()[..], *b"p\0\0\0\x09word\0");
    }

    #[test]
    fn the_password_of_a_private_server_is_proved_in_one_round() {
        let kept = verifier("a secret").unwrap();
        let (iterations, rest) = kept.strip_prefix("SCRAM-SHA-256$").unwrap().split_once(':').unwrap();
        assert_eq!(iterations, "1");
        let (salt, keys) = rest.split_once('$').unwrap();
        let (stored, server) = keys.split_once(':').unwrap();
        let length = |text: &str| BASE64.decode(text).unwrap().len();
        assert_eq!((length(salt), length(stored), length(server)), (32, 32, 32));
        assert_ne!(kept, verifier("a secret").unwrap(), "each has a salt of its own");
    }
}
