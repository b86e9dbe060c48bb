//! What a Unix socket saves a server, as a page.

use ipcost_model::units::rate_text;
use ipcost_model::{Document, Estimate};
use ipcost_report::page::{
    Block, Column, Field, FieldValue, Frame, Page, PageFigure, Paragraph, Section, Table, Tone,
};
use ipcost_report::picture::{Chart, draw_saving, plain_saving};
use ipcost_report::run_page::slow_tail;
use ipcost_report::saving::{Curves, MeasuredSaving, PlacementPanel};
use ipcost_report::words::{cores, verdict_of_percentile};

use super::claim::RowVerdict;
use super::curves::curves;
use super::words::{
    alone, checked, cores_alone, cores_of, heading, in_brief, known, limits, load, load_alone, of_burst,
    of_columns, of_costs, of_curves, of_held_back, of_loads, of_percentiles, of_placements, of_unseen,
    shortened,
};
use super::{App, AtRate, Burst, BurstOutcome, Saving, SideCost};

/// The most letters of a request in a table.
const MOST: usize = 32;

pub fn page<'a>(app: &'a App, document: &'a Document) -> Page<'a> {
    let mut page = Page::new(heading(app));
    // It may be all that a Unix socket would save, so it comes before any advice.
    page.answer.extend(of_held_back(app).map(|found| apart(Paragraph::caution(found))));
    let plain = |said: String| apart(Paragraph::plain(said));
    page.answer.extend(saves(app).map(Section::open));
    page.answer.extend(of_costs(app).into_iter().map(plain));
    page.answer.extend(of_curves(app).into_iter().chain(app.burst.iter().map(of_burst)).map(plain));
    if !app.same_work.is_empty() {
        let lines = Block::List(checked(app).into_iter().map(Paragraph::plain).collect());
        page.blocks.push(Section::new("same-work", "Equal conditions?").with(lines).open());
    }
    if !app.savings.is_empty() {
        let title = "Cost per request";
        let notes = of_columns(app).into_iter().chain(of_unseen(app)).chain(of_placements(app));
        let section = Section::new("saving", title).with(loads(app));
        page.blocks.push(section.with_all(notes.map(Paragraph::quiet)).open());
        let sentences = of_loads(app).into_iter().map(plain);
        page.blocks.push(Section::new("", "The same in sentences").with_all(sentences).folded());
    }
    if let Some(other) = app.other_side.as_ref().filter(|_| !app.costs.is_empty()) {
        let title = format!("Cost per request over {}", alone(other));
        let notes = of_percentiles(app).map(Paragraph::quiet);
        let section = Section::new("cost", title).with(costs(app));
        page.blocks.push(notes.into_iter().fold(section, Section::with).open());
    }
    if !app.at_rates.is_empty() {
        let note = "Requests are sent at this rate without waiting for replies; latency counts from the scheduled time.";
        let section = Section::new("at-rates", "Requests that come at a rate").with(at_rates(app));
        page.blocks.push(section.with(Paragraph::quiet(note)).open());
    }
    page.blocks.extend(curves(app).map(|curves| by_work(curves, document).open()));
    let happened = |burst: &&Burst| burst.unix.is_some() || burst.tcp.is_some();
    page.blocks.extend(app.burst.as_ref().filter(happened).map(|burst| met(burst).open()));
    page.notes.extend(slow_tail(document));
    page.notes.extend(limits(app).map(|limit| Paragraph::quiet(limit).into()));
    page.hint = "ipcost show last --details shows every number.";
    page
}

/// Sentences with an empty line before them on a terminal: each is about another load.
fn apart<'a>(said: Paragraph) -> Block<'a> {
    Section::default().with(said).open()
}

/// What each load would save, a line for each and for where it runs.
fn saves(app: &App) -> Option<Section<'static>> {
    let mut above = String::new();
    let row = |saving: &Saving| {
        // The same load on other cores is named once.
        let load = load(saving, MOST);
        let name = if load == above { String::new() } else { load.clone() };
        above = load;
        vec![
            FieldValue::Name(name).into(),
            Field::from(FieldValue::Name(cores(saving.placement).to_owned())).toned(Tone::Quiet),
            Field::from(FieldValue::Text(in_brief(app, saving))).toned(tone(saving)),
        ]
    };
    let of_all = app.savings.iter().filter(|saving| saving.ran.is_none());
    let rows: Vec<Vec<Field>> = of_all.map(row).collect();
    let columns = [Column::text("").folded(), Column::text(""), Column::text("").folded()];
    let section = Section::new("saves", "What a request saves over the Unix socket");
    (!rows.is_empty()).then(|| section.with(Table::new(&columns).rows(rows)))
}

fn loads(app: &App) -> Table {
    const COLUMNS: [Column; 11] = [
        Column::text("request").folded(),
        // Without it, two rows of a request look the same.
        Column::text("cores").folded(),
        Column::number("unix").dropped(3),
        Column::number("tcp").dropped(2),
        Column::number("unix / tcp"),
        Column::text("").dropped(5),
        Column::text("verdict").dropped(1).folded(),
        Column::number("saves").dropped(4),
        Column::text("").dropped(6),
        Column::number("processor time").dropped(7),
        Column::text("").dropped(8),
    ];
    let row = |saving: &Saving| {
        let Estimate { median, lo, hi } = saving.ratio;
        let cost =
            |cost: &Option<Estimate>| Field::maybe(cost.as_ref().map(|it| FieldValue::Cost(it.median)));
        let held = |cost: &Option<Estimate>| {
            Field::maybe(cost.as_ref().map(|it| FieldValue::CostInterval(it.lo, it.hi)))
        };
        vec![
            FieldValue::Name(load(saving, MOST)).into(),
            FieldValue::Name(cores_of(saving)).into(),
            FieldValue::Cost(saving.unix_ns).into(),
            FieldValue::Cost(saving.tcp_ns).into(),
            FieldValue::Ratio(median).into(),
            FieldValue::Interval(median, lo, hi).into(),
            Field::from(known(saving, app.margin)).toned(tone(saving)),
            cost(&saving.saved_ns),
            held(&saving.saved_ns),
            cost(&saving.saved_cpu_ns),
            held(&saving.saved_cpu_ns),
        ]
    };
    Table::new(&COLUMNS).rows(app.savings.iter().map(row))
}

fn at_rates(app: &App) -> Table {
    const COLUMNS: [Column; 9] = [
        Column::text("request").folded(),
        Column::number("rate"),
        Column::text("cores").folded(),
        Column::text("of"),
        Column::number("unix"),
        Column::number("tcp"),
        Column::number("unix / tcp"),
        Column::text("").dropped(1),
        Column::text("verdict"),
    ];
    let cost = |ns: Option<u64>| Field::maybe(ns.map(|ns| FieldValue::Cost(ns as f64)));
    let row = |row: &AtRate| {
        vec![
            FieldValue::Name(shortened(&row.request, MOST)).into(),
            FieldValue::Text(rate_text(row.per_s)).into(),
            FieldValue::Name(cores(row.placement).to_owned()).into(),
            FieldValue::Name(row.percentile.title().to_owned()).into(),
            cost(row.unix_ns),
            cost(row.tcp_ns),
            Field::maybe(row.contrast.map(|known| FieldValue::Ratio(known.ratio))),
            Field::maybe(row.contrast.map(|known| FieldValue::Interval(known.ratio, known.lo, known.hi))),
            Field::maybe(
                row.contrast.map(|known| FieldValue::Text(verdict_of_percentile(&known, app.margin))),
            ),
        ]
    };
    Table::new(&COLUMNS).rows(app.at_rates.iter().map(row))
}

/// The costs of the one side that was measured.
fn costs(app: &App) -> Table {
    const COLUMNS: [Column; 8] = [
        Column::text("request").folded(),
        Column::text("cores").folded(),
        Column::number("cost"),
        Column::text("").dropped(5),
        Column::number("p50").dropped(2),
        Column::number("p99").dropped(1),
        Column::number("processor time").dropped(4),
        Column::text("").dropped(6),
    ];
    let percentile = |ns: Option<u64>| Field::maybe(ns.map(|ns| FieldValue::Cost(ns as f64)));
    let row = |cost: &SideCost| {
        vec![
            FieldValue::Name(load_alone(cost, MOST)).into(),
            FieldValue::Name(cores_alone(cost)).into(),
            FieldValue::Cost(cost.wall_ns.median).into(),
            FieldValue::CostInterval(cost.wall_ns.lo, cost.wall_ns.hi).into(),
            percentile(cost.p50_ns),
            percentile(cost.p99_ns),
            Field::maybe(cost.cpu_ns.as_ref().map(|cpu| FieldValue::Cost(cpu.median))),
            Field::maybe(cost.cpu_ns.as_ref().map(|cpu| FieldValue::CostInterval(cpu.lo, cpu.hi))),
        ]
    };
    Table::new(&COLUMNS).rows(app.costs.iter().map(row))
}

fn tone(saving: &Saving) -> Tone {
    match saving.claim() {
        RowVerdict::Less => Tone::Good,
        RowVerdict::More => Tone::Bad,
        RowVerdict::Same => Tone::Plain,
        RowVerdict::SameInMedian | RowVerdict::Open | RowVerdict::Estimate | RowVerdict::Varies => Tone::Open,
    }
}

/// The share that is saved over how long the server works on a request.
fn by_work(curves: Curves, document: &Document) -> Section<'_> {
    let numbers = Section::new("", "The numbers").with_all(tables(&curves));
    let notes = curves.notes.iter().map(|note| format!(" {note}"));
    let figure = PageFigure::new(curves.reading() + &notes.collect::<String>(), move |frame| match frame {
        Frame::Page => plain_saving(&curves),
        Frame::File(background) => draw_saving(&curves, document, background),
    })
    .named(Chart::Saving);
    Section::new("saving-by-work", "How slow must a request be before the socket stops mattering?")
        .with(figure)
        .with(numbers.folded())
}

/// The share that is saved at most for round numbers of work, and requests as measured, where there are any.
fn tables(curves: &Curves) -> Vec<Block<'static>> {
    const BOUNDS: [Column; 3] =
        [Column::text("cores"), Column::number("work"), Column::number("saved at most")];
    const MEASURED: [Column; 5] = [
        Column::text("request, as measured"),
        Column::text("cores").dropped(1),
        Column::number("work"),
        Column::number("saves"),
        Column::text("interval").dropped(2),
    ];
    let bound = |panel: &PlacementPanel, (work_ns, share): &(f64, f64)| {
        vec![
            FieldValue::Name(panel.name.clone()).into(),
            FieldValue::Cost(*work_ns).into(),
            FieldValue::Share(*share).into(),
        ]
    };
    let request = |panel: &PlacementPanel, request: &MeasuredSaving| {
        vec![
            FieldValue::Name(request.request.clone()).into(),
            FieldValue::Name(panel.name.clone()).into(),
            FieldValue::Cost(request.work_ns.max(0.0)).into(),
            FieldValue::Share(request.share.median).into(),
            FieldValue::Name(request.interval()).into(),
        ]
    };
    let panels = || curves.panels.iter();
    let bounds = panels().flat_map(|panel| panel.numbers.iter().map(move |point| bound(panel, point)));
    let bounds = Table::new(&BOUNDS).rows(bounds);
    let measured = panels().flat_map(|panel| panel.requests.iter().map(move |it| request(panel, it)));
    let measured = Table::new(&MEASURED).rows(measured);
    let has_rows = |table: &Table| !table.rows.is_empty();
    [bounds, measured].into_iter().filter(has_rows).map(Block::from).collect()
}

/// What clients met that connected at the same moment.
fn met(burst: &Burst) -> Section<'static> {
    const COLUMNS: [Column; 6] = [
        Column::text("clients"),
        Column::number("queue").dropped(1),
        Column::number("answered within 1 s"),
        Column::number("answered later"),
        Column::number("refused"),
        Column::number("failed"),
    ];
    let sides = [("Unix socket", burst.unix), ("TCP", burst.tcp)];
    let row = |(socket, met): (&str, Option<BurstOutcome>)| {
        let met = met?;
        let queue =
            met.backlog.map_or_else(|| "not known".into(), |most| FieldValue::Count(most.into()).into());
        let counts =
            [met.answered, met.late, met.refused, met.failed].map(|count| FieldValue::Count(count).into());
        Some([FieldValue::Name(socket.to_owned()).into(), queue].into_iter().chain(counts).collect())
    };
    Section::new("burst", format!("{} clients at the same moment", burst.clients))
        .with(Table::new(&COLUMNS).rows(sides.into_iter().filter_map(row)))
}

#[cfg(test)]
mod tests {
    use ipcost_model::{MeanContrast, Pattern, Placement, Verdict};
    use ipcost_report::fixture;

    use ipcost_report::picture::Background;

    use super::*;
    use crate::app::record::LOGIN;
    use crate::app::{APP_SCHEMA, Checked, Curve, MeasuredRequest, OtherSide, ServerSocket};

    fn saving(
        request: &str,
        pattern: Pattern,
        placement: Placement,
        median: f64,
        verdict: Verdict,
    ) -> Saving {
        let ends = |ns: f64| (ns - ns.abs() * 0.1, ns + ns.abs() * 0.1);
        let saved = |ns: f64| Some(Estimate { median: ns, lo: Some(ends(ns).0), hi: Some(ends(ns).1) });
        let known = verdict != Verdict::Undecided;
        Saving {
            request: request.to_owned(),
            pattern,
            concurrency: 1,
            pipeline: 1,
            placement,
            unix: "a".to_owned(),
            tcp: "b".to_owned(),
            unix_ns: 50_000.0 * median,
            tcp_ns: 50_000.0,
            ratio: Estimate {
                median,
                lo: known.then_some(median * 0.98),
                hi: known.then_some(median * 1.02),
            },
            verdict,
            mean: Some(MeanContrast { ratio: median, lo: None, hi: None, verdict, slow: 0.0, unseen: 0.1 }),
            saved_ns: saved(50_000.0 * (1.0 - median)),
            saved_cpu_ns: saved(12_000.0),
            ..Saving::default()
        }
    }

    #[test]
    fn nothing_is_called_the_same_whose_mean_is_open() {
        let mut row = saving("PING", Pattern::Rr, Placement::Together, 0.99, Verdict::Equivalent);
        assert_eq!(known(&row, 0.05), "the same within 5 %");
        row.mean = row.mean.map(|mean| MeanContrast { verdict: Verdict::Undecided, ..mean });
        assert_eq!(known(&row, 0.05), "same in the median");
    }

    fn app() -> App {
        let checked = |what: &str, unix: &str, tcp: &str, made_equal: Option<&str>| Checked {
            what: what.to_owned(),
            unix: unix.to_owned(),
            tcp: tcp.to_owned(),
            same: unix == tcp,
            made_equal: made_equal.map(str::to_owned),
        };
        let side = |address: &str| ServerSocket {
            address: address.to_owned(),
            process: Some(7),
            ..ServerSocket::default()
        };
        let long = "SELECT name FROM account WHERE id = 4711 AND branch = 17 ORDER BY name LIMIT 10";
        let request = |request: &str, least| MeasuredRequest {
            request: request.to_owned(),
            sent: 9,
            replied: 70,
            least,
        };
        let (together, apart) = (Placement::Together, Placement::Apart);
        App {
            schema: APP_SCHEMA.to_owned(),
            server: "postgres".to_owned(),
            title: "PostgreSQL".to_owned(),
            version: "15.18".to_owned(),
            unix: Some(side("/run/postgresql/.s.PGSQL.5432")),
            tcp: Some(side("127.0.0.1:5432")),
            same_work: vec![
                checked("version", "15.18", "15.18", None),
                checked(LOGIN, "no password", "SCRAM-SHA-256", None),
                checked("TLS", "not offered", "offered", Some("neither side uses it here")),
            ],
            requests: vec![request("SELECT 1", true), request(long, false)],
            margin: 0.05,
            savings: vec![
                saving("SELECT 1", Pattern::Rr, together, 0.63, Verdict::Different),
                saving("SELECT 1", Pattern::Rr, apart, 0.97, Verdict::Equivalent),
                saving(long, Pattern::Rr, together, 0.9, Verdict::Undecided),
                saving("SELECT 1", Pattern::Connect, together, 1.2, Verdict::Different),
            ],
            curves: vec![Curve {
                placement: together,
                saved_ns: 18_500.0,
                least_ns: 50_000.0,
                until_ns: Some(320_000.0),
                ..Curve::default()
            }],
            burst: Some(Burst {
                clients: 500,
                somaxconn: Some(128),
                unix: Some(BurstOutcome {
                    backlog: Some(128),
                    answered: 1400,
                    refused: 100,
                    ..BurstOutcome::default()
                }),
                tcp: Some(BurstOutcome {
                    backlog: Some(128),
                    answered: 1395,
                    late: 90,
                    failed: 15,
                    ..BurstOutcome::default()
                }),
                left_out: 0,
            }),
            ..App::default()
        }
    }

    #[test]
    fn a_burst_that_was_left_out_is_one_line() {
        let burst = |unix, left_out| {
            let burst = Burst { clients: 600, somaxconn: None, unix, tcp: None, left_out };
            let app = App { burst: Some(burst), ..app() };
            page(&app, &fixture::document()).markdown().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let none = burst(None, 3);
        assert!(
            none.contains("600 clients at the same moment: left out, because less than a quarter"),
            "{none}"
        );
        assert!(!none.contains("answered within 1 s"), "{none}");
        let some = burst(Some(BurstOutcome { answered: 1200, ..BurstOutcome::default() }), 1);
        assert!(some.contains("1 round more was left out") && some.contains("answered within 1 s"), "{some}");
    }

    #[test]
    fn one_side_alone_has_its_figures_and_what_the_other_needs() {
        let cost = SideCost {
            request: "PING".to_owned(),
            concurrency: 1,
            pipeline: 1,
            cell: "rr/tcp".to_owned(),
            wall_ns: Estimate { median: 14_700.0, lo: Some(14_000.0), hi: Some(15_000.0) },
            p50_ns: Some(14_500),
            p99_ns: Some(21_000),
            cpu_ns: Some(Estimate { median: 11_000.0, lo: None, hi: None }),
            ..SideCost::default()
        };
        let other = OtherSide {
            transport: "unix".to_owned(),
            setting: "unixsocket /run/redis.sock in redis.conf".to_owned(),
            page: "docs/app.md#redis".to_owned(),
        };
        let app = App {
            unix: None,
            same_work: Vec::new(),
            savings: Vec::new(),
            curves: Vec::new(),
            burst: None,
            costs: vec![cost],
            other_side: Some(other),
            ..app()
        };
        let document = fixture::document();
        let page = page(&app, &document);
        let terminal = anstream::adapter::strip_str(&page.terminal(false, 80)).to_string();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in [words(&terminal), words(&page.markdown()), words(&page.html())] {
            for part in ["over TCP", "14.7 µs", "14.5 µs", "21.0 µs", "11.0 µs", "unixsocket /run/redis.sock"]
            {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        assert!(words(&terminal).contains("give --unix PATH as well. docs/app.md#redis"), "{terminal}");
    }

    #[test]
    fn the_address_that_answered_to_a_name_is_in_the_answer() {
        let named = ServerSocket {
            address: "[::1]:5432".to_owned(),
            name: Some("localhost".to_owned()),
            ..ServerSocket::default()
        };
        let app = App { tcp: Some(named), ..app() };
        assert!(
            page(&app, &fixture::document()).markdown().contains("localhost answered at"),
            "{}",
            page(&app, &fixture::document()).markdown()
        );
    }

    #[test]
    fn rows_keep_their_ends_however_narrow_the_screen_is() {
        let app = app();
        fixture::assert_fits(&page(&app, &fixture::document()));
        for room in [60, 80, 120] {
            let shown = page(&app, &fixture::document()).terminal(false, room);
            let shown = anstream::adapter::strip_str(&shown).to_string();
            let (_, table) = shown.split_once("Cost per request").expect("a table");
            let table = table.split("\n\n").next().unwrap_or_default();
            // A row may take several lines: its words are all there, in order.
            let words: Vec<&str> = table.split_whitespace().collect();
            for wanted in ["SELECT", "a", "connection", "for", "each"] {
                assert!(words.contains(&wanted), "{room}: {wanted} is not in {table}");
            }
        }
    }

    #[test]
    fn what_is_saved_comes_in_the_answer_after_what_holds_the_server_back() {
        let mut app = app();
        app.held_back = vec!["set TCP_NODELAY in the server".to_owned()];
        let plain = |text: String| anstream::adapter::strip_str(&text).to_string();
        insta::assert_snapshot!("terminal", plain(page(&app, &fixture::document()).terminal(false, 100)));
        insta::assert_snapshot!("markdown", page(&app, &fixture::document()).markdown());
        insta::assert_snapshot!("csv", page(&app, &fixture::document()).csv());
        let html = page(&app, &fixture::document()).html();
        let place_of = |words: &str| html.find(words).unwrap_or_else(|| panic!("{words} is not in {html}"));
        assert!(place_of("set TCP_NODELAY") < place_of("moving saves"), "{html}");
        for part in ["<g class=\"panel\"", "id=\"saving-by-work\"", "id=\"burst\""] {
            place_of(part);
        }
        for room in [0, 1, 40, 80] {
            page(&app, &fixture::document()).terminal(true, room);
        }
        let document = fixture::document();
        let page = page(&app, &document);
        let svg = (page.figures()[0].draw)(Frame::File(Background::White)).unwrap().svg();
        assert!(svg.contains("PostgreSQL 15.18") && svg.contains("Measured on"), "{svg}");
    }
}
