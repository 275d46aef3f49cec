//! `--scope project`: the settings of a repository, which may come from anyone.

use crate::host::{Host, SETTINGS};
use crate::support::Outcome;

const LOCAL: &str = "project/.claude/settings.local.json";

fn host() -> Host {
    let host = Host::new();
    host.write("project/.git/HEAD", "ref: refs/heads/main\n");
    host.write("project/src/main.rs", "");
    host
}

fn in_project(host: &Host, more: &[&str]) -> Outcome {
    let arguments: Vec<_> = ["install", "--yes", "--no-test", "--scope", "project"].iter().chain(more).copied().collect();
    host.command(&arguments).working_folder(host.path("project/src")).run()
}

#[test]
fn a_project_has_files_of_its_own() {
    let host = host();
    let before = host.tree_without_memory();
    in_project(&host, &[]).success().stdout_has("settings.local.json");
    let settings = host.json(LOCAL);
    assert!(settings["hooks"]["Stop"].is_array(), "{settings}");
    assert!(settings["preferredNotifChannel"].is_null(), "muting is the person's own matter: {settings}");
    assert!(host.json("project/.cursor/hooks.json")["hooks"]["stop"].is_array());
    assert!(!host.exists(SETTINGS) && !host.exists(".cursor"), "the person's own are left alone");
    let again = host.tree_without_lock();
    in_project(&host, &[]).success();
    host.tree_without_lock().is(&again, "the second install");
    host.command(&["install", "--check", "--scope", "project"]).working_folder(host.path("project")).run().success();
    // From anywhere: what was written is known.
    host.run(&["uninstall", "--purge", "--yes"]).success();
    host.tree_without_memory().has_the_names_of(&before, "after uninstall");
}

#[test]
fn an_existing_file_of_the_project_is_given_back() {
    let host = host();
    let original = "{\n    \"permissions\": {}\n}";
    host.write(LOCAL, original);
    in_project(&host, &["--claude"]).success();
    assert!(host.text(LOCAL).contains("\n    \"hooks\": {\n        \"Stop\""), "{}", host.text(LOCAL));
    host.uninstall();
    assert_eq!(host.text(LOCAL), original);
}

#[test]
fn a_link_that_leaves_the_repository_is_refused() {
    for (target, link) in [("../elsewhere", "project/.claude"), ("../../elsewhere/x.json", LOCAL)] {
        let host = host();
        host.write("elsewhere/settings.local.json", "{}");
        host.link(target, link);
        let before = host.tree_without_memory();
        in_project(&host, &[]).code(3).stderr_has("out of the project").stderr_has("hint:");
        host.tree_without_memory().is(&before, link);
    }
}

#[test]
fn a_project_that_is_gone_is_no_trouble() {
    let host = host();
    in_project(&host, &[]).success();
    host.install();
    std::fs::remove_dir_all(host.path("project")).expect("removed");
    host.run(&["install", "--check"]).success();
    host.uninstall();
    assert!(!host.exists(SETTINGS) && !host.exists("project"));
    host.run(&["uninstall", "--yes"]).success().stdout_has("nothing of agent-notify is installed");
}

#[test]
fn a_tracked_file_is_said() {
    let host = Host::empty().with_claude();
    host.write(LOCAL, "{}");
    host.write("project/src/main.rs", "");
    let git = |arguments: &[&str]| {
        let words = std::iter::once("git").chain(arguments.iter().copied());
        host.sandbox.program(words).env("HOME", host.path("")).working_folder(host.path("project")).run()
    };
    if git(&["init", "--quiet"]).status != 0 {
        return crate::support::skip("git is not installed");
    }
    assert!(!in_project(&host, &[]).success().text().contains("tracked by git"));
    git(&["add", "--force", ".claude/settings.local.json"]).success();
    host.uninstall();
    in_project(&host, &[]).success().stdout_has("is tracked by git");
}
