//! What Codex's hooks and its `notify` say. Both carry the same ids, so one turn is one event whoever tells of it.

use super::super::payload::{Json, Payload};
use super::super::shape::{self, Dialect};
use super::super::{Agent, Input, claude};
use super::program::{is_exec, version};
use crate::event::{Event, Kind, Parsed, Signal, Silence, Speaker};

/// The only sign of a question is the tool that asks it (measured on 0.171.0). A tool that has run says that the turn goes
/// on, no more: no PostToolUse is registered for `events.tool`.
const DIALECT: Dialect = Dialect { questions: &["request_user_input"], tool_events: false, ..Dialect::CLAUDE };

/// How the prompt of the hidden thread begins that makes up a title (measured on 0.155.0 and 0.171.0).
const TITLE_PROMPT: &str = "Generate a concise, single-line task title";

/// The first version known to name the `client` of a root thread; 0.100.0 does not. Between them: not known.
const FIRST_WITH_CLIENT: (u32, u32, u32) = (0, 120, 0);

pub(super) fn parse(payload: &Payload, input: &Input, agent: &dyn Agent) -> Parsed {
    let root = payload.root();
    let mut event = shape::event(root, Speaker::named(agent.label()));
    let signal = match root.text(&["type"]) {
        Some(kind) if claude::event_name(root).is_none() => notify(kind, root, input, &mut event),
        _ => hook(root, input, &mut event),
    };
    Parsed { origin: agent.id(), signal, event, reply: agent.failure_reply(), notes: Vec::new() }
}

fn hook(root: &Json, input: &Input, event: &mut Event) -> Signal {
    let signal = shape::decide(event, claude::event_name(root), input.argument, |name, event| shape::read(name, root, DIALECT, event));
    // Every hook of `exec` says `bypassPermissions`, and so does an interactive session that was started with it.
    if matches!(signal, Signal::Attention(_)) && root.text(&["permission_mode"]) == Some("bypassPermissions") {
        event.headless = is_exec(&(input.ancestors)());
    }
    signal
}

fn notify(kind: &str, root: &Json, input: &Input, event: &mut Event) -> Signal {
    kind.clone_into(&mut event.source);
    event.session = root.text(&["thread-id"]).map(str::to_owned);
    event.turn = root.text(&["turn-id"]).map(str::to_owned);
    event.words = root.text(&["last-assistant-message"]).map(str::to_owned);
    if kind != "agent-turn-complete" {
        return Signal::Silent(Silence::UnknownEvent);
    }
    // All messages of the person in this thread: a title thread has one.
    if let [only] = root.list(&["input-messages"])
        && only.as_text().is_some_and(|message| message.starts_with(TITLE_PROMPT))
    {
        return Signal::Silent(Silence::TitleThread);
    }
    match root.text(&["client"]) {
        Some(client) => event.headless = client == "codex_exec",
        // A subagent, where the version names the client of root threads. Nothing in the payload tells the version. Where
        // it cannot be found out it is taken for a newer one: those far outnumber the others.
        None => event.subagent = version(&(input.ancestors)()).is_none_or(|version| version >= FIRST_WITH_CLIENT),
    }
    Signal::Attention(Kind::Stop)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::Call;
    use crate::event::{AskIdentity, Kind, ReplyForm, Signal, Silence};

    const NOTIFY: &str =
        r#"{"type":"agent-turn-complete","thread-id":"t","turn-id":"u","input-messages":["hi"],"last-assistant-message":null}"#;

    #[test]
    fn without_a_client_the_version_decides_whether_it_is_a_subagent() {
        let subagent = |ancestors: &[&str]| Call::new("codex").ancestors(ancestors).json(NOTIFY).event.subagent;
        assert!(!subagent(&["/opt/node_modules/@openai/codex@0.100.0/bin/codex"]));
        assert!(subagent(&["/opt/node_modules/@openai/codex@0.171.0/bin/codex"]));
        assert!(subagent(&["/nonexistent/bin/codex", "bash"]));
    }

    #[test]
    fn hook_and_notify_of_one_turn_have_the_same_ids() {
        let (notify, hook) = (
            Call::new("codex").ancestors(&[]).json(NOTIFY),
            Call::new("codex").json(r#"{"hook_event_name":"Stop","session_id":"t","turn_id":"u","permission_mode":"default"}"#),
        );
        assert_eq!((notify.event.session, notify.event.turn), (hook.event.session, hook.event.turn));
    }

    #[test]
    fn a_title_prompt_within_a_longer_history_is_a_prompt() {
        let signal = |messages: &str| {
            let json = format!(r#"{{"type":"agent-turn-complete","client":"codex-tui","input-messages":{messages}}}"#);
            Call::new("codex").json(&json).signal
        };
        assert_eq!(signal(r#"["Generate a concise, single-line task title of"]"#), Signal::Silent(Silence::TitleThread));
        assert_eq!(signal(r#"["hi","Generate a concise, single-line task title of"]"#), Signal::Attention(Kind::Stop));
        assert_eq!(signal("7"), Signal::Attention(Kind::Stop));
    }

    #[test]
    fn exec_is_headless_only_with_the_program_to_prove_it() {
        let headless = |mode: &str, ancestors: &[&str]| {
            let json = format!(r#"{{"hook_event_name":"Stop","permission_mode":"{mode}"}}"#);
            Call::new("codex").ancestors(ancestors).json(&json).event.headless
        };
        assert!(headless("bypassPermissions", &["/bin/bash", "codex exec hi"]));
        assert!(!headless("bypassPermissions", &["/bin/bash", "codex --yolo"]));
        assert!(!headless("default", &["codex exec hi"]));
        // Nobody asks for ancestors for an event that notifies nobody.
        let start = Call::new("codex").json(r#"{"hook_event_name":"SessionStart","permission_mode":"bypassPermissions"}"#);
        assert_eq!(start.signal, Signal::Silent(Silence::NotForThePerson));
    }

    #[test]
    fn a_question_is_an_ask_with_an_id() {
        let parsed = Call::new("codex").json(
            r#"{"hook_event_name":"PreToolUse","tool_name":"request_user_input","tool_use_id":"call_1","tool_input":{"questions":[{"question":"Which?"}]}}"#,
        );
        let ask = parsed.event.ask.expect("an ask");
        assert_eq!((ask.identity, ask.title.as_deref()), (AskIdentity::Id("call_1".to_owned()), Some("Which?")));
        assert_eq!(parsed.reply, ReplyForm::Nothing);
    }

    #[test]
    fn an_unknown_notification_is_unknown() {
        assert_eq!(Call::new("codex").json(r#"{"type":"approval-requested"}"#).signal, Signal::Silent(Silence::UnknownEvent));
    }
}
