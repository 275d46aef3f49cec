//! Plays the outer terminal on a pty: records every byte in a thread, answers the questions that tmux asks at attach, types,
//! reports focus, and can freeze. It draws nothing.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{MasterPty, PtySize};
use rustix::process::{Pid, Signal};

use super::reader::{Notification, bells, notifications};
use super::sandbox::Sandbox;
use super::{eventually, has_ended, until};

/// Which terminal is played.
#[derive(Clone, Copy, Debug)]
pub struct Persona {
    pub name: &'static str,
    /// Answer to XTVERSION, which tmux shows as `client_termtype`.
    xtversion: Option<&'static str>,
    /// TERM for tmux's client: only names that every terminfo knows.
    pub term: &'static str,
    /// What a process directly in this terminal has in its environment.
    environment: &'static [(&'static str, &'static str)],
}

impl Persona {
    pub const GHOSTTY: Self =
        Self::new("ghostty", Some("ghostty 1.3.1"), &[("TERM", "xterm-ghostty"), ("TERM_PROGRAM", "ghostty"), ("COLORTERM", "truecolor")]);
    pub const KITTY: Self = Self::new("kitty", Some("kitty(0.48.2)"), &[("TERM", "xterm-kitty"), ("KITTY_WINDOW_ID", "1")]);
    pub const FOOT: Self = Self::new("foot", Some("foot(1.28.0)"), &[("TERM", "foot")]);
    pub const XTERM: Self = Self::new("xterm", Some("XTerm(390)"), &[("TERM", "xterm-256color"), ("XTERM_VERSION", "XTerm(390)")]);
    pub const WEZTERM: Self =
        Self::new("wezterm", Some("WezTerm 20240203-110809-5046fc22"), &[("TERM_PROGRAM", "WezTerm"), ("WEZTERM_PANE", "0")]);
    pub const ITERM2: Self = Self::new(
        "iterm2",
        Some("iTerm2 3.5.10"),
        &[("TERM_PROGRAM", "iTerm.app"), ("LC_TERMINAL", "iTerm2"), ("ITERM_SESSION_ID", "w0t0p0")],
    );
    /// Does not say who it is.
    pub const NONE: Self = Self::new("none", None, &[]);
    /// Says nothing either, but has a TERM of its own.
    pub const ALACRITTY: Self = Self { term: "alacritty", ..Self::new("alacritty", None, &[("TERM", "alacritty")]) };

    const fn new(name: &'static str, xtversion: Option<&'static str>, environment: &'static [(&'static str, &'static str)]) -> Self {
        Self { name, xtversion, term: "xterm-256color", environment }
    }

    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        self.environment.iter().copied()
    }

    #[must_use]
    pub fn xtversion(&self) -> Option<&'static str> {
        self.xtversion
    }

    /// Questions and answers.
    fn answers(&self) -> Vec<(&'static [u8], Vec<u8>)> {
        let mut answers: Vec<(&'static [u8], Vec<u8>)> = vec![
            (b"\x1b[c", b"\x1b[?62;22c".to_vec()),
            (b"\x1b[0c", b"\x1b[?62;22c".to_vec()),
            (b"\x1b[>c", b"\x1b[>1;10;0c".to_vec()),
            (b"\x1b[>0c", b"\x1b[>1;10;0c".to_vec()),
            (b"\x1b]10;?", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\".to_vec()),
            (b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x1b\\".to_vec()),
        ];
        if let Some(version) = self.xtversion {
            for question in [&b"\x1b[>q"[..], b"\x1b[>0q"] {
                answers.push((question, format!("\x1bP>|{version}\x1b\\").into_bytes()));
            }
        }
        answers
    }
}

/// What the reading thread and the test share.
struct Shared {
    recorded: Mutex<Vec<u8>>,
    writer: Mutex<Box<dyn Write + Send>>,
    paused: AtomicBool,
    closed: AtomicBool,
    /// The other side has asked for focus reports.
    reports_focus: AtomicBool,
}

/// A terminal with something running in it; hangs up when dropped.
pub struct OuterTerminal {
    shared: Arc<Shared>,
    _master: Box<dyn MasterPty + Send>,
    tty: PathBuf,
    child: Pid,
}

impl OuterTerminal {
    /// Opens a terminal of 80 × 24 and runs `words` in it as the leader of its session. The process belongs to nobody, see
    /// `command`.
    #[must_use]
    pub fn open(sandbox: &Sandbox, persona: Persona, words: impl IntoIterator<Item = OsString>) -> Self {
        let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = portable_pty::native_pty_system().openpty(size).expect("a pty");
        let tty = pair.master.tty_name().expect("the name of a pty");
        let shared = Arc::new(Shared {
            recorded: Mutex::default(),
            writer: Mutex::new(pair.master.take_writer().expect("a writer")),
            paused: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            reports_focus: AtomicBool::new(false),
        });
        let child = start(sandbox, persona, &tty, words);
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let for_thread = Arc::clone(&shared);
        std::thread::spawn(move || read(&mut *reader, &for_thread, &persona.answers()));
        Self { shared, _master: pair.master, tty, child }
    }

    /// `/dev/pts/N`.
    #[must_use]
    pub fn tty(&self) -> &Path {
        &self.tty
    }

    /// Everything since the last `clear`.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.shared.recorded.lock().expect("no panic in the thread").clone()
    }

    /// Forgets what was recorded.
    pub fn clear(&self) {
        self.shared.recorded.lock().expect("no panic in the thread").clear();
    }

    /// Stops reading, like a frozen terminal. What one read returns is still taken.
    pub fn pause(&self) {
        self.shared.paused.store(true, Ordering::Relaxed);
    }

    pub fn resume(&self) {
        self.shared.paused.store(false, Ordering::Relaxed);
    }

    /// What the person types.
    pub fn type_keys(&self, keys: &[u8]) {
        self.shared.answer(keys);
    }

    /// Tells that the person has turned to this terminal or away from it, if somebody wants to know.
    pub fn focus(&self, focused: bool) {
        if self.shared.reports_focus.load(Ordering::Relaxed) {
            self.shared.answer(if focused { b"\x1b[I" } else { b"\x1b[O" });
        }
    }

    #[must_use]
    pub fn is_asked_for_focus(&self) -> bool {
        self.shared.reports_focus.load(Ordering::Relaxed)
    }

    /// Waits for bytes.
    #[track_caller]
    pub fn wait_for(&self, needle: &[u8]) {
        eventually(&format!("{:?} on the terminal", super::visible(needle)), || {
            self.bytes().windows(needle.len()).any(|window| window == needle).then_some(())
        });
    }

    /// Returns when nothing has come for `pause`, at the latest after four seconds.
    pub fn settle(&self, pause: Duration) {
        let (mut size, mut since) = (usize::MAX, Instant::now());
        until(Duration::from_secs(4), || {
            let now = self.bytes().len();
            if now != size {
                (size, since) = (now, Instant::now());
            }
            (since.elapsed() >= pause).then_some(())
        });
    }

    /// The notifications since the last `clear`: waits until there are `wanted`, then a moment more, for copies too many.
    #[must_use]
    pub fn notifications(&self, wanted: usize) -> Vec<Notification> {
        until(Duration::from_secs(3), || (notifications(&self.bytes()).len() >= wanted).then_some(()));
        self.settle(Duration::from_millis(150));
        notifications(&self.bytes())
    }

    /// The bytes since the last `clear`, as soon as a notification is among them.
    #[must_use]
    pub fn bytes_once_notified(&self) -> Vec<u8> {
        let _ = self.notifications(1);
        self.bytes()
    }

    /// The bells since the last `clear`, awaited likewise.
    #[must_use]
    pub fn bells(&self, wanted: usize) -> usize {
        until(Duration::from_secs(3), || (bells(&self.bytes()) >= wanted).then_some(()));
        self.settle(Duration::from_millis(150));
        bells(&self.bytes())
    }

    /// Closes the window: the process in it gets SIGHUP, then SIGKILL.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for OuterTerminal {
    fn drop(&mut self) {
        self.resume();
        for signal in [Signal::HUP, Signal::KILL] {
            if self.shared.closed.load(Ordering::Relaxed) || rustix::process::kill_process(self.child, signal).is_err() {
                break;
            }
            let ended = || has_ended(self.child).then_some(());
            if until(Duration::from_secs(2), ended).is_some() {
                break;
            }
        }
        self.shared.closed.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// Nobody listens any more: not an error here.
    fn answer(&self, bytes: &[u8]) {
        let mut writer = self.writer.lock().expect("no panic in the thread");
        let _ = writer.write_all(bytes).and_then(|()| writer.flush());
    }
}

/// The thread: records and answers until the other side is gone.
fn read(reader: &mut dyn Read, shared: &Shared, answers: &[(&[u8], Vec<u8>)]) {
    let mut buffer = vec![0; 65536];
    let mut tail: Vec<u8> = Vec::new();
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        shared.recorded.lock().expect("no panic in the test").extend(&buffer[..count]);
        // A question may be split over two reads.
        let known = tail.len();
        tail.extend(&buffer[..count]);
        let asked =
            |question: &[u8]| tail.windows(question.len()).enumerate().any(|(at, found)| found == question && at + question.len() > known);
        for (question, answer) in answers {
            if asked(question) {
                shared.answer(answer);
            }
        }
        for (mode, on) in [(b"\x1b[?1004h", true), (b"\x1b[?1004l", false)] {
            if asked(mode) {
                shared.reports_focus.store(on, Ordering::Relaxed);
            }
        }
        tail.drain(..tail.len().saturating_sub(8));
        while shared.paused.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    shared.closed.store(true, Ordering::Relaxed);
}

/// Starts the process on the pty and returns its id.
fn start(sandbox: &Sandbox, persona: Persona, tty: &Path, words: impl IntoIterator<Item = OsString>) -> Pid {
    let open = || -> Stdio {
        const NO_CONTROLLING_TERMINAL: i32 = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        std::fs::OpenOptions::new().read(true).write(true).custom_flags(NO_CONTROLLING_TERMINAL).open(tty).expect("the pty").into()
    };
    let pid_file = sandbox.new_job().join("pid");
    let status = std::process::Command::new("setsid")
        .args(["--fork", "--ctty", "/bin/sh", "-c", "echo $$ >\"$0.part\"; mv \"$0.part\" \"$0\"; exec \"$@\""])
        .arg(&pid_file)
        .args(words)
        .current_dir(sandbox.path("home"))
        .env_clear()
        .envs(sandbox.variables())
        .envs(persona.variables())
        .env("TERM", persona.term)
        .stdin(open())
        .stdout(open())
        .stderr(open())
        .status();
    assert!(status.expect("setsid").success());
    eventually("the process on the pty tells its id", || Pid::from_raw(std::fs::read_to_string(&pid_file).ok()?.trim().parse().ok()?))
}
