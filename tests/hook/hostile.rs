//! Names and texts chosen to end a sequence early, to start one of their own, or to deceive the eye.

use super::support::sender::claude;
use super::support::tmux::SESSION;
use super::support::{Notification, Payload, Persona, Protocol, Sandbox, TmuxServer, bells, notifications};

/// What a folder, a window or an answer may be called.
const HOSTILE: [&str; 12] = [
    "a\x1b]777;notify;stolen;x\x07b",
    "a\x07b\x07",
    "a\x1b\\b",
    "a\nb\r\nc",
    "a;b;c",
    "\u{202e}gnp.exe",
    "\u{2066}x\u{2069}\u{200f}",
    "a\u{9c}b\u{9d}777;notify;x;y\u{7}",
    "a\x18b\x1ac",
    "\x1bPtmux;\x1b\x1b]9;x\x07\x1b\\",
    "4;1;50",
    "\u{2028}line\u{2029}",
];

/// One whole notification whose texts carry no control, no separator, and fit.
#[track_caller]
fn check(bytes: &[u8], what: &str) -> Notification {
    let mut shown = notifications(bytes);
    assert_eq!(shown.len(), 1, "{what:?}: {shown:?}");
    assert_eq!(bells(bytes), 0, "{what:?}: a bell");
    let shown = shown.remove(0);
    for text in [&shown.title, &shown.body] {
        let bad = |character: char| {
            character.is_control() || matches!(character, ';' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!text.contains(bad), "{what:?}: {text:?}");
    }
    assert!(shown.title.len() <= 63 && shown.body.len() <= 255, "{what:?}: {shown:?}");
    assert!(!shown.body.trim().is_empty(), "{what:?}: {shown:?}");
    shown
}

#[test]
fn folders_of_any_name_give_one_sequence() {
    let sandbox = Sandbox::new();
    for name in HOSTILE {
        for payload in [
            Payload::load("claude/stop.json").with("cwd", format!("/home/u/{name}")),
            Payload::load("claude/stop.json").with("session_id", name).with("prompt_id", name),
            Payload::load("claude/reconstructed/stop-control-characters.json").with("cwd", name),
        ] {
            let outcome = claude(&sandbox, payload.fresh()).run();
            check(&outcome.success().terminal_sequence(), name);
        }
    }
}

#[test]
fn answers_and_asks_of_any_text_give_one_sequence() {
    let sandbox = Sandbox::new();
    sandbox.config("[content]\nmessage = true\nprompt_title = true\ndetails = true\nfull_path = true\n");
    for text in HOSTILE {
        let long = text.repeat(200);
        for text in [text, &long] {
            let stop = Payload::load("claude/stop.json").with("last_assistant_message", text);
            let ask = Payload::load("claude/permission-request-bash.json").with("tool_input", serde_json::json!({"command": text}));
            let ask = ask.with("tool_name", text);
            let notice = Payload::load("claude/reconstructed/notification-permission_prompt-title.json").with("title", text);
            for payload in [stop, ask, notice.with("message", text)] {
                let outcome = claude(&sandbox, payload.fresh()).run();
                check(&outcome.success().terminal_sequence(), text);
            }
        }
    }
}

#[test]
fn windows_of_any_name_give_one_sequence() {
    let sandbox = Sandbox::new();
    sandbox.config("[policy]\nactive_within = \"0s\"\n[content]\ncontext = \"window\"\n");
    let tmux = TmuxServer::start(&sandbox, "set -g automatic-rename off\n");
    let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
    for name in HOSTILE {
        tmux.run(["rename-window", "-t", SESSION, "--", name]);
        terminal.settle(std::time::Duration::from_millis(150));
        terminal.clear();
        claude(&sandbox, Payload::load("claude/stop.json").fresh()).in_pane(&tmux, SESSION).run().success().stdout_is("{}\n");
        let _ = terminal.notifications(1);
        check(&terminal.bytes(), name);
    }
}

#[test]
fn a_named_window_stands_in_the_title_and_an_automatic_name_does_not() {
    let sandbox = Sandbox::new();
    sandbox.config("[policy]\nactive_within = \"0s\"\n");
    let tmux = TmuxServer::start(&sandbox, "");
    let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
    for wanted in ["Claude — proj", "Claude — 发布"] {
        terminal.clear();
        claude(&sandbox, Payload::load("claude/stop.json").fresh()).in_pane(&tmux, SESSION).run().success();
        let shown = terminal.notifications(1);
        assert_eq!(shown.iter().map(|shown| shown.title.as_str()).collect::<Vec<_>>(), [wanted]);
        tmux.run(["rename-window", "-t", SESSION, "发布"]);
    }
}

#[test]
fn arguments_of_any_text_give_one_sequence() {
    for text in HOSTILE {
        let sandbox = Sandbox::new();
        let (outcome, terminal) = sandbox.command(["send", "--title", text, "--body", text]).run_on(Persona::GHOSTTY);
        outcome.success();
        let _ = terminal.notifications(1);
        check(&terminal.bytes(), text);
    }
}

#[test]
fn agents_of_any_name_give_one_sequence() {
    for name in HOSTILE {
        let sandbox = Sandbox::new();
        let hook = sandbox.command(["hook", "generic", "--agent", name, "stop"]).stdin("{\"cwd\":\"/home/u/proj\"}");
        let (outcome, terminal) = hook.run_on(Persona::GHOSTTY);
        outcome.success().stdout_is("{}\n");
        let _ = terminal.notifications(1);
        let shown = check(&terminal.bytes(), name);
        assert_eq!(shown.protocol, Protocol::Osc777);
    }
}

#[test]
fn hostile_text_is_escaped_in_the_log_as_people_read_it() {
    let sandbox = Sandbox::new();
    for name in HOSTILE {
        claude(&sandbox, Payload::load("claude/stop.json").fresh().with("cwd", format!("/home/u/{name}"))).run().success();
        let odd = format!("{{\"hook_event_name\":{}}}", serde_json::json!(name));
        claude(&sandbox, odd).run().success();
    }
    for arguments in [&["log"][..], &["log", "--json"]] {
        let text = sandbox.command(arguments).run().success().text();
        let bad = text.chars().find(|character| (character.is_control() && !matches!(character, '\n' | '\t')) || *character == '\u{202e}');
        assert_eq!(bad, None, "{arguments:?}: {text:?}");
    }
}
