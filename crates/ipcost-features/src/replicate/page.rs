//! Ledgers of replications as pages.

use ipcost_model::{FigurePanel, PublishedFigure};
use ipcost_report::page::{
    Block, Claim, Column, Field, Figure, Frame, Page, Paragraph, Section, Table, Tone, Value,
};
use ipcost_report::picture::{
    Chart, claims_reading, draw_claims, draw_published, not_measured, plain_claims, plain_published,
    published_reading,
};

use super::words::{congestion, counts, how, notes, remarks, word};
use super::{Ledger, LedgerClaim, LedgerRun, LedgerTest, catalogue, claims};

/// What is known of the claims of an experiment, and every test.
pub fn page(ledger: &Ledger) -> Page<'_> {
    let mut page = Page::new(format!("{}: {}", ledger.id, ledger.question));
    page.about.extend(ledger.source.iter().map(|source| format!("Source: {source}")));
    page.about.extend(congestion(ledger));
    page.answer.push(Paragraph { text: counts(std::slice::from_ref(ledger)), tone: Tone::Strong }.into());
    let is_whole = |run: &&LedgerRun| run.missing.is_empty();
    let (whole, missing): (Vec<&LedgerRun>, Vec<&LedgerRun>) = ledger.runs.iter().partition(is_whole);
    let lines = missing.into_iter().flat_map(|run| {
        let missing = run.missing.iter().map(|missing| Paragraph::plain(format!("missing: {missing}")));
        std::iter::once(Paragraph::plain(how(run))).chain(missing)
    });
    let lines: Vec<Paragraph> = lines.collect();
    page.blocks.extend((!lines.is_empty()).then_some(Block::List(lines)));
    page.blocks.push(measured(ledger, &whole).folded());
    let of_claim = |(number, claim): (usize, &LedgerClaim)| {
        let tested = tested(claim).map(Section::folded);
        Section::new(&format!("claim-{number}"), "").with(asserted(number, claim)).with_all(tested).open()
    };
    let all = (1..).zip(&ledger.claims).map(of_claim);
    page.blocks.push(Section::new("claims", "What was claimed, and what holds").with_all(all).open());
    page.blocks.extend(ledger.figure.as_ref().map(|figure| published(ledger, figure).open()));
    let figure = Figure::new(claims_reading(&claims(ledger)), |frame| match frame {
        Frame::Page => plain_claims(&claims(ledger)),
        Frame::File(background) => draw_claims(&claims(ledger), &ledger.envelope, background),
    })
    .named(Chart::Claims);
    page.blocks.push(Section::new("conditions", "Every claim by condition").with(figure).open());
    page.hint = "ipcost show RUN --wide shows every test.";
    page.data = Some(data(ledger));
    page
}

/// What is known of the claims of several experiments, and who was right of articles that contradict one another.
pub fn overview(ledgers: &[Ledger]) -> Page<'_> {
    let columns = [Column::text("claim"), Column::text(""), Column::text("here")];
    let row = |name: String, claim: &LedgerClaim| {
        let verdict = Field::from(Value::Name(word(claim))).toned(claim.word.tone());
        vec![Value::Name(name).into(), verdict, Value::Brief(claim.sentence.clone()).into()]
    };
    let find = |side: &catalogue::ArticleAnswer| {
        let ledger = ledgers.iter().find(|ledger| ledger.id == side.experiment)?;
        let claim = ledger.claims.get(side.claim.checked_sub(1)?)?;
        Some(row(format!("{} ({} {})", side.says, side.experiment, side.claim), claim))
    };
    let right = catalogue::contradictions().into_iter().filter_map(|contradiction| {
        let rows: Option<Vec<Vec<Field>>> = contradiction.sides.iter().map(find).collect();
        let untitled = columns.clone().map(|column| column.titled(String::new()));
        Some(Section::new("", contradiction.question).with(Table::new(&untitled).rows(rows?)).open())
    });
    let mut page = Page::new("What was claimed, and what holds");
    page.answer.push(Paragraph { text: counts(ledgers), tone: Tone::Strong }.into());
    page.blocks.push(Section::new("right", "Who was right").with_all(right).open());
    let rows = ledgers.iter().flat_map(|ledger| {
        (1..).zip(&ledger.claims).map(move |(number, claim): (usize, _)| (ledger, number, claim))
    });
    let rows = rows.map(|(ledger, number, claim)| row(format!("{} {number}", ledger.id), claim));
    page.blocks.push(Section::new("claims", "").with(Table::new(&columns).rows(rows)).open());
    page
}

/// Where it was published, and how it was measured here.
fn measured<'a>(ledger: &Ledger, runs: &[&LedgerRun]) -> Section<'a> {
    let published = [format!("Published on: {}", ledger.machine)].into_iter();
    let differs = ledger.differs.iter().map(|differs| format!("What differs here: {differs}"));
    let lines = published.chain(differs).chain(runs.iter().map(|run| how(run)));
    let lines = Block::List(lines.map(Paragraph::plain).collect());
    let section = Section::new("", "How it was published, and how it was measured here").with(lines);
    match ledger.effects.is_empty() {
        true => section,
        false => section.with(
            Section::new("", "Not as published, and what it changes").with(tests(&ledger.effects)).open(),
        ),
    }
}

fn asserted(number: usize, claim: &LedgerClaim) -> Claim {
    Claim {
        text: format!("{number}. “{}”", claim.text),
        known: claim.word.known(),
        said: word(claim),
        more: notes(claim).into_iter().map(|(what, note)| format!("{what}: {note}")).collect(),
        unfolded: true,
    }
}

/// The tests of a claim, if there are any.
fn tested<'a>(claim: &LedgerClaim) -> Option<Section<'a>> {
    let section = Section::new("", "Every test in numbers")
        .with(tests(&claim.tests))
        .with_all(remarks(claim).into_iter().map(Paragraph::quiet));
    (!claim.tests.is_empty()).then_some(section)
}

fn tests(tests: &[LedgerTest]) -> Table {
    const COLUMNS: [Column; 6] = [
        Column::text("condition"),
        Column::text("compared"),
        Column::number("here"),
        Column::text(""),
        Column::number("claimed"),
        Column::text(""),
    ];
    // A row without an interval says nothing, and calls have lines of their own.
    let is_shown = |test: &&LedgerTest| test.lo.is_some() || test.hi.is_some() || test.range.is_some();
    let row = |test: &LedgerTest| {
        let held = test.value.map(|value| match test.range {
            Some((least, most)) if test.lo.is_none() || test.hi.is_none() => Value::Range(value, least, most),
            _ => Value::Interval(value, test.lo, test.hi),
        });
        let verdict = match test.decides {
            true => Field::from(test.word.name()).toned(test.word.tone()),
            false => Field::from("not deciding").toned(Tone::Quiet),
        };
        vec![
            Field::from(test.stratum.as_deref().unwrap_or("as published")).toned(Tone::Quiet),
            test.about.clone().into(),
            Field::maybe(test.value.map(Value::Ratio)),
            Field::maybe(held),
            test.claimed.clone().into(),
            verdict,
        ]
    };
    Table::new(&COLUMNS).rows(tests.iter().filter(is_shown).map(row))
}

/// The published figures next to the measured ones.
fn published<'a>(ledger: &'a Ledger, figure: &'a PublishedFigure) -> Section<'a> {
    let notes = figure.note.iter().cloned().chain(not_measured(figure)).map(|note| format!(" {note}"));
    let reading = format!("{}. {}{}", figure.title, published_reading(figure), notes.collect::<String>());
    let drawn = Figure::new(reading, |frame| match frame {
        Frame::Page => plain_published(figure),
        Frame::File(background) => draw_published(figure, &ledger.envelope, background),
    });
    let numbers = Section::new("", "The numbers").with_all(figure.panels.iter().map(numbers));
    Section::new("published", "Published and measured").with(drawn).with(numbers.folded())
}

fn numbers<'a>(panel: &FigurePanel) -> Block<'a> {
    const COLUMNS: [Column; 5] = [
        Column::text(""),
        Column::text("series"),
        Column::number("published"),
        Column::number("measured"),
        Column::text(""),
    ];
    let title = match panel.title.as_str() {
        "" => panel.unit.to_string(),
        title => format!("{title}, {}", panel.unit),
    };
    let rows = panel.places.iter().enumerate().flat_map(|(index, place)| {
        panel.series.iter().filter_map(move |series| {
            let value = series.values.get(index)?;
            let number = |number: Option<f64>, none: &str| match number {
                Some(number) => Value::Number(number).into(),
                None => Field::from(none),
            };
            let held = value.measured.map(|it| Value::Interval(it.median, it.lo, it.hi));
            Some(vec![
                Value::Name(place.label.clone()).into(),
                Value::Name(series.label.clone()).into(),
                number(value.published, "not known"),
                number(value.measured.map(|it| it.median), "not measured"),
                Field::maybe(held),
            ])
        })
    });
    Section::new("", title).with(Table::new(&COLUMNS).rows(rows)).open()
}

/// Every test of every claim, for other programs.
fn data(ledger: &Ledger) -> Table {
    const COLUMNS: [Column; 12] = [
        Column::number("claim"),
        Column::text("condition"),
        Column::text("software"),
        Column::text("compared"),
        Column::text("measure"),
        Column::number("value"),
        Column::number("value_lo"),
        Column::number("value_hi"),
        Column::number("above"),
        Column::number("below"),
        Column::text("decides"),
        Column::text("verdict"),
    ];
    let row = |number: u64, test: &LedgerTest| {
        let maybe = |number: Option<f64>| Field::maybe(number.map(Value::Number));
        let (above, below) = test.bounds();
        vec![
            Value::Count(number).into(),
            test.stratum.as_deref().unwrap_or("as published").into(),
            test.software.to_string().into(),
            test.about.clone().into(),
            test.measure.clone().into(),
            maybe(test.value),
            maybe(test.lo),
            maybe(test.hi),
            maybe(above),
            maybe(below),
            Value::Flag(test.decides).into(),
            test.word.name().into(),
        ]
    };
    let claims = (1..).zip(&ledger.claims);
    Table::new(&COLUMNS)
        .rows(claims.flat_map(|(number, claim)| claim.tests.iter().map(move |test| row(number, test))))
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Envelope, Host, Tool};

    use super::*;
    use crate::claims::ClaimVerdict;
    use crate::replicate::{LEDGER_SCHEMA, Software, Source};

    #[test]
    fn a_ledger_shows_what_was_published_and_what_holds() {
        let test = |software, value: Option<f64>, word, decides| LedgerTest {
            stratum: None,
            direction: None,
            about: "client CPU, tcp over unix".into(),
            software,
            measure: "client_cpu".into(),
            value,
            lo: value.map(|value| value * 0.9),
            hi: value.map(|value| value * 1.1),
            range: None,
            above: None,
            below: None,
            is_ratio: true,
            claimed: "15 to 24".into(),
            word,
            decides,
            detail: None,
            contradicted: None,
        };
        let run = |software, epochs, missing: &[&str]| LedgerRun {
            stratum: None,
            software,
            about: "Ruby".into(),
            elapsed_s: 61.0,
            epochs,
            missing: missing.iter().map(|text| (*text).to_owned()).collect(),
            own_network: false,
        };
        let ledger = Ledger {
            envelope: Envelope {
                schema: LEDGER_SCHEMA.into(),
                tool: Tool::of_version("0"),
                host: Host::default(),
                started: String::new(),
            },
            id: "celluloid-connect".into(),
            question: "Which is faster?".into(),
            machine: "a laptop".into(),
            source: Some(Source {
                author: Some("A. Author".into()),
                title: "Sockets".into(),
                site: "a blog".into(),
                year: Some(2018),
                url: Some("https://example.org".into()),
            }),
            differs: Some("Ruby is newer.".into()),
            seed: 1,
            figure: None,
            effects: vec![LedgerTest {
                about: "placement apart against free".into(),
                claimed: String::new(),
                ..test(Software::Original, Some(1.02), ClaimVerdict::Open, false)
            }],
            runs: vec![
                run(Software::Original, 0, &["ruby is not installed (package ruby)"]),
                run(Software::Native, 25, &[]),
            ],
            claims: vec![LedgerClaim {
                text: "The difference measured was a factor of 19.".into(),
                published: Some("48.27 against 2.53".into()),
                word: ClaimVerdict::Holds,
                size: Some(ClaimVerdict::Fails),
                sentence: "in direction only, the factor differs: as published: 2.60 (2.34–2.86)".into(),
                advice: None,
                why: Some("tcp 2.00 sleeps an operation, unix 1.00".into()),
                conditions: Vec::new(),
                behind: None,
                limit: Some("on Linux, with FIFOs".into()),
                takes: Some("a machine with Windows".into()),
                tests: vec![
                    test(Software::Original, None, ClaimVerdict::Open, true),
                    test(Software::Native, Some(2.6), ClaimVerdict::Fails, true),
                    test(Software::Native, Some(0.0), ClaimVerdict::Open, false),
                ],
            }],
        };
        let plain =
            |page: Page<'_>, details| anstream::adapter::strip_str(&page.terminal(details, 100)).to_string();
        let ledgers = std::slice::from_ref(&ledger);
        insta::assert_snapshot!("brief", plain(page(&ledger), false));
        insta::assert_snapshot!("whole", plain(page(&ledger), true));
        insta::assert_snapshot!("markdown", page(&ledger).markdown());
        insta::assert_snapshot!("csv", page(&ledger).csv());
        insta::assert_snapshot!("overview", plain(overview(ledgers), false));
        let html = page(&ledger).html();
        assert!(
            html.contains("What was claimed, and what holds") && html.contains("<g class=\"test\""),
            "{html}"
        );
        assert!(html.contains("<div id=\"claim-1\">"), "links lead to it: {html}");
    }
}
