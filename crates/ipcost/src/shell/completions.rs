//! `ipcost completions`: scripts that complete commands, flags, and the names that registries know.

use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, CommandFactory};
use ipcost_features::replicate::catalogue;
use ipcost_features::selftest::Noise;
use ipcost_model::{CATALOGUE, LatencyMode, NATIVE, Pattern, Placement, SpeaksFirst};
use ipcost_sys::transport;

use crate::args::{Cli, CompletionsArgs};
use crate::exit::Problem;
use crate::output::print;

pub fn run(args: &CompletionsArgs) -> Result<ExitCode, Problem> {
    print(&script(args.shell)).map_err(Problem::failed)?;
    Ok(ExitCode::SUCCESS)
}

fn script(shell: clap_complete::Shell) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut with_values(shown(&Cli::command())), "ipcost", &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The table without the commands that only the program itself gives.
fn shown(table: &Command) -> Command {
    Command::new("ipcost")
        .disable_help_subcommand(true)
        .version(env!("CARGO_PKG_VERSION"))
        .args(table.get_arguments().cloned())
        .subcommands(table.get_subcommands().filter(|command| !command.is_hide_set()).cloned())
}

/// The table of flags with the values that are known by name. The program itself does not parse by it: its own
/// errors tell the nearest name.
fn with_values(table: Command) -> Command {
    let transports = || -> Vec<PossibleValue> {
        let known = transport::states().into_iter().map(|state| state.capabilities);
        known.map(|known| PossibleValue::new(known.name).help(known.summary)).collect()
    };
    let peers = || -> Vec<PossibleValue> {
        let built_in = PossibleValue::new(NATIVE).help("the built-in one");
        let others = ipcost_foreign::all()
            .map(|peer| PossibleValue::new(peer.name.to_string()).help(peer.summary.to_string()));
        [built_in].into_iter().chain(others).collect()
    };
    let options =
        CATALOGUE.iter().map(|spec| PossibleValue::new(format!("{}=", spec.name)).help(spec.summary));
    let commands: Vec<PossibleValue> = super::visible(&super::table())
        .map(|command| PossibleValue::new(command.get_name().to_owned()))
        .collect();
    let run = |run: Command| {
        run.mut_arg("transports", one_of(transports()))
            .mut_arg("baseline", one_of(transports()))
            .mut_arg("patterns", one_of(names(Pattern::ALL, |it| it.name())))
            .mut_arg("placement", one_of(names(Placement::ALL, |it| it.name())))
            .mut_arg("speaks_first", one_of(names(SpeaksFirst::ALL, |it| it.name())))
            .mut_arg("latency", one_of(names(LatencyMode::ALL, |it| it.name())))
            .mut_arg("client", one_of(peers()))
            .mut_arg("server", one_of(peers()))
            .mut_arg("options", one_of(options.collect()))
    };
    let experiments: Vec<PossibleValue> = catalogue::names().map(PossibleValue::new).collect();
    table
        .mut_subcommand("run", run)
        .mut_subcommand("replicate", |command| command.mut_arg("names", one_of(experiments)))
        .mut_subcommand("conformance", |command| command.mut_arg("peer", one_of(peers())))
        .mut_subcommand("selftest", |command| {
            command.mut_arg("noise", one_of(names(Noise::ALL, |it| it.name())))
        })
        .mut_subcommands(|command| match command.get_name() {
            "man" => command.mut_arg("command", one_of(commands.clone())),
            _ => command,
        })
        .mut_subcommand("help", |command| {
            let lists = super::help::TOPICS.map(|(name, _)| PossibleValue::new(name));
            command.mut_arg("words", one_of(commands.into_iter().chain(lists).collect()))
        })
}

fn one_of(values: Vec<PossibleValue>) -> impl FnOnce(Arg) -> Arg {
    |arg| arg.value_parser(PossibleValuesParser::new(values))
}

fn names<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> Vec<PossibleValue> {
    all.iter().map(|value| PossibleValue::new(name(*value))).collect()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use clap_complete::Shell;

    use super::*;

    #[test]
    fn every_flag_of_every_command_is_completed_in_every_shell() {
        let table = super::super::table();
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for command in super::super::visible(&table) {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
                for flag in command.get_arguments().filter_map(Arg::get_long) {
                    // Fish names long flags without their dashes.
                    let found =
                        script.contains(&format!("--{flag}")) || script.contains(&format!("-l {flag}"));
                    assert!(found, "{shell}: {} --{flag}", command.get_name());
                }
            }
        }
    }

    #[test]
    fn names_come_from_the_registries() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for known in ["unix-abstract", "lead-in", "ruby-celluloid", "tcp_nodelay=", "apart"] {
                assert!(script.contains(known), "{shell}: {known}");
            }
        }
        // Fish's script has flags only.
        for shell in [Shell::Bash, Shell::Zsh] {
            assert!(script(shell).contains("redis-incr"), "{shell}");
        }
    }

    #[test]
    fn hidden_commands_stay_hidden() {
        for shell in Shell::value_variants() {
            assert!(!script(*shell).contains("hog"), "{shell}");
        }
    }
}
