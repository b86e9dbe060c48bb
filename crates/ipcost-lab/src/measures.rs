//! What peers, or the engine, measured beside the usual, by name.

use ipcost_model::Sample;

/// What a sample says of such a measure, for one operation unless the name says `_per_call`; `None` where it lacks it.
pub fn named(sample: &Sample, name: &str) -> Option<f64> {
    let value = sample.measures.get(name).copied()?;
    Some(if name.ends_with("_per_call") { value } else { value / sample.ops as f64 })
}
