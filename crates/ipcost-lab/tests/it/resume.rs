//! A killed run resumes as if it never had been, from the intact part of its samples file.

use ipcost_lab::progress::{Observer, Progress};
use ipcost_lab::{CampaignState, Contrasts, resume, run};
use ipcost_model::{
    Begun, Calibrated, EpochRecord, Host, Job, Plan, Purpose, Resumed, SAMPLES_SCHEMA, Samples, SamplesLine,
    Stopped, Tool, read_samples,
};

use crate::script::{Known, LastIsSpared, Script, Witness, noisy, planned, report};

/// Writes a samples file.
struct Keeper(Vec<u8>);

impl Keeper {
    fn new(plan: &Plan) -> Self {
        let mut keeper = Self(Vec::new());
        keeper.write(&SamplesLine::Begun(Box::new(Begun {
            schema: SAMPLES_SCHEMA.to_owned(),
            id: "20260101-000000-0000".to_owned(),
            name: None,
            tool: Tool::of_version("0"),
            debug_build: false,
            host: Host::default(),
            boot: None,
            job: Job::default(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            plan: plan.clone(),
            purpose: Purpose::default(),
        })));
        keeper
    }

    fn write(&mut self, line: &SamplesLine) {
        serde_json::to_writer(&mut self.0, line).unwrap();
        self.0.push(b'\n');
    }
}

impl Observer for Keeper {
    fn progress(&mut self, _progress: &Progress) {}

    fn calibrated(&mut self, calibrated: &Calibrated) {
        self.write(&SamplesLine::Calibrated(calibrated.clone()));
    }

    fn epoch(&mut self, epoch: &EpochRecord) {
        self.write(&SamplesLine::Epoch(epoch.clone()));
    }
}

const JOB: &str =
    "epochs = 6\nseed = 5\n[[cells]]\ntransport = [\"one\", \"two\", \"three\", \"gone\"]\nsize = [1, 2]\n";

/// A machine whose costs depend only on cell and epoch, so that two of them give the same.
fn machine() -> Script {
    Script::new(|cell, epoch| 5_000.0 + cell as f64 * 700.0 + f64::from(epoch) * 11.0)
}

fn kept(job: &str, script: &mut Script) -> (Vec<u8>, CampaignState) {
    let plan = planned(job);
    let mut keeper = Keeper::new(&plan);
    let outcome = run(plan, &Contrasts, script, &mut Known::default(), &mut keeper);
    (keeper.0, outcome)
}

fn read(bytes: &[u8]) -> Samples {
    read_samples(bytes).unwrap()
}

fn later(after_epoch: u32) -> Resumed {
    Resumed { at: "2026-01-01T01:00:00Z".to_owned(), after_epoch }
}

#[test]
fn what_is_measured_after_a_kill_is_what_would_have_been_measured() {
    let mut whole = machine();
    let (_, expected) = kept(JOB, &mut whole);
    for killed_in in 1..=6 {
        let mut first = machine();
        first.fail_in_epoch = Some((killed_in, true));
        let (bytes, _) = kept(JOB, &mut first);
        let samples = read(&bytes);
        assert_eq!(samples.epochs.len() as u32, killed_in - 1);
        let mut second = machine();
        let resumed = resume(
            samples,
            later(killed_in - 1),
            &Contrasts,
            &mut second,
            &mut Known::default(),
            &mut Witness::default(),
        );
        // Every batch, cell by cell and count by count, in the same order.
        let expected_log: Vec<_> = whole.log.iter().filter(|(epoch, _, _)| *epoch >= killed_in).collect();
        assert_eq!(second.log.iter().collect::<Vec<_>>(), expected_log, "killed in epoch {killed_in}");
        assert_eq!(resumed.samples, expected.samples);
        assert_eq!(resumed.latency, expected.latency);
        assert_eq!(resumed.percentiles, expected.percentiles);
        assert_eq!(resumed.elapsed, expected.elapsed, "the time before counts");
        assert_eq!(resumed.plan.looks, expected.plan.looks, "looks are not planned again");
        assert!(!expected.plan.looks.is_none());
        assert_eq!(resumed.stopped, Stopped::Budget);
        let (document, whole_document) = (report(resumed), report(kept(JOB, &mut machine()).1));
        assert_eq!(document.contrasts, whole_document.contrasts);
        assert_eq!(document.cells, whole_document.cells);
        assert_eq!(document.resumed, [later(killed_in - 1)]);
    }
}

#[test]
fn what_was_given_up_stays_given_up() {
    const TRIO: &str = "budget = \"6s\"\nkeep_all = true\nseed = 5\nlatency = \"off\"\n[[cells]]\ntransport = [\"one\", \"two\", \"three\"]\n";
    let slow = || {
        let mut script = noisy(&[10_000.0, 10_300.0, 10_600.0], 0.3);
        script.start = std::time::Duration::from_millis(150);
        script
    };
    let mut first = slow();
    first.fail_in_epoch = Some((3, true));
    let plan = planned(TRIO);
    let mut keeper = Keeper::new(&plan);
    let killed = run(plan, &LastIsSpared, &mut first, &mut Known::default(), &mut keeper);
    assert_eq!(killed.plan.measurable().count(), 2, "the third was given up");
    let mut second = slow();
    let (mut known, mut witness) = (Known::default(), Witness::default());
    let resumed = resume(read(&keeper.0), later(2), &LastIsSpared, &mut second, &mut known, &mut witness);
    assert!(resumed.epochs > 3 && second.log.iter().all(|(_, cell, _)| *cell < 2), "{:?}", resumed.epochs);
}

#[test]
fn before_calibration_was_complete_it_begins_again() {
    let plan = planned(JOB);
    let bytes = Keeper::new(&plan).0;
    let mut script = machine();
    let outcome = resume(
        read(&bytes),
        later(0),
        &Contrasts,
        &mut script,
        &mut Known::default(),
        &mut Witness::default(),
    );
    assert_eq!(outcome.epochs, 6);
    assert_eq!(outcome.samples, kept(JOB, &mut machine()).1.samples);
}

#[test]
fn a_run_that_was_answered_needs_no_more() {
    let job = "baseline = \"two\"\nbudget = \"10min\"\nseed = 3\n[[cells]]\ntransport = [\"one\", \"two\"]\n";
    let (bytes, outcome) = kept(job, &mut noisy(&[5_000.0, 9_000.0], 0.01));
    assert_eq!(outcome.stopped, Stopped::Resolved);
    let epochs = outcome.epochs;
    let mut script = noisy(&[5_000.0, 9_000.0], 0.01);
    let after = later(epochs);
    let resumed =
        resume(read(&bytes), after, &Contrasts, &mut script, &mut Known::default(), &mut Witness::default());
    assert_eq!((resumed.stopped, resumed.epochs, script.log.len()), (Stopped::Resolved, epochs, 0));
}

#[test]
fn wherever_a_file_is_torn_its_whole_epochs_are_read() {
    let (bytes, expected) = kept(JOB, &mut machine());
    let lines: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    assert_eq!(lines.len(), 8, "the plan, the counts, six epochs");
    let places = (0..bytes.len()).step_by(97).chain(lines.iter().flat_map(|end| [end - 1, *end]));
    for cut in places {
        let whole = lines.iter().filter(|end| **end <= cut).count();
        match read_samples(&bytes[..cut]) {
            Err(error) => assert!(whole == 0, "{cut}: {error}"),
            Ok(samples) => {
                assert_eq!(samples.whole_bytes as usize, lines[whole - 1], "{cut}");
                assert_eq!(samples.epochs.len(), whole.saturating_sub(2), "{cut}");
                let document = report(CampaignState::of_samples(samples));
                assert_eq!(document.schedule.epochs as usize, whole.saturating_sub(2));
                assert_eq!(document.stopped, Stopped::Interrupted);
            }
        }
    }
    let document = report(CampaignState::of_samples(read(&bytes)));
    assert_eq!(document.samples, expected.samples);
    // What a disk returns for blocks never written.
    let mut zeroed = bytes.clone();
    zeroed[lines[4] + 10..].fill(0);
    assert_eq!(read(&zeroed).epochs.len(), 3);
}

#[test]
fn records_that_do_not_fit_are_not_taken() {
    let (bytes, _) = kept(JOB, &mut machine());
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let of = |lines: &[&[u8]]| read(&lines.concat()).epochs.len();
    assert_eq!(of(&lines), 6);
    assert_eq!(of(&[lines[0], lines[2]]), 0, "an epoch before the counts");
    assert_eq!(of(&[lines[0], lines[1], lines[3]]), 0, "the second before the first");
    assert_eq!(of(&[lines[0], lines[1], lines[2], lines[2]]), 1, "one twice");
    let spoilt = |change: &dyn Fn(&mut EpochRecord)| {
        let SamplesLine::Epoch(mut epoch) = serde_json::from_slice(lines[2]).unwrap() else { panic!() };
        change(&mut epoch);
        let mut line = serde_json::to_vec(&SamplesLine::Epoch(epoch)).unwrap();
        line.push(b'\n');
        of(&[lines[0], lines[1], &line])
    };
    assert_eq!(spoilt(&|_| {}), 1);
    assert_eq!(spoilt(&|epoch| drop(epoch.samples.pop())), 0, "a batch is missing");
    assert_eq!(spoilt(&|epoch| epoch.samples[0].cell = 99), 0, "of a cell that there is not");
    assert_eq!(spoilt(&|epoch| epoch.samples[0].ops = 0), 0);
    assert_eq!(spoilt(&|epoch| epoch.latency[0].cell = 99), 0);
    assert!(read_samples(lines[1]).unwrap_err().to_string().contains("not a samples file"));
}
