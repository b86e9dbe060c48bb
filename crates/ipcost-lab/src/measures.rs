//! Additional measures by peers, or the engine, by name.

use ipcost_model::Sample;

/// A sample's value of such a measure, per operation unless the name says `_per_call`; `None` if absent.
pub fn named(sample: &Sample, name: &str) -> Option<f64> {
    let value = sample.measures.get(name).copied()?;
    Some(if name.ends_with("_per_call") { value } else { value / sample.ops as f64 })
}
