//! `ipcost watch`: the programs that run, and what they say to each other.

mod screen;
mod session;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use ipcost_features::watch::{
    Conversation, ConversationPattern, SlowLimit, WatchError, WatchRequest, Watched, WatchedTransport,
    WhatIf, WhatIfError, WhatIfRecord, shown_page, slow_page, what_if_page,
};
use ipcost_lab::Lab;
use ipcost_model::units::duration_text;
use ipcost_model::{job_text, unknown};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::{driven_program, measuring, process_tree, transport};
use screen::{Pressed, Screen};
use session::WatchSession;

use crate::args::{RecordFiles, Waiting, WatchArgs, Whom};
use crate::exit::{Problem, note, step_printer};
use crate::measuring::{listen, meet_others};
use crate::output::{is_standard_output, keep_private, room, write_text};
use crate::progress::ProgressLine;
use crate::record_outputs;

/// How long is looked where no one says, and no one can end it.
const USUAL: Duration = Duration::from_secs(5);
/// How often slow requests of a row are shown again.
const LOOK: Duration = Duration::from_secs(1);
/// What a table that is redrawn tells of.
const LATELY: Duration = Duration::from_secs(3);

/// Looks for a while, and shows what was seen.
pub fn run(args: &WatchArgs) -> Result<ExitCode, Problem> {
    let files = RecordFiles::without_pictures(&args.files);
    record_outputs::check(&files).map_err(Problem::usage)?;
    check(args).map_err(Problem::usage)?;
    let interrupt = listen()?;
    let screen = Screen::open(args);
    let lasts = if screen.is_some() { args.lasts } else { Some(args.lasts.unwrap_or(USUAL)) };
    let request = request(args, lasts);
    let refused = |error: WatchError| Problem::usage(error.into());
    // Both would make calls longer that are followed; what is measured afterwards rests on them.
    let sees_calls = args.slow.is_none() || !args.what_if.is_empty();
    let mut session = WatchSession::begin(request, args.slow, sees_calls).map_err(refused)?;
    if screen.is_none() && !args.quiet {
        let time =
            lasts.map_or_else(|| "until Ctrl-C".to_owned(), |lasts| format!("for {}", duration_text(lasts)));
        note(&format!("watching {time}; Ctrl-C ends it early and shows what was seen"));
    }
    if args.trace {
        match session.trace(&interrupt) {
            Err(problem) if !interrupt.asked() => return Err(problem),
            _ => {}
        }
    }
    let (of_row, mut failed) = observe(args, &mut session, screen, lasts, &interrupt)?;
    let mut watched = Watched { what_if: of_row, ..session.watched(None) };
    // What is measured is not to bear what counts and samples calls.
    session.detach();
    if !args.what_if.is_empty() && !interrupt.asked() {
        match what_if(args, &watched, &interrupt) {
            Ok(record) => watched.what_if = Some(record),
            Err(problem) => failed = Some(Problem::failed(anyhow!("--what-if: {}", problem.text()))),
        }
    }
    let watched = shown(args, watched)?;
    let page = shown_page(&watched, args.details);
    if !args.redacting.redact && keep_private() && files.all().any(|path| !is_standard_output(path)) {
        note(
            "files are for root alone, since they tell of other users' programs; chown hands one on, --redact writes one for all",
        );
    }
    let terminal = || page.terminal(args.details, room());
    record_outputs::write_and_show(&watched, &files, &page, None, &terminal)?;
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}

fn request(args: &WatchArgs, lasts: Option<Duration>) -> WatchRequest {
    let flags = WatchRequest {
        pid: args.pid,
        port: args.port,
        path: args.path.clone(),
        command: args.command.clone(),
        lasts,
        own: process_tree::of_this(),
    };
    match args.whom.clone() {
        None => flags,
        Some(Whom::Process(pid)) => WatchRequest { pid: Some(pid), ..flags },
        Some(Whom::Port(port)) => WatchRequest { port: Some(port), ..flags },
        Some(Whom::Socket(path)) => WatchRequest { path: Some(path), ..flags },
        Some(Whom::Program(name)) => WatchRequest { command: Some(name), ..flags },
    }
}

/// What the arguments get wrong, before anything is looked at.
fn check(args: &WatchArgs) -> anyhow::Result<()> {
    let transports = transport::states();
    let known = transports.iter().map(|state| state.capabilities.name);
    if let Some(name) = args.what_if.iter().find(|name| !known.clone().any(|known| known == **name)) {
        bail!("--what-if: {}", unknown("transport", name, known));
    }
    if let Some(SlowLimit::Longer(limit)) = args.slow {
        let lasts = args.lasts.unwrap_or(USUAL);
        let [limit_text, time] = [limit, lasts].map(duration_text);
        ensure!(
            limit < lasts,
            "--slow {limit_text}: no request that long would be seen whole in {time}; watch longer with --for"
        );
    }
    ensure!(
        !(args.trace && request(args, None).is_any() && driven_program::is_root()),
        "--trace: root's strace would be attached to any program, init among them; name which, such as ipcost watch --trace redis-server"
    );
    Ok(())
}

/// Observes until the time is over, a key or a signal ends it, or it fails: what was measured last of a row, and the failure. What has
/// been seen is shown whatever fails.
fn observe(
    args: &WatchArgs,
    session: &mut WatchSession,
    mut screen: Option<Screen>,
    lasts: Option<Duration>,
    interrupt: &Interrupt,
) -> Result<(Option<WhatIfRecord>, Option<Problem>), Problem> {
    let mut of_row = None;
    let began = Instant::now();
    loop {
        let left = lasts.map_or(Duration::MAX, |lasts| lasts.saturating_sub(began.elapsed()));
        if left.is_zero() {
            return Ok((of_row, None));
        }
        // What was moved until it is asked to end is seen, even where an observation was at work just then.
        let rests = if interrupt.asked() { Duration::ZERO } else { left.min(session.rests()) };
        let mut pressed = Pressed::Nothing;
        if let Some(screen) = &mut screen {
            // Slow requests are few: all of them are told.
            let lately = args.slow.is_none().then_some(LATELY);
            screen.show(shown(args, session.watched(lately))?);
        }
        session.between(rests, |time| {
            match &mut screen {
                Some(screen) => pressed = screen.pressed(time),
                None => std::thread::sleep(time),
            }
            pressed != Pressed::Nothing || interrupt.asked()
        });
        let ends = pressed == Pressed::End || interrupt.asked();
        let observed = match (pressed, &mut screen) {
            (Pressed::Slow, Some(screen)) => {
                slow_of_row(args, session, screen, interrupt)?;
                session.observe().map(|()| None)
            }
            (Pressed::WhatIf, Some(screen)) => session.undisturbed(|| what_if_of_row(screen, interrupt)),
            _ => session.observe().map(|()| None),
        };
        match observed {
            Ok(record) => of_row = record.or(of_row),
            Err(error) => return Ok((of_row, Some(Problem::failed(error.into())))),
        }
        if ends {
            return Ok((of_row, None));
        }
    }
}

/// Measures what other transports would save the conversation that moves most.
fn what_if(args: &WatchArgs, watched: &Watched, interrupt: &Interrupt) -> Result<WhatIfRecord, Problem> {
    let moves = |conversation: &&Conversation| {
        conversation.requests_per_s.is_some() || conversation.manner == Some(ConversationPattern::Stream)
    };
    let conversation = watched.conversations.iter().find(moves).ok_or(WhatIfError::Nothing);
    let conversation = conversation.map_err(|error| Problem::usage(error.into()))?;
    let what_if = WhatIf::of(conversation, &args.what_if).map_err(|error| Problem::usage(error.into()))?;
    if let Some(path) = &args.job {
        let text = job_text(&what_if.job).context("this job fits into no file").map_err(Problem::failed)?;
        write_text(&text, path).map_err(Problem::failed)?;
    }
    measured(what_if, conversation, args.quiet, interrupt)
}

fn measured(
    what_if: WhatIf,
    conversation: &Conversation,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<WhatIfRecord, Problem> {
    let lab = Lab::open(&what_if.job, &mut step_printer(quiet))?;
    meet_others(quiet, Waiting::default(), &|| interrupt.asked())?;
    let mut line = ProgressLine::new(quiet);
    let record = what_if.measure(conversation, &lab, interrupt, &mut line);
    line.clear();
    Ok(record?)
}

/// Measures the row that is chosen over the transport that people ask for first, and shows it until a key is pressed.
fn what_if_of_row(screen: &mut Screen, interrupt: &Interrupt) -> Option<WhatIfRecord> {
    let conversation = screen.chosen()?.clone();
    let other = match conversation.medium {
        WatchedTransport::Unix | WatchedTransport::Socketpair | WatchedTransport::UnixSeqpacket => "tcp",
        WatchedTransport::Udp => "unix-dgram",
        WatchedTransport::UnixDgram => "udp",
        _ => "unix",
    };
    screen.text(
        &format!("Measuring it over {} and {other}, some 15 s …", conversation.medium),
        "Ctrl-C ends all",
    );
    let record = WhatIf::of(&conversation, &[other.to_owned()])
        .map_err(|error| Problem::usage(error.into()))
        .and_then(|what_if| measured(what_if, &conversation, true, interrupt));
    // Others wait for those that measure, and this goes on for hours, perhaps.
    measuring::unmark();
    let text = match &record {
        Ok(record) => what_if_page(record).terminal(false, room()),
        Err(problem) => problem.text(),
    };
    screen.text(&text, "any key goes back to what is seen from now on");
    screen.wait(&|| interrupt.asked());
    record.ok()
}

/// Shows why requests of the row that is chosen are slow, renewed each second, until a key is pressed. Requests are followed from now on.
fn slow_of_row(
    args: &WatchArgs,
    session: &mut WatchSession,
    screen: &mut Screen,
    interrupt: &Interrupt,
) -> Result<(), Problem> {
    let Some(chosen) = screen.chosen().cloned() else { return Ok(()) };
    session.follow_slow(args.slow.unwrap_or(SlowLimit::SlowestHundredth));
    loop {
        let watched = shown(args, session.watched(None))?;
        let text = slow_page(&watched, Some(&chosen)).terminal(args.details, room());
        screen.text(&text, "any key goes back; requests are followed from now on");
        let is_pressed = session.between(LOOK, |time| screen.is_pressed(time) || interrupt.asked());
        if is_pressed {
            return Ok(());
        }
        session.observe().map_err(|error| Problem::failed(error.into()))?;
    }
}

/// What is shown, with placeholders where that was asked for.
fn shown(args: &WatchArgs, watched: Watched) -> Result<Watched, Problem> {
    match args.redacting.redact {
        true => args.redacting.apply(watched.redacted()),
        false => Ok(watched),
    }
}
