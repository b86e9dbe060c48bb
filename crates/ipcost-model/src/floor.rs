//! The parts of a cell's least cost: each is a cell of its own, measured in the same rounds.
//!
//! A floor is a lower bound, so it counts work that two processes may do at the same moment once: on one core, the
//! work of both sides adds up; otherwise only the costlier side's counts.

use serde::{Deserialize, Serialize};

use crate::capabilities::{Capabilities, Delivery, FloorKind, OptionGroup, TransportState};
use crate::cell::{Cell, Pattern, Placement, SpeaksFirst, Wait};
use crate::expand::PlannedCell;
use crate::job::NATIVE;
use crate::options::choices;
use crate::units::size_text;

/// The least that a `stream` server reads at once if the cell does not say; bytes.
const RECV_BUFFER_BYTES: u64 = 65_536;

/// The parts of a cell's floor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FloorRecipe {
    pub parts: Vec<FloorShare>,
    /// The same in words: `2 hand-overs + 4 copies of 64 B`.
    pub made_of: String,
}

/// A part and its count in one operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FloorShare {
    /// The cell that measures the part, as an index.
    pub cell: usize,
    /// How many of it are in one operation.
    pub count: f64,
}

/// A floor measured for the sake of other cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needed<'a> {
    /// Its name in the registry.
    pub transport: &'a str,
    /// Bytes, or 0 if it has no size.
    pub size: u64,
    /// Where the processes run.
    pub placement: Placement,
}

/// A part of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct HopPart {
    kind: FloorKind,
    /// Bytes, or 0 if it has no size.
    size: u64,
    count: f64,
}

/// The floors that cells need, in the order of the registry, each once.
pub(crate) fn needed<'a>(cells: &[PlannedCell], transports: &'a [TransportState]) -> Vec<Needed<'a>> {
    let mut wanted: Vec<(FloorKind, u64, Placement)> = Vec::new();
    for cell in cells {
        for part in parts(cell, transports).unwrap_or_default() {
            wanted.push((part.kind, part.size, cell.placement));
            if part.kind == FloorKind::HandOver {
                // Its receiver never sleeps, so it is not part of any floor; it is measured for comparison with a
                // hand-over.
                wanted.push((FloorKind::SpinningHandOver, 0, Placement::Apart));
            }
        }
    }
    wanted.sort_by_key(|(_, size, _)| *size);
    let mut needed: Vec<Needed<'a>> = Vec::new();
    for state in transports {
        let measures = |kind: FloorKind| state.capabilities.floor == Some(kind);
        for (_, size, placement) in wanted.iter().filter(|(kind, ..)| measures(*kind)) {
            let floor = Needed { transport: state.capabilities.name, size: *size, placement: *placement };
            if !needed.contains(&floor) {
                needed.push(floor);
            }
        }
    }
    needed
}

/// Gives every cell the parts of its floor; returns notes about cells without one.
pub(crate) fn assign(cells: &mut [PlannedCell], transports: &[TransportState]) -> Vec<String> {
    let mut without: Vec<(&str, Vec<String>)> = Vec::new();
    for index in 0..cells.len() {
        let cell = &cells[index];
        match parts(cell, transports) {
            Ok(parts) => cells[index].floor = recipe(&parts, cells, cell.placement, transports),
            Err(Without::Reason(reason)) => match without.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, ids)) => ids.push(cell.id.clone()),
                None => without.push((reason, vec![cell.id.clone()])),
            },
            Err(Without::Need) => {}
        }
    }
    let note = |(reason, ids): (&str, Vec<String>)| {
        let others = if ids.len() > 1 { format!(" (and {} more)", ids.len() - 1) } else { String::new() };
        format!("no floor is known for {}{others}: {reason}", ids[0])
    };
    without.into_iter().map(note).collect()
}

fn recipe(
    parts: &[HopPart],
    cells: &[PlannedCell],
    placement: Placement,
    transports: &[TransportState],
) -> Option<FloorRecipe> {
    let share = |part: &HopPart| {
        let measures = |cell: &PlannedCell| {
            let known = capabilities(&cell.cell, transports);
            known.and_then(|known| known.floor) == Some(part.kind)
                && cell.cell.size == part.size
                && cell.cell.options.is_empty()
                && cell.placement == placement
        };
        Some(FloorShare { cell: cells.iter().position(measures)?, count: part.count })
    };
    let shares: Option<Vec<FloorShare>> = parts.iter().map(share).collect();
    let made_of: Vec<String> = parts.iter().map(HopPart::words).collect();
    Some(FloorRecipe { parts: shares?, made_of: made_of.join(" + ") })
}

impl HopPart {
    fn words(&self) -> String {
        let one = self.count == 1.0;
        let what = match (self.kind, one) {
            (FloorKind::HandOver, true) => "hand-over",
            (FloorKind::HandOver, false) => "hand-overs",
            (FloorKind::SpinningHandOver, true) => "spinning hand-over",
            (FloorKind::SpinningHandOver, false) => "spinning hand-overs",
            (FloorKind::SystemCall, true) => "system call",
            (FloorKind::SystemCall, false) => "system calls",
            (FloorKind::Copy, true) => "copy",
            (FloorKind::Copy, false) => "copies",
        };
        let count = format!("{:.3}", self.count);
        let count = count.trim_end_matches('0').trim_end_matches('.');
        let of = if self.kind.has_size() { format!(" of {}", size_text(self.size)) } else { String::new() };
        format!("{count} {what}{of}")
    }
}

/// Why a cell has no floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Without {
    /// Not needed: the cell is a floor, or cannot be measured.
    Need,
    /// Not known, for this reason.
    Reason(&'static str),
}

fn capabilities(cell: &Cell, transports: &[TransportState]) -> Option<&'static Capabilities> {
    transports.iter().map(|state| state.capabilities).find(|known| known.name == cell.transport)
}

/// The parts of one operation of a cell.
fn parts(planned: &PlannedCell, transports: &[TransportState]) -> Result<Vec<HopPart>, Without> {
    let cell = &planned.cell;
    let known = capabilities(cell, transports).ok_or(Without::Need)?;
    if cell.pattern == Pattern::Floor || planned.unavailable.is_some() {
        return Err(Without::Need);
    }
    let native = planned.client == NATIVE && planned.server == NATIVE;
    let one_core = planned.placement == Placement::Together;
    match cell.pattern {
        _ if !known.carries_payload => Err(Without::Reason("nothing is moved")),
        _ if cell.concurrency > 1 => Err(Without::Reason("several workers at once overlap")),
        _ if cell.options.extra_work().is_some() => {
            Err(Without::Reason("with extra_work more is done than is counted"))
        }
        _ if cell.options.io() == Some(choices::Io::UringSqpoll) => {
            Err(Without::Reason("a thread of the kernel makes its calls"))
        }
        Pattern::Rr => of_rr(cell, known, planned.placement),
        Pattern::Stream | Pattern::Connect if !native => {
            Err(Without::Reason("how many system calls peers other than the built-in one make is not known"))
        }
        Pattern::Stream => of_stream(cell, known, planned.placement),
        Pattern::Connect => Ok(of_connect(cell, known, one_core)),
        Pattern::Floor => Err(Without::Need),
    }
}

fn part(kind: FloorKind, size: u64, count: f64) -> HopPart {
    HopPart { kind, size, count }
}

/// Whether the processes share memory, and need no call to move a message.
fn shares_memory(known: &Capabilities) -> bool {
    known.option_groups.contains(&OptionGroup::Waiting)
}

/// What a hand-over is at least: one to a process that sleeps, or to one that spins on another core.
fn hand_over(cell: &Cell, placement: Placement) -> Result<FloorKind, Without> {
    match (cell.wait(), placement) {
        (Wait::Block, _) | (Wait::Hybrid, Placement::Together) => Ok(FloorKind::HandOver),
        (Wait::Spin | Wait::Hybrid, Placement::Apart) => Ok(FloorKind::SpinningHandOver),
        (Wait::Spin, Placement::Together) | (Wait::Spin | Wait::Hybrid, Placement::Free) => {
            Err(Without::Reason(
                "what spins on a shared core hands over when the scheduler lets it; give --placement two-cores",
            ))
        }
    }
}

/// The request goes over, the reply comes back; each is copied in and out.
fn of_rr(cell: &Cell, known: &Capabilities, placement: Placement) -> Result<Vec<HopPart>, Without> {
    let kind = hand_over(cell, placement)?;
    let mut parts = vec![part(kind, 0, 2.0)];
    if kind == FloorKind::SpinningHandOver && !shares_memory(known) {
        // Each way takes a send and a receive, of which one may begin before and the other end after.
        parts.push(part(FloorKind::SystemCall, 0, 2.0));
    }
    let mut copies = copies_both_ways(cell.size, cell.reply);
    if cell.options.payload() == Some(choices::Payload::InPlace) {
        copies.iter_mut().for_each(|copies| copies.count /= 2.0);
    }
    parts.extend(copies);
    Ok(parts)
}

fn copies_both_ways(size: u64, reply: u64) -> Vec<HopPart> {
    let mut sizes: Vec<HopPart> = Vec::new();
    for bytes in [size, reply] {
        match sizes.iter_mut().find(|known| known.size == bytes) {
            Some(known) => known.count += 2.0,
            None => sizes.push(part(FloorKind::Copy, bytes, 2.0)),
        }
    }
    sizes
}

/// The client makes one call a message; the server one a buffer, or one a message if messages arrive whole. Each
/// copies every message once. Shared memory takes no calls; a slot goes over and comes back for every message.
fn of_stream(cell: &Cell, known: &Capabilities, placement: Placement) -> Result<Vec<HopPart>, Without> {
    let one_core = placement == Placement::Together;
    if shares_memory(known) {
        let is_ring = known.option_groups.contains(&OptionGroup::Ring);
        let both = if is_ring && (!one_core || cell.options.payload() == Some(choices::Payload::InPlace)) {
            1.0
        } else {
            2.0
        };
        let copies = part(FloorKind::Copy, cell.size, both);
        return Ok(if is_ring {
            vec![copies]
        } else {
            vec![part(hand_over(cell, placement)?, 0, 2.0), copies]
        });
    }
    let buffer = cell.options.recv_buffer().unwrap_or(cell.size.max(RECV_BUFFER_BYTES));
    let receives = match known.delivery {
        Delivery::Stream => cell.size as f64 / buffer as f64,
        Delivery::Message => 1.0,
    };
    let sends = 1.0;
    let (calls, copies) = if one_core { (sends + receives, 2.0) } else { (f64::max(sends, receives), 1.0) };
    Ok(vec![part(FloorKind::SystemCall, 0, calls), part(FloorKind::Copy, cell.size, copies)])
}

/// A round trip, and the system calls beyond it.
fn of_connect(cell: &Cell, known: &Capabilities, one_core: bool) -> Vec<HopPart> {
    let calls = Calls::of_connect(cell, known);
    // A hand-over wakes and waits: one call on each side. The client's two are a send (or a connect) and a receive,
    // and likewise the server's.
    let beyond = |calls: u32, of_hand_overs: u32| f64::from(calls.saturating_sub(of_hand_overs));
    let count = if one_core { beyond(calls.client + calls.server, 4) } else { beyond(calls.client, 2) };
    let copies = match cell.speaks_first {
        SpeaksFirst::Client => copies_both_ways(cell.size, cell.reply),
        SpeaksFirst::Server => vec![part(FloorKind::Copy, cell.reply, 2.0)],
    };
    let mut parts = vec![part(FloorKind::HandOver, 0, 2.0), part(FloorKind::SystemCall, 0, count)];
    parts.extend(copies);
    parts
}

/// The system calls of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Calls {
    pub client: u32,
    pub server: u32,
}

impl Calls {
    /// Those of the built-in peer's loop of `connect` (`ipcost-peer/src/connect.rs` and the transports that
    /// connect); a test counts them with strace.
    pub(crate) fn of_connect(cell: &Cell, known: &Capabilities) -> Self {
        let has = |group| u32::from(known.option_groups.contains(&group));
        let if_set = |bytes: Option<u64>| u32::from(bytes.is_some());
        let client_first = u32::from(cell.speaks_first == SpeaksFirst::Client);
        let (client_awaits_end, server_awaits_end) = match cell.options.closes_first() {
            Some(choices::ClosesFirst::Client) => (0, 1),
            Some(choices::ClosesFirst::Any) => (0, 0),
            _ => (1, 0),
        };
        // socket and connect; TCP_NODELAY; TCP_CONGESTION; IP_BIND_ADDRESS_NO_PORT and bind; the buffers.
        let open = 2
            + has(OptionGroup::Tcp) * u32::from(cell.options.sets_nodelay(cell.pattern))
            + u32::from(cell.options.tcp_congestion().is_some())
            + has(OptionGroup::SourceAddresses) * u32::from(cell.options.spread_sources() != Some(false)) * 2
            + if_set(cell.options.so_sndbuf())
            + if_set(cell.options.so_rcvbuf());
        Self {
            // The request, the reply, the end, close.
            client: open + client_first + 1 + client_awaits_end + 1,
            // accept, the request, the reply, the end, close.
            server: 1 + client_first + 1 + server_awaits_end + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::{Expanded, Offers, expand};
    use crate::job_file::parse_job;

    const UNIX: Capabilities = Capabilities {
        name: "unix",
        summary: "",
        connects: true,
        os: &[],
        option_groups: &[OptionGroup::Socket, OptionGroup::Calling, OptionGroup::Listener],
        in_default_suite: true,
        ..Capabilities::PLAIN
    };
    const TCP: Capabilities = Capabilities {
        name: "tcp",
        option_groups: &[OptionGroup::Listener, OptionGroup::Tcp, OptionGroup::SourceAddresses],
        ..UNIX
    };
    const NULL: Capabilities = Capabilities { name: "null", carries_payload: false, ..UNIX };
    const CALL: Capabilities = Capabilities { name: "call", floor: Some(FloorKind::SystemCall), ..NULL };
    const HAND: Capabilities = Capabilities { name: "hand", floor: Some(FloorKind::HandOver), ..UNIX };
    const SPIN: Capabilities =
        Capabilities { name: "spin", floor: Some(FloorKind::SpinningHandOver), ..UNIX };
    const COPY: Capabilities = Capabilities {
        name: "copy",
        floor: Some(FloorKind::Copy),
        option_groups: &[OptionGroup::Copying],
        ..UNIX
    };

    const RING: Capabilities =
        Capabilities { name: "ring", option_groups: &[OptionGroup::Waiting, OptionGroup::Ring], ..UNIX };
    const SLOT: Capabilities = Capabilities { name: "slot", option_groups: &[OptionGroup::Waiting], ..UNIX };

    fn expanded(text: &str) -> Result<Expanded, String> {
        let state = |capabilities| TransportState { capabilities, unavailable: None };
        let transports = [&UNIX, &TCP, &RING, &SLOT, &NULL, &CALL, &HAND, &SPIN, &COPY].map(state);
        let offers = Offers {
            transports: &transports,
            placements_unavailable: &[(Placement::Apart, "only one core".into())],
            peers: &[crate::PeerState { name: "c".into(), unavailable: None, wire: None }],
            lacks: Offers::LACKS_NOTHING,
        };
        expand(&parse_job(text).unwrap(), &offers).map_err(|error| error.to_string())
    }

    fn with_floor(cells: &str) -> Expanded {
        expanded(&format!("floor = true\n[[cells]]\n{cells}")).unwrap()
    }

    /// What the floor of the first cell is made of.
    #[track_caller]
    fn made_of(cells: &str) -> String {
        let expanded = with_floor(cells);
        let recipe = expanded.cells[0].floor.clone().expect("a floor");
        for share in &recipe.parts {
            let part = &expanded.cells[share.cell];
            assert_eq!((part.cell.pattern, part.placement), (Pattern::Floor, expanded.cells[0].placement));
        }
        recipe.made_of
    }

    #[test]
    fn a_round_trip_is_two_hand_overs_and_its_copies() {
        assert_eq!(made_of("transport = \"unix\""), "2 hand-overs + 4 copies of 64 B");
        assert_eq!(
            made_of("transport = \"unix\"\nsize = 64\nreply = \"1MiB\"\nplacement = \"together\""),
            "2 hand-overs + 2 copies of 64 B + 2 copies of 1 MiB"
        );
        assert_eq!(made_of("transport = \"unix\"\nserver = \"c\""), "2 hand-overs + 4 copies of 64 B");
    }

    #[test]
    fn a_stream_is_its_dearer_side_unless_both_share_a_core() {
        let stream = "transport = \"unix\"\npattern = \"stream\"\n";
        assert_eq!(made_of(stream), "1 system call + 1 copy of 64 B");
        let together = format!("{stream}size = 1024\nplacement = \"together\"");
        assert_eq!(made_of(&together), "1.016 system calls + 2 copies of 1 KiB");
        let small = format!("{stream}size = 1024\n[cells.options]\nrecv_buffer = 256");
        assert_eq!(made_of(&small), "4 system calls + 1 copy of 1 KiB");
    }

    #[test]
    fn a_connection_is_a_round_trip_and_the_calls_beyond_it() {
        let connect = "pattern = \"connect\"\n";
        // socket, connect, send, receive, end, close, and of the server accept, receive, send, close.
        let unix = format!("{connect}transport = \"unix\"\n");
        assert_eq!(made_of(&unix), "2 hand-overs + 4 system calls + 4 copies of 64 B");
        let together = format!("{unix}placement = \"together\"");
        assert_eq!(made_of(&together), "2 hand-overs + 6 system calls + 4 copies of 64 B");
        let tcp = format!("{connect}transport = \"tcp\"\n");
        assert_eq!(made_of(&tcp), "2 hand-overs + 7 system calls + 4 copies of 64 B");
        let plain = format!("{tcp}[cells.options]\ntcp_nodelay = false\nspread_sources = false");
        assert_eq!(made_of(&plain), "2 hand-overs + 4 system calls + 4 copies of 64 B");
        let first = format!("{unix}speaks_first = \"server\"");
        assert_eq!(made_of(&first), "2 hand-overs + 3 system calls + 2 copies of 64 B");
        let closes = format!("{unix}[cells.options]\ncloses_first = \"client\"\nso_sndbuf = 4096");
        assert_eq!(made_of(&closes), "2 hand-overs + 4 system calls + 4 copies of 64 B");
        let any = format!("{unix}[cells.options]\ncloses_first = \"any\"");
        assert_eq!(made_of(&any), "2 hand-overs + 3 system calls + 4 copies of 64 B");
        let any = format!("{together}\n[cells.options]\ncloses_first = \"any\"");
        assert_eq!(made_of(&any), "2 hand-overs + 5 system calls + 4 copies of 64 B");
    }

    #[test]
    fn shared_memory_takes_no_calls_and_what_spins_is_not_woken() {
        let ring = "transport = \"ring\"\npattern = \"stream\"\n";
        assert_eq!(made_of(ring), "1 copy of 64 B");
        assert_eq!(made_of(&format!("{ring}placement = \"together\"")), "2 copies of 64 B");
        let slot = "transport = \"slot\"\npattern = \"stream\"\n";
        assert_eq!(made_of(slot), "2 hand-overs + 2 copies of 64 B");
        assert_eq!(made_of("transport = \"ring\""), "2 hand-overs + 4 copies of 64 B");
        let spinning = |cell: &str| {
            let job = format!("floor = true\n[[cells]]\n{cell}");
            let state = |capabilities| TransportState { capabilities, unavailable: None };
            let transports = [&UNIX, &RING, &CALL, &SPIN, &COPY].map(state);
            let offers = Offers {
                transports: &transports,
                placements_unavailable: &[],
                peers: &[],
                lacks: Offers::LACKS_NOTHING,
            };
            let expanded = expand(&parse_job(&job).unwrap(), &offers).unwrap();
            expanded.cells[0].floor.clone().map_or_else(|| expanded.notes[0].clone(), |floor| floor.made_of)
        };
        let spins = "[cells.options]\nwait = \"spin\"";
        let apart = "transport = \"ring\"\nplacement = \"apart\"\n";
        assert_eq!(spinning(&format!("{apart}{spins}")), "2 spinning hand-overs + 4 copies of 64 B");
        let in_place = format!("{apart}{spins}\npayload = \"in-place\"");
        assert_eq!(spinning(&in_place), "2 spinning hand-overs + 2 copies of 64 B");
        assert!(spinning(&format!("transport = \"ring\"\n{spins}")).contains("--placement two-cores"));
        let socket = "transport = \"unix\"\nplacement = \"apart\"\n[cells.options]\nio = \"spin\"";
        let spinning_socket = "2 spinning hand-overs + 2 system calls + 4 copies of 64 B";
        assert_eq!(spinning(socket), spinning_socket);
    }

    #[test]
    fn what_has_no_floor_is_told_why() {
        for (cells, why) in [
            ("transport = \"unix\"\nconcurrency = 8", "several workers"),
            ("transport = \"null\"", "nothing is moved"),
            ("transport = \"unix\"\n[cells.options]\nextra_work = 50", "more is done than is counted"),
            ("transport = \"unix\"\npattern = \"stream\"\nclient = \"c\"", "is not known"),
        ] {
            let expanded = with_floor(cells);
            assert_eq!((expanded.cells[0].floor.as_ref(), expanded.cells.len()), (None, 1), "{cells}");
            assert!(expanded.notes[0].contains(why), "{:?}", expanded.notes);
        }
    }

    #[test]
    fn floors_are_measured_once_and_come_last_without_a_baseline() {
        let text = "[[cells]]\ntransport = \"hand\"\npattern = \"floor\"\n\
            [[cells]]\ntransport = [\"unix\", \"tcp\"]\nsize = [64, 1024]\npattern = [\"rr\", \"stream\"]\n";
        let expanded = expanded(&format!("floor = true\n{text}")).unwrap();
        let ids: Vec<&str> = expanded.cells.iter().map(|cell| cell.id.as_str()).collect();
        assert_eq!(ids[0], "floor/hand/c1");
        let added = ["floor/call/c1", "floor/spin/c1/apart", "floor/copy/64/c1", "floor/copy/1024/c1"];
        assert_eq!(ids[9..], added);
        let tables: Vec<(Pattern, usize, bool)> = expanded
            .workloads
            .iter()
            .map(|table| (table.pattern, table.cells.len(), table.baseline.is_some()))
            .collect();
        let floors = [(Pattern::Floor, 4, false), (Pattern::Floor, 1, false)];
        assert_eq!(tables[4..], floors, "{tables:?}");
        assert!(tables[..4].iter().all(|(_, cells, baseline)| *cells == 2 && *baseline));
        assert_eq!(expanded.cells[10].unavailable.as_deref(), Some("only one core"));
    }

    #[test]
    fn mistakes_with_floors_are_told_in_one_line() {
        for (cells, part) in [
            ("transport = \"hand\"", "moves no messages"),
            ("transport = \"unix\"\npattern = \"floor\"", "known: call, hand, spin, copy"),
            ("transport = \"hand\"\npattern = \"floor\"\nconcurrency = 2", "take concurrency out"),
            ("transport = \"copy\"\npattern = \"floor\"\nsize = 0", "a size of 0 bytes"),
            (
                "transport = \"copy\"\npattern = \"floor\"\n[cells.options]\nworking_set = 8",
                "does not hold a size of 64 B",
            ),
            ("transport = \"hand\"\npattern = \"floor\"\n[cells.options]\ncopies = 2", "acts on none"),
        ] {
            let error = expanded(&format!("[[cells]]\n{cells}")).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        }
        let error = expanded("baseline = \"hand\"\n[[cells]]\ntransport = \"hand\"\npattern = \"floor\"");
        assert!(error.unwrap_err().contains("floors are not compared"));
    }
}
