//! Ledgers of replications as pages.

use ipcost_model::{ClaimVerdict, Document, FigurePanel, PublishedFigure};
use ipcost_report::page::{
    Block, ClaimBlock, Column, Field, FieldValue, Frame, Page, PageFigure, Paragraph, Section, Table, Tone,
};
use ipcost_report::picture::{
    CLAIMS_READING, Chart, PictureError, draw_claims, draw_published, not_measured, plain_claim,
    plain_published, published_reading,
};

use super::claim_words::{line, measure_text, shown, value};
use super::generalise::merged;
use super::table::{ClaimTable, Part, Under, shown_under, span};
use super::words::{brief, congestion, counts, how, notes, remarks, word};
use super::{ReplicatedClaim, ReplicatedRun, ReplicatedTest, ReplicationRecord, claims, reader_questions};
use crate::answer::AnsweredRun;
use ipcost_report::claims::FigureClaim as ClaimDrawn;

/// How a word follows from its table.
const LEGEND: &str = "✓ holds, ✗ fails, · no difference that matters, ? open; of two marks the first is of the direction, the second of the factor. A claim holds or fails if a field does and none says otherwise; it depends if two do whose intervals are apart. Of a row with both placements, what was measured as published counts for nothing: it is a mixture of the two.";
/// The longest line of a summary.
const LINE: usize = 100;
/// Between columns of a summary.
const GAP: usize = 2;

/// What is known of the claims of an experiment, and every test.
pub fn page<'a>(record: &'a ReplicationRecord, document: &'a Document) -> Page<'a> {
    let mut page = Page::new(format!("{}: {}", record.id, record.question));
    page.about.extend(record.source.iter().map(|source| format!("Source: {source}")));
    page.about.extend(congestion(record, document));
    page.answer.push(Paragraph { text: counts(&[record]), tone: Tone::Strong }.into());
    let is_whole = |run: &&ReplicatedRun| run.missing.is_empty();
    let (whole, missing): (Vec<&ReplicatedRun>, Vec<&ReplicatedRun>) = record.runs.iter().partition(is_whole);
    let lines = missing.into_iter().flat_map(|run| {
        let missing = run.missing.iter().map(|missing| Paragraph::plain(format!("missing: {missing}")));
        std::iter::once(Paragraph::plain(how(run))).chain(missing)
    });
    let lines: Vec<Paragraph> = lines.collect();
    page.blocks.extend((!lines.is_empty()).then_some(Block::List(lines)));
    page.blocks.push(measured(record, &whole).folded());
    let all_drawn = claims(record, document);
    let mut unread = true;
    let of_claim = |((number, claim), drawn): ((usize, &ReplicatedClaim), &ClaimDrawn)| {
        let tested = tested(claim).map(Section::folded);
        let section = Section::new(&format!("claim-{number}"), "").with(asserted(number, claim));
        let table = table(claim, &record.runs);
        // Below the first table.
        let legend = (number == 1 && table.is_some()).then(|| Paragraph::quiet(LEGEND));
        let section = match drawn.multiples().is_some() {
            true => {
                let drawn = drawn.clone();
                // How to read them is said once.
                let reading = if std::mem::take(&mut unread) { CLAIMS_READING } else { "" };
                let chart = PageFigure::new(reading, move |_| plain_claim(&drawn)).of_page();
                let table = table.map(|table| Table { folded: "As a table", ..table });
                section.with(chart).with_all(table)
            }
            false => section.with_all(table),
        };
        section.with_all(legend).with_all(tested).open()
    };
    let all = (1..).zip(&record.claims).zip(&all_drawn.claims).map(of_claim);
    page.blocks.push(Section::new("claims", "What was claimed, and what holds").with_all(all).open());
    page.blocks.extend(record.figure.as_ref().map(|figure| published(figure, document).open()));
    // A page has the chart of each claim beneath it.
    let figure = PageFigure::new("", move |frame| match frame {
        Frame::Page => Err(PictureError::lacks(Chart::Claims)),
        Frame::File(background) => draw_claims(&all_drawn, document, background),
    });
    page.blocks.push(figure.named(Chart::Claims).into());
    page.hint = "ipcost show last --details shows every test.";
    page.data = Some(data(record));
    page
}

/// What is known of the claims of several experiments, and who was right of articles that contradict one another.
pub fn overview(records: &[AnsweredRun<ReplicationRecord>]) -> Page<'_> {
    let each = records.iter().map(|record| {
        let Page { title, blocks, .. } = page(record, &record.document);
        Section::new(&record.id, title).with_all(blocks).folded()
    });
    let mut page = Page::new("What was claimed, and what holds");
    let questions = reader_questions::answers(records).into_iter().map(|answer| {
        let said = [answer.here, answer.articles].map(Paragraph::plain);
        Section::new("", answer.title).with(Block::List(said.into())).open()
    });
    page.answer.push(Paragraph { text: counts(records), tone: Tone::Strong }.into());
    page.answer.push(Section::new("right", "Who was right").with_all(questions).open());
    page.blocks.push(Section::new("claims", "").with(summary(records)).open());
    page.blocks.push(Section::new("experiments", "Claim by claim").with_all(each).open());
    page.hint = "--details shows every claim, with its table.";
    page
}

/// What is known of each claim of an experiment, in a word or two, and what is so here, in a sentence.
pub fn claims_in_lines(record: &ReplicationRecord) -> Vec<(String, String)> {
    record.claims.iter().map(|claim| (word(claim), claim.sentence.clone())).collect()
}

/// A line a claim, each complete in itself.
fn summary(records: &[AnsweredRun<ReplicationRecord>]) -> Table {
    let columns = [Column::text("claim"), Column::text(""), Column::text("here")];
    let all = || {
        records.iter().flat_map(|record| {
            (1..).zip(&record.claims).map(move |(number, claim)| (&**record, number, claim))
        })
    };
    let name = |record: &ReplicationRecord, number: i32| format!("{} {number}", record.id);
    let longest = |of: &dyn Fn((&ReplicationRecord, i32, &ReplicatedClaim)) -> String| {
        all().map(of).map(|text| text.chars().count()).max().unwrap_or_default()
    };
    let taken = longest(&|(record, number, _)| name(record, number)) + longest(&|(.., claim)| brief(claim));
    let room = LINE.saturating_sub(taken + 2 * GAP);
    let row = |(record, number, claim): (&ReplicationRecord, i32, &ReplicatedClaim)| {
        let verdict = Field::from(FieldValue::Name(brief(claim))).toned(claim.word);
        let said = line(claim, &record.runs, room);
        vec![FieldValue::Name(name(record, number)).into(), verdict, FieldValue::Name(said).into()]
    };
    Table::new(&columns).rows(all().map(row))
}

/// The table of a claim: a row for each load, a column for each condition.
fn table(claim: &ReplicatedClaim, runs: &[ReplicatedRun]) -> Option<Table> {
    let ClaimTable { columns, parts } = ClaimTable::of(claim, runs);
    let parts: Vec<Part<'_>> =
        parts.into_iter().filter(|part| part.tests.iter().flatten().any(Option::is_some)).collect();
    if columns.is_empty() || parts.is_empty() {
        return None;
    }
    let has_published =
        parts.iter().any(|part| (0..part.loads.len()).any(|row| part.published((row, row)).is_some()));
    let mut titles = vec![Column::text(""), Column::text("")];
    titles.extend(has_published.then(|| Column::number("article")));
    let under = |(index, under): (usize, &Under)| {
        // What sets two things at once goes first where there is no room; the first condition stays.
        let rank = if under.sets.len() > 1 { 2 + index as u8 } else { index.min(1) as u8 };
        Column::number("").titled(shown_under(under)).dropped(rank)
    };
    titles.extend(columns.iter().enumerate().map(under));
    let mut rows = Vec::new();
    for part in &parts {
        let name = match &part.sides {
            _ if part.is_by_about => part.about.to_owned(),
            (a, b) if part.is_ratio() => format!("{} over {}", shown(&a[0]), shown(&b[0])),
            (a, _) if part.pattern.is_some() => format!("{}, {}", measure_text(part.measure), shown(&a[0])),
            _ => part.about.to_owned(),
        };
        for (number, range) in merged(&known(part)).into_iter().enumerate() {
            let says_load = part.has_load(range.0);
            let mut row: Vec<Field> = vec![
                FieldValue::Name(if number == 0 { name.clone() } else { String::new() }).into(),
                FieldValue::Name(if says_load { part.loads(range) } else { String::new() }).into(),
            ];
            if has_published {
                row.push(part.published(range).map_or_else(Field::default, |it| bare(part, it).into()));
            }
            row.extend((0..columns.len()).map(|column| field(part, range, column)));
            rows.push(row);
        }
    }
    Some(Table::new(&titles).rows(rows))
}

/// What is known of each row, of the direction and of all of it, by condition.
fn known(part: &Part<'_>) -> Vec<Vec<impl PartialEq + use<>>> {
    let of_row = |row: &Vec<Option<&ReplicatedTest>>| {
        row.iter().map(|test| test.map(|test| (test.word, test.direction))).collect()
    };
    part.tests.iter().map(of_row).collect()
}

/// What was measured for neighbouring rows under a condition, and what is known of the claim there.
fn field(part: &Part<'_>, (first, last): (usize, usize), column: usize) -> Field {
    let tests: Vec<&ReplicatedTest> = (first..=last).filter_map(|row| part.tests[row][column]).collect();
    let Some(test) = tests.iter().find(|test| test.value.is_some() || test.detail.is_some()) else {
        return Field::default();
    };
    let held = span(tests.iter().filter_map(|test| test.value));
    let held = held.map_or_else(String::new, |values| format!("{} ", bare(part, values)));
    // Of a claim that names a factor the direction comes first.
    let direction = test.direction.map_or("", ClaimVerdict::mark);
    Field::from(FieldValue::Name(format!("{held}{direction}{}", test.word.mark()))).toned(test.word)
}

/// Figures of a column that says itself what they are.
fn bare(part: &Part<'_>, values: (f64, f64)) -> String {
    value(part, values).trim_end_matches(" ×").to_owned()
}

/// Where it was published, and how it was measured here.
fn measured<'a>(record: &ReplicationRecord, runs: &[&ReplicatedRun]) -> Section<'a> {
    let published = [format!("Published on: {}", record.machine)].into_iter();
    let differs = record.differs.iter().map(|differs| format!("What differs here: {differs}"));
    let lines = published.chain(differs).chain(runs.iter().map(|run| how(run)));
    let lines = Block::List(lines.map(Paragraph::plain).collect());
    let section = Section::new("", "How it was published, and how it was measured here").with(lines);
    match record.effects.is_empty() {
        true => section,
        false => section.with(
            Section::new("", "Not as published, and what it changes").with(tests(&record.effects)).open(),
        ),
    }
}

/// What a reader of the table wants to know first.
const FIRST: [&str; 5] = ["here", "depends on", "published", "what to do", "to decide it"];

fn noted((what, note): (&str, String)) -> String {
    format!("{what}: {note}")
}

fn asserted(number: usize, claim: &ReplicatedClaim) -> ClaimBlock {
    ClaimBlock {
        text: format!("{number}. “{}”", claim.text),
        known: claim.word,
        said: word(claim),
        more: notes(claim).into_iter().filter(|(what, _)| FIRST.contains(what)).map(noted).collect(),
        unfolded: true,
    }
}

/// What else is to be said of a claim, and its tests.
fn tested<'a>(claim: &ReplicatedClaim) -> Option<Section<'a>> {
    let more = notes(claim).into_iter().filter(|(what, _)| !FIRST.contains(what)).map(noted);
    let more: Vec<Paragraph> = more.map(Paragraph::plain).collect();
    let section = match more.is_empty() {
        true => Section::new("", "Every test in numbers"),
        false => Section::new("", "Every test in numbers, and what lies behind it").with(Block::List(more)),
    };
    let section = match claim.tests.is_empty() {
        true => section,
        false => section.with(tests(&claim.tests)),
    };
    let section = section.with_all(remarks(claim).into_iter().map(Paragraph::quiet));
    (!section.blocks.is_empty()).then_some(section)
}

fn tests(tests: &[ReplicatedTest]) -> Table {
    const COLUMNS: [Column; 6] = [
        Column::text("condition"),
        Column::text("compared"),
        Column::number("here"),
        Column::text(""),
        Column::number("claimed"),
        Column::text(""),
    ];
    // A row without an interval says nothing, and calls have lines of their own.
    let is_shown = |test: &&ReplicatedTest| test.lo.is_some() || test.hi.is_some() || test.range.is_some();
    let row = |test: &ReplicatedTest| {
        let held = test.value.map(|value| match test.range {
            Some((least, most)) if test.lo.is_none() || test.hi.is_none() => {
                FieldValue::Range(value, least, most)
            }
            _ => FieldValue::Interval(value, test.lo, test.hi),
        });
        let verdict = match test.decides {
            true => Field::from(test.word.name()).toned(test.word),
            false => Field::from("not deciding").toned(Tone::Quiet),
        };
        vec![
            Field::from(test.condition.as_deref().unwrap_or("as published")).toned(Tone::Quiet),
            test.about.clone().into(),
            Field::maybe(test.value.map(FieldValue::Ratio)),
            Field::maybe(held),
            test.claimed.clone().into(),
            verdict,
        ]
    };
    Table::new(&COLUMNS).rows(tests.iter().filter(is_shown).map(row))
}

/// The published figures next to the measured ones.
fn published<'a>(figure: &'a PublishedFigure, document: &'a Document) -> Section<'a> {
    let notes = figure.note.iter().cloned().chain(not_measured(figure)).map(|note| format!(" {note}"));
    let reading = format!("{}. {}{}", figure.title, published_reading(figure), notes.collect::<String>());
    let drawn = PageFigure::new(reading, move |frame| match frame {
        Frame::Page => plain_published(figure),
        Frame::File(background) => draw_published(figure, document, background),
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
                Some(number) => FieldValue::Number(number).into(),
                None => Field::from(none),
            };
            let held = value.measured.map(|it| FieldValue::Interval(it.median, it.lo, it.hi));
            Some(vec![
                FieldValue::Name(place.label.clone()).into(),
                FieldValue::Name(series.label.clone()).into(),
                number(value.published, "not known"),
                number(value.measured.map(|it| it.median), "not measured"),
                Field::maybe(held),
            ])
        })
    });
    Section::new("", title).with(Table::new(&COLUMNS).rows(rows)).open()
}

/// Every test of every claim, for other programs.
fn data(record: &ReplicationRecord) -> Table {
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
    let row = |number: u64, test: &ReplicatedTest| {
        let maybe = |number: Option<f64>| Field::maybe(number.map(FieldValue::Number));
        let (above, below) = (test.above, test.below);
        vec![
            FieldValue::Count(number).into(),
            test.condition.as_deref().unwrap_or("as published").into(),
            test.software.to_string().into(),
            test.about.clone().into(),
            test.measure.clone().into(),
            maybe(test.value),
            maybe(test.lo),
            maybe(test.hi),
            maybe(above),
            maybe(below),
            FieldValue::Flag(test.decides).into(),
            test.word.name().into(),
        ]
    };
    let claims = (1..).zip(&record.claims);
    Table::new(&COLUMNS)
        .rows(claims.flat_map(|(number, claim)| claim.tests.iter().map(move |test| row(number, test))))
}

#[cfg(test)]
mod tests {
    use ipcost_model::read_documents;
    use ipcost_report::fixture;

    use super::*;
    use crate::answers::answered_as;
    use crate::replicate::{REPLICATION_SCHEMA, Software, SourceFile};

    /// Five articles that contradict one another, measured on an idle machine of two cores.
    fn five() -> Vec<AnsweredRun<ReplicationRecord>> {
        let documents = read_documents(include_bytes!("../../tests/fixtures/five-amd.json")).unwrap();
        documents.into_iter().map(|document| answered_as(document).unwrap().unwrap()).collect()
    }

    #[test]
    fn five_articles_are_told_in_a_line_a_claim_and_a_screen() {
        let records = five();
        fixture::assert_fits(&overview(&records));
        let shown = overview(&records).terminal(false, LINE);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        insta::assert_snapshot!("five", shown);
        let (right, claims) = shown.split_once("\nclaim ").expect("a table");
        for line in claims.lines() {
            assert!(line.chars().count() <= LINE && !line.contains('…'), "{line}");
        }
        assert!(right.lines().filter(|line| !line.is_empty()).count() <= 22, "{right}");
    }

    #[test]
    fn each_claim_has_a_table() {
        let plain =
            |page: Page<'_>, room| anstream::adapter::strip_str(&page.terminal(false, room)).to_string();
        for record in &five() {
            fixture::assert_fits(&page(record, &record.document));
            insta::assert_snapshot!(
                format!("table-{}", record.id),
                plain(page(record, &record.document), LINE)
            );
        }
    }

    #[test]
    fn a_ledger_shows_what_was_published_and_what_holds() {
        let test = |software, value: Option<f64>, word, decides| ReplicatedTest {
            about: "client CPU, tcp over unix".into(),
            software,
            measure: "client_cpu".into(),
            value,
            lo: value.map(|value| value * 0.9),
            hi: value.map(|value| value * 1.1),
            above: Some(15.0),
            below: Some(24.0),
            is_ratio: true,
            claimed: "15 to 24".into(),
            word,
            decides,
            ..ReplicatedTest::default()
        };
        let run = |software, epochs, missing: &[&str]| ReplicatedRun {
            software,
            about: "Ruby".into(),
            elapsed_s: 61.0,
            epochs,
            missing: missing.iter().map(|text| (*text).to_owned()).collect(),
            ..ReplicatedRun::default()
        };
        let record = ReplicationRecord {
            schema: REPLICATION_SCHEMA.into(),
            id: "celluloid-connect".into(),
            question: "Which is faster?".into(),
            machine: "a laptop".into(),
            source: Some(SourceFile {
                author: Some("A. Author".into()),
                title: "Sockets".into(),
                site: "a blog".into(),
                year: Some(2018),
                url: Some("https://example.org".into()),
            }),
            differs: Some("Ruby is newer.".into()),
            effects: vec![ReplicatedTest {
                about: "placement apart against free".into(),
                claimed: String::new(),
                ..test(Software::Original, Some(1.02), ClaimVerdict::Open, false)
            }],
            runs: vec![
                run(Software::Original, 0, &["ruby is not installed (package ruby)"]),
                run(Software::Native, 25, &[]),
            ],
            claims: vec![ReplicatedClaim {
                text: "The difference measured was a factor of 19.".into(),
                published: Some("48.27 against 2.53".into()),
                word: ClaimVerdict::Holds,
                size: Some(ClaimVerdict::Fails),
                sentence: "in direction only, the factor differs: as published: 2.60 (2.34–2.86)".into(),
                why: Some("tcp 2.00 sleeps an operation, unix 1.00".into()),
                limit: Some("on Linux, with FIFOs".into()),
                takes: Some("a machine with Windows".into()),
                tests: vec![
                    test(Software::Original, None, ClaimVerdict::Open, true),
                    test(Software::Native, Some(2.6), ClaimVerdict::Fails, true),
                    test(Software::Native, Some(0.0), ClaimVerdict::Open, false),
                ],
                ..ReplicatedClaim::default()
            }],
            ..ReplicationRecord::default()
        };
        let plain =
            |page: Page<'_>, details| anstream::adapter::strip_str(&page.terminal(details, 100)).to_string();
        let record = AnsweredRun { document: fixture::document(), answer: record };
        let page = || page(&record, &record.document);
        fixture::assert_fits(&page());
        insta::assert_snapshot!("brief", plain(page(), false));
        insta::assert_snapshot!("whole", plain(page(), true));
        insta::assert_snapshot!("markdown", page().markdown());
        insta::assert_snapshot!("csv", page().csv());
        insta::assert_snapshot!("overview", plain(overview(std::slice::from_ref(&record)), false));
        let html = page().html();
        assert!(
            html.contains("What was claimed, and what holds") && html.contains("<g class=\"test\""),
            "{html}"
        );
        assert!(html.contains("<div id=\"claim-1\">"), "links lead to it: {html}");
    }
}
