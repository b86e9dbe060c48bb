//! How a run is measured again: the command, and the job file where flags cannot say it all.

use ipcost_model::{Document, Job, Matrix, NATIVE, job_text};
use serde_json::Value;

/// The command for a POSIX shell that measures the same cells with the same settings and the same seed, and so in the same orders; and
/// what to save as `job.toml` first, unless the command says it all.
///
/// `None` where the job can be written neither as flags nor as a file, which no run of this program leaves behind.
pub fn rerun(document: &Document) -> Option<(String, Option<String>)> {
    let seed = document.seed.to_string();
    if let Some(flags) = flags(&document.job) {
        let words = ["ipcost".to_owned(), "run".to_owned()].into_iter().chain(flags);
        let words: Vec<String> = words.chain(["--seed".to_owned(), seed]).collect();
        return Some((quoted(&words)?, None));
    }
    let job = Job { seed: None, ..document.job.clone() };
    Some((format!("ipcost run job.toml --seed {seed}"), Some(job_text(&job)?)))
}

const SETTINGS: [(&str, &str); 6] = [
    ("baseline", "--baseline"),
    ("budget", "--budget"),
    ("margin", "--margin"),
    ("epochs", "--epochs"),
    ("latency", "--latency"),
    ("timeout", "--timeout"),
];

/// The job as flags; `None` where it has more than one matrix, or something for which there is no flag.
fn flags(job: &Job) -> Option<Vec<String>> {
    let [matrix] = job.cells.as_slice() else { return None };
    // Without a transport, or without a pattern and a size, flags narrow the default suite.
    let narrows = matrix.transport.is_empty() || (matrix.pattern.is_empty() && matrix.size.is_empty());
    if matrix.label.is_some() || job.batch.is_some() || narrows {
        return None;
    }
    let cells = serde_json::to_value(matrix).ok()?;
    let settings = serde_json::to_value(job).ok()?;
    let mut words = Vec::new();
    for (key, flag) in Matrix::FLAGS {
        let Some(list) = cells[key].as_array().filter(|list| !list.is_empty()) else { continue };
        let only_default = matches!(key, "client" | "server") && *list == [NATIVE];
        if !only_default {
            words.extend([flag.to_owned(), joined(list)?]);
        }
    }
    for (name, values) in cells["options"].as_object().into_iter().flatten() {
        words.extend(["--option".to_owned(), format!("{name}={}", joined(values.as_array()?)?)]);
    }
    for (name, peer) in &job.peers {
        words.extend(["--peer".to_owned(), format!("{name}={}", quoted(&peer.command)?)]);
    }
    for (key, flag) in SETTINGS {
        if !settings[key].is_null() {
            words.extend([flag.to_owned(), text(&settings[key])]);
        }
    }
    // What looks like a flag would be taken for one.
    let values = words.iter().skip(1).step_by(2);
    values.clone().all(|value| !value.starts_with('-')).then_some(words)
}

/// Values as a list on the command line; `None` where one of them would be split.
fn joined(list: &[Value]) -> Option<String> {
    let texts: Vec<String> = list.iter().map(text).collect();
    let whole = texts.iter().all(|text| !text.contains(',') && !text.is_empty());
    whole.then(|| texts.join(","))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Words for a shell; lists stay as readable as they are.
fn quoted(words: &[String]) -> Option<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_,./:=%+@".contains(letter);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => Some(word.clone()),
        false => shlex::try_quote(word).ok().map(std::borrow::Cow::into_owned),
    };
    Some(words.iter().map(word).collect::<Option<Vec<String>>>()?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use ipcost_model::parse_job;
    use serde_json::json;

    fn with_job(job: Value) -> Document {
        let mut document = fixture::document();
        document.job = serde_json::from_value(job).unwrap();
        document
    }

    #[test]
    fn one_matrix_is_flags() {
        let document = with_job(json!({
            "baseline": "my tcp", "budget": "40s", "margin": 0.03, "seed": 7,
            "cells": [{"pattern": ["rr"], "transport": ["unix", "tcp"], "size": [64, 4096], "client": ["native"],
                "server": ["mine"], "options": {"so_sndbuf": [4096, 8192]}}],
            "peers": {"mine": {"command": ["./my peer", "--fast"]}},
        }));
        let (command, job_file) = rerun(&document).unwrap();
        assert_eq!(job_file, None);
        assert_eq!(
            command,
            "ipcost run --transports unix,tcp --patterns rr --sizes 64,4096 --server mine --option so_sndbuf=4096,8192 \
             --peer \"mine='./my peer' --fast\" --baseline 'my tcp' --budget 40s --margin 0.03 --seed 7"
        );
    }

    #[test]
    fn what_flags_cannot_say_is_a_file_that_says_the_same() {
        let job = json!({
            "budget": "40s", "batch": "20ms",
            "cells": [
                {"label": "a ' label", "pattern": ["rr"], "transport": ["unix"], "size": [64]},
                {"pattern": ["stream"], "transport": ["tcp"], "options": {"tcp_nodelay": [false]}},
            ],
            "peers": {"mine": {"command": ["./my-peer"]}},
        });
        let document = with_job(job);
        let (command, job_file) = rerun(&document).unwrap();
        assert_eq!(command, "ipcost run job.toml --seed 7");
        assert_eq!(parse_job(&job_file.unwrap()).unwrap(), document.job);
    }
}
