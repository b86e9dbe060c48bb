//! The page of a group of hosts: its hosts, what they measured, and which claims hold there.

use ipcost_model::units::counted;
use ipcost_report::html::site::{Badge, Page, Section};
use ipcost_report::page::{Column, Field, Table, Value};
use ipcost_report::words::{capitalised, quantity};

use super::claims::{address, known_by_most};
use super::groups::{kernel, processor};
use super::{Gallery, cheapest};
use crate::fleet::words::{claim_counts, pair, standings, work};
use crate::fleet::{Fleet, tone};

/// So many hosts are listed.
const MOST_HOSTS: usize = 1000;

/// The page.
pub fn page(gallery: &Gallery, index: usize) -> Page {
    let group = &gallery.groups.all[index];
    let mut sections = Vec::new();
    for (job, place) in group.places.iter().enumerate() {
        let Some(place) = place else { continue };
        let of = Of { gallery, job, index, group: *place };
        sections.extend([of.cheapest(), of.contrasts(), of.claims(), Some(of.hosts())].into_iter().flatten());
    }
    let parts = [kernel(&group.group), processor(&group.group.cpu), group.group.virtualisation.clone()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let first = group.places.iter().position(Option::is_some).unwrap_or_default();
    Page {
        title: parts.join(", "),
        about: format!("{} of {}.", group.group.hosts, counted(gallery.groups.hosts as u64, "host")),
        links: gallery.links(first),
        sections: sections.into_iter().map(Section::fragment).collect(),
    }
}

/// A group in a fleet.
struct Of<'a> {
    gallery: &'a Gallery,
    job: usize,
    index: usize,
    group: u64,
}

impl Of<'_> {
    fn fleet(&self) -> &Fleet {
        &self.gallery.fleets[self.job]
    }

    fn section(&self, id: &str, title: &str) -> Section {
        match self.gallery.fleets.len() {
            1 => Section::new(id, title),
            _ => Section::new(&format!("{id}-{}", self.job + 1), &format!("Job {}: {title}", self.job + 1)),
        }
    }

    fn cheapest(&self) -> Option<Section> {
        let shown = [(self.index, self.group)];
        let mut matrix = cheapest::matrix(self.gallery, self.job, &shown)?;
        for column in &mut matrix.columns {
            "cheapest".clone_into(&mut column.name);
            (column.lines, column.link) = (Vec::new(), None);
        }
        let section = self.section("cheapest", "When is which cheapest?");
        Some(section.note(&cheapest::reading(self.fleet(), &shown)).matrix(&matrix))
    }

    fn contrasts(&self) -> Option<Section> {
        let mut above = String::new();
        let rows: Vec<Vec<Field>> = self
            .fleet()
            .contrasts
            .iter()
            .filter_map(|contrast| {
                let found = contrast.groups.iter().find(|of| of.group == self.group)?;
                let title = work(&contrast.work, contrast.placement);
                let shown = if title == above { String::new() } else { capitalised(&title) };
                above = title;
                Some(vec![
                    shown.into(),
                    Value::Name(pair(contrast)).into(),
                    Field::from(Value::Name(standings(&found.counts))).toned(tone(found.counts.majority())),
                    Value::Ratio(found.median).into(),
                    Value::Ratio(found.least).into(),
                    Value::Ratio(found.most).into(),
                ])
            })
            .collect();
        if rows.is_empty() {
            return None;
        }
        const COLUMNS: [Column; 6] = [
            Column::text("work"),
            Column::text(""),
            Column::text("hosts"),
            Column::number("median ratio"),
            Column::number("least"),
            Column::number("most"),
        ];
        let what = quantity(self.fleet().metric);
        let about = format!(
            "The {what} of the first relative to the second: the median of the hosts, the least and the most."
        );
        Some(self.section("contrasts", "Ratios").note(&about).table(&Table::new(&COLUMNS).rows(rows)))
    }

    fn claims(&self) -> Option<Section> {
        let claims = self.gallery.claims().enumerate().filter(|(_, (job, _))| *job == self.job);
        let badges: Vec<Badge> = claims
            .filter_map(|(place, (_, claim))| {
                let found = claim.groups.iter().find(|of| of.group == self.group)?;
                Some(Badge {
                    text: claim.text.clone(),
                    link: address(place),
                    known: known_by_most(&found.counts),
                    said: claim_counts(&found.counts),
                })
            })
            .collect();
        if badges.is_empty() {
            return None;
        }
        Some(self.section("claims", "Claims").badges(&badges))
    }

    fn hosts(&self) -> Section {
        let hosts: Vec<_> = self.fleet().hosts.iter().filter(|host| host.group == self.group).collect();
        let pages = |files: &[String]| -> Vec<&String> {
            files.iter().filter_map(|file| self.gallery.documents.get(file)).collect()
        };
        let most = hosts.iter().map(|host| pages(&host.files).len()).max().unwrap_or_default();
        let mut columns = vec![
            Column::text("host"),
            Column::number("processors"),
            Column::number("epochs"),
            Column::text("ipcost"),
            Column::text("measured"),
        ];
        columns.extend(std::iter::repeat_n(Column::text(""), most));
        let row = |host: &&crate::fleet::FleetHost| {
            let mut fields: Vec<Field> = vec![
                Value::Name(host.name.clone()).into(),
                Value::Count(host.cores.into()).into(),
                Value::Count(host.epochs.into()).into(),
                Value::Name(host.version.clone()).into(),
                Value::Name(host.started.clone()).into(),
            ];
            let report =
                |page: &String| Field::from(Value::Name("report".to_owned())).linked(Some(page.clone()));
            fields.extend(pages(&host.files).into_iter().map(report));
            fields
        };
        let rows = hosts.iter().take(MOST_HOSTS).map(row);
        let section = self.section("hosts", "Hosts").table(&Table::new(&columns).rows(rows));
        match hosts.len().saturating_sub(MOST_HOSTS) {
            0 => section,
            more => section.note(&format!("… and {}.", counted(more as u64, "more host"))),
        }
    }
}
