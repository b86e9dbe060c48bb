//! `ipcost load`: latency against load, and the load at which it stops working.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use ipcost_features::load::{LoadRequest, load};
use ipcost_model::pace::{RATE, THINK};
use ipcost_model::{Job, Matrix, Pattern, Placement, Size};

use crate::app::{self, ServerUnderLoad};
use crate::args::{LoadArgs, SearchArgs, ServerArgs};
use crate::exit::Problem;
use crate::job::{named_command, one_placement};
use crate::search::search;

/// What a server takes: it is started, looked at and asked over more connections.
const SERVER_BUDGET: Duration = Duration::from_secs(100);

/// Measures rates over every transport, and shows what was found.
pub fn run(args: &LoadArgs) -> Result<ExitCode, Problem> {
    let placement = one_placement(args.placement);
    let usual = if args.app.is_empty() { SearchArgs::BUDGET } else { SERVER_BUDGET };
    let budget = args.search.budget.unwrap_or(usual);
    let plain = LoadRequest {
        transports: args.transports.clone(),
        pattern: args.pattern,
        size: args.size,
        request: None,
        concurrency: args.concurrency,
        placement,
        client: args.client.clone(),
        server: args.server.clone(),
        limit_ns: args.limit,
        resolution: args.resolution,
        margin: args.search.margin,
        budget: Some(budget),
        seed: args.search.seed,
    };
    let (request, base) = match args.app.as_slice() {
        [] if args.asked != ServerArgs::default() => {
            let reason =
                "flags of a server go with app and its name, such as ipcost load app redis --unix PATH";
            return Err(Problem::usage(anyhow!("{reason}")));
        }
        [] => (plain, base(args, placement).map_err(Problem::usage)?),
        [app, name] if app == "app" => {
            let ServerUnderLoad { server, request, placement, job } = {
                let size = (args.concurrency, budget);
                app::load(name, &args.asked, size, placement)?
            };
            let transports = job.cells.iter().flat_map(|cell| cell.transport.0.clone()).collect();
            let (client, request) = (server.clone(), Some(request));
            (LoadRequest { transports, request, placement, client, server, size: 0, ..plain }, job)
        }
        other => {
            let other = other.join(" ");
            return Err(Problem::usage(anyhow!(
                "unexpected {other:?}; to load a server, write ipcost load app redis"
            )));
        }
    };
    search(&args.search, |interrupt, tell, observer| load(&request, &base, interrupt, tell, observer))
}

/// The load at no rate.
fn base(args: &LoadArgs, placement: Placement) -> anyhow::Result<Job> {
    ensure!(
        matches!(args.pattern, Pattern::Rr | Pattern::Connect),
        "--patterns takes rr or connect: only they have a latency that ends with an answer"
    );
    let options = crate::args::options(&args.option)?;
    if let Some((name, _)) = options.0.iter().find(|(_, values)| values.len() > 1) {
        anyhow::bail!("--option {name} has several values; a load has one of each option");
    }
    if let Some((name, _)) = options.0.iter().find(|(name, _)| [RATE, THINK].contains(&name.spec().name)) {
        anyhow::bail!("--option {name}: a load offers rates of its own; leave it out");
    }
    let mut peers = std::collections::BTreeMap::new();
    for flag in &args.peer {
        let (name, command) = named_command(flag).with_context(|| format!("--peer {flag}"))?;
        peers.insert(name, command);
    }
    let matrix = Matrix {
        transport: args.transports.clone().into(),
        pattern: vec![args.pattern].into(),
        size: vec![Size(args.size)].into(),
        placement: vec![placement].into(),
        client: vec![args.client.clone()].into(),
        server: vec![args.server.clone()].into(),
        options,
        ..Matrix::default()
    };
    Ok(Job { cells: vec![matrix], peers, ..Job::default() })
}
