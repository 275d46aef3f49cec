//! The unified diff of a planned change, as lines that a caller may colour. Files are text that others can influence:
//! nothing in them reaches a terminal as a control sequence.

use similar::{ChangeTag, TextDiff};

use crate::event::is_unsafe;

/// What a line is, so that a caller can give it a colour.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DiffKind {
    /// `---` and `+++`.
    Header,
    /// `@@ … @@`.
    Hunk,
    Added,
    Removed,
    /// An unchanged line, or `\ No newline at end of file`.
    Context,
}

/// One line without its line end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DiffLine {
    pub kind: DiffKind,
    pub text: String,
}

/// The change of the file `path`, with three lines of context; None = no such file. Nothing for equal contents.
#[must_use]
pub fn diff(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<DiffLine> {
    if old == new {
        return Vec::new();
    }
    let (Ok(old_text), Ok(new_text)) = (str::from_utf8(old.unwrap_or_default()), str::from_utf8(new.unwrap_or_default())) else {
        return vec![DiffLine { kind: DiffKind::Header, text: format!("Binary file {} differs", visible(path)) }];
    };
    let side = |content: Option<&[u8]>| content.map_or_else(|| "/dev/null".to_owned(), |_| visible(path));
    let mut lines = vec![
        DiffLine { kind: DiffKind::Header, text: format!("--- {}", side(old)) },
        DiffLine { kind: DiffKind::Header, text: format!("+++ {}", side(new)) },
    ];
    let changes = TextDiff::from_lines(old_text, new_text);
    for hunk in changes.unified_diff().context_radius(3).iter_hunks() {
        lines.push(DiffLine { kind: DiffKind::Hunk, text: hunk.header().to_string().trim_end().to_owned() });
        for change in hunk.iter_changes() {
            let (kind, sign) = match change.tag() {
                ChangeTag::Insert => (DiffKind::Added, '+'),
                ChangeTag::Delete => (DiffKind::Removed, '-'),
                ChangeTag::Equal => (DiffKind::Context, ' '),
            };
            let value: &str = change.value();
            lines.push(DiffLine { kind, text: format!("{sign}{}", visible(value.strip_suffix('\n').unwrap_or(value))) });
            if change.missing_newline() {
                lines.push(DiffLine { kind: DiffKind::Context, text: "\\ No newline at end of file".to_owned() });
            }
        }
    }
    lines
}

/// Tabs stay; a carriage return is `^M`, as diffs show it; other controls are escapes, and so is the mark in front of the
/// text, which would not be seen.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.push('\t'),
            '\r' => shown.push_str("^M"),
            '\u{feff}' => shown.push_str("\\u{feff}"),
            _ if is_unsafe(character) => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(old: Option<&str>, new: Option<&str>) -> String {
        diff("/f", old.map(str::as_bytes), new.map(str::as_bytes)).iter().map(|line| format!("{}\n", line.text)).collect()
    }

    #[test]
    fn a_diff_has_headers_context_and_the_note_of_a_missing_newline() {
        insta::assert_snapshot!(text(Some("1\n2\n3\n4\n5\nx"), Some("1\n2\n3\n4\n5\ny\n")), @r"
        --- /f
        +++ /f
        @@ -3,4 +3,4 @@
         3
         4
         5
        -x
        \ No newline at end of file
        +y
        ");
        assert_eq!(text(None, Some("a\n")), "--- /dev/null\n+++ /f\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(text(Some("a\n"), None), "--- /f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        assert_eq!(text(Some("a\n"), Some("a\n")), "");
    }

    #[test]
    fn control_bytes_are_visible_and_tabs_stay() {
        let shown = text(Some("a\r\n"), Some("\ta\u{1b}[31m\u{202e}\n"));
        assert!(shown.contains("-a^M\n+\ta\\u{1b}[31m\\u{202e}\n"), "{shown}");
        assert!(text(Some("a\r\n"), Some("a\n")).ends_with("-a^M\n+a\n"));
    }

    #[test]
    fn an_empty_new_file_and_bytes_that_are_no_text_have_a_header() {
        assert_eq!(text(None, Some("")), "--- /dev/null\n+++ /f\n");
        assert_eq!(diff("/f", Some(b"\xff"), Some(b"a")).len(), 1);
    }
}
