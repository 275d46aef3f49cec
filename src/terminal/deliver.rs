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
