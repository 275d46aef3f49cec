//! The commands for people: what they do and how they end, without their wording.

mod support;

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use support::sender::{AT_ONCE, claude};
use support::tmux::SESSION;
use support::{Payload, Persona, Protocol, Sandbox, TmuxServer};

#[test]
fn help_and_version_are_printed_on_request() {
    let sandbox = Sandbox::new();
    let help = sandbox.command(["--help"]).run().success().text();
    for command in ["hook", "send", "test", "log", "config"] {
        assert!(help.contains(command), "{command}: {help}");
        sandbox.command([command, "--help"]).run().success().stdout_has("Usage");
    }
    for arguments in [&["help", "hook"][..], &["hook", "--help"], &["hook", "-h"]] {
        sandbox.command(arguments).run().success().stdout_has("--agent <NAME>");
    }
    sandbox.command(["--version"]).run().success().stdout_has(env!("CARGO_PKG_VERSION"));
}

/// By it the installer tells an older build of this program from a foreign one of the same name.
#[test]
fn the_program_holds_its_mark_and_does_not_show_it() {
    let program = std::fs::read(support::sandbox::binary()).expect("the program");
    let mark = agent_notify::claim::MARK;
    assert!(program.windows(mark.len()).any(|window| window == mark.as_bytes()));
    let sandbox = Sandbox::new();
    for argument in ["--help", "--version", "-V"] {
        let shown = sandbox.command([argument]).run().success().text();
        assert!(!shown.contains(mark), "{argument}: {shown}");
    }
}

#[test]
fn wrong_usage_is_status_2_with_an_explanation() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["no-such-command"][..],
        &["send", "--no-such-flag"],
        &["send", "--title"],
        &["log", "-n", "many"],
        &["config"],
        &["config", "no-such-command"],
        &["config", "set", "policy.grace"],
    ] {
        let outcome = sandbox.command(arguments).run();
        outcome.code(2).explains();
        assert_eq!(outcome.text(), "", "{arguments:?}");
    }
}

#[test]
fn the_configuration_has_a_path_and_is_written_once() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("config/agent-notify/config.toml");
    sandbox.command(["config", "path"]).run().success().stdout_is(&format!("{}\n", path.display()));
    assert!(!path.exists(), "asking writes nothing");
    sandbox.command(["config", "init"]).run().success();
    let text = sandbox.config_text().expect("a configuration");
    for key in ["when_focused", "quiet_hours", "title_template", "protocol"] {
        assert!(text.contains(key), "{key} is explained");
    }
    assert_eq!(std::fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o600);
    std::fs::write(&path, "# mine\n").expect("an edit");
    let _ = sandbox.command(["config", "init"]).run();
    assert_eq!(sandbox.config_text().as_deref(), Some("# mine\n"), "a file that is there is left alone");
}

#[test]
fn a_fresh_configuration_changes_nothing() {
    let [plain, fresh] = [Sandbox::new(), Sandbox::new()];
    fresh.command(["config", "init"]).run().success();
    let sequences = [&plain, &fresh].map(|sandbox| claude(sandbox, Payload::load("claude/stop.json")).run().success().terminal_sequence());
    assert_eq!(sequences[0], sequences[1]);
    let shows = [&plain, &fresh].map(|sandbox| sandbox.command(["config", "show"]).run().success().text());
    assert!(!shows[1].to_lowercase().contains("warning"), "{}", shows[1]);
}

#[test]
fn settings_are_set_beside_comments() {
    let sandbox = Sandbox::new();
    let before = "# at the top\n[policy]\n# why\nactive_within = \"6s\" # beside\n\n[events]\nidle = true\n";
    sandbox.config(before);
    sandbox.command(["config", "set", "policy.active_within", "3s"]).run().success();
    assert_eq!(sandbox.config_text().as_deref(), Some(before.replace("6s", "3s").as_str()));
    sandbox.command(["config", "set", "events.stop", "false"]).run().success();
    let text = sandbox.config_text().expect("a configuration");
    for part in ["# at the top", "# why", "# beside", "idle = true", "stop = false"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    claude(&sandbox, Payload::load("claude/stop.json")).run().success().stdout_is("{}\n");
}

#[test]
fn an_edit_changes_nothing_else_and_shows_nothing_else() {
    for text in [
        "[webhook]\r\nurl = \"https://S3CRET\"\r\n\r\n[events]\r\nidle = true\r\n",
        "\u{feff}[webhook]\nurl = \"https://S3CRET\"\n[events]\nidle = true",
    ] {
        let sandbox = Sandbox::new();
        sandbox.config(text);
        let outcome = sandbox.command(["config", "set", "events.idle", "false"]).run();
        outcome.success().stdout_is("events.idle: true → false\n");
        assert_eq!(sandbox.config_text(), Some(text.replace("true", "false")));
        let outcome = sandbox.command(["config", "set", "webhook.url", "https://T0KEN"]).run();
        outcome.success().stdout_is("webhook.url: (redacted) → (redacted)\n");
        assert_eq!(sandbox.config_text(), Some(text.replace("true", "false").replace("S3CRET", "T0KEN")));
        let outcome = sandbox.command(["config", "set", "webhook.timeout", "https://T0KEN"]).run();
        assert!(!(outcome.code(1).text() + &outcome.errors()).contains("T0KEN"), "{outcome:?}");
    }
}

#[test]
fn what_cannot_be_set_is_refused_and_nothing_written() {
    let sandbox = Sandbox::new();
    sandbox.config("[events]\nidle = true\n");
    for (key, value) in [("no.such_key", "1"), ("events.stop", "perhaps"), ("policy.grace", "soon"), ("notify.protocol", "osc7"), ("", "")]
    {
        let outcome = sandbox.command(["config", "set", key, value]).run();
        assert!([1, 2].contains(&outcome.status), "{key}: {outcome:?}");
        outcome.explains();
        assert_eq!(sandbox.config_text().as_deref(), Some("[events]\nidle = true\n"), "{key}");
    }
}

#[test]
fn wrong_settings_are_shown_with_line_and_column() {
    let sandbox = Sandbox::new();
    sandbox.config("[events]\nstop = true\nnovel = 1\n\n[policy]\n  clients = 7\n");
    let outcome = sandbox.command(["config", "show"]).run();
    let all = outcome.text() + &outcome.errors();
    for part in ["novel", "clients", "3", "6"] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let sandbox = Sandbox::new();
    sandbox.config("[webhook]\nurl = \"https://example.org/hook/S3CRET\"\nheaders = { Authorization = \"Bearer T0KEN\" }\n");
    let outcome = sandbox.command(["config", "show"]).run();
    let all = outcome.text() + &outcome.errors();
    assert!(!all.contains("S3CRET") && !all.contains("T0KEN"), "{all}");
}

#[test]
fn send_reaches_the_own_terminal_with_the_text_as_given() {
    let sandbox = Sandbox::new();
    let (outcome, terminal) = sandbox.command(["send", "--title", "T", "--body", "B"]).run_on(Persona::GHOSTTY);
    outcome.success();
    let shown = terminal.notifications(1);
    let wanted = support::Notification { protocol: Protocol::Osc777, title: "T".into(), body: "B".into() };
    assert_eq!(shown, [wanted]);
}

#[test]
fn send_without_text_speaks_of_an_event() {
    let sandbox = Sandbox::new();
    let (outcome, terminal) = sandbox.command(["send", "--event", "input", "--agent", "Robot"]).run_on(Persona::GHOSTTY);
    outcome.success();
    let shown = terminal.notifications(1);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].title.starts_with("Robot — "), "{shown:?}");
    assert!(shown[0].body.starts_with("Needs your action"), "{shown:?}");
}

#[test]
fn send_takes_text_that_begins_with_a_hyphen() {
    // What a script passes on may begin with anything: `send --title "$title" --body "$body"`.
    for text in ["-x", "--help", "- a list"] {
        let sandbox = Sandbox::new();
        let (outcome, terminal) = sandbox.command(["send", "--title", text, "--body", text]).run_on(Persona::GHOSTTY);
        outcome.success();
        let wanted = support::Notification { protocol: Protocol::Osc777, title: text.into(), body: text.into() };
        assert_eq!(terminal.notifications(1), [wanted]);
    }
}

#[test]
fn send_is_never_a_duplicate() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        let (outcome, terminal) = sandbox.command(["send", "--title", "T", "--body", "B"]).run_on(Persona::GHOSTTY);
        outcome.success();
        assert_eq!(terminal.notifications(1).len(), 1);
    }
}

#[test]
fn send_and_test_tell_the_route_as_json() {
    let sandbox = Sandbox::new();
    for arguments in [&["send", "--title", "T", "--body", "B", "--json"][..], &["test", "--json"]] {
        let (outcome, terminal) = sandbox.command(arguments).run_on(Persona::GHOSTTY);
        let value: Value = serde_json::from_str(&outcome.success().text()).expect("JSON");
        assert!(value.is_object(), "{value}");
        let text = value.to_string();
        assert!(text.contains("osc777"), "the protocol: {text}");
        assert!(text.contains("/dev/tty") || text.contains(&terminal.tty().display().to_string()), "the terminal: {text}");
        assert_eq!(terminal.notifications(1).len(), 1);
        let nowhere = sandbox.command(arguments).run();
        nowhere.code(1);
        serde_json::from_str::<Value>(&nowhere.text()).unwrap_or_else(|error| panic!("{error}: {nowhere:?}"));
    }
}

#[test]
fn send_into_a_detached_session_leaves_the_bell_and_is_no_failure() {
    let sandbox = Sandbox::new();
    let tmux = TmuxServer::start(&sandbox, "");
    sandbox.command(["send", "--title", "T", "--body", "B"]).in_pane(&tmux, SESSION).run().success();
    support::eventually("a bell flag", || (tmux.format(SESSION, "#{window_bell_flag}") == "1").then_some(()));
}

#[test]
fn what_is_switched_off_is_no_failure_and_is_named() {
    let sandbox = Sandbox::new();
    let tmux = TmuxServer::start(&sandbox, "");
    let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
    for (config, reason) in [
        ("[channels]\nterminal = \"off\"\n", "channels.terminal is off"),
        ("[notify]\nprotocol = \"bell\"\n[channels]\nbell = \"off\"\n", "channels.bell is off"),
        ("[channels]\nterminal = \"off\"\nbell = \"off\"\n", "channels.terminal and channels.bell are off"),
    ] {
        sandbox.config(&format!("{AT_ONCE}{config}"));
        let in_tmux = |arguments: &[&str]| sandbox.command(arguments).in_pane(&tmux, SESSION);
        for command in [
            in_tmux(&["send", "--title", "T", "--body", "B", "--json"]),
            in_tmux(&["hook", "claude"]).stdin(Payload::load("claude/stop.json").fresh()),
            sandbox.command(["hook", "claude"]).stdin(Payload::load("claude/stop.json").fresh()),
        ] {
            let outcome = command.run();
            let answer = outcome.success().json();
            assert!(answer == serde_json::json!({}) || answer["reason"] == reason, "{config}: {answer}");
            assert_eq!(sandbox.last_decision(), ("deliver".to_owned(), reason.to_owned()), "{config}");
        }
        sandbox.command(["send", "--title", "T"]).in_pane(&tmux, SESSION).run().success();
    }
    assert_eq!((terminal.notifications(0).len(), support::bells(&terminal.bytes())), (0, 0));
}

#[test]
fn a_terminal_that_only_rings_does_so_without_the_terminal_channel_too() {
    let sandbox = Sandbox::new();
    sandbox.config("[channels]\nterminal = \"off\"\n");
    let tmux = TmuxServer::start(&sandbox, "");
    let terminal = tmux.attach(Persona::XTERM, SESSION);
    sandbox.command(["send", "--title", "T"]).in_pane(&tmux, SESSION).run().success();
    assert_eq!(terminal.bells(1), 1);
    sandbox.config("[channels]\nbell = \"off\"\n");
    sandbox.command(["send", "--title", "T"]).in_pane(&tmux, SESSION).run().code(1).stderr_has("xterm 390 shows no notifications");
}

#[test]
fn without_a_client_and_without_the_bell_send_fails_and_says_why() {
    let sandbox = Sandbox::new();
    sandbox.config("[channels]\nbell = \"off\"\n");
    let tmux = TmuxServer::start(&sandbox, "");
    let send = |arguments: &[&str]| sandbox.command(arguments).in_pane(&tmux, SESSION).run();
    send(&["send", "--title", "T"]).code(1).stderr_has("nobody is attached");
    let route = send(&["send", "--title", "T", "--json"]).code(1).json()["route"].to_string();
    assert!(route.contains("nobody attached") && !route.contains("bell"), "{route}");
    sandbox.config("");
    let route = send(&["send", "--title", "T", "--json"]).success().json()["route"].to_string();
    assert!(route.contains("nobody attached · a bell waits for the next attach"), "{route}");
}

#[test]
fn test_passes_every_policy_and_prints_the_route() {
    let sandbox = Sandbox::new();
    sandbox.config("[events]\nstop = false\ninput = false\nerror = false\n[policy]\nquiet_hours = [\"00:00-23:59\"]\n");
    let tmux = TmuxServer::start(&sandbox, "");
    let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
    let outcome = sandbox.command(["test"]).in_pane(&tmux, SESSION).run();
    outcome.success().stdout_has("OSC 777").stdout_has(&terminal.tty().display().to_string());
    assert_eq!(terminal.notifications(1).len(), 1);
}

#[test]
fn the_log_tells_why() {
    let sandbox = Sandbox::new();
    sandbox.command(["log"]).run().success();
    sandbox.command(["log", "--json"]).run().success().stdout_is("");
    claude(&sandbox, Payload::load("claude/stop.json")).run().success();
    claude(&sandbox, Payload::load("claude/stop.json")).run().success();
    claude(&sandbox, Payload::load("claude/stop-failure-429.json")).run().success();
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let text = sandbox.command(arguments).run().success().text();
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    };
    let all = lines(&["log", "--json"]);
    let decisions: Vec<_> = all.iter().map(|line| line["decision"].as_str().unwrap_or_default()).collect();
    assert_eq!(decisions, ["deliver", "suppress", "deliver"]);
    for line in &all {
        assert!(line["time"].as_u64().is_some_and(|time| time > 1_700_000_000_000), "milliseconds: {line}");
        assert_eq!(line["agent"], "claude");
        for key in ["kind", "event", "session"] {
            assert!(line[key].is_string(), "{key}: {line}");
        }
    }
    assert!(all[1]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{}", all[1]);
    assert_eq!(all[2]["kind"], "error");
    assert_eq!(lines(&["log", "--json", "-n", "1"]), all[2..]);
    assert_eq!(lines(&["log", "--json", "-n", "2"]), all[1..]);
    let text = sandbox.command(["log", "-n", "1"]).run().success().text();
    assert!(text.contains("error") || text.contains("Failed"), "{text}");
}

#[test]
fn no_decisions_are_no_lines() {
    let sandbox = Sandbox::new();
    sandbox.command(["log", "-n", "0"]).run().success().stdout_is("");
    claude(&sandbox, Payload::load("claude/stop.json")).run().success();
    sandbox.command(["log", "-n", "0"]).run().success().stdout_is("");
}

#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let sandbox = Sandbox::new();
    claude(&sandbox, Payload::load("claude/stop.json")).run().success();
    for arguments in [&["log"][..], &["log", "--json"], &["config", "show"], &["config", "path"], &["--help"], &["--version"]] {
        sandbox.command(arguments).redirected(">/dev/full").run().code(1).explains();
    }
}

#[test]
fn a_fresh_configuration_goes_where_its_link_leads() {
    let sandbox = Sandbox::new();
    let link = sandbox.path("config/agent-notify/config.toml");
    std::fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
    std::os::unix::fs::symlink(sandbox.path("home/mine.toml"), &link).expect("a link");
    sandbox.command(["config", "init"]).run().success();
    assert!(link.is_symlink() && sandbox.path("home/mine.toml").is_file());
}

#[test]
fn a_read_only_configuration_is_not_written() {
    let sandbox = Sandbox::new();
    sandbox.config("[events]\nidle = true\n");
    let path = sandbox.path("config/agent-notify/config.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).expect("chmod");
    sandbox.command(["config", "set", "events.idle", "false"]).run().code(1).stderr_has("read-only").stderr_has("chmod");
    assert_eq!(sandbox.config_text().as_deref(), Some("[events]\nidle = true\n"));
}

#[test]
fn known_agents_have_their_own_name_in_what_is_sent() {
    let sandbox = Sandbox::new();
    let titles = |arguments: &[&str], name: &str| {
        let text = sandbox.command(arguments).env("AGENT_NOTIFY_AGENT", name).run().text();
        serde_json::from_str::<Value>(&text).expect("JSON")["title"].as_str().expect("a title").to_owned()
    };
    assert!(titles(&["send", "--json", "--agent", "codex"], "").starts_with("Codex — "));
    assert!(titles(&["send", "--json"], "CLAUDE").starts_with("Claude — "));
    assert!(titles(&["send", "--json"], "Robot").starts_with("Robot — "));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        claude(&sandbox, Payload::load("claude/stop.json").fresh()).run().success();
    }
    for arguments in [&["log"][..], &["--help"], &["config", "show"]] {
        let shell = "exec 3>&1; { \"$@\"; echo $? >&3; } | :";
        let outcome = sandbox.command(arguments).below(["sh", "-c", shell, "sh"]).run();
        assert_eq!(outcome.text(), "0\n", "{arguments:?}: {outcome:?}");
    }
}
