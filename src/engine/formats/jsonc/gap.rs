//! What stands between values: blanks, commas, comments.

/// A comment's place in the text; a line comment without its line end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Comment {
    pub start: usize,
    pub end: usize,
    /// `//`: whatever follows must stand on another line.
    pub is_line: bool,
}

/// What a piece of text holds outside its strings.
#[derive(Debug, Default)]
pub(super) struct Gap {
    pub comments: Vec<Comment>,
    pub commas: Vec<usize>,
}

/// Scans `text[from..to]`, which parsed as part of a document and begins outside strings and comments.
pub(super) fn scan(text: &str, from: usize, to: usize) -> Gap {
    let bytes = text.as_bytes();
    let mut gap = Gap::default();
    let mut at = from;
    while at < to {
        match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => {
                at += 1;
                while at < to && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            (b'/', Some(b'/')) => {
                let end = text[at..to].find(['\n', '\r']).map_or(to, |length| at + length);
                gap.comments.push(Comment { start: at, end, is_line: true });
                at = end;
            }
            (b'/', Some(b'*')) => {
                let end = text[at + 2..to].find("*/").map_or(to, |length| at + 2 + length + 2);
                gap.comments.push(Comment { start: at, end, is_line: false });
                at = end;
            }
            (b',', _) => {
                gap.commas.push(at);
                at += 1;
            }
            _ => at += 1,
        }
    }
    gap
}

/// The comments of a text, in no order.
pub(super) fn comments(text: &str) -> Vec<&str> {
    let mut all: Vec<&str> = scan(text, 0, text.len()).comments.iter().map(|comment| text[comment.start..comment.end].trim_end()).collect();
    all.sort_unstable();
    all
}

/// The text with comments and trailing commas as blanks, everything else at its place: strict JSON if the rest is.
pub(super) fn blanked(text: &str) -> String {
    let gap = scan(text, 0, text.len());
    let mut bytes = text.as_bytes().to_vec();
    for comment in &gap.comments {
        for byte in &mut bytes[comment.start..comment.end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    for comma in gap.commas {
        let next = bytes[comma + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
        if matches!(next, Some(b'}' | b']')) {
            bytes[comma] = b' ';
        }
    }
    // Only whole characters were replaced.
    String::from_utf8(bytes).unwrap_or_default()
}

/// Where the line of `at` begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |newline| newline + 1)
}

/// The blanks that the line of `at` begins with.
pub(super) fn line_indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The first byte from `at` on that is neither space nor tab.
pub(super) fn skip_blanks(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start_matches([' ', '\t']).len()
}

/// The start of the blanks that end at `at`.
pub(super) fn skip_blanks_back(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches([' ', '\t']).len()
}

pub(super) fn is_newline(text: &str, at: usize) -> bool {
    matches!(text.as_bytes().get(at), Some(b'\n' | b'\r'))
}

pub(super) fn is_after_newline(text: &str, at: usize) -> bool {
    text[..at].ends_with(['\n', '\r'])
}

pub(super) fn has_newline(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
