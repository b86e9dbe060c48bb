//! The saved inputs, and reproducible mutations of them: nothing panics, hangs, or fills memory.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ipcost_stats::Random;
use serde_json::{Value, json};

use self::targets::{HOSTILE, TARGETS, run};

/// The functions that fuzzers run.
#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

/// The number of mutations: a second's worth without optimisation, and ten times as many every night.
fn mutations(target: &str) -> u64 {
    let nightly = match target {
        "answers" => 200,
        "document" => 1_000,
        "samples" | "replication" => 1_000,
        "kernel_texts" | "trace" | "manifest" | "peer" | "resp" => 10_000,
        _ => 5_000,
    };
    if ipcost_testing::is_nightly() { nightly } else { nightly / 10 }
}
/// The limit for one input, however busy the machine is; the slowest takes some 50 ms.
const MOST_TIME: Duration = Duration::from_secs(30);
/// The largest mutated input, bytes.
const MOST_BYTES: usize = 1 << 16;
/// The number of absurd values for each document.
fn absurd_values() -> u32 {
    if ipcost_testing::is_nightly() { 120 } else { 12 }
}
/// Values likely to be at a limit.
const TELLING: [&[u8]; 24] = [
    b"0", b"-1", b"1e999", b"18446744073709551615", b"18446744073709551616", b"-9223372036854775808", b"NaN",
    b"null", b"\"", b"\\", b"\n", b"\n\n", b"\0", b"\x1b[41m", b"\xff", b"\xe2\x80\xae", b"[", b"{", b"]",
    b"}", b":", b",", b"=", b" ",
];

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> = fs::read_dir(&dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// Runs one input, and names it on failure.
fn tried(target: &str, name: &dyn Fn() -> String, bytes: &[u8]) {
    let began = Instant::now();
    let outcome = std::panic::catch_unwind(|| run(target, bytes));
    let took = began.elapsed();
    if outcome.is_err() || took > MOST_TIME {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("found-{target}"));
        fs::write(&file, bytes).unwrap();
        panic!(
            "{target}: {} fails or takes {took:?}; it is in {}: mend what it found, and keep it in fuzz/corpus/{target}",
            name(),
            file.display()
        );
    }
}

fn mutated(random: &mut Random, seeds: &[(PathBuf, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len() as u64) as usize].1.clone();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        let end = (at + random.below(40) as usize).min(bytes.len());
        match random.below(7) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece.repeat(1 + random.below(4) as usize));
            }
            2 => {
                let telling = TELLING[random.below(TELLING.len() as u64) as usize];
                bytes.splice(at..end.min(at + 1), telling.iter().copied());
            }
            3 => bytes[at..end].iter_mut().for_each(|byte| *byte ^= 1 << random.below(8)),
            4 => {
                let other = &seeds[random.below(seeds.len() as u64) as usize].1;
                let from = random.below(other.len() as u64 + 1) as usize;
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            5 => replace_number(random, &mut bytes, at),
            _ => {
                let from = random.below(bytes.len() as u64 + 1) as usize;
                let piece = bytes[from..(from + 40).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        bytes.truncate(MOST_BYTES);
    }
    bytes
}

/// Replaces the next number: the form stays valid, and the meaning changes.
fn replace_number(random: &mut Random, bytes: &mut Vec<u8>, at: usize) {
    let Some(begin) = bytes[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset) else {
        return;
    };
    let digits = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = match random.below(4) {
        0 => "0".to_owned(),
        1 => u64::MAX.to_string(),
        2 => (1_u64 << random.below(64)).to_string(),
        _ => random.below(1000).to_string(),
    };
    bytes.splice(begin..begin + digits, number.into_bytes());
}

/// Values that fit many keys and are hardly ever right.
fn absurd(random: &mut Random) -> Value {
    let all = [
        json!(null),
        json!(0),
        json!(1),
        json!(-1),
        json!(7),
        json!(u32::MAX),
        json!(u64::MAX / 4),
        json!(1e59),
        json!(-1e59),
        json!(1e-59),
        json!(3e9),
        json!(0.5),
        json!(true),
        json!(""),
        json!(HOSTILE),
        json!([]),
        json!({}),
        json!([[[[]]]]),
    ];
    all[random.below(all.len() as u64) as usize].clone()
}

/// JSON with absurd values in it, or parts of it twice or never: many of these are documents.
fn mutated_json(random: &mut Random, value: &Value) -> Vec<u8> {
    let mut value = value.clone();
    for _ in 0..=random.below(3) {
        let mut all = Vec::new();
        places(&value, "", &mut all);
        let Some(place) = all.get(random.below(all.len().max(1) as u64) as usize) else { break };
        let spot = value.pointer_mut(place).expect("it is there");
        match spot {
            Value::Array(list) if !list.is_empty() && random.below(2) == 0 => {
                let at = random.below(list.len() as u64) as usize;
                if random.below(2) == 0 { drop(list.remove(at)) } else { list.push(list[at].clone()) }
            }
            spot => *spot = absurd(random),
        }
    }
    value.to_string().into_bytes()
}

#[test]
fn documents_with_absurd_values_are_refused_or_drawn() {
    for target in ["document", "answers"] {
        let (mut random, mut accepted) = (Random::new(2), 0);
        // An answer is drawn in all its outputs, which takes longer.
        let each = if target == "answers" { absurd_values() / 2 } else { absurd_values() };
        let seeds = corpus(target).into_iter();
        let seeds =
            seeds.filter_map(|(path, bytes)| Some((path, serde_json::from_slice::<Value>(&bytes).ok()?)));
        for (path, value) in seeds {
            for number in 0..each {
                let bytes = mutated_json(&mut random, &value);
                tried(target, &|| format!("absurd value {number} of {}", path.display()), &bytes);
                accepted += u32::from(match target {
                    "document" => ipcost_model::read_document(&bytes).is_ok(),
                    _ => ipcost_model::read_documents(&bytes).is_ok(),
                });
            }
        }
        println!("{target}: {accepted} accepted");
        assert!(accepted > each / 4, "{target}: {accepted} are drawn");
    }
}

#[test]
fn inputs_that_were_kept_and_mutations_of_them() {
    for (target, _) in TARGETS {
        let began = Instant::now();
        let seeds = corpus(target);
        assert!(!seeds.is_empty(), "{target} has inputs");
        for (path, bytes) in &seeds {
            tried(target, &|| path.display().to_string(), bytes);
        }
        let mut random = Random::new(1);
        for number in 0..mutations(target) {
            let bytes = mutated(&mut random, &seeds);
            tried(target, &|| format!("mutation {number}"), &bytes);
        }
        println!("{target}: {} inputs, {} mutations, {:?}", seeds.len(), mutations(target), began.elapsed());
    }
    // All in one process, so that this is the overall peak.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!("{kibibytes} KiB at the peak");
    assert!(kibibytes < 512 * 1024, "{kibibytes} KiB");
}

/// The places of all values, as JSON pointers.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    let mut down = |key: &str, value: &Value| {
        let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        out.push(at.clone());
        places(value, &at, out);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| down(key, value)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| down(&index.to_string(), value));
        }
        _ => {}
    }
}

/// The same with hostile text in every string that is not a word of the format; how many that are. What is equal stays equal, so that what
/// names a cell still does.
fn hostile(mut value: Value, accepts: &dyn Fn(&Value) -> bool) -> (Value, usize) {
    let mut all = Vec::new();
    places(&value, "", &mut all);
    let texts: BTreeSet<String> = all
        .iter()
        .filter_map(|place| value.pointer(place)?.as_str().map(str::to_owned))
        .filter(|text| !text.is_empty())
        .collect();
    let mut changed = 0;
    // Each alone is quick to try; a word of the format is refused.
    for text in texts {
        let mut tried = value.clone();
        for place in &all {
            let spot = tried.pointer_mut(place).expect("the places stay");
            if spot.as_str() == Some(text.as_str()) {
                *spot = format!("{text}{HOSTILE}").into();
            }
        }
        if accepts(&tried) {
            value = tried;
            changed += 1;
        }
    }
    (value, changed)
}

#[test]
fn hostile_text_everywhere_in_every_kind_of_document_is_escaped_in_every_output() {
    use ipcost_features::answers::answer_of;
    let is_document = |value: &Value| {
        let document = ipcost_model::read_document(value.to_string().as_bytes());
        document.is_ok_and(|document| answer_of(&document).is_ok())
    };
    let are_answers = |value: &Value| {
        let documents = ipcost_model::read_documents(value.to_string().as_bytes());
        value.is_array() && documents.is_ok_and(|all| all.iter().all(|document| answer_of(document).is_ok()))
    };
    type Accepts<'a> = &'a dyn Fn(&Value) -> bool;
    let kinds: [(_, Accepts<'_>); 2] = [("document", &is_document), ("answers", &are_answers)];
    let mut kinds_seen = BTreeSet::new();
    for (target, accepts) in kinds {
        for (path, bytes) in corpus(target) {
            let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { continue };
            if !accepts(&value) {
                continue;
            }
            let (value, changed) = hostile(value, accepts);
            assert!(changed > 10, "{}: {changed} texts", path.display());
            tried(target, &|| format!("{} with hostile text", path.display()), value.to_string().as_bytes());
            kinds_seen.insert(format!("{target} {}", value["answer"]["schema"]));
        }
    }
    // A plain run, seven kinds of answers in documents, and several experiments.
    assert!(kinds_seen.len() >= 9, "{kinds_seen:?}");
}

#[test]
fn seeds_are_of_use() {
    // Inputs refused at once would test nothing but the refusal.
    let accepted = |target: &str, accepts: &dyn Fn(&str) -> bool| {
        corpus(target).iter().filter_map(|(_, bytes)| std::str::from_utf8(bytes).ok()).any(accepts)
    };
    assert!(accepted("job", &|text| ipcost_model::parse_job(text).is_ok()));
    assert!(accepted("claims", &|text| ipcost_features::check::parse_claims(text).is_ok()));
    assert!(accepted("replication", &|text| {
        toml::from_str::<ipcost_features::replicate::Replication>(text).is_ok()
    }));
    assert!(accepted("document", &|text| ipcost_model::read_document(text.as_bytes()).is_ok()));
    assert!(accepted("answers", &|text| { ipcost_model::read_documents(text.as_bytes()).is_ok() }));
    assert!(accepted("peer", &|text| {
        text.lines().any(|line| ipcost_model::read_message(line.as_bytes()).is_ok())
    }));
    assert!(accepted("resp", &|text| {
        // The first byte is the size of pieces.
        ipcost_peer::adapters::redis::resp::read_reply(&mut text.as_bytes().get(1..).unwrap_or_default())
            .is_ok()
    }));
    assert!(accepted("cell_id", &|text| ipcost_model::parse_cell_id(text).is_ok()));
}

#[test]
fn every_target_has_its_harness_and_every_directory_its_target() {
    let fuzz = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    for (target, _) in TARGETS {
        let harness = fs::read_to_string(fuzz.join(format!("fuzz_targets/{target}.rs"))).unwrap();
        assert!(harness.contains(&format!("run(\"{target}\"")), "{target}");
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
    }
    for entry in fs::read_dir(fuzz.join("corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "resp" || TARGETS.iter().any(|(target, _)| *target == name), "{name}");
    }
}
