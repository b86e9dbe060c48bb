//! A fleet on a terminal.

use anstyle::{AnsiColor, Style};
use ipcost_model::escaped;
use ipcost_model::units::counted;
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{interval, ratio};
use ipcost_report::words::{capitalised, cores};
use ipcost_report::wrap::wrapped;

use super::record::{Fleet, FleetCheapest, Standing};
use super::words::{
    ContrastRow, another, cheapest_on, claim_conditions, claim_counts, how, known, pair, rows, sentences,
    skipped, spread, tables, title, typical, work,
};
use crate::claims::ClaimVerdict;

const BOLD: Style = Style::new().bold();
const DIMMED: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
/// So many sentences, groups and files are shown without details.
const MOST_SENTENCES: usize = 8;
const MOST_GROUPS: usize = 8;
const MOST_FILES: usize = 5;

/// Draws a fleet in `room` columns of text, with styles as ANSI sequences; with every host, or not.
pub fn render(fleet: &Fleet, details: bool, room: usize) -> String {
    let mut out = format!("{BOLD}{}{BOLD:#}\n", wrapped(&title(fleet), room));
    out.push('\n');
    groups(fleet, details, room, &mut out);
    contrasts(fleet, room, &mut out);
    cheapest(fleet, room, &mut out);
    claims(fleet, details, room, &mut out);
    let mut lines = Vec::new();
    let sentences = sentences(fleet, details);
    let most = if details { usize::MAX } else { MOST_SENTENCES };
    lines.extend(sentences.iter().take(most).map(|said| capitalised(said)));
    if sentences.len() > most {
        lines.push(format!(
            "… and {} more; --details shows all.",
            counted((sentences.len() - most) as u64, "sentence")
        ));
    }
    lines.extend(fleet.notes.iter().cloned());
    if !lines.is_empty() {
        out.push('\n');
    }
    lines.iter().for_each(|line| out.push_str(&format!("{}\n", wrapped(line, room))));
    if details {
        hosts(fleet, room, &mut out);
    }
    out.push('\n');
    if let Some(how) = how(fleet) {
        out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", wrapped(&how, room)));
    }
    let skipped = skipped(fleet, if details { usize::MAX } else { MOST_FILES });
    skipped.iter().for_each(|line| out.push_str(&format!("{}\n", wrapped(line, room))));
    out
}

fn groups(fleet: &Fleet, details: bool, room: usize, out: &mut String) {
    const COLUMNS: [Column; 4] = [
        Column::new("hosts", true, 0),
        Column::new("kernel", false, 0),
        Column::new("processor", false, 1),
        Column::new("virtualisation", false, 2),
    ];
    let mut grid = Grid::new(&COLUMNS);
    let most = if details { usize::MAX } else { MOST_GROUPS };
    for group in fleet.groups.iter().take(most) {
        grid.row(vec![
            group.hosts.to_string().into(),
            escaped(&format!("{} {}", group.os, group.kernel)).into(),
            escaped(&group.cpu).into(),
            escaped(&group.virtualisation).into(),
        ]);
    }
    grid.render(out, room);
    if fleet.groups.len() > most {
        let left: u64 = fleet.groups[most..].iter().map(|group| group.hosts).sum();
        let more = counted((fleet.groups.len() - most) as u64, "more group");
        out.push_str(&format!("… and {more} with {}\n", counted(left, "host")));
    }
}

fn contrasts(fleet: &Fleet, room: usize, out: &mut String) {
    const COLUMNS: [Column; 6] = [
        Column::new("", false, 0),
        Column::new("hosts", false, 0),
        Column::new("typical host", true, 0),
        Column::new("verdict", false, 0),
        Column::new("between hosts", true, 2),
        Column::new("another host", true, 1),
    ];
    for (title, contrasts) in tables(fleet) {
        let mut grid = Grid::new(&COLUMNS);
        for contrast in contrasts {
            let style = match contrast.counts.majority() {
                Some(Standing::Cheaper) => GOOD,
                Some(Standing::CostsMore) => BAD,
                Some(Standing::Same) => Style::new(),
                Some(Standing::Open) | None => DIMMED,
            };
            for ContrastRow { name, counts, is_usual, together } in rows(contrast) {
                let indent = if is_usual { "  " } else { "" };
                grid.row(vec![
                    format!("{indent}{name}").into(),
                    Piece::styled(counts, style),
                    together.map(typical).unwrap_or_default().into(),
                    together.map(|together| known(fleet, together)).unwrap_or_default().into(),
                    together.map(spread).unwrap_or_default().into(),
                    together.map(another).unwrap_or_default().into(),
                ]);
            }
        }
        out.push_str(&format!("\n{BOLD}{}{BOLD:#}\n", capitalised(&title)));
        grid.render(out, room);
    }
}

fn cheapest(fleet: &Fleet, room: usize, out: &mut String) {
    if fleet.cheapest.is_empty() {
        return;
    }
    const COLUMNS: [Column; 3] =
        [Column::new("", false, 0), Column::new("", false, 0), Column::new("", false, 0)];
    let mut grid = Grid::new(&COLUMNS);
    let mut above = "";
    for FleetCheapest { work, placement, cheapest, open, open_among, .. } in &fleet.cheapest {
        let name = if work == above { String::new() } else { escaped(work) };
        above = work;
        grid.row(vec![
            name.into(),
            Piece::styled(cores(*placement), DIMMED),
            cheapest_on(cheapest, *open, open_among).into(),
        ]);
    }
    out.push_str(&format!("\n{BOLD}Cheapest, on how many hosts{BOLD:#}\n"));
    let mut table = String::new();
    grid.render(&mut table, room);
    // There is nothing to stand above the columns.
    out.push_str(table.trim_start_matches(['\n', ' ']));
}

fn claims(fleet: &Fleet, details: bool, room: usize, out: &mut String) {
    if fleet.claims.is_empty() {
        return;
    }
    out.push_str(&format!("\n{BOLD}Claims{BOLD:#}\n"));
    let mut above = "";
    for claim in &fleet.claims {
        if claim.of != above {
            above = &claim.of;
            out.push_str(&format!("{DIMMED}{}{DIMMED:#}\n", escaped(&claim.of)));
        }
        let style = match claim.counts.majority() {
            Some(ClaimVerdict::Holds) => GOOD,
            Some(ClaimVerdict::Fails) => BAD,
            _ => Style::new(),
        };
        let text = wrapped(&format!("“{}”", escaped(&claim.text)), room);
        out.push_str(&format!("{text}\n  {style}{}{style:#}\n", claim_counts(&claim.counts)));
        if let Some(size) = &claim.size {
            out.push_str(&format!("  its size: {}\n", claim_counts(size)));
        }
        let conditions = claim_conditions(claim);
        let differs = claim.conditions.iter().any(|under| under.counts != claim.conditions[0].counts);
        if details || differs {
            let line = |line: &String| wrapped(line, room.saturating_sub(4)).replace('\n', "\n    ");
            conditions.iter().for_each(|said| out.push_str(&format!("    {}\n", line(said))));
        }
    }
}

/// Every host's ratio of every contrast.
fn hosts(fleet: &Fleet, room: usize, out: &mut String) {
    const COLUMNS: [Column; 4] = [
        Column::new("host", false, 0),
        Column::new("ratio", true, 0),
        Column::new("", false, 1),
        Column::new("", false, 0),
    ];
    for contrast in &fleet.contrasts {
        let title = format!("{}: {}", work(&contrast.work, contrast.placement), pair(contrast));
        out.push_str(&format!("\n{BOLD}{}{BOLD:#}\n", capitalised(&title)));
        let mut grid = Grid::new(&COLUMNS);
        for host in &contrast.hosts {
            let bounds = interval(host.ratio, host.lo, host.hi)
                .map_or_else(String::new, |bounds| format!("({bounds})"));
            grid.row(vec![
                escaped(&fleet.hosts[host.host as usize].name).into(),
                ratio(host.ratio).into(),
                bounds.into(),
                host.standing.name().into(),
            ]);
        }
        grid.render(out, room);
    }
}
