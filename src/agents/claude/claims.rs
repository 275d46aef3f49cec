//! Claude Code's settings: which entries should stand there, for which version. Never an event that the installed version does
//! not know: it opens a dialog at every start, behind which the file's other hooks wait.

use std::path::{Path, PathBuf};

use super::super::probe::{self, Product};
use super::super::{Presence, Request, Scope, Wanted};
use super::settings::{self, Switch};
use crate::claim::{Claim, Content, Entry, Hooks, Over, Setting, Shape};
use crate::environment::{Env, name};
use crate::state::Version;

const AGENT: &str = "claude";

const PRODUCT: Product =
    Product { agent: AGENT, package: "@anthropic-ai/claude-code", signature: "(Claude Code)", folders: &[name::CLAUDE_CONFIG_DIR] };

/// Seconds. Claude waits for its hooks; ours takes milliseconds.
const TIMEOUT: u32 = 10;

/// From its own list of valid events (2.1.332, measured), and two that only the documentation names.
const KNOWN_EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "PermissionRequest",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "MessageDisplay",
];

/// The first version that knows an event. `Stop` and `Notification` are as old as hooks.
const FIRST_WITH: [(&str, Version); 5] = [
    ("StopFailure", (2, 1, 78)),
    ("PermissionRequest", (2, 0, 45)),
    ("PostToolUse", (1, 0, 38)),
    ("UserPromptSubmit", (1, 0, 54)),
    ("SessionEnd", (1, 0, 85)),
];

pub(super) fn presence(env: &Env) -> Option<Presence> {
    Presence::of(folder(env), program(env))
}

/// The version of the installation that the person would start. Starts it only if the request allows that.
pub(super) fn version(request: &Request) -> Option<Version> {
    probe::version(&PRODUCT, &program(request.env)?, request)
}

pub(super) fn wanted(request: &Request) -> Wanted {
    wanted_below(Path::new(settings::MANAGED), request)
}

/// With the folder of managed settings, which lies outside of any home.
pub(super) fn wanted_below(managed: &Path, request: &Request) -> Wanted {
    let user_file = folder(request.env).map(|folder| folder.join("settings.json"));
    let path = match request.scope {
        Scope::User => user_file.clone(),
        Scope::Project(root) => Some(root.join(".claude/settings.local.json")),
    };
    let Some(path) = path else {
        return Wanted { notes: vec!["Claude Code: no HOME, so no settings file".to_owned()], ..Wanted::default() };
    };
    let mut notes = relative_folder(request.env);
    let version = version(request);
    if version.is_none() {
        notes.push(unknown_version(request));
    }
    let off = settings::off(managed, &[path.as_path()].into_iter().chain(user_file.as_deref()).collect::<Vec<_>>());
    if let Some(off) = &off {
        notes.push(without_effect(off));
    }
    let mute = *request.scope == Scope::User && !request.keep_builtin && off.is_none();
    let hooks = Hooks {
        agent: AGENT,
        shape: Shape::Grouped,
        entries: entries(version, &path, request),
        settings: if mute { vec![silence()] } else { Vec::new() },
        known_events: KNOWN_EVENTS,
    };
    Wanted { claims: vec![Claim { owner: AGENT, path, content: Content::Hooks(hooks) }], notes, refusal: None }
}

/// `$CLAUDE_CONFIG_DIR`, which replaces `~/.claude` for every file below it.
fn folder(env: &Env) -> Option<PathBuf> {
    env.folder(name::CLAUDE_CONFIG_DIR).or_else(|| Some(env.home()?.join(".claude")))
}

/// What the person starts by typing `claude`; else where installations are that leave no program on PATH.
fn program(env: &Env) -> Option<PathBuf> {
    let local = || {
        let folder = env.home()?.join(".claude/local");
        ["claude", "node_modules/.bin/claude"].iter().map(|name| folder.join(name)).find(|path| probe::is_program(path))
    };
    probe::programs(env, "claude").next().or_else(local)
}

/// Events by the version that brought them (its changelog). Where the version is not known (a PATH without it), what an earlier
/// installation put there stays.
fn entries(version: Option<Version>, path: &Path, request: &Request) -> Vec<Entry> {
    let state = request.state_events();
    let known = |event: &str| match (version, FIRST_WITH.iter().find(|(name, _)| *name == event)) {
        (_, None) => true,
        (Some(version), Some((_, first))) => version >= *first,
        (None, Some(_)) => settings::stands(path, event),
    };
    // Without a matcher it stands for Bash, too: twice would be one process too many.
    let tool = match (state.ask_settled, request.config.events.tool) {
        (true, _) => Some(None),
        (false, true) => Some(Some("Bash")),
        (false, false) => None,
    };
    let events = [
        Some(("Stop", None)),
        Some(("StopFailure", None)),
        // Comes at once; the notification about it after 6 s, and on 2.1.141 never.
        Some(("PermissionRequest", None)),
        Some(("Notification", None)),
        tool.map(|matcher| ("PostToolUse", matcher)),
        (state.turn_started || state.ask_settled).then_some(("UserPromptSubmit", None)),
        state.ask_settled.then_some(("SessionEnd", None)),
    ];
    let command = request.command.line(AGENT);
    let entry = |(event, matcher)| Entry { event, matcher, command: command.clone(), timeout: TIMEOUT };
    events.into_iter().flatten().filter(|(event, _)| known(event)).map(entry).collect()
}

/// Switches its own notifications off; hooks run all the same.
fn silence() -> Setting {
    Setting { key: "preferredNotifChannel", value: "notifications_disabled".into(), over: Over::Replace }
}

/// Claude would read such a folder anew in each project; nobody means that.
fn relative_folder(env: &Env) -> Vec<String> {
    let relative = env.has(name::CLAUDE_CONFIG_DIR) && env.folder(name::CLAUDE_CONFIG_DIR).is_none();
    relative.then(|| "Claude Code: CLAUDE_CONFIG_DIR is no absolute path; ~/.claude is used".to_owned()).into_iter().collect()
}

fn unknown_version(request: &Request) -> String {
    let Some(program) = program(request.env) else {
        return "Claude Code: no program found, so its version is not known: only Stop and Notification, which every version knows"
            .to_owned();
    };
    if !request.may_start && probe::must_be_asked(&PRODUCT, &program, request) {
        return format!(
            "Claude Code: its version is told only by starting {}, which install does and this does not: there may be more entries",
            program.display()
        );
    }
    format!("Claude Code: {} does not tell its version: only Stop and Notification, which every version knows", program.display())
}

fn without_effect(off: &settings::Off) -> String {
    let file = off.file.display();
    match off.switch {
        Switch::AllHooks => format!("Claude Code runs no hook while disableAllHooks is true in {file}; its own notifications stay on"),
        Switch::ManagedOnly => {
            format!("Claude Code runs no hook of yours while allowManagedHooksOnly is true in {file}; its own notifications stay on")
        }
    }
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
