//! Deciding the claims of a published experiment from what was measured here.

use std::collections::BTreeMap;

use ipcost_lab::planning::ALPHA;
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::{Answered, Batches, Needed, Outcome, Question};
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Measure, PlannedCell, Quantity};

use crate::claims::{Bounded, Bounds, Found, Selector, all_hold};
use crate::explain::Sides;
use crate::replicate::{
    Claim, LedgerClaim, LedgerTest, Replication, ReplicationRun, Rule, Software, Test, Word,
};

/// Less than this of anything, for one operation, counts as this much.
const NEXT_TO_NOTHING: f64 = 1e-3;

/// What was measured with one kind of software.
pub struct Measured<'a> {
    /// With which.
    pub software: Software,
    /// The cells of its plan.
    pub cells: &'a [PlannedCell],
    batches: Batches<'a>,
    /// System calls of both processes, by cell, as far as they were traced.
    system_calls: &'a Traced,
}

/// System calls of both processes, by cell.
pub type Traced = BTreeMap<usize, Sides<SystemCalls>>;

impl<'a> Measured<'a> {
    /// What a run measured so far, and what was traced before it.
    pub fn new(software: Software, outcome: &'a Outcome, system_calls: &'a Traced) -> Self {
        Self { software, cells: &outcome.plan.cells, batches: outcome.batches(), system_calls }
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
    for run in &replication.runs {
        let cells = cells_of(run)?;
        for effect in replication.effects.iter().filter(|effect| is_of(effect, run.software)) {
            ensure_beside(effect)?;
            for side in std::iter::once(&effect.a).chain(&effect.b) {
                side.find(&cells).map_err(|reason| format!("effect \"{}\": {reason}", effect.about))?;
            }
        }
        for claim in &replication.claims {
            let tests =
                claim.tests.iter().filter(|test| test.software.is_none_or(|only| only == run.software));
            for test in tests {
                check_test(test).map_err(|reason| format!("claim \"{}\": {reason}", claim.text))?;
                for side in std::iter::once(&test.a).chain(&test.b) {
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
    if test.decides && test.below.is_none() && test.above.is_none() {
        return Err(format!("test \"{about}\" says neither below nor above; give one, or decides = false"));
    }
    Ok(())
}

/// The cells of which a test takes the time of the sender alone, as indices.
pub fn sender_timed(replication: &Replication, cells: &[PlannedCell]) -> Vec<usize> {
    let tests = replication.claims.iter().flat_map(|claim| &claim.tests).chain(&replication.effects);
    let sides = tests.flat_map(|test| std::iter::once(&test.a).chain(&test.b).map(move |side| (test, side)));
    let of_sender = |(test, side): &(&Test, &Selector)| quantity_of(test, side).measure == Measure::Sent;
    let mut found: Vec<usize> =
        sides.filter(of_sender).filter_map(|(_, side)| side.find(cells).ok()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The cells whose system calls tests compare.
pub fn traced_cells(replication: &Replication, software: Software, cells: &[PlannedCell]) -> Vec<usize> {
    let tests = replication.claims.iter().flat_map(|claim| &claim.tests);
    let asking =
        tests.filter(|test| test.same_system_calls && test.software.is_none_or(|only| only == software));
    let mut found: Vec<usize> = asking
        .flat_map(|test| std::iter::once(&test.a).chain(&test.b))
        .filter_map(|side| side.find(cells).ok())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Decides every claim. `alpha` of 5 % is shared over all deciding tests of one kind of software.
pub fn decide(replication: &Replication, measured: &[Measured<'_>]) -> Vec<LedgerClaim> {
    replication.claims.iter().map(|claim| decide_claim(replication, claim, measured)).collect()
}

/// How many tests share the level with one kind of software.
pub(super) fn deciding(replication: &Replication, software: Software) -> usize {
    let tests = replication.claims.iter().flat_map(|claim| &claim.tests);
    let mine = tests.filter(|test| test.software.is_none_or(|only| only == software));
    mine.filter(|test| test.decides && !test.same_system_calls).count()
}

fn decide_claim(replication: &Replication, claim: &Claim, measured: &[Measured<'_>]) -> LedgerClaim {
    let mut tests = Vec::new();
    let mut words = BTreeMap::new();
    for run in measured {
        let mine = |test: &&Test| test.software.is_none_or(|only| only == run.software);
        let alpha = ALPHA / deciding(replication, run.software).max(1) as f64;
        let found: Vec<LedgerTest> =
            claim.tests.iter().filter(mine).map(|test| decide_test(run, test, alpha)).collect();
        if let Some(word) = together(claim.rule, &found) {
            words.insert(run.software.name(), word);
        }
        tests.extend(found);
    }
    let (original, native) =
        (words.get(Software::Original.name()).copied(), words.get(Software::Native.name()).copied());
    LedgerClaim {
        text: claim.text.clone(),
        published: claim.published.clone(),
        word: original.or(native).unwrap_or(Word::Undecided),
        original,
        native,
        behind: claim.behind.clone(),
        limit: claim.limit_on.values().next().cloned(),
        takes: claim.takes.clone(),
        tests,
    }
}

/// The claims of a replication as what one run is asked.
pub struct ClaimsOfRun<'a> {
    /// Whose.
    pub replication: &'a Replication,
    /// The software of the run.
    pub software: Software,
    /// System calls of both processes, by cell, as far as they were traced.
    pub system_calls: &'a Traced,
}

impl Question for ClaimsOfRun<'_> {
    fn answered(&self, so_far: &Outcome) -> Answered {
        answered(self.replication, &Measured::new(self.software, so_far, self.system_calls))
    }
}

/// Open claims need the cells of their deciding tests that are open. Those of other claims stay until they have an interval.
fn answered(replication: &Replication, measured: &Measured<'_>) -> Answered {
    let claims = decide(replication, std::slice::from_ref(measured));
    let mut open = 0;
    let mut cells = Vec::new();
    for (claim, found) in replication.claims.iter().zip(&claims) {
        let word = if measured.software == Software::Original { found.original } else { found.native };
        let is_open = word == Some(Word::Undecided);
        let mut needs_more = false;
        let mine = |test: &&Test| test.software.is_none_or(|only| only == measured.software);
        for (test, found) in
            claim.tests.iter().filter(mine).zip(&found.tests).filter(|(test, _)| test.decides)
        {
            // One that the article's own method contradicts tells all that it ever will with its interval.
            let by_word = is_open && test.contradicted.is_none();
            if found.word == Word::Undecided && (by_word || found.lo.is_none()) {
                needs_more |= is_open;
                let (a, b) = cells_of(test, measured.cells).unzip();
                cells.extend(a.into_iter().chain(b.flatten()));
            }
        }
        open += u32::from(needs_more);
    }
    let of = claims.len() as u32;
    let needed = if open > 0 { Needed::Cells(cells) } else { Needed::Nothing };
    Answered { resolved: of - open, of, needed }
}

/// What preferences of this tool change, with the software that was published; at 5 % for all of them together.
pub fn effects(replication: &Replication, measured: &[Measured<'_>]) -> Vec<LedgerTest> {
    let alpha = ALPHA / replication.effects.len().max(1) as f64;
    let all = measured.iter().flat_map(|run| replication.effects.iter().map(move |test| (run, test)));
    all.filter(|(run, test)| is_of(test, run.software))
        .map(|(run, test)| decide_test(run, test, alpha))
        .collect()
}

/// Whether a run shows an effect: the original software's, where it does not say.
fn is_of(effect: &Test, software: Software) -> bool {
    effect.software.unwrap_or(Software::Original) == software
}

/// What tests say together; `None` where none of them decides, or none could be measured.
fn together(rule: Rule, tests: &[LedgerTest]) -> Option<Word> {
    let deciding: Vec<&LedgerTest> = tests.iter().filter(|test| test.decides).collect();
    if deciding.iter().all(|test| test.value.is_none() && test.detail.is_none()) {
        return None;
    }
    let count = |word: Word| deciding.iter().filter(|test| test.word == word).count();
    let (confirmed, refuted, all) = (count(Word::Confirmed), count(Word::Refuted), deciding.len());
    Some(match rule {
        Rule::All => all_hold(deciding.iter().map(|test| test.word)),
        Rule::Most if 2 * confirmed > all => Word::Confirmed,
        Rule::Most if 2 * refuted > all => Word::Refuted,
        _ => Word::Undecided,
    })
}

fn decide_test(run: &Measured<'_>, test: &Test, alpha: f64) -> LedgerTest {
    let measure = quantity_of(test, &test.a).to_string();
    let mut ledger = LedgerTest {
        about: test.about.clone(),
        software: run.software,
        measure,
        value: None,
        lo: None,
        hi: None,
        range: None,
        claimed: claimed(test),
        word: Word::Undecided,
        decides: test.decides,
        detail: None,
        contradicted: test.contradicted.clone(),
    };
    let Some((a, b)) = cells_of(test, run.cells) else { return ledger };
    if test.same_system_calls {
        let side = test.calls_of.unwrap_or(PeerRole::Client);
        let calls = |cell: usize| run.system_calls.get(&cell).map(|sides| sides.of(side));
        if let Some((a, b)) = calls(a).zip(b.and_then(calls)) {
            ledger.word = if a.same_as(b) { Word::Confirmed } else { Word::Refuted };
            ledger.detail = Some(format!("{a} against {b}"));
        }
        return ledger;
    }
    let values = by_epoch(run, test);
    let shown = |value: f64| if b.is_some() { value.exp() } else { value };
    let Some(found) = values.and_then(|values| Found::of(&values, alpha, shown)) else { return ledger };
    (ledger.value, ledger.range) = (Some(found.value), found.range);
    (ledger.lo, ledger.hi) = found.interval.unzip();
    if test.contradicted.is_none() {
        ledger.word = bounds(test).word(found.interval);
    }
    ledger
}

/// The cells that a test takes its figures from, as indices: of `a`, and of `b` where it compares.
pub fn cells_of(test: &Test, cells: &[PlannedCell]) -> Option<(usize, Option<usize>)> {
    let index = |side: &Selector| side.find(cells).ok();
    let b = match &test.b {
        Some(side) => Some(index(side)?),
        None => None,
    };
    Some((index(&test.a)?, b))
}

/// What a side of a test measures; what the first side measures if it does not say.
pub fn quantity_of(test: &Test, side: &Selector) -> Quantity {
    side.measure.as_ref().or(test.measure.as_ref()).or(test.a.measure.as_ref()).cloned().unwrap_or_default()
}

/// A test's figure in every epoch: the natural logarithm of the ratio, or what a single cell says.
///
/// `None` where a cell or one of its values is missing.
pub fn by_epoch(run: &Measured<'_>, test: &Test) -> Option<Vec<f64>> {
    let cells = run.cells;
    let (a, b) = cells_of(test, cells)?;
    let of = |cell: usize, side: &Selector| {
        let Quantity { measure, per_byte } = quantity_of(test, side);
        let divisor = if per_byte { cells[cell].cell.size as f64 } else { 1.0 };
        run.batches.series(cell, |sample| Some(measure.of(sample)? / divisor))
    };
    let of_a = of(a, &test.a);
    let values = match b.zip(test.b.as_ref()) {
        None => of_a,
        Some((b, side)) => {
            // Times that the kernel counts in ticks may be none in a batch; their ratio is then far off, not unknown.
            let ln = |value: f64| value.max(NEXT_TO_NOTHING).ln();
            of_a.with(&of(b, side), |a, b| ln(a) - ln(b))
        }
    };
    Some(values.medians()).filter(|epochs| !epochs.is_empty())
}

fn bounds(test: &Test) -> Bounds {
    Bounds { above: test.above.map(Bounded::Strictly), below: test.below.map(Bounded::Strictly) }
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
    fn claims_follow_from_their_tests() {
        let ledger = |word| LedgerTest {
            about: String::new(),
            software: Software::Native,
            measure: String::new(),
            value: Some(1.0),
            lo: None,
            hi: None,
            range: None,
            claimed: String::new(),
            word,
            decides: true,
            detail: None,
            contradicted: None,
        };
        let (yes, no, open) = (Word::Confirmed, Word::Refuted, Word::Undecided);
        let of = |rule, words: &[Word]| {
            together(rule, &words.iter().map(|word| ledger(*word)).collect::<Vec<_>>())
        };
        assert_eq!(of(Rule::All, &[yes, yes]), Some(yes));
        assert_eq!(of(Rule::All, &[yes, open]), Some(open));
        assert_eq!(of(Rule::All, &[yes, no]), Some(no));
        assert_eq!(of(Rule::Most, &[yes, yes, no]), Some(yes));
        assert_eq!(of(Rule::Most, &[no, no, yes]), Some(no));
        assert_eq!(of(Rule::Most, &[yes, no]), Some(open));
        assert_eq!(of(Rule::All, &[]), None);
        assert_eq!(together(Rule::All, &[LedgerTest { value: None, ..ledger(open) }]), None);
    }
}
