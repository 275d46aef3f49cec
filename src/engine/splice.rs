//! Stands in for the formats until they arrive: whole files only.

use serde::{Deserialize, Serialize};

use crate::claim::Content;

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub force: bool,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Refusal {
    pub what: String,
    pub position: Option<(usize, usize)>,
    pub byte: Option<usize>,
    pub hint: Option<String>,
    pub snippet: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    pub position: Option<(usize, usize)>,
    pub text: String,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    pub offset: usize,
    pub removed: String,
    pub inserted: String,
}

impl Edit {
    #[must_use]
    pub fn between(old: &str, new: &str) -> Self {
        let start = old.bytes().zip(new.bytes()).take_while(|(one, other)| one == other).count();
        let rest = old[start..].bytes().rev().zip(new[start..].bytes().rev()).take_while(|(one, other)| one == other).count();
        let text = |text: &str| text[start..text.len() - rest].to_owned();
        Self { offset: start, removed: text(old), inserted: text(new) }
    }

    #[must_use]
    pub fn reverse_in(&self, current: &str) -> Option<String> {
        let only = !self.inserted.is_empty() && current.matches(&self.inserted).count() == 1;
        only.then(|| current.replacen(&self.inserted, &self.removed, 1))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub base: Option<Vec<u8>>,
    pub absent: bool,
    pub written: Option<Vec<u8>>,
    pub edit: Option<Edit>,
    pub created: Vec<Vec<String>>,
    pub replaced: Vec<(String, Option<String>)>,
}

#[derive(Clone, Debug)]
pub struct Spliced {
    pub content: Vec<u8>,
    pub created: Vec<Vec<String>>,
    pub replaced: Vec<(String, Option<String>)>,
    pub notes: Vec<Note>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rung {
    Untouched,
    Exact,
}

#[derive(Clone, Debug)]
pub struct Taken {
    pub content: Option<Vec<u8>>,
    pub rung: Rung,
}

fn refusal(what: &str) -> Refusal {
    Refusal { what: what.to_owned(), position: None, byte: None, hint: None, snippet: String::new() }
}

pub fn put(content: &Content, current: Option<&[u8]>, _memory: &Memory, _options: &Options) -> Result<Spliced, Refusal> {
    let Content::Whole(whole) = content else { return Err(refusal("not yet")) };
    let ours = |bytes: &[u8]| !whole.mark.is_empty() && bytes.windows(whole.mark.len()).any(|part| part == whole.mark);
    let content = match current {
        Some(bytes) if whole.mark.is_empty() => bytes.to_owned(),
        Some(bytes) if !ours(bytes) => return Err(refusal("it is not ours")),
        _ => whole.bytes.clone(),
    };
    Ok(Spliced { content, created: Vec::new(), replaced: Vec::new(), notes: Vec::new() })
}

pub fn take(_content: &Content, current: &[u8], memory: &Memory) -> Result<Taken, Refusal> {
    match &memory.written {
        Some(written) if written == current && (memory.absent || memory.base.is_some()) => {
            Ok(Taken { content: memory.base.clone(), rung: Rung::Exact })
        }
        _ => Ok(Taken { content: Some(current.to_owned()), rung: Rung::Untouched }),
    }
}

pub fn without_ours(_content: &Content, _current: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let Content::Whole(_) = _content else { return Err(refusal("not yet")) };
    Ok(None)
}
