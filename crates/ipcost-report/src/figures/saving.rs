//! What a Unix socket saves a server: tables of what was compared and measured, and the share that it saves of a request over how
//! long the server works on it, a panel a placement.

use ipcost_model::Estimate;

use super::ticks::percent;
use crate::numbers::time;

/// The answer of `app`.
#[derive(Debug, Clone, PartialEq)]
pub struct Savings {
    /// Which server, and whose.
    pub heading: String,
    /// Whether both sides do the same work: what was looked at.
    pub checked: Vec<Checked>,
    /// What requests cost over either socket.
    pub loads: Vec<Load>,
    /// The same in sentences.
    pub sentences: Vec<String>,
    /// From how much work on the saving stops mattering; `None` if no placement has a verdict.
    pub curves: Option<Curves>,
    /// What becomes of clients that connect at the same moment.
    pub burst: Option<Burst>,
    /// What limits all of this, a sentence each.
    pub limits: Vec<String>,
}

/// Something that was compared between both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What.
    pub what: String,
    /// Over the Unix socket.
    pub unix: String,
    /// Over TCP.
    pub tcp: String,
    /// Whether it distorts the comparison.
    pub differs: bool,
    /// Whether it is the same, in words, and how it was made equal.
    pub said: String,
}

/// How two costs compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saves {
    /// The Unix socket takes less.
    Less,
    /// It takes more.
    More,
    /// Neither matters.
    Same,
    /// That is not known yet.
    Open,
}

/// A load over both sockets, in texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The request, and how it is asked.
    pub load: String,
    /// Where client and server run.
    pub cores: String,
    /// A request over the Unix socket.
    pub unix: String,
    /// A request over TCP.
    pub tcp: String,
    /// The first over the second.
    pub ratio: String,
    /// Its interval.
    pub ratio_held: String,
    /// What is known of it.
    pub saves: Saves,
    /// The same in words.
    pub said: String,
    /// What is saved of a request; empty if that is not known, as are those that follow.
    pub saved: String,
    /// Its interval.
    pub saved_held: String,
    /// Processor time of both sides that is saved.
    pub cpu: String,
    /// Its interval.
    pub cpu_held: String,
}

/// What becomes of clients that connect at the same moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Burst {
    /// Clients at once.
    pub clients: u32,
    /// The same in a sentence, with what to do about it.
    pub said: String,
    /// A row for each socket that was measured.
    pub sides: Vec<BurstSide>,
}

/// What clients of a burst met over a socket: shares of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BurstSide {
    /// The socket.
    pub socket: String,
    /// Connections that may wait, if the system tells.
    pub queue: Option<u32>,
    /// Clients that were answered within a second, later, refused, and that failed: how many, and which share of all.
    pub met: [String; 4],
}

/// What the parts of [`BurstSide::met`] are.
pub const MET: [&str; 4] = ["answered within 1 s", "answered later", "refused", "failed"];

/// The panels.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    /// Which server.
    pub server: String,
    /// The least that it can be asked.
    pub least: String,
    /// The share of a request below which a saving does not matter.
    pub margin: f64,
    /// One for each placement.
    pub panels: Vec<Panel>,
    /// What is not drawn, and why.
    pub notes: Vec<String>,
}

/// A placement.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Where client and server run.
    pub name: String,
    /// From how much work on it stops mattering, in words.
    pub said: String,
    /// Work of the server on top of the least request, nanoseconds, and the share that is saved at most; close enough together
    /// to be drawn as a line.
    pub line: Vec<(f64, f64)>,
    /// The same for round values, for a table.
    pub numbers: Vec<(f64, f64)>,
    /// From this much work on the line is below the margin, nanoseconds.
    pub until_ns: Option<f64>,
    /// Other requests, as measured.
    pub requests: Vec<Measured>,
}

/// A request as measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its text.
    pub request: String,
    /// How much longer it takes over TCP than the least one, nanoseconds.
    pub work_ns: f64,
    /// The share of it that the Unix socket saves.
    pub share: Estimate,
}

impl Curves {
    /// What they show.
    pub fn title(&self) -> String {
        format!("{}: the share of a request that a Unix socket saves", self.server)
    }

    /// How to read them.
    pub fn reading(&self) -> String {
        format!(
            "The line is an upper bound: what is saved of {}, as a share of a request on which the server works longer. Below {}, a saving no longer matters. A point is a request as measured, with its interval: its work is what it takes over TCP on top of {}. The line holds for replies as short as that of {}: a longer one costs more over TCP, too, so that its point can lie above.",
            self.least,
            per_cent(self.margin),
            self.least,
            self.least
        )
    }
}

impl Panel {
    /// All of it in a sentence, for readers who hear it.
    pub fn told(&self) -> String {
        let requests = self.requests.iter().map(|request| format!(" {}.", request.told()));
        format!("{}: {}.{}", self.name, self.said, requests.collect::<String>())
    }
}

impl Measured {
    /// `GET user:17: saves 23 % (17 % to 25 %) with 320 ns of work`.
    pub fn told(&self) -> String {
        let held = match self.interval().as_str() {
            "" => String::new(),
            held => format!(" ({held})"),
        };
        let work = if self.work_ns > 0.0 {
            format!("with {} of work", time(self.work_ns))
        } else {
            "without work".to_owned()
        };
        format!("{}: saves {}{held} {work}", self.request, per_cent(self.share.median))
    }

    /// The interval of the share.
    pub fn interval(&self) -> String {
        match (self.share.lo, self.share.hi) {
            (Some(lo), Some(hi)) => format!("{} to {}", per_cent(lo), per_cent(hi)),
            _ => String::new(),
        }
    }

    /// Its work. A request that takes no longer than the least one has none.
    pub fn work(&self) -> String {
        work(self.work_ns)
    }
}

/// Work as text.
pub fn work(work_ns: f64) -> String {
    if work_ns > 0.0 { time(work_ns) } else { "0".to_owned() }
}

/// A share in per cent: whole ones, tenths below ten.
pub fn per_cent(share: f64) -> String {
    let step = if share.abs() < 0.0995 { 1e3 } else { 1e2 };
    format!("{} %", percent((share * step).round() / step)).replace('-', "−")
}

#[cfg(test)]
pub(crate) mod tests;
