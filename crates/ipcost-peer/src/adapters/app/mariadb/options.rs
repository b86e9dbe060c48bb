//! The file of options that the clients of MariaDB and MySQL read.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::Path;

use ipcost_sys::found_file;
use ipcost_sys::private_dir::check_own;

/// The options `user` and `password` of all clients, as the file has them; and why it is not used, if it should not be.
pub(super) fn options() -> (BTreeMap<String, String>, Option<String>) {
    let path = env::var_os("HOME").map(|home| Path::new(&home).join(".my.cnf"));
    let opened = path.and_then(|path| Some((found_file::open(&path).ok()?, path)));
    let Some((file, path)) = opened else { return (BTreeMap::new(), None) };
    if let Err(why) = check_own(&file, &path) {
        return (BTreeMap::new(), Some(format!("{} is not used: {why}", path.display())));
    }
    (in_lines(&io::read_to_string(file).unwrap_or_default()), None)
}

/// Of the group `[client]`; values may be in quotes, and the last one counts.
fn in_lines(lines: &str) -> BTreeMap<String, String> {
    let mut is_client = false;
    let mut options = BTreeMap::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(group) = line.strip_prefix('[') {
            is_client = group.strip_suffix(']').is_some_and(|group| group.trim() == "client");
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_client) {
            let value = value.trim();
            let quoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
            let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
            options.insert(name.trim().to_owned(), unescaped(value));
        }
    }
    options
}

/// A backslash begins the signs that a value cannot hold otherwise.
fn unescaped(value: &str) -> String {
    let mut text = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match (letter, if letter == '\\' { letters.clone().next() } else { None }) {
            ('\\', Some(next @ ('\\' | 's' | 't' | '"' | '\''))) => {
                text.push(match next {
                    's' => ' ',
                    't' => '\t',
                    next => next,
                });
                letters.next();
            }
            (letter, _) => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_options_is_read_as_other_clients_do() {
        let lines = "[mysqld]\nuser=no\n[client]\n# password=no\nuser = me\npassword=\"a b#\\\\\"\n[mysql]\nuser=no\n";
        let options = in_lines(lines);
        assert_eq!(options["user"], "me");
        assert_eq!(options["password"], "a b#\\");
        assert!(in_lines("user=me").is_empty());
    }
}
