//! Documents one by one: of each only what a fleet needs is kept.

use std::any::Any;
use std::collections::HashMap;

use ipcost_lab::Batches;
use ipcost_model::{CellRecord, Document, Host, Metric, Placement, Ran, WorkloadRecord};
use ipcost_report::words::{cell, equals_and_open, label, work};
use ipcost_stats::run_median;
use serde_json::Value;

use super::facts::{FactTable, HostFacts, Interned};
use super::files::FleetFiles;
use super::host_key::HostKey;
use super::record::{ComparedCells, FleetCondition, HostGroup, Standing};
use crate::FeatureError;
use crate::answers::{answer_of, kind};
use crate::check::{Check, CheckedClaim};
use crate::history::AlikeRuns;
use crate::replicate::{ReplicationRecord, Software};
use ipcost_model::ClaimVerdict;

#[derive(Debug, Default)]
pub struct Gatherer {
    pub(super) metric: Metric,
    pub(super) files: FleetFiles,
    pub(super) facts: FactTable,
    /// The jobs of runs, as JSON.
    pub(super) jobs: Interned,
    pub(super) pairs: Numbered<ComparedCells>,
    pub(super) works: Numbered<TableOfCells>,
    pub(super) claims: Numbered<ClaimText>,
    pub(super) runs: Vec<FleetGathered>,
}

/// Things with a number each, by a key.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    numbers: HashMap<String, u32>,
    pub all: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), all: Vec::new() }
    }
}

impl<T> Numbered<T> {
    fn number(&mut self, key: &str, make: impl FnOnce() -> T) -> u32 {
        if let Some(known) = self.numbers.get(key) {
            return *known;
        }
        let number = self.all.len() as u32;
        self.numbers.insert(key.to_owned(), number);
        self.all.push(make());
        number
    }
}

#[derive(Debug)]
pub(super) struct TableOfCells {
    pub work: String,
    pub placement: Placement,
    /// Labels and transports of sets of cells: those that are or may be cheapest on some host, or come next.
    pub sets: Numbered<(Vec<String>, Vec<String>)>,
}

/// Which cells of a table are the cheapest on a host; sets of cells by number.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheapestHere {
    pub table: u32,
    /// The cheapest, or while it is open all that may be.
    pub set: u32,
    pub is_open: bool,
    /// The next, and the logarithm of the ratio to its cost.
    pub next: u32,
    pub log: f64,
}

/// A claim of a replication or a check.
#[derive(Debug)]
pub(super) struct ClaimText {
    pub of: String,
    pub text: String,
    pub published: Option<String>,
    pub names_size: bool,
}

/// What is kept of a document.
#[derive(Debug)]
pub(super) struct FleetGathered {
    pub file: String,
    pub host: HostKey,
    pub group: HostGroup,
    pub cores: u32,
    pub started: String,
    pub version: String,
    pub epochs: u32,
    pub margin: f64,
    pub facts: HostFacts,
    pub asked: FleetQuestion,
}

/// What a document asked.
#[derive(Debug)]
pub(super) enum FleetQuestion {
    /// A run or a check, with its job by number.
    Run { job: u32, ratios: Vec<Ratio>, cheapest: Vec<CheapestHere>, claims: Vec<ClaimOnHost> },
    /// A replication, by id.
    Ledger { id: String, claims: Vec<ClaimOnHost> },
}

#[derive(Debug)]
pub(super) struct Ratio {
    pub pair: u32,
    pub log: f64,
    pub error: Option<f64>,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    pub standing: Standing,
    /// Where most batches of the first cell ran, if the scheduler placed it.
    pub ran: Option<Ran>,
}

#[derive(Debug)]
pub(super) struct ClaimOnHost {
    pub claim: u32,
    pub word: ClaimVerdict,
    pub size: Option<ClaimVerdict>,
    pub sentence: String,
    pub conditions: Vec<(Option<String>, ClaimVerdict)>,
}

impl Gatherer {
    pub fn new(metric: Metric) -> Self {
        Self { metric, ..Self::default() }
    }

    /// Counts a file that could not be read, with the reason.
    pub fn unreadable(&mut self, file: &str, reason: String) {
        self.files.read(file);
        self.files.skip(file, reason);
    }

    /// Takes what a fleet needs of a document; one file may have several.
    pub fn add(&mut self, file: &str, document: &Document) {
        self.files.read(file);
        match self.asked(document) {
            Ok(asked) => self.take(file, document, asked),
            Err(error) => self.files.skip(file, error.to_string()),
        }
    }

    fn take(&mut self, file: &str, document: &Document, asked: FleetQuestion) {
        let host = &document.host;
        let key = HostKey::of(host, self.files.read);
        let facts = self.facts.of(document);
        self.runs.push(FleetGathered {
            file: file.to_owned(),
            host: key,
            group: group(host),
            cores: host.cores,
            started: document.started.clone(),
            version: document.tool.version.clone(),
            epochs: document.schedule.epochs,
            margin: document.analysis.margin,
            facts,
            asked,
        });
    }

    /// What the document asked, or why it is not counted.
    fn asked(&mut self, document: &Document) -> Result<FleetQuestion, FeatureError> {
        let Some(answer) = answer_of(document)? else {
            return self.run(document, Vec::new());
        };
        let answer: &dyn Any = &*answer;
        if let Some(record) = answer.downcast_ref::<ReplicationRecord>() {
            return self.record(record);
        }
        if let Some(check) = answer.downcast_ref::<Check>() {
            let claims = check.claims.iter().map(|claim| self.checked(claim)).collect();
            return self.run(document, claims);
        }
        Err(FeatureError::OtherAnswer(kind(document).unwrap_or_default()))
    }

    fn checked(&mut self, claim: &CheckedClaim) -> ClaimOnHost {
        let text = || ClaimText {
            of: "check".to_owned(),
            text: claim.text.clone(),
            published: None,
            names_size: false,
        };
        ClaimOnHost {
            claim: self.claims.number(&format!("check\n{}", claim.text), text),
            word: claim.word,
            size: None,
            sentence: String::new(),
            conditions: Vec::new(),
        }
    }

    fn record(&mut self, record: &ReplicationRecord) -> Result<FleetQuestion, FeatureError> {
        if let Some(reasons) = record.unmeasured() {
            return Err(FeatureError::NothingMeasured(reasons));
        }
        let mut claims = Vec::new();
        for claim in &record.claims {
            let text = || ClaimText {
                of: record.id.clone(),
                text: claim.text.clone(),
                published: claim.published.clone(),
                names_size: claim.size.is_some(),
            };
            let original = claim.conditions.iter().filter(|under| under.software == Software::Original);
            claims.push(ClaimOnHost {
                claim: self.claims.number(&format!("{}\n{}", record.id, claim.text), text),
                word: claim.word,
                size: claim.size,
                sentence: claim.sentence.clone(),
                conditions: original.map(|under| (under.condition.clone(), under.word)).collect(),
            });
        }
        Ok(FleetQuestion::Ledger { id: record.id.clone(), claims })
    }

    fn run(&mut self, document: &Document, claims: Vec<ClaimOnHost>) -> Result<FleetQuestion, FeatureError> {
        let alike = AlikeRuns::of(document);
        let job = serde_json::to_string(&alike.job)?;
        let indices: HashMap<&str, usize> =
            document.cells.iter().enumerate().map(|(index, cell)| (cell.id.as_str(), index)).collect();
        let batches = Batches::new(&document.samples, document.cells.len());
        let mut ratios = Vec::new();
        for contrast in document.contrasts.iter().filter(|contrast| contrast.metric == self.metric) {
            let (Some(a), Some(b)) = (indices.get(contrast.a.as_str()), indices.get(contrast.b.as_str()))
            else {
                continue;
            };
            if contrast.ratio <= 0.0 || !contrast.ratio.is_finite() {
                continue;
            }
            let pair = || pair(document, &document.cells[*a], &contrast.b);
            let pair = self.pairs.number(&format!("{}\n{}", contrast.a, contrast.b), pair);
            let epochs = batches.log_ratios(self.metric, *a, *b);
            ratios.push(Ratio {
                pair,
                log: contrast.ratio.ln(),
                error: run_median(&epochs).and_then(|median| median.error),
                lo: contrast.lo,
                hi: contrast.hi,
                standing: Standing::of_contrast(contrast),
                ran: ran(&document.cells[*a]),
            });
        }
        if ratios.is_empty() {
            return Err(FeatureError::NoContrasts);
        }
        let cheapest = document.workloads.iter().filter_map(|table| self.cheapest(document, table)).collect();
        Ok(FleetQuestion::Run { job: self.jobs.number(&job), ratios, cheapest, claims })
    }

    /// The cheapest of a table; `None` if there is nothing to compare.
    fn cheapest(&mut self, document: &Document, table: &WorkloadRecord) -> Option<CheapestHere> {
        let fastest = table.fastest.as_ref()?;
        let of = || TableOfCells { work: work(table), placement: table.placement, sets: Numbered::default() };
        let number = self.works.number(&format!("{}\n{}", work(table), table.placement), of);
        let sets = &mut self.works.all[number as usize].sets;
        let mut number_of = |mut cells: Vec<&String>| {
            cells.sort_by_key(|id| table.cells.iter().position(|cell| cell == *id));
            let labels: Vec<String> = cells.iter().map(|id| label(document, id)).collect();
            let transport =
                |id: &&String| cell(document, id).map(|cell| cell.transport.clone()).unwrap_or_default();
            let transports = || cells.iter().map(transport).collect();
            let key = labels.join("\n");
            sets.number(&key, || (labels, transports()))
        };
        // Nothing is known where another may cost as little.
        let (equals, open) = equals_and_open(fastest);
        Some(CheapestHere {
            table: number,
            is_open: !open.is_empty(),
            set: number_of(std::iter::once(&fastest.cell).chain(equals).chain(open).collect()),
            next: number_of(vec![&fastest.runner_up]),
            log: -fastest.ratio.ln(),
        })
    }
}

fn pair(document: &Document, a: &CellRecord, b: &str) -> ComparedCells {
    let table = document.workloads.iter().find(|table| table.cells.contains(&a.id));
    ComparedCells {
        work: table.map(work).unwrap_or_default(),
        placement: a.placement,
        a: a.id.clone(),
        a_label: label(document, &a.id),
        b: b.to_owned(),
        b_label: label(document, b),
    }
}

/// Where most batches of a cell ran.
fn ran(cell: &CellRecord) -> Option<Ran> {
    cell.ran.iter().max_by_key(|record| record.batches).map(|record| record.ran)
}

fn group(host: &Host) -> HostGroup {
    let fact = |name: &str| host.more.get(name).and_then(Value::as_str).map(str::to_owned);
    let hypervisor = fact("hypervisor").map(|vendor| match vendor.as_str() {
        "yes" => "virtual machine".to_owned(),
        vendor => format!("virtual machine ({vendor})"),
    });
    let parts: Vec<String> = hypervisor.into_iter().chain(fact("container")).collect();
    HostGroup {
        os: host.os.clone(),
        kernel: host.kernel.clone(),
        cpu: host.cpu.clone(),
        virtualisation: parts.join(", "),
        hosts: 0,
    }
}

impl ClaimOnHost {
    /// The conditions with one host's verdict each.
    pub fn counted(&self, conditions: &mut Vec<FleetCondition>) {
        for (condition, word) in &self.conditions {
            let known = conditions.iter().position(|known| known.condition == *condition);
            let place = known.unwrap_or_else(|| {
                conditions.push(FleetCondition { condition: condition.clone(), counts: Default::default() });
                conditions.len() - 1
            });
            conditions[place].counts.add(*word);
        }
    }
}
