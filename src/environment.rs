//! Every environment variable by name, and the environment as a value: of this process, of another one, or made by hand in
//! tests. A blank variable counts as unset. Knows nothing of what the values are for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Names of all variables that are read anywhere in this program.
pub mod name {
    /// Overrides of facts about an event, and of where this program finds its things.
    pub const AGENT_NOTIFY_AGENT: &str = "AGENT_NOTIFY_AGENT";
    pub const AGENT_NOTIFY_CWD: &str = "AGENT_NOTIFY_CWD";
    pub const AGENT_NOTIFY_EVENT: &str = "AGENT_NOTIFY_EVENT";
    /// Where releases are fetched from; beats `self_update.base_url`.
    pub const AGENT_NOTIFY_BASE_URL: &str = "AGENT_NOTIFY_BASE_URL";
    /// Read only by builds with the feature `test-panic`.
    pub const AGENT_NOTIFY_TEST_PANIC: &str = "AGENT_NOTIFY_TEST_PANIC";

    pub const HOME: &str = "HOME";
    pub const PATH: &str = "PATH";
    pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
    pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
    pub const LC_ALL: &str = "LC_ALL";
    pub const LC_CTYPE: &str = "LC_CTYPE";
    pub const LC_MESSAGES: &str = "LC_MESSAGES";
    pub const LANG: &str = "LANG";
    /// Where the C library finds locales, and where a program finds its libraries: passed on to tmux, which is otherwise
    /// started without an environment.
    pub const LOCPATH: &str = "LOCPATH";
    pub const LOCALE_ARCHIVE: &str = "LOCALE_ARCHIVE";
    pub const LD_LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

    /// `<socket>,<server pid>,<session>`; the socket's path may contain commas.
    pub const TMUX: &str = "TMUX";
    pub const TMUX_PANE: &str = "TMUX_PANE";
    pub const TMUX_TMPDIR: &str = "TMUX_TMPDIR";
    pub const TERM: &str = "TERM";
    pub const TERM_PROGRAM: &str = "TERM_PROGRAM";
    pub const LC_TERMINAL: &str = "LC_TERMINAL";
    pub const KITTY_WINDOW_ID: &str = "KITTY_WINDOW_ID";
    pub const GHOSTTY_RESOURCES_DIR: &str = "GHOSTTY_RESOURCES_DIR";
    pub const WEZTERM_PANE: &str = "WEZTERM_PANE";
    pub const KONSOLE_VERSION: &str = "KONSOLE_VERSION";
    pub const VTE_VERSION: &str = "VTE_VERSION";
    pub const WT_SESSION: &str = "WT_SESSION";
    pub const ITERM_SESSION_ID: &str = "ITERM_SESSION_ID";
    /// GNU screen's session.
    pub const STY: &str = "STY";
    pub const ZELLIJ: &str = "ZELLIJ";
    pub const SSH_TTY: &str = "SSH_TTY";
    pub const SSH_CONNECTION: &str = "SSH_CONNECTION";

    /// `cli` in Claude Code's terminal interface, `sdk-cli` and others without a person.
    pub const CLAUDE_CODE_ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";
    /// `1` in the terminal interface, `0` in `-p` (absent on 2.1.197 and before).
    pub const CLAUDE_CODE_SESSION_ATTENDED: &str = "CLAUDE_CODE_SESSION_ATTENDED";
    /// `claude-code_2-1-332_harness`: the only place where a hook learns Claude's version.
    pub const AI_AGENT: &str = "AI_AGENT";
    /// Replaces `~/.claude`.
    pub const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
    pub const CODEX_HOME: &str = "CODEX_HOME";
    /// Replaces `~/.pi/agent`.
    pub const PI_CODING_AGENT_DIR: &str = "PI_CODING_AGENT_DIR";
    pub const COPILOT_CLI: &str = "COPILOT_CLI";
    pub const CURSOR_PROJECT_DIR: &str = "CURSOR_PROJECT_DIR";
    /// pi-ask's command channel: no payload, three variables.
    pub const ASK_NOTIFY_EVENT: &str = "ASK_NOTIFY_EVENT";
    pub const ASK_NOTIFY_TITLE: &str = "ASK_NOTIFY_TITLE";
    pub const ASK_NOTIFY_MESSAGE: &str = "ASK_NOTIFY_MESSAGE";
}

/// An environment. Reading the process's own costs nothing until a variable is asked for.
#[derive(Clone, Debug)]
pub struct Env(Source);

#[derive(Clone, Debug)]
enum Source {
    Process,
    Map(BTreeMap<OsString, OsString>),
}

impl Env {
    /// The environment of this process.
    #[must_use]
    pub const fn current() -> Self {
        Self(Source::Process)
    }

    /// The environment of another process, from `/proc/PID/environ`: as it was at its start. `None` where it cannot be read
    /// (another user, gone, no /proc).
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self::from_block(&read_from_proc(&format!("/proc/{pid}/environ"))?))
    }

    /// Reads a block of `NAME=value` separated by NUL.
    #[must_use]
    pub fn from_block(bytes: &[u8]) -> Self {
        use std::os::unix::ffi::OsStringExt;
        let pairs = bytes.split(|byte| *byte == 0).filter_map(|entry| {
            let equals = entry.iter().position(|byte| *byte == b'=')?;
            let value = OsString::from_vec(entry[equals + 1..].to_vec());
            Some((OsString::from_vec(entry[..equals].to_vec()), value))
        });
        Self(Source::Map(pairs.collect()))
    }

    /// The raw value; `None` if unset or blank.
    #[must_use]
    pub fn os(&self, name: &str) -> Option<OsString> {
        let value = match &self.0 {
            Source::Process => std::env::var_os(name),
            Source::Map(map) => map.get(OsStr::new(name)).cloned(),
        }?;
        let blank = value.to_str().is_some_and(|text| text.trim().is_empty());
        (!blank).then_some(value)
    }

    /// The value as text, bytes that are not UTF-8 replaced; `None` if unset or blank.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        self.os(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// Set and not blank.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.os(name).is_some()
    }

    /// A folder from a variable, only if absolute.
    #[must_use]
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        self.os(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        self.folder(name::HOME)
    }

    /// `$XDG_CONFIG_HOME/agent-notify`, else `~/.config/agent-notify`.
    #[must_use]
    pub fn config_folder(&self) -> Option<PathBuf> {
        self.folder(name::XDG_CONFIG_HOME).or_else(|| Some(self.home()?.join(".config"))).map(|base| base.join("agent-notify"))
    }

    /// `$XDG_STATE_HOME/agent-notify`, else `~/.local/state/agent-notify`.
    #[must_use]
    pub fn state_folder(&self) -> Option<PathBuf> {
        self.folder(name::XDG_STATE_HOME).or_else(|| Some(self.home()?.join(".local/state"))).map(|base| base.join("agent-notify"))
    }
}

/// A file below `/proc`, in two or three system calls: `std::fs::read` asks for its size, which is 0 there, and then reads in
/// tiny steps.
pub(crate) fn read_from_proc(path: &str) -> Option<Vec<u8>> {
    use std::io::Read;
    /// As much as the kernel allows for arguments and environment together, by default.
    const LIMIT: u64 = 2 << 20;
    let mut bytes = Vec::with_capacity(8 << 10);
    std::fs::File::open(path).ok()?.take(LIMIT).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

impl<Name: Into<OsString>, Value: Into<OsString>> FromIterator<(Name, Value)> for Env {
    fn from_iter<Pairs: IntoIterator<Item = (Name, Value)>>(pairs: Pairs) -> Self {
        Self(Source::Map(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_variable_counts_as_unset() {
        let env = Env::from_iter([("XDG_CONFIG_HOME", " "), ("HOME", "/home/u")]);
        assert_eq!(env.config_folder(), Some(PathBuf::from("/home/u/.config/agent-notify")));
        assert!(!env.has("XDG_CONFIG_HOME"));
    }

    #[test]
    fn relative_folders_are_ignored() {
        let env = Env::from_iter([("XDG_STATE_HOME", "state"), ("HOME", "/home/u")]);
        assert_eq!(env.state_folder(), Some(PathBuf::from("/home/u/.local/state/agent-notify")));
        assert_eq!(Env::from_iter([("HOME", "")]).state_folder(), None);
    }

    #[test]
    fn a_block_is_split_at_the_first_equals_sign() {
        let env = Env::from_block(b"A=b=c\0BROKEN\0TMUX=/tmp/x,1,0\0");
        assert_eq!(env.get("A").as_deref(), Some("b=c"));
        assert_eq!(env.get("TMUX").as_deref(), Some("/tmp/x,1,0"));
        assert_eq!(env.get("BROKEN"), None);
    }
}
