//! The pictures of README and docs/.

use anstyle::{Color, RgbColor};
use anstyle_svg::Term;
use anyhow::{Context, Result};
use ipcost_features::answer::AnsweredRun;
use ipcost_features::app::{App, page as page_of_app};
use ipcost_features::replicate::{ReplicationRecord, page as page_of_ledger};
use ipcost_model::{ContrastRecord, Document, Pattern, Placement, WorkloadRecord};
use ipcost_report::forest::{Forest, ForestGroup, ForestRow};
use ipcost_report::numbers::ratio;
use ipcost_report::page::{Frame, Page};
use ipcost_report::picture::{Background, draw_forest};
use ipcost_report::summary::summary;
use ipcost_report::words::work;

use super::shelf::{Shelf, origin};
use super::views::{alone, interval, of_default_suite, table_of};

/// The columns of the terminal that is shown.
const ROOM: usize = 132;
/// The same, for shorter lines.
const NARROW: usize = 92;

/// Every picture, by the name of its file.
pub fn all(shelf: &Shelf) -> Result<Vec<(&'static str, String)>> {
    let default = shelf.one("default-cubic")?;
    let redis = shelf.app("app-redis")?;
    let requests = table_of(&redis, ROOM, str::to_owned)?;
    let of_ledger = |id: &str, place| {
        let record = record(shelf, id)?;
        drawn(&page_of_ledger(&record, &record.document), place)
    };
    Ok(vec![
        ("terminal.svg", terminal("ipcost", &summary(&default, NARROW))),
        ("terminal-app.svg", terminal("ipcost app redis", &requests)),
        ("unix-over-tcp.svg", unix_over_tcp(&default, &redis)?),
        ("saving.svg", drawn(&page_of_app(&redis, &redis.document), 0)?),
        ("published-and-measured.svg", of_ledger("socat-bulk", 0)?),
        ("claims.svg", of_ledger("go-pingpong", 1)?),
    ])
}

/// A ledger among those of all files.
fn record(shelf: &Shelf, id: &str) -> Result<AnsweredRun<ReplicationRecord>> {
    let found = shelf.records()?.into_iter().find(|record| record.id == id);
    found.with_context(|| format!("no ledger of {id}"))
}

/// What a terminal shows, below the command.
fn terminal(command: &str, shown: &str) -> String {
    let light = |grey: u8| Color::Rgb(RgbColor(grey, grey, grey));
    let svg = Term::new()
        .fg_color(light(0xdd))
        .bg_color(light(0x1e))
        .render_svg(&format!("$ {command}\n{}", shown.trim_end()));
    // Its own is too dark to read.
    svg.replace(".dimmed { opacity: 0.4; }", ".dimmed { opacity: 0.7; }")
}

/// What most people ask: a Unix socket relative to TCP, for a connection, a round trip and a real server.
fn unix_over_tcp(document: &Document, redis: &AnsweredRun<App>) -> Result<String> {
    let group = |title: &str, placement: Placement| -> Result<ForestGroup> {
        let (connection, its) = of_default_suite(document, Pattern::Connect, 64, placement)?;
        let (round_trip, trips) = of_default_suite(document, Pattern::Rr, 64, placement)?;
        let ping = alone(redis, Pattern::Rr, placement).context("Redis was not measured there")?;
        let row = |label: String, median: f64, lo: Option<f64>, hi: Option<f64>| {
            let figures = format!("{} {}", ratio(median), interval(lo, hi, ""));
            ForestRow { label, strong: false, slot: 0, ratio: median, lo, hi, figures }
        };
        let of_contrast =
            |table: &WorkloadRecord, it: &ContrastRecord| row(work(table), it.ratio, it.lo, it.hi);
        let of_ping =
            row(format!("Redis: {}", ping.request), ping.ratio.median, ping.ratio.lo, ping.ratio.hi);
        Ok(ForestGroup {
            title: title.to_owned(),
            rows: vec![of_contrast(connection, its), of_contrast(round_trip, trips), of_ping],
        })
    };
    let forest = Forest {
        title: "A Unix socket relative to TCP on localhost".to_owned(),
        about: String::new(),
        reading: "The time of one operation over a Unix socket, divided by that over TCP, with its interval."
            .to_owned(),
        panels: vec![
            group("both processes on one core", Placement::Together)?,
            group("on two cores", Placement::Apart)?,
        ],
        band: (1.0 - document.analysis.margin, 1.0 + document.analysis.margin),
        notes: Vec::new(),
        how: format!("{}. Redis: {}.", origin(document), origin(&redis.document)),
    };
    Ok(draw_forest(&forest, Background::White)?.svg())
}

/// A picture of a page, by its place among them.
fn drawn(page: &Page<'_>, place: usize) -> Result<String> {
    let figures = page.figures();
    let figure = figures.get(place).context("it was not measured")?;
    Ok((figure.draw)(Frame::File(Background::White))?.svg())
}
