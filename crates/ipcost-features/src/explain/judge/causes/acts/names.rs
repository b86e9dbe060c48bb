//! Names that are looked up.

use ipcost_lab::rules;
use ipcost_model::and_joined;

use super::{ActiveSide, NamedCalls, OFTEN};
use crate::explain::Act;
use crate::explain::causes::count;
use crate::explain::kinds::CallKind;

fn lookups(doing: &ActiveSide<'_>, wanted: impl Fn(&str) -> bool) -> Vec<(String, f64)> {
    let all = &doing.cell.sides.of(doing.side).lookups;
    all.iter()
        .filter(|(what, rate)| **rate >= OFTEN && wanted(what))
        .map(|(what, rate)| (what.clone(), *rate))
        .collect()
}

/// All that a side calls: what it does besides the message belongs to the name that it looks up.
fn all_calls(doing: &ActiveSide<'_>) -> Vec<String> {
    doing.kinds.values().map(|sum| sum.name.clone()).collect()
}

/// A name is asked of a server.
pub(super) fn dns(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let asked = lookups(doing, |what| what == "htons(53)");
    let (_, rate) = asked.first()?;
    let ns = doing.kinds.get(&CallKind::Poll).and_then(|sum| sum.took_ns);
    let said = format!("asks a name server {} times an operation", count(*rate));
    let remedy = "resolve the name once, run a caching resolver, or connect to an address";
    Some((doing.cause(rules::DNS, "port 53", *rate, ns, said, remedy), all_calls(doing)))
}

/// A name is looked up in files for every operation.
pub(super) fn name_resolution(doing: &ActiveSide<'_>) -> Option<NamedCalls> {
    let touched = lookups(doing, |what| what != "htons(53)");
    let most = touched.iter().map(|(_, rate)| *rate).reduce(f64::max)?;
    let seen: Vec<String> = touched.iter().map(|(what, rate)| format!("{what} {}", count(*rate))).collect();
    let calls: f64 = doing.kinds.values().map(|sum| sum.count).sum();
    let own = doing.ns_where(|item| matches!(item.act, Act::UserTime | Act::Calls));
    let said = format!(
        "looks a name up for every operation ({}; {} system calls in all)",
        and_joined(&seen),
        count(calls)
    );
    let remedy = "resolve the name once, or connect to an address";
    Some((doing.cause(rules::NAME_RESOLUTION, "names", most, own, said, remedy), all_calls(doing)))
}
