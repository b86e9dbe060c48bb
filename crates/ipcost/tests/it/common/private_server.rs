//! A private server, kept as the engine keeps it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ipcost_features::app::KINDS;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Place, copy_of_the_program, missing, on_one_processor};

/// The package of a kind of server.
pub fn package_of(kind: &str) -> &'static str {
    let known = KINDS.iter().find(|known| known.name == kind);
    match known.unwrap_or_else(|| panic!("there is no server {kind}")).package {
        // What tests need of a larger package.
        "nginx" => "nginx-light",
        "mariadb-server" => "mariadb-server-core",
        package => package,
    }
}

/// A private server of a kind.
pub struct Server {
    keeper: Child,
    /// Removed once the server has ended.
    _dir: TempDir,
    pub unix: String,
    pub port: u16,
    /// What it knows its clients by.
    pub secret: String,
    /// As whom it runs.
    pub runs_as: String,
}

impl Server {
    /// Starts one; `None` if it may be missing, and is.
    pub fn start(place: &Place, kind: &str) -> Option<Self> {
        Self::start_by(place, on_one_processor(&place.command(&["peer", "app", kind, "--service"])), kind)
    }

    /// The same by a command, which may be another user's.
    pub fn start_by(place: &Place, mut command: Command, kind: &str) -> Option<Self> {
        let dir = TempDir::new_in(place.tmp.path()).unwrap();
        let mut passed = vec![place.tmp.path().to_owned(), dir.path().to_owned()];
        if command.get_program() == "setpriv" {
            std::os::unix::fs::chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            passed.pop();
        }
        for passed in passed {
            // By the server's own user.
            fs::set_permissions(passed, fs::Permissions::from_mode(0o711)).unwrap();
        }
        let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let cell = json!({"pattern": "rr", "transport": "unix", "size": 1, "reply": 1, "concurrency": 1, "speaks_first": "client", "options": {}});
        let address = json!({"dir": dir.path().join("s")});
        let prepare = json!({"type": "prepare", "role": "server", "cell": cell, "address": address});
        writeln!(keeper.stdin.as_mut().unwrap(), "{prepare}").unwrap();
        let told = BufReader::new(keeper.stdout.take().unwrap()).lines().nth(1).unwrap().unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        if told["type"] == "error" && told["message"].as_str().unwrap().contains("is not installed") {
            missing(package_of(kind), told["message"].as_str().unwrap());
            keeper.wait().unwrap();
            return None;
        }
        assert_eq!(told["type"], "ready", "{told}");
        let address = &told["address"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Some(Self {
            keeper,
            _dir: dir,
            unix: text(&address["unix"]["path"]),
            port: address["tcp"]["port"].as_u64().unwrap().try_into().unwrap(),
            secret: text(&address["tcp"]["secret"]),
            runs_as: text(&address["runs_as"]),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends it, and the server with it.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// The number of the user and the group without rights.
pub const NOBODY: u32 = 65534;

/// The same command by a user without rights, where this one is root: with directories of that user's own, and a copy of the program
/// that everyone may start. As it is where this user is none anyway.
pub fn by_nobody(place: &Place, args: &[&str]) -> Command {
    let ours = place.command(args);
    if fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).unwrap() != 0 {
        return ours;
    }
    let home: PathBuf = place.tmp.path().join("nobody");
    if !home.exists() {
        for passed in [place.tmp.path(), &home] {
            fs::create_dir_all(passed).unwrap();
            fs::set_permissions(passed, fs::Permissions::from_mode(0o711)).unwrap();
        }
        std::os::unix::fs::chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
        copy_of_the_program(&home.join("ipcost"));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(home.join("ipcost")).args(args);
    command.current_dir(&home).env("HOME", &home).env("NO_COLOR", "1");
    command.env("TMPDIR", &home).env("IPCOST_DATA_DIR", home.join("data"));
    command.env("XDG_CACHE_HOME", home.join("cache"));
    command
}
