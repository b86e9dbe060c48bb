//! What `ipcost replicate` takes.

use std::time::Duration;

use clap::Args;
use ipcost_model::units::parse_duration;

use super::Common;

#[derive(Debug, Default, Args)]
pub struct ReplicateArgs {
    /// Experiments by name, or replication files (.toml)
    #[arg(value_name = "NAME", conflicts_with_all = ["all", "apps"])]
    pub names: Vec<String>,
    /// All built-in experiments
    #[arg(long)]
    pub all: bool,
    /// The built-in experiments with real servers: databases, caches, web servers
    #[arg(long, conflicts_with = "all")]
    pub apps: bool,
    /// List the built-in experiments, or describe those that are named
    #[arg(long, conflicts_with = "OutputArgs")]
    pub list: bool,
    /// How long everything may take together [default: each experiment's own]
    #[arg(long, alias = "duration", value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Do not decide claims but repeat the experiment with the article's own counts and repetitions, and print what it printed; that can take hours, and says so first
    #[arg(long)]
    pub as_published: bool,
    /// Decide the claims from the article's own counts and repetitions instead of brief batches; the estimated time is shown first, and what takes more than an hour is left out
    #[arg(long, conflicts_with_all = ["as_published", "budget"])]
    pub full: bool,
    /// With --as-published or --full: divide the counts by N; --as-published then repeats once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub divide: Option<u64>,
    /// Use this redis-server over TCP instead of a private one; only on loopback
    #[arg(long, value_name = "HOST:PORT", requires = "redis_unix")]
    pub redis_tcp: Option<String>,
    /// Use this redis-server over a Unix socket instead of a private one
    #[arg(long, value_name = "PATH", requires = "redis_tcp")]
    pub redis_unix: Option<String>,
    /// Start private servers even if they cannot be isolated; other users of this machine can then use them while they run, and PHP-FPM runs what they send
    #[arg(long)]
    pub expose_to_local_users: bool,
    /// The seed of every random order [default: a fresh one]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    // What comes after these would stand under their headings.
    #[command(flatten)]
    pub common: Common,
}
