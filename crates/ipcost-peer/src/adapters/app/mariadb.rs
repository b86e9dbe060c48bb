//! MariaDB and MySQL: <https://mariadb.com/docs/server/reference/clientserver-protocol>, the text protocol of version 4.1.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ipcost_sys::driven::{self, Driven};
use ipcost_sys::{Launch, transport::Channel, transport::Connection};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::kind::{Kind, Login, NO_PASSWORD, Setup, Speech, Started, Taken, Told, address_of};
use crate::adapters::at::{At, no_reply};
use crate::adapters::{refused, system};
use crate::{PeerError, ended, send_all};

pub(super) const KIND: Kind = Kind {
    name: "mariadb",
    title: "MariaDB/MySQL",
    programs: &["mariadbd", "mysqld"],
    places: &["/usr/sbin", "/usr/libexec"],
    package: "mariadb-server",
    users: &["mysql"],
    flag: "--query",
    least: "SELECT 1",
    least_anywhere: true,
    typical: "SELECT id, name, value FROM typical WHERE id = 500",
    // Every user sees it, and no data are read for it.
    typical_anywhere: Some(
        "SELECT CHARACTER_SET_NAME, DESCRIPTION, MAXLEN FROM information_schema.CHARACTER_SETS ORDER BY CHARACTER_SET_NAME LIMIT 10",
    ),
    pipelines: false,
    private_login: Some((USER, USER)),
    takes_tls: false,
    behind: None,
    burst: 0,
    most_clients: None,
    start,
    speech: |login, request, _| Ok(Box::new(Queries::new(login, request)?)),
    facts,
};

/// The user of a private server, and its database.
const USER: &str = "ipcost";
/// The table that the typical request reads; the user may read it and do nothing else.
const CONTENT: &str = "CREATE DATABASE ipcost;
CREATE TABLE ipcost.typical (id INT PRIMARY KEY, name VARCHAR(40), value VARCHAR(200)) ENGINE=InnoDB;
INSERT INTO ipcost.typical WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 1000) SELECT id, CONCAT('name ', id), REPEAT('v', 100) FROM n;
";
/// The user in MariaDB's tables: before a server has read them at its start, it knows no `CREATE USER`. No other user can come
/// in; the one that the tables bring is locked.
const RIGHTS: &str = r#"INSERT INTO mysql.global_priv VALUES ('%', 'ipcost', '{"access": 0, "plugin": "mysql_native_password", "authentication_string": ""}');
INSERT INTO mysql.db (Host, Db, User, Select_priv) VALUES ('%', 'ipcost', 'ipcost', 'Y');
"#;
/// The same for MySQL.
const USERS: &str = "CREATE USER ipcost;
GRANT SELECT ON ipcost.* TO ipcost;
ALTER USER root@localhost ACCOUNT LOCK;
";
/// The bytes before a packet's content: its length, and its number in an exchange.
const HEADER_BYTES: usize = 4;
/// A packet of this length is continued by the next one.
const LONGEST_PACKET: usize = 0xff_ffff;
/// The longest packet that is looked at whole; errors have at most 512 bytes of text.
const LONGEST_LOOKED_AT: usize = 65_536;
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

const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";
const ED25519: &str = "client_ed25519";

/// A server of its own with one user, who comes in over both sockets the same way and may read one table.
fn start(setup: &Setup<'_>) -> Result<Started, PeerError> {
    let (dir, data) = (setup.dir.display(), setup.kept.join("data"));
    let tables = tables(setup.program);
    let mut common = vec![
        // First: no settings of the machine apply.
        "--no-defaults".to_owned(),
        format!("--datadir={}", data.display()),
        format!("--tmpdir={dir}"),
        format!("--secure-file-priv={dir}"),
        "--skip-log-bin".to_owned(),
        // Small files are made faster, and nothing need outlast a crash of the machine. What one of both does not know, it
        // leaves.
        "--loose-innodb-log-file-size=4M".to_owned(),
        "--innodb-buffer-pool-size=16M".to_owned(),
        "--innodb-flush-method=nosync".to_owned(),
        "--loose-sync-frm=0".to_owned(),
        "--loose-debug-no-sync".to_owned(),
    ];
    if tables.is_none() {
        // MySQL listens on a third socket unless told not to, and making keys takes it seconds.
        common.extend(
            ["--loose-mysqlx=OFF", "--loose-tls-version=", "--loose-auto-generate-certs=OFF"]
                .map(str::to_owned),
        );
        common.extend(
            ["caching-sha2-password", "sha256-password"]
                .map(|name| format!("--loose-{name}-auto-generate-rsa-keys=OFF")),
        );
    }
    let content = match setup.settings.rows {
        Some(rows) => CONTENT.to_owned() + &of_sysbench(rows),
        None => CONTENT.to_owned(),
    };
    setup.make_once(|| {
        driven::make_directory(&data, setup.user)
            .map_err(system(format!("cannot make {}", data.display())))?;
        let Some(tables) = &tables else {
            let script = setup.file("tables.sql", format!("{content}{USERS}").as_bytes())?;
            let script = format!("--init-file={}", script.display());
            return make(setup, &common, &["--initialize-insecure".to_owned(), script], None);
        };
        let tables =
            fs::read_to_string(tables).map_err(system(format!("cannot read {}", tables.display())))?;
        let script = format!("CREATE DATABASE mysql;\nUSE mysql;\n{tables}\n{RIGHTS}{content}");
        let script = setup.file("tables.sql", script.as_bytes())?;
        make(setup, &common, &["--bootstrap".to_owned()], Some(&script))
    })?;
    common.extend([
        format!("--socket={}", setup.socket.display()),
        format!("--pid-file={dir}/pid"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--port={}", setup.port),
        "--skip-name-resolve".to_owned(),
        "--loose-ssl=0".to_owned(),
        "--max-connections=300".to_owned(),
    ]);
    Ok(Started { arguments: common, unix: address_of(setup.socket), ..Started::default() })
}

/// The table that sysbench's point selects read, with so many rows.
fn of_sysbench(rows: u32) -> String {
    format!(
        "CREATE TABLE ipcost.sbtest1 (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL) ENGINE=InnoDB;
SET SESSION max_recursive_iterations = {rows};
INSERT INTO ipcost.sbtest1 WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {rows}) SELECT id, id, REPEAT('c', 119), REPEAT('p', 59) FROM n;
"
    )
}

/// The statements with which MariaDB's own installer makes the tables of rights, next to the program.
fn tables(program: &Path) -> Option<PathBuf> {
    let prefix = program.parent()?.parent()?;
    let places = ["share/mysql", "share/mariadb", "share"].map(|place| prefix.join(place));
    let names = ["mysql_system_tables.sql", "mariadb_system_tables.sql"];
    places.iter().flat_map(|place| names.map(|name| place.join(name))).find(|path| path.is_file())
}

/// Makes the server's files; fails at the first statement that does.
fn make(
    setup: &Setup<'_>,
    common: &[String],
    own: &[String],
    script: Option<&Path>,
) -> Result<(), PeerError> {
    let input = script.map(fs::File::open).transpose().map_err(system("cannot open a file"))?;
    let started = Driven::start(Launch {
        program: &setup.program.to_string_lossy(),
        arguments: &[common, own].concat(),
        input: input.map(Into::into),
        directory: Some(setup.dir),
        user: setup.user,
        ..Launch::default()
    });
    let mut program = started.map_err(system(format!("cannot start {}", setup.program.display())))?;
    program.finish().map(drop).map_err(refused)
}

fn facts(login: &Login, at: &At) -> Result<Told, PeerError> {
    let mut queries = Queries::new(login, "SELECT 1")?;
    let mut connection = at.connect_patiently()?;
    queries.greet(&mut connection)?;
    let _ = send_all(&mut connection, queries.farewell());
    // Servers offer it over both sockets; the clients of both take it unasked over TCP alone.
    let offers_tls = queries.offers_tls && at.path().is_none();
    Ok(Told { version: short(&queries.version), login: queries.how.to_owned(), offers_tls })
}

/// `10.11.19-MariaDB` of `5.5.5-10.11.19-MariaDB-0+deb12u1`: servers put a version before their own that old clients accept.
fn short(version: &str) -> String {
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    let number = version.split('-').next().unwrap_or_default();
    if version.contains("MariaDB") { format!("{number}-MariaDB") } else { number.to_owned() }
}

/// One query, again and again.
struct Queries {
    user: String,
    /// Empty if there is none.
    password: String,
    database: Option<String>,
    writes: bool,
    request: Vec<u8>,
    /// What the server has told while greeting.
    version: String,
    how: &'static str,
    offers_tls: bool,
    part: Part,
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
enum Part {
    First,
    Columns,
    Rows,
}

impl Queries {
    fn new(login: &Login, query: &str) -> Result<Self, PeerError> {
        let options = options();
        let own = || env::var("USER").or_else(|_| env::var("LOGNAME")).ok();
        let root = || driven::is_root().then(|| "root".to_owned());
        let user = login.user.clone().or_else(|| options.get("user").cloned()).or_else(own).or_else(root);
        let user = user.ok_or_else(|| refused("no user is named; give --user NAME"))?;
        if user.contains('\0') || login.database.as_ref().is_some_and(|name| name.contains('\0')) {
            return Err(refused("a name cannot hold the character NUL; take it out"));
        }
        let password = env::var("MYSQL_PWD").ok().or_else(|| options.get("password").cloned());
        let mut body = vec![COM_QUERY];
        body.extend(query.bytes());
        Ok(Self {
            user,
            password: password.unwrap_or_default(),
            database: login.database.clone(),
            writes: login.writes,
            request: packets(0, &body),
            version: String::new(),
            how: NO_PASSWORD,
            offers_tls: false,
            part: Part::First,
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
        loop {
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
                    let proof = self.proof(method, salt.strip_suffix(&[0]).unwrap_or(salt));
                    wire.send(&proof)?;
                }
                // The server has the password's hash in its memory.
                Some((&MORE, [3])) => {}
                Some((&MORE, [4])) if driven::is_unix(wire.connection) => {
                    // Nobody else hears it there.
                    wire.send(&[self.password.as_bytes(), &[0]].concat())?;
                }
                Some((&MORE, [4])) => {
                    return Err(refused(format!(
                        "{CACHING} needs TLS for the first login over TCP since the server's start, and nothing is encrypted here; give --unix PATH too, or log in once as {} over the Unix socket, and try again",
                        self.user
                    )));
                }
                Some((&ERR, _)) => {
                    return Err(refused(format!("the server refused the login: {}", error_in(&packet))));
                }
                _ => return Err(refused(NOT_MARIADB)),
            }
        }
    }

    /// Takes a packet that says more than how long it is; whether the reply ends there.
    fn look_at(&mut self, packet: &[u8]) -> Result<bool, String> {
        let status = match (self.part, packet[0]) {
            (_, ERR) => return Err(format!("the query failed: {}", error_in(packet))),
            (Part::First, OK) => {
                // After the rows changed and the last number given, integers of variable length.
                let at = [(); 2].iter().fold(1, |at, ()| at + integer_bytes(packet.get(at)));
                packet.get(at..)
            }
            (Part::First, FILE) => {
                return Err("it asks for a file, and none is sent; give a query without LOCAL".to_owned());
            }
            (Part::First, _) => {
                self.part = Part::Columns;
                return Ok(false);
            }
            (Part::Columns, _) => {
                self.part = Part::Rows;
                return Ok(false);
            }
            // After the number of warnings.
            (Part::Rows, _) => packet.get(3..),
        };
        let status = status.and_then(|bytes| bytes.first_chunk()).ok_or(NOT_MARIADB)?;
        self.part = Part::First;
        if u16::from_le_bytes(*status) & MORE_RESULTS != 0 {
            return Ok(false);
        }
        self.was_empty = std::mem::take(&mut self.rows) == 0;
        Ok(true)
    }
}

impl Speech for Queries {
    fn greet(&mut self, connection: &mut Connection) -> Result<(), PeerError> {
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

    fn take(&mut self, bytes: &[u8]) -> Result<Taken, String> {
        let mut at = 0;
        loop {
            let there = self.skip.min(bytes.len() - at);
            at += there;
            self.skip -= there;
            let rest = &bytes[at..];
            let Some(length) = length(rest).filter(|_| self.skip == 0) else { break };
            if !self.continues {
                let Some(kind) = rest.get(HEADER_BYTES) else { break };
                let is_end = *kind == EOF && length < EOF_BELOW;
                if self.part == Part::First || *kind == ERR || is_end {
                    if !(1..=LONGEST_LOOKED_AT).contains(&length) {
                        return Err(NOT_MARIADB.to_owned());
                    }
                    let Some(packet) = rest.get(HEADER_BYTES..HEADER_BYTES + length) else { break };
                    if self.look_at(packet)? {
                        return Ok(Taken { bytes: at + HEADER_BYTES + length, complete: true });
                    }
                } else if self.part == Part::Rows {
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

const NOT_MARIADB: &str = "it answers with something other than a packet of MariaDB or MySQL; is it one?";

/// Packets before the first request of a connection.
struct Wire<'a> {
    connection: &'a mut Connection,
    buffer: Vec<u8>,
    have: usize,
    /// That of the next packet of this side.
    number: u8,
}

impl Wire<'_> {
    fn next(&mut self) -> Result<Vec<u8>, PeerError> {
        loop {
            let have = &self.buffer[..self.have];
            match length(have) {
                Some(length) if length > LONGEST_LOOKED_AT => return Err(refused(NOT_MARIADB)),
                Some(length) if have.len() >= HEADER_BYTES + length => {
                    let packet = have[HEADER_BYTES..HEADER_BYTES + length].to_vec();
                    self.number = have[HEADER_BYTES - 1].wrapping_add(1);
                    self.buffer.copy_within(HEADER_BYTES + length..self.have, 0);
                    self.have -= HEADER_BYTES + length;
                    return Ok(packet);
                }
                _ => {}
            }
            if self.have == self.buffer.len() {
                self.buffer.resize(self.have * 2, 0);
            }
            match self.connection.receive(&mut self.buffer[self.have..]).map_err(failed)? {
                0 => return Err(failed(ended())),
                more => self.have += more,
            }
        }
    }

    fn send(&mut self, body: &[u8]) -> Result<(), PeerError> {
        send_all(self.connection, &packets(self.number, body)).map_err(failed)
    }

    /// Asks for something without rows.
    fn ask(&mut self, statement: &str) -> Result<(), PeerError> {
        self.number = 0;
        self.send(&[&[COM_QUERY], statement.as_bytes()].concat())?;
        let packet = self.next()?;
        match packet.first() {
            Some(&OK) => Ok(()),
            Some(&ERR) => Err(refused(format!("the server refused {statement}: {}", error_in(&packet)))),
            _ => Err(refused(NOT_MARIADB)),
        }
    }
}

#[allow(clippy::needless_pass_by_value)]
fn failed(error: std::io::Error) -> PeerError {
    refused(format!("the server does not greet as MariaDB and MySQL do: {}", no_reply(&error)))
}

/// What a server says first.
struct Handshake {
    version: String,
    capabilities: u32,
    salt: Vec<u8>,
    method: Vec<u8>,
}

fn handshake(packet: &[u8]) -> Option<Handshake> {
    /// The version of the handshake.
    const VERSION: u8 = 10;
    const SALT_BEGINS: usize = 8;
    let (version, rest) = until_nul(packet.strip_prefix(&[VERSION])?)?;
    let (salt, rest) = rest.get(size_of::<u32>()..)?.split_at_checked(SALT_BEGINS)?;
    // A zero, capabilities, characters, status, the other capabilities, the length of the salt, ten that are reserved.
    let (fields, rest) = rest.split_at_checked(19)?;
    let (more_salt, rest) = rest.split_at_checked(SALT_BYTES - SALT_BEGINS)?;
    let name = rest.get(1..)?;
    Some(Handshake {
        version: String::from_utf8_lossy(version).into_owned(),
        capabilities: u32::from_le_bytes([fields[1], fields[2], fields[6], fields[7]]),
        salt: [salt, more_salt].concat(),
        method: until_nul(name).map_or(name, |(name, _)| name).to_vec(),
    })
}

/// A method of login that is known here.
fn known(name: &[u8]) -> Option<&'static str> {
    [NATIVE, CACHING, ED25519].into_iter().find(|known| known.as_bytes() == name)
}

fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

/// A body in as many packets as it takes, from this number on.
fn packets(number: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A packet that is shorter than the longest is the last one, so an empty one may follow.
    for index in 0..=body.len() / LONGEST_PACKET {
        let from = index * LONGEST_PACKET;
        let part = &body[from..body.len().min(from + LONGEST_PACKET)];
        bytes.extend_from_slice(&(part.len() as u32).to_le_bytes()[..3]);
        bytes.push(number.wrapping_add(index as u8));
        bytes.extend_from_slice(part);
    }
    bytes
}

/// The length of the next packet's content.
fn length(bytes: &[u8]) -> Option<usize> {
    let header: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
    Some(u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize)
}

/// The bytes of an integer of variable length that begins with this one.
fn integer_bytes(first: Option<&u8>) -> usize {
    match first {
        Some(0xfc) => 3,
        Some(0xfd) => 4,
        Some(0xfe) => 9,
        _ => 1,
    }
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
}

fn until_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// The number and the text of an error, between which `#` and a state of five letters may stand.
fn error_in(packet: &[u8]) -> String {
    let number =
        packet.get(1..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u16::from_le_bytes(*bytes));
    let text = packet.get(3..).unwrap_or_default();
    let text = if text.first() == Some(&b'#') { text.get(6..).unwrap_or_default() } else { text };
    let text = String::from_utf8_lossy(text).replace(['\n', '\r'], " ");
    let text = text.trim_end_matches('.');
    let way_out = match number {
        1040 | 1203 | 1226 => "raise max_connections, or lower --concurrency",
        1045 | 1698 => "set the password in MYSQL_PWD or ~/.my.cnf, or give --user NAME",
        1046 => "give --database NAME",
        1130 => "create a user who may come from there",
        1792 => "give --writes if the query may change data",
        _ => return format!("{text} ({number})"),
    };
    format!("{text}; {way_out}")
}

/// The options `user` and `password` of all clients, as the file has them.
fn options() -> BTreeMap<String, String> {
    let path = env::var_os("HOME").map(|home| Path::new(&home).join(".my.cnf"));
    path.and_then(|path| fs::read_to_string(path).ok()).map_or_else(BTreeMap::new, |lines| in_lines(&lines))
}

/// Of the group `[client]`; values may be in quotes, and the last one counts.
fn in_lines(lines: &str) -> BTreeMap<String, String> {
    let mut is_client = false;
    let mut options = BTreeMap::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(group) = line.strip_prefix('[') {
            is_client = group.strip_suffix(']').is_some_and(|group| group.trim() == "client");
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_client) {
            let value = value.trim();
            let quoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
            let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
            options.insert(name.trim().to_owned(), unescaped(value));
        }
    }
    options
}

/// A backslash begins the signs that a value cannot hold otherwise.
fn unescaped(value: &str) -> String {
    let mut text = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match (letter, if letter == '\\' { letters.clone().next() } else { None }) {
            ('\\', Some(next @ ('\\' | 's' | 't' | '"' | '\''))) => {
                text.push(match next {
                    's' => ' ',
                    't' => '\t',
                    next => next,
                });
                letters.next();
            }
            (letter, _) => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::kind::taken_by;
    use super::*;

    fn queries(password: &str) -> Queries {
        let login = Login { user: Some("me".to_owned()), ..Login::default() };
        let queries = Queries::new(&login, "SELECT 1").map_err(|error| error.to_string()).unwrap();
        Queries { password: password.to_owned(), ..queries }
    }

    fn reply(bodies: &[&[u8]]) -> Vec<u8> {
        (1..).zip(bodies).flat_map(|(number, body)| packets(number, body)).collect()
    }

    const COLUMN: &[u8] = b"\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x03\x81\0\0\0\0";
    const END: &[u8] = &[EOF, 0, 0, 2, 0];

    #[test]
    fn a_reply_ends_after_its_rows_however_it_arrives() {
        let long = [&[0xfe, 44, 1, 0, 0, 0, 0, 0, 0][..], &[7; 300]].concat();
        let rows = reply(&[&[1], COLUMN, END, b"\x011", &long, &[FILE], END]);
        let changed = reply(&[&[OK, 0xfc, 1, 1, 0, 2, 0, 0, 0]]);
        let procedure = reply(&[&[1], COLUMN, END, b"\x011", &[EOF, 0, 0, 10, 0], &[OK, 0, 0, 2, 0, 0, 0]]);
        for (reply, is_empty) in [(rows, false), (changed, true), (procedure, false)] {
            for step in 1..=reply.len() {
                let mut speech = queries("");
                assert_eq!(taken_by(&mut speech, &reply, step), Ok((reply.len(), true)), "{step}");
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
            assert_eq!(taken_by(&mut queries(""), &reply, step), Ok((reply.len(), true)));
        }
        assert_eq!(packets(0, &row[..LONGEST_PACKET]).len(), 2 * HEADER_BYTES + LONGEST_PACKET);
    }

    #[test]
    fn an_error_is_told_with_what_to_do_and_no_file_is_sent() {
        let told = |reply: &[u8]| queries("").take(reply).unwrap_err();
        let error = reply(&[b"\xff\x00\x07#25006Cannot execute statement in a READ ONLY transaction"]);
        assert!(told(&error).contains("READ ONLY transaction; give --writes"));
        assert!(told(&reply(&[b"\xfb/etc/passwd"])).contains("none is sent"));
        assert_eq!(
            error_in(b"\xff\x6a\x04Host 'x' is not allowed"),
            "Host 'x' is not allowed; create a user who may come from there"
        );
        assert_eq!(told(b"HTTP/1.1 400 Bad Request\r\n"), NOT_MARIADB);
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

    #[test]
    fn the_file_of_options_is_read_as_other_clients_do() {
        let lines = "[mysqld]\nuser=no\n[client]\n# password=no\nuser = me\npassword=\"a b#\\\\\"\n[mysql]\nuser=no\n";
        let options = in_lines(lines);
        assert_eq!(options["user"], "me");
        assert_eq!(options["password"], "a b#\\");
        assert!(in_lines("user=me").is_empty());
    }
}
