//! Files that are ours as a whole: an extension, a configuration file, the program.

use super::{EntryState, Inspection, Memory, Refusal, Rung, Spliced, Taken};
use crate::claim::Whole;

pub(super) fn put(whole: &Whole, current: Option<&[u8]>) -> Result<Spliced, Refusal> {
    let content = match current {
        None => whole.bytes.clone(),
        Some(current) if whole.mark.is_empty() => current.to_vec(),
        Some(current) if is_ours(whole, current) => whole.bytes.clone(),
        Some(_) => {
            return Err(Refusal {
                what: "this file is not from agent-notify".into(),
                hint: Some("move it away, then run the command again".into()),
                ..Refusal::default()
            });
        }
    };
    Ok(Spliced { content, ..Spliced::default() })
}

/// Without a mark, only bytes that we wrote are ours: what the person changed stays.
pub(super) fn take(whole: &Whole, current: &[u8], memory: &Memory) -> Taken {
    if memory.written.as_deref() == Some(current) && (memory.absent || memory.base.is_some()) {
        let content = memory.base.clone().filter(|_| !memory.absent);
        let rung = if content.as_deref() == Some(current) { Rung::Untouched } else { Rung::Exact };
        return Taken { content, rung };
    }
    if is_ours(whole, current) {
        return Taken { content: None, rung: Rung::Structural };
    }
    Taken { content: Some(current.to_vec()), rung: Rung::Untouched }
}

pub(super) fn inspect(whole: &Whole, current: &[u8]) -> Inspection {
    let state = if current == whole.bytes {
        EntryState::Current
    } else if whole.mark.is_empty() {
        EntryState::Edited
    } else if is_ours(whole, current) {
        EntryState::Stale
    } else {
        EntryState::Missing
    };
    Inspection { entries: vec![(String::new(), state)], ..Inspection::default() }
}

fn is_ours(whole: &Whole, current: &[u8]) -> bool {
    !whole.mark.is_empty() && memchr::memmem::find(current, whole.mark).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(mark: &'static [u8]) -> Whole {
        Whole { bytes: b"// MARK 2".to_vec(), mode: 0o644, mark }
    }

    #[test]
    fn a_marked_file_is_replaced_and_deleted_and_a_foreign_one_refused() {
        let marked = whole(b"MARK");
        assert_eq!(put(&marked, None).map(|spliced| spliced.content), Ok(b"// MARK 2".to_vec()));
        assert_eq!(put(&marked, Some(b"// MARK 1")).map(|spliced| spliced.content), Ok(b"// MARK 2".to_vec()));
        assert!(put(&marked, Some(b"theirs")).is_err());
        let memory = Memory::default();
        assert_eq!(take(&marked, b"// MARK 1", &memory), Taken { content: None, rung: Rung::Structural });
        assert_eq!(take(&marked, b"theirs", &memory), Taken { content: Some(b"theirs".to_vec()), rung: Rung::Untouched });
    }

    #[test]
    fn a_file_without_a_mark_is_made_once_and_stays_when_the_person_changed_it() {
        let unmarked = whole(b"");
        assert_eq!(put(&unmarked, Some(b"theirs")).map(|spliced| spliced.content), Ok(b"theirs".to_vec()));
        let memory = Memory { absent: true, written: Some(b"// MARK 2".to_vec()), ..Memory::default() };
        assert_eq!(take(&unmarked, b"// MARK 2", &memory), Taken { content: None, rung: Rung::Exact });
        assert_eq!(take(&unmarked, b"changed", &memory).rung, Rung::Untouched);
        let kept = Memory { base: Some(b"theirs".to_vec()), written: Some(b"theirs".to_vec()), ..Memory::default() };
        assert_eq!(take(&unmarked, b"theirs", &kept), Taken { content: Some(b"theirs".to_vec()), rung: Rung::Untouched });
    }

    #[test]
    fn what_was_replaced_comes_back() {
        let memory = Memory { base: Some(b"// MARK 1".to_vec()), written: Some(b"// MARK 2".to_vec()), ..Memory::default() };
        assert_eq!(take(&whole(b"MARK"), b"// MARK 2", &memory), Taken { content: Some(b"// MARK 1".to_vec()), rung: Rung::Exact });
    }
}
