//! A static site of what holds where, from what many hosts say: `ipcost gallery`.
//!
//! Pages by name, made of [`Fleet`]s alone; names never come from documents.

mod cheapest;
mod claims;
mod front;
mod group;
mod groups;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use ipcost_report::html::site::Page;

use self::groups::Groups;
use crate::fleet::{self, Fleet, FleetClaim};

/// What names the pages' maker in their head.
pub const GENERATOR: &str = "ipcost gallery";
/// What an earlier gallery's page has in its head.
pub const MARKER: &str = "<meta name=\"generator\" content=\"ipcost gallery\">";
/// The page that opens first.
pub const FRONT: &str = "index.html";
/// The page of claims.
const CLAIMS: &str = "claims.html";

/// What a gallery shows.
#[derive(Debug)]
pub struct Gallery {
    title: String,
    /// A fleet of each job, the largest first.
    fleets: Vec<Fleet>,
    groups: Groups,
    /// The pages of documents, by the names of their files.
    documents: HashMap<String, String>,
}

impl Gallery {
    /// Of the fleets of all jobs, that of most hosts first; with the addresses of documents' pages, by the names of their files.
    pub fn new(title: Option<String>, fleets: Vec<Fleet>, documents: HashMap<String, String>) -> Self {
        let groups = Groups::of(&fleets);
        let title = title.unwrap_or_else(|| front::title(&groups));
        Self { title, fleets, groups, documents }
    }

    /// The names of the pages with their HTML, one after the other; that of the front comes first.
    pub fn pages(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let fronts = (0..self.fleets.len()).map(|job| (front::name(job), front::page(self, job)));
        let claims = self.has_claims().then(|| (CLAIMS.to_owned(), claims::page(self)));
        let fleets = (0..self.fleets.len()).map(|job| (fleet_name(job), self.fleet_page(job)));
        let groups = (0..self.groups.all.len()).map(|group| (groups::name(group), group::page(self, group)));
        let pages = fronts.chain(claims).chain(fleets).chain(groups);
        pages.map(|(name, page)| (name, page.render_by(GENERATOR)))
    }

    fn fleet_page(&self, job: usize) -> Page {
        let mut page = fleet::page(&self.fleets[job]).site();
        page.title = format!("Host by host: {}", page.title);
        let links = self.links(job).into_iter().filter(|(address, _)| *address != fleet_name(job));
        page.links.splice(0..0, links);
        page
    }

    fn has_claims(&self) -> bool {
        self.fleets.iter().any(|fleet| !fleet.claims.is_empty())
    }

    /// Every claim with the place of its fleet, in the order of their pages.
    fn claims(&self) -> impl Iterator<Item = (usize, &FleetClaim)> {
        self.fleets
            .iter()
            .enumerate()
            .flat_map(|(job, fleet)| fleet.claims.iter().map(move |claim| (job, claim)))
    }

    /// Links to the pages that all have.
    fn links(&self, job: usize) -> Vec<(String, String)> {
        let mut links = vec![(FRONT.to_owned(), "Front page".to_owned())];
        if job > 0 {
            links.push((front::name(job), format!("Job {}", job + 1)));
        }
        if self.has_claims() {
            links.push((CLAIMS.to_owned(), "What holds where".to_owned()));
        }
        links.push((fleet_name(job), "Host by host".to_owned()));
        links
    }
}

/// The page of a fleet.
fn fleet_name(job: usize) -> String {
    numbered("fleet", job)
}

/// `fleet.html`, `fleet-2.html`.
fn numbered(stem: &str, place: usize) -> String {
    match place {
        0 => format!("{stem}.html"),
        place => format!("{stem}-{}.html", place + 1),
    }
}

/// Whether a gallery may have a page of this name.
pub fn is_page_name(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".html") else { return false };
    let numbered = ["job-", "fleet-", "group-"].iter().find_map(|stems| stem.strip_prefix(stems));
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    ["index", "claims", "fleet"].contains(&stem) || numbered.is_some_and(is_number)
}
