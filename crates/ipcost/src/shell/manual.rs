//! `ipcost man`: the manual page of the whole program, or of one command.

use std::process::ExitCode;

use anyhow::anyhow;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use ipcost_model::unknown;

use super::{table, visible};
use crate::args::ManArgs;
use crate::exit::Problem;
use crate::output::print;

/// What the program asks its environment for.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("IPCOST_DATA_DIR", "Where runs are saved, instead of the following."),
    ("XDG_DATA_HOME", "Runs are saved in ipcost/runs below it; by default it is ~/.local/share."),
    ("XDG_CACHE_HOME", "Built peers are kept in ipcost/peers below it; by default it is ~/.cache."),
    ("TMPDIR", "Sockets and FIFOs are made in a private directory below it."),
    ("NO_COLOR", "Set to anything, it turns colours off."),
];
const EXIT_STATUS: [(&str, &str); 5] = [
    ("0", "Done."),
    ("1", "Something failed."),
    ("2", "The command line or a job is wrong; nothing was measured."),
    ("3", "A question that was asked could not be answered."),
    ("130", "Interrupted; what was measured is shown."),
];

pub fn run(args: &ManArgs) -> Result<ExitCode, Problem> {
    let table = table();
    let page = match &args.command {
        None => of_program(&table),
        Some(name) => {
            let command = visible(&table).find(|command| command.get_name() == name).ok_or_else(|| {
                let known: Vec<&str> = visible(&table).map(Command::get_name).collect();
                Problem::usage(anyhow!("{}", unknown("command", name, known)))
            })?;
            of_command(command)
        }
    };
    print(&page).map_err(Problem::failed)?;
    Ok(ExitCode::SUCCESS)
}

/// The whole program: its own page, then every command as a section.
fn of_program(table: &Command) -> String {
    let mut page = head(table);
    page.push_str(&body(table));
    for command in visible(table) {
        let title = format!("ipcost {}", command.get_name());
        let mut section = Roff::new();
        section.control("SH", [title.to_uppercase().as_str()]);
        page.push_str(&section.to_roff());
        // What is a section on a page of its own is a part of this one.
        page.push_str(&body(command).replace("\n.SH ", "\n.SS "));
    }
    page.push_str(&pairs("ENVIRONMENT", &ENVIRONMENT));
    page.push_str(&pairs("EXIT STATUS", &EXIT_STATUS));
    ascii(&page)
}

fn of_command(command: &Command) -> String {
    ascii(&format!("{}{}", head(command), body(command)))
}

/// Title and name. Flags are not hyphenated, so that they can be copied.
fn head(command: &Command) -> String {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let version = env!("CARGO_PKG_VERSION");
    let title = format!(".TH {} 1 \"\" \"ipcost {version}\" \"User Commands\"\n.nh\n", name.to_uppercase());
    title + &rendered(|out| Man::new(command.clone()).render_name_section(out))
}

/// How it is called, what it does, its flags, and what its help ends with.
fn body(command: &Command) -> String {
    let man = Man::new(command.clone());
    let mut body = rendered(|out| {
        man.render_synopsis_section(out)?;
        man.render_description_section(out)?;
        man.render_options_section(out)
    });
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        body.push_str(&notes(&after.to_string()));
    }
    body
}

/// The end of the help, line by line and indented as there. What this machine lacks is not for the manual.
fn notes(help: &str) -> String {
    let mut notes = Roff::new();
    notes.control("SH", ["NOTES"]).control("na", []);
    for line in help.lines() {
        let line = line.split(" (unavailable here").next().unwrap_or(line);
        let text = line.trim_start();
        if text.is_empty() {
            notes.control("sp", []);
            continue;
        }
        let indent = line.len() - text.len();
        // Both requests begin a new line.
        notes.control("in", [format!("+{indent}n").as_str()]).text([roman(text)]);
        notes.control("in", [format!("-{indent}n").as_str()]);
    }
    notes.control("ad", []).to_roff()
}

fn pairs(title: &str, pairs: &[(&str, &str)]) -> String {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for (word, meaning) in pairs {
        section.control("TP", []).text([bold(*word)]).text([roman(*meaning)]);
    }
    section.to_roff()
}

fn rendered(render: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    render(&mut out).expect("memory takes what is written to it");
    String::from_utf8_lossy(&out).into_owned()
}

/// Other characters by their numbers, so that the page reads the same whatever encoding the formatter expects.
fn ascii(page: &str) -> String {
    let coded = |c: char| if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", c as u32) };
    page.chars().map(coded).collect()
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    /// A flag as it stands in a page.
    fn escaped(flag: &str) -> String {
        format!("--{flag}").replace('-', "\\-")
    }

    #[test]
    fn every_flag_of_every_command_is_on_its_page_and_on_the_whole_one() {
        let table = table();
        let whole = of_program(&table);
        for command in visible(&table) {
            let own = of_command(command);
            let title = format!(".SH \"IPCOST {}\"", command.get_name().to_uppercase());
            let section = whole.split(&title).nth(1).expect(&title).split("\n.SH ").next().unwrap();
            for flag in command.get_arguments().filter_map(Arg::get_long) {
                assert!(own.contains(&escaped(flag)), "{} --{flag}", command.get_name());
                assert!(section.contains(&escaped(flag)), "{} --{flag} in the whole", command.get_name());
            }
        }
        assert!(whole.is_ascii() && !whole.contains("hog"));
    }
}
