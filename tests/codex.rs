//! Codex's shared daemon: hooks run below it with the environment of whichever interface once started it, so the interface
//! that an event belongs to has to be found. The doubles have what the real ones have: argv, working folder, terminal and
//! `CODEX_HOME`; the terminals are panes of a real tmux.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use support::command::{Command, Outcome, copy_program};
use support::payload::Payload;
use support::sender::AT_ONCE;
use support::tmux::{SESSION, passthrough};
use support::{Notification, OuterTerminal, Persona, Protocol, Sandbox, TmuxServer, bells};

/// A tmux with an interface of Codex in each pane; the first one has "started the daemon".
struct Desk<'sandbox> {
    sandbox: &'sandbox Sandbox,
    tmux: TmuxServer<'sandbox>,
    terminal: OuterTerminal,
}

/// The `codex` program: a shell under that name, which runs the script that its first argument names.
fn double(sandbox: &Sandbox) -> PathBuf {
    let program = sandbox.path("bin/codex");
    if !program.exists() {
        copy_program(&std::fs::canonicalize("/bin/sh").expect("a shell"), &program);
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a mode");
        script(sandbox, "idle", "while :; do sleep 1000; done\n");
        // Both sub-commands run the words behind them as children, as the real ones run their hooks.
        let run = "[ \"$1\" = --listen ] && shift 2\n\"$@\"\nexit $?\n";
        script(sandbox, "app-server", run);
        script(sandbox, "exec", run);
    }
    program
}

fn script(sandbox: &Sandbox, name: &str, text: &str) {
    std::fs::write(sandbox.path(name), text).expect("a script");
}

fn folder(sandbox: &Sandbox, name: &str) -> PathBuf {
    let folder = sandbox.path(name);
    std::fs::create_dir_all(&folder).expect("a project");
    folder
}

/// Shell line of an interface in a project, with further arguments.
fn interface(sandbox: &Sandbox, project: &str, before: &str, arguments: &str) -> String {
    let (program, folder) = (double(sandbox), folder(sandbox, project));
    format!("cd {} && exec {before} {} {} {arguments}", folder.display(), program.display(), sandbox.path("idle").display())
}

impl<'sandbox> Desk<'sandbox> {
    fn with(sandbox: &'sandbox Sandbox, interfaces: &[String]) -> Self {
        let tmux = TmuxServer::start_with(sandbox, &passthrough("off"), &interfaces[0]);
        for line in &interfaces[1..] {
            tmux.run(["split-window", "-t", SESSION, line]);
        }
        let terminal = tmux.attach(Persona::GHOSTTY, SESSION);
        Self { sandbox, tmux, terminal }
    }

    /// A hook of Codex, run by `sub_command` without a terminal, in the environment of the first pane.
    fn hook(&self, sub_command: &[&str], project: &str, change: impl Fn(Payload) -> Payload) -> (Outcome, Vec<Notification>) {
        self.hook_with(sub_command, project, change, |command| command)
    }

    fn hook_with(
        &self,
        sub_command: &[&str],
        project: &str,
        change: impl Fn(Payload) -> Payload,
        further: impl Fn(Command<'sandbox>) -> Command<'sandbox>,
    ) -> (Outcome, Vec<Notification>) {
        self.terminal.settle(Duration::from_millis(150));
        self.terminal.clear();
        let payload = change(Payload::load("codex/stop.json").fresh().with("cwd", self.sandbox.path(project).to_string_lossy()));
        let program = double(self.sandbox).into_os_string();
        let words = ["setsid".into(), "--wait".into(), program].into_iter().chain(sub_command.iter().map(Into::into));
        let command = self.sandbox.command(["hook", "codex"]).stdin(payload.into_bytes()).in_pane(&self.tmux, &format!("{SESSION}:0.0"));
        let outcome = further(command.below(words.collect::<Vec<std::ffi::OsString>>()).working_folder(self.sandbox.path(""))).run();
        outcome.success().stdout_is("");
        let shown = self.terminal.notifications(1);
        assert_eq!(bells(&self.terminal.bytes()), 0);
        (outcome, shown)
    }
}

const DAEMON: &[&str] = &["app-server", "--listen", "unix://"];

/// A hook that the daemon runs.
fn daemon_hook(sandbox: &Sandbox, payload: Payload) -> Command<'_> {
    let words = ["setsid".into(), "--wait".into(), double(sandbox).into_os_string()];
    let words: Vec<std::ffi::OsString> = words.into_iter().chain(DAEMON.iter().map(Into::into)).collect();
    sandbox.command(["hook", "codex"]).stdin(payload.into_bytes()).below(words).working_folder(sandbox.path(""))
}

fn places(shown: &[Notification]) -> Vec<&str> {
    let mut places: Vec<&str> = shown.iter().map(|shown| shown.body.rsplit(" · ").next().unwrap_or_default()).collect();
    places.sort_unstable();
    places
}

#[test]
fn each_interface_below_one_daemon_gets_its_own_notification() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let desk = Desk::with(&sandbox, &[interface(&sandbox, "one", "", ""), interface(&sandbox, "two", "", "")]);
    for (project, place) in [("one", "s1 / 0 / 0"), ("two", "s1 / 0 / 1")] {
        let (outcome, shown) = desk.hook(DAEMON, project, |payload| payload);
        assert_eq!(places(&shown), [place], "{outcome:?}");
        assert_eq!((shown[0].protocol, shown[0].title.as_str()), (Protocol::Osc777, format!("Codex — {project}").as_str()));
    }
}

#[test]
fn of_several_interfaces_in_one_folder_all_or_the_newest_are_told() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let line = interface(&sandbox, "one", "", "");
    let desk = Desk::with(&sandbox, std::slice::from_ref(&line));
    // Start times are counted in hundredths of a second.
    std::thread::sleep(Duration::from_millis(50));
    desk.tmux.run(["new-session", "-d", "-s", "s2", &line]);
    let other = desk.tmux.attach(Persona::GHOSTTY, "s2");
    let (outcome, shown) = desk.hook(DAEMON, "one", |payload| payload);
    assert_eq!(places(&shown), ["s1 / 0 / 0"], "{outcome:?}");
    assert_eq!(places(&other.notifications(1)), ["s2 / 0 / 0"], "{outcome:?}");
    sandbox.config("[policy]\nactive_within = \"0s\"\ncodex_same_dir = \"newest\"\n");
    other.clear();
    let (outcome, shown) = desk.hook(DAEMON, "one", |payload| payload);
    assert_eq!(places(&shown), [] as [&str; 0], "{outcome:?}");
    assert_eq!(places(&other.notifications(1)), ["s2 / 0 / 0"], "{outcome:?}");
}

#[test]
fn one_client_is_told_once_of_several_interfaces_in_one_folder() {
    for channels in ["", "[channels]\nbell = \"on\"\n"] {
        let sandbox = Sandbox::new();
        sandbox.config(&format!("{AT_ONCE}{channels}"));
        let line = interface(&sandbox, "one", "", "");
        let desk = Desk::with(&sandbox, std::slice::from_ref(&line));
        for target in ["split-window", "new-window"] {
            std::thread::sleep(Duration::from_millis(50));
            desk.tmux.run([target, "-t", SESSION, &line]);
        }
        desk.terminal.settle(Duration::from_millis(150));
        desk.terminal.clear();
        let payload = Payload::load("codex/stop.json").fresh().with("cwd", sandbox.path("one").to_string_lossy());
        let outcome = daemon_hook(&sandbox, payload).in_pane(&desk.tmux, &format!("{SESSION}:0.0")).run();
        outcome.success().stdout_is("");
        assert_eq!(places(&desk.terminal.notifications(1)), ["s1 / 1 / 0"], "the newest one's; {outcome:?}");
        assert_eq!(bells(&desk.terminal.bytes()), usize::from(!channels.is_empty()), "{outcome:?}");
    }
}

/// All tmux calls of one event end after 500 ms, not those of each interface.
#[test]
fn hung_servers_of_several_interfaces_share_one_limit() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let line = interface(&sandbox, "one", "", "");
    let servers: Vec<_> = (0..5).map(|_| TmuxServer::start_with(&sandbox, "", &line)).collect();
    std::thread::sleep(Duration::from_millis(300));
    servers.iter().for_each(TmuxServer::stop);
    let payload = Payload::load("codex/stop.json").fresh().with("cwd", sandbox.path("one").to_string_lossy());
    let outcome = daemon_hook(&sandbox, payload).run();
    outcome.success().within(Duration::from_millis(1800));
    let route = sandbox.log().pop().expect("a line")["route"].to_string();
    // The log keeps the beginning of a long field only.
    assert!(route.matches("tmux passed over").count() >= 2, "{route}");
}

/// Writing is given up after 400 ms in all, not for each interface and bell anew.
#[test]
fn frozen_interfaces_share_one_limit() {
    let sandbox = Sandbox::new();
    sandbox.config(&format!("{AT_ONCE}[channels]\nbell = \"on\"\n"));
    let line = interface(&sandbox, "one", "", "");
    let open = |_| OuterTerminal::open(&sandbox, Persona::GHOSTTY, ["sh".into(), "-c".into(), (&line).into()]);
    let terminals: Vec<_> = (0..5).map(open).collect();
    std::thread::sleep(Duration::from_millis(300));
    for terminal in &terminals {
        // Ctrl-S: the line discipline holds output back.
        terminal.type_keys(b"\x13");
    }
    std::thread::sleep(Duration::from_millis(200));
    let payload = Payload::load("codex/stop.json").fresh().with("cwd", sandbox.path("one").to_string_lossy());
    let outcome = daemon_hook(&sandbox, payload).run();
    outcome.success().within(Duration::from_millis(1500));
    let log = sandbox.log();
    let carriers = log.last().expect("a line")["carriers"].as_array().expect("carriers").clone();
    // The log keeps the first ones of a long list only.
    assert!(carriers.len() >= 4, "{carriers:?}");
    assert!(carriers.iter().all(|carrier| carrier["ok"] == false), "{carriers:?}");
}

#[test]
fn an_interface_is_known_by_the_folder_that_it_was_told() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    folder(&sandbox, "elsewhere");
    let told = format!("-C {}", sandbox.path("elsewhere").display());
    let desk = Desk::with(&sandbox, &[interface(&sandbox, "one", "", ""), interface(&sandbox, "two", "", &told)]);
    let (outcome, shown) = desk.hook(DAEMON, "elsewhere", |payload| payload);
    assert_eq!(places(&shown), ["s1 / 0 / 1"], "{outcome:?}");
    let (_, shown) = desk.hook(DAEMON, "two", |payload| payload);
    assert_eq!(places(&shown), [] as [&str; 0], "nobody works there");
}

#[test]
fn another_codex_home_is_another_codex() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let other = format!("env CODEX_HOME={}", sandbox.path("other-home").display());
    let desk = Desk::with(&sandbox, &[interface(&sandbox, "one", "", ""), interface(&sandbox, "one", &other, "")]);
    let (outcome, shown) = desk.hook(DAEMON, "one", |payload| payload);
    assert_eq!(places(&shown), ["s1 / 0 / 0"], "{outcome:?}");
    let (outcome, shown) =
        desk.hook_with(DAEMON, "one", |payload| payload, |command| command.env("CODEX_HOME", sandbox.path("other-home")));
    assert_eq!(places(&shown), ["s1 / 0 / 1"], "{outcome:?}");
}

#[test]
fn without_an_interface_in_the_folder_nobody_else_is_told() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    folder(&sandbox, "nobody");
    let desk = Desk::with(&sandbox, &[interface(&sandbox, "one", "", "")]);
    let (_, shown) = desk.hook(DAEMON, "nobody", |payload| payload);
    assert_eq!(shown.len(), 0, "{shown:?}");
    assert_eq!(sandbox.last_decision(), ("deliver".to_owned(), "no interface of Codex is open in this folder".to_owned()));
}

#[test]
fn an_embedded_codex_has_the_right_environment() {
    let sandbox = Sandbox::new();
    sandbox.config("[policy]\nactive_within = \"0s\"\nheadless = true\n");
    let desk = Desk::with(&sandbox, &[interface(&sandbox, "one", "", ""), interface(&sandbox, "two", "", "")]);
    let exec = |payload: Payload| payload.with("permission_mode", "bypassPermissions");
    let (outcome, shown) = desk.hook(&["exec"], "two", exec);
    assert_eq!(places(&shown), ["s1 / 0 / 0"], "the pane that exec was started in; {outcome:?}");
    sandbox.config(AT_ONCE);
    let (_, shown) = desk.hook(&["exec"], "two", exec);
    assert_eq!(shown.len(), 0, "a run without a person: {shown:?}");
    let (_, shown) = desk.hook(DAEMON, "two", exec);
    assert_eq!(places(&shown), ["s1 / 0 / 1"], "a person who allows everything is a person");
}
