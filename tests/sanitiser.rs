//! Whatever the text, the terminal sees exactly one whole notification.

mod support;

use proptest::prelude::*;
use support::sender::{AT_ONCE, claude};
use support::text::{any_text, clean_notification, low_bytes};
use support::tmux::SESSION;
use support::{Payload, Persona, Sandbox, TmuxServer};

fn settings(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 100, ..ProptestConfig::default() }
}

#[test]
fn t16_any_folder_and_answer_give_one_sequence() {
    let sandbox = Sandbox::new();
    sandbox.config("[content]\nmessage = true\nfull_path = true\n");
    proptest!(settings(150), |(folder in any_text(), answer in any_text())| {
        let payload = Payload::load("claude/stop.json").with("cwd", format!("/{folder}")).with("last_assistant_message", answer.as_str());
        let outcome = claude(&sandbox, payload.fresh()).run();
        prop_assert_eq!(outcome.status, 0, "{:?}", outcome);
        clean_notification(&outcome.terminal_sequence()).map_err(TestCaseError::fail)?;
    });
}

#[test]
fn t16_in_gnu_screen_no_character_becomes_a_control() {
    let sandbox = Sandbox::new();
    sandbox.config("[content]\nmessage = true\nfull_path = true\n");
    // Claude wraps for screen where it sees STY, whatever TERM says; without TERM the hook's environment was emptied.
    for (term, sty) in [(Some("screen.xterm-256color"), true), (Some("xterm-kitty"), true), (None, false)] {
        proptest!(settings(40), |(folder in any_text(), answer in any_text())| {
            let payload = Payload::load("claude/stop.json").with("cwd", format!("/{folder}")).with("last_assistant_message", answer.as_str());
            let command = claude(&sandbox, payload.fresh()).without("TERM");
            let command = if let Some(term) = term { command.env("TERM", term) } else { command };
            let outcome = if sty { command.env("STY", "1.x") } else { command }.run();
            prop_assert_eq!(outcome.status, 0, "{:?}", outcome);
            let sequence = outcome.terminal_sequence();
            clean_notification(&low_bytes(&sequence)).map_err(TestCaseError::fail)?;
            prop_assert!(sequence.len() < 690, "{} bytes", sequence.len());
        });
    }
}

#[test]
fn t16_any_title_and_body_reach_the_terminal_as_one_notification() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let tmux = TmuxServer::start(&sandbox, "");
    // A person's terminal of each kind that knows titles; OSC 9 has its own scenario.
    for persona in [Persona::GHOSTTY, Persona::KITTY] {
        let terminal = tmux.attach(persona, SESSION);
        proptest!(settings(60), |(title in any_text(), body in any_text())| {
            // No argument can hold a NUL.
            let [title, body] = [title, body].map(|text| text.replace('\0', ""));
            terminal.clear();
            let arguments = ["send".to_owned(), format!("--title={title}"), format!("--body={body}")];
            let outcome = sandbox.command(arguments).in_pane(&tmux, SESSION).run();
            prop_assert_eq!(outcome.status, 0, "{:?}", outcome);
            let _ = terminal.notifications(1);
            clean_notification(&terminal.bytes()).map_err(TestCaseError::fail)?;
        });
    }
}
