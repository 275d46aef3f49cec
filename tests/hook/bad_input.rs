//! Bad input and bad surroundings: the hook exits 0 with the reply that its agent expects, whatever happens; `send` and
//! `test` say clearly what went wrong.

use std::time::Duration;

use super::support::sender::claude;
use super::support::{Command, Outcome, Payload, Persona, Sandbox, notifications, skip};

/// Every agent with the arguments of its hook.
const AGENTS: [&[&str]; 5] =
    [&["hook", "claude"], &["hook", "cursor"], &["hook", "codex"], &["hook", "pi", "settled"], &["hook", "generic", "--agent", "Kimi"]];

/// Exit status 0, and the reply has the form that the agent accepts.
#[track_caller]
fn check_reply(arguments: &[&str], outcome: &Outcome) {
    outcome.success();
    let reply = outcome.text();
    match arguments.get(1) {
        Some(&"codex" | &"pi") => assert_eq!(reply, "", "{arguments:?}: {outcome:?}"),
        Some(&"claude") => {
            let object = outcome.json();
            let keys: Vec<_> = object.as_object().expect("an object").keys().map(String::as_str).collect();
            assert!(keys.is_empty() || keys == ["terminalSequence"], "{outcome:?}");
            assert!(notifications(&outcome.terminal_sequence()).len() <= 1, "{outcome:?}");
        }
        _ => assert_eq!(reply, "{}\n", "{arguments:?}: {outcome:?}"),
    }
}

/// A Stop that each agent would send, so that there is something to do.
fn stop_of(arguments: &[&str]) -> Payload {
    Payload::load(match arguments[1] {
        "claude" => "claude/stop.json",
        "cursor" => "cursor/reconstructed/stop-completed-cli.json",
        "codex" => "codex/stop.json",
        "pi" => "pi/settled.json",
        _ => "others/reconstructed/kimi-Stop.json",
    })
    .fresh()
}

/// Runs every agent's hook with a Stop in surroundings of the test's choice.
fn every_agent_survives(change: impl for<'any> Fn(Command<'any>) -> Command<'any>, sandbox: &Sandbox) {
    for arguments in AGENTS {
        let outcome = change(sandbox.command(arguments).stdin(stop_of(arguments))).run();
        check_reply(arguments, &outcome);
    }
}

#[test]
fn rubbish_on_standard_input_is_answered_like_nothing() {
    let sandbox = Sandbox::new();
    let large = vec![b'x'; 10 * 1024 * 1024];
    let deep = "[".repeat(200_000);
    let inputs: [&[u8]; 16] = [
        b"",
        b"\n",
        b" \t\r\n",
        b"\0",
        b"{\"hook_event_name\":\"Stop\"\0",
        b"\xff\xfe\xfa",
        b"{\"hook_event_name\":\xff}",
        b"null",
        b"true",
        b"7",
        b"\"Stop\"",
        b"[]",
        b"{}",
        b"{\"hook_event_name\":",
        &large,
        deep.as_bytes(),
    ];
    for arguments in AGENTS {
        for input in inputs {
            // Where an argument names the event, it is one even without a payload.
            let outcome = sandbox.command(arguments).stdin(input).run();
            check_reply(arguments, &outcome);
            if arguments[1] == "claude" {
                outcome.stdout_is("{}\n");
            }
        }
    }
}

#[test]
fn ten_megabytes_of_answer_are_no_reason_to_be_silent() {
    let sandbox = Sandbox::new();
    let payload = Payload::load("claude/stop.json").with("last_assistant_message", "x\n".repeat(5 * 1024 * 1024));
    let outcome = claude(&sandbox, payload).run();
    assert_eq!(notifications(&outcome.success().within(Duration::from_secs(10)).terminal_sequence()).len(), 1);
}

#[test]
fn fifteen_megabytes_of_small_values_need_little_memory() {
    let sandbox = Sandbox::new();
    let zeros = "0,".repeat(7_500_000);
    for field in ["tool_response", "tool_input"] {
        let payload = format!("{{\"{field}\":[{zeros}0],\"hook_event_name\":\"Stop\",\"session_id\":\"{field}\"}}");
        let outcome = claude(&sandbox, payload).after("ulimit -v 200000").run();
        assert_eq!(notifications(&outcome.success().terminal_sequence()).len(), 1, "{field}: {outcome:?}");
    }
}

#[test]
fn standard_input_that_ends_late_or_never_is_read_in_pieces() {
    let sandbox = Sandbox::new();
    let payload = Payload::load("claude/stop.json");
    let (head, tail) = payload.bytes().split_at(40);
    std::fs::write(sandbox.path("head"), head).expect("a file");
    std::fs::write(sandbox.path("tail"), tail).expect("a file");
    let pieces = "{ cat \"$0/head\"; sleep 0.2; cat \"$0/tail\"; } | \"$@\"";
    let folder = sandbox.path("");
    let outcome = claude(&sandbox, Vec::new()).below(["sh".as_ref(), "-c".as_ref(), pieces.as_ref(), folder.as_os_str()]).run();
    assert_eq!(notifications(&outcome.success().terminal_sequence()).len(), 1);
}

#[test]
fn a_payload_cut_at_any_byte_is_survived() {
    let sandbox = Sandbox::new();
    for (arguments, file) in [(AGENTS[0], "claude/stop.json"), (AGENTS[2], "codex/permission-request.json")] {
        let payload = Payload::load(file).into_bytes();
        let step = payload.len().div_ceil(400).max(1);
        let cuts: Vec<usize> = (0..payload.len()).step_by(step).collect();
        std::thread::scope(|scope| {
            for part in cuts.chunks(cuts.len().div_ceil(4)) {
                let (sandbox, payload) = (&sandbox, &payload);
                scope.spawn(move || {
                    for cut in part {
                        check_reply(arguments, &sandbox.command(arguments).stdin(&payload[..*cut]).run());
                    }
                });
            }
        });
    }
}

#[test]
fn fields_of_any_other_type_are_survived() {
    use serde_json::{Value, json};
    let values = [Value::Null, json!(7), json!(-1.5e300), json!(true), json!([1, [2]]), json!({"a": {"b": 1}}), json!("\u{0}\u{1b}")];
    let sandbox = Sandbox::new();
    for arguments in AGENTS {
        let object: Value = serde_json::from_slice(stop_of(arguments).bytes()).expect("JSON");
        for key in object.as_object().expect("an object").keys() {
            for value in &values {
                let payload = stop_of(arguments).with(key, value.clone());
                check_reply(arguments, &sandbox.command(arguments).stdin(payload).run());
            }
        }
    }
}

#[test]
fn unknown_arguments_after_hook_are_answered_with_an_empty_object() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["hook"][..],
        &["hook", ""],
        &["hook", "nobody"],
        &["hook", "nobody", "stop", "more", "and more"],
        &["hook", "cursor", "--help"],
        &["hook", "--bogus"],
        &["hook", "generic"],
        &["hook", "generic", "--agent"],
        &["hook", "cursor", "no-such-event"],
        &["hook", "cursor", "--no-such-flag", "--another=1"],
        &["hook", "generic", "--agent", "X", "no-such-event"],
        &["hook", "--resume", "../../etc/passwd"],
    ] {
        let outcome = sandbox.command(arguments).stdin("{\"hook_event_name\":\"NoSuchEvent\"}").run();
        outcome.success();
        assert_eq!(outcome.text(), "{}\n", "{arguments:?}: {outcome:?}");
    }
    for agent in ["codex", "pi"] {
        sandbox.command(["hook", agent, "no-such-event", "--flag"]).stdin("{}").run().success().stdout_is("");
    }
}

#[test]
fn the_payload_decides_whatever_the_arguments_say() {
    let sandbox = Sandbox::new();
    for extra in ["no-such-event", "--no-such-flag", "idle"] {
        let outcome = claude(&sandbox, Payload::load("claude/stop.json").fresh()).appending(extra).run();
        let shown = notifications(&outcome.success().terminal_sequence());
        assert_eq!(shown.len(), 1, "{extra}: {outcome:?}");
        assert!(shown[0].body.starts_with("Waiting for input"), "{extra}: {outcome:?}");
    }
}

#[test]
fn codex_notify_with_a_broken_argument_is_silent() {
    let sandbox = Sandbox::new();
    for argument in ["", "{", "null", "[]", "{\"type\":7}", "{\"type\":\"agent-turn-complete\"", "not json"] {
        sandbox.command(["hook", "codex", argument]).run().success().stdout_is("");
    }
}

#[test]
fn without_home_the_notification_still_goes_out() {
    let sandbox = Sandbox::new();
    let bare = |command: Command<'_>| -> Outcome { command.without_environment().run() };
    for arguments in AGENTS {
        check_reply(arguments, &bare(sandbox.command(arguments).stdin(stop_of(arguments))));
    }
    let outcome = bare(claude(&sandbox, Payload::load("claude/stop.json")));
    assert_eq!(notifications(&outcome.success().terminal_sequence()).len(), 1, "{outcome:?}");
}

#[test]
fn without_a_place_for_state_the_notification_still_goes_out() {
    for blocked in ["state/agent-notify", "state/agent-notify/log.jsonl/in-the-way", "state"] {
        let sandbox = Sandbox::new();
        // For root a folder is never read-only: something else stands in its place.
        if blocked.ends_with("in-the-way") {
            std::fs::create_dir_all(sandbox.path(blocked)).expect("a folder");
        } else {
            let _ = std::fs::remove_dir(sandbox.path(blocked));
            std::fs::write(sandbox.path(blocked), "in the way").expect("a file");
        }
        every_agent_survives(|command| command, &sandbox);
        let outcome = claude(&sandbox, Payload::load("claude/stop.json")).run();
        assert_eq!(notifications(&outcome.success().terminal_sequence()).len(), 1, "{blocked}: {outcome:?}");
        let (outcome, terminal) = sandbox.command(["send", "--title", "T", "--body", "B"]).run_on(Persona::GHOSTTY);
        outcome.success();
        assert_eq!(terminal.notifications(1).len(), 1, "{blocked}: {outcome:?}");
    }
}

#[test]
fn a_named_pipe_in_place_of_a_file_makes_nobody_wait() {
    for place in ["config/agent-notify/config.toml", "state/agent-notify/log.jsonl"] {
        let sandbox = Sandbox::new();
        let path = sandbox.path(place);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        let outcome = claude(&sandbox, Payload::load("claude/stop.json")).run();
        assert_eq!(notifications(&outcome.success().terminal_sequence()).len(), 1, "{place}: {outcome:?}");
        for arguments in [&["config", "show"][..], &["config", "set", "events.stop", "true"], &["log"]] {
            sandbox.command(arguments).run().within(Duration::from_secs(10));
        }
    }
}

#[test]
fn a_payload_is_not_waited_for_longer_than_it_takes() {
    let sandbox = Sandbox::new();
    let payload = Payload::load("claude/stop.json");
    std::fs::write(sandbox.path("payload"), payload.bytes()).expect("a file");
    let folder = sandbox.path("");
    let open = |shell: &'static str| ["sh".as_ref(), "-c".as_ref(), shell.as_ref(), folder.as_os_str()].map(std::ffi::OsStr::to_owned);
    // The writer keeps its end open for longer than anybody waits.
    let complete = "{ cat \"$0/payload\"; exec sleep 60; } | { \"$@\"; echo $? >\"$0/ended\"; }";
    let start = std::time::Instant::now();
    let job = claude(&sandbox, Vec::new()).below(open(complete)).script();
    job.start_detached();
    super::support::eventually("an end", || sandbox.path("ended").exists().then_some(()));
    assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
    assert_eq!(sandbox.last_decision().0, "deliver");
    let endless = sandbox.command(["hook", "claude"]).redirected("</dev/zero").run();
    endless.success().stdout_is("{}\n").within(Duration::from_secs(15));
}

/// No file can grow: every write fails as on a full disk (the signal is ignored, as nothing sends it there).
const FULL_DISK: &str = "trap '' XFSZ; ulimit -f 0";

#[test]
fn on_a_full_disk_the_notification_still_goes_out() {
    let sandbox = Sandbox::new();
    every_agent_survives(|command| command.after(FULL_DISK), &sandbox);
    let outcome = claude(&sandbox, Payload::load("claude/stop.json")).after(FULL_DISK).run();
    assert_eq!(notifications(&outcome.success().terminal_sequence()).len(), 1, "{outcome:?}");
}

#[test]
fn closed_and_full_streams_are_survived() {
    let sandbox = Sandbox::new();
    for redirections in [">&-", ">/dev/full", ">&- 2>&-", "<&- >&- 2>&-"] {
        for arguments in AGENTS {
            let outcome = sandbox.command(arguments).stdin(stop_of(arguments)).redirected(redirections).run();
            outcome.success().stdout_is("");
        }
    }
    for redirections in ["<&-", "</dev/null", "</"] {
        for arguments in AGENTS {
            check_reply(arguments, &sandbox.command(arguments).redirected(redirections).run());
        }
        sandbox.command(AGENTS[0]).redirected(redirections).run().success().stdout_is("{}\n");
    }
}

#[test]
fn few_file_descriptors_are_survived() {
    let sandbox = Sandbox::new();
    // One beside the standard streams: what it takes to load a program at all.
    every_agent_survives(|command| command.after("ulimit -n 4"), &sandbox);
}

#[test]
fn a_hook_in_a_folder_that_is_gone_is_survived() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("gone");
    for arguments in AGENTS {
        std::fs::create_dir_all(&folder).expect("a folder");
        let hook = sandbox.command(arguments).stdin(stop_of(arguments)).working_folder(&folder).after("rmdir \"$PWD\"");
        check_reply(arguments, &hook.run());
    }
}

#[test]
fn send_and_test_say_why_nothing_came() {
    let sandbox = Sandbox::new();
    for arguments in [&["send", "--title", "T", "--body", "B"][..], &["send"], &["test"]] {
        // No terminal, no tmux: nowhere to go.
        sandbox.command(arguments).run().code(1).explains();
    }
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("state/agent-notify"), "in the way").expect("a file");
    sandbox.command(["send", "--title", "T", "--body", "B"]).run().code(1).explains();
    sandbox.command(["send", "--title", "T", "--body", "B"]).without_environment().run().code(1).explains();
}

#[cfg(feature = "test-panic")]
#[test]
fn a_panic_does_not_keep_the_reply() {
    let sandbox = Sandbox::new();
    for arguments in AGENTS {
        let outcome = sandbox.command(arguments).stdin(stop_of(arguments)).env("AGENT_NOTIFY_TEST_PANIC", "1").run();
        check_reply(arguments, &outcome);
    }
    sandbox.command(["hook", "nobody"]).env("AGENT_NOTIFY_TEST_PANIC", "1").run().success().stdout_is("{}\n");
}

#[test]
fn every_hook_without_a_terminal_leaves_no_process_behind() {
    if !std::path::Path::new("/proc/self/stat").exists() {
        return skip("no /proc");
    }
    let sandbox = Sandbox::new();
    every_agent_survives(|command| command, &sandbox);
    let mark = sandbox.path("home").display().to_string();
    let left = super::support::until(Duration::from_secs(5), || {
        let alive = std::fs::read_dir("/proc").ok()?.flatten().any(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&mark)
        });
        (!alive).then_some(())
    });
    assert!(left.is_some(), "a process of the sandbox still runs");
}
