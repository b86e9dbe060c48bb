//! What changed, as a page.

use ipcost_report::page::{
    Block, Column, Field, FieldValue, Frame, Page, PageFigure, Paragraph, Section, Table, Tone,
};
use ipcost_report::picture::{draw_forest, plain_forest};
use ipcost_report::words::{capitalised, verdict_of_percentile};

use super::data::data;
use super::drawn::drawn;
use super::record::{Change, Comparison, Difference, GroupChange, LatencyChange};
use super::words::{
    LATENCY_TITLE, NO_DIFFERENCE, change_verdict, differences, differences_title, group_name, group_verdict,
    groups, groups_title, how, known, name, of_percentiles, said, sides, tables,
};

/// So many of what else differs are shown without details.
const MOST_DIFFERENCES: usize = 6;
/// Of few cells all have a row, of more those that are known to have changed, so many at most.
const MOST_CELLS: usize = 12;

const CHANGES: [Column; 6] = [
    Column::text("cell"),
    Column::number("A").dropped(2),
    Column::number("B").dropped(1),
    Column::number("B / A"),
    Column::text(""),
    Column::text("verdict"),
];

pub fn page(comparison: &Comparison) -> Page<'_> {
    let mut page = Page::new(title(comparison));
    page.about = sides(comparison);
    page.answer = said(comparison).into_iter().map(|line| Paragraph::plain(line).into()).collect();
    page.blocks.extend(others(comparison));
    page.blocks.push(changes(comparison));
    let all_groups = Section::new("", "Every group").with(group_table(comparison, |_| true));
    page.blocks.extend(percentiles(comparison));
    page.blocks.extend((!comparison.groups.is_empty()).then(|| all_groups.folded()));
    page.blocks.extend(tables(comparison).map(|(title, changes)| {
        let rows = changes.iter().map(|change| row(change, comparison.margin));
        Section::new("", title).with(Table::new(&CHANGES).rows(rows)).folded()
    }));
    if !comparison.latency.is_empty() {
        let all = percentile_table(comparison, |_| true);
        page.blocks.push(Section::new("", "Every percentile of latency").with(all).folded());
    }
    page.notes.push(Paragraph::quiet(format!("{}.", capitalised(&how(comparison)))).into());
    page.hint = match comparison.arms {
        Some(_) => "--details shows every group and every cell.",
        None => "--details shows every group and every cell.",
    };
    page.data = Some(data(comparison));
    page
}

fn title(comparison: &Comparison) -> String {
    let metric = ipcost_report::words::quantity(comparison.metric);
    format!("Did it change? {} of side B over side A", capitalised(metric))
}

/// What else differs between the sides.
fn others(comparison: &Comparison) -> Vec<Block<'_>> {
    let columns = [Column::text(""), Column::text("A"), Column::text("B")];
    let table = |volatile: bool| {
        let row = |Difference { what, a, b }: &Difference| {
            vec![FieldValue::Name(what.clone()).into(), a.join(", ").into(), b.join(", ").into()]
        };
        Table::new(&columns).rows(differences(comparison, volatile).into_iter().map(row))
    };
    let (lasting, all) = (table(false), table(true));
    let more = all.rows.len() > lasting.rows.len();
    let section = Section::new("differences", differences_title(comparison));
    let mut blocks = Vec::new();
    if !lasting.rows.is_empty() {
        blocks.push(section.with(lasting.at_most(MOST_DIFFERENCES, "difference")).open());
    } else if comparison.arms.is_none() {
        blocks.push(Paragraph::plain(NO_DIFFERENCE).into());
    }
    if more {
        let title = format!("{}, with those that change from run to run", differences_title(comparison));
        blocks.push(Section::new("", title).with(all).folded());
    }
    blocks
}

/// Groups that are known to have changed, all cells together, and the cells that did.
fn changes(comparison: &Comparison) -> Block<'_> {
    let figure = PageFigure::new(drawn(comparison).reading, |frame| match frame {
        Frame::Page => plain_forest(&drawn(comparison)),
        Frame::File(background) => draw_forest(&drawn(comparison), background),
    });
    let mut table = group_table(comparison, |group| group.found.is_some() || group.group.is_everything());
    let few = comparison.costs.len() <= MOST_CELLS;
    let shown = comparison.costs.iter().filter(|change| few || known(change));
    table.rows.extend(shown.map(|change| {
        let tone = tone(known(change), change.ratio);
        vec![
            FieldValue::Name(name(change)).into(),
            Field::default(),
            Field::from(FieldValue::Ratio(change.ratio)).toned(tone),
            FieldValue::Interval(change.ratio, change.lo, change.hi).into(),
            Field::from(change_verdict(change, comparison.margin)).toned(tone),
        ]
    }));
    let table = table.at_most(MOST_CELLS, "row");
    Section::new("changes", groups_title(comparison)).with(figure).with(table).open()
}

fn group_table(comparison: &Comparison, shown: impl Fn(&GroupChange) -> bool) -> Table {
    const COLUMNS: [Column; 5] = [
        Column::text(""),
        Column::number("cells").dropped(2),
        Column::number("B / A"),
        Column::text(""),
        Column::text("verdict"),
    ];
    let row = |group: &GroupChange| {
        let tone = tone(group.found.is_some(), group.ratio);
        vec![
            FieldValue::Name(group_name(comparison, group)).into(),
            FieldValue::Count(group.cells.into()).into(),
            Field::from(FieldValue::Ratio(group.ratio)).toned(tone),
            FieldValue::Interval(group.ratio, group.lo, group.hi).into(),
            Field::from(group_verdict(group, comparison.margin)).toned(tone),
        ]
    };
    Table::new(&COLUMNS).rows(groups(comparison).filter(|group| shown(group)).map(row))
}

/// Percentiles of cells that keep a pace, which are what these are measured for, and of the others those that are known to have changed.
fn percentiles(comparison: &Comparison) -> Option<Block<'_>> {
    let is_shown = |change: &LatencyChange| known(change) || change.offered_per_s.is_some();
    let table = percentile_table(comparison, is_shown);
    let section = Section::new("percentiles", LATENCY_TITLE).with(table.at_most(MOST_CELLS, "row"));
    let shown = comparison.latency.iter().any(is_shown);
    shown.then(|| section.with(Paragraph::quiet(of_percentiles(comparison))).open())
}

fn percentile_table(comparison: &Comparison, shown: impl Fn(&LatencyChange) -> bool) -> Table {
    const COLUMNS: [Column; 7] = [
        Column::text("cell"),
        Column::text(""),
        Column::number("A").dropped(2),
        Column::number("B").dropped(1),
        Column::number("B / A"),
        Column::text(""),
        Column::text("verdict"),
    ];
    let row = |change: &LatencyChange| {
        let tone = tone(known(change), change.ratio);
        let verdict = verdict_of_percentile(&change.contrast(), comparison.margin);
        vec![
            FieldValue::Name(name(change)).into(),
            change.percentile.title().into(),
            FieldValue::Cost(change.a).into(),
            FieldValue::Cost(change.b).into(),
            Field::from(FieldValue::Ratio(change.ratio)).toned(tone),
            FieldValue::Interval(change.ratio, change.lo, change.hi).into(),
            Field::from(verdict).toned(tone),
        ]
    };
    Table::new(&COLUMNS).rows(comparison.latency.iter().filter(|change| shown(change)).map(row))
}

fn row(change: &Change, margin: f64) -> Vec<Field> {
    let tone = tone(known(change), change.ratio);
    let value =
        |value| if change.baseline.is_some() { FieldValue::Ratio(value) } else { FieldValue::Cost(value) };
    vec![
        FieldValue::Name(name(change)).into(),
        value(change.a).into(),
        value(change.b).into(),
        Field::from(FieldValue::Ratio(change.ratio)).toned(tone),
        FieldValue::Interval(change.ratio, change.lo, change.hi).into(),
        Field::from(change_verdict(change, margin)).toned(tone),
    ]
}

fn tone(known: bool, ratio: f64) -> Tone {
    match known {
        true if ratio > 1.0 => Tone::Bad,
        true => Tone::Good,
        false => Tone::Open,
    }
}
