//! Claude Code: hooks with the payload on stdin. Cursor and Copilot run Claude's hooks too; `agents::parse` tells them apart
//! before anything here is asked.

mod claims;
#[cfg(test)]
mod installation_tests;
mod settings;
#[cfg(test)]
mod test_host;

use super::payload::{Json, Payload};
use super::shape::{self, Dialect};
use super::{Agent, Input, Presence, Request, Wanted};
use crate::environment::{Env, name};
use crate::event::{Parsed, ReplyForm, Speaker};
use crate::state::Version;

/// The first version that takes a `terminalSequence`; older ones ignore the key (measured on 2.1.138, .140 and .141).
const FIRST_WITH_SEQUENCE: Version = (2, 1, 141);

pub(super) struct Claude;

impl Agent for Claude {
    fn id(&self) -> &'static str {
        "claude"
    }

    fn label(&self) -> &'static str {
        "Claude"
    }

    fn parse(&self, payload: &Payload, input: &Input) -> Parsed {
        let root = payload.root();
        let mut event = shape::event(root, Speaker::named(self.label()));
        event.headless = is_headless(input.env);
        let reply = reply(input.env, event.headless);
        let signal =
            shape::decide(&mut event, event_name(root), input.argument, |name, event| shape::read(name, root, Dialect::CLAUDE, event));
        Parsed { origin: self.id(), signal, event, reply, notes: Vec::new() }
    }

    /// Safe whoever is listening: Cursor may have imported the hook.
    fn failure_reply(&self) -> ReplyForm {
        ReplyForm::EmptyObject
    }

    fn presence(&self, env: &Env) -> Option<Presence> {
        claims::presence(env)
    }

    fn wanted(&self, request: &Request) -> Option<Wanted> {
        Some(claims::wanted(request))
    }
}

/// The event's name in Claude's field; some agents of the same shape use camelCase names.
pub(super) fn event_name<'a>(root: &'a Json) -> Option<&'a str> {
    root.text(&["hook_event_name", "hookEventName"])
}

/// Claude Code's version, from `AI_AGENT=claude-code_2-1-332_harness`: the only place where a hook learns it. There since
/// 2.1.138 at least; the format is not documented.
#[must_use]
pub fn version(env: &Env) -> Option<Version> {
    let value = env.get(name::AI_AGENT)?;
    let mut numbers = value.strip_prefix("claude-code_")?.split('_').next()?.split('-').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// The version of the installation that the person would start: from its files, as remembered, or (only if the request allows
/// it) by starting it.
#[must_use]
pub fn installed_version(request: &Request) -> Option<Version> {
    claims::version(request)
}

/// A run without a person (`-p`, SDK). `CLAUDE_CODE_SESSION_ATTENDED` is absent on 2.1.197 and before; the entry point is
/// there since 2.1.138 at least (both measured).
fn is_headless(env: &Env) -> bool {
    env.get(name::CLAUDE_CODE_ENTRYPOINT).is_some_and(|entry| entry != "cli")
        || env.get(name::CLAUDE_CODE_SESSION_ATTENDED).is_some_and(|attended| attended == "0")
}

fn reply(env: &Env, headless: bool) -> ReplyForm {
    if headless || version(env).is_some_and(|version| version < FIRST_WITH_SEQUENCE) {
        ReplyForm::EmptyObject
    } else {
        ReplyForm::ClaudeSequence
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Call;
    use super::*;
    use crate::event::{AskIdentity, Background, Kind, Signal, Silence, fingerprint};

    fn quiet() -> Signal {
        Signal::Silent(Silence::NotForThePerson)
    }

    #[test]
    fn the_version_is_read_from_the_environment() {
        let read = |value: &str| version(&Env::from_iter([("AI_AGENT", value)]));
        assert_eq!(read("claude-code_2-1-332_harness"), Some((2, 1, 332)));
        assert_eq!(read("claude-code_3-0-0"), Some((3, 0, 0)));
        assert_eq!(read("claude-code_2-1_harness"), None);
        assert_eq!(read("claude-code_2-1-99999999999_harness"), None);
        assert_eq!(read("pi"), None);
    }

    #[test]
    fn a_sequence_is_offered_to_a_person_at_a_version_that_takes_it() {
        let reply = |env: &[(&str, &str)]| Call::new("claude").env(env).json(r#"{"hook_event_name":"Stop"}"#).reply;
        assert_eq!(reply(&[]), ReplyForm::ClaudeSequence);
        assert_eq!(reply(&[("AI_AGENT", "claude-code_2-1-141_harness")]), ReplyForm::ClaudeSequence);
        assert_eq!(reply(&[("AI_AGENT", "claude-code_2-1-140_harness")]), ReplyForm::EmptyObject);
        assert_eq!(reply(&[("CLAUDE_CODE_ENTRYPOINT", "cli"), ("CLAUDE_CODE_SESSION_ATTENDED", "1")]), ReplyForm::ClaudeSequence);
        assert_eq!(reply(&[("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")]), ReplyForm::EmptyObject);
        assert_eq!(reply(&[("CLAUDE_CODE_ENTRYPOINT", "cli"), ("CLAUDE_CODE_SESSION_ATTENDED", "0")]), ReplyForm::EmptyObject);
    }

    #[test]
    fn nobody_is_asked_in_a_headless_run() {
        let call = Call::new("claude").env(&[("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")]);
        assert_eq!(call.json(r#"{"hook_event_name":"PermissionRequest","tool_name":"Bash"}"#).signal, quiet());
        assert_eq!(call.json(r#"{"hook_event_name":"Elicitation","message":"?"}"#).signal, quiet());
        assert_eq!(call.json(r#"{"hook_event_name":"Notification","notification_type":"permission_prompt"}"#).signal, quiet());
        let stop = call.json(r#"{"hook_event_name":"Stop"}"#);
        assert!(stop.signal == Signal::Attention(Kind::Stop) && stop.event.headless);
    }

    #[test]
    fn the_title_of_an_ask_says_what_is_asked() {
        let title = |tool: &str, arguments: &str| {
            let json = format!(r#"{{"hook_event_name":"PermissionRequest","tool_name":"{tool}","tool_input":{arguments}}}"#);
            Call::new("claude").json(&json).event.ask.expect("an ask").title
        };
        assert_eq!(title("Bash", r#"{"command":"make","description":"d"}"#).as_deref(), Some("make"));
        assert_eq!(title("Bash", r#"{"description":"d"}"#).as_deref(), Some("d"));
        assert_eq!(title("AskUserQuestion", r#"{"questions":[{"question":"Which?"}]}"#).as_deref(), Some("Which?"));
        assert_eq!(title("Write", r#"{"content":"x","file_path":"/p/a.rs"}"#).as_deref(), Some("Write: /p/a.rs"));
        assert_eq!(title("WebFetch", r#"{"url":"https://x","prompt":"p"}"#).as_deref(), Some("WebFetch: https://x"));
        assert_eq!(title("ExitPlanMode", "{}").as_deref(), Some("ExitPlanMode"));
        assert_eq!(title("ExitPlanMode", "null").as_deref(), Some("ExitPlanMode"));
        assert_eq!(title("shell", r#"{"command":["ls","-l"]}"#).as_deref(), Some("ls -l"));
    }

    #[test]
    fn an_ask_is_told_apart_by_its_id_else_by_its_content() {
        let identity = |rest: &str| {
            let json = format!(r#"{{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{{ "command" : "a" }}{rest}}}"#);
            Call::new("claude").json(&json).event.ask.expect("an ask").identity
        };
        assert_eq!(identity(r#","tool_use_id":"toolu_1""#), AskIdentity::Id("toolu_1".to_owned()));
        assert_eq!(identity(""), AskIdentity::Content(fingerprint(&[b"Bash", b"a"])));
    }

    #[test]
    fn a_subagent_has_a_turn_of_its_own_and_does_not_wait_for_others() {
        let stop = Call::new("claude").json(
            r#"{"hook_event_name":"SubagentStop","prompt_id":"p","agent_id":"a","background_tasks":[{"id":"b","type":"shell","status":"running"}]}"#,
        );
        assert_eq!(stop.signal, Signal::Attention(Kind::Stop));
        assert_eq!((stop.event.turn.as_deref(), stop.event.subagent, stop.event.background), (Some("p#a"), true, Background::None));
    }

    #[test]
    fn a_running_subagent_counts_more_than_a_running_command() {
        let background = |tasks: &str| {
            let json = format!(r#"{{"hook_event_name":"Stop","agent_id":"own","background_tasks":{tasks}}}"#);
            Call::new("claude").json(&json).event.background
        };
        let (shell, subagent) = (r#"{"id":"1","type":"shell","status":"running"}"#, r#"{"id":"2","type":"subagent","status":"running"}"#);
        assert_eq!(background(&format!("[{subagent},{shell}]")), Background::Subagent);
        assert_eq!(background(&format!("[{shell}]")), Background::Shell);
        assert_eq!(background(r#"[{"id":"2","type":"subagent","status":"completed"},7,null]"#), Background::None);
        assert_eq!(background(r#"[{"id":"own","type":"subagent","status":"running"}]"#), Background::None);
        assert_eq!(background(r#""running""#), Background::None);
    }

    #[test]
    fn only_a_command_that_ran_is_a_tool_event() {
        let signal =
            |event: &str, tool: &str| Call::new("claude").json(&format!(r#"{{"hook_event_name":"{event}","tool_name":"{tool}"}}"#)).signal;
        assert_eq!(signal("PostToolUse", "Bash"), Signal::Attention(Kind::Tool));
        assert_eq!(signal("PostToolUse", "Write"), Signal::Resumed);
        assert_eq!(signal("PostToolUseFailure", "Write"), Signal::Resumed);
        assert_eq!(signal("PreToolUse", "AskUserQuestion"), quiet());
        assert_eq!(signal("ElicitationResult", ""), Signal::Resumed);
    }
}
