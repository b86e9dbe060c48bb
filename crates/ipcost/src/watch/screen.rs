//! The table on a terminal, redrawn until a key ends it.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use ipcost_features::watch::{CHOSEN, Conversation, Watched, page, rows, slow_page};
use ipcost_sys::keys::Keys;

use crate::args::{RecordFiles, WatchArgs};
use crate::output::room;

/// Of a terminal that does not tell.
const USUAL_LINES: usize = 24;
/// How soon the rest of an arrow key follows its escape.
const REST_OF_KEY: Duration = Duration::from_millis(20);
/// How long is waited for a key once there is something to read.
const LONG: Duration = Duration::from_secs(3_600);

/// Ctrl-D, which a terminal also gives where what types into it has ended.
const END_OF_INPUT: u8 = 4;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// No key, or one that asks for nothing more.
    Nothing,
    /// What another transport would save the row.
    WhatIf,
    /// Why requests of the row are slow.
    Slow,
    End,
}

/// A terminal that shows the table, and what it showed before once this is dropped.
pub struct Screen {
    keys: Keys,
    details: bool,
    /// Whether slow requests are shown, and not the table.
    slow: bool,
    selected: usize,
    shown: Option<Watched>,
}

impl Screen {
    /// `None` where no one looks at it, or its result goes somewhere else.
    pub fn open(args: &WatchArgs) -> Option<Self> {
        let is_shown = args.lasts.is_none()
            && std::io::stdout().is_terminal()
            && RecordFiles::without_pictures(&args.files).all().next().is_none();
        let keys = is_shown.then(Keys::listen).flatten()?;
        draw("\x1b[?1049h\x1b[?25l");
        Some(Self { keys, details: args.details, slow: args.slow.is_some(), selected: 0, shown: None })
    }

    /// Shows what was seen in place of what it showed last.
    pub fn show(&mut self, watched: Watched) {
        let shown = rows(&watched, self.details);
        // Rows change their order with what they move; the one that is chosen stays chosen.
        let again = self.chosen().and_then(|chosen| shown.iter().position(|row| row.concerns(chosen)));
        self.selected = again.unwrap_or(self.selected).min(shown.len().saturating_sub(1));
        self.shown = Some(watched);
        self.draw_again();
    }

    fn draw_again(&self) {
        let Some(watched) = &self.shown else { return };
        if self.slow {
            let text = slow_page(watched, None).terminal(self.details, room());
            return self.text(&text, "q ends");
        }
        let text = page(watched, self.details, Some(self.selected)).terminal(self.details, room());
        self.text(&text, "q ends; arrows choose a row: s why it is slow, w what another would save");
    }

    /// Shows a text and a line below it; of a longer text, the part with the row that is chosen.
    pub fn text(&self, text: &str, last: &str) {
        let lines = terminal_size::terminal_size().map_or(USUAL_LINES, |(_, height)| usize::from(height.0));
        let room = lines.saturating_sub(1);
        let chosen = text.lines().position(|line| line.contains(CHOSEN)).unwrap_or(0);
        let before = (chosen + 1).saturating_sub(room);
        let shown: Vec<&str> = text.lines().skip(before).take(room).collect();
        draw(&format!("\x1b[H\x1b[J{}\r\n{last}", shown.join("\r\n")));
    }

    /// What moves most of the row that is chosen.
    pub fn chosen(&self) -> Option<&Conversation> {
        Some(rows(self.shown.as_ref()?, self.details).get(self.selected)?.most())
    }

    /// Waits so long for a key.
    pub fn pressed(&mut self, time: Duration) -> Pressed {
        let Some(key) = self.keys.pressed(time) else { return Pressed::Nothing };
        let key = match key {
            0x1b => match (self.keys.pressed(REST_OF_KEY), self.keys.pressed(REST_OF_KEY)) {
                (None, _) => return Pressed::End,
                (Some(b'['), Some(b'A')) => b'k',
                (Some(b'['), Some(b'B')) => b'j',
                _ => return Pressed::Nothing,
            },
            key => key,
        };
        match key {
            b'q' | b'Q' | END_OF_INPUT => Pressed::End,
            _ if self.slow => Pressed::Nothing,
            b'w' | b'W' => Pressed::WhatIf,
            b's' | b'S' => Pressed::Slow,
            b'j' => self.select(self.selected + 1),
            b'k' => self.select(self.selected.saturating_sub(1)),
            _ => Pressed::Nothing,
        }
    }

    fn select(&mut self, row: usize) -> Pressed {
        let count = self.shown.as_ref().map_or(0, |watched| rows(watched, self.details).len());
        self.selected = row.min(count.saturating_sub(1));
        self.draw_again();
        Pressed::Nothing
    }

    /// Waits so long for any key; whether one was pressed.
    pub fn is_pressed(&mut self, time: Duration) -> bool {
        self.keys.pressed(time).is_some()
    }

    /// Waits until some key is pressed.
    pub fn wait(&mut self, is_asked: &dyn Fn() -> bool) {
        const STEP: Duration = Duration::from_millis(200);
        let mut waited = Duration::ZERO;
        while waited < LONG && !is_asked() && self.keys.pressed(STEP).is_none() {
            waited += STEP;
        }
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
