//! From a samples file, whose end may be torn off, to its intact part.

use std::io::{self, BufRead, Read};

use thiserror::Error;

use crate::reading::read_measured;
use crate::samples_file::{Begun, Calibrated, EpochRecord, SAMPLES_SCHEMA, Samples, SamplesLine};
use crate::text::shortened;

/// The longest line that is read, bytes: ten times an epoch of ten thousand cells.
const MAX_LINE_BYTES: u64 = 1 << 28;
/// The most characters of an error.
const LONGEST_ERROR: usize = 300;

/// Why something is not a samples file.
#[derive(Debug, Error)]
pub enum SamplesError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// Its first line does not say what the run was to measure.
    #[error("not a samples file of {SAMPLES_SCHEMA:?}: {0}")]
    Foreign(String),
}

/// Reads a samples file. Drops everything after the last whole record, which was being written when the run was
/// killed.
///
/// The result is consistent: epochs are consecutive, and each has all batches of all its cells.
///
/// # Errors
/// If it cannot be read, or is not a samples file.
pub fn read_samples(mut from: impl BufRead) -> Result<Samples, SamplesError> {
    let first =
        next_line(&mut from)?.ok_or_else(|| SamplesError::Foreign("it has no complete line".to_owned()))?;
    let foreign = |reason: String| SamplesError::Foreign(shortened(&reason, LONGEST_ERROR));
    let begun = match read_measured(&first) {
        Ok(SamplesLine::Begun(begun)) if begun.schema == SAMPLES_SCHEMA => begun,
        Ok(SamplesLine::Begun(begun)) => return Err(foreign(format!("its schema is {:?}", begun.schema))),
        Ok(_) => return Err(foreign("its first line is of another kind".to_owned())),
        Err(error) => return Err(foreign(error.to_string())),
    };
    if !plan_is_sound(&begun) {
        return Err(foreign("its plan names a cell that does not exist".to_owned()));
    }
    let mut samples = Samples {
        begun: *begun,
        calibrated: None,
        epochs: Vec::new(),
        resumed: Vec::new(),
        whole_bytes: first.len() as u64,
    };
    while let Some(line) = next_line(&mut from)? {
        if read_measured(&line).is_ok_and(|line| samples.take(line)) {
            samples.whole_bytes += line.len() as u64;
        } else {
            break;
        }
    }
    Ok(samples)
}

/// The next line with its newline; `None` at the end of the file, or if the line is incomplete.
fn next_line(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    Ok((line.last() == Some(&b'\n')).then_some(line))
}

/// Whether the indices of a plan exist.
fn plan_is_sound(begun: &Begun) -> bool {
    let cells = begun.plan.cells.len();
    let of_workloads = begun.plan.workloads.iter().flat_map(|workload| {
        workload.cells.iter().chain(&workload.baseline).chain(workload.against.iter().flatten())
    });
    let of_contrasts = begun.plan.all_contrasts().flat_map(|contrast| [&contrast.a, &contrast.b]);
    let floors = begun.plan.cells.iter().filter_map(|cell| cell.floor.as_ref());
    let of_floors = floors.flat_map(|floor| floor.parts.iter().map(|part| &part.cell));
    of_workloads.chain(of_contrasts).chain(of_floors).all(|cell| *cell < cells)
}

impl Samples {
    /// Adds a record; `false` if it does not fit the earlier ones.
    fn take(&mut self, line: SamplesLine) -> bool {
        match line {
            SamplesLine::Calibrated(calibrated) if self.calibrated.is_none() => {
                let fits = calibrated.rounds > 0 && calibrated.counts.len() == self.begun.plan.cells.len();
                self.calibrated = fits.then_some(calibrated);
                fits
            }
            SamplesLine::Epoch(epoch) => {
                let fits = self.calibrated.as_ref().is_some_and(|calibrated| self.fits(&epoch, calibrated));
                if fits {
                    self.epochs.push(epoch);
                }
                fits
            }
            SamplesLine::Resumed(resumed) => {
                let fits = resumed.after_epoch as usize == self.epochs.len();
                if fits {
                    self.resumed.push(resumed);
                }
                fits
            }
            SamplesLine::Begun(_) | SamplesLine::Calibrated(_) => false,
        }
    }

    fn fits(&self, epoch: &EpochRecord, calibrated: &Calibrated) -> bool {
        let cells = &self.begun.plan.cells;
        let is_cell = |cell: u32| cells.get(cell as usize).is_some_and(|cell| cell.unavailable.is_none());
        let sound = epoch.samples.iter().all(|sample| {
            is_cell(sample.cell)
                && sample.epoch == epoch.epoch
                && (1..=calibrated.rounds).contains(&sample.round)
                && sample.ops > 0
        });
        let counted = epoch.samples.iter().filter(|sample| !sample.suspended).count();
        let due = self.begun.plan.measurable().count().checked_mul(calibrated.rounds as usize);
        let beside = epoch.latency.iter().map(|latency| latency.cell);
        let beside = beside.chain(epoch.effective.keys().copied()).chain(epoch.incidents.keys().copied());
        epoch.epoch as usize == self.epochs.len() + 1
            && sound
            && Some(counted) == due
            && beside.into_iter().all(is_cell)
    }
}
