//! Pi: what our own extension sends (and the command channel of the extension pi-ask, which is environment only).

use super::payload::{Json, Payload};
use super::shape::{self, Ending};
use super::{Agent, Input, Presence, claude, probe};
use crate::environment::{Env, name};
use crate::event::{Answers, Ask, AskIdentity, Event, Kind, Parsed, ReplyForm, Signal, Silence, Speaker, fingerprint};

pub(super) struct Pi;

impl Agent for Pi {
    fn id(&self) -> &'static str {
        "pi"
    }

    fn label(&self) -> &'static str {
        "Pi"
    }

    fn parse(&self, payload: &Payload, input: &Input) -> Parsed {
        let root = payload.root();
        let mut event = shape::event(root, Speaker::named(self.label()));
        event.turn = counter(root, "run");
        // Pi 0.73.1 knows no mode; its extension then goes by whether there is a screen.
        event.headless = root.text(&["mode"]).is_some_and(|mode| mode != "tui");
        let signal = match input.env.get(name::ASK_NOTIFY_EVENT) {
            Some(asked) if !payload.is_present() => pi_ask(&asked, input.env, &mut event),
            _ => shape::decide(&mut event, claude::event_name(root), input.argument, |name, event| read(name, root, event)),
        };
        Parsed { origin: self.id(), signal, event, reply: self.failure_reply(), notes: Vec::new() }
    }

    /// The extension listens to nothing.
    fn failure_reply(&self) -> ReplyForm {
        ReplyForm::Nothing
    }

    /// Others are called pi, too: the package's name is in the path of this one, under its old owner and the new.
    fn presence(&self, env: &Env) -> Option<Presence> {
        let folder = env.folder(name::PI_CODING_AGENT_DIR).or_else(|| Some(env.home()?.join(".pi/agent")));
        Presence::of(folder, probe::program_with(env, "pi", "pi-coding-agent"))
    }
}

fn read(name: &str, root: &Json, event: &mut Event) -> Option<Signal> {
    Some(match name {
        "settled" | "finished" | "Stop" => {
            event.words = words(root);
            let ending = if root.flag(&["aborted"]) { Ending::Aborted } else { Ending::read(root.text(&["stop_reason"])) };
            ending.signal(event)
        }
        "error" => {
            event.words = words(root);
            Signal::Attention(Kind::Error)
        }
        "needs_input" if event.headless => Signal::Silent(Silence::NotForThePerson),
        "needs_input" => {
            event.ask = ask(root, event.session.as_deref());
            Signal::Attention(Kind::Input)
        }
        "run_started" => Signal::TurnStarted,
        "prompt_opened" => Signal::Silent(Silence::NotForThePerson),
        "prompt_closed" => {
            event.answers = match ask(root, event.session.as_deref()).map(|ask| ask.identity) {
                Some(id @ AskIdentity::Id(_)) => Answers::Asks(vec![id]),
                _ => Answers::Newest,
            };
            Signal::Resumed
        }
        "session_ended" => Signal::Ended,
        _ => return None,
    })
}

fn words(root: &Json) -> Option<String> {
    root.text(&["error", "last_assistant_message"]).map(str::to_owned)
}

/// A counter of one Pi process: the same session may be opened again by another, whose counters begin anew.
fn counter(root: &Json, name: &str) -> Option<String> {
    let count = root.identifier(&[name])?;
    Some(root.identifier(&["pid"]).map_or_else(|| count.clone(), |pid| format!("{pid}.{count}")))
}

/// The text is `title` or `message`; `value` may hold a command with secrets and is only hashed.
fn ask(root: &Json, session: Option<&str>) -> Option<Ask> {
    let title = root.text(&["title", "message"]).map(str::to_owned);
    let identity = match (session, counter(root, "prompt"), root.text(&["request_id", "requestId"])) {
        (Some(session), Some(prompt), _) => AskIdentity::Id(format!("{session}/{prompt}")),
        (_, _, Some(request)) => AskIdentity::Id(request.to_owned()),
        _ if root == &Json::Null => return None,
        _ => {
            let field = |name: &str| root.text(&[name]).unwrap_or_default().as_bytes();
            AskIdentity::Content(fingerprint(&[field("kind"), field("title"), field("message"), field("value")]))
        }
    };
    Some(Ask { identity, title })
}

/// pi-ask 0.9.0 can run a command for a waiting question, with three variables and no payload.
fn pi_ask(asked: &str, env: &Env, event: &mut Event) -> Signal {
    asked.clone_into(&mut event.source);
    if asked != "question.waiting" {
        return Signal::Silent(Silence::UnknownEvent);
    }
    let (title, message) = (env.get(name::ASK_NOTIFY_TITLE), env.get(name::ASK_NOTIFY_MESSAGE));
    let part = |text: &Option<String>| text.as_deref().unwrap_or_default().as_bytes().to_vec();
    let identity = AskIdentity::Content(fingerprint(&[&part(&title), &part(&message)]));
    event.ask = Some(Ask { identity, title: title.or(message) });
    Signal::Attention(Kind::Input)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Call;
    use super::*;

    fn ask_of(json: &str) -> Ask {
        Call::new("pi").json(json).event.ask.expect("an ask")
    }

    #[test]
    fn an_ask_is_told_apart_by_counter_request_or_content() {
        let counted = ask_of(r#"{"hook_event_name":"needs_input","session_id":"s","pid":42,"prompt":3,"requestId":"r"}"#);
        assert_eq!(counted.identity, AskIdentity::Id("s/42.3".to_owned()));
        let requested = ask_of(r#"{"hook_event_name":"needs_input","prompt":3,"requestId":"r"}"#);
        assert_eq!(requested.identity, AskIdentity::Id("r".to_owned()));
        let plain = ask_of(r#"{"hook_event_name":"needs_input","kind":"custom","value":"token=x","message":"m"}"#);
        assert_eq!(plain.identity, AskIdentity::Content(fingerprint(&[b"custom", b"", b"m", b"token=x"])));
        assert_eq!(plain.title.as_deref(), Some("m"), "the value is not shown");
    }

    #[test]
    fn the_turn_is_the_run_of_this_process() {
        let turn = |json: &str| Call::new("pi").json(json).event.turn;
        assert_eq!(turn(r#"{"hook_event_name":"settled","run":7,"pid":42}"#).as_deref(), Some("42.7"));
        assert_eq!(turn(r#"{"hook_event_name":"settled","run":"7"}"#).as_deref(), Some("7"));
        assert_eq!(turn(r#"{"hook_event_name":"settled","run":7.5,"pid":42}"#), None);
    }

    #[test]
    fn a_settled_run_says_how_it_ended() {
        let settled = |reason: &str| Call::new("pi").json(&format!(r#"{{"hook_event_name":"settled","stop_reason":"{reason}"}}"#));
        assert_eq!(settled("error").signal, Signal::Attention(Kind::Error));
        assert_eq!(settled("aborted").signal, Signal::Silent(Silence::PersonActed));
        assert!(settled("length").event.answer_cut && !settled("stop").event.answer_cut);
        assert_eq!(Call::new("pi").json(r#"{"hook_event_name":"settled","aborted":true}"#).signal, Signal::Silent(Silence::PersonActed));
    }

    #[test]
    fn messages_that_only_tell_of_state_do_not_notify() {
        let signal = |name: &str| Call::new("pi").argument(name).json(&format!(r#"{{"hook_event_name":"{name}"}}"#)).signal;
        assert_eq!(signal("run_started"), Signal::TurnStarted);
        assert_eq!(signal("prompt_opened"), Signal::Silent(Silence::NotForThePerson));
        assert_eq!(signal("prompt_closed"), Signal::Resumed);
        assert_eq!(signal("session_ended"), Signal::Ended);
    }

    #[test]
    fn nobody_is_asked_outside_the_terminal_interface() {
        let parsed = Call::new("pi").json(r#"{"hook_event_name":"needs_input","mode":"rpc"}"#);
        assert_eq!((parsed.signal, parsed.event.headless), (Signal::Silent(Silence::NotForThePerson), true));
    }

    #[test]
    fn pi_ask_speaks_through_the_environment() {
        let env = [("ASK_NOTIFY_EVENT", "question.waiting"), ("ASK_NOTIFY_TITLE", "Choose"), ("ASK_NOTIFY_MESSAGE", "Which?")];
        let parsed = Call::new("pi").env(&env).json("");
        assert_eq!(parsed.signal, Signal::Attention(Kind::Input));
        let ask = parsed.event.ask.expect("an ask");
        assert_eq!((ask.title.as_deref(), ask.identity), (Some("Choose"), AskIdentity::Content(fingerprint(&[b"Choose", b"Which?"]))));
        assert_eq!(Call::new("pi").env(&env[1..]).json("").signal, Signal::Silent(Silence::NoEvent));
        assert_eq!(Call::new("pi").env(&[("ASK_NOTIFY_EVENT", "other")]).json("").signal, Signal::Silent(Silence::UnknownEvent));
    }
}
