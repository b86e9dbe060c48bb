//! What was seen as a page: a row a conversation, and what could not be seen.

use std::collections::BTreeMap;

use ipcost_model::Estimate;
use ipcost_model::units::{counted, duration_of, duration_text, percent};
use ipcost_report::numbers::{interval, rate, ratio, throughput, time};
use ipcost_report::page::{Block, Column, Field, FieldValue, Page, Paragraph, Section, Table};

use super::{
    Conversation, ConversationPattern, Flow, Known, Party, Unseen, WatchFinding, Watched, WatchedTransport,
    WhatIfRecord, slow_page,
};

/// The most letters of an address in a table.
const MOST: usize = 36;

/// The name of this program, whose peers are seen, too.
const OWN: &str = "ipcost";

/// Stands at the row that is chosen.
pub const CHOSEN: char = '▸';

/// A row of the table: conversations between programs of the same names at the same address, as with a server of many processes.
/// The one that moves most comes first.
#[derive(Debug, Clone)]
pub struct ConversationRow<'a>(Vec<&'a Conversation>);

/// The rows of the table. If all is to be shown, each conversation has its own; else those in which nothing moved are left out.
pub fn rows(watched: &Watched, whole: bool) -> Vec<ConversationRow<'_>> {
    let all = &watched.conversations;
    if whole {
        return all.iter().map(|conversation| ConversationRow(vec![conversation])).collect();
    }
    let mut found: Vec<ConversationRow<'_>> = Vec::new();
    for conversation in all.iter().filter(|conversation| moves(conversation)) {
        match found.iter_mut().find(|row| row.holds(conversation)) {
            Some(row) => row.0.push(conversation),
            None => found.push(ConversationRow(vec![conversation])),
        }
    }
    found
}

impl<'a> ConversationRow<'a> {
    /// The conversation that moves most.
    pub fn most(&self) -> &'a Conversation {
        self.0[0]
    }

    /// Whether it tells of this conversation.
    pub fn concerns(&self, conversation: &Conversation) -> bool {
        self.0.iter().any(|known| known.is_same(conversation))
    }

    /// Whether a conversation belongs here.
    fn holds(&self, conversation: &Conversation) -> bool {
        let most = self.most();
        let is_known = |side: &Party| !side.name.is_empty();
        let place = |conversation: &Conversation| {
            (
                conversation.medium,
                conversation.address.clone(),
                conversation.client.name.clone(),
                conversation.server.name.clone(),
            )
        };
        // What another run of this program measures is one thing.
        let is_run = |conversation: &Conversation| {
            [&conversation.client, &conversation.server].iter().all(|side| side.name == OWN)
        };
        let is_place = [&most.client, &most.server, &conversation.client, &conversation.server]
            .into_iter()
            .all(is_known)
            && !conversation.address.is_empty()
            && place(most) == place(conversation);
        is_place || (is_run(most) && is_run(conversation))
    }

    /// Over what they talk; of several things, that which moves most.
    fn over(&self) -> String {
        let most = over(self.most());
        let mut all: Vec<String> = self.0.iter().map(|conversation| over(conversation)).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() == 1 { most } else { format!("{most} and {} more", all.len() - 1) }
    }

    fn side(&self, of: fn(&Conversation) -> &Party) -> (String, Option<f64>) {
        let all: BTreeMap<Option<u32>, &Party> =
            self.0.iter().map(|conversation| (of(conversation).pid, of(conversation))).collect();
        let cpu = all.values().filter_map(|side| side.cpu).reduce(|a, b| a + b);
        // Clients that end and come again are one row, under the name of those that live.
        let live: Vec<&Party> = all.values().copied().filter(|side| side.pid.is_some()).collect();
        match live[..] {
            [] => (name(of(self.most())), cpu),
            [one] if all.len() == 1 => (name(one), cpu),
            [one] => (format!("{} and ended ones", name(one)), cpu),
            [one, ..] => (format!("{} ×{}", one.name, live.len()), cpu),
        }
    }

    fn flow(&self, of: fn(&Conversation) -> Option<Flow>) -> Option<(f64, bool)> {
        let all = self
            .0
            .iter()
            .filter_map(|conversation| of(conversation))
            .map(|flow| (flow.bytes_per_s, flow.known == Known::Counted));
        all.reduce(|a, b| (a.0 + b.0, a.1 && b.1))
    }

    fn sum(&self, of: fn(&Conversation) -> Option<f64>) -> Option<f64> {
        self.0.iter().filter_map(|conversation| of(conversation)).reduce(|a, b| a + b)
    }
}

/// The page of what was seen: slow requests where they were asked for, with the conversations among the details.
pub fn shown_page(watched: &Watched, whole: bool) -> Page<'static> {
    if watched.slow.is_none() {
        return page(watched, whole, None);
    }
    let mut shown = slow_page(watched, None);
    match whole {
        true => shown.blocks.extend(page(watched, whole, None).blocks),
        false => shown.blocks.extend(unseen(watched)),
    }
    shown
}

fn unseen(watched: &Watched) -> Option<Block<'static>> {
    if watched.unseen.is_empty() {
        return None;
    }
    let said = |one: &Unseen| Paragraph::plain(format!("{}: {}. {}.", one.what, one.why, one.remedy));
    let list = Block::List(watched.unseen.iter().map(said).collect());
    Some(Section::new("unseen", "Not seen").with(list).open())
}

/// The page, with a mark at a row where one is chosen.
pub fn page(watched: &Watched, whole: bool, chosen: Option<usize>) -> Page<'static> {
    let mut page = Page::new("Who talks to whom on this machine");
    if watched.conversations.is_empty() {
        page.answer.push(Paragraph::plain(nothing(watched)).into());
    } else {
        page.answer.push(Paragraph::plain(answer(watched)).into());
    }
    let shown = rows(watched, whole);
    if !shown.is_empty() {
        let table = Table::new(&columns()).rows(
            shown.iter().enumerate().map(|(index, it)| fields(it, chosen.map(|chosen| chosen == index))),
        );
        page.blocks.push(Section::new("conversations", "").with(table).open());
    }
    let still = watched.conversations.len() - shown.iter().map(|row| row.0.len()).sum::<usize>();
    if still > 0 {
        let text = format!(
            "{} more in which nothing was seen to move; --details shows them.",
            counted(still as u64, "conversation")
        );
        page.blocks.push(Section::new("still", "").with(Paragraph::quiet(text)).open());
    }
    if !watched.findings.is_empty() {
        let said =
            |one: &WatchFinding| Paragraph::plain(format!("{}; {} [{}].", one.found, one.remedy, one.code));
        let list = Block::List(watched.findings.iter().map(said).collect());
        page.blocks.push(Section::new("findings", "What could be better").with(list).open());
    }
    if let Some(what_if) = &watched.what_if {
        page.blocks.push(saving("What would it save?", what_if));
    }
    page.blocks.extend(unseen(watched));
    page.notes.push(Paragraph::quiet(if whole { how(watched) } else { cost(watched) }).into());
    page
}

/// What other transports would save, alone.
pub fn what_if_page(what_if: &WhatIfRecord) -> Page<'static> {
    let mut page = Page::new("What would it save?");
    page.blocks.push(saving("", what_if));
    page
}

fn saving(title: &str, what_if: &WhatIfRecord) -> Block<'static> {
    let columns = [
        Column::text("over"),
        Column::text("connection"),
        Column::number("time"),
        Column::number("×"),
        Column::number("CPU"),
    ];
    let estimate =
        |estimate: Option<Estimate>| Field::maybe(estimate.map(|it| FieldValue::Text(time(it.median))));
    let rows = what_if.cells.iter().map(|cell| {
        let times = cell.ratio.map(|it| {
            let within =
                interval(it.median, it.lo, it.hi).map_or_else(String::new, |within| format!(" ({within})"));
            FieldValue::Text(format!("{}{within}", ratio(it.median)))
        });
        vec![
            FieldValue::Text(cell.transport.clone()).into(),
            FieldValue::Text(if cell.connects { "each its own" } else { "kept" }.to_owned()).into(),
            estimate(cell.wall_ns),
            Field::maybe(times),
            estimate(cell.cpu_ns),
        ]
    });
    let table = Table::new(&columns).rows(rows);
    let said = what_if.sentences.iter().map(|text| Paragraph::plain(text.clone()));
    let notes =
        what_if.notes.iter().map(|text| Paragraph::quiet(format!("Differs from what was seen: {text}.")));
    Section::new("what-if", title.to_owned()).with(table).with_all(said).with_all(notes).open()
}

/// Whether anything is known to have moved, or may have.
fn moves(conversation: &Conversation) -> bool {
    let moved = |flow: &Option<Flow>| flow.is_some_and(|flow| flow.bytes > 0);
    let is_known = conversation.there.is_some() || conversation.back.is_some();
    let busy = || {
        [&conversation.client, &conversation.server]
            .into_iter()
            .all(|side| side.cpu.is_some_and(|cpu| cpu >= 0.005))
    };
    conversation.opened > 0
        || moved(&conversation.there)
        || moved(&conversation.back)
        || (!is_known && conversation.medium.is_unix() && busy())
}

/// Who moves most, and how much there is to mend.
fn answer(watched: &Watched) -> String {
    let count = rows(watched, false).len() as u64;
    let most = watched.conversations.first().filter(|conversation| moves(conversation));
    let first = match most {
        None => "Nothing was seen to move between two programs here".to_owned(),
        Some(conversation) => {
            let rate = match conversation.requests_per_s {
                Some(requests) => format!("requests at {}", rate(requests)),
                None => {
                    let bytes = |flow: &Option<Flow>| flow.map_or(0.0, |flow| flow.bytes_per_s);
                    throughput(bytes(&conversation.there) + bytes(&conversation.back))
                }
            };
            format!(
                "{} at work; the busiest: {} → {} over {}, {rate}",
                counted(count, "conversation"),
                name(&conversation.client),
                name(&conversation.server),
                over(conversation)
            )
        }
    };
    let found = match watched.findings.len() {
        0 => "Nothing to improve was found".to_owned(),
        count => format!("{} could be better", counted(count as u64, "thing")),
    };
    format!("{first}. {found}.")
}

fn nothing(watched: &Watched) -> String {
    match watched.request.is_any() {
        true => "No two programs that can be seen here talk to each other.".to_owned(),
        false => "No conversation fits; ipcost watch without flags shows all of them.".to_owned(),
    }
}

/// What watching cost, in two lines.
fn cost(watched: &Watched) -> String {
    let calls = match (watched.counts_calls, watched.sampled.is_some() || watched.traced.is_some()) {
        (false, false) => "",
        _ => ", and calls on Unix sockets, pipes and UDP take longer meanwhile",
    };
    format!(
        "{} in {}, for {} of a processor{calls}. --details tells how each figure is known.",
        counted(watched.looks, "look"),
        duration_text(duration_of(watched.elapsed_s)),
        percent(watched.own_cpu),
    )
}

fn how(watched: &Watched) -> String {
    let mut said = vec![
        format!(
            "{} in {}, {} of a processor for looking",
            counted(watched.looks, "look"),
            duration_text(duration_of(watched.elapsed_s)),
            percent(watched.own_cpu),
        ),
        "TCP is counted by the kernel, which costs the programs nothing".to_owned(),
    ];
    if watched.counts_calls {
        said.push(
            "calls on Unix sockets, pipes and UDP are counted, which makes each some 0.15 µs longer"
                .to_owned(),
        );
    }
    if let Some(traced) = &watched.traced {
        said.push(format!(
            "strace was attached to {} for {}, and made them slower",
            counted(traced.processes.len() as u64, "program"),
            duration_text(duration_of(traced.seconds)),
        ));
    }
    if let Some(sample) = &watched.sampled {
        let share = percent(sample.share);
        said.push(format!(
            "a sample of them, {share} of the time, tells messages and times, and adds some 0.6 µs to each"
        ));
    }
    said.join("; ")
}

fn columns() -> [Column; 11] {
    [
        Column::text("client").folded(),
        Column::text("server").folded(),
        Column::text("over").folded(),
        Column::number("open").dropped(1),
        Column::number("new").dropped(2),
        Column::number("there"),
        Column::number("back"),
        Column::text("how").dropped(1),
        Column::number("requests").dropped(3),
        Column::number("each").dropped(4),
        Column::number("CPU").dropped(5),
    ]
}

fn fields(row: &ConversationRow<'_>, is_chosen: Option<bool>) -> Vec<Field> {
    // Not even a narrow column parts it from the name.
    let mark = match is_chosen {
        Some(true) => format!("{CHOSEN}\u{a0}"),
        Some(false) => "\u{a0}\u{a0}".to_owned(),
        None => String::new(),
    };
    let most = row.most();
    let ((client, of_client), (server, of_server)) =
        (row.side(|conversation| &conversation.client), row.side(|conversation| &conversation.server));
    let (there, back) =
        (row.flow(|conversation| conversation.there), row.flow(|conversation| conversation.back));
    let per_s = |count: f64| FieldValue::Text(rate(count));
    let requests = row.sum(|conversation| conversation.requests_per_s);
    let each = requests.filter(|requests| *requests > 0.0).and_then(|requests| {
        let bytes = |flow: Option<(f64, bool)>| Some((flow?.0 / requests).round() as u64);
        Some(format!("{} / {} B", bytes(there)?, bytes(back)?))
    });
    let cpu = |share: Option<f64>| share.map_or_else(|| "?".to_owned(), percent);
    let opened = row.sum(|conversation| Some(conversation.opened_per_s));
    let flow = |flow: Option<(f64, bool)>| {
        Field::maybe(flow.map(|(bytes_per_s, is_counted)| {
            let about = if is_counted { "" } else { "≈ " };
            FieldValue::Text(format!("{about}{}", throughput(bytes_per_s)))
        }))
    };
    vec![
        FieldValue::Text(format!("{mark}{client}")).into(),
        FieldValue::Text(server).into(),
        FieldValue::Text(row.over()).into(),
        FieldValue::Count(row.0.iter().map(|conversation| u64::from(conversation.connections)).sum()).into(),
        Field::maybe(opened.filter(|opened| *opened > 0.0).map(per_s)),
        flow(there),
        flow(back),
        Field::maybe(most.manner.map(|manner| FieldValue::Text(words(manner).to_owned()))),
        Field::maybe(requests.map(per_s)),
        Field::maybe(each.map(FieldValue::Text)),
        FieldValue::Text(format!("{}, {}", cpu(of_client), cpu(of_server))).into(),
    ]
}

pub(super) fn name(party: &Party) -> String {
    if let Some(count) = party.processes {
        return format!("{} ×{count}", party.name);
    }
    let Some(pid) = party.pid else {
        return if party.name.is_empty() { "?".to_owned() } else { format!("{} (ended)", party.name) };
    };
    let place = party.container.as_ref().or(party.unit.as_ref()).map(|place| format!(", {place}"));
    format!("{} {pid}{}", party.name, place.unwrap_or_default())
}

pub(super) fn over(conversation: &Conversation) -> String {
    let address = &conversation.address;
    let shown: String = match address.chars().count() > MOST {
        true => {
            let tail: Vec<char> = address.chars().rev().take(MOST - 1).collect();
            std::iter::once('…').chain(tail.into_iter().rev()).collect()
        }
        false => address.clone(),
    };
    match conversation.medium {
        WatchedTransport::Pipe => shown,
        medium if shown.is_empty() => medium.name().to_owned(),
        medium => format!("{medium} {shown}"),
    }
}

fn words(manner: ConversationPattern) -> &'static str {
    match manner {
        ConversationPattern::Requests => "requests and replies",
        ConversationPattern::Stream => "stream",
        ConversationPattern::Connections => "a connection each",
        ConversationPattern::Idle => "idle",
    }
}
