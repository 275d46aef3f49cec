//! Hook entries in a document: which are ours, and how they stand to what is wanted.

use serde_json::{Value, json};

use super::document::Node;
use crate::claim::{Entry, Hooks, Over, Setting, Shape};
use crate::engine::own::{Runs, runs};

/// Timeouts that were ever written, in seconds, as they stand in the file; absent is the fourth.
const SHIPPED_TIMEOUTS: [&str; 2] = ["5", "10"];

/// Such an entry cannot become ours without changing what else is in its group.
pub(super) const ANOTHER_MATCHER: &str = "it has another matcher";

/// A command in a hooks file that runs us.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Indexes from the root to the entry's object.
    pub path: Vec<usize>,
    pub event: String,
    pub standing: Standing,
}

/// What to do with such a command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Standing {
    /// Exactly what is wanted.
    Current,
    /// A form that was shipped.
    Stale,
    /// Changed by the person; what differs.
    Edited(&'static str),
    /// In a place where the agent does not look for entries.
    Misplaced,
    /// Runs us through something else: not ours.
    Wrapped,
}

impl Found {
    pub fn is_own(&self) -> bool {
        self.standing != Standing::Wrapped
    }
}

/// Every entry that runs us for this agent, in the file's order.
pub(super) fn find(root: &Node, hooks: &Hooks) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, _) in root.members().iter().enumerate().filter(|(_, member)| member.key == "hooks") {
        let events = root.members().get(at).map(|member| member.value.members()).unwrap_or_default();
        for (event_at, event) in events.iter().enumerate() {
            for (group_at, group) in event.value.elements().iter().enumerate() {
                let mut add = |path: Vec<usize>, entry: &Node, group: Option<&Node>| {
                    if let Some(standing) = standing(entry, &event.key, group, hooks) {
                        found.push(Found { path, event: event.key.clone(), standing });
                    }
                };
                add(vec![at, event_at, group_at], group, None);
                for (list_at, list) in group.members().iter().enumerate().filter(|(_, member)| member.key == "hooks") {
                    for (entry_at, entry) in list.value.elements().iter().enumerate() {
                        add(vec![at, event_at, group_at, list_at, entry_at], entry, Some(group));
                    }
                }
            }
        }
    }
    found
}

/// None = foreign.
fn standing(entry: &Node, event: &str, group: Option<&Node>, hooks: &Hooks) -> Option<Standing> {
    let command = entry.get("command")?.text()?;
    if entry.get("type").is_some_and(|kind| kind.text() != Some("command")) {
        return None;
    }
    let arguments = match entry.get("args") {
        Some(list) => Some(list.elements().iter().map(|word| word.text().map(str::to_owned)).collect::<Option<Vec<_>>>()?),
        None => None,
    };
    let further = match runs(command, arguments.as_deref(), hooks.agent) {
        Runs::Foreign => return None,
        Runs::Wrapped => return Some(Standing::Wrapped),
        Runs::Own { further } => further,
    };
    if group.is_some() != (hooks.shape == Shape::Grouped) {
        return Some(Standing::Misplaced);
    }
    let is_shipped_form = further.is_empty() || matches!(further.as_slice(), [word] if word.eq_ignore_ascii_case(event));
    let known = |key: &str| matches!(key, "type" | "command" | "args" | "timeout");
    let wanted = hooks.entries.iter().find(|wanted| wanted.event == event);
    let timeout = entry.get("timeout").map(|timeout| timeout.raw().unwrap_or_default());
    let is_usual =
        |timeout: &str| SHIPPED_TIMEOUTS.contains(&timeout) || wanted.is_some_and(|wanted| timeout == wanted.timeout.to_string());
    Some(if !is_shipped_form {
        Standing::Edited("its command has further arguments")
    } else if !entry.members().iter().all(|member| known(&member.key)) || has_duplicates(entry) {
        Standing::Edited("it has further keys")
    } else if timeout.is_some_and(|timeout| !is_usual(timeout)) {
        Standing::Edited("its timeout is another one")
    } else if !matches_group(group, wanted) {
        if has_shipped_matcher(group, event) { Standing::Misplaced } else { Standing::Edited(ANOTHER_MATCHER) }
    } else if wanted.is_some_and(|wanted| is_exactly(entry, &object(wanted, hooks.shape))) {
        Standing::Current
    } else {
        Standing::Stale
    })
}

/// Whether the group's matcher means what is wanted: absent, empty and `*` are the same (Claude's documentation).
fn matches_group(group: Option<&Node>, wanted: Option<&Entry>) -> bool {
    let matcher = group.and_then(|group| group.get("matcher"));
    let everything = matcher.is_none_or(|matcher| matches!(matcher.text(), Some("" | "*")));
    match wanted.and_then(|wanted| wanted.matcher) {
        Some(wanted) => matcher.and_then(Node::text) == Some(wanted),
        None => everything,
    }
}

/// A matcher that some configuration of ours asks for: PostToolUse stands for shell commands only, or for every tool.
fn has_shipped_matcher(group: Option<&Node>, event: &str) -> bool {
    let matcher = group.and_then(|group| group.get("matcher"));
    event == "PostToolUse" && matcher.is_none_or(|matcher| matches!(matcher.text(), Some("Bash" | "" | "*")))
}

fn has_duplicates(node: &Node) -> bool {
    node.members().iter().enumerate().any(|(index, member)| node.position(&member.key) != Some(index))
}

/// The same members, in whatever order: Claude Code sorts them when it rewrites its file.
pub(super) fn is_exactly(entry: &Node, wanted: &Value) -> bool {
    let Some(wanted) = wanted.as_object() else { return false };
    let equal = |(key, value): (&String, &Value)| entry.get(key).is_some_and(|found| is_value(found, value));
    entry.members().len() == wanted.len() && wanted.iter().all(equal)
}

/// Whether a scalar in the file is this value.
pub(super) fn is_value(found: &Node, value: &Value) -> bool {
    match value {
        Value::String(text) => found.text() == Some(text),
        other => found.raw().is_some_and(|raw| serde_json::to_string(other).is_ok_and(|text| text == raw)),
    }
}

/// The entry's object as we write it.
pub(super) fn object(entry: &Entry, shape: Shape) -> Value {
    match (shape, entry.matcher) {
        (Shape::Grouped, _) => json!({ "type": "command", "command": entry.command, "timeout": entry.timeout }),
        (Shape::Flat, None) => json!({ "command": entry.command, "timeout": entry.timeout }),
        (Shape::Flat, Some(matcher)) => json!({ "command": entry.command, "matcher": matcher, "timeout": entry.timeout }),
    }
}

/// What is added to the event's array: the entry, or a group with nothing else.
pub(super) fn element(entry: &Entry, shape: Shape) -> Value {
    match (shape, entry.matcher) {
        (Shape::Flat, _) => object(entry, shape),
        (Shape::Grouped, None) => json!({ "hooks": [object(entry, shape)] }),
        (Shape::Grouped, Some(matcher)) => json!({ "matcher": matcher, "hooks": [object(entry, shape)] }),
    }
}

/// What to paste by hand: everything that is wanted, as a file of its own.
pub(super) fn snippet(hooks: &Hooks) -> String {
    let mut root = serde_json::Map::new();
    for setting in &hooks.settings {
        root.insert(setting.key.to_owned(), setting.value.clone());
    }
    let events = hooks.entries.iter().map(|entry| (entry.event.to_owned(), json!([element(entry, hooks.shape)])));
    root.insert("hooks".to_owned(), Value::Object(events.collect()));
    serde_json::to_string_pretty(&root).unwrap_or_default()
}

/// Claude Code runs no hook at all with this. Must be a boolean to count (measured).
pub(super) fn is_disabled(root: &Node, hooks: &Hooks) -> bool {
    hooks.shape == Shape::Grouped && root.get("disableAllHooks").is_some_and(|value| value.raw() == Some("true"))
}

/// The settings that are wanted in this file: built-in alerts are not muted while no hook would speak instead.
pub(super) fn settings<'hooks>(root: &Node, hooks: &'hooks Hooks) -> Vec<&'hooks Setting> {
    let mute = !is_disabled(root, hooks);
    hooks.settings.iter().filter(|setting| mute || setting.over == Over::Keep).collect()
}
