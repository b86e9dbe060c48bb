//! What is made of the facts: findings, each with its remedy.

use std::fmt;

use ipcost_model::{Envelope, named};
use serde::{Deserialize, Serialize};

/// The version of the record.
pub const DOCTOR_SCHEMA: &str = "ipcost-doctor/1";

named! {
    /// What a finding comes to.
    State, "state" {
        /// Nothing to say against it.
        Good = "good",
        /// To be taken into account.
        Note = "note",
        /// It bends results here.
        Bends = "bends",
        /// Something that the tool can use is not there, or not permitted.
        Missing = "missing",
    }
}

named! {
    /// What a finding is about.
    Topic, "topic" {
        /// Frequencies, threads, idle states, mitigations, the clock.
        Processor = "processor",
        /// Who else runs, what holds this program back, memory.
        Scheduler = "scheduler and neighbours",
        /// Descriptors, buffers, queues.
        Limits = "kernel limits",
        /// Ports, the loopback interface, and what stands between it and a socket.
        Network = "network",
        /// What this user may look at.
        Permissions = "permissions",
        /// Transports, peers, programs.
        Tools = "tools",
    }
}

/// One thing that was looked at, and what it means for results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub code: String,
    /// What it is about.
    pub topic: Topic,
    /// What it comes to.
    pub state: State,
    /// What was found, with the value.
    pub found: String,
    /// A detail for the terminal alone, such as the name of a process of someone else.
    #[serde(skip)]
    pub aside: Option<String>,
    /// How it bends what is measured, in one sentence.
    pub why: String,
    /// The command that changes it; null where there is none.
    pub command: Option<String>,
    /// What else can be done, or what to take into account; null where there is nothing to say.
    pub advice: Option<String>,
}

named! {
    /// How a program comes to a machine.
    Means, "means of installation" {
        /// Debian's package.
        Debian = "debian",
        /// `cargo install`.
        Cargo = "cargo",
        /// A Python package: pip, uv, pipx.
        Python = "python",
        /// A package of npm.
        Npm = "npm",
        /// Homebrew.
        Homebrew = "homebrew",
        /// Built by Cargo, and run where it was built.
        Checkout = "checkout",
        /// Nothing around it tells more.
        Copied = "copied",
    }
}

/// How this program came to this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    pub by: Means,
    /// Which tool installed a Python package, if that is known; null otherwise.
    pub tool: Option<String>,
    /// The virtual environment that it is in; null if it is in none.
    pub environment: Option<String>,
    /// The program, links resolved.
    pub path: String,
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let means = match self.by {
            Means::Debian => "Debian package",
            Means::Cargo => "cargo install",
            Means::Python => self.tool.as_deref().unwrap_or("pip or uv"),
            Means::Npm => "npm",
            Means::Homebrew => "Homebrew",
            Means::Checkout => "built in a checkout",
            Means::Copied => "a copied binary",
        };
        match &self.environment {
            Some(environment) => write!(f, "{means}, into the virtual environment {environment}"),
            None => write!(f, "{means} ({})", self.path),
        }
    }
}

/// What was found on a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examination {
    /// What it is, what made it, where and when.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// How the program was installed; absent if its path is not known, and in earlier records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed: Option<Installation>,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// How long other processes were watched, seconds.
    pub watched_s: f64,
    /// Everything that could be looked at, by topic.
    pub findings: Vec<Finding>,
    /// The codes of what this machine does not tell.
    pub unknown: Vec<String>,
}

impl Examination {
    /// The same without what is for the terminal alone.
    pub fn without_asides(&self) -> Self {
        let mut plain = self.clone();
        plain.findings.iter_mut().for_each(|finding| finding.aside = None);
        plain
    }
}
