//! Slow requests in words and pictures.

use ipcost_model::units::{counted, duration_of, duration_text, percent};
use ipcost_report::lanes::{Lane, LaneSpan, LaneState, Lanes};
use ipcost_report::numbers::{grouped, time};
use ipcost_report::page::{
    Block, Column, FieldValue, Frame, Page, PageFigure, Paragraph, Section, Table, Tone,
};
use ipcost_report::picture::{LANES_READING, draw_lanes, plain_lanes};

use super::super::page::{name, over};
use super::super::{Conversation, Watched, WatchedTransport};
use super::{
    RequestLane, RequestSpan, SlowCause, SlowConversation, SlowRecord, SlowRequestRecord, WaitCause,
};

/// So many conversations with slow requests are told of, and so many requests of each are drawn.
const MOST_TOLD: usize = 5;
const MOST_DRAWN: usize = 3;
/// So many causes of a conversation are told.
const MOST_CAUSES: usize = 6;
/// A share of overlapping requests that matters.
const MANY_OVERLAP: f64 = 0.1;

/// Slow requests of one conversation, or of all.
pub fn slow_page(watched: &Watched, of: Option<&Conversation>) -> Page<'static> {
    let mut page = Page::new("Slow requests");
    let Some(slow) = &watched.slow else { return page };
    let is_meant = |it: &&SlowConversation| of.is_none_or(|of| it.conversation().is_same(of));
    let meant: Vec<&SlowConversation> = slow.conversations.iter().filter(is_meant).collect();
    let slow_ones: Vec<_> = meant.iter().filter(|it| it.slow > 0).collect();
    if meant.is_empty() {
        page.answer.push(Paragraph::plain(nothing(slow, watched, of.is_some())).into());
    } else if slow_ones.is_empty() {
        page.answer.push(Paragraph::plain(none_slow(&meant, slow)).into());
    }
    page.blocks.extend(slow_ones.iter().take(MOST_TOLD).flat_map(|it| told_of(it)));
    let others = slow_ones.len().saturating_sub(MOST_TOLD);
    if others > 0 {
        let text = format!("{others} more conversations have slow requests; name one, or see --json.");
        page.blocks.push(Paragraph::quiet(text).into());
    }
    page.blocks.extend(meant.iter().filter_map(|it| overlap(it)).map(|text| Paragraph::plain(text).into()));
    if !slow.shares.is_empty() {
        page.blocks.push(shares(slow));
    }
    for (place, conversation) in slow.conversations.iter().enumerate() {
        if is_meant(&conversation) {
            let of_it = slow.requests.iter().filter(|it| it.conversation as usize == place);
            page.blocks.extend(of_it.take(MOST_DRAWN).map(|request| drawn(request, conversation)));
        }
    }
    page.notes.push(Paragraph::quiet(cost(slow, watched)).into());
    page
}

impl SlowConversation {
    /// Which conversation it is, without figures.
    fn conversation(&self) -> Conversation {
        let Self { client, server, medium, address, .. } = self.clone();
        Conversation { client, server, medium, address, ..Conversation::default() }
    }

    fn words(&self) -> String {
        format!("{} → {} over {}", name(&self.client), name(&self.server), over(&self.conversation()))
    }

    /// Whether one of the two is known to have connected to the other.
    fn is_named(&self) -> bool {
        !matches!(self.medium, WatchedTransport::Pipe | WatchedTransport::Fifo | WatchedTransport::Socketpair)
    }

    /// The limit in words.
    fn limit(&self) -> String {
        self.limit_us.map_or_else(|| "a limit".to_owned(), |us| time(us * 1e3))
    }
}

/// How many were slow, and what they waited for.
fn told_of(it: &SlowConversation) -> Vec<Block<'static>> {
    let share = it.slow as f64 / it.requests.max(1) as f64;
    let usual = it.median_us.map_or_else(String::new, |us| format!("; {} usually", time(us * 1e3)));
    let text = format!(
        "{}: {} of {} requests took more than {} ({}, up to {}{usual})",
        it.words(),
        grouped(it.slow),
        grouped(it.requests),
        it.limit(),
        share_text(share),
        time(it.slowest_us * 1e3),
    );
    let columns =
        [Column::number("requests"), Column::text("waited for").folded(), Column::text("rule").dropped(1)];
    let row = |cause: &SlowCause| {
        let rule = if cause.cause == WaitCause::Unexplained { "" } else { cause.cause.name() };
        vec![
            FieldValue::Count(cause.requests).into(),
            FieldValue::Text(cause.found.clone()).into(),
            FieldValue::Text(rule.to_owned()).into(),
        ]
    };
    let table = Table::new(&columns).rows(it.causes.iter().take(MOST_CAUSES).map(row));
    let mut found = vec![Paragraph { text, tone: Tone::Strong }.into(), table.into()];
    if !it.is_named() {
        let text = format!(
            "Who asks is not known over {}: if it is {}, these are the times between its requests.",
            it.medium,
            name(&it.server)
        );
        found.push(Paragraph::quiet(text).into());
    }
    let left: u64 = it.causes.iter().skip(MOST_CAUSES).map(|cause| cause.requests).sum();
    if left > 0 {
        found.push(Paragraph::quiet(format!("{} waited for other things.", grouped(left))).into());
    }
    let judged: u64 = it.causes.iter().map(|cause| cause.requests).sum();
    if judged < it.slow {
        let share = percent(judged as f64 / it.slow as f64);
        let text = format!("The causes are of the {share} that were seen whole; the others were counted.");
        found.push(Paragraph::quiet(text).into());
    }
    found
}

/// A share of which a few in a thousand matter.
fn share_text(share: f64) -> String {
    if share < 0.1 { format!("{:.2} %", share * 100.0) } else { percent(share) }
}

fn none_slow(meant: &[&SlowConversation], slow: &SlowRecord) -> String {
    let requests: u64 = meant.iter().map(|it| it.requests).sum();
    let slowest = meant.iter().map(|it| it.slowest_us).fold(0.0, f64::max);
    if requests == 0 {
        return "No request was seen alone on its connection, so that no time of one is known.".to_owned();
    }
    match slow.limit_ms {
        Some(limit) => format!(
            "None of {} requests took more than {}; the slowest took {}.",
            grouped(requests),
            time(limit * 1e6),
            time(slowest * 1e3)
        ),
        None if meant.iter().all(|it| it.limit_us.is_none()) => format!(
            "{} requests are too few for their slowest hundredth, the slowest took {}; watch longer, or say from when on they are slow: --slow 1ms.",
            grouped(requests),
            time(slowest * 1e3)
        ),
        None => format!(
            "None of {} requests took more than the slowest hundredth of those before them; the slowest took {}.",
            grouped(requests),
            time(slowest * 1e3)
        ),
    }
}

/// Why there is nothing to tell.
fn nothing(slow: &SlowRecord, watched: &Watched, is_row: bool) -> String {
    if !slow.shares.is_empty() {
        return "Single requests cannot be followed here; this is what the processes waited for.".to_owned();
    }
    if slow.kernel_cpu.is_none() {
        return "Single requests cannot be followed here.".to_owned();
    }
    match (is_row, watched.conversations.is_empty()) {
        (true, _) => "No requests with replies were seen in this conversation so far.".to_owned(),
        (_, true) => "No conversation fits; ipcost watch without flags shows all of them.".to_owned(),
        (_, false) => "No request with a reply was seen over TCP, Unix sockets, pipes or FIFOs; connections shorter than a second are not followed.".to_owned(),
    }
}

/// Of requests that overlap no time is known, but for how old what waits becomes.
fn overlap(it: &SlowConversation) -> Option<String> {
    let all = it.requests + it.overlapping;
    (it.overlapping as f64 > MANY_OVERLAP * all as f64).then(|| {
        format!(
            "{}: {} of {} requests overlap on their connection, as with HTTP/2, so that it cannot be told which reply is whose; what was sent waited up to {} to be read.",
            it.words(),
            grouped(it.overlapping),
            grouped(all),
            time(it.oldest_unread_us * 1e3)
        )
    })
}

fn shares(slow: &SlowRecord) -> Block<'static> {
    let said = slow.shares.iter().map(|it| {
        let throttled = it.throttled.map_or_else(String::new, |times| format!(", throttled {times} times"));
        let faults = match it.faults {
            0 => String::new(),
            faults => format!(", {} had to read", counted(faults, "page fault")),
        };
        Paragraph::plain(format!(
            "{} ({}) was ready and did not run for {} of the time{faults}{throttled}.",
            it.name,
            it.pid,
            percent(it.ready)
        ))
    });
    Section::new("waits", "What processes waited for").with(Block::List(said.collect())).open()
}

fn cost(slow: &SlowRecord, watched: &Watched) -> String {
    let kernel = slow.kernel_cpu.map_or_else(String::new, |cpu| {
        let added =
            slow.added_us.map_or_else(String::new, |us| format!(", some {} for a request", time(us * 1e3)));
        format!(", and {} within the kernel{added}", percent(cpu))
    });
    let stolen = slow.stolen_ms.filter(|ms| *ms > 0.0).map_or_else(String::new, |ms| {
        format!(" The hypervisor took {} of the processors meanwhile.", time(ms * 1e6))
    });
    let draws = if slow.requests.is_empty() { "" } else { " --html FILE draws the slowest." };
    format!(
        "Followed for {}, for {} of a processor{kernel}.{stolen}{draws}",
        duration_text(duration_of(watched.elapsed_s)),
        percent(watched.own_cpu),
    )
}

/// The time line of a request, folded away.
fn drawn(request: &SlowRequestRecord, of: &SlowConversation) -> Block<'static> {
    let title = format!("{}: {} at {:.1} s", of.words(), time(request.took_us * 1e3), request.at_s);
    let lanes = lanes(request, &title);
    let figure = PageFigure::new(LANES_READING, move |frame| match frame {
        Frame::Page => plain_lanes(&lanes),
        Frame::File(background) => draw_lanes(&lanes, background),
    });
    let section = Section::new("", title).with(Paragraph::plain(request.found.clone())).with(figure);
    Block::Details(section)
}

fn lanes(request: &SlowRequestRecord, title: &str) -> Lanes {
    Lanes {
        title: title.to_owned(),
        lasts_us: request.took_us,
        moments: vec![
            (0.0, "sent"),
            (request.read_us, "read"),
            (request.replied_us, "replied"),
            (request.took_us, "returned"),
        ],
        lanes: request.lanes.iter().map(lane).collect(),
    }
}

fn lane(lane: &RequestLane) -> Lane {
    let name = match lane.pid == lane.thread {
        true => format!("{} ({})", lane.name, lane.pid),
        false => format!("{} ({}, thread {})", lane.name, lane.pid, lane.thread),
    };
    Lane { name, spans: lane.spans.iter().map(span).collect() }
}

fn span(span: &RequestSpan) -> LaneSpan {
    let call = span.call.clone().unwrap_or_default();
    let other = span.other.clone().unwrap_or_default();
    let within = if call.is_empty() { String::new() } else { format!(" in {call}") };
    let who = match span.state {
        _ if other.is_empty() => String::new(),
        LaneState::Ready => format!(", {other} ran there"),
        _ => format!(", woken by {other}"),
    };
    let lasts = time((span.to_us - span.from_us) * 1e3);
    LaneSpan {
        from_us: span.from_us,
        to_us: span.to_us,
        state: span.state,
        title: format!("{}{within}{who}: {lasts}", span.state.shown()),
        name: if span.state == LaneState::Ready { other } else { call },
    }
}
