//! `send` and `test`: a notification that a person or a script asks for. No duplicates, no attention, no headless rules.

use super::catalogue::Catalogue;
use super::message::{self, Message};
use super::screen::{Delivered, Sending, View};
use crate::agents;
use crate::config;
use crate::environment::{Env, name};
use crate::event::{Event, Kind, Speaker, Text};
use crate::state::{self, Carried, Entry, State};
use crate::terminal::{Sent, Wrap};

/// Who speaks where nobody is named.
const NOBODY: &str = "agent-notify";

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Announcement {
    /// Instead of the configured title.
    pub(crate) title: Option<String>,
    /// Instead of the event's text and place.
    pub(crate) body: Option<String>,
    pub(crate) kind: Option<Kind>,
    pub(crate) agent: Option<String>,
    /// Ignores what is switched off.
    pub(crate) is_test: bool,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) message: Message,
    pub(crate) carriers: Vec<Carried>,
    pub(crate) route: Option<String>,
    pub(crate) writes: Vec<Write>,
    /// Something took it, or a bell waits for the next attach, or everything is switched off.
    pub(crate) settled: bool,
    pub(crate) reason: Option<String>,
    /// The file with what is wrong in it.
    pub(crate) warnings: Vec<String>,
}

/// One write to a terminal.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Write {
    pub(crate) tty: String,
    pub(crate) terminal: String,
    pub(crate) protocol: &'static str,
    /// DCS layers around it; `screen` for GNU screen's.
    pub(crate) wrap: String,
    pub(crate) bytes: usize,
}

/// Sends it and logs it.
pub(crate) fn announce(announcement: &Announcement, env: &Env) -> Report {
    let now = state::now();
    let mut loaded = config::load(env);
    if announcement.is_test {
        let channels = &mut loaded.config.channels;
        channels.terminal = config::Switch::On;
        channels.bell = if channels.bell == config::Switch::Off { config::Switch::Auto } else { channels.bell };
    }
    let config = &loaded.config;
    let kind = announcement.kind.or_else(|| Kind::parse(&env.get(name::AGENT_NOTIFY_EVENT)?)).unwrap_or(Kind::Stop);
    let named = [announcement.agent.clone(), env.get(name::AGENT_NOTIFY_AGENT)].into_iter().flatten();
    let speaker = named.filter_map(|name| agents::speaker(&name)).next().unwrap_or_else(|| Speaker::named(NOBODY));
    let project = env.folder(name::AGENT_NOTIFY_CWD).or_else(|| std::env::current_dir().ok());
    let event = Event { project, ..Event::of(speaker) };

    let view = View::for_person(env, config);
    let catalogue = Catalogue::choose(config.notify.language, env);
    let mut message = message::compose(&event, kind, &view.surroundings(env, config), config, catalogue);
    replace(&mut message.title, announcement.title.as_deref());
    replace(&mut message.body, announcement.body.as_deref());
    let sending = Sending { message: &message, kind, config, from_hook: false };
    let delivered = view.deliver(&sending);

    let warnings: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    log(&event, kind, &message, &delivered, &warnings, now, env);
    Report {
        settled: delivered.reached() || delivered.detached || delivered.reason.is_some(),
        writes: delivered.sent.iter().map(Write::of).collect(),
        carriers: delivered.carriers,
        route: delivered.route,
        reason: delivered.reason,
        message,
        warnings,
    }
}

/// What the script says, if it says anything.
fn replace(text: &mut Text, wanted: Option<&str>) {
    let wanted = wanted.map(Text::new).filter(|wanted| !wanted.is_blank());
    if let Some(wanted) = wanted {
        *text = wanted;
    }
}

fn log(event: &Event, kind: Kind, message: &Message, delivered: &Delivered, warnings: &[String], now: u64, env: &Env) {
    let entry = Entry {
        time: now,
        agent: event.speaker.id.clone(),
        kind: Some(kind.name()),
        decision: "deliver",
        reason: delivered.reason.clone(),
        title: Some(message.title.to_string()),
        carriers: delivered.carriers.clone(),
        route: delivered.route.clone(),
        notes: warnings.to_vec(),
        ..Entry::default()
    };
    // The report says whether it arrived; the log is a convenience.
    let _ = State::of(env).log(&entry);
}

impl Write {
    fn of(sent: &Sent) -> Self {
        let wrap = match sent.wrap {
            Wrap::None => "none".to_owned(),
            Wrap::Tmux(layers) => format!("tmux x{layers}"),
            Wrap::Screen => "screen".to_owned(),
        };
        Self {
            tty: sent.tty.to_string_lossy().into_owned(),
            terminal: sent.terminal.clone(),
            protocol: sent.protocol.name(),
            wrap,
            bytes: sent.bytes,
        }
    }
}
