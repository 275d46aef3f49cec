//! Bytes in, bytes out: how a claim's content gets into a file's text and out of it again. No file access.
//!
//! Every byte that is not ours stays as it is: text is spliced at the parser's positions, nothing is printed anew. Every
//! splice is parsed again and compared with the values that should have come out, before anyone gets to see it.

mod jsonc;
mod whole;

use super::edit::Edit;
use crate::claim::Content;

/// What the person allowed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// Own entries that the person edited are written anew; comments and trailing commas are no reason to refuse.
    pub force: bool,
}

/// Where and why a file is left untouched.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Refusal {
    pub what: String,
    /// Line and column in characters, both from 1; a byte order mark counts as nothing.
    pub position: Option<(usize, usize)>,
    /// Offset from 0, where there are no characters to count.
    pub byte: Option<usize>,
    pub hint: Option<String>,
    /// What to paste by hand; empty where that makes no sense.
    pub snippet: String,
}

/// Something the person should know although the edit is made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    /// In the file as it was.
    pub position: Option<(usize, usize)>,
    pub text: String,
}

/// A file with our content in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spliced {
    pub content: Vec<u8>,
    /// Paths of containers that were made, now or by an earlier installation: `["hooks"]`, `["hooks", "Stop"]`.
    pub created: Vec<Vec<String>>,
    /// Root settings that are ours: key, and the raw text of the value that stood there before.
    pub replaced: Vec<(String, Option<String>)>,
    pub notes: Vec<Note>,
}

/// What an earlier installation left in the file's receipt. All of it may be lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The file without us; None = absent or unknown.
    pub base: Option<Vec<u8>>,
    /// There was no file.
    pub absent: bool,
    /// The file as it was last written.
    pub written: Option<Vec<u8>>,
    /// From `base` to `written`, over the whole text.
    pub edit: Option<Edit>,
    pub created: Vec<Vec<String>>,
    pub replaced: Vec<(String, Option<String>)>,
}

/// How the original was found again, surest first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rung {
    /// There is nothing of ours in the file.
    Untouched,
    /// The bytes are those that were written: back to the exact original.
    Exact,
    /// Changed elsewhere since: our edit was turned back.
    Reversed,
    /// Our entries, and the containers made for them, were taken out one by one.
    Structural,
}

/// A file without our content.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Taken {
    /// None = delete the file.
    pub content: Option<Vec<u8>>,
    pub rung: Rung,
}

/// What stands for a wanted entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EntryState {
    Current,
    /// One of ours with another path or in an older form: the next `put` updates it.
    Stale,
    /// Ours, but changed by the person in a way that is respected.
    Edited,
    Missing,
}

/// What of a claim stands in a file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Inspection {
    /// Every wanted entry by its event; a whole file has one, without a name.
    pub entries: Vec<(String, EntryState)>,
    /// Events, wanted or not, with more own entries than there should be.
    pub surplus: Vec<String>,
    /// Events with a command that runs us through something else: a possible double.
    pub wrapped: Vec<String>,
    /// Every wanted setting: whether the value is there, or another one that is left alone.
    pub settings: Vec<(String, bool)>,
    /// What `put` would say.
    pub notes: Vec<Note>,
}

impl Inspection {
    /// Whether `put` would find nothing to do.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let in_place = |state: &EntryState| matches!(state, EntryState::Current | EntryState::Edited);
        self.surplus.is_empty() && self.entries.iter().all(|(_, state)| in_place(state)) && self.settings.iter().all(|(_, set)| *set)
    }
}

/// Puts ours in. `current` None = no file. With everything in place the content is the same bytes.
///
/// # Errors
/// The file cannot be edited without a loss, or its reader would not accept it.
pub fn put(content: &Content, current: Option<&[u8]>, memory: &Memory, options: &Options) -> Result<Spliced, Refusal> {
    match content {
        Content::Hooks(hooks) => jsonc::put(hooks, current, memory, options),
        Content::Whole(whole) => whole::put(whole, current),
    }
}

/// Takes ours out, on the surest rung that fits. Comments and trailing commas are no obstacle here.
///
/// # Errors
/// The file is no JSON any more, or no text.
pub fn take(content: &Content, current: &[u8], memory: &Memory) -> Result<Taken, Refusal> {
    match content {
        Content::Hooks(hooks) => jsonc::take(hooks, current, memory),
        Content::Whole(whole) => Ok(whole::take(whole, current, memory)),
    }
}

/// The file without our entries, where nothing is remembered: what counts as its original. The same bytes if there are
/// none; None only for a file that is ours as a whole. A receipt's `replaced` is not known here: with one, `take` gives the
/// original.
///
/// # Errors
/// As `take`.
pub fn without_ours(content: &Content, current: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    Ok(take(content, current, &Memory::default())?.content)
}

/// What of `content` stands in the file.
///
/// # Errors
/// The file is no JSON or no text, or its `hooks` is no object.
pub fn inspect(content: &Content, current: &[u8]) -> Result<Inspection, Refusal> {
    match content {
        Content::Hooks(hooks) => jsonc::inspect(hooks, current),
        Content::Whole(whole) => Ok(whole::inspect(whole, current)),
    }
}
