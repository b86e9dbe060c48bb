//! The answer as text: what was compared, then what a Unix socket saves, of which request, and from how much work on not.

use anstyle::Style;
use ipcost_model::units::percent;
use ipcost_model::{Estimate, Lasts, Pattern, Placement, Verdict};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::{bounds, interval, ratio, time};
use ipcost_report::words::{cores, escaped};
use ipcost_report::wrap::wrapped;

use super::{App, Checked, Curve, Saving};

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
/// A share of a core below this is not worth a sentence.
const LEAST_OF_A_CORE: f64 = 0.005;
/// The rate at which savings of processor time are told, requests a second, unless one client cannot reach it.
const RATE: f64 = 1000.0;

/// Draws the answer in `room` columns of text.
pub fn render(app: &App, room: usize) -> String {
    let mut out = String::new();
    out.push_str(&format!("{BOLD}{}{BOLD:#}\n", wrapped(&heading(app), room)));
    out.push_str(&format!("\n{BOLD}The same work on both sides?{BOLD:#}\n"));
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
fn heading(app: &App) -> String {
    let whose = match app.private {
        Some(Lasts::Epoch) => "a private server, started anew for each epoch",
        Some(Lasts::Run) => "a private server, one process for the whole run",
        None => "your server, as it runs",
    };
    format!("{} {}: {whose}", app.title, escaped(&app.version))
}

/// What is the same in one line, and each difference in one of its own.
fn checked(app: &App) -> Vec<String> {
    let (same, differ): (Vec<&Checked>, Vec<&Checked>) =
        app.same_work.iter().partition(|checked| checked.same);
    let mut lines = Vec::new();
    if !same.is_empty() {
        let each = same.iter().map(|checked| format!("{} ({})", escaped(&checked.what), escaped(&checked.unix)));
        lines.push(format!("the same: {}", each.collect::<Vec<_>>().join(", ")));
    }
    lines.extend(differ.iter().map(|checked| {
        format!(
            "differs: {}: {} over the Unix socket, {} over TCP",
            escaped(&checked.what),
            escaped(&checked.unix),
            escaped(&checked.tcp)
        )
    }));
    lines
}

/// A load in words: `SELECT 1, a connection for each`.
fn load(saving: &Saving) -> String {
    let mut text = escaped(&saving.request);
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

fn row(grid: &mut Grid, saving: &Saving, margin: f64) {
    let known = match saving.verdict {
        Verdict::Undecided => "open".to_owned(),
        Verdict::Equivalent => format!("the same within {}", percent(margin)),
        Verdict::Different | Verdict::Direction if saving.ratio.median < 1.0 => "less".to_owned(),
        Verdict::Different | Verdict::Direction => "more".to_owned(),
    };
    let within = bounds(saving.ratio.median, (saving.ratio.lo, saving.ratio.hi), None);
    grid.row(vec![
        Piece::from(load(saving)),
        Piece::from(cores(saving.placement).to_owned()),
        Piece::from(time(saving.unix_ns)),
        Piece::from(time(saving.tcp_ns)),
        Piece::from(format!("{} {within}", ratio(saving.ratio.median))),
        Piece::from(known),
        Piece::from(saving.saved_ns.map_or_else(String::new, |saved| signed(&saved))),
    ]);
}

fn signed(saved: &Estimate) -> String {
    let sign = if saved.median < 0.0 { "−" } else { "" };
    format!("{sign}{}", time(saved.median.abs()))
}

/// An estimate of a time with its interval: `18.1 µs (15.2 µs–21.0 µs)`.
fn with_interval(saved: &Estimate) -> String {
    match (saved.lo, saved.hi) {
        (Some(lo), Some(hi)) => format!("{} ({}–{})", time(saved.median), time(lo), time(hi)),
        _ => time(saved.median),
    }
}

/// The answer in sentences.
fn sentences(app: &App) -> Vec<String> {
    let mut all = Vec::new();
    let kept = |saving: &&Saving| {
        saving.pattern == Pattern::Rr && saving.concurrency == 1 && saving.pipeline == 1
    };
    for saving in app.savings.iter().filter(kept) {
        all.push(of_kept(app, saving));
    }
    for saving in app.savings.iter().filter(|saving| saving.pattern == Pattern::Connect) {
        all.push(of_connections(saving));
    }
    all.extend(app.curves.iter().map(|curve| of_curve(curve, app.margin)));
    if let Some(missing) = app.savings.is_empty().then(|| "Only one side was measured: give --unix PATH and --tcp HOST:PORT of the same server.") {
        all.push(missing.to_owned());
    }
    if app.private != Some(Lasts::Epoch) && !app.savings.is_empty() {
        all.push("All of this is known for this server process: another start of it may cost some per cent more or less.".to_owned());
    }
    all
}

fn place(placement: Placement) -> String {
    match placement {
        Placement::Free => String::new(),
        placement => format!(" on {}", cores(placement)),
    }
}

fn of_kept(app: &App, saving: &Saving) -> String {
    let request = escaped(&saving.request);
    let known = match interval(saving.ratio.median, saving.ratio.lo, saving.ratio.hi) {
        Some(within) => format!("{} ×, {within}", ratio(saving.ratio.median)),
        None => format!("{} ×, no interval", ratio(saving.ratio.median)),
    };
    let mut text = format!(
        "{request}{} takes {} over the Unix socket and {} over TCP ({known}).",
        place(saving.placement),
        time(saving.unix_ns),
        time(saving.tcp_ns),
    );
    text.push_str(&match (saving.verdict, &saving.saved_ns) {
        (Verdict::Different | Verdict::Direction, Some(saved)) if saved.median > 0.0 => format!(
            " Moving saves {} a request, {} of it{}.",
            with_interval(saved),
            percent(saved.median / saving.tcp_ns),
            of_a_core(saving)
        ),
        (Verdict::Different | Verdict::Direction, Some(saved)) => {
            format!(" Moving would cost {} a request.", time(saved.median.abs()))
        }
        (Verdict::Equivalent, _) => {
            format!(" That is the same within {}: moving saves nothing that matters.", percent(app.margin))
        }
        _ => " Whether moving saves anything is open; a longer --budget tells.".to_owned(),
    });
    text
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
        false => format!(", and by processor time of both sides {} of a core at {rate:.0} requests a second", percent(share)),
    }
}

fn of_connections(saving: &Saving) -> String {
    let place = place(saving.placement);
    match (saving.verdict, &saving.saved_ns) {
        (Verdict::Different | Verdict::Direction, Some(saved)) if saved.median > 0.0 => format!(
            "With a connection for each request{place} it saves {}: {} instead of {}.",
            with_interval(saved),
            time(saving.unix_ns),
            time(saving.tcp_ns)
        ),
        (Verdict::Different | Verdict::Direction, Some(saved)) => format!(
            "With a connection for each request{place} it would cost {}: {} instead of {}.",
            time(saved.median.abs()),
            time(saving.unix_ns),
            time(saving.tcp_ns)
        ),
        (Verdict::Equivalent, _) => {
            format!("With a connection for each request{place} both take the same: {}.", time(saving.tcp_ns))
        }
        _ => format!(
            "With a connection for each request{place} what it saves is open: {} against {}.",
            time(saving.unix_ns),
            time(saving.tcp_ns)
        ),
    }
}

fn of_curve(curve: &Curve, margin: f64) -> String {
    let place = place(curve.placement);
    let margin = percent(margin);
    match curve.until_ns {
        Some(until_ns) => format!(
            "From how much work on does it stop mattering{place}? Once the server works {} on a request, the {} that the Unix socket saves are less than {margin} of it.",
            time(until_ns),
            time(curve.saved_ns)
        ),
        None => format!("Even of the least request{place} the Unix socket saves less than {margin}."),
    }
}
