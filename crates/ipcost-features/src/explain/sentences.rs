//! An explanation in sentences. Every figure is in the record already; here they only find their words.

use ipcost_model::protocol::PeerRole;
use ipcost_model::units::percent;
use ipcost_model::{Estimate, Pattern, Placement, Verdict, and_joined};
use ipcost_report::numbers::{per_operation, ratio, three_digits, time, time_interval};
use ipcost_report::words::capitalised;

use super::account_words::is_explained;
use crate::explain::{
    CountDifference, Division, ExplainedCell, ExplainedDifference, ExplainedFloor, Part, PartDifference,
};

fn operation(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Rr => "round trip",
        Pattern::Stream => "message",
        Pattern::Connect => "connection",
        Pattern::Floor => "operation",
    }
}

/// A part in a sentence.
pub fn part_name(part: Part) -> &'static str {
    match part {
        Part::ClientUser => "user time in the client",
        Part::ClientSystem => "system time in the client",
        Part::ServerUser => "user time in the server",
        Part::ServerSystem => "system time in the server",
        Part::Waiting => "waiting",
    }
}

/// An interval in parentheses, with a space before; nothing while it is unbounded.
fn span(estimate: &Estimate) -> String {
    time_interval(estimate.lo, estimate.hi).map_or_else(String::new, |held| format!(" ({held})"))
}

/// Where one cell's time goes.
pub fn cell_sentence(cell: &ExplainedCell) -> String {
    let name = capitalised(&subject(cell));
    let Some(wall) = &cell.wall_ns else { return format!("{name} was not measured.") };
    let takes = format!("{name} takes {} per {}{}", time(wall.median), operation(cell.pattern), span(wall));
    let mut parts: Vec<_> = cell.parts.iter().collect();
    parts.sort_by(|a, b| b.ns.median.total_cmp(&a.ns.median));
    let share = |ns: f64| percent(ns / wall.median);
    let text = |part: &&crate::explain::PartCost| {
        let (ns, name) = (part.ns.median, part_name(part.part));
        match part.part {
            Part::Waiting if ns < 0.0 => {
                format!("less {} ({}) in which both sides ran at once", time(-ns), share(-ns))
            }
            _ => format!("{} ({}) {name}", time(ns), share(ns)),
        }
    };
    let list = and_joined(&parts.iter().map(text).collect::<Vec<_>>());
    match cell.division {
        Division::Turns => format!("{takes}: {list}."),
        Division::Overlap => format!("{takes}; {}. Of processor time it takes {list}.", limit(cell)),
        Division::Processor if cell.cell.pace().is_paced() => {
            format!("{takes}; processor time, pauses included: {list}.")
        }
        Division::Processor => format!(
            "{takes}, with {} workers at once, so only processor time can be divided: {list}.",
            cell.concurrency
        ),
    }
}

/// How far cells are from what this machine allows; nothing where no floor is known, or it changed during the run.
pub fn floor_sentence(cells: &[&ExplainedCell]) -> Option<String> {
    let known = |cell: &&&ExplainedCell| Some((subject(cell), cell.floor.clone()?));
    let known = cells.iter().filter_map(|cell| known(&cell)).filter(|(_, floor)| floor.steady);
    let clause = |(name, floor): (String, ExplainedFloor)| {
        let multiple = &floor.multiple;
        let bounds = multiple.lo.zip(multiple.hi).map(|(lo, hi)| format!(" ({}–{})", ratio(lo), ratio(hi)));
        format!(
            "{name} takes {} times{} the {} of its floor ({})",
            ratio(multiple.median),
            bounds.unwrap_or_default(),
            time(floor.ns_per_op),
            floor.made_of
        )
    };
    let clauses: Vec<String> = known.map(clause).collect();
    (!clauses.is_empty()).then(|| format!("{}.", capitalised(&and_joined(&clauses))))
}

/// Where a cell runs, in words; nothing where the scheduler decides.
pub fn place(placement: Placement) -> Option<&'static str> {
    match placement {
        Placement::Together => Some("on one core"),
        Placement::Apart => Some("on two cores"),
        Placement::Free => None,
    }
}

/// A cell as the subject of a sentence.
pub(super) fn subject(cell: &ExplainedCell) -> String {
    match place(cell.placement) {
        Some(place) => format!("{place} {}", cell.label),
        None => cell.label.clone(),
    }
}

/// Which of two cells costs more: 1 for the first. The ratio says so, whose interval is the verdict's.
pub(super) fn direction(difference: &ExplainedDifference, wall_ns: f64) -> f64 {
    let ratio = difference.ratio.map_or(0.0, |ratio| ratio.median - 1.0);
    let more = if ratio == 0.0 { wall_ns } else { ratio };
    if more < 0.0 { -1.0 } else { 1.0 }
}

/// Which side limits a stream.
fn limit(cell: &ExplainedCell) -> String {
    let Some((side, busy)) = cell.limited_by.zip(cell.busy) else {
        return "what limits it is not known".to_owned();
    };
    let share = |side| percent(*busy.of(side));
    let other = side.other();
    // A side that is idle for a good part of the time limits nothing by its work.
    if *busy.of(side) < 0.75 {
        return format!(
            "both sides wait for much of it (the {side} is busy for {} of the time, the {other} for {})",
            share(side),
            share(other)
        );
    }
    format!("the {side} limits it, busy for {} of the time (the {other}: {})", share(side), share(other))
}

/// What makes the difference between two cells, the largest part first.
pub fn difference_sentence(difference: &ExplainedDifference, a: &ExplainedCell, b: &ExplainedCell) -> String {
    let per = operation(a.pattern);
    let (Some(wall), Some(times)) = (&difference.wall_ns, &difference.ratio) else {
        return format!(
            "{} and {} were not both measured, so nothing can be said of their difference.",
            a.label, b.label
        );
    };
    // The costlier one is the subject.
    let sign = direction(difference, wall.median);
    let (dear, cheap) = if sign > 0.0 { (a, b) } else { (b, a) };
    let where_ = place(a.placement).filter(|_| a.placement == b.placement);
    let named = |cell: &ExplainedCell| match place(cell.placement).filter(|_| where_.is_none()) {
        Some(place) => format!("{} {place}", cell.label),
        None => cell.label.clone(),
    };
    let cheap_name = &named(cheap);
    let (more, factor) = (oriented(wall, sign), if sign > 0.0 { times.median } else { 1.0 / times.median });
    let (amount, around) = (time(more.median), span(&more));
    let whether = if where_.is_some() { "whether" } else { "Whether" };
    let dear_name = if where_.is_some() { named(dear) } else { capitalised(&named(dear)) };
    let text = match (more.lo, difference.differs) {
        (None, _) => format!(
            "{dear_name} costs about {amount} more than {cheap_name} per {per}, {} ×: an estimate from too few epochs for an interval",
            ratio(factor)
        ),
        (_, true) => format!(
            "{dear_name} costs {amount} more than {cheap_name} per {per}{around}, {} ×",
            ratio(factor)
        ),
        (_, false) if difference.verdict == Verdict::Equivalent => format!(
            "{dear_name} and {cheap_name} cost the same per {per} in the median, within the margin ({amount} apart{around})"
        ),
        _ => format!(
            "{whether} {} or {cheap_name} costs more per {per} is open: {amount} apart{around}",
            named(dear)
        ),
    };
    let mut text = match where_ {
        Some(place) => format!("{}, {text}", capitalised(place)),
        None => text,
    };
    if more.lo.is_none() {
        let (counts, equal) = counts_text(difference, sign);
        let clauses: String =
            counts.into_iter().chain(are_same(&equal)).map(|clause| format!("; {clause}")).collect();
        return format!("{text}{clauses}.");
    }
    text.push_str(&match difference.division {
        Division::Turns => {
            format!(": {}.", parts_text(difference, sign, dear, cheap, "of it"))
        }
        Division::Overlap => format!(
            ". With {}, {}; with {cheap_name}, {}. Processor time: {}.",
            dear.label,
            limit(dear),
            limit(cheap),
            parts_text(difference, sign, dear, cheap, "more")
        ),
        Division::Processor => {
            format!(". Processor time: {}.", parts_text(difference, sign, dear, cheap, "more"))
        }
    });
    text
}

/// How long two programs that ran already take, and how long their native twin does. The one is a sample, the other is measured.
pub fn watched_sentences(pair: &ExplainedCell, twin: &ExplainedCell) -> Vec<String> {
    let operation = operation(twin.pattern);
    let mut said = vec![match &pair.wall_ns {
        Some(wall) => format!(
            "{} ({}) takes about {} per {operation}: the median of a sample, without an interval.",
            capitalised(&pair.label),
            pair.id,
            time(wall.median)
        ),
        None if twin.pattern == Pattern::Stream => format!(
            "How long {} ({}) takes per {operation} is not known: it goes one way, so that no answer tells when one is done.",
            pair.label, pair.id
        ),
        None => format!(
            "How long {} ({}) takes per {operation} is not known: as root, a sample of its calls tells.",
            pair.label, pair.id
        ),
    }];
    let Some(native) = &twin.wall_ns else {
        said.push(format!("{} could not be measured.", capitalised(&twin.label)));
        return said;
    };
    said.push(format!(
        "{}, with the same sizes and pace, takes {}{}.",
        capitalised(&twin.label),
        time(native.median),
        span(native)
    ));
    said.extend(pair.wall_ns.filter(|wall| wall.median > native.median).map(|wall| {
        format!(
            "So transport and kernel need no more than {} of it; the other {} or so is what your programs do, or what they wait for.",
            time(native.median),
            time(wall.median - native.median)
        )
    }));
    said
}

pub(super) fn oriented(estimate: &Estimate, sign: f64) -> Estimate {
    if sign > 0.0 {
        return *estimate;
    }
    Estimate { median: -estimate.median, lo: estimate.hi.map(|hi| -hi), hi: estimate.lo.map(|lo| -lo) }
}

/// The parts that differ, the costlier cell's more first; then what does not.
fn parts_text(
    difference: &ExplainedDifference,
    sign: f64,
    dear: &ExplainedCell,
    cheap: &ExplainedCell,
    more_word: &str,
) -> String {
    let turned = |part: &PartDifference| PartDifference { ns: oriented(&part.ns, sign), ..*part };
    let parts: Vec<PartDifference> = difference.parts.iter().map(turned).collect();
    let (mut said, mut less, mut same) = (Vec::new(), Vec::new(), Vec::new());
    for part in &parts {
        let name = part_name(part.part);
        let amount = |ns: &Estimate| format!("{}{}", time(ns.median), span(ns));
        match (part.differs, part.ns.median > 0.0) {
            (false, _) => same.push(name),
            (true, true) => {
                let verb = if said.is_empty() && more_word == "of it" { " of it is " } else { " " };
                let more = if more_word == "more" { " more " } else { verb };
                said.push(format!(
                    "{}{more}{name}{}",
                    amount(&part.ns),
                    instructions(part.part, dear, cheap)
                ));
            }
            (true, false) => {
                less.push(format!("{} less {name}", amount(&oriented(&part.ns, -1.0))));
            }
        }
    }
    let mut clauses = Vec::new();
    if !said.is_empty() {
        clauses.push(and_joined(&said));
    }
    if !less.is_empty() {
        // What is less is against what was said only where something was.
        let but = if said.is_empty() { "" } else { "but " };
        clauses.push(format!("{but}{}", and_joined(&less)));
    }
    if clauses.is_empty() {
        clauses.push("no part differs by more than noise".to_owned());
    }
    // Where one does something more, the next sentence tells it, and the table what is no more.
    if !difference.account.items.iter().any(is_explained) {
        let (counts, equal) = counts_text(difference, sign);
        clauses.extend(counts);
        let parts = if said.is_empty() && less.is_empty() { Vec::new() } else { same };
        clauses.extend(are_same(&[parts, equal].concat()));
    }
    clauses.join("; ")
}

fn are_same(names: &[&str]) -> Option<String> {
    let list: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    (!list.is_empty()).then(|| format!("the same within noise: {}", and_joined(&list)))
}

/// How many more instructions went with a part, where they could be counted.
fn instructions(part: Part, dear: &ExplainedCell, cheap: &ExplainedCell) -> String {
    let (side, event) = match part {
        Part::ClientUser => (PeerRole::Client, "instructions_user"),
        Part::ClientSystem => (PeerRole::Client, "instructions_kernel"),
        Part::ServerUser => (PeerRole::Server, "instructions_user"),
        Part::ServerSystem => (PeerRole::Server, "instructions_kernel"),
        Part::Waiting => return String::new(),
    };
    let of = |cell: &ExplainedCell| cell.sides.of(side).events.get(event).copied();
    match of(dear).zip(of(cheap)) {
        Some((more, fewer)) if more > fewer => {
            format!(", with {} more instructions", three_digits(more - fewer))
        }
        _ => String::new(),
    }
}

/// System calls and switches: those that differ with their figures, the others as the same.
fn counts_text(difference: &ExplainedDifference, sign: f64) -> (Vec<String>, Vec<&'static str>) {
    let mut named = Vec::new();
    let mut equal = Vec::new();
    for what in ["system calls", "voluntary switches"] {
        let of: Vec<&CountDifference> = difference.counts.iter().filter(|count| count.what == what).collect();
        let changed: Vec<String> = of
            .iter()
            .filter(|count| count.differs)
            .filter_map(|count| {
                let (dear, cheap) = if sign > 0.0 { (count.a, count.b) } else { (count.b, count.a) };
                Some(format!(
                    "{} in place of {} in the {}",
                    per_operation(dear),
                    per_operation(cheap),
                    count.side?
                ))
            })
            .collect();
        match (of.is_empty(), changed.is_empty()) {
            (true, _) => {}
            (false, true) => equal.push(what),
            (false, false) => named.push(format!("{what}: {}", and_joined(&changed))),
        }
    }
    (named, equal)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::explain::record::usual;

    use super::*;
    use crate::explain::{Account, PartCost, Purpose, SideEvidence, Sides};

    fn near(median: f64) -> Estimate {
        Estimate { median, lo: Some(median - 100.0), hi: Some(median + 100.0) }
    }

    pub(in crate::explain) fn cell(name: &str, pattern: Pattern, instructions: f64) -> ExplainedCell {
        let server = SideEvidence {
            events: [("instructions_kernel".to_owned(), instructions)].into(),
            ..SideEvidence::default()
        };
        let part = |(part, ns)| PartCost { part, ns: near(ns), share: ns / 10_000.0 };
        ExplainedCell {
            id: format!("{pattern}/{name}/64/c1"),
            label: name.to_owned(),
            purpose: Purpose::Asked,
            point: usual(pattern, name, 64),
            division: if pattern == Pattern::Stream { Division::Overlap } else { Division::Turns },
            wall_ns: Some(near(10_000.0)),
            wait_ns: None,
            cpu_ns: Some(near(9_000.0)),
            parts: [(Part::ClientUser, 2_000.0), (Part::ServerSystem, 7_000.0), (Part::Waiting, 1_000.0)]
                .map(part)
                .to_vec(),
            floor: None,
            busy: Some(Sides { client: 0.5, server: 0.97 }),
            wake: None,
            limited_by: Some(PeerRole::Server),
            sides: Sides { client: SideEvidence::default(), server },
            network: Default::default(),
            held_back: Vec::new(),
            machine: Default::default(),
            alone: true,
            traced_ops: 1,
            counted_ops: 1,
        }
    }

    pub(in crate::explain) fn difference(sign: f64, differs: bool) -> ExplainedDifference {
        let part = |part, ns: f64, differs| PartDifference {
            part,
            ns: Estimate { median: sign * ns, lo: Some(sign * ns - 100.0), hi: Some(sign * ns + 100.0) },
            differs,
        };
        let count = |what: &str, a, b, differs| CountDifference {
            side: Some(PeerRole::Server),
            what: what.to_owned(),
            a,
            b,
            differs,
        };
        ExplainedDifference {
            a: "a".to_owned(),
            b: "b".to_owned(),
            ratio: Some(Estimate { median: if sign > 0.0 { 1.6 } else { 0.625 }, lo: None, hi: None }),
            verdict: if differs { Verdict::Different } else { Verdict::Undecided },
            wall_ns: Some(Estimate {
                median: sign * 6_400.0,
                lo: Some(sign * 6_400.0 - 500.0),
                hi: Some(sign * 6_400.0 + 600.0),
            }),
            differs,
            division: Division::Turns,
            parts: vec![
                part(Part::ServerSystem, 5_900.0, differs),
                part(Part::ClientUser, -300.0, differs),
                part(Part::Waiting, 40.0, false),
            ],
            account: Account::default(),
            counts: vec![
                count("system calls", 2.0, 2.0, false),
                count("voluntary switches", 1.0, 0.25, true),
            ],
        }
    }

    #[test]
    fn the_largest_part_comes_first_and_what_is_noise_is_the_same() {
        let (tcp, unix) = (cell("tcp", Pattern::Rr, 5_100.0), cell("unix", Pattern::Rr, 2_000.0));
        assert_eq!(
            difference_sentence(&difference(1.0, true), &tcp, &unix),
            "TCP costs 6.40 µs more than unix per round trip (5.90–7.00 µs), 1.60 ×: 5.90 µs (5.80–6.00 µs) of it is \
             system time in the server, with 3100 more instructions; but 300 ns (200–400 ns) less user time in the \
             client; voluntary switches: 1.0 in place of 0.250 in the server; the same within noise: waiting and system calls."
        );
        // Asked the other way round, the same is said.
        let turned = difference_sentence(&difference(-1.0, true), &unix, &tcp);
        assert!(
            turned.starts_with(
                "TCP costs 6.40 µs more than unix per round trip (5.80–6.90 µs), 1.60 ×: 5.90 µs"
            ),
            "{turned}"
        );
    }

    #[test]
    fn what_is_less_contradicts_only_what_was_said() {
        let (tcp, unix) = (cell("tcp", Pattern::Stream, 5_100.0), cell("unix", Pattern::Stream, 2_000.0));
        let mut less = difference(1.0, true);
        less.division = Division::Overlap;
        less.parts.retain(|part| part.part == Part::ClientUser);
        let said = difference_sentence(&less, &tcp, &unix);
        assert!(said.contains("Processor time: 300 ns (200–400 ns) less user time in the client"), "{said}");
    }

    #[test]
    fn floors_are_told_with_what_they_are_made_of() {
        let mut unix = cell("unix", Pattern::Rr, 1.0);
        assert_eq!(floor_sentence(&[&unix]), None);
        unix.floor = Some(ExplainedFloor {
            record: ipcost_model::FloorRecord {
                ns_per_op: 3_810.0,
                multiple: Estimate { median: 2.58, lo: Some(2.5), hi: Some(2.66) },
                parts: Vec::new(),
                made_of: "2 hand-overs + 4 copies of 64 B".to_owned(),
            },
            begin_ns: 3_800.0,
            end_ns: 3_820.0,
            steady: true,
        });
        assert_eq!(
            floor_sentence(&[&cell("shared", Pattern::Rr, 1.0), &unix]).unwrap(),
            "Unix takes 2.58 times (2.50–2.66) the 3.81 µs of its floor (2 hand-overs + 4 copies of 64 B)."
        );
        unix.floor.as_mut().unwrap().steady = false;
        assert_eq!(floor_sentence(&[&unix]), None, "the machine changed meanwhile");
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let (tcp, unix) = (cell("tcp", Pattern::Rr, 1.0), cell("unix", Pattern::Rr, 1.0));
        let open = difference_sentence(&difference(1.0, false), &tcp, &unix);
        assert!(open.starts_with("Whether tcp or unix costs more per round trip is open"), "{open}");
        assert!(open.contains("no part differs by more than noise"), "{open}");
        let unmeasured = ExplainedDifference { wall_ns: None, ..difference(1.0, false) };
        assert!(difference_sentence(&unmeasured, &tcp, &unix).contains("were not both measured"));
    }

    #[test]
    fn cells_are_divided_as_they_can_be() {
        assert_eq!(
            cell_sentence(&cell("unix", Pattern::Rr, 1.0)),
            "Unix takes 10.0 µs per round trip (9.90–10.1 µs): 7.00 µs (70 %) system time in the server, 2.00 µs (20 %) \
             user time in the client and 1.00 µs (10 %) waiting."
        );
        let stream = cell_sentence(&cell("pipe", Pattern::Stream, 1.0));
        assert!(
            stream.contains("the server limits it, busy for 97 % of the time (the client: 50 %)"),
            "{stream}"
        );
    }
}
