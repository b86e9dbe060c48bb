//! What marks can name: texts made from a document.

use anyhow::{Context, Result, bail, ensure};
use ipcost_features::answer::AnsweredRun;
use ipcost_features::app::{App, Saving, page as page_of_app};
use ipcost_model::{ContrastRecord, Document, Metric, Pattern, Placement, Verdict, WorkloadRecord};
use ipcost_report::numbers::{ratio, time};
use ipcost_report::summary::summary;
use ipcost_report::words::{capitalised, congestion, cores, work};

use super::shelf::{Shelf, origin, origins};

/// The width of a block of output.
const ROOM: usize = 100;
/// The same for the table of a server, of which a page may show every column but processor time.
const ROOM_OF_APP: usize = 132;
/// What is compared with what, where a view is about both.
const UNIX: &str = "unix";
const TCP: &str = "tcp";

/// The text of a view, by the words of its mark.
///
/// # Errors
/// That there is no such view, what is wrong with its document, or that this holds nothing of what the view shows.
pub fn view(words: &[&str], shelf: &Shelf) -> Result<String> {
    match words {
        ["cheapest", name] => cheapest(&shelf.one(name)?),
        ["verdict", name] => verdict(&shelf.one(name)?),
        ["ratios", names @ ..] if !names.is_empty() => {
            let documents: Vec<Document> = names.iter().map(|name| shelf.one(name)).collect::<Result<_>>()?;
            ratios(&documents)
        }
        ["first", suite, apps @ ..] => {
            let apps: Vec<AnsweredRun<App>> =
                apps.iter().map(|name| shelf.app(name)).collect::<Result<_>>()?;
            first(&shelf.one(suite)?, &apps)
        }
        ["costs", name] => costs(&shelf.one(name)?),
        ["app", name] => app(&shelf.app(name)?),
        ["saving", name] => saving(&shelf.app(name)?),
        ["servers", names @ ..] if !names.is_empty() => {
            let apps: Vec<AnsweredRun<App>> =
                names.iter().map(|name| shelf.app(name)).collect::<Result<_>>()?;
            servers(&apps)
        }
        _ => bail!("there is no such view"),
    }
}

/// A text with the line that says where its figures come from.
fn measured(text: &str, document: &Document) -> String {
    format!("{}\n\n*{}.*", text.trim_end(), origin(document))
}

/// The block "Cheapest", as a terminal shows it.
fn cheapest(document: &Document) -> Result<String> {
    let text = plain(&summary(document, ROOM));
    ensure!(!text.is_empty(), "the document answers nothing");
    Ok(measured(&format!("```text\n{}\n```", text.trim_end()), document))
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// What a Unix socket costs relative to TCP, in a sentence.
fn verdict(document: &Document) -> Result<String> {
    let on_one =
        |pattern, size| of_default_suite(document, pattern, size, Placement::Together).map(|(_, it)| it);
    let connection = on_one(Pattern::Connect, 64)?;
    let round_trip = on_one(Pattern::Rr, 64)?;
    let stream = on_one(Pattern::Stream, 65536)?;
    let under = document.host.tcp_congestion().map(|name| format!(" under {name}")).unwrap_or_default();
    let said = |contrast: &ContrastRecord, what: &str, than: &str| {
        let text = format!("{what} takes {} × as long{than} {}.", ratio(contrast.ratio), bounds(contrast));
        strong(&text, contrast.verdict)
    };
    let sentences = [
        said(connection, "On one core, a connection per request", " over a Unix socket as over TCP"),
        said(round_trip, "A round trip of 64 B", ""),
        said(stream, "A stream of 64 KiB messages", &under),
    ];
    Ok(format!("{}\n\n*{}.*", sentences.join(" "), origin(document)))
}

/// In bold, if it is known.
fn strong(text: &str, verdict: Verdict) -> String {
    if verdict == Verdict::Undecided { text.to_owned() } else { format!("**{text}**") }
}

/// The interval of a ratio, in parentheses.
pub fn interval(lo: Option<f64>, hi: Option<f64>, remark: &str) -> String {
    match (lo, hi) {
        (Some(lo), Some(hi)) => format!("({}–{}{remark})", ratio(lo), ratio(hi)),
        _ => "(no interval)".to_owned(),
    }
}

fn bounds(contrast: &ContrastRecord) -> String {
    let open = if contrast.verdict == Verdict::Undecided { ", open" } else { "" };
    interval(contrast.lo, contrast.hi, open)
}

fn with_bounds(contrast: &ContrastRecord) -> String {
    format!("{} {}", ratio(contrast.ratio), bounds(contrast))
}

/// The ratio of a saving with its interval.
fn known(saving: &Saving) -> String {
    format!("{} {}", ratio(saving.ratio.median), interval(saving.ratio.lo, saving.ratio.hi, ""))
}

fn tables(document: &Document) -> impl Iterator<Item = &WorkloadRecord> {
    document.workloads.iter().filter(|table| table.pattern != Pattern::Floor)
}

/// A cell of a table over a transport, without options of its own.
fn plain_cell<'a>(document: &'a Document, table: &WorkloadRecord, transport: &str) -> Option<&'a str> {
    let of_table = document.cells.iter().filter(|cell| table.cells.contains(&cell.id));
    let plain = of_table.filter(|cell| cell.transport == transport && cell.options.is_empty());
    plain.map(|cell| &*cell.id).next()
}

/// A load of the default suite, and a Unix socket relative to TCP there.
pub fn of_default_suite(
    document: &Document,
    pattern: Pattern,
    size: u64,
    placement: Placement,
) -> Result<(&WorkloadRecord, &ContrastRecord)> {
    let is =
        |table: &&WorkloadRecord| (table.pattern, table.size, table.placement) == (pattern, size, placement);
    let found = tables(document).find(is).and_then(|table| Some((table, unix_over_tcp(document, table)?)));
    found.context("the document lacks a load of the default suite")
}

fn unix_over_tcp<'a>(document: &'a Document, table: &WorkloadRecord) -> Option<&'a ContrastRecord> {
    let (unix, tcp) = (plain_cell(document, table, UNIX)?, plain_cell(document, table, TCP)?);
    document.contrasts.iter().find(|it| it.metric == Metric::Wall && it.a == unix && it.b == tcp)
}

/// A Unix socket relative to TCP: a row a load, a column for each document and placement.
fn ratios(documents: &[Document]) -> Result<String> {
    let places = [Placement::Together, Placement::Apart];
    let name = |document: &Document| document.host.tcp_congestion().unwrap_or("TCP").to_owned();
    let columns: Vec<(Placement, &Document)> =
        places.iter().flat_map(|place| documents.iter().map(move |document| (*place, document))).collect();
    let titles = columns.iter().map(|(place, document)| format!(" {}, {} |", cores(*place), name(document)));
    let mut out = format!("| load |{}\n|---|{}\n", titles.collect::<String>(), "---|".repeat(columns.len()));
    for table in tables(&documents[0]).filter(|table| table.placement == places[0]) {
        let cells = columns.iter().map(|(place, document)| {
            let same = |other: &&WorkloadRecord| work(other) == work(table) && other.placement == *place;
            let found = tables(document).find(same).and_then(|table| unix_over_tcp(document, table));
            found.map(with_bounds).unwrap_or_default()
        });
        let cells: Vec<String> = cells.collect();
        out.push_str(&format!("| {} | {} |\n", capitalised(&work(table)), cells.join(" | ")));
    }
    Ok(format!("{out}\n*{}.*", origins(documents)))
}

/// What a reader asks first: a Unix socket relative to TCP for two loads and the least request of some servers, on one core and on two.
fn first(suite: &Document, apps: &[AnsweredRun<App>]) -> Result<String> {
    let places = [Placement::Together, Placement::Apart];
    let known = |verdict: Verdict, ratio_is: f64, lo: Option<f64>, hi: Option<f64>| match verdict {
        Verdict::Undecided => format!("undecided {}", interval(lo, hi, "")),
        _ => format!("**{} ×** {}", ratio(ratio_is), interval(lo, hi, "")),
    };
    let mut out =
        String::from("| a Unix socket takes, of TCP's time | same core | different cores |\n|---|---|---|\n");
    for (name, pattern) in [("64 B round trip", Pattern::Rr), ("a connection per request", Pattern::Connect)]
    {
        let cells: Vec<String> = places
            .iter()
            .map(|place| {
                let (_, found) = of_default_suite(suite, pattern, 64, *place)?;
                Ok(known(found.verdict, found.ratio, found.lo, found.hi))
            })
            .collect::<Result<_>>()?;
        out.push_str(&format!("| {name} | {} |\n", cells.join(" | ")));
    }
    for app in apps {
        let least = on_one_core(app, Pattern::Rr).context("no request was measured on one core")?;
        let cells = places.iter().map(|place| {
            let saving = alone(app, Pattern::Rr, *place);
            saving.map_or("not measured".to_owned(), |it| {
                known(it.verdict, it.ratio.median, it.ratio.lo, it.ratio.hi)
            })
        });
        let name = format!("{} `{}`", server(app), least.request);
        out.push_str(&format!("| {name} | {} |\n", cells.collect::<Vec<_>>().join(" | ")));
    }
    let of_apps = apps.first().map(|app| format!("\nServers: {}.", origin(&app.document)));
    Ok(format!("{out}\n*{}.{}*", origin(suite), of_apps.unwrap_or_default()))
}

/// What both cost: a row a load.
fn costs(document: &Document) -> Result<String> {
    let places = [Placement::Together, Placement::Apart];
    let mut out = String::from("| one operation |");
    for place in places {
        out.push_str(&format!(" Unix socket, {0} | TCP, {0} |", cores(place)));
    }
    out.push_str("\n|---|---|---|---|---|\n");
    for table in tables(document).filter(|table| table.placement == places[0]) {
        out.push_str(&format!("| {} |", capitalised(&work(table))));
        for place in places {
            let same = |other: &&WorkloadRecord| work(other) == work(table) && other.placement == place;
            let other = tables(document).find(same);
            for transport in [UNIX, TCP] {
                let id = other.and_then(|table| plain_cell(document, table, transport));
                let cell = id.and_then(|id| document.cells.iter().find(|cell| cell.id == id));
                let cost = cell.and_then(|cell| cell.wall_ns_per_op.as_ref()).map(|it| time(it.median));
                out.push_str(&format!(" {} |", cost.unwrap_or_default()));
            }
        }
        out.push('\n');
    }
    let under = congestion(document).map(|text| format!(" {}.", capitalised(&text))).unwrap_or_default();
    Ok(format!("{out}\n*{}.{under}*", origin(document)))
}

/// The table of what requests cost, as a terminal shows it.
fn app(app: &AnsweredRun<App>) -> Result<String> {
    let table = table_of(app, ROOM_OF_APP, plain)?;
    Ok(format!("```text\n{table}\n```\n\n*{}. {}.*", server(app), origin(&app.document)))
}

/// The table of an answer of `app` in so many columns, as `look` has the page.
pub fn table_of(app: &AnsweredRun<App>, room: usize, look: impl Fn(&str) -> String) -> Result<String> {
    const TITLE: &str = "Cost per request";
    let shown = look(&page_of_app(app, &app.document).terminal(false, room));
    let lines = shown.lines().skip_while(|line| !line.contains(TITLE)).skip(1);
    // A row may take more than a line; what explains the columns, and where the rest is, comes after the last one.
    let is_after = |line: &str| {
        let line = plain(line);
        let begins = ["The columns ", "The scheduler ", "Pinned: ", "ipcost "];
        line.is_empty() || begins.iter().any(|begin| line.starts_with(begin))
    };
    let table: Vec<&str> = lines.take_while(|line| !is_after(line)).collect();
    ensure!(!app.savings.is_empty() && !table.is_empty(), "the document has no table of requests");
    Ok(table.join("\n"))
}

/// What is known of the least request with one client: on a kept connection, or on one of its own.
pub fn alone(app: &AnsweredRun<App>, pattern: Pattern, placement: Placement) -> Option<&Saving> {
    app.savings.iter().find(|saving| {
        let is_plain = saving.concurrency == 1 && saving.pipeline == 1 && saving.ran.is_none();
        is_plain && saving.pattern == pattern && saving.placement == placement
    })
}

fn on_one_core(app: &AnsweredRun<App>, pattern: Pattern) -> Option<&Saving> {
    alone(app, pattern, Placement::Together)
}

/// A server, as it calls itself: `Redis 7.0.15`, `nginx/1.22.1`.
fn server(app: &AnsweredRun<App>) -> String {
    match app.version.contains('/') {
        true => app.version.clone(),
        false => format!("{} {}", app.title, app.version),
    }
}

/// What a Unix socket saves of the least request, and of a connection, in a sentence.
fn saving(app: &AnsweredRun<App>) -> Result<String> {
    let least = on_one_core(app, Pattern::Rr).context("no request was measured on one core")?;
    let both = |saving: &Saving| {
        let (unix, tcp) = (time(saving.unix_ns), time(saving.tcp_ns));
        let open = if saving.verdict == Verdict::Undecided { ", open" } else { "" };
        let interval = interval(saving.ratio.lo, saving.ratio.hi, open);
        format!("{unix} over a Unix socket and {tcp} over TCP, {} × {interval}.", ratio(saving.ratio.median))
    };
    let first = format!("On one core, `{}` of {} takes {}", least.request, server(app), both(least));
    let connection = on_one_core(app, Pattern::Connect).map(|saving| {
        let text = format!("With a connection for each request it takes {}", both(saving));
        format!(" {}", strong(&text, saving.verdict))
    });
    Ok(format!(
        "{}{}\n\n*{}.*",
        strong(&first, least.verdict),
        connection.unwrap_or_default(),
        origin(&app.document)
    ))
}

/// Several servers: what their least request takes on one core, on a kept connection and on one of its own.
fn servers(apps: &[AnsweredRun<App>]) -> Result<String> {
    let first = apps.first().context("no server")?;
    let mut out = String::from(
        "| server | request | Unix socket | TCP | ratio | saves | ratio with a connection for each |\n|---|---|---|---|---|---|---|\n",
    );
    for app in apps {
        let least = on_one_core(app, Pattern::Rr).context("no request was measured on one core")?;
        out.push_str(&format!(
            "| {} | `{}` | {} | {} | {} | {} | {} |\n",
            server(app),
            least.request,
            time(least.unix_ns),
            time(least.tcp_ns),
            known(least),
            least.saved_ns.as_ref().map(|saved| time(saved.median)).unwrap_or_default(),
            on_one_core(app, Pattern::Connect).map(known).unwrap_or_default()
        ));
    }
    let origins = apps.iter().map(|app| origin(&app.document));
    ensure!(
        origins.clone().all(|its| its == origin(&first.document)),
        "they are of several machines or versions"
    );
    Ok(format!("{out}\n*On one core. {}.*", origin(&first.document)))
}
