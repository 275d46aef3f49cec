//! What the person, or the agent itself, does to a file between install and uninstall.

use serde_json::{Value, json};

use crate::host::{HOOKS, Host, SETTINGS};

const ORIGINAL: &str = r#"{
  "model": "opus",
  "permissions": { "allow": ["Bash(ls)"] },
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "/home/u/bin/chime" } ] }
    ]
  },
  "theme": "dark"
}
"#;

const CURSOR_ORIGINAL: &str = r#"{
  "version": 1,
  "hooks": {
    "stop": [
      { "command": "/home/u/bin/chime" }
    ]
  }
}
"#;

fn installed() -> Host {
    let host = Host::new();
    host.write(SETTINGS, ORIGINAL);
    host.write(HOOKS, CURSOR_ORIGINAL);
    host.install();
    host
}

/// As `json.dump(…, indent=n)` or `JSON.stringify(…, null, n)` would print it.
fn printed(value: &Value, indent: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(value, &mut serializer).expect("JSON");
    String::from_utf8(bytes).expect("text")
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Replaces the one place.
#[track_caller]
fn edit(host: &Host, path: &str, from: &str, to: &str) {
    let text = host.text(path);
    assert_eq!(text.matches(from).count(), 1, "{from:?} in {text}");
    host.write(path, text.replace(from, to));
}

#[test]
fn a_key_that_was_added_stays() {
    let host = installed();
    edit(&host, SETTINGS, "\"theme\": \"dark\"", "\"theme\": \"dark\",\n  \"verbose\": true");
    edit(&host, HOOKS, "\"version\": 1,", "\"version\": 1, \"mine\": [1, 2],");
    host.run(&["install", "--check"]).success();
    host.install();
    host.uninstall();
    assert_eq!(host.text(SETTINGS), ORIGINAL.replace("\"theme\": \"dark\"", "\"theme\": \"dark\",\n  \"verbose\": true"));
    assert_eq!(host.text(HOOKS), CURSOR_ORIGINAL.replace("\"version\": 1,", "\"version\": 1, \"mine\": [1, 2],"));
}

#[test]
fn a_hook_that_was_added_stays() {
    let host = installed();
    let mut settings = host.json(SETTINGS);
    let own = json!({ "matcher": "Bash", "hooks": [{ "type": "command", "command": "/home/u/bin/agent-notify-log" }] });
    settings["hooks"]["Stop"].as_array_mut().expect("an array").insert(0, own.clone());
    settings["hooks"]["Notification"].as_array_mut().expect("an array").push(own.clone());
    settings["hooks"]["SessionStart"] = json!([own]);
    host.write(SETTINGS, printed(&settings, "  "));
    let mut hooks = host.json(HOOKS);
    hooks["hooks"]["stop"].as_array_mut().expect("an array").push(json!({ "command": "/home/u/bin/last" }));
    host.write(HOOKS, printed(&hooks, "  "));
    host.run(&["install", "--check"]).success();
    host.uninstall();
    let mut wanted = value(ORIGINAL);
    wanted["hooks"]["Stop"].as_array_mut().expect("an array").insert(0, own.clone());
    wanted["hooks"]["Notification"] = json!([own]);
    wanted["hooks"]["SessionStart"] = json!([own]);
    assert_eq!(host.json(SETTINGS), wanted);
    let mut wanted = value(CURSOR_ORIGINAL);
    wanted["hooks"]["stop"].as_array_mut().expect("an array").push(json!({ "command": "/home/u/bin/last" }));
    assert_eq!(host.json(HOOKS), wanted);
}

#[test]
fn a_file_that_was_printed_anew_keeps_its_new_form() {
    for indent in ["    ", "\t", "  "] {
        let host = installed();
        for path in [SETTINGS, HOOKS] {
            host.write(path, printed(&host.json(path), indent));
        }
        host.run(&["install", "--check"]).success();
        let before = host.tree_without_lock();
        host.install();
        host.tree_without_lock().is(&before, "an install after a mere reformatting");
        host.uninstall();
        assert_eq!(host.text(SETTINGS), printed(&value(ORIGINAL), indent));
        assert_eq!(host.text(HOOKS), printed(&value(CURSOR_ORIGINAL), indent));
    }
}

#[test]
fn one_line_that_was_made_of_it_stays_one_line() {
    let host = installed();
    for path in [SETTINGS, HOOKS] {
        host.write(path, host.json(path).to_string());
    }
    host.uninstall();
    assert_eq!(host.text(SETTINGS), value(ORIGINAL).to_string());
    assert_eq!(host.text(HOOKS), value(CURSOR_ORIGINAL).to_string());
}

/// The agent writes the file from its memory: two spaces, its own order, and an entry less.
#[test]
fn what_the_agent_dropped_is_pending_and_put_back() {
    let host = installed();
    let settings = host.json(SETTINGS);
    let mut rewritten = json!({});
    let mut keys: Vec<_> = settings.as_object().expect("an object").keys().cloned().collect();
    keys.sort();
    for key in keys {
        rewritten[&key] = settings[&key].clone();
    }
    rewritten["hooks"].as_object_mut().expect("an object").remove("Notification");
    host.write(SETTINGS, printed(&rewritten, "  "));
    host.run(&["install", "--check"]).code(5).stdout_has("~/.claude/settings.json changed").stdout_has("~/.cursor/hooks.json unchanged");
    assert_eq!(host.state("claude"), "incomplete: run `agent-notify install`");
    host.run(&["status"]).success().stdout_has("missing");
    host.install();
    assert_eq!(host.transactions().len(), 2);
    host.run(&["install", "--check"]).success();
    assert_eq!(host.state("claude"), "installed");
    assert_eq!(host.json(SETTINGS)["hooks"]["Notification"].as_array().map(Vec::len), Some(1));
    host.uninstall();
    assert_eq!(host.json(SETTINGS), value(ORIGINAL));
    let keys: Vec<_> = host.json(SETTINGS).as_object().expect("an object").keys().cloned().collect();
    assert_eq!(keys, ["hooks", "model", "permissions", "theme"], "in the agent's order");
    assert_eq!(host.text(HOOKS), CURSOR_ORIGINAL);
}

#[test]
fn a_file_that_the_person_deleted_is_made_anew_and_goes_again() {
    let host = installed();
    std::fs::remove_file(host.path(SETTINGS)).expect("removed");
    host.run(&["install", "--check"]).code(5);
    assert_eq!(host.state("claude"), "not installed");
    host.install();
    assert_eq!(host.state("claude"), "installed");
    host.uninstall();
    assert!(!host.exists(SETTINGS), "what the person deleted does not come back");
}

#[test]
fn a_deleted_file_is_no_trouble_for_uninstall() {
    let host = installed();
    std::fs::remove_file(host.path(SETTINGS)).expect("removed");
    host.uninstall();
    assert!(!host.exists(SETTINGS));
    assert_eq!(host.text(HOOKS), CURSOR_ORIGINAL);
}

#[test]
fn a_setting_that_the_person_changed_since_stays() {
    let host = installed();
    edit(&host, SETTINGS, "notifications_disabled", "iterm2_with_bell");
    host.uninstall();
    let mut wanted = value(ORIGINAL);
    wanted["preferredNotifChannel"] = json!("iterm2_with_bell");
    assert_eq!(host.json(SETTINGS), wanted);
}

#[test]
fn an_own_entry_that_the_person_edited_is_kept_and_said() {
    let host = installed();
    let mut settings = host.json(SETTINGS);
    let ours = settings["hooks"]["Stop"][1]["hooks"][0].as_object_mut().expect("our entry");
    assert!(ours["command"].as_str().is_some_and(|command| command.ends_with("agent-notify hook claude")), "{ours:?}");
    ours["timeout"] = json!(33);
    host.write(SETTINGS, printed(&settings, "  "));
    let outcome = host.install();
    assert_eq!(host.json(SETTINGS), settings, "{outcome:?}");
    outcome.stdout_has("note: ~/.claude/settings.json:");
    assert_eq!(host.run(&["status", "--json"]).json()["agents"][0]["entries"]["Stop"], "edited by you");
    host.run(&["install", "--yes", "--no-test", "--force"]).success();
    assert_eq!(host.json(SETTINGS)["hooks"]["Stop"][1]["hooks"][0]["timeout"], 10);
    assert_eq!(host.state("claude"), "installed");
    host.uninstall();
    assert_eq!(host.json(SETTINGS), value(ORIGINAL));
}

#[test]
fn a_moved_program_is_an_upgrade_in_place() {
    let host = installed();
    let before = host.text(SETTINGS);
    let from = host.program();
    std::fs::create_dir(host.sandbox.path("opt")).expect("a folder");
    let to = host.sandbox.path("opt/agent-notify");
    std::fs::rename(&from, &to).expect("moved");
    let run = |arguments: &[&str]| host.command_of(&to, arguments).run();
    run(&["install", "--check"]).code(5);
    run(&["install", "--yes", "--no-test"]).success();
    let moved = |text: &str| text.replace(&from.display().to_string(), &to.display().to_string());
    assert_eq!(host.text(SETTINGS), moved(&before));
    run(&["install", "--check"]).success();
    run(&["uninstall", "--yes"]).success();
    assert_eq!((host.text(SETTINGS).as_str(), host.text(HOOKS).as_str()), (ORIGINAL, CURSOR_ORIGINAL));
}
