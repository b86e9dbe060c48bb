//! Real servers under requests of the user's own: a database, a cache, a web server.
//!
//! A [`ServerKind`] is one file here: how a private server is started, and how it is spoken to. The rest is common to all: `service`
//! keeps a private server, `client` asks, `server` accounts for what the server's processes use.

mod burst;
mod client;
mod fastcgi;
mod front;
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod kind;
mod look;
mod mariadb;
mod memcached;
mod postgres;
mod redis;
mod server;
mod service;
mod tool;
mod trust;

use ipcost_model::pace;
use ipcost_model::protocol::{Address, Hello, PeerRole};
use ipcost_model::{Cell, ModelError, Pattern};

pub use self::burst::{BURST_PATIENCE, BurstOutcome, backlog, burst};
use self::kind::ServerSettings;
pub use self::kind::{
    Alias, Listens, Login, NamedServer, ReportedFacts, ServerKind, find, find_any, find_named,
};
pub use self::look::{AskedRequest, ServerFacts, look};
pub use self::tool::LoadTool;
pub use self::trust::UNKNOWN as UNKNOWN_OWNER;
pub use crate::adapters::server_address::{GivenAddress, ServerAddress};
use crate::adapters::{Adapter, allow_options, hello, refused};
use crate::{Peer, PeerError, Prepared};

/// Every kind of server, in the order of help texts. To add one is to add its file and a line here.
pub const KINDS: &[ServerKind] =
    &[postgres::KIND, mariadb::KIND, redis::KIND, memcached::KIND, http::KIND, fastcgi::KIND];

/// The adapter: `ipcost peer app KIND …`.
pub(crate) const ADAPTER: Adapter = Adapter {
    name: "app",
    peers: &[],
    programs: &[],
    packages: &[],
    own_wire: &[],
    only: None,
    new: |arguments| {
        let given = Arguments::read(arguments)?;
        Ok(match given.is_service {
            true => Box::new(service::Service::new(given)),
            false => Box::new(App(given)),
        })
    },
};

const PATTERNS: &[Pattern] = &[Pattern::Rr, Pattern::Connect];
const TRANSPORTS: &[&str] = &["unix", "tcp"];
const OPTIONS: &[&str] = &[
    "workers",
    "tcp_nodelay",
    "pipeline",
    pace::THINK,
    pace::RATE,
    pace::ARRIVALS,
    pace::PACER,
    pace::POLLUTE,
    pace::CPU_DMA_LATENCY,
    pace::TIMER_SLACK,
];

/// What follows `ipcost peer app`.
pub(crate) struct Arguments {
    kind: &'static ServerKind,
    /// Whether this process keeps a private server; otherwise it plays a role.
    is_service: bool,
    given: GivenAddress,
    login: Login,
    settings: ServerSettings,
    /// Whether the client waits for replies in `recv`.
    blocks: bool,
    /// What plays the client's role, if not this program.
    tool: Option<&'static LoadTool>,
}

impl Arguments {
    fn read(words: &[String]) -> Result<Self, PeerError> {
        let mut words = words.iter();
        let kind = kind::find_any(words.next().map_or("", String::as_str))?;
        let mut read = Self {
            kind,
            is_service: false,
            given: GivenAddress::default(),
            login: Login::default(),
            settings: ServerSettings::default(),
            blocks: false,
            tool: None,
        };
        while let Some(name) = words.next() {
            let flag = match name.as_str() {
                "--service" => Some(&mut read.is_service),
                "--writes" => Some(&mut read.login.writes),
                "--tls" => Some(&mut read.settings.tls),
                "--prefer-tls" => Some(&mut read.login.tls),
                "--blocking" => Some(&mut read.blocks),
                _ => None,
            };
            if let Some(flag) = flag {
                *flag = true;
                continue;
            }
            let value = words.next().ok_or_else(|| refused(format!("{name} needs a value")))?;
            match name.as_str() {
                "--unix" => read.given.unix = Some(ServerAddress::of_path(value)?),
                // Anyone who starts this peer has asked its user whether it may be elsewhere.
                "--tcp" => read.given.tcp = Some(ServerAddress::of_host_and_port(value, true)?),
                // As files of passwords name it.
                "--host-name" => read.given.tcp = read.given.tcp.take().map(|at| at.named(value)),
                "--user" => read.login.user = Some(value.clone()),
                "--trust-owner" => read.login.trusted_owners.push(value.clone()),
                "--database" => read.login.database = Some(value.clone()),
                "--tool" => read.tool = Some(LoadTool::find(value, kind.name)?),
                "--backlog" => read.settings.backlog = Some(number(name, value)?),
                "--program" => {
                    let known = kind.programs.iter().find(|program| *program == value);
                    let unknown = || ModelError::unknown("program", value, kind.programs.iter().copied());
                    read.settings.program = Some(known.copied().ok_or_else(unknown)?);
                }
                "--rows" => read.settings.rows = Some(number(name, value)?),
                "--own-script" => read.settings.script = Some(value.into()),
                _ => {
                    return Err(refused(format!(
                        "there is no argument {name}; give --unix PATH, --tcp HOST:PORT, --host-name NAME, --user NAME, --database NAME, --trust-owner USER, --writes, --prefer-tls, --blocking, --tool NAME, --service, --program NAME, --backlog N, --rows N or --tls"
                    )));
                }
            }
        }
        read.login = kind.login_for(&read.given, &read.login);
        Ok(read)
    }
}

fn number(name: &str, value: &str) -> Result<u32, PeerError> {
    value.parse().map_err(|_| refused(format!("{name} is a number, and {value} is none")))
}

/// A peer that plays a role: the client asks, the server accounts.
struct App(Arguments);

impl App {
    /// The server of a cell: the user's own, or else the private one, whose address the engine knows.
    fn at(&self, cell: &Cell, address: &Address) -> Result<ServerAddress, PeerError> {
        let given = match cell.transport.as_str() {
            "unix" => &self.0.given.unix,
            _ => &self.0.given.tcp,
        };
        match given {
            Some(at) => Ok(at.clone()),
            None => ServerAddress::of(&cell.transport, address),
        }
    }

    fn check(&self, cell: &Cell) -> Result<(), PeerError> {
        if !TRANSPORTS.contains(&cell.transport.as_str()) {
            return Err(refused(format!("a server is not reached over {}; give unix, tcp", cell.transport)));
        }
        if !PATTERNS.contains(&cell.pattern) {
            return Err(refused(format!(
                "there is no pattern {} with a server; give rr, connect",
                cell.pattern
            )));
        }
        if cell.options.pipeline().is_some() && !self.0.kind.pipelines {
            return Err(refused(format!(
                "{} answers one request at a time on a connection; leave option pipeline out",
                self.0.kind.title
            )));
        }
        if cell.options.pipeline().is_some_and(|at_once| at_once > 1) && cell.pace().is_paced() {
            return Err(refused("requests in one go have no pace of their own; leave option pipeline out"));
        }
        if let Some(most) = self.0.kind.most_clients.map(|most| most()).filter(|_| self.0.given.is_empty())
            && cell.concurrency > most
        {
            return Err(refused(format!(
                "a private {} answers {most} clients at once; give --concurrency {most} or less, or a server of your own",
                self.0.kind.title
            )));
        }
        allow_options(self.0.kind.name, cell, OPTIONS)
    }
}

impl Peer for App {
    fn hello(&self) -> Hello {
        hello(self.0.kind.name, self.0.kind.title.to_owned(), TRANSPORTS, PATTERNS, OPTIONS)
    }

    fn prepare(&self, role: PeerRole, cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
        self.check(cell)?;
        match role {
            PeerRole::Client if let Some(tool) = self.0.tool => {
                let (login, tls) = (&self.0.login, self.0.settings.tls);
                tool::prepare(tool, (self.0.kind, login, tls), cell, &self.at(cell, address)?, address)
            }
            PeerRole::Client => {
                let who = (&self.0.login, self.0.blocks);
                client::prepare(self.0.kind, who, cell, &self.at(cell, address)?, address)
            }
            PeerRole::Server => server::prepare(cell, &self.at(cell, address)?, self.0.given.is_empty()),
        }
    }
}
