//! Claims over the documents of many hosts.
//!
//! A claim must hold on all hosts, or on a share of them: on all but s of H. Each answer on a host has its own chance to be wrong, and
//! together they must not make the answer about the claim wrong more often than alpha.
//!
//! - It holds once at most s hosts are not known to hold. That is wrong if v > s hosts violate it and v − s of these seem to hold.
//!   At level a on each host, v · a of them do on average, so the chance is v · a/(v − s) at most (Markov's inequality), and (s + 1) · a over all v. So
//!   a = alpha/(s + 1): if it must hold on all hosts, alpha itself, as in any intersection-union test (Berger, Technometrics 24, 1982).
//! - It fails once s + 1 hosts are known to fail. That is wrong if at least H − s hosts hold and one of those seems to fail. So a = alpha/(H − s).

use std::collections::{BTreeMap, HashMap};

use ipcost_lab::planning::ALPHA;
use ipcost_model::units::counted;
use ipcost_model::{Document, JobFileError, Tool};
use serde::Serialize;

use super::judge::{MeasuredCells, decide_at, prepare, recorded_cells, together};
use super::{Baselines, CheckedClaim, CheckedTest, ClaimsFile, Questions, Reference, View};
use crate::check::words::deciding_test;
use crate::claims::{ClaimCounts, needed, over_hosts};
use crate::fleet::{FleetFiles, HostKey, Skipped, names};
use ipcost_model::ClaimVerdict;

/// The version of the record.
pub const FLEET_CHECK_SCHEMA: &str = "ipcost-fleet-check/1";

/// What the documents of many hosts say of a project's claims.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetCheck {
    pub schema: String,
    pub tool: Tool,
    /// The file of claims, as it was named.
    pub file: String,
    /// The hosts, by name.
    pub hosts: Vec<CheckedHost>,
    /// The chance that any verdict on a claim is wrong.
    pub alpha: f64,
    /// The smallest level at which an interval of a host is drawn.
    pub alpha_each: f64,
    /// `fails` if a claim fails, else `open` if one is, else `holds`.
    pub word: ClaimVerdict,
    /// The claims, in the order of the file; the tests of each are those of its hosts, in their order.
    pub claims: Vec<CheckedClaim>,
    /// On which share of the hosts each claim must hold, 0 to 1.
    pub shares: Vec<f64>,
    /// How many hosts say what of each claim.
    pub counts: Vec<ClaimCounts>,
    /// How many files were read.
    pub files: u64,
    /// Files that are not counted; at most the first thousand.
    pub skipped: Vec<Skipped>,
    /// How many are not counted.
    pub skipped_files: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedHost {
    /// What outputs call it.
    pub name: String,
    /// What stands for its machine id.
    pub machine: Option<String>,
    /// When its run started, RFC 3339.
    pub started: String,
    pub epochs: u32,
}

/// Finds out which document of each host counts: the newest that has the cells of the claims.
#[derive(Debug, Default)]
pub struct Choosing {
    chosen: BTreeMap<HostKey, Chosen>,
    files: FleetFiles,
}

#[derive(Debug)]
struct Chosen {
    file: String,
    /// The place of the document among all.
    place: u64,
    started: String,
    epochs: u32,
}

/// The documents that count, by their places, and what is decided of each.
#[derive(Debug)]
pub struct Deciding {
    file: ClaimsFile,
    choosing: Choosing,
    /// The hosts by the places of their documents.
    hosts: HashMap<u64, usize>,
    level: f64,
    claims: Vec<CheckedClaim>,
    counts: Vec<ClaimCounts>,
    tests: BTreeMap<(usize, usize), CheckedTest>,
}

/// What about the claims cannot be asked of a fleet.
pub fn askable(file: &ClaimsFile) -> Result<(), JobFileError> {
    for claim in &file.claims {
        if let Reference::Baseline(name) = &claim.reference {
            return Err(name.place.error(
                "a baseline belongs to one host, so a fleet is not compared with it; compare two cells with against, or two arms",
            ));
        }
    }
    Ok(())
}

fn questions(file: &ClaimsFile, document: &Document) -> Result<Questions, JobFileError> {
    let cells = recorded_cells(document);
    prepare(file, &cells, document.schedule.latency, &Baselines::default())
}

impl Choosing {
    /// Counts a file that could not be read.
    pub fn unreadable(&mut self, file: &str, reason: String) {
        self.files.read(file);
        self.files.skip(file, reason);
    }

    /// Considers a document of the file at this place, from 1.
    pub fn add(&mut self, claims: &ClaimsFile, place: u64, name: &str, document: &Document) {
        self.files.read(name);
        if let Err(error) = questions(claims, document) {
            self.files.skip(name, error.message);
            return;
        }
        let this = Chosen {
            file: name.to_owned(),
            place,
            started: document.started.clone(),
            epochs: document.schedule.epochs,
        };
        let key = HostKey::of(&document.host, place);
        self.files.keep_newest(&mut self.chosen, key, this, |chosen| (&chosen.file, &chosen.started));
    }

    /// The places of the documents that count, from 1, to be read once more.
    pub fn decide(self, file: ClaimsFile) -> Deciding {
        let claims = file.claims.len();
        let places = self.chosen.values().enumerate();
        Deciding {
            file,
            hosts: places.map(|(host, chosen)| (chosen.place, host)).collect(),
            choosing: self,
            level: ALPHA,
            claims: Vec::new(),
            counts: vec![ClaimCounts::default(); claims],
            tests: BTreeMap::new(),
        }
    }

    /// What was not counted, for an error.
    pub fn skipped(&self) -> &[Skipped] {
        &self.files.skipped
    }
}

impl Deciding {
    /// Whether the document at this place counts.
    pub fn counts(&self, place: u64) -> bool {
        self.hosts.contains_key(&place)
    }

    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Decides the claims on the host of the document at this place.
    pub fn add(&mut self, place: u64, document: &Document) {
        let all = self.hosts() as u64;
        let Some(host) = self.hosts.get(&place).copied() else { return };
        // It was asked before, and a file that has changed since is none of this fleet.
        let Ok(questions) = questions(&self.file, document) else { return };
        let cells = recorded_cells(document);
        let measured = MeasuredCells::recorded(document, &cells);
        for (place, claim) in self.file.claims.iter().enumerate() {
            let spared = all - needed(claim.hosts.unwrap_or(1.0), all);
            let [for_it, against] = [spared + 1, all - spared];
            let held = decide_at(&questions, place, &measured, for_it);
            let decided = match held.word {
                ClaimVerdict::Holds => held,
                _ => match decide_at(&questions, place, &measured, against) {
                    failed if matches!(failed.word, ClaimVerdict::Fails | ClaimVerdict::Depends) => failed,
                    open => open_of(held, open),
                },
            };
            self.level = self.level.min(questions.level() / for_it.max(against) as f64);
            self.counts[place].add(decided.word);
            if let Some(test) = deciding_test(&decided) {
                self.tests.insert((place, host), CheckedTest { word: decided.word, ..test.clone() });
            }
            if self.claims.len() == place {
                self.claims.push(decided);
            }
        }
    }

    /// What all hosts say. `name` is the file of claims.
    pub fn finish(self, name: String, tool: Tool) -> FleetCheck {
        let Self { file, choosing, level, mut claims, counts, tests, .. } = self;
        let names = names(choosing.chosen.keys());
        let shares: Vec<f64> = file.claims.iter().map(|claim| claim.hosts.unwrap_or(1.0)).collect();
        let all = choosing.chosen.len() as u64;
        for (place, claim) in claims.iter_mut().enumerate() {
            let of_claim = tests.iter().filter(|((claim, _), _)| *claim == place);
            let of_host = |((_, host), test): (&(usize, usize), &CheckedTest)| CheckedTest {
                host: Some(names[*host].clone()),
                ..test.clone()
            };
            claim.tests = of_claim.map(of_host).collect();
            claim.word = over_hosts(counts[place], all, shares[place]);
            if shares[place] < 1.0 {
                claim.text = format!("{}, on {:.0} % of hosts at least", claim.text, shares[place] * 100.0);
            }
        }
        let host = |((key, chosen), name): ((&HostKey, &Chosen), &String)| CheckedHost {
            name: name.clone(),
            machine: key.machine().map(str::to_owned),
            started: chosen.started.clone(),
            epochs: chosen.epochs,
        };
        FleetCheck {
            schema: FLEET_CHECK_SCHEMA.to_owned(),
            tool,
            file: name,
            hosts: choosing.chosen.iter().zip(&names).map(host).collect(),
            alpha: ALPHA,
            alpha_each: level,
            word: together(&claims),
            claims,
            shares,
            counts,
            files: choosing.files.read,
            skipped: choosing.files.skipped,
            skipped_files: choosing.files.skipped_files,
        }
    }
}

/// What is shown of a claim that is open: with an interval, if there is one.
fn open_of(held: CheckedClaim, failed: CheckedClaim) -> CheckedClaim {
    let not_tested = [held.word, failed.word].contains(&ClaimVerdict::NotTested);
    let word = match held.word {
        _ if not_tested => ClaimVerdict::NotTested,
        ClaimVerdict::NoDifference => ClaimVerdict::NoDifference,
        _ => ClaimVerdict::Open,
    };
    let has_interval =
        |claim: &CheckedClaim| claim.tests.iter().all(|test| test.lo.is_some() && test.hi.is_some());
    let shown = if has_interval(&failed) { failed } else { held };
    let tests = shown.tests.into_iter().map(|test| match test.word {
        // At its own level it failed, which is not enough among so many hosts.
        ClaimVerdict::Fails | ClaimVerdict::Depends => CheckedTest { word: ClaimVerdict::Open, ..test },
        ClaimVerdict::Holds | ClaimVerdict::NoDifference | ClaimVerdict::Open | ClaimVerdict::NotTested => {
            test
        }
    });
    CheckedClaim { word, tests: tests.collect(), ..shown }
}

impl FleetCheck {
    /// What outputs show of it.
    pub fn view(&self) -> View<'_> {
        let started = self.hosts.iter().map(|host| host.started.as_str()).max().unwrap_or_default();
        let how = format!(
            "{}; in {:.0} % of such fleets every verdict on a claim is right (intervals of hosts at {} % or less)",
            counted(self.hosts.len() as u64, "host"),
            (1.0 - self.alpha) * 100.0,
            ((1.0 - self.alpha_each) * 1e6).floor() / 1e4,
        );
        View {
            file: &self.file,
            claims: &self.claims,
            started,
            elapsed_s: 0.0,
            properties: vec![
                ("ipcost.version", self.tool.version.clone()),
                ("hosts", self.hosts.len().to_string()),
            ],
            how,
        }
    }
}
