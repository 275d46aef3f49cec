//! The shape of hooks that Claude Code has and most agents share: event names, common fields, asks, background work. What an
//! agent does differently is its [`Dialect`]. Knows no agent by name.

use std::path::PathBuf;

use super::payload::Json;
use crate::event::{Answers, Ask, AskIdentity, Background, Event, Kind, Signal, Silence, Speaker, fingerprint};

const SESSION: &[&str] = &["session_id", "sessionId", "sessionID", "conversation_id", "conversationId"];
const TURN: &[&str] = &["prompt_id", "promptId", "turn_id", "turnId", "generation_id", "generationId"];
const AGENT_ID: &[&str] = &["agent_id", "agentId"];
const WORDS: &[&str] = &["last_assistant_message", "lastAssistantMessage", "prompt_response", "text"];
const STATUS: &[&str] = &["status", "stop_reason", "stopReason", "terminationReason"];
const TOOL: &[&str] = &["tool_name", "toolName"];
const TOOL_INPUT: &[&str] = &["tool_input", "toolInput"];
const TOOL_USE_ID: &[&str] = &["tool_use_id", "toolUseId"];
/// What tells a call from others of the same tool, the most telling first.
const TELLING: &[&str] = &["file_path", "notebook_path", "path", "url", "query", "pattern", "description"];
/// Tools that run a command: Claude, Codex · Cursor, Kimi, Copilot · Qwen, Gemini · Droid.
const SHELLS: &[&str] = &["Bash", "Shell", "run_shell_command", "Execute"];

/// Known events that nobody needs to be told of. Claude Code 2.1.332 (its own list), Codex 0.171.0.
const QUIET: &[&str] = &[
    "SessionStart",
    "SubagentStart",
    "PostToolBatch",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "PermissionDenied",
    "UserPromptExpansion",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

/// How an agent's hooks differ from each other where the shape is the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    /// Tools whose PreToolUse is a question to the person.
    pub(super) questions: &'static [&'static str],
    /// PostToolUse of a shell is an event for the person (`events.tool`), not only a sign that the agent goes on.
    pub(super) tool_events: bool,
    /// PermissionRequest means that the person is asked.
    pub(super) permission_requests: bool,
    /// Notification means that the person is meant.
    pub(super) notifications: bool,
}

impl Dialect {
    /// Claude Code itself: a question comes as PermissionRequest, so PreToolUse is never one.
    pub(super) const CLAUDE: Self = Self { questions: &[], tool_events: true, permission_requests: true, notifications: true };
}

/// What is common to all messages: session, turn and project.
pub(super) fn event(root: &Json, speaker: Speaker) -> Event {
    let mut event = Event::of(speaker);
    event.session = root.text(SESSION).map(str::to_owned);
    event.turn = root.text(TURN).map(str::to_owned);
    event.project = root.text(&["cwd", "working_dir"]).or_else(|| workspace(root)).map(PathBuf::from);
    event
}

/// The first workspace folder, in any of the spellings.
pub(super) fn workspace<'a>(root: &'a Json) -> Option<&'a str> {
    let folders = [&["workspace_roots"], &["workspacePaths"], &["workspaces"]].into_iter();
    folders.map(|name| root.list(name)).find_map(|list| list.iter().find_map(Json::as_text)).or_else(|| root.text(&["workspaces"]))
}

/// The meaning of a message: the payload's own event name decides, the argument where it has none. `own` knows the agent's
/// names; an argument may also be one of ours (`stop`, `finished`, `needs_input`, …).
pub(super) fn decide(
    event: &mut Event,
    name: Option<&str>,
    argument: Option<&str>,
    own: impl FnOnce(&str, &mut Event) -> Option<Signal>,
) -> Signal {
    if let Some(name) = name {
        name.clone_into(&mut event.source);
        return own(name, event).unwrap_or(Signal::Silent(Silence::UnknownEvent));
    }
    let Some(argument) = argument.filter(|argument| !argument.trim_ascii().is_empty()) else {
        return Signal::Silent(Silence::NoEvent);
    };
    let kind = Kind::parse(argument);
    // Whatever the end of a turn is called, the payload may still say that it is none.
    let name = if kind == Some(Kind::Stop) { "Stop" } else { argument };
    let Some(signal) = own(name, event).or(kind.map(Signal::Attention)) else {
        // Anything may have landed in the place of an event, a secret too: it is not logged.
        return Signal::Silent(Silence::UnknownEvent);
    };
    argument.clone_into(&mut event.source);
    signal
}

/// Reads a message with one of Claude's event names (in any letter case); `None` for any other name. Fills in ask, words,
/// background, subagent; `event.headless` must be known before.
pub(super) fn read(name: &str, root: &Json, dialect: Dialect, event: &mut Event) -> Option<Signal> {
    let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    event.subagent = root.text(AGENT_ID).is_some();
    let quiet = Signal::Silent(Silence::NotForThePerson);
    let tool = root.text(TOOL);
    Some(match () {
        // `agentStop`: Copilot; `AfterAgent`: Gemini; `AgentEnd`: MastraCode.
        () if is(&["Stop", "agentStop", "AfterAgent", "AgentEnd"]) => stop(root, event),
        () if is(&["SubagentStop"]) => {
            event.subagent = true;
            let signal = stop(root, event);
            // Other work in the background is no reason to hold this back: no Stop of the subagent follows.
            event.background = Background::None;
            signal
        }
        () if is(&["StopFailure"]) => {
            event.words = failure(root);
            own_turn(root, event);
            Signal::Attention(Kind::Error)
        }
        () if is(&["PermissionRequest"]) && dialect.permission_requests => ask(event, permission(root)),
        () if is(&["PermissionRequest"]) => quiet,
        () if is(&["Elicitation"]) => ask(event, elicitation(root)),
        () if is(&["ElicitationResult"]) => {
            // It does not say to which question of the server; a subagent's answer is not that of the turn's own.
            event.answers = if event.subagent { Answers::None } else { Answers::Newest };
            Signal::Resumed
        }
        () if is(&["Notification"]) && dialect.notifications => notification(root, event),
        () if is(&["Notification"]) => quiet,
        () if is(&["PreToolUse"]) && tool.is_some_and(|tool| dialect.questions.contains(&tool)) => ask(event, permission(root)),
        () if is(&["PreToolUse"]) => quiet,
        () if is(&["PostToolUse", "PostToolUseFailure"]) => {
            event.answers = Answers::Asks(identities(root));
            if dialect.tool_events && tool.is_some_and(is_shell) {
                // Many commands run in one turn: the call's id, or its content, tells their events apart.
                event.ask = identities(root).into_iter().next().map(|identity| Ask { identity, title: None });
                Signal::Attention(Kind::Tool)
            } else {
                Signal::Resumed
            }
        }
        // Claude tells itself of finished background work; a subagent's task is no prompt of the person either.
        () if is(&["UserPromptSubmit"]) => {
            let synthetic = event.subagent || root.text(&["prompt"]).is_some_and(|prompt| prompt.starts_with("<task-notification>"));
            if synthetic { quiet } else { Signal::TurnStarted }
        }
        () if is(&["SessionEnd"]) => Signal::Ended,
        () if is(&["Interrupt"]) => Signal::Silent(Silence::PersonActed),
        () if is(QUIET) => quiet,
        () => return None,
    })
}

/// How a turn ended, by an agent's word for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    Done,
    /// At the model's output limit.
    Cut,
    Failed,
    /// By the person.
    Aborted,
    Unknown,
}

impl Ending {
    /// `status` or `stop_reason` of Claude-shaped agents, Cursor, Pi, Amp; without one the turn is simply done.
    pub(super) fn read(status: Option<&str>) -> Self {
        match status {
            None | Some("completed" | "complete" | "done" | "success" | "stop" | "end_turn") => Self::Done,
            Some("length" | "max_tokens" | "max_output_tokens") => Self::Cut,
            Some("error" | "failed") => Self::Failed,
            Some("aborted" | "interrupted" | "cancelled" | "canceled") => Self::Aborted,
            Some(_) => Self::Unknown,
        }
    }

    /// What a turn that ended so means; notes in the event that the answer was cut.
    pub(super) fn signal(self, event: &mut Event) -> Signal {
        event.answer_cut = self == Self::Cut;
        match self {
            Self::Done | Self::Cut | Self::Unknown => Signal::Attention(Kind::Stop),
            Self::Failed => Signal::Attention(Kind::Error),
            Self::Aborted => Signal::Silent(Silence::PersonActed),
        }
    }
}

fn stop(root: &Json, event: &mut Event) -> Signal {
    event.words = root.text(WORDS).map(str::to_owned);
    event.background = background(root);
    own_turn(root, event);
    if root.flag(&["stop_hook_active", "stopHookActive"]) {
        return Signal::Silent(Silence::StopHookActive);
    }
    // Antigravity: the model's turn is over, work goes on.
    if root.get("fullyIdle") == Some(&Json::Bool(false)) {
        return Signal::Silent(Silence::NotForThePerson);
    }
    Ending::read(root.text(STATUS)).signal(event)
}

/// Claude's subagents carry the `prompt_id` of the turn they belong to: their end would pass for a duplicate of the turn's
/// own end, or the other way round.
fn own_turn(root: &Json, event: &mut Event) {
    if let Some(id) = root.text(AGENT_ID) {
        event.turn = Some(event.turn.take().map_or_else(|| id.to_owned(), |turn| format!("{turn}#{id}")));
    }
}

/// Running background work other than the agent's own entry, which is still `running` in its own Stop (Claude Code 2.1.332).
fn background(root: &Json) -> Background {
    let own = root.text(AGENT_ID);
    let tasks = root.list(&["background_tasks", "backgroundTasks"]).iter();
    let running = tasks.filter(|task| task.text(&["status"]) == Some("running") && (own.is_none() || task.text(&["id"]) != own));
    running.fold(Background::None, |found, task| {
        let subagent = match (task.text(&["type"]), task.text(&["agent_type"])) {
            (Some(kind), _) => kind == "subagent",
            // Qwen has no `type`; its `agent_type` is `shell`, or the kind of a subagent.
            (None, Some(kind)) => kind != "shell",
            (None, None) => false,
        };
        if subagent || found == Background::Subagent { Background::Subagent } else { Background::Shell }
    })
}

/// `error` is a class (`rate_limit`), the message what the person reads in the agent.
fn failure(root: &Json) -> Option<String> {
    let message = root.text(WORDS).or_else(|| root.text(&["error_details", "error_message"]));
    match (root.text(&["error"]), message) {
        (Some(error), Some(message)) => Some(format!("{error}: {message}")),
        (one, other) => one.or(other).map(str::to_owned),
    }
}

/// The person is asked, unless nobody is there: then the agent refuses by itself.
fn ask(event: &mut Event, ask: Option<Ask>) -> Signal {
    if event.headless {
        return Signal::Silent(Silence::NotForThePerson);
    }
    event.ask = ask;
    Signal::Attention(Kind::Input)
}

/// A call of a tool that waits for the person: a permission, a question, a plan.
fn permission(root: &Json) -> Option<Ask> {
    let identity = identities(root).into_iter().next()?;
    Some(Ask { identity, title: title(root.text(TOOL), root.any(TOOL_INPUT).unwrap_or(&Json::Null)) })
}

/// By what a call of a tool is known, the best first: its id, where the message has one, and its content.
fn identities(root: &Json) -> Vec<AskIdentity> {
    let (tool, arguments) = (root.text(TOOL), root.any(TOOL_INPUT));
    let id = root.text(TOOL_USE_ID).map(|id| AskIdentity::Id(id.to_owned()));
    let content = (tool.is_some() || arguments.is_some()).then(|| {
        let null = Json::Null;
        AskIdentity::Content(call(tool.unwrap_or_default(), arguments.unwrap_or(&null), root.text(AGENT_ID)))
    });
    id.into_iter().chain(content).collect()
}

/// A hash of what a call is about. The question or the command, where there is one: what stands beside it differs between the
/// ask and what follows (Claude adds `answers` to a question, Codex takes the `description` of a command away). The same call
/// of a subagent is another one.
fn call(tool: &str, arguments: &Json, agent: Option<&str>) -> u128 {
    let telling = question(arguments).or_else(|| arguments.text(&["command"])).map(|text| text.as_bytes().to_vec());
    let content = telling.unwrap_or_else(|| arguments.compact());
    let mut parts = vec![tool.as_bytes(), &content];
    parts.extend(agent.map(str::as_bytes));
    fingerprint(&parts)
}

/// What the person is asked, in few words.
fn title(tool: Option<&str>, arguments: &Json) -> Option<String> {
    if let Some(question) = question(arguments) {
        return Some(question.to_owned());
    }
    if let Some(command) = arguments.text(&["command"]) {
        return Some(command.to_owned());
    }
    let words: Vec<&str> = arguments.list(&["command"]).iter().filter_map(Json::as_text).collect();
    if !words.is_empty() {
        return Some(words.join(" "));
    }
    match (tool, arguments.text(TELLING)) {
        (Some(tool), Some(telling)) if !is_shell(tool) => Some(format!("{tool}: {telling}")),
        (_, Some(telling)) => Some(telling.to_owned()),
        (tool, None) => tool.map(str::to_owned),
    }
}

/// The first of `questions`.
pub(super) fn question<'a>(arguments: &'a Json) -> Option<&'a str> {
    arguments.list(&["questions"]).first().and_then(|first| first.text(&["question", "prompt"])).or_else(|| arguments.text(&["question"]))
}

/// A question of an MCP server.
fn elicitation(root: &Json) -> Option<Ask> {
    let message = root.text(&["message"])?;
    let server = root.text(&["mcp_server_name"]).unwrap_or_default();
    let identity = AskIdentity::Content(fingerprint(&[server.as_bytes(), message.as_bytes()]));
    Some(Ask { identity, title: Some(message.to_owned()) })
}

/// `Notification` by its type. Types that are not known want the person's attention: agents invent new ones.
fn notification(root: &Json, event: &mut Event) -> Signal {
    let message = root.text(&["message", "title"]);
    event.words = message.map(str::to_owned);
    let kind = root.text(&["notification_type", "notificationType"]);
    let hashed = message.unwrap_or_default().as_bytes();
    let identity = match kind {
        // `agent_idle`: Copilot.
        Some("idle_prompt" | "agent_idle") => return Signal::Attention(Kind::Idle),
        Some("elicitation_response") => return Signal::Silent(Silence::PersonActed),
        // `shell_completed`: Copilot.
        Some("elicitation_complete" | "auth_success" | "agent_completed" | "shell_completed") => {
            return Signal::Silent(Silence::NotForThePerson);
        }
        // A reminder about 6 s after PermissionRequest or Elicitation; in some versions and modes the only sign of an ask.
        Some("permission_prompt" | "elicitation_dialog" | "elicitation_url_dialog") if event.headless => {
            return Signal::Silent(Silence::NotForThePerson);
        }
        Some("permission_prompt" | "elicitation_dialog" | "elicitation_url_dialog") => AskIdentity::Newest(fingerprint(&[hashed])),
        other => {
            // Gemini's `details` tell two permissions of one tool apart.
            let details = root.any(&["details"]).map(Json::compact).unwrap_or_default();
            AskIdentity::Content(fingerprint(&[other.unwrap_or_default().as_bytes(), hashed, &details]))
        }
    };
    event.ask = (kind.is_some() || message.is_some()).then(|| Ask { identity, title: message.map(str::to_owned) });
    Signal::Attention(Kind::Input)
}

fn is_shell(tool: &str) -> bool {
    SHELLS.iter().any(|shell| shell.eq_ignore_ascii_case(tool))
}
