//! From the scene to a list of attempts: which tty, wrapped how, in which protocol, or why none. Pure.

use std::path::PathBuf;

use super::identify::{Identity, Multiplexer, Preferences, clean};
use super::osc::Wrap;
use super::scene::{Behind, Layer, Link, OwnWay, Scene, Tmux};
use crate::protocol::Protocol;

/// What is to be tried, in this order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Route {
    pub attempts: Vec<Attempt>,
    /// Each client gets it; otherwise the first that takes it ends the matter.
    pub all: bool,
    /// Where a BEL goes: the pane's tty, whose bell flag outlives until the next attach; outside tmux the own terminal.
    pub bell: Option<PathBuf>,
    /// tmux runs, nobody is attached.
    pub detached: bool,
    /// The layers up to the one where nobody is attached; otherwise empty, as each attempt has its own.
    pub hops: Vec<Hop>,
    /// Why there is no attempt.
    pub trouble: Option<Trouble>,
    /// Why tmux was passed over although `TMUX` is set.
    pub tmux_trouble: Option<String>,
}

/// One write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Attempt {
    pub tty: PathBuf,
    pub through: Through,
    pub protocol: Protocol,
    pub wrap: Wrap,
    /// GNU screen may lie on the way: see [`super::for_screen`].
    pub ascii: bool,
    /// Whom it reaches: the tty of the client, also where the write goes to the pane; outside tmux the tty itself.
    pub client: PathBuf,
    pub client_pid: Option<u32>,
    /// The terminal, as far as it is known: `Ghostty 1.3.1`.
    pub terminal: String,
    /// From here outwards, without the terminal.
    pub hops: Vec<Hop>,
    /// Reaches every client at once, and only panes on screen: not for a notification that has been taken already.
    pub last_resort: bool,
    /// The multiplexer renders it as an OSC 9, where a leading digit is a command.
    pub guard_digits: bool,
}

impl Route {
    /// The attempt that will be written, if its terminal takes it; where none shows notifications, the first.
    #[must_use]
    pub fn likely(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.protocol != Protocol::Bel).or_else(|| self.attempts.first())
    }

    /// Whom a bell reaches as well: nobody on the way shows notifications.
    #[must_use]
    pub fn is_bell_only(&self) -> bool {
        !self.attempts.is_empty() && self.attempts.iter().all(|attempt| attempt.protocol == Protocol::Bel)
    }
}

/// What is written to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Through {
    /// The tty of a tmux client.
    Client,
    /// The pane's tty, unwrapped: a control-mode client reads it in `%output`.
    ControlMode,
    /// The pane's tty, wrapped: the clients' own ttys cannot be written.
    Pane,
    ControllingTerminal,
    /// The controlling terminal of an ancestor.
    Ancestor,
    SshTty,
}

/// A station on the way.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Hop {
    /// `client` is `None` where the way leads through the pane.
    Tmux {
        version: String,
        client: Option<PathBuf>,
    },
    /// A tmux that was not asked, with its version if it told.
    HiddenTmux {
        version: Option<String>,
    },
    Screen,
    Zellij,
    /// The own terminal, outside tmux.
    Own {
        tty: PathBuf,
    },
}

/// Why nothing can be sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trouble {
    /// A bell waits for the next attach.
    Detached,
    /// No terminal anywhere above this process.
    NoTerminal,
}

/// Decides.
#[must_use]
pub fn route(scene: &Scene, preferences: &Preferences) -> Route {
    match &scene.tmux {
        Tmux::Known(layer) => through_tmux(layer, preferences),
        Tmux::Absent | Tmux::Unknown(_) => to_own_terminal(scene, preferences),
    }
}

fn through_tmux(layer: &Layer, preferences: &Preferences) -> Route {
    let mut search = Search { preferences, attempts: Vec::new(), dead_end: Vec::new() };
    search.through(layer, &[]);
    let Search { attempts, dead_end, .. } = search;
    let detached = attempts.is_empty();
    Route {
        attempts,
        all: preferences.all_clients,
        bell: Some(layer.pane.tty.clone()),
        detached,
        hops: if detached { dead_end } else { Vec::new() },
        trouble: detached.then_some(Trouble::Detached),
        tmux_trouble: None,
    }
}

/// From the innermost layer outwards.
struct Search<'a> {
    preferences: &'a Preferences,
    attempts: Vec<Attempt>,
    /// The way to a layer without clients.
    dead_end: Vec<Hop>,
}

impl Search<'_> {
    /// All clients of one layer and what is behind them, then the layer's pane.
    fn through(&mut self, layer: &Layer, way: &[Hop]) {
        let version = clean(&layer.pane.version);
        let hop = |client: Option<PathBuf>| Hop::Tmux { version: version.clone(), client };
        if layer.clients.is_empty() {
            self.dead_end = then(way, hop(None));
        }
        let mut last_resort = None;
        for link in layer.in_order() {
            if link.client.control {
                let attempt = self.attempt(layer.pane.tty.clone(), Through::ControlMode, Wrap::None, link);
                self.add(Attempt { hops: then(way, hop(None)), ..attempt });
                continue;
            }
            let client = link.tty();
            if let Behind::Outer(outer) = &link.behind {
                self.through(outer, &then(way, hop(client)));
                continue;
            }
            let (wrap, hidden) = link.beyond(self.preferences);
            if let Some(tty) = client {
                let attempt = self.attempt(tty.clone(), Through::Client, wrap, link);
                let hops = then(way, hop(Some(tty))).into_iter().chain(hidden.clone()).collect();
                self.add(Attempt { hops, ..attempt });
            }
            if link.terminal().choose(self.preferences) != Protocol::Bel {
                last_resort.get_or_insert((link, wrap, hidden));
            }
        }
        // Where no client's tty can be written (they belong to another user), the pane passes a DCS on to whoever shows it.
        if let Some((link, wrap, hidden)) = last_resort.filter(|_| layer.pane.passthrough)
            && let Some(wrap) = one_more(wrap)
        {
            let attempt = self.attempt(layer.pane.tty.clone(), Through::Pane, wrap, link);
            let hops = then(way, hop(None)).into_iter().chain(hidden).collect();
            // All clients get it, not this one only.
            self.add(Attempt { hops, last_resort: true, ascii: layer.may_pass_screen(), ..attempt });
        }
    }

    fn attempt(&self, tty: PathBuf, through: Through, wrap: Wrap, link: &Link) -> Attempt {
        let attempt = attempt(tty, through, wrap, &link.terminal(), self.preferences);
        let client = link.tty().unwrap_or_else(|| attempt.tty.clone());
        Attempt { ascii: link.may_be_screen(), client, client_pid: link.client.pid, ..attempt }
    }

    /// Two control-mode clients read one pane, and two inner clients may sit behind one outer one: a tty gets one copy.
    fn add(&mut self, attempt: Attempt) {
        let same = |known: &Attempt| known.tty == attempt.tty && known.wrap == attempt.wrap;
        if !self.attempts.iter().any(same) {
            self.attempts.push(attempt);
        }
    }
}

fn to_own_terminal(scene: &Scene, preferences: &Preferences) -> Route {
    let (wrap, hop) = match scene.multiplexer {
        Multiplexer::None => (Wrap::None, None),
        Multiplexer::Zellij => (Wrap::None, Some(Hop::Zellij)),
        Multiplexer::Screen => (Wrap::Screen, Some(Hop::Screen)),
        Multiplexer::Tmux | Multiplexer::TmuxOrScreen => (hidden_layers(preferences), Some(Hop::HiddenTmux { version: None })),
    };
    let attempts: Vec<Attempt> = scene
        .own
        .iter()
        .map(|(tty, way)| Attempt {
            hops: std::iter::once(Hop::Own { tty: tty.clone() }).chain(hop.clone()).collect(),
            guard_digits: scene.multiplexer == Multiplexer::Zellij,
            ascii: scene.multiplexer.may_be_screen(),
            ..attempt(tty.clone(), way.through(), wrap, &scene.identity, preferences)
        })
        .collect();
    Route {
        bell: attempts.first().map(|attempt| attempt.tty.clone()),
        trouble: attempts.is_empty().then_some(Trouble::NoTerminal),
        attempts,
        all: false,
        detached: false,
        hops: Vec::new(),
        tmux_trouble: scene.tmux_trouble().map(str::to_owned),
    }
}

impl Link {
    fn tty(&self) -> Option<PathBuf> {
        Some(self.client.tty.clone()).filter(|tty| !tty.as_os_str().is_empty())
    }

    fn terminal(&self) -> Identity {
        match &self.behind {
            Behind::Terminal(identity) => identity.clone(),
            Behind::HiddenTmux | Behind::Outer(_) => {
                let name = if self.client.termtype.is_empty() { &self.client.termname } else { &self.client.termtype };
                Identity::behind(name)
            }
            Behind::Screen => Identity::behind("screen"),
        }
    }

    /// The wrap for the client's tty, and the multiplexer that takes it off.
    fn beyond(&self, preferences: &Preferences) -> (Wrap, Option<Hop>) {
        match &self.behind {
            Behind::Terminal(_) | Behind::Outer(_) => (Wrap::None, None),
            Behind::Screen => (Wrap::Screen, Some(Hop::Screen)),
            Behind::HiddenTmux => {
                let version = self.client.termtype.strip_prefix("tmux ").map(clean);
                (hidden_layers(preferences), Some(Hop::HiddenTmux { version }))
            }
        }
    }
}

impl OwnWay {
    const fn through(self) -> Through {
        match self {
            Self::Controlling => Through::ControllingTerminal,
            Self::Ancestor => Through::Ancestor,
            Self::SshTty => Through::SshTty,
        }
    }
}

fn attempt(tty: PathBuf, through: Through, wrap: Wrap, terminal: &Identity, preferences: &Preferences) -> Attempt {
    let protocol = terminal.choose(preferences);
    Attempt {
        client: tty.clone(),
        tty,
        through,
        protocol,
        wrap,
        ascii: false,
        client_pid: None,
        terminal: terminal.title(),
        hops: Vec::new(),
        last_resort: false,
        guard_digits: false,
    }
}

fn hidden_layers(preferences: &Preferences) -> Wrap {
    Wrap::Tmux(preferences.extra_layers.saturating_add(1))
}

/// The wrap for the pane instead of its client; there is none that goes through tmux and screen.
fn one_more(wrap: Wrap) -> Option<Wrap> {
    match wrap {
        Wrap::None => Some(Wrap::Tmux(1)),
        Wrap::Tmux(layers) => Some(Wrap::Tmux(layers.saturating_add(1))),
        Wrap::Screen => None,
    }
}

fn then(hops: &[Hop], next: Hop) -> Vec<Hop> {
    hops.iter().cloned().chain(std::iter::once(next)).collect()
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
