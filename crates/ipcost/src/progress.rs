//! Progress on a terminal, drawn between batches only.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ipcost_lab::progress::{Observer, Phase, Progress};
use ipcost_model::escaped_but_styles;
use ipcost_model::units::duration_text;

use crate::exit::note;

const STEPS: u64 = 1000;
/// The least time between two drawings: a drawing costs more than a message to a peer.
const PAUSE: Duration = Duration::from_millis(200);

/// A bar on standard error, with what stands beside it; hidden where it was asked to be quiet or standard error
/// is no terminal.
pub fn bar(quiet: bool, length: u64, beside: &str) -> ProgressBar {
    let hidden = quiet || !std::io::stderr().is_terminal();
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    let style = ProgressStyle::with_template(&format!("{{prefix}}{{bar:24.cyan/dim}} {beside}"));
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
    bar
}

/// A line on standard error, beneath what is known so far.
pub struct ProgressLine {
    bar: ProgressBar,
    quiet: bool,
    /// When the first of several steps began.
    began: Option<Instant>,
    drawn: Option<Instant>,
    /// By which epoch there are intervals; before, nothing can be answered.
    needed: u32,
}

/// The columns and lines of the terminal on standard error that there are beside the line itself; `None` where it cannot go back
/// over more than one line.
fn room() -> Option<(usize, usize)> {
    let dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    let (width, height) = terminal_size::terminal_size_of(std::io::stderr()).filter(|_| !dumb)?;
    Some((usize::from(width.0).saturating_sub(1), usize::from(height.0).saturating_sub(3)))
}

impl ProgressLine {
    /// One that is drawn; or not, where it was asked to be quiet or standard error is no terminal.
    pub fn new(quiet: bool) -> Self {
        Self { bar: bar(quiet, STEPS, "{msg}"), quiet, began: None, drawn: None, needed: 0 }
    }

    /// Tells by which epoch there are intervals.
    pub fn expect(&mut self, epoch: u32) {
        self.needed = epoch;
    }

    /// Shows text above the line that `draw` makes to fit so many columns and lines; does nothing where no one looks on.
    pub fn above(&self, draw: impl FnOnce(usize, usize) -> String) {
        if let Some((width, height)) = room().filter(|_| !self.bar.is_hidden()) {
            let styles = anstream::stderr();
            let text = escaped_but_styles(&draw(width, height));
            let text = if styles.current_choice() == anstream::ColorChoice::Never {
                anstream::adapter::strip_str(&text).to_string()
            } else {
                text
            };
            self.bar.set_prefix(text);
        }
    }

    /// Takes it away, until there is something to show again.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Draws it, with so much done.
    fn draw(&mut self, done: f64, message: String) {
        if self.bar.is_finished() {
            self.bar.reset();
        }
        self.drawn = Some(Instant::now());
        self.bar.set_position((done * STEPS as f64) as u64);
        self.bar.set_message(message);
        self.bar.tick();
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Observer for ProgressLine {
    fn progress(&mut self, progress: &Progress) {
        if self.bar.is_hidden() || self.drawn.is_some_and(|drawn| drawn.elapsed() < PAUSE) {
            return;
        }
        let what = match progress.phase {
            Phase::Calibrating => "calibrating".to_owned(),
            Phase::Measuring { epoch, of, resolved, questions } => {
                let answered = match (questions, resolved) {
                    (0, _) => String::new(),
                    (_, 0) if epoch < self.needed => format!(", intervals by epoch {}", self.needed),
                    _ => format!(", {resolved} of {questions} answered"),
                };
                format!("epoch {epoch} of {of}{answered}")
            }
        };
        self.draw(progress.done, format!("{what}, at most {} left", duration_text(progress.left)));
    }

    fn step(&mut self, done: u64, of: u64, what: &str) {
        if done == of {
            return self.clear();
        }
        let began = self.began.filter(|_| done > 0).unwrap_or_else(Instant::now);
        self.began = Some(began);
        let left = (began.elapsed() / done.max(1) as u32).saturating_mul((of - done) as u32);
        let left = if done == 0 { String::new() } else { format!(", {} left", duration_text(left)) };
        self.draw(done as f64 / of as f64, format!("{done} of {of}{left}: {what}"));
    }

    fn note(&mut self, text: &str) {
        self.clear();
        if !self.quiet {
            note(text);
        }
    }

    fn estimate(&mut self, text: &str) {
        note(text);
    }
}
