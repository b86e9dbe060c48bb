//! Deciding the claims of a published experiment from what was measured here.

use std::collections::BTreeMap;

use ipcost_lab::planning::ALPHA;
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::{Answered, Batches, Needed, Outcome, Question};
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Measure, Placement, PlannedCell, Quantity, Ran, Sample};

use crate::claims::{Bounded, Bounds, ClaimedValue, Selector};
use crate::explain::Sides;
use crate::replicate::compared::Article;
use crate::replicate::table::{deciding, direction};
use crate::replicate::{
    Claim, Compared, Condition, LedgerClaim, LedgerRun, LedgerTest, Replication, ReplicationRun, Software,
    Stratum, Test, retell, strata, telling,
};
use ipcost_model::ClaimVerdict;

/// Less than this of anything, for one operation, counts as this much.
const NEXT_TO_NOTHING: f64 = 1e-3;
/// What lies between two ticks of most kernels (`CONFIG_HZ=250`), nanoseconds.
const TICK_NS: f64 = 4e6;
/// So many ticks tell shares of processor time within a sixth.
const TICKS: f64 = 10.0;
/// What differs by less than this is the same, to a claim that one of two is faster.
pub(super) const SAME: f64 = 0.05;

/// What was measured with one kind of software, as published or under a condition.
pub struct MeasuredSoftware<'a> {
    /// With which.
    pub software: Software,
    /// The condition; `None` as published.
    pub stratum: Option<&'a Stratum>,
    /// The published cells, which tests name.
    published: &'a [PlannedCell],
    /// The cells of its plan.
    pub cells: &'a [PlannedCell],
    batches: Batches<'a>,
    /// System calls of both processes, by cell, as far as they were traced.
    system_calls: &'a Traced,
}

/// System calls of both processes, by cell.
pub type Traced = BTreeMap<usize, Sides<SystemCalls>>;

impl<'a> MeasuredSoftware<'a> {
    /// What a run measured so far, and what was traced before it; under a condition, with the published cells.
    pub fn new(
        software: Software,
        outcome: &'a Outcome,
        system_calls: &'a Traced,
        under: Option<(&'a Stratum, &'a [PlannedCell])>,
    ) -> Self {
        let cells = &outcome.plan.cells[..];
        let published = under.map_or(cells, |(_, published)| published);
        let stratum = under.map(|(stratum, _)| stratum);
        Self { software, stratum, published, cells, batches: outcome.batches(), system_calls }
    }

    /// Whether a test is decided here.
    fn takes(&self, test: &Test) -> bool {
        match self.stratum {
            None => test.is_for(self.software),
            Some(stratum) => {
                strata::is_conditional(test, self.software)
                    && strata::cells_under(stratum, test, self.published).is_some()
            }
        }
    }

    /// The cells that a test takes its figures from, as indices, in the order of [`Test::sides`].
    fn cells_of(&self, test: &Test) -> Option<Vec<usize>> {
        let published = cells_of(test, self.published)?;
        let Some(stratum) = self.stratum else { return Some(published) };
        published.into_iter().map(|index| stratum.find(&self.published[index], self.cells)).collect()
    }

    /// The share of the batches of these cells that the scheduler ran on one core, and on two; `None` if it does not tell,
    /// or the cells are pinned.
    fn mixture(&self, cells: &[usize]) -> Option<(f64, f64)> {
        let free = |cell: &&usize| self.cells[**cell].placement == Placement::Free;
        let samples: Vec<Ran> = cells
            .iter()
            .filter(free)
            .flat_map(|cell| self.batches.of(*cell))
            .filter_map(|it| it.whereabouts.map(|at| at.ran))
            .collect();
        let share = |ran: Ran| samples.iter().filter(|it| **it == ran).count() as f64 / samples.len() as f64;
        (!samples.is_empty()).then(|| (share(Ran::Together), share(Ran::Apart)))
    }
}

/// Checks that every test of a replication names a cell of each run it is meant for, and exactly one.
///
/// # Errors
/// The first test that does not, in one line.
pub fn check(
    replication: &Replication,
    cells_of: &dyn Fn(&ReplicationRun) -> Result<Vec<PlannedCell>, String>,
) -> Result<(), String> {
    strata::check(replication)?;
    for run in &replication.runs {
        let cells = cells_of(run)?;
        for stratum in &replication.strata {
            if run.software == Software::Original {
                strata::cells(replication, stratum, run.software, &cells)?;
            }
        }
        for effect in replication.effects.iter().filter(|effect| is_of(effect, run.software)) {
            ensure_beside(effect)?;
            for side in effect.sides() {
                side.find(&cells).map_err(|reason| format!("effect \"{}\": {reason}", effect.about))?;
            }
        }
        for claim in &replication.claims {
            let tests = claim.tests.iter().filter(|test| test.is_for(run.software));
            for test in tests {
                check_test(test).map_err(|reason| format!("claim \"{}\": {reason}", claim.text))?;
                for side in test.sides() {
                    side.find(&cells).map_err(|reason| {
                        format!("claim \"{}\", test \"{}\": {reason}", claim.text, test.about)
                    })?;
                }
            }
        }
    }
    Ok(())
}

/// What this tool prefers stands beside what was published, and never in its place.
fn ensure_beside(effect: &Test) -> Result<(), String> {
    match (effect.decides, &effect.b) {
        (false, Some(_)) => Ok(()),
        (true, _) => Err(format!("effect \"{}\" must not decide; say decides = false", effect.about)),
        (_, None) => Err(format!("effect \"{}\" compares with nothing; give b", effect.about)),
    }
}

fn check_test(test: &Test) -> Result<(), String> {
    let about = &test.about;
    if test.same_system_calls {
        return if test.b.is_some() {
            Ok(())
        } else {
            Err(format!("test \"{about}\" compares system calls with nothing; give b"))
        };
    }
    if test.than.is_some() && test.b.is_none() {
        return Err(format!("test \"{about}\" compares no ratio with another; give b"));
    }
    if test.decides && test.below.is_none() && test.above.is_none() {
        return Err(format!("test \"{about}\" says neither below nor above; give one, or decides = false"));
    }
    Ok(())
}

/// The cells of which a test takes the time of the sender alone, as indices.
pub fn sender_timed(replication: &Replication, cells: &[PlannedCell]) -> Vec<usize> {
    let tests = replication.claims.iter().flat_map(|claim| &claim.tests).chain(&replication.effects);
    let sides = tests.flat_map(|test| test.sides().map(move |side| (test, side)));
    let of_sender = |(test, side): &(&Test, &Selector)| quantity_of(test, side).measure == Measure::Sent;
    let mut found: Vec<usize> =
        sides.filter(of_sender).filter_map(|(_, side)| side.find(cells).ok()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The same under a condition, for its own cells.
pub(super) fn sender_timed_under(
    replication: &Replication,
    stratum: &Stratum,
    published: &[PlannedCell],
    cells: &[PlannedCell],
) -> Vec<usize> {
    let timed = sender_timed(replication, published);
    timed.iter().filter_map(|index| stratum.find(&published[*index], cells)).collect()
}

/// The cells whose system calls tests compare.
pub fn traced_cells(replication: &Replication, software: Software, cells: &[PlannedCell]) -> Vec<usize> {
    let tests = replication.claims.iter().flat_map(|claim| &claim.tests);
    let asking = tests.filter(|test| test.same_system_calls && test.is_for(software));
    let mut found: Vec<usize> =
        asking.flat_map(Test::sides).filter_map(|side| side.find(cells).ok()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Decides every claim, each at 5 %.
pub fn decide(
    replication: &Replication,
    measured: &[MeasuredSoftware<'_>],
    runs: &[LedgerRun],
) -> Vec<LedgerClaim> {
    let all: Vec<(&MeasuredSoftware<'_>, Article<'_>)> =
        measured.iter().map(|run| (run, Article::of(replication, run.published))).collect();
    replication.claims.iter().map(|claim| decide_claim(replication, claim, &all, runs)).collect()
}

/// The smallest level of an interval with one kind of software.
pub(super) fn level(replication: &Replication, software: Software) -> f64 {
    replication.claims.iter().map(|claim| level_of_part(replication, claim, software)).fold(ALPHA, f64::min)
}

/// The level at which a part of a claim is decided. Which parts are named is decided by what was measured, so all of them share 5 %: each
/// deciding test as published and under every condition.
///
/// That a claim holds as a whole is one statement, and false only if a certain one of its tests, which does not hold, seems to: it is
/// decided at 5 % in each test (an intersection-union test: Berger, Technometrics 24, 1982).
fn level_of_part(replication: &Replication, claim: &Claim, software: Software) -> f64 {
    let mine = claim.tests.iter().filter(|test| test.is_for(software));
    let tests = mine.filter(|test| test.decides && !test.same_system_calls).count();
    ALPHA / (tests * (1 + replication.strata.len())).max(1) as f64
}

/// The tests of a claim as a whole if it holds so, in direction or altogether; else by its parts.
fn as_decided(whole: Vec<LedgerTest>, parts: Vec<LedgerTest>) -> Vec<LedgerTest> {
    let decides = deciding(&whole);
    let hold = |of: &dyn Fn(&LedgerTest) -> ClaimVerdict| {
        whole.iter().any(&decides)
            && whole.iter().filter(|test| decides(test)).all(|test| of(test) == ClaimVerdict::Holds)
    };
    if hold(&|test| test.word) {
        return whole;
    }
    if !hold(&direction) {
        return parts;
    }
    let in_direction = |(whole, part): (LedgerTest, LedgerTest)| match whole.direction {
        _ if !decides(&whole) => part,
        Some(direction) => LedgerTest { direction: Some(direction), ..part },
        None => whole,
    };
    whole.into_iter().zip(parts).map(in_direction).collect()
}

fn decide_claim(
    replication: &Replication,
    claim: &Claim,
    measured: &[(&MeasuredSoftware<'_>, Article<'_>)],
    runs: &[LedgerRun],
) -> LedgerClaim {
    let mine: Vec<(&MeasuredSoftware<'_>, &Article<'_>, &Test)> = measured
        .iter()
        .flat_map(|(run, article)| {
            claim.tests.iter().filter(|test| run.takes(test)).map(move |test| (*run, article, test))
        })
        .collect();
    let at = |level: &dyn Fn(Software) -> f64| -> Vec<LedgerTest> {
        mine.iter().map(|(run, _, test)| decide_test(run, test, level(run.software))).collect()
    };
    let parts = at(&|software| level_of_part(replication, claim, software));
    let mut tests = as_decided(at(&|_| ALPHA), parts);
    for (test, (_, article, of)) in tests.iter_mut().zip(&mine) {
        test.compared = Compared::of(of, article);
    }
    let mut decided = LedgerClaim {
        published: claim.published.clone(),
        behind: claim.behind.clone(),
        limit: claim.limit_on.values().next().cloned(),
        takes: claim.takes.clone(),
        tests,
        ..LedgerClaim::of(&claim.text)
    };
    retell(&mut decided, runs);
    decided.why = why(claim, measured, &decided.conditions);
    decided
}

/// Whether only the native peer can decide some claim, whatever software is here.
pub(super) fn needs_native(replication: &Replication) -> bool {
    replication.claims.iter().any(|claim| {
        let decided_by = |software| claim.tests.iter().any(|test| test.decides && test.is_for(software));
        decided_by(Software::Native) && !decided_by(Software::Original)
    })
}

/// What differs between the cells of the test that tells most: where they ran, how often they slept, what they took.
fn why(
    claim: &Claim,
    measured: &[(&MeasuredSoftware<'_>, Article<'_>)],
    conditions: &[Condition],
) -> Option<String> {
    let (run, _) = measured.iter().find(|(run, _)| run.stratum.is_none())?;
    let test = claim.tests.iter().find(|test| run.takes(test) && test.decides && test.b.is_some())?;
    let [a, b, ..] = run.cells_of(test)?[..] else { return None };
    let mut parts = Vec::new();
    if let Some((together, apart)) = run.mixture(&[a, b]).filter(|_| telling::differ(conditions)) {
        parts.push(format!(
            "as published the scheduler used one core in {:.0} % of batches, two in {:.0} %, and moved them in {:.0} %",
            together * 100.0,
            apart * 100.0,
            (1.0 - together - apart).max(0.0) * 100.0
        ));
    }
    let (of_a, of_b) = (&run.cells[a], &run.cells[b]);
    let names = match of_a.transport == of_b.transport {
        true => [&of_a.label, &of_b.label],
        false => [&of_a.transport, &of_b.transport],
    };
    let median = |cell: usize, measure: &Measure| {
        let epochs = run.batches.series(cell, |sample| measure.of(sample)).medians();
        ipcost_stats::median(&epochs)
    };
    let evidence = telling::EVIDENCE.into_iter().filter(|_| names[0] != names[1]);
    for (measure, what) in evidence {
        let measure = Measure::named(measure);
        if let Some((of_a, of_b)) = median(a, &measure).zip(median(b, &measure)) {
            parts.extend(telling::evidence(what, names, of_a, of_b));
        }
    }
    (!parts.is_empty()).then(|| format!("{} ({})", parts.join("; "), test.about))
}

/// The claims of a replication as what one run is asked.
pub struct ClaimsOfRun<'a> {
    /// Whose.
    pub replication: &'a Replication,
    /// The software of the run.
    pub software: Software,
    /// The condition with the published cells, which tests name; `None` as published.
    pub stratum: Option<(&'a Stratum, &'a [PlannedCell])>,
    /// System calls of both processes, by cell, as far as they were traced.
    pub system_calls: &'a Traced,
}

impl Question for ClaimsOfRun<'_> {
    fn answered(&self, so_far: &Outcome) -> Answered {
        let measured = MeasuredSoftware::new(self.software, so_far, self.system_calls, self.stratum);
        answered(self.replication, &measured)
    }
}

/// Claims need the cells of their deciding tests that are open: a table has no field that is not worth its time. Those of other tests
/// stay until they have an interval.
fn answered(replication: &Replication, measured: &MeasuredSoftware<'_>) -> Answered {
    let (mut open, mut of) = (0, 0);
    let mut cells = Vec::new();
    for claim in &replication.claims {
        let tests: Vec<&Test> =
            claim.tests.iter().filter(|test| measured.takes(test) && test.decides).collect();
        let at = |level: f64| -> Vec<LedgerTest> {
            tests.iter().map(|test| decide_test(measured, test, level)).collect()
        };
        let whole = at(ALPHA);
        if whole.iter().all(|test| test.value.is_none() && test.detail.is_none()) {
            continue;
        }
        // Until something speaks against it, a claim may hold as a whole.
        let may_hold =
            |test: &LedgerTest| matches!(direction(test), ClaimVerdict::Open | ClaimVerdict::Holds);
        let found = match whole.iter().all(may_hold) {
            true => whole,
            false => at(level_of_part(replication, claim, measured.software)),
        };
        of += 1;
        let before = cells.len();
        for (test, found) in tests.into_iter().zip(&found).filter(|(_, found)| found.word.is_open()) {
            // One that the article's own method contradicts tells all that it ever will with its interval.
            if test.contradicted.is_none() || found.lo.is_none() {
                cells.extend(measured.cells_of(test).into_iter().flatten());
            }
        }
        open += u32::from(cells.len() > before);
    }
    let needed = if open > 0 { Needed::Cells(cells) } else { Needed::Nothing };
    Answered { resolved: of - open, of, needed }
}

/// What preferences of this tool change, with the software that was published; at 5 % for all of them together.
pub fn effects(replication: &Replication, measured: &[MeasuredSoftware<'_>]) -> Vec<LedgerTest> {
    let alpha = ALPHA / replication.effects.len().max(1) as f64;
    let published = measured.iter().filter(|run| run.stratum.is_none());
    let all = published.flat_map(|run| replication.effects.iter().map(move |test| (run, test)));
    all.filter(|(run, test)| is_of(test, run.software))
        .map(|(run, test)| decide_test(run, test, alpha))
        .collect()
}

/// Whether a run shows an effect: the original software's, where it does not say.
fn is_of(effect: &Test, software: Software) -> bool {
    effect.software.unwrap_or(Software::Original) == software
}

fn decide_test(run: &MeasuredSoftware<'_>, test: &Test, alpha: f64) -> LedgerTest {
    let measure = quantity_of(test, &test.a).to_string();
    let mut ledger = LedgerTest {
        about: test.about.clone(),
        software: run.software,
        stratum: run.stratum.map(|stratum| stratum.name.clone()),
        compared: None,
        measure,
        value: None,
        lo: None,
        hi: None,
        range: None,
        claimed: claimed(test),
        above: test.above,
        below: test.below,
        is_ratio: test.b.is_some(),
        word: ClaimVerdict::Open,
        direction: direction_of(test).map(|_| ClaimVerdict::Open),
        decides: test.decides,
        detail: None,
        contradicted: test.contradicted.clone(),
    };
    let Some(cells) = run.cells_of(test) else { return ledger };
    if test.same_system_calls {
        let side = test.calls_of.unwrap_or(PeerRole::Client);
        let calls = |cell: usize| run.system_calls.get(&cell).map(|sides| sides.of(side));
        if let [a, b, ..] = cells[..]
            && let Some((a, b)) = calls(a).zip(calls(b))
        {
            ledger.word = if a.same_as(b) { ClaimVerdict::Holds } else { ClaimVerdict::Fails };
            ledger.detail = Some(format!("{a} against {b}"));
        }
        return ledger;
    }
    let values = by_epoch(run, test);
    let shown = |value: f64| if test.b.is_some() { value.exp() } else { value };
    let is_count = test.sides().all(|side| quantity_of(test, side).measure.is_count());
    let found = values.and_then(|values| {
        let constant = is_count.then(|| ClaimedValue::of_constant(&values, alpha, shown)).flatten();
        constant.or_else(|| ClaimedValue::of(&values, alpha, shown))
    });
    let Some(found) = found else { return ledger };
    (ledger.value, ledger.range) = (Some(found.value), found.range);
    (ledger.lo, ledger.hi) = found.interval.unzip();
    if test.contradicted.is_none() {
        ledger.word = bounds(test).decide(found.interval);
        ledger.direction = direction_of(test).map(|bounds| bounds.decide(found.interval));
    }
    ledger
}

/// The cells that a test takes its figures from, as indices, in the order of [`Test::sides`].
pub fn cells_of(test: &Test, cells: &[PlannedCell]) -> Option<Vec<usize>> {
    test.sides().map(|side| side.find(cells).ok()).collect()
}

/// What a side of a test measures; what the first side measures if it does not say.
pub fn quantity_of(test: &Test, side: &Selector) -> Quantity {
    side.measure.as_ref().or(test.measure.as_ref()).or(test.a.measure.as_ref()).cloned().unwrap_or_default()
}

/// A test's figure in every epoch: the natural logarithm of the ratio, or what a single cell says. Of times in ticks, in every block of
/// epochs that has enough of them.
///
/// `None` where a cell or one of its values is missing.
pub fn by_epoch(run: &MeasuredSoftware<'_>, test: &Test) -> Option<Vec<f64>> {
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
        [a] => a.medians(),
        [a, b] => a.with(b, |a, b| ln(a) - ln(b)).medians(),
        [a, b, c, d] => {
            let than = c.with(d, |c, d| ln(c) - ln(d));
            a.with(b, |a, b| ln(a) - ln(b)).with(&than, |one, other| one - other).medians()
        }
        _ => return None,
    };
    Some(epochs).filter(|epochs| !epochs.is_empty())
}

/// The same over blocks of epochs, in each of which every side has used so much processor time that its ticks tell user and system time
/// apart. One batch has a tick or none: its ratios are nothing, or without end.
fn by_block(run: &MeasuredSoftware<'_>, sides: &[(usize, Quantity)]) -> Option<Vec<f64>> {
    #[derive(Clone, Copy, Default)]
    struct Sum {
        value: f64,
        ops: f64,
        used: f64,
    }
    let used_by = |measure: &Measure, sample: &Sample| match measure {
        Measure::ServerUser | Measure::ServerSys | Measure::ServerCpu => sample.server.cpu_ns(),
        _ => sample.client.cpu_ns(),
    };
    let mut blocks = Vec::new();
    let mut sums = vec![Sum::default(); sides.len()];
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
            let cost = |sum: &Sum| (sum.value.max(TICK_NS / 2.0) / sum.ops).ln();
            blocks.push(match sums[..] {
                [a] => a.value / a.ops,
                [a, b] => cost(&a) - cost(&b),
                [a, b, c, d] => cost(&a) - cost(&b) - (cost(&c) - cost(&d)),
                _ => return None,
            });
            sums.fill(Sum::default());
        }
    }
    Some(blocks).filter(|blocks| !blocks.is_empty())
}

fn bounds(test: &Test) -> Bounds {
    Bounds {
        above: test.above.map(Bounded::Strictly),
        below: test.below.map(Bounded::Strictly),
        margin: test.b.is_some().then_some(SAME),
    }
}

/// The direction of a claim that also names a factor: on which side of 1 the ratio lies.
fn direction_of(test: &Test) -> Option<Bounds> {
    let of_ratio = Bounds { margin: Some(SAME), ..Bounds::default() };
    let above = || Bounds { above: Some(Bounded::Strictly(1.0)), ..of_ratio };
    let below = || Bounds { below: Some(Bounded::Strictly(1.0)), ..of_ratio };
    test.b.as_ref()?;
    match (test.above, test.below) {
        (Some(least), _) if least > 1.0 => Some(above()),
        (_, Some(most)) if most < 1.0 => Some(below()),
        (Some(1.0), Some(_)) => Some(above()),
        (Some(_), Some(1.0)) => Some(below()),
        _ => None,
    }
}

fn claimed(test: &Test) -> String {
    match (test.same_system_calls, test.above, test.below) {
        (true, _, _) => "the same".to_owned(),
        (_, Some(above), Some(below)) => format!("{above} to {below}"),
        (_, Some(above), None) => format!("> {above}"),
        (_, None, Some(below)) => format!("< {below}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known of "the first is faster" once it is known, or at the end, in so many runs out of 100.
    fn told(truth: f64, noise: f64, epochs: usize, seed: u64) -> BTreeMap<&'static str, u32> {
        const SIZES: &str =
            "about = \"\"\nbelow = 1.0\n[a]\ntransport = \"unix\"\n[b]\ntransport = \"tcp\"\n";
        let test: Test = toml::from_str(SIZES).unwrap();
        let mut random = ipcost_stats::Random::new(seed);
        let mut words = BTreeMap::new();
        for _ in 0..100 {
            let values: Vec<f64> = (0..epochs).map(|_| truth.ln() + noise * random.normal()).collect();
            let after = |epochs: usize| {
                let interval =
                    ClaimedValue::of(&values[..epochs], ALPHA, f64::exp).and_then(|found| found.interval);
                bounds(&test).decide(interval)
            };
            let word = (8..=epochs).map(after).find(|word| !word.is_open()).unwrap_or(ClaimVerdict::Open);
            *words.entry(word.name()).or_default() += 1;
        }
        words
    }

    #[test]
    fn a_difference_too_small_to_matter_neither_confirms_nor_refutes_a_direction() {
        // Truly faster or slower by less than the margin: the other direction is told in 5 % at most, and is never a failure of
        // the claim just because the difference is small.
        for (seed, noise) in [(1, 0.02), (2, 0.05), (3, 0.1)] {
            for epochs in [20, 60] {
                for truth in [0.96, 0.98, 0.99, 1.0] {
                    let words = told(truth, noise, epochs, seed);
                    let fails = words.get("fails").copied().unwrap_or(0);
                    assert!(fails <= 5, "{truth} at {noise}, {epochs} epochs: {words:?}");
                }
                for truth in [0.93, 1.07] {
                    let words = told(truth, noise, epochs, seed);
                    let same = words.get("no difference that matters").copied().unwrap_or(0);
                    assert!(same <= 5, "{truth} at {noise}, {epochs} epochs: {words:?}");
                }
            }
        }
        let words = told(0.99, 0.02, 60, 4);
        assert!(words["no difference that matters"] >= 95, "{words:?}");
        assert!(told(0.9, 0.02, 60, 5)["holds"] >= 95 && told(1.1, 0.02, 60, 6)["fails"] >= 95);
    }

    #[test]
    fn a_claim_holds_as_a_whole_or_by_its_parts() {
        let (yes, no, open) = (ClaimVerdict::Holds, ClaimVerdict::Fails, ClaimVerdict::Open);
        type Words<'a> = &'a [(ClaimVerdict, Option<ClaimVerdict>)];
        let of = |words: Words<'_>| -> Vec<LedgerTest> {
            let test = |(word, direction): &(_, _)| LedgerTest {
                direction: *direction,
                ..LedgerTest::known_as(*word)
            };
            words.iter().map(test).collect()
        };
        let told = |whole: Words<'_>, parts: Words<'_>| {
            let found = as_decided(of(whole), of(parts));
            found.into_iter().map(|test| (test.word, test.direction)).collect::<Vec<_>>()
        };
        assert_eq!(told(&[(yes, None); 2], &[(yes, None), (open, None)]), [(yes, None); 2]);
        // One that holds at 5 %, next to one that does not, has been chosen after looking.
        assert_eq!(told(&[(yes, None), (open, None)], &[(open, None); 2]), [(open, None); 2]);
        assert_eq!(told(&[(no, None); 2], &[(open, None); 2]), [(open, None); 2]);
        // In direction, the factor stays with its parts.
        assert_eq!(told(&[(no, Some(yes))], &[(open, Some(open))]), [(open, Some(yes))]);
        assert!(as_decided(Vec::new(), Vec::new()).is_empty());
        let native = LedgerTest { software: Software::Native, ..LedgerTest::known_as(no) };
        let mixed = as_decided(vec![LedgerTest::known_as(yes), native.clone()], vec![native.clone(), native]);
        assert_eq!(mixed[0].word, yes, "the native peer decides nothing beside the original");
    }
}
