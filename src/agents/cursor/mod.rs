//! Cursor, command line and IDE. Also what Cursor sends to Claude's hooks, which it imports. There is no event for "needs
//! input", and none is guessed: `beforeShellExecution` fires for every command, approved or not.

mod claims;

use std::path::PathBuf;

use super::payload::{Json, Payload};
use super::shape::{self, Ending};
use super::{Agent, Input, Presence, Request, Wanted, claude};
use crate::environment::{Env, name};
use crate::event::{Ask, AskIdentity, Event, Kind, Parsed, ReplyForm, Signal, Silence, Speaker, fingerprint};

/// The rest of the 21 events (documented, 2026-11): gates, thoughts, files, the app.
const QUIET: &[&str] = &[
    "sessionStart",
    "preToolUse",
    "subagentStart",
    "beforeShellExecution",
    "beforeMCPExecution",
    "afterMCPExecution",
    "beforeReadFile",
    "afterFileEdit",
    "preCompact",
    "afterAgentResponse",
    "afterAgentThought",
    "beforeTabFileRead",
    "afterTabFileEdit",
    "workspaceOpen",
];

pub(super) struct Cursor;

impl Agent for Cursor {
    fn id(&self) -> &'static str {
        "cursor"
    }

    fn label(&self) -> &'static str {
        "Cursor"
    }

    fn parse(&self, payload: &Payload, input: &Input) -> Parsed {
        let root = payload.root();
        let mut event = shape::event(root, Speaker::named(self.label()));
        event.session = root.text(&["conversation_id", "session_id"]).map(str::to_owned);
        event.turn = root.text(&["generation_id"]).map(str::to_owned);
        event.project = project(root, input.env);
        event.ide = is_ide(root);
        let mut notes = Vec::new();
        let signal = shape::decide(&mut event, claude::event_name(root), input.argument, |name, event| read(name, root, event, &mut notes));
        Parsed { origin: self.id(), signal, event, reply: self.failure_reply(), notes }
    }

    /// stdout is a channel of decisions: a text in `followup_message` would be submitted as the next prompt.
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

/// Names in any letter case: a hook imported from Claude may keep Claude's.
fn read(name: &str, root: &Json, event: &mut Event, notes: &mut Vec<String>) -> Option<Signal> {
    let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    Some(match () {
        () if is(&["stop"]) => ending(root, event, notes),
        () if is(&["subagentStop"]) => {
            event.subagent = true;
            event.words = root.text(&["summary"]).map(str::to_owned);
            own_turn(root, event);
            ending(root, event, notes)
        }
        () if is(&["sessionEnd"]) => session_end(root, event),
        () if is(&["beforeSubmitPrompt", "UserPromptSubmit"]) => Signal::TurnStarted,
        () if is(&["afterShellExecution"]) => {
            // There is no id of the call; many run in one turn.
            let hash = |command: &str| AskIdentity::Content(fingerprint(&[command.as_bytes()]));
            event.ask = root.text(&["command"]).map(|command| Ask { identity: hash(command), title: None });
            Signal::Attention(Kind::Tool)
        }
        () if is(&["postToolUse", "postToolUseFailure"]) => Signal::Resumed,
        () if is(QUIET) => Signal::Silent(Silence::NotForThePerson),
        () => return None,
    })
}

fn ending(root: &Json, event: &mut Event, notes: &mut Vec<String>) -> Signal {
    let ending = Ending::read(root.text(&["status"]));
    if ending == Ending::Unknown {
        notes.push("unknown status of a stop: taken as finished".to_owned());
    }
    ending.signal(event)
}

/// The only sign that a run with `-p` is over (`stop` never fires there). Other reasons are the person's own doing.
fn session_end(root: &Json, event: &mut Event) -> Signal {
    let kind = match root.text(&["reason"]) {
        Some("completed") => Kind::Stop,
        Some("error") => Kind::Error,
        _ => return Signal::Ended,
    };
    event.headless = true;
    event.words = root.text(&["error_message"]).map(str::to_owned);
    Signal::Attention(kind)
}

/// A subagent's end carries the ids of the turn it belongs to, and must not pass for the end of that.
fn own_turn(root: &Json, event: &mut Event) {
    let field = |name: &str| root.text(&[name]).unwrap_or_default().as_bytes();
    let own = fingerprint(&[field("subagent_id"), field("subagent_type"), field("task"), field("agent_transcript_path")]);
    event.turn = event.turn.take().map(|turn| format!("{turn}#{own:032x}"));
}

/// Never this process's own folder: user hooks run in `~/.cursor`. On Windows a root looks like `/d:/Some Folder/proj`.
fn project(root: &Json, env: &Env) -> Option<PathBuf> {
    let workspace = shape::workspace(root).map(PathBuf::from);
    let environment = || env.os(name::CURSOR_PROJECT_DIR).map(PathBuf::from);
    workspace.or_else(environment).or_else(|| root.text(&["cwd"]).map(PathBuf::from))
}

/// `cursor_version` is `3.7.21` in the IDE and `2026.09.28-64d2043` in the command line: the only difference there is.
fn is_ide(root: &Json) -> bool {
    let version = root.text(&["cursor_version"]).unwrap_or_default();
    version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major < 1000)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::testing::Call;
    use super::*;

    #[test]
    fn the_project_is_a_workspace_root_else_the_variable_else_the_payloads_folder() {
        let project = |env: &[(&str, &str)], json: &str| Call::new("cursor").env(env).json(json).event.project;
        let variable = [("CURSOR_PROJECT_DIR", "/variable")];
        assert_eq!(
            project(&variable, r#"{"workspace_roots":["/d:/Some Folder/proj"],"cwd":"/c"}"#).as_deref(),
            Some(Path::new("/d:/Some Folder/proj"))
        );
        assert_eq!(project(&variable, r#"{"workspace_roots":["",7],"cwd":"/c"}"#).as_deref(), Some(Path::new("/variable")));
        assert_eq!(project(&[], r#"{"workspace_roots":[],"cwd":"/c"}"#).as_deref(), Some(Path::new("/c")));
        assert_eq!(project(&[], r#"{"cwd":""}"#), None);
    }

    #[test]
    fn the_ide_is_told_by_its_version() {
        let ide = |version: &str| Call::new("cursor").json(&format!(r#"{{"cursor_version":"{version}"}}"#)).event.ide;
        assert!(ide("3.7.21") && !ide("2026.09.28-64d2043") && !ide("nightly"));
    }

    #[test]
    fn an_unknown_status_is_a_stop_with_a_note_that_does_not_quote_it() {
        let parsed = Call::new("cursor").json(r#"{"hook_event_name":"stop","status":"paused"}"#);
        assert_eq!(parsed.signal, Signal::Attention(Kind::Stop));
        assert_eq!(parsed.notes, ["unknown status of a stop: taken as finished"]);
    }

    #[test]
    fn two_commands_of_one_turn_are_two() {
        let identity = |command: &str| {
            let json = format!(r#"{{"hook_event_name":"afterShellExecution","generation_id":"g","command":"{command}"}}"#);
            Call::new("cursor").json(&json).event.ask.expect("an identity").identity
        };
        assert_ne!(identity("make"), identity("make test"));
    }

    #[test]
    fn two_subagents_of_one_turn_are_two() {
        let turn = |task: &str| {
            let json = format!(r#"{{"hook_event_name":"subagentStop","generation_id":"g","subagent_type":"explore","task":"{task}"}}"#);
            Call::new("cursor").json(&json).event.turn.expect("a turn")
        };
        assert!(turn("a").starts_with("g#") && turn("a") != turn("b"));
    }

    #[test]
    fn claudes_names_mean_what_cursors_do() {
        let signal = |name: &str| Call::new("cursor").json(&format!(r#"{{"hook_event_name":"{name}"}}"#)).signal;
        assert_eq!(signal("UserPromptSubmit"), Signal::TurnStarted);
        assert_eq!(signal("PostToolUse"), Signal::Resumed);
        assert_eq!(signal("SessionEnd"), Signal::Ended);
        assert_eq!(signal("PreCompact"), Signal::Silent(Silence::NotForThePerson));
        assert_eq!(signal("Notification"), Signal::Silent(Silence::UnknownEvent));
    }
}
