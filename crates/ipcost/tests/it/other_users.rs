//! Root beside another user of the machine, who owns directories that root writes to and sockets that root asks, and changes them while it does.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
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
struct Attacker(Child, BufReader<ChildStdout>);

impl Attacker {
    /// Starts a program of Python's as that user, and waits until it is at work.
    fn start(program: &str, args: &[&Path]) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", program]).args(args).uid(NOBODY).gid(NOBODY).current_dir("/");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let mut attacker = Self(child, printed);
        assert_eq!(attacker.line(), "ready");
        attacker
    }

    /// The next line that it prints.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
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

/// A server of another user that claims to be one of a kind, and writes down what it gets.
const CLAIMING: &str = r#"
import os, socket, struct, sys
kind, at, log = sys.argv[1:]
def packet(kind):
    if kind == 'postgres':
        return b'R' + struct.pack('>ii', 8, 3)
    if kind == 'mariadb':
        caps = 0x81fffffe
        body = b'\n8.0.36\0' + bytes(4) + b'abcdefgh\0' + struct.pack('<H', caps & 0xffff) + b'-' + bytes(2)
        body += struct.pack('<H', caps >> 16) + b'\x15' + bytes(10) + b'ijklmnopqrst\0mysql_native_password\0'
        return struct.pack('<I', len(body))[:3] + b'\0' + body
    return b''
if at == 'port':
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    at = '%s:%d' % listener.getsockname()
else:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(at)
    os.chmod(at, 0o777)
listener.listen(50)
print('ready', flush=True)
print(at, flush=True)
while True:
    peer, _ = listener.accept()
    peer.settimeout(2)
    try:
        if kind == 'mariadb':
            peer.sendall(packet(kind))
        while data := peer.recv(4096):
            with open(log, 'ab') as file:
                file.write(data)
            if kind == 'postgres':
                peer.sendall(packet(kind))
    except OSError:
        pass
    peer.close()
"#;

#[test]
fn no_password_goes_to_a_server_of_another_user() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let dir = theirs(&place);
    for (kind, variable) in [("postgres", "PGPASSWORD"), ("mariadb", "MYSQL_PWD"), ("redis", "REDISCLI_AUTH")]
    {
        for (flag, at) in [("--unix", dir.join(format!("{kind}.5432"))), ("--tcp", PathBuf::from("port"))] {
            let log = dir.join(format!("{kind}{flag}"));
            let mut claiming = Attacker::start(CLAIMING, &[Path::new(kind), &at, &log]);
            let at = claiming.line();
            let ask = |more: &[&str]| {
                let ask = ["app", kind, "--user", "me", flag, &at, "--timeout", "3s"];
                let mut command = place.command(&[&ask[..], more].concat());
                command.env(variable, "hunter2").env("HOME", place.files.path());
                bounded(command)
            };
            let got = || fs::read(&log).unwrap_or_default();
            let has_password = || got().windows(7).any(|part| part == b"hunter2");
            let refused = ask(&[]);
            let error = text(&refused.stderr);
            // PostgreSQL's password in clear text goes nowhere over TCP.
            let is_clear = kind == "postgres" && flag == "--tcp";
            assert_eq!(refused.status.code(), Some(2), "{kind} {flag}: {error}");
            assert_eq!(error.contains("--trust-owner nobody"), !is_clear, "{kind} {flag}: {error}");
            assert!(!has_password(), "{kind} {flag}");
            // No hash of it either: MariaDB's client would send one unasked.
            assert!(kind != "mariadb" || got().is_empty(), "{kind} {flag}");
            // Named as the user's own it gets what it asks for.
            ask(&["--trust-owner", "nobody"]);
            match kind {
                "mariadb" => assert!(!got().is_empty(), "{flag}"),
                _ => assert_eq!(has_password(), !is_clear, "{kind} {flag}"),
            }
        }
    }
    let output = place.run(&["app", "redis", "--tcp", "127.0.0.1:1", "--trust-owner", "no such user"]);
    crate::common::assert_refused(&output, &["this machine has no such user", "unknown"]);
}

#[test]
fn a_file_of_options_that_others_may_write_is_not_read() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let dir = theirs(&place);
    let log = dir.join("log");
    let mut claiming = Attacker::start(CLAIMING, &[Path::new("mariadb"), &dir.join("s"), &log]);
    let at = claiming.line();
    let options = place.write(".my.cnf", "[client]\nuser=planted\npassword=x\n");
    let ask = || {
        let mut command =
            place.command(&["app", "mariadb", "--unix", &at, "--trust-owner", "nobody", "--timeout", "3s"]);
        command.env("HOME", place.files.path()).env("USER", "me").env_remove("MYSQL_PWD");
        bounded(command);
        let got = fs::read(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        String::from_utf8_lossy(&got).into_owned()
    };
    assert!(ask().contains("planted"));
    fs::set_permissions(&options, Permissions::from_mode(0o666)).unwrap();
    let got = ask();
    assert!(got.contains("me\0") && !got.contains("planted"), "{got}");
}

#[test]
fn a_run_waits_only_so_long_for_one_that_calls_itself_so() {
    if !is_root() {
        return;
    }
    const NAMED: &str = "
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[1].encode())
print('ready', flush=True)
time.sleep(600)
";
    let place = Place::new();
    let _claiming = Attacker::start(NAMED, &[Path::new("ipcost-measures")]);
    let mut command =
        place.command(&["run", "--transports", "null", "--patterns", "rr", "--epochs", "1", "--wait=200ms"]);
    command.env_remove("IPCOST_IGNORE_OTHERS");
    let output = bounded(command);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains(" of nobody")
            && error.contains("still measured after 0.2 s; wait longer with --wait=TIME"),
        "{error}"
    );
}

#[test]
fn a_journal_in_a_directory_that_another_user_could_replace_is_not_kept() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let dir = theirs(&place);
    let own = place.file("own");
    fs::create_dir(&own).unwrap();
    symlink(&own, dir.join("run")).unwrap();
    lchown(dir.join("run"), Some(NOBODY), Some(NOBODY)).unwrap();
    let setting = place.write("setting", "1\n");
    let arms = [["--b", &format!("echo 2 > {}", argument(&setting))], ["--keep", argument(&setting)]];
    for run in [dir.join("run"), dir.join("below")] {
        let ab = ["ab", "--transports", "null", "--patterns", "rr", "--epochs", "1", "--a", "true"];
        let mut command = place.command(&[&ab[..], &arms.concat()].concat());
        command.env("IPCOST_RUN_DIR", &run);
        let output = bounded(command);
        let error = text(&output.stderr);
        assert!(!output.status.success(), "{error}");
        assert!(error.contains("link of user 65534") || error.contains("belongs to user 65534"), "{error}");
        assert_eq!(fs::read_to_string(&setting).unwrap(), "1\n");
    }
    assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
}

#[test]
fn a_link_of_roots_in_a_directory_of_another_user_is_no_place_to_keep_things() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let dir = theirs(&place);
    let own = place.file("own");
    fs::create_dir(&own).unwrap();
    symlink(&own, dir.join("link")).unwrap();
    let mut command = place.command(&["run", "--transports", "null", "--patterns", "rr", "--epochs", "1"]);
    let output = bounded({
        command.env("IPCOST_DATA_DIR", dir.join("link"));
        command
    });
    let error = text(&output.stderr);
    assert!(error.contains("could not be saved") && error.contains("belongs to user 65534"), "{error}");
    assert!(!own.join("runs").exists() || fs::read_dir(own.join("runs")).unwrap().count() == 0, "{error}");
}

#[test]
fn a_file_of_roots_that_another_user_put_there_gives_no_rights() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let (dir, document) = (theirs(&place), place.write("document.json", DOCUMENT));
    let loose = place.write("loose", "");
    fs::set_permissions(&loose, Permissions::from_mode(0o666)).unwrap();
    let second = place.file("second");
    fs::hard_link(&loose, &second).unwrap();
    fs::rename(&loose, dir.join("moved")).unwrap();
    for out in [second, dir.join("moved")] {
        let report = bounded(place.command(&["report", argument(&document), "--json", argument(&out)]));
        assert!(report.status.success(), "{}", text(&report.stderr));
        assert_eq!(mode(&out) & 0o022, 0, "{out:?}");
    }
}
