//! Root beside another user of the machine, who owns directories that root writes to and sockets that root asks, and changes them while it does.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::private_server::NOBODY;
use crate::common::{Place, argument, missing, text, wait};

/// Something small that every command reads.
const DOCUMENT: &str = include_str!("../../../../fuzz/corpus/document/run2.json");
/// How often root writes while another user acts: before it was prevented, one time did.
const TIMES: u32 = 12;

/// Whether this is root, which alone may take on another user.
fn is_root() -> bool {
    let is = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is {
        missing("root", "the tests run as another user");
    }
    is
}

/// A directory of another user in a place that all may pass.
fn theirs(place: &Place) -> PathBuf {
    fs::set_permissions(place.files.path(), Permissions::from_mode(0o755)).unwrap();
    let dir = place.file("theirs");
    fs::create_dir(&dir).unwrap();
    chown(&dir, Some(NOBODY), Some(NOBODY)).unwrap();
    dir
}

/// What another user does meanwhile; ends with this value.
struct Attacker(Child);

impl Attacker {
    /// Starts a program of Python's as that user, and waits until it is at work.
    fn start(program: &str, args: &[&Path]) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", program]).args(args).uid(NOBODY).gid(NOBODY).current_dir("/");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs to its end, or is ended: a command that waits for another user would never.
fn bounded(mut command: Command) -> Output {
    let limited = Duration::from_secs(20).as_secs().to_string();
    let mut timeout = Command::new("timeout");
    timeout.args(["--signal", "KILL", &limited]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => timeout.env(name, value),
            None => timeout.env_remove(name),
        };
    }
    timeout.current_dir(command.get_current_dir().unwrap());
    command = timeout;
    let output =
        wait(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert_ne!(output.status.code(), None, "it waited in vain: {}", text(&output.stderr));
    output
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn no_mode_is_set_on_what_takes_the_place_of_an_unfinished_file() {
    const SWAP: &str = "
import os, sys
there, victim = sys.argv[1:]
print('ready', flush=True)
while True:
    for name in os.listdir(there):
        if name.startswith('.ipcost-'):
            try:
                os.unlink(there + '/' + name)
                os.symlink(victim, there + '/' + name)
            except OSError:
                pass
";
    if !is_root() {
        return;
    }
    let place = Place::new();
    let (dir, document) = (theirs(&place), place.write("document.json", DOCUMENT));
    let victim = place.write("victim", "a program of root's");
    fs::set_permissions(&victim, Permissions::from_mode(0o755)).unwrap();
    let _attacker = Attacker::start(SWAP, &[&dir, &victim]);
    let out = dir.join("o");
    for _ in 0..TIMES {
        let _ = fs::remove_file(&out);
        fs::write(&out, "").unwrap();
        chown(&out, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(&out, Permissions::from_mode(0o4755)).unwrap();
        let output = bounded(place.command(&["report", argument(&document), "--html", argument(&out)]));
        assert_eq!(mode(&victim), 0o755, "{}", text(&output.stderr));
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "a program of root's");
}

#[test]
fn a_file_that_takes_the_place_of_a_pipe_stays_as_it_was() {
    const SWAP: &str = "
import ctypes, os, sys
there, victim = sys.argv[1:]
out, other = (there + '/o.json').encode(), (there + '/other').encode()
os.mkfifo(out)
# A reader, so that no one who opens it waits.
reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK)
os.symlink(victim, other)
print('ready', flush=True)
exchange = ctypes.CDLL(None).renameat2
while True:
    if exchange(-100, out, -100, other, 2) != 0:
        # It was replaced: begin again.
        os.path.lexists(other) and os.unlink(other)
        os.symlink(victim, other)
    if os.path.isfile(out) and not os.path.islink(out):
        os.mkfifo(there + '/new')
        reader = os.open(there + '/new', os.O_RDONLY | os.O_NONBLOCK)
        os.rename(there + '/new', out)
";
    if !is_root() {
        return;
    }
    let place = Place::new();
    let (dir, document) = (theirs(&place), place.write("document.json", DOCUMENT));
    let victim = place.write("victim", "what root keeps");
    let _attacker = Attacker::start(SWAP, &[&dir, &victim]);
    for _ in 0..TIMES {
        let output =
            bounded(place.command(&["report", argument(&document), "--json", argument(&dir.join("o.json"))]));
        assert!(fs::read(&victim).unwrap() == b"what root keeps", "{}", text(&output.stderr));
    }
}

#[test]
fn a_directory_that_another_user_replaced_by_a_link_is_not_written_to() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let (dir, document) = (theirs(&place), place.write("document.json", DOCUMENT));
    let of_root = place.file("of_root");
    fs::create_dir(&of_root).unwrap();
    symlink(&of_root, dir.join("out")).unwrap();
    lchown(dir.join("out"), Some(NOBODY), Some(NOBODY)).unwrap();
    let report =
        |out: &Path| bounded(place.command(&["report", argument(&document), "--json", argument(out)]));
    let output = report(&dir.join("out/o.json"));
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("is a link of user 65534, which is not followed"), "{error}");
    assert_eq!(fs::read_dir(&of_root).unwrap().count(), 0);
    // A link of root's own is followed.
    symlink(&of_root, place.file("own")).unwrap();
    assert!(report(&place.file("own/o.json")).status.success());
    assert_eq!(mode(&of_root.join("o.json")) & 0o7133, 0);
}

#[test]
fn a_file_of_another_user_gives_no_more_than_a_new_file_has() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let (dir, document) = (theirs(&place), place.write("document.json", DOCUMENT));
    for (old, new) in [(0o666, 0o644), (0o600, 0o600), (0o6777, 0o644)] {
        let out = dir.join(format!("{old:o}"));
        fs::write(&out, "").unwrap();
        chown(&out, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(&out, Permissions::from_mode(old)).unwrap();
        let report =
            format!("umask 022; exec \"$0\" report {} --json {}", argument(&document), argument(&out));
        let mut shell = place.command(&[]);
        let program = shell.get_program().to_owned();
        let mut command = Command::new("sh");
        command.args(["-c", &report]).arg(program).current_dir(place.files.path());
        command.envs(shell.env("UNUSED", "").get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = bounded(command);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(mode(&out), new, "{old:o}");
    }
}
