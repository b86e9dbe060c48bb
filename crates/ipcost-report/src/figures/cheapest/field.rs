//! A field of the map: what is known about the cheapest of a table, in the words of the summary.

use ipcost_model::{ContrastRecord, Document, Fastest, Verdict, WorkloadRecord};

use crate::figures::colours;
use crate::numbers::ratio;
use crate::summary::{self, Contenders};
use crate::words::{self, RowNames};

/// The most names of a field.
const MOST_NAMES: usize = 3;
/// The least ratio that has digits.
const LEAST_RATIO: f64 = 0.001;
/// What is known about the cheapest of a table.
pub struct CheapestField {
    /// The work and where: `64 B round trip, one core`.
    pub work: String,
    pub standing: Standing,
    /// The colours of the cheapest, by their places in the palette; none while it is open.
    pub slots: Vec<usize>,
    /// The cheapest, or those that may be.
    pub name: String,
    /// Its cost relative to the runner-up, or the verdict.
    pub margin: String,
    /// Both on a line, where the row names the runner-up.
    pub brief: String,
    /// The same in full, as the summary says it.
    pub answer: String,
}

/// What is known about the cheapest of a table, as a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// One cell is known to be the cheapest.
    Cheapest,
    /// Several are known to cost the same.
    Shared,
    /// Several may be the cheapest.
    Open,
    /// There is nothing to compare.
    NotCompared,
}

pub fn field(document: &Document, table: &WorkloadRecord) -> CheapestField {
    let fastest = table.fastest.as_ref();
    let answer = summary::answer(document, table, fastest);
    let work = format!("{}, {}", summary::work(table), words::cores(table.placement));
    let Some(fastest) = fastest else {
        let (name, standing) = (answer.replace(" measured", ""), Standing::NotCompared);
        let (margin, brief) = (String::new(), String::new());
        return CheapestField { work, standing, slots: Vec::new(), name, margin, brief, answer };
    };
    let Contenders { equal, open, .. } = summary::contenders(document, table, fastest);
    let (_, all_open) = words::equals_and_open(fastest);
    let standing = match (all_open.is_empty(), equal.len()) {
        (true, 1) if fastest.claimed => Standing::Cheapest,
        (true, 2..) => Standing::Shared,
        _ => Standing::Open,
    };
    // A winner that the document does not claim has a rival, whatever its contrast with the baseline says.
    let open = if open.is_empty() { all_open } else { open };
    let times = 1.0 / fastest.ratio;
    let times = if times < LEAST_RATIO { format!("< {LEAST_RATIO}") } else { ratio(times) };
    let runner_up = words::label(document, &fastest.runner_up);
    let margin = match standing {
        Standing::Cheapest => format!("{times} × {runner_up}"),
        Standing::Shared => words::verdict(Verdict::Equivalent, 1.0, document.analysis.margin),
        Standing::Open | Standing::NotCompared => {
            words::verdict(Verdict::Undecided, 1.0, document.analysis.margin)
        }
    };
    let is_open = standing == Standing::Open;
    let name = names(document, &equal, if is_open { &open } else { &[] });
    CheapestField {
        work,
        standing,
        slots: if is_open { Vec::new() } else { slots(document, &equal) },
        brief: if standing == Standing::Cheapest { format!("{name} {times} ×") } else { margin.clone() },
        name,
        margin,
        answer,
    }
}

/// The colours of cells, each once.
fn slots(document: &Document, ids: &[&String]) -> Vec<usize> {
    let mut slots: Vec<usize> = Vec::new();
    for cell in ids.iter().filter_map(|id| words::cell(document, id)) {
        let slot = colours::slot(document, &cell.transport);
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    }
    slots
}

/// `pipe = shm`, `pipe or unix`, `pipe or 4 others`.
fn names(document: &Document, equal: &[&String], open: &[&String]) -> String {
    let names = RowNames::whole(document);
    let name = |id: &&String| summary::name(&names, id);
    let several = equal.len() + open.len();
    if several > MOST_NAMES {
        let (first, others) = (name(&equal[0]), several - 1);
        return format!("{first} {} {others} others", if open.is_empty() { "and" } else { "or" });
    }
    let equal = equal.iter().map(name).collect::<Vec<_>>().join(" = ");
    let all: Vec<String> = std::iter::once(equal).chain(open.iter().map(name)).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// The cheaper of two cells by their contrast.
pub fn of_two(known: &ContrastRecord) -> Option<Fastest> {
    let inverse = |bound: Option<f64>| bound.filter(|bound| *bound > 0.0).map(|bound| 1.0 / bound);
    let is_first = known.ratio < 1.0;
    let (cell, runner_up) = if is_first { (&known.a, &known.b) } else { (&known.b, &known.a) };
    let (ratio, lo, hi) = match is_first {
        true => (1.0 / known.ratio, inverse(known.hi), inverse(known.lo)),
        false => (known.ratio, known.lo, known.hi),
    };
    let is_equal = known.verdict == Verdict::Equivalent && known.is_answered();
    let claimed = known.verdict != Verdict::Equivalent && lo.is_some_and(|lo| lo > 1.0);
    let rival = |wanted: bool| if wanted { vec![runner_up.clone()] } else { Vec::new() };
    (known.ratio > 0.0).then(|| Fastest {
        cell: cell.clone(),
        runner_up: runner_up.clone(),
        ratio,
        lo,
        hi,
        verdict: known.verdict,
        claimed,
        equals: rival(is_equal),
        means_differ: is_equal && !known.is_same(),
        open: rival(!is_equal && !claimed),
        open_within: None,
        open_cheaper_by: None,
    })
}
