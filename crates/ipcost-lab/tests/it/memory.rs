//! The engine's own memory.

use std::time::Duration;

use ipcost_lab::bench::{BatchKind, BatchOutcome, Bench};
use ipcost_lab::progress::Silent;
use ipcost_lab::{Contrasts, EngineError, run};
use ipcost_model::Usage;
use ipcost_model::protocol::LatencyKind;
use ipcost_stats::Histogram;
use serde_json::{Map, Value};

use crate::own_process::{in_own_process, peak_kibibytes};
use crate::script::{Known, planned, report};

/// Twenty-three cells whose operations take a moment, with latencies as a real peer reports them.
struct Steady(Duration);

impl Bench for Steady {
    fn elapsed(&self) -> Duration {
        self.0
    }

    fn start_epoch(&mut self, _epoch: u32, _order: &[usize]) -> Result<(), EngineError> {
        Ok(())
    }

    fn verify(&mut self, _cell: usize, _ops: u64) -> Result<(), EngineError> {
        Ok(())
    }

    fn batch(&mut self, cell: usize, ops: u64, kind: BatchKind) -> Result<BatchOutcome, EngineError> {
        let wall_ns = ops * (5_000 + cell as u64);
        self.0 += Duration::from_nanos(wall_ns);
        let latency_ns = if kind == BatchKind::Latency { (5_000..6_000).collect() } else { Vec::new() };
        let client = Usage { user_ns: wall_ns, ..Usage::default() };
        Ok(BatchOutcome {
            wall_ns,
            client,
            latencies: [(LatencyKind::Latency, Histogram::of(latency_ns))].into(),
            ..BatchOutcome::default()
        })
    }

    fn end_epoch(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn effective(&self, _cell: usize) -> Map<String, Value> {
        Map::new()
    }
}

#[test]
fn a_hundred_thousand_samples_fit_into_64_mib() {
    if !in_own_process("memory::a_hundred_thousand_samples_fit_into_64_mib") {
        return;
    }
    let sizes: Vec<String> = (1..=23).map(|size| size.to_string()).collect();
    let text = format!("epochs = 4400\n[[cells]]\ntransport = \"one\"\nsize = [{}]\n", sizes.join(", "));
    let outcome =
        run(planned(&text), &Contrasts, &mut Steady(Duration::ZERO), &mut Known::default(), &mut Silent);
    assert!(outcome.samples.len() >= 100_000, "{}", outcome.samples.len());
    let document = report(outcome);
    serde_json::to_writer(std::io::sink(), &document).unwrap();

    let kibibytes = peak_kibibytes();
    assert!(kibibytes < 64 * 1024, "{kibibytes} KiB");
    println!("{} samples, {kibibytes} KiB at the peak", document.samples.len());
}
