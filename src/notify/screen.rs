//! The screen: what there is to write to, and the writing. For Claude Code outside tmux that is its own reply; for everybody
//! else a terminal, found by `terminal`. The bell belongs here too, since it rings in the same place.

use std::path::PathBuf;
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
use crate::terminal::{self, Attempt, Delivery, Notice, Origin, Preferences, Reach, Route, Scene, Sent, Through, Urgency};

/// For all tmux calls of one notification together.
const TMUX_PATIENCE: Duration = Duration::from_millis(500);
/// For all writes of one notification together, bells among them: a frozen terminal takes none.
const WRITE_PATIENCE: Duration = Duration::from_millis(400);

/// What all views of one event share.
pub(super) struct Round {
    /// When writes that wait must end.
    until: Instant,
    /// Clients that were shown the notification: several panes, and one person in front of them.
    told: Vec<PathBuf>,
    /// Clients that were rung for.
    rung: Vec<PathBuf>,
}

impl Round {
    /// The time runs from here.
    pub(super) fn begin() -> Self {
        Self { until: Instant::now() + WRITE_PATIENCE, told: Vec::new(), rung: Vec::new() }
    }
}

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
    /// tmux runs, nobody is attached, and a bell waits for whoever attaches next.
    pub(super) detached: bool,
    /// Why nothing was tried: what is switched off.
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

    /// For an agent's interfaces in other processes, in their order.
    pub(super) fn for_interfaces(interfaces: &[Interface], config: &Config) -> Vec<Self> {
        let deadline = Instant::now() + TMUX_PATIENCE;
        let look = |interface: &Interface| Scene::look(&interface.environment, Origin::Process(interface.pid), Reach::Everywhere, deadline);
        let view = |scene| Self::Terminal { scene: Box::new(scene), preferences: preferences(config), may_reply: false };
        interfaces.iter().map(look).map(view).collect()
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
            Self::Terminal { scene, preferences, may_reply } => {
                // Costs a read of the client's environment, so only where somebody wants to know.
                let remote = config.content.host == Switch::Auto && is_remote(scene, &way(scene, preferences, *may_reply));
                Surroundings { remote, tmux: scene.place().cloned(), ..here }
            }
        }
    }

    /// Sends; never fails, tells what happened.
    pub(super) fn deliver(&self, sending: &Sending<'_>) -> Delivered {
        self.deliver_in(&mut Round::begin(), sending)
    }

    /// The same for one of several views.
    pub(super) fn deliver_in(&self, round: &mut Round, sending: &Sending<'_>) -> Delivered {
        let channels = &sending.config.channels;
        if channels.terminal == Switch::Off && channels.bell == Switch::Off {
            return Delivered { reason: Some("channels.terminal and channels.bell are off".to_owned()), ..Delivered::default() };
        }
        match self {
            Self::Reply { protocol, terminal, ascii } => by_reply(*protocol, terminal, *ascii, sending),
            Self::Terminal { scene, preferences, may_reply } => {
                let route = way(scene, preferences, *may_reply);
                ByTerminal { scene, route: &route, preferences, sending, delivered: Delivered::default() }.deliver(*may_reply, round)
            }
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

/// Claude's `terminalSequence`: Claude encodes it anew, wraps it for tmux or GNU screen, and writes it when the hook has ended.
fn by_reply(protocol: Protocol, terminal: &str, ascii: bool, sending: &Sending<'_>) -> Delivered {
    let channels = &sending.config.channels;
    let shows = protocol != Protocol::Bel;
    let mut delivered = Delivered::default();
    let mut sequence = String::new();
    if shows && channels.terminal != Switch::Off {
        sequence = text_of(protocol, &notice(sending, sending.from_hook), ascii);
        delivered.tried("terminalSequence", Ok(String::new()));
    }
    let way = if sequence.is_empty() { Protocol::Bel } else { protocol };
    if channels.bell == Switch::On || (channels.bell == Switch::Auto && !shows) {
        sequence.push('\x07');
        delivered.tried("bell", Ok(String::new()));
    }
    if !sequence.is_empty() {
        delivered.route = Some(format!("terminalSequence → {terminal} · {}", way.title()));
        delivered.sequence = Some(sequence);
    } else if shows {
        delivered.reason = Some(TERMINAL_OFF.to_owned());
    } else {
        no_bell(terminal, &mut delivered, sending.config);
    }
    delivered
}

/// Which attempts there are for this view.
fn way(scene: &Scene, preferences: &Preferences, may_reply: bool) -> Route {
    let mut route = terminal::route(scene, preferences);
    if may_reply && scene.in_tmux() {
        // A client's tty or nothing: what goes through the pane Claude sends better itself.
        route.attempts.retain(|attempt| matches!(attempt.through, Through::Client | Through::ControlMode) && !attempt.last_resort);
    }
    route
}

/// The person will read it on another host, as far as it can be said before it is written.
fn is_remote(scene: &Scene, route: &Route) -> bool {
    let over_ssh = |attempt: &Attempt| scene.over_ssh(attempt.client_pid);
    let shows = |attempt: &&Attempt| attempt.protocol != Protocol::Bel && !attempt.last_resort;
    if route.all && route.attempts.iter().filter(shows).any(over_ssh) {
        return true;
    }
    route.likely().map_or_else(|| scene.over_ssh(None), over_ssh)
}

/// One notification on its way to a terminal.
struct ByTerminal<'a> {
    scene: &'a Scene,
    route: &'a Route,
    preferences: &'a Preferences,
    sending: &'a Sending<'a>,
    delivered: Delivered,
}

impl ByTerminal<'_> {
    fn deliver(mut self, may_reply: bool, round: &mut Round) -> Delivered {
        let channels = &self.sending.config.channels;
        let mut bell_only = self.route.is_bell_only();
        let mut told = None;
        if channels.terminal != Switch::Off {
            let notice = notice(self.sending, self.sending.from_hook && !self.scene.in_tmux());
            let delivery = terminal::deliver(self.route, &notice, &round.told, round.until);
            let shown = !delivery.sent.is_empty();
            if delivery.told_before && !shown {
                return self.delivered;
            }
            bell_only = !shown && !delivery.bell_only.is_empty();
            told = delivery.sent.first().map(|sent| sent.attempt);
            round.told.extend(delivery.sent.iter().filter_map(|sent| Some(self.route.attempts.get(sent.attempt)?.client.clone())));
            if !bell_only {
                self.delivered.tried("terminal", if shown { Ok(String::new()) } else { Err(why_not(&delivery, self.scene)) });
            }
            self.delivered.sent = delivery.sent;
            if may_reply && !shown && !bell_only && !self.route.detached {
                self.delivered.route = Some(self.explain(None));
                self.ask_claude(&notice);
                return self.delivered;
            }
        }
        self.ring(bell_only, round);
        if channels.terminal != Switch::Off {
            let waits = if self.delivered.detached { " · a bell waits for the next attach" } else { "" };
            self.delivered.route = Some(self.explain(told) + waits);
        } else if self.delivered.carriers.is_empty() {
            self.delivered.reason = Some(TERMINAL_OFF.to_owned());
        }
        self.delivered
    }

    fn explain(&self, told: Option<usize>) -> String {
        let attempt = told.map_or_else(|| self.route.likely(), |number| self.route.attempts.get(number));
        terminal::explain(self.route, told, self.scene.over_ssh(attempt.and_then(|attempt| attempt.client_pid)))
    }

    /// Claude wraps for tmux and writes to the pane; a BEL passes with every setting.
    fn ask_claude(&mut self, notice: &Notice<'_>) {
        let config = self.sending.config;
        let known = self.route.attempts.first().map(|attempt| attempt.protocol);
        let protocol = known.or(self.preferences.forced).unwrap_or(self.preferences.fallback);
        let mut sequence = String::new();
        if protocol != Protocol::Bel {
            sequence = text_of(protocol, notice, self.scene.may_pass_screen());
        }
        if config.channels.bell != Switch::Off {
            sequence.push('\x07');
        }
        if !sequence.is_empty() {
            self.delivered.sequence = Some(sequence);
            self.delivered.tried("terminalSequence", Ok(String::new()));
        }
    }

    /// The bell: on its own where nothing else can be seen, beside the notification where the person wants both.
    fn ring(&mut self, bell_only: bool, round: &mut Round) {
        let config = self.sending.config;
        let likely = self.route.likely();
        let wanted = match config.channels.bell {
            Switch::Off => false,
            Switch::On => true,
            Switch::Auto => self.route.detached || bell_only,
        };
        if !wanted {
            if bell_only && config.channels.terminal != Switch::Off {
                no_bell(likely.map_or("the terminal", |attempt| attempt.terminal.as_str()), &mut self.delivered, config);
            }
            return;
        }
        let Some(tty) = &self.route.bell else {
            self.delivered.tried("bell", Err("no terminal".to_owned()));
            return;
        };
        let client = likely.map(|attempt| &attempt.client);
        if client.is_some_and(|client| round.rung.contains(client)) {
            return;
        }
        round.rung.extend(client.cloned());
        let rung = terminal::ring(tty, round.until);
        self.delivered.detached = self.route.detached && rung.is_ok();
        self.delivered.tried("bell", rung.map(|()| String::new()));
    }
}

const TERMINAL_OFF: &str = "channels.terminal is off";
const BELL_OFF: &str = "channels.bell is off";

/// All that is left is a bell, and that is switched off: by a person who wants nothing else, or on a terminal that knows
/// nothing else.
fn no_bell(terminal: &str, delivered: &mut Delivered, config: &Config) {
    if config.notify.protocol == Some(Protocol::Bel) {
        delivered.reason = Some(BELL_OFF.to_owned());
    } else {
        delivered.tried("terminal", Err(format!("{terminal} shows no notifications, and {BELL_OFF}")));
    }
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
