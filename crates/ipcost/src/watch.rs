//! `ipcost watch`: the programs that run, and what they say to each other.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use ipcost_features::watch::{
    Conversation, Eyes, Manner, Sampling, Unseen, WATCH_SCHEMA, WatchError, WatchRequest, Watched, Watching,
    WhatIf, WhatIfError, WhatIfRecord, page, waits,
};
use ipcost_lab::attached::attached;
use ipcost_lab::lab::envelope;
use ipcost_lab::{Lab, watch_ends};
use ipcost_model::units::duration_text;
use ipcost_model::{job_text, unknown};
use ipcost_report::page::Page;
use ipcost_sys::facts;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::keys::Keys;
use ipcost_sys::transport;

use crate::args::{RecordFiles, Waiting, WatchArgs};
use crate::exit::{Problem, note, teller};
use crate::output::{room, write_text};
use crate::progress::Line;
use crate::record_files;
use crate::run::{listen, meet_others};

/// How long is looked where no one says, and no one can end it.
const USUAL: Duration = Duration::from_secs(5);
/// Of a terminal that does not tell.
const USUAL_LINES: usize = 24;
/// What a table that is redrawn tells of.
const LATELY: Duration = Duration::from_secs(3);
/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Between two glances at who waits.
const GLANCE: Duration = Duration::from_millis(100);
/// How long strace is attached.
const TRACED: Duration = Duration::from_secs(1);
/// How long connections are watched between two looks that may wait for acknowledgements.
const WATCHED: Duration = Duration::from_millis(250);

/// Looks for a while, and shows what was seen.
///
/// # Errors
/// What is wrong with the arguments, or that nothing can be seen.
pub fn run(args: &WatchArgs) -> Result<ExitCode, Problem> {
    let files = RecordFiles::without_pictures(&args.files);
    record_files::check(&files).map_err(Problem::usage)?;
    let interrupt = listen()?;
    let mut screen = Screen::open(args);
    let lasts = match (&screen, args.lasts) {
        (None, None) => Some(USUAL),
        (_, lasts) => lasts,
    };
    let transports = transport::states();
    let known = transports.iter().map(|state| state.capabilities.name);
    if let Some(name) = args.what_if.iter().find(|name| !known.clone().any(|known| known == **name)) {
        return Err(Problem::usage(anyhow!("--what-if: {}", unknown("transport", name, known))));
    }
    let request = WatchRequest {
        pid: args.pid,
        port: args.port,
        path: args.path.clone(),
        command: args.command.clone(),
        lasts,
    };
    let refused = |error: WatchError| Problem::usage(error.into());
    let mut seeing = Seeing::open(request).map_err(refused)?;
    seeing.look().map_err(refused)?;
    if screen.is_none() && !args.quiet {
        let time =
            lasts.map_or_else(|| "until Ctrl-C".to_owned(), |lasts| format!("for {}", duration_text(lasts)));
        note(&format!("watching {time}; Ctrl-C ends it early and shows what was seen"));
    }
    if args.trace {
        seeing.trace(&interrupt, args.quiet)?;
    }
    let began = Instant::now();
    loop {
        let left = lasts.map_or(EVERY, |lasts| lasts.saturating_sub(began.elapsed()));
        if left.is_zero() || interrupt.asked() {
            break;
        }
        let rests = left.min(EVERY);
        let ended = match &mut screen {
            Some(screen) => {
                screen.show(&page(&shown(args, seeing.watched(Some(LATELY)))?, args.wide));
                seeing.between(rests, |time| screen.ended(time) || interrupt.asked())
            }
            None => seeing.between(rests, |time| {
                std::thread::sleep(time);
                interrupt.asked()
            }),
        };
        seeing.look().map_err(refused)?;
        if ended {
            break;
        }
    }
    drop(screen);
    let mut watched = seeing.watched(None);
    if !args.what_if.is_empty() {
        watched.what_if = Some(what_if(args, &watched, &interrupt)?);
    }
    let watched = shown(args, watched)?;
    let page = page(&watched, args.wide);
    let terminal = || page.terminal(args.wide, room());
    record_files::write_and_show(&watched, &files, &page, None, &terminal)?;
    Ok(ExitCode::SUCCESS)
}

/// Measures what other transports would save the conversation that moves most.
fn what_if(args: &WatchArgs, watched: &Watched, interrupt: &Interrupt) -> Result<WhatIfRecord, Problem> {
    let moves = |told: &&Conversation| told.requests_per_s.is_some() || told.manner == Some(Manner::Stream);
    let told = watched.conversations.iter().find(moves).ok_or(WhatIfError::Nothing);
    let told = told.map_err(|error| Problem::usage(error.into()))?;
    let what_if = WhatIf::of(told, &args.what_if).map_err(|error| Problem::usage(error.into()))?;
    if let Some(path) = &args.job {
        let text = job_text(&what_if.job).context("this job fits into no file").map_err(Problem::failed)?;
        write_text(&text, path).map_err(Problem::failed)?;
    }
    let lab = Lab::open(&what_if.job, &mut teller(args.quiet))?;
    meet_others(args.quiet, Waiting::default(), &|| interrupt.asked())?;
    let mut line = Line::new(args.quiet);
    let record = what_if.measure(told, &lab, interrupt, &mut line);
    line.clear();
    Ok(record?)
}

/// What is shown, with placeholders where that was asked for.
fn shown(args: &WatchArgs, watched: Watched) -> Result<Watched, Problem> {
    match args.redacting.redact {
        true => args.redacting.apply(watched.redacted()),
        false => Ok(watched),
    }
}

/// What was looked at so far.
struct Seeing {
    eyes: Eyes,
    watching: Watching,
    request: WatchRequest,
    ports: Option<u64>,
    /// What samples calls, or why nothing does.
    sampling: Result<Sampling, String>,
}

impl Seeing {
    fn open(request: WatchRequest) -> Result<Self, WatchError> {
        let ports = facts::network().ip_local_port_range;
        let ports = ports.map(|[first, last]| last.saturating_add(1).saturating_sub(first));
        let eyes = Eyes::open()?;
        let sampling = Sampling::start(eyes.counts_calls()).map_err(|error| error.to_string());
        Ok(Self { eyes, watching: Watching::default(), request, ports, sampling })
    }

    fn look(&mut self) -> Result<(), WatchError> {
        let windows = self.sampling.as_ref().map(Sampling::take).unwrap_or_default();
        let look = self.eyes.look()?;
        self.watching.see(&look);
        self.watching.sampled(&windows, look.counted.as_deref());
        if self.watching.looks() == 1 {
            self.watching.check(&self.request)?;
        }
        Ok(())
    }

    /// Attaches strace for a second to what nothing counts, and says so.
    fn trace(&mut self, interrupt: &Interrupt, quiet: bool) -> Result<(), Problem> {
        let processes = self.watching.traceable(&self.request);
        if processes.is_empty() {
            note(
                "--trace: no conversation that fits is without counters, so that strace is attached to nothing",
            );
            return Ok(());
        }
        if !quiet {
            let shown: Vec<String> = processes.iter().map(|id| self.watching.name(*id)).collect();
            note(&format!(
                "strace is attached to {} for a second; their calls take longer meanwhile",
                shown.join(", ")
            ));
        }
        // Windows of calls that are slow would say what strace costs.
        self.sampling = Err("strace is attached instead".to_owned());
        let traced =
            attached(&processes, TRACED, interrupt).map_err(|error| Problem::failed(error.into()))?;
        let look = self.eyes.look().map_err(|error| Problem::failed(error.into()))?;
        self.watching.see(&look);
        self.watching.traced(&traced);
        Ok(())
    }

    /// Spends the time between two looks: glances at who waits, and watches connections that may wait for acknowledgements.
    fn between(&mut self, time: Duration, mut rest: impl FnMut(Duration) -> bool) -> bool {
        let until = Instant::now() + time;
        let suspects = self.watching.suspects();
        if !suspects.is_empty() && time > WATCHED {
            let seen = watch_ends(&suspects, WATCHED).unwrap_or_default();
            self.watching.held_back(seen, WATCHED);
        }
        let writers = self.watching.writers();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if rest(left.min(GLANCE)) {
                return true;
            }
            self.watching.glance(&waits(writers.iter().copied()));
        }
    }

    fn unseen(&self, all: &[Conversation]) -> Vec<Unseen> {
        let mut found = self.watching.unseen(all, self.sampling.as_ref().err());
        if !self.eyes.sees_closing() {
            found.push(Unseen {
                what: "Connections that close between two looks".to_owned(),
                why: "the kernel tells only root of them".to_owned(),
                remedy: "Run as root to count them".to_owned(),
            });
        }
        if self.eyes.closed_networks() > 0 {
            found.push(Unseen {
                what: format!("{} other network namespaces", self.eyes.closed_networks()),
                why: "this user may not enter them".to_owned(),
                remedy: "Run as root to see the containers' connections".to_owned(),
            });
        }
        found
    }

    /// What was seen since the first look, or lately.
    fn watched(&self, lately: Option<Duration>) -> Watched {
        let all = self.watching.conversations(&self.request, None);
        let (findings, unseen) = (self.watching.findings(&all, &self.request, self.ports), self.unseen(&all));
        Watched {
            envelope: envelope(WATCH_SCHEMA),
            elapsed_s: self.watching.elapsed().as_secs_f64(),
            looks: self.watching.looks(),
            own_cpu: self.eyes.own_cpu(),
            sampled: self.watching.sample(),
            traced: self.watching.trace(),
            counts_calls: self.eyes.counts_calls(),
            conversations: match lately {
                Some(_) => self.watching.conversations(&self.request, lately),
                None => all,
            },
            findings,
            unseen,
            what_if: None,
            request: self.request.clone(),
        }
    }
}

/// A terminal that shows the table, and what it showed before once this is dropped.
struct Screen {
    keys: Keys,
    wide: bool,
}

impl Screen {
    /// `None` where no one looks at it, or its result goes somewhere else.
    fn open(args: &WatchArgs) -> Option<Self> {
        let is_shown = args.lasts.is_none()
            && std::io::stdout().is_terminal()
            && RecordFiles::without_pictures(&args.files).all().next().is_none();
        let keys = is_shown.then(Keys::listen).flatten()?;
        draw("\x1b[?1049h\x1b[?25l");
        Some(Self { keys, wide: args.wide })
    }

    /// Shows a page in place of the last one.
    fn show(&mut self, page: &Page<'_>) {
        const LAST: &str = "q ends";
        let text = page.terminal(self.wide, room());
        let lines = terminal_size::terminal_size().map_or(USUAL_LINES, |(_, height)| usize::from(height.0));
        let shown: Vec<&str> = text.lines().take(lines.saturating_sub(1)).collect();
        draw(&format!("\x1b[H\x1b[J{}\r\n{LAST}", shown.join("\r\n")));
    }

    /// Waits so long for a key; whether it is one that ends.
    fn ended(&mut self, time: Duration) -> bool {
        matches!(self.keys.pressed(time), Some(b'q' | b'Q' | 0x1b))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        draw("\x1b[?25h\x1b[?1049l");
    }
}

fn draw(text: &str) {
    let mut out = std::io::stdout();
    // Where no one reads any more, nothing is to be said.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
