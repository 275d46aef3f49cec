//! Payloads that belong together, in the order in which an agent sends them: which of them a person hears of. From the notes
//! beside the fixtures; 'hold' counts as the decision to defer.

use super::invocation::invocation;
use super::support::sender::claude;
use super::support::{Payload, Persona, Sandbox, notifications};

/// What came out of a sequence.
struct Heard {
    /// Kinds of the delivered events, by the log.
    kinds: Vec<String>,
    /// Files whose decision was to defer.
    held: Vec<String>,
    /// Notifications that a person could see.
    shown: usize,
}

/// Runs the files one after the other in one sandbox.
fn run(sandbox: &Sandbox, folder: &str, names: &[&str]) -> Heard {
    let mut heard = Heard { kinds: Vec::new(), held: Vec::new(), shown: 0 };
    for name in names {
        let file = format!("{folder}/{name}.json");
        let before = sandbox.log().len();
        let (outcome, terminal) = invocation(sandbox, &file).command.run_on(Persona::GHOSTTY);
        outcome.success();
        let log = sandbox.log();
        let new = &log[before..];
        let count = |decision: &str| new.iter().filter(|line| line["decision"] == decision).count();
        let in_reply = if folder == "claude" { notifications(&outcome.terminal_sequence()).len() } else { 0 };
        let on_terminal = terminal.notifications(count("deliver").saturating_sub(in_reply)).len();
        assert_eq!(in_reply + on_terminal, count("deliver"), "{file}: seen and logged; {outcome:?}, {new:?}");
        heard.shown += in_reply + on_terminal;
        heard
            .kinds
            .extend(new.iter().filter(|line| line["decision"] == "deliver").map(|line| line["kind"].as_str().unwrap_or("?").to_owned()));
        if count("defer") > 0 {
            heard.held.push((*name).to_owned());
        }
    }
    heard
}

/// Runs the files and compares the kinds of what a person hears.
fn hears(folder: &str, names: &[&str], wanted: &[&str]) {
    let sandbox = Sandbox::new();
    let heard = run(&sandbox, folder, names);
    assert_eq!(heard.kinds, wanted, "log: {:#?}", sandbox.log());
    assert_eq!(heard.shown, wanted.len());
}

#[test]
fn claude_asks_goes_on_finishes_twice_and_idles() {
    let files = ["permission-request-bash", "notification-permission_prompt", "stop-after-permission", "stop", "notification-idle_prompt"];
    hears("claude", &files, &["input", "stop", "stop"]);
}

#[test]
fn claude_with_a_background_command_finishes_at_its_end() {
    let sandbox = Sandbox::new();
    let files = ["post-tool-use-bash-background", "stop-background-task", "user-prompt-submit-task-notification", "stop-background-done"];
    let heard = run(&sandbox, "claude", &files);
    assert_eq!(heard.kinds, ["stop"]);
    assert_eq!(heard.held, ["stop-background-task"]);
}

#[test]
fn claude_asks_a_question_once() {
    let files = [
        "pre-tool-use-ask_user_question",
        "permission-request-ask_user_question",
        "notification-permission_prompt-question",
        "post-tool-use-ask_user_question",
        "post-tool-batch",
        "stop-auto-mode",
    ];
    hears("claude", &files, &["input", "stop"]);
}

#[test]
fn claude_passes_the_question_of_an_mcp_server_on_once() {
    let files = [
        "pre-tool-use-mcp",
        "elicitation",
        "notification-elicitation_dialog",
        "elicitation-result",
        "notification-elicitation_response",
        "post-tool-use-mcp",
    ];
    hears("claude", &files, &["input"]);
}

#[test]
fn claude_asks_once_while_other_calls_of_the_turn_end() {
    let sandbox = Sandbox::new();
    let ask = Payload::load("claude/permission-request-bash.json");
    let object: serde_json::Value = serde_json::from_slice(ask.bytes()).expect("JSON");
    let of_this_turn =
        |payload: Payload| ["session_id", "prompt_id"].into_iter().fold(payload, |payload, id| payload.with(id, object[id].clone()));
    let ended = || of_this_turn(Payload::load("claude/post-tool-use-bash.json"));
    let reminder = || Payload::load("claude/notification-permission_prompt.json");
    let asked = ended().with("tool_input", object["tool_input"].clone());
    claude(&sandbox, ask).run().success();
    for other in [ended(), ended().with("tool_name", "Write"), asked.clone().with("agent_id", "a")] {
        claude(&sandbox, other).run().success();
        claude(&sandbox, reminder()).run().success().stdout_is("{}\n");
    }
    claude(&sandbox, asked).run().success();
    let shown = claude(&sandbox, reminder()).run();
    assert_eq!(notifications(&shown.success().terminal_sequence()).len(), 1, "a new question without a PermissionRequest");
}

#[test]
fn claude_without_a_person_is_silent() {
    let files = ["session-start-print", "permission-request-bash-print", "stop-print", "session-end-print"];
    hears("claude", &files, &[]);
}

#[test]
fn claude_without_a_person_never_writes_to_a_terminal_even_where_headless_runs_count() {
    let sandbox = Sandbox::new();
    sandbox.config("[policy]\nheadless = true\n");
    for name in ["session-start-print", "permission-request-bash-print", "stop-print", "session-end-print"] {
        let (outcome, terminal) = invocation(&sandbox, &format!("claude/{name}.json")).command.run_on(Persona::GHOSTTY);
        outcome.success().stdout_is("{}\n");
        assert_eq!(terminal.notifications(0), [], "{name}");
    }
}

#[test]
fn neither_does_it_under_another_name() {
    let sandbox = Sandbox::new();
    sandbox.config("[policy]\nheadless = true\n");
    let hook = invocation(&sandbox, "claude/stop-print.json").command.env("AGENT_NOTIFY_AGENT", "Robot");
    let (outcome, terminal) = hook.run_on(Persona::GHOSTTY);
    outcome.success().stdout_is("{}\n");
    assert_eq!(terminal.notifications(0), []);
}

#[test]
fn agents_without_a_session_are_told_apart_by_pane_and_folder() {
    let sandbox = Sandbox::new();
    let finished = |pane: &str, folder: &str| {
        let folder = sandbox.path(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let hook = sandbox.command(["hook", "generic", "--agent", "Aider", "finished"]).working_folder(folder);
        hook.env("TMUX_PANE", pane).stdin("{}").run().success();
        sandbox.last_decision().0
    };
    for (pane, folder) in [("%1", "home/a"), ("%2", "home/a"), ("%1", "home/b")] {
        assert_eq!(finished(pane, folder), "deliver", "{pane} {folder}");
        assert_eq!(finished(pane, folder), "suppress", "{pane} {folder}");
    }
}

#[test]
fn claude_without_prompt_ids_asks_once() {
    hears("claude", &["permission-request-bash-v2.1.138", "notification-permission_prompt-v2.1.138"], &["input"]);
}

#[test]
fn codex_finishes_asks_and_finishes() {
    let files = [
        "session-start",
        "user-prompt-submit",
        "stop",
        "notify-title-thread",
        "notify-turn-complete",
        "pre-tool-use-bash",
        "permission-request",
        "post-tool-use",
        "stop-after-approval",
        "notify-second-turn-history",
        "interrupt",
    ];
    hears("codex", &files, &["stop", "input", "stop"]);
}

#[test]
fn codex_subagents_are_silent() {
    let files = [
        "pre-tool-use-spawn_agent",
        "post-tool-use-spawn_agent",
        "subagent-start",
        "user-prompt-submit-subagent",
        "subagent-stop",
        "notify-subagent",
    ];
    hears("codex", &files, &[]);
}

#[test]
fn codex_asks_and_plans() {
    let files =
        ["pre-tool-use-request_user_input", "post-tool-use-request_user_input", "stop-plan-null-message", "notify-plan-null-message"];
    hears("codex", &files, &["input", "stop"]);
}

#[test]
fn cursor_with_both_hooks_installed_speaks_once() {
    hears("cursor/reconstructed", &["stop-completed-cli", "stop-imported-from-claude"], &["stop"]);
}

#[test]
fn opencode_says_twice_that_it_is_idle_and_is_heard_once() {
    hears("others/reconstructed", &["opencode-session.idle", "opencode-session.status-idle"], &["stop"]);
}

#[test]
fn qwen_asks_once() {
    hears("others/reconstructed", &["qwen-PermissionRequest", "qwen-Notification-permission_prompt"], &["input"]);
}
