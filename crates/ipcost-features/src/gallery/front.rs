//! The front page of a job: when which transport is cheapest, the claims in short, and the groups of hosts.

use std::collections::BTreeSet;

use ipcost_model::units::counted;
use ipcost_model::{and_joined, first_few};
use ipcost_report::html::site::{Page, Section};
use ipcost_report::page::{Column, Field, Table, Value};
use ipcost_report::words::capitalised;

use super::groups::{Groups, kernel};
use super::{Gallery, cheapest, claims, fleet_name, groups, numbered};
use crate::fleet::{self, Fleet};

/// So many groups are in the first table; the rest is folded.
const MOST_GROUPS: usize = 8;
/// And so many are in the folded one.
const MOST_FOLDED: usize = 40;
/// So many claims are shown at once.
const MOST_CLAIMS: usize = 24;
/// So many kinds of work name a job.
const MOST_WORKS: usize = 3;

/// The page of a job; that of the first is the front of all.
pub fn name(job: usize) -> String {
    match job {
        0 => super::FRONT.to_owned(),
        job => numbered("job", job),
    }
}

/// What a gallery is called.
pub fn title(groups: &Groups) -> String {
    format!("What local IPC costs on {}", counted(groups.hosts as u64, "host"))
}

/// The page.
pub fn page(gallery: &Gallery, job: usize) -> Page {
    let fleet = &gallery.fleets[job];
    let sections = [
        works(gallery, job),
        disagreements(fleet, job),
        claims_in_short(gallery, job),
        jobs(gallery, job),
        Some(list_of_groups(gallery, job)),
        Some(files(fleet)),
    ];
    let title = match job {
        0 => gallery.title.clone(),
        job => format!("Job {}: {}", job + 1, job_name(fleet)),
    };
    Page {
        title,
        about: about(gallery, job),
        links: gallery.links(job).into_iter().filter(|(address, _)| *address != name(job)).collect(),
        sections: sections.into_iter().flatten().map(Section::fragment).collect(),
    }
}

/// `12 hosts in 3 groups, from 14 files, measured 2026-11-20 to 2026-11-26`.
fn about(gallery: &Gallery, job: usize) -> String {
    let fleet = &gallery.fleets[job];
    let days: BTreeSet<&str> = fleet.hosts.iter().filter_map(|host| host.started.get(..10)).collect();
    let days = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first == last => format!(", measured on {first}"),
        (Some(first), Some(last)) => format!(", measured from {first} to {last}"),
        _ => String::new(),
    };
    let of = match gallery.fleets.len() {
        1 => String::new(),
        jobs => format!(", job {} of {jobs}", job + 1),
    };
    format!("{}{days}{of}.", fleet::words::title(fleet))
}

/// What a job measures, in a few words.
fn job_name(fleet: &Fleet) -> String {
    let mut works: Vec<String> = Vec::new();
    for contrast in &fleet.contrasts {
        if !works.contains(&contrast.work) {
            works.push(contrast.work.clone());
        }
    }
    capitalised(&first_few(&works, MOST_WORKS))
}

fn works(gallery: &Gallery, job: usize) -> Option<Section> {
    let fleet = &gallery.fleets[job];
    let compared =
        |group: &u64| fleet.cheapest.iter().any(|table| table.groups.iter().any(|of| of.group == *group));
    let shown: Vec<(usize, u64)> =
        gallery.groups.of_fleet(job).into_iter().filter(|(_, group)| compared(group)).collect();
    let (first, rest) = shown.split_at(shown.len().min(MOST_GROUPS));
    let matrix = cheapest::matrix(gallery, job, first)?;
    let section = Section::new("cheapest", "When is which cheapest?")
        .note(&cheapest::reading(fleet, &shown))
        .matrix(&matrix);
    let folded = &rest[..rest.len().min(MOST_FOLDED)];
    let Some(more) = cheapest::matrix(gallery, job, folded) else { return Some(section) };
    let inner = Section::new("", "").matrix(&more);
    let section = section.folded(&counted(folded.len() as u64, "smaller group"), inner);
    Some(match rest.len() - folded.len() {
        0 => section,
        left => {
            section.note(&format!("{} on pages of their own, below.", counted(left as u64, "more group")))
        }
    })
}

/// The hosts that disagree with the rest, in a few sentences.
fn disagreements(fleet: &Fleet, job: usize) -> Option<Section> {
    const MOST: usize = 3;
    let all = fleet::words::sentences(fleet, false);
    if all.is_empty() {
        return None;
    }
    let said: Vec<(Option<usize>, String)> =
        all.iter().take(MOST).map(|said| (None, capitalised(said))).collect();
    let section = Section::new("disagreements", "Where hosts disagree").sentences(&said);
    Some(match all.len().saturating_sub(MOST) {
        0 => section,
        more => section
            .link(&fleet_name(job), &format!("{} and every host", counted(more as u64, "more sentence"))),
    })
}

fn claims_in_short(gallery: &Gallery, job: usize) -> Option<Section> {
    let badges: Vec<(&str, _)> = claims::badges(gallery, job);
    if badges.is_empty() {
        return None;
    }
    let mut section = Section::new("claims", "What holds");
    let mut above = "";
    let mut rest = Section::new("", "");
    let parts = badges.chunk_by(|(of, _), (other, _)| of == other);
    let mut shown = 0;
    for part in parts {
        let of = part[0].0;
        let entries: Vec<_> = part.iter().map(|(_, badge)| badge.clone()).collect();
        let add = |to: Section| to.heading(&claims::heading(of)).badges(&entries);
        if shown < MOST_CLAIMS || above.is_empty() {
            section = add(section);
        } else {
            rest = add(rest);
        }
        shown += entries.len();
        above = of;
    }
    Some(if rest.is_empty() { section } else { section.folded("More claims", rest) })
}

/// The other jobs; `None` if there are none.
fn jobs(gallery: &Gallery, job: usize) -> Option<Section> {
    if gallery.fleets.len() < 2 {
        return None;
    }
    let rows = gallery.fleets.iter().enumerate().map(|(other, fleet)| {
        let link = (other != job).then(|| name(other));
        vec![
            Field::from(Value::Name(format!("Job {}", other + 1))).linked(link),
            job_name(fleet).into(),
            Value::Count(fleet.hosts.len() as u64).into(),
        ]
    });
    const COLUMNS: [Column; 3] = [Column::text(""), Column::text("work"), Column::number("hosts")];
    Some(
        Section::new("jobs", "Jobs")
            .paragraph("Hosts that ran different jobs are on different pages.")
            .table(&Table::new(&COLUMNS).rows(rows)),
    )
}

fn list_of_groups(gallery: &Gallery, job: usize) -> Section {
    let rows = gallery.groups.of_fleet(job).into_iter().map(|(index, place)| {
        let group = &gallery.groups.all[index].group;
        let hosts = gallery.fleets[job].groups[place as usize].hosts;
        vec![
            Field::from(Value::Name(kernel(group))).linked(Some(groups::name(index))),
            group.cpu.clone().into(),
            group.virtualisation.clone().into(),
            Value::Count(hosts).into(),
        ]
    });
    const COLUMNS: [Column; 4] = [
        Column::text("kernel"),
        Column::text("processor"),
        Column::text("virtualisation"),
        Column::number("hosts"),
    ];
    Section::new("groups", "Groups of hosts")
        .note("Hosts with the same kernel, processor and virtualisation are a group.")
        .table(&Table::new(&COLUMNS).rows(rows))
}

/// How it was made, and what is not counted.
fn files(fleet: &Fleet) -> Section {
    let mut section = Section::new("files", "How it was made");
    if let Some(how) = fleet::words::how(fleet) {
        section = section.paragraph(&how);
    }
    section = fleet.notes.iter().fold(section, |section, note| section.paragraph(note));
    let versions: BTreeSet<&str> = fleet.hosts.iter().map(|host| host.version.as_str()).collect();
    let versions: Vec<String> = versions.into_iter().map(|version| format!("ipcost {version}")).collect();
    section = section.note(&format!(
        "Measured by {}; this page is by {} {}.",
        and_joined(&versions),
        fleet.tool.name,
        fleet.tool.version
    ));
    section.with_blocks(&fleet::not_counted(fleet))
}
