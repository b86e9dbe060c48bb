//! What can be wrong with what users, files and peers write.

use std::num::ParseIntError;

use crate::cell::PIPELINE;
use crate::cell_id::FORM;
use crate::consistency::MAX_NAME_BYTES;
use crate::job::NATIVE;
use crate::options::{OptionKind, OptionValue};
use crate::pace::{RATE, STAMP_BYTES, THINK};
use crate::suggest::unknown;
use crate::text::escaped;

/// What is wrong with a word, an amount, an option, a cell's id, a job or a document; the text names the way out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A word that is none of a list.
    #[error("{}", unknown(what, name, known.iter().map(String::as_str)))]
    Unknown { what: String, name: String, known: Vec<String> },
    #[error("\"{text}\" is not a {what}; {write}")]
    Amount { text: String, what: &'static str, write: &'static str },
    #[error("\"{text}\" may be {number}000 or {} bytes; write {number}000 or {number}KiB", u128::from(*number) * 1024)]
    Kilobytes { text: String, number: u64 },
    #[error(transparent)]
    Number(#[from] ParseIntError),
    #[error("\"{0}\" is more than a century; give a shorter time")]
    Century(String),
    #[error("\"{0}\" is not UTF-8")]
    NotUtf8(String),

    #[error("option {option} takes {kind}, not \"{value}\"")]
    OptionValue { option: &'static str, kind: OptionKind, value: OptionValue },
    #[error("option {option} takes a multiple of {step}, not {bytes}: what begins there must be aligned")]
    Unaligned { option: &'static str, step: u64, bytes: u64 },
    #[error("option {0} is set twice")]
    SetTwice(&'static str),
    #[error(
        "{what} acts only together with {}; give {}", needs.join(" or "),
        if let [needed] = needs { format!("{needed} too") } else { "one of them".to_owned() }
    )]
    Alone { what: String, needs: &'static [&'static str] },
    #[error(
        "option {PIPELINE} sends many requests at once and {THINK} or {RATE} sends each by itself; give one of them"
    )]
    PacedPipeline,
    #[error(
        "a message of a stream carries when it was sent in its first {STAMP_BYTES} bytes where {THINK} or {RATE} is set; give a size of at least {STAMP_BYTES}"
    )]
    NoRoomForStamp,
    #[error(
        "a message of a stream carries when it was sent where {THINK} or {RATE} is set, so it must be copied; give {option}={copied}, or leave {option} out"
    )]
    StampNotCopied { option: &'static str, copied: &'static str },

    #[error("the name \"{NATIVE}\" is the built-in peer's; give yours another")]
    NativeName,
    #[error("\"{}\" cannot name a peer; use letters, digits, - _ and .", escaped(.0))]
    PeerName(String),
    #[error("{0:?} cannot name an environment variable; write NAME=VALUE")]
    VariableName(String),
    #[error("{0} has an empty command; give a program")]
    EmptyCommand(String),
    #[error(
        "request \"{0}\" is the content of a file, which only a command line can ask for; write the request itself"
    )]
    RequestOfFile(String),
    #[error("baseline {}: floors are not compared with one another; take it out", escaped(.0))]
    FloorBaseline(String),
    #[error(
        "{0}; give each a command (--a, --b), or other environments, programs or peers (--a-env, --a-exec, --a-peer)"
    )]
    SameArms(&'static str),
    /// What a job asks for cannot be measured; escaped, as it quotes the job.
    #[error("{0}")]
    Job(String),
    /// Settings that exclude each other, or what cannot be set.
    #[error("{0}")]
    Invalid(&'static str),

    #[error("\"{id}\" is not a cell id: {reason}")]
    CellId { id: String, reason: Box<Self> },
    #[error("it has no {0}; write {FORM}")]
    NoIdPart(&'static str),
    #[error("\"{0}\" is not where it belongs; write {FORM}")]
    IdOrder(String),
    #[error("{0}; write {FORM}")]
    IdPart(Box<Self>),
    #[error("\"{0}\" is not of the form KEY=VALUE")]
    NotKeyValue(String),

    #[error("{what} of cell {cell:?} {} not {right}", if what.starts_with("the slow") { "are" } else { "is" })]
    Cell { cell: String, what: &'static str, right: &'static str },
    #[error("two cells have the id {0:?}")]
    SameId(String),
    #[error("workloads list cell {0:?} twice")]
    ListedTwice(String),
    #[error("two contrasts compare {a:?} with {b:?}")]
    SameContrast { a: String, b: String },
    #[error("{by} refers to cell {cell}, which does not exist")]
    NoCell { by: &'static str, cell: String },
    #[error("the id or the label of a cell is longer than {MAX_NAME_BYTES} bytes")]
    LongName,
    /// Parts of a document that contradict one another.
    #[error("{0}")]
    Contradiction(&'static str),
}

impl From<String> for ModelError {
    fn from(message: String) -> Self {
        Self::Job(escaped(&message))
    }
}

impl ModelError {
    pub fn unknown<S: Into<String>>(
        what: impl Into<String>,
        name: &str,
        known: impl IntoIterator<Item = S>,
    ) -> Self {
        let known = known.into_iter().map(Into::into).collect();
        Self::Unknown { what: what.into(), name: name.to_owned(), known }
    }
}
