//! What `ipcost app` takes.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use ipcost_features::app::{KINDS, ServerKind};
use ipcost_model::units::{parse_duration, parse_rate};

use super::run::parse_name;
use super::{Common, MeasuringArgs};

const SERVER: &str = "Which server, and what it is asked";
const HOW: &str = "How to measure";
const OUTPUT: &str = "Output";

/// Every name of a server, with its aliases.
fn names() -> String {
    let of = |kind: &ServerKind| {
        let aliases: Vec<&str> = kind.aliases.iter().map(|alias| alias.name).collect();
        format!("{} ({})", kind.name, aliases.join(", "))
    };
    let all: Vec<String> = KINDS.iter().map(of).collect();
    format!("Which server, or its alias in brackets: {}; without it, all are listed", all.join(", "))
}

/// Which server of a kind it is, and what it is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ServerArgs {
    /// Your server's TCP port; only on loopback
    #[arg(long, value_name = "HOST:PORT", help_heading = SERVER)]
    pub tcp: Option<String>,
    /// Accept a TCP address that is not on loopback: a container's, or another machine's; the way there is then part of what TCP costs
    #[arg(long, requires = "tcp", help_heading = SERVER)]
    pub remote: bool,
    /// Your server's Unix socket
    #[arg(long, value_name = "PATH", help_heading = SERVER)]
    pub unix: Option<String>,
    /// Your own request: SQL for a database, a command for a cache ('GET key'), 'GET /path' for a web server, the absolute path of a
    /// script for FastCGI [default: a typical one]
    #[arg(long, aliases = ["query", "command", "script"], value_name = "TEXT", help_heading = SERVER)]
    pub request: Option<String>,
    /// The same from a file, for a database
    #[arg(long, alias = "query-file", value_name = "FILE", conflicts_with = "request", help_heading = SERVER)]
    pub request_file: Option<PathBuf>,
    /// The user to log in as [default: as the server's own client does]
    #[arg(long, value_name = "NAME", help_heading = SERVER)]
    pub user: Option<String>,
    /// Also send the password to a server of this user (name or number), such as a container's; "unknown" if the owner cannot be determined [default: only to yours, root's, and the server's usual account]
    #[arg(long, value_name = "USER", help_heading = SERVER)]
    pub trust_owner: Vec<String>,
    /// The database
    #[arg(long, value_name = "NAME", help_heading = SERVER)]
    pub database: Option<String>,
    /// Assert that both addresses reach the same server, with no proxy in front; needed if ipcost cannot check it, as without root or in a container
    #[arg(long, requires_all = ["unix", "tcp"], help_heading = SERVER)]
    pub same_server: bool,
    /// Allow requests that may change data
    #[arg(long, help_heading = SERVER)]
    pub writes: bool,
    /// Do not ask before loading your own server (--rate, --burst, ipcost load)
    #[arg(long, help_heading = SERVER)]
    pub yes: bool,
    /// Start a private server even if it cannot be isolated; other users of this machine can then use it while it runs, and PHP-FPM runs what they send
    #[arg(long, conflicts_with_all = ["tcp", "unix"], help_heading = SERVER)]
    pub expose_to_local_users: bool,
}

/// Operations a second, at least one.
fn per_s(text: &str) -> anyhow::Result<u64> {
    let rate = parse_rate(text)?.round();
    ensure!(rate >= 1.0, "nothing is offered at that rate; give at least 1/s");
    Ok(rate as u64)
}

/// Without addresses a private server of the installed kind is started, as an ordinary user and on both sockets, and removed.
#[derive(Debug, Default, Args)]
#[command(
    mut_arg("wait", |arg| arg.help_heading(HOW)),
    mut_arg("server", |arg| arg.help(names())),
    mut_arg("budget", |arg| arg.help("How long the run may take; it ends earlier once every question is answered [default: 40s]")),
    after_long_help = "Passwords are taken from where the server's own client takes them: PGPASSWORD or ~/.pgpass, MYSQL_PWD or ~/.my.cnf, REDISCLI_AUTH.\n\nYour data are only read: SQL runs in read-only transactions, and other commands need --writes.\n\nExit status: 0 done, 1 failed, 2 wrong usage or a server that cannot be measured (nothing was), 130 interrupted (what was measured is shown)."
)]
pub struct AppArgs {
    // Its help lists every name.
    #[arg(value_name = "NAME")]
    pub server: Option<String>,

    #[command(flatten)]
    pub asked: ServerArgs,

    /// Also measure with N clients at once [default: as many as cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = HOW)]
    pub concurrency: Option<u32>,
    /// Do not equalise TLS and other settings; TCP then uses TLS if the server offers it, as its own clients do
    #[arg(long, help_heading = HOW)]
    pub as_configured: bool,
    /// Let the client wait for replies in recv, as simple clients do, and not in poll, as those of PostgreSQL and MariaDB; a Unix socket then saves less
    #[arg(long, help_heading = HOW)]
    pub blocking: bool,
    /// Also let N clients connect at the same moment, and count those that are refused; 0 for none [default: 600 for private servers that many clients come to, none for yours]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=10_000), help_heading = HOW)]
    pub burst: Option<u32>,
    /// Also send the last request at this rate without waiting for replies, and compare latencies from the scheduled times; one rate or a list
    #[arg(long, value_name = "N/s", value_parser = per_s, value_delimiter = ',', help_heading = HOW)]
    pub rate: Vec<u64>,
    /// Afterwards explain what makes the difference between the sockets, for the last of the requests: another 20 s, or the budget
    #[arg(long, help_heading = HOW)]
    pub explain: bool,
    #[command(flatten, next_help_heading = HOW)]
    pub measuring: MeasuringArgs,
    /// Give up on a server that takes longer than this to answer [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = HOW)]
    pub timeout: Option<Duration>,

    /// Name the run, so that it is found again by NAME wherever a RUN is taken
    #[arg(long, value_name = "NAME", value_parser = parse_name, conflicts_with = "no_save", help_heading = OUTPUT)]
    pub name: Option<String>,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub common: Common,
}
