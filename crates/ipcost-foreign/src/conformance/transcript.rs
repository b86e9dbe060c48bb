//! Golden transcripts: the engine's messages to peers, and their required answers.

use ipcost_model::{Options, Pattern, SpeaksFirst};
use serde::Deserialize;
use serde_json::Value;

/// Every transcript: its name and its text, from `conformance/`.
pub static ALL: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/transcripts.rs"));

/// A transcript: its cells and its lines.
#[derive(Debug)]
pub struct Transcript {
    pub header: Header,
    pub steps: Vec<TranscriptStep>,
}

/// Its first line: what it is about, and how to play it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// For readers of the file.
    #[allow(dead_code, reason = "it is there to be read")]
    pub about: String,
    /// The transports, among those that the peer offers.
    #[serde(default)]
    pub transports: Transports,
    /// The patterns, among those that the peer offers; any one of them if empty.
    #[serde(default)]
    pub patterns: Vec<Pattern>,
    /// The numbers of workers; 1 by default.
    #[serde(default = "alone")]
    pub concurrency: Vec<u32>,
    #[serde(default)]
    pub pairings: Pairings,
    /// Who speaks first in `connect`.
    #[serde(default = "client")]
    pub speaks_first: SpeaksFirst,
    #[serde(default)]
    pub options: Options,
    /// The message size, bytes.
    pub size: Option<u64>,
    /// Whether it is only for peers that put nothing but the payload on the wire: a driven real program need not
    /// notice everything they do.
    #[serde(default)]
    pub plain_wire: bool,
    /// Whether it is only for peers whose hello lists all of its options; they may not refuse them.
    #[serde(default)]
    pub listed: bool,
    /// Whether the peer may refuse the cell, as it may refuse options.
    #[serde(default)]
    pub may_refuse: bool,
}

fn alone() -> Vec<u32> {
    vec![1]
}

fn client() -> SpeaksFirst {
    SpeaksFirst::Client
}

/// The transports of a transcript.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Transports {
    /// One, or every one.
    Count(Count),
    These(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Count {
    One,
    Every,
}

impl Default for Transports {
    fn default() -> Self {
        Self::Count(Count::One)
    }
}

/// The partners in a transcript.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pairings {
    /// The peer plays every part it can.
    #[default]
    Own,
    /// Also with the native peer, as client and as server.
    All,
}

/// The sender or receiver of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The peer, before it has a role.
    Peer,
    Server,
    Client,
}

/// How a process must exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Leaving {
    /// With exit status 0, without further output.
    Success,
    /// With another exit status, without further output.
    Failure,
    Any,
}

/// A line of a transcript.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum TranscriptStep {
    /// The engine sends a message.
    Say { to: Speaker, say: Value },
    /// The engine writes a literal line.
    Raw { to: Speaker, raw: String },
    /// The engine writes bytes that need not be a line.
    Piece { to: Speaker, part: String },
    /// The peer must send a message that matches.
    Hear { from: Speaker, hear: Value },
    /// The engine closes the peer's standard input.
    End { end: Speaker },
    /// The peer's process is killed.
    Kill { kill: Speaker },
    /// The peer's process must exit soon, with everything it started.
    Gone { gone: Speaker, with: Leaving },
}

impl TranscriptStep {
    /// Whom it is about.
    pub fn part(&self) -> Speaker {
        match self {
            Self::Say { to, .. } | Self::Raw { to, .. } | Self::Piece { to, .. } => *to,
            Self::Hear { from: part, .. }
            | Self::End { end: part }
            | Self::Kill { kill: part }
            | Self::Gone { gone: part, .. } => *part,
        }
    }
}

impl Transcript {
    /// Whether this part occurs in it.
    pub fn has(&self, part: Speaker) -> bool {
        self.steps.iter().any(|step| step.part() == part)
    }
}

pub fn parse(text: &str) -> serde_json::Result<Transcript> {
    let mut lines = text.lines();
    let header = serde_json::from_str(lines.next().unwrap_or_default())?;
    Ok(Transcript { header, steps: lines.map(serde_json::from_str).collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transcript_can_be_read_and_ends_with_the_peers_gone() {
        assert!(ALL.len() > 20, "{}", ALL.len());
        for (name, text) in ALL {
            let transcript = parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!transcript.header.about.is_empty(), "{name}");
            assert!(matches!(transcript.steps.last(), Some(TranscriptStep::Gone { .. })), "{name}");
            assert!(!transcript.has(Speaker::Peer) || !transcript.has(Speaker::Server), "{name}");
        }
    }
}
