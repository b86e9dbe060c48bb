//! The answer of `app` where the scheduler runs a server of the user's own in two placements, with planted costs.

use std::time::Duration;

use ipcost_features::app::{
    App, AppRequest, MeasuredRequest, RanShare, Saving, SeenServer, find, judge, page,
};
use ipcost_lab::bench::{BatchKind, BatchOutcome, Bench};
use ipcost_lab::progress::Silent;
use ipcost_lab::{Contrasts, EngineError, PlanSettings, plan, run};
use ipcost_model::{
    Capabilities, Document, Offers, PeerCommand, Placement, Plan, Ran, TransportState, Usage, Verdict,
    Whereabouts, expand, parse_job,
};
use ipcost_stats::Random;
use serde_json::{Map, Value};

use crate::script::{Known, NULL, report};

const UNIX: Capabilities = Capabilities { name: "unix", ..NULL };
const TCP: Capabilities = Capabilities { name: "tcp", ..NULL };
const JOB: &str = "epochs = 400\nbaseline = \"tcp\"\n[[cells]]\npattern = \"rr\"\ntransport = [\"unix\", \"tcp\"]\nrequest = [\"PING\", \"GET\"]\nsize = 0\nclient = \"own\"\nserver = \"own\"\n";

/// One core: 10 µs over TCP and 6 over the Unix socket. Two cores: 40 and 36.
fn cost_ns(ran: Ran, is_unix: bool) -> f64 {
    match (ran, is_unix) {
        (Ran::Together, false) => 10_000.0,
        (Ran::Together, true) => 6_000.0,
        (_, false) => 40_000.0,
        (_, true) => 36_000.0,
    }
}

/// How often the scheduler runs both on one core.
fn share_on_one_core(request: &str, placement: Placement) -> f64 {
    match (placement, request) {
        (Placement::Together, _) => 0.95,
        (Placement::Apart, _) => 0.0,
        (Placement::Free, "PING") => 0.8,
        (Placement::Free, _) => 0.25,
    }
}

struct Planted {
    plan: Plan,
    now: Duration,
    random: Random,
}

impl Bench for Planted {
    fn elapsed(&self) -> Duration {
        self.now
    }

    fn start_epoch(&mut self, _epoch: u32, _order: &[usize]) -> Result<(), EngineError> {
        Ok(())
    }

    fn verify(&mut self, _cell: usize, _ops: u64) -> Result<(), EngineError> {
        Ok(())
    }

    fn batch(&mut self, cell: usize, ops: u64, _kind: BatchKind) -> Result<BatchOutcome, EngineError> {
        let planned = &self.plan.cells[cell];
        let share = share_on_one_core(planned.cell.request.as_deref().unwrap(), planned.placement);
        let is_together = (self.random.below(1000) as f64) < share * 1000.0;
        let ran = if is_together { Ran::Together } else { Ran::Apart };
        let noise = (0.01 * self.random.normal()).exp();
        let wall_ns = (cost_ns(ran, planned.cell.transport == "unix") * noise * ops as f64) as u64;
        self.now += Duration::from_nanos(wall_ns);
        let used = Usage { user_ns: wall_ns / 3, ..Usage::default() };
        let whereabouts = Some(Whereabouts { ran, migrations: 0 });
        Ok(BatchOutcome { wall_ns, client: used, server: used, whereabouts, ..BatchOutcome::default() })
    }

    fn end_epoch(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn effective(&self, _cell: usize) -> Map<String, Value> {
        Map::new()
    }
}

fn measured(placements: &str) -> Document {
    let mut job = parse_job(&format!("{JOB}placement = [{placements}]\n")).unwrap();
    job.peers.insert("own".to_owned(), PeerCommand { command: vec!["own".to_owned()], service: None });
    let transports = [&UNIX, &TCP].map(|capabilities| TransportState { capabilities, unavailable: None });
    let offers = Offers {
        transports: &transports,
        placements_unavailable: &[],
        peers: &[],
        lacks: Offers::LACKS_NOTHING,
    };
    let plan = plan(expand(&job, &offers).unwrap(), &PlanSettings::of(&job, 5)).unwrap();
    let mut bench = Planted { plan: plan.clone(), now: Duration::ZERO, random: Random::new(7) };
    report(run(plan, &Contrasts, &mut bench, &mut Known::default(), &mut Silent))
}

fn answer(document: &Document) -> App {
    let asked = AppRequest {
        server: "redis".to_owned(),
        requests: vec!["PING".to_owned(), "GET".to_owned()],
        concurrency: 1,
        ..AppRequest::default()
    };
    judge(find("redis").unwrap(), &asked, &SeenServer { unix: None, tcp: None, lasts: None }, document)
}

fn row<'a>(app: &'a App, request: &str, placement: Placement, ran: Option<Ran>) -> &'a Saving {
    let is_it = |row: &&Saving| (row.request.as_str(), row.placement, row.ran) == (request, placement, ran);
    app.savings
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("{request} {placement} {ran:?}: {:#?}", app.savings))
}

fn near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 0.03
}

#[test]
fn placements_that_the_scheduler_mixed_have_rows_of_their_own() {
    let app = answer(&measured("\"free\""));
    for (request, together) in [("PING", 0.8), ("GET", 0.25)] {
        for (ran, share) in [(Ran::Together, together), (Ran::Apart, 1.0 - together)] {
            let row = row(&app, request, Placement::Free, Some(ran));
            assert!(
                near(row.unix_ns, cost_ns(ran, true)) && near(row.tcp_ns, cost_ns(ran, false)),
                "{row:#?}"
            );
            assert!(near(row.ratio.median, cost_ns(ran, true) / cost_ns(ran, false)), "{row:#?}");
            assert_eq!(row.verdict, Verdict::Different, "{row:#?}");
            assert!((row.saved_ns.unwrap().median - 4_000.0).abs() < 600.0, "{row:#?}");
            let RanShare { unix, tcp, .. } = row.shares.iter().find(|share| share.ran == ran).unwrap();
            assert!((unix - share).abs() < 0.15 && (tcp - share).abs() < 0.15, "{row:#?}");
        }
        // The mixture stays, as what it is.
        let all = row(&app, request, Placement::Free, None);
        assert!(all.shares.iter().map(|share| share.unix).sum::<f64>() > 0.999);
    }
    // Nothing follows from the mixture.
    assert!(!app.curves.is_empty() && app.curves.iter().all(|curve| curve.ran.is_some()), "{:?}", app.curves);
}

#[test]
fn a_pinned_client_counts_where_the_server_was_next_to_it_or_apart() {
    let document = measured("\"free\", \"together\", \"apart\"");
    let app = answer(&document);
    for (placement, ran) in [(Placement::Together, Ran::Together), (Placement::Apart, Ran::Apart)] {
        for request in ["PING", "GET"] {
            let found = row(&app, request, placement, Some(ran));
            assert!(near(found.tcp_ns, cost_ns(ran, false)), "{found:#?}");
        }
        // Not where the server was elsewhere, and not all batches together.
        assert!(app.savings.iter().all(|row| row.placement != placement || row.ran == Some(ran)));
    }
    let text = anstream::adapter::strip_str(&page(&app, &document).terminal(false, 170)).to_string();
    assert!(text.contains("one core, pinned (9") && text.contains("Pinned: before each batch"), "{text}");
}

#[test]
fn table_page_and_sentences_name_the_cores_of_a_row() {
    let document = measured("\"free\"");
    let mut app = answer(&document);
    let request = |request: &str| MeasuredRequest {
        request: request.to_owned(),
        sent: 9,
        replied: 7,
        least: request == "PING",
    };
    app.requests = vec![request("PING"), request("GET")];
    let shown =
        |details| anstream::adapter::strip_str(&page(&app, &document).terminal(details, 140)).to_string();
    let text = shown(false);
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((lines("PING "), lines("GET ")), (1 + 3, 1 + 3), "{text}");
    for cores in ["any core", "one core (", "two cores ("] {
        let has = |line: &str| line.starts_with("PING ") && line.contains(cores);
        assert!(text.lines().any(has), "{cores}: {text}");
    }
    let text = shown(true).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["PING: on any core ", "; on one core (", "; on two cores (", "mixes the placements"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn processor_time_is_not_compared_where_one_server_was_not_seen() {
    let document = measured("\"together\"");
    const WHY: &str = "processes were not seen on both sides";
    let app = answer(&document);
    assert!(app.savings.iter().all(|row| row.saved_cpu_ns.is_some()), "{app:#?}");
    assert!(!page(&app, &document).terminal(true, 120).replace('\n', " ").contains(WHY));
    for unseen in ["unix", "tcp"] {
        let mut document = document.clone();
        let cells: Vec<bool> = document.cells.iter().map(|cell| cell.transport == unseen).collect();
        for sample in document.samples.iter_mut().filter(|sample| cells[sample.cell as usize]) {
            sample.server = Usage::default();
        }
        let app = answer(&document);
        assert!(
            !app.savings.is_empty() && app.savings.iter().all(|row| row.saved_cpu_ns.is_none()),
            "{app:#?}"
        );
    }
}
