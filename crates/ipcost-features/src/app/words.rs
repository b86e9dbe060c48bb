//! The answer as text: what was compared, then what a Unix socket saves, of which request, and from how much work on not.

use anstyle::Style;
use ipcost_model::units::percent;
use ipcost_model::{Estimate, Lasts, Pattern, Placement, Ran, Verdict, and_joined};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{bounds, interval, ratio, time};
use ipcost_report::words::{SAME_IN_MEDIAN, cores, escaped, ran};
use ipcost_report::wrap::wrapped;

use super::record::LOGIN;
use super::{App, Burst, Checked, Met, Others, Saving};

const BOLD: Style = Style::new().bold();
const COLUMNS: [Column; 7] = [
    Column::new("request", false, 0),
    Column::new("cores", false, 3),
    Column::new("unix", true, 1),
    Column::new("tcp", true, 1),
    Column::new("unix / tcp", true, 0),
    Column::new("", false, 4),
    Column::new("saves", true, 0),
];
/// The most letters of a request in a table, and in a sentence.
const SHORT: usize = 32;
const MOST: usize = 60;
/// A share of a core below this is not worth a sentence.
const LEAST_OF_A_CORE: f64 = 0.005;
/// The rate at which savings of processor time are told, requests a second, unless one client cannot reach it.
const RATE: f64 = 1000.0;

/// Draws the answer in `room` columns of text.
pub fn render(app: &App, room: usize) -> String {
    let mut out = String::new();
    out.push_str(&format!("{BOLD}{}{BOLD:#}\n", wrapped(&heading(app), room)));
    if !app.same_work.is_empty() {
        out.push_str(&format!("\n{BOLD}The same work on both sides?{BOLD:#}\n"));
    }
    for line in checked(app) {
        out.push_str(&format!("  {}\n", wrapped(&line, room.saturating_sub(2))));
    }
    if !app.savings.is_empty() {
        out.push('\n');
        let mut grid = Grid::new(&COLUMNS);
        app.savings.iter().for_each(|saving| row(&mut grid, saving, app.margin));
        grid.render(&mut out, room);
    }
    for sentence in sentences(app) {
        out.push_str(&format!("\n{}\n", wrapped(&sentence, room)));
    }
    out
}

/// Which server, and whose.
pub(super) fn heading(app: &App) -> String {
    let whose = match app.private {
        Some(Lasts::Epoch) => "a private server, started anew for each epoch",
        Some(Lasts::Run) => "a private server, one process for the whole run",
        None => "your server, as it runs",
    };
    let reached = match app.others {
        Some(Others::Network) => ", in a network of its own",
        Some(Others::Admitted) => ", open to every user of this machine",
        Some(Others::Secret) | None => "",
    };
    format!("{} {}: {whose}{reached}", app.title, escaped(&app.version))
}

/// What is the same in one line, and each difference in one of its own.
fn checked(app: &App) -> Vec<String> {
    let (same, differ): (Vec<&Checked>, Vec<&Checked>) =
        app.same_work.iter().partition(|checked| checked.same);
    let mut lines = Vec::new();
    if !same.is_empty() {
        let each = same
            .iter()
            .map(|checked| format!("{} ({})", shortened(&checked.what, MOST), escaped(&checked.unix)));
        lines.push(format!("the same: {}", each.collect::<Vec<_>>().join(", ")));
    }
    lines.extend(differ.iter().map(|checked| {
        let how = checked.made_equal.as_ref().map_or(String::new(), |how| format!("; {how}"));
        format!(
            "{}: {}: {} over the Unix socket, {} over TCP{how}",
            word(checked),
            escaped(&checked.what),
            escaped(&checked.unix),
            escaped(&checked.tcp)
        )
    }));
    lines
}

/// What is known of something that was compared.
pub(super) fn word(checked: &Checked) -> &'static str {
    match (checked.same, &checked.made_equal) {
        (true, _) => "the same",
        (false, Some(_)) => "made equal",
        (false, None) => "differs",
    }
}

/// A request in at most so many letters.
pub(super) fn shortened(request: &str, most: usize) -> String {
    let text = escaped(request);
    match text.chars().count() <= most {
        true => text,
        false => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// A load in words: `SELECT 1, a connection for each`.
pub(super) fn load(saving: &Saving, most: usize) -> String {
    let mut text = shortened(&saving.request, most);
    if saving.pattern == Pattern::Connect {
        text.push_str(", a connection for each");
    }
    if saving.concurrency > 1 {
        text.push_str(&format!(", {} at once", saving.concurrency));
    }
    if saving.pipeline > 1 {
        text.push_str(&format!(", {} in one go", saving.pipeline));
    }
    text
}

/// What is known of a load.
pub(super) fn known(saving: &Saving, margin: f64) -> String {
    match saving.verdict {
        Verdict::Undecided if saving.ratio.lo.is_none() => "an estimate".to_owned(),
        Verdict::Undecided => "open".to_owned(),
        Verdict::Equivalent if saving.is_same() => format!("the same within {}", percent(margin)),
        Verdict::Equivalent => SAME_IN_MEDIAN.to_owned(),
        Verdict::Different | Verdict::Direction if saving.ratio.median < 1.0 => "less".to_owned(),
        Verdict::Different | Verdict::Direction => "more".to_owned(),
    }
}

fn row(grid: &mut Grid, saving: &Saving, margin: f64) {
    let within = bounds(saving.ratio.median, (saving.ratio.lo, saving.ratio.hi), None);
    grid.row(vec![
        Piece::from(load(saving, SHORT)),
        Piece::from(cores_of(saving)),
        Piece::from(time(saving.unix_ns)),
        Piece::from(time(saving.tcp_ns)),
        Piece::from(format!("{} {within}", ratio(saving.ratio.median))),
        Piece::from(known(saving, margin)),
        Piece::from(saving.saved_ns.map_or_else(String::new, |saved| signed(&saved))),
    ]);
}

pub(super) fn signed(saved: &Estimate) -> String {
    signed_time(saved.median)
}

fn signed_time(ns: f64) -> String {
    let sign = if ns < 0.0 { "−" } else { "" };
    format!("{sign}{}", time(ns.abs()))
}

/// The interval of a difference, whose ends may lie on either side of zero: `15.2 µs–21.0 µs`, `−1.06 µs to 21.8 µs`.
pub(super) fn ends(saved: &Estimate) -> Option<String> {
    let (lo, hi) = (saved.lo?, saved.hi?);
    let between = if lo < 0.0 { " to " } else { "–" };
    Some(format!("{}{between}{}", signed_time(lo), signed_time(hi)))
}

/// An estimate of a time with its interval: `18.1 µs (15.2 µs–21.0 µs)`.
fn with_interval(saved: &Estimate) -> String {
    let within = ends(saved).map_or_else(String::new, |ends| format!(" ({ends})"));
    format!("{}{within}", signed(saved))
}

/// The answer in sentences.
fn sentences(app: &App) -> Vec<String> {
    let burst = app.burst.iter().map(of_burst);
    of_held_back(app).chain(of_loads(app)).chain(burst).chain(limits(app)).collect()
}

/// What waits for delayed acknowledgements: it comes before what a Unix socket would save.
pub(super) fn of_held_back(app: &App) -> impl Iterator<Item = String> {
    app.held_back.iter().map(|found| escaped(found))
}

/// Each request, then connections, then from how much work on it stops mattering.
pub(super) fn of_loads(app: &App) -> Vec<String> {
    let mut all = of_placements(app);
    all.extend(app.requests.iter().filter_map(|request| {
        let of = |saving: &&Saving| saving.is_plain() && saving.request == request.request;
        let savings: Vec<&Saving> = app.savings.iter().filter(of).collect();
        paragraph(&shortened(&request.request, MOST), app, &savings)
    }));
    let connections: Vec<&Saving> = app
        .savings
        .iter()
        .filter(|saving| saving.pattern == Pattern::Connect && saving.concurrency == 1)
        .collect();
    all.extend(paragraph("A connection for each request", app, &connections).map(|text| {
        match app.same_work.iter().find(|checked| checked.what == LOGIN && !checked.same) {
            Some(logins) => format!(
                "{text} The login is part of that, and differs: {} over the Unix socket, {} over TCP.",
                escaped(&logins.unix),
                escaped(&logins.tcp)
            ),
            None => text,
        }
    }));
    all.extend(of_curves(app));
    all
}

/// What limits the answer.
pub(super) fn limits(app: &App) -> Option<String> {
    if app.unix.is_none() || app.tcp.is_none() {
        Some(
            "Only one side was measured: give --unix PATH and --tcp HOST:PORT of the same server.".to_owned(),
        )
    } else if app.private != Some(Lasts::Epoch) && !app.savings.is_empty() {
        Some(
            "All of this is known for this server process: another start of it may cost some per cent more or less."
                .to_owned(),
        )
    } else {
        None
    }
}

/// What becomes of clients that come at once, over either socket.
pub(super) fn of_burst(burst: &Burst) -> String {
    let share = |count: u64, met: &Met| percent(count as f64 / met.all().max(1) as f64);
    let side = |name: &str, met: &Met| {
        let parts = [
            (met.refused, "were refused at once"),
            (met.late, "were answered after a second or more, as TCP tries again"),
            (met.failed, "got an error or no reply"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", share(count, met)))
            .collect();
        let queue = met.backlog.map_or_else(String::new, |backlog| format!(" (its queue holds {backlog})"));
        match parts.is_empty() {
            true => format!("over {name}{queue} all were answered within a second"),
            false => format!("over {name}{queue} {}", and_joined(&parts)),
        }
    };
    let sides = [("the Unix socket", burst.unix), ("TCP", burst.tcp)];
    let sides: Vec<String> = sides.iter().filter_map(|(name, met)| Some(side(name, met.as_ref()?))).collect();
    let refused = |met: Option<Met>| met.is_some_and(|met| met.refused + met.late > 0);
    let remedy = match burst.somaxconn {
        Some(most) if refused(burst.unix) || refused(burst.tcp) => format!(
            ". The queue is as long as the server asks for, up to net.core.somaxconn, which is {most} here: raise the server's backlog, and that where it is less"
        ),
        _ => String::new(),
    };
    format!(
        "{} clients that connect at the same moment and do not wait: {}{remedy}.",
        burst.clients,
        sides.join("; ")
    )
}

/// On which cores: those that were asked for, or those on which batches were seen to run.
pub(super) fn place(placement: Placement, seen: Option<Ran>) -> String {
    match (placement, seen) {
        (Placement::Free, None) => String::new(),
        (placement, None) => format!(" on {}", cores(placement)),
        (Placement::Free, Some(seen)) => format!(" on {}", ran(seen)),
        (_, Some(seen)) => format!(" on {} with the client pinned", ran(seen)),
    }
}

/// The cores of a row, and how many batches ran so: `one core (67 % / 30 %)`.
pub(super) fn cores_of(saving: &Saving) -> String {
    let Some(share) = saving.share() else { return cores(saving.placement).to_owned() };
    let pinned = if saving.placement == Placement::Free { "" } else { ", pinned" };
    format!("{}{pinned} ({} / {})", ran(share.ran), percent(share.unix), percent(share.tcp))
}

/// The same in a sentence.
fn place_of(saving: &Saving) -> String {
    match saving.share() {
        Some(share) => format!(
            "{} ({} of the batches over the Unix socket, {} over TCP)",
            place(saving.placement, saving.ran),
            percent(share.unix),
            percent(share.tcp)
        ),
        None if saving.shares.is_empty() => place(saving.placement, None),
        None => " on any core".to_owned(),
    }
}

/// What the rows of placements are; nothing without any.
pub(super) fn of_placements(app: &App) -> Vec<String> {
    let mut all = Vec::new();
    if app.savings.iter().any(|saving| saving.ran.is_some()) {
        all.push(
            "Your server runs where the scheduler puts it. In brackets: how many batches ran so, over the Unix socket / over TCP. Such a row compares the rounds in which both sides did; the row for any core has all rounds and mixes the placements."
                .to_owned(),
        );
    }
    if app.savings.iter().any(|saving| saving.ran.is_some() && saving.placement != Placement::Free) {
        all.push(
            "Pinned: before each batch the client was put on the core where the server's thread ran last, or on another. The server itself is never moved."
                .to_owned(),
        );
    }
    for saving in app.savings.iter().filter(|saving| saving.ran.is_none() && saving.is_plain()) {
        let is_alone = |seen: Ran| {
            let row = |row: &Saving| row.ran == Some(seen) && row.is_same_load(saving);
            seen != Ran::Mixed && !app.savings.iter().any(row)
        };
        all.extend(saving.shares.iter().filter(|share| is_alone(share.ran)).map(|share| {
            format!(
                "{}: both sides ran on {} in no common round ({} of the batches over the Unix socket, {} over TCP), so they are not compared there.",
                load(saving, MOST),
                ran(share.ran),
                percent(share.unix),
                percent(share.tcp)
            )
        }));
    }
    all
}

/// What a load costs over either socket, wherever it was measured, and what that saves.
fn paragraph(what: &str, app: &App, savings: &[&Saving]) -> Option<String> {
    let each = savings.iter().map(|saving| {
        let ratio = match interval(saving.ratio.median, saving.ratio.lo, saving.ratio.hi) {
            Some(within) => format!("{} ×, {within}", ratio(saving.ratio.median)),
            None => format!("{} ×, no interval", ratio(saving.ratio.median)),
        };
        format!(
            "{} {} over the Unix socket and {} over TCP ({ratio}): {}",
            place_of(saving),
            time(saving.unix_ns),
            time(saving.tcp_ns),
            consequence(app, saving)
        )
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("{what}:{}.", each.join(";")))
}

/// What follows from a ratio.
fn consequence(app: &App, saving: &Saving) -> String {
    if let Some(held_ns) = saving.held_back_ns {
        return format!(
            "{} of those are the wait for a delayed acknowledgement, which TCP_NODELAY ends as well; measure again without it",
            time(held_ns)
        );
    }
    match (saving.verdict, &saving.saved_ns) {
        (Verdict::Different | Verdict::Direction, Some(saved)) if saving.ratio.median < 1.0 => format!(
            "moving saves {} a request, {} of it{}",
            with_interval(saved),
            percent(1.0 - saving.ratio.median),
            of_a_core(saving)
        ),
        (Verdict::Different | Verdict::Direction, _) => format!(
            "moving would cost {} more a request",
            saving.saved_ns.map_or_else(|| "something".to_owned(), |saved| time(saved.median.abs()))
        ),
        (Verdict::Equivalent, _) if !saving.is_same() => match &saving.mean {
            Some(mean) => format!(
                "{SAME_IN_MEDIAN}, so moving saves nothing that matters of most requests; the mean over all is {} {}",
                ratio(mean.ratio),
                bounds(mean.ratio, (mean.lo, mean.hi), None)
            ),
            None => format!("{SAME_IN_MEDIAN}, so moving saves nothing that matters of most requests"),
        },
        (Verdict::Equivalent, _) => {
            format!("the same within {}, so moving saves nothing that matters", percent(app.margin))
        }
        _ if saving.ratio.lo.is_none() => {
            "an estimate from too few epochs for an interval, which a longer --budget gives".to_owned()
        }
        _ => "whether moving saves anything is open, and a longer --budget tells".to_owned(),
    }
}

/// What is saved of a core, at a rate that one client reaches.
fn of_a_core(saving: &Saving) -> String {
    let Some(saved) = saving.saved_cpu_ns.filter(|saved| saved.lo.is_some_and(|lo| lo > 0.0)) else {
        return String::new();
    };
    let rate = RATE.min(1e9 / saving.tcp_ns);
    let share = saved.median * rate / 1e9;
    match share < LEAST_OF_A_CORE {
        true => String::new(),
        false => format!(
            ", and {} of a core at {rate:.0} requests a second by processor time of both sides",
            percent(share)
        ),
    }
}

/// From how much work on what is saved is less than the margin; nothing where nothing is known to be saved.
fn of_curves(app: &App) -> Option<String> {
    let margin = percent(app.margin);
    let each = app.curves.iter().map(|curve| match curve.until_ns {
        Some(until_ns) => format!("{} of work{}", time(until_ns), place(curve.placement, curve.ran)),
        None => format!("no work at all{}", place(curve.placement, curve.ran)),
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!(
            "The longer the server works on a request, the less it matters: with {}, or sooner, less than {margin} of a request is saved. That is for replies as short as that of the least request: longer ones save more.",
            and_joined(&each)
        )
    })
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Document, Envelope};
    use ipcost_report::fixture;

    use ipcost_model::MeanContrast;

    use super::*;
    use crate::app::{APP_SCHEMA, Curve, Request, Side};

    fn saving(
        request: &str,
        pattern: Pattern,
        placement: Placement,
        median: f64,
        verdict: Verdict,
    ) -> Saving {
        let saved = |ns: f64| Some(Estimate { median: ns, lo: Some(ns * 0.9), hi: Some(ns * 1.1) });
        let known = verdict != Verdict::Undecided;
        Saving {
            request: request.to_owned(),
            pattern,
            concurrency: 1,
            pipeline: 1,
            placement,
            ran: None,
            shares: Vec::new(),
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
            held_back_ns: None,
        }
    }

    #[test]
    fn nothing_is_called_the_same_whose_mean_is_open() {
        let mut row = saving("PING", Pattern::Rr, Placement::Together, 0.99, Verdict::Equivalent);
        assert_eq!(known(&row, 0.05), "the same within 5 %");
        row.mean = row.mean.map(|mean| MeanContrast { verdict: Verdict::Undecided, ..mean });
        assert_eq!(known(&row, 0.05), "same in the median");
    }

    #[test]
    fn what_was_compared_comes_first_then_what_is_saved_and_until_when() {
        let checked = |what: &str, unix: &str, tcp: &str, made_equal: Option<&str>| Checked {
            what: what.to_owned(),
            unix: unix.to_owned(),
            tcp: tcp.to_owned(),
            same: unix == tcp,
            made_equal: made_equal.map(str::to_owned),
        };
        let side = |address: &str| Side { address: address.to_owned(), process: Some(7) };
        let long = "SELECT name FROM account WHERE id = 4711 AND branch = 17 ORDER BY name LIMIT 10";
        let request =
            |request: &str, least| Request { request: request.to_owned(), sent: 9, replied: 70, least };
        let (together, apart) = (Placement::Together, Placement::Apart);
        let Document { tool, host, started, .. } = fixture::document();
        let app = App {
            envelope: Envelope { schema: APP_SCHEMA.to_owned(), tool, host, started },
            server: "postgres".to_owned(),
            title: "PostgreSQL".to_owned(),
            version: "15.18".to_owned(),
            private: None,
            others: None,
            unix: Some(side("/run/postgresql/.s.PGSQL.5432")),
            tcp: Some(side("127.0.0.1:5432")),
            same_work: vec![
                checked("version", "15.18", "15.18", None),
                checked(LOGIN, "no password", "SCRAM-SHA-256", None),
                checked("TLS", "not offered", "offered", Some("neither side uses it here")),
            ],
            requests: vec![request("SELECT 1", true), request(long, false)],
            margin: 0.05,
            held_back: Vec::new(),
            savings: vec![
                saving("SELECT 1", Pattern::Rr, together, 0.63, Verdict::Different),
                saving("SELECT 1", Pattern::Rr, apart, 0.97, Verdict::Equivalent),
                saving(long, Pattern::Rr, together, 0.9, Verdict::Undecided),
                saving("SELECT 1", Pattern::Connect, together, 1.2, Verdict::Different),
            ],
            curves: vec![Curve {
                placement: together,
                ran: None,
                saved_ns: 18_500.0,
                least_ns: 50_000.0,
                points: Vec::new(),
                until_ns: Some(320_000.0),
            }],
            burst: Some(Burst {
                clients: 500,
                somaxconn: Some(128),
                unix: Some(Met { backlog: Some(128), answered: 1400, refused: 100, ..Met::default() }),
                tcp: Some(Met { backlog: Some(128), answered: 1395, late: 90, failed: 15, ..Met::default() }),
            }),
        };
        insta::assert_snapshot!(anstream::adapter::strip_str(&render(&app, 100)).to_string());
        for room in [0, 1, 40, 80] {
            render(&app, room);
        }
    }
}
