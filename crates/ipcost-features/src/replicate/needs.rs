//! What the chosen experiments need and this machine lacks, with one command that installs it.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_foreign::Unavailable;
use ipcost_lab::LabError;
use ipcost_model::PlannedCell;
use ipcost_model::units::counted;
use ipcost_report::words::escaped;
use ipcost_sys::programs;

use super::{
    ArticleClaim, ClaimTest, Replication, ReplicationRun, Software, cells_of, cells_of_run, tracing,
};

/// The program that compares system calls, and its package.
const STRACE: &str = "strace";

/// Why a program cannot be used here, by the name of a peer or of [`STRACE`]; `None` if it can.
type Probe<'a> = &'a dyn Fn(&str) -> Option<Unavailable>;

/// What experiments need and this machine lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// What is missing, each once.
    pub missing: Vec<MissingNeed>,
    /// The Debian packages that provide it, each once.
    pub packages: BTreeSet<String>,
    /// The experiments that lack something.
    pub affected: Vec<Affected>,
}

/// Something that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingNeed {
    /// What, and the fix if no package is one.
    pub reason: String,
    /// The experiments that need it, by id.
    pub experiments: Vec<String>,
}

/// An experiment that lacks something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected {
    pub id: String,
    /// Its claims that can be decided without.
    pub decidable: usize,
    /// Those of them that the native peer alone decides then.
    pub by_native: usize,
    pub claims: usize,
}

impl Needs {
    /// Asks this machine. Starts each interpreter and compiler that the experiments use once, and builds nothing.
    pub fn of(replications: &[Replication]) -> Result<Self, LabError> {
        Self::with(replications, &|name| match name {
            STRACE => (!programs::is_there(STRACE)).then(|| Unavailable {
                reason: format!("{STRACE} is not installed"),
                package: Some(STRACE.to_owned()),
            }),
            peer => ipcost_foreign::find(peer)?.probe().err(),
        })
    }

    fn with(replications: &[Replication], probe: Probe<'_>) -> Result<Self, LabError> {
        let mut known: BTreeMap<String, Option<Unavailable>> = BTreeMap::new();
        let mut needs = Self::default();
        for replication in replications {
            let runs = replication.runs.iter().map(|run| Ok((run, cells_of_run(run)?)));
            let runs = runs.collect::<Result<Vec<NeededCells<'_>>, LabError>>()?;
            let mut lacking = BTreeSet::new();
            let of_runs = |name: &str| runs.iter().find_map(|(run, _)| run.peers.get(name));
            for name in names(replication, &runs) {
                let state = known.entry(name.to_owned()).or_insert_with(|| match of_runs(name) {
                    Some(peer) => peer.unavailable(),
                    None => probe(name),
                });
                if let Some(unavailable) = state {
                    lacking.insert(name);
                    needs.add(unavailable, &replication.id);
                }
            }
            if !lacking.is_empty() {
                let decided = |claim| decides(claim, &runs, &lacking);
                let by: Vec<Software> = replication.claims.iter().filter_map(decided).collect();
                needs.affected.push(Affected {
                    id: replication.id.clone(),
                    decidable: by.len(),
                    by_native: by.iter().filter(|software| **software == Software::Native).count(),
                    claims: replication.claims.len(),
                });
            }
        }
        Ok(needs)
    }

    fn add(&mut self, unavailable: &Unavailable, experiment: &str) {
        let packages = unavailable.package.iter().flat_map(|names| names.split_whitespace());
        self.packages.extend(packages.map(str::to_owned));
        let missing = match self.missing.iter_mut().find(|missing| missing.reason == unavailable.reason) {
            Some(known) => known,
            None => {
                let reason = unavailable.reason.clone();
                self.missing.push(MissingNeed { reason, experiments: Vec::new() });
                self.missing.last_mut().expect("it was just added")
            }
        };
        if missing.experiments.iter().all(|known| known != experiment) {
            missing.experiments.push(experiment.to_owned());
        }
    }

    /// What an experiment lacks, in a line; `None` if nothing.
    pub fn line(&self, id: &str) -> Option<String> {
        let mine = self.missing.iter().filter(|missing| missing.experiments.iter().any(|known| known == id));
        let reasons: Vec<String> = mine.map(|missing| escaped(&missing.reason)).collect();
        let affected = self.affected.iter().find(|affected| affected.id == id)?;
        Some(format!("missing here: {}; without it, {}", reasons.join("; "), affected.said()))
    }

    /// How to install all packages, in a line; `None` if there are none.
    pub fn remedy(&self) -> Option<String> {
        remedy(&self.packages, programs::is_there("apt-get"))
    }

    /// What is missing, how to install it, and, if claims are to be decided by all software, how many can be without;
    /// `None` if nothing is missing.
    pub fn text(&self, with_claims: bool) -> Option<String> {
        self.text_with(with_claims, self.remedy())
    }

    fn text_with(&self, with_claims: bool, remedy: Option<String>) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let mut out = "missing for these experiments:".to_owned();
        for MissingNeed { reason, experiments } in &self.missing {
            out.push_str(&format!("\n  {} ({})", escaped(reason), experiments.join(", ")));
        }
        if with_claims {
            out.push_str("\nwithout it:");
        }
        for affected in self.affected.iter().filter(|_| with_claims) {
            out.push_str(&format!("\n  {}: {}", affected.id, affected.said()));
        }
        if let Some(remedy) = remedy {
            out.push_str(&format!("\n{remedy}"));
        }
        Some(out)
    }
}

impl Affected {
    fn said(&self) -> String {
        let claims = counted(self.claims as u32, "claim");
        let by_native = match self.by_native {
            0 => String::new(),
            all if all == self.decidable => ", by the native peer alone".to_owned(),
            some => format!(", {some} of them by the native peer alone"),
        };
        format!("{} of {claims} can be decided{by_native}", self.decidable)
    }
}

fn remedy(packages: &BTreeSet<String>, on_debian: bool) -> Option<String> {
    let names: Vec<&str> = packages.iter().map(String::as_str).collect();
    match (names.is_empty(), on_debian) {
        (true, _) => None,
        (false, true) => Some(format!("to install everything: apt-get install {}", names.join(" "))),
        (false, false) => Some(format!("to install, as Debian calls them: {}", names.join(", "))),
    }
}

type NeededCells<'a> = (&'a ReplicationRun, Vec<PlannedCell>);

/// The peers and tools that the runs use.
fn names<'a>(replication: &Replication, runs: &'a [NeededCells<'_>]) -> BTreeSet<&'a str> {
    let cells = runs.iter().flat_map(|(_, cells)| cells);
    let mut names: BTreeSet<&str> = cells.flat_map(|cell| [cell.client.as_str(), &cell.server]).collect();
    if runs.iter().any(|(run, _)| tracing::is_wanted(replication, run.software)) {
        names.insert(STRACE);
    }
    names
}

/// The software that can decide a claim without what is lacking, if any: the first that can measure anything of it, as in
/// [`super::decide`].
fn decides(claim: &ArticleClaim, runs: &[NeededCells<'_>], lacking: &BTreeSet<&str>) -> Option<Software> {
    for software in [Software::Original, Software::Native] {
        let mine = |test: &&ClaimTest| test.decides && test.is_for(software);
        let deciding: Vec<&ClaimTest> = claim.tests.iter().filter(mine).collect();
        let of_software = || runs.iter().filter(|(run, _)| run.software == software);
        let is_measured =
            |test: &&&ClaimTest| of_software().any(|(_, cells)| is_measured(test, cells, lacking));
        let measured: Vec<&&ClaimTest> = deciding.iter().filter(is_measured).collect();
        if measured.is_empty() {
            continue;
        }
        let count = measured.iter().filter(|test| test.contradicted.is_none()).count();
        return (count > 0).then_some(software);
    }
    None
}

fn is_measured(test: &ClaimTest, cells: &[PlannedCell], lacking: &BTreeSet<&str>) -> bool {
    let has = |name: &str| !lacking.contains(name);
    let available = |index: usize| {
        let cell = &cells[index];
        cell.unavailable.is_none() && has(&cell.client) && has(&cell.server)
    };
    (!test.same_system_calls || has(STRACE))
        && cells_of(test, cells).is_some_and(|named| named.into_iter().all(available))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicate::catalogue;

    fn without(names: &[&str], lacking: &[(&str, &str, Option<&str>)]) -> Needs {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let replications: Vec<Replication> =
            catalogue::chosen(&names).unwrap().into_iter().map(|one| one.on("linux")).collect();
        let probe = |asked: &str| {
            let (_, reason, package) = lacking.iter().find(|(name, ..)| *name == asked)?;
            Some(Unavailable { reason: (*reason).to_owned(), package: package.map(str::to_owned) })
        };
        Needs::with(&replications, &probe).unwrap()
    }

    const RUBY: (&str, &str, Option<&str>) =
        ("ruby-celluloid", "ruby is not installed", Some("ruby-celluloid-io ruby-parallel"));

    #[test]
    fn one_command_installs_everything_that_is_missing() {
        let lacking = [
            RUBY,
            ("go", "go is not installed", Some("golang-go")),
            ("c", "cc is not installed", Some("gcc libc6-dev")),
            ("zeromq", "ipcost-peer-zeromq is not installed; cargo install --path extra/zeromq", None),
            (STRACE, "strace is not installed", Some("strace")),
        ];
        let all = ["celluloid-connect", "c-stream", "go-pingpong", "socat-bulk", "ipc-bench-pingpong"];
        let needs = without(&all, &lacking);
        let on = |debian| needs.text_with(debian, remedy(&needs.packages, debian)).unwrap();
        insta::assert_snapshot!(format!("{}\n\n{}", on(true), on(false)));
        assert!(needs.line("c-stream").unwrap().starts_with("missing here: cc is not installed; strace"));
        assert_eq!(needs.line("socat-bulk"), None);
    }

    #[test]
    fn nothing_is_said_if_nothing_is_missing() {
        let needs = without(&["celluloid-connect", "redis-incr"], &[]);
        assert_eq!((needs.text(true), needs.remedy()), (None, None));
    }

    #[test]
    fn the_native_peer_decides_what_the_original_software_cannot() {
        let native = without(&["celluloid-connect"], &[RUBY]);
        let Affected { decidable, by_native, claims, .. } = native.affected[0];
        assert_eq!((decidable, by_native, claims), (4, 4, 4), "every test is made with the native peer, too");
        let none = without(&["rust-pingpong"], &[("native", "gone", None)]);
        assert_eq!((none.affected[0].decidable, none.affected[0].claims), (0, 4));
    }

    #[test]
    fn the_packages_of_the_published_software() {
        let packages = |id: &str| -> Vec<&str> {
            let names = [id.to_owned()];
            let replication = catalogue::chosen(&names).unwrap().remove(0).on("linux");
            let cells: Vec<PlannedCell> =
                replication.runs.iter().flat_map(|run| cells_of_run(run).unwrap()).collect();
            let peers: BTreeSet<&str> =
                cells.iter().flat_map(|cell| [cell.client.as_str(), &cell.server]).collect();
            peers
                .into_iter()
                .filter_map(ipcost_foreign::find)
                .flat_map(|peer| peer.packages)
                .copied()
                .collect()
        };
        assert_eq!(packages("celluloid-connect"), ["ruby", "ruby-celluloid-io", "ruby-parallel"]);
        assert_eq!(packages("socat-bulk"), ["socat"]);
        assert!(packages("redis-incr").contains(&"redis-server"));
        assert!(packages("go-pingpong").contains(&"golang-go"));
    }
}
