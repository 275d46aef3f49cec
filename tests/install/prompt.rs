//! A person at a terminal sees the diff and is asked.

use std::ffi::OsString;

use crate::host::{HOOKS, Host, SETTINGS};
use crate::support::{OuterTerminal, Persona};

/// `agent-notify ARGUMENTS` in a shell on a terminal; the shell tells the status.
fn at_terminal(host: &Host, arguments: &str) -> OuterTerminal {
    let script = "\"$0\" $ARGUMENTS; echo \"ended with $?.\"; exec sleep 1000";
    let words: Vec<OsString> = vec![
        "env".into(),
        "--unset=XDG_CONFIG_HOME".into(),
        "--unset=XDG_STATE_HOME".into(),
        format!("ARGUMENTS={arguments}").into(),
        "/bin/sh".into(),
        "-c".into(),
        script.into(),
        host.program().into(),
    ];
    OuterTerminal::open(&host.sandbox, Persona::GHOSTTY, words)
}

#[test]
fn the_diff_is_shown_and_no_is_no() {
    let host = Host::new();
    host.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    let before = host.tree_without_memory();
    for answer in [&b"n\n"[..], b"\n", b"what?\n", b"\x04"] {
        let terminal = at_terminal(&host, "install --no-test");
        terminal.wait_for(b"[y/N]");
        // In colour.
        terminal.wait_for(b"\x1b[32m+    \"Stop\": [");
        terminal.wait_for(b"~/.cursor/hooks.json");
        host.tree_without_memory().is(&before, "while it asks");
        terminal.type_keys(answer);
        terminal.wait_for(b"nothing was written");
        terminal.wait_for(b"ended with 0.");
        host.tree_without_memory().is(&before, "after a no");
    }
    assert_eq!(host.transactions(), [""; 0]);
}

#[test]
fn yes_writes_and_a_notification_follows() {
    let host = Host::new();
    let terminal = at_terminal(&host, "install");
    terminal.wait_for(b"[y/N]");
    terminal.type_keys(b"y\n");
    terminal.wait_for(b"test notification sent");
    terminal.wait_for(b"ended with 0.");
    assert_eq!(terminal.notifications(1).len(), 1);
    assert!(host.exists(SETTINGS) && host.exists(HOOKS));
    // Nothing to do: nothing to ask.
    let terminal = at_terminal(&host, "install");
    terminal.wait_for(b"everything is in place");
    terminal.wait_for(b"ended with 0.");
    assert!(terminal.notifications(1).is_empty(), "nor a notification");
    for (arguments, question) in [("rollback", b"[y/N]".as_slice()), ("uninstall", b"[y/N]")] {
        let before = host.tree_without_memory();
        let terminal = at_terminal(&host, arguments);
        terminal.wait_for(question);
        terminal.type_keys(b"no\n");
        terminal.wait_for(b"nothing was written");
        host.tree_without_memory().is(&before, arguments);
    }
    let terminal = at_terminal(&host, "uninstall");
    terminal.wait_for(b"[y/N]");
    terminal.type_keys(b"yes\n");
    terminal.wait_for(b"ended with 0.");
    assert!(!host.exists(SETTINGS) && !host.exists(HOOKS));
}

#[test]
fn a_purge_that_is_declined_purges_nothing() {
    let host = Host::new();
    host.install();
    let before = host.tree_without_lock();
    let terminal = at_terminal(&host, "uninstall --purge");
    terminal.wait_for(b"[y/N]");
    terminal.type_keys(b"n\n");
    terminal.wait_for(b"ended with 0.");
    host.tree_without_lock().is(&before, "after a no");
}

#[test]
fn yes_in_advance_asks_nothing() {
    let host = Host::new();
    let terminal = at_terminal(&host, "install --yes --no-test");
    terminal.wait_for(b"ended with 0.");
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("[y/N]"));
    assert!(host.exists(SETTINGS));
}
