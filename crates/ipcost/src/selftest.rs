//! `ipcost selftest`: how often the tool is wrong on this machine.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::ProgressBar;
use ipcost_features::selftest::Noise;
use ipcost_features::selftest::Promise;
use ipcost_features::selftest::SELFTEST_SCHEMA;
use ipcost_features::selftest::SelfTest;
use ipcost_features::selftest::words::render;
use ipcost_features::selftest::{EPOCHS, Tally, equal_job, slowed_job};
use ipcost_lab::lab::{fresh_seed, now, own_command};
use ipcost_lab::progress::Silent;
use ipcost_lab::{Lab, Outcome, Settings};
use ipcost_model::units::duration_text;
use ipcost_model::{Stopped, Tool, parse_job};
use ipcost_sys::host;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::process::{PeerProcess, Spawn};
use ipcost_sys::quota::Quota;

use crate::args::SelfTestArgs;
use crate::exit::{FAILED, INTERRUPTED, Problem, UNDECIDED, teller};
use crate::output::{is_standard_output, print, room, write_pretty};
use crate::progress::bar;
use crate::run::listen;

/// The bar's resolution.
const STEPS: u64 = 1_000;
/// How long a self-test takes where the user does not say.
const DEFAULT_BUDGET: Duration = Duration::from_secs(180);
/// The quota with which `--noise quota` holds the measurement back, in processors.
const QUOTA_CORES: f64 = 0.5;

/// Tests the tool on this machine.
///
/// # Errors
/// What failed; a broken promise is no error but an exit status.
pub fn run(args: &SelfTestArgs) -> Result<ExitCode, Problem> {
    let began = Instant::now();
    let started = now();
    let budget = args.budget.unwrap_or(DEFAULT_BUDGET);
    let seed = args.seed.unwrap_or_else(fresh_seed);
    let interrupt = listen()?;
    let noise = Disturbance::start(args.noise.unwrap_or(Noise::Quiet)).map_err(Problem::failed)?;

    let progress = bar(args.quiet, STEPS, "{msg}");
    let mut tally = Tally::default();
    let mut spent = [Duration::ZERO; 2];
    let mut longest = [Duration::ZERO; 2];
    let mut interrupted = false;
    let mut campaigns = 0;
    loop {
        // Both kinds in turn, so that an early answer has some of each; and at least one of each.
        let kind = usize::from(spent[1] < spent[0]);
        if spent[kind] > Duration::ZERO && began.elapsed() + longest[kind] > budget {
            break;
        }
        let job = if kind == 0 { equal_job() } else { slowed_job() };
        let at = Instant::now();
        campaigns += 1;
        let outcome = campaign(&job, seed.wrapping_add(campaigns), &interrupt)?;
        if let Some(error) = outcome.failure {
            return Err(error.into());
        }
        if outcome.stopped == Stopped::Interrupted {
            interrupted = true;
            break;
        }
        if kind == 0 {
            tally.add_equal(&outcome)
        } else {
            tally.add_slowed(&outcome)
        }
        spent[kind] += at.elapsed();
        longest[kind] = longest[kind].max(at.elapsed());
        tell(&progress, &tally, began.elapsed(), budget);
    }
    progress.finish_and_clear();
    drop(noise);
    let test = SelfTest {
        schema: SELFTEST_SCHEMA.to_owned(),
        tool: Tool { name: "ipcost".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        host: host::read(),
        noise: args.noise.unwrap_or(Noise::Quiet),
        seed,
        started,
        elapsed_s: began.elapsed().as_secs_f64(),
        epochs: EPOCHS,
        rates: tally.rates(seed),
        detections: tally.detections(),
    };
    let test = args.redacting.apply(test)?;
    show(&test, args)?;
    Ok(match test.promise() {
        _ if interrupted => ExitCode::from(INTERRUPTED),
        Promise::Broken => ExitCode::from(FAILED),
        Promise::Undecided => ExitCode::from(UNDECIDED),
        Promise::Kept => ExitCode::SUCCESS,
    })
}

fn show(test: &SelfTest, args: &SelfTestArgs) -> Result<(), Problem> {
    if let Some(path) = &args.json {
        write_pretty(test, path).map_err(Problem::failed)?;
    }
    if !args.json.as_deref().is_some_and(is_standard_output) {
        print(&render(test, room())).map_err(Problem::failed)?;
    }
    Ok(())
}

/// One campaign, with real processes of its own.
fn campaign(job: &str, seed: u64, interrupt: &Interrupt) -> Result<Outcome, Problem> {
    let job = parse_job(job).map_err(|error| Problem::failed(error.into()))?;
    let lab = Lab::open(&job, &mut teller(true))?;
    let settings = Settings { epochs: Some(EPOCHS), ..Settings::of(&job, seed) };
    let plan = lab.plan(lab.cells(&job)?, &settings)?;
    Ok(lab.run(plan, interrupt, |_| Silent)?.0)
}

/// What else is done to the machine; it ends when this is dropped.
enum Disturbance {
    Nothing,
    Hogs { _processes: Vec<PeerProcess> },
    Quota { _quota: Quota },
}

impl Disturbance {
    fn start(noise: Noise) -> anyhow::Result<Self> {
        Ok(match noise {
            Noise::Quiet => Self::Nothing,
            Noise::Cpu => {
                let command = own_command("hog")?;
                let start = |_| PeerProcess::spawn(Spawn { command: &command, ..Spawn::default() });
                let count = std::thread::available_parallelism().map_or(1, usize::from);
                let processes = (0..count).map(start).collect::<Result<_, _>>();
                Self::Hogs { _processes: processes.context("cannot start processes that take the processors")? }
            }
            Noise::Quota => Self::Quota {
                _quota: Quota::impose(QUOTA_CORES)
                    .context("cannot set a CPU quota here; it takes root and a writable control group with the cpu controller")?,
            },
        })
    }
}

/// Takes a processor in bursts, for ever: what `--noise cpu` starts.
pub fn hog() -> ! {
    let mut random = ipcost_stats::Random::new(u64::from(std::process::id()));
    let mut burst = || Duration::from_millis(10 + random.below(190));
    loop {
        let until = Instant::now() + burst();
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        std::thread::sleep(burst());
    }
}

/// The early answer, drawn between campaigns only.
fn tell(bar: &ProgressBar, tally: &Tally, elapsed: Duration, budget: Duration) {
    if bar.is_hidden() {
        return;
    }
    let (alarms, of) = tally.alarms();
    let found: Vec<String> = tally
        .detections()
        .iter()
        .map(|found| format!("{:.0} % {} of {}", found.slowdown * 100.0, found.found, found.of))
        .collect();
    let left = duration_text(budget.saturating_sub(elapsed));
    bar.set_position((elapsed.as_secs_f64() / budget.as_secs_f64() * STEPS as f64) as u64);
    bar.set_message(format!("false alarms {alarms} of {of}; found: {}; {left} left", found.join(", ")));
    bar.tick();
}
