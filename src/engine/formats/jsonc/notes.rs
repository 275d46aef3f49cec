//! What is odd in a hooks file: reasons to leave it alone, and what the person should hear about.

use std::collections::HashSet;

use super::document::{Document, Member, Node};
use super::hooks::{Found, Standing, find, is_disabled, is_value};
use crate::claim::{Hooks, Over, Shape};
use crate::engine::formats::{Note, Refusal};

/// The agent's name for people.
pub(super) fn reader(hooks: &Hooks) -> String {
    match hooks.agent {
        "claude" => "Claude Code".into(),
        other => other.chars().next().map(|first| first.to_ascii_uppercase()).into_iter().chain(other.chars().skip(1)).collect(),
    }
}

/// Whether the parts that an entry of ours needs are what they should be.
pub(super) fn check(document: &Document, hooks: &Hooks) -> Result<(), Refusal> {
    let reader = reader(hooks);
    let refuse = |at: usize, what: String, hint: &str| Err(super::document::refusal(&what, Some(document.position(at)), hint));
    let root = &document.root;
    if !root.is_object() {
        return refuse(root.start, "the file is no JSON object".into(), "it should begin with { and end with }");
    }
    let needed = |key: &str| key == "hooks" || hooks.settings.iter().any(|setting| setting.key == key);
    if let Some(twice) = duplicate(root, needed) {
        let what = format!("{} stands there twice; {reader} takes the last one", twice.raw_key);
        return refuse(twice.start, what, "merge the two, then run the command again");
    }
    let Some(events) = root.get("hooks") else { return Ok(()) };
    if !events.is_object() {
        return refuse(events.start, "\"hooks\" is no object".into(), "make it an object, or remove it");
    }
    let wanted = |event: &str| hooks.entries.iter().any(|entry| entry.event == event);
    if let Some(twice) = duplicate(events, wanted) {
        let what = format!("{} stands there twice; {reader} takes the last one", twice.raw_key);
        return refuse(twice.start, what, "merge the two, then run the command again");
    }
    match events.members().iter().find(|member| wanted(&member.key) && !member.value.is_array()) {
        Some(odd) => refuse(odd.value.start, format!("{} is no array", odd.raw_key), "put its value into [ ]"),
        None => Ok(()),
    }
}

/// The first member whose key stood before.
fn duplicate(object: &Node, counts: impl Fn(&str) -> bool) -> Option<&Member> {
    let mut seen = HashSet::new();
    object.members().iter().find(|member| counts(&member.key) && !seen.insert(member.key.as_str()))
}

/// Everything worth saying about the file as it is.
pub(super) fn notes(document: &Document, hooks: &Hooks) -> Vec<Note> {
    let mut odd = Vec::new();
    everywhere(&document.root, &mut odd);
    if is_disabled(&document.root, hooks)
        && let Some(member) = document.root.position("disableAllHooks").and_then(|index| document.root.members().get(index))
    {
        odd.push((member.start, format!("{} runs no hook at all until \"disableAllHooks\" goes", reader(hooks))));
    }
    for setting in hooks.settings.iter().filter(|setting| setting.over == Over::Keep) {
        match document.root.get(setting.key) {
            None if !document.root.is_empty() => {
                let what = format!("\"{}\" is missing, and is added by the installation", setting.key);
                odd.push((
                    document.root.start,
                    if hooks.shape == Shape::Flat {
                        format!("{what}: without it {} ignores every hook in this file", reader(hooks))
                    } else {
                        what
                    },
                ));
            }
            Some(value) if !is_value(value, &setting.value) => {
                odd.push((value.start, format!("\"{}\" is not {}, and is left as it is", setting.key, setting.value)));
            }
            _ => {}
        }
    }
    for event in document.root.get("hooks").map(Node::members).unwrap_or_default() {
        in_event(event, hooks, &mut odd);
    }
    odd.extend(find(&document.root, hooks).iter().filter_map(|found| own(document, found)));
    odd.sort_by_key(|(at, _)| *at);
    odd.into_iter().map(|(at, text)| Note { position: Some(document.position(at)), text }).collect()
}

/// Duplicate keys, wherever they are.
fn everywhere(node: &Node, odd: &mut Vec<(usize, String)>) {
    if let Some(twice) = duplicate(node, |_| true) {
        odd.push((twice.start, format!("{} stands there twice; the last one counts", twice.raw_key)));
    }
    for index in 0.. {
        let Some(child) = node.child(index) else { break };
        everywhere(child, odd);
    }
}

fn in_event(event: &Member, hooks: &Hooks, odd: &mut Vec<(usize, String)>) {
    let reader = reader(hooks);
    let (entry_result, event_result) = match hooks.shape {
        Shape::Grouped => (format!("{reader} drops it and warns at every start"), format!("{reader} warns at every start")),
        Shape::Flat => {
            let ignored = format!("{reader} ignores every hook in this file");
            (ignored.clone(), ignored)
        }
    };
    if !hooks.known_events.is_empty() && !hooks.known_events.contains(&event.key.as_str()) {
        odd.push((event.start, format!("there is no event {}: {event_result}", event.raw_key)));
    }
    if !event.value.is_array() {
        odd.push((event.value.start, format!("{} is no array: {entry_result}", event.raw_key)));
    }
    for entry in event.value.elements() {
        let is_nested = entry.get("hooks").is_some_and(Node::is_array);
        match hooks.shape {
            Shape::Grouped if !is_nested => {
                odd.push((entry.start, format!("this entry of {} has no inner \"hooks\": {entry_result}", event.raw_key)))
            }
            Shape::Flat if entry.get("hooks").is_some() => {
                odd.push((entry.start, format!("this entry of {} is nested as for Claude Code: {entry_result}", event.raw_key)));
            }
            Shape::Flat => in_flat_entry(entry, &entry_result, odd),
            Shape::Grouped => {}
        }
    }
}

/// Cursor's own conditions: one violation voids the whole file, without a word.
fn in_flat_entry(entry: &Node, result: &str, odd: &mut Vec<(usize, String)>) {
    if let Some(kind) = entry.get("type").filter(|kind| !matches!(kind.text(), Some("command" | "prompt"))) {
        odd.push((kind.start, format!("this type of hook is not known: {result}")));
    }
    if let Some(command) = entry.get("command").filter(|command| command.text().is_some_and(|text| text.contains("://"))) {
        odd.push((command.start, format!("there is a URL in this command: {result}")));
    }
}

/// What is said about entries that run us.
fn own(document: &Document, found: &Found) -> Option<(usize, String)> {
    let at = document.root.at(&found.path)?.start;
    let event = &found.event;
    match &found.standing {
        Standing::Edited(how) => Some((at, format!("our entry of {event} was changed ({how}): kept as it is; --force writes it anew"))),
        Standing::Wrapped => {
            Some((at, format!("this entry of {event} runs agent-notify through another command: kept; it may notify twice")))
        }
        Standing::Current | Standing::Stale | Standing::Misplaced => None,
    }
}
