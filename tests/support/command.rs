//! Runs the program the way agents do. Every run is a small shell script whose process belongs to nobody (its parent is
//! init), because the program looks into its ancestors' environment and terminals: those of the person who runs the tests
//! must not be among them. Standard input and output are pipes.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::sandbox::{Sandbox, Variables};
use super::terminal::{OuterTerminal, Persona};
use super::tmux::TmuxServer;
use super::{PATIENCE, until};

/// A run in the making; nothing happens before `run`, `run_on` or `script`.
#[must_use = "a command does nothing until it is run"]
pub struct Command<'sandbox> {
    sandbox: &'sandbox Sandbox,
    words: Vec<OsString>,
    variables: Variables,
    stdin: Vec<u8>,
    /// Shell text before the program, such as `ulimit -f 0;`.
    before: String,
    /// Shell redirections after the program.
    redirections: String,
    /// Variables that the script takes from whoever starts it.
    inherited: Vec<&'static str>,
    folder: PathBuf,
}

impl<'sandbox> Command<'sandbox> {
    pub(super) fn new(sandbox: &'sandbox Sandbox, words: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            sandbox,
            words: words.into_iter().collect(),
            variables: sandbox.variables(),
            stdin: Vec::new(),
            before: String::new(),
            redirections: String::new(),
            inherited: Vec::new(),
            folder: sandbox.path("home"),
        }
    }

    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    pub fn envs<Name: Into<OsString>, Value: Into<OsString>>(mut self, pairs: impl IntoIterator<Item = (Name, Value)>) -> Self {
        self.variables.extend(pairs.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.variables.remove(OsStr::new(name));
        self
    }

    /// No variable but PATH, as under `env -i`.
    pub fn without_environment(mut self) -> Self {
        self.variables.retain(|name, _| name == "PATH");
        self
    }

    /// TMUX, TMUX_PANE and what else tmux sets for a process in this pane.
    pub fn in_pane(self, tmux: &TmuxServer<'_>, target: &str) -> Self {
        let variables = tmux.environment(target);
        self.envs(variables)
    }

    /// Takes these variables, where set, from the place in which the script is started: a popup, an ssh session.
    pub fn inheriting(mut self, names: &[&'static str]) -> Self {
        self.inherited.extend(names);
        self
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    pub fn working_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Shell commands that run before the program in the same process, such as `ulimit`.
    pub fn after(mut self, shell: &str) -> Self {
        let _ = write!(self.before, "{shell}; ");
        self
    }

    /// Shell redirections of the program, such as `>&-`.
    pub fn redirected(mut self, redirections: &str) -> Self {
        self.redirections = redirections.to_owned();
        self
    }

    /// One more argument at the end.
    pub fn appending(mut self, argument: impl Into<OsString>) -> Self {
        self.words.push(argument.into());
        self
    }

    /// A program that starts this one, such as `setsid --wait`.
    pub fn below<Word: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = Word>) -> Self {
        self.words.splice(0..0, words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Writes the script; somebody else starts it (a pane, a shell at the other end of ssh).
    pub fn script(self) -> Job {
        let folder = self.sandbox.new_job();
        std::fs::write(folder.join("stdin"), &self.stdin).expect("the input of a run");
        let mut environment = Vec::new();
        for (name, value) in &self.variables {
            environment.push(b' ');
            environment.extend(quote(&[name.as_bytes(), b"=", value.as_bytes()].concat()));
        }
        for name in &self.inherited {
            environment.extend(format!(" ${{{name}+\"{name}=${name}\"}}").into_bytes());
        }
        let words: Vec<u8> = self.words.iter().flat_map(|word| [b" ".to_vec(), quote(word.as_bytes())].concat()).collect();
        let script = [
            b"cd ".to_vec(),
            quote(self.folder.as_os_str().as_bytes()),
            b" || exit 9\njob=".to_vec(),
            quote(folder.as_os_str().as_bytes()),
            b"\ncat \"$job/stdin\" 2>/dev/null | { ( ".to_vec(),
            self.before.into_bytes(),
            b"exec env -i".to_vec(),
            environment,
            words,
            format!(" {} ); echo $? >\"$job/status.part\"; mv \"$job/status.part\" \"$job/status\"; }}", self.redirections).into_bytes(),
            b" 2>\"$job/stderr\" | cat >\"$job/stdout\"\n>\"$job/done\"\n".to_vec(),
        ]
        .concat();
        std::fs::write(folder.join("script"), script).expect("the script of a run");
        Job { folder, started: Instant::now(), variables: self.variables }
    }

    /// Runs it in a session of its own without a terminal, as agents run their hooks, and waits for the end.
    #[track_caller]
    pub fn run(self) -> Outcome {
        let job = self.script();
        job.start_detached();
        job.wait()
    }

    /// Runs it below a shell on a terminal; the terminal stays open and can be read afterwards.
    #[track_caller]
    pub fn run_on(self, persona: Persona) -> (Outcome, OuterTerminal) {
        let sandbox = self.sandbox;
        let job = self.envs(persona.variables()).script();
        let terminal = OuterTerminal::open(sandbox, persona, job.shell_then_sleep());
        (job.wait(), terminal)
    }
}

/// A script on its way: the files of one run.
pub struct Job {
    folder: PathBuf,
    started: Instant,
    variables: Variables,
}

impl Job {
    /// Words that run the script.
    #[must_use]
    pub fn shell(&self) -> Vec<OsString> {
        vec!["/bin/sh".into(), self.folder.join("script").into()]
    }

    /// Words that run the script and keep the terminal open.
    #[must_use]
    pub fn shell_then_sleep(&self) -> Vec<OsString> {
        vec!["/bin/sh".into(), "-c".into(), "/bin/sh \"$0\"; exec sleep 1000".into(), self.folder.join("script").into()]
    }

    /// The same as one line of shell, for tmux, ssh and screen.
    #[must_use]
    pub fn line(&self) -> String {
        format!("/bin/sh {}", self.folder.join("script").display())
    }

    /// Starts it now.
    pub fn start_detached(&self) {
        let status = std::process::Command::new("setsid")
            .arg("--fork")
            .args(self.shell())
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.expect("setsid").success());
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(&self) -> Outcome {
        let status = until(PATIENCE * 3, || std::fs::read_to_string(self.folder.join("status")).ok());
        let elapsed = self.started.elapsed();
        let read = |name: &str| std::fs::read(self.folder.join(name)).unwrap_or_default();
        let Some(status) = status else {
            panic!("no end after {elapsed:?}; stderr: {}", String::from_utf8_lossy(&read("stderr")));
        };
        let finished = until(Duration::from_secs(5), || self.folder.join("done").exists().then_some(()));
        assert!(finished.is_some(), "a child of the program holds its standard output open");
        Outcome { stdout: read("stdout"), stderr: read("stderr"), status: status.trim().parse().expect("a status"), elapsed }
    }
}

/// What a run left behind. The methods check and hand on, so that a test reads like a sentence.
pub struct Outcome {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// As the shell sees it: 128 + number of the signal for a killed program.
    pub status: i32,
    pub elapsed: Duration,
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, elapsed, .. } = self;
        write!(formatter, "status {status} after {elapsed:?}, stdout {:?}, stderr {:?}", self.text(), self.errors())
    }
}

impl Outcome {
    #[track_caller]
    pub fn success(&self) -> &Self {
        self.code(0)
    }

    #[track_caller]
    pub fn code(&self, wanted: i32) -> &Self {
        assert_eq!(self.status, wanted, "exit status; stdout: {}\nstderr: {}", self.text(), self.errors());
        self
    }

    #[track_caller]
    pub fn stdout_is(&self, wanted: &str) -> &Self {
        assert_eq!(self.text(), wanted, "standard output; stderr: {}", self.errors());
        self
    }

    #[track_caller]
    pub fn stdout_has(&self, wanted: &str) -> &Self {
        assert!(self.text().contains(wanted), "no {wanted:?} in standard output: {}", self.text());
        self
    }

    #[track_caller]
    pub fn stderr_has(&self, wanted: &str) -> &Self {
        assert!(self.errors().contains(wanted), "no {wanted:?} in standard error: {}", self.errors());
        self
    }

    /// Standard error holds at least a line for a person.
    #[track_caller]
    pub fn explains(&self) -> &Self {
        assert!(self.errors().chars().any(char::is_alphabetic), "nothing on standard error; stdout: {}", self.text());
        self
    }

    #[track_caller]
    pub fn within(&self, limit: Duration) -> &Self {
        assert!(self.elapsed < limit, "took {:?}, limit {limit:?}", self.elapsed);
        self
    }

    /// Standard output as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    #[must_use]
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Standard output as exactly one line of JSON.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        let text = self.text();
        assert_eq!(text.matches('\n').count(), 1, "one line: {text:?}");
        assert!(text.ends_with('\n'), "a line: {text:?}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    /// The bytes that Claude Code would emit; empty if the reply carries none.
    #[track_caller]
    #[must_use]
    pub fn terminal_sequence(&self) -> Vec<u8> {
        self.json()["terminalSequence"].as_str().unwrap_or_default().as_bytes().to_vec()
    }
}

/// Quotes for a POSIX shell.
#[must_use]
pub fn quote(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// One line of shell from words.
#[must_use]
pub fn join(words: &[OsString]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(&quote(word.as_bytes())).into_owned()).collect();
    quoted.join(" ")
}

/// A copy of a program under another name or place.
pub fn copy_program(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap_or_else(|error| panic!("copy of {}: {error}", from.display()));
}
