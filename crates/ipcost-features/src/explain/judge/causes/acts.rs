//! What a side does for each operation besides moving the message: waits, writes elsewhere, hands over, allocates.
//!
//! With a cell to compare with, it is what this one does more; without, all that it does. What no rule knows is told, too.

use std::collections::BTreeMap;

use ipcost_lab::rules::{self, Rule, nanoseconds};
use ipcost_lab::strace::Manner;
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::size_text;
use ipcost_model::{Object, Pattern, and_joined};

use super::{Facts, count, wall_ns};
use crate::explain::kinds::{Kind, Sum, aside_by_kind, by_kind};
use crate::explain::{Account, AccountItem, Act, ExplainedCell, ExplainedDifference, NamedCause};

/// What happens less often for an operation is not its habit.
const OFTEN: f64 = 0.2;
/// Calls that make data reach storage.
const SYNCING: [&str; 6] = ["fsync", "fdatasync", "sync_file_range", "msync", "syncfs", "sync"];
/// A write to a file that takes longer than this waits for storage, nanoseconds.
const SYNCED_WRITE_NS: f64 = 20_000.0;
/// Calls that get memory and give it back.
const ALLOCATING: [&str; 5] = ["mmap", "munmap", "brk", "mremap", "madvise"];
/// The one of them that keeps the memory and gives only its pages back.
const ADVICE: &str = "madvise";
/// Calls of which it depends on the machine or the moment how many there are.
const OF_THE_MOMENT: [&str; 3] = ["sched_yield", "restart_syscall", "futex"];
/// Fewer bytes of storage for an operation are not its own.
const STORAGE_BYTES: f64 = 512.0;
/// What to do about storage.
const IN_MEMORY: &str = "keep in memory what is needed for every operation";
/// A weight for what is seen but takes too little to be told.
const SLIGHT: f64 = 0.01;
/// Reads this much smaller than a message are small.
const SMALL_READS: f64 = 4.0;
/// What TLS adds to each record, bytes: from an authentication tag and a header to those of older versions.
const TLS_RECORD: std::ops::RangeInclusive<f64> = 21.0..=48.0;
/// The additions of usual ciphers, bytes: ChaCha20 in TLS 1.2, any in TLS 1.3, AES-GCM in TLS 1.2.
const KNOWN_RECORDS: [f64; 3] = [21.0, 22.0, 29.0];
/// The most that a record of TLS holds, bytes.
const TLS_RECORD_BYTES: f64 = 16_384.0;

/// One side of a cell, with what it does more than its like elsewhere.
struct Doing<'a> {
    cell: &'a ExplainedCell,
    side: PeerRole,
    kinds: BTreeMap<Kind, Sum>,
    /// What it does more than the cell it is compared with, the other way round where that is `b`; `None` without one.
    account: Option<(&'a Account, f64)>,
    reference: Option<&'a ExplainedCell>,
}

impl Doing<'_> {
    /// How many more of a kind there are; all of them where there is nothing to compare with.
    fn more(&self, kind: &Kind) -> f64 {
        let here = self.kinds.get(kind).map_or(0.0, |sum| sum.count);
        let there = |other: &ExplainedCell| by_kind(other, self.side)?.get(kind).map(|sum| sum.count);
        here - self.reference.and_then(there).unwrap_or(0.0)
    }

    /// What calls by these names account for, nanoseconds.
    fn ns_of(&self, names: &[&str]) -> Option<f64> {
        let known = self.items(|item| item.call.as_deref().is_some_and(|call| names.contains(&call)));
        match known.as_slice() {
            [] => {
                let took: Vec<f64> = self
                    .kinds
                    .iter()
                    .filter(|(kind, sum)| !kind.waits_for_other() && names.contains(&sum.name.as_str()))
                    .filter_map(|(_, sum)| sum.took_ns)
                    .collect();
                (!took.is_empty()).then(|| took.iter().sum())
            }
            known => known.iter().copied().reduce(|sum, ns| sum + ns),
        }
    }

    /// What items account for here, nanoseconds; those that take nothing are left out.
    fn items(&self, wanted: impl Fn(&AccountItem) -> bool) -> Vec<f64> {
        let Some((account, sign)) = self.account else { return Vec::new() };
        let of_side = account.items.iter().filter(|item| item.side == self.side && wanted(item));
        of_side.filter_map(|item| Some(sign * item.ns?)).filter(|ns| *ns > 0.0).collect()
    }

    /// How much more was counted by the name of an event, for an operation.
    fn more_events(&self, name: &str) -> Option<f64> {
        let of = |cell: &ExplainedCell| cell.sides.of(self.side).events.get(name).copied();
        let there = self.reference.map_or(Some(0.0), of)?;
        Some(of(self.cell)? - there)
    }

    fn cause(
        &self,
        rule: Rule,
        subject: &str,
        more: f64,
        ns: Option<f64>,
        said: String,
        remedy: &str,
    ) -> NamedCause {
        let weight = ns.zip(wall_ns(self.cell)).map_or(SLIGHT, |(ns, wall)| (ns / wall).max(SLIGHT));
        let takes = match ns {
            Some(ns) => format!(", which takes {}", nanoseconds(ns)),
            None => String::new(),
        };
        let sentence = format!("the {} {said}{takes}", self.side);
        NamedCause {
            side: Some(self.side),
            subject: Some(subject.to_owned()),
            more: Some(more),
            ns,
            ..super::cause(rule, self.cell, weight, sentence, remedy)
        }
    }

    /// Sums of kinds of which there are often more, with how many.
    fn often(&self) -> impl Iterator<Item = (&Kind, &Sum, f64)> {
        self.kinds.iter().filter_map(|(kind, sum)| {
            let more = self.more(kind);
            (more >= OFTEN && more >= 0.05 * sum.count).then_some((kind, sum, more))
        })
    }

    fn threads(&self) -> usize {
        self.cell.sides.of(self.side).threads.len()
    }
}

/// A rule: what it recognises, and the names of calls that it tells of.
type Told = (NamedCause, Vec<String>);

/// What the sides of a cell do, by the rules that know it; then what no rule knows.
pub(super) fn of_cell(facts: &Facts<'_>, cell: &ExplainedCell) -> Vec<NamedCause> {
    let (account, reference) = reference(facts, cell);
    let mut found = Vec::new();
    for side in [PeerRole::Client, PeerRole::Server] {
        let Some(kinds) = by_kind(cell, side) else { continue };
        let doing = Doing { cell, side, kinds, account, reference };
        let rules = [
            sync_writes,
            storage,
            sleep,
            connect_poll,
            thread_hand_over,
            lock_contention,
            logging,
            small_reads,
            tls,
            dns,
            name_resolution,
            huge_pages,
            allocation,
            page_faults,
            event_loop,
        ];
        let mut told: Vec<String> = Vec::new();
        for (cause, calls) in rules.iter().filter_map(|rule| rule(&doing)) {
            found.push(cause);
            told.extend(calls);
        }
        if reference.is_some() {
            found.extend(more_calls(&doing, &told));
            found.extend(counted(&doing, &found));
        }
    }
    found
}

/// What a cell is compared with: its twin, or the other cell asked about, one that is cheaper first; with the sign that turns
/// the account of the two to what this one does more. What both do is no difference between them.
fn reference<'a>(
    facts: &Facts<'a>,
    cell: &ExplainedCell,
) -> (Option<(&'a Account, f64)>, Option<&'a ExplainedCell>) {
    let find = |id: &str| facts.cells.iter().find(|known| known.id == id);
    let of_it = || {
        let of = |difference: &&ExplainedDifference| [&difference.a, &difference.b].contains(&&cell.id);
        facts.differences.iter().filter(of)
    };
    let dearer = |difference: &&ExplainedDifference| {
        let sign = if difference.a == cell.id { 1.0 } else { -1.0 };
        difference.wall_ns.is_some_and(|wall| sign * wall.median >= 0.0)
    };
    let twin = facts.twins.iter().find(|twin| twin.a == cell.id);
    let found = twin.or_else(|| of_it().find(dearer)).or_else(|| of_it().next());
    let Some(difference) = found else { return (None, None) };
    if difference.a == cell.id {
        (Some((&difference.account, 1.0)), find(&difference.b))
    } else {
        (Some((&difference.account, -1.0)), find(&difference.a))
    }
}

fn sync_writes(doing: &Doing<'_>) -> Option<Told> {
    let to_file = |kind: &Kind| *kind == Kind::WriteTo(Object::File);
    let synced = doing.often().find(|(kind, sum, _)| match kind {
        Kind::Other(name) => SYNCING.contains(&name.as_str()),
        kind => to_file(kind) && sum.took_ns.is_some_and(|ns| ns >= SYNCED_WRITE_NS * sum.count),
    });
    let (_, sum, more) = synced?;
    let ns = doing.ns_of(&[&sum.name]);
    let said = format!("waits for storage in {} `{}` an operation", count(more), sum.name);
    let remedy = "let several operations share one sync (group commit), sync from another thread, or do not sync where losing the last moments is allowed";
    let mut told = vec![sum.name.clone()];
    told.extend(doing.kinds.iter().filter(|(kind, _)| to_file(kind)).map(|(_, sum)| sum.name.clone()));
    Some((doing.cause(rules::SYNC_WRITES, &sum.name, more, ns, said, remedy), told))
}

/// Reads that come from storage rather than from memory.
fn storage(doing: &Doing<'_>) -> Option<Told> {
    let bytes = doing.more_events("disk_bytes_read").filter(|bytes| *bytes >= STORAGE_BYTES)?;
    let (_, sum, more) = doing.often().find(|(kind, _, _)| **kind == Kind::ReadOf(Object::File))?;
    let said = format!(
        "reads {} of storage an operation, in {} `{}`",
        size_text(bytes.round() as u64),
        count(more),
        sum.name
    );
    let ns = doing.ns_of(&[&sum.name]);
    Some((doing.cause(rules::STORAGE, &sum.name, more, ns, said, IN_MEMORY), vec![sum.name.clone()]))
}

fn sleep(doing: &Doing<'_>) -> Option<Told> {
    let (_, sum, more) = doing.often().find(|(kind, _, _)| **kind == Kind::Sleep)?;
    let each = sum.sleep_ns / sum.count;
    let long = if each > 0.0 { format!(" of {}", nanoseconds(each)) } else { String::new() };
    let said = format!("sleeps in {} `{}`{long} an operation", count(more), sum.name);
    let ns = doing.ns_of(&[&sum.name]);
    let remedy = "wait for what the sleep waits for (a descriptor, a condition) rather than for a time";
    Some((doing.cause(rules::SLEEP, &sum.name, more, ns, said, remedy), vec![sum.name.clone()]))
}

/// A connection that is not made at once is waited for by a poll that ends only when its time is over.
fn connect_poll(doing: &Doing<'_>) -> Option<Told> {
    let sum = doing.kinds.get(&Kind::Poll).filter(|_| doing.cell.pattern == Pattern::Connect)?;
    let timeouts = sum.timeouts;
    (timeouts >= OFTEN).then(|| {
        let ns = sum.took_ns;
        let asks = ["fcntl", "getsockopt", "getpeername", "getsockname", "ioctl"];
        let told = asks.iter().map(|name| (*name).to_owned()).chain([sum.name.clone()]).collect();
        let said = format!(
            "waits in {} `{}` a connection until the time given is over, and nothing came",
            count(timeouts),
            sum.name
        );
        let remedy = "poll for writing (POLLOUT), which is what a connection that becomes ready reports, or connect with a blocking socket";
        (doing.cause(rules::CONNECT_POLL, &sum.name, timeouts, ns, said, remedy), told)
    })
}

/// The thread that moves messages is not the one that handles them.
fn thread_hand_over(doing: &Doing<'_>) -> Option<Told> {
    let (threads, there) =
        (doing.threads(), doing.reference.map_or(1, |cell| cell.sides.of(doing.side).threads.len()));
    let futex = Kind::Other("futex".to_owned());
    let aside = aside_by_kind(doing.cell, doing.side);
    let by_all = [doing.kinds.get(&futex), aside.get(&futex)];
    let manner = |manner| by_all.iter().flatten().map(|sum| sum.in_manner(manner)).sum::<f64>();
    // A condition or a word of memory is waited for; what wakes it comes with that.
    let words = manner(Manner::WordWait);
    let both = |on: Object| {
        let (reads, writes) = (doing.more(&Kind::ReadOf(on)), doing.more(&Kind::WriteTo(on)));
        reads.min(writes).max(0.0)
    };
    let by_descriptor = both(Object::Event) + both(Object::Pipe);
    let hands = words + by_descriptor;
    if threads < 2 || threads <= there || hands < OFTEN || manner(Manner::MutexWait) > hands {
        return None;
    }
    let calls = ["futex", "read", "write"];
    let (subject, names): (&str, &[&str]) =
        if words >= by_descriptor { ("futex", &calls[..1]) } else { ("read", &calls[1..]) };
    let switches: f64 = doing.items(|item| item.act == Act::Switches).iter().sum();
    let ns = doing.ns_of(names).unwrap_or(0.0) + switches;
    let said = format!(
        "hands each operation over between {threads} of its own threads, {} times by `{subject}`",
        count(hands)
    );
    let remedy = "handle a message in the thread that receives it, or hand over several at once";
    let told = names.iter().map(|name| (*name).to_owned()).collect();
    Some((doing.cause(rules::THREAD_HAND_OVER, subject, hands, (ns > 0.0).then_some(ns), said, remedy), told))
}

fn lock_contention(doing: &Doing<'_>) -> Option<Told> {
    let futex = doing.kinds.get(&Kind::Other("futex".to_owned()));
    let waits = futex.map_or(0.0, |sum| sum.in_manner(Manner::MutexWait));
    let file_lock = || {
        doing.often().find(|(_, sum, _)| sum.in_manner(Manner::FileLock) >= OFTEN && sum.took_ns.is_some())
    };
    let remedy = "hold the lock for less, or give each thread data of its own";
    // Who hands over by a condition takes its mutex, too.
    let hands_over = futex.is_some_and(|sum| sum.in_manner(Manner::WordWait) >= waits);
    if waits >= OFTEN / 4.0 && !hands_over {
        let ns = doing.ns_of(&["futex"]);
        let said =
            format!("waits for a mutex that another thread holds, {} times an operation", count(waits));
        return Some((
            doing.cause(rules::LOCK_CONTENTION, "futex", waits, ns, said, remedy),
            vec!["futex".to_owned()],
        ));
    }
    let (_, sum, more) = file_lock()?;
    let said = format!("waits for a lock on a file in {} `{}` an operation", count(more), sum.name);
    let ns = doing.ns_of(&[&sum.name]);
    Some((doing.cause(rules::LOCK_CONTENTION, &sum.name, more, ns, said, remedy), vec![sum.name.clone()]))
}

fn logging(doing: &Doing<'_>) -> Option<Told> {
    let writes = |kind: &Kind| matches!(kind, Kind::WriteTo(on) if *on != Object::Event);
    let waits = |sum: &Sum| sum.took_ns.is_some_and(|ns| ns >= SYNCED_WRITE_NS * sum.count);
    let syncs = |kind: &Kind| matches!(kind, Kind::Other(name) if SYNCING.contains(&name.as_str()));
    if doing.often().any(|(kind, _, _)| syncs(kind)) {
        return None;
    }
    let to_a_thread = |kind: &Kind| *kind == Kind::WriteTo(Object::Pipe) && thread_hand_over(doing).is_some();
    // What a stream's server receives may go on to a device.
    let forwards = doing.cell.pattern == Pattern::Stream && doing.side == PeerRole::Server;
    let (kind, sum, more) = doing
        .often()
        .find(|(kind, sum, _)| writes(kind) && !waits(sum) && !forwards && !to_a_thread(kind))?;
    let to = match kind {
        Kind::WriteTo(Object::File) => "a file",
        Kind::WriteTo(Object::Device) => "a device",
        _ if sum.in_manner(Manner::StandardError) > 0.0 => "standard error",
        Kind::WriteTo(Object::Pipe) => "a pipe",
        _ => "a socket",
    };
    let bytes =
        sum.bytes_each().map_or_else(String::new, |each| format!(" of {}", size_text(each.round() as u64)));
    let said = format!("writes {} `{}`{bytes} an operation to {to}, as a log does", count(more), sum.name);
    let ns = doing.ns_of(&[&sum.name]);
    let remedy = "log less, gather lines and write many at once, or let another thread write them";
    Some((doing.cause(rules::LOGGING, &sum.name, more, ns, said, remedy), vec![sum.name.clone()]))
}

/// A side asks for much less at a time than a message holds, and gets it.
fn small_reads(doing: &Doing<'_>) -> Option<Told> {
    let sum = doing.kinds.get(&Kind::Receive)?;
    let cell = doing.cell;
    let message = match (cell.pattern, doing.side) {
        (Pattern::Stream, PeerRole::Client) => return None,
        (_, PeerRole::Server) => cell.size,
        (_, PeerRole::Client) => cell.reply,
    };
    let each = sum.bytes_each()?;
    let full = sum.moved.unwrap_or(0.0) >= 0.9 * sum.asked;
    if sum.succeeded < 2.0 || each * SMALL_READS > message as f64 || !full {
        return None;
    }
    let more = sum.succeeded - 1.0;
    let ns = doing.ns_of(&[&sum.name]);
    let weight = ns.is_none().then(|| cell.busy.map_or(SLIGHT, |busy| *busy.of(doing.side)));
    let said = format!(
        "reads {} at a time and gets as much nearly every time, {} `{}` for a message of {}",
        size_text(each.round() as u64),
        count(sum.succeeded),
        sum.name,
        size_text(message)
    );
    let mut cause =
        doing.cause(rules::SMALL_READS, &sum.name, more, ns, said, "read into a larger buffer (recv_buffer)");
    cause.weight = weight.unwrap_or(cause.weight);
    Some((cause, vec![sum.name.clone()]))
}

/// What is sent is a little more than the message, record by record.
fn tls(doing: &Doing<'_>) -> Option<Told> {
    let cell = doing.cell;
    if cell.transport == "tls" || cell.pattern == Pattern::Connect {
        return None;
    }
    let message = if doing.side == PeerRole::Client { cell.size } else { cell.reply } as f64;
    let sent = doing.kinds.get(&Kind::Send)?.moved?;
    let records = (message / TLS_RECORD_BYTES).ceil().max(1.0);
    let added = (sent - message) / records;
    let received = doing.kinds.get(&Kind::Receive);
    let headers = received.map_or(0.0, |sum| sum.in_manner(Manner::RecordHeader));
    let own: f64 = doing.items(|item| item.act == Act::UserTime).iter().sum();
    // Who reads records in larger pieces is known by the same addition in both directions, and by the work for it.
    let other = if doing.side == PeerRole::Client { cell.reply } else { cell.size } as f64;
    let records_of_other = (other / TLS_RECORD_BYTES).ceil().max(1.0);
    let added_there =
        received.and_then(|sum| sum.moved).map_or(0.0, |moved| (moved - other) / records_of_other);
    let exact =
        KNOWN_RECORDS.iter().any(|known| (added - known).abs() < 0.1 && (added_there - known).abs() < 0.1);
    let seen = headers >= 0.5 || exact && own > 0.0;
    (message > 0.0 && TLS_RECORD.contains(&added) && seen).then(|| {
        let reads = if headers >= 0.5 { " and reads headers of 5 B" } else { "" };
        let said = format!("sends {added:.0} B more than the message in each record{reads}, as TLS does");
        let remedy = "encrypt where others could listen; two processes of one machine need it only across users or containers";
        (doing.cause(rules::TLS, "user time", records, (own > 0.0).then_some(own), said, remedy), Vec::new())
    })
}

fn lookups(doing: &Doing<'_>, wanted: impl Fn(&str) -> bool) -> Vec<(String, f64)> {
    let all = &doing.cell.sides.of(doing.side).lookups;
    all.iter()
        .filter(|(what, rate)| **rate >= OFTEN && wanted(what))
        .map(|(what, rate)| (what.clone(), *rate))
        .collect()
}

/// A name is asked of a server.
fn dns(doing: &Doing<'_>) -> Option<Told> {
    let asked = lookups(doing, |what| what == "htons(53)");
    let (_, rate) = asked.first()?;
    let ns = doing.kinds.get(&Kind::Poll).and_then(|sum| sum.took_ns);
    let said = format!("asks a name server {} times an operation", count(*rate));
    let remedy = "resolve the name once, run a caching resolver, or connect to an address";
    let told = doing.kinds.values().map(|sum| sum.name.clone()).collect();
    Some((doing.cause(rules::DNS, "port 53", *rate, ns, said, remedy), told))
}

/// A name is looked up in files for every operation.
fn name_resolution(doing: &Doing<'_>) -> Option<Told> {
    let touched = lookups(doing, |what| what != "htons(53)");
    let most = touched.iter().map(|(_, rate)| *rate).reduce(f64::max)?;
    let seen: Vec<String> = touched.iter().map(|(what, rate)| format!("{what} {}", count(*rate))).collect();
    let calls: f64 = doing.kinds.values().map(|sum| sum.count).sum();
    let own: f64 = doing.items(|item| matches!(item.act, Act::UserTime | Act::Calls)).iter().sum();
    let said = format!(
        "looks a name up for every operation ({}; {} system calls in all)",
        and_joined(&seen),
        count(calls)
    );
    let remedy = "resolve the name once, or connect to an address";
    // Whatever else it calls more often belongs to that: files are opened and read, memory is got for what they hold.
    let told = doing.kinds.values().map(|sum| sum.name.clone()).collect();
    Some((doing.cause(rules::NAME_RESOLUTION, "names", most, (own > 0.0).then_some(own), said, remedy), told))
}

/// Pages of 2 MiB are cleared when they are first touched.
fn huge_pages(doing: &Doing<'_>) -> Option<Told> {
    let of = |cell: &ExplainedCell| cell.machine.get("huge_page_faults").copied();
    let more = of(doing.cell)? - doing.reference.and_then(of).unwrap_or(0.0);
    // They are counted for the whole machine; the side with faults of its own is the one.
    let faults = doing.more_events("page_faults").unwrap_or(1.0);
    (more >= OFTEN / 4.0 && faults >= OFTEN / 4.0).then(|| {
        let calls = |item: &AccountItem| item.call.as_deref().is_some_and(|call| ALLOCATING.contains(&call));
        let taken: f64 = doing
            .items(|item| matches!(item.act, Act::PageFaults | Act::SystemTime) || calls(item))
            .iter()
            .sum();
        let said = format!(
            "touches new memory in huge pages, {} an operation, each of which the kernel clears first",
            count(more)
        );
        let remedy = "reuse memory; or keep huge pages from short-lived buffers (madvise(MADV_NOHUGEPAGE), or transparent_hugepage=madvise)";
        let cause = doing.cause(rules::HUGE_PAGES, "huge_page_faults", more, (taken > 0.0).then_some(taken), said, remedy);
        (cause, ALLOCATING.map(str::to_owned).to_vec())
    })
}

fn allocation(doing: &Doing<'_>) -> Option<Told> {
    if huge_pages(doing).is_some() {
        return None;
    }
    let gets = |kind: &Kind| matches!(kind, Kind::Other(name) if ALLOCATING.contains(&name.as_str()));
    let seen: Vec<(&Sum, f64)> =
        doing.often().filter(|(kind, _, _)| gets(kind)).map(|(_, sum, more)| (sum, more)).collect();
    // Advice alone gives pages back and keeps the memory: what it costs are the faults.
    let (most, more) =
        seen.iter().copied().filter(|(sum, _)| sum.name != ADVICE).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text: Vec<String> =
        seen.iter().map(|(sum, more)| format!("{} `{}`", count(*more), sum.name)).collect();
    let names: Vec<&str> = seen.iter().map(|(sum, _)| sum.name.as_str()).collect();
    let faults: f64 = doing.items(|item| item.act == Act::PageFaults).iter().sum();
    let ns = doing.ns_of(&names).unwrap_or(0.0) + faults;
    let said =
        format!("gets memory from the kernel and gives it back for every operation ({})", and_joined(&text));
    let remedy =
        "reuse buffers, or let the allocator keep memory (glibc: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD)";
    let told = names.iter().map(|name| (*name).to_owned()).collect();
    Some((doing.cause(rules::ALLOCATION, &most.name, more, (ns > 0.0).then_some(ns), said, remedy), told))
}

fn page_faults(doing: &Doing<'_>) -> Option<Told> {
    let more = doing.more_events("page_faults").filter(|more| *more >= 0.5)?;
    if huge_pages(doing).is_some() {
        return None;
    }
    let advice = |item: &AccountItem| item.call.as_deref() == Some(ADVICE);
    let ns: f64 = doing.items(|item| item.act == Act::PageFaults || advice(item)).iter().sum();
    let said = format!("touches {} pages an operation that it has to be given first", count(more));
    let remedy = "reuse memory that was touched before; get it ahead of time (MAP_POPULATE, mlock)";
    let told = vec![ADVICE.to_owned()];
    Some((doing.cause(rules::PAGE_FAULTS, "page_faults", more, (ns > 0.0).then_some(ns), said, remedy), told))
}

fn event_loop(doing: &Doing<'_>) -> Option<Told> {
    // Who asks a name server polls for its answer.
    if dns(doing).is_some() {
        return None;
    }
    let (_, sum, more) = doing
        .often()
        .find(|(kind, sum, more)| **kind == Kind::Poll && *more >= 0.5 && sum.timeouts < 0.5 * sum.count)?;
    let said = format!(
        "asks which descriptor is ready before it reads: {} `{}` an operation",
        count(more),
        sum.name
    );
    let ns = doing.ns_of(&[&sum.name]);
    let remedy = "read first and poll only when there was nothing; or handle several messages for each poll";
    let told = vec![sum.name.clone(), "epoll_ctl".to_owned()];
    Some((doing.cause(rules::EVENT_LOOP, &sum.name, more, ns, said, remedy), told))
}

/// Calls of which there are more, and which no rule tells of.
fn more_calls(doing: &Doing<'_>, told: &[String]) -> Vec<NamedCause> {
    let untold = doing
        .often()
        .filter(|(_, sum, _)| !told.contains(&sum.name) && !OF_THE_MOMENT.contains(&sum.name.as_str()));
    untold
        .map(|(_, sum, more)| {
            let bytes = sum
                .bytes_each()
                .map_or_else(String::new, |each| format!(" of {}", size_text(each.round() as u64)));
            let said = format!("makes {} more `{}`{bytes} an operation", count(more), sum.name);
            let ns = doing.ns_of(&[&sum.name]);
            doing.cause(rules::MORE_CALLS, &sum.name, more, ns, said, "see whether the operation needs them")
        })
        .collect()
}

/// Storage and migrations, where no cause tells of them.
fn counted(doing: &Doing<'_>, found: &[NamedCause]) -> Vec<NamedCause> {
    let has =
        |rule: Rule| found.iter().any(|cause| cause.code == rule.code && cause.side == Some(doing.side));
    let mut more = Vec::new();
    let told = has(rules::SYNC_WRITES) || has(rules::LOGGING) || has(rules::STORAGE);
    for (event, verb) in [("disk_bytes_written", "writes"), ("disk_bytes_read", "reads")] {
        let bytes = doing.more_events(event).filter(|bytes| *bytes >= STORAGE_BYTES && !told);
        let Some(bytes) = bytes else { continue };
        let said = format!("{verb} {} of storage an operation", size_text(bytes.round() as u64));
        more.push(doing.cause(rules::STORAGE, event, bytes, None, said, IN_MEMORY));
    }
    if let Some(moves) = doing.more_events("migrations").filter(|moves| *moves >= OFTEN) {
        let said = format!("moves to another core {} times an operation", count(moves));
        let remedy = "keep the thread on one core (taskset, sched_setaffinity once)";
        let ns: f64 = doing.items(|item| item.act == Act::Migrations).iter().sum();
        more.push(doing.cause(
            rules::MIGRATIONS,
            "migrations",
            moves,
            (ns > 0.0).then_some(ns),
            said,
            remedy,
        ));
    }
    more
}
