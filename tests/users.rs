//! Servers of other users: neither used by root nor in the way of anybody. The last part of scenario T13 of the terminal facts.

mod support;

use std::time::Duration;

use support::sandbox::{binary, is_root};
use support::tmux::{SESSION, SLEEP, passthrough};
use support::{OuterTerminal, Payload, Persona, Sandbox, Sender, TmuxServer, bells, command, skip};

#[test]
fn t13_the_socket_of_another_user_is_left_alone() {
    if !is_root() {
        return skip("only root can become another user");
    }
    let sandbox = Sandbox::new();
    let tmux = TmuxServer::start(&sandbox, &passthrough("on"));
    let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
    // Where nobody may read and run it.
    let public = tempfile::Builder::new().prefix("an-").tempdir().expect("a folder");
    std::os::unix::fs::chown(public.path(), Some(65534), Some(65534)).expect("chown");
    let program = public.path().join("agent-notify");
    command::copy_program(&binary(), &program);
    for arguments in [&["hook", "claude"][..], &["send", "--title", "T", "--body", "B"]] {
        let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].iter().map(std::ffi::OsString::from);
        let words = words.chain([program.clone().into()]).chain(arguments.iter().map(std::ffi::OsString::from));
        let payload = Payload::load("claude/stop.json").fresh();
        let outcome = sandbox.program(words).in_pane(&tmux, SESSION).working_folder("/").env("HOME", public.path()).stdin(payload).run();
        if arguments[0] == "hook" {
            assert!(outcome.success().json().is_object());
        } else {
            outcome.code(1).explains();
        }
        assert_eq!(terminal.notifications(0), [], "{arguments:?}");
    }
}

#[test]
fn t13_root_does_not_use_the_server_of_another_user() {
    if !is_root() {
        return skip("only root can become another user");
    }
    let sandbox = Sandbox::new();
    let folder = tempfile::Builder::new().prefix("an-").tempdir().expect("a folder");
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).expect("chown");
    let socket = folder.path().join("socket").display().to_string();
    let as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "tmux", "-S", &socket];
    let tmux = |arguments: &[&str]| sandbox.program(as_nobody.iter().chain(arguments)).working_folder("/").env("HOME", folder.path()).run();
    let row = "#{socket_path},#{pid},0";
    let _end = support::AtEnd(|| drop(tmux(&["kill-server"])));
    let started = tmux(&["new-session", "-d", "-s", SESSION, "-P", "-F", row, SLEEP]);
    let words = as_nobody.iter().chain(&["attach-session", "-t", SESSION]).map(std::ffi::OsString::from);
    let terminal = OuterTerminal::open(&sandbox, Persona::GHOSTTY, words);
    support::eventually("a client", || (!tmux(&["list-clients"]).stdout.is_empty()).then_some(()));
    terminal.settle(Duration::from_millis(200));
    terminal.clear();
    for sender in Sender::ALL {
        let outcome = sender.command(&sandbox).env("TMUX", started.text().trim()).env("TMUX_PANE", "%0").run();
        match sender {
            Sender::Send => outcome.code(1).explains(),
            Sender::Claude | Sender::Codex => outcome.success(),
        };
        assert_eq!(terminal.notifications(0), [], "{sender:?}");
        assert_eq!(bells(&terminal.bytes()), 0, "{sender:?}");
    }
}
