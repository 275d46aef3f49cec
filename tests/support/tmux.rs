//! One private tmux server: own socket folder, own configuration. Real tmux, never a mock; `TMUX_BIN` chooses which.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::sandbox::{Sandbox, program};
use super::terminal::{OuterTerminal, Persona};
use super::{eventually, has_ended, until};

/// The session that every server starts with.
pub const SESSION: &str = "s1";
/// A pane that does nothing.
pub const SLEEP: &str = "exec sleep 100000";

static SERVERS: AtomicUsize = AtomicUsize::new(0);

/// A running server; ends when dropped.
pub struct TmuxServer<'sandbox> {
    sandbox: &'sandbox Sandbox,
    name: String,
    config: PathBuf,
    pid: Pid,
}

impl<'sandbox> TmuxServer<'sandbox> {
    /// A server with the session `s1`, whose one pane sleeps.
    #[must_use]
    pub fn start(sandbox: &'sandbox Sandbox, config: &str) -> Self {
        Self::start_with(sandbox, config, SLEEP)
    }

    /// A server whose first pane runs a line of shell.
    #[must_use]
    pub fn start_with(sandbox: &'sandbox Sandbox, config: &str, line: &str) -> Self {
        let name = format!("t{}", SERVERS.fetch_add(1, Ordering::Relaxed));
        let file = sandbox.path(format!("{name}.conf"));
        let base = "set -g default-shell /bin/sh\nset -g escape-time 10\n";
        std::fs::write(&file, format!("{base}{config}")).expect("a tmux configuration");
        let mut server = Self { sandbox, name, config: file, pid: Pid::INIT };
        server.run(["new-session", "-d", "-s", SESSION, "-x", "80", "-y", "24", line]);
        let pid = server.format(SESSION, "#{pid}");
        server.pid = Pid::from_raw(pid.parse().expect("a process id")).expect("a process id");
        server
    }

    /// Words that call tmux for this server.
    #[must_use]
    pub fn words<Word: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = Word>) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![program("TMUX_BIN", "tmux").into(), "-L".into(), (&self.name).into(), "-f".into()];
        words.push(self.config.clone().into());
        words.extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        words
    }

    /// Calls tmux and returns what it did.
    pub fn try_run<Word: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = Word>) -> Output {
        let words = self.words(arguments);
        let mut command = std::process::Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.sandbox.path("home")).env_clear().envs(self.sandbox.variables());
        command.stdin(Stdio::null()).output().expect("tmux")
    }

    /// Calls tmux, which must succeed; standard output without the final newline.
    #[track_caller]
    pub fn run<Word: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = Word>) -> String {
        let output = self.try_run(arguments);
        assert!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
    }

    #[track_caller]
    #[must_use]
    pub fn format(&self, target: &str, format: &str) -> String {
        self.run(["display-message", "-p", "-t", target, format])
    }

    #[must_use]
    pub fn pane(&self, target: &str) -> String {
        self.format(target, "#{pane_id}")
    }

    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.format(SESSION, "#{socket_path}").into()
    }

    #[must_use]
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// What tmux puts into the environment of a process in that pane.
    #[must_use]
    pub fn environment(&self, target: &str) -> Vec<(OsString, OsString)> {
        let row = self.format(target, "#{socket_path},#{pid},0\t#{pane_id}\t#{default-terminal}\t#{version}");
        let fields: Vec<_> = row.split('\t').collect();
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        vec![
            pair("TMUX", fields[0]),
            pair("TMUX_PANE", fields[1]),
            pair("TERM", "tmux-256color"),
            pair("TERM_PROGRAM", "tmux"),
            pair("TERM_PROGRAM_VERSION", fields[3]),
        ]
    }

    /// A terminal attached to a session; returns when tmux knows who it is and has drawn.
    #[must_use]
    pub fn attach(&self, persona: Persona, session: &str) -> OuterTerminal {
        let terminal = OuterTerminal::open(self.sandbox, persona, self.words(["attach-session", "-t", session]));
        self.await_client(&terminal, persona);
        terminal
    }

    /// Waits until the terminal is a client whose name is known.
    pub fn await_client(&self, terminal: &OuterTerminal, persona: Persona) {
        let row = format!("{}\t{}", terminal.tty().display(), persona.xtversion().unwrap_or_default());
        eventually("tmux knows the client", || {
            self.run(["list-clients", "-F", "#{client_tty}\t#{client_termtype}"]).lines().any(|line| line == row).then_some(())
        });
        terminal.settle(Duration::from_millis(150));
        terminal.clear();
    }

    /// Waits until another tmux is attached to this one from inside a pane.
    pub fn await_nested_client(&self) {
        eventually("a client that is itself tmux", || {
            self.run(["list-clients", "-F", "#{client_termtype}"]).lines().any(|line| line.starts_with("tmux ")).then_some(())
        });
    }

    /// A line of shell that attaches to this server from a pane of another one, or from the far end of ssh.
    #[must_use]
    pub fn attach_line(&self) -> String {
        let tmpdir = self.sandbox.path("tmux");
        let words = super::command::join(&self.words(["attach-session", "-t", SESSION]));
        format!("env -u TMUX -u TMUX_PANE TMUX_TMPDIR={} LC_ALL=C.UTF-8 {words}", tmpdir.display())
    }

    /// Waits until a client's last activity (in whole seconds) is newer than that of all others.
    pub fn make_most_recent(&self, terminal: &OuterTerminal) {
        let tty = terminal.tty().display().to_string();
        eventually("one client is the most recent one", || {
            let rows = self.run(["list-clients", "-F", "#{client_activity} #{client_tty}"]);
            let mut activities: Vec<(u64, bool)> = rows
                .lines()
                .filter_map(|row| row.split_once(' '))
                .map(|(activity, name)| (activity.parse().expect("seconds"), name == tty))
                .collect();
            activities.sort_unstable();
            let newest = *activities.last()?;
            let alone = activities.iter().filter(|(activity, _)| *activity == newest.0).count() == 1;
            if newest.1 && alone {
                return Some(());
            }
            std::thread::sleep(Duration::from_millis(300));
            terminal.type_keys(b" ");
            None
        });
        terminal.settle(Duration::from_millis(100));
    }

    /// Freezes the server, as if it hung.
    pub fn stop(&self) {
        rustix::process::kill_process(self.pid, Signal::STOP).expect("a running server");
    }

    pub fn go_on(&self) {
        let _ = rustix::process::kill_process(self.pid, Signal::CONT);
    }
}

impl Drop for TmuxServer<'_> {
    fn drop(&mut self) {
        if self.pid == Pid::INIT {
            return;
        }
        self.go_on();
        let _ = self.try_run(["kill-server"]);
        let ended = || has_ended(self.pid).then_some(());
        if until(Duration::from_secs(3), ended).is_none() {
            let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        }
    }
}

/// Major and minor number of the tmux under test.
#[must_use]
pub fn version() -> (u32, u32) {
    let output = std::process::Command::new(program("TMUX_BIN", "tmux")).arg("-V").output().expect("tmux");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let digits = |part: &str| part.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect::<String>();
    let (major, minor) = text.trim().split_once('.').expect("a version");
    (digits(major).parse().expect("a number"), digits(minor).parse().expect("a number"))
}

/// The line that sets passthrough. The option exists since 3.3; before, passthrough is always on.
#[must_use]
pub fn passthrough(value: &str) -> String {
    if version() >= (3, 3) { format!("set -g allow-passthrough {value}\n") } else { String::new() }
}

/// The values that this tmux knows: `all` came with 3.4.
#[must_use]
pub fn passthrough_values() -> Vec<&'static str> {
    match version() {
        (major, minor) if (major, minor) >= (3, 4) => vec!["off", "on", "all"],
        (3, 3) => vec!["off", "on"],
        _ => vec!["on"],
    }
}
