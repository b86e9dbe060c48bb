//! What CI runs and people run: `cargo xtask test`, `cargo xtask bench`, `cargo xtask dist`.

mod advisories;
mod bench;
mod dist;
mod docs;
mod miri;
mod pairs;
mod shell;
mod tables;
mod test;
mod tools;
mod unused;
mod verdict;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  test             everything that must hold: formatting, lints, tests, documentation, dependencies
  miri             what is pure, under Miri; needs a nightly compiler with it
  bench overhead   the measured loops against the barest C loops, in one run
  bench verdict [N]
                   how long a verdict takes, against hyperfine and against fixed repetitions; N of each (10)
  bench pairs [N]  how often two runs of one build are told apart; N of each (40)
  tables           the simulated tables of docs/trust.md
  dist             an optimised binary, ready to be copied, in target/ipcost";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test"] => test::run(),
        ["miri"] => miri::run(),
        ["bench", "overhead", rest @ ..] => bench::overhead(rest),
        ["bench", "verdict"] => verdict::bench(10),
        ["bench", "verdict", times] => repetitions(times).and_then(verdict::bench),
        ["bench", "pairs"] => pairs::bench(40),
        ["bench", "pairs", times] => repetitions(times).and_then(|times| pairs::bench(times as usize)),
        ["tables"] => {
            tables::print();
            Ok(())
        }
        ["dist"] => dist::run(),
        ["--help" | "-h" | "help"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn repetitions(text: &str) -> anyhow::Result<u32> {
    text.parse().map_err(|_| anyhow::anyhow!("this takes a number of repetitions, not {text}"))
}
