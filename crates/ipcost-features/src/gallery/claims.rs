//! The page of claims: what holds where, claim by claim.

use ipcost_model::escaped;
use ipcost_model::units::counted;
use ipcost_report::claims::Known;
use ipcost_report::html::matrix::{Matrix, MatrixField, MatrixRow, RowGroup, Tint};
use ipcost_report::html::site::{Badge, Page, Section};
use ipcost_report::page::{Column, Field, Table, Value};
use ipcost_report::words::capitalised;

use super::{CLAIMS, Gallery};
use crate::claims::{ClaimCounts, ClaimVerdict};
use crate::fleet::words::{claim_counts, claim_sentence};
use crate::fleet::{self, Fleet, FleetClaim};
use crate::replicate::catalogue;

/// So many groups are columns.
const MOST_GROUPS: usize = 12;
/// So many hosts are listed for a claim.
const MOST_HOSTS: usize = 200;

/// What most hosts know; open if they are not of one mind.
pub fn known_by_most(counts: &ClaimCounts) -> Known {
    counts.majority().map_or(Known::Open, ClaimVerdict::known)
}

/// Above the claims of an experiment or a check.
pub fn heading(of: &str) -> String {
    match of {
        "check" => "Claims of checks".to_owned(),
        id => id.to_owned(),
    }
}

/// The address of a claim, by its place among all.
pub fn address(place: usize) -> String {
    format!("{CLAIMS}#claim-{}", place + 1)
}

/// The claims of a job with what is known of each, and whose they are.
pub fn badges(gallery: &Gallery, job: usize) -> Vec<(&str, Badge)> {
    let badge = |(place, (_, claim)): (usize, (usize, &'_ FleetClaim))| Badge {
        text: claim.text.clone(),
        link: address(place),
        known: known_by_most(&claim.counts),
        said: claim_counts(&claim.counts),
    };
    let all = gallery.claims().enumerate().filter(|(_, (of, _))| *of == job);
    all.map(|(place, found)| (found.1.of.as_str(), badge((place, found)))).collect()
}

/// The page.
pub fn page(gallery: &Gallery) -> Page {
    let all: Vec<(usize, (usize, &FleetClaim))> = gallery.claims().enumerate().collect();
    let parts = all.chunk_by(|(_, (job, a)), (_, (other, b))| job == other && a.of == b.of);
    let parts: Vec<_> = parts.collect();
    let mut links = gallery.links(0);
    links.retain(|(address, _)| address != CLAIMS);
    let mut sections = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let (job, first) = part[0].1;
        let id = format!("part-{}", number + 1);
        let mut title = heading(&first.of);
        if gallery.fleets.len() > 1 && first.of == "check" {
            title = format!("{title}, job {}", job + 1);
        }
        if parts.len() > 1 {
            links.push((format!("#{id}"), title.clone()));
        }
        sections.push(overview(gallery, &id, &title, part));
        let first = part[0].0;
        sections.extend(
            part.iter()
                .map(|(place, (job, claim))| card(&gallery.fleets[*job], claim, *place, place - first + 1)),
        );
    }
    Page {
        title: "What holds where".to_owned(),
        about: format!(
            "{} on {}.",
            counted(all.len() as u64, "claim"),
            counted(gallery.groups.hosts as u64, "host")
        ),
        links,
        sections: sections.into_iter().map(Section::fragment).collect(),
    }
}

/// All claims of an experiment or a check by group.
fn overview(gallery: &Gallery, id: &str, title: &str, part: &[(usize, (usize, &FleetClaim))]) -> Section {
    let (matrix, left) = matrix(gallery, part[0].1.0, part);
    let mut section = Section::new(id, title);
    // An experiment that travels with the program is known by its id.
    let known = catalogue::known(&part[0].1.1.of);
    if let Some(known) = known {
        section = section.paragraph(&known.question);
        if let Some(source) = &known.source {
            section = match &source.url {
                Some(url) => section.link(url, &source.citation()),
                None => section.note(&source.citation()),
            };
        }
    }
    let section = section.matrix(&matrix);
    match left {
        0 => section,
        left => section.note(&format!("{} on pages of their own.", counted(left as u64, "smaller group"))),
    }
}

/// A claim, by its place among all, with its number among those of the same experiment.
fn card(fleet: &Fleet, claim: &FleetClaim, place: usize, number: usize) -> Section {
    let title = format!("{number}. “{}”", claim.text);
    let mut section = Section::claim(&format!("claim-{}", place + 1), &title, known_by_most(&claim.counts));
    section = section.paragraph(&known_of(fleet, claim));
    if let Some(published) = &claim.published {
        section = section.note(&format!("Published: {published}"));
    }
    section.folded("By condition and host", by_condition_and_host(fleet, claim))
}

/// `Holds on 5 of 6 hosts; web7 runs in gVisor: there it fails. The factor that it names fails on 3 of 6 hosts.`
fn known_of(fleet: &Fleet, claim: &FleetClaim) -> String {
    let said = claim_sentence(fleet, claim);
    // The card has the claim as its title.
    let said = said.strip_prefix(&format!("“{}” ", escaped(&claim.text))).unwrap_or(&said);
    match claim.size.filter(|size| size.all() > 0) {
        Some(size) => format!("{} The factor that it names {}.", capitalised(said), claim_counts(&size)),
        None => capitalised(said),
    }
}

/// The claims as rows, the groups as columns; and how many groups are left out.
fn matrix(gallery: &Gallery, job: usize, part: &[(usize, (usize, &FleetClaim))]) -> (Matrix, usize) {
    let tests =
        |group: &u64| part.iter().any(|(_, (_, claim))| claim.groups.iter().any(|of| of.group == *group));
    let mut groups: Vec<(usize, u64)> =
        gallery.groups.of_fleet(job).into_iter().filter(|(_, group)| tests(group)).collect();
    let left = groups.len().saturating_sub(MOST_GROUPS);
    groups.truncate(MOST_GROUPS);
    let first = part[0].0;
    let row = |(place, (_, claim)): &(usize, (usize, &FleetClaim))| {
        let field = |(_, group): &(usize, u64)| {
            claim.groups.iter().find(|of| of.group == *group).map(|of| field(&of.counts))
        };
        MatrixRow {
            name: format!("{}. {}", place - first + 1, claim.text),
            link: Some(format!("#claim-{}", place + 1)),
            fields: groups.iter().map(field).collect(),
        }
    };
    let rows = part.iter().map(row).collect();
    let hosts_of = |claim: &FleetClaim, group: u64| {
        claim.groups.iter().find(|of| of.group == group).map_or(0, |of| of.counts.all())
    };
    let column = |(index, group): &(usize, u64)| {
        let hosts = part.iter().map(|(_, (_, claim))| hosts_of(claim, *group)).max().unwrap_or_default();
        gallery.groups.column(*index, hosts)
    };
    let columns = groups.iter().map(column).collect();
    let part = RowGroup { title: String::new(), rows };
    (Matrix { corner: "claim".to_owned(), columns, parts: vec![part] }, left)
}

fn field(counts: &ClaimCounts) -> MatrixField {
    let all = counts.all();
    let mut found: Vec<(ClaimVerdict, u64)> = ClaimVerdict::ALL
        .iter()
        .map(|verdict| (*verdict, counts.count(*verdict)))
        .filter(|(_, hosts)| *hosts > 0)
        .collect();
    found.sort_by_key(|(_, hosts)| std::cmp::Reverse(*hosts));
    let Some((first, hosts)) = found.first() else { return MatrixField::default() };
    let is_open =
        found.iter().all(|(verdict, _)| matches!(verdict, ClaimVerdict::Open | ClaimVerdict::NotTested));
    let others: Vec<String> =
        found[1..].iter().map(|(verdict, hosts)| format!("{verdict} on {hosts}")).collect();
    let small = match others.is_empty() {
        true => String::new(),
        false => format!("on {hosts} of {all}; {}", others.join(", ")),
    };
    let tints = found.iter().map(|(verdict, hosts)| (Tint::Claim(verdict.known()), *hosts as f64));
    MatrixField {
        name: first.name().to_owned(),
        small,
        tints: if is_open { Vec::new() } else { tints.collect() },
        is_open,
    }
}

fn by_condition_and_host(fleet: &Fleet, claim: &FleetClaim) -> Section {
    let mut section = Section::new("", "");
    if claim.conditions.len() > 1 {
        let rows = claim.conditions.iter().map(|under| {
            let name = under.condition.clone().unwrap_or_else(|| "as published".to_owned());
            let count = |verdict| match under.counts.count(verdict) {
                0 => Field::default(),
                hosts => Value::Count(hosts).into(),
            };
            let counts = ClaimVerdict::ALL.iter().map(|verdict| count(*verdict));
            std::iter::once(Field::from(name)).chain(counts).collect()
        });
        let counted = ClaimVerdict::ALL.iter().map(|verdict| Column::number(verdict.name()));
        let columns: Vec<Column> =
            std::iter::once(Column::text("hosts, by condition")).chain(counted).collect();
        section = section.table(&Table::new(&columns).rows(rows));
    }
    section.table(&fleet::by_host_of(fleet, claim, MOST_HOSTS))
}
