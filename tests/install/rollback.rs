//! Going back, and back again.

use crate::host::{CONFIG, HOOKS, Host, SETTINGS};

const ORIGINAL: &str = "{\n  \"model\": \"opus\"\n}\n";

fn installed() -> Host {
    let host = Host::new();
    host.write(SETTINGS, ORIGINAL);
    host.set_mode(SETTINGS, 0o640);
    host.install();
    host
}

fn rollback(host: &Host, more: &[&str]) -> crate::support::Outcome {
    let arguments: Vec<_> = ["rollback", "--yes"].iter().chain(more).copied().collect();
    host.run(&arguments)
}

#[test]
fn back_to_before_an_installation_and_forth_again() {
    let host = Host::new();
    host.write(SETTINGS, ORIGINAL);
    host.set_mode(SETTINGS, 0o640);
    let before = host.tree_without_memory();
    host.install();
    let after = host.tree_without_memory();
    let texts = [SETTINGS, HOOKS, CONFIG].map(|path| host.text(path));
    rollback(&host, &[]).success().stdout_has("rolled back");
    assert_eq!(host.text(SETTINGS), ORIGINAL);
    host.tree_without_memory().has_the_names_of(&before, "back");
    host.run(&["install", "--check"]).code(5);
    rollback(&host, &[]).success();
    assert_eq!([SETTINGS, HOOKS, CONFIG].map(|path| host.text(path)), texts);
    host.tree_without_memory().has_the_names_of(&after, "forth");
    host.run(&["install", "--check"]).success();
    // What came back is as good as installed: it goes as cleanly.
    host.uninstall();
    assert_eq!((host.text(SETTINGS).as_str(), host.mode(SETTINGS), host.exists(HOOKS)), (ORIGINAL, 0o640, false));
    let kinds = host.run(&["history", "--json"]).success().json();
    let kinds: Vec<_> = kinds["transactions"].as_array().expect("transactions").iter().map(|entry| entry["kind"].clone()).collect();
    assert_eq!(kinds, ["uninstall", "rollback", "rollback", "install"]);
}

#[test]
fn an_uninstallation_is_undone_too() {
    let host = installed();
    let texts = [SETTINGS, HOOKS].map(|path| host.text(path));
    host.uninstall();
    rollback(&host, &[]).success();
    assert_eq!([SETTINGS, HOOKS].map(|path| host.text(path)), texts);
    assert_eq!(host.mode(SETTINGS), 0o640);
    host.run(&["install", "--check"]).success();
    host.uninstall();
    assert_eq!((host.text(SETTINGS).as_str(), host.exists(HOOKS)), (ORIGINAL, false));
}

/// An installation by a program at another path, then by this one.
fn upgraded() -> (Host, String) {
    let host = Host::new();
    host.write(SETTINGS, ORIGINAL);
    std::fs::create_dir(host.sandbox.path("old")).expect("a folder");
    let old = host.sandbox.path("old/agent-notify");
    std::fs::copy(crate::support::sandbox::binary(), &old).expect("a copy");
    host.command_of(&old, &["install", "--yes", "--no-test"]).run().success();
    let text = host.text(SETTINGS);
    assert!(text.contains("/old/agent-notify hook claude"), "{text}");
    host.install();
    assert!(!host.text(SETTINGS).contains("/old/"));
    (host, text)
}

#[test]
fn back_by_one_or_down_to_an_id() {
    let (host, old) = upgraded();
    let first = host.transactions().pop().expect("two transactions");
    rollback(&host, &[]).success();
    assert_eq!(host.text(SETTINGS), old, "back to the older program");
    let (host, _) = upgraded();
    let ids = host.transactions();
    assert_eq!(ids.len(), 2);
    rollback(&host, &[&ids[1]]).success();
    assert_eq!(host.text(SETTINGS), ORIGINAL, "both undone");
    assert!(!host.exists(HOOKS) && !host.exists(".cursor"));
    assert_eq!(host.run(&["history", "--json"]).json()["transactions"][0]["undid"], ids[1].as_str());
    assert_ne!(first, "");
}

#[test]
fn an_unknown_id_is_named() {
    let host = installed();
    let before = host.tree_without_memory();
    rollback(&host, &["19700101-000000-000"]).code(1).stderr_has("no transaction 19700101-000000-000").stderr_has("agent-notify history");
    host.tree_without_memory().is(&before, "after a wrong id");
}

#[test]
fn a_key_that_was_added_since_stays() {
    let host = installed();
    host.write(SETTINGS, host.text(SETTINGS).replace("\"model\": \"opus\"", "\"model\": \"opus\",\n  \"theme\": \"dark\""));
    rollback(&host, &[]).success();
    assert_eq!(host.text(SETTINGS), ORIGINAL.replace("\"model\": \"opus\"", "\"model\": \"opus\",\n  \"theme\": \"dark\""));
}

#[test]
fn an_edit_that_cannot_be_kept_is_a_conflict() {
    let host = installed();
    let broken = host.text(SETTINGS).replace("\"Stop\": [", "Stop ").replace("\"timeout\": 10", "\"timeout\"");
    host.write(SETTINGS, &broken);
    let before = host.tree_without_memory();
    let outcome = rollback(&host, &[]);
    outcome.code(3).stderr_has("~/.claude/settings.json is left untouched").stderr_has("hint:").stderr_has("nothing was written");
    assert!(!outcome.errors().contains("to do it by hand"), "there is nothing to put in: {outcome:?}");
    host.tree_without_memory().is(&before, "after a conflict");
    let json = rollback(&host, &["--json"]).code(3).json();
    assert_eq!(json["conflicts"].as_array().map(Vec::len), Some(1), "{json}");
}

#[test]
fn with_nothing_to_go_back_to_nothing_happens() {
    let host = Host::new();
    rollback(&host, &[]).success().stdout_has("there is nothing to roll back");
    rollback(&host, &["--recover"]).success().stdout_has("nothing was interrupted");
    let host = installed();
    let before = host.tree_without_lock();
    assert_eq!(rollback(&host, &["--recover", "--json"]).success().json(), serde_json::json!({ "undone": [], "finished": [] }));
    host.tree_without_lock().is(&before, "after a recovery of nothing");
}

#[test]
fn the_ten_newest_transactions_are_kept() {
    let host = Host::empty().with_claude();
    host.write(SETTINGS, ORIGINAL);
    for _ in 0..6 {
        host.install();
        host.uninstall();
    }
    let ids = host.transactions();
    assert_eq!(ids.len(), 10);
    assert!(ids.is_sorted_by(|newer, older| newer > older), "{ids:?}");
    host.install();
    rollback(&host, &[host.transactions().last().expect("the oldest")]).success();
    // The first of the ten that are kept was an uninstallation.
    assert!(host.json(SETTINGS)["hooks"].is_object() || host.text(SETTINGS) == ORIGINAL);
}
