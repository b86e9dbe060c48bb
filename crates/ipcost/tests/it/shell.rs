//! Completions in real shells, and the manual in a real formatter.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::common::{Place, assert_refused, missing, text};

fn printed(args: &[&str]) -> String {
    let output = Place::new().run(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs a program with something on its standard input; `None` where it is not installed.
fn fed(program: &str, args: &[&str], input: &str) -> Option<Output> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        missing(program, "it cannot be started");
        return None;
    };
    let mut to = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || to.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    Some(output)
}

/// What bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let list = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let last = words.len() - 1;
    let script = format!(
        "{}\nCOMP_WORDS=({list}); COMP_CWORD={last}; _ipcost ipcost '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        printed(&["completions", "bash"]),
        words[last],
        words[last - 1]
    );
    let output = fed("bash", &["--norc", "--noprofile"], &script).expect("bash is there");
    assert_eq!(text(&output.stderr), "");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    assert_eq!(offered(&["ipcost", "ru"]), ["run"]);
    assert_eq!(offered(&["ipcost", "run", "--tran"]), ["--transports"]);
    assert_eq!(
        offered(&["ipcost", "run", "--transports", "unix"]),
        ["unix", "unix-abstract", "unix-seqpacket", "unix-dgram"]
    );
    assert_eq!(offered(&["ipcost", "run", "--client", "nat"]), ["native"]);
    assert_eq!(offered(&["ipcost", "selftest", "--noise", "q"]), ["quota"]);
    assert_eq!(offered(&["ipcost", "prune", "--dr"]), ["--dry-run"]);
}

#[test]
fn other_shells_find_nothing_wrong_with_their_scripts() {
    for (shell, args) in [("zsh", ["-n", "/dev/stdin"]), ("fish", ["--no-execute", "/dev/stdin"])] {
        if let Some(output) = fed(shell, &args, &printed(&["completions", shell])) {
            assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {}", text(&output.stderr));
        }
    }
    assert!(printed(&["completions", "powershell"]).contains("Register-ArgumentCompleter"));
    assert!(printed(&["completions", "elvish"]).contains("edit:completion"));
    assert_refused(&Place::new().run(&["completions", "csh"]), &["bash", "zsh"]);
    assert_refused(&Place::new().run(&["completions"]), &["SHELL"]);
}

#[test]
fn every_page_is_formatted_without_a_warning() {
    let commands = ["run", "show", "list", "resume", "prune", "replicate", "selftest", "conformance", "man"];
    for command in [None].into_iter().chain(commands.map(Some)) {
        let page = printed(&[&["man"][..], command.as_slice()].concat());
        let output = fed("groff", &["-man", "-ww", "-Tutf8", "-rLL=80n"], &page).expect("groff is there");
        assert_eq!(text(&output.stderr), "", "{command:?}");
        let shown = text(&output.stdout);
        assert!(shown.contains("User Commands") && shown.contains("ipcost"), "{command:?}: {shown}");
    }
    assert_refused(&Place::new().run(&["man", "rum"]), &["unknown command \"rum\"", "did you mean \"run\""]);
}
