//! Ten thousand cells: planned, measured group by group, and little kept in memory.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use ipcost_lab::bench::{BatchKind, BatchOutcome, Bench};
use ipcost_lab::progress::{Observer, Progress};
use ipcost_lab::{Contrasts, EngineError, run};
use ipcost_model::protocol::LatencyKind;
use ipcost_model::{Calibrated, EpochRecord, SamplesLine, Usage};
use ipcost_stats::Histogram;
use serde_json::{Map, Value};

use crate::own_process::{in_own_process, peak_kibibytes};
use crate::script::{Known, planned, report};

const CELLS: usize = 10_000;
const EPOCHS: usize = 4;

/// Cells whose operations take a moment, with latencies as a real peer reports them.
struct Steady {
    now: Duration,
    most_at_once: usize,
    measured: Vec<u32>,
}

impl Bench for Steady {
    fn elapsed(&self) -> Duration {
        self.now
    }

    fn start_epoch(&mut self, _epoch: u32, order: &[usize]) -> Result<(), EngineError> {
        self.most_at_once = self.most_at_once.max(order.len());
        Ok(())
    }

    fn verify(&mut self, _cell: usize, _ops: u64) -> Result<(), EngineError> {
        Ok(())
    }

    fn batch(&mut self, cell: usize, ops: u64, kind: BatchKind) -> Result<BatchOutcome, EngineError> {
        let wall_ns = ops * (5_000 + cell as u64);
        self.now += Duration::from_nanos(wall_ns);
        self.measured[cell] += 1;
        let spread = |index: u64| 5_000 + cell as u64 + index * index % 3_001;
        let latency_ns =
            if kind == BatchKind::Latency { (0..1_000).map(spread).collect() } else { Vec::new() };
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

struct ToDisk(BufWriter<File>);

impl Observer for ToDisk {
    fn progress(&mut self, _progress: &Progress) {}

    fn calibrated(&mut self, calibrated: &Calibrated) {
        serde_json::to_writer(&mut self.0, &SamplesLine::Calibrated(calibrated.clone())).unwrap();
    }

    fn epoch(&mut self, epoch: &EpochRecord) {
        serde_json::to_writer(&mut self.0, epoch).unwrap();
        self.0.write_all(b"\n").unwrap();
    }
}

#[test]
fn ten_thousand_cells_fit_into_200_mib() {
    if !in_own_process("many_cells::ten_thousand_cells_fit_into_200_mib") {
        return;
    }
    let sizes: Vec<String> = (1..=CELLS / 2).map(|size| size.to_string()).collect();
    let job = format!(
        "epochs = {EPOCHS}\nbaseline = \"two\"\n[[cells]]\ntransport = [\"one\", \"two\"]\nsize = [{}]\n",
        sizes.join(", ")
    );
    let plan = planned(&job);
    assert_eq!(plan.measurable().count(), CELLS);

    let file = std::env::temp_dir().join(format!("ipcost-many-cells-{}", std::process::id()));
    let mut observer = ToDisk(BufWriter::new(File::create(&file).unwrap()));
    // Its name is gone before anything can fail; what is written is gone with the descriptor.
    std::fs::remove_file(&file).unwrap();
    let mut bench = Steady { now: Duration::ZERO, most_at_once: 0, measured: vec![0; CELLS] };
    let outcome = run(plan, &Contrasts, &mut bench, &mut Known::default(), &mut observer);
    assert!(outcome.failure.is_none());
    assert_eq!(outcome.samples.len(), CELLS * EPOCHS);
    assert!(bench.most_at_once <= 1_000, "{} cells have processes at once", bench.most_at_once);
    assert!(bench.measured.iter().all(|count| *count >= 2 * EPOCHS as u32), "every cell in every epoch");
    let written = observer.0.into_inner().unwrap().metadata().unwrap().len();
    let document = report(outcome);
    serde_json::to_writer(std::io::sink(), &document).unwrap();
    assert_eq!(document.contrasts.len(), CELLS, "half of them against the other half, by wall and by cpu");

    let kibibytes = peak_kibibytes();
    println!("{written} bytes written; {kibibytes} KiB at the peak");
    assert!(kibibytes < 200 * 1024, "{kibibytes} KiB");
}
