//! Adding, removing and replacing one value in a document's text. Each change is carried out twice, on the text and on the
//! values, and counts only if the new text parses to the new values
//! and every comment is still there.

use serde_json::Value;

use super::document::{Document, Kind, Member, Node, internal, parse};
use super::gap::{self, Comment, has_newline, is_newline, line_indent, line_start, skip_blanks, skip_blanks_back};
use super::layout::{self, Layout};
use crate::engine::formats::Refusal;

/// `text[start..end]` becomes `new`.
type Splice = (usize, usize, String);

impl Document {
    /// Adds a member (with a key) or an element behind the last one of the container at `path`.
    pub fn append(&mut self, path: &[usize], key: Option<&str>, value: &Value) -> Result<(), Refusal> {
        let Some(container) = self.root.at(path).cloned() else { return Err(internal("no such container")) };
        let splices =
            if container.is_empty() { self.fill(path, &container, key, value) } else { self.extend(path, &container, key, value) };
        let mut expected = self.root.clone();
        let new = printed(value)?;
        match (expected.at_mut(path).map(|node| &mut node.kind), key) {
            (Some(Kind::Object(members)), Some(key)) => {
                members.push(Member { start: 0, key: key.to_owned(), raw_key: Value::from(key).to_string(), value: new });
            }
            (Some(Kind::Array(elements)), None) => elements.push(new),
            _ => return Err(internal("a member belongs into an object and an element into an array")),
        }
        self.apply(splices, expected)
    }

    /// Puts other raw text in the place of the value at `path`.
    pub fn replace(&mut self, path: &[usize], raw: &str) -> Result<(), Refusal> {
        let Some(old) = self.root.at(path) else { return Err(internal("no such value")) };
        let splice = (old.start, old.end, raw.to_owned());
        let Some(new) = parse(raw, true)? else { return Err(internal("no value to put there")) };
        let mut expected = self.root.clone();
        if let Some(node) = expected.at_mut(path) {
            *node = new;
        }
        self.apply(vec![splice], expected)
    }

    /// Takes the member or element at `path` out, with its comma and its line. Comments stay, also those inside it.
    pub fn remove(&mut self, path: &[usize]) -> Result<(), Refusal> {
        let Some((index, parent)) = path.split_last() else { return Err(internal("the root cannot be removed")) };
        let Some(container) = self.root.at(parent).cloned() else { return Err(internal("no such container")) };
        let mut expected = self.root.clone();
        match expected.at_mut(parent).map(|node| &mut node.kind) {
            Some(Kind::Object(members)) if *index < members.len() => drop(members.remove(*index)),
            Some(Kind::Array(elements)) if *index < elements.len() => drop(elements.remove(*index)),
            _ => return Err(internal("no such value")),
        }
        self.apply(removal(&self.text, &container, *index), expected)
    }

    fn apply(&mut self, mut splices: Vec<Splice>, expected: Node) -> Result<(), Refusal> {
        splices.sort_by_key(|(start, end, _)| (*start, *end));
        let mut text = String::with_capacity(self.text.len() + 256);
        let mut at = 0;
        for (start, end, new) in splices {
            let Some(between) = self.text.get(at..start) else { return Err(internal("two changes overlap")) };
            text.push_str(between);
            text.push_str(&new);
            at = end;
        }
        text.push_str(&self.text[at..]);
        let parsed = parse(&text, self.loose).ok().flatten();
        let Some(root) = parsed.filter(|root| root.same(&expected)) else {
            return Err(internal("the changed text does not have the values that it should have"));
        };
        if self.loose && gap::comments(&self.text) != gap::comments(&text) {
            return Err(internal("a comment would change"));
        }
        self.text = text;
        self.root = root;
        Ok(())
    }

    /// The first member or element of an empty container.
    fn fill(&self, path: &[usize], container: &Node, key: Option<&str>, value: &Value) -> Vec<Splice> {
        let text = &self.text;
        let (open, close) = (container.start + 1, container.end - 1);
        let outer = line_indent(text, container.start);
        let newline = layout::newline(text);
        let unit = layout::unit(text, &self.root);
        let spacing = layout::spacing(text, &self.root, path);
        let lines = |indent: String| {
            let layout = Layout::Lines { newline, unit: unit.clone(), indent: indent.clone() };
            format!("{newline}{indent}{}", item(key, value, &layout))
        };
        let compact = || item(key, value, &Layout::Compact(spacing));
        if let Some(last) = gap::scan(text, open, close).comments.last() {
            let rest = &text[last.end..close];
            if !last.is_line && !has_newline(rest) {
                let after = if rest.is_empty() { spacing.inside } else { "" };
                return vec![(last.end, last.end, format!(" {}{after}", compact()))];
            }
            let begins_line = skip_blanks_back(text, last.start) == line_start(text, last.start);
            let indent = if begins_line { line_indent(text, last.start).to_owned() } else { format!("{outer}{unit}") };
            return vec![(last.end, last.end, lines(indent))];
        }
        let stands_inside_line = path
            .split_last()
            .and_then(|(_, parent)| self.root.at(parent))
            .is_some_and(|parent| !has_newline(&text[parent.start..parent.end]));
        if has_newline(&text[open..close]) {
            vec![(open, open, lines(format!("{outer}{unit}")))]
        } else if stands_inside_line {
            vec![(open, close, format!("{}{}{}", spacing.inside, compact(), spacing.inside))]
        } else {
            vec![(open, close, format!("{}{newline}{outer}", lines(format!("{outer}{unit}"))))]
        }
    }

    /// One more behind the last member or element.
    fn extend(&self, path: &[usize], container: &Node, key: Option<&str>, value: &Value) -> Vec<Splice> {
        let text = &self.text;
        let Some((start, end)) = container.spans().last().copied() else { return Vec::new() };
        let gap = gap::scan(text, end, container.end - 1);
        let comma = gap.commas.first().copied();
        let tail = same_line_tail(text, comma.map_or(end, |comma| comma + 1), &gap.comments);
        let line_end = skip_blanks(text, tail);
        let spacing = layout::spacing(text, &self.root, path);
        if !is_newline(text, line_end) {
            let new = item(key, value, &Layout::Compact(spacing));
            let new = if comma.is_some() { format!("{}{new},", spacing.after_comma) } else { format!(",{}{new}", spacing.after_comma) };
            return vec![(tail, tail, new)];
        }
        let newline = layout::newline(text);
        let unit = layout::unit(text, &self.root);
        let before = &text[line_start(text, start)..start];
        let lines = |before: &str, indent: String, after: &str| {
            let layout = Layout::Lines { newline, unit: unit.clone(), indent };
            format!("{newline}{before}{}{after}", item(key, value, &layout))
        };
        if before.trim() == "," && comma.is_none() {
            // Commas at line starts.
            return vec![(line_end, line_end, lines(before, before.replace(',', " "), ""))];
        }
        let indent = if before.trim().is_empty() { before.to_owned() } else { format!("{}{unit}", line_indent(text, container.start)) };
        let new = |after| (line_end, line_end, lines(&indent, indent.clone(), after));
        if comma.is_some() { vec![new(",")] } else { vec![(end, end, ",".to_owned()), new("")] }
    }
}

/// A member or an element as text.
fn item(key: Option<&str>, value: &Value, layout: &Layout) -> String {
    let value = layout::print(value, layout);
    key.map_or(value.clone(), |key| layout::member(key, &value, layout))
}

/// Our own value as the parser sees it.
fn printed(value: &Value) -> Result<Node, Refusal> {
    parse(&value.to_string(), false)?.ok_or_else(|| internal("a value without text"))
}

/// The end of the comments that begin on the line of `at`, with nothing else between.
fn same_line_tail(text: &str, at: usize, comments: &[Comment]) -> usize {
    comments
        .iter()
        .filter(|comment| comment.start >= at)
        .fold((at, true), |(tail, joined), comment| {
            let joined = joined && skip_blanks(text, tail) == comment.start;
            (if joined { comment.end } else { tail }, joined)
        })
        .0
}

/// What has to go so that `index` is no longer in `container`.
fn removal(text: &str, container: &Node, index: usize) -> Vec<Splice> {
    let spans = container.spans();
    let (start, end) = spans[index];
    let left = if index == 0 { container.start + 1 } else { spans[index - 1].1 };
    let right = spans.get(index + 1).map_or(container.end - 1, |next| next.0);
    let (before, after) = (gap::scan(text, left, start), gap::scan(text, end, right));
    let kept = hoisted(text, start, end, right);
    if spans.len() == 1 && before.comments.is_empty() && after.comments.is_empty() && kept.is_empty() {
        return vec![(left, right, String::new())];
    }
    // The comma behind it; of the last one, the comma before it.
    let comma_after = after.commas.first().copied();
    let comma_before = before.commas.first().copied().filter(|_| comma_after.is_none());
    let comma = comma_after.or(comma_before);

    let mut from = start;
    let mut to = end;
    if comma_after == Some(skip_blanks(text, to)) {
        to = skip_blanks(text, to) + 1;
    }
    let mut first = skip_blanks_back(text, start);
    if let Some(comma) = comma_before.filter(|comma| comma + 1 == first && line_start(text, *comma) == line_start(text, start)) {
        // A comma at the start of our line, or right before us on it.
        let blank = skip_blanks_back(text, comma);
        if blank == line_start(text, start) || blank <= left {
            first = blank;
        }
    }
    let begins_line = first == line_start(text, start) && first > left;
    let line_end = skip_blanks(text, to);
    let (ends_line, is_last) = (is_newline(text, line_end), index + 1 == spans.len());
    let line_before = before_newline(text, first);
    if !kept.is_empty() {
        // Its comments take its place.
    } else if begins_line && ends_line {
        (from, to) = (line_before, line_end);
    } else if begins_line && line_end == container.end - 1 && !ends_in_line_comment(&before.comments, line_before) {
        from = line_before;
    } else if begins_line || (!is_last && !ends_line) {
        // What follows on the line moves up.
        to = line_end;
    } else {
        from = first.max(left);
    }
    let mut splices = vec![(from, to, kept)];
    if let Some(comma) = comma.filter(|comma| !(from..to).contains(comma)) {
        splices.push((comma, comma + 1, String::new()));
    }
    splices
}

/// The comments inside what is removed, to be kept in its place.
fn hoisted(text: &str, start: usize, end: usize, right: usize) -> String {
    let comments = gap::scan(text, start, end).comments;
    let Some(last) = comments.last() else { return String::new() };
    let newline = format!("{}{}", layout::newline(text), line_indent(text, start));
    let mut kept: String = comments.iter().map(|comment| &text[comment.start..comment.end]).collect::<Vec<_>>().join(&newline);
    let comma = gap::scan(text, end, right).commas.first().copied();
    let behind = comma.filter(|comma| *comma == skip_blanks(text, end)).map_or(end, |comma| comma + 1);
    if last.is_line && !is_newline(text, skip_blanks(text, behind)) {
        kept.push_str(&newline);
    }
    kept
}

/// The start of the line end that stands right before `at`.
fn before_newline(text: &str, at: usize) -> usize {
    let before = &text[..at];
    before.strip_suffix("\r\n").or_else(|| before.strip_suffix(['\n', '\r'])).map_or(at, str::len)
}

fn ends_in_line_comment(comments: &[Comment], at: usize) -> bool {
    comments.iter().any(|comment| comment.is_line && comment.end == at)
}
