//! Several layers: tmux in tmux, ssh between them, popups, GNU screen, a server under load. Scenarios T10–T12 and T19–T21 of
//! the terminal facts, with real servers and a loopback sshd.

mod support;

use std::time::Duration;

use support::sender::AT_ONCE;
use support::sender::claude;
use support::sshd::Sshd;
use support::text::{SECOND, SECOND_FORGED, SECOND_SHOWN};
use support::tmux::{SESSION, SLEEP, passthrough, version};
use support::{OuterTerminal, Payload, Persona, Protocol, Sandbox, Sender, TmuxServer, bells, notifications, skip};

/// Every sender in the first pane of the innermost server arrives exactly once.
fn check_all(sandbox: &Sandbox, inner: &TmuxServer<'_>, terminal: &OuterTerminal, situation: &str) {
    for sender in Sender::ALL {
        terminal.settle(Duration::from_millis(150));
        terminal.clear();
        let outcome = sender.command(sandbox).in_pane(inner, SESSION).run();
        let shown = terminal.notifications(1);
        sender.check_shown(&shown, Protocol::Osc777, &format!("{situation}; {outcome:?}"));
        sender.check_reply(&outcome);
        assert_eq!(bells(&terminal.bytes()), 0, "{sender:?}, {situation}: bells");
    }
}

#[test]
fn t10_a_nested_tmux_is_left_through_the_outer_client() {
    for outer_value in ["off", "on"] {
        let sandbox = Sandbox::new();
        sandbox.config(AT_ONCE);
        let inner = TmuxServer::start(&sandbox, &passthrough("off"));
        let outer = TmuxServer::start_with(&sandbox, &passthrough(outer_value), &inner.attach_line());
        let terminal = outer.attach(Persona::GHOSTTY, SESSION);
        inner.await_nested_client();
        check_all(&sandbox, &inner, &terminal, &format!("nested, outer passthrough {outer_value}"));
        outer.run(["new-window", "-t", SESSION, SLEEP]);
        check_all(&sandbox, &inner, &terminal, &format!("outer window in the background, passthrough {outer_value}"));
    }
}

#[test]
fn t10_three_local_layers_are_left_through_the_outermost_client() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let inner = TmuxServer::start(&sandbox, &passthrough("off"));
    let middle = TmuxServer::start_with(&sandbox, &passthrough("off"), &inner.attach_line());
    let outer = TmuxServer::start_with(&sandbox, &passthrough("off"), &middle.attach_line());
    let terminal = outer.attach(Persona::GHOSTTY, SESSION);
    middle.await_nested_client();
    inner.await_nested_client();
    check_all(&sandbox, &inner, &terminal, "three layers");
}

#[test]
fn t10_sockets_that_dead_servers_left_behind_do_no_harm() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let inner = TmuxServer::start(&sandbox, &passthrough("off"));
    let folder = inner.socket().parent().expect("a folder").to_owned();
    for name in ["a-dead-server", "z-dead-server"] {
        drop(std::os::unix::net::UnixListener::bind(folder.join(name)).expect("a socket"));
    }
    std::fs::write(folder.join("no-socket"), "").expect("a file");
    let outer = TmuxServer::start_with(&sandbox, &passthrough("off"), &inner.attach_line());
    let terminal = outer.attach(Persona::GHOSTTY, SESSION);
    inner.await_nested_client();
    check_all(&sandbox, &inner, &terminal, "dead sockets beside the live ones");
}

#[test]
fn t11_over_ssh_into_tmux_the_client_is_written_to_directly() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let Some(sshd) = sshd(&sandbox) else { return };
    let inner = TmuxServer::start(&sandbox, &passthrough("off"));
    let line = sshd.line(&inner.attach_line());
    let terminal = OuterTerminal::open(&sandbox, Persona::GHOSTTY, ["sh".into(), "-c".into(), line.into()]);
    await_remote_client(&inner, "ghostty 1.3.1");
    check_all(&sandbox, &inner, &terminal, "terminal > ssh > tmux");
}

#[test]
fn t11_from_tmux_over_ssh_into_tmux_one_wrap_is_enough() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let Some(sshd) = sshd(&sandbox) else { return };
    let inner = TmuxServer::start(&sandbox, &passthrough("off"));
    let line = format!("env -u TMUX -u TMUX_PANE {}", sshd.line(&inner.attach_line()));
    let outer = TmuxServer::start_with(&sandbox, &passthrough("on"), &line);
    let terminal = outer.attach(Persona::GHOSTTY, SESSION);
    inner.await_nested_client();
    check_all(&sandbox, &inner, &terminal, "terminal > tmux > ssh > tmux");
}

#[test]
fn t11_layers_that_cannot_be_seen_are_configured() {
    let sandbox = Sandbox::new();
    sandbox.config("[policy]\nactive_within = \"0s\"\nextra_layers = 1\n");
    let Some(sshd) = sshd(&sandbox) else { return };
    let inner = TmuxServer::start(&sandbox, &passthrough("off"));
    let line = format!("env -u TMUX -u TMUX_PANE {}", sshd.line(&inner.attach_line()));
    let middle = TmuxServer::start_with(&sandbox, &passthrough("on"), &line);
    let line = format!("env -u TMUX -u TMUX_PANE {}", sshd.line(&middle.attach_line()));
    let outer = TmuxServer::start_with(&sandbox, &passthrough("on"), &line);
    let terminal = outer.attach(Persona::GHOSTTY, SESSION);
    middle.await_nested_client();
    inner.await_nested_client();
    check_all(&sandbox, &inner, &terminal, "tmux > ssh > tmux > ssh > tmux");
}

#[test]
fn t12_from_tmux_over_ssh_without_tmux_there_one_wrap_reaches_the_terminal() {
    let Some(outcome) = t12(Sender::Send, false) else { return };
    outcome.success();
    for sender in [Sender::Claude, Sender::Codex] {
        // An agent's hook has no terminal of its own: the one of the ssh session belongs to an ancestor.
        if let Some(outcome) = t12(sender, true) {
            sender.check_reply(&outcome);
        }
    }
}

/// The far end is this very host, whose /proc shows the local tmux as well; but nothing of it is among the ancestors there.
fn t12(sender: Sender, own_session: bool) -> Option<support::Outcome> {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let sshd = sshd(&sandbox)?;
    let mut command = sender.command(&sandbox).inheriting(&["TERM", "SSH_TTY", "SSH_CONNECTION"]);
    if own_session {
        command = command.below(["setsid", "--wait"]);
    }
    let job = command.script();
    let go = sandbox.path("go");
    let remote = format!("while ! [ -e {} ]; do sleep 0.1; done; {}; {SLEEP}", go.display(), job.line());
    let line = format!("env -u TMUX -u TMUX_PANE {}", sshd.line(&remote));
    let outer = TmuxServer::start_with(&sandbox, &passthrough("on"), &line);
    let terminal = outer.attach(Persona::GHOSTTY, SESSION);
    std::fs::write(go, "").expect("a file");
    let outcome = job.wait();
    let shown = terminal.notifications(1);
    sender.check_shown(&shown, Protocol::Osc777, &format!("tmux > ssh; {outcome:?}"));
    Some(outcome)
}

fn sshd(sandbox: &Sandbox) -> Option<Sshd> {
    Sshd::start(sandbox).map_err(|reason| skip(&reason)).ok()
}

/// Waits until the one client has told its name, through ssh.
fn await_remote_client(tmux: &TmuxServer<'_>, name: &str) {
    support::eventually("a client at the far end", || (tmux.run(["list-clients", "-F", "#{client_termtype}"]) == name).then_some(()));
}

#[test]
fn t19_under_flood_sixty_of_sixty_arrive() {
    const COUNT: usize = 60;
    let sandbox = Sandbox::new();
    let tmux = TmuxServer::start(&sandbox, &passthrough("off"));
    let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
    let pane = tmux.pane(SESSION);
    tmux.run(["split-window", "-t", SESSION, "while :; do seq 100000 100200; done"]);
    for number in 0..COUNT {
        let title = format!("number {number}");
        sandbox.command(["send", "--title", &title, "--body", "under load"]).in_pane(&tmux, &pane).run().success();
    }
    tmux.run(["kill-pane", "-t", &format!("{SESSION}:0.1")]);
    terminal.settle(Duration::from_millis(300));
    let titles: Vec<_> = notifications(&terminal.bytes()).into_iter().map(|shown| shown.title).collect();
    let wanted: Vec<_> = (0..COUNT).map(|number| format!("number {number}")).collect();
    assert_eq!(titles, wanted);
}

#[test]
fn t20_a_popup_without_a_pane_of_its_own_notifies_once() {
    if version() < (3, 2) {
        return skip("no popups before tmux 3.2");
    }
    for sender in Sender::ALL {
        let sandbox = Sandbox::new();
        sandbox.config(AT_ONCE);
        let tmux = TmuxServer::start(&sandbox, &passthrough("off"));
        let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
        let job = sender.command(&sandbox).inheriting(&["TMUX", "TMUX_PANE", "TERM"]).script();
        let line = format!("{}; {SLEEP}", job.line());
        let tty = terminal.tty().display().to_string();
        let outcome = std::thread::scope(|scope| {
            // tmux waits until the popup closes.
            scope.spawn(|| tmux.try_run(["display-popup", "-E", "-c", &tty, "-t", SESSION, "-w", "60", "-h", "10", &line]));
            let outcome = job.wait();
            let shown = terminal.notifications(1);
            tmux.run(["display-popup", "-C", "-c", &tty]);
            sender.check_shown(&shown, Protocol::Osc777, &format!("popup; {outcome:?}"));
            outcome
        });
        sender.check_reply(&outcome);
    }
}

#[test]
fn t21_in_gnu_screen_the_notification_is_wrapped_for_screen() {
    if support::sandbox::installed("screen".as_ref()).is_none() {
        return skip("GNU screen is not installed");
    }
    let sandbox = Sandbox::new();
    let inherited = ["STY", "TERM", "WINDOW"];
    let ascii = sandbox.command(["send", "--title", "T", "--body", "B"]).inheriting(&inherited);
    let (shown, outcome) = in_screen(&sandbox, "first", &ascii.script());
    outcome.success();
    let wanted = support::Notification { protocol: Protocol::Osc777, title: "T".into(), body: "B".into() };
    assert_eq!(shown, [wanted], "{outcome:?}");
    // Screen mangles what is not ASCII: how it is spelled there is free, but it arrives, once and whole.
    for sender in [Sender::Send, Sender::Codex] {
        let (shown, outcome) = in_screen(&sandbox, &format!("{sender:?}"), &sender.command(&sandbox).inheriting(&inherited).script());
        assert_eq!(shown.len(), 1, "{sender:?}: {shown:?}; {outcome:?}");
        sender.check_reply(&outcome);
    }
}

#[test]
fn t21_gnu_screen_makes_no_second_notification_of_a_text() {
    if support::sandbox::installed("screen".as_ref()).is_none() {
        return skip("GNU screen is not installed");
    }
    let sandbox = Sandbox::new();
    let hook = || {
        let payload = Payload::load("claude/stop.json").fresh().with("cwd", format!("/p/{SECOND}"));
        claude(&sandbox, payload)
    };
    let send = || sandbox.command(["send", "--title", SECOND, "--body", SECOND]);

    // Behind ssh only TERM is left, and the wrap is tmux's.
    for (name, command) in [("send", send()), ("hook", hook())] {
        let job = command.inheriting(&["TERM"]).script();
        let screen = Screen::start(&sandbox, &format!("{name}-beyond"), &job.line());
        let outcome = job.wait();
        outcome.success();
        screen.shows_it_as_ascii(&format!("{name} beyond ssh, {outcome:?}"));
    }

    // In screen itself: our own wrap, and Claude's around what the hook answers.
    let job = send().inheriting(&["TERM", "STY"]).script();
    let screen = Screen::start(&sandbox, "send", &job.line());
    job.wait().success();
    screen.shows_it_as_ascii("send");
    let job = hook().inheriting(&["TERM", "STY"]).script();
    let wrapped = sandbox.path("wrapped");
    let line = format!("{}; until [ -e {1} ]; do sleep 0.1; done; cat {1}", job.line(), wrapped.display());
    let screen = Screen::start(&sandbox, "claude", &line);
    let sequence = job.wait().success().terminal_sequence();
    std::fs::write(sandbox.path("part"), [b"\x1bP\x1b", &sequence[..], b"\x1b\\"].concat()).expect("a file");
    std::fs::rename(sandbox.path("part"), wrapped).expect("a file");
    screen.shows_it_as_ascii("Claude");
}

#[test]
fn t21_a_tmux_client_in_a_screen_out_of_sight_gets_ascii() {
    if support::sandbox::installed("screen".as_ref()).is_none() {
        return skip("GNU screen is not installed");
    }
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let tmux = TmuxServer::start(&sandbox, &passthrough("on"));
    // The client's environment is what ssh would leave of screen's.
    let screen = Screen::start(&sandbox, "client", &format!("env -u STY -u WINDOW {}", tmux.attach_line()));
    support::eventually("a client in screen", || {
        tmux.run(["list-clients", "-F", "#{client_termname}"]).starts_with("screen").then_some(())
    });
    screen.terminal.settle(Duration::from_millis(300));
    let payload = Payload::load("claude/stop.json").fresh().with("cwd", format!("/p/{SECOND}"));
    for command in [claude(&sandbox, payload), sandbox.command(["send", "--title", SECOND, "--body", SECOND])] {
        screen.terminal.clear();
        let outcome = command.in_pane(&tmux, SESSION).run();
        outcome.success();
        screen.shows_it_as_ascii(&format!("tmux in screen, {outcome:?}"));
    }
}

/// A screen with one window; ends when dropped.
struct Screen {
    terminal: OuterTerminal,
    folder: std::path::PathBuf,
}

impl Screen {
    /// A line of shell in the window, which then stays open.
    fn start(sandbox: &Sandbox, name: &str, line: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let folder = sandbox.path("screen");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).expect("its mode");
        let rc = sandbox.path("screenrc");
        std::fs::write(&rc, "startup_message off\nvbell off\ndefutf8 on\n").expect("a configuration");
        let inside = sandbox.path(format!("{name}.sh"));
        std::fs::write(&inside, format!("sleep 0.3; {line}; {SLEEP}")).expect("a script");
        let screen = format!("SCREENDIR={} exec screen -c {}", folder.display(), rc.display());
        let line = format!("{screen} -U -S {name} sh {}", inside.display());
        let terminal = OuterTerminal::open(sandbox, Persona::GHOSTTY, ["sh".into(), "-c".into(), line.into()]);
        Self { terminal, folder }
    }

    /// The hostile text has come, harmless. Whether the terminal notifies depends on the wrap: with tmux's two ESC arrive.
    #[track_caller]
    fn shows_it_as_ascii(&self, what: &str) {
        let has = |needle: &[u8]| self.terminal.bytes().windows(needle.len()).any(|window| window == needle);
        let came = support::until(Duration::from_secs(5), || has(SECOND_SHOWN.as_bytes()).then_some(()));
        self.terminal.settle(Duration::from_millis(150));
        let bytes = support::visible(&self.terminal.bytes());
        assert!(!has(SECOND_FORGED), "{what}: a forged sequence in {bytes}");
        assert!(came.is_some(), "{what}: nothing of it in {bytes}");
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        end_screens(&self.folder);
    }
}

/// Runs a script in the one window of a screen of its own.
fn in_screen(sandbox: &Sandbox, name: &str, job: &support::Job) -> (Vec<support::Notification>, support::Outcome) {
    let screen = Screen::start(sandbox, name, &job.line());
    let outcome = job.wait();
    (screen.terminal.notifications(1), outcome)
}

/// Ends the screens of a folder: their sockets are called `PID.name`.
fn end_screens(folder: &std::path::Path) {
    for socket in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = socket.file_name().to_string_lossy().into_owned();
        let pid = name.split('.').next().and_then(|pid| pid.parse().ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}
