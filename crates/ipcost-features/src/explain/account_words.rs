//! The account of a difference in sentences.

use ipcost_lab::rules;
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::{percent, size_text};
use ipcost_report::numbers::{three_digits, time};

use super::sentences::direction;
use crate::explain::{AccountItem, Act, ExplainedCell, ExplainedDifference, Known};

/// What is not explained is told from this share of a difference on.
const UNEXPLAINED: f64 = 0.1;
/// Items of an account that a sentence names.
const MOST_ITEMS: usize = 6;

/// What one cell does more than another, call by call, and what remains; nothing where nothing differs.
pub fn account_sentence(
    difference: &ExplainedDifference,
    a: &ExplainedCell,
    b: &ExplainedCell,
) -> Option<String> {
    let wall = difference.wall_ns?;
    let sign = direction(difference, wall.median);
    let dear = if sign > 0.0 { a } else { b };
    let account = &difference.account;
    let turned = account.items.iter().filter(|item| is_explained(item)).map(|item| AccountItem {
        more: sign * item.more,
        ns: item.ns.map(|ns| sign * ns),
        ..item.clone()
    });
    let mut sentences = Vec::new();
    for side in [PeerRole::Client, PeerRole::Server] {
        let of_side: Vec<AccountItem> =
            turned.clone().filter(|item| item.side == side).take(MOST_ITEMS).collect();
        let whose = format!("The {side} of {}", dear.label);
        sentences.extend(of_side.iter().enumerate().map(|(number, item)| {
            let subject = if number == 0 { whose.clone() } else { "It".to_owned() };
            format!("{subject} {}.", item_text(item))
        }));
    }
    let rest = account.unexplained_ns.filter(|_| difference.differs).map(|ns| sign * ns);
    if let Some(rest) = rest.filter(|rest| rest.abs() >= UNEXPLAINED * wall.median.abs()) {
        let share = percent(rest.abs() / wall.median.abs());
        sentences.push(match rest > 0.0 {
            true => format!("{} ({share}) of the difference remains unexplained.", time(rest)),
            false => format!(
                "These add up to {} ({share}) more than the difference, since some of it happens at once.",
                time(-rest)
            ),
        });
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Whether an item is told on its own: parts are in the sentence before, and switches without a time follow from others.
pub(super) fn is_explained(item: &AccountItem) -> bool {
    match item.act {
        Act::UserTime | Act::SystemTime => false,
        Act::Switches => item.ns.is_some(),
        _ => true,
    }
}

/// What a side does more, with the time that it takes: `makes 1.00 more `fdatasync`: 95.0 µs of waiting`.
fn item_text(item: &AccountItem) -> String {
    let more = item.more;
    let word = if more >= 0.0 { "more" } else { "fewer" };
    let bytes = |bytes: f64| size_text(bytes.round() as u64);
    let count =
        if more == 0.0 { "as many".to_owned() } else { format!("{} {word}", three_digits(more.abs())) };
    let what = match item.act {
        Act::Calls => format!("makes {count} `{}`", item.call.as_deref().unwrap_or_default()),
        Act::PageFaults => format!("has {count} page faults"),
        Act::Switches => format!("waits {count} times"),
        Act::Migrations => format!("moves to another core {count} times"),
        Act::HeldBack => {
            let ns = item.ns.unwrap_or(0.0);
            let (more, held) = if ns < 0.0 { ("less", -ns) } else { ("more", ns) };
            let waits = if more == "more" { rules::one_in(item.more.abs()) } else { String::new() };
            let waits = if waits.is_empty() { waits } else { format!(", {waits}") };
            return format!("waits {} {more} for delayed acknowledgements{waits}", time(held));
        }
        Act::StorageRead => return format!("reads {} {word} from storage", bytes(more.abs())),
        Act::StorageWritten => return format!("writes {} {word} to storage", bytes(more.abs())),
        Act::UserTime | Act::SystemTime => String::new(),
    };
    let each =
        item.bytes.filter(|each| *each > 0.0).map_or_else(String::new, |each| format!(" of {}", bytes(each)));
    let Some(ns) = item.ns else { return format!("{what}{each}") };
    let (less, ns) = if ns < 0.0 { ("less ", -ns) } else { ("", ns) };
    let kind = match item.known {
        Some(Known::Waits) => "waiting",
        Some(Known::Shared) if item.act == Act::Switches => "waiting",
        Some(Known::Shared) => "system time",
        _ => "time",
    };
    let of = if less.is_empty() { "of " } else { less };
    format!("{what}{each}: {} {of}{kind}", time(ns))
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Object, Pattern};

    use super::*;
    use crate::explain::Account;
    use crate::explain::sentences::tests::{cell, difference};

    fn item(side: PeerRole, act: Act, call: &str, more: f64) -> AccountItem {
        let call = (!call.is_empty()).then(|| call.to_owned());
        AccountItem { call, more, ..AccountItem::new(side, act) }
    }

    fn said(items: Vec<AccountItem>, unexplained_ns: f64, sign: f64) -> String {
        let (tcp, unix) = (cell("tcp", Pattern::Rr, 1.0), cell("unix", Pattern::Rr, 1.0));
        let account = Account { items, unexplained_ns: Some(unexplained_ns) };
        let differs = ExplainedDifference { account, ..difference(sign, true) };
        let (a, b) = if sign > 0.0 { (&tcp, &unix) } else { (&unix, &tcp) };
        account_sentence(&differs, a, b).unwrap_or_default()
    }

    #[test]
    fn calls_are_named_with_what_they_take_and_how_that_is_known() {
        let (client, server) = (PeerRole::Client, PeerRole::Server);
        let read = AccountItem {
            on: Some(Object::Socket),
            bytes: Some(16.0),
            ns: Some(149_000.0),
            known: Some(Known::Shared),
            ..item(client, Act::Calls, "recvfrom", 255.0)
        };
        let sync = AccountItem {
            ns: Some(95_000.0),
            known: Some(Known::Waits),
            ..item(server, Act::Calls, "fdatasync", 1.0)
        };
        let items = vec![read.clone(), sync, item(server, Act::StorageWritten, "", 4_096.0)];
        assert_eq!(
            said(items, 0.0, 1.0),
            "The client of tcp makes 255 more `recvfrom` of 16 B: 149 µs of system time. The server of tcp makes 1.00 \
             more `fdatasync`: 95.0 µs of waiting. It writes 4 KiB more to storage."
        );
        // Asked the other way round, the same is said.
        let turned = AccountItem { more: -255.0, ns: Some(-149_000.0), ..read };
        assert_eq!(
            said(vec![turned], 0.0, -1.0),
            "The client of tcp makes 255 more `recvfrom` of 16 B: 149 µs of system time."
        );
    }

    #[test]
    fn what_remains_is_a_figure_and_nothing_is_said_of_nothing() {
        assert_eq!(said(Vec::new(), 0.0, 1.0), "");
        assert_eq!(said(Vec::new(), 3_200.0, 1.0), "3.20 µs (50 %) of the difference remains unexplained.");
        let fewer = item(PeerRole::Client, Act::Calls, "poll", -1.0);
        let less = said(vec![item(PeerRole::Client, Act::Calls, "read", 2.0), fewer], 0.0, 1.0);
        assert_eq!(less, "The client of tcp makes 2.00 more `read`. It makes 1.00 fewer `poll`.");
        let part = item(PeerRole::Client, Act::UserTime, "", 0.0);
        assert_eq!(said(vec![part], 0.0, 1.0), "", "parts are told in the sentence before");
    }
}
