//! Files that hold settings: what they hold, and how it is written back.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use ipcost_model::KeptFile;
use ipcost_sys::file_writer::{open_in_place, open_kernel_file};
use ipcost_sys::found_file;

/// Files of the kernel that show a list and take one word of it at a time: `X` or `NO_X`, `x` or `nox`.
const TOGGLES: [&str; 3] = ["/sched/features", "/sched_features", "/trace_options"];

/// The longest file of settings, bytes.
const MOST_BYTES: u64 = 1 << 20;

/// What a file holds; `None` if it cannot be read.
pub fn read(path: &str) -> Option<String> {
    let mut text = String::new();
    found_file::open(path.as_ref()).ok()?.take(MOST_BYTES + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= MOST_BYTES).then_some(text)
}

/// How a file is to be read and written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// An ordinary file: byte for byte.
    Whole,
    /// A value, or one of several in brackets.
    Value,
    /// Words that are each turned on and off.
    Toggles,
}

fn form(path: &str) -> Form {
    let of_kernel = Path::new(path).starts_with("/proc") || Path::new(path).starts_with("/sys");
    match of_kernel {
        true if TOGGLES.iter().any(|end| path.ends_with(end)) => Form::Toggles,
        true => Form::Value,
        false => Form::Whole,
    }
}

/// The setting that a file holds: of several to choose from, the one in brackets.
pub fn setting(path: &str, text: &str) -> String {
    match form(path) {
        Form::Value => value_of(text),
        Form::Whole | Form::Toggles => text.trim().to_owned(),
    }
}

fn value_of(text: &str) -> String {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
    chosen.unwrap_or(text).trim().to_owned()
}

/// Whether a file holds what was set: a whole list, or a word of one.
pub fn holds(path: &str, wanted: &str, text: &str) -> bool {
    match form(path) {
        Form::Whole => wanted.trim() == text.trim(),
        Form::Value => wanted.split_whitespace().eq(value_of(text).split_whitespace()),
        Form::Toggles => words(wanted).is_subset(&words(text)),
    }
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

/// What is to be written, one after the other, for a file to hold again what it held.
fn writes(file: &KeptFile, now: &str) -> Vec<String> {
    match form(&file.path) {
        Form::Whole => vec![file.text.clone()],
        Form::Value => vec![value_of(&file.text)],
        Form::Toggles => words(&file.text).difference(&words(now)).map(|word| (*word).to_owned()).collect(),
    }
}

/// Opens a file for writing: a value of the kernel's is taken as it is written, any other file is rewritten in its place.
pub fn open(path: &str) -> io::Result<File> {
    match form(path) {
        Form::Whole => open_in_place(path.as_ref()),
        Form::Value | Form::Toggles => open_kernel_file(path.as_ref()),
    }
}

fn write(path: &str, text: &str) -> io::Result<()> {
    let mut file = open(path)?;
    if form(path) == Form::Whole {
        file.set_len(0)?;
    }
    file.write_all(text.as_bytes())
}

/// Writes a file back as it was.
pub fn put_back(file: &KeptFile) -> io::Result<()> {
    let path = &file.path;
    let now = read(path);
    if now.as_ref() == Some(&file.text) {
        return Ok(());
    }
    for value in writes(file, now.as_deref().unwrap_or_default()) {
        write(path, &value)?;
    }
    let found = read(path).unwrap_or_default();
    if holds(path, &setting(path, &file.text), &found) {
        return Ok(());
    }
    let (found, text) = (setting(path, &found), setting(path, &file.text));
    Err(io::Error::other(format!("it is {found} after {text} was written")))
}

/// The command that writes a file back by hand.
pub fn by_hand(file: &KeptFile) -> String {
    let path = &file.path;
    match form(path) {
        Form::Whole => format!("write to {path} again: {:?}", file.text),
        Form::Value => format!("echo {} > {path}", value_of(&file.text)),
        Form::Toggles => {
            let words = writes(file, &read(path).unwrap_or_default());
            words.iter().map(|word| format!("echo {word} > {path}")).collect::<Vec<_>>().join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "/proc/sys/x";
    const TOGGLED: &str = "/sys/kernel/debug/sched/features";

    #[test]
    fn of_several_to_choose_from_the_chosen_one_is_the_setting() {
        assert_eq!(setting("/sys/kernel/mm/x/enabled", "always [madvise] never\n"), "madvise");
        assert_eq!(setting("/sys/block/x/queue/scheduler", "[none] mq-deadline \n"), "none");
        assert_eq!(setting(VALUE, "4096\t87380\t6291456\n"), "4096\t87380\t6291456");
        assert!(holds(VALUE, "4096 87380 6291456", "4096\t87380\t6291456\n"));
        assert!(!holds(VALUE, "bbr", "cubic\n"));
    }

    #[test]
    fn a_list_of_toggles_is_written_a_word_at_a_time() {
        let file = KeptFile { path: TOGGLED.to_owned(), text: "A NO_B C NO_D\n".to_owned() };
        assert_eq!(writes(&file, "A B NO_C NO_D\n"), ["C", "NO_B"]);
        assert!(holds(TOGGLED, "NO_C", "A B NO_C\n") && !holds(TOGGLED, "C", "A B NO_C\n"));
    }

    #[test]
    fn an_ordinary_file_is_put_back_to_the_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings").display().to_string();
        let text = "[section]\nkey = 1\n\n".to_owned();
        std::fs::write(&path, "[section]\nkey = 2\n").unwrap();
        put_back(&KeptFile { path: path.clone(), text: text.clone() }).unwrap();
        assert_eq!(read(&path), Some(text));
    }
}
