//! Getting our entries and settings out of a hooks file again: the ladder.

use super::document::{Document, Kind, Member, Node, decode, internal, parse};
use super::gap;
use super::hooks::{find, is_value};
use crate::claim::{Hooks, Over};
use crate::engine::formats::{Memory, Refusal, Rung, Taken};

pub(in crate::engine::formats) fn take(hooks: &Hooks, current: &[u8], memory: &Memory) -> Result<Taken, Refusal> {
    if memory.written.as_deref() == Some(current) {
        if memory.absent {
            return Ok(Taken { content: None, rung: Rung::Exact });
        }
        if let Some(base) = &memory.base {
            return exact(hooks, current, base);
        }
    }
    let (_, text) = decode(current)?;
    let before = Document::read(current, true)?;
    let document = structural(hooks, &before, memory)?;
    let is_empty =
        document.root.is_object() && document.root.is_empty() && gap::scan(&document.text, 0, document.text.len()).comments.is_empty();
    let blank_base = memory.base.as_deref().filter(|base| decode(base).is_ok_and(|(_, text)| text.trim().is_empty()));
    let is_changed = document.text != before.text;
    // Without a file before, an empty object is what is left of ours, even if the person took the entries out.
    let was_ours = is_changed || memory.written.is_some();
    if is_empty && memory.absent && was_ours && !text.trim().is_empty() {
        return Ok(Taken { content: None, rung: Rung::Structural });
    }
    if !is_changed {
        return Ok(Taken { content: Some(current.to_vec()), rung: Rung::Untouched });
    }
    if is_empty && let Some(base) = blank_base {
        return Ok(Taken { content: Some(base.to_vec()), rung: Rung::Structural });
    }
    if let Some(reversed) = reversed(current, memory, &document.root) {
        return Ok(Taken { content: Some(reversed), rung: Rung::Reversed });
    }
    Ok(Taken { content: Some(document.bytes()), rung: Rung::Structural })
}

/// The original. What it holds of ours, from before this installation, would be a dead hook: it does not come back.
fn exact(hooks: &Hooks, current: &[u8], base: &[u8]) -> Result<Taken, Refusal> {
    let content = match Document::read(base, true) {
        Ok(document) if find(&document.root, hooks).iter().any(super::hooks::Found::is_own) => {
            structural(hooks, &document, &Memory::default())?.bytes()
        }
        _ => base.to_vec(),
    };
    let rung = if content == current { Rung::Untouched } else { Rung::Exact };
    Ok(Taken { content: Some(content), rung })
}

/// Our edit turned back in a file that changed elsewhere; only if that means exactly what taking out one by one means.
fn reversed(current: &[u8], memory: &Memory, expected: &Node) -> Option<Vec<u8>> {
    let reversed = memory.edit.as_ref()?.reverse_in(str::from_utf8(current).ok()?)?;
    let (_, text) = decode(reversed.as_bytes()).ok()?;
    let means_the_same = match parse(text, true).ok()? {
        Some(root) => root.same(expected),
        None => expected.is_object() && expected.is_empty(),
    };
    // A comment in what is turned back is the person's, and one before it must not swallow what follows.
    let is_whole = gap::comments(text) == gap::comments(decode(current).ok()?.1);
    (means_the_same && is_whole).then(|| reversed.into_bytes())
}

/// Entry by entry, setting by setting, then the containers that were made for them.
fn structural(hooks: &Hooks, before: &Document, memory: &Memory) -> Result<Document, Refusal> {
    let mut document = before.clone();
    let pruning = Pruning::of(memory);
    while let Some(found) = find(&document.root, hooks).into_iter().rfind(super::hooks::Found::is_own) {
        pruning.remove_entry(&mut document, &found.path)?;
    }
    pruning.prune_created(&mut document)?;
    let base = memory.base.as_deref().filter(|_| !memory.absent).and_then(|base| Document::read(base, true).ok());
    let ran_without = base.as_ref().is_some_and(|base| has_foreign_hooks(&base.root));
    for (key, raw) in memory.replaced.iter().rev() {
        // What the original has too is not ours to take back.
        let found = base.as_ref().and_then(|base| base.root.get(key)).zip(document.root.get(key));
        if found.is_some_and(|(original, found)| original.same(found)) {
            continue;
        }
        let is_kept_kind = hooks.settings.iter().any(|setting| setting.key == key && setting.over == Over::Keep);
        // A `version` that we added is what makes the person's own hooks run: it goes with the last of them. Hooks that were
        // there without it get their old file back.
        if !is_kept_kind || ran_without || !has_foreign_hooks(&document.root) {
            restore(&mut document, hooks, memory, key, raw.as_deref())?;
        }
    }
    let keys: Vec<&str> = memory.replaced.iter().map(|(key, _)| key.as_str()).collect();
    if !foreign(&before.root, hooks, &keys).same(&foreign(&document.root, hooks, &keys)) {
        return Err(internal("a value that is not ours would change"));
    }
    Ok(document)
}

/// To be asked when ours are out.
fn has_foreign_hooks(root: &Node) -> bool {
    root.get("hooks").is_some_and(|events| events.members().iter().any(|event| !event.value.is_empty()))
}

/// Puts the value back that stood in a setting's place, if ours still stands there.
pub(super) fn restore(document: &mut Document, hooks: &Hooks, memory: &Memory, key: &str, raw: Option<&str>) -> Result<(), Refusal> {
    let Some(index) = document.root.position(key) else { return Ok(()) };
    let Some(found) = document.root.child(index) else { return Ok(()) };
    let is_ours = match hooks.settings.iter().find(|setting| setting.key == key) {
        Some(setting) => is_value(found, &setting.value),
        // No longer claimed: what was written is in the receipt.
        None => memory
            .written
            .as_deref()
            .and_then(|written| Document::read(written, true).ok())
            .is_some_and(|written| written.root.get(key).is_some_and(|value| value.same(found))),
    };
    match raw {
        _ if !is_ours => Ok(()),
        Some(raw) => document.replace(&[index], raw),
        None => document.remove(&[index]),
    }
}

/// Which containers go when they become empty.
pub(super) enum Pruning {
    /// Groups that held nothing else; events stay.
    GroupsOnly,
    /// Nothing is remembered: whatever held only ours.
    Everything,
    /// What was made for our entries, or is not in the original.
    Made { created: Vec<Vec<String>>, base: Option<Node> },
}

impl Pruning {
    pub fn groups_only() -> Self {
        Self::GroupsOnly
    }

    pub fn of(memory: &Memory) -> Self {
        if memory.base.is_none() && memory.created.is_empty() && !memory.absent {
            return Self::Everything;
        }
        let base = match &memory.base {
            _ if memory.absent => Some(Document::fresh().root),
            Some(base) => Document::read(base, true).ok().map(|base| base.root),
            None => None,
        };
        Self::Made { created: memory.created.clone(), base }
    }

    fn goes(&self, path: &[&str]) -> bool {
        match self {
            Self::GroupsOnly => false,
            Self::Everything => true,
            Self::Made { created, base } => {
                let was_there = base.as_ref().is_some_and(|base| path.iter().try_fold(base, |node, key| node.get(key)).is_some());
                created.iter().any(|made| made.iter().map(String::as_str).eq(path.iter().copied())) || (base.is_some() && !was_there)
            }
        }
    }

    /// Takes an own entry out, with what it leaves empty.
    pub fn remove_entry(&self, document: &mut Document, path: &[usize]) -> Result<(), Refusal> {
        let Some((&[hooks_at, event_at], inner)) = path.split_first_chunk::<2>() else { return Err(internal("no entry")) };
        let names: Option<Vec<String>> = document
            .root
            .members()
            .get(hooks_at)
            .and_then(|hooks| Some(vec![hooks.key.clone(), hooks.value.members().get(event_at)?.key.clone()]));
        let Some(names) = names else { return Err(internal("no event")) };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        document.remove(if is_only_ours(document, path, inner) { &path[..3] } else { path })?;
        for depth in [2, 1] {
            let container = &path[..depth];
            if document.root.at(container).is_some_and(Node::is_empty) && self.goes(&names[..depth]) {
                document.remove(container)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Containers that we made and that stand empty, although the person took the entries out.
    fn prune_created(&self, document: &mut Document) -> Result<(), Refusal> {
        let Self::Made { created, .. } = self else { return Ok(()) };
        let mut paths: Vec<&Vec<String>> = created.iter().collect();
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        for names in paths {
            let mut path = Vec::new();
            let mut node = Some(&document.root);
            for name in names {
                let index = node.and_then(|node| node.position(name));
                node = node.zip(index).and_then(|(node, index)| node.child(index));
                path.extend(index);
            }
            if path.len() == names.len() && node.is_some_and(Node::is_empty) {
                document.remove(&path)?;
            }
        }
        Ok(())
    }
}

/// A group that holds the entry and at most a matcher beside it.
fn is_only_ours(document: &Document, path: &[usize], inner: &[usize]) -> bool {
    let &[_, list_at, _] = inner else { return false };
    let Some(group) = document.root.at(&path[..3]) else { return false };
    let is_plain = group.members().iter().all(|member| matches!(member.key.as_str(), "hooks" | "matcher"));
    is_plain
        && group.child(list_at).is_some_and(|list| list.elements().len() == 1)
        && group.members().iter().filter(|member| member.key == "hooks").count() == 1
}

/// The values without everything of ours: own entries, settings, and containers that are empty. What is the same before
/// and after a change that touched nothing foreign.
pub(super) fn foreign(root: &Node, hooks: &Hooks, settings: &[&str]) -> Node {
    let mut root = root.clone();
    for found in find(&root, hooks).iter().rev().filter(|found| found.is_own()) {
        let Some((last, parent)) = found.path.split_last() else { continue };
        if let Some(Kind::Array(elements)) = root.at_mut(parent).map(|node| &mut node.kind) {
            elements.remove(*last);
        }
    }
    if let Kind::Object(members) = &mut root.kind {
        for member in members.iter_mut().filter(|member| member.key == "hooks") {
            let Kind::Object(events) = &mut member.value.kind else { continue };
            for event in events.iter_mut() {
                if let Kind::Array(groups) = &mut event.value.kind {
                    groups.retain(|group| !is_empty_group(group));
                }
            }
            events.retain(|event| !event.value.is_empty());
        }
        let is_ours = |member: &Member| settings.contains(&member.key.as_str()) || (member.key == "hooks" && member.value.is_empty());
        members.retain(|member| !is_ours(member));
    }
    root
}

fn is_empty_group(group: &Node) -> bool {
    let is_plain = group.members().iter().all(|member| matches!(member.key.as_str(), "hooks" | "matcher"));
    is_plain && group.get("hooks").is_some_and(|list| list.is_array() && list.is_empty())
}
