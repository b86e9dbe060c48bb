//! From a job to its cells: lists multiplied, names checked, workloads formed.

use std::iter;
use std::time::Duration;

use derive_more::{Deref, DerefMut};
use serde::{Deserialize, Serialize};

use crate::arms::{ArmName, Arms};
use crate::capabilities::{Capabilities, Delivery, FloorKind, OptionGroup, PeerState, TransportState};
use crate::cell::{Cell, PIPELINE, Pattern, Placement, Point, SpeaksFirst, Work, arm_part};
use crate::consistency::MAX_NAME_BYTES;
use crate::error::ModelError;
use crate::floor::{self, FloorRecipe};
use crate::job::{Job, Matrix, NATIVE, check_peer_name};
use crate::options::choices;
use crate::options::{OptionKind, OptionName, OptionSpec, OptionValue, Options};
use crate::pace;
use crate::suggest::unknown;
use crate::units::{MAX_SIZE_BYTES, size_text};
use crate::workload::{Workload, workloads};

/// The most workers a client may have.
pub const MAX_CONCURRENCY: u32 = 100_000;
/// The longest lead-in that a cell may have.
const LONGEST_LEAD_IN: Duration = Duration::from_secs(60);
/// The most cells that the lists of a job may multiply to: more would take hours, and are most likely a typo.
const MOST_COMBINATIONS: usize = 20_000;

/// What the machine at hand offers to cells.
#[derive(Debug, Clone)]
pub struct Offers<'a> {
    /// The registry of transports.
    pub transports: &'a [TransportState],
    /// Why a placement is unavailable here; absent if it is available.
    pub placements_unavailable: &'a [(Placement, String)],
    /// The bundled peers, except the built-in one.
    pub peers: &'a [PeerState],
    /// Why this machine cannot meet what a cell asks of its transport; `None` if it can.
    pub lacks: fn(&Cell) -> Option<String>,
}

impl Offers<'_> {
    /// A machine that meets whatever cells ask of their transports.
    pub const LACKS_NOTHING: fn(&Cell) -> Option<String> = |_| None;
}

/// A cell with everything a run needs to know about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Deref, DerefMut)]
pub struct PlannedCell {
    /// The identity that is stable between runs.
    pub id: String,
    /// The row's name in tables.
    pub label: String,
    /// The point of the matrix.
    #[deref]
    #[deref_mut]
    #[serde(flatten)]
    pub point: Point,
    /// The row without its arm, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Why it cannot be measured here; `None` if it can.
    pub unavailable: Option<String>,
    /// How long its lead-ins last, if the job says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_in: Option<Duration>,
    /// How long its batches last, where that is not the plan's length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Duration>,
    /// How many operations its batches have, if that is given and not found by calibration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    /// The parts of its floor, if floors are requested and this one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorRecipe>,
}

impl PlannedCell {
    /// Whether its one batch of an epoch is the first thing its processes and connections do: its job sets the
    /// lead-in to 0.
    pub fn starts_cold(&self) -> bool {
        self.lead_in.is_some_and(|lead_in| lead_in.is_zero())
    }
}

/// The cells of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expanded {
    /// Every cell, without duplicates.
    pub cells: Vec<PlannedCell>,
    /// The tables they form, in the order of the job.
    pub workloads: Vec<Workload>,
    /// What the user should know before the run.
    pub notes: Vec<String>,
}

/// Multiplies the lists of a job into cells and groups them into workloads.
pub fn expand(job: &Job, offers: &Offers<'_>) -> Result<Expanded, ModelError> {
    if job.cells.is_empty() {
        return Err(ModelError::Invalid(
            "the job has no cells; add a [[cells]] table with at least transport = \"…\"",
        ));
    }
    for (name, peer) in &job.peers {
        check_peer_name(name)?;
        if peer.command.first().is_none_or(String::is_empty) {
            return Err(ModelError::EmptyCommand(format!("peer \"{name}\"")));
        }
    }
    check_size(&job.cells)?;
    let mut expansion = Expansion { job, offers, cells: Vec::new(), dropped: Vec::new() };
    for matrix in &job.cells {
        expansion.matrix(matrix)?;
    }
    if job.floor {
        expansion.floors()?;
    }
    let Expansion { mut cells, dropped, .. } = expansion;
    distinguish_labels(&mut cells)?;
    if let Some(arms) = &job.ab {
        cells = in_both_arms(cells, job, arms)?;
    }
    let mut notes = dropped;
    let workloads = workloads(&cells, job.baseline.as_deref(), &mut notes)?;
    Ok(Expanded { cells, workloads, notes })
}

/// Lists multiply: ten short ones can exceed any machine.
fn check_size(matrices: &[Matrix]) -> Result<(), ModelError> {
    let all = matrices.iter().map(Matrix::combinations).fold(0_usize, usize::saturating_add);
    if all > MOST_COMBINATIONS {
        let all = if all == usize::MAX { "too many to count".to_owned() } else { all.to_string() };
        return Err(format!(
            "the lists of the job multiply to {all} cells; at most {MOST_COMBINATIONS} can be listed, so make several jobs of it"
        )
        .into());
    }
    Ok(())
}

struct Expansion<'a> {
    job: &'a Job,
    offers: &'a Offers<'a>,
    cells: Vec<PlannedCell>,
    dropped: Vec<String>,
}

impl Expansion<'_> {
    fn matrix(&mut self, matrix: &Matrix) -> Result<(), ModelError> {
        if matrix.transport.0.is_empty() {
            return Err(ModelError::Invalid(
                "a [[cells]] table names no transport; add transport = [\"unix\", \"tcp\"]",
            ));
        }
        self.note_options_without_effect(matrix)?;
        for work in matrix.works() {
            self.rows(matrix, &work)?;
        }
        Ok(())
    }

    /// Adds the floors that the cells need, and gives each cell the parts of its own.
    fn floors(&mut self) -> Result<(), ModelError> {
        for floor::Needed { transport, size, placement } in floor::needed(&self.cells, self.offers.transports)
        {
            let work = Work { placement, ..Work::new(Pattern::Floor, size) };
            let cell = self.cell(&work, transport, NATIVE, NATIVE, Options::default(), None)?;
            if !self.cells.iter().any(|known| known.cell == cell.cell && known.placement == placement) {
                self.cells.push(cell);
            }
        }
        self.dropped.extend(floor::assign(&mut self.cells, self.offers.transports));
        Ok(())
    }

    /// The cells of one workload: transports, peers and options multiply.
    fn rows(&mut self, matrix: &Matrix, work: &Work) -> Result<(), ModelError> {
        if let Some(lead_in) = matrix.lead_in.filter(|lead_in| *lead_in > LONGEST_LEAD_IN) {
            return Err(format!("a lead_in of {lead_in:?} is too long; give at most 1min").into());
        }
        for transport in &matrix.transport.0 {
            for (client, server) in self.pairs(matrix)? {
                for options in self.option_sets(matrix, transport, work.pattern)? {
                    let cell =
                        self.cell(work, transport, client, server, options, matrix.label.as_deref())?;
                    let cell = PlannedCell { lead_in: matrix.lead_in, batch: matrix.batch, ..cell };
                    if !self.cells.iter().any(|known| known.same_as(&cell)) {
                        self.cells.push(cell);
                    }
                }
            }
        }
        Ok(())
    }

    /// The pairs of client and server that understand each other. The partner of a peer with its own wire format, unless
    /// named, is the peer itself.
    fn pairs<'m>(&mut self, matrix: &'m Matrix) -> Result<Vec<(&'m str, &'m str)>, ModelError> {
        let wire = |name: &str| {
            let built_in = self.offers.peers.iter().find(|state| state.name == name);
            built_in.filter(|_| !self.job.peers.contains_key(name)).and_then(|state| state.wire)
        };
        let (clients, servers) = (&matrix.client.0, &matrix.server.0);
        let partner = |name: &'m String| if wire(name).is_some() { name } else { NATIVE };
        if clients.is_empty() && servers.is_empty() {
            return Ok(vec![(NATIVE, NATIVE)]);
        }
        if servers.is_empty() {
            return Ok(clients.iter().map(|client| (client.as_str(), partner(client))).collect());
        }
        if clients.is_empty() {
            return Ok(servers.iter().map(|server| (partner(server), server.as_str())).collect());
        }
        let all = clients.iter().flat_map(|client| servers.iter().map(move |server| (client, server)));
        let all = all.map(|(client, server)| (client.as_str(), server.as_str()));
        let (pairs, strangers): (Vec<_>, Vec<_>) =
            all.partition(|(client, server)| wire(client) == wire(server));
        let Some((client, server)) = strangers.first() else { return Ok(pairs) };
        let own = if wire(client).is_some() { client } else { server };
        if pairs.is_empty() {
            return Err(format!(
                "client {client} and server {server} do not understand each other: {own} has its own wire format; \
                 give {own} for both"
            )
            .into());
        }
        let (count, pair) = (strangers.len(), if strangers.len() == 1 { "pair" } else { "pairs" });
        let note = format!(
            "left out {count} {pair} of peers with different wire formats, such as {client}→{server}"
        );
        if !self.dropped.contains(&note) {
            self.dropped.push(note);
        }
        Ok(pairs)
    }

    fn cell(
        &self,
        work: &Work,
        transport: &str,
        client: &str,
        server: &str,
        options: Options,
        label: Option<&str>,
    ) -> Result<PlannedCell, ModelError> {
        let state = self.transport(transport)?;
        self.check_pattern(state.capabilities, work.pattern)?;
        let work = settled(work, state.capabilities);
        self.check_request(&work, client, server)?;
        check_sizes(&work, state.capabilities)?;
        check_options(&work, state.capabilities, &options)?;
        let placement = work.placement;
        let placement_reason =
            self.offers.placements_unavailable.iter().find(|(unavailable, _)| *unavailable == placement);
        let reasons = [
            state.unavailable.clone(),
            placement_reason.map(|(_, reason)| reason.clone()),
            self.why_not_peer(client)?,
            self.why_not_peer(server)?,
        ];
        let cell = work.over(transport, options);
        let reasons = reasons.into_iter().chain([pace::fits(&cell, placement)?]);
        let unavailable = reasons.flatten().next().or_else(|| (self.offers.lacks)(&cell));
        let point =
            Point { cell, placement, client: client.to_owned(), server: server.to_owned(), arm: None };
        Ok(PlannedCell {
            id: point.id(),
            label: label.map_or_else(|| row_name(&point), str::to_owned),
            point,
            row: None,
            unavailable,
            lead_in: None,
            batch: None,
            ops: None,
            floor: None,
        })
    }

    /// Whether a transport does a pattern.
    fn check_pattern(&self, transport: &Capabilities, pattern: Pattern) -> Result<(), ModelError> {
        let name = transport.name;
        if !transport.does(pattern) && (pattern == Pattern::Floor || transport.floor.is_some()) {
            return Err(self.no_such_floor(name, pattern).into());
        }
        if pattern == Pattern::Connect && !transport.connects {
            let connecting = self.offers.transports.iter().filter(|state| state.capabilities.connects);
            let connecting: Vec<_> = connecting.map(|state| state.capabilities.name).collect();
            return Err(format!(
                "{name} does not connect, so there is no pattern connect over it; take it out, or use {}",
                connecting.join(", ")
            )
            .into());
        }
        if let Some(reason) = transport.no_stream.filter(|_| pattern == Pattern::Stream) {
            return Err(format!(
                "there is no pattern stream over {name}: {reason}; take it out, or give --patterns rr"
            )
            .into());
        }
        Ok(())
    }

    /// A request is the text that a real server is asked: it has no other size, and needs peers that know such servers.
    fn check_request(&self, work: &Work, client: &str, server: &str) -> Result<(), ModelError> {
        let Some(request) = &work.request else { return Ok(()) };
        let name = [client, server].into_iter().find(|name| !self.job.peers.contains_key(*name));
        let reason = match (work.pattern, name) {
            _ if request.is_empty() => "a request is empty; write what the server is asked".to_owned(),
            (Pattern::Stream | Pattern::Floor, _) => {
                format!(
                    "request \"{request}\" asks for a reply, so pattern {} cannot send it; give --patterns rr,connect",
                    work.pattern
                )
            }
            _ if work.size != 0 || work.reply != 0 => {
                format!("request \"{request}\" has a size of its own; leave --sizes and --replies out")
            }
            (_, Some(name)) => format!(
                "peer {name} does not take requests such as \"{request}\"; leave them out, or give a peer of your own that does"
            ),
            _ => return Ok(()),
        };
        Err(reason.into())
    }

    /// Why a floor has no other pattern, and other transports do not have this one.
    fn no_such_floor(&self, transport: &str, pattern: Pattern) -> String {
        if pattern != Pattern::Floor {
            return format!(
                "{transport} is a floor and moves no messages, so there is no pattern {pattern} over it; measure it with pattern floor, or take it out"
            );
        }
        let floors = self.offers.transports.iter().filter(|state| state.capabilities.floor.is_some());
        let names: Vec<_> = floors.map(|state| state.capabilities.name).collect();
        format!(
            "there is no floor {transport} (known: {}); to see the cost over {transport} as a multiple of its floor, set floor (--floor)",
            names.join(", ")
        )
    }

    fn transport(&self, name: &str) -> Result<&TransportState, ModelError> {
        self.offers.transports.iter().find(|state| state.capabilities.name == name).ok_or_else(|| {
            let known = self.offers.transports.iter().map(|state| state.capabilities.name);
            ModelError::unknown("transport", name, known)
        })
    }

    /// Why a peer cannot be used here; `None` if it can. The user's own take precedence over the bundled ones.
    fn why_not_peer(&self, name: &str) -> Result<Option<String>, ModelError> {
        if name == NATIVE || self.job.peers.contains_key(name) {
            return Ok(None);
        }
        let peers = self.offers.peers;
        if let Some(state) = peers.iter().find(|state| state.name == name) {
            return Ok(state.unavailable.as_ref().map(|reason| format!("peer {name}: {reason}")));
        }
        let brought = peers.iter().map(|state| state.name.as_str());
        let brought = brought.filter(|name| !self.job.peers.contains_key(*name));
        let known = iter::once(NATIVE).chain(brought).chain(self.job.peers.keys().map(String::as_str));
        let unknown = unknown("peer", name, known);
        Err(format!("{unknown}; declare one with --peer NAME=COMMAND or [peers.NAME]").into())
    }

    /// Every combination of the option values that act on this transport and pattern.
    fn option_sets(
        &self,
        matrix: &Matrix,
        transport: &str,
        pattern: Pattern,
    ) -> Result<Vec<Options>, ModelError> {
        let state = self.transport(transport)?;
        let mut sets = vec![Options::default()];
        for (name, values) in &matrix.options.0 {
            if !name.spec().acts_on(state.capabilities, pattern) {
                continue;
            }
            sets =
                sets.iter().flat_map(|set| values.iter().map(move |value| with(set, *name, value))).collect();
        }
        Ok(sets)
    }

    /// An option that acts on no cell of its matrix is an error; on only some, a note: none is ignored silently.
    fn note_options_without_effect(&mut self, matrix: &Matrix) -> Result<(), ModelError> {
        let patterns = matrix.pattern.or(Pattern::Rr);
        for name in matrix.options.0.keys() {
            let mut idle = Vec::new();
            let mut acting = 0;
            for transport in &matrix.transport.0 {
                let state = self.transport(transport)?;
                for pattern in &patterns {
                    if name.spec().acts_on(state.capabilities, *pattern) {
                        acting += 1;
                    } else {
                        idle.push(format!("{pattern} over {transport}"));
                    }
                }
            }
            if acting == 0 {
                return Err(format!(
                    "option {name} acts on none of the cells ({}); take it out",
                    idle.join(", ")
                )
                .into());
            }
            if !idle.is_empty() {
                self.dropped.push(format!(
                    "option {name} does not act on {}; those cells are measured without it",
                    idle.join(", ")
                ));
            }
        }
        Ok(())
    }
}

impl PlannedCell {
    /// The processes and threads of both peers: a main one, plus one for each worker if there are several.
    pub fn tasks(&self) -> u64 {
        let workers = u64::from(self.cell.concurrency);
        2 * if workers > 1 { workers + 1 } else { 1 }
    }

    fn same_as(&self, other: &Self) -> bool {
        self.id == other.id && self.label == other.label
    }
}

fn with(set: &Options, name: OptionName, value: &OptionValue) -> Options {
    let mut set = set.clone();
    set.insert(name, value.clone());
    set
}

/// The name of a row: the transport, and what is unusual about the cell.
fn row_name(cell: &Point) -> String {
    let Point { client, server, .. } = cell;
    let mut name = cell.transport.clone();
    if cell.pattern == Pattern::Floor && cell.size > 0 {
        name.push_str(&format!(" {}", size_text(cell.size)));
    }
    // Requests name a server by themselves, and the table tells both requests and pipelines.
    if cell.request.is_none() && (client != NATIVE || server != NATIVE) {
        name.push_str(&format!(" {client}→{server}"));
    }
    for word in option_words(&cell.transport, &cell.options) {
        name.push_str(&format!(" {word}"));
    }
    name
}

/// What the options of a cell add to the name of its row, a word each: `nodelay`, `writev`, `recv_buffer=64KiB`.
pub fn option_words<'a>(transport: &'a str, options: &'a Options) -> impl Iterator<Item = String> + 'a {
    let in_title = |option: &OptionSpec| option.name == PIPELINE || option.group == OptionGroup::Pace;
    options.iter().filter(move |(option, _)| !in_title(option.spec())).map(move |(option, value)| match value
    {
        // A switch that is on goes by its name, and `tcp tcp_nodelay` says nothing more than `tcp nodelay`.
        OptionValue::Bool(true) => {
            let option = option.spec().name;
            let prefix = format!("{}_", transport.trim_end_matches('6'));
            option.strip_prefix(&prefix).unwrap_or(option).to_owned()
        }
        // A name says by itself what it is.
        value if matches!(option.spec().kind, OptionKind::Name(_)) => value.to_string(),
        value => format!("{option}={}", option.spec().shown(value)),
    })
}

/// Each cell once an arm, A before B.
fn in_both_arms(cells: Vec<PlannedCell>, job: &Job, arms: &Arms) -> Result<Vec<PlannedCell>, ModelError> {
    arms.check()?;
    if job.floor || cells.iter().any(|cell| cell.cell.pattern == Pattern::Floor) {
        return Err(ModelError::Invalid("floors are not compared in two arms; take them out"));
    }
    let used = |name: &str| cells.iter().any(|cell| cell.client == name || cell.server == name);
    let peers = [&arms.a, &arms.b].into_iter().flat_map(|arm| arm.peers.keys());
    if let Some(name) = peers.into_iter().find(|name| !used(name)) {
        return Err(format!("no cell has the peer {name}, so another command for it changes nothing").into());
    }
    let in_arm = |cell: &PlannedCell, arm: ArmName| {
        let mut cell = PlannedCell {
            id: cell.id.clone() + &arm_part(arm),
            label: format!("{} {}", cell.label, arm.title()),
            row: Some(cell.label.clone()),
            ..cell.clone()
        };
        cell.point.arm = Some(arm);
        cell
    };
    Ok(cells.iter().flat_map(|cell| ArmName::ALL.iter().map(move |arm| in_arm(cell, *arm))).collect())
}

/// Makes the job's label, if any, the id; where several cells share it, adds what distinguishes them.
fn distinguish_labels(cells: &mut [PlannedCell]) -> Result<(), ModelError> {
    let labels: Vec<Option<String>> =
        cells.iter().map(|cell| (cell.label != row_name(cell)).then(|| cell.label.clone())).collect();
    let shared = |label: &str| labels.iter().flatten().filter(|other| *other == label).count() > 1;
    for (cell, label) in cells.iter_mut().zip(&labels) {
        if let Some(label) = label {
            cell.id = if shared(label) { format!("{label}/{}", cell.id) } else { label.clone() };
        }
    }
    for (index, cell) in cells.iter().enumerate() {
        if cell.id.len().max(cell.label.len()) > MAX_NAME_BYTES {
            let begin: String = cell.id.chars().take(40).collect();
            return Err(format!("the label \"{begin}…\" is too long; at most {MAX_NAME_BYTES} bytes").into());
        }
        if let Some(twin) = cells[..index].iter().find(|twin| twin.id == cell.id) {
            return Err(
                format!("two cells have the id \"{}\"; give one of them another label", twin.id).into()
            );
        }
    }
    Ok(())
}

/// The work without what its pattern and its transport leave out.
fn settled(work: &Work, transport: &Capabilities) -> Work {
    let mut work = work.clone();
    if work.pattern != Pattern::Connect {
        work.speaks_first = SpeaksFirst::Client;
    }
    if work.speaks_first == SpeaksFirst::Server {
        // Nothing goes out, so one number describes the cell.
        work.size = work.reply;
    }
    if matches!(work.pattern, Pattern::Stream | Pattern::Floor) {
        work.reply = 0;
    }
    if !transport.floor.is_none_or(FloorKind::has_size) {
        work.size = 0;
    }
    work
}

fn check_sizes(work: &Work, transport: &Capabilities) -> Result<(), ModelError> {
    let (concurrency, asks) = (work.concurrency, work.request.is_some());
    let has_size = transport.floor.is_none_or(FloorKind::has_size);
    let has_reply = work.reply > 0 || !matches!(work.pattern, Pattern::Stream | Pattern::Floor);
    for (what, there, bytes) in [("size", has_size, work.size), ("reply", has_reply, work.reply)] {
        if there && !asks && bytes == 0 {
            return Err(format!("a {what} of 0 bytes measures nothing; the least is 1").into());
        }
        if bytes > MAX_SIZE_BYTES {
            return Err(format!(
                "a {what} of {} does not fit; the most over {} is {}",
                size_text(bytes),
                transport.name,
                size_text(MAX_SIZE_BYTES)
            )
            .into());
        }
    }
    if work.pattern == Pattern::Floor && concurrency != 1 {
        return Err(format!("a floor has one worker, not {concurrency}; take concurrency out").into());
    }
    if concurrency == 0 || concurrency > MAX_CONCURRENCY {
        return Err(format!(
            "a concurrency of {concurrency} is out of range; give one from 1 to {MAX_CONCURRENCY}"
        )
        .into());
    }
    Ok(())
}

/// Whether options fit the work and one another.
fn check_options(work: &Work, transport: &Capabilities, options: &Options) -> Result<(), ModelError> {
    let has_newline = options.framing() == Some(choices::Framing::Newline);
    if let Some(working_set) = options.working_set().filter(|bytes| *bytes < work.size) {
        return Err(format!(
            "a working_set of {} does not hold a size of {}; give as much, or more",
            size_text(working_set),
            size_text(work.size)
        )
        .into());
    }
    if options.server_buffer().is_some() && !has_newline {
        return Err(ModelError::Invalid(
            "option server_buffer needs framing=newline; with framing=length the server knows what to read",
        ));
    }
    if options.send_offset().is_some() && options.pipe_send() == Some(choices::PipeSend::Splice) {
        return Err(ModelError::Invalid(
            "option send_offset places a buffer, and pipe_send=splice sends from a file; take one of them out",
        ));
    }
    if transport.delivery == Delivery::Message {
        let message = work.size + u64::from(has_newline);
        let buffers = [("recv_buffer", options.recv_buffer()), ("server_buffer", options.server_buffer())];
        for (name, buffer) in buffers {
            if let Some(buffer) = buffer.filter(|bytes| *bytes < message) {
                return Err(format!(
                    "a {name} of {} cuts messages of {}: over {} what a reader's buffer does not hold is lost; give as much, or more",
                    size_text(buffer),
                    size_text(message),
                    transport.name
                )
                .into());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::{Capabilities, OptionGroup};
    use crate::job_file::parse_job;

    const SOCKET: Capabilities = Capabilities {
        name: "unix",
        summary: "",
        connects: true,
        os: &["linux"],
        option_groups: &[OptionGroup::Socket, OptionGroup::Listener],
        in_default_suite: true,
        ..Capabilities::PLAIN
    };
    const TCP: Capabilities = Capabilities {
        name: "tcp",
        option_groups: &[OptionGroup::Socket, OptionGroup::Listener, OptionGroup::Tcp],
        ..SOCKET
    };
    const PIPE: Capabilities = Capabilities {
        name: "pipe",
        connects: false,
        both_ways: false,
        option_groups: &[OptionGroup::PipeBuffer],
        ..SOCKET
    };

    const UDP: Capabilities = Capabilities { name: "udp", no_stream: Some("it may be lost"), ..PIPE };

    fn expanded(text: &str) -> Result<Expanded, String> {
        let state = |capabilities| TransportState { capabilities, unavailable: None };
        let transports = [state(&SOCKET), state(&TCP), state(&PIPE), state(&UDP)];
        let offers = Offers {
            transports: &transports,
            placements_unavailable: &[(Placement::Apart, "only one core".into())],
            peers: &[
                PeerState { name: "c".into(), unavailable: None, wire: None },
                PeerState {
                    name: "ruby".into(),
                    unavailable: Some("ruby is not installed".into()),
                    wire: None,
                },
                PeerState { name: "bus".into(), unavailable: None, wire: Some("bus") },
            ],
            lacks: Offers::LACKS_NOTHING,
        };
        expand(&parse_job(text).expect("a job that parses"), &offers).map_err(|error| error.to_string())
    }

    fn ids(text: &str) -> Vec<String> {
        expanded(text).unwrap().cells.into_iter().map(|cell| cell.id).collect()
    }

    #[track_caller]
    fn refused(text: &str, part: &str) {
        let error = expanded(text).unwrap_err();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }

    #[test]
    fn lists_multiply_and_tables_form_by_work() {
        let text = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\nsize = [64, 4096]";
        assert_eq!(ids(text), ["rr/unix/64/c1", "rr/tcp/64/c1", "rr/unix/4096/c1", "rr/tcp/4096/c1"]);
        let workloads = expanded(text).unwrap().workloads;
        assert_eq!(workloads.len(), 2);
        assert_eq!((workloads[0].cells.as_slice(), workloads[0].baseline), ([0, 1].as_slice(), Some(1)));
    }

    #[test]
    fn equal_cells_are_measured_once() {
        let text = "[[cells]]\npattern = \"stream\"\ntransport = \"unix\"\nreply = [1, 2]";
        assert_eq!(ids(text), ["stream/unix/64/c1"]);
    }

    #[test]
    fn peers_with_their_own_wire_format_talk_to_themselves() {
        let labels = |text: &str| -> Vec<String> {
            let cells = expanded(&format!("[[cells]]\ntransport = \"unix\"\n{text}")).unwrap().cells;
            cells.iter().map(|cell| format!("{}→{}", cell.client, cell.server)).collect()
        };
        assert_eq!(labels("client = [\"c\", \"bus\"]"), ["c→native", "bus→bus"]);
        assert_eq!(labels("server = [\"c\", \"bus\"]"), ["native→c", "bus→bus"]);
        let both = "client = [\"native\", \"bus\"]\nserver = [\"native\", \"bus\"]";
        assert_eq!(labels(both), ["native→native", "bus→bus"]);
        let notes = expanded(&format!("[[cells]]\ntransport = \"unix\"\n{both}")).unwrap().notes;
        assert!(notes[0].starts_with("left out 2 pairs of peers"), "{notes:?}");
        // One of the user's own under that name speaks what it speaks.
        let own = "client = \"bus\"\nserver = \"native\"\n[peers.bus]\ncommand = [\"x\"]";
        assert_eq!(labels(own), ["bus→native"]);
        refused(
            "[[cells]]\ntransport = \"unix\"\nclient = \"bus\"\nserver = \"native\"",
            "give bus for both",
        );
    }

    #[test]
    fn a_label_is_the_id_and_shared_labels_are_told_apart() {
        let text = "[[cells]]\nlabel = \"mine\"\ntransport = \"unix\"";
        assert_eq!(ids(text), ["mine"]);
        let text = "[[cells]]\nlabel = \"mine\"\ntransport = \"unix\"\nsize = [1, 2]";
        assert_eq!(ids(text), ["mine/rr/unix/1/c1", "mine/rr/unix/2/c1"]);
    }

    #[test]
    fn options_act_where_they_can_and_are_never_ignored_in_silence() {
        let text = "[[cells]]\ntransport = [\"unix\", \"tcp\"]\n[cells.options]\ntcp_nodelay = [true, false]";
        let expanded = expanded(text).unwrap();
        let ids: Vec<_> = expanded.cells.iter().map(|cell| cell.id.as_str()).collect();
        assert_eq!(ids, ["rr/unix/64/c1", "rr/tcp/64/c1/tcp_nodelay=true", "rr/tcp/64/c1/tcp_nodelay=false"]);
        assert!(
            expanded.notes[0].contains("tcp_nodelay does not act on rr over unix"),
            "{:?}",
            expanded.notes
        );
        refused(
            "[[cells]]\ntransport = \"unix\"\n[cells.options]\ntcp_nodelay = true",
            "acts on none of the cells",
        );
    }

    #[test]
    fn the_baseline_is_a_label_before_it_is_a_transport() {
        let cells = "[[cells]]\ntransport = \"tcp\"\n[[cells]]\nlabel = \"mine\"\ntransport = \"unix\"";
        let baseline =
            |name: &str| expanded(&format!("baseline = \"{name}\"\n{cells}")).unwrap().workloads[0].baseline;
        assert_eq!((baseline("tcp"), baseline("unix"), baseline("mine")), (Some(0), Some(1), Some(1)));
        let text = "[[cells]]\ntransport = [\"pipe\", \"unix\"]";
        assert_eq!(expanded(text).unwrap().workloads[0].baseline, Some(0));
    }

    #[test]
    fn what_this_machine_lacks_is_shown_with_the_reason() {
        let cells =
            expanded("[[cells]]\ntransport = \"unix\"\nplacement = [\"free\", \"apart\"]").unwrap().cells;
        assert_eq!(cells[0].unavailable, None);
        assert_eq!(cells[1].unavailable.as_deref(), Some("only one core"));
    }

    #[test]
    fn a_peer_that_cannot_be_used_here_takes_its_own_cells_only() {
        let text = "[[cells]]\ntransport = \"unix\"\nserver = [\"native\", \"c\", \"ruby\"]\n";
        let reasons = |text: &str| -> Vec<Option<String>> {
            expanded(text).unwrap().cells.into_iter().map(|cell| cell.unavailable).collect()
        };
        assert_eq!(reasons(text), [None, None, Some("peer ruby: ruby is not installed".to_owned())]);
        let own = "[peers.ruby]\ncommand = [\"my-ruby\"]\n";
        assert_eq!(reasons(&format!("{text}{own}")), [None, None, None], "the user's own goes first");
        refused("[[cells]]\ntransport = \"unix\"\nserver = \"rubi\"", "did you mean \"ruby\"");
    }

    #[test]
    fn bad_jobs_get_one_line_with_the_way_out() {
        refused("", "add a [[cells]] table");
        refused("[[cells]]\nsize = 1", "names no transport");
        refused("[[cells]]\ntransport = \"unx\"", "did you mean \"unix\"");
        refused("[[cells]]\ntransport = \"pipe\"\npattern = \"connect\"", "use unix, tcp");
        refused(
            "[[cells]]\ntransport = \"udp\"\npattern = \"stream\"",
            "no pattern stream over udp: it may be lost",
        );
        refused("[[cells]]\ntransport = \"unix\"\nsize = 0", "a size of 0 bytes");
        refused("[[cells]]\ntransport = \"unix\"\nreply = 0", "a reply of 0 bytes");
        refused(
            "[[cells]]\ntransport = \"unix\"\nsize = \"2GiB\"",
            "does not fit; the most over unix is 1 GiB",
        );
        refused("[[cells]]\ntransport = \"unix\"\nconcurrency = 0", "from 1 to");
        refused("[[cells]]\ntransport = \"unix\"\nclient = \"nativ\"", "did you mean \"native\"");
        refused("baseline = \"tpc\"\n[[cells]]\ntransport = [\"unix\", \"tcp\"]", "did you mean \"tcp\"");
        refused("[peers.native]\ncommand = [\"x\"]\n[[cells]]\ntransport = \"unix\"", "built-in");
        refused("[peers.\"a b\"]\ncommand = [\"x\"]\n[[cells]]\ntransport = \"unix\"", "cannot name a peer");
        refused("[peers.x]\ncommand = []\n[[cells]]\ntransport = \"unix\"", "empty command");
        refused(
            "[[cells]]\ntransport = \"unix\"\n[cells.options]\nserver_buffer = 1",
            "needs framing=newline",
        );
    }
}
