//! What help shows besides flags: the commands in groups, and examples.

use clap::{Arg, Command, CommandFactory};

use super::Cli;
use crate::commands::{EXAMPLES, GROUPS};

/// The format that another program takes; it is shown where documents are converted.
pub const OF_ANOTHER: &str = "benchfmt";
/// Where all formats are shown.
const CONVERTS: &str = "show";

/// Commands that take the flags of `run`, too, with the heading of their own and the line in place of the others.
const LIKE_RUN: [(&str, &[&str], &str); 2] = [
    (
        "ab",
        &["The two arms"],
        "All flags of run work, too, for cells, measuring and output: ipcost help run.",
    ),
    (
        "app",
        &["Which server, and what it is asked", "How to measure"],
        "The outputs of run work, too, such as --html, --json and --png: ipcost help run.",
    ),
];

/// Commands for those who write peers and packages: the pages name them.
const HIDDEN: [&str; 4] = ["peer", "conformance", "schema", "man"];

const ROOT: &str = "{about-with-newline}\n{usage-heading} {usage}\n{after-help}\n\nOptions:\n{options}";

/// Whether a command is one that the program starts itself in.
pub fn is_internal(command: &Command) -> bool {
    command.is_hide_set() && !HIDDEN.contains(&command.get_name())
}

/// The table of all commands, with their help.
pub fn table() -> Command {
    decorated(|name, command| examples_after(name, with_own_flags(name, command)))
}

/// The same with every flag that works, as a reference has them.
pub fn whole_table() -> Command {
    decorated(examples_after)
}

fn decorated(each: fn(&str, Command) -> Command) -> Command {
    let table = Cli::command().help_template(ROOT);
    let groups = grouped(&table);
    let table = table.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let command = if HIDDEN.contains(&name.as_str()) { command.hide(true) } else { command };
        // What it was called when it only converted documents.
        let command = if name == CONVERTS { command.alias("report") } else { command };
        each(&name, command)
    });
    table.after_help(format!(
        "{groups}{}\n\nipcost help COMMAND shows its flags; ipcost help transports, peers, options or formats lists those.",
        examples("")
    ))
}

/// The commands with what each does, a line each.
fn grouped(table: &Command) -> String {
    let about =
        |name: &str| table.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
    let group = |(title, names): &(&str, &[&str])| {
        let names = names.iter().filter(|name| !HIDDEN.contains(name));
        let lines = names.map(|name| format!("  {name:<13}{}\n", about(name).unwrap_or_default()));
        format!("{title}:\n{}\n", lines.collect::<String>())
    };
    GROUPS.iter().map(group).collect()
}

/// A command that hides those flags that another's help shows.
fn with_own_flags(name: &str, command: Command) -> Command {
    let like_run = LIKE_RUN.iter().find(|(known, ..)| *known == name);
    let is_own = |arg: &Arg| {
        like_run.is_none_or(|(_, own, _)| {
            arg.is_positional() || arg.get_help_heading().is_some_and(|heading| own.contains(&heading))
        })
    };
    let command = command.mut_args(|arg| {
        let is_for_another = arg.get_id() == OF_ANOTHER && name != CONVERTS;
        let is_shown = is_own(&arg) && !is_for_another;
        if is_shown { arg } else { arg.hide(true) }
    });
    let command = command.mut_subcommands(|below| with_own_flags(name, below));
    match like_run {
        None => command,
        Some((_, _, line)) => ending_with(command, |more| vec![(*line).to_owned(), more]),
    }
}

fn examples_after(name: &str, command: Command) -> Command {
    ending_with(command, |more| vec![examples(name), more])
}

/// The command with another end of its help. It has one help only: a second, longer one for the same question would hide what it says.
fn ending_with(command: Command, parts: impl FnOnce(String) -> Vec<String>) -> Command {
    let more = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let mut after = parts(more.unwrap_or_default());
    after.retain(|part| !part.is_empty());
    command.after_long_help(None::<&str>).after_help(after.join("\n\n"))
}

/// The examples of a command.
fn examples(name: &str) -> String {
    let Some((_, examples)) = EXAMPLES.iter().find(|(known, _)| *known == name) else { return String::new() };
    let mut out = "Examples:".to_owned();
    for (line, what) in *examples {
        out.push_str(&format!("\n  {line}\n      {what}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::process::ExitCode;

    use super::*;
    use crate::args::parse;

    #[test]
    fn every_command_is_in_one_group_and_has_an_example() {
        let table = Cli::command();
        let visible = table.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
        for name in visible {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(groups, 1, "{name}");
            assert!(EXAMPLES.iter().any(|(known, _)| *known == name), "{name} has no example");
        }
        assert!(grouped(&table).lines().all(|line| line.chars().count() <= 90), "a line each");
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(table.find_subcommand(name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_example_is_a_command_line_that_works() {
        for (name, examples) in EXAMPLES {
            for (line, _) in *examples {
                let words = shlex::split(line).unwrap();
                assert!(parse(words.iter().map(Into::into)).is_ok(), "{line}");
                assert!(name.is_empty() || words[1] == *name, "{line} is no example of {name}");
            }
        }
    }

    #[test]
    fn every_command_line_of_the_pages_works() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = ["docs", "docs/reference", "docs/contributing"].into_iter();
        let docs = docs.flat_map(|dir| std::fs::read_dir(root.join(dir)).unwrap());
        let docs = docs.map(|entry| entry.unwrap().path());
        let pages = docs.chain(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
        let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
        let (mut count, mut wrong) = (0, Vec::new());
        for page in pages.filter(|path| !path.ends_with("command-line.md")) {
            let text = std::fs::read_to_string(&page).unwrap().replace("\\\n", " ");
            for line in commands(&text) {
                count += 1;
                if parse(line.iter().map(Into::into)).is_err_and(|exit| exit != ExitCode::SUCCESS) {
                    wrong.push(format!("{}: {}", page.display(), line.join(" ")));
                }
            }
        }
        assert!(count > 60 && wrong.is_empty(), "{count}\n{}", wrong.join("\n"));
    }

    /// The words of each command line of this program in blocks of code, without what a shell does with it.
    fn commands(page: &str) -> Vec<Vec<String>> {
        let mut is_code = false;
        let lines = page.lines().filter(|line| {
            is_code ^= line.starts_with("```");
            is_code
        });
        // What stands for something else, and synopses.
        let is_whole = |line: &&str| !line.contains(['…', '[', '<', '(']) && !line.contains("...");
        let lines = lines.filter(is_whole).filter_map(|line| shlex::split(line.trim_start_matches("$ ")));
        let of_program = lines.filter_map(|words| {
            let is_before = |word: &&String| *word == "sudo" || word.contains('=');
            let rest: Vec<String> = words.iter().skip_while(is_before).cloned().collect();
            let of_shell =
                |word: &&String| !["|", "&&", "||", ">", ">>", "2>", "&", ";"].contains(&word.as_str());
            let words: Vec<String> = rest.iter().take_while(of_shell).cloned().collect();
            (words.first()? == "ipcost").then_some(words)
        });
        of_program.collect()
    }

    #[test]
    fn a_flag_that_help_leaves_out_still_works() {
        let help = |name: &str| {
            let mut table = table();
            table.build();
            table.find_subcommand_mut(name).unwrap().render_long_help().to_string()
        };
        assert!(help("report").contains("--benchfmt") && !help("run").contains("--benchfmt"));
        assert!(!help("ab").contains("--transports") && help("ab").contains("--a-env"));
        let line = ["ipcost", "ab", "--b-env", "A=1", "--transports", "unix", "--benchfmt", "-"];
        assert!(parse(line.iter().map(Into::into)).is_ok());
    }
}
