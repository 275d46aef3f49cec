//! One layer of tmux, as real as it gets: a private server, a played terminal that records every byte, hooks that are started
//! as agents start them. Scenarios T1–T9, T13–T15 and T17 of the terminal facts.

mod support;

use std::time::Duration;

use support::sender::{self, AT_ONCE};
use support::tmux::{SESSION, SLEEP, passthrough, passthrough_values};
use support::{OuterTerminal, Payload, Persona, Protocol, Sandbox, Sender, TmuxServer, bells, notifications, skip, until};

/// Runs every sender in a situation, under every value of passthrough; each must arrive exactly once, with OSC 777.
fn arrives_once(situation: &str, arrange: impl Fn(&TmuxServer<'_>, &OuterTerminal)) {
    for value in passthrough_values() {
        let sandbox = Sandbox::new();
        sandbox.config(AT_ONCE);
        let tmux = TmuxServer::start(&sandbox, &passthrough(value));
        let pane = tmux.pane(SESSION);
        let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
        arrange(&tmux, &terminal);
        let situation = format!("{situation}, passthrough {value}");
        for sender in Sender::ALL {
            check_one(sender, &sandbox, &tmux, &pane, &terminal, Protocol::Osc777, &situation);
        }
    }
}

/// One sender in a pane; one notification on the terminal, no bell.
fn check_one(
    sender: Sender,
    sandbox: &Sandbox,
    tmux: &TmuxServer<'_>,
    pane: &str,
    terminal: &OuterTerminal,
    protocol: Protocol,
    situation: &str,
) {
    terminal.settle(Duration::from_millis(100));
    terminal.clear();
    let outcome = sender.command(sandbox).in_pane(tmux, pane).run();
    let shown = terminal.notifications(1);
    sender.check_shown(&shown, protocol, &format!("{situation}; {outcome:?}"));
    sender.check_reply(&outcome);
    assert_eq!(bells(&terminal.bytes()), 0, "{sender:?}, {situation}: bells");
}

#[test]
fn t1_a_visible_pane_notifies_once() {
    arrives_once("visible", |_, _| {});
}

#[test]
fn t2_a_pane_in_copy_mode_notifies_once() {
    arrives_once("copy-mode", |tmux, _| {
        tmux.run(["copy-mode", "-t", SESSION]);
    });
}

#[test]
fn t3_a_pane_under_a_status_message_notifies_once() {
    arrives_once("message on screen", |tmux, _| {
        tmux.run(["set", "-g", "display-time", "60000"]);
        tmux.run(["display-message", "-t", SESSION, "a message"]);
    });
}

#[test]
fn t4_a_background_window_notifies_once() {
    arrives_once("background window", |tmux, _| {
        tmux.run(["new-window", "-t", SESSION, SLEEP]);
    });
}

#[test]
fn t5_a_pane_hidden_by_zoom_notifies_once() {
    arrives_once("zoomed away", |tmux, _| {
        tmux.run(["split-window", "-t", SESSION, SLEEP]);
        tmux.run(["resize-pane", "-Z", "-t", SESSION]);
    });
}

#[test]
fn t6_a_client_on_another_session_is_notified_once() {
    arrives_once("client on another session", |tmux, terminal| {
        tmux.run(["new-session", "-d", "-s", "s2", SLEEP]);
        tmux.run(["switch-client", "-c", &terminal.tty().display().to_string(), "-t", "s2"]);
    });
}

#[test]
fn t7_without_a_client_the_window_keeps_a_bell_flag() {
    for sender in Sender::ALL {
        let sandbox = Sandbox::new();
        sandbox.config(AT_ONCE);
        let tmux = TmuxServer::start(&sandbox, "");
        let outcome = sender.command(&sandbox).in_pane(&tmux, SESSION).run();
        outcome.success();
        if sender == Sender::Claude {
            assert!(outcome.json().is_object());
        }
        let flag = until(Duration::from_secs(3), || (tmux.format(SESSION, "#{window_bell_flag}") == "1").then_some(()));
        assert!(flag.is_some(), "{sender:?}: no bell flag; {outcome:?}");
    }
}

#[test]
fn t8_of_two_clients_the_most_recently_active_one_is_notified() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let tmux = TmuxServer::start(&sandbox, &passthrough("on"));
    let terminals = [tmux.attach(Persona::GHOSTTY, SESSION), tmux.attach(Persona::GHOSTTY, SESSION)];
    for (chosen, other) in [(0, 1), (1, 0)] {
        tmux.make_most_recent(&terminals[chosen]);
        for sender in Sender::ALL {
            terminals[other].clear();
            check_one(sender, &sandbox, &tmux, SESSION, &terminals[chosen], Protocol::Osc777, "the recent one of two clients");
            assert_eq!(terminals[other].notifications(0), [], "{sender:?}: a copy on the other client");
        }
    }
}

#[test]
fn t8_with_clients_all_every_client_is_notified_once() {
    let sandbox = Sandbox::new();
    sandbox.config("[policy]\nactive_within = \"0s\"\nclients = \"all\"\n");
    let tmux = TmuxServer::start(&sandbox, &passthrough("on"));
    let terminals = [tmux.attach(Persona::GHOSTTY, SESSION), tmux.attach(Persona::KITTY, SESSION)];
    for sender in Sender::ALL {
        terminals.iter().for_each(OuterTerminal::clear);
        let outcome = sender.command(&sandbox).in_pane(&tmux, SESSION).run();
        for (terminal, protocol) in terminals.iter().zip([Protocol::Osc777, Protocol::Osc99]) {
            sender.check_shown(&terminal.notifications(1), protocol, &format!("clients = all; {outcome:?}"));
        }
        sender.check_reply(&outcome);
    }
}

#[test]
fn t9_a_client_on_the_other_member_of_a_session_group_is_notified_once() {
    for value in passthrough_values() {
        let sandbox = Sandbox::new();
        sandbox.config(AT_ONCE);
        let tmux = TmuxServer::start(&sandbox, &passthrough(value));
        let pane = tmux.pane(SESSION);
        tmux.run(["new-session", "-d", "-s", "member", "-t", SESSION]);
        let terminal = tmux.attach(Persona::GHOSTTY, "member");
        for sender in Sender::ALL {
            check_one(sender, &sandbox, &tmux, &pane, &terminal, Protocol::Osc777, "session group");
        }
    }
}

#[test]
fn each_terminal_gets_the_protocol_that_it_understands() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let tmux = TmuxServer::start(&sandbox, &passthrough("off"));
    for (persona, protocol) in [
        (Persona::GHOSTTY, Protocol::Osc777),
        (Persona::WEZTERM, Protocol::Osc777),
        (Persona::FOOT, Protocol::Osc777),
        (Persona::KITTY, Protocol::Osc99),
        (Persona::ITERM2, Protocol::Osc9),
        (Persona::NONE, Protocol::Osc777),
    ] {
        let terminal = tmux.attach(persona, SESSION);
        for sender in Sender::ALL {
            check_one(sender, &sandbox, &tmux, SESSION, &terminal, protocol, persona.name);
        }
    }
}

#[test]
fn a_terminal_without_notifications_gets_only_a_bell() {
    for persona in [Persona::XTERM, Persona::ALACRITTY] {
        let sandbox = Sandbox::new();
        sandbox.config(AT_ONCE);
        if let Err(reason) = describe_terminal(&sandbox, persona.term) {
            skip(&reason);
            continue;
        }
        let tmux = TmuxServer::start(&sandbox, "");
        let terminal = tmux.attach(persona, SESSION);
        for sender in Sender::ALL {
            terminal.clear();
            let outcome = sender.command(&sandbox).in_pane(&tmux, SESSION).run();
            outcome.success();
            assert_eq!(terminal.bells(1), 1, "{sender:?}, {}: bells; {outcome:?}", persona.name);
            assert_eq!(terminal.notifications(0), [], "{sender:?}, {}", persona.name);
        }
    }
}

/// The client that comes first is no way for a notification: what is said of the way must be said of the one that is.
#[test]
fn the_route_and_the_host_are_those_of_the_client_that_was_written_to() {
    for (first_over_ssh, second_over_ssh) in [(true, false), (false, true)] {
        let sandbox = Sandbox::new();
        sandbox.config(&format!("{AT_ONCE}[content]\nhost = \"auto\"\n"));
        let tmux = TmuxServer::start(&sandbox, "");
        tmux.run(["new-session", "-d", "-s", "s2", SLEEP]);
        let attach = |persona: Persona, session: &str, over_ssh: bool| {
            let ssh = over_ssh.then_some("SSH_CONNECTION=192.0.2.1 5 192.0.2.2 22");
            let words = ["env"].into_iter().chain(ssh).map(std::ffi::OsString::from);
            let terminal = OuterTerminal::open(&sandbox, persona, words.chain(tmux.words(["attach-session", "-t", session])));
            tmux.await_client(&terminal, persona);
            terminal
        };
        let _silent = attach(Persona::XTERM, SESSION, first_over_ssh);
        let terminal = attach(Persona::GHOSTTY, "s2", second_over_ssh);
        let host = rustix::system::uname().nodename().to_string_lossy().split('.').next().expect("a host").to_owned();
        for command in [sandbox.command(["send"]), Sender::Claude.command(&sandbox)] {
            terminal.clear();
            let outcome = command.in_pane(&tmux, SESSION).run();
            outcome.success();
            let shown = terminal.notifications(1);
            assert_eq!(shown.len(), 1, "{outcome:?}");
            let names_host = shown[0].body.split(" · ").any(|part| part == host);
            assert_eq!(names_host, second_over_ssh, "{shown:?}");
            let route = sandbox.log().pop().expect("a line")["route"].to_string();
            assert_eq!(route.contains("ssh → "), second_over_ssh, "{route}");
            assert!(route.contains("Ghostty"), "{route}");
        }
    }
}

/// Another user's client: its terminal cannot be opened, and the pane is the only way.
#[test]
fn claude_is_asked_where_the_clients_terminal_cannot_be_written() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let tmux = TmuxServer::start(&sandbox, &passthrough("on"));
    let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
    if support::sandbox::is_root() {
        chown(terminal.tty(), Some(65534), None).expect("chown");
    } else {
        std::fs::set_permissions(terminal.tty(), PermissionsExt::from_mode(0o000)).expect("a mode");
    }
    let outcome = Sender::Claude.command(&sandbox).in_pane(&tmux, SESSION).run();
    outcome.success();
    assert_eq!(terminal.notifications(0), [], "Claude wraps and writes it, not we: {outcome:?}");
    assert_eq!(bells(&terminal.bytes()), 0);
    let sequence = outcome.terminal_sequence();
    let shown = notifications(&sequence);
    Sender::Claude.check_shown(&shown, Protocol::Osc777, "asked");
    assert_eq!(bells(&sequence), 1, "a bell passes with every setting");
    // Nobody else can be asked: the pane takes it.
    terminal.clear();
    let outcome = Sender::Codex.command(&sandbox).in_pane(&tmux, SESSION).run();
    Sender::Codex.check_shown(&terminal.notifications(1), Protocol::Osc777, &format!("through the pane; {outcome:?}"));
}

/// Compiles a terminfo entry into HOME, since this machine need not know the terminal.
fn describe_terminal(sandbox: &Sandbox, term: &str) -> Result<(), String> {
    let text = sandbox.program(["infocmp", "xterm-256color"]).run().text();
    let file = sandbox.path("terminfo.source");
    std::fs::write(&file, text.replace("xterm-256color|", &format!("{term}|"))).map_err(|error| error.to_string())?;
    let folder = sandbox.path("home/.terminfo");
    let outcome = sandbox.program(["tic".as_ref(), "-x".as_ref(), "-o".as_ref(), folder.as_os_str(), file.as_os_str()]).run();
    if outcome.status == 0 { Ok(()) } else { Err(format!("no terminfo for {term}: {}", outcome.errors())) }
}

#[test]
fn t13_a_hook_with_an_empty_environment_finds_its_pane_through_its_ancestors() {
    for sender in Sender::ALL {
        let sandbox = Sandbox::new();
        let job = sender.command(&sandbox).without_environment().below(["setsid", "--wait"]).script();
        let go = sandbox.path("go");
        let line = format!("while ! [ -e {0} ]; do sleep 0.1; done; {1}; {SLEEP}", go.display(), job.line());
        let tmux = TmuxServer::start_with(&sandbox, &passthrough("off"), &line);
        let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
        tmux.run(["new-window", "-t", SESSION, SLEEP]);
        terminal.settle(Duration::from_millis(150));
        terminal.clear();
        std::fs::write(go, "").expect("a file");
        let outcome = job.wait();
        outcome.success();
        let shown = terminal.notifications(1);
        assert_eq!(shown.len(), 1, "{sender:?}: {shown:?}; {outcome:?}");
        assert_eq!(shown[0].protocol, Protocol::Osc777);
    }
}

#[test]
fn t13_without_tmux_pane_the_server_is_still_found() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let tmux = TmuxServer::start(&sandbox, &passthrough("off"));
    let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
    for sender in Sender::ALL {
        terminal.clear();
        let outcome = sender.command(&sandbox).in_pane(&tmux, SESSION).without("TMUX_PANE").run();
        sender.check_shown(&terminal.notifications(1), Protocol::Osc777, &format!("no TMUX_PANE; {outcome:?}"));
        sender.check_reply(&outcome);
    }
}

/// TMUX and TMUX_PANE that lead nowhere: the terminal that the hook was started in is what remains.
fn falls_back_to_its_own_terminal(situation: &str, tmux: &str, pane: &str, sandbox: &Sandbox) {
    for sender in Sender::ALL {
        let hook = sender.command(sandbox).env("TMUX", tmux).env("TMUX_PANE", pane);
        let job = hook.envs(Persona::GHOSTTY.variables()).script();
        let terminal = OuterTerminal::open(sandbox, Persona::GHOSTTY, job.shell_then_sleep());
        let outcome = job.wait();
        outcome.success().within(Duration::from_secs(3));
        let mut shown = terminal.notifications(usize::from(sender != Sender::Claude));
        if sender == Sender::Claude && shown.is_empty() {
            // Claude emits it: wrapped once, since it still believes in TMUX; here only the sequence counts.
            shown = notifications(&outcome.terminal_sequence());
        }
        sender.check_shown(&shown, Protocol::Osc777, &format!("{situation}; {outcome:?}"));
    }
}

#[test]
fn t13_a_stale_tmux_falls_back_to_the_own_terminal() {
    let sandbox = Sandbox::new();
    let gone = format!("{},1,0", sandbox.path("tmux/none").display());
    falls_back_to_its_own_terminal("no such socket", &gone, "%0", &sandbox);
}

#[test]
fn t13_a_dead_pane_falls_back_to_the_own_terminal() {
    let sandbox = Sandbox::new();
    let tmux = TmuxServer::start(&sandbox, "");
    let value = tmux.environment(SESSION).swap_remove(0).1.into_string().expect("UTF-8");
    falls_back_to_its_own_terminal("no such pane", &value, "%999", &sandbox);
}

#[test]
fn t13_a_hung_server_does_not_hold_the_hook() {
    let sandbox = Sandbox::new();
    let tmux = TmuxServer::start(&sandbox, "");
    let value = tmux.environment(SESSION).swap_remove(0).1.into_string().expect("UTF-8");
    tmux.stop();
    falls_back_to_its_own_terminal("server stopped", &value, "%0", &sandbox);
}

#[test]
fn t14_a_control_mode_client_gets_the_notification_as_output_of_the_pane() {
    for sender in Sender::ALL {
        let sandbox = Sandbox::new();
        sandbox.config(AT_ONCE);
        let tmux = TmuxServer::start(&sandbox, "");
        let client = OuterTerminal::open(&sandbox, Persona::NONE, tmux.words(["-C", "attach-session", "-t", SESSION]));
        client.wait_for(b"%session-changed");
        client.settle(Duration::from_millis(200));
        client.clear();
        let outcome = sender.command(&sandbox).in_pane(&tmux, SESSION).run();
        outcome.success();
        client.wait_for(b"%output");
        client.settle(Duration::from_millis(200));
        let raw = client.bytes();
        assert!(!raw.contains(&0x1b), "{sender:?}: raw bytes inside the control protocol: {}", support::visible(&raw));
        let shown = notifications(&pane_output(&raw));
        assert_eq!(shown.len(), 1, "{sender:?}: {shown:?}; {outcome:?}");
        assert_eq!(shown[0].protocol, Protocol::Osc777, "{sender:?}");
    }
}

/// What a control-mode client is told that panes wrote: `%output %N text`, bytes below space and `\` as three octal digits.
fn pane_output(raw: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    for line in raw.split(|byte| *byte == b'\n') {
        let Some(rest) = line.strip_prefix(b"%output %") else { continue };
        let line = rest.strip_suffix(b"\r").unwrap_or(rest);
        let mut text = line.iter().copied().skip_while(|byte| *byte != b' ').skip(1);
        while let Some(byte) = text.next() {
            output.push(match byte {
                b'\\' => (0..3).fold(0_u8, |value, _| value.wrapping_mul(8) + (text.next().expect("a digit") - b'0')),
                other => other,
            });
        }
    }
    output
}

#[test]
fn t15_a_frozen_terminal_does_not_hold_the_hook() {
    for sender in Sender::ALL {
        let sandbox = Sandbox::new();
        sandbox.config(AT_ONCE);
        let tmux = TmuxServer::start(&sandbox, &passthrough("off"));
        let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
        terminal.pause();
        // Fills the terminal's queue until tmux can write no more.
        tmux.run(["split-window", "-t", SESSION, "while :; do seq 1 200; sleep 0.01; done"]);
        std::thread::sleep(Duration::from_millis(1500));
        let pane = tmux.pane(&format!("{SESSION}:0.0"));
        let outcome = sender.command(&sandbox).in_pane(&tmux, &pane).run();
        outcome.within(Duration::from_secs(3));
        tmux.run(["kill-pane", "-t", &format!("{SESSION}:0.1")]);
        terminal.resume();
        let told = until(Duration::from_secs(5), || {
            let bytes = terminal.bytes();
            (notifications(&bytes).len() + bells(&bytes) > 0).then_some(())
        });
        let shown = terminal.notifications(0);
        assert!(shown.len() <= 1, "{sender:?}: {shown:?}");
        match sender {
            // Either the person is told, or the script.
            Sender::Send => assert!(told.is_some() || outcome.status == 1, "{outcome:?}"),
            // Claude may be handed the sequence instead.
            Sender::Claude => assert!(told.is_some() || !outcome.success().terminal_sequence().is_empty(), "{outcome:?}"),
            Sender::Codex => assert!(told.is_some(), "{outcome:?}"),
        }
    }
}

#[test]
fn t17_osc_9_text_never_begins_with_a_digit() {
    let sandbox = Sandbox::new();
    sandbox.config("[policy]\nactive_within = \"0s\"\n[notify]\ntitle_template = \"{context}\"\n");
    let tmux = TmuxServer::start(&sandbox, &passthrough("off"));
    let terminal = tmux.attach(Persona::ITERM2, SESSION);
    for folder in ["5 tests", "12 files", "4;1;50", "9", "10;0"] {
        let cwd = format!("/home/u/{folder}");
        for command in [
            sender::claude(&sandbox, Payload::load("claude/stop.json").fresh().with("cwd", cwd.clone())),
            sandbox.command(["hook", "codex"]).stdin(Payload::load("codex/stop.json").fresh().with("cwd", cwd.clone())),
            sandbox.command(["send", "--title", folder, "--body", "done"]),
        ] {
            terminal.clear();
            let outcome = command.in_pane(&tmux, SESSION).run();
            outcome.success();
            let shown = terminal.notifications(1);
            assert_eq!(shown.len(), 1, "{folder}: {shown:?}; {outcome:?}");
            let text = &shown[0].body;
            assert_eq!(shown[0].protocol, Protocol::Osc9, "{folder}");
            assert!(!text.starts_with(|first: char| first.is_ascii_digit()), "{folder}: {text}");
            assert!(text.contains(&folder.replace(';', ",")), "{folder}: {text}");
        }
    }
}
