//! What `ipcost watch` takes.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use ipcost_features::watch::SlowLimit;
use ipcost_model::units::parse_duration;

use super::TextFiles;
use crate::redact::Redacting;

/// Looks at the sockets, pipes and shared memory of the programs that run. It only reads, and never sees what they say; an ordinary user sees the own programs, root all.
#[derive(Debug, Args)]
#[command(after_long_help = "Exit status: 0 done, 1 something failed, 2 wrong usage or nothing can be seen.")]
pub struct WatchArgs {
    /// Only conversations of this program, process, port or socket: redis-server, 123, :6379, /run/x.sock
    #[arg(value_name = "WHOM", conflicts_with_all = ["pid", "port", "path", "command"])]
    pub whom: Option<Whom>,
    /// Only conversations of this process
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Only conversations over this TCP port
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Only conversations over this Unix socket or FIFO; an abstract name begins with @
    #[arg(long, value_name = "SOCKET")]
    pub path: Option<String>,
    /// Only conversations of programs with this text in their command line
    #[arg(long, value_name = "NAME")]
    pub command: Option<String>,
    /// How long to look [default: until q on a terminal, which then shows it every second, else 5s]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub lasts: Option<Duration>,
    /// Follow requests, and say why those were slow that took longer than this, as root [without a time: the slowest hundredth]
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = SLOWEST_HUNDREDTH, value_parser = slow_limit)]
    pub slow: Option<SlowLimit>,
    /// Attach strace for a second to what nothing else counts; it makes those programs slower meanwhile
    #[arg(long)]
    pub trace: bool,
    /// Afterwards, measure what the busiest conversation would cost over these transports
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub what_if: Vec<String>,
    /// Write what --what-if measures as a job file, for ipcost run
    #[arg(long, value_name = "FILE", requires = "what_if")]
    pub job: Option<PathBuf>,
    /// Show every conversation in a row of its own, every column, and what each figure is from
    #[arg(long, alias = "wide")]
    pub details: bool,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub redacting: Redacting,
    #[command(flatten)]
    pub files: TextFiles,
}

/// What `--slow` is without a time.
pub const SLOWEST_HUNDREDTH: &str = "1%";

fn slow_limit(text: &str) -> anyhow::Result<SlowLimit> {
    if text == SLOWEST_HUNDREDTH {
        return Ok(SlowLimit::SlowestHundredth);
    }
    match parse_duration(text)? {
        Duration::ZERO => {
            bail!("it must be longer than 0; --slow alone takes the slowest hundredth of each conversation")
        }
        limit => Ok(SlowLimit::Longer(limit)),
    }
}

/// Whose conversations, as one word says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    Process(u32),
    Port(u16),
    Socket(String),
    Program(String),
}

impl FromStr for Whom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = |port: &str| {
            port.parse().map(Self::Port).map_err(|_| format!("{port:?} is no port from 1 to 65535"))
        };
        match text.rsplit_once(':') {
            _ if text.trim().is_empty() => Err("the name is empty".to_owned()),
            _ if text.starts_with(['/', '@']) => Ok(Self::Socket(text.to_owned())),
            _ if parse_duration(text).is_ok() && text.parse::<u32>().is_err() => {
                Err(format!("{text} is a time: ipcost watch --for {text}"))
            }
            Some((_, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => port(digits),
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().map(Self::Process).map_err(|_| format!("there is no process {text}"))
            }
            _ => Ok(Self::Program(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_says_whose_conversations() {
        for (typed, whom) in [
            ("123", Whom::Process(123)),
            ("redis-server", Whom::Program("redis-server".to_owned())),
            (":6379", Whom::Port(6379)),
            ("localhost:6379", Whom::Port(6379)),
            ("/run/a:1", Whom::Socket("/run/a:1".to_owned())),
            ("@x", Whom::Socket("@x".to_owned())),
        ] {
            assert_eq!(typed.parse(), Ok(whom));
        }
        assert!(["", ":", ":70000", "99999999999", "5s"].iter().all(|wrong| wrong.parse::<Whom>().is_err()));
    }
}
