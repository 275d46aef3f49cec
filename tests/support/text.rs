//! Text that wants to break out of a sequence, and the check that it did not.

use proptest::prelude::*;

use super::reader::{Notification, bells, notifications};

/// Texts of up to 400 characters from all of Unicode, with many that terminals take for their own.
pub fn any_text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        3 => any::<char>(),
        3 => proptest::char::range(' ', '~'),
        2 => proptest::char::range('\u{0}', '\u{1f}'),
        1 => proptest::char::range('\u{7f}', '\u{9f}'),
        2 => proptest::sample::select(vec![
            '\u{1b}', '\u{7}', ';', ':', '\\', ']', '\u{9c}', '\u{9d}', '\u{200e}', '\u{202e}', '\u{2028}', '\u{2066}', '\u{feff}', '项', '🦀', '4',
        ]),
    ];
    proptest::collection::vec(character, 0..400).prop_map(|characters| characters.into_iter().collect())
}

/// Exactly one whole notification, no bell; its texts carry no control and no separator, and fit into Ghostty's limits.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn clean_notification(bytes: &[u8]) -> Result<Notification, String> {
    let mut shown = notifications(bytes);
    if shown.len() != 1 || bells(bytes) != 0 {
        return Err(format!("{} bells, {shown:?}", bells(bytes)));
    }
    let shown = shown.remove(0);
    let bad = |character: char| {
        let reorders = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        character.is_control() || character == ';' || reorders
    };
    if shown.title.contains(bad) || shown.body.contains(bad) {
        return Err(format!("unsafe characters in {shown:?}"));
    }
    if shown.title.len() > 63 || shown.body.len() > 255 {
        return Err(format!("too long: {shown:?}"));
    }
    if shown.body.trim().is_empty() {
        return Err(format!("no body: {shown:?}"));
    }
    Ok(shown)
}

/// [`clean_notification`] that panics.
#[track_caller]
pub fn one_clean_notification(bytes: &[u8], what: &str) -> Notification {
    clean_notification(bytes).unwrap_or_else(|problem| panic!("{what:?}: {problem}"))
}
