//! Any other agent: Claude's shape in all its spellings, and the few shapes beside it (OpenCode, Amp). Two agents need to be
//! known by name, because the same payload means something else with them; nothing else here depends on who speaks.

use super::payload::{Json, Payload};
use super::shape::{self, Dialect, Ending};
use super::{Agent, Input, claude, set_speaker, speaker};
use crate::event::{Answers, Ask, AskIdentity, Event, Kind, Parsed, ReplyForm, Signal, Silence, Speaker, fingerprint};

pub(super) struct Generic {
    id: &'static str,
    label: &'static str,
    /// The speaker is known whatever the payload says.
    fixed: bool,
}

impl Generic {
    pub(super) const fn any() -> Self {
        Self { id: "generic", label: "Agent", fixed: false }
    }

    /// GitHub's Copilot, found out to run a hook of another agent.
    pub(super) const fn copilot() -> Self {
        Self { id: "copilot", label: "Copilot", fixed: true }
    }
}

impl Agent for Generic {
    fn id(&self) -> &'static str {
        self.id
    }

    fn label(&self) -> &'static str {
        self.label
    }

    fn parse(&self, payload: &Payload, input: &Input) -> Parsed {
        let root = payload.root();
        let told = || root.text(&["agent"]).filter(|_| !self.fixed).and_then(speaker);
        let who = set_speaker(input).or_else(told).unwrap_or_else(|| Speaker::named(self.label));
        let dialect = dialect(if self.fixed { self.id } else { &who.id });
        // OpenCode wraps the fields of an event: `properties`, in its second version `data`.
        let name = event_name(root);
        let fields = root.any(&["properties", "data"]).filter(|_| name.is_some() && root.text(&["type"]) == name).unwrap_or(root);
        let mut event = shape::event(fields, who);
        if event.project.is_none() {
            event.project = shape::event(root, event.speaker.clone()).project.or_else(input.folder);
        }
        let signal = shape::decide(&mut event, name, input.argument, |name, event| {
            let shaped = || Kind::parse(name).map(Signal::Attention);
            dotted(name, root, fields, event).or_else(|| shape::read(name, root, dialect, event)).or_else(shaped)
        });
        if signal == Signal::Attention(Kind::Input) && event.ask.is_none() {
            event.ask = plain_ask(root);
        }
        if event.words.is_none() {
            event.words = root.text(&["message"]).filter(|_| event.ask.is_none()).map(str::to_owned);
        }
        Parsed { origin: self.id(), signal, event, reply: self.failure_reply(), notes: Vec::new() }
    }

    /// Where stdout is a channel of decisions (Copilot, Goose, Gemini, Qwen) this decides nothing; elsewhere it is harmless.
    fn failure_reply(&self) -> ReplyForm {
        ReplyForm::EmptyObject
    }
}

/// Kimi: Notification is for background tasks only. Copilot: permissionRequest fires before its permission service, on calls
/// that are approved without a question too. (Both documented; everybody else means the person by them.) A question of any
/// agent without PermissionRequest for it comes as PreToolUse of `AskUserQuestion` (Kimi).
fn dialect(id: &str) -> Dialect {
    Dialect {
        questions: &["AskUserQuestion"],
        permission_requests: !id.contains("copilot"),
        notifications: !id.contains("kimi"),
        ..Dialect::CLAUDE
    }
}

/// The event's name. `event` is Goose's; `type` is one only in the dotted style of OpenCode and Amp: elsewhere it may be
/// anything.
fn event_name<'a>(root: &'a Json) -> Option<&'a str> {
    claude::event_name(root).or_else(|| root.text(&["event"])).or_else(|| root.text(&["type"]).filter(|kind| kind.contains('.')))
}

/// Events of OpenCode 1.18 (and its second version) and Amp, whose plugins hand them on as they are.
fn dotted(name: &str, root: &Json, fields: &Json, event: &mut Event) -> Option<Signal> {
    let quiet = Signal::Silent(Silence::NotForThePerson);
    event.subagent = fields.text(&["parentID"]).is_some() || fields.get("info").is_some_and(|info| info.text(&["parentID"]).is_some());
    Some(match name {
        "agent.end" => {
            event.words = root.text(&["message"]).map(str::to_owned);
            Ending::read(root.text(&["status"])).signal(event)
        }
        "session.idle" | "session.execution.succeeded" => Signal::Attention(Kind::Stop),
        "session.execution.failed" => Signal::Attention(Kind::Error),
        "session.execution.interrupted" => Signal::Silent(Silence::PersonActed),
        "session.status" => match fields.get("status").and_then(|status| status.text(&["type"])) {
            Some("idle") => Signal::Attention(Kind::Stop),
            _ => quiet,
        },
        // `permission.updated`: before 1.0.224.
        "permission.asked" | "permission.updated" | "question.asked" => {
            event.ask = Some(opencode_ask(fields));
            Signal::Attention(Kind::Input)
        }
        "permission.replied" | "question.replied" | "question.rejected" => {
            let id = fields.text(&["requestID", "permissionID"]);
            event.answers = id.map_or(Answers::Newest, |id| Answers::Asks(vec![AskIdentity::Id(id.to_owned())]));
            Signal::Resumed
        }
        _ => return None,
    })
}

fn opencode_ask(fields: &Json) -> Ask {
    let identity = match fields.text(&["id"]) {
        Some(id) => AskIdentity::Id(id.to_owned()),
        None => AskIdentity::Content(fingerprint(&[&fields.compact()])),
    };
    let command = || fields.get("metadata").and_then(|metadata| metadata.text(&["command"]));
    let title = shape::question(fields).or_else(|| fields.text(&["title"])).or_else(command).map(str::to_owned);
    let permission = || {
        let permission = fields.text(&["permission", "type"])?;
        let pattern = fields.list(&["patterns"]).first().and_then(Json::as_text).or_else(|| fields.text(&["pattern"]));
        Some(pattern.map_or_else(|| permission.to_owned(), |pattern| format!("{permission}: {pattern}")))
    };
    Ask { identity, title: title.or_else(permission) }
}

/// An ask of which the payload tells a text and nothing more.
fn plain_ask(root: &Json) -> Option<Ask> {
    let (title, message) = (root.text(&["title"]), root.text(&["message", "question"]));
    let shown = title.or(message)?;
    let identity = AskIdentity::Content(fingerprint(&[title.unwrap_or_default().as_bytes(), message.unwrap_or_default().as_bytes()]));
    Some(Ask { identity, title: Some(shown.to_owned()) })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::testing::Call;
    use super::*;

    #[test]
    fn the_label_is_the_flag_else_what_the_payload_tells() {
        let label = |call: Call, json: &str| call.json(json).event.speaker;
        assert_eq!(label(Call::new("generic").agent("Aider"), ""), Speaker::named("Aider"));
        assert_eq!(label(Call::new("generic"), r#"{"agent":"Crush"}"#), Speaker::named("Crush"));
        assert_eq!(label(Call::new("generic"), r#"{"agent":"\u0007"}"#), Speaker::named("Agent"));
        assert_eq!(label(Call::new("generic"), ""), Speaker::named("Agent"));
    }

    #[test]
    fn without_a_folder_in_the_payload_it_is_that_of_the_hook() {
        let project = |hook: &str, json: &str| Call::new(hook).folder("/hook").argument("stop").json(json).event.project;
        assert_eq!(project("generic", "").as_deref(), Some(Path::new("/hook")));
        assert_eq!(project("generic", r#"{"cwd":"/p"}"#).as_deref(), Some(Path::new("/p")));
        assert_eq!(project("cursor", ""), None, "Cursor runs its hooks in a folder of its own");
        assert_eq!(project("generic", r#"{"cursor_version":"2026.09.28"}"#), None);
    }

    #[test]
    fn a_payload_without_a_name_still_says_that_the_turn_is_not_over() {
        for argument in ["Stop", "stop", "finished"] {
            let call = Call::new("generic").agent("Antigravity").argument(argument);
            assert_eq!(call.json(r#"{"fullyIdle":false}"#).signal, Signal::Silent(Silence::NotForThePerson));
            assert_eq!(call.json(r#"{"fullyIdle":true}"#).signal, Signal::Attention(Kind::Stop));
        }
    }

    #[test]
    fn our_own_names_may_stand_in_the_payload() {
        let parsed = Call::new("generic").json(r#"{"event":"needs_input","title":"Deploy?","cwd":"/p"}"#);
        assert_eq!((parsed.signal, parsed.event.project.as_deref()), (Signal::Attention(Kind::Input), Some(Path::new("/p"))));
        assert_eq!(parsed.event.ask.expect("an ask").title.as_deref(), Some("Deploy?"));
    }

    #[test]
    fn a_type_without_a_dot_names_no_event() {
        let parsed = Call::new("generic").argument("finished").json(r#"{"type":"info","message":"done"}"#);
        assert_eq!((parsed.signal, parsed.event.words.as_deref()), (Signal::Attention(Kind::Stop), Some("done")));
        let unknown = Call::new("generic").argument("finished").json(r#"{"type":"message.updated"}"#);
        assert_eq!(unknown.signal, Signal::Silent(Silence::UnknownEvent));
    }

    #[test]
    fn open_codes_second_version_has_another_envelope() {
        let parsed = Call::new("generic").json(r#"{"type":"session.execution.failed","data":{"sessionID":"s"}}"#);
        assert_eq!((parsed.signal, parsed.event.session.as_deref()), (Signal::Attention(Kind::Error), Some("s")));
    }

    #[test]
    fn a_child_session_is_a_subagent() {
        let child = |json: &str| Call::new("generic").json(json).event.subagent;
        assert!(child(r#"{"type":"session.idle","properties":{"sessionID":"s","info":{"parentID":"p"}}}"#));
        assert!(!child(r#"{"type":"session.idle","properties":{"sessionID":"s"}}"#));
    }

    #[test]
    fn all_but_kimi_mean_the_person_by_a_notification() {
        let signal = |agent: &str| Call::new("generic").agent(agent).json(r#"{"hook_event_name":"Notification","message":"m"}"#).signal;
        assert_eq!(signal("Droid"), Signal::Attention(Kind::Input));
        assert_eq!(signal("Kimi Code"), Signal::Silent(Silence::NotForThePerson));
    }
}
