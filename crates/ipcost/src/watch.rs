//! `ipcost watch`: the programs that run, and what they say to each other.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ipcost_features::watch::{Eyes, Unseen, WATCH_SCHEMA, WatchError, WatchRequest, Watched, Watching, page};
use ipcost_lab::lab::envelope;
use ipcost_report::page::Page;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::keys::Keys;

use crate::args::{RecordFiles, WatchArgs};
use crate::exit::Problem;
use crate::output::room;
use crate::record_files;
use crate::run::listen;

/// How long is looked where no one says, and no one can end it.
const USUAL: Duration = Duration::from_secs(5);
/// Of a terminal that does not tell.
const USUAL_LINES: usize = 24;
/// What a table that is redrawn tells of.
const LATELY: Duration = Duration::from_secs(3);
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
    let mut screen = Screen::open(args);
    let lasts = match (&screen, args.lasts) {
        (None, None) => Some(USUAL),
        (_, lasts) => lasts,
    };
    let request = WatchRequest {
        pid: args.pid,
        port: args.port,
        path: args.path.clone(),
        command: args.command.clone(),
        lasts,
    };
    let refused = |error: WatchError| Problem::usage(error.into());
    let mut seeing = Seeing { eyes: Eyes::open().map_err(refused)?, watching: Watching::default(), request };
    let began = Instant::now();
    loop {
        seeing.look().map_err(refused)?;
        let left = lasts.map_or(EVERY, |lasts| lasts.saturating_sub(began.elapsed()));
        if left.is_zero() || interrupt.asked() {
            break;
        }
        let wait = left.min(EVERY);
        match &mut screen {
            Some(screen) => {
                if screen.show(&page(&seeing.watched(Some(LATELY))), wait, &interrupt) {
                    break;
                }
            }
            None => rest(wait, &interrupt),
        }
    }
    drop(screen);
    let watched = seeing.watched(None);
    let shown = page(&watched);
    let terminal = || shown.terminal(args.wide, room());
    record_files::write_and_show(&watched, &files, &shown, None, &terminal)?;
    Ok(ExitCode::SUCCESS)
}

/// What was looked at so far.
struct Seeing {
    eyes: Eyes,
    watching: Watching,
    request: WatchRequest,
}

impl Seeing {
    fn look(&mut self) -> Result<(), WatchError> {
        let look = self.eyes.look()?;
        self.watching.see(&look);
        if self.watching.looks() == 1 {
            self.watching.check(&self.request)?;
        }
        Ok(())
    }

    /// What was seen since the first look, or lately.
    fn watched(&self, lately: Option<Duration>) -> Watched {
        Watched {
            envelope: envelope(WATCH_SCHEMA),
            elapsed_s: self.watching.elapsed().as_secs_f64(),
            looks: self.watching.looks(),
            own_cpu: self.eyes.own_cpu(),
            conversations: self.watching.conversations(&self.request, lately),
            findings: Vec::new(),
            unseen: unseen(&self.watching, &self.eyes),
            request: self.request.clone(),
        }
    }
}

/// A terminal that shows the table anew, and the one from before once this is dropped.
struct Screen {
    keys: Keys,
    wide: bool,
}

impl Screen {
    /// `None` where no one looks at it, or its result goes somewhere else.
    fn open(args: &WatchArgs) -> Option<Self> {
        let is_shown = args.lasts.is_none() && std::io::stdout().is_terminal() && RecordFiles::without_pictures(&args.files).all().next().is_none();
        let keys = is_shown.then(Keys::listen).flatten()?;
        draw("\x1b[?1049h\x1b[?25l");
        Some(Self { keys, wide: args.wide })
    }

    /// Shows a page for a while; whether it is to end.
    fn show(&mut self, page: &Page<'_>, time: Duration, interrupt: &Interrupt) -> bool {
        const LAST: &str = "q ends";
        let text = page.terminal(self.wide, room());
        let lines = terminal_size::terminal_size().map_or(USUAL_LINES, |(_, height)| usize::from(height.0));
        let shown: Vec<&str> = text.lines().take(lines.saturating_sub(1)).collect();
        draw(&format!("\x1b[H\x1b[J{}\r\n{LAST}", shown.join("\r\n")));
        let until = Instant::now() + time;
        while !interrupt.asked() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if matches!(self.keys.pressed(left), Some(b'q' | b'Q' | 0x1b)) {
                return true;
            }
        }
        true
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
