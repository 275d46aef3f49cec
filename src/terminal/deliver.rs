//! Writes a notice along a route: one `write` for each notification, until somebody has taken it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::osc::{self, Notice, Wrap};
use super::route::{Attempt, Route};
use super::tty;
use crate::protocol::Protocol;

/// How long full terminals are waited for, all attempts together.
const PATIENCE: Duration = Duration::from_millis(400);

/// What came of a route.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Delivery {
    pub sent: Vec<Sent>,
    /// Terminals that did not take it, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// Terminals that show no notifications, with their names: nothing was written, a bell is all they understand.
    pub bell_only: Vec<(PathBuf, String)>,
}

/// One notification that was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sent {
    pub tty: PathBuf,
    /// Including the wrap.
    pub bytes: usize,
    pub protocol: Protocol,
    pub wrap: Wrap,
    pub terminal: String,
    /// Number of the attempt in the route.
    pub attempt: usize,
}

/// Tries the attempts in order: the first that takes it ends the matter, with `route.all` each one is tried. Writes that wait
/// end by the deadline and after 400 ms in all; an attempt after that still gets one try.
#[must_use]
pub fn deliver(route: &Route, notice: &Notice, deadline: Instant) -> Delivery {
    let until = deadline.min(Instant::now() + PATIENCE);
    let mut delivery = Delivery::default();
    for (number, attempt) in route.attempts.iter().enumerate() {
        let done = !delivery.sent.is_empty() && (attempt.last_resort || !route.all);
        if done {
            continue;
        }
        if attempt.protocol == Protocol::Bel {
            delivery.bell_only.push((attempt.tty.clone(), attempt.terminal.clone()));
            continue;
        }
        let bytes = bytes(attempt, notice);
        match tty::write(&attempt.tty, &bytes, until) {
            Ok(()) => delivery.sent.push(Sent {
                tty: attempt.tty.clone(),
                bytes: bytes.len(),
                protocol: attempt.protocol,
                wrap: attempt.wrap,
                terminal: attempt.terminal.clone(),
                attempt: number,
            }),
            Err(reason) => delivery.failed.push((attempt.tty.clone(), reason)),
        }
    }
    delivery
}

/// Writes one BEL, the bell road's whole message. In tmux this goes to the pane and last: under `visual-bell` it becomes a
/// status message, which holds passthrough back while it is shown.
///
/// # Errors
/// In words: the path is no terminal of this user, or it does not take the byte in time.
pub fn ring(tty: &Path, deadline: Instant) -> Result<(), String> {
    tty::write(tty, b"\x07", deadline.min(Instant::now() + PATIENCE))
}

fn bytes(attempt: &Attempt, notice: &Notice) -> Vec<u8> {
    let guarded = osc::guard_digits(notice.title);
    let title = if attempt.guard_digits { &guarded } else { notice.title };
    osc::wrap(&osc::sequence(attempt.protocol, &Notice { title, ..*notice }), attempt.wrap)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use portable_pty::{MasterPty, PtySize, native_pty_system};

    use super::super::osc::Urgency;
    use super::super::route::Through;
    use super::*;
    use crate::event::Text;

    /// Plays a terminal. The slave stays open, as it does below a client: without one a write would wait for nobody.
    struct Terminal(Box<dyn MasterPty + Send>, #[expect(dead_code, reason = "held open")] Box<dyn portable_pty::SlavePty + Send>);

    impl Terminal {
        fn new() -> Self {
            let pair = native_pty_system().openpty(PtySize::default()).expect("a pty");
            Self(pair.master, pair.slave)
        }

        fn attempt(&self, protocol: Protocol) -> Attempt {
            Attempt {
                tty: self.0.tty_name().expect("a name"),
                through: Through::Client,
                protocol,
                wrap: Wrap::None,
                terminal: "Test".to_owned(),
                hops: Vec::new(),
                last_resort: false,
                guard_digits: false,
            }
        }

        /// All that has arrived, up to a mark that is written now.
        fn received(&self) -> String {
            ring(&self.0.tty_name().expect("a name"), soon()).expect("a bell");
            let mut reader = self.0.try_clone_reader().expect("a reader");
            let (mut bytes, mut byte) = (Vec::new(), [0]);
            let ended = |bytes: &[u8]| bytes == b"\x07" || bytes.ends_with(b"\x07\x07");
            while !ended(&bytes) {
                reader.read_exact(&mut byte).expect("a byte");
                bytes.push(byte[0]);
            }
            bytes.pop();
            String::from_utf8(bytes).expect("UTF-8")
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(400)
    }

    fn send(route: &Route) -> Delivery {
        let (title, body) = (Text::new("5 tests"), Text::new("y"));
        deliver(route, &Notice { title: &title, body: &body, urgency: Urgency::Normal, id: "n", unfocused_only: false }, soon())
    }

    fn absent() -> Attempt {
        Attempt { tty: "/dev/pts/99999999".into(), ..Terminal::new().attempt(Protocol::Osc777) }
    }

    #[test]
    fn the_first_that_takes_it_ends_the_matter() {
        let (first, second) = (Terminal::new(), Terminal::new());
        let attempts = vec![absent(), first.attempt(Protocol::Osc777), second.attempt(Protocol::Osc777)];
        let delivery = send(&Route { attempts, ..Route::default() });
        assert_eq!(delivery.sent.iter().map(|sent| (sent.attempt, sent.bytes)).collect::<Vec<_>>(), [(1, 23)]);
        assert_eq!(delivery.failed.len(), 1);
        assert_eq!((first.received().as_str(), second.received().as_str()), ("\x1b]777;notify;5 tests;y\x07", ""));
    }

    #[test]
    fn with_all_clients_each_gets_one_and_the_pane_none() {
        let (first, second, pane) = (Terminal::new(), Terminal::new(), Terminal::new());
        let last = Attempt { last_resort: true, ..pane.attempt(Protocol::Osc777) };
        let attempts = vec![first.attempt(Protocol::Osc777), second.attempt(Protocol::Osc9), last];
        let delivery = send(&Route { attempts, all: true, ..Route::default() });
        assert_eq!(delivery.sent.len(), 2);
        assert_eq!(first.received(), "\x1b]777;notify;5 tests;y\x07");
        assert_eq!(second.received(), "\x1b]9;· 5 tests: y\x07");
        assert_eq!(pane.received(), "");
    }

    #[test]
    fn a_terminal_without_notifications_gets_no_byte_and_is_named() {
        let (silent, next) = (Terminal::new(), Terminal::new());
        let attempts = vec![silent.attempt(Protocol::Bel), Attempt { guard_digits: true, ..next.attempt(Protocol::Osc777) }];
        let delivery = send(&Route { attempts, ..Route::default() });
        assert_eq!(delivery.bell_only, [(silent.0.tty_name().expect("a name"), "Test".to_owned())]);
        assert_eq!((silent.received().as_str(), next.received().as_str()), ("", "\x1b]777;notify;· 5 tests;y\x07"));
    }

    #[test]
    fn where_nobody_takes_it_each_reason_is_told() {
        let delivery = send(&Route { attempts: vec![absent(), absent()], ..Route::default() });
        assert!(delivery.sent.is_empty() && delivery.failed.len() == 2);
        assert!(ring(Path::new("/dev/null"), soon()).is_err());
    }
}
