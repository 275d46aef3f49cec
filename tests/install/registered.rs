//! What the configuration asks for is what is registered, and a change of it is pending until the next installation.

use serde_json::{Value, json};

use crate::host::{HOOKS, Host, SETTINGS};

/// Our entries as `EVENT` or `EVENT[MATCHER]`, in the file's order.
fn registered(host: &Host, path: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (event, groups) in host.json(path)["hooks"].as_object().expect("hooks") {
        for group in groups.as_array().expect("groups") {
            let handlers = group["hooks"].as_array().cloned().unwrap_or_else(|| vec![group.clone()]);
            let ours = |handler: &&Value| handler["command"].as_str().is_some_and(|command| command.contains("agent-notify hook "));
            for _ in handlers.iter().filter(ours) {
                all.push(group["matcher"].as_str().map_or_else(|| event.clone(), |matcher| format!("{event}[{matcher}]")));
            }
        }
    }
    all
}

const CLAUDE: [&str; 4] = ["Stop", "StopFailure", "PermissionRequest", "Notification"];

fn with(more: &[&str]) -> Vec<String> {
    CLAUDE.iter().chain(more).map(ToString::to_string).collect()
}

#[test]
fn a_changed_configuration_is_pending_until_it_is_installed() {
    changes_and_back(&[
        ("policy.headless", "true", &[], &["stop", "sessionEnd"]),
        ("content.message", "true", &[], &["stop", "afterAgentResponse"]),
        ("policy.min_turn", "10s", &["UserPromptSubmit"], &["stop", "beforeSubmitPrompt"]),
        ("herdr.report_state", "true", &["PostToolUse", "UserPromptSubmit", "SessionEnd"], &["stop", "beforeSubmitPrompt"]),
    ]);
}

#[test]
fn a_tool_event_goes_when_it_is_switched_off() {
    changes_and_back(&[("events.tool", "true", &["PostToolUse[Bash]"], &["stop", "afterShellExecution"])]);
}

/// From Bash alone to every tool, and back.
#[test]
fn an_own_entry_may_change_its_matcher() {
    let host = Host::empty().with_claude();
    host.run(&["config", "set", "events.tool", "true"]).success();
    host.install();
    host.run(&["config", "set", "policy.grace", "2s"]).success();
    host.install();
    assert_eq!(registered(&host, SETTINGS), with(&["PostToolUse", "UserPromptSubmit", "SessionEnd"]));
    host.run(&["config", "set", "policy.grace", "0"]).success();
    host.install();
    assert_eq!(registered(&host, SETTINGS), with(&["PostToolUse[Bash]"]));
}

#[test]
fn a_tool_event_is_registered_when_it_is_switched_on() {
    let host = Host::new();
    host.install();
    host.run(&["config", "set", "events.tool", "true"]).success();
    host.run(&["install", "--check"]).code(5);
    host.install();
    host.run(&["install", "--check"]).success();
    assert_eq!(registered(&host, SETTINGS), with(&["PostToolUse[Bash]"]));
    assert_eq!(registered(&host, HOOKS), ["stop", "afterShellExecution"]);
    host.uninstall();
    assert!(!host.exists(SETTINGS) && !host.exists(HOOKS));
}

/// A key, its value, what it adds for Claude Code, and what is then there for Cursor.
type Case = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

fn changes_and_back(cases: &[Case]) {
    let host = Host::new();
    host.install();
    let plain = [SETTINGS, HOOKS].map(|path| host.text(path));
    for &(key, on, claude, cursor) in cases {
        let off = if on == "true" { "false" } else { "0" };
        assert_eq!(registered(&host, SETTINGS), with(&[]), "{key}");
        host.run(&["config", "set", key, on]).success();
        host.run(&["install", "--check"]).code(5);
        host.install();
        host.run(&["install", "--check"]).success();
        assert_eq!(registered(&host, SETTINGS), with(claude), "{key}");
        assert_eq!(registered(&host, HOOKS), cursor, "{key}");
        host.run(&["config", "set", key, off]).success();
        host.run(&["install", "--check"]).code(5);
        host.install();
        assert_eq!([SETTINGS, HOOKS].map(|path| host.text(path)), plain, "{key} back");
    }
    host.uninstall();
    assert!(!host.exists(SETTINGS) && !host.exists(HOOKS));
}

#[test]
fn the_persons_own_hooks_of_an_event_stay_when_ours_goes() {
    let host = Host::empty().with_claude();
    let own = json!({ "hooks": { "PostToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "x" }] }] } });
    host.write(SETTINGS, own.to_string());
    host.run(&["config", "set", "events.tool", "true"]).success();
    host.install();
    assert_eq!(host.json(SETTINGS)["hooks"]["PostToolUse"].as_array().map(Vec::len), Some(2));
    host.run(&["config", "set", "events.tool", "false"]).success();
    host.install();
    assert_eq!(host.json(SETTINGS)["hooks"]["PostToolUse"], own["hooks"]["PostToolUse"]);
    host.uninstall();
    assert_eq!(host.text(SETTINGS), own.to_string());
}

/// Only what the found version knows: an event too many opens a dialog at every start.
#[test]
fn an_old_claude_gets_only_the_events_that_it_knows() {
    for (version, events) in [("2.0.44", vec!["Stop", "Notification"]), ("2.0.45", vec!["Stop", "PermissionRequest", "Notification"])] {
        let host = Host::empty();
        let path = format!(".local/share/claude/versions/{version}");
        host.write(&path, "");
        host.set_mode(&path, 0o755);
        host.link(&format!("../share/claude/versions/{version}"), ".local/bin/claude");
        host.install();
        assert_eq!(registered(&host, SETTINGS), events, "{version}");
    }
}

/// An upgrade of the agent brings new events: pending, and put in.
#[test]
fn an_upgraded_claude_gets_the_new_events() {
    let host = Host::empty();
    for version in ["2.0.44", "2.1.332"] {
        let path = format!(".local/share/claude/versions/{version}");
        host.write(&path, "");
        host.set_mode(&path, 0o755);
    }
    host.link("../share/claude/versions/2.0.44", ".local/bin/claude");
    host.install();
    std::fs::remove_file(host.path(".local/bin/claude")).expect("removed");
    host.link("../share/claude/versions/2.1.332", ".local/bin/claude");
    host.run(&["install", "--check"]).code(5);
    host.install();
    let mut all = registered(&host, SETTINGS);
    all.sort();
    assert_eq!(all, ["Notification", "PermissionRequest", "Stop", "StopFailure"]);
    host.uninstall();
    assert!(!host.exists(SETTINGS));
}
