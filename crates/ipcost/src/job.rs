//! From the command line to a job.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use ipcost_model::{
    COMMON_CONGESTION, Capabilities, Job, Matrix, NATIVE, OptionGroup, OptionName, OptionValue, Pattern,
    PeerCommand, Placement, STEADY, Size, TCP_CONGESTION, TransportState, check_peer_name, parse_job,
};
use ipcost_sys::OS;
use ipcost_sys::placement::Topology;
use ipcost_sys::transport::{lacks_congestion, usual_congestion};

use crate::args::{CellArgs, RunArgs};
use crate::consent;

/// The largest job file that is read.
const MOST_BYTES: u64 = 1 << 20;
/// The workloads of the default suite: pattern and bytes each way.
const SUITE: [(Pattern, u64); 5] = [
    (Pattern::Connect, 64),
    (Pattern::Rr, 64),
    (Pattern::Rr, 16 * 1024),
    (Pattern::Stream, 64),
    (Pattern::Stream, 64 * 1024),
];

/// How long a run may take if it measures on one core and on two: it has twice as many cells as for one placement.
const BOTH_BUDGET: Duration = Duration::from_secs(45);
/// How much longer for each long transfer, and for all of them.
const TRANSFER_BUDGET: Duration = Duration::from_secs(10);
const TRANSFERS_BUDGET: Duration = Duration::from_secs(20);

/// The job that the command line asks for: a file's, a matrix, or the default suite, with the settings given.
///
/// Streams over TCP are measured in other ways, too, on which the answer turns.
pub fn job(args: &RunArgs, transports: &[TransportState]) -> anyhow::Result<Job> {
    job_with(args, transports, beside)
}

/// The same with the cells that were asked for and no others.
pub fn exact_job(args: &RunArgs, transports: &[TransportState]) -> anyhow::Result<Job> {
    job_with(args, transports, |_, _| Vec::new())
}

/// Cells that are measured besides those of a matrix.
type Besides = fn(&Matrix, &[TransportState]) -> Vec<Matrix>;

fn job_with(args: &RunArgs, transports: &[TransportState], besides: Besides) -> anyhow::Result<Job> {
    let mut job = match &args.job {
        Some(path) => read(path, args.yes || args.plan)?,
        None => Job { cells: matrices(&args.cells, transports, besides)?, ..Job::default() },
    };
    for peer in &args.peers {
        let (name, command) = parse_peer(peer)?;
        job.peers.insert(name, command);
    }
    let mut job = args.measuring.over(job);
    job.baseline = args.baseline.clone().or(job.baseline);
    job.batch = args.batch.or(job.batch);
    job.floor |= args.floor;
    job.keep_all |= args.keep_all;
    place_as_usual(&mut job.cells);
    job.latency = args.latency.or(job.latency);
    job.timeout = args.timeout.or(job.timeout);
    Ok(job)
}

/// What to say of a file that cannot be read as TOML and has another ending.
pub fn if_no_toml(path: &Path) -> &'static str {
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    if is_toml {
        ""
    } else {
        "; it must be a TOML file, such as those on docs/reference/job-files.md and docs/did-it-change.md"
    }
}

/// Reads a job file; one that names commands has them shown, and is refused if they may not be started (`yes`: they may).
fn read(path: &Path, yes: bool) -> anyhow::Result<Job> {
    let context = || format!("cannot read the job file {}", path.display());
    let mut text = String::new();
    // A device or a pipe has no length that could be asked for.
    let file = File::open(path).with_context(context)?;
    (&file).take(MOST_BYTES + 1).read_to_string(&mut text).with_context(context)?;
    ensure!(
        text.len() as u64 <= MOST_BYTES,
        "{}: a job file has at most {MOST_BYTES} bytes, and this one has more",
        path.display()
    );
    let job = parse_job(&text).map_err(|error| anyhow!("{}:{error}{}", path.display(), if_no_toml(path)))?;
    consent::ask(path, &file, &job, yes)?;
    Ok(job)
}

fn matrices(args: &CellArgs, transports: &[TransportState], besides: Besides) -> anyhow::Result<Vec<Matrix>> {
    let whole = args.matrix()?;
    let suite_transports = || named(transports, |known| known.is_usual_on(OS));
    let has_pace = whole.options.0.keys().any(|name| name.spec().group == OptionGroup::Pace);
    // With pauses the whole suite would take hours: one round trip tells what they cost.
    if has_pace || !is_suite(args) {
        // Without a list of transports: those of the default suite that can do every pattern asked for.
        let does = |known: &Capabilities| args.patterns.iter().all(|pattern| known.does(*pattern));
        let usual = |known: &Capabilities| known.is_usual_on(OS) || known.floor.is_some();
        let all = || match args.patterns.as_slice() {
            [] => suite_transports(),
            _ => named(transports, |known| usual(known) && does(known)),
        };
        let transport = if whole.transport.is_empty() { all().into() } else { whole.transport.clone() };
        let whole = Matrix { transport, ..whole };
        let streams = whole.pattern.0.contains(&Pattern::Stream);
        let beside = if streams { besides(&whole, transports) } else { Vec::new() };
        return Ok([whole].into_iter().chain(beside).collect());
    }
    let chosen = if args.transports.is_empty() { suite_transports() } else { args.transports.clone() };
    // A name that is unknown is told later, with the one that was meant.
    let does = |name: &String, pattern| {
        let known = transports.iter().find(|state| state.capabilities.name == name);
        // So is a floor, which has a pattern of its own.
        known.map_or(pattern != Pattern::Connect, |state| {
            let moves = state.capabilities.floor.is_none();
            state.capabilities.does(pattern) || (!moves && pattern != Pattern::Connect)
        })
    };
    let of_suite = |(pattern, size): (Pattern, u64)| {
        let able = |name: &&String| does(name, pattern);
        let transport: Vec<String> = chosen.iter().filter(able).cloned().collect();
        let matrix = Matrix {
            pattern: vec![pattern].into(),
            size: vec![Size(size)].into(),
            transport: transport.into(),
            ..whole.clone()
        };
        let beside = if pattern == Pattern::Stream { besides(&matrix, transports) } else { Vec::new() };
        [matrix].into_iter().chain(beside)
    };
    Ok(SUITE.into_iter().flat_map(of_suite).filter(|matrix| !matrix.transport.is_empty()).collect())
}

/// Whether the flags leave it at the default suite.
fn is_suite(args: &CellArgs) -> bool {
    args.patterns.is_empty() && args.sizes.is_empty()
}

/// The budget of a run for which neither the user nor the job says one; `None` for the usual one.
pub fn usual_budget(job: &Job) -> Option<Duration> {
    let both = job.cells.iter().any(|matrix| matrix.placement.0.len() > 1);
    let steady = OptionName::find(STEADY).expect("an option of the catalogue");
    let transfers = job.cells.iter().filter(|matrix| matrix.options.0.contains_key(&steady)).count() as u32;
    both.then_some(BOTH_BUDGET + (transfers * TRANSFER_BUDGET).min(TRANSFERS_BUDGET))
}

/// What to say of a job whose cells are left to the scheduler since this program may use one core only.
pub fn one_core_note(job: &Job) -> Option<&'static str> {
    let unplaced = job.cells.iter().any(|matrix| matrix.placement.is_empty() && is_pair(matrix));
    (unplaced && both_placements().is_empty())
        .then_some("this program may use one core only, which both processes share (placement free)")
}

/// Whether the processes of a matrix may run on one core or on two: floors are no pair, and some are bound by options.
fn is_pair(matrix: &Matrix) -> bool {
    let binds = |name: &OptionName| matches!(name.spec().name, "client_cpu" | "server_cpu");
    matrix.pattern.0 != [Pattern::Floor] && !matrix.options.0.keys().any(binds)
}

/// Where the two processes run if a command takes one placement and none is given: on two cores, as programs mostly do.
pub fn one_placement(asked: Option<Placement>) -> Placement {
    asked.unwrap_or(if both_placements().is_empty() { Placement::Free } else { Placement::Apart })
}

/// Lets cells that name no placement run on one core and on two.
pub fn place_as_usual(cells: &mut [Matrix]) {
    place(cells, &both_placements());
}

/// Gives a placement to the cells that name none.
fn place(cells: &mut [Matrix], usual: &[Placement]) {
    let unplaced = cells.iter_mut().filter(|matrix| matrix.placement.is_empty());
    for matrix in unplaced.filter(|matrix| is_pair(matrix)) {
        matrix.placement = usual.to_vec().into();
    }
}

/// One core for both processes, and one for each: left to itself the scheduler mixes the two, which widens intervals. Empty,
/// which leaves it to the scheduler, if this program may use one core only.
fn both_placements() -> Vec<Placement> {
    let both = vec![Placement::Together, Placement::Apart];
    let topology = Topology::read();
    if both.iter().all(|placement| topology.pair(*placement).is_ok()) { both } else { Vec::new() }
}

/// Streams over TCP in other ways on which the answer turns: without Nagle's algorithm, for small messages, and under cubic, which
/// most machines use, where this one uses another congestion control.
fn beside(matrix: &Matrix, transports: &[TransportState]) -> Vec<Matrix> {
    let nodelay = stream_with(matrix, transports, "tcp_nodelay", OptionValue::Bool(true));
    // Other peers know no such option.
    let native = matrix.client.0.iter().chain(&matrix.server.0).all(|peer| peer == NATIVE);
    let other = usual_congestion()
        .filter(|own| native && own != COMMON_CONGESTION && lacks_congestion(COMMON_CONGESTION).is_none());
    let cubic =
        || stream_with(matrix, transports, TCP_CONGESTION, OptionValue::Text(COMMON_CONGESTION.to_owned()));
    nodelay.into_iter().chain(other.and_then(|_| cubic())).collect()
}

/// The streams of a matrix over TCP with an option; `None` where nothing has it, or the user has given it.
fn stream_with(
    matrix: &Matrix,
    transports: &[TransportState],
    option: &str,
    value: OptionValue,
) -> Option<Matrix> {
    let option = OptionName::find(option).expect("an option of the catalogue");
    let has_it = |name: &&String| {
        let known = transports.iter().find(|state| state.capabilities.name == **name);
        known.is_some_and(|state| state.capabilities.option_groups.contains(&OptionGroup::Tcp))
    };
    let transport: Vec<String> = matrix.transport.0.iter().filter(has_it).cloned().collect();
    let known =
        transports.iter().filter(|state| transport.iter().any(|name| name == state.capabilities.name));
    let known: Vec<&Capabilities> = known.map(|state| state.capabilities).collect();
    let mut beside =
        Matrix { pattern: vec![Pattern::Stream].into(), transport: transport.into(), ..matrix.clone() };
    // The user's options for other transports are not for these.
    beside.options.0.retain(|name, _| known.iter().any(|known| name.spec().acts_on(known, Pattern::Stream)));
    if beside.transport.is_empty() || beside.options.0.insert(option, vec![value]).is_some() {
        return None;
    }
    Some(beside)
}

fn named(transports: &[TransportState], wanted: impl Fn(&Capabilities) -> bool) -> Vec<String> {
    let capable = transports.iter().map(|state| state.capabilities).filter(|known| wanted(known));
    capable.map(|known| known.name.to_owned()).collect()
}

fn parse_peer(flag: &str) -> anyhow::Result<(String, PeerCommand)> {
    named_command(flag).with_context(|| format!("--peer {flag}"))
}

/// Reads `NAME=COMMAND`.
pub fn named_command(text: &str) -> anyhow::Result<(String, PeerCommand)> {
    let Some((name, command)) = text.split_once('=') else { bail!("write it as NAME=COMMAND") };
    check_peer_name(name)?;
    match shlex::split(command) {
        Some(command) if !command.is_empty() => Ok((name.to_owned(), PeerCommand { command, service: None })),
        Some(_) => bail!("the command is empty; give a program"),
        None => bail!("the command has an unfinished quotation"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job_of(args: &[&str]) -> anyhow::Result<Job> {
        let line = ["ipcost", "run"].iter().chain(args).map(Into::into);
        let Some(crate::commands::Command::Run(args)) =
            crate::args::parse(line).expect("flags that parse").command
        else {
            panic!("not a run")
        };
        job(&args, &ipcost_sys::transport::states())
    }

    #[test]
    fn without_flags_it_is_the_default_suite() {
        let job = job_of(&[]).unwrap();
        let (cubic, beside): (Vec<&Matrix>, Vec<&Matrix>) =
            job.cells.iter().filter(|matrix| !matrix.options.is_empty()).partition(|matrix| {
                matrix.options.0.keys().any(|option| option.spec().name == TCP_CONGESTION)
            });
        let beside: Vec<_> =
            beside.into_iter().map(|matrix| (&matrix.pattern.0[0], &matrix.transport.0)).collect();
        let nodelay = vec!["tcp".to_owned()];
        assert_eq!(beside, [(&Pattern::Stream, &nodelay), (&Pattern::Stream, &nodelay)], "tcp nodelay");
        // Under cubic, too, where the machine uses another congestion control.
        assert!([0, 2].contains(&cubic.len()), "{cubic:?}");
        assert_eq!(job.cells.len(), SUITE.len() + beside.len() + cubic.len());
        assert_eq!(job.cells[0].transport.0, ["unix", "tcp"]);
        assert_eq!(job.cells[1].transport.0, ["pipe", "fifo", "unix", "tcp", "shm"]);
    }

    #[test]
    fn other_peers_keep_the_congestion_control_of_the_machine() {
        let job = job_of(&["--patterns", "stream", "--server", "c"]).unwrap();
        let asked =
            |matrix: &Matrix| matrix.options.0.keys().any(|option| option.spec().name == TCP_CONGESTION);
        assert!(!job.cells.iter().any(asked));
    }

    #[test]
    fn transports_alone_narrow_the_suite() {
        let job = job_of(&["--transports", "pipe,unix"]).unwrap();
        assert_eq!(job.cells[0].transport.0, ["unix"]);
        assert_eq!(job.cells[4].transport.0, ["pipe", "unix"]);
        assert_eq!(job_of(&["--transports", "pipe"]).unwrap().cells.len(), 4);
    }

    #[test]
    fn floors_are_measured_where_they_are_asked_for() {
        let job = job_of(&["--patterns", "floor"]).unwrap();
        assert_eq!(job.cells[0].transport.0, ["syscall", "switch", "cacheline", "memcpy"]);
        let job = job_of(&["--floor", "--sizes", "64"]).unwrap();
        assert!(job.floor && job.cells[0].transport.0.contains(&"tcp".to_owned()));
        assert!(!job.cells[0].transport.0.contains(&"switch".to_owned()));
    }

    #[test]
    fn lists_become_one_matrix() {
        let job = job_of(&["--sizes", "64,4KiB", "--transports", "unix", "--option", "so_sndbuf=4096,8KiB"])
            .unwrap();
        assert_eq!(job.cells.len(), 1);
        assert_eq!(job.cells[0].size.0, [Size(64), Size(4096)]);
        assert_eq!(job.cells[0].options.0.values().next().unwrap().len(), 2);
    }

    #[test]
    fn cells_without_a_placement_get_the_usual_ones() {
        let of = |text: &str| parse_job(&format!("[[cells]]\ntransport = \"unix\"\n{text}")).unwrap().cells;
        let usual = vec![Placement::Together, Placement::Apart];
        for (text, expected) in [
            ("", &usual[..]),
            ("placement = \"free\"", &[Placement::Free]),
            ("pattern = \"floor\"", &[]),
            ("[cells.options]\nclient_cpu = 0", &[]),
        ] {
            let mut cells = of(text);
            place(&mut cells, &usual);
            assert_eq!(cells[0].placement.0, expected, "{text}");
            let job = Job { cells, ..Job::default() };
            assert_eq!(usual_budget(&job), text.is_empty().then_some(BOTH_BUDGET), "{text}");
        }
        let mut cells = of("");
        place(&mut cells, &[]);
        assert!(cells[0].placement.is_empty(), "one core only");
    }

    #[test]
    fn peers_are_split_as_a_shell_would() {
        let job = job_of(&["--peer", "mine=./my-peer --title 'two words'"]).unwrap();
        assert_eq!(job.peers["mine"].command, ["./my-peer", "--title", "two words"]);
        for wrong in ["mine", "mine=", "native=x", "a b=x", "mine='x"] {
            let error = format!("{:#}", job_of(&["--peer", wrong]).unwrap_err());
            assert!(error.starts_with(&format!("--peer {wrong}: ")) && !error.contains('\n'), "{error}");
        }
    }
}
