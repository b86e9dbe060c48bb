//! Claims on a script instead of a machine: known costs confirm and refute them, and what is open stays open.

use ipcost_features::check::fleet::{Choosing, askable};
use ipcost_features::check::{
    Baselines, CheckedClaim, CheckedTest, Level, Questions, decide, differences, parse_claims, prepare,
    together,
};
use ipcost_features::compare::SpreadSource;
use ipcost_lab::{CampaignState, PlanSettings, plan, run};
use ipcost_model::ClaimVerdict;
use ipcost_model::{Document, Host, Offers, Stopped, Tool, TransportState, expand};
use ipcost_stats::Random;

use crate::script::*;

const CELLS: &str = "seed = 3\n[[cells]]\ntransport = [\"one\", \"two\"]\nsize = [64, 128]\n";

/// Questions and the plan that is to answer them; or what is wrong with the file.
fn asked(file: &str, baselines: &Baselines) -> Result<(Questions, ipcost_model::Plan), String> {
    let file = parse_claims(file).map_err(|error| error.to_string())?;
    let gone = TransportState { capabilities: &GONE, unavailable: Some("not on this machine".into()) };
    let state = |capabilities| TransportState { capabilities, unavailable: None };
    let transports = [state(&NULL), state(&TWO), gone];
    let offers = Offers {
        transports: &transports,
        placements_unavailable: &[],
        peers: &[],
        lacks: Offers::LACKS_NOTHING,
    };
    let expanded = expand(&file.job, &offers).map_err(|error| error.to_string())?;
    let settings = PlanSettings::of(&file.job, 1);
    let questions =
        prepare(&file, &expanded.cells, settings.latency, baselines).map_err(|error| error.to_string())?;
    let settings = PlanSettings { level: Some(questions.level_of_run()), ..settings };
    Ok((questions, plan(expanded, &settings).map_err(|error| error.to_string())?))
}

fn checked_against(
    file: &str,
    baselines: &Baselines,
    mut script: Script,
) -> (Vec<CheckedClaim>, CampaignState) {
    let (questions, plan) = asked(file, baselines).unwrap();
    let outcome = run(plan, &questions, &mut script, &mut Known::default(), &mut Witness::default());
    (decide(&questions, &(&outcome).into()), outcome)
}

fn checked(claims: &str, script: Script) -> (Vec<CheckedClaim>, CampaignState) {
    checked_against(&format!("{CELLS}{claims}"), &Baselines::default(), script)
}

fn claim(body: &str) -> String {
    format!("[[claims]]\n{body}\n")
}

fn words(claims: &[CheckedClaim]) -> Vec<ClaimVerdict> {
    claims.iter().map(|claim| claim.word).collect()
}

fn only(claim: &CheckedClaim) -> &CheckedTest {
    assert_eq!(claim.tests.len(), 1);
    &claim.tests[0]
}

/// Costs of rr/one/64, rr/two/64, rr/one/128, rr/two/128, nanoseconds, with a little noise.
fn known() -> Script {
    noisy(&[5_000.0, 10_000.0, 8_000.0, 20_000.0], 0.02)
}

const YES: ClaimVerdict = ClaimVerdict::Holds;
const NO: ClaimVerdict = ClaimVerdict::Fails;
const OPEN: ClaimVerdict = ClaimVerdict::Open;

#[test]
fn known_costs_confirm_and_refute_and_the_run_ends_once_all_is_decided() {
    let one_over_two = "cell = \"rr/one/64/c1\"\nagainst = \"rr/two/64/c1\"\n";
    let alone = "cell = { transport = \"one\", size = 64 }\n";
    let claims: String = [
        claim(&format!("{one_over_two}at_most = 0.6")),
        claim(&format!("{one_over_two}at_most = 0.4")),
        claim(&format!("{one_over_two}at_least = 0.4\nat_most = 0.6")),
        claim(&format!("{one_over_two}metric = \"cpu\"\nat_least = 0.7")),
        claim(&format!("{one_over_two}metric = \"ops_per_s\"\nat_least = 1.9")),
        claim(&format!("{one_over_two}metric = \"p99\"\nat_most = 0.6")),
        claim(&format!("{alone}at_most = \"5.5us\"")),
        claim(&format!("{alone}at_least = \"6us\"")),
        claim(&format!("{alone}metric = \"ops_per_s\"\nat_least = \"190k/s\"")),
        claim(&format!("{alone}metric = \"ops_per_s\"\nat_most = 150_000")),
        claim(&format!("{alone}metric = \"bytes_per_s\"\nat_least = \"24MB/s\"")),
        claim(&format!("{alone}metric = \"bytes_per_s\"\nat_least = \"27MB/s\"")),
    ]
    .concat();
    let (claims, outcome) = checked(&claims, known_with_many_latencies());
    assert_eq!(words(&claims), [YES, NO, YES, NO, YES, YES, YES, NO, YES, NO, YES, NO], "{claims:#?}");
    assert_eq!((together(&claims), outcome.stopped), (NO, Stopped::Resolved));
    assert!(outcome.elapsed.as_secs_f64() < 15.0, "{:?}", outcome.elapsed);
    let ratio = only(&claims[0]);
    let (lo, value, hi) = (ratio.lo.unwrap(), ratio.value.unwrap(), ratio.hi.unwrap());
    assert!(lo <= value && value <= hi && (value - 0.5).abs() < 0.02, "{ratio:?}");
    let rate = only(&claims[8]);
    assert!((rate.value.unwrap() - 200_000.0).abs() < 5_000.0, "{rate:?}");
    assert!(rate.lo.unwrap() < rate.value.unwrap() && rate.value.unwrap() < rate.hi.unwrap(), "{rate:?}");
}

/// The same machine; its batches give as many latencies as percentiles take.
fn known_with_many_latencies() -> Script {
    Script { latencies: 1_200, ..known() }
}

#[test]
fn alpha_is_shared_over_claims() {
    let one = claim("cell = \"rr/one/64/c1\"\nat_most = \"1ms\"");
    let (few, plan_of_few) = asked(&format!("{CELLS}{one}"), &Baselines::default()).unwrap();
    let (many, plan_of_many) = asked(&format!("{CELLS}{}", one.repeat(20)), &Baselines::default()).unwrap();
    assert_eq!((few.intervals(), many.intervals()), (1, 20));
    assert!((few.level() - 0.05).abs() < 1e-12 && (many.level() - 0.0025).abs() < 1e-12);
    assert_eq!(plan_of_few.epochs_needed, 9);
    assert!(plan_of_many.epochs_needed > 12, "{}", plan_of_many.epochs_needed);
    // The document's own contrasts keep a level of their own.
    assert_eq!(plan_of_few.alpha_each, plan_of_many.alpha_each);
}

#[test]
fn claims_at_the_true_value_are_mostly_left_open_and_seldom_decided_wrongly() {
    let file = format!(
        "budget = \"4s\"\n{CELLS}{}{}",
        claim("cell = \"rr/one/64/c1\"\nagainst = \"rr/two/64/c1\"\nat_most = 0.5"),
        claim("cell = \"rr/one/64/c1\"\nat_least = \"5us\"")
    );
    let mut decided = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let costs = [5_000.0, 10_000.0, 8_000.0, 20_000.0];
        let script = Script::new(move |cell, _| costs[cell] * (0.1 * random.normal()).exp());
        let (claims, _) = checked_against(&file, &Baselines::default(), script);
        decided += u32::from(words(&claims) != [OPEN, OPEN]);
    }
    assert!(decided <= 4, "{decided} of 40, where 5 % are allowed");
}

#[test]
fn what_is_open_when_the_budget_ends_says_what_would_likely_decide_it() {
    let near = claim("cell = \"rr/one/64/c1\"\nagainst = \"rr/two/64/c1\"\nat_most = 0.65");
    let amid = claim("cell = \"rr/one/64/c1\"\nagainst = \"rr/two/64/c1\"\nat_most = 0.5");
    let (claims, outcome) = checked_against(
        &format!("budget = \"3s\"\n{CELLS}{near}{amid}"),
        &Baselines::default(),
        noisy(&[5_000.0, 10_000.0, 1_000.0, 1_000.0], 0.25),
    );
    assert_eq!((words(&claims), outcome.stopped), (vec![OPEN, OPEN], Stopped::Budget));
    let likely = only(&claims[0]).likely_budget_s.expect("a bound that is not far");
    assert!((3.0..200.0).contains(&likely), "{likely}");
    let (claims, outcome) = checked_against(
        &format!("budget = {likely}\n{CELLS}{near}{amid}"),
        &Baselines::default(),
        noisy(&[5_000.0, 10_000.0, 1_000.0, 1_000.0], 0.25),
    );
    assert_eq!(claims[0].word, YES, "{claims:#?} in {:?}", outcome.elapsed);
}

#[test]
fn percentiles_are_of_epochs_and_need_enough_operations() {
    let p99 = "cell = \"rr/one/64/c1\"\nmetric = \"p99\"\nat_most = \"6us\"";
    // Ten operations an epoch: their 99th percentile would be the largest.
    let (claims, outcome) = checked(&claim(p99), known());
    let reason = only(&claims[0]).reason.as_deref().unwrap();
    assert!(reason.contains("an epoch samples 10 operations") && reason.contains("takes 1000"), "{reason}");
    assert_eq!((claims[0].word, outcome.stopped, outcome.epochs), (OPEN, Stopped::Resolved, 1));

    let (claims, _) = checked(&claim(p99), known_with_many_latencies());
    assert_eq!(words(&claims), [YES]);
    // One slow epoch in a hundred is no matter of the median over epochs.
    let slow =
        Script { latencies: 1_200, ..Script::new(|_, epoch| if epoch == 7 { 90_000.0 } else { 5_000.0 }) };
    let (claims, _) = checked(&claim(p99), slow);
    assert_eq!(words(&claims), [YES]);
    assert!((only(&claims[0]).value.unwrap() - 5_000.0).abs() < 1e-6);
}

const PACED: &str =
    "seed = 3\n[[cells]]\ntransport = [\"one\", \"two\"]\noptions = { rate = [5000, 20000] }\n";

#[test]
fn percentiles_at_an_offered_rate_are_claimed_and_named_with_it() {
    let file = [
        PACED.to_owned(),
        claim(
            "cell = { transport = \"one\", options = { rate = 20000 } }\nmetric = \"p99\"\nat_most = \"200us\"",
        ),
        claim(
            "cell = { transport = \"one\", options = { rate = 5000 } }\nagainst = { transport = \"two\", options = { rate = 5000 } }\nmetric = \"p99\"\nat_most = 0.8",
        ),
        claim("cell = \"rr/one/64/c1/rate=20000\"\nmetric = \"p99.9\"\nat_most = \"4us\""),
    ]
    .concat();
    let (questions, _) = asked(&file, &Baselines::default()).unwrap();
    let listed: Vec<&str> = questions.list().map(|(text, _, _)| text).collect();
    assert_eq!(
        listed,
        [
            "p99 of rr/one/64/c1 at 20k/s: at most 200us",
            "p99 of rr/one/64/c1 at 5000/s: at most 0.8 × rr/two/64/c1 at 5000/s",
            "p99.9 of rr/one/64/c1 at 20k/s: at most 4us",
        ]
    );
    let script = || noisy(&[5_000.0, 5_000.0, 10_000.0, 10_000.0], 0.02);
    let (claims, _) = checked_against(&file, &Baselines::default(), Script { latencies: 12_000, ..script() });
    assert_eq!(words(&claims), [YES, YES, NO], "{claims:#?}");
    let against = only(&claims[1]);
    assert_eq!(against.against.as_deref(), Some("rr/two/64/c1/rate=5000"));
    assert!((against.value.unwrap() - 0.5).abs() < 0.02, "{against:?}");

    // Too few operations for the highest of them, in one line with what would do.
    let (claims, outcome) =
        checked_against(&file, &Baselines::default(), Script { latencies: 1_500, ..script() });
    assert_eq!((words(&claims), outcome.stopped), (vec![YES, YES, OPEN], Stopped::Resolved));
    let reason = only(&claims[2]).reason.as_deref().unwrap();
    let parts =
        ["of rr/one/64/c1/rate=20000, and p99.9 takes 10000; metric = \"p99\" would do", "batch = \""];
    assert!(parts.iter().all(|part| reason.contains(part)) && !reason.contains('\n'), "{reason}");
}

#[test]
fn a_closed_loop_is_not_compared_with_an_offered_rate() {
    let cells = "seed = 3\n[[cells]]\ntransport = \"one\"\n[[cells]]\ntransport = \"one\"\noptions = { rate = 5000 }\n";
    let of = |metric: &str| {
        let body = format!(
            "cell = {{ options = {{ rate = 5000 }} }}\nagainst = {{ plain = true }}\nmetric = \"{metric}\"\nat_most = 2"
        );
        asked(&format!("{cells}{}", claim(&body)), &Baselines::default()).map(|_| ())
    };
    let error = of("p99").unwrap_err();
    let says = "p99 of rr/one/64/c1/rate=5000 counts from when operations were due, and rr/one/64/c1 is a closed loop";
    assert!(error.contains(says) && !error.contains('\n'), "{error}");
    assert_eq!(of("wall"), Ok(()));
}

#[test]
fn percentiles_of_two_arms_are_paired() {
    const ARMS: &str = "seed = 3\n[ab.b]\nenv = { X = \"1\" }\n[[cells]]\ntransport = [\"one\", \"two\"]\n";
    let all = claim("arms = true\nmetric = \"p99\"\nslower_by_at_most = \"20%\"");
    let one = claim("cell = \"one\"\narms = true\nmetric = \"p90\"\nslower_by_at_most = \"20%\"");
    let costs = Script::new(|cell, _| if cell == 3 { 15_000.0 } else { 10_000.0 });
    let file = format!("{ARMS}{all}{one}");
    let (claims, _) = checked_against(&file, &Baselines::default(), Script { latencies: 1_200, ..costs });
    assert_eq!(words(&claims), [NO, YES], "{claims:#?}");
    assert!((only(&claims[1]).value.unwrap() - 1.0).abs() < 1e-6);
}

#[test]
fn percentiles_of_a_baseline_allow_for_the_spread_between_runs() {
    let before = campaign(&format!("epochs = 60\n{CELLS}"), &mut known_with_many_latencies());
    let document = report(before);
    assert_eq!(document.cells[0].latency_by_epoch.len(), 60);
    let before = baselines([("before.json", document)]);
    let of = |metric: &str, most: &str| {
        claim(&format!(
            "cell = \"rr/one/64/c1\"\nbaseline = \"before.json\"\nmetric = \"{metric}\"\nslower_by_at_most = \"{most}\""
        ))
    };
    let file = format!("budget = \"20s\"\n{CELLS}{}{}", of("p99", "200%"), of("p99", "5%"));
    let (claims, _) = checked_against(&file, &before, known_with_many_latencies());
    assert_eq!(words(&claims), [YES, OPEN], "{claims:#?}");
    let between = only(&claims[1]).between_runs.unwrap();
    assert_eq!((between.spread, between.source), (0.2, SpreadSource::Assumed));
    // Of 1200 operations there is no 99.9th.
    let error = asked(&format!("{CELLS}{}", of("p999", "50%")), &before).unwrap_err();
    assert!(error.contains("before.json does not have p99.9 of rr/one/64/c1 by epoch"), "{error}");
}

#[test]
fn percentiles_are_claimed_of_a_fleet() {
    let file = [
        CELLS.to_owned(),
        claim("cell = \"rr/one/64/c1\"\nagainst = \"rr/two/64/c1\"\nmetric = \"p99\"\nat_most = 0.7"),
        claim("cell = \"rr/one/64/c1\"\nmetric = \"p999\"\nat_most = \"1ms\""),
    ]
    .concat();
    let claims = parse_claims(&file).unwrap();
    assert_eq!(askable(&claims), Ok(()));
    let host = |name: &str| Host {
        more: [("name".to_owned(), name.into())].into_iter().collect(),
        ..Host::default()
    };
    let run = |name: &str| {
        report_from(host(name), campaign(&format!("epochs = 40\n{CELLS}"), &mut known_with_many_latencies()))
    };
    let documents = [run("web1"), run("web2")];
    let mut choosing = Choosing::default();
    for (place, document) in (1..).zip(&documents) {
        choosing.add(&claims, place, "a.json", document);
    }
    let mut deciding = choosing.decide(claims);
    (1..).zip(&documents).for_each(|(place, document)| deciding.add(place, document));
    let found = deciding.finish("claims.toml".to_owned(), Tool::of_version("0"));
    assert_eq!(words(&found.claims), [YES, OPEN], "{found:#?}");
    assert_eq!((found.hosts.len(), found.counts[0].holds), (2, 2));
    let reason = found.claims[1].tests[0].reason.as_deref().unwrap();
    assert!(reason.contains("p99.9 takes 10000") && reason.contains("inline"), "{reason}");
}

fn baselines<const RUNS: usize>(documents: [(&str, Document); RUNS]) -> Baselines {
    let documents = documents.into_iter().map(|(name, document)| (name.to_owned(), document)).collect();
    Baselines { documents, ..Baselines::default() }
}

fn recorded(costs: &'static [f64]) -> Baselines {
    let outcome = campaign(&format!("epochs = 60\n{CELLS}"), &mut noisy(costs, 0.02));
    baselines([("before.json", report(outcome))])
}

#[test]
fn a_baseline_tells_what_became_slower() {
    let all = claim("baseline = \"before.json\"\nslower_by_at_most = \"20%\"");
    let one = claim("cell = \"rr/two/128/c1\"\nbaseline = \"before.json\"\nslower_by_at_most = \"20%\"");
    let faster =
        claim("cell = \"rr/one/64/c1\"\nbaseline = \"before.json\"\nat_most = 0.8\nmetric = \"cpu\"");
    let baselines = recorded(&[10_000.0, 10_000.0, 8_000.0, 10_000.0]);
    let file = format!("{CELLS}{all}{one}{faster}");
    let (questions, _) = asked(&file, &baselines).unwrap();
    assert_eq!(questions.intervals(), 6, "four cells, and one each");
    let (claims, outcome) = checked_against(&file, &baselines, known());
    assert_eq!((words(&claims), outcome.stopped), (vec![NO, NO, YES], Stopped::Resolved), "{claims:#?}");
    let slower: Vec<_> =
        claims[0].tests.iter().filter(|test| test.word == NO).map(|test| &test.cell).collect();
    assert_eq!(slower, ["rr/two/128/c1"]);
    assert!((only(&claims[1]).value.unwrap() - 2.0).abs() < 0.1);
}

#[test]
fn several_baselines_tell_how_much_runs_differ() {
    let all = claim("baseline = \"before.json\"\nslower_by_at_most = \"5%\"");
    let costs = &[5_000.0, 10_000.0, 8_000.0, 20_000.0];
    let one = recorded(costs);
    // Equal builds: an assumed spread leaves so small a bound open, and says before the run what would decide it.
    let (questions, _) = asked(&format!("{CELLS}{all}"), &one).unwrap();
    let note = questions.notes.join("; ");
    assert!(
        note.contains("assumed to differ by 5 %")
            && note.contains("three baselines")
            && note.contains("arms"),
        "{note}"
    );
    let (claims, outcome) = checked_against(&format!("budget = \"20s\"\n{CELLS}{all}"), &one, known());
    assert_eq!((words(&claims), outcome.stopped), (vec![OPEN], Stopped::Budget), "{claims:#?}");
    let between = claims[0].tests[0].between_runs.unwrap();
    assert_eq!((between.spread, between.source), (0.05, SpreadSource::Assumed));

    let run = |seed: u32| {
        let job = format!("epochs = 60\nseed = {seed}\n{}", CELLS.replace("seed = 3\n", ""));
        report(campaign(&job, &mut noisy(costs, 0.004)))
    };
    let several = baselines([
        ("a.json", run(11)),
        ("b.json", run(12)),
        ("c.json", run(13)),
        ("d.json", run(14)),
        ("e.json", run(15)),
    ]);
    let names = "[\"a.json\", \"b.json\", \"c.json\", \"d.json\", \"e.json\"]";
    let all = claim(&format!("baseline = {names}\nslower_by_at_most = \"5%\""));
    let (claims, _) = checked_against(&format!("{CELLS}{all}"), &several, noisy(costs, 0.004));
    assert_eq!(words(&claims), [YES], "{claims:#?}");
    let test = &claims[0].tests[0];
    assert_eq!(test.between_runs.unwrap().source, SpreadSource::Measured);
    assert_eq!(test.baseline.as_deref(), Some("a.json, b.json, c.json, d.json, e.json"));
    let slower = noisy(&[5_000.0, 10_000.0, 8_000.0, 24_000.0], 0.004);
    let (claims, _) = checked_against(&format!("{CELLS}{all}"), &several, slower);
    assert_eq!(words(&claims), [NO], "{claims:#?}");
    let twice = claim("baseline = [\"a.json\", \"f.json\"]\nslower_by_at_most = \"5%\"");
    let same = baselines([("a.json", run(11)), ("f.json", run(11))]);
    let error = asked(&format!("{CELLS}{twice}"), &same).unwrap_err();
    assert!(error.contains("a.json and f.json are the same run"), "{error}");
}

#[test]
fn arms_tell_at_which_level_something_changed() {
    const ARMS: &str = "seed = 3\n[ab.b]\nenv = { X = \"1\" }\n[[cells]]\ntransport = [\"one\", \"two\"]\nsize = [64, 128, 256]\n";
    let all = claim("arms = true\nslower_by_at_most = \"20%\"");
    let one = claim("cell = \"rr/one/128/c1\"\narms = true\nslower_by_at_most = \"20%\"");
    let file = format!("{ARMS}{all}{one}");
    let (questions, _) = asked(&file, &Baselines::default()).unwrap();
    assert_eq!(
        questions.intervals(),
        6 + 1 + 1 + 1,
        "cells, a transport against the other, everything, and one cell"
    );
    // A before B, transport by transport in each size: only what goes over two is half as fast again in arm B.
    let costs = Script::new(|cell, _| if cell % 4 == 3 { 15_000.0 } else { 10_000.0 });
    let (claims, _) = checked_against(&file, &Baselines::default(), costs);
    assert_eq!(words(&claims), [NO, YES], "{claims:#?}");
    let first = &claims[0].tests[0];
    assert_eq!(
        (first.level, first.cell.as_str()),
        (Level::Group, "everything over two, relative to the rest"),
        "{first:?}"
    );
    let against = only(&claims[1]).against.as_deref();
    assert_eq!(against, Some("rr/one/128/c1/arm=a"));
}

#[test]
fn a_baseline_that_cannot_decide_says_so_before_and_ends_the_run() {
    let outcome = campaign(&format!("epochs = 9\n{CELLS}"), &mut known());
    let short = baselines([("short.json", report(outcome))]);
    let body = "cell = \"rr/one/64/c1\"\nbaseline = \"short.json\"\nslower_by_at_most = 0.05";
    let (claims, outcome) = checked_against(&format!("{CELLS}{}", claim(body)), &short, known());
    let reason = only(&claims[0]).reason.as_deref().unwrap();
    assert!(reason.contains("too few epochs") && reason.contains("(9)"), "{reason}");
    assert_eq!((claims[0].word, outcome.stopped, outcome.epochs), (OPEN, Stopped::Resolved, 1));
}

#[test]
fn machines_are_compared_by_what_bears_on_costs() {
    let document = &recorded(&[1_000.0, 1_000.0, 1_000.0, 1_000.0]).documents["before.json"];
    assert!(differences(document, &document.host).is_empty());
    let other = Host { kernel: "7.0".into(), cores: 64, ..document.host.clone() };
    let told = differences(document, &other).join("; ");
    assert!(told.contains("kernel") && told.contains("7.0 here") && told.contains("cores"), "{told}");
}

#[test]
fn what_this_machine_lacks_is_undecided_with_the_reason_and_holds_nothing_up() {
    let cells = "seed = 3\n[[cells]]\ntransport = [\"one\", \"two\", \"gone\"]\n";
    let claims = [
        claim("cell = \"gone\"\nagainst = \"one\"\nat_most = 2"),
        claim("cell = \"one\"\nagainst = \"two\"\nat_most = 0.6"),
    ];
    let (claims, outcome) =
        checked_against(&format!("{cells}{}", claims.concat()), &Baselines::default(), known());
    assert_eq!((words(&claims), outcome.stopped), (vec![OPEN, YES], Stopped::Resolved));
    assert!(only(&claims[0]).reason.as_deref().unwrap().contains("not on this machine"));
}

#[test]
fn claims_about_nothing_are_refused_at_their_line() {
    let baselines = recorded(&[1_000.0, 1_000.0, 1_000.0, 1_000.0]);
    let refused = |body: &str, parts: &[&str]| {
        let error = asked(&format!("{CELLS}{}", claim(body)), &baselines).unwrap_err();
        assert!(!error.contains('\n') && parts.iter().all(|part| error.contains(part)), "{body}: {error}");
    };
    refused("cell = \"rr/one/65/c1\"\nat_most = \"1us\"", &["6:8: ", "did you mean \"rr/one/64/c1\"?"]);
    refused("cell = \"one\"\nat_most = \"1us\"", &["\"one\" is 2 cells", "rr/one/64/c1, rr/one/128/c1"]);
    refused("cell = { size = 64 }\nat_most = \"1us\"", &["6:8: ", "say more"]);
    refused("cell = { size = 65 }\nat_most = \"1us\"", &["no cell of the run is size 65"]);
    refused(
        "cell = \"rr/one/64/c1\"\nagainst = { transport = \"one\", size = 64 }\nat_most = 1",
        &["7:11: ", "compared with itself"],
    );
    refused("baseline = \"other.json\"\nslower_by_at_most = 0", &["6:12: ", "other.json has not been read"]);
    let mut other = baselines.clone();
    other.documents.get_mut("before.json").unwrap().cells[0].size = 65;
    let body = "baseline = \"before.json\"\nslower_by_at_most = 0.1";
    let error = asked(&format!("{CELLS}{}", claim(body)), &other).unwrap_err();
    assert!(error.contains("its cell rr/one/64/c1 is another: size 65 there, 64 here"), "{error}");
    let cells = CELLS.replace("[64, 128]", "[256]");
    let error = asked(&format!("{cells}{}", claim(body)), &baselines).unwrap_err();
    assert!(error.contains("before.json has not measured rr/one/256/c1"), "{error}");
    let stream = CELLS.replace("[[cells]]", "[[cells]]\npattern = \"stream\"");
    let p99 = claim("cell = \"stream/one/64/c1\"\nmetric = \"p99\"\nat_most = \"1s\"");
    let error = asked(&format!("{stream}{p99}"), &baselines).unwrap_err();
    assert!(error.contains("is a stream, which has none; use wall"), "{error}");
}

#[test]
fn a_claim_without_words_gets_some() {
    let baselines = recorded(&[1_000.0, 1_000.0, 1_000.0, 1_000.0]);
    let file = [
        claim("cell = \"rr/one/64/c1\"\nagainst = \"rr/two/64/c1\"\nat_most = 0.6"),
        claim("cell = \"rr/one/64/c1\"\nmetric = \"p99\"\nat_most = \"200us\""),
        claim("baseline = \"before.json\"\nslower_by_at_most = \"5%\""),
    ]
    .concat();
    let (questions, _) = asked(&format!("{CELLS}{file}"), &baselines).unwrap();
    let listed: Vec<(String, usize)> =
        questions.list().map(|(text, line, _)| (text.to_owned(), line)).collect();
    assert_eq!(
        listed,
        [
            ("cost of rr/one/64/c1: at most 0.6 × rr/two/64/c1".to_owned(), 5),
            ("p99 of rr/one/64/c1: at most 200us".to_owned(), 9),
            ("cost of every cell: at most 1.05 × before.json".to_owned(), 13),
        ]
    );
}
