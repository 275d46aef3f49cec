//! The smallest single edit between two texts, and its reverse in a text that has changed since.

use serde::{Deserialize, Serialize};

/// `removed` at byte `offset` of the old text became `inserted`; everything around it is common to both.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Edit {
    pub offset: usize,
    pub removed: String,
    pub inserted: String,
}

impl Edit {
    /// What is left of both texts without their common prefix and suffix, cut at character boundaries.
    #[must_use]
    pub fn between(old: &str, new: &str) -> Self {
        let prefix: usize = old.chars().zip(new.chars()).take_while(|(left, right)| left == right).map(|(left, _)| left.len_utf8()).sum();
        let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
        let common = old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(|(left, right)| left == right);
        let suffix: usize = common.map(|(left, _)| left.len_utf8()).sum();
        Self {
            offset: prefix,
            removed: old_rest[..old_rest.len() - suffix].to_owned(),
            inserted: new_rest[..new_rest.len() - suffix].to_owned(),
        }
    }

    /// The new text, if `old` has `removed` where it should be.
    #[must_use]
    pub fn apply(&self, old: &str) -> Option<String> {
        let rest = old.get(self.offset..)?.strip_prefix(self.removed.as_str())?;
        Some(format!("{}{}{rest}", &old[..self.offset], self.inserted))
    }

    /// `current` with `inserted` turned back into `removed`, wherever it stands now. None unless it occurs exactly once:
    /// an overlapping second place would make the choice a guess. Whether the result means the right thing is for the
    /// caller to check.
    #[must_use]
    pub fn reverse_in(&self, current: &str) -> Option<String> {
        let first_character = self.inserted.chars().next()?;
        let at = current.find(&self.inserted)?;
        if current[at + first_character.len_utf8()..].contains(&self.inserted) {
            return None;
        }
        Some(format!("{}{}{}", &current[..at], self.removed, &current[at + self.inserted.len()..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_minimal_applies_and_reverses() {
        for (old, new) in [("", "a"), ("a", ""), ("abc", "abXc"), ("aa", "aaa"), ("é", "è"), ("日本", "日x本"), ("{}\n", "{\n  1\n}\n")]
        {
            let edit = Edit::between(old, new);
            assert_eq!(edit.apply(old).as_deref(), Some(new), "{edit:?}");
            if !edit.inserted.is_empty() && new.matches(&edit.inserted).count() == 1 {
                assert_eq!(edit.reverse_in(new).as_deref(), Some(old), "{edit:?}");
            }
        }
        assert_eq!(Edit::between("abc", "abXc"), Edit { offset: 2, removed: String::new(), inserted: "X".into() });
        assert_eq!(Edit::between("é", "è"), Edit { offset: 0, removed: "é".into(), inserted: "è".into() }, "never inside a character");
    }

    #[test]
    fn what_occurs_twice_or_not_at_all_is_not_reversed() {
        let edit = Edit::between("a", "aXX");
        assert_eq!(edit.reverse_in("a XX"), Some("a ".into()));
        assert_eq!(edit.reverse_in("XX a XX"), None);
        assert_eq!(edit.reverse_in("XXX"), None, "overlapping");
        assert_eq!(edit.reverse_in("a"), None);
        assert_eq!(Edit::between("ab", "a").reverse_in("a"), None, "nothing inserted: no place to find");
        assert_eq!(edit.apply(""), None);
    }
}
