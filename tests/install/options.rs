//! Which agents, which folders, which command text.

use std::path::Path;

use serde_json::Value;

use crate::host::{CONFIG, HOOKS, Host, SETTINGS};

/// The commands of all our entries for Claude Code.
fn commands(settings: &Value) -> Vec<String> {
    let groups = settings["hooks"].as_object().expect("hooks").values().flat_map(|groups| groups.as_array().expect("groups"));
    let handlers = groups.flat_map(|group| group["hooks"].as_array().expect("handlers"));
    handlers.map(|handler| handler["command"].as_str().expect("a command").to_owned()).collect()
}

#[test]
fn an_agent_is_chosen_or_skipped() {
    let host = Host::new();
    host.run(&["install", "--yes", "--no-test", "--claude"]).success();
    assert!(host.exists(SETTINGS) && !host.exists(HOOKS));
    host.run(&["install", "--check", "--claude"]).success();
    host.run(&["install", "--check"]).code(5);
    host.run(&["install", "--yes", "--no-test", "--cursor"]).success();
    assert!(host.exists(HOOKS));
    host.run(&["uninstall", "--yes", "--claude"]).success();
    assert!(!host.exists(SETTINGS) && host.exists(HOOKS));
    host.run(&["uninstall", "--yes", "--cursor"]).success();
    assert!(!host.exists(HOOKS) && host.exists(CONFIG));
}

#[test]
fn an_agent_that_is_not_there_is_skipped_unless_it_is_named() {
    let host = Host::empty().with_claude();
    host.install().stdout_has("Cursor: not on this host");
    assert!(!host.exists(".cursor"));
    host.run(&["install", "--yes", "--no-test", "--cursor"]).success();
    assert!(host.exists(HOOKS));
    let host = Host::empty();
    let before = host.tree_without_memory();
    host.install().stdout_has("no agent to install for was found on this host");
    host.run(&["install", "--check"]).success();
    host.tree_without_memory().is(&before, "with no agent there");
    assert_eq!(host.transactions(), [""; 0]);
}

#[test]
fn built_in_alerts_stay_on_request() {
    let host = Host::empty().with_claude();
    host.write(SETTINGS, "{\n  \"preferredNotifChannel\": \"iterm2\"\n}\n");
    host.run(&["install", "--yes", "--no-test", "--keep-builtin"]).success();
    assert_eq!(host.json(SETTINGS)["preferredNotifChannel"], "iterm2");
    host.run(&["install", "--check", "--keep-builtin"]).success();
    host.install();
    assert_eq!(host.json(SETTINGS)["preferredNotifChannel"], "notifications_disabled");
    host.uninstall();
    assert_eq!(host.text(SETTINGS), "{\n  \"preferredNotifChannel\": \"iterm2\"\n}\n");
}

#[test]
fn a_command_for_shared_dotfiles_stands_there_as_it_was_given() {
    const COMMAND: &str = "$HOME/.local/bin/agent-notify";
    let host = Host::new();
    let before = host.tree_without_memory();
    let install = |more: &[&str]| {
        let arguments: Vec<_> = ["install", "--command", COMMAND].iter().chain(more).copied().collect();
        host.run(&arguments)
    };
    install(&["--yes", "--no-test"]).success();
    let all = commands(&host.json(SETTINGS));
    assert!(all.len() == 4 && all.iter().all(|command| command == "$HOME/.local/bin/agent-notify hook claude"), "{all:?}");
    assert_eq!(host.json(HOOKS)["hooks"]["stop"][0]["command"], "$HOME/.local/bin/agent-notify hook cursor");
    // A shell finds the program by it.
    std::fs::create_dir_all(host.path(".local/bin")).expect("a folder");
    std::fs::hard_link(host.program(), host.path(".local/bin/agent-notify")).expect("a hard link");
    let words = ["sh", "-c", &all[0]];
    let event = r#"{"hook_event_name":"Stop","session_id":"s"}"#;
    assert!(host.sandbox.program(words).env("HOME", host.path("")).stdin(event).run().success().json().is_object());
    std::fs::remove_file(host.path(".local/bin/agent-notify")).expect("removed");
    install(&["--check"]).success();
    let tree = host.tree_without_lock();
    install(&["--yes"]).success();
    host.tree_without_lock().is(&tree, "the second install");
    // Ours all the same, for whoever does not repeat the text.
    let status = host.run(&["status", "--json"]).success().json();
    assert_ne!(status["agents"][0]["state"], "not installed", "{status}");
    host.run(&["uninstall", "--purge", "--yes"]).success();
    host.tree_without_memory().has_the_names_of(&before, "after uninstall");
}

#[test]
fn a_command_that_would_not_be_recognised_is_refused() {
    let host = Host::new();
    let before = host.tree_without_memory();
    for text in ["notify", "env X=1 agent-notify", "agent-notify; rm -rf /", "$(id)/agent-notify", ""] {
        let outcome = host.run(&["install", "--yes", "--command", text]);
        outcome.explains().stderr_has("--command");
        assert_ne!(outcome.status, 0, "{text}");
        host.tree_without_memory().is(&before, text);
    }
}

#[test]
fn a_home_with_blanks_and_quotes_is_a_home() {
    let host = Host::at("it's \"my\" home $HOME 项").with_claude().with_cursor();
    host.write(SETTINGS, "{}");
    let before = host.tree_without_memory();
    host.install();
    host.run(&["install", "--check"]).success();
    assert_eq!(host.state("claude"), "installed");
    host.run(&["uninstall", "--purge", "--yes"]).success();
    host.tree_without_memory().has_the_names_of(&before, "after uninstall");
    assert_eq!(host.text(SETTINGS), "{}");
}

#[test]
fn a_program_in_a_folder_with_blanks_and_quotes_is_quoted_and_recognised() {
    let host = Host::new();
    let folder = host.sandbox.path("it's my bin");
    std::fs::create_dir(&folder).expect("a folder");
    let program = folder.join("agent-notify");
    std::fs::rename(host.program(), &program).expect("moved");
    host.command_of(&program, &["install", "--yes", "--no-test"]).run().success();
    let all = commands(&host.json(SETTINGS));
    // A shell reads one word of it, and starts the program.
    let event = r#"{"hook_event_name":"Stop","session_id":"s"}"#;
    assert!(host.sandbox.program(["sh", "-c", &all[0]]).stdin(event).run().success().json().is_object());
    host.command_of(&program, &["install", "--check"]).run().success();
    host.command_of(&program, &["uninstall", "--yes"]).run().success();
    assert!(!host.exists(SETTINGS) && !host.exists(HOOKS));
}

#[test]
fn claudes_folder_may_be_elsewhere() {
    let host = Host::new();
    let moved = host.path("moved/claude");
    let run = |arguments: &[&str], folder: &Path| host.command(arguments).env("CLAUDE_CONFIG_DIR", folder).run();
    run(&["install", "--yes", "--no-test"], &moved).success();
    assert!(host.exists("moved/claude/settings.json") && !host.exists(".claude"));
    run(&["install", "--check"], &moved).success();
    // Without the variable it is not the file that Claude Code reads; what was written is known all the same.
    host.run(&["install", "--check"]).code(5);
    host.uninstall();
    assert!(!host.exists("moved"));
    // Blank is as good as not set.
    run(&["install", "--yes", "--no-test"], Path::new(" ")).success();
    assert!(host.exists(SETTINGS));
}

/// The state folder is gone: entries are recognised by what they are.
#[test]
fn uninstall_finds_its_entries_without_memory() {
    let host = Host::new();
    let original = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [ { \"type\": \"command\", \"command\": \"x\" } ] }\n    ]\n  }\n}\n";
    host.write(SETTINGS, original);
    host.write(HOOKS, "{\"version\":1,\"hooks\":{\"stop\":[{\"command\":\"x\"}]}}");
    host.install();
    std::fs::remove_dir_all(host.path(".local/state")).expect("removed");
    host.run(&["install", "--check"]).success();
    host.uninstall();
    let mut settings = host.json(SETTINGS);
    // Whether the person had muted Claude Code before is not known any more.
    settings.as_object_mut().expect("an object").remove("preferredNotifChannel");
    assert_eq!(settings, serde_json::from_str::<Value>(original).expect("JSON"));
    assert_eq!(host.text(HOOKS), "{\"version\":1,\"hooks\":{\"stop\":[{\"command\":\"x\"}]}}");
    host.run(&["uninstall", "--yes"]).success().stdout_has("nothing of agent-notify is installed");
}

#[test]
fn without_any_home_it_says_so() {
    let host = Host::empty();
    let outcome = host.command(&["install", "--yes"]).without("HOME").run();
    outcome.code(1).stderr_has("HOME");
}

/// Made by the installer, changed since, or the person's own from the beginning.
#[test]
fn a_purge_takes_the_configuration_whatever_is_in_it() {
    for (before, after) in
        [(None, None), (None, Some("events.idle")), (Some("events.idle"), None), (Some("events.idle"), Some("events.tool"))]
    {
        let host = Host::empty().with_claude();
        let names = host.tree();
        let set = |key: Option<&str>| {
            if let Some(key) = key {
                host.run(&["config", "set", key, "true"]).success();
            }
        };
        set(before);
        host.install();
        set(after);
        host.uninstall();
        assert!(host.exists(CONFIG), "{before:?} {after:?}: it stays until a purge");
        host.run(&["uninstall", "--purge", "--dry-run"]).success().stdout_has("--- ~/.config/agent-notify/config.toml");
        host.run(&["uninstall", "--purge", "--yes"]).success().stdout_has("~/.config/agent-notify/config.toml removed");
        assert!(!host.exists(CONFIG), "{before:?} {after:?}");
        if before.is_none() {
            host.tree().has_the_names_of(&names, "after a purge");
        }
    }
}

#[test]
fn a_linked_configuration_is_the_persons_own() {
    let host = Host::new();
    host.write("dotfiles/agent-notify.toml", "# mine\n");
    host.link("../../dotfiles/agent-notify.toml", CONFIG);
    host.install();
    host.run(&["uninstall", "--purge", "--yes"]).success();
    assert_eq!(host.text("dotfiles/agent-notify.toml"), "# mine\n");
    assert!(host.exists(CONFIG));
}

/// Of what is remembered, the other agent's part is still needed.
#[test]
fn a_purge_is_for_all() {
    let host = Host::new();
    host.install();
    let before = host.tree();
    for agent in ["--claude", "--cursor"] {
        host.run(&["uninstall", "--purge", "--yes", agent]).code(2).explains();
    }
    host.tree().is(&before, "after wrong usage");
    host.run(&["uninstall", "--purge", "--all", "--yes"]).success();
    assert!(!host.exists(SETTINGS) && !host.exists(HOOKS));
}
