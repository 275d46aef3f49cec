//! What the black-box tests share: a hermetic place to run the program in, a played terminal, private tmux servers, and a
//! reader of terminal streams that shares no code with the program. Knows the program only by its command line.

#![allow(dead_code, unused_imports, reason = "every test crate uses its own part of this module")]

pub mod command;
pub mod payload;
pub mod reader;
pub mod sandbox;
pub mod sender;
pub mod sshd;
pub mod terminal;
pub mod text;
pub mod tmux;

pub use command::{Command, Job, Outcome};
pub use payload::Payload;
pub use reader::{Notification, Protocol, bells, notifications};
pub use sandbox::Sandbox;
pub use sender::Sender;
pub use terminal::{OuterTerminal, Persona};
pub use tmux::TmuxServer;

use std::time::{Duration, Instant};

/// How long anything that must happen may take: generous, since these tests share loaded machines.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Asks again until there is an answer, for at most `limit`.
pub fn until<T>(limit: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = probe() {
            return Some(answer);
        }
        if Instant::now() > end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Like [`until`] with [`PATIENCE`]; a panic that says what did not happen.
#[track_caller]
pub fn eventually<T>(what: &str, probe: impl FnMut() -> Option<T>) -> T {
    until(PATIENCE, probe).unwrap_or_else(|| panic!("this did not happen in {} s: {what}", PATIENCE.as_secs()))
}

/// The process is gone, or only waits for init to take note of its end.
#[must_use]
pub fn has_ended(process: rustix::process::Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('Z'))
}

/// Does something when a test ends, however it ends.
pub struct AtEnd<Action: FnMut()>(pub Action);

impl<Action: FnMut()> Drop for AtEnd<Action> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Says why a test does nothing on this machine.
pub fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// Escape sequences made readable, for messages and snapshots.
pub fn visible(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .map(|character| if character.is_control() { format!("{}", character.escape_default()) } else { character.to_string() })
        .collect()
}
