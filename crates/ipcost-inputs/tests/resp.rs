//! What the redis peer reads from a redis-server, under the sanitizers of addresses and of undefined behaviour.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Mutations of every input that was kept.
const MUTATIONS: &str = "10000";

#[test]
fn replies_of_redis() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("resp-replay");
    let mut build = Command::new("cc");
    build.args(["-std=c11", "-D_GNU_SOURCE", "-Dread=given_read", "-Ipeers/redis", "-Ipeers/c", "-g", "-O1"]);
    build.args([
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-o",
    ]);
    build.arg(&program).args(["fuzz/resp/target.c", "fuzz/resp/replay.c", "peers/redis/resp.c"]);
    let built = build.current_dir(&root).output().expect("cc, which the C peer needs, too");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(root.join("fuzz/corpus/resp"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    let replayed = Command::new(program).arg(MUTATIONS).args(inputs).output().unwrap();
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stderr));
}
