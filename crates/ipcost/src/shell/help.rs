//! `ipcost help`: a command's flags, or what can be named in them, from the registries.

use std::process::ExitCode;

use anyhow::anyhow;
use clap::Command;
use ipcost_model::{CATALOGUE, Capabilities, NATIVE, OptionGroup, TransportState, unknown};
use ipcost_report::formats::{FORMATS, Format};
use ipcost_report::picture::Chart;
use ipcost_report::wrap::wrapped_under;
use ipcost_sys::OS;
use ipcost_sys::transport;

use super::{table, visible};
use crate::args::{HelpArgs, OF_ANOTHER, is_internal, parse};
use crate::exit::Problem;
use crate::output::print;

type HelpList = fn() -> Vec<HelpSection>;
/// Lists with a name of their own.
pub(super) const TOPICS: [(&str, HelpList); 4] =
    [("transports", transports), ("peers", peers), ("options", options), ("formats", formats)];

/// Outputs that are no text of a document, by flag, and for what.
const OTHER_FORMATS: [(&str, &str); 4] = [
    ("--svg FILE, --png FILE", "a picture; --chart NAME, as below"),
    ("show --otava FILE", "costs for Apache Otava, one row a run"),
    ("schema", "the JSON Schema of each document"),
    ("list --json FILE", "the saved runs"),
];
const CHARTS: [(Chart, &str); 11] = [
    (Chart::Cost, "what each workload costs"),
    (Chart::Size, "cost against the size of a message"),
    (Chart::Forest, "ratios to the baseline, with their intervals"),
    (Chart::Throughput, "bits a second of streams"),
    (Chart::Layout, "cost against the place of receive buffers"),
    (Chart::Pace, "cost against the pause between operations"),
    (Chart::Latency, "latency by percentile"),
    (Chart::Load, "latency against the rate that is offered, of ipcost load"),
    (Chart::Cheapest, "the cheapest transport by size of message"),
    (Chart::Claims, "the claims of a replication, by condition"),
    (Chart::Saving, "what a Unix socket saves of a server's requests, by its work on them"),
];
/// The words in capitals of [`OptionKind::value_names`](ipcost_model::OptionKind::value_names).
const VALUES: [(&str, &str); 7] = [
    ("SIZE", "bytes: 4096, 64KiB, 1MiB"),
    ("TIME", "up to 60s: 500ns, 50us, 1ms, 0"),
    ("RATE", "operations a second: 5000, 5k/s"),
    ("N", "a whole number from 1"),
    ("BYTES", "an offset within a page of 4096 bytes: 16, 64"),
    ("CPU", "the number of a processor (see lscpu): 0, 3"),
    ("NAME", "a name that the system knows: cubic, bbr"),
];
/// Names as long as this, or shorter, have what they are in the same line.
const MOST_BESIDE: usize = 24;
/// Where it begins in a line of its own.
const INDENT: &str = "      ";

pub(super) struct HelpSection {
    title: String,
    /// A name with a remark, and what it is.
    entries: Vec<(String, String)>,
}

pub fn run(args: &HelpArgs) -> Result<ExitCode, Problem> {
    let list = args.words.first().and_then(|first| TOPICS.iter().find(|(name, _)| name == first));
    if let Some((name, sections)) = list {
        if args.words.len() > 1 {
            return Err(Problem::usage(anyhow!("{name} is a list; nothing follows it")));
        }
        print(&text(&sections(), room())).map_err(Problem::failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut at = &table();
    for (depth, name) in args.words.iter().enumerate() {
        if !at.has_subcommands() {
            let command = at.get_name();
            return Err(Problem::usage(anyhow!("{command} has no commands of its own; nothing follows it")));
        }
        at = at.find_subcommand(name).filter(|command| !is_internal(command)).ok_or_else(|| {
            let lists = TOPICS.iter().map(|(name, _)| *name).filter(|_| depth == 0);
            let known: Vec<&str> = visible(at).map(Command::get_name).chain(lists).collect();
            let what = if depth == 0 { "command or list" } else { "command" };
            Problem::usage(anyhow!("{}", unknown(what, name, known)))
        })?;
    }
    // As the command itself shows it.
    let words = ["ipcost"].into_iter().chain(args.words.iter().map(String::as_str)).chain(["--help"]);
    Ok(parse(words.map(Into::into)).err().unwrap_or(ExitCode::SUCCESS))
}

fn text(sections: &[HelpSection], room: usize) -> String {
    let mut out = String::new();
    for HelpSection { title, entries } in sections {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("{title}:\n"));
        let widest = entries.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, what) in entries {
            if widest <= MOST_BESIDE {
                let indent = " ".repeat(widest + 4);
                let line = wrapped_under(&format!("  {name:<widest$}  {what}"), room, &indent);
                out.push_str(&format!("{line}\n"));
            } else {
                let name = wrapped_under(&format!("  {name}"), room, "    ");
                let what = wrapped_under(&format!("{INDENT}{what}"), room, INDENT);
                out.push_str(&format!("{name}\n{what}\n"));
            }
        }
    }
    out
}

/// Those that exist on this system, moving ones first, then floors.
fn transports() -> Vec<HelpSection> {
    let here = |state: &TransportState| state.capabilities.exists_on(OS);
    let (floors, moving): (Vec<_>, Vec<_>) =
        transport::states().into_iter().filter(here).partition(|state| state.capabilities.floor.is_some());
    let entry = |state: TransportState| {
        let note = state.unavailable.map_or(String::new(), |reason| format!(" (unavailable here: {reason})"));
        (state.capabilities.name.to_owned(), format!("{}{note}", state.capabilities.summary))
    };
    vec![
        HelpSection {
            title: "Transports (--transports LIST)".to_owned(),
            entries: moving.into_iter().map(entry).collect(),
        },
        HelpSection {
            title: "Floors (--floor measures those it needs; alone: --patterns floor --transports NAME)"
                .to_owned(),
            entries: floors.into_iter().map(entry).collect(),
        },
    ]
}

fn peers() -> Vec<HelpSection> {
    let own = (NATIVE.to_string(), "the built-in one, which every peer is measured against".to_owned());
    let others = ipcost_foreign::all().map(|peer| {
        let packages = match peer.packages {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        (format!("{}{packages}", peer.name), peer.summary.to_string())
    });
    vec![HelpSection {
        title: "Peers (--client NAME, --server NAME), and the Debian packages that they need".to_owned(),
        entries: std::iter::once(own).chain(others).collect(),
    }]
}

fn options() -> Vec<HelpSection> {
    let known: Vec<&Capabilities> = transport::states()
        .into_iter()
        .map(|state| state.capabilities)
        .filter(|known| known.exists_on(OS))
        .collect();
    let entries = CATALOGUE.iter().map(|spec| {
        let patterns: Vec<&str> = spec.patterns.iter().map(|pattern| pattern.name()).collect();
        let over = match spec.group {
            OptionGroup::Loop | OptionGroup::Place | OptionGroup::Buffers | OptionGroup::Memory => Vec::new(),
            group => {
                let acts = known.iter().filter(|known| known.option_groups.contains(&group));
                acts.map(|known| known.name).collect()
            }
        };
        // A group of no transport acts in the loops over all of them.
        let over = if over.is_empty() { String::new() } else { format!(" over {}", over.join(", ")) };
        let acts_on = format!("{}{over}", patterns.join(", "));
        let values = spec.kind.value_names();
        let name = format!("{}={values} (default: {}; {acts_on})", spec.name, spec.default);
        (name, spec.summary.to_owned())
    });
    let values = VALUES.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned()));
    vec![
        HelpSection {
            title: "Options of cells (--option KEY=VALUE, or several: KEY=VALUE,VALUE)".to_owned(),
            entries: entries.collect(),
        },
        HelpSection { title: "Values".to_owned(), entries: values.collect() },
    ]
}

fn formats() -> Vec<HelpSection> {
    let json = (
        "--json FILE".to_owned(),
        "the document, with every sample; schema: ipcost schema document".to_owned(),
    );
    let texts = FORMATS.iter().map(|Format { flag, brief, .. }| {
        let command = if *flag == OF_ANOTHER { "show " } else { "" };
        (format!("{command}--{flag} FILE"), (*brief).to_owned())
    });
    let others = OTHER_FORMATS.iter().map(|(flag, what)| ((*flag).to_owned(), (*what).to_owned()));
    let entries = std::iter::once(json).chain(texts).chain(others).collect();
    let charts = CHARTS.iter().map(|(chart, what)| (chart.name().to_owned(), (*what).to_owned())).collect();
    vec![
        HelpSection { title: "Outputs; FILE may be -, for standard output".to_owned(), entries },
        HelpSection { title: "Pictures (--chart NAME, with --svg or --png)".to_owned(), entries: charts },
    ]
}

/// As wide as clap's help is.
fn room() -> usize {
    crate::output::room().clamp(40, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chart_is_listed() {
        assert_eq!(CHARTS.map(|(chart, _)| chart), Chart::ALL);
    }
}
