//! Engine and guard killed together while a run of two arms changes a setting, or while a real server runs: after the next start
//! neither a process nor a changed setting is left.
//!
//! `IPCOST_MOMENTS=200` kills at so many moments instead of twenty.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{Place, argument, copy_of_the_program, missing, text};

/// The latest moment, milliseconds after the start.
const LATEST_MS: u64 = 1_500;
const SETTING: &str = "/proc/sys/net/ipv4/ip_default_ttl";
const NOBODY: u32 = 65_534;
const CELL: [&str; 8] = ["--transports", "unix", "--patterns", "rr", "--sizes", "64", "--placement", "free"];
const NEXT: [&str; 11] = [
    "run", "--transports", "null", "--patterns", "rr", "--placement", "free", "--epochs", "1", "--quiet",
    "--no-save",
];

/// Who runs the program, and where.
struct Somebody {
    place: Place,
    /// The words before the program.
    before: Vec<String>,
    program: PathBuf,
    /// Keeps a network namespace.
    holder: Option<Child>,
}

impl Somebody {
    /// Root, in a network namespace of its own, with settings of its own; `None` without the rights.
    fn root() -> Option<Self> {
        let mut holder = Command::new("unshare");
        holder
            .args(["--net", "sh", "-c", "echo; exec sleep 10000"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut holder = holder.stderr(Stdio::null()).spawn().ok()?;
        let mut word = [0];
        if std::io::Read::read_exact(holder.stdout.as_mut()?, &mut word).is_err() {
            let _ = holder.wait();
            missing("network-namespaces", "no process may have a network of its own");
            return None;
        }
        let before = vec!["nsenter".to_owned(), format!("--net=/proc/{}/ns/net", holder.id())];
        let program = PathBuf::from(env!("CARGO_BIN_EXE_ipcost"));
        Some(Self { place: Place::new(), before, program, holder: Some(holder) })
    }

    /// A user who is not root.
    fn user() -> Self {
        let place = Place::new();
        let (mut before, mut program) = (Vec::new(), PathBuf::from(env!("CARGO_BIN_EXE_ipcost")));
        let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let is_root = Command::new(words[0]).args(&words[1..]).arg("true").stderr(Stdio::null()).status();
        if is_root.is_ok_and(|status| status.success()) {
            before = words.map(str::to_owned).to_vec();
            // No one has to reach it.
            program = place.file("ipcost");
            copy_of_the_program(&program);
            for dir in [&place.tmp, &place.files, &place.data] {
                chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        Self { place, before, program, holder: None }
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let known = self.place.command(&[]);
        let mut words = self.before.iter().map(String::as_str).chain([program]).chain(args.iter().copied());
        let mut command = Command::new(words.next().unwrap());
        command.args(words).stdin(Stdio::null()).current_dir(self.place.files.path());
        for (name, value) in known.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    fn reads(&self, file: &str) -> String {
        text(&self.command("cat", &[file]).output().unwrap().stdout)
    }

    /// Starts the program, kills it with all guards at a moment, and starts it once more.
    fn kill(&self, args: &[&str], moment: u64) {
        let mut command = self.command(argument(&self.program), args);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A walk over all moments with a step that shares no factor with their number.
        std::thread::sleep(Duration::from_millis(moment * 367 % LATEST_MS));
        let all = self.place.processes();
        let guards = all.iter().filter(|(_, words)| words.ends_with(" guard ")).map(|(id, _)| id.to_string());
        let numbers: Vec<String> = guards.chain([child.id().to_string()]).collect();
        // At once. One may have ended by itself.
        let _ = Command::new("kill").args(["-s", "KILL"]).args(&numbers).stderr(Stdio::null()).status();
        child.wait().unwrap();
        let next = self.command(argument(&self.program), &NEXT).output().unwrap();
        assert!(next.status.success(), "moment {moment}: {}", text(&next.stderr));
        self.place.wait_until("no process is left", || self.place.processes().is_empty());
        let run = std::fs::read_dir(self.place.data.path().join("run")).into_iter().flatten().flatten();
        let left: Vec<_> = run
            .map(|entry| entry.file_name())
            .filter(|name| !text(name.as_encoded_bytes()).ends_with(".lock"))
            .collect();
        assert!(left.is_empty(), "moment {moment}: {left:?}, {}", text(&next.stderr));
    }
}

impl Drop for Somebody {
    fn drop(&mut self) {
        if let Some(holder) = &mut self.holder {
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

fn moments() -> u64 {
    std::env::var("IPCOST_MOMENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(20)
}

#[test]
fn a_sysctl_of_root_is_as_it_was() {
    let Some(root) = Somebody::root() else { return };
    let before = root.reads(SETTING);
    let set = |value: u32| format!("sysctl -qw net.ipv4.ip_default_ttl={value}");
    let (a, b) = (set(71), format!("{}; sleep 0.02; {}", set(72), set(73)));
    let args = [&["ab", "--a", &a, "--b", &b, "--epochs", "400", "--quiet"][..], &CELL].concat();
    for moment in 0..moments() {
        root.kill(&args, moment);
        assert_eq!(root.reads(SETTING), before, "moment {moment}");
    }
}

#[test]
fn a_file_of_a_user_is_as_it_was() {
    let user = Somebody::user();
    let file = user.place.write("setting", "as it was\n");
    if !user.before.is_empty() {
        chown(&file, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let file = file.display().to_string();
    let set = |word: &str| format!("echo {word} > {file}; sleep 0.02; true");
    let (a, b) = (set("first"), set("second"));
    let args =
        [&["ab", "--a", &a, "--b", &b, "--keep", &file, "--epochs", "400", "--quiet"][..], &CELL].concat();
    for moment in 0..moments() {
        user.kill(&args, moment);
        assert_eq!(user.reads(&file), "as it was\n", "moment {moment}");
    }
}

#[test]
fn a_server_that_was_measured_is_gone() {
    if let Err(error) = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status() {
        missing("redis-server", &error.to_string());
        return;
    }
    let all = [Somebody::root(), Some(Somebody::user())];
    for somebody in all.iter().flatten() {
        for moment in 0..moments() {
            somebody.kill(&["app", "redis", "--budget", "10min", "--quiet", "--no-save"], moment);
        }
    }
}
