//! Writes a notice along a route: one `write` for each notification, until somebody has taken it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::osc::{self, Notice, Wrap};
use super::route::{Attempt, Route};
use super::tty;
use crate::protocol::Protocol;

/// What came of a route.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Delivery {
    pub sent: Vec<Sent>,
    /// Terminals that did not take it, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// Terminals that show no notifications, with their names: nothing was written, a bell is all they understand.
    pub bell_only: Vec<(PathBuf, String)>,
    /// A client to be written to had been told already.
    pub told_before: bool,
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

/// Tries the attempts in order: the first that takes it ends the matter, with `route.all` each one is tried. `told` are the
/// clients that have had the same event already, by another way. Writes that wait end at `until`; an attempt after that still
/// gets one try.
#[must_use]
pub fn deliver(route: &Route, notice: &Notice, told: &[PathBuf], until: Instant) -> Delivery {
    let mut delivery = Delivery::default();
    for (number, attempt) in route.attempts.iter().enumerate() {
        let taken = !delivery.sent.is_empty() || delivery.told_before;
        if taken && (attempt.last_resort || !route.all) {
            continue;
        }
        if told.contains(&attempt.client) {
            delivery.told_before = true;
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
pub fn ring(tty: &Path, until: Instant) -> Result<(), String> {
    tty::write(tty, b"\x07", until)
}

fn bytes(attempt: &Attempt, notice: &Notice) -> Vec<u8> {
    let guarded = osc::guard_digits(notice.title);
    let title = if attempt.guard_digits { &guarded } else { notice.title };
    let sequence = osc::sequence(attempt.protocol, &Notice { title, ..*notice });
    let sequence = if attempt.ascii { osc::for_screen(&sequence) } else { sequence };
    osc::wrap(&sequence, attempt.wrap)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

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
            let tty = self.0.tty_name().expect("a name");
            Attempt {
                client: tty.clone(),
                client_pid: None,
                tty,
                through: Through::Client,
                protocol,
                wrap: Wrap::None,
                ascii: false,
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
            let ended = |bytes: &[u8]| [&b"\x07\x07"[..], b"\x1b\\\x07"].iter().any(|end| bytes.ends_with(end)) || bytes == b"\x07";
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
        send_text(route, "5 tests", &[])
    }

    fn send_text(route: &Route, title: &str, told: &[PathBuf]) -> Delivery {
        let (title, body) = (Text::new(title), Text::new("y"));
        deliver(route, &Notice { title: &title, body: &body, urgency: Urgency::Normal, id: "n", unfocused_only: false }, told, soon())
    }

    fn absent() -> Attempt {
        let tty = PathBuf::from("/dev/pts/99999999");
        Attempt { client: tty.clone(), tty, ..Terminal::new().attempt(Protocol::Osc777) }
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
    fn a_client_is_told_once_of_an_event() {
        let (first, second, pane) = (Terminal::new(), Terminal::new(), Terminal::new());
        let (told, other) = (first.attempt(Protocol::Osc777), second.attempt(Protocol::Osc777));
        // Its terminal is another one, its reader is the same: a control-mode client reads each pane.
        let by_pane = Attempt { client: told.client.clone(), ..pane.attempt(Protocol::Osc777) };
        let known = [told.client.clone()];
        for (attempts, all, sent) in [
            (vec![told.clone(), other.clone()], false, 0),
            (vec![by_pane.clone()], false, 0),
            (vec![by_pane, told, other.clone()], true, 1),
            (vec![other], false, 1),
        ] {
            let delivery = send_text(&Route { attempts, all, ..Route::default() }, "t", &known);
            assert_eq!((delivery.sent.len(), delivery.failed.len()), (sent, 0), "{delivery:?}");
            assert_eq!(delivery.told_before, all || sent == 0);
        }
        assert_eq!((first.received(), pane.received()), (String::new(), String::new()));
    }

    #[test]
    fn where_gnu_screen_may_lie_on_the_way_only_ascii_is_written() {
        let terminal = Terminal::new();
        let attempt = Attempt { ascii: true, wrap: Wrap::Tmux(1), ..terminal.attempt(Protocol::Osc777) };
        let delivery = send_text(&Route { attempts: vec![attempt], ..Route::default() }, "A — ě]0ĻBć…", &[]);
        assert_eq!(delivery.sent.len(), 1);
        assert_eq!(terminal.received(), "\x1bPtmux;\x1b\x1b]777;notify;A - ?]0?B?.;y\x07\x1b\\");
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
