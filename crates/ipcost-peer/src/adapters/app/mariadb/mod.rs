//! MariaDB and MySQL: <https://mariadb.com/docs/server/reference/clientserver-protocol>, the text protocol of version 4.1.

mod options;
mod start;
mod wire;

use std::env;

use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ipcost_sys::driven_program;
use ipcost_sys::transport::Connection;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use self::options::options;
use self::start::{USER, start};
use self::wire::{
    HEADER_BYTES, Handshake, LONGEST_LOOKED_AT, LONGEST_PACKET, NOT_MARIADB, Wire, error_in, handshake,
    integer_bytes, known, length, packets, text, until_nul, xor,
};
use super::kind::{Alias, Listens, Login, NO_PASSWORD, ReportedFacts, ServerKind, Speech, Taken, passed};
use super::trust::Trust;
use crate::adapters::refused;
use crate::adapters::server_address::ServerAddress;
use crate::{PeerError, send_all};

pub(super) const KIND: ServerKind = ServerKind {
    name: "mariadb",
    title: "MariaDB/MySQL",
    aliases: &[
        Alias::new("mysql", "MySQL", Some(&["mysqld"])),
        Alias::new("percona", "Percona Server", Some(&[])),
    ],
    programs: &["mariadbd", "mysqld"],
    places: &["/usr/sbin", "/usr/libexec"],
    package: "mariadb-server",
    users: &["mysql"],
    least: "SELECT 1",
    least_anywhere: true,
    typical: "SELECT id, name, value FROM typical WHERE id = 500",
    // Every user sees it, and no data are read for it.
    typical_anywhere: Some(
        "SELECT CHARACTER_SET_NAME, DESCRIPTION, MAXLEN FROM information_schema.CHARACTER_SETS ORDER BY CHARACTER_SET_NAME LIMIT 10",
    ),
    pipelines: false,
    private_login: Some((USER, USER)),
    open_to_all: None,
    takes_tls: false,
    behind: None,
    listens: Listens {
        unix: "socket = /run/mysqld/mysqld.sock in the group [mysqld] of my.cnf",
        tcp: "bind-address = 127.0.0.1 and port = 3306, without skip-networking, in the group [mysqld] of my.cnf",
        page: "docs/app.md#mariadb-and-mysql",
    },
    burst: 0,
    most_clients: None,
    start,
    speech: |login, request, _| Ok(Box::new(MariadbQueries::new(login, request)?)),
    facts,
};

const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;
const OK: u8 = 0;
const MORE: u8 = 1;
const FILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
/// The length of a packet that ends columns or rows is below; that of a row that begins with the same byte is above.
const EOF_BELOW: usize = 9;
/// The status of a result that is followed by another, as a procedure returns.
const MORE_RESULTS: u16 = 8;

const WITH_DATABASE: u32 = 1 << 3;
const TLS: u32 = 1 << 11;
/// Protocol 4.1, a salt of 20 bytes, methods of login by name: servers have them since 2010.
const NEEDED: u32 = 1 << 9 | 1 << 15 | 1 << 19;
/// What this client says of itself, next to these: it knows none of MariaDB's extensions, long flags, transactions, the results
/// of procedures. It neither sends files nor several statements in one query.
const CAPABILITIES: u32 = NEEDED | 1 | 1 << 2 | 1 << 13 | 1 << 17;
/// `utf8mb4_general_ci`, which servers of both know.
const CHARACTERS: u8 = 45;
const SALT_BYTES: usize = 20;
/// The most answers of a server to a login: it names another method, has the proof looked up, agrees.
const MOST_ANSWERS: u32 = 16;

const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";
const ED25519: &str = "client_ed25519";

fn facts(login: &Login, at: &ServerAddress) -> Result<ReportedFacts, PeerError> {
    let mut queries = MariadbQueries::new(login, "SELECT 1")?;
    let mut connection = at.connect_patiently()?;
    queries.greet(&mut connection)?;
    let _ = send_all(&mut *connection, queries.farewell());
    // Servers offer it over both sockets; the clients of both take it unasked over TCP alone.
    let offers_tls = queries.offers_tls && at.path().is_none();
    Ok(ReportedFacts { version: short(&queries.version), login: queries.how.to_owned(), offers_tls })
}

/// `10.11.19-MariaDB` of `5.5.5-10.11.19-MariaDB-0+deb12u1`: servers put a version before their own that old clients accept.
fn short(version: &str) -> String {
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    let number = version.split('-').next().unwrap_or_default();
    if version.contains("MariaDB") { format!("{number}-MariaDB") } else { number.to_owned() }
}

/// One query, again and again.
struct MariadbQueries {
    user: String,
    /// Empty if there is none.
    password: String,
    trust: Trust,
    /// Why the file of options is not used, if it is not.
    unused: Option<String>,
    database: Option<String>,
    writes: bool,
    request: Vec<u8>,
    /// What the server has told while greeting.
    version: String,
    how: &'static str,
    offers_tls: bool,
    part: MariadbReplyPart,
    /// Bytes of a packet that are still to come.
    skip: usize,
    /// Whether the next packet continues the one before.
    continues: bool,
    /// Rows of this reply.
    rows: u64,
    /// Whether the last one had none.
    was_empty: bool,
}

/// What comes next in a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MariadbReplyPart {
    First,
    Columns,
    Rows,
}

impl MariadbQueries {
    fn new(login: &Login, query: &str) -> Result<Self, PeerError> {
        let (options, unused) = options();
        let own = || env::var("USER").or_else(|_| env::var("LOGNAME")).ok();
        let root = || driven_program::is_root().then(|| "root".to_owned());
        let user = login.user.clone().or_else(|| options.get("user").cloned()).or_else(own).or_else(root);
        let user = user.ok_or_else(|| refused("no user is named; give --user NAME"))?;
        if user.contains('\0') || login.database.as_ref().is_some_and(|name| name.contains('\0')) {
            return Err(refused("a name cannot hold the character NUL; take it out"));
        }
        let own = || env::var("MYSQL_PWD").ok().or_else(|| options.get("password").cloned());
        let password = login.secret.clone().or_else(own);
        let mut body = vec![COM_QUERY];
        body.extend(query.bytes());
        Ok(Self {
            user,
            password: password.unwrap_or_default(),
            trust: Trust::of(login),
            unused,
            database: login.database.clone(),
            writes: login.writes,
            request: packets(0, &body),
            version: String::new(),
            how: NO_PASSWORD,
            offers_tls: false,
            part: MariadbReplyPart::First,
            skip: 0,
            continues: false,
            rows: 0,
            was_empty: false,
        })
    }

    /// The answer to a server's handshake.
    fn login(&self, method: &str, proof: &[u8]) -> Vec<u8> {
        let with_database = if self.database.is_some() { WITH_DATABASE } else { 0 };
        let mut body = (CAPABILITIES | with_database).to_le_bytes().to_vec();
        body.extend((LONGEST_PACKET as u32).to_le_bytes());
        body.push(CHARACTERS);
        body.extend([0; 23]);
        text(&mut body, &self.user);
        body.push(proof.len() as u8);
        body.extend(proof);
        if let Some(database) = &self.database {
            text(&mut body, database);
        }
        text(&mut body, method);
        body
    }

    /// The proof of identity for a method, from the salt of the server.
    fn proof(&mut self, method: &'static str, salt: &[u8]) -> Vec<u8> {
        self.how = method;
        let password = self.password.as_bytes();
        match method {
            // The key is made from the password of whatever length, as from the seed of a usual key.
            ED25519 => {
                let key = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
                raw_sign::<Sha512>(&key, salt, &(&key).into()).to_bytes().to_vec()
            }
            _ if password.is_empty() => {
                self.how = NO_PASSWORD;
                Vec::new()
            }
            CACHING => {
                let once = Sha256::digest(password);
                let twice = Sha256::digest(once);
                xor(&once, &Sha256::new().chain_update(twice).chain_update(salt).finalize())
            }
            _ => {
                let once = Sha1::digest(password);
                let twice = Sha1::digest(once);
                xor(&once, &Sha1::new().chain_update(salt).chain_update(twice).finalize())
            }
        }
    }

    /// Proves who asks until the server agrees.
    fn log_in(&mut self, wire: &mut Wire<'_>, server: &Handshake) -> Result<(), PeerError> {
        // A server names the method of most of its users, and later that of this one if it is another.
        let method = known(&server.method).unwrap_or(NATIVE);
        let proof = self.proof(method, &server.salt);
        wire.send(&self.login(method, &proof))?;
        for _ in 0..MOST_ANSWERS {
            let packet = wire.next()?;
            match packet.split_first() {
                Some((&OK, _)) => return Ok(()),
                Some((&EOF, rest)) if !rest.is_empty() => {
                    let (name, salt) = until_nul(rest).unwrap_or((rest, &[]));
                    let method = known(name).ok_or_else(|| {
                        refused(format!(
                            "the server wants user {} to log in with {}, which is not known here; give --user of one with {NATIVE}, {CACHING} or ed25519",
                            self.user,
                            String::from_utf8_lossy(name)
                        ))
                    })?;
                    let proof = self.proof(method, nonce(method, salt));
                    wire.send(&proof)?;
                }
                // The server has the password's hash in its memory.
                Some((&MORE, [3])) => {}
                Some((&MORE, [4])) if driven_program::is_unix(wire.connection) => {
                    // No one else hears it there.
                    wire.send(&[self.password.as_bytes(), &[0]].concat())?;
                }
                Some((&MORE, [4])) => {
                    return Err(refused(format!(
                        "{CACHING} takes TLS or RSA for the first login over TCP since the server's start, and neither is used here; give --unix PATH too, or log in once as {} over the Unix socket, and try again",
                        self.user
                    )));
                }
                Some((&ERR, _)) => {
                    let unused = self.unused.iter().map(|why| format!("; {why}")).collect::<String>();
                    return Err(refused(format!(
                        "the server refused the login: {}{unused}",
                        error_in(&packet)
                    )));
                }
                _ => return Err(refused(NOT_MARIADB)),
            }
        }
        Err(refused(NOT_MARIADB))
    }

    /// Takes a packet that says more than how long it is; whether the reply ends there.
    fn look_at(&mut self, packet: &[u8]) -> Result<bool, PeerError> {
        let status = match (self.part, packet[0]) {
            (_, ERR) => return Err(refused(format!("the query failed: {}", error_in(packet)))),
            (MariadbReplyPart::First, OK) => {
                // After the rows changed and the last number given, integers of variable length.
                let at = [(); 2].iter().fold(1, |at, ()| at + integer_bytes(packet.get(at)));
                packet.get(at..)
            }
            (MariadbReplyPart::First, FILE) => {
                return Err("it asks for a file, and none is sent; give a query without LOCAL".into());
            }
            (MariadbReplyPart::First, _) => {
                self.part = MariadbReplyPart::Columns;
                return Ok(false);
            }
            (MariadbReplyPart::Columns, _) => {
                self.part = MariadbReplyPart::Rows;
                return Ok(false);
            }
            // After the number of warnings.
            (MariadbReplyPart::Rows, _) => packet.get(3..),
        };
        let status = status.and_then(|bytes| bytes.first_chunk()).ok_or(NOT_MARIADB)?;
        self.part = MariadbReplyPart::First;
        if u16::from_le_bytes(*status) & MORE_RESULTS != 0 {
            return Ok(false);
        }
        self.was_empty = std::mem::take(&mut self.rows) == 0;
        Ok(true)
    }
}

/// The nonce in a request to log in otherwise: what follows it there, a NUL after those of 20 bytes, is no part of it, and a NUL at
/// the end of one that is whole is.
fn nonce<'a>(method: &str, salt: &'a [u8]) -> &'a [u8] {
    let bytes = if method == ED25519 { 32 } else { 20 };
    &salt[..salt.len().min(bytes)]
}

impl Speech for MariadbQueries {
    fn greet(&mut self, connection: &mut Connection) -> Result<(), PeerError> {
        self.trust.look(connection)?;
        let mut wire = Wire { connection, buffer: vec![0; 4096], have: 0, number: 0 };
        let first = wire.next()?;
        if first.first() == Some(&ERR) {
            return Err(refused(format!("the server refused the connection: {}", error_in(&first))));
        }
        let server = handshake(&first).ok_or_else(|| refused(NOT_MARIADB))?;
        if server.capabilities & NEEDED != NEEDED {
            return Err(refused(format!(
                "the server, version {}, is too old; MariaDB 10 or MySQL 5.7 is needed",
                short(&server.version)
            )));
        }
        if !self.password.is_empty() {
            self.trust.check()?;
        }
        self.log_in(&mut wire, &server)?;
        if !self.writes {
            // The server itself refuses what would write, whatever the query calls. No field of the login says so, hence
            // one more request on each connection, over both sockets.
            wire.ask("SET SESSION TRANSACTION READ ONLY")?;
        }
        self.version = server.version;
        self.offers_tls = server.capabilities & TLS != 0;
        Ok(())
    }

    fn request(&self) -> &[u8] {
        &self.request
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Taken, PeerError> {
        let mut at = 0;
        loop {
            at += passed(&mut self.skip, &bytes[at..]);
            let rest = &bytes[at..];
            let Some(length) = length(rest).filter(|_| self.skip == 0) else { break };
            if !self.continues {
                let Some(kind) = rest.get(HEADER_BYTES) else { break };
                let is_end = *kind == EOF && length < EOF_BELOW;
                if self.part == MariadbReplyPart::First || *kind == ERR || is_end {
                    if !(1..=LONGEST_LOOKED_AT).contains(&length) {
                        return Err(NOT_MARIADB.into());
                    }
                    let Some(packet) = rest.get(HEADER_BYTES..HEADER_BYTES + length) else { break };
                    if self.look_at(packet)? {
                        return Ok(Taken { bytes: at + HEADER_BYTES + length, complete: true });
                    }
                } else if self.part == MariadbReplyPart::Rows {
                    self.rows += 1;
                }
            }
            self.continues = length == LONGEST_PACKET;
            self.skip = HEADER_BYTES + length;
        }
        Ok(Taken { bytes: at, complete: false })
    }

    fn is_empty(&self) -> bool {
        self.was_empty
    }

    fn farewell(&self) -> &[u8] {
        &[1, 0, 0, 0, COM_QUIT]
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::taken_by;
    use super::*;

    fn queries(password: &str) -> MariadbQueries {
        let login = Login { user: Some("me".to_owned()), ..Login::default() };
        let queries = MariadbQueries::new(&login, "SELECT 1").map_err(|error| error.to_string()).unwrap();
        MariadbQueries { password: password.to_owned(), ..queries }
    }

    fn reply(bodies: &[&[u8]]) -> Vec<u8> {
        (1..).zip(bodies).flat_map(|(number, body)| packets(number, body)).collect()
    }

    const COLUMN: &[u8] = b"\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x03\x81\0\0\0\0";
    const END: &[u8] = &[EOF, 0, 0, 2, 0];

    #[test]
    fn a_nonce_that_ends_with_a_nul_stays_whole() {
        let mut salt = [7; 32];
        salt[31] = 0;
        assert_eq!(nonce(ED25519, &salt), salt);
        assert_eq!(nonce(NATIVE, &[&[0; 20][..], &[0]].concat()), [0; 20]);
        assert_eq!(nonce(CACHING, &[1, 2]), [1, 2]);
    }

    #[test]
    fn a_reply_ends_after_its_rows_however_it_arrives() {
        let long = [&[0xfe, 44, 1, 0, 0, 0, 0, 0, 0][..], &[7; 300]].concat();
        let rows = reply(&[&[1], COLUMN, END, b"\x011", &long, &[FILE], END]);
        let changed = reply(&[&[OK, 0xfc, 1, 1, 0, 2, 0, 0, 0]]);
        let procedure = reply(&[&[1], COLUMN, END, b"\x011", &[EOF, 0, 0, 10, 0], &[OK, 0, 0, 2, 0, 0, 0]]);
        for (reply, is_empty) in [(rows, false), (changed, true), (procedure, false)] {
            for step in 1..=reply.len() {
                let mut speech = queries("");
                assert_eq!(taken_by(&mut speech, &reply, step), (reply.len(), true), "{step}");
                assert_eq!(speech.is_empty(), is_empty);
            }
        }
    }

    #[test]
    fn a_row_may_be_longer_than_a_packet() {
        let mut row = vec![EOF];
        row.resize(LONGEST_PACKET, 0);
        // A part that begins as an error does is no error.
        row.extend([ERR; 10]);
        let reply = reply(&[&[1], COLUMN, END, &row, END]);
        for step in [65_536, LONGEST_PACKET, reply.len()] {
            assert_eq!(taken_by(&mut queries(""), &reply, step), (reply.len(), true));
        }
        assert_eq!(packets(0, &row[..LONGEST_PACKET]).len(), 2 * HEADER_BYTES + LONGEST_PACKET);
    }

    #[test]
    fn an_error_is_told_with_what_to_do_and_no_file_is_sent() {
        let refusal = |reply: &[u8]| queries("").take(reply).unwrap_err().to_string();
        let error = reply(&[b"\xff\x00\x07#25006Cannot execute statement in a READ ONLY transaction"]);
        assert!(refusal(&error).contains("READ ONLY transaction; give --writes"));
        assert!(refusal(&reply(&[b"\xfb/etc/passwd"])).contains("none is sent"));
        assert_eq!(
            error_in(b"\xff\x6a\x04Host 'x' is not allowed"),
            "Host 'x' is not allowed; create a user who may come from there"
        );
        assert_eq!(refusal(b"HTTP/1.1 400 Bad Request\r\n"), NOT_MARIADB);
        assert!(handshake(b"\x0a10.11").is_none() && handshake(b"").is_none());
    }

    #[test]
    fn a_handshake_is_read_with_the_method_of_most_users() {
        let mut packet = b"\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x01\0\0\0".to_vec();
        packet.extend(b"abcdefgh\0\xfe\xff\x2d\x02\0\xff\x81\x15");
        packet.extend([0; 10]);
        packet.extend(b"ijklmnopqrst\0mysql_native_password\0");
        let server = handshake(&packet).unwrap();
        assert_eq!(
            (server.salt.as_slice(), known(&server.method)),
            (&b"abcdefghijklmnopqrst"[..], Some(NATIVE))
        );
        assert_eq!((server.capabilities, server.capabilities & NEEDED), (0x81ff_fffe, NEEDED));
        assert_eq!(short(&server.version), "10.11.19-MariaDB");
        assert_eq!(short("8.0.36-0ubuntu0.22.04.1"), "8.0.36");
        for end in 0..packet.len() - b"mysql_native_password\0".len() {
            assert!(handshake(&packet[..end]).is_none(), "{end}");
        }
    }

    #[test]
    fn proofs_are_those_of_another_client() {
        // Computed with PyMySQL.
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let salt: Vec<u8> = (1..=32).collect();
        let mut known = queries("secret");
        assert_eq!(hex(&known.proof(NATIVE, &salt[..20])), "b32bb3a583e1340c0a1108d58b1be49781ad8c2f");
        assert_eq!(
            hex(&known.proof(CACHING, &salt[..20])),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
        assert_eq!(
            hex(&known.proof(ED25519, &salt)),
            "60a0f4f8bcb6396043e44b2a25521af16f0815ff6369cc541c281e2c4455c8232b79b21ee5bb933507725db2f2919ea09e676f6abee19c5c7b98b40a627a9707"
        );
        assert_eq!(known.how, ED25519);
        let mut none = queries("");
        assert!(none.proof(CACHING, &salt).is_empty() && none.how == NO_PASSWORD);
    }
}
