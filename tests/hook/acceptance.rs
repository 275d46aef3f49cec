//! Claude Code outside tmux, through all its version cliffs.

use super::support::sender::{claude, claude_version};
use super::support::{Notification, Payload, Persona, Protocol, Sandbox, bells, notifications};

fn stop() -> Payload {
    Payload::load("claude/stop.json")
}

/// The one notification, from our reader and byte by byte.
fn check_sequence(sequence: &[u8], body: &str) {
    let shown = notifications(sequence);
    assert_eq!(shown.len(), 1, "{shown:?}");
    let Notification { protocol, title, body: text } = &shown[0];
    assert_eq!((*protocol, title.as_str()), (Protocol::Osc777, "Claude — proj"));
    assert!(text.starts_with(body), "{text}");
    assert_eq!(sequence, format!("\x1b]777;notify;Claude — proj;{text}\x07").as_bytes(), "nothing around it, ended by BEL");
}

#[test]
fn a_captured_stop_payload_is_answered_with_one_sequence() {
    let sandbox = Sandbox::new();
    let outcome = claude(&sandbox, stop()).run();
    check_sequence(&outcome.success().terminal_sequence(), "Waiting for input");
    assert_eq!(outcome.stdout.iter().filter(|byte| **byte == b'\n').count(), 1);
    assert_eq!(outcome.json().as_object().map(serde_json::Map::len), Some(1), "nothing but the sequence");
}

#[test]
fn the_text_follows_the_language() {
    for (variable, value, body) in [
        ("LC_ALL", "zh_CN.UTF-8", "等待输入"),
        ("LC_ALL", "fr_FR.UTF-8", "Waiting for input"),
        ("LC_ALL", "C", "Waiting for input"),
        ("LC_MESSAGES", "zh_TW.UTF-8", "等待输入"),
        ("LANG", "zh_CN.UTF-8", "等待输入"),
    ] {
        let sandbox = Sandbox::new();
        let outcome = claude(&sandbox, stop()).without("LC_ALL").without("LANG").env(variable, value).run();
        check_sequence(&outcome.success().terminal_sequence(), body);
    }
    let sandbox = Sandbox::new();
    sandbox.config("[notify]\nlanguage = \"zh\"\n");
    check_sequence(&claude(&sandbox, stop()).run().success().terminal_sequence(), "等待输入");
}

#[test]
fn facts_about_the_event_can_be_overridden_by_variables() {
    let sandbox = Sandbox::new();
    let outcome = claude(&sandbox, stop()).env("AGENT_NOTIFY_CWD", "/srv/other").env("AGENT_NOTIFY_EVENT", "input").run();
    let shown = notifications(&outcome.success().terminal_sequence());
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].title, "Claude — other");
    assert!(shown[0].body.starts_with("Needs your action"), "{}", shown[0].body);
}

#[test]
fn a_blank_variable_counts_as_unset() {
    let sandbox = Sandbox::new();
    let outcome = claude(&sandbox, stop()).env("AGENT_NOTIFY_CWD", " ").env("TMUX", "").env("TMUX_PANE", "").run();
    check_sequence(&outcome.success().terminal_sequence(), "Waiting for input");
}

#[test]
fn the_same_turn_notifies_once() {
    let sandbox = Sandbox::new();
    check_sequence(&claude(&sandbox, stop()).run().success().terminal_sequence(), "Waiting for input");
    claude(&sandbox, stop()).run().success().stdout_is("{}\n");
    assert_eq!(sandbox.last_decision().0, "suppress");
}

#[test]
fn versions_that_know_no_sequence_write_to_their_own_terminal() {
    let sandbox = Sandbox::new();
    let payload = Payload::load("claude/stop-v2.1.138.json");
    let (outcome, terminal) = claude_version(&sandbox, "2-1-138", payload).run_on(Persona::GHOSTTY);
    outcome.success().stdout_is("{}\n");
    check_sequence(&terminal.bytes_once_notified(), "Waiting for input");
}

#[test]
fn versions_that_lost_the_terminal_write_to_that_of_an_ancestor() {
    for version in ["2-1-139", "2-1-140"] {
        let sandbox = Sandbox::new();
        let payload = Payload::load("claude/stop-v2.1.138.json");
        let hook = claude_version(&sandbox, version, payload).below(["setsid", "--wait"]);
        let (outcome, terminal) = hook.run_on(Persona::GHOSTTY);
        outcome.success().stdout_is("{}\n");
        check_sequence(&terminal.bytes_once_notified(), "Waiting for input");
    }
}

#[test]
fn newer_and_unknown_versions_are_answered_with_a_sequence_and_their_terminal_stays_untouched() {
    for version in ["2-1-141", "2-1-145", "2-1-332", "2-2-0", "3-0-0", "unknown", ""] {
        let sandbox = Sandbox::new();
        let hook = claude_version(&sandbox, version, stop()).below(["setsid", "--wait"]);
        let (outcome, terminal) = hook.run_on(Persona::GHOSTTY);
        check_sequence(&outcome.success().terminal_sequence(), "Waiting for input");
        assert_eq!(terminal.notifications(0), [], "version {version:?}");
        assert_eq!(bells(&terminal.bytes()), 0);
    }
}

#[test]
fn the_sequence_suits_the_terminal() {
    for (persona, protocol) in [
        (Persona::GHOSTTY, Protocol::Osc777),
        (Persona::WEZTERM, Protocol::Osc777),
        (Persona::FOOT, Protocol::Osc777),
        (Persona::NONE, Protocol::Osc777),
        (Persona::KITTY, Protocol::Osc99),
        (Persona::ITERM2, Protocol::Osc9),
    ] {
        let sandbox = Sandbox::new();
        let outcome = claude(&sandbox, stop()).envs(persona.variables()).run();
        let sequence = outcome.success().terminal_sequence();
        let shown = notifications(&sequence);
        assert_eq!(shown.iter().map(|shown| shown.protocol).collect::<Vec<_>>(), [protocol], "{}", persona.name);
        assert_eq!(bells(&sequence), 0, "{}", persona.name);
        assert!(sequence.len() <= 4096, "Claude drops more");
    }
}

#[test]
fn a_broken_configuration_is_no_reason_to_be_silent() {
    for text in ["[notify\n", "notify = 3\n[policy]\nwhen_focused = 7\n", "\u{0}\u{1}", "[unknown]\nkey = 1\n"] {
        let sandbox = Sandbox::new();
        sandbox.config(text);
        check_sequence(&claude(&sandbox, stop()).run().success().terminal_sequence(), "Waiting for input");
    }
}

#[test]
fn settings_switch_events_on_and_off() {
    let sandbox = Sandbox::new();
    sandbox.config("[events]\nstop = false\nidle = true\n");
    claude(&sandbox, stop()).run().success().stdout_is("{}\n");
    let idle = claude(&sandbox, Payload::load("claude/notification-idle_prompt.json")).run();
    assert_eq!(notifications(&idle.success().terminal_sequence()).len(), 1);
    let sandbox = Sandbox::new();
    sandbox.config("[channels]\nterminal = \"off\"\n");
    claude(&sandbox, stop()).run().success().stdout_is("{}\n");
}

#[test]
fn the_log_and_its_folder_are_for_the_person_only() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let outcome = claude(&sandbox, stop()).after("umask 000").run();
    outcome.success();
    let mode = |path: &str| std::fs::metadata(sandbox.path(path)).expect(path).permissions().mode() & 0o777;
    assert_eq!(mode("state/agent-notify"), 0o700);
    assert_eq!(mode("state/agent-notify/log.jsonl"), 0o600);
    let text = std::fs::read_to_string(sandbox.path("state/agent-notify/log.jsonl")).expect("a log");
    assert!(!text.contains("Mock reply"), "the agent's words are not logged");
}
