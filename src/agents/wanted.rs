//! What the installer asks an agent, and the answer: plain data, and the command line that stands in hook entries.

use std::path::{Path, PathBuf};

use crate::claim::Claim;
use crate::config::Config;
use crate::environment::Env;
use crate::error::Error;
use crate::state::VersionCache;

/// An entry is recognised as ours by this name of its program.
const PROGRAM: &str = "agent-notify";

/// The program in a hook entry, as it is written there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Command(String);

impl Command {
    /// By its path, quoted for a POSIX shell only where that is needed: the text must stay the same for ever, since Codex
    /// trusts it by its hash.
    ///
    /// # Errors
    /// A path that no hook entry can hold (relative, not UTF-8), or a name by which the entry would not be known again.
    pub fn of_program(path: &Path) -> Result<Self, Error> {
        let refuse = |why: &str| Error::new("the program cannot stand in a hook").path(path).because(why);
        if !path.is_absolute() {
            return Err(refuse("the path is not absolute"));
        }
        if path.file_name().is_none_or(|name| name != PROGRAM) {
            return Err(refuse("its name is not agent-notify, so that the entry would not be known again")
                .hint("rename the program to agent-notify, or make a link of that name"));
        }
        let text = path.to_str().ok_or_else(|| refuse("the path is not valid UTF-8").hint("give another path with --command"))?;
        Ok(Self(quoted(text)))
    }

    /// The person's own text from `--command`, as it is: `$HOME/.local/bin/agent-notify`.
    ///
    /// # Errors
    /// Not one word of shell that ends in the program's name: the entry would not be known again, and would be installed twice.
    pub fn verbatim(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let refuse = |why: &str| {
            Error::new("--command is refused")
                .because(why)
                .hint("give the program alone, for example --command '$HOME/.local/bin/agent-notify'")
        };
        match word(text) {
            Err(why) => Err(refuse(why)),
            Ok(word) if word.rsplit('/').next() != Some(PROGRAM) => Err(refuse("the program's name is not agent-notify")),
            Ok(_) => Ok(Self(text.to_owned())),
        }
    }

    /// The whole command line: `'/a b/agent-notify' hook claude`.
    #[must_use]
    pub fn line(&self, agent: &str) -> String {
        format!("{} hook {agent}", self.0)
    }
}

/// In single quotes, unless every character stands for itself in any shell.
fn quoted(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+,:@%=".contains(character);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// The one word that a shell reads, variables as they are written; an error says why it is none.
fn word(text: &str) -> Result<String, &'static str> {
    let (mut word, mut quote) = (String::new(), None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (_, character) if character.is_control() => return Err("it holds a control character"),
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), character) => word.push(character),
            (None, '\'' | '"') => quote = Some(character),
            (_, '`') => return Err("it runs another program"),
            (_, '\\') => word.push(characters.next().ok_or("it ends in a backslash")?),
            (Some(_), '$') if characters.as_str().starts_with('(') => return Err("it runs another program"),
            (Some(_), character) => word.push(character),
            (None, character) if character.is_whitespace() => return Err("it is more than one word"),
            (None, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '#' | '*' | '?' | '[' | '!') => return Err("it is more than one plain word"),
            (None, character) => word.push(character),
        }
    }
    if quote.is_some() { Err("a quote is not closed") } else { Ok(word) }
}

/// Whose files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scope {
    /// The person's own, for all projects.
    User,
    /// Those of the project with this root.
    Project(PathBuf),
}

/// Signs of an agent on this host: at least one is there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Presence {
    /// The folder where it keeps its settings.
    pub folder: Option<PathBuf>,
    /// As found, links not followed.
    pub program: Option<PathBuf>,
}

impl Presence {
    /// `None` if there is no sign at all; `folder` may be missing on disk.
    pub(super) fn of(folder: Option<PathBuf>, program: Option<PathBuf>) -> Option<Self> {
        let folder = folder.filter(|folder| may_be_folder(folder));
        (folder.is_some() || program.is_some()).then_some(Self { folder, program })
    }
}

/// A folder, or something that cannot be looked at: what comes next tells why, where "absent" would pass it over in silence.
fn may_be_folder(path: &Path) -> bool {
    match path.metadata() {
        Ok(metadata) => metadata.is_dir(),
        Err(error) => !matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory),
    }
}

/// What the installer wants to know.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub env: &'a Env,
    pub config: &'a Config,
    pub command: &'a Command,
    pub scope: &'a Scope,
    /// `--keep-builtin`: the agent's own notifications stay as they are.
    pub keep_builtin: bool,
    /// Whether an agent may be started to tell its version: never for `--dry-run`, `--check` and `status`.
    pub may_start: bool,
    pub cache: &'a VersionCache,
}

impl Request<'_> {
    /// Which of the events that notify nobody are needed by a feature that is on (`policy.grace`, `policy.min_turn`,
    /// `herdr.report_state`); each costs a process.
    pub(super) fn state_events(&self) -> StateEvents {
        let (grace, min_turn) = (!self.config.policy.grace.is_zero(), !self.config.policy.min_turn.is_zero());
        let reported = self.config.herdr.report_state;
        StateEvents { turn_started: min_turn || reported, ask_settled: grace || reported }
    }
}

/// Which state must be kept up to date by events of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct StateEvents {
    /// When a turn began.
    pub(super) turn_started: bool,
    /// That an open ask is no longer open: tool ran, new prompt, session over.
    pub(super) ask_settled: bool,
}

/// What should stand in an agent's files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    pub claims: Vec<Claim>,
    /// For the person: what is missing or without effect, and why. May quote paths: to be escaped before it is shown.
    pub notes: Vec<String>,
    /// Why nothing can be claimed at all. A conflict: nothing is written anywhere.
    pub refusal: Option<Error>,
}

impl Wanted {
    pub(super) fn refused(error: Error) -> Self {
        Self { refusal: Some(error), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> String {
        Command::of_program(Path::new(path)).expect("a command").line("claude")
    }

    #[test]
    fn the_program_is_quoted_only_if_needed() {
        assert_eq!(of("/home/u/.local/bin/agent-notify"), "/home/u/.local/bin/agent-notify hook claude");
        assert_eq!(of("/a b/agent-notify"), "'/a b/agent-notify' hook claude");
        assert_eq!(of("/it's/agent-notify"), r"'/it'\''s/agent-notify' hook claude");
        assert_eq!(of("/项目/agent-notify"), "'/项目/agent-notify' hook claude");
    }

    #[test]
    fn a_shell_reads_back_the_path_and_the_arguments() {
        for folder in
            ["/a b", "/it's", "/q\"uote", "/$HOME", "/`id`", "/back\\slash", "/semi;colon&", "/new\nline", "/项目", "/~", "/*", "/-x", "/'"]
        {
            let path = format!("{folder}/agent-notify");
            let script = format!("printf '%s|' {}", of(&path));
            for shell in ["/bin/sh", "/bin/bash"] {
                let Ok(output) = std::process::Command::new(shell).args(["-c", &script]).output() else { continue };
                assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{path}|hook|claude|"), "{shell}: {script}");
            }
        }
    }

    #[test]
    fn a_program_whose_entry_would_not_be_known_again_is_refused() {
        use std::os::unix::ffi::OsStrExt;
        let refused = |path: &Path| Command::of_program(path).expect_err("refused").why.expect("a reason");
        assert!(refused(Path::new("agent-notify")).contains("absolute"));
        assert!(refused(Path::new("/usr/bin/an")).contains("name"));
        assert!(refused(Path::new("/")).contains("name"));
        assert!(refused(Path::new(std::ffi::OsStr::from_bytes(b"/\xff/agent-notify"))).contains("UTF-8"));
    }

    #[test]
    fn a_command_of_the_persons_own_stays_as_it_is() {
        for text in [
            "$HOME/.local/bin/agent-notify",
            "\"$HOME/.local/bin/agent-notify\"",
            "~/.local/bin/agent-notify",
            "${XDG_BIN_HOME}/agent-notify",
            "agent-notify",
            "'/a b/agent-notify'",
            r"/a\ b/agent-notify",
        ] {
            assert_eq!(Command::verbatim(text).expect(text).line("cursor"), format!("{text} hook cursor"));
        }
        assert_eq!(Command::verbatim(" agent-notify ").expect("trimmed").line("x"), "agent-notify hook x");
    }

    #[test]
    fn anything_but_the_program_alone_is_refused() {
        for text in [
            "",
            " ",
            "notify",
            "/bin/agent-notify2",
            "/agent-notify/",
            "env X=1 agent-notify",
            "agent-notify hook claude",
            "x; agent-notify",
            "x&agent-notify",
            "$(which agent-notify)",
            "\"$(id)/agent-notify\"",
            "`id`/agent-notify",
            "'/a b/agent-notify",
            "agent-notify\\",
            "/a/\nagent-notify",
            "/\u{1b}[2J/agent-notify",
            "/*/agent-notify",
        ] {
            let error = Command::verbatim(text).expect_err(text);
            assert!(error.why.is_some() && error.hint.is_some(), "{text:?}");
        }
    }
}
