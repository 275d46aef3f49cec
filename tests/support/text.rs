//! Text that wants to break out of a sequence, and the check that it did not.

use proptest::prelude::*;

use super::reader::{Notification, bells, notifications};

/// Harmless characters of which GNU screen, inside a DCS, leaves ESC, BEL, `;`, CAN, `\`, ST and `]`.
pub const LOW_BYTES: [char; 7] = ['ě', 'ć', 'Ļ', 'Ę', 'Ŝ', 'Ɯ', 'ŝ'];

/// A text that GNU screen would make a second notification of, and the bytes of that one.
pub const SECOND: &str = "Aě]777ĻnotifyĻPWNEDĻxćB";
pub const SECOND_FORGED: &[u8] = b"\x1b]777;notify;PWNED;";
/// The same as it must arrive behind GNU screen.
pub const SECOND_SHOWN: &str = "A?]777?notify?PWNED?x?B";

/// What GNU screen makes of a text inside a DCS: the low byte of each character.
#[must_use]
pub fn low_bytes(text: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(text).expect("UTF-8");
    text.chars().map(|character| u8::try_from(u32::from(character) & 0xff).expect("a byte")).collect()
}

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
        2 => proptest::sample::select(LOW_BYTES.to_vec()),
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
