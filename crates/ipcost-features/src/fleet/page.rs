//! A fleet as one page, which loads nothing and needs no script.

use ipcost_model::units::counted;
use ipcost_report::html::site::{Field, Look, Page, Section, Table};
use ipcost_report::picture::plain_forest;
use ipcost_report::words::capitalised;

use super::drawn::{by_host, overview};
use super::record::{Fleet, FleetClaim, FleetContrast, Standing};
use super::words::{
    ContrastRow, another, cheapest_on, claim_conditions, claim_counts, claim_sentence, group_names, how,
    known, pair, rows, sentence, sentences, skipped, spread, tables, title, typical, work,
};
use crate::claims::ClaimVerdict;

/// So many files that are not counted are named.
const MOST_FILES: usize = 100;
/// So many hosts are in the table of hosts.
const MOST_HOSTS: usize = 1000;

/// The page.
pub fn page(fleet: &Fleet) -> Page {
    let mut sections = vec![words(fleet)];
    let mut links = vec![("#words", "In plain words")];
    if !fleet.contrasts.is_empty() {
        links.extend([("#overview", "Overview"), ("#contrasts", "By host")]);
        sections.extend([overview_section(fleet), contrasts(fleet)]);
    }
    if !fleet.claims.is_empty() {
        links.push(("#claims", "Claims"));
        sections.push(claims(fleet));
    }
    links.push(("#hosts", "Hosts"));
    sections.push(hosts(fleet));
    Page {
        title: title(fleet),
        about: group_names(fleet),
        links: links.into_iter().map(|(address, name)| (address.to_owned(), name.to_owned())).collect(),
        sections: sections.into_iter().map(Section::fragment).collect(),
    }
}

fn words(fleet: &Fleet) -> Section {
    let said: Vec<(Option<usize>, String)> =
        sentences(fleet, false).iter().map(|said| (None, capitalised(said))).collect();
    let mut section = Section::new("words", "In plain words");
    if !fleet.cheapest.is_empty() {
        let rows = fleet.cheapest.iter().map(|table| {
            vec![
                Field::new(capitalised(&work(&table.work, table.placement)), Look::Text),
                Field::new(cheapest_on(&table.cheapest, table.open, &table.open_among), Look::Text),
            ]
        });
        let table = Table { head: vec!["work", "cheapest, on how many hosts"], rows: rows.collect() };
        section = section.table(&table);
    }
    section = if said.is_empty() {
        section.paragraph("No host is known to disagree with most of the others.")
    } else {
        section.heading("Where hosts disagree").sentences(&said)
    };
    section = fleet.notes.iter().fold(section, |section, note| section.paragraph(note));
    not_counted(section, fleet)
}

/// A caution that files are not counted, with which and why; nothing if all are.
pub(crate) fn not_counted(section: Section, fleet: &Fleet) -> Section {
    let lines = skipped(fleet, MOST_FILES);
    let Some((first, files)) = lines.split_first() else { return section };
    let inner = files.iter().fold(Section::new("", ""), |inner, line| inner.note(line.trim()));
    section.caution(first).folded("Which files, and why", inner)
}

fn overview_section(fleet: &Fleet) -> Section {
    let forest = overview(fleet);
    let mut section =
        Section::new("overview", "A typical host, and where another lies").note(&forest.reading);
    if let Ok(picture) = plain_forest(&forest) {
        section = section.picture(&picture);
    }
    let rows = tables(fleet).into_iter().flat_map(|(title, rows)| {
        rows.into_iter().flat_map(move |contrast| of_contrast(fleet, &title, contrast)).collect::<Vec<_>>()
    });
    let head = vec!["work", "", "hosts", "typical host", "verdict", "between hosts", "another host"];
    section =
        section.folded("The numbers", Section::new("", "").table(&Table { head, rows: rows.collect() }));
    section.note(&how(fleet).unwrap_or_default())
}

fn of_contrast(fleet: &Fleet, title: &str, contrast: &FleetContrast) -> Vec<Vec<Field>> {
    let row = |ContrastRow { name, counts, together, .. }: ContrastRow<'_>| {
        vec![
            Field::new(title, Look::Name),
            Field::new(name, Look::Name),
            Field::new(counts, look(contrast.counts.majority())),
            Field::new(together.map(typical).unwrap_or_default(), Look::Number),
            Field::new(together.map(|together| known(fleet, together)).unwrap_or_default(), Look::Name),
            Field::new(together.map(spread).unwrap_or_default(), Look::Number),
            Field::new(together.map(another).unwrap_or_default(), Look::Interval),
        ]
    };
    rows(contrast).into_iter().map(row).collect()
}

/// Each contrast by host; those whose hosts disagree are open at once.
fn contrasts(fleet: &Fleet) -> Section {
    let mut section = Section::new("contrasts", "By host");
    for contrast in &fleet.contrasts {
        let name = format!("{}: {}", capitalised(&work(&contrast.work, contrast.placement)), pair(contrast));
        let mut inner = Section::new("", "").paragraph(&capitalised(&sentence(fleet, contrast)));
        if let Ok(picture) = plain_forest(&by_host(fleet, contrast)) {
            inner = inner.picture(&picture);
        }
        section = section.folded(&name, inner);
    }
    section
}

fn claims(fleet: &Fleet) -> Section {
    let mut section = Section::new("claims", "Claims");
    let mut above = "";
    for claim in &fleet.claims {
        if claim.of != above {
            above = &claim.of;
            section = section.heading(&claim.of);
        }
        section = section.paragraph(&format!(
            "{}.",
            match claim.disagreements.is_empty() {
                true => format!("“{}” {}", claim.text, claim_counts(&claim.counts)),
                false => claim_sentence(fleet, claim).trim_end_matches('.').to_owned(),
            }
        ));
        let conditions = claim_conditions(claim);
        let inner = conditions.iter().fold(Section::new("", ""), |section, line| section.note(line));
        section = section.folded("By condition and host", by_host_of(inner, fleet, claim, MOST_HOSTS));
    }
    section
}

/// Adds what each host says of a claim, of so many hosts.
pub(crate) fn by_host_of(section: Section, fleet: &Fleet, claim: &FleetClaim, most: usize) -> Section {
    let look = |word: ClaimVerdict| match word {
        ClaimVerdict::Holds => Look::Good,
        ClaimVerdict::Fails => Look::Bad,
        ClaimVerdict::Depends | ClaimVerdict::NoDifference => Look::Text,
        ClaimVerdict::Open | ClaimVerdict::NotTested => Look::Open,
    };
    let rows = claim.hosts.iter().take(most).map(|host| {
        vec![
            Field::new(fleet.hosts[host.host as usize].name.clone(), Look::Name),
            Field::new(host.word.name(), look(host.word)),
            Field::new(host.sentence.clone(), Look::Text),
        ]
    });
    let section = section.table(&Table { head: vec!["host", "", ""], rows: rows.collect() });
    match claim.hosts.len().saturating_sub(most) {
        0 => section,
        more => section.note(&format!("… and {}", counted(more as u64, "more host"))),
    }
}

/// How the verdict of most hosts on a contrast looks.
pub(crate) fn look(majority: Option<Standing>) -> Look {
    match majority {
        Some(Standing::Cheaper) => Look::Good,
        Some(Standing::CostsMore) => Look::Bad,
        Some(Standing::Same) => Look::Name,
        Some(Standing::Open) | None => Look::Open,
    }
}

fn hosts(fleet: &Fleet) -> Section {
    let rows = fleet.hosts.iter().take(MOST_HOSTS).map(|host| {
        let group = &fleet.groups[host.group as usize];
        vec![
            Field::new(host.name.clone(), Look::Name),
            Field::new(format!("{} {}", group.os, group.kernel), Look::Name),
            Field::new(group.cpu.clone(), Look::Text),
            Field::new(group.virtualisation.clone(), Look::Text),
            Field::new(host.cores.to_string(), Look::Number),
            Field::new(host.version.clone(), Look::Name),
            Field::new(host.started.clone(), Look::Name),
        ]
    });
    let head = vec!["host", "kernel", "processor", "virtualisation", "processors", "ipcost", "measured"];
    let section = Section::new("hosts", "Hosts").table(&Table { head, rows: rows.collect() });
    match fleet.hosts.len() > MOST_HOSTS {
        true => section.note(&format!("… and {} more; see --csv or --json.", fleet.hosts.len() - MOST_HOSTS)),
        false => section,
    }
}
