//! Memory that is got, touched for the first time, and given back.

use ipcost_lab::rules;
use ipcost_model::and_joined;

use super::{ActiveSide, NamedCalls, OFTEN, total};
use crate::explain::causes::count;
use crate::explain::kinds::{CallKind, CallSum};
use crate::explain::{AccountItem, Act, ExplainedCell};

/// Calls that get memory and give it back.
const ALLOCATING: [&str; 5] = ["mmap", "munmap", "brk", "mremap", "madvise"];
/// The one of them that keeps the memory and gives only its pages back.
const ADVICE: &str = "madvise";

/// Pages of 2 MiB are cleared when they are first touched.
pub(super) fn huge_pages(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let of = |cell: &ExplainedCell| cell.machine.get("huge_page_faults").copied();
    let more = of(doing.cell)? - doing.reference.and_then(of).unwrap_or(0.0);
    // They are counted for the whole machine; the side with faults of its own is the one.
    let faults = doing.more_events("page_faults").unwrap_or(1.0);
    (more >= OFTEN / 4.0 && faults >= OFTEN / 4.0).then(|| {
        let calls = |item: &AccountItem| item.call.as_deref().is_some_and(|call| ALLOCATING.contains(&call));
        let taken = doing.ns_where(|item| matches!(item.act, Act::PageFaults | Act::SystemTime) || calls(item));
        let said = format!(
            "touches new memory in huge pages, {} an operation, each of which the kernel clears first",
            count(more)
        );
        let remedy = "reuse memory; or keep huge pages from short-lived buffers (madvise(MADV_NOHUGEPAGE), or transparent_hugepage=madvise)";
        let cause = doing.cause(rules::HUGE_PAGES, "huge_page_faults", more, taken, said, remedy);
        (cause, ALLOCATING.map(str::to_owned).to_vec())
    })
}

pub(super) fn allocation(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    if doing.has(rules::HUGE_PAGES) {
        return None;
    }
    let gets = |kind: &CallKind| matches!(kind, CallKind::Other(name) if ALLOCATING.contains(&name.as_str()));
    let seen: Vec<(&CallSum, f64)> =
        doing.often().filter(|(kind, _, _)| gets(kind)).map(|(_, sum, more)| (sum, more)).collect();
    // Advice alone gives pages back and keeps the memory: what it costs are the faults.
    let (most, more) =
        seen.iter().copied().filter(|(sum, _)| sum.name != ADVICE).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text: Vec<String> =
        seen.iter().map(|(sum, more)| format!("{} `{}`", count(*more), sum.name)).collect();
    let names: Vec<&str> = seen.iter().map(|(sum, _)| sum.name.as_str()).collect();
    let touched = doing.more_events("page_faults").filter(|more| *more >= 0.5);
    let touched =
        touched.map_or_else(String::new, |more| format!("; its {} pages are new each time", count(more)));
    let faults = doing.ns_where(|item| item.act == Act::PageFaults);
    let ns = total([doing.ns_of(&names), faults]);
    let said = format!(
        "gets memory from the kernel and gives it back for every operation ({}){touched}",
        and_joined(&text)
    );
    let remedy =
        "reuse buffers, or let the allocator keep memory (glibc: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD)";
    let covered = names.iter().map(|name| (*name).to_owned()).collect();
    Some((doing.cause(rules::ALLOCATION, &most.name, more, ns, said, remedy), covered))
}

pub(super) fn page_faults(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let more = doing.more_events("page_faults").filter(|more| *more >= 0.5)?;
    // Memory that was given back is touched again: one cause.
    if doing.has(rules::HUGE_PAGES) || doing.has(rules::ALLOCATION) {
        return None;
    }
    let advice = |item: &AccountItem| item.call.as_deref() == Some(ADVICE);
    let ns = doing.ns_where(|item| item.act == Act::PageFaults || advice(item));
    let said = format!("touches {} pages an operation that it has to be given first", count(more));
    let remedy = "reuse memory that was touched before; get it ahead of time (MAP_POPULATE, mlock)";
    let covered = vec![ADVICE.to_owned()];
    Some((doing.cause(rules::PAGE_FAULTS, "page_faults", more, ns, said, remedy), covered))
}
