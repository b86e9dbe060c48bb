//! From a peer's line to a message that the engine can keep and show.

use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::protocol::{Address, Done, FromPeer, Hello, LatencyKind, MAX_LATENCY_VALUES};
use crate::text::shortened;

/// The most names in a message's `effective` or `measures`, and in a list of a `hello`.
const MOST_NAMES: usize = 64;
/// The longest name, bytes.
const LONGEST_NAME: usize = 64;
/// The longest text kept, bytes: a version, a runtime, an option's effective value.
const LONGEST_TEXT: usize = 512;
/// The most characters of an error that are shown.
const LONGEST_ERROR: usize = 200;

/// Why the engine rejects a line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MessageError {
    /// Not JSON, or not a message of the protocol.
    #[error("printed a line that is not a message ({0})")]
    NoMessage(String),
    /// Too large, or a value of the wrong kind.
    #[error("sent a message that the control protocol does not allow: {0}")]
    Forbidden(String),
}

/// Reads a line and limits what is kept for the whole run or ends up in documents, so that no peer can fill either.
pub fn read_message(line: &[u8]) -> Result<FromPeer, MessageError> {
    let no_message = |error: serde_json::Error| {
        // It may quote the line, which may hold anything.
        MessageError::NoMessage(shortened(&error.to_string(), LONGEST_ERROR))
    };
    let text =
        std::str::from_utf8(line).map_err(|error| MessageError::NoMessage(format!("not UTF-8: {error}")))?;
    let message = by_type(text).map_err(no_message)?;
    match &message {
        FromPeer::Hello(hello) => check_hello(hello)?,
        FromPeer::Ready { effective, .. } => check_effective(effective)?,
        FromPeer::Done(done) => check_done(done)?,
        FromPeer::Armed { .. } | FromPeer::Error { .. } => {}
    }
    Ok(message)
}

/// Looks at the type first, so that the rest of a line can be skipped in place. Read as [`FromPeer`], all of it would
/// be stored until its type is known, taking many times the memory.
fn by_type(text: &str) -> serde_json::Result<FromPeer> {
    #[derive(Deserialize)]
    struct Typed {
        r#type: Type,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Type {
        Hello,
        Ready,
        Armed,
        Done,
        Error,
    }
    #[derive(Deserialize)]
    struct ReadyText {
        #[serde(default)]
        address: Address,
        #[serde(default)]
        effective: Map<String, Value>,
    }
    #[derive(Deserialize)]
    struct Armed {
        id: u64,
    }
    #[derive(Deserialize)]
    struct Failed {
        message: String,
    }
    let Typed { r#type } = serde_json::from_str(text)?;
    Ok(match r#type {
        Type::Hello => FromPeer::Hello(serde_json::from_str(text)?),
        Type::Ready => {
            let ReadyText { address, effective } = serde_json::from_str(text)?;
            FromPeer::Ready { address, effective }
        }
        Type::Armed => {
            let Armed { id } = serde_json::from_str(text)?;
            FromPeer::Armed { id }
        }
        Type::Done => FromPeer::Done(serde_json::from_str(text)?),
        Type::Error => {
            let Failed { message } = serde_json::from_str(text)?;
            FromPeer::Error { message }
        }
    })
}

fn forbidden(reason: String) -> MessageError {
    MessageError::Forbidden(shortened(&reason, LONGEST_ERROR))
}

fn check_hello(hello: &Hello) -> Result<(), MessageError> {
    for (what, text) in [("peer", &hello.peer), ("version", &hello.version), ("runtime", &hello.runtime)] {
        check_text(what, text)?;
    }
    check_count("transports", hello.transports.len())?;
    check_count("patterns", hello.patterns.len())?;
    check_count("roles", hello.roles.len())?;
    check_count("options", hello.options.len())?;
    hello.transports.iter().try_for_each(|name| check_name("transports", name))?;
    hello.options.iter().try_for_each(|name| check_name("options", name))
}

fn check_effective(effective: &Map<String, Value>) -> Result<(), MessageError> {
    check_count("effective", effective.len())?;
    effective.iter().try_for_each(|(name, value)| {
        check_name("effective", name)?;
        match value {
            Value::Array(_) | Value::Object(_) | Value::Null => {
                Err(forbidden(format!("\"effective\" must hold a number, true/false or text for {name:?}")))
            }
            Value::String(text) => check_text(name, text),
            Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    })
}

fn check_done(done: &Done) -> Result<(), MessageError> {
    for kind in LatencyKind::ALL {
        let values = done.values(*kind).len();
        if values > MAX_LATENCY_VALUES {
            return Err(forbidden(format!(
                "\"{kind}\" holds {values} values; send at most {MAX_LATENCY_VALUES}"
            )));
        }
    }
    check_count("measures", done.measures.len())?;
    done.measures.keys().try_for_each(|name| check_name("measures", name))
}

fn check_count(key: &str, count: usize) -> Result<(), MessageError> {
    match count <= MOST_NAMES {
        true => Ok(()),
        false => Err(forbidden(format!("\"{key}\" holds {count} entries; send at most {MOST_NAMES}"))),
    }
}

fn check_name(key: &str, name: &str) -> Result<(), MessageError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        return Err(forbidden(format!(
            "\"{key}\" holds the name {name:?}; names have 1 to {LONGEST_NAME} letters, digits, _, - and ."
        )));
    }
    Ok(())
}

fn check_text(key: &str, text: &str) -> Result<(), MessageError> {
    match text.len() <= LONGEST_TEXT {
        true => Ok(()),
        false => Err(forbidden(format!(
            "the text of \"{key}\" has {} bytes; send at most {LONGEST_TEXT}",
            text.len()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(message: &Value) -> String {
        let error = read_message(message.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.chars().count() < 2 * LONGEST_ERROR && !error.contains('\n'), "{error}");
        error
    }

    fn done(more: Value) -> Value {
        let mut message = json!({"type": "done", "id": 1, "ops": 2, "wall_ns": 3});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    }

    #[test]
    fn what_keeps_to_the_protocol_is_taken() {
        let hello = json!({"type": "hello", "protocol": 1, "peer": "ü", "version": "1", "runtime": "",
            "roles": ["server"], "transports": ["unix-abstract"], "patterns": ["rr"], "colour": [[]]});
        for message in [
            hello,
            json!({"type": "ready", "address": {"more": [{}]}, "effective": {"so_sndbuf": 1, "x": "y"}}),
            json!({"type": "armed", "id": 7}),
            json!({"type": "error", "message": "a\nb"}),
            done(
                json!({"latency_ns": vec![1; MAX_LATENCY_VALUES], "measures": {"incr_usec_per_call": -1.5}}),
            ),
        ] {
            let read = read_message(message.to_string().as_bytes());
            assert_eq!(read.ok(), serde_json::from_value(message).ok(), "both ways of reading agree");
        }
    }

    #[test]
    fn what_is_no_message_is_told_without_all_of_it() {
        let long = json!("x".repeat(1_000_000));
        for message in [
            json!([]),
            json!({"type": "wave"}),
            json!({"type": long}),
            done(json!({"wall_ns": -5})),
            done(json!({"wall_ns": long})),
            done(json!({"ops": 1.5})),
            done(json!({"usage": {"user_ns": -1}})),
        ] {
            assert!(error(&message).starts_with("printed a line that is not a message ("));
        }
        for line in
            [&b"\xff\xfe"[..], b"", b"{\"type\":\"error\",\"message\":\"\xff\"}", &b"[".repeat(1 << 20)]
        {
            assert!(matches!(read_message(line), Err(MessageError::NoMessage(_))));
        }
    }

    #[test]
    fn what_would_fill_memory_or_documents_is_refused() {
        let many = |value: Value| -> Map<String, Value> {
            (0..=MOST_NAMES).map(|index| (format!("n{index}"), value.clone())).collect()
        };
        let long = "x".repeat(LONGEST_TEXT + 1);
        for (message, says) in [
            (
                done(json!({"latency_ns": vec![1; MAX_LATENCY_VALUES + 1]})),
                "10001 values; send at most 10000",
            ),
            (done(json!({"measures": many(json!(1))})), "65 entries"),
            (done(json!({"measures": {"\u{1b}[31m": 1}})), "names have 1 to 64 letters"),
            (done(json!({"measures": {"": 1}})), "names have"),
            (json!({"type": "ready", "effective": many(json!(1))}), "65 entries"),
            (json!({"type": "ready", "effective": {"x": [[]]}}), "must hold a number"),
            (json!({"type": "ready", "effective": {"x": long}}), "513 bytes"),
            (
                json!({"type": "hello", "protocol": 1, "peer": "", "version": "", "runtime": long,
                    "roles": [], "transports": [], "patterns": []}),
                "\"runtime\" has 513 bytes",
            ),
            (
                json!({"type": "hello", "protocol": 1, "peer": "", "version": "", "runtime": "",
                    "roles": [], "transports": ["a\nb"], "patterns": []}),
                "\"transports\" holds the name",
            ),
            (
                json!({"type": "hello", "protocol": 1, "peer": "", "version": "", "runtime": "",
                    "roles": [], "transports": [], "patterns": [], "options": ["send offset"]}),
                "\"options\" holds the name",
            ),
        ] {
            let error = error(&message);
            assert!(error.contains("does not allow") && error.contains(says), "{error}");
        }
    }
}
