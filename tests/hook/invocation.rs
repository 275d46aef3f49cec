//! How each agent starts its hook for a payload of the fixtures: arguments, environment, session, and whether the payload
//! comes on standard input.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::support::payload::Payload;
use super::support::sandbox::program;
use super::support::{Command, Sandbox, command};

/// One payload with the words after the program's name, as the table shows them.
pub struct Invocation<'sandbox> {
    pub arguments: Vec<String>,
    pub command: Command<'sandbox>,
}

/// The hook for a file such as `claude/stop.json`.
pub fn invocation<'sandbox>(sandbox: &'sandbox Sandbox, file: &str) -> Invocation<'sandbox> {
    let payload = Payload::load(file);
    match file.split('/').next() {
        Some("claude") => claude(sandbox, file, payload),
        Some("codex") => codex(sandbox, file, payload),
        Some("cursor") => cursor(sandbox, file, payload),
        Some("pi") => pi(sandbox, payload),
        Some("others") => other(sandbox, file, payload),
        _ => panic!("no agent in {file}"),
    }
}

fn of<'sandbox>(sandbox: &'sandbox Sandbox, arguments: &[&str]) -> Invocation<'sandbox> {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    Invocation { command: sandbox.command(&arguments), arguments }
}

impl Invocation<'_> {
    fn with(self, change: impl FnOnce(Command<'_>) -> Command<'_>) -> Self {
        Self { command: change(self.command), ..self }
    }
}

/// The version stands in the file's name; `-print` is a run without a person.
fn claude<'sandbox>(sandbox: &'sandbox Sandbox, file: &str, payload: Payload) -> Invocation<'sandbox> {
    let version = file.split_once("-v2.1.").map_or("332", |(_, rest)| rest.trim_end_matches(".json"));
    let print = file.contains("-print");
    of(sandbox, &["hook", "claude"]).with(|command| {
        let command = command
            .env("AI_AGENT", format!("claude-code_2-1-{version}_harness"))
            .env("CLAUDE_CODE_ENTRYPOINT", if print { "sdk-cli" } else { "cli" })
            .stdin(payload);
        let command = if version == "332" { command.env("CLAUDE_CODE_SESSION_ATTENDED", if print { "0" } else { "1" }) } else { command };
        if version == "138" { command } else { command.below(["setsid", "--wait"]) }
    })
}

/// `notify` gets its payload as the last argument and has a terminal; hooks have neither. The version, and that a run is
/// `codex exec`, are known by the parent only.
fn codex<'sandbox>(sandbox: &'sandbox Sandbox, file: &str, payload: Payload) -> Invocation<'sandbox> {
    let invocation = if file.starts_with("codex/notify-") {
        let text = payload.text();
        let mut invocation = of(sandbox, &["hook", "codex", &text]);
        invocation.arguments[2] = "JSON".into();
        invocation
    } else {
        of(sandbox, &["hook", "codex"]).with(|command| command.stdin(payload).below(["setsid", "--wait"]))
    };
    let version = file.split_once("-v").map_or("0.171.0", |(_, rest)| rest.trim_end_matches(".json"));
    let double = codex_double(sandbox, version);
    let sub_command = if file.contains("-exec") { "exec" } else { "resume" };
    invocation.with(|command| command.below([double.as_os_str(), sub_command.as_ref()]))
}

/// A shell called `codex` in a package of that version; it runs a script called `exec` or `resume`, so that the process looks
/// like `codex exec …`.
fn codex_double(sandbox: &Sandbox, version: &str) -> PathBuf {
    let package = sandbox.path("home/node_modules/@openai/codex");
    std::fs::create_dir_all(package.join("bin")).expect("a folder");
    std::fs::write(package.join("package.json"), format!("{{\"name\":\"@openai/codex\",\"version\":\"{version}\"}}\n")).expect("a package");
    let double = package.join("bin/codex");
    command::copy_program(&program("", "sh"), &double);
    for name in ["exec", "resume"] {
        std::fs::write(sandbox.path("home").join(name), "\"$@\"\nexit $?\n").expect("a script");
    }
    double
}

/// Claude hooks that Cursor imports arrive at `hook claude`, with Claude's name of the event.
fn cursor<'sandbox>(sandbox: &'sandbox Sandbox, file: &str, payload: Payload) -> Invocation<'sandbox> {
    let arguments: &[&str] = match file {
        _ if file.contains("subagentStop-imported") => &["hook", "claude", "SubagentStop"],
        _ if file.contains("stop-imported") => &["hook", "claude", "Stop"],
        _ if file.contains("imported") => &["hook", "claude"],
        _ => &["hook", "cursor"],
    };
    let folder = sandbox.path("home/.cursor");
    std::fs::create_dir_all(&folder).expect("a folder");
    of(sandbox, arguments).with(|command| {
        let command = command.env("CURSOR_PROJECT_DIR", "/home/u/proj").env("CLAUDE_PROJECT_DIR", "/home/u/proj");
        command.working_folder(folder).below(["setsid", "--wait"]).stdin(payload)
    })
}

/// Not detached: the hook has Pi's terminal.
fn pi(sandbox: &Sandbox, payload: Payload) -> Invocation<'_> {
    let value: Value = serde_json::from_slice(payload.bytes()).expect("JSON");
    let event = value["hook_event_name"].as_str().expect("an event");
    of(sandbox, &["hook", "pi", event]).with(|command| command.env("PI_CODING_AGENT", "true").env("AI_AGENT", "pi").stdin(payload))
}

/// `generic` gets the name; the event too where the payload names none.
fn other<'sandbox>(sandbox: &'sandbox Sandbox, file: &str, payload: Payload) -> Invocation<'sandbox> {
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str()).expect("a name");
    let (agent, event) = stem.split_once('-').expect("agent and event");
    let label = match agent {
        "opencode" => "OpenCode".to_owned(),
        _ => agent[..1].to_uppercase() + &agent[1..],
    };
    let value: Value = serde_json::from_slice(payload.bytes()).expect("JSON");
    let named = ["hook_event_name", "hookEventName", "event", "type"].iter().any(|key| value[key].is_string());
    let invocation = match (stem, named) {
        ("copilot-claude-settings-Stop", _) => of(sandbox, &["hook", "claude"]).with(|command| command.env("COPILOT_CLI", "1")),
        (_, true) => of(sandbox, &["hook", "generic", "--agent", &label]),
        (_, false) => of(sandbox, &["hook", "generic", "--agent", &label, event.split('-').next().unwrap_or(event)]),
    };
    invocation.with(|command| command.below(["setsid", "--wait"]).stdin(payload))
}
