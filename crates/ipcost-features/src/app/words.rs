//! The words of the answer: what was compared, what a Unix socket saves, of which request, and from how much work on not.

use ipcost_model::units::percent;
use ipcost_model::{Estimate, Lasts, Pattern, Placement, Ran, and_joined};
use ipcost_report::numbers::{bounds, interval, ratio, signed_time, time, time_interval};
use ipcost_report::words::{AMOUNT_OPEN, SAME_IN_MEDIAN, capitalised, changed, cores, escaped, ran};

use super::claim::RowVerdict;
use super::record::LOGIN;
use super::{App, Burst, BurstOutcome, Checked, OtherSide, Others, Saving, SideCost};

/// The most letters of a request in a sentence.
const MOST: usize = 60;
/// A share of a core below this is not worth a sentence.
const LEAST_OF_A_CORE: f64 = 0.005;
/// A median of single requests so many times the cost, or less than its part, needs a word.
const FAR: f64 = 1.5;
/// The rate at which savings of processor time are told, requests a second, unless one client cannot reach it.
const RATE: f64 = 1000.0;

/// Which server, and whose.
pub(super) fn heading(app: &App) -> String {
    let whose = match app.private {
        Some(Lasts::Epoch) => "a private server, restarted for each epoch",
        Some(Lasts::Run) => "a private server, one process for the whole run",
        None => "your server, as it runs",
    };
    let reached = match app.others {
        Some(Others::Network) => ", in a network of its own",
        Some(Others::Admitted) => ", open to every user of this machine",
        Some(Others::Secret) | None => "",
    };
    let named = app.tcp.as_ref().and_then(|socket| Some((socket.name.as_ref()?, &socket.address)));
    let named = named.map_or_else(String::new, |(name, address)| {
        format!("; {} answered at {}", escaped(name), escaped(address))
    });
    format!("{}: {whose}{reached}{named}", server(&app.title, &escaped(&app.version)))
}

/// A server's name and version; many web servers tell both as their version.
pub(super) fn server(title: &str, version: &str) -> String {
    match version.to_lowercase().starts_with(&title.to_lowercase()) {
        true => version.to_owned(),
        false => format!("{title} {version}").trim_end().to_owned(),
    }
}

/// What is the same in one line, and each difference in one of its own.
pub(super) fn checked(app: &App) -> Vec<String> {
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
    let Saving { request, pattern, concurrency, pipeline, .. } = saving;
    load_of(request, (*pattern, *concurrency, *pipeline), most)
}

/// The same of a load over one socket.
pub(super) fn load_alone(cost: &SideCost, most: usize) -> String {
    load_of(&cost.request, (cost.pattern, cost.concurrency, cost.pipeline), most)
}

fn load_of(request: &str, (pattern, concurrency, pipeline): (Pattern, u32, u64), most: usize) -> String {
    let mut text = shortened(request, most);
    if pattern == Pattern::Connect {
        text.push_str(", a connection for each");
    }
    if concurrency > 1 {
        text.push_str(&format!(", {concurrency} at once"));
    }
    if pipeline > 1 {
        text.push_str(&format!(", {pipeline} in one go"));
    }
    text
}

/// On which cores a load over one socket ran.
pub(super) fn cores_alone(cost: &SideCost) -> String {
    let pinned = if cost.placement == Placement::Free { "" } else { ", pinned" };
    format!("{}{pinned}", cores(cost.placement))
}

/// The socket that was measured alone.
pub(super) fn alone(other: &OtherSide) -> &'static str {
    if other.transport == "unix" { "TCP" } else { "the Unix socket" }
}

/// What each request costs over the one socket, wherever the scheduler ran it.
pub(super) fn of_costs(app: &App) -> Vec<String> {
    let Some(other) = &app.other_side else { return Vec::new() };
    let is_plain =
        |cost: &&SideCost| cost.placement == Placement::Free && cost.concurrency == 1 && cost.pipeline == 1;
    let sentence = |cost: &SideCost| {
        let own = cost.p50_ns.zip(cost.p99_ns).map_or_else(String::new, |(p50, p99)| {
            format!(
                "; half of the requests take at most {}, and 99 % at most {} (closed loop: the client waits for each reply)",
                time(p50 as f64),
                time(p99 as f64)
            )
        });
        let cpu = cost.cpu_ns.as_ref().map_or_else(String::new, |cpu| {
            format!("; processor time of client and server: {}", time(cpu.median))
        });
        let load = load_alone(cost, MOST);
        let within =
            time_interval(cost.wall_ns.lo, cost.wall_ns.hi).map_or_else(String::new, |it| format!(" ({it})"));
        format!("{load}: {}{within} over {}{own}{cpu}.", time(cost.wall_ns.median), alone(other))
    };
    app.costs.iter().filter(is_plain).map(sentence).collect()
}

/// What the columns of one side are, if a row's percentiles are visibly not those of its cost.
pub(super) fn of_percentiles(app: &App) -> Option<String> {
    let is_far = |cost: &SideCost| {
        let times = cost.p50_ns.map_or(1.0, |p50| p50 as f64 / cost.wall_ns.median);
        cost.concurrency == 1 && !(1.0 / FAR..FAR).contains(&times)
    };
    app.costs.iter().any(is_far).then(|| {
        "The cost is a median over batches; p50 and p99 are of requests timed one by one after each batch. They are far apart where the cost changed between batches, as when the scheduler moves client or server."
            .to_owned()
    })
}

/// What the socket needs that was not measured.
pub(super) fn of_other_side(other: &OtherSide) -> String {
    let (socket, flag) = match other.transport.as_str() {
        "unix" => ("a Unix socket", "--unix PATH"),
        _ => ("a port", "--tcp HOST:PORT"),
    };
    format!(
        "One side alone does not show what moving saves. To compare, the server needs {socket}: {}. Then give {flag} as well. {} has the rest.",
        other.setting, other.page
    )
}

/// What is known of a load.
pub(super) fn known(saving: &Saving, margin: f64) -> String {
    let known = match saving.claim() {
        RowVerdict::Less => "cheaper",
        RowVerdict::More => "costs more",
        RowVerdict::Same => return format!("the same within {}", percent(margin)),
        RowVerdict::SameInMedian => SAME_IN_MEDIAN,
        RowVerdict::Open => "open",
        RowVerdict::Estimate => "too few epochs",
        RowVerdict::Varies => "costs vary",
    };
    match saving.is_amount_open() {
        true => format!("{known}, {AMOUNT_OPEN}"),
        false => known.to_owned(),
    }
}

/// What the columns are, if a row's ratio is visibly not the quotient of its costs.
pub(super) fn of_columns(app: &App) -> Option<String> {
    let columns = "The columns unix and tcp are medians of each side. The ratio and the saving compare the two in each round, so they need not be the quotient and the difference of the columns.";
    let is_other = |saving: &Saving| saving.is_no_quotient(app.margin);
    let varies = app.savings.iter().any(|saving| saving.claim() == RowVerdict::Varies);
    app.savings.iter().any(is_other).then(|| match varies {
        true => format!(
            "{columns} Costs vary: the medians point one way and the rounds the other, because each side's cost changed between rounds."
        ),
        false => columns.to_owned(),
    })
}

/// Why rows have no figure of processor time though they have a saving.
pub(super) fn of_unseen(app: &App) -> Option<String> {
    let is_unseen = |saving: &Saving| saving.saved_ns.is_some() && saving.saved_cpu_ns.is_none();
    app.savings.iter().any(is_unseen).then(|| {
        "Processor time has no figure where the server's processes were not seen on both sides: the client's alone would be compared with both."
            .to_owned()
    })
}

/// An estimate of a time with its interval: `18.1 µs (15.2 µs–21.0 µs)`.
fn with_interval(saved: &Estimate) -> String {
    let within = time_interval(saved.lo, saved.hi).map_or_else(String::new, |within| format!(" ({within})"));
    format!("{}{within}", signed_time(saved.median))
}

/// What waits for delayed acknowledgements: it comes before what a Unix socket would save.
pub(super) fn of_held_back(app: &App) -> impl Iterator<Item = String> {
    app.held_back.iter().map(|found| escaped(found))
}

/// What a saving comes to, in a few words: `18.5 µs of 50.0 µs, 37 % (0.63 ×, 0.62–0.64)`.
pub(super) fn in_brief(app: &App, saving: &Saving) -> String {
    let Estimate { median, lo, hi } = saving.ratio;
    let within = interval(median, lo, hi).map_or_else(String::new, |within| format!(", {within}"));
    let times = format!("({} ×{within})", ratio(median));
    if app.apart.is_some() {
        return format!("not known to be one server {times}");
    }
    if saving.held_back_ns.is_some() {
        return format!("TCP waits for delayed acknowledgements {times}");
    }
    let amount = saving.saved_ns.filter(|_| !saving.is_amount_open()).map(|saved| time(saved.median.abs()));
    let said = match (saving.claim(), amount) {
        (RowVerdict::Less, Some(amount)) => {
            format!("{amount} of {}, {}", time(saving.tcp_ns), percent(1.0 - median))
        }
        (RowVerdict::More, Some(amount)) => format!("costs {amount} more"),
        (RowVerdict::Same | RowVerdict::SameInMedian, _) => "nothing that matters".to_owned(),
        (RowVerdict::Estimate, _) => "open, too few epochs".to_owned(),
        (RowVerdict::Varies, _) => "open, costs vary".to_owned(),
        _ => known(saving, app.margin),
    };
    format!("{said} {times}")
}

/// Each request, then connections.
pub(super) fn of_loads(app: &App) -> Vec<String> {
    let mut all = Vec::new();
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
    all
}

/// What limits the answer.
pub(super) fn limits(app: &App) -> Option<String> {
    if let Some(apart) = &app.apart {
        Some(format!("{}.", capitalised(apart)))
    } else if let Some(other) = &app.other_side {
        Some(of_other_side(other))
    } else if app.unix.is_none() || app.tcp.is_none() {
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
    let share = |count: u64, met: &BurstOutcome| percent(count as f64 / met.all().max(1) as f64);
    let side = |name: &str, met: &BurstOutcome| {
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
    let refused = |met: Option<BurstOutcome>| met.is_some_and(|met| met.refused + met.late > 0);
    let remedy = match burst.somaxconn {
        Some(most) if refused(burst.unix) || refused(burst.tcp) => format!(
            ". The queue is as long as the server asks for, up to net.core.somaxconn, which is {most} here: raise the server's backlog, and net.core.somaxconn if that is lower"
        ),
        _ => String::new(),
    };
    let left_out = match burst.left_out {
        0 => String::new(),
        1 => " 1 round more was left out: it would have left too little of the budget.".to_owned(),
        count => {
            format!(" {count} rounds more were left out: they would have left too little of the budget.")
        }
    };
    if sides.is_empty() {
        return format!(
            "{} clients at the same moment: left out, because less than a quarter of the budget would be left. Give a longer --budget, or --burst a smaller number.",
            burst.clients
        );
    }
    format!(
        "Burst of {} clients at the same moment, to test the server's queue: {}{remedy}.{left_out}",
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
            "The scheduler places the server where nothing is pinned. In brackets: how many batches ran so, over the Unix socket / over TCP. Such a row compares the rounds in which both sides did; the row for any core has all rounds and mixes the placements."
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
                "{}: both sides ran on {} in too few common rounds to be compared there ({} of the batches over the Unix socket, {} over TCP).",
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
    let by_rounds = match saving.sides_disagree() {
        true => ", as the two compare in each round; the medians of each side point the other way",
        false => "",
    };
    let open = || changed("", saving.claim() == RowVerdict::Less, true);
    if app.apart.is_some() {
        return "whether that is the socket is not known".to_owned();
    }
    match saving.claim() {
        RowVerdict::Less if saving.is_amount_open() => format!("with the Unix socket a request costs {}{by_rounds}", open()),
        RowVerdict::More if saving.is_amount_open() => format!("with the Unix socket a request would cost {}{by_rounds}", open()),
        RowVerdict::Less if let Some(saved) = &saving.saved_ns => format!(
            "moving saves {} a request, {} of it{}{by_rounds}",
            with_interval(saved),
            percent(1.0 - saving.ratio.median),
            of_a_core(saving)
        ),
        RowVerdict::Less => format!("moving saves {} of a request{by_rounds}", percent(1.0 - saving.ratio.median)),
        RowVerdict::More => format!(
            "moving would cost {} more a request{by_rounds}",
            saving.saved_ns.map_or_else(
                || "something".to_owned(),
                |Estimate { median, lo, hi }| with_interval(&Estimate {
                    median: -median,
                    lo: hi.map(|hi| -hi),
                    hi: lo.map(|lo| -lo),
                })
            )
        ),
        RowVerdict::SameInMedian => match &saving.mean {
            Some(mean) => format!(
                "{SAME_IN_MEDIAN}, so moving saves nothing that matters of most requests; the mean over all is {} {}",
                ratio(mean.ratio),
                bounds(mean.ratio, (mean.lo, mean.hi), None)
            ),
            None => format!("{SAME_IN_MEDIAN}, so moving saves nothing that matters of most requests"),
        },
        RowVerdict::Same => {
            format!("the same within {}, so moving saves nothing that matters", percent(app.margin))
        }
        RowVerdict::Estimate => {
            "an estimate from too few epochs for an interval, which a longer --budget gives".to_owned()
        }
        RowVerdict::Open => "whether moving saves anything is open, and a longer --budget tells".to_owned(),
        RowVerdict::Varies => {
            "whether moving saves anything is open: the medians of each side point one way and their comparison in each round the other, because costs changed between rounds".to_owned()
        }
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
pub(super) fn of_curves(app: &App) -> Option<String> {
    let margin = percent(app.margin);
    let each = app.curves.iter().map(|curve| {
        let place = place(curve.placement, curve.ran);
        match curve.until_ns {
            Some(until_ns) => format!(
                "If a request takes the server {} or more{place}, the Unix socket saves less than {margin} of it.",
                time(until_ns)
            ),
            None => format!("The Unix socket saves less than {margin} of any request{place}."),
        }
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty())
        .then(|| format!("{} That is for short replies; long replies save more.", each.join(" ")))
}
