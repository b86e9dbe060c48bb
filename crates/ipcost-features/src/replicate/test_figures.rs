//! The figures of a test, epoch by epoch.

use ipcost_model::{Measure, Quantity, Sample};

use super::{ClaimTest, MeasuredSoftware, quantity_of};

/// Less than this of anything, for one operation, counts as this much.
const NEXT_TO_NOTHING: f64 = 1e-3;
/// What lies between two ticks of most kernels (`CONFIG_HZ=250`), nanoseconds.
const TICK_NS: f64 = 4e6;
/// So many ticks tell shares of processor time within a sixth.
const TICKS: f64 = 10.0;
/// A test's figure in every epoch: the natural logarithm of the ratio, or what a single cell says. Of times in ticks, in every block of
/// epochs that has enough of them.
///
/// `None` where a cell or one of its values is missing.
pub fn by_epoch(run: &MeasuredSoftware<'_>, test: &ClaimTest) -> Option<Vec<(u32, f64)>> {
    let cells = run.cells;
    let named = run.cells_of(test)?;
    let sides: Vec<(usize, Quantity)> =
        named.into_iter().zip(test.sides()).map(|(cell, side)| (cell, quantity_of(test, side))).collect();
    if sides.iter().any(|(_, quantity)| quantity.measure.is_in_ticks()) {
        return by_block(run, &sides);
    }
    let of = |(cell, Quantity { measure, per_byte }): &(usize, Quantity)| {
        let divisor = if *per_byte { cells[*cell].cell.size as f64 } else { 1.0 };
        run.batches.series(*cell, |sample| Some(measure.of(sample)? / divisor))
    };
    let ln = |value: f64| value.max(NEXT_TO_NOTHING).ln();
    let sides: Vec<_> = sides.iter().map(of).collect();
    let epochs = match &sides[..] {
        [a] => a.by_epoch(),
        [a, b] => a.with(b, |a, b| ln(a) - ln(b)).by_epoch(),
        [a, b, c, d] => {
            let than = c.with(d, |c, d| ln(c) - ln(d));
            a.with(b, |a, b| ln(a) - ln(b)).with(&than, |one, other| one - other).by_epoch()
        }
        _ => return None,
    };
    let epochs =
        epochs.into_iter().map(|(epoch, value)| Some((epoch, value?))).collect::<Option<Vec<_>>>()?;
    Some(epochs).filter(|epochs| !epochs.is_empty())
}

/// The same over blocks of epochs, in each of which every side has used so much processor time that its ticks tell user and system time
/// apart. One batch has a tick or none: its ratios are nothing, or without end.
fn by_block(run: &MeasuredSoftware<'_>, sides: &[(usize, Quantity)]) -> Option<Vec<(u32, f64)>> {
    #[derive(Clone, Copy, Default)]
    struct RoundSum {
        value: f64,
        ops: f64,
        used: f64,
    }
    let used_by = |measure: &Measure, sample: &Sample| match measure {
        Measure::ServerUser | Measure::ServerSys | Measure::ServerCpu => sample.server.cpu_ns(),
        _ => sample.client.cpu_ns(),
    };
    let mut blocks = Vec::new();
    let mut sums = vec![RoundSum::default(); sides.len()];
    let mut epochs: Vec<u32> = run.batches.of(sides.first()?.0).iter().map(|sample| sample.epoch).collect();
    epochs.dedup();
    for epoch in epochs {
        for (sum, (cell, Quantity { measure, .. })) in sums.iter_mut().zip(sides) {
            for sample in run.batches.of(*cell).iter().filter(|sample| sample.epoch == epoch) {
                sum.value += measure.of(sample)? * sample.ops as f64;
                sum.ops += sample.ops as f64;
                sum.used += used_by(measure, sample) as f64;
            }
        }
        if sums.iter().all(|sum| sum.used >= TICKS * TICK_NS) {
            // None that was found is less than one.
            let cost = |sum: &RoundSum| (sum.value.max(TICK_NS / 2.0) / sum.ops).ln();
            let value = match sums[..] {
                [a] => a.value / a.ops,
                [a, b] => cost(&a) - cost(&b),
                [a, b, c, d] => cost(&a) - cost(&b) - (cost(&c) - cost(&d)),
                _ => return None,
            };
            blocks.push((epoch, value));
            sums.fill(RoundSum::default());
        }
    }
    Some(blocks).filter(|blocks| !blocks.is_empty())
}
