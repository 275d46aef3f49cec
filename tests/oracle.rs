//! What the program writes, judged by Ghostty's own engine. Needs a python that can import pyghostty 0.1.3, named by
//! `PYGHOSTTY_PYTHON`; without it these tests say so and do nothing.

mod support;

use std::ffi::OsString;
use std::io::Write;
use std::process::Stdio;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use support::sender::{AT_ONCE, claude};
use support::text::{any_text, one_clean_notification};
use support::tmux::{SESSION, passthrough};
use support::{Payload, Persona, Protocol, Sandbox, Sender, TmuxServer, notifications, skip};

/// The python that has the engine.
fn judge() -> Option<OsString> {
    let Some(python) = std::env::var_os("PYGHOSTTY_PYTHON") else {
        skip("PYGHOSTTY_PYTHON names no python with pyghostty 0.1.3");
        return None;
    };
    let status = std::process::Command::new(&python).args(["-c", "import pyghostty"]).status();
    assert!(status.is_ok_and(|status| status.success()), "{} cannot import pyghostty", python.display());
    Some(python)
}

/// One recorded stream with what our own reader finds in it.
fn case(name: &str, bytes: &[u8]) -> Value {
    let shown = notifications(bytes);
    assert_eq!(shown.len(), 1, "{name}: {shown:?}");
    let protocol = match shown[0].protocol {
        Protocol::Osc9 => "osc9",
        Protocol::Osc99 => "osc99",
        Protocol::Osc777 => "osc777",
    };
    let sequence: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"name": name, "sequence": sequence, "title": shown[0].title, "body": shown[0].body, "protocol": protocol})
}

/// The engine's verdict: 0 if it sees what our reader saw.
fn judged(python: &OsString, cases: &[Value]) -> (bool, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/ghostty.py");
    let mut child = std::process::Command::new(python)
        .arg(script)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python");
    let text = serde_json::to_vec(cases).expect("JSON");
    child.stdin.take().expect("a pipe").write_all(&text).expect("python reads");
    let output = child.wait_with_output().expect("python");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[track_caller]
fn accepted(python: &OsString, cases: &[Value]) {
    let (good, said) = judged(python, cases);
    assert!(good, "{said}");
}

#[test]
fn the_judge_can_say_no() {
    let Some(python) = judge() else { return };
    let swallowed = json!({"name": "digit", "sequence": "1b5d393b35207465737473 07".replace(' ', ""), "title": "", "body": "5 tests", "protocol": "osc9"});
    assert!(!judged(&python, &[swallowed]).0, "Ghostty swallows OSC 9 that begins with 5");
    let twice = b"\x1b]777;notify;T;B\x07".repeat(2);
    let sequence: String = twice.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!judged(&python, &[json!({"name": "twice", "sequence": sequence, "title": "T", "body": "B", "protocol": "osc777"})]).0);
    assert!(judged(&python, &[case("once", b"\x1b]777;notify;T;B\x07")]).0);
}

#[test]
fn ghostty_accepts_what_claude_is_handed() {
    let Some(python) = judge() else { return };
    let mut cases = Vec::new();
    for persona in [Persona::GHOSTTY, Persona::ITERM2, Persona::KITTY] {
        for file in [
            "claude/stop.json",
            "claude/permission-request-bash.json",
            "claude/stop-failure-429.json",
            "claude/notification-agent_needs_input.json",
            "claude/reconstructed/stop-control-characters.json",
        ] {
            let sandbox = Sandbox::new();
            sandbox.config("[content]\nmessage = true\nprompt_title = true\n");
            let outcome = claude(&sandbox, Payload::load(file)).envs(persona.variables()).env("LC_ALL", "zh_CN.UTF-8").run();
            cases.push(case(&format!("{file} in {}", persona.name), &outcome.success().terminal_sequence()));
        }
    }
    accepted(&python, &cases);
}

#[test]
fn ghostty_accepts_what_terminals_receive() {
    let Some(python) = judge() else { return };
    let mut cases = Vec::new();
    for persona in [Persona::GHOSTTY, Persona::ITERM2, Persona::KITTY] {
        let sandbox = Sandbox::new();
        sandbox.config(AT_ONCE);
        let tmux = TmuxServer::start(&sandbox, &passthrough("on"));
        let terminal = tmux.attach(persona, SESSION);
        for sender in Sender::ALL {
            terminal.clear();
            sender.command(&sandbox).in_pane(&tmux, SESSION).run().success();
            cases.push(case(&format!("{sender:?} in tmux in {}", persona.name), &terminal.bytes_once_notified()));
        }
        let (outcome, terminal) = Sender::Send.command(&sandbox).run_on(persona);
        outcome.success();
        cases.push(case(&format!("send in {}", persona.name), &terminal.bytes_once_notified()));
    }
    accepted(&python, &cases);
}

#[test]
fn ghostty_reports_one_notification_for_any_of_300_texts() {
    let Some(python) = judge() else { return };
    let sandbox = Sandbox::new();
    sandbox.config("[content]\nmessage = true\n");
    let mut runner = TestRunner::deterministic();
    let mut draw = || any_text().new_tree(&mut runner).expect("a text").current();
    let mut cases = Vec::new();
    for number in 0..300 {
        // OSC 9 every third time: it has traps of its own.
        let persona = if number % 3 == 0 { Persona::ITERM2 } else { Persona::GHOSTTY };
        let (folder, answer) = (draw(), draw());
        let payload = Payload::load("claude/stop.json").with("cwd", format!("/{folder}")).with("last_assistant_message", answer);
        let outcome = claude(&sandbox, payload.fresh()).envs(persona.variables()).run();
        let sequence = outcome.success().terminal_sequence();
        one_clean_notification(&sequence, &folder);
        cases.push(case(&format!("text {number}"), &sequence));
    }
    accepted(&python, &cases);
}
