//! How a file is laid out, and our values printed in that manner.

use serde_json::Value;

use super::document::{Kind, Node};
use super::gap::{has_newline, is_after_newline, line_indent, skip_blanks_back};

/// How a value is printed.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// On one line.
    Compact(Spacing),
    /// Every member on a line of its own.
    Lines {
        newline: &'static str,
        unit: String,
        /// Stands before every line but the first.
        indent: String,
    },
}

/// Blanks in a container on one line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    pub after_colon: &'static str,
    pub after_comma: &'static str,
    pub inside: &'static str,
}

/// The line end that most lines have.
pub(super) fn newline(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    let windows = text.matches("\r\n").count();
    match (all, windows) {
        (0, _) if text.contains('\r') => "\r",
        _ if windows * 2 > all => "\r\n",
        _ => "\n",
    }
}

/// One step of indentation: that of the first value that stands deeper than its container's line. Two spaces where none
/// does.
pub(super) fn unit(text: &str, node: &Node) -> String {
    find_unit(text, node).unwrap_or_else(|| "  ".to_owned())
}

fn find_unit(text: &str, node: &Node) -> Option<String> {
    let spans = node.spans();
    // Long lines are not looked through for every value that stands on them.
    let begins_line = |start: &usize| is_after_newline(text, skip_blanks_back(text, *start));
    for start in spans.iter().map(|(start, _)| *start).filter(begins_line) {
        let outer = line_indent(text, node.start);
        if let Some(unit) = text[skip_blanks_back(text, start)..start].strip_prefix(outer).filter(|unit| !unit.is_empty()) {
            return Some(unit.to_owned());
        }
    }
    if !has_newline(&text[node.start..node.end]) {
        return None;
    }
    (0..spans.len()).filter_map(|index| node.child(index)).find_map(|child| find_unit(text, child))
}

/// The blanks that the innermost container of `path` shows, seen from the root.
pub(super) fn spacing(text: &str, root: &Node, path: &[usize]) -> Spacing {
    let mut spacing = Spacing { after_colon: " ", after_comma: " ", inside: " " };
    for depth in 0..=path.len() {
        let Some(node) = root.at(&path[..depth]) else { break };
        if node.is_empty() || has_newline(&text[node.start..node.end]) {
            continue;
        }
        spacing.inside = if text[node.start + 1..node.end].starts_with([' ', '\t']) { " " } else { "" };
        if let Kind::Object(members) = &node.kind
            && let Some(first) = members.first()
        {
            let is_tight = text[..first.value.start].ends_with(':');
            spacing.after_colon = if is_tight { "" } else { " " };
            spacing.after_comma = spacing.after_colon;
        }
    }
    spacing
}

/// A value of ours, without anything before or behind it.
pub(super) fn print(value: &Value, layout: &Layout) -> String {
    let items: Vec<String> = match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().map(|(key, value)| member(key, &print(value, &deeper(layout)), layout)).collect()
        }
        Value::Array(elements) if !elements.is_empty() => elements.iter().map(|element| print(element, &deeper(layout))).collect(),
        other => return other.to_string(),
    };
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    match layout {
        Layout::Compact(Spacing { inside, after_comma, .. }) => {
            format!("{open}{inside}{}{inside}{close}", items.join(&format!(",{after_comma}")))
        }
        Layout::Lines { newline, unit, indent } => {
            let items = items.join(&format!(",{newline}{indent}{unit}"));
            format!("{open}{newline}{indent}{unit}{items}{newline}{indent}{close}")
        }
    }
}

/// A member of an object, its value printed already.
pub(super) fn member(key: &str, value: &str, layout: &Layout) -> String {
    let after_colon = if let Layout::Compact(spacing) = layout { spacing.after_colon } else { " " };
    format!("{}:{after_colon}{value}", Value::from(key))
}

fn deeper(layout: &Layout) -> Layout {
    match layout {
        Layout::Compact(spacing) => Layout::Compact(*spacing),
        Layout::Lines { newline, unit, indent } => Layout::Lines { newline, unit: unit.clone(), indent: format!("{indent}{unit}") },
    }
}
