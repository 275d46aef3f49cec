//! Several files that cannot be edited: all are named at once, and nothing is written in any.

use crate::host::{HOOKS, Host, SETTINGS};

const COMMENTS: &str = "{\n  // mine\n  \"model\": \"opus\"\n}\n";

#[test]
fn all_conflicts_are_told_together() {
    let host = Host::new();
    host.write(SETTINGS, COMMENTS);
    host.write(HOOKS, "{ \"version\": 1, \"hooks\": [] }");
    let before = host.tree_without_memory();
    let outcome = host.run(&["install", "--yes"]);
    outcome.code(3).stderr_has("~/.claude/settings.json is left untouched: line 2, column 3");
    outcome.stderr_has("~/.cursor/hooks.json is left untouched: line 1, column 26").stderr_has("nothing was written");
    // What to paste, for each.
    outcome.stderr_has("agent-notify hook claude\"").stderr_has("agent-notify hook cursor\"");
    let json = host.run(&["install", "--yes", "--json"]);
    let conflicts = json.code(3).json()["conflicts"].as_array().expect("conflicts").clone();
    assert_eq!(json.errors(), "", "a program reads standard output");
    let seen: Vec<_> =
        conflicts.iter().map(|conflict| format!("{}:{}:{}", conflict["path"], conflict["line"], conflict["column"])).collect();
    assert_eq!(seen, ["\"~/.claude/settings.json\":2:3", "\"~/.cursor/hooks.json\":1:26"]);
    for conflict in &conflicts {
        let snippet = conflict["snippet"].as_str().expect("a snippet");
        serde_json::from_str::<serde_json::Value>(snippet).unwrap_or_else(|error| panic!("{error}: {snippet}"));
        assert!(conflict["hint"].is_string() && conflict["what"].is_string(), "{conflict}");
    }
    host.tree_without_memory().is(&before, "after conflicts");
    assert_eq!(host.transactions(), [""; 0]);
}

#[test]
fn one_conflict_stops_the_other_agents_too() {
    let host = Host::new();
    host.write(SETTINGS, COMMENTS);
    let before = host.tree_without_memory();
    let outcome = host.run(&["install", "--yes"]);
    outcome.code(3);
    assert!(!outcome.errors().contains("hooks.json"), "{outcome:?}");
    host.tree_without_memory().is(&before, "after a conflict");
    // The other one alone is no trouble.
    host.run(&["install", "--yes", "--no-test", "--cursor"]).success();
    assert!(host.exists(HOOKS));
    assert_eq!(host.text(SETTINGS), COMMENTS);
}

#[test]
fn the_snippet_is_what_forcing_would_add() {
    let host = Host::empty().with_claude();
    host.write(SETTINGS, COMMENTS);
    let conflicts = host.run(&["install", "--yes", "--json"]).code(3).json();
    let snippet: serde_json::Value = serde_json::from_str(conflicts["conflicts"][0]["snippet"].as_str().expect("a snippet")).expect("JSON");
    host.write(SETTINGS, "{}");
    host.install();
    assert_eq!(host.json(SETTINGS), snippet);
}

/// Once installed, the person adds a comment: what cannot be edited any more can still be taken out.
#[test]
fn uninstall_keeps_comments() {
    let host = Host::empty().with_claude();
    host.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    host.install();
    let commented = host.text(SETTINGS).replace("{\n  \"model\"", "{\n  // mine\n  \"model\"");
    host.write(SETTINGS, commented);
    host.run(&["install", "--check"]).code(3);
    host.uninstall();
    assert_eq!(host.text(SETTINGS), COMMENTS);
}

#[test]
fn uninstall_refuses_what_it_cannot_read() {
    let host = Host::new();
    host.install();
    let broken = host.text(SETTINGS).replace("\"Stop\"", "Stop'");
    host.write(SETTINGS, &broken);
    let before = host.tree_without_lock();
    host.run(&["uninstall", "--yes"])
        .code(3)
        .stderr_has("~/.claude/settings.json is left untouched: line ")
        .stderr_has("nothing was written");
    host.tree_without_lock().is(&before, "after a refused uninstall");
}
