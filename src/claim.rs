//! What should stand in which file: plain data, made by the agents, carried out by the engine. Touches no file.

use std::path::PathBuf;

/// What one owner wants in one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Who wants it: `claude`, `cursor`, `config`, `binary`. For messages, receipts and selection.
    pub owner: &'static str,
    /// The path as the person knows it: links are resolved by the engine.
    pub path: PathBuf,
    pub content: Content,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Entries among foreign ones in a JSON file.
    Hooks(Hooks),
    /// A file that is ours as a whole.
    Whole(Whole),
}

/// Hook entries of ours in an agent's JSON file, and settings beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct Hooks {
    /// The word behind `hook` in our command: `claude`.
    pub agent: &'static str,
    pub shape: Shape,
    /// Exactly these, one each; own entries of other events go.
    pub entries: Vec<Entry>,
    /// Members of the root object beside `hooks`.
    pub settings: Vec<Setting>,
    /// Names that the agent knows; one that is not here and stands in the file is worth a note. Empty = not judged.
    pub known_events: &'static [&'static str],
}

/// How an agent's file nests entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// Claude Code: `"hooks": { EVENT: [ { "matcher"?: …, "hooks": [ { "type": "command", "command": …, "timeout": … } ] } ] }`.
    Grouped,
    /// Cursor: `"hooks": { EVENT: [ { "command": …, "timeout": … } ] }`.
    Flat,
}

/// One entry of ours.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    pub event: &'static str,
    pub matcher: Option<&'static str>,
    /// The whole command line, the program quoted for a shell.
    pub command: String,
    /// Seconds.
    pub timeout: u32,
}

/// A member of the root object.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub key: &'static str,
    pub value: serde_json::Value,
    /// What to do with another value that stands there.
    pub over: Over,
}

/// What happens to a value that is there already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Over {
    /// Replaced; uninstall puts it back.
    Replace,
    /// Left alone.
    Keep,
}

/// A file that is ours as a whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Whole {
    pub bytes: Vec<u8>,
    /// Mode of a file that is made.
    pub mode: u32,
    /// Bytes that every version of this file contains: a file without them is somebody else's and is refused. Empty = any
    /// existing file is left as it is.
    pub mark: &'static [u8],
}

/// Stands in every build of this program (the command line names it as the author), and nowhere else: by it the installer tells
/// an older build, which it replaces, from a foreign program of the same name, which it leaves alone. Never to be changed.
pub const MARK: &str = "agent-notify: desktop notifications from coding agents (mark of the program 7d1f6a52c0e94b38)";
