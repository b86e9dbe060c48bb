//! A fleet as a page.

use ipcost_model::units::counted;
use ipcost_report::numbers::interval;
use ipcost_report::page::{
    Block, ClaimBlock, Column, Field, FieldValue, Frame, Page, PageFigure, Paragraph, Section, Table, Tone,
};
use ipcost_report::picture::{draw_forest, plain_forest};
use ipcost_report::words::{capitalised, cores};

use super::data::data;
use super::drawn::{by_host, overview};
use super::record::{
    Fleet, FleetCheapest, FleetClaim, FleetContrast, GroupCheapest, GroupClaim, HostGroup, Standing, Together,
};
use super::words::{
    ContrastRow, cheapest_on, claim_conditions, claim_counts, claim_sentence, group, how, known, pair, rows,
    sentence, sentences, skipped, spread, tables, title, typical_of, work,
};
use ipcost_model::ClaimVerdict;

/// So many sentences and groups are shown at once.
const MOST_SENTENCES: usize = 8;
const MOST_GROUPS: usize = 8;
/// So many files that are not counted are named, and so many of them at once.
const MOST_FILES: usize = 1000;
const SHOWN_FILES: usize = 5;
/// So many hosts are in a table of hosts.
const MOST_HOSTS: usize = 1000;

pub fn page(fleet: &Fleet) -> Page<'_> {
    let mut page = Page::new(title(fleet));
    page.answer = answer(fleet);
    page.blocks.push(Section::new("groups", "Groups of hosts").with(groups(fleet)).open());
    if !fleet.contrasts.is_empty() {
        page.blocks.push(contrasts(fleet).open());
    }
    if !fleet.claims.is_empty() {
        page.blocks.push(claims(fleet).open());
    }
    if !fleet.contrasts.is_empty() {
        let each = fleet.contrasts.iter().map(|contrast| of_contrast(fleet, contrast).folded());
        page.blocks.push(Section::new("contrasts", "By host").with_all(each).open());
    }
    page.blocks.push(
        Section::new("hosts", "Hosts").with(Section::new("", "All hosts").with(hosts(fleet)).folded()).open(),
    );
    page.notes.extend(how(fleet).map(|how| Paragraph::quiet(how).into()));
    page.notes.extend(not_counted(fleet));
    page.hint = "--details shows every host, group and file.";
    page.data = Some(data(fleet));
    page
}

fn answer(fleet: &Fleet) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    if !fleet.cheapest.is_empty() {
        blocks.push(Section::new("", "Cheapest, on how many hosts").with(cheapest(fleet)).open());
        if fleet.groups.len() > 1 {
            let table = cheapest_by_group(fleet);
            blocks.push(Section::new("", "Cheapest, by group of hosts").with(table).folded());
        }
    }
    let said = |all: &[String]| all.iter().map(|said| Paragraph::plain(capitalised(said))).collect();
    let sentences = sentences(fleet, false);
    let (first, rest) = sentences.split_at(sentences.len().min(MOST_SENTENCES));
    if first.is_empty() && !fleet.contrasts.is_empty() {
        blocks.push(Paragraph::plain("No host is known to disagree with most of the others.").into());
    } else if !first.is_empty() {
        let section = Section::new("", "Where hosts disagree").with(Block::List(said(first)));
        blocks.push(section.open());
    }
    if !rest.is_empty() {
        let title = format!("{} more", counted(rest.len() as u64, "sentence"));
        blocks.push(Section::new("", title).with(Block::List(said(rest))).folded());
    }
    blocks.extend(fleet.notes.iter().map(|note| Paragraph::plain(note.clone()).into()));
    blocks
}

fn groups(fleet: &Fleet) -> Table {
    const COLUMNS: [Column; 4] = [
        Column::number("hosts"),
        Column::text("kernel"),
        Column::text("processor").dropped(1),
        Column::text("virtualisation").dropped(2),
    ];
    let row = |group: &HostGroup| {
        vec![
            FieldValue::Count(group.hosts).into(),
            FieldValue::Name(format!("{} {}", group.os, group.kernel)).into(),
            group.cpu.clone().into(),
            group.virtualisation.clone().into(),
        ]
    };
    Table::new(&COLUMNS).rows(fleet.groups.iter().map(row)).at_most(MOST_GROUPS, "group")
}

/// All contrasts: a typical host, and where another lies.
fn contrasts(fleet: &Fleet) -> Section<'_> {
    const COLUMNS: [Column; 6] = [
        Column::text(""),
        Column::text("hosts"),
        Column::number("typical host"),
        Column::text("verdict"),
        Column::number("between hosts").dropped(2),
        Column::number("another host").dropped(1),
    ];
    let forest = overview(fleet);
    let figure = PageFigure::new(forest.reading.clone(), move |frame| match frame {
        Frame::Page => plain_forest(&forest),
        Frame::File(background) => draw_forest(&forest, background),
    });
    let of_table = |(title, contrasts): (String, Vec<&FleetContrast>)| {
        let rows = contrasts.iter().flat_map(|contrast| {
            let tone = tone(contrast.counts.majority());
            rows(contrast).into_iter().map(move |row| contrast_row(fleet, row, tone))
        });
        Section::new("", capitalised(&title)).with(Table::new(&COLUMNS).rows(rows)).open()
    };
    let section = Section::new("overview", "A typical host, and where another lies").with(figure);
    section.with_all(tables(fleet).into_iter().map(of_table))
}

fn contrast_row(fleet: &Fleet, row: ContrastRow<'_>, tone: Tone) -> Vec<Field> {
    let ContrastRow { name, counts, is_usual, together } = row;
    let indent = if is_usual { "  " } else { "" };
    vec![
        FieldValue::Name(format!("{indent}{name}")).into(),
        Field::from(FieldValue::Name(counts)).toned(tone),
        Field::maybe(together.map(typical_of)),
        Field::maybe(together.map(|together| FieldValue::Name(known(fleet, together)))),
        Field::maybe(together.map(|together| FieldValue::Text(spread(together)))),
        Field::maybe(together.and_then(another)),
    ]
}

/// Where another host's ratio lies.
fn another(together: &Together) -> Option<FieldValue> {
    let (lo, hi) = together.another_lo.zip(together.another_hi)?;
    Some(FieldValue::Name(interval(together.ratio, Some(lo), Some(hi))?))
}

/// How the verdict of most hosts on a contrast looks.
fn tone(majority: Option<Standing>) -> Tone {
    match majority {
        Some(Standing::Cheaper) => Tone::Good,
        Some(Standing::CostsMore) => Tone::Bad,
        Some(Standing::Same) => Tone::Plain,
        Some(Standing::Open) | None => Tone::Open,
    }
}

fn cheapest(fleet: &Fleet) -> Table {
    let mut above = "";
    let rows = fleet.cheapest.iter().map(|table| {
        let FleetCheapest { work, placement, cheapest, open, open_among, .. } = table;
        let name = if work == above { String::new() } else { capitalised(work) };
        above = work;
        vec![
            FieldValue::Name(name).into(),
            Field::from(FieldValue::Name(cores(*placement).to_owned())).toned(Tone::Quiet),
            cheapest_on(cheapest, *open, open_among).into(),
        ]
    });
    Table::new(&[Column::text(""), Column::text(""), Column::text("")]).rows(rows)
}

/// The same with a row for each group of hosts.
fn cheapest_by_group(fleet: &Fleet) -> Table {
    let rows = fleet.cheapest.iter().flat_map(|table| {
        table.groups.iter().map(|GroupCheapest { group, cheapest, open, open_among }| {
            let name = format!("{}, {}", capitalised(&table.work), cores(table.placement));
            vec![
                FieldValue::Name(name).into(),
                group_of(fleet, *group),
                cheapest_on(cheapest, *open, open_among).into(),
            ]
        })
    });
    Table::new(&[Column::text(""), Column::text("hosts"), Column::text("cheapest")]).rows(rows)
}

fn group_of(fleet: &Fleet, index: u64) -> Field {
    group(&fleet.groups[index as usize]).into()
}

fn claims(fleet: &Fleet) -> Section<'_> {
    let mut section = Section::new("claims", "Claims");
    let mut of_one = Section::default();
    for claim in &fleet.claims {
        if claim.of != of_one.title {
            let whole = std::mem::replace(&mut of_one, Section::new("", claim.of.clone()));
            section = section.with_all((!whole.blocks.is_empty()).then(|| whole.open()));
        }
        of_one = of_one.with(of_claim(fleet, claim));
        if claim.groups.len() > 1 {
            let row = |of: &GroupClaim| vec![group_of(fleet, of.group), claim_counts(&of.counts).into()];
            let table = Table::new(&[Column::text("hosts"), Column::text("")]);
            let table = table.rows(claim.groups.iter().map(row));
            of_one = of_one.with(Section::new("", "By group of hosts").with(table).folded());
        }
        of_one = of_one.with(Section::new("", "By host").with(by_host_of(fleet, claim)).folded());
    }
    section.with(of_one.open())
}

fn of_claim(fleet: &Fleet, claim: &FleetClaim) -> ClaimBlock {
    let known = claim.counts.majority().unwrap_or(ClaimVerdict::Open);
    let size = claim.size.as_ref().map(|size| format!("its size: {}", claim_counts(size)));
    let who = (!claim.disagreements.is_empty()).then(|| claim_sentence(fleet, claim));
    let differs = claim.conditions.iter().any(|under| under.counts != claim.conditions[0].counts);
    ClaimBlock {
        text: format!("“{}”", claim.text),
        known,
        said: claim_counts(&claim.counts),
        more: size.into_iter().chain(who).chain(claim_conditions(claim)).collect(),
        unfolded: differs || claim.size.is_some(),
    }
}

/// What each host says of a claim, of so many hosts.
fn by_host_of(fleet: &Fleet, claim: &FleetClaim) -> Table {
    let row = |host: &super::HostClaim| {
        vec![
            FieldValue::Name(fleet.hosts[host.host as usize].name.clone()).into(),
            Field::from(host.word.name()).toned(host.word),
            host.sentence.clone().into(),
        ]
    };
    let columns = [Column::text("host"), Column::text(""), Column::text("").dropped(1)];
    let mut table = Table::new(&columns).rows(claim.hosts.iter().take(MOST_HOSTS).map(row));
    let more = claim.hosts.len().saturating_sub(MOST_HOSTS);
    if more > 0 {
        table.rows.push(vec![format!("… and {}", counted(more as u64, "more host")).into()]);
    }
    table
}

/// A contrast by host.
fn of_contrast<'a>(fleet: &'a Fleet, contrast: &'a FleetContrast) -> Section<'a> {
    const COLUMNS: [Column; 4] =
        [Column::text("host"), Column::number("ratio"), Column::text("").dropped(1), Column::text("")];
    let title = format!("{}: {}", work(&contrast.work, contrast.placement), pair(contrast));
    let rows = contrast.hosts.iter().take(MOST_HOSTS).map(|host| {
        vec![
            FieldValue::Name(fleet.hosts[host.host as usize].name.clone()).into(),
            FieldValue::Ratio(host.ratio).into(),
            FieldValue::Interval(host.ratio, host.lo, host.hi).into(),
            host.standing.name().into(),
        ]
    });
    Section::new("", capitalised(&title))
        .with(Paragraph::plain(capitalised(&sentence(fleet, contrast))))
        .with(figure(fleet, contrast))
        .with(Table::new(&COLUMNS).rows(rows))
}

/// The picture of a contrast by host.
pub fn figure<'a>(fleet: &'a Fleet, contrast: &'a FleetContrast) -> PageFigure<'a> {
    PageFigure::new("", move |frame| match frame {
        Frame::Page => plain_forest(&by_host(fleet, contrast)),
        Frame::File(background) => draw_forest(&by_host(fleet, contrast), background),
    })
}

fn hosts(fleet: &Fleet) -> Table {
    const COLUMNS: [Column; 7] = [
        Column::text("host"),
        Column::text("kernel"),
        Column::text("processor").dropped(4),
        Column::text("virtualisation").dropped(3),
        Column::number("processors").dropped(2),
        Column::text("ipcost").dropped(1),
        Column::text("measured").dropped(5),
    ];
    let row = |host: &super::FleetHost| {
        let group = &fleet.groups[host.group as usize];
        vec![
            FieldValue::Name(host.name.clone()).into(),
            FieldValue::Name(format!("{} {}", group.os, group.kernel)).into(),
            group.cpu.clone().into(),
            group.virtualisation.clone().into(),
            FieldValue::Count(host.cores.into()).into(),
            FieldValue::Name(host.version.clone()).into(),
            FieldValue::Name(host.started.clone()).into(),
        ]
    };
    let mut table = Table::new(&COLUMNS).rows(fleet.hosts.iter().take(MOST_HOSTS).map(row));
    let more = fleet.hosts.len().saturating_sub(MOST_HOSTS);
    if more > 0 {
        table.rows.push(vec![format!("… and {more} more; see --csv or --json").into()]);
    }
    table
}

/// A caution that files are not counted, with which and why; nothing if all are.
fn not_counted(fleet: &Fleet) -> Vec<Block<'static>> {
    let lines = skipped(fleet, MOST_FILES);
    let Some((first, files)) = lines.split_first() else { return Vec::new() };
    let list =
        |files: &[String]| Block::List(files.iter().map(|line| Paragraph::quiet(line.trim())).collect());
    let (shown, rest) = files.split_at(files.len().min(SHOWN_FILES));
    let mut blocks = vec![Paragraph::caution(first.clone()).into(), list(shown)];
    if !rest.is_empty() {
        blocks.push(Section::new("", "Which others, and why").with(list(rest)).folded());
    }
    blocks
}
