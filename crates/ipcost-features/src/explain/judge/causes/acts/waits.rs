//! Calls in which a side waits for something of its own: storage, a time, a lock, another of its threads.

use ipcost_lab::rules::{self, nanoseconds};
use ipcost_lab::strace::CallMode;
use ipcost_model::units::size_text;
use ipcost_model::{Object, Pattern};

use super::{ActiveSide, IN_MEMORY, NamedCalls, OFTEN, STORAGE_BYTES, SYNCING, total};
use crate::explain::Act;
use crate::explain::causes::count;
use crate::explain::kinds::{CallKind, CallSum, aside_by_kind};

/// A write to a file that takes longer than this waits for storage, nanoseconds.
const SYNCED_WRITE_NS: f64 = 20_000.0;

/// What reaches storage of each write that waits for it, bytes: at least a page, however short the write. Of writes that wait
/// for nothing, many share a page.
const SYNCED_WRITE_BYTES: f64 = 4096.0;

/// Whether a usual one of these writes waits for storage: it takes long, and where the kernel counts what goes to storage, each
/// sends it a page. Their mean does not tell: it is also what a few of them met that the scheduler interrupted; on a machine
/// that other work fills, that is half of them.
pub(super) fn waits_for_storage(doing: &ActiveSide<'_>, sum: &CallSum) -> bool {
    let takes_long = sum.median_ns.is_some_and(|ns| ns >= SYNCED_WRITE_NS);
    let written = doing.more_events("disk_bytes_written");
    takes_long && written.is_none_or(|bytes| bytes >= 0.5 * SYNCED_WRITE_BYTES * sum.count)
}

pub(super) fn sync_writes(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let to_file = |kind: &CallKind| *kind == CallKind::WriteTo(Object::File);
    let synced = doing.often().find(|(kind, sum, _)| match kind {
        CallKind::Other(name) => SYNCING.contains(&name.as_str()),
        kind => to_file(kind) && waits_for_storage(doing, sum),
    });
    let (_, sum, more) = synced?;
    let ns = doing.ns_of(&[&sum.name]);
    let said = format!("waits for storage in {} `{}` an operation", count(more), sum.name);
    let remedy = "let several operations share one sync (group commit), sync from another thread, or do not sync where losing the last moments is allowed";
    let mut covered = vec![sum.name.clone()];
    covered.extend(doing.kinds.iter().filter(|(kind, _)| to_file(kind)).map(|(_, sum)| sum.name.clone()));
    Some((doing.cause(rules::SYNC_WRITES, &sum.name, more, ns, said, remedy), covered))
}

/// Reads that come from storage rather than from memory.
pub(super) fn storage(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let bytes = doing.more_events("disk_bytes_read").filter(|bytes| *bytes >= STORAGE_BYTES)?;
    let (_, sum, more) = doing.often().find(|(kind, _, _)| **kind == CallKind::ReadOf(Object::File))?;
    let said = format!(
        "reads {} of storage an operation, in {} `{}`",
        size_text(bytes.round() as u64),
        count(more),
        sum.name
    );
    let ns = doing.ns_of(&[&sum.name]);
    Some((doing.cause(rules::STORAGE, &sum.name, more, ns, said, IN_MEMORY), vec![sum.name.clone()]))
}

pub(super) fn sleep(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let (_, sum, more) = doing.often().find(|(kind, _, _)| **kind == CallKind::Sleep)?;
    let each = sum.sleep_ns / sum.count;
    let long = if each > 0.0 { format!(" of {}", nanoseconds(each)) } else { String::new() };
    let said = format!("sleeps in {} `{}`{long} an operation", count(more), sum.name);
    let ns = doing.ns_of(&[&sum.name]);
    let remedy = "wait for what the sleep waits for (a descriptor, a condition) rather than for a time";
    Some((doing.cause(rules::SLEEP, &sum.name, more, ns, said, remedy), vec![sum.name.clone()]))
}

/// A connection that is not made at once is waited for by a poll that ends only when its time is over.
pub(super) fn connect_poll(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let sum = doing.kinds.get(&CallKind::Poll).filter(|_| doing.cell.pattern == Pattern::Connect)?;
    let timeouts = sum.timeouts;
    (timeouts >= OFTEN).then(|| {
        let ns = sum.took_ns;
        let asks = ["fcntl", "getsockopt", "getpeername", "getsockname", "ioctl"];
        let covered = asks.iter().map(|name| (*name).to_owned()).chain([sum.name.clone()]).collect();
        let said = format!(
            "waits in {} `{}` a connection until the time given is over, and nothing came",
            count(timeouts),
            sum.name
        );
        let remedy = "poll for writing (POLLOUT), which is what a connection that becomes ready reports, or connect with a blocking socket";
        (doing.cause(rules::CONNECT_POLL, &sum.name, timeouts, ns, said, remedy), covered)
    })
}

/// The thread that moves messages is not the one that handles them.
pub(super) fn thread_hand_over(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let (threads, there) =
        (doing.threads(), doing.reference.map_or(1, |cell| cell.sides.of(doing.side).threads.len()));
    let futex = CallKind::Other("futex".to_owned());
    let aside = aside_by_kind(doing.cell, doing.side);
    let by_all = [doing.kinds.get(&futex), aside.get(&futex)];
    let manner = |manner| by_all.iter().flatten().map(|sum| sum.in_manner(manner)).sum::<f64>();
    // A condition or a word of memory is waited for; what wakes it comes with that.
    let words = manner(CallMode::WordWait);
    let both = |on: Object| {
        let (reads, writes) = (doing.more(&CallKind::ReadOf(on)), doing.more(&CallKind::WriteTo(on)));
        reads.min(writes).max(0.0)
    };
    let by_descriptor = both(Object::Event) + both(Object::Pipe);
    let hands = words + by_descriptor;
    if threads < 2 || threads <= there || hands < OFTEN || manner(CallMode::MutexWait) > hands {
        return None;
    }
    let names: &[&str] = if words >= by_descriptor { &["futex"] } else { &["read", "write"] };
    let subject = names[0];
    let ns = total([doing.ns_of(names), doing.ns_where(|item| item.act == Act::Switches)]);
    let said = format!(
        "hands each operation over between {threads} of its own threads, {} times by `{subject}`",
        count(hands)
    );
    let remedy = "handle a message in the thread that receives it, or hand over several at once";
    let covered = names.iter().map(|name| (*name).to_owned()).collect();
    Some((doing.cause(rules::THREAD_HAND_OVER, subject, hands, ns, said, remedy), covered))
}

pub(super) fn lock_contention(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let futex = doing.kinds.get(&CallKind::Other("futex".to_owned()));
    let waits = futex.map_or(0.0, |sum| sum.in_manner(CallMode::MutexWait));
    let file_lock = || {
        doing.often().find(|(_, sum, _)| sum.in_manner(CallMode::FileLock) >= OFTEN && sum.took_ns.is_some())
    };
    let remedy = "hold the lock for less, or give each thread data of its own";
    // Who hands over by a condition takes its mutex, too.
    let hands_over = futex.is_some_and(|sum| sum.in_manner(CallMode::WordWait) >= waits);
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

pub(super) fn event_loop(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    // Who asks a name server polls for its answer.
    if doing.has(rules::DNS) {
        return None;
    }
    let (_, sum, more) = doing.often().find(|(kind, sum, more)| {
        **kind == CallKind::Poll && *more >= 0.5 && sum.timeouts < 0.5 * sum.count
    })?;
    let said = format!(
        "asks which descriptor is ready before it reads: {} `{}` an operation",
        count(more),
        sum.name
    );
    let ns = doing.ns_of(&[&sum.name]);
    let remedy = "read first and poll only when there was nothing; or handle several messages for each poll";
    let covered = vec![sum.name.clone(), "epoll_ctl".to_owned()];
    Some((doing.cause(rules::EVENT_LOOP, &sum.name, more, ns, said, remedy), covered))
}
