//! Printing: text from outside is escaped, a closed pipe is silent, errors say what, where, why and what to do.

use std::io::{self, Write};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};

use crate::error::Error;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// Writes a line to stdout.
pub(super) fn line(text: &str) {
    to_stdout(&format!("{text}\n"));
}

/// Writes to stdout as it is. What goes wrong is told at the end, by [`trouble`].
pub(super) fn to_stdout(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    note_trouble(written);
}

/// The first write to stdout that failed.
static TROUBLE: OnceLock<String> = OnceLock::new();

/// Remembers that stdout cannot be written. Whoever reads it may have gone (`| head`): that is no trouble.
pub(super) fn note_trouble(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        TROUBLE.get_or_init(|| error.to_string());
    }
}

/// Why not everything that was to be said reached stdout.
pub(super) fn trouble() -> Option<Error> {
    TROUBLE.get().map(|reason| Error::new("standard output cannot be written").because(reason))
}

/// Writes a JSON value as one line.
pub(super) fn json(value: &impl serde::Serialize) {
    // Our own types always serialise. JSON leaves C1 and bidi controls as they are: all of these lie in the BMP.
    if let Ok(text) = serde_json::to_string(value) {
        let mut escaped = String::with_capacity(text.len());
        for character in text.chars() {
            if crate::event::is_unsafe(character) {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            } else {
                escaped.push(character);
            }
        }
        line(&escaped);
    }
}

/// Writes an error with its hint to stderr.
pub(super) fn error(error: &Error) {
    let hint = error.hint.as_deref().map(|hint| format!("  {HINT}hint:{HINT:#} {}\n", visible(hint))).unwrap_or_default();
    to_stderr(&format!("{ERROR}error:{ERROR:#} {}\n{hint}", visible(&error.to_string())));
}

/// Writes something worth knowing to stdout.
pub(super) fn note(text: &str) {
    to_stdout(&format!("  {HINT}note:{HINT:#} {}\n", visible(text)));
}

/// Writes a line that belongs to an error to stderr.
pub(super) fn detail(text: &str) {
    to_stderr(&format!("  {}\n", visible(text)));
}

/// Writes a warning to stderr.
pub(super) fn warning(text: &str) {
    const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    to_stderr(&format!("{WARNING}warning:{WARNING:#} {}\n", visible(text)));
}

fn to_stderr(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _: io::Result<()> = stderr.write_all(text.as_bytes());
}

/// The text with every control character, bidi control and line separator as an escape: nothing from outside reaches the
/// terminal as a sequence.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if crate::event::is_unsafe(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_become_visible() {
        assert_eq!(visible("a\x1b[31m\n\u{202e}项"), "a\\u{1b}[31m\\u{a}\\u{202e}项");
    }
}
