//! The screen: what there is to write to, and the writing. For Claude Code outside tmux that is its own reply; for everybody
//! else a terminal, found by `terminal`. The bell belongs here too, since it rings in the same place.

use std::time::{Duration, Instant};

use super::message::{Message, Surroundings};
use super::pipeline;
use crate::agents::Interface;
use crate::config::{Clients, Config, Switch, WhenFocused};
use crate::environment::{Env, name};
use crate::event::{Kind, ReplyForm};
use crate::process;
use crate::protocol::Protocol;
use crate::state::Carried;
use crate::terminal::{self, Delivery, Notice, Origin, Preferences, Reach, Route, Scene, Sent, Through, Urgency};

/// For all tmux calls of one notification together.
const TMUX_PATIENCE: Duration = Duration::from_millis(500);
/// For all writes of one notification together: a frozen terminal takes none.
const WRITE_PATIENCE: Duration = Duration::from_millis(400);

/// What the notification can be shown on.
pub(super) enum View {
    /// Claude Code writes the sequence itself. `ascii`: it may wrap it for GNU screen.
    Reply { protocol: Protocol, terminal: String, ascii: bool },
    /// A terminal, or what is left of one. `may_reply`: Claude can still be asked if that fails.
    Terminal { scene: Box<Scene>, preferences: Preferences, may_reply: bool },
}

/// What is to be sent.
pub(super) struct Sending<'a> {
    pub(super) message: &'a Message,
    pub(super) kind: Kind,
    pub(super) config: &'a Config,
    /// From an agent, so that a person who is looking need not be told; `send` and `test` are always shown.
    pub(super) from_hook: bool,
}

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    pub(super) carriers: Vec<Carried>,
    /// For Claude's reply.
    pub(super) sequence: Option<String>,
    /// The way as one line.
    pub(super) route: Option<String>,
    pub(super) sent: Vec<Sent>,
    /// tmux runs, nobody is attached.
    pub(super) detached: bool,
    /// Why nothing was tried.
    pub(super) reason: Option<String>,
}

impl Delivered {
    fn tried(&mut self, carrier: &'static str, result: Result<String, String>) {
        let ok = result.is_ok();
        self.carriers.push(Carried { carrier, ok, detail: result.unwrap_or_else(|reason| reason) });
    }

    /// Adds what became of the same event elsewhere.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.carriers.extend(other.carriers);
        self.sent.extend(other.sent);
        self.route = match (self.route, other.route) {
            (Some(first), Some(second)) => Some(format!("{first}; {second}")),
            (first, second) => first.or(second),
        };
        self.sequence = self.sequence.or(other.sequence);
        self.reason = self.reason.or(other.reason);
        self.detached |= other.detached;
        self
    }

    /// Something has taken it.
    pub(super) fn reached(&self) -> bool {
        self.carriers.iter().any(|carried| carried.ok)
    }
}

impl View {
    /// For an agent's hook.
    pub(super) fn for_hook(env: &Env, form: ReplyForm, config: &Config) -> Self {
        let preferences = preferences(config);
        let may_reply = form == ReplyForm::ClaudeSequence;
        let in_tmux = env.has(name::TMUX);
        // Without TERM the environment was emptied on the way here, and TMUX may have gone with it.
        let certain = in_tmux || env.has(name::TERM);
        if may_reply && !in_tmux && certain && !behind_hidden_tmux(env) {
            return Self::reply(env, &preferences);
        }
        // Claude writes to its own terminal better than we do: only tmux's clients are ours to find.
        let reach = if may_reply && in_tmux { Reach::TmuxOnly } else { Reach::Everywhere };
        let scene = Box::new(Scene::look(env, Origin::Here, reach, Instant::now() + TMUX_PATIENCE));
        if may_reply && !certain && !scene.in_tmux() {
            // Claude itself still has what was taken from us, and goes by it.
            let kept = process::ancestors().filter_map(|process| process.environment()).find(|env| env.has(name::TERM));
            return Self::reply(kept.as_ref().unwrap_or(env), &preferences);
        }
        Self::Terminal { scene, preferences, may_reply }
    }

    fn reply(env: &Env, preferences: &Preferences) -> Self {
        let (protocol, terminal) = terminal::outside_protocol(env, preferences);
        Self::Reply { protocol, terminal, ascii: terminal::may_pass_screen(env) || !env.has(name::TERM) }
    }

    /// For an agent's interface in another process.
    pub(super) fn for_interface(interface: &Interface, config: &Config) -> Self {
        let deadline = Instant::now() + TMUX_PATIENCE;
        let scene = Scene::look(&interface.environment, Origin::Process(interface.pid), Reach::Everywhere, deadline);
        Self::Terminal { scene: Box::new(scene), preferences: preferences(config), may_reply: false }
    }

    /// For `send` and `test`.
    pub(super) fn for_person(env: &Env, config: &Config) -> Self {
        let scene = Box::new(Scene::look(env, Origin::Here, Reach::Everywhere, Instant::now() + TMUX_PATIENCE));
        Self::Terminal { scene, preferences: preferences(config), may_reply: false }
    }

    /// Host, home and place, for the message.
    pub(super) fn surroundings(&self, env: &Env, config: &Config) -> Surroundings {
        let here = pipeline::here(env);
        match self {
            Self::Reply { .. } => Surroundings { remote: env.has(name::SSH_CONNECTION), ..here },
            Self::Terminal { scene, .. } => {
                // Costs a read of the client's environment, so only where somebody wants to know.
                let remote = config.content.host == Switch::Auto && scene.over_ssh(likely_client(scene, &preferences(config)));
                Surroundings { remote, tmux: scene.place().cloned(), ..here }
            }
        }
    }

    /// Sends; never fails, tells what happened.
    pub(super) fn deliver(&self, sending: &Sending<'_>) -> Delivered {
        let channels = &sending.config.channels;
        if channels.terminal == Switch::Off && channels.bell == Switch::Off {
            return Delivered { reason: Some("channels.terminal and channels.bell are off".to_owned()), ..Delivered::default() };
        }
        match self {
            Self::Reply { protocol, terminal, ascii } => by_reply(*protocol, terminal, *ascii, sending),
            Self::Terminal { scene, preferences, may_reply } => by_terminal(scene, preferences, *may_reply, sending),
        }
    }
}

/// tmux on the near side of an ssh connection: Claude does not wrap for it, and drops what we would wrap.
fn behind_hidden_tmux(env: &Env) -> bool {
    let term = env.get(name::TERM).unwrap_or_default();
    (term.starts_with("tmux") || term.starts_with("screen")) && !env.has(name::STY) && !env.has(name::ZELLIJ)
}

fn preferences(config: &Config) -> Preferences {
    Preferences {
        forced: config.notify.protocol,
        fallback: config.notify.fallback,
        terminals: config.notify.terminals.clone(),
        all_clients: config.policy.clients == Clients::All,
        extra_layers: config.policy.extra_layers,
    }
}

/// Claude's `terminalSequence`: Claude encodes it anew, wraps it for tmux, and writes it when the hook has ended.
fn by_reply(protocol: Protocol, terminal: &str, ascii: bool, sending: &Sending<'_>) -> Delivered {
    let channels = &sending.config.channels;
    let mut delivered =
        Delivered { route: Some(format!("terminalSequence → {terminal} · {}", protocol.title())), ..Delivered::default() };
    let mut sequence = String::new();
    if protocol != Protocol::Bel && channels.terminal != Switch::Off {
        sequence = text_of(protocol, &notice(sending, sending.from_hook), ascii);
        delivered.tried("terminalSequence", Ok(String::new()));
    }
    if channels.bell == Switch::On || (channels.bell == Switch::Auto && protocol == Protocol::Bel) {
        sequence.push('\x07');
        delivered.tried("bell", Ok(String::new()));
    }
    delivered.sequence = Some(sequence).filter(|sequence| !sequence.is_empty());
    delivered
}

fn by_terminal(scene: &Scene, preferences: &Preferences, may_reply: bool, sending: &Sending<'_>) -> Delivered {
    let channels = &sending.config.channels;
    let mut route = terminal::route(scene, preferences);
    if may_reply && scene.in_tmux() {
        // A client's tty or nothing: what goes through the pane Claude sends better itself.
        route.attempts.retain(|attempt| matches!(attempt.through, Through::Client | Through::ControlMode) && !attempt.last_resort);
    }
    let outside = !scene.in_tmux();
    let notice = notice(sending, sending.from_hook && outside);
    let mut delivered = Delivered { detached: route.detached, ..Delivered::default() };
    let mut bell_only = false;
    if channels.terminal != Switch::Off {
        let delivery = terminal::deliver(&route, &notice, &[], Instant::now() + WRITE_PATIENCE);
        let shown = !delivery.sent.is_empty();
        bell_only = !shown && !delivery.bell_only.is_empty();
        let told = delivery.sent.first().map(|sent| sent.attempt);
        delivered.route = Some(terminal::explain(&route, told, scene.over_ssh(likely_client(scene, preferences))));
        if !bell_only {
            delivered.tried("terminal", if shown { Ok(String::new()) } else { Err(why_not(&delivery, scene)) });
        }
        delivered.sent = delivery.sent;
        if may_reply && !shown && !bell_only && !route.detached {
            let ascii = scene.may_pass_screen();
            ask_claude(&route, preferences, &notice, ascii, &mut delivered, sending.config);
            return delivered;
        }
    }
    ring(&route, bell_only, &mut delivered, sending.config);
    delivered
}

/// Claude wraps for tmux and writes to the pane; a BEL passes with every setting.
fn ask_claude(route: &Route, preferences: &Preferences, notice: &Notice<'_>, ascii: bool, delivered: &mut Delivered, config: &Config) {
    let known = route.attempts.first().map(|attempt| attempt.protocol);
    let protocol = known.or(preferences.forced).unwrap_or(preferences.fallback);
    let mut sequence = text_of(protocol, notice, ascii);
    if protocol != Protocol::Bel && config.channels.bell != Switch::Off {
        sequence.push('\x07');
    }
    delivered.sequence = Some(sequence);
    delivered.tried("terminalSequence", Ok(String::new()));
}

/// The bell: on its own where nothing else can be seen, beside the notification where the person wants both.
fn ring(route: &Route, bell_only: bool, delivered: &mut Delivered, config: &Config) {
    let wanted = match config.channels.bell {
        Switch::Off => false,
        Switch::On => true,
        Switch::Auto => route.detached || bell_only,
    };
    let Some(tty) = route.bell.as_deref().filter(|_| wanted) else { return };
    let rung = terminal::ring(tty, Instant::now() + WRITE_PATIENCE).map(|()| String::new());
    delivered.tried("bell", rung);
}

fn likely_client(scene: &Scene, preferences: &Preferences) -> Option<u32> {
    terminal::route(scene, preferences).likely().and_then(|attempt| attempt.client_pid)
}

fn why_not(delivery: &Delivery, scene: &Scene) -> String {
    let failures: Vec<_> = delivery.failed.iter().map(|(tty, reason)| format!("{}: {reason}", tty.display())).collect();
    match (failures.is_empty(), scene.tmux_trouble()) {
        (false, _) => failures.join("; "),
        (true, Some(trouble)) => trouble.to_owned(),
        (true, None) if scene.in_tmux() => "nobody is attached to tmux".to_owned(),
        (true, None) => "no terminal".to_owned(),
    }
}

fn notice<'a>(sending: &'a Sending<'a>, outside_tmux: bool) -> Notice<'a> {
    let urgency = match sending.kind {
        Kind::Input => Urgency::Critical,
        // Desktops do not show a banner for low urgency: a finished turn must be seen.
        Kind::Stop | Kind::Error | Kind::Idle | Kind::Tool => Urgency::Normal,
    };
    Notice {
        title: &sending.message.title,
        body: &sending.message.body,
        urgency,
        id: &sending.message.id,
        unfocused_only: outside_tmux && sending.config.policy.when_focused == WhenFocused::Suppress,
    }
}

/// Sequences are ASCII and sanitised text.
fn text_of(protocol: Protocol, notice: &Notice<'_>, ascii: bool) -> String {
    let sequence = terminal::sequence(protocol, notice);
    let sequence = if ascii { terminal::for_screen(&sequence) } else { sequence };
    String::from_utf8_lossy(&sequence).into_owned()
}
