//! What two runs are compared by: costs, and percentiles of latency.

use ipcost_lab::Batches;
use ipcost_lab::document::LEAST_MODE_RATIO;
use ipcost_lab::percentiles::log_values;
use ipcost_model::{CellRecord, Document, Metric, Percentile};
use ipcost_stats::two_groups;

/// What percentiles beyond the median are taken to differ by at least.
pub const TAIL_SPREAD: f64 = 0.2;

/// What two runs are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComparedBy {
    /// The cost of an operation.
    Cost(Metric),
    /// Each epoch's own percentile of latency.
    Latency(Percentile),
}

impl ComparedBy {
    /// Percentiles of latency, as far as they are compared.
    pub fn percentiles() -> impl Iterator<Item = Self> {
        Percentile::COMPARED.into_iter().map(Self::Latency)
    }

    /// What runs of one build are taken to differ by at least where too few runs tell it (relative standard deviation). Percentiles far
    /// out differ by more than costs do: by 7 to 21 % in runs of one build, one after the other.
    pub(crate) fn assumed(self, of_costs: f64) -> f64 {
        match self {
            Self::Latency(percentile) if percentile != Percentile::P50 => of_costs.max(TAIL_SPREAD),
            Self::Latency(_) | Self::Cost(_) => of_costs,
        }
    }

    /// Its logarithm in each epoch of a cell of a document; empty if an epoch lacks it.
    pub(crate) fn logs(self, document: &Document, batches: &Batches<'_>, cell: usize) -> Vec<f64> {
        match self {
            Self::Cost(metric) => batches.log_costs(metric, cell),
            Self::Latency(percentile) => {
                log_values(&document.cells[cell].latency_by_epoch, percentile).unwrap_or_default()
            }
        }
    }

    /// How far a cell's epochs lie apart that fall into two groups, as a logarithm; 0 of one group. Which group is the usual one may
    /// differ from run to run.
    pub(crate) fn modes_apart(self, cell: &CellRecord) -> f64 {
        match self {
            // The groups of elapsed time tell of processor time, too.
            Self::Cost(_) => {
                let logs = cell.modes.iter().map(|mode| mode.wall_ns_per_op.ln());
                let (least, most) = logs
                    .filter(|log| log.is_finite())
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), log| {
                        (least.min(log), most.max(log))
                    });
                (most - least).max(0.0)
            }
            Self::Latency(percentile) => log_values(&cell.latency_by_epoch, percentile)
                .and_then(|logs| two_groups(&logs, LEAST_MODE_RATIO.ln()))
                .map_or(0.0, |(low, high)| high.center - low.center),
        }
    }
}
