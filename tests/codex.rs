//! Codex's shared daemon: its hooks have the environment of whichever interface came first and no terminal, so the interface
//! that an event belongs to has to be found by its working folder. Doubles play the interfaces and the daemon: a shell called
//! `codex`, with the arguments, folders and terminals of the real ones.

mod support;

use std::path::PathBuf;

use support::sender::AT_ONCE;
use support::tmux::{SESSION, SLEEP, passthrough};
use support::{Command, OuterTerminal, Payload, Persona, Protocol, Sandbox, TmuxServer, command, sandbox};

/// Two sessions of one tmux server with a terminal each.
struct Desk<'sandbox> {
    sandbox: &'sandbox Sandbox,
    tmux: TmuxServer<'sandbox>,
    terminals: [OuterTerminal; 2],
}

impl<'sandbox> Desk<'sandbox> {
    fn new(sandbox: &'sandbox Sandbox) -> Self {
        let double = sandbox.path("bin/codex");
        command::copy_program(&sandbox::program("", "sh"), &double);
        let tmux = TmuxServer::start(sandbox, &passthrough("off"));
        tmux.run(["new-session", "-d", "-s", "s2", SLEEP]);
        let terminals = [tmux.attach(Persona::GHOSTTY, SESSION), tmux.attach(Persona::GHOSTTY, "s2")];
        Self { sandbox, tmux, terminals }
    }

    /// A project folder.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.sandbox.path("home").join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// Starts an interface in a session, in a folder.
    fn interface(&self, session: &str, folder: &str) {
        let folder = self.folder(folder).display().to_string();
        let ready = self.sandbox.path(format!("ready-{session}"));
        let line = format!("exec {} -c 'touch {}; sleep 100000; :'", self.sandbox.path("bin/codex").display(), ready.display());
        self.tmux.run(["respawn-pane", "-k", "-t", session, "-c", &folder, &line]);
        support::eventually("the interface runs", || ready.exists().then_some(()));
    }

    /// A Stop from the daemon, which the interface of the first session had started.
    fn stop(&self, folder: &str) -> Command<'_> {
        let cwd = self.folder(folder).display().to_string();
        std::fs::write(self.sandbox.path("home/app-server"), "shift 2\n\"$@\"\nexit $?\n").expect("a script");
        let double = self.sandbox.path("bin/codex");
        let words =
            [double.as_os_str(), "app-server".as_ref(), "--listen".as_ref(), "unix://".as_ref(), "setsid".as_ref(), "--wait".as_ref()];
        let payload = Payload::load("codex/stop.json").fresh().with("cwd", cwd);
        self.sandbox.command(["hook", "codex"]).stdin(payload).below(words).in_pane(&self.tmux, SESSION)
    }

    /// Who is told of a Stop in that folder.
    #[track_caller]
    fn tells(&self, folder: &str, wanted: [usize; 2]) {
        self.terminals.iter().for_each(OuterTerminal::clear);
        let outcome = self.stop(folder).run();
        outcome.success().stdout_is("");
        let shown = [0, 1].map(|number| self.terminals[number].notifications(wanted[number]));
        assert_eq!([shown[0].len(), shown[1].len()], wanted, "{folder}: {shown:?}; {:#?}", self.sandbox.log());
        for notification in shown.iter().flatten() {
            assert_eq!((notification.protocol, notification.title.as_str()), (Protocol::Osc777, format!("Codex — {folder}").as_str()));
        }
    }
}

#[test]
fn each_interface_of_the_daemon_gets_its_own_notifications() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let desk = Desk::new(&sandbox);
    desk.interface(SESSION, "one");
    desk.interface("s2", "two");
    desk.tells("one", [1, 0]);
    desk.tells("two", [0, 1]);
}

#[test]
fn interfaces_in_one_folder_are_told_by_policy() {
    for (policy, wanted) in [("all", [1, 1]), ("newest", [0, 1])] {
        let sandbox = Sandbox::new();
        sandbox.config(&format!("{AT_ONCE}codex_same_dir = \"{policy}\"\n"));
        let desk = Desk::new(&sandbox);
        desk.interface(SESSION, "same");
        // Start times are counted in hundredths of a second.
        std::thread::sleep(std::time::Duration::from_millis(100));
        desk.interface("s2", "same");
        desk.tells("same", wanted);
    }
}

#[test]
fn an_event_without_an_interface_reaches_no_terminal() {
    let sandbox = Sandbox::new();
    sandbox.config(AT_ONCE);
    let desk = Desk::new(&sandbox);
    desk.interface(SESSION, "one");
    desk.tells("elsewhere", [0, 0]);
}
