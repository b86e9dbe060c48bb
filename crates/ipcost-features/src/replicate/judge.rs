//! Deciding the claims of a published experiment from what was measured here.

use std::collections::BTreeMap;

use ipcost_lab::planning::ALPHA;
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::{Answered, Batches, CampaignState, Needed, Question};
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Measure, Placement, Plan, PlannedCell, Point, Ran};
use ipcost_stats::Start;

use crate::claims::{Bounded, ClaimBounds, ClaimedValue};
use crate::explain::Sides;
use crate::replicate::checking::is_of;
use crate::replicate::compared::Article;
use crate::replicate::level::{ClaimField, DecidedFields, known};
use crate::replicate::{
    ArticleClaim, ClaimCondition, ClaimTest, Compared, Condition, Fields, ReplicatedClaim, ReplicatedRun,
    ReplicatedTest, Replication, Software, by_epoch, cells_of, claim_words, conditions, quantity_of, retell,
};
use ipcost_model::ClaimVerdict;

/// What differs by less than this is the same, to a claim that one of two is faster.
pub(super) const SAME: f64 = 0.05;

/// What was measured with one kind of software, as published or under a condition.
pub struct MeasuredSoftware<'a> {
    pub software: Software,
    /// The condition; `None` as published.
    pub condition: Option<&'a Condition>,
    /// The published cells, which tests name.
    published: &'a [PlannedCell],
    /// The cells that were measured.
    pub cells: &'a [PlannedCell],
    pub(super) batches: &'a Batches<'a>,
    /// The looks at its epochs.
    start: &'a Start,
    /// System calls of both processes, by published cell, as far as they were traced.
    system_calls: &'a TracedLevel,
}

/// System calls of both processes, by cell.
pub type TracedLevel = BTreeMap<usize, Sides<SystemCalls>>;

impl<'a> MeasuredSoftware<'a> {
    /// What was measured as published, then under each condition.
    pub fn each(
        (software, published, conditions): (Software, &'a [PlannedCell], &[&'a Condition]),
        plan: &'a Plan,
        batches: &'a Batches<'a>,
        system_calls: &'a TracedLevel,
    ) -> Vec<Self> {
        let (cells, start) = (&plan.cells[..], plan.looks.of_all());
        let under = conditions::published_and(conditions);
        let of = |condition| Self { software, condition, published, cells, batches, start, system_calls };
        under.map(of).collect()
    }

    /// Whether a test is decided here.
    fn takes(&self, test: &ClaimTest) -> bool {
        match self.condition {
            None => test.is_for(self.software),
            Some(condition) => {
                conditions::is_conditional(test, self.software)
                    && conditions::cells_under(condition, test, self.published).is_some()
            }
        }
    }

    /// The cells that a test takes its figures from, as indices, in the order of [`ClaimTest::sides`]; `None` where one was not measured.
    pub(super) fn cells_of(&self, test: &ClaimTest) -> Option<Vec<usize>> {
        let published = cells_of(test, self.published)?;
        let find = |index: usize| {
            let point = conditions::point_under(self.condition, &self.published[index].point);
            let mut all = self.cells.iter();
            all.position(|cell| cell.point == point && cell.unavailable.is_none())
        };
        published.into_iter().map(find).collect()
    }

    /// How long the batches of a test's cells took; `None` where one was not measured.
    fn seconds(&self, test: &ClaimTest) -> Option<f64> {
        let cells = self.cells_of(test)?;
        let samples = cells.iter().flat_map(|cell| self.batches.of(*cell));
        Some(samples.map(|sample| sample.wall_ns as f64 / 1e9).sum())
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

/// Decides every claim, with all fields at one level; and how many of them that is.
pub fn decide(
    replication: &Replication,
    measured: &[MeasuredSoftware<'_>],
    runs: &[ReplicatedRun],
) -> (Vec<ReplicatedClaim>, Fields) {
    let articles: Vec<Article<'_>> =
        measured.iter().map(|run| Article::of(replication, run.published)).collect();
    let asked = asked(replication, measured);
    let judged = JudgedTest::of(&asked, family(replication, measured, &asked));
    let mut claims: Vec<ReplicatedClaim> = replication
        .claims
        .iter()
        .map(|claim| ReplicatedClaim {
            published: claim.published.clone(),
            behind: claim.behind.clone(),
            limit: claim.limit_on.values().next().cloned(),
            takes: claim.takes.clone(),
            ..ReplicatedClaim::of(&claim.text)
        })
        .collect();
    for (index, asked) in asked.iter().enumerate() {
        let compared = Compared::of(asked.test, &articles[asked.run]);
        claims[asked.claim].tests.push(ReplicatedTest { compared, ..judged.test(index) });
    }
    for (claim, decided) in replication.claims.iter().zip(&mut claims) {
        retell(decided, runs);
        decided.why = why(claim, measured, &decided.conditions);
    }
    (claims, judged.fields())
}

/// A test with one kind of software, as published or under a condition.
struct Asked<'a> {
    /// Its claim, as an index.
    claim: usize,
    test: &'a ClaimTest,
    measured: &'a MeasuredSoftware<'a>,
    /// The same as an index.
    run: usize,
    /// What was measured for it; `None` where a cell or a value is missing.
    epochs: Option<Vec<(u32, f64)>>,
    /// Whether it decides, and can.
    is_field: bool,
}

/// Every test of every claim, as far as it is made in one of these runs. The native peer decides only what the original software does not.
fn asked<'a>(replication: &'a Replication, measured: &'a [MeasuredSoftware<'a>]) -> Vec<Asked<'a>> {
    let mut found = Vec::new();
    for (index, claim) in replication.claims.iter().enumerate() {
        let is_decided_by_original = measured.iter().any(|run| {
            run.software == Software::Original
                && claim.tests.iter().any(|test| test.decides && run.takes(test))
        });
        for (run, measured) in measured.iter().enumerate() {
            for test in claim.tests.iter().filter(|test| measured.takes(test)) {
                let decides = measured.software == Software::Original || !is_decided_by_original;
                let is_field = decides && test.decides_by_interval() && measured.cells_of(test).is_some();
                let epochs = if test.same_system_calls { None } else { by_epoch(measured, test) };
                found.push(Asked { claim: index, test, measured, run, epochs, is_field });
            }
        }
    }
    found
}

/// How many fields share the level: those that are measured, and those of claims that only the native peer decides, which is measured
/// after the original software.
fn family(replication: &Replication, measured: &[MeasuredSoftware<'_>], asked: &[Asked<'_>]) -> usize {
    let of = |software: Software| {
        asked.iter().filter(|it| it.is_field && it.measured.software == software).count()
    };
    let (original, native) = (of(Software::Original), of(Software::Native));
    let is_original = measured.iter().any(|run| run.software == Software::Original);
    let only_native = replication.claims.iter().filter(|claim| is_for_native_alone(claim));
    let tests = only_native.flat_map(|claim| &claim.tests);
    let tests = tests.filter(|test| test.decides_by_interval() && test.is_for(Software::Native));
    original + if is_original { native.max(tests.count()) } else { native }
}

/// Tests with what is known of them.
struct JudgedTest<'a> {
    asked: &'a [Asked<'a>],
    /// The field of each test that is one, as an index.
    places: Vec<Option<usize>>,
    fields: Vec<ClaimField>,
    known: DecidedFields,
    family: usize,
}

impl<'a> JudgedTest<'a> {
    fn of(asked: &'a [Asked<'a>], family: usize) -> Self {
        let mut fields = Vec::new();
        let mut places = Vec::new();
        // What the native peer measures comes after the original software.
        let last = asked.iter().filter(|it| it.measured.software == Software::Original);
        let last = last.flat_map(|it| it.epochs.iter().flatten()).map(|(epoch, _)| *epoch).max().unwrap_or(0);
        for it in asked {
            places.push(it.is_field.then_some(fields.len()));
            if it.is_field {
                let mut field = field_of(it.test, it.measured.start, it.epochs.clone().unwrap_or_default());
                if it.measured.software == Software::Native {
                    field.epochs.iter_mut().for_each(|(epoch, _)| *epoch += last);
                }
                fields.push(field);
            }
        }
        let known = known(&fields, family);
        Self { asked, places, fields, known, family }
    }

    /// How many fields there are, and how many are decided.
    fn fields(&self) -> Fields {
        let decided = (0..self.asked.len()).filter(|index| self.places[*index].is_some()).filter(|index| {
            let test = self.test(*index);
            !test.word.is_open() || test.direction.is_some_and(|direction| !direction.is_open())
        });
        Fields { decided: decided.count() as u32, of: self.family as u32, level: self.known.level }
    }

    /// A test with its figures: of a field, those of the epochs that decided it.
    fn test(&self, index: usize) -> ReplicatedTest {
        let Asked { test, measured, epochs, .. } = &self.asked[index];
        let beside = || epochs.as_ref().map(|epochs| field_of(test, measured.start, epochs.clone()));
        let found = match self.places[index] {
            Some(place) => self.fields[place].at(self.known.level, self.known.epochs[place]),
            None => beside().and_then(|field| field.at(self.known.level, field.epochs.len())),
        };
        ledger_test(measured, test, found)
    }
}

/// Whether only the native peer can decide some claim, whatever software is here.
pub(super) fn needs_native(replication: &Replication) -> bool {
    replication.claims.iter().any(is_for_native_alone)
}

fn is_for_native_alone(claim: &ArticleClaim) -> bool {
    let decided_by = |software| claim.tests.iter().any(|test| test.decides && test.is_for(software));
    decided_by(Software::Native) && !decided_by(Software::Original)
}

/// What differs between the cells of the test that tells most: where they ran, how often they slept, what they took.
fn why(
    claim: &ArticleClaim,
    measured: &[MeasuredSoftware<'_>],
    conditions: &[ClaimCondition],
) -> Option<String> {
    let run = measured.iter().find(|run| run.condition.is_none())?;
    let test = claim.tests.iter().find(|test| run.takes(test) && test.decides && test.b.is_some())?;
    let [a, b, ..] = run.cells_of(test)?[..] else { return None };
    let mut parts = Vec::new();
    if let Some((together, apart)) = run.mixture(&[a, b]).filter(|_| claim_words::differ(conditions)) {
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
    let evidence = claim_words::EVIDENCE.into_iter().filter(|_| names[0] != names[1]);
    for (measure, what) in evidence {
        let measure = Measure::named(measure);
        if let Some((of_a, of_b)) = median(a, &measure).zip(median(b, &measure)) {
            parts.extend(claim_words::evidence(what, names, of_a, of_b));
        }
    }
    (!parts.is_empty()).then(|| format!("{} ({})", parts.join("; "), test.about))
}

/// The claims of a replication as what one run is asked.
pub struct ClaimsOfRun<'a> {
    pub replication: &'a Replication,
    /// The software of the run.
    pub software: Software,
    /// The conditions under which cells are measured besides the published ones.
    pub conditions: &'a [&'a Condition],
    /// The published cells, which tests name.
    pub published: &'a [PlannedCell],
    /// System calls of both processes, by published cell, as far as they were traced.
    pub system_calls: &'a TracedLevel,
}

impl Question for ClaimsOfRun<'_> {
    fn answered(&self, so_far: &CampaignState) -> Answered {
        let batches = so_far.batches();
        let measured = MeasuredSoftware::each(
            (self.software, self.published, self.conditions),
            &so_far.plan,
            &batches,
            self.system_calls,
        );
        answered(self.replication, &measured)
    }

    /// The cells of the last condition that has some of its own.
    fn spared(&self, plan: &Plan) -> Vec<usize> {
        let points = |condition: Option<&Condition>| -> Vec<Point> {
            self.published.iter().map(|cell| conditions::point_under(condition, &cell.point)).collect()
        };
        let own = |last: usize| -> Vec<usize> {
            let before: Vec<Point> =
                conditions::published_and(&self.conditions[..last]).flat_map(points).collect();
            let under = points(Some(self.conditions[last]));
            let is_own = |cell: &usize| {
                let point = &plan.cells[*cell].point;
                under.contains(point) && !before.contains(point)
            };
            plan.measurable().filter(is_own).collect()
        };
        (0..self.conditions.len()).rev().map(own).find(|cells| !cells.is_empty()).unwrap_or_default()
    }
}

/// Claims need the cells of their fields that are open: a table has no field that is not worth its time. Tests that decide nothing stay
/// until there are intervals.
fn answered(replication: &Replication, measured: &[MeasuredSoftware<'_>]) -> Answered {
    let asked = asked(replication, measured);
    let judged = JudgedTest::of(&asked, family(replication, measured, &asked));
    let mut cells = Vec::new();
    let mut open = vec![false; replication.claims.len()];
    let mut fields = vec![false; replication.claims.len()];
    for (index, it) in asked.iter().enumerate() {
        // One that the article's own method contradicts tells all that it ever will with its interval.
        let is_needed = match judged.places[index] {
            Some(place) => !judged.known.decided[place],
            None => it.test.contradicted.is_some() && judged.test(index).lo.is_none(),
        };
        fields[it.claim] |= judged.places[index].is_some();
        if is_needed {
            open[it.claim] = true;
            cells.extend(it.measured.cells_of(it.test).into_iter().flatten());
        }
    }
    let count = |of: &[bool]| of.iter().filter(|it| **it).count() as u32;
    let of = count(&fields).max(count(&open));
    let needed = if cells.is_empty() { Needed::Nothing } else { Needed::Cells(cells) };
    Answered { resolved: of - count(&open), of, needed }
}

/// What preferences of this tool change, with the software that was published; at 5 % for all of them together.
pub fn effects(replication: &Replication, measured: &[MeasuredSoftware<'_>]) -> Vec<ReplicatedTest> {
    let alpha = ALPHA / replication.effects.len().max(1) as f64;
    let published = measured.iter().filter(|run| run.condition.is_none());
    let all = published.flat_map(|run| replication.effects.iter().map(move |test| (run, test)));
    all.filter(|(run, test)| is_of(test, run.software))
        .map(|(run, test)| {
            let field = by_epoch(run, test).map(|epochs| field_of(test, run.start, epochs));
            ledger_test(run, test, field.and_then(|field| field.at(alpha, field.epochs.len())))
        })
        .collect()
}

fn field_of(test: &ClaimTest, start: &Start, epochs: Vec<(u32, f64)>) -> ClaimField {
    ClaimField {
        epochs,
        start: start.clone(),
        is_ratio: test.b.is_some(),
        is_count: test.sides().all(|side| quantity_of(test, side).measure.is_count()),
        claimed: bounds(test),
        direction: direction_of(test),
    }
}

/// A test with what its figures say.
fn ledger_test(run: &MeasuredSoftware<'_>, test: &ClaimTest, found: Option<ClaimedValue>) -> ReplicatedTest {
    let measure = quantity_of(test, &test.a).to_string();
    let mut record = ReplicatedTest {
        about: test.about.clone(),
        software: run.software,
        condition: run.condition.map(|condition| condition.name.clone()),
        measure,
        claimed: claimed(test),
        above: test.above,
        below: test.below,
        is_ratio: test.b.is_some(),
        direction: direction_of(test).map(|_| ClaimVerdict::Open),
        decides: test.decides,
        seconds: run.seconds(test),
        contradicted: test.contradicted.clone(),
        ..ReplicatedTest::default()
    };
    if test.same_system_calls {
        let side = test.calls_of.unwrap_or(PeerRole::Client);
        let calls = |cell: usize| run.system_calls.get(&cell).map(|sides| sides.of(side));
        if let Some([a, b, ..]) = cells_of(test, run.published).as_deref()
            && let Some((a, b)) = calls(*a).zip(calls(*b))
        {
            record.word = if a.same_as(b) { ClaimVerdict::Holds } else { ClaimVerdict::Fails };
            record.detail = Some(format!("{a} against {b}"));
        }
        return record;
    }
    let Some(found) = found else { return record };
    (record.value, record.range) = (Some(found.value), found.range);
    (record.lo, record.hi) = found.interval.unzip();
    if test.contradicted.is_none() {
        record.word = bounds(test).decide(found.interval);
        record.direction = direction_of(test).map(|bounds| bounds.decide(found.interval));
    }
    record
}

fn bounds(test: &ClaimTest) -> ClaimBounds {
    ClaimBounds {
        above: test.above.map(Bounded::Strictly),
        below: test.below.map(Bounded::Strictly),
        margin: test.b.is_some().then_some(SAME),
    }
}

/// The direction of a claim that also names a factor: on which side of 1 the ratio lies.
fn direction_of(test: &ClaimTest) -> Option<ClaimBounds> {
    let of_ratio = ClaimBounds { margin: Some(SAME), ..ClaimBounds::default() };
    let above = || ClaimBounds { above: Some(Bounded::Strictly(1.0)), ..of_ratio };
    let below = || ClaimBounds { below: Some(Bounded::Strictly(1.0)), ..of_ratio };
    test.b.as_ref()?;
    match (test.above, test.below) {
        (Some(least), _) if least > 1.0 => Some(above()),
        (_, Some(most)) if most < 1.0 => Some(below()),
        (Some(1.0), Some(_)) => Some(above()),
        (Some(_), Some(1.0)) => Some(below()),
        _ => None,
    }
}

fn claimed(test: &ClaimTest) -> String {
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
    use std::path::Path;

    use super::*;
    use crate::replicate::{ReplicationRecord, catalogue};

    /// What is known of "the first is faster" once it is known, or at the end, in so many runs out of 100.
    fn told(truth: f64, noise: f64, epochs: usize, seed: u64) -> BTreeMap<&'static str, u32> {
        const SIZES: &str =
            "about = \"\"\nbelow = 1.0\n[a]\ntransport = \"unix\"\n[b]\ntransport = \"tcp\"\n";
        let test: ClaimTest = toml::from_str(SIZES).unwrap();
        let mut random = ipcost_stats::Random::new(seed);
        let mut words = BTreeMap::new();
        for _ in 0..100 {
            let values: Vec<f64> = (0..epochs).map(|_| truth.ln() + noise * random.normal()).collect();
            let after = |epochs: usize| {
                let values = (1..).zip(values[..epochs].iter().copied()).collect();
                let found = field_of(&test, &Start::ALWAYS, values).at(ALPHA, epochs);
                bounds(&test).decide(found.and_then(|found| found.interval))
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

    /// Five experiments on two cores, each condition in a run of its own: what decides, and how much of it is known.
    fn five() -> Vec<(String, Vec<bool>, Vec<ReplicatedTest>, Fields)> {
        use std::io::Read;

        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/five-intel");
        let all = ["celluloid-connect", "c-stream", "go-pingpong", "socat-bulk", "redis-incr"];
        let of = |name: &&str| {
            let mut bytes = Vec::new();
            let file = std::fs::File::open(folder.join(format!("{name}.json.gz"))).unwrap();
            flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
            let document = ipcost_model::read_document(&bytes).unwrap();
            let record = crate::answers::answered_as::<ReplicationRecord>(document).unwrap().unwrap();
            let replication =
                catalogue::all().unwrap().into_iter().find(|it| it.id == *name).unwrap().on("linux");
            let mut documents = std::iter::once(&record.document).chain(&record.document.runs);
            let runs: Vec<&ReplicatedRun> = record.runs.iter().filter(|run| run.epochs > 0).collect();
            let cells: Vec<Vec<PlannedCell>> = documents.clone().map(crate::check::recorded_cells).collect();
            let batches: Vec<Batches<'_>> =
                documents.by_ref().map(|it| Batches::new(&it.samples, it.cells.len())).collect();
            let (untraced, looks) = (TracedLevel::new(), ipcost_stats::Looks::NONE);
            let published = |software: Software| {
                runs.iter().position(|run| run.software == software && run.condition.is_none()).unwrap()
            };
            let measured: Vec<MeasuredSoftware<'_>> = runs
                .iter()
                .enumerate()
                .map(|(index, run)| MeasuredSoftware {
                    software: run.software,
                    condition: replication
                        .conditions
                        .iter()
                        .find(|it| Some(&it.name) == run.condition.as_ref()),
                    published: &cells[published(run.software)],
                    cells: &cells[index],
                    batches: &batches[index],
                    start: looks.of_all(),
                    system_calls: &untraced,
                })
                .collect();
            let asked = asked(&replication, &measured);
            let judged = JudgedTest::of(&asked, family(&replication, &measured, &asked));
            let is_field = |index: &usize| judged.places[*index].is_some();
            let tests = (0..asked.len()).filter(is_field).map(|index| judged.test(index)).collect();
            ((*name).to_owned(), judged.known.decided.clone(), tests, judged.fields())
        };
        all.iter().map(of).collect()
    }

    #[test]
    fn no_field_that_left_as_decided_is_open_and_most_are_decided() {
        let (mut decided, mut of) = (0, 0);
        for (name, left, tests, fields) in five() {
            for (left, test) in left.iter().zip(&tests) {
                assert!(!left || !test.word.is_open(), "{name}: {test:?}");
            }
            eprintln!("{name}: {fields:?}");
            (decided, of) = (decided + fields.decided, of + fields.of);
        }
        // Of 295, 71 were, while each claim had a level of its own for fields that leave, and another for those that stay.
        assert!(decided * 10 > of * 7, "{decided} of {of}");
    }
}
