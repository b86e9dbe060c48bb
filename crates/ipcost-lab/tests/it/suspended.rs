//! A machine that is suspended in the middle of a batch: the batch is measured again and not counted.

use ipcost_lab::EngineError;
use ipcost_model::{Stopped, read_document};

use crate::script::{Script, campaign, report};

const JOB: &str = "epochs = 4\nseed = 5\n[[cells]]\ntransport = [\"one\", \"two\"]\n";

fn machine() -> Script {
    Script::new(|cell, _| 5_000.0 + cell as f64 * 1_000.0)
}

#[test]
fn a_batch_that_was_slept_through_is_marked_told_and_measured_again() {
    let undisturbed = report(campaign(JOB, &mut machine()));
    let mut script = machine();
    // The lead-in of cell 1 in epoch 2, and the batch after it; each once.
    let mut slept = 0;
    let mut awake = true;
    script.sleeps = Box::new(move |epoch, cell| {
        let here = epoch == 2 && cell == 1 && slept < 2;
        awake = !awake || !here;
        slept += u32::from(!awake);
        !awake
    });
    let document = report(campaign(JOB, &mut script));
    let marked: Vec<_> = document.samples.iter().filter(|sample| sample.suspended).collect();
    assert_eq!(marked.len(), 1, "a lead-in leaves no sample");
    let mark = marked[0];
    assert_eq!((mark.cell, mark.epoch), (1, 2));
    let place = document.samples.iter().position(|sample| sample.suspended).unwrap();
    let again = &document.samples[place + 1];
    assert_eq!((again.cell, again.epoch, again.round, again.position), (1, 2, mark.round, mark.position));
    assert!(!again.suspended && mark.wall_ns > 100 * again.wall_ns);
    // No computed value is affected.
    assert_eq!(document.cells, undisturbed.cells);
    assert_eq!(document.contrasts, undisturbed.contrasts);
    let warning = document.warnings.iter().find(|warning| warning.code == "suspended").unwrap();
    assert!(warning.message.contains("during 1 batch, first for rr/two/64/c1 in epoch 2"), "{warning:?}");
    assert!(!undisturbed.warnings.iter().any(|warning| warning.code == "suspended"));
    // Nor are readers of the document.
    let bytes = serde_json::to_vec(&document).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("\"suspended\":true"));
    assert_eq!(read_document(&bytes).unwrap(), document);
}

#[test]
fn calibration_is_not_misled() {
    let counts = |script: &mut Script| {
        let outcome = campaign(JOB, script);
        outcome.samples.iter().map(|sample| sample.ops).collect::<Vec<_>>()
    };
    let mut script = machine();
    let mut batches = 0;
    script.sleeps = Box::new(move |epoch, _| {
        batches += 1;
        epoch == 0 && batches % 3 == 0
    });
    assert_eq!(counts(&mut script), counts(&mut machine()));
}

#[test]
fn a_machine_that_never_stays_awake_ends_the_run() {
    let mut script = machine();
    script.sleeps = Box::new(|epoch, _| epoch == 3);
    let outcome = campaign(JOB, &mut script);
    assert_eq!((outcome.stopped, outcome.epochs), (Stopped::Failed, 2));
    let failure = outcome.failure.unwrap();
    assert!(matches!(failure, EngineError::Suspended { times: 4 }));
    assert!(failure.to_string().contains("stays awake"));
}
