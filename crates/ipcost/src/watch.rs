//! `ipcost watch`: the programs that run, and what they say to each other.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ipcost_features::watch::{Eyes, Unseen, WATCH_SCHEMA, WatchError, WatchRequest, Watched, Watching, page};
use ipcost_lab::lab::envelope;
use ipcost_sys::interrupt::Interrupt;

use crate::args::{RecordFiles, WatchArgs};
use crate::exit::Problem;
use crate::output::room;
use crate::record_files;
use crate::run::listen;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Looks for a while, and shows what was seen.
///
/// # Errors
/// What is wrong with the arguments, or that nothing can be seen.
pub fn run(args: &WatchArgs) -> Result<ExitCode, Problem> {
    let files = RecordFiles::without_pictures(&args.files);
    record_files::check(&files).map_err(Problem::usage)?;
    let interrupt = listen()?;
    let request = WatchRequest {
        pid: args.pid,
        port: args.port,
        path: args.path.clone(),
        command: args.command.clone(),
        lasts: Some(args.lasts),
    };
    let refused = |error: WatchError| Problem::usage(error.into());
    let mut eyes = Eyes::open().map_err(refused)?;
    let mut watching = Watching::default();
    let until = Instant::now() + args.lasts;
    loop {
        watching.see(&eyes.look().map_err(refused)?);
        if watching.looks() == 1 {
            watching.check(&request).map_err(refused)?;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || interrupt.asked() {
            break;
        }
        rest(left.min(EVERY), &interrupt);
    }
    let watched = Watched {
        envelope: envelope(WATCH_SCHEMA),
        elapsed_s: watching.elapsed().as_secs_f64(),
        looks: watching.looks(),
        own_cpu: eyes.own_cpu(),
        conversations: watching.conversations(&request),
        unseen: unseen(&watching, &eyes),
        request,
    };
    let shown = page(&watched);
    let terminal = || shown.terminal(args.wide, room());
    record_files::write_and_show(&watched, &files, &shown, None, &terminal)?;
    Ok(ExitCode::SUCCESS)
}

/// Waits, but no longer than until a stop is asked for.
fn rest(time: Duration, interrupt: &Interrupt) {
    const STEP: Duration = Duration::from_millis(50);
    let until = Instant::now() + time;
    while !interrupt.asked() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        std::thread::sleep(left.min(STEP));
    }
}

fn unseen(watching: &Watching, eyes: &Eyes) -> Vec<Unseen> {
    let mut found = watching.unseen();
    if !eyes.sees_closing() {
        found.push(Unseen {
            what: "Connections that close between two looks".to_owned(),
            why: "only root is told when a connection closes".to_owned(),
            remedy: "Run as root to count them".to_owned(),
        });
    }
    found
}
