//! Campaigns on a script instead of a machine: order, stopping, budgets, verdicts, failures.

use std::collections::BTreeMap;
use std::time::Duration;

use ipcost_lab::planning::{EpochCost, fit};
use ipcost_lab::progress::Phase;
use ipcost_lab::{Contrasts, NO_TIME, PlanSettings, Question, plan, run};
use ipcost_model::{
    ContrastRecord, Document, LatencyMode, Metric, Multiplicity, Offers, Stopped, TransportState, Verdict,
    expand, parse_job,
};
use ipcost_stats::{Random, Variances};

use crate::script::*;

#[test]
fn a_clear_difference_stops_soon_after_the_first_finite_interval() {
    let mut script = noisy(&[5_000.0, 10_000.0], 0.02);
    let document = report(campaign(PAIR, &mut script));
    assert_eq!(document.stopped, Stopped::Resolved);
    assert_eq!(document.analysis.epochs_needed, 9);
    assert!((9..25).contains(&document.schedule.epochs), "{}", document.schedule.epochs);
    let contrast = &document.contrasts[0];
    assert_eq!(contrast.verdict, Verdict::Different);
    assert!((contrast.ratio - 0.5).abs() < 0.02, "{}", contrast.ratio);
    let fastest = document.workloads[0].fastest.as_ref().unwrap();
    assert!(fastest.claimed && fastest.cell.contains("one"), "{fastest:?}");
    assert!(document.warnings.is_empty(), "{:?}", document.warnings);
}

#[test]
fn what_peers_measure_by_name_has_medians_of_its_own() {
    let mut script = noisy(&[5_000.0, 10_000.0], 0.02);
    script.measures = |cell, epoch, ops| match cell {
        // Per operation: 3; per call already: the epoch's number. What not every epoch has is left out.
        0 if epoch == 2 => {
            [("calls".to_owned(), 3.0 * ops as f64), ("us_per_call".to_owned(), 2.0), ("odd".to_owned(), 1.0)]
                .into()
        }
        0 => [("calls".to_owned(), 3.0 * ops as f64), ("us_per_call".to_owned(), f64::from(epoch))].into(),
        _ => BTreeMap::new(),
    };
    let document = report(campaign(&format!("epochs = 5\n{PAIR}"), &mut script));
    let expected = BTreeMap::from([("calls".to_owned(), 3.0), ("us_per_call".to_owned(), 3.0)]);
    assert_eq!(document.cells[0].measures, expected);
    assert!(document.cells[1].measures.is_empty());
    let written = serde_json::to_value(&document).unwrap();
    assert!(written["cells"][1].get("measures").is_none(), "absent where nothing was measured");
}

#[test]
fn equal_cells_become_equivalent_and_none_is_called_the_cheapest() {
    let mut script = noisy(&[10_000.0, 10_000.0], 0.02);
    let document = report(campaign(PAIR, &mut script));
    assert_eq!(document.contrasts[0].verdict, Verdict::Equivalent);
    assert_eq!(document.stopped, Stopped::Resolved);
    let fastest = document.workloads[0].fastest.as_ref().unwrap();
    assert!(!fastest.claimed && fastest.open.is_empty(), "{fastest:?}");
    assert_eq!(fastest.equals, std::slice::from_ref(&fastest.runner_up));
}

/// One is soon known to be the cheapest; whether two or three is cheaper stays open.
fn one_question_that_stays_open() -> Script {
    let mut random = Random::new(4);
    Script::new(move |cell, _| {
        let (cost, spread) = [(5_000.0, 0.02), (10_000.0, 0.02), (10_300.0, 0.3)][cell];
        cost * (spread * random.normal()).exp()
    })
}

const TRIO: &str =
    "baseline = \"two\"\nseed = 9\nbudget = \"8s\"\n[[cells]]\ntransport = [\"one\", \"two\", \"three\"]\n";

#[test]
fn the_cells_of_answered_questions_leave() {
    let document = report(campaign(TRIO, &mut one_question_that_stays_open()));
    let epochs: Vec<u32> = document.cells.iter().map(|cell| cell.epochs).collect();
    let all = document.schedule.epochs;
    assert!(epochs[0] < all && epochs[1..] == [all, all], "{epochs:?} of {all}");
    assert!(epochs[0] >= document.analysis.epochs_needed, "{epochs:?}");
    let told = |id: &str| document.contrasts.iter().find(|contrast| contrast.a.contains(id)).unwrap();
    assert_eq!((told("one").epochs, told("one").verdict), (epochs[0], Verdict::Different));
    assert_eq!(told("three").epochs, all);
    let fastest = document.workloads[0].fastest.as_ref().unwrap();
    assert!(fastest.claimed && fastest.cell.contains("one"), "{fastest:?}");
    // Every round has the remaining cells, each once.
    let last: Vec<u32> =
        document.samples.iter().filter(|sample| sample.epoch == all).map(|s| s.cell).collect();
    assert!(
        last.iter().all(|cell| *cell > 0) && last.len() as u32 == 2 * document.schedule.rounds,
        "{last:?}"
    );
}

#[test]
fn they_stay_where_that_is_asked_for() {
    let job = format!("keep_all = true\n{TRIO}");
    let document = report(campaign(&job, &mut one_question_that_stays_open()));
    assert!(document.cells.iter().all(|cell| cell.epochs == document.schedule.epochs));
}

#[test]
fn noise_beyond_the_margin_spends_the_budget_and_says_what_is_open() {
    let mut script = noisy(&[10_000.0, 10_100.0], 0.4);
    let document = report(campaign(&format!("budget = \"5s\"\n{PAIR}"), &mut script));
    assert_eq!(document.stopped, Stopped::Budget);
    assert!((4.0..5.01).contains(&document.elapsed_s), "{}", document.elapsed_s);
    assert_eq!(document.warnings[0].code, "unresolved");
}

/// Many sizes over two transports: a table each.
const GRID: &str =
    "baseline = \"two\"\nseed = 3\nepochs = 40\n[[cells]]\ntransport = [\"one\", \"two\"]\nsize = [1";

#[test]
fn a_grid_is_explored_with_e_values() {
    let sizes: String = (2..=70).map(|size| format!(", {size}")).collect();
    // Of seventy sizes, every second one costs 30 % less over one transport.
    let mut random = Random::new(8);
    let mut script = Script::new(move |cell, _| {
        let cheaper = cell % 2 == 0 && cell / 2 % 2 == 0;
        (if cheaper { 7_000.0 } else { 10_000.0 }) * (0.1 * random.normal()).exp()
    });
    let document = report(campaign(&format!("{GRID}{sizes}]\n"), &mut script));
    assert_eq!(document.analysis.multiplicity, Multiplicity::Explored);
    let discoveries = document.analysis.discoveries.unwrap();
    assert!((32..=36).contains(&discoveries), "{discoveries}");
    let level = 0.05 * f64::from(discoveries) / 70.0;
    assert!((document.analysis.alpha_each - level).abs() < 1e-12, "{}", document.analysis.alpha_each);
    let told = document.contrasts.iter().filter(|contrast| contrast.metric == Metric::Wall);
    let told = told.filter(|c| matches!(c.verdict, Verdict::Different | Verdict::Direction)).count();
    assert_eq!(told, discoveries as usize);
}

#[test]
fn of_the_tables_of_a_grid_whose_cheapest_is_named_few_are_wrong() {
    let sizes: String = (2..=30).map(|size| format!(", {size}")).collect();
    let job = |seed: u64| {
        let transports = "[\"one\", \"two\", \"three\"]";
        format!(
            "baseline = \"two\"\nseed = {seed}\nepochs = 24\n[[cells]]\ntransport = {transports}\nsize = [1{sizes}]\n"
        )
    };
    // In every second table the third cell costs 30 % less; in the others all cost the same.
    let (mut told, mut wrong) = (0, 0);
    for seed in 1..=10 {
        let mut random = Random::new(seed);
        let mut script = Script::new(move |cell, _| {
            let cheaper = cell % 3 == 2 && cell / 3 % 2 == 0;
            (if cheaper { 7_000.0 } else { 10_000.0 }) * (0.05 * random.normal()).exp()
        });
        let document = report(campaign(&job(seed), &mut script));
        assert_eq!(document.analysis.multiplicity, Multiplicity::Explored);
        for (index, table) in document.workloads.iter().enumerate() {
            let fastest = table.fastest.as_ref().unwrap();
            if fastest.claimed {
                told += 1;
                wrong += u32::from(index % 2 == 1 || fastest.cell != table.cells[2]);
            }
        }
    }
    assert!(told >= 140 && wrong <= told / 20, "{wrong} of {told} are wrong, of 150 that can be told");
}

#[test]
fn a_table_calls_none_open_of_which_its_verdicts_say_that_another_costs_less() {
    let mut random = Random::new(4);
    let mut script =
        Script::new(move |cell, _| [3_500.0, 10_000.0, 6_500.0][cell % 3] * (0.02 * random.normal()).exp());
    let sizes: String = (2..=30).map(|size| format!(", {size}")).collect();
    let mut open = 0;
    for epochs in 9..=16 {
        let job = format!(
            "baseline = \"two\"\nseed = 3\nepochs = {epochs}\n[[cells]]\ntransport = [\"one\", \"two\", \"three\"]\nsize = [1{sizes}]\n"
        );
        let document = report(campaign(&job, &mut script));
        assert_eq!(document.analysis.multiplicity, Multiplicity::Explored);
        for table in &document.workloads {
            let bounds = |id: &String| {
                let is_it = |contrast: &&ContrastRecord| contrast.metric == Metric::Wall && contrast.a == *id;
                let found = document.contrasts.iter().find(is_it);
                found.map_or(Some((1.0, 1.0)), |found| found.lo.zip(found.hi))
            };
            let fastest = table.fastest.as_ref().unwrap();
            let least = table.cells.iter().filter_map(bounds).map(|(_, hi)| hi).fold(f64::MAX, f64::min);
            let known = |id: &&String| bounds(id).is_some_and(|(lo, _)| lo > least);
            assert!(fastest.open.iter().find(known).is_none(), "{epochs}: {:?}", fastest.open);
            assert_eq!(fastest.claimed, fastest.open.is_empty() && fastest.equals.is_empty());
            open += fastest.open.len();
        }
    }
    assert!(open > 0, "after the first of them nothing is known yet");
}

/// Two that differ by the margin, so that no budget decides it, next to two that differ and two that nearly do.
#[test]
fn what_would_take_ten_times_the_run_leaves_and_a_longer_run_is_told() {
    let job = "budget = \"3s\"\nbaseline = \"two\"\nlatency = \"off\"\n[[cells]]\ntransport = [\"one\", \"two\", \"three\"]\n";
    let mut random = Random::new(5);
    let mut script = Script::new(move |cell, _| {
        [10_500.0, 10_000.0, 10_800.0][cell] * ([0.4, 0.02, 0.06][cell] * random.normal()).exp()
    });
    let outcome = campaign(job, &mut script);
    let epochs = outcome.epochs;
    let document = report(outcome);
    assert_eq!(document.stopped, Stopped::Budget);
    assert!(document.contrasts[0].epochs < epochs, "it left: {} of {epochs}", document.contrasts[0].epochs);
    let longer = document.analysis.longer.unwrap();
    assert!(longer.open >= 1 && longer.answers <= longer.open, "{longer:?}");
    assert!(longer.budget_s.is_none_or(|seconds| seconds > 3.0), "{longer:?}");
}

#[test]
fn exactly_as_many_epochs_as_asked_for() {
    let mut script = noisy(&[5_000.0, 10_000.0], 0.02);
    let document = report(campaign(&format!("epochs = 3\n{PAIR}"), &mut script));
    assert_eq!((document.schedule.epochs, document.stopped), (3, Stopped::Budget));
    assert_eq!(document.contrasts[0].lo, None);
    assert_eq!(document.warnings[0].code, "no-intervals");
}

#[test]
fn every_round_has_every_cell_once_in_a_fresh_order_that_the_seed_gives() {
    let job = "epochs = 30\nseed = 9\n[[cells]]\ntransport = [\"one\", \"two\", \"three\"]\n";
    let orders = |seed: &str| {
        let mut script = noisy(&[1e4, 1e4, 1e4], 0.1);
        let outcome = campaign(&job.replace("seed = 9", seed), &mut script);
        let rounds = outcome.plan.rounds;
        assert_eq!(outcome.samples.len() as u32, 3 * 30 * rounds);
        let mut orders: BTreeMap<(u32, u32), Vec<(u32, u32)>> = BTreeMap::new();
        for sample in &outcome.samples {
            orders.entry((sample.epoch, sample.round)).or_default().push((sample.position, sample.cell));
        }
        orders
            .into_values()
            .map(|order| order.into_iter().map(|(_, cell)| cell).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let first = orders("seed = 9");
    for order in &first {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2]);
    }
    let mut different = first.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), 6, "all six orders come up in 30 rounds");
    assert_eq!(first, orders("seed = 9"));
    assert_ne!(first, orders("seed = 10"));
}

#[test]
fn cells_that_are_compared_are_measured_in_close_succession() {
    let job = "epochs = 40\nseed = 9\n[[cells]]\npattern = [\"rr\", \"stream\"]\ntransport = [\"one\", \"two\", \"three\"]\n";
    let outcome = campaign(job, &mut noisy(&[1e4; 6], 0.1));
    let tables: Vec<Vec<u32>> = (outcome.plan.workloads.iter())
        .map(|table| table.cells.iter().map(|cell| *cell as u32).collect())
        .collect();
    assert_eq!(tables.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
    let mut firsts = BTreeMap::new();
    for round in outcome.samples.chunks(6) {
        let order: Vec<u32> = round.iter().map(|sample| sample.cell).collect();
        *firsts.entry(order[0]).or_insert(0) += 1;
        for half in order.chunks(3) {
            assert!(tables.iter().any(|table| half.iter().all(|cell| table.contains(cell))), "{order:?}");
        }
    }
    assert_eq!(firsts.len(), 6, "any cell may come first: {firsts:?}");
}

#[test]
fn what_nagle_holds_back_is_pushed_and_seen_in_a_few_epochs() {
    let job = "epochs = 8\nseed = 9\n[[cells]]\npattern = \"stream\"\ntransport = [\"tcp\", \"one\"]\n";
    let mut script = noisy(&[1_000.0, 1_000.0], 0.0);
    script.held_ns = Some(40_000_000);
    let outcome = campaign(job, &mut script);
    let of_tcp: Vec<_> = outcome.samples.iter().filter(|sample| sample.cell == 0).collect();
    // Longer bursts, since its connection learns; no part of their time is a wait.
    assert!(of_tcp.iter().all(|sample| (sample.ops, sample.wall_ns) == (40_000, 40_000_000)), "{of_tcp:?}");
    let waits: Vec<_> = of_tcp.iter().map(|sample| sample.wait_ns).collect();
    assert_eq!(waits, [[Some(40_000_000); 4], [None; 4]].concat());
    let in_epoch = |epoch| script.pushed.iter().filter(move |batch| batch.0 == epoch && batch.1 == 0);
    assert_eq!(in_epoch(1).map(|batch| batch.2).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(in_epoch(5).map(|batch| batch.2).collect::<Vec<_>>(), [true, true]);
    assert_eq!(report(outcome).cells[0].wait_ns, Some(40e6));
}

#[test]
fn operation_counts_are_frozen_and_lead_ins_come_before_every_batch() {
    // A cell that becomes slower keeps its count: the batch grows longer.
    let mut script = Script::new(|cell, epoch| if cell == 0 && epoch > 2 { 20_000.0 } else { 5_000.0 });
    let outcome = campaign(&format!("epochs = 5\n{PAIR}"), &mut script);
    for cell in 0..2 {
        let counts: Vec<u64> = outcome.samples.iter().filter(|s| s.cell == cell).map(|s| s.ops).collect();
        assert!(counts.iter().all(|ops| *ops == counts[0]), "{counts:?}");
        assert_eq!(counts[0], 4_000, "20 ms of 5 µs");
    }
    let measured: Vec<_> = script.log.iter().filter(|(epoch, _, _)| *epoch > 0).collect();
    for turn in measured.chunks(3) {
        assert!(turn.iter().all(|batch| batch.1 == turn[0].1), "lead-in, batch and tail are of one cell");
        assert_eq!((turn[0].2, turn[1].2, turn[2].2), (1_000, 4_000, 1_000));
    }
    assert_eq!(script.verified.len(), 2 * 6, "each cell once an epoch, calibration included");
}

#[test]
fn a_cell_without_a_lead_in_is_measured_before_anything_else_is_asked_of_its_processes() {
    let cells = "[[cells]]\nlead_in = \"0s\"\npattern = \"rr\"\ntransport = [\"one\", \"two\"]\n";
    let mut script = Script::new(|_, _| 5_000.0);
    let outcome = campaign(&format!("epochs = 5\n{cells}"), &mut script);
    let measured: Vec<_> = script.log.iter().filter(|(epoch, _, _)| *epoch > 0).collect();
    assert_eq!(measured.len(), 2 * 5, "one batch an epoch for each of the two: {measured:?}");
    assert!(outcome.samples.iter().all(|sample| sample.round == 1 && sample.ops == 4_000));
    assert_eq!(script.verified.len(), 2 * 6, "and verified in every epoch all the same");
    let too_long = cells.replace("0s", "2min");
    assert!(std::panic::catch_unwind(|| planned(&too_long)).is_err());
}

#[test]
fn cells_may_have_batches_of_their_own_length() {
    let longer = PAIR.replacen("[[cells]]\n", "[[cells]]\nbatch = \"100ms\"\n", 1);
    let mut script = Script::new(|_, _| 5_000.0);
    let outcome = campaign(&format!("epochs = 5\nlatency = \"off\"\n{longer}"), &mut script);
    assert!(outcome.samples.iter().all(|sample| sample.ops == 20_000), "100 ms of 5 µs");
    let too_long = longer.replace("100ms", "20s");
    assert!(std::panic::catch_unwind(|| planned(&too_long)).is_err(), "a peer would be killed");
}

#[test]
fn long_operations_are_verified_for_a_tenth_of_a_second_and_short_ones_all() {
    let asked = |each: Duration| {
        let mut script = Script { verified_each: each, ..Script::new(|_, _| 5_000.0) };
        campaign("epochs = 1\n[[cells]]\npattern = \"rr\"\ntransport = [\"one\"]\n", &mut script);
        script.verifications
    };
    // Twice: calibration included.
    assert_eq!(asked(Duration::from_micros(20)), [1, 99, 1, 99]);
    assert_eq!(asked(Duration::from_millis(42)), [1, 2, 1, 2]);
    assert_eq!(asked(Duration::from_secs(1)), [1, 1], "one at least");
}

#[test]
fn latency_comes_from_a_tail_unless_asked_otherwise() {
    for (setting, expected) in [("tail", 10 * 5), ("lead-in", 10 * 5), ("inline", 10 * 5), ("off", 0)] {
        let mut script = noisy(&[5_000.0, 5_000.0], 0.0);
        let document = report(campaign(&format!("epochs = 5\nlatency = \"{setting}\"\n{PAIR}"), &mut script));
        let count = document.cells[0].latency_ns.map_or(0, |latency| latency.count);
        assert_eq!(count, expected, "{setting}");
        assert_eq!(document.schedule.latency.name(), setting);
        let warned = document.warnings.iter().any(|warning| warning.code == "inline-latency");
        assert_eq!(warned, document.schedule.latency == LatencyMode::Inline);
    }
}

#[test]
fn cells_are_given_up_where_all_would_have_no_interval() {
    const TRIO: &str = "budget = \"6s\"\nseed = 5\nlatency = \"off\"\n[[cells]]\ntransport = [\"one\", \"two\", \"three\"]\n";
    let measured = |start: u64, question: &dyn Question| {
        let mut script = noisy(&[10_000.0, 15_000.0, 20_000.0], 0.02);
        script.start = Duration::from_millis(start);
        report(run(planned(TRIO), question, &mut script, &mut Known::default(), &mut Witness::default()))
    };
    let reasons = |document: &Document| -> Vec<Option<String>> {
        document.cells.iter().map(|cell| cell.reason.clone()).collect()
    };
    // Processes take far longer to start than was planned for.
    let document = measured(150, &LastIsSpared);
    assert_eq!(reasons(&document), [None, None, Some(NO_TIME.to_owned())]);
    assert_eq!(document.cells[2].epochs, 0);
    assert_eq!(document.contrasts[0].verdict, Verdict::Different, "{:?}", document.contrasts);
    assert_eq!(reasons(&measured(4, &LastIsSpared)), [None, None, None], "there is time for all");
    assert_eq!(reasons(&measured(150, &Contrasts)), [None, None, None], "nobody says what to give up");
}

#[test]
fn what_was_complete_before_an_end_is_kept() {
    for (interrupted, stopped) in [(true, Stopped::Interrupted), (false, Stopped::Failed)] {
        let mut script = noisy(&[5_000.0, 10_000.0], 0.02);
        script.fail_in_epoch = Some((4, interrupted));
        let outcome = campaign(PAIR, &mut script);
        assert_eq!(outcome.failure.is_some(), !interrupted);
        let document = report(outcome);
        assert_eq!((document.stopped, document.schedule.epochs), (stopped, 3));
        assert!(document.samples.iter().all(|sample| sample.epoch <= 3));
    }
}

#[test]
fn two_modes_are_shown_and_not_averaged_away() {
    let mut script = Script::new(|cell, epoch| match cell {
        0 if epoch % 4 == 0 => 7_000.0 + f64::from(epoch),
        0 => 16_000.0 + f64::from(epoch),
        _ => 20_000.0,
    });
    let document = report(campaign(&format!("epochs = 24\n{PAIR}"), &mut script));
    let modes = &document.cells[0].modes;
    assert_eq!(modes.len(), 2);
    assert_eq!((modes[0].epochs, modes[1].epochs), (6, 18));
    assert!((modes[0].wall_ns_per_op - 7_000.0).abs() < 50.0);
    assert!(document.cells[1].modes.is_empty());
    assert!(document.warnings.iter().any(|warning| warning.code == "two-modes"), "{:?}", document.warnings);
}

#[test]
fn what_cannot_be_measured_is_in_the_document_with_its_reason() {
    let mut script = noisy(&[5_000.0, 10_000.0, 1.0], 0.02);
    let document = report(campaign("[[cells]]\ntransport = [\"one\", \"two\", \"gone\"]\n", &mut script));
    let gone = document.cells.iter().find(|cell| cell.transport == "gone").unwrap();
    assert!(!gone.available && gone.wall_ns_per_op.is_none());
    assert_eq!(gone.reason.as_deref(), Some("not on this machine"));
    assert!(document.samples.iter().all(|sample| sample.cell != 2));
}

#[test]
fn progress_never_goes_back_and_tells_the_time_left() {
    let mut script = noisy(&[10_000.0, 10_100.0], 0.4);
    let mut witness = Witness::default();
    run(
        planned(&format!("budget = \"5s\"\n{PAIR}")),
        &Contrasts,
        &mut script,
        &mut Known::default(),
        &mut witness,
    );
    let progress = witness.0;
    assert!(progress.len() > 20);
    assert!(progress.windows(2).all(|pair| pair[0].done <= pair[1].done + 1e-9));
    assert!(progress.iter().all(|now| now.left <= Duration::from_secs(5)));
    assert!(matches!(progress.last().unwrap().phase, Phase::Measuring { questions: 2, .. }));
}

#[test]
fn a_budget_that_cannot_reach_an_interval_names_one_that_can() {
    let transports = [
        TransportState { capabilities: &NULL, unavailable: None },
        TransportState { capabilities: &TWO, unavailable: None },
    ];
    let offers = Offers {
        transports: &transports,
        placements_unavailable: &[],
        peers: &[],
        lacks: Offers::LACKS_NOTHING,
    };
    let planned = |budget: &str| {
        let job = parse_job(&format!("budget = \"{budget}\"\n{PAIR}")).unwrap();
        plan(expand(&job, &offers).unwrap(), &PlanSettings::of(&job, 1))
    };
    let error = planned("200ms").unwrap_err().to_string();
    assert!(error.contains("cannot reach an interval") && !error.contains('\n'), "{error}");
    let enough = error.split("--budget ").nth(1).unwrap().split(',').next().unwrap();
    assert!(planned(enough).is_ok(), "{enough}");
}

#[test]
fn cells_that_run_slower_at_times_get_shorter_batches_rather_than_no_interval() {
    let fitted = |stretch: f64| {
        let mut plan = planned(&format!("budget = \"3s\"\n{PAIR}"));
        let pace =
            EpochCost { overhead: Duration::from_millis(5), stretch: Some(stretch), extra: Duration::ZERO };
        assert!(fit(&mut plan, Duration::from_secs(3), pace, &Variances::UNKNOWN), "{stretch}");
        assert!(plan.epochs_expected >= plan.epochs_needed);
        plan.batch.as_millis()
    };
    assert_eq!([1.0, 6.0, 12.0].map(fitted), [20, 10, 5]);
}

#[test]
fn slow_peers_get_more_rounds_an_epoch() {
    let mut script = Script::new(|_, _| 10_000.0);
    let quick = campaign(&format!("epochs = 2\nbudget = \"60s\"\n{PAIR}"), &mut script).plan.rounds;
    let mut slow = planned(&format!("epochs = 2\nbudget = \"60s\"\n{PAIR}"));
    let overhead = Duration::from_millis(400);
    let pace = EpochCost { overhead, stretch: Some(1.0), extra: Duration::ZERO };
    fit(&mut slow, Duration::from_secs(60), pace, &Variances::UNKNOWN);
    assert_eq!(
        (quick, slow.rounds, slow.batch),
        (1, 2, Duration::from_secs_f64(0.0045f64.sqrt() * 1.341_640_786 / 2.0))
    );
}

#[test]
fn a_row_that_would_hold_too_many_ports_stops() {
    let job = "epochs = 20\n[[cells]]\npattern = \"connect\"\ntransport = [\"tcp\"]\n";
    let ends = |ports| {
        let mut plan = planned(job);
        plan.ports_to = Some(([10, 0, 0, 1], 6379).into());
        let mut script = noisy(&[10_000.0], 0.02);
        let mut known = Known { ports, ..Known::default() };
        let outcome = run(plan, &Contrasts, &mut script, &mut known, &mut Witness::default());
        let document = report(outcome);
        let epochs = document.cells[0].epochs;
        let most = script.log.iter().filter(|(epoch, ..)| *epoch > 0).map(|(.., ops)| *ops).max();
        let told = document.warnings.iter().find(|found| found.code == "ports-held");
        (epochs, most.unwrap_or(0), told.map(|found| found.message.clone()))
    };
    // 28 000 ports, of which others take some: nothing is held back as long as a quarter is free.
    let (epochs, few, told) = ends(Some([0, 50, 28_000]));
    assert_eq!((epochs, told), (20, None));
    // All epochs that an interval takes are to find ports, so each opens few.
    let (_, many, _) = ends(None);
    assert!(few * 11 <= 7_000 && few < many, "{few} {many}");
    let (epochs, _, told) = ends(Some([1_000, 1_000, 28_000]));
    assert!((1..20).contains(&epochs), "{epochs}");
    let told = told.unwrap();
    assert!(
        told.contains("connect/tcp/64/c1") && told.contains("of 28000 local ports to 10.0.0.1:6379"),
        "{told}"
    );
}

#[test]
fn rows_that_share_few_ports_hold_no_more_together_and_their_workers_share_equally() {
    const QUARTER: u64 = 1_000;
    let job = "epochs = 20\n[[cells]]\npattern = \"connect\"\ntransport = [\"tcp\"]\nconcurrency = [1, 3]\n";
    for left in 0..=400 {
        let mut plan = planned(job);
        plan.ports_to = Some(([10, 0, 0, 1], 6379).into());
        let mut script = noisy(&[10_000.0, 10_000.0], 0.02);
        let ports = Some([QUARTER - left, 0, 4 * QUARTER]);
        let mut known = Known { ports, ..Known::default() };
        run(plan, &Contrasts, &mut script, &mut known, &mut Witness::default());
        let mut opened = BTreeMap::<u32, u64>::new();
        for (epoch, cell, ops) in script.log.iter().filter(|(epoch, ..)| *epoch > 0) {
            *opened.entry(*epoch).or_default() += ops;
            assert!(*cell == 0 || ops.is_multiple_of(3), "{ops} of three workers");
        }
        assert!(opened.values().all(|opened| *opened <= left), "{left}: {opened:?}");
        // An epoch verifies 64 connections and more of each.
        assert!(left < 200 || !opened.is_empty(), "{left}");
    }
}

#[test]
fn a_batch_with_pauses_has_a_hundred_operations_or_as_many_as_there_is_time_for() {
    let planned = |think: &str, budget: &str| {
        planned(&format!(
            "budget = \"{budget}\"\n[[cells]]\ntransport = [\"one\", \"two\"]\noptions = {{ think = \"{think}\" }}\n"
        ))
    };
    let plan = planned("10ms", "45s");
    assert_eq!((plan.pauses, plan.notes.len()), (100, 0));
    let plan = planned("100ms", "45s");
    assert!(plan.pauses < 100, "{}", plan.pauses);
    assert!(plan.notes.iter().any(|note| note.contains("100 would say more")), "{:?}", plan.notes);
    // Each is measured at its pace, after some that are not counted.
    let mut script = noisy(&[5_000.0, 10_000.0], 0.02);
    let job = "epochs = 2\n[[cells]]\ntransport = [\"one\", \"two\"]\noptions = { think = \"10ms\" }\n";
    let document = report(campaign(job, &mut script));
    let of_cell = script.log.iter().filter(|(epoch, cell, _)| (*epoch, *cell) == (1, 0));
    let ops: Vec<u64> = of_cell.map(|(.., ops)| *ops).collect();
    assert_eq!(ops[..2], [10, 100], "{ops:?}");
    let latencies = document.cells[0].latency_ns.unwrap().count;
    assert_eq!(latencies, 2 * u64::from(document.schedule.rounds) * 10, "of timed batches alone");
}
