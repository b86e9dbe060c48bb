//! Keys that are pressed while a table is redrawn (`termios(3)`).

use std::io::{IsTerminal, stdin};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal as it gives every key at once and shows none, until it is dropped.
#[derive(Debug)]
pub struct Keys {
    before: Termios,
}

impl Keys {
    /// Takes keys from standard input; `None` if that is no terminal.
    pub fn listen() -> Option<Self> {
        if !stdin().is_terminal() {
            return None;
        }
        let before = tcgetattr(stdin()).ok()?;
        let mut now = before.clone();
        // Signals stay, so that Ctrl-C does what it always does.
        now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Now, &now).ok()?;
        Some(Self { before })
    }

    /// The key that is pressed within this time, if one is.
    pub fn pressed(&mut self, within: Duration) -> Option<u8> {
        let stdin = stdin();
        let mut descriptors = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        let time = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
        // A signal ends the wait early.
        let ready = poll(&mut descriptors, Some(&time)).unwrap_or(0);
        let mut key = [0];
        // Not through the buffer of `stdin`: what that holds no poll tells of.
        (ready > 0 && rustix::io::read(&stdin, &mut key).ok()? == 1).then_some(key[0])
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}
