//! Commands for CI and people: `cargo xtask test`, `cargo xtask lint`, `cargo xtask soak`, `cargo xtask bench`, `cargo xtask dist`.

use std::process::ExitCode;

use xtask::{advisories, dist, lint, miri, shell, soak, test};

const USAGE: &str = "\
usage: cargo xtask <command>

  test             the tests that run anywhere, each in a process of its own
  test --system    tests that take a browser, real servers, network namespaces, Windows under Wine, or packages
  test --nightly   what takes too long for each change, and ten times the simulated campaigns
  test [--system|--nightly] --allow-missing NAME[,NAME...]
                   skips tests that need what this machine lacks, which otherwise fail: packages, rights (root, quotas, tracing, ...)
                   or all; the last line counts and names the skips
  lint             formatting, links, English, lints, documentation, dependencies, Miri
  advisories       known vulnerabilities of dependencies; fails where their database does not answer, which lint counts as skipped
  soak [N]         all tests N times (20), every second time beside stress-ng; stops at the first failure
  miri             pure code, under Miri; needs a nightly compiler with it
  bench overhead [N] [PART ...]
                   the measured loops against the bare system calls, in one run of N epochs (60); only those with a PART in their name
  bench packaged [N] [PART ...]
                   the same loops in the static binary that is packaged, against those of the usual build
  bench streams [N] [PART ...]
                   streams of seven sizes against bare programs that place their buffers at random by themselves, in N epochs (40);
                   fails if a quotient is surely over 15 % off
  bench habits [N] [HABIT ...]
                   what the measured side does and a typical program does not, or the reverse, and what it changes, in N turns (30)
  bench percentiles [N]
                   percentiles of latency against a plain loop that times each round trip, in N epochs (40)
  bench pauses [N] round trips after pauses of 1, 10 and 100 ms against a plain loop; N epochs (12)
  bench verdict [N]
                   how long a verdict takes, against fixed repetitions; N of each (10)
  bench pairs [N]  how often two runs of one build are called different; N of each (40)
  bench tools [N] [--markdown] [TOOL ...]
                   tools that know nothing of ipcost against its cells for the same work, in N turns (10); only these: perf, sockperf,
                   qperf, iperf3, redis-benchmark, socat
  bench apps [N] [apart] [SERVER ...]
                   ipcost app against the load tools of the servers themselves, in N turns (10); on one core, or apart on two; only
                   these: postgres, mariadb, redis, http
  figures [DIR]    every figure, table and picture of README and docs/, from the documents in DIR, which are kept in docs/figures; with
                   --check it writes nothing, and fails if one is not as those documents have it
  glyphs           the tables of letters of pictures, from their typefaces
  tables           the simulated table of docs/trust.md
  dist [--twice] [--profile NAME] [--out DIR] [PART ...]
                   packages of all kinds in target/packages, with checksums; only these: x86_64, aarch64, windows, deb, npm,
                   homebrew, crates; with --twice, builds them again elsewhere and compares";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test", words @ ..] => match test_options(words) {
            Some((run, may_be_missing)) => run(&may_be_missing),
            None => return usage_error(),
        },
        ["lint"] => lint::run(),
        ["advisories"] => advisories::require(),
        ["soak"] => soak::run(20),
        ["soak", times] => repetitions(times).and_then(soak::run),
        ["miri"] => miri::run(),
        ["bench" | "figures" | "glyphs" | "tables", ..] => bench(&words),
        ["dist", words @ ..] => dist::DistOptions::read(words).and_then(|options| dist::run(&options)),
        ["--help" | "-h" | "help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => return usage_error(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage_error() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Runs tests, given what may be missing.
type RunTests = fn(&str) -> anyhow::Result<()>;

/// Which tests to run, and what may be missing; `None` for other words.
fn test_options(mut words: &[&str]) -> Option<(RunTests, String)> {
    let (mut run, mut may_be_missing): (RunTests, _) = (test::run, Vec::new());
    loop {
        words = match words {
            [] => return Some((run, may_be_missing.join(","))),
            ["--system", rest @ ..] => {
                run = test::run_system;
                rest
            }
            ["--nightly", rest @ ..] => {
                run = test::run_nightly;
                rest
            }
            ["--allow-missing", names, rest @ ..] => {
                may_be_missing.push(*names);
                rest
            }
            _ => return None,
        };
    }
}

/// Runs a bench of its own package: it takes the whole program as a library, and building that is not for every command.
fn bench(words: &[&str]) -> anyhow::Result<()> {
    let cargo = ["cargo", "run", "--quiet", "--package", "ipcost-bench", "--"];
    let status =
        shell::command(&[&cargo[..], words].concat()).current_dir(std::env::current_dir()?).status()?;
    anyhow::ensure!(status.success(), "failed: {}", words.join(" "));
    Ok(())
}

fn repetitions(text: &str) -> anyhow::Result<u32> {
    text.parse().map_err(|_| anyhow::anyhow!("this takes a number of repetitions, not {text}"))
}
