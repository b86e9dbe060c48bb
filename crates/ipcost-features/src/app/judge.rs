//! From what was measured to what a Unix socket saves.

use ipcost_lab::{Batches, rules};
use ipcost_model::pace::Pace;
use ipcost_model::{
    CellRecord, ContrastRecord, ContrastWithin, Document, Estimate, Measure, Metric, Percentile, Placement,
    Ran, Verdict,
};
use ipcost_peer::adapters::app::{ServerAddress, ServerFacts, ServerKind};
use ipcost_report::words;
use ipcost_sys::running::{Depth, program_of};

use super::record::LOGIN;
use super::{
    APP_SCHEMA, App, AppRequest, AtRate, Checked, Curve, MeasuredRequest, OtherSide, RanShare, Saving,
    SeenServer, ServerSocket, SideCost,
};
use crate::explain::parts::Estimates;

/// The work that curves go through, nanoseconds: from a microsecond to ten milliseconds.
const WORK_NS: [f64; 13] = [0.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 1e7];

/// The answer, from what was seen before and what was measured.
pub fn judge(kind: &'static ServerKind, asked: &AppRequest, seen: &SeenServer, document: &Document) -> App {
    let unix = seen.unix.as_ref().map(|facts| side(facts, &asked.given.unix));
    let tcp = seen.tcp.as_ref().map(|facts| side(facts, &asked.given.tcp));
    let is_one = seen.lasts.is_some() || asked.same_server;
    let apart = unix.as_ref().zip(tcp.as_ref()).filter(|_| !is_one).and_then(apart);
    let mut savings = savings(kind, seen.lasts.is_none(), document);
    if apart.is_some() {
        savings.iter_mut().for_each(|saving| (saving.saved_ns, saving.saved_cpu_ns) = (None, None));
    }
    let margin = document.analysis.margin;
    let other_side = other_side(kind, asked);
    let known = seen.either();
    let request = |(request, known): (&String, &ipcost_peer::adapters::app::AskedRequest)| MeasuredRequest {
        request: request.clone(),
        sent: known.sent,
        replied: known.replied,
        least: *request == kind.least,
    };
    let requests = known.map_or(&[][..], |facts| &facts.requests);
    App {
        schema: APP_SCHEMA.to_owned(),
        server: kind.name.to_owned(),
        title: asked.named(kind).title(asked.given.is_empty()).to_owned(),
        version: known.map(|facts| facts.reported.version.clone()).unwrap_or_default(),
        private: seen.lasts,
        others: seen.lasts.and(asked.others),
        unix,
        tcp,
        same_work: seen.both().map(|sides| same_work(asked, sides)).unwrap_or_default(),
        requests: asked.requests.iter().zip(requests).map(request).collect(),
        margin,
        held_back: document.held_back().map(str::to_owned).collect(),
        curves: if apart.is_none() { curves(kind, &savings, margin) } else { Vec::new() },
        apart,
        costs: other_side.as_ref().map(|_| costs(kind, document)).unwrap_or_default(),
        other_side,
        savings,
        at_rates: at_rates(document),
        burst: None,
    }
}

/// The socket that was not measured, if the user gave the other alone.
fn other_side(kind: &ServerKind, asked: &AppRequest) -> Option<OtherSide> {
    let (transport, setting) = match (&asked.given.unix, &asked.given.tcp) {
        (None, Some(_)) => ("unix", kind.listens.unix),
        (Some(_), None) => ("tcp", kind.listens.tcp),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let page = kind.listens.page.to_owned();
    Some(OtherSide { transport: transport.to_owned(), setting: setting.to_owned(), page })
}

/// What each cell costs, where nothing is compared. A client that was pinned counts where its batches ran as asked.
fn costs(kind: &ServerKind, document: &Document) -> Vec<SideCost> {
    let batches = Batches::new(&document.samples, document.cells.len());
    let estimates = Estimates { batches: &batches, level: document.analysis.alpha_each };
    let cost = |(index, cell): (usize, &CellRecord)| {
        let asked = match cell.point.placement {
            Placement::Together => Some(Ran::Together),
            Placement::Apart => Some(Ran::Apart),
            Placement::Free => None,
        };
        let of = |measure| match asked {
            Some(ran) => estimates.of_where(ran, index, index, &measure),
            None => estimates.of(index, &measure),
        };
        // Percentiles are those of all batches.
        let ran_so =
            |ran| words::shares(cell).into_iter().any(|(seen, share)| seen.ran == ran && share > 0.9);
        let latency = cell.latency_ns.as_ref().filter(|_| asked.is_none_or(ran_so));
        Some(SideCost {
            request: cell.point.request.clone().unwrap_or_else(|| kind.least.to_owned()),
            pattern: cell.point.pattern,
            concurrency: cell.point.concurrency,
            pipeline: cell.point.options.pipeline().unwrap_or(1),
            placement: cell.point.placement,
            cell: cell.id.clone(),
            wall_ns: of(Measure::Wall)?,
            p50_ns: latency.map(|latency| latency.p50),
            p99_ns: latency.map(|latency| latency.p99),
            cpu_ns: of(Measure::Cpu).filter(|_| sees_server(&estimates, index)),
        })
    };
    let is_loop = |(_, cell): &(usize, &CellRecord)| !cell.cell.pace().is_paced();
    document.cells.iter().enumerate().filter(is_loop).filter_map(cost).collect()
}

/// What requests take that are offered at a rate, by rate and placement.
fn at_rates(document: &Document) -> Vec<AtRate> {
    let mut found: Vec<AtRate> = Vec::new();
    for cell in &document.cells {
        let Pace::Rate { per_s, .. } = cell.cell.pace() else { continue };
        for percentile in Percentile::COMPARED {
            let Some(ns) = cell.latency_ns.as_ref().and_then(|latency| latency.at(percentile)) else {
                continue;
            };
            let new = AtRate {
                request: cell.point.request.clone().unwrap_or_default(),
                per_s,
                placement: cell.point.placement,
                percentile,
                unix_ns: None,
                tcp_ns: None,
                contrast: None,
            };
            let is_it = |row: &AtRate| {
                (row.per_s, row.placement, row.percentile) == (new.per_s, new.placement, new.percentile)
                    && row.request == new.request
            };
            let place = found.iter().position(is_it).unwrap_or_else(|| {
                found.push(new);
                found.len() - 1
            });
            let row = &mut found[place];
            if cell.transport != "unix" {
                row.tcp_ns = Some(ns);
                continue;
            }
            row.unix_ns = Some(ns);
            let of_cell =
                |contrast: &&ContrastRecord| contrast.a == cell.id && contrast.metric == Metric::Wall;
            let contrast = document.contrasts.iter().find(of_cell);
            let known = contrast.into_iter().flat_map(|contrast| &contrast.latency);
            row.contrast = known.copied().find(|known| known.percentile == percentile);
        }
    }
    found.sort_by_key(|row| (row.placement, row.per_s));
    found
}

fn side(facts: &ServerFacts, given: &Option<ServerAddress>) -> ServerSocket {
    let name = given.as_ref().and_then(|at| Some(at.name()?.to_owned()));
    let program = facts.process.and_then(|process| Some(program_of(process, Depth::Counts)?.name));
    ServerSocket { address: facts.address.clone(), name, process: facts.process, program }
}

/// Why both sides of a server of the user's own are not known to be one server, which answers by itself. What a server tells of itself does
/// not show what stands in front of it; who listens does.
fn apart((unix, tcp): (&ServerSocket, &ServerSocket)) -> Option<String> {
    let named = |process: u32, of: &ServerSocket| match &of.program {
        Some(name) => format!("{} (process {process})", words::escaped(name)),
        None => format!("process {process}"),
    };
    let unseen = |address: &str| {
        format!(
            "which process listens at {address} cannot be seen, as without root or in a container, so that what moving saves is not known; if nothing stands in front of the server there, say so with --same-server"
        )
    };
    match (unix.process, tcp.process) {
        (Some(of_unix), Some(of_tcp)) if of_unix == of_tcp => None,
        (Some(of_unix), Some(of_tcp)) => Some(format!(
            "over the Unix socket {} listens, over TCP {}: one may stand in front of another server, so that what moving saves is not known; if they are one server with the same settings, say so with --same-server",
            named(of_unix, unix),
            named(of_tcp, tcp)
        )),
        (None, _) => Some(unseen(&unix.address)),
        (_, None) => Some(unseen(&tcp.address)),
    }
}

/// What decides whether both sides do the same work. What the client decides itself is the same on both by construction, and said.
fn same_work(asked: &AppRequest, (unix, tcp): (&ServerFacts, &ServerFacts)) -> Vec<Checked> {
    let checked = |what: &str, of: &dyn Fn(&ServerFacts) -> String| {
        let (unix, tcp) = (of(unix), of(tcp));
        Checked { what: what.to_owned(), same: unix == tcp, unix, tcp, made_equal: None }
    };
    let same = |what: &str, is: &str| Checked {
        what: what.to_owned(),
        unix: is.to_owned(),
        tcp: is.to_owned(),
        same: true,
        made_equal: None,
    };
    let process =
        |facts: &ServerFacts| facts.process.map_or("not known".to_owned(), |process| process.to_string());
    let mut all = vec![
        checked("version", &|facts| facts.reported.version.clone()),
        checked("server process", &process),
        checked(LOGIN, &|facts| facts.reported.login.clone()),
    ];
    let way = |facts: &ServerFacts| {
        if facts.is_remote { "beyond loopback" } else { "within this machine" }.to_owned()
    };
    all.extend(Some(checked("way", &way)).filter(|way| !way.same));
    let encrypts = |facts: &ServerFacts| asked.login.tls && facts.reported.offers_tls;
    all.push(checked("encryption", &|facts| if encrypts(facts) { "TLS" } else { "none" }.to_owned()));
    for (index, request) in asked.requests.iter().enumerate() {
        all.push(checked(&format!("reply to {request}"), &|facts| {
            let replied = facts.requests[index].replied;
            if replied == 1 { "1 byte".to_owned() } else { format!("{replied} bytes") }
        }));
    }
    let offers =
        |facts: &ServerFacts| if facts.reported.offers_tls { "offered" } else { "not offered" }.to_owned();
    let tls = checked("TLS", &offers);
    if !tls.same && !asked.login.tls {
        let made_equal =
            Some("neither side uses it here, while common clients do where it is offered".to_owned());
        all.push(Checked { made_equal, ..tls });
    }
    let waits = if asked.blocking { "recv" } else { "poll" };
    all.push(same("client", &format!("one program, which waits for replies in {waits}, TCP_NODELAY")));
    all.push(same("name resolution", "none, addresses are numbers"));
    all
}

/// What each pair of cells says: the run's own contrast of elapsed time, and at the same level the differences. Below the row of all
/// batches, one for each placement in which both sides ran in the same rounds.
fn savings(kind: &ServerKind, is_own: bool, document: &Document) -> Vec<Saving> {
    let batches = Batches::new(&document.samples, document.cells.len());
    let estimates = Estimates { batches: &batches, level: document.analysis.alpha_each };
    let compared = Compared { kind, document, estimates };
    let of_unix = |contrast: &&ContrastRecord| {
        let is_unix_loop = |cell: &CellRecord| cell.transport == "unix" && !cell.cell.pace().is_paced();
        contrast.metric == Metric::Wall && document.cell(&contrast.a).is_some_and(is_unix_loop)
    };
    let margin = document.analysis.margin;
    let agreed = |row: Saving| Saving { saved_ns: row.agreed(margin), ..row };
    let rows = document.contrasts.iter().filter(of_unix).flat_map(|contrast| compared.rows(contrast, is_own));
    rows.filter(Saving::is_worth_a_row).map(agreed).collect()
}

/// Both sockets of a document, cell by cell.
struct Compared<'a> {
    kind: &'a ServerKind,
    document: &'a Document,
    estimates: Estimates<'a>,
}

impl Compared<'_> {
    fn rows(&self, contrast: &ContrastRecord, is_own: bool) -> Vec<Saving> {
        let Some(all) = self.of_all(contrast) else { return Vec::new() };
        let placed = contrast.within.iter().filter_map(|within| self.of_placement(&all, within));
        let asked = match all.placement {
            Placement::Together if is_own => Ran::Together,
            Placement::Apart if is_own => Ran::Apart,
            _ => return std::iter::once(all.clone()).chain(placed).collect(),
        };
        // The client was pinned, and the server may have moved: only rounds that ran as asked are of that placement.
        placed.filter(|row| row.ran == Some(asked)).collect()
    }

    fn of_all(&self, contrast: &ContrastRecord) -> Option<Saving> {
        let Self { document, estimates, .. } = self;
        let (unix, tcp) = (document.cell_index(&contrast.a)?, document.cell_index(&contrast.b)?);
        let wall = |cell| estimates.of(cell, &Measure::Wall).map(|wall| wall.median);
        let point = &document.cells[unix].point;
        let cpu = estimates.difference(tcp, unix, &Measure::Cpu);
        Some(Saving {
            request: point.request.clone().unwrap_or_else(|| self.kind.least.to_owned()),
            pattern: point.pattern,
            concurrency: point.concurrency,
            pipeline: point.options.pipeline().unwrap_or(1),
            placement: point.placement,
            ran: None,
            shares: shares(&document.cells[unix], &document.cells[tcp]),
            unix: contrast.a.clone(),
            tcp: contrast.b.clone(),
            unix_ns: wall(unix)?,
            tcp_ns: wall(tcp)?,
            ratio: Estimate { median: contrast.ratio, lo: contrast.lo, hi: contrast.hi },
            verdict: contrast.verdict,
            mean: contrast.mean,
            saved_ns: estimates.difference(tcp, unix, &Measure::Wall),
            saved_cpu_ns: cpu.filter(|_| [unix, tcp].iter().all(|cell| sees_server(estimates, *cell))),
            held_back_ns: waits_for_acknowledgements(&document.cells[tcp]),
        })
    }

    /// The rounds that ran in one placement, of those that the scheduler placed.
    fn of_placement(&self, all: &Saving, within: &ContrastWithin) -> Option<Saving> {
        let Self { document, estimates, .. } = self;
        let (unix, tcp) = (document.cell_index(&all.unix)?, document.cell_index(&all.tcp)?);
        // Of the rounds that the ratio is of.
        let wall =
            |cell, other| estimates.of_where(within.ran, cell, other, &Measure::Wall).map(|wall| wall.median);
        let (unix_ns, tcp_ns) = (wall(unix, tcp)?, wall(tcp, unix)?);
        let saved = |measure| estimates.difference_where(within.ran, tcp, unix, &measure);
        Some(Saving {
            ran: Some(within.ran),
            unix_ns,
            tcp_ns,
            ratio: Estimate { median: within.ratio, lo: within.lo, hi: within.hi },
            verdict: within.verdict,
            mean: None,
            saved_ns: saved(Measure::Wall),
            held_back_ns: all.held_back_ns.map(|ns| ns * tcp_ns / all.tcp_ns),
            saved_cpu_ns: saved(Measure::Cpu).filter(|_| all.saved_cpu_ns.is_some()),
            ..all.clone()
        })
    }
}

/// How long an operation waits for delayed acknowledgements, nanoseconds; `None` if that is little of it.
fn waits_for_acknowledgements(cell: &CellRecord) -> Option<f64> {
    let held = cell.held_back.iter().filter(|held| rules::weighs(held));
    held.map(|held| held.ns_per_op).reduce(|sum, ns| sum + ns)
}

/// Whether the server's processes are seen; of others the processor time is not known.
fn sees_server(estimates: &Estimates<'_>, cell: usize) -> bool {
    estimates.of(cell, &Measure::ServerCpu).is_some_and(|server| server.median > 0.0)
}

/// How many batches of both sides ran where.
fn shares(unix: &CellRecord, tcp: &CellRecord) -> Vec<RanShare> {
    let share = |cell: &CellRecord, ran: Ran| {
        words::shares(cell).into_iter().find(|(seen, _)| seen.ran == ran).map_or(0.0, |(_, share)| share)
    };
    let shares =
        Ran::ALL.iter().map(|ran| RanShare { ran: *ran, unix: share(unix, *ran), tcp: share(tcp, *ran) });
    shares.filter(|share| share.unix > 0.0 || share.tcp > 0.0).collect()
}

/// What is saved of a request on a kept connection on which the server works longer than on the least.
fn curves(kind: &ServerKind, savings: &[Saving], margin: f64) -> Vec<Curve> {
    let plain = |saving: &&Saving| {
        saving.is_plain()
            && saving.request == kind.least
            // What mixes placements has no curve if they are known apart.
            && !saving.is_split(savings)
            // What a socket's option ends has nothing to do with the work.
            && saving.held_back_ns.is_none()
            // Of what is open, nothing follows.
            && saving.verdict != Verdict::Undecided
    };
    let curve = |saving: &Saving| {
        // As the row says.
        let saved_ns = saving.saved_ns.map_or(saving.tcp_ns - saving.unix_ns, |saved| saved.median);
        // saved / (least + work) = margin
        let until_ns = (saved_ns > 0.0 && margin > 0.0).then(|| saved_ns / margin - saving.tcp_ns);
        let curve = Curve {
            placement: saving.placement,
            ran: saving.ran,
            saved_ns,
            least_ns: saving.tcp_ns,
            points: Vec::new(),
            until_ns: until_ns.filter(|until_ns| *until_ns > 0.0),
        };
        Curve {
            points: WORK_NS.into_iter().map(|work_ns| (work_ns, curve.share(work_ns))).collect(),
            ..curve
        }
    };
    savings.iter().filter(plain).map(curve).collect()
}

#[cfg(test)]
mod tests {

    use super::*;

    fn saving(unix_ns: f64, tcp_ns: f64) -> Saving {
        let ratio = Estimate { median: unix_ns / tcp_ns, lo: None, hi: None };
        Saving {
            request: "PING".to_owned(),
            concurrency: 1,
            pipeline: 1,
            placement: Placement::Together,
            unix_ns,
            tcp_ns,
            ratio,
            verdict: Verdict::Direction,
            ..Saving::default()
        }
    }

    #[test]
    fn the_saving_matters_until_work_makes_it_a_small_share() {
        let kind = super::super::find("redis").unwrap();
        let [curve] = &curves(kind, &[saving(30_000.0, 50_000.0)], 0.05)[..] else { panic!("one curve") };
        // 20 µs are 5 % of 400 µs, of which 50 are the least request.
        assert_eq!(curve.until_ns.map(f64::round), Some(350_000.0));
        assert!((curve.points[0].1 - 0.4).abs() < 1e-9);
        let [small] = &curves(kind, &[saving(49_000.0, 50_000.0)], 0.05)[..] else { panic!("one curve") };
        assert_eq!(small.until_ns, None);
        let [dearer] = &curves(kind, &[saving(60_000.0, 50_000.0)], 0.05)[..] else { panic!("one curve") };
        assert_eq!(dearer.until_ns, None);
    }
}
