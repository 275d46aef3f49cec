//! Everything about the way to the terminal, as `look` read it from the world once, and what can be said from it. Decides
//! nothing.

use std::path::PathBuf;

use super::identify::{Identity, Multiplexer, may_be_screen};
use super::tmux::{Client, Pane};
use crate::environment::{Env, name};
use crate::event::Text;

/// Whose terminal is meant.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Origin {
    /// That of this process.
    #[default]
    Here,
    /// That of another process of this user, whose environment is the one handed in: an agent's interface, when its hooks run
    /// below a daemon.
    Process(u32),
}

/// How far to look.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Reach {
    /// For an agent that writes to its own terminal itself: outside tmux nothing is read at all.
    TmuxOnly,
    /// The own terminal too, and, where `TMUX` is missing, the ancestors' environments.
    #[default]
    Everywhere,
}

/// The world as it was at one moment.
#[derive(Debug)]
pub struct Scene {
    pub(super) tmux: Tmux,
    /// Ways to the own terminal, best first; read only if tmux is no way.
    pub(super) own: Vec<(PathBuf, OwnWay)>,
    /// The terminal as the environment describes it; of use only where tmux is no way.
    pub(super) identity: Identity,
    pub(super) multiplexer: Multiplexer,
    pub(super) ssh: bool,
    pub(super) place: Option<Place>,
}

/// The innermost tmux.
#[derive(Clone, Debug)]
pub(super) enum Tmux {
    Absent,
    /// `TMUX` is set, but leads nowhere: why.
    Unknown(String),
    Known(Layer),
}

/// How an own terminal was found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum OwnWay {
    Controlling,
    Ancestor,
    SshTty,
}

/// One tmux server, from the pane in it that leads to us outwards.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    pub(super) pane: Pane,
    pub(super) clients: Vec<Link>,
}

/// A client and what is behind it.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) behind: Behind,
}

#[derive(Clone, Debug, Default)]
pub(super) enum Behind {
    /// A terminal.
    Terminal(Identity),
    /// A pane of another server on this host.
    Outer(Box<Layer>),
    /// A tmux that cannot be asked, usually because it is on the near side of an ssh connection.
    #[default]
    HiddenTmux,
    Screen,
}

/// Where the agent is, for the person to find it: what is not known is `None`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Place {
    pub session: Option<Text>,
    pub window_index: Option<u32>,
    pub pane_index: Option<u32>,
    pub window_name: Option<Text>,
    /// The person named the window (`automatic-rename` is off for it).
    pub window_named: bool,
    /// `$1`
    pub session_id: Option<Text>,
    /// `@2`
    pub window_id: Option<Text>,
    /// `%3`
    pub pane_id: Option<Text>,
}

/// What can be said about a person in front of one terminal, all tmux layers of this host taken together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Attention {
    /// Of the innermost client.
    pub client_pid: Option<u32>,
    /// The pane is the active one of the window that the client shows, in every layer.
    pub visible: bool,
    /// Every layer asks for focus reports; otherwise `focused` says nothing.
    pub focus_reported: bool,
    /// A terminal without focus reports counts as focused for ever.
    pub focused: bool,
    /// Seconds since the epoch of the last key, focus report or answer of the terminal.
    pub activity: u64,
}

impl Scene {
    /// `None` outside tmux; all fields `None` in a tmux that cannot be asked.
    #[must_use]
    pub const fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Also true of a tmux that cannot be asked.
    #[must_use]
    pub const fn in_tmux(&self) -> bool {
        !matches!(self.tmux, Tmux::Absent)
    }

    /// Why tmux is not the way although `TMUX` is set.
    #[must_use]
    pub fn tmux_trouble(&self) -> Option<&str> {
        match &self.tmux {
            Tmux::Unknown(reason) => Some(reason),
            Tmux::Absent | Tmux::Known(_) => None,
        }
    }

    /// What the agent itself writes to its terminal may pass GNU screen on some way to the person.
    #[must_use]
    pub fn may_pass_screen(&self) -> bool {
        match &self.tmux {
            // TERM is tmux's own choice there; screen inside this tmux has set STY.
            Tmux::Known(layer) => self.multiplexer == Multiplexer::Screen || layer.may_pass_screen(),
            Tmux::Absent | Tmux::Unknown(_) => self.multiplexer.may_be_screen(),
        }
    }

    /// The person is on another host: by the environment of the client ([`super::Attempt::client_pid`]), which is read anew;
    /// without a client by the own one.
    #[must_use]
    pub fn over_ssh(&self, client_pid: Option<u32>) -> bool {
        match client_pid {
            Some(pid) => Env::of(pid).is_some_and(|env| env.has(name::SSH_CONNECTION)),
            None => self.ssh,
        }
    }

    /// One entry for each attached terminal; empty outside tmux, and where nobody is attached.
    #[must_use]
    pub fn attention(&self) -> Vec<Attention> {
        match &self.tmux {
            Tmux::Known(layer) => layer.attention(),
            Tmux::Absent | Tmux::Unknown(_) => Vec::new(),
        }
    }
}

impl Layer {
    /// Clients of the pane's own session first, then whichever was used last.
    pub(super) fn in_order(&self) -> Vec<&Link> {
        let mut links: Vec<&Link> = self.clients.iter().collect();
        links.sort_by_key(|link| std::cmp::Reverse((link.client.session_id == self.pane.session_id, link.client.activity)));
        links
    }

    pub(super) fn may_pass_screen(&self) -> bool {
        self.clients.iter().any(|link| match &link.behind {
            Behind::Outer(outer) => outer.may_pass_screen(),
            _ => link.may_be_screen(),
        })
    }

    fn attention(&self) -> Vec<Attention> {
        let own = |link: &Link| Attention {
            client_pid: link.client.pid,
            visible: self.pane.active && link.client.window_id == self.pane.window_id,
            focus_reported: self.pane.focus_events,
            focused: link.client.focused,
            activity: link.client.activity,
        };
        let through = |inner: Attention, outer: Attention| Attention {
            visible: inner.visible && outer.visible,
            focus_reported: inner.focus_reported && outer.focus_reported,
            focused: inner.focused && outer.focused,
            ..inner
        };
        let mut found = Vec::new();
        for link in &self.clients {
            match &link.behind {
                Behind::Outer(layer) => found.extend(layer.attention().into_iter().map(|outer| through(own(link), outer))),
                Behind::Terminal(_) | Behind::HiddenTmux | Behind::Screen => found.push(own(link)),
            }
        }
        found
    }
}

impl Link {
    /// GNU screen stands behind the client, or may: a tmux says who it is, screen does not.
    pub(super) fn may_be_screen(&self) -> bool {
        match &self.behind {
            Behind::Screen => true,
            Behind::HiddenTmux => self.client.termtype.is_empty() && may_be_screen(&self.client.termname),
            Behind::Terminal(_) | Behind::Outer(_) => false,
        }
    }
}

impl Place {
    pub(super) fn of(pane: &Pane) -> Self {
        let text = |raw: &str| Some(Text::new(raw)).filter(|text| !text.is_blank());
        Self {
            session: text(&pane.session_name),
            window_index: pane.window_index,
            pane_index: pane.pane_index,
            window_name: text(&pane.window_name),
            window_named: pane.window_named,
            session_id: text(&pane.session_id),
            window_id: text(&pane.window_id),
            pane_id: text(&pane.id),
        }
    }
}

#[cfg(test)]
#[path = "scene_tests.rs"]
mod tests;
