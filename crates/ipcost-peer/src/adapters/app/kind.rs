//! What a kind of server is to the rest: how a private one is started, what it is asked, how it is spoken to.

use std::fs;
use std::path::{Path, PathBuf};

use ipcost_model::ModelError;
use ipcost_model::protocol::Address;
use ipcost_sys::driven_program::{self, DrivenProgram};
use ipcost_sys::transport::Connection;
use ipcost_sys::{Launch, User, programs};
use serde::{Deserialize, Serialize};

use super::{KINDS, LoadTool, fastcgi, front};
use crate::PeerError;
use crate::adapters::port::Port;
use crate::adapters::server_address::{GivenAddress, ServerAddress};
use crate::adapters::system;

/// A kind of real server.
pub struct ServerKind {
    /// Its name in commands.
    pub name: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    /// Other names for it, in the order of help texts.
    pub aliases: &'static [Alias],
    /// The names of the program of a private one, of which the first that is found is started.
    pub programs: &'static [&'static str],
    /// Where it is if not on the path; `*` is any one name.
    pub places: &'static [&'static str],
    /// Debian's package with it.
    pub package: &'static str,
    /// The users of that package, whose rights a private one has where this program runs as root.
    pub users: &'static [&'static str],
    /// The least that it can be asked.
    pub least: &'static str,
    /// Whether every server of this kind answers that, also the user's own.
    pub least_anywhere: bool,
    /// What programs commonly ask; a private server has what it needs.
    pub typical: &'static str,
    /// The same of a server of which nothing is known; `None` if there is nothing that each of them answers.
    pub typical_anywhere: Option<&'static str>,
    /// Whether a client may send a request before the reply to the one before.
    pub pipelines: bool,
    /// The user and the database of a private server, if it has such.
    pub private_login: Option<(&'static str, &'static str)>,
    /// Why a private one cannot keep other users of this machine out of its port by itself; `None` if it can.
    pub open_to_all: Option<&'static str>,
    /// Whether its clients take TLS over TCP without being asked, where the server offers it.
    pub takes_tls: bool,
    /// The server that it stands in front of, if it does: what differs is then how it reaches that one.
    pub behind: Option<&'static ServerKind>,
    /// How such a server is made to listen on either socket.
    pub listens: Listens,
    /// How many clients come at once to a private server to see what its queue does; 0 where each would cost a process.
    pub burst: u32,
    /// The most clients at once that a private server answers, where that is few.
    pub most_clients: Option<fn() -> u32>,
    /// Starts a private server.
    pub(super) start: fn(&Setup<'_>) -> Result<Started, PeerError>,
    /// How it is spoken to, from who asks, the request, and whether a connection is kept for further requests.
    ///
    /// A login with a secret is that of a private server: it proves who asks with it, and with nothing that is the user's.
    pub(super) speech: fn(&Login, &str, bool) -> Spoken,
    /// The version, and how the connection is protected, as a greeted connection tells.
    pub(super) facts: fn(&Login, &ServerAddress) -> Result<ReportedFacts, PeerError>,
}

/// How a server is made to listen: what its configuration needs, and the page about it.
#[derive(Debug, Clone, Copy)]
pub struct Listens {
    /// On a Unix socket.
    pub unix: &'static str,
    pub tcp: &'static str,
    /// The page of the documentation.
    pub page: &'static str,
}

/// Another name for a kind: that of a server which speaks the same protocol.
pub struct Alias {
    /// Its name in commands.
    pub name: &'static str,
    /// The server's name in sentences.
    pub product: &'static str,
    /// The programs that are this server, of those that the kind starts; `None` if each of them is.
    pub programs: Option<&'static [&'static str]>,
}

impl Alias {
    pub(super) const fn new(
        name: &'static str,
        product: &'static str,
        programs: Option<&'static [&'static str]>,
    ) -> Self {
        Self { name, product, programs }
    }
}

/// A kind of server, as it was named.
#[derive(Clone, Copy)]
pub struct NamedServer {
    pub kind: &'static ServerKind,
    /// The alias, if it was named by one.
    pub alias: Option<&'static Alias>,
}

impl NamedServer {
    /// The program of the private server, if another than the kind's first is that of the name.
    pub fn program(&self) -> Option<&'static str> {
        let own = self.alias?.programs?;
        self.started(&|program| found(program, self.kind)).filter(|program| own.contains(program))
    }

    /// Which program is started: one that is the named server, or else the kind's first that is there.
    fn started(&self, search: Search<'_>) -> Option<&'static str> {
        let own = self.alias.and_then(|alias| alias.programs).unwrap_or_default();
        // A link to another server has only its name.
        let is_it = |program: &&&str| search(program).is_some_and(|real| real == ***program);
        let all = self.kind.programs;
        own.iter().find(is_it).or_else(|| all.iter().find(|program| search(program).is_some())).copied()
    }

    /// What the server is called in sentences.
    pub fn title(&self, is_private: bool) -> &'static str {
        let is_it = |alias: &&Alias| !is_private || alias.programs.is_none() || self.program().is_some();
        let known = |alias: &&Alias| !self.kind.title.contains(alias.product);
        self.alias.filter(is_it).filter(known).map_or(self.kind.title, |alias| alias.product)
    }

    /// In a line that the private server is of another product than the named one; `None` if it is not, or none is there.
    pub fn substitute(&self) -> Option<String> {
        self.substitute_of(&|program| found(program, self.kind))
    }

    fn substitute_of(&self, search: Search<'_>) -> Option<String> {
        let real = search(self.started(search)?)?;
        let (name, product) = match self.alias {
            Some(alias) if alias.programs.is_none_or(|own| own.contains(&real.as_str())) => return None,
            Some(alias) => (alias.name, alias.product),
            None => {
                // A program of the kind that is known by another name.
                let first = self.kind.programs[0];
                let own = self.kind.aliases.iter().filter_map(|alias| alias.programs);
                let is_other =
                    |own: &[&str]| own.contains(&real.as_str()) && !own.contains(&first) && real != first;
                own.into_iter().find(|own| is_other(own))?;
                (self.kind.name, self.kind.title)
            }
        };
        Some(format!("{name}: the private server is {real}; your own {product}: --unix PATH --tcp HOST:PORT"))
    }
}

/// Finds a program of a kind: the name of that which it is.
type Search<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The most links that are followed.
const MOST_LINKS: usize = 8;

/// What a program of a kind is, as links tell: `mysqld` may be a link to `mariadbd`. Links to programs that are none of the kind's
/// tell nothing: Debian's `redis-server` is one to `redis-check-rdb`.
fn found(program: &str, kind: &ServerKind) -> Option<String> {
    let mut path = programs::search(program, kind.places)?;
    let mut is = program;
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("/")).join(next);
        let name = path.file_name().unwrap_or_default();
        is = kind.programs.iter().find(|known| name == **known).copied().unwrap_or(is);
    }
    Some(is.to_owned())
}

/// Finds a kind by its name or by an alias.
pub fn find_named(name: &str) -> Result<NamedServer, PeerError> {
    let named = KINDS.iter().find_map(|kind| {
        let alias = kind.aliases.iter().find(|alias| alias.name == name);
        (alias.is_some() || kind.name == name).then_some(NamedServer { kind, alias })
    });
    if let Some(named) = named {
        return Ok(named);
    }
    let aliases = KINDS.iter().flat_map(|kind| kind.aliases).map(|alias| alias.name);
    let known = KINDS.iter().map(|kind| kind.name).chain(aliases);
    Err(ModelError::unknown("server", name, known).into())
}

/// Servers in front of others: only private ones, since what a front of the user's own reaches, and how, cannot be known.
const FRONTS: &[ServerKind] = &[front::NGINX, front::H2O];

/// Finds a kind by its name, with those that only private servers have.
pub fn find_any(name: &str) -> Result<&'static ServerKind, PeerError> {
    FRONTS.iter().find(|kind| kind.name == name).map_or_else(|| find(name), Ok)
}

pub fn find(name: &str) -> Result<&'static ServerKind, PeerError> {
    let unknown = || ModelError::unknown("server", name, KINDS.iter().map(|kind| kind.name));
    Ok(KINDS.iter().find(|kind| kind.name == name).ok_or_else(unknown)?)
}

impl Setup<'_> {
    /// Runs a program of the server to its end.
    pub(super) fn run(
        &self,
        program: &Path,
        arguments: &[String],
        input: Option<&Path>,
    ) -> Result<(), PeerError> {
        let input = input.map(fs::File::open).transpose().map_err(system("cannot open a file"))?;
        let started = DrivenProgram::start(Launch {
            program: &program.to_string_lossy(),
            arguments,
            input: input.map(Into::into),
            directory: Some(self.room),
            user: self.user,
            without_environment: true,
            ..Launch::default()
        });
        let mut program = started.map_err(system(format!("cannot start {}", program.display())))?;
        Ok(program.finish().map(drop)?)
    }

    /// Makes what servers of the same run have after one another, such as a database, unless one before has.
    pub(super) fn make_once(&self, make: impl FnOnce() -> Result<(), PeerError>) -> Result<(), PeerError> {
        let complete = self.kept.join("complete");
        if complete.exists() {
            return Ok(());
        }
        make()?;
        driven_program::make_file(&complete, b"", None)
            .map_err(system(format!("cannot write {}", complete.display())))
    }

    /// Where servers of the same run keep their data; it is the server's.
    pub(super) fn data(&self) -> Result<PathBuf, PeerError> {
        let data = self.kept.join("data");
        if !data.exists() {
            driven_program::give_directory(&data, self.user)
                .map_err(system(format!("cannot make {}", data.display())))?;
        }
        Ok(data)
    }

    /// Writes a file that the server alone can read, into the directory that stays this process's.
    pub(super) fn file(&self, name: &str, content: &[u8]) -> Result<PathBuf, PeerError> {
        let path = self.dir.join(name);
        driven_program::make_file(&path, content, self.user)
            .map_err(system(format!("cannot write {}", path.display())))?;
        Ok(path)
    }
}

impl ServerKind {
    /// Whether a program of this name, as the kernel shortens it, is this server, or is known by one of its aliases.
    pub fn is_program(&self, name: &str) -> bool {
        let all = self.programs.iter().copied().chain(self.aliases.iter().map(|alias| alias.name));
        all.chain([self.name]).any(|known| known == name || (name.len() == 15 && known.starts_with(name)))
    }

    /// Why no private server can be started here; `None` if one can.
    pub fn unavailable(&self) -> Option<String> {
        self.missing().map(|(program, package)| {
            format!(
                "{program} is not installed ({}: {package}), or give --unix PATH and --tcp HOST:PORT of your own",
                programs::INSTALL
            )
        })
    }

    /// The program that is missing for a private one, and its package; `None` if nothing is.
    pub fn missing(&self) -> Option<(&'static str, &'static str)> {
        match self.found() {
            Some(_) => self.behind.and_then(Self::missing),
            None => Some((self.programs[0], self.package)),
        }
    }

    pub(super) fn found(&self) -> Option<PathBuf> {
        self.programs.iter().find_map(|program| self.found_as(program))
    }

    pub(super) fn found_as(&self, program: &str) -> Option<PathBuf> {
        programs::search(program, self.places)
    }

    /// The least that a server can be asked, the user's own or a private one.
    pub fn least_for(&self, given: &GivenAddress) -> Option<&'static str> {
        (given.is_empty() || self.least_anywhere).then_some(self.least)
    }

    /// What programs commonly ask a server, the user's own or a private one.
    pub fn typical_for(&self, given: &GivenAddress) -> Option<&'static str> {
        if given.is_empty() { Some(self.typical) } else { self.typical_anywhere }
    }

    /// Who asks: as the user says of their own server; a private one knows one login.
    pub fn login_for(&self, given: &GivenAddress, asked: &Login) -> Login {
        match given.is_empty() {
            true => Login { writes: asked.writes, tls: asked.tls, ..self.login() },
            false => Login { usual_owners: self.users, ..asked.clone() },
        }
    }

    /// Why other users of this machine reach a private server while it is measured with a load tool or without: that is then kept
    /// from them by a network of its own. `None` if it and those who ask it keep them out.
    pub fn is_open_to_all(&self, tool: Option<&LoadTool>) -> Option<&'static str> {
        self.open_to_all.or_else(|| tool?.shows_secret)
    }

    /// The user's own script among requests, which a private server of scripts is allowed to run besides its own.
    pub fn own_script<'a>(&self, requests: &'a [String]) -> Option<&'a str> {
        let path = |request: &'a String| request.split('?').next().filter(|path| path.starts_with('/'));
        requests.iter().find_map(path).filter(|_| self.name == fastcgi::KIND.name)
    }

    /// Who asks a private server.
    pub(super) fn login(&self) -> Login {
        let (user, database) = self.private_login.unzip();
        Login { user: user.map(str::to_owned), database: database.map(str::to_owned), ..Login::default() }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Login {
    pub user: Option<String>,
    pub database: Option<String>,
    /// Whether requests may change data.
    pub writes: bool,
    /// Whether TLS is taken over TCP where the server offers it, as the server's own clients do.
    pub tls: bool,
    /// Other users, by name or number, whose server may learn the password; [`super::UNKNOWN_OWNER`] for one whose owner cannot be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted_owners: Vec<String>,
    /// The accounts that servers of this kind have.
    #[serde(skip)]
    pub usual_owners: &'static [&'static str],
    /// What a private server knows its clients by; `None` for a server of the user's own. Written nowhere.
    #[serde(skip)]
    pub secret: Option<String>,
    /// The host, or the directory of the socket, and the port, as files of passwords name them.
    #[serde(skip)]
    pub place: Option<(String, u16)>,
}

impl Login {
    /// The same for the server at an address.
    pub(super) fn at(&self, at: &ServerAddress) -> Self {
        Self { secret: at.secret().map(str::to_owned), place: at.place(), ..self.clone() }
    }
}

/// What a private server is started with.
pub(super) struct Setup<'a> {
    pub(super) program: &'a Path,
    /// A directory of this process, for the files that the server reads; it may pass it.
    pub(super) dir: &'a Path,
    /// A directory of the server, for what it writes.
    pub(super) room: &'a Path,
    /// A directory of this process with what the server of the epoch before has left there.
    pub(super) kept: &'a Path,
    /// What it knows its clients by; servers that keep data have the same in a run.
    pub(super) secret: &'a str,
    /// Whether its clients may change data.
    pub(super) writes: bool,
    /// Where its Unix socket goes, in its own directory.
    pub(super) socket: &'a Path,
    pub(super) port: u16,
    /// The user it runs as, if not this process's.
    pub(super) user: Option<User>,
    /// How it is to differ from a usual one.
    pub(super) settings: &'a ServerSettings,
}

/// How a private server is to differ from a usual one.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerSettings {
    /// Which of its programs is started, if not the first that is there.
    pub(super) program: Option<&'static str>,
    /// How many connections may wait to be accepted.
    pub(super) backlog: Option<u32>,
    /// Whether it offers to encrypt connections over TCP.
    pub(super) tls: bool,
    /// Rows of the table that sysbench asks; without, there is none.
    pub(super) rows: Option<u32>,
    /// A script of the user's own that a server of scripts may run, by its absolute path.
    pub(super) script: Option<PathBuf>,
}

/// How to start a private server once everything it needs is there.
#[derive(Default)]
pub(super) struct Started {
    pub(super) arguments: Vec<String>,
    /// Those of a second process with the same settings, if one cannot listen on both sockets: the first listens on the Unix
    /// socket, this one on the port.
    pub(super) second: Option<Vec<String>>,
    /// Its Unix socket; in front of a server, the port whose requests reach that one over a Unix socket.
    pub(super) unix: Address,
    /// The port, if it is none of the setup's; in front of a server, the one whose requests reach that one over TCP.
    pub(super) tcp: Option<Address>,
    /// A program that must run before, with its arguments, and ports that only listening gives up.
    pub(super) behind: Option<(PathBuf, Vec<String>)>,
    pub(super) held: Vec<Port>,
    pub(super) ending: Ending,
    /// What each process is asked once it answers, so that the typical request has something to find.
    pub(super) then: Vec<String>,
}

/// The address of a socket's path.
pub(super) fn address_of(path: &Path) -> Address {
    Address::from_iter([("path".to_owned(), path.to_string_lossy().into())])
}

/// How a private server is ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ending {
    /// With `SIGTERM`.
    #[default]
    Asked,
    /// With `SIGINT`, which ends it sooner; also if the process that keeps it is killed.
    Interrupted,
    /// At once: nothing of it is left but its directory, and it would take its time.
    Killed,
}

/// What a server tells of itself and of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedFacts {
    pub version: String,
    /// How it knows who asks: `no password`, `scram-sha-256`.
    pub login: String,
    /// Whether the server offers to encrypt it, which some clients take without being asked.
    pub offers_tls: bool,
}

impl ReportedFacts {
    /// Of a server that lets everyone in and knows no TLS.
    pub(super) fn open(version: String) -> Self {
        Self { version, login: NO_PASSWORD.to_owned(), offers_tls: false }
    }
}

/// A login without a proof.
pub(super) const NO_PASSWORD: &str = "no password";

/// A way to speak to a server, or what is wrong with the request.
pub(super) type Spoken = Result<Box<dyn Speech>, PeerError>;

/// How a server is spoken to, on one connection at a time.
pub(super) trait Speech: Send {
    /// What comes before the first request of a connection.
    fn greet(&mut self, _connection: &mut Connection) -> Result<(), PeerError> {
        Ok(())
    }

    /// A request, as it is sent.
    fn request(&self) -> &[u8];

    /// Takes whole parts from what has arrived of a reply.
    fn take(&mut self, bytes: &[u8]) -> Result<Taken, PeerError>;

    /// Whether the last reply held nothing, as of a query that found no row.
    fn is_empty(&self) -> bool {
        false
    }

    /// Whether the end of the connection is the end of the reply, as some protocols have it.
    fn ends_with_connection(&mut self) -> bool {
        false
    }

    /// Whether a server may close a kept connection between requests unannounced, and a request is then asked again.
    fn may_ask_again(&self) -> bool {
        false
    }

    /// Whether the server closes the connection after the reply that was taken last.
    fn is_last(&self) -> bool {
        false
    }

    /// What is said before a connection is closed.
    fn farewell(&self) -> &[u8] {
        &[]
    }
}

pub(super) const LINE_END: &[u8] = b"\r\n";
/// The longest line of a reply.
pub(super) const LONGEST_LINE: usize = 65_536;

/// The next line, without its CR and LF; `None` if it has not come to its end. What is no line is an error with these words.
pub(super) fn line<'a>(bytes: &'a [u8], wrong: &'static str) -> Result<Option<&'a [u8]>, PeerError> {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => Ok(Some(bytes[..end].strip_suffix(&LINE_END[..1]).ok_or(wrong)?)),
        None if bytes.len() > LONGEST_LINE => Err(wrong.into()),
        None => Ok(None),
    }
}

/// The bytes of a reply that are taken of one that comes in pieces of `step` bytes, and whether it is then complete.
#[cfg(test)]
pub(super) fn taken_by(speech: &mut dyn Speech, reply: &[u8], step: usize) -> (usize, bool) {
    let (mut from, mut to) = (0, 0);
    loop {
        to = (to + step).min(reply.len());
        let taken = speech.take(&reply[from..to]).unwrap();
        from += taken.bytes;
        if taken.complete || to == reply.len() {
            return (from, taken.complete);
        }
    }
}

/// Passes over bytes that are still to come of something that needs no look; how many are here.
pub(super) fn passed(skip: &mut usize, bytes: &[u8]) -> usize {
    let there = bytes.len().min(*skip);
    *skip -= there;
    there
}

/// How much of a reply was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) bytes: usize,
    /// Whether the reply ends there.
    pub(super) complete: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_is_of_a_kind_and_no_name_is_taken_twice() {
        let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        names.extend(KINDS.iter().flat_map(|kind| kind.aliases).map(|alias| alias.name));
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        for (kind, alias) in KINDS.iter().flat_map(|kind| kind.aliases.iter().map(move |alias| (kind, alias)))
        {
            let named = find_named(alias.name).unwrap();
            assert_eq!((named.kind.name, named.alias.map(|it| it.name)), (kind.name, Some(alias.name)));
            let own = alias.programs.unwrap_or_default();
            assert!(own.iter().all(|program| named.kind.programs.contains(program)), "{}", alias.name);
        }
        assert!(find_named("redis").is_ok_and(|named| named.alias.is_none()));
    }

    #[test]
    fn an_unknown_name_lists_all_and_the_nearest() {
        let error = find_named("ngimx").err().unwrap().to_string();
        assert!(error.contains("did you mean \"nginx\"?"), "{error}");
        assert!(error.contains("postgres,") && error.contains("valkey,") && error.contains("php"), "{error}");
    }

    #[test]
    fn another_product_than_the_named_one_is_named() {
        let with = |name: &str, installed: &'static [(&str, &str)]| {
            let search = |program: &str| {
                let found = installed.iter().find(|(name, _)| *name == program);
                found.map(|(_, real)| (*real).to_owned())
            };
            find_named(name).unwrap().substitute_of(&search)
        };
        let both = &[("redis-server", "redis-server"), ("valkey-server", "valkey-server")];
        assert_eq!(with("valkey", both), None);
        assert_eq!(with("redis", both), None);
        assert_eq!(
            with("keydb", both).as_deref(),
            Some("keydb: the private server is redis-server; your own KeyDB: --unix PATH --tcp HOST:PORT")
        );
        let without = &[("redis-server", "redis-server")];
        assert!(with("valkey", without).is_some_and(|text| text.contains("is redis-server;")));
        let linked = &[("redis-server", "valkey-server"), ("valkey-server", "valkey-server")];
        assert!(with("redis", linked).is_some_and(|text| text.contains("is valkey-server; your own Redis")));
        let debian = &[("mariadbd", "mariadbd"), ("mysqld", "mariadbd")];
        assert!(with("mysql", debian).is_some_and(|text| text.contains("is mariadbd; your own MySQL")));
        assert_eq!(with("mariadb", debian), None);
        assert_eq!(with("mysql", &[("mysqld", "mysqld")]), None);
        let nginx = &[("nginx", "nginx")];
        assert_eq!((with("nginx", nginx), with("http", nginx)), (None, None));
        assert!(with("caddy", nginx).is_some_and(|text| text.contains("is nginx; your own Caddy")));
        assert_eq!(with("php", &[("php-fpm8.2", "php-fpm8.2")]), None);
        assert_eq!(with("caddy", &[]), None);
    }
}
