//! One signal from payload to desk and reply: parse, admit, reserve, look, compose, deliver, log.

use super::catalogue::Catalogue;
use super::message::{self, Surroundings};
use super::policy::{self, Duplicates};
use super::screen::{Delivered, Round, Sending, View};
use crate::agents::{self, Agent, Input, Owner};
use crate::config::{self, Config, Loaded};
use crate::environment::Env;
use crate::event::{Decision, Event, Kind, Parsed, ReplyForm, Signal, Text};
use crate::process;
use crate::state::{self, Entry, Reservation, State};

/// One call of a hook.
pub(super) struct Request<'a> {
    pub(super) agent: &'static dyn Agent,
    pub(super) payload: &'a [u8],
    /// The event as the command line names it.
    pub(super) argument: Option<&'a str>,
    /// Name of a generic agent.
    pub(super) label: Option<&'a str>,
    pub(super) env: &'a Env,
    /// What was odd so far.
    pub(super) notes: Vec<String>,
}

/// Runs it. `answer` is called exactly once, before anything is logged.
pub(super) fn run(request: Request<'_>, answer: &mut dyn FnMut(&[u8])) {
    let now = state::now();
    let env = request.env;
    let loaded = config::load(env);
    let state = State::of(env);
    let ancestors = || process::ancestors().map(|process| process.arguments()).collect();
    let folder = || std::env::current_dir().ok();
    let input =
        Input { payload: request.payload, argument: request.argument, agent: request.label, env, folder: &folder, ancestors: &ancestors };
    let parsed = agents::parse(request.agent, &input);

    let mut entry = describe(&parsed, now, request.notes);
    note_warnings(&mut entry, &loaded);
    policy::close_answered(&parsed.signal, &parsed.event, &state, now);
    match admit(&parsed, &loaded.config, &state, now, &mut entry) {
        Err(decision) => {
            answer(&reply(parsed.reply, None));
            record(&mut entry, decision);
        }
        Ok(kind) => {
            let (title, delivered) = notify(request.agent, &parsed, kind, &loaded.config, env);
            answer(&reply(parsed.reply, delivered.sequence.as_deref()));
            record(&mut entry, Decision::Deliver);
            entry.title = title.map(|title| title.to_string());
            entry.reason = delivered.reason;
            entry.route = delivered.route;
            entry.carriers = delivered.carriers;
        }
    }
    // Nowhere to tell it: the agent must not hear of our trouble.
    let _ = state.log(&entry);
}

/// Policy first, then the ledger: only what is going to be attempted is reserved.
fn admit(parsed: &Parsed, config: &Config, state: &State, now: u64, entry: &mut Entry) -> Result<Kind, Decision> {
    let kind = policy::admit(&parsed.signal, &parsed.event, config, now)?;
    match Duplicates::of(&parsed.event, kind).reserve(state, now) {
        Reservation::Fresh | Reservation::Unavailable(None) => Ok(kind),
        Reservation::Unavailable(Some(error)) => {
            entry.notes.push(format!("ledger: {error}"));
            Ok(kind)
        }
        Reservation::Duplicate => Err(Decision::Suppress { reason: "duplicate".to_owned() }),
    }
}

/// Sends to every terminal that the event belongs to, each client once: the best view comes first, and the title is its.
fn notify(agent: &dyn Agent, parsed: &Parsed, kind: Kind, config: &Config, env: &Env) -> (Option<Text>, Delivered) {
    let event = &parsed.event;
    if event.headless && parsed.origin == "claude" {
        // Claude ignores terminalSequence there, and whoever started it does not look at its terminal.
        return (None, Delivered { reason: Some("headless run: no terminal".to_owned()), ..Delivered::default() });
    }
    let views = match agent.owner(event, env, config) {
        Owner::ThisProcess => vec![View::for_hook(env, parsed.reply, config)],
        Owner::Interfaces(interfaces) => View::for_interfaces(&interfaces, config),
    };
    let catalogue = Catalogue::choose(config.notify.language, env);
    let mut round = Round::begin();
    let show = |view: &View| {
        let message = message::compose(event, kind, &view.surroundings(env, config), config, catalogue);
        let delivered = view.deliver_in(&mut round, &Sending { message: &message, kind, config, from_hook: true });
        (Some(message.title), delivered)
    };
    views.iter().map(show).reduce(|(title, first), (_, next)| (title, first.and(next))).unwrap_or_else(|| {
        let reason = format!("no interface of {} is open in this folder", event.speaker.label);
        (None, Delivered { reason: Some(reason), ..Delivered::default() })
    })
}

/// The reply in the agent's own terms.
pub(super) fn reply(form: ReplyForm, sequence: Option<&str>) -> Vec<u8> {
    match (form, sequence) {
        (ReplyForm::Nothing, _) => Vec::new(),
        (ReplyForm::ClaudeSequence, Some(sequence)) => {
            // Text always serialises.
            let mut line = serde_json::to_vec(&ClaudeReply { sequence }).unwrap_or_else(|_| b"{}".to_vec());
            line.push(b'\n');
            line
        }
        (ReplyForm::ClaudeSequence | ReplyForm::EmptyObject, _) => b"{}\n".to_vec(),
    }
}

#[derive(serde::Serialize)]
struct ClaudeReply<'a> {
    #[serde(rename = "terminalSequence")]
    sequence: &'a str,
}

fn describe(parsed: &Parsed, now: u64, mut notes: Vec<String>) -> Entry {
    let Event { speaker, source, session, turn, .. } = &parsed.event;
    notes.extend(parsed.notes.iter().cloned());
    // The log is read with `cat`, too.
    let clean = |text: &String| Text::new(text).to_string();
    Entry {
        time: now,
        agent: clean(&speaker.id),
        kind: if let Signal::Attention(kind) = parsed.signal { Some(kind.name()) } else { None },
        event: clean(source),
        session: session.as_ref().map(clean),
        turn: turn.as_ref().map(clean),
        notes,
        ..Entry::default()
    }
}

fn note_warnings(entry: &mut Entry, loaded: &Loaded) {
    entry.notes.extend(loaded.warnings.iter().map(ToString::to_string));
}

fn record(entry: &mut Entry, decision: Decision) {
    (entry.decision, entry.reason, entry.until) = match decision {
        Decision::Deliver => ("deliver", None, None),
        Decision::Defer { until, reason } => ("defer", Some(reason.to_owned()), until),
        Decision::Suppress { reason } => ("suppress", Some(reason), None),
    };
}

/// Host and home, which every message names.
pub(super) fn here(env: &Env) -> Surroundings {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host = name.split('.').next().filter(|host| !host.is_empty()).map(str::to_owned);
    Surroundings { host, home: env.home(), ..Surroundings::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_what_each_agent_takes() {
        let text = |form, sequence| String::from_utf8(reply(form, sequence)).expect("UTF-8");
        assert_eq!(text(ReplyForm::Nothing, Some("x")), "");
        assert_eq!(text(ReplyForm::EmptyObject, Some("x")), "{}\n");
        assert_eq!(text(ReplyForm::ClaudeSequence, None), "{}\n");
        assert_eq!(text(ReplyForm::ClaudeSequence, Some("\x1b]9;ä\x07")), "{\"terminalSequence\":\"\\u001b]9;ä\\u0007\"}\n");
    }
}
