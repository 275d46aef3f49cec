//! A hermetic place for one test: folders, configuration and environment of its own. Nothing of the person who runs the
//! tests is visible in it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::command::Command;

/// Environment of a process to be started.
pub type Variables = BTreeMap<OsString, OsString>;

/// A temporary folder that plays the whole machine of one person.
pub struct Sandbox {
    folder: tempfile::TempDir,
    jobs: AtomicUsize,
}

impl Sandbox {
    /// Empty folders for HOME, configuration, state and tmux sockets.
    #[must_use]
    pub fn new() -> Self {
        // Short, since a socket's path has room for about 107 bytes.
        let folder = tempfile::Builder::new().prefix("an-").tempdir().expect("a temporary folder");
        let sandbox = Self { folder, jobs: AtomicUsize::new(0) };
        for name in ["home", "config", "state", "tmux", "bin", "jobs"] {
            std::fs::create_dir(sandbox.path(name)).expect("a folder in the sandbox");
        }
        symlink(program("TMUX_BIN", "tmux"), sandbox.path("bin/tmux")).expect("a link to tmux");
        sandbox
    }

    /// A path inside the sandbox.
    #[must_use]
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Writes `config.toml`.
    pub fn config(&self, text: &str) -> &Self {
        let folder = self.path("config/agent-notify");
        std::fs::create_dir_all(&folder).expect("the configuration's folder");
        std::fs::write(folder.join("config.toml"), text).expect("the configuration");
        self
    }

    /// What `config.toml` holds; `None` if there is none.
    #[must_use]
    pub fn config_text(&self) -> Option<String> {
        std::fs::read_to_string(self.path("config/agent-notify/config.toml")).ok()
    }

    /// The environment of every process in here.
    #[must_use]
    pub fn variables(&self) -> Variables {
        let mut variables = Variables::new();
        let mut set = |name: &str, value: OsString| variables.insert(name.into(), value);
        set("HOME", self.path("home").into());
        set("XDG_CONFIG_HOME", self.path("config").into());
        set("XDG_STATE_HOME", self.path("state").into());
        set("TMUX_TMPDIR", self.path("tmux").into());
        let mut path = self.path("bin").into_os_string();
        path.push(":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        set("PATH", path);
        set("SHELL", "/bin/sh".into());
        set("LC_ALL", "C.UTF-8".into());
        set("LANG", "C.UTF-8".into());
        set("TERM", "xterm-256color".into());
        variables
    }

    /// `agent-notify ARGUMENTS`, to be completed and run.
    pub fn command<Argument: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = Argument>) -> Command<'_> {
        Command::new(self, std::iter::once(binary().into_os_string()).chain(arguments.into_iter().map(|a| a.as_ref().to_owned())))
    }

    /// Any other program, under the same conditions.
    pub fn program<Argument: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = Argument>) -> Command<'_> {
        Command::new(self, words.into_iter().map(|word| word.as_ref().to_owned()))
    }

    /// A new folder for the files of one run.
    pub(super) fn new_job(&self) -> PathBuf {
        let folder = self.path(format!("jobs/{}", self.jobs.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&folder).expect("a folder for a run");
        folder
    }

    /// The decisions so far, oldest first, straight from the log file; none if there is no log.
    #[must_use]
    pub fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("state/agent-notify/log.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("log line {line:?}: {error}"))).collect()
    }

    /// The newest decision as `deliver`, `defer` or `suppress`, with its reason.
    #[must_use]
    pub fn last_decision(&self) -> (String, String) {
        let log = self.log();
        let line = log.last().expect("a line in the log");
        let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        (field("decision"), field("reason"))
    }
}

/// The program under test: `AGENT_NOTIFY_BIN`, else the one that cargo built.
#[must_use]
pub fn binary() -> PathBuf {
    std::env::var_os("AGENT_NOTIFY_BIN").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_agent-notify")), PathBuf::from)
}

/// Absolute path of a tool: from the variable if set, else from PATH; the bare name where it is not installed.
#[must_use]
pub fn program(variable: &str, name: &str) -> PathBuf {
    let wanted = std::env::var_os(variable).unwrap_or_else(|| name.into());
    installed(&wanted).unwrap_or_else(|| wanted.into())
}

/// Where a program is found on PATH (and in /usr/sbin, where sshd lives).
#[must_use]
pub fn installed(name: &OsStr) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file()).and_then(|file| file.canonicalize().ok())
}

/// The tests' user is root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
