//! Two cells compared, as far as the document compares them; nothing is inferred here.

use std::collections::HashMap;

use ipcost_model::{CellRecord, Document, Estimate, Metric, Percentile, Verdict, WorkloadRecord};

/// What the page judges cells by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Elapsed time for one operation.
    Wall,
    /// Processor time for one operation.
    Cpu,
    /// The 99th percentile of latency.
    P99,
}

impl Quantity {
    pub const ALL: [Self; 3] = [Self::Wall, Self::Cpu, Self::P99];

    /// The name in the page's data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::P99 => "p99",
        }
    }

    /// The title of its column.
    pub fn short(self) -> &'static str {
        match self {
            Self::Wall => "cost",
            Self::Cpu => "CPU/op",
            Self::P99 => "p99",
        }
    }

    /// A cell's value, nanoseconds.
    pub fn of(self, cell: &CellRecord) -> Option<Estimate> {
        match self {
            Self::Wall => cell.wall_ns_per_op,
            Self::Cpu => cell.cpu_ns_per_op,
            Self::P99 => {
                let latency = cell.latency_ns.as_ref()?;
                let (lo, hi) = latency.p99_bounds.map(|(lo, hi)| (lo as f64, hi as f64)).unzip();
                Some(Estimate { median: latency.at(Percentile::P99)? as f64, lo, hi })
            }
        }
    }
}

/// What a ratio rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A quotient of two values, of which the document knows no interval.
    Quotient,
    /// A contrast of the document.
    Contrast,
    /// A contrast of the document with its sides swapped.
    Swapped,
}

/// A cell's cost over another's.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    pub ratio: f64,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    /// Of contrasts.
    pub verdict: Option<Verdict>,
    pub source: Source,
}

impl Ratio {
    /// Below 0 if the cell is known to be cheaper, above 0 if known to be costlier.
    pub fn direction(&self) -> i8 {
        match self.verdict {
            Some(Verdict::Different | Verdict::Direction) if self.ratio < 1.0 => -1,
            Some(Verdict::Different | Verdict::Direction) if self.ratio > 1.0 => 1,
            _ => 0,
        }
    }

    fn swapped(&self) -> Self {
        let inverse = |value: f64| Some(1.0 / value).filter(|value| value.is_finite());
        Self {
            ratio: 1.0 / self.ratio,
            lo: self.hi.and_then(inverse),
            hi: self.lo.and_then(inverse),
            source: Source::Swapped,
            ..*self
        }
    }
}

/// The comparisons of a document.
pub struct Pairs<'a> {
    known: HashMap<(Quantity, &'a str, &'a str), Ratio>,
    /// For each cell those that it has a contrast with, either way.
    partners: HashMap<&'a str, Vec<&'a str>>,
    /// For each cell what the run compared its elapsed time with.
    against: HashMap<&'a str, &'a str>,
}

impl<'a> Pairs<'a> {
    pub fn of(document: &'a Document) -> Self {
        let mut pairs = Self { known: HashMap::new(), partners: HashMap::new(), against: HashMap::new() };
        for contrast in &document.contrasts {
            let quantity = match contrast.metric {
                Metric::Wall => Quantity::Wall,
                Metric::Cpu => Quantity::Cpu,
            };
            if quantity == Quantity::Wall {
                pairs.against.entry(&contrast.a).or_insert(&contrast.b);
            }
            let (lo, hi, verdict) = (contrast.lo, contrast.hi, Some(contrast.verdict));
            let ratio = Ratio { ratio: contrast.ratio, lo, hi, verdict, source: Source::Contrast };
            pairs.add(quantity, &contrast.a, &contrast.b, ratio);
            if let Some(p99) = contrast.latency.iter().find(|known| known.percentile == Percentile::P99) {
                let (lo, hi, verdict) = (p99.lo, p99.hi, Some(p99.verdict));
                let ratio = Ratio { ratio: p99.ratio, lo, hi, verdict, source: Source::Contrast };
                pairs.add(Quantity::P99, &contrast.a, &contrast.b, ratio);
            }
        }
        for fastest in document.workloads.iter().filter_map(|table| table.fastest.as_ref()) {
            let (lo, hi, verdict) = (fastest.lo, fastest.hi, Some(fastest.verdict));
            let ratio = Ratio { ratio: fastest.ratio, lo, hi, verdict, source: Source::Contrast };
            pairs.add(Quantity::Wall, &fastest.runner_up, &fastest.cell, ratio);
        }
        pairs
    }

    fn add(&mut self, quantity: Quantity, a: &'a str, b: &'a str, ratio: Ratio) {
        // The first is the one that tables show.
        self.known.entry((quantity, a, b)).or_insert(ratio);
        self.partners.entry(a).or_default().push(b);
        self.partners.entry(b).or_default().push(a);
    }

    /// The cells that a cell has a contrast with.
    pub fn partners(&self, id: &str) -> &[&'a str] {
        self.partners.get(id).map_or(&[], Vec::as_slice)
    }

    /// What the run compared a cell with.
    pub fn baseline(&self, table: &'a WorkloadRecord, id: &str) -> Option<&'a str> {
        let own = table.baseline.as_deref();
        if own == Some(id) { own } else { self.against.get(id).copied().or(own) }
    }

    /// A cell's cost over another's; a quotient of their values where the document has no contrast.
    pub fn compare(&self, quantity: Quantity, a: &'a CellRecord, b: &'a CellRecord) -> Option<Ratio> {
        let known = |a: &'a CellRecord, b: &'a CellRecord| {
            self.known.get(&(quantity, a.id.as_str(), b.id.as_str())).copied()
        };
        known(a, b).or_else(|| known(b, a).map(|ratio| ratio.swapped())).or_else(|| {
            let [above, below] = [a, b].map(|cell| quantity.of(cell).map(|cost| cost.median));
            let ratio = above.filter(|value| *value > 0.0)? / below.filter(|value| *value > 0.0)?;
            Some(Ratio { ratio, lo: None, hi: None, verdict: None, source: Source::Quotient })
        })
    }
}
