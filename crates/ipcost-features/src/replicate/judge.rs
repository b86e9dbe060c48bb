//! Deciding the claims of a published experiment from what was measured here.

use std::collections::BTreeMap;

use ipcost_lab::planning::ALPHA;
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::{Answered, Batches, Needed, Outcome, Question};
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Measure, Placement, PlannedCell, Quantity, Ran};

use crate::claims::{Bounded, Bounds, ClaimVerdict, ClaimedValue, Rule, Selector, over_conditions};
use crate::explain::Sides;
use crate::replicate::{
    Claim, Condition, LedgerClaim, LedgerTest, Replication, ReplicationRun, Software, Stratum, Test, strata,
    telling,
};

/// Less than this of anything, for one operation, counts as this much.
const NEXT_TO_NOTHING: f64 = 1e-3;
/// What differs by less than this is the same, to a claim that one of two is faster.
const SAME: f64 = 0.05;

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
pub fn decide(replication: &Replication, measured: &[MeasuredSoftware<'_>]) -> Vec<LedgerClaim> {
    replication.claims.iter().map(|claim| decide_claim(replication, claim, measured)).collect()
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

/// What tests say of a claim at a level of their own each, by run, and the conditions that decide it.
struct Decided {
    tests: Vec<LedgerTest>,
    conditions: Vec<Condition>,
}

impl Decided {
    fn of(claim: &Claim, measured: &[MeasuredSoftware<'_>], level: impl Fn(Software) -> f64) -> Self {
        // The native peer stands in for software that is not here, and decides nothing beside it.
        let original = measured.iter().any(|run| run.software == Software::Original)
            && claim.tests.iter().any(|test| test.decides && test.is_for(Software::Original));
        let mut decided = Self { tests: Vec::new(), conditions: Vec::new() };
        for run in measured {
            let mine = claim.tests.iter().filter(|test| run.takes(test));
            let found: Vec<LedgerTest> =
                mine.map(|test| decide_test(run, test, level(run.software))).collect();
            let decides = !original || run.software == Software::Original;
            decided.conditions.extend(condition(claim.rule, run, &found).filter(|_| decides));
            decided.tests.extend(found);
        }
        decided
    }

    fn over(&self, of: impl Fn(&Condition) -> ClaimVerdict) -> ClaimVerdict {
        over_conditions(&self.conditions.iter().map(of).collect::<Vec<_>>())
    }

    fn word(&self) -> ClaimVerdict {
        self.over(|condition| condition.word)
    }

    fn size(&self) -> Option<ClaimVerdict> {
        let is_sized = self.conditions.iter().any(|condition| condition.size.is_some());
        is_sized.then(|| self.over(|condition| condition.size.unwrap_or(condition.word)))
    }
}

/// As a whole if it holds so, in direction or altogether; else by its parts.
fn decided(whole: Decided, mut parts: Decided, rule: Rule) -> Decided {
    let all = |of: &dyn Fn(&Condition) -> Option<ClaimVerdict>| {
        let mut words = whole.conditions.iter().filter_map(of);
        rule == Rule::All && !whole.conditions.is_empty() && words.all(|word| word == ClaimVerdict::Holds)
    };
    match (all(&|condition| Some(condition.word)), all(&|condition| condition.size)) {
        (true, true) => whole,
        (true, false) => {
            for (part, whole) in parts.conditions.iter_mut().zip(whole.conditions) {
                *part = Condition { size: part.size, ..whole };
            }
            parts
        }
        (false, _) => parts,
    }
}

fn decide_claim(replication: &Replication, claim: &Claim, measured: &[MeasuredSoftware<'_>]) -> LedgerClaim {
    let whole = Decided::of(claim, measured, |_| ALPHA);
    let parts = Decided::of(claim, measured, |software| level_of_part(replication, claim, software));
    let decided = decided(whole, parts, claim.rule);
    let (word, size) = (decided.word(), decided.size());
    let Decided { tests, conditions } = decided;
    LedgerClaim {
        text: claim.text.clone(),
        published: claim.published.clone(),
        word,
        size,
        sentence: telling::sentence(&conditions, word, size),
        why: why(claim, measured, &conditions),
        advice: telling::advice(&conditions, &replication.strata),
        conditions,
        behind: claim.behind.clone(),
        limit: claim.limit_on.values().next().cloned(),
        takes: claim.takes.clone(),
        tests,
    }
}

/// Whether only the native peer can decide some claim, whatever software is here.
pub(super) fn needs_native(replication: &Replication) -> bool {
    replication.claims.iter().any(|claim| {
        let decided_by = |software| claim.tests.iter().any(|test| test.decides && test.is_for(software));
        decided_by(Software::Native) && !decided_by(Software::Original)
    })
}

/// What tests say of a claim, or of its direction, and of its factor if it names one; `None` if none of them decides, or none
/// could be measured.
fn known(rule: Rule, tests: &[LedgerTest]) -> Option<(ClaimVerdict, Option<ClaimVerdict>)> {
    let word = together(rule, tests, |test| test.direction.unwrap_or(test.word))?;
    let sized = tests.iter().any(|test| test.decides && test.direction.is_some());
    let size = sized.then(|| together(rule, tests, |test| test.word)).flatten();
    let word = match (word, size) {
        // Whichever it is, it is not by the factor that was claimed.
        (ClaimVerdict::Open | ClaimVerdict::NoDifference, Some(ClaimVerdict::Fails)) => ClaimVerdict::Fails,
        // The factor that was claimed is smaller than the margin.
        (ClaimVerdict::NoDifference, Some(ClaimVerdict::Holds)) => ClaimVerdict::Holds,
        _ => word,
    };
    Some((word, size))
}

/// What one run says of a claim, with the figures that say so.
fn condition(rule: Rule, run: &MeasuredSoftware<'_>, tests: &[LedgerTest]) -> Option<Condition> {
    let (word, size) = known(rule, tests)?;
    Some(Condition {
        stratum: run.stratum.map(|stratum| stratum.name.clone()),
        software: run.software,
        word,
        size,
        figures: telling::figures(tests, word),
    })
}

/// What differs between the cells of the test that tells most: where they ran, how often they slept, what they took.
fn why(claim: &Claim, measured: &[MeasuredSoftware<'_>], conditions: &[Condition]) -> Option<String> {
    let run = measured.iter().find(|run| run.stratum.is_none())?;
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
    for (measure, what) in telling::EVIDENCE {
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

/// Open claims need the cells of their deciding tests that are open. Those of other claims stay until they have an interval.
fn answered(replication: &Replication, measured: &MeasuredSoftware<'_>) -> Answered {
    let (mut open, mut of) = (0, 0);
    let mut cells = Vec::new();
    for claim in &replication.claims {
        let tests: Vec<&Test> = claim.tests.iter().filter(|test| measured.takes(test)).collect();
        let at = |level: f64| -> Vec<LedgerTest> {
            tests.iter().map(|test| decide_test(measured, test, level)).collect()
        };
        let whole = at(ALPHA);
        // Until something speaks against it, a claim may hold as a whole.
        let may_hold = claim.rule == Rule::All
            && whole.iter().filter(|test| test.decides).all(|test| {
                let word = test.direction.unwrap_or(test.word);
                word.is_open() || word == ClaimVerdict::Holds
            });
        let found = if may_hold { whole } else { at(level_of_part(replication, claim, measured.software)) };
        let Some((word, size)) = known(claim.rule, &found) else { continue };
        of += 1;
        let is_open = word.is_open() || size.is_some_and(ClaimVerdict::is_open);
        let mut needs_more = false;
        for (test, found) in tests.into_iter().zip(&found).filter(|(test, _)| test.decides) {
            // One that the article's own method contradicts tells all that it ever will with its interval.
            let by_word = is_open && test.contradicted.is_none();
            if found.word.is_open() && (by_word || found.lo.is_none()) {
                needs_more |= is_open;
                cells.extend(measured.cells_of(test).into_iter().flatten());
            }
        }
        open += u32::from(needs_more);
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

/// What tests say together; `None` where none of them decides, or none could be measured.
fn together(
    rule: Rule,
    tests: &[LedgerTest],
    of: impl Fn(&LedgerTest) -> ClaimVerdict,
) -> Option<ClaimVerdict> {
    let deciding: Vec<&LedgerTest> = tests.iter().filter(|test| test.decides).collect();
    if deciding.iter().all(|test| test.value.is_none() && test.detail.is_none()) {
        return None;
    }
    Some(rule.decide(&deciding.into_iter().map(of).collect::<Vec<_>>()))
}

fn decide_test(run: &MeasuredSoftware<'_>, test: &Test, alpha: f64) -> LedgerTest {
    let measure = quantity_of(test, &test.a).to_string();
    let mut ledger = LedgerTest {
        about: test.about.clone(),
        software: run.software,
        stratum: run.stratum.map(|stratum| stratum.name.clone()),
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
        direction: direction(test).map(|_| ClaimVerdict::Open),
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
    let Some(found) = values.and_then(|values| ClaimedValue::of(&values, alpha, shown)) else {
        return ledger;
    };
    (ledger.value, ledger.range) = (Some(found.value), found.range);
    (ledger.lo, ledger.hi) = found.interval.unzip();
    if test.contradicted.is_none() {
        ledger.word = bounds(test).decide(found.interval);
        ledger.direction = direction(test).map(|bounds| bounds.decide(found.interval));
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

/// A test's figure in every epoch: the natural logarithm of the ratio, or what a single cell says.
///
/// `None` where a cell or one of its values is missing.
pub fn by_epoch(run: &MeasuredSoftware<'_>, test: &Test) -> Option<Vec<f64>> {
    let cells = run.cells;
    let named = run.cells_of(test)?;
    let of = |cell: usize, side: &Selector| {
        let Quantity { measure, per_byte } = quantity_of(test, side);
        let divisor = if per_byte { cells[cell].cell.size as f64 } else { 1.0 };
        run.batches.series(cell, |sample| Some(measure.of(sample)? / divisor))
    };
    // Times that the kernel counts in ticks may be none in a batch; their ratio is then far off, not unknown.
    let ln = |value: f64| value.max(NEXT_TO_NOTHING).ln();
    let sides: Vec<_> = named.into_iter().zip(test.sides()).map(|(cell, side)| of(cell, side)).collect();
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

fn bounds(test: &Test) -> Bounds {
    Bounds {
        above: test.above.map(Bounded::Strictly),
        below: test.below.map(Bounded::Strictly),
        margin: test.b.is_some().then_some(SAME),
    }
}

/// The direction of a claim that also names a factor: on which side of 1 the ratio lies.
fn direction(test: &Test) -> Option<Bounds> {
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

    #[test]
    fn a_factor_that_is_refuted_fails_even_where_the_direction_is_open() {
        let test = |word, direction| LedgerTest {
            value: Some(1.1),
            direction: Some(direction),
            ..LedgerTest::known_as(word)
        };
        let (yes, no, open) = (ClaimVerdict::Holds, ClaimVerdict::Fails, ClaimVerdict::Open);
        assert_eq!(known(Rule::All, &[test(no, open)]), Some((no, Some(no))));
        assert_eq!(known(Rule::All, &[test(no, yes)]), Some((yes, Some(no))));
        assert_eq!(known(Rule::All, &[test(open, open)]), Some((open, Some(open))));
        let same = ClaimVerdict::NoDifference;
        assert_eq!(known(Rule::All, &[test(no, same)]), Some((no, Some(no))));
        assert_eq!(known(Rule::All, &[test(yes, same)]), Some((yes, Some(yes))));
        assert_eq!(known(Rule::All, &[test(open, same)]), Some((same, Some(open))));
    }

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
        let of = |words: Words<'_>| Decided {
            tests: vec![LedgerTest::known_as(words[0].0)],
            conditions: words
                .iter()
                .map(|(word, size)| Condition {
                    stratum: None,
                    software: Software::Original,
                    word: *word,
                    size: *size,
                    figures: String::new(),
                })
                .collect(),
        };
        let told = |whole: Words<'_>, parts: Words<'_>| {
            let found = decided(of(whole), of(parts), Rule::All);
            (found.word(), found.size(), found.tests[0].word)
        };
        assert_eq!(told(&[(yes, None); 2], &[(yes, None), (open, None)]), (yes, None, yes));
        // One that holds at 5 %, next to one that does not, has been chosen after looking.
        assert_eq!(told(&[(yes, None), (open, None)], &[(open, None); 2]), (open, None, open));
        assert_eq!(told(&[(no, None); 2], &[(open, None); 2]), (open, None, open));
        assert_eq!(told(&[(yes, Some(open)); 2], &[(open, Some(open)); 2]), (yes, Some(open), open));
        let most = decided(of(&[(yes, None)]), of(&[(open, None)]), Rule::Most);
        assert_eq!(most.word(), open, "not every test need hold, so which do is chosen");
    }

    #[test]
    fn claims_follow_from_their_tests() {
        let ledger = |word| LedgerTest { value: Some(1.0), ..LedgerTest::known_as(word) };
        let (yes, no, open) = (ClaimVerdict::Holds, ClaimVerdict::Fails, ClaimVerdict::Open);
        let of = |rule, words: &[ClaimVerdict]| {
            together(rule, &words.iter().map(|word| ledger(*word)).collect::<Vec<_>>(), |test| test.word)
        };
        assert_eq!(of(Rule::All, &[yes, yes]), Some(yes));
        assert_eq!(of(Rule::All, &[yes, open]), Some(open));
        assert_eq!(of(Rule::All, &[yes, no]), Some(ClaimVerdict::Depends));
        assert_eq!(of(Rule::All, &[open, no]), Some(no));
        assert_eq!(of(Rule::Most, &[yes, yes, no]), Some(yes));
        assert_eq!(of(Rule::Most, &[no, no, yes]), Some(no));
        assert_eq!(of(Rule::Most, &[yes, no]), Some(ClaimVerdict::Depends));
        assert_eq!(of(Rule::Most, &[yes, open, open]), Some(open));
        let same = ClaimVerdict::NoDifference;
        assert_eq!(of(Rule::Most, &[same, same, yes]), Some(same));
        assert_eq!(of(Rule::Most, &[same, no]), Some(no));
        assert_eq!(of(Rule::Most, &[same, yes]), Some(ClaimVerdict::Depends));
        assert_eq!(of(Rule::Most, &[same, no, open]), Some(open));
        assert_eq!(of(Rule::All, &[]), None);
        assert_eq!(
            together(Rule::All, &[LedgerTest { value: None, ..ledger(open) }], |test| test.word),
            None
        );
    }
}
