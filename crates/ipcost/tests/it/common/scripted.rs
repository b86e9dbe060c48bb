//! Peers that report planted times, so that the whole program runs and its verdicts are the same on every machine.

use std::process::Command;
use std::sync::OnceLock;

const PEER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/common/scripted_peer.py");

/// The command of a peer whose operations take planted times: `NS` or `NS/LONG_NS`, the second in batches of more than 80 ms, or `PREFIX=NS` of cells whose `PATTERN/TRANSPORT/SIZE` begins so.
pub fn command(costs: &[&str]) -> Vec<String> {
    [python(), "-E", "-S", PEER].into_iter().chain(costs.iter().copied()).map(str::to_owned).collect()
}

/// Python itself: what finds the version of a user takes longer to start than a batch lasts.
pub fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        String::from_utf8(output.expect("python3 is there").stdout).unwrap().trim().to_owned()
    })
}

/// The same as a table of a job file or a published experiment: `[peers.NAME]`.
pub fn table(peers: &str, name: &str, costs: &[&str]) -> String {
    format!("[{peers}.{name}]\ncommand = {:?}\n", command(costs))
}
