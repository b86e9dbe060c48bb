//! Removes private data from output: names of the host and of users, home directories, commands.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::document::Document;

const HOST: &str = "[host]";
const USER: &str = "[user]";
const HOME: &str = "[home]";
const COMMAND: &str = "[command]";

/// Where systems keep home directories; the next path component is a user's name.
const HOMES: [&str; 2] = ["/home/", "/Users/"];
const HOME_OF_ROOT: &str = "/root";
/// Names that reveal nothing.
const COMMON: [&str; 2] = ["root", "localhost"];
/// Keys whose values come from fixed lists or are facts about the system: these are not searched for names.
const FIXED: [&str; 15] = [
    "schema", "os", "kernel", "arch", "cpu", "pattern", "transport", "placement", "stopped", "verdict",
    "metric", "word", "code", "started", // A pseudonym already.
    "machine",
];

/// The user's identity, in addition to what the document itself reveals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Names of the user.
    pub users: Vec<String>,
    pub homes: Vec<String>,
}

/// Redaction may have broken the record's format.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot be redacted: a name in it is also a word of its format ({0}); remove the names by hand, or write it without --redact"
)]
pub struct RedactError(String);

/// A copy without names of hosts and users, home directories and peers' commands; each has the same placeholder
/// everywhere.
pub fn redacted<T: Serialize + DeserializeOwned>(value: &T, identity: &Identity) -> Result<T, RedactError> {
    let failed = |error: serde_json::Error| RedactError(error.to_string());
    let mut value = serde_json::to_value(value).map_err(failed)?;
    let names = RedactedNames::of(&value, identity);
    names.redact(&mut value, "");
    serde_json::from_value(value).map_err(failed)
}

/// [`redacted`] of a document, whose many samples hold nothing but figures.
pub fn redacted_document(mut document: Document, identity: &Identity) -> Result<Document, RedactError> {
    let samples = std::mem::take(&mut document.samples);
    let of_runs: Vec<_> = document.runs.iter_mut().map(|run| std::mem::take(&mut run.samples)).collect();
    let mut redacted = redacted(&document, identity)?;
    redacted.samples = samples;
    redacted.runs.iter_mut().zip(of_runs).for_each(|(run, samples)| run.samples = samples);
    Ok(redacted)
}

/// Search texts and their placeholders, longest first.
struct RedactedNames {
    homes: Vec<String>,
    words: Vec<(String, &'static str)>,
}

impl RedactedNames {
    fn of(value: &Value, identity: &Identity) -> Self {
        let Identity { mut users, mut homes } = identity.clone();
        let mut hosts = Vec::new();
        each_host(value, &mut |name| hosts.push(name.to_owned()));
        each_text(value, &mut |text| homes.extend(homes_in(text)));
        homes.push(HOME_OF_ROOT.to_owned());
        homes.retain(|home| home.len() > 1);
        users.extend(homes.iter().filter_map(|home| Some(home.rsplit_once('/')?.1.to_owned())));
        let telling = |name: &String| name.len() > 1 && !COMMON.contains(&name.as_str());
        let words = |names: Vec<String>, placeholder| {
            names.into_iter().filter(telling).map(move |name| (name, placeholder)).collect::<Vec<_>>()
        };
        let mut words = [words(hosts, HOST), words(users, USER)].concat();
        words.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        homes.sort_by_key(|home| std::cmp::Reverse(home.len()));
        homes.dedup();
        words.dedup();
        Self { homes, words }
    }

    fn redact(&self, value: &mut Value, key: &str) {
        match value {
            _ if FIXED.contains(&key) && !value.is_object() => {}
            Value::String(text) if key == "command" => COMMAND.clone_into(text),
            Value::String(text) => *text = self.text(text),
            Value::Array(list) if key == "command" => *list = vec![Value::from(COMMAND)],
            Value::Array(list) => list.iter_mut().for_each(|entry| self.redact(entry, key)),
            Value::Object(map) => {
                if key == "peers" {
                    // Keys are names chosen by the user here, and part of the format elsewhere.
                    let entries = std::mem::take(map).into_iter();
                    *map = entries.map(|(name, value)| (self.text(&name), value)).collect::<Map<_, _>>();
                }
                map.iter_mut().for_each(|(key, value)| self.redact(value, key));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&self, text: &str) -> String {
        let text = self.homes.iter().fold(text.to_owned(), |text, home| replaced(&text, home, HOME));
        self.words.iter().fold(text, |text, (name, placeholder)| replaced(&text, name, placeholder))
    }
}

/// Every place where `name` is a separate word.
fn replaced(text: &str, name: &str, placeholder: &str) -> String {
    let (mut result, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(name) {
        let after = &rest[at + name.len()..];
        let alone = !rest[..at].chars().next_back().is_some_and(is_name)
            && !after.chars().next().is_some_and(is_name);
        result.push_str(&rest[..at]);
        result.push_str(if alone { placeholder } else { name });
        rest = after;
    }
    result + rest
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// Home directories in a text.
fn homes_in(text: &str) -> Vec<String> {
    let mut homes = Vec::new();
    for base in HOMES {
        for (at, _) in text.match_indices(base) {
            let after = &text[at + base.len()..];
            let name = after.split(|c: char| !is_name(c) && c != '.').next().unwrap_or_default();
            let name = name.trim_end_matches('.');
            if !name.is_empty() {
                homes.push(format!("{base}{name}"));
            }
        }
    }
    homes
}

/// Host names in a record.
fn each_host(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if key == "host" {
                    // Some records have nothing but its name.
                    value.get("name").unwrap_or(value).as_str().iter().for_each(|name| found(name));
                }
                each_host(value, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|entry| each_host(entry, found)),
        _ => {}
    }
}

fn each_text(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(list) => list.iter().for_each(|entry| each_text(entry, found)),
        Value::Object(map) => map.values().for_each(|entry| each_text(entry, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn identity() -> Identity {
        Identity { users: vec!["ann".into()], homes: vec!["/srv/people/ann".into()] }
    }

    #[test]
    fn what_tells_who_and_where_goes_and_the_rest_stays() {
        let value = json!({
            "host": {"name": "tiger", "machine": "0tiger9", "os": "linux", "kernel": "6.1-tiger", "mitigations": {"x": "on tiger"}},
            "job": {"peers": {"ann": {"command": ["./x", "--password", "hunter2"]}}, "cells": [{"client": "ann"}]},
            "cells": [{"id": "rr/unix/64/c1/ann→native", "label": "/home/bob/x on tiger.", "ops": 1e9}],
            "warnings": [{"code": "ann", "message": "annual: /srv/people/ann/x, /home/bob, /home/bobby-2, /root/x: bob"}],
        });
        let shown = redacted(&value, &identity()).unwrap();
        assert_eq!(
            shown,
            json!({
                "host": {"name": "[host]", "machine": "0tiger9", "os": "linux", "kernel": "6.1-tiger", "mitigations": {"x": "on [host]"}},
                "job": {"peers": {"[user]": {"command": ["[command]"]}}, "cells": [{"client": "[user]"}]},
                "cells": [{"id": "rr/unix/64/c1/[user]→native", "label": "[home]/x on [host].", "ops": 1e9}],
                "warnings": [{"code": "ann", "message": "annual: [home]/x, [home], [home], [home]/x: [user]"}],
            })
        );
        assert_eq!(redacted(&shown, &identity()).unwrap(), shown, "once is enough");
    }

    #[test]
    fn common_names_and_short_ones_are_no_secrets() {
        let value = json!({"host": {"name": "localhost"}, "x": "needs root on localhost, a b"});
        let known = Identity { users: vec!["root".into(), "a".into()], homes: vec!["/".into(), "".into()] };
        assert_eq!(redacted(&value, &known).unwrap(), value);
    }

    proptest! {
        #[test]
        fn nothing_of_a_name_is_left_wherever_it_stands(
            before in "[a-z/ .]{0,9}[ /.:]", after in "[ /.:][a-z/ .]{0,9}", name in "[b-y]{2,9}[0-9]"
        ) {
            let text = format!("{before}{name}{after}");
            let value = json!({"host": {"name": name}, "text": [text.clone(), {"more": text}]});
            let shown = redacted(&value, &Identity::default()).unwrap().to_string();
            prop_assert!(!shown.contains(&name), "{}", shown);
        }
    }
}
