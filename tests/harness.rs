//! The harness itself: a reader that counts too much or too little would make every other test worthless.

mod support;

use support::command::quote;
use support::{Notification, Persona, Protocol, Sandbox, TmuxServer, bells, notifications};

fn one(protocol: Protocol, title: &str, body: &str) -> Vec<Notification> {
    vec![Notification { protocol, title: title.into(), body: body.into() }]
}

#[test]
fn the_reader_finds_each_protocol() {
    assert_eq!(notifications(b"x\x1b[1m\x1b]777;notify;T;a;b\x07y"), one(Protocol::Osc777, "T", "a;b"));
    assert_eq!(notifications("\x1b]777;notify;项;等待\x1b\\".as_bytes()), one(Protocol::Osc777, "项", "等待"));
    assert_eq!(notifications(b"\x1b]9;text\x07"), one(Protocol::Osc9, "", "text"));
    let chunks = b"\x1b]99;i=1:d=0:e=1;VA==\x1b\\\x1b]99;i=1:p=body;body\x1b\\";
    assert_eq!(notifications(chunks), one(Protocol::Osc99, "T", "body"));
    assert_eq!(notifications(b"\x1b]0;title\x07\x1b]777;other;x\x07"), []);
}

#[test]
fn the_reader_drops_what_only_some_terminals_understand() {
    assert_eq!(notifications(b"\x1bPtmux;\x1b\x1b]777;notify;stray;wrap\x07\x1b\\"), [], "one wrap too many");
    assert_eq!(notifications(b"\x1b]0;tit\x1b]777;notify;in;osc\x07le\x07"), [], "inside another sequence");
    assert_eq!(notifications(b"\x1b]777;notify;cut;off"), [], "not ended");
    assert_eq!(notifications(b"\x1b]777;notify;a\x18b;c\x07"), [], "CAN inside");
}

#[test]
fn the_reader_sees_two_where_there_are_two() {
    let twice = b"\x1b]777;notify;T;B\x07\x1b]9;B\x07";
    assert_eq!(notifications(twice).len(), 2);
}

#[test]
fn a_bell_that_ends_a_sequence_does_not_ring() {
    assert_eq!(bells(b"\x07\x1b]0;title\x07\x07"), 2);
    assert_eq!(bells(b"\x1b]777;notify;T;B\x07"), 0);
}

#[test]
fn words_are_quoted_for_a_shell() {
    let sandbox = Sandbox::new();
    let hostile = "a'b\"c$(d)\n;\x1b\\ e";
    sandbox.program(["printf", "%s", hostile]).run().success().stdout_is(hostile);
    assert_eq!(quote(b"a'b"), b"'a'\\''b'");
}

#[test]
fn a_run_has_no_terminal_and_nothing_of_this_process_around_it() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.program(["sh", "-c", "cat; env | cut -d= -f1 | sort | tr '\\n' ' '; : 2>&3 3</dev/tty"]).stdin("in ").run();
    assert_ne!(outcome.status, 0, "a terminal: {outcome:?}");
    outcome.stdout_is("in HOME LANG LC_ALL PATH PWD SHELL TERM TMUX_TMPDIR XDG_CONFIG_HOME XDG_STATE_HOME ");
}

#[test]
fn the_played_terminal_is_known_to_tmux() {
    let sandbox = Sandbox::new();
    let tmux = TmuxServer::start(&sandbox, "");
    let terminal = tmux.attach(Persona::KITTY, "s1");
    assert_eq!(tmux.format("s1", "#{client_termtype} #{client_tty}"), format!("kitty(0.48.2) {}", terminal.tty().display()));
}
