//! Getting our entries and settings into a hooks file.

use serde_json::Value;

use super::document::{Document, Node, internal};
use super::hooks::{ANOTHER_MATCHER, Found, Standing, element, find, is_exactly, is_value, object, settings, snippet};
use super::notes::{check, notes};
use super::take::{self, Pruning};
use crate::claim::{Entry, Hooks, Over};
use crate::engine::formats::{Memory, Options, Refusal, Spliced};

pub(in crate::engine::formats) fn put(
    hooks: &Hooks,
    current: Option<&[u8]>,
    memory: &Memory,
    options: &Options,
) -> Result<Spliced, Refusal> {
    let attempt = || {
        let document = match current {
            None => Document::fresh(),
            Some(bytes) => Document::read(bytes, options.force)?,
        };
        check(&document, hooks)?;
        Work { hooks, memory, options, document, spliced: Spliced::default() }.run(current)
    };
    attempt().map_err(|refusal: Refusal| Refusal { snippet: snippet(hooks), ..refusal })
}

struct Work<'a> {
    hooks: &'a Hooks,
    memory: &'a Memory,
    options: &'a Options,
    document: Document,
    spliced: Spliced,
}

impl Work<'_> {
    fn run(mut self, current: Option<&[u8]>) -> Result<Spliced, Refusal> {
        let before = self.document.clone();
        self.spliced.notes = notes(&before, self.hooks);
        if self.options.force {
            self.spliced.notes.retain(|note| !note.text.ends_with("--force writes it anew"));
        }
        self.set_all()?;
        if self.document.root.get("hooks").is_none() && !self.hooks.entries.is_empty() {
            self.document.append(&[], Some("hooks"), &Value::Object(serde_json::Map::new()))?;
            self.spliced.created.push(vec!["hooks".into()]);
        }
        for entry in &self.hooks.entries {
            self.one(entry)?;
        }
        let pruning = Pruning::of(self.memory);
        while let Some(found) = find(&self.document.root, self.hooks).into_iter().find(|found| self.goes(found)) {
            pruning.remove_entry(&mut self.document, &found.path)?;
        }
        self.verify(&before)?;
        self.remember();
        // With nothing to do not even a blank file's blanks change.
        self.spliced.content = match current {
            Some(current) if self.document.root.same(&before.root) && self.document.text == before.text => current.to_vec(),
            _ => self.document.bytes(),
        };
        Ok(self.spliced)
    }

    /// An own entry of an event that is not wanted, unless the person made it theirs.
    fn goes(&self, found: &Found) -> bool {
        let is_wanted = self.hooks.entries.iter().any(|entry| entry.event == found.event);
        !is_wanted && found.is_own() && (self.options.force || !matches!(found.standing, Standing::Edited(_)))
    }

    fn set_all(&mut self) -> Result<(), Refusal> {
        let wanted = settings(&self.document.root, self.hooks);
        for (key, raw) in &self.memory.replaced {
            if !wanted.iter().any(|setting| setting.key == *key) {
                take::restore(&mut self.document, self.hooks, self.memory, key, raw.as_deref())?;
            }
        }
        for setting in wanted {
            let remembered = self.memory.replaced.iter().find(|(key, _)| key == setting.key);
            let found = self.document.root.position(setting.key).and_then(|index| Some((index, self.document.root.child(index)?)));
            let before = match found {
                None => {
                    self.document.append(&[], Some(setting.key), &setting.value)?;
                    None
                }
                Some((_, value)) if is_value(value, &setting.value) || setting.over == Over::Keep => {
                    self.spliced.replaced.extend(remembered.cloned());
                    continue;
                }
                Some((index, value)) => {
                    let raw = self.document.text[value.start..value.end].to_owned();
                    self.document.replace(&[index], &setting.value.to_string())?;
                    Some(raw)
                }
            };
            self.spliced.replaced.push((setting.key.to_owned(), before));
        }
        Ok(())
    }

    /// Exactly one own entry for a wanted event: the person's, else the first, at its place.
    fn one(&mut self, entry: &Entry) -> Result<(), Refusal> {
        loop {
            let own: Vec<Found> =
                find(&self.document.root, self.hooks).into_iter().filter(|found| found.event == entry.event && found.is_own()).collect();
            let theirs = own.iter().find(|found| matches!(found.standing, Standing::Edited(_)) && !self.options.force);
            let in_place = |found: &&Found| match found.standing {
                Standing::Current | Standing::Stale => true,
                Standing::Edited(how) => how != ANOTHER_MATCHER,
                Standing::Misplaced | Standing::Wrapped => false,
            };
            let keeper = theirs.or_else(|| own.iter().find(in_place)).cloned();
            let surplus = own.iter().rfind(|found| {
                let is_keeper = keeper.as_ref().is_some_and(|keeper| keeper.path == found.path);
                !is_keeper && (self.options.force || !matches!(found.standing, Standing::Edited(_)))
            });
            if let Some(surplus) = surplus {
                Pruning::groups_only().remove_entry(&mut self.document, &surplus.path)?;
                continue;
            }
            return match keeper {
                Some(keeper) if theirs_or_current(&keeper, self.options.force) => Ok(()),
                Some(keeper) => self.rewrite(&keeper.path, &object(entry, self.hooks.shape)),
                None => self.add(entry),
            };
        }
    }

    /// Changes only the members that differ.
    fn rewrite(&mut self, path: &[usize], wanted: &Value) -> Result<(), Refusal> {
        let is_wanted = |key: &str| wanted.get(key).is_some();
        loop {
            let Some(entry) = self.document.root.at(path) else { return Err(internal("the entry is gone")) };
            let extra = entry
                .members()
                .iter()
                .enumerate()
                .position(|(index, member)| !is_wanted(&member.key) || entry.position(&member.key) != Some(index));
            let Some(extra) = extra else { break };
            self.document.remove(&[path, &[extra]].concat())?;
        }
        for (key, value) in wanted.as_object().into_iter().flatten() {
            let Some(entry) = self.document.root.at(path) else { return Err(internal("the entry is gone")) };
            match entry.position(key) {
                None => self.document.append(path, Some(key), value)?,
                Some(index) if entry.child(index).is_some_and(|found| !is_value(found, value)) => {
                    self.document.replace(&[path, &[index]].concat(), &value.to_string())?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, entry: &Entry) -> Result<(), Refusal> {
        let element = element(entry, self.hooks.shape);
        let Some(hooks_at) = self.document.root.position("hooks") else { return Err(internal("no hooks")) };
        match self.document.root.child(hooks_at).and_then(|events| events.position(entry.event)) {
            Some(event_at) => self.document.append(&[hooks_at, event_at], None, &element),
            None => {
                self.spliced.created.push(vec!["hooks".into(), entry.event.into()]);
                self.document.append(&[hooks_at], Some(entry.event), &Value::Array(vec![element]))
            }
        }
    }

    /// What was made by an earlier installation and still stands is ours too.
    fn remember(&mut self) {
        let root = &self.document.root;
        for path in &self.memory.created {
            let stands = path.iter().try_fold(root, |node, key| node.get(key)).is_some();
            if stands && !self.spliced.created.contains(path) {
                self.spliced.created.push(path.clone());
            }
        }
        self.spliced.created.sort();
    }

    /// The outcome, whatever the steps were: one entry each, and nothing foreign changed.
    fn verify(&self, before: &Document) -> Result<(), Refusal> {
        let found = find(&self.document.root, self.hooks);
        let is_theirs = |found: &Found| matches!(found.standing, Standing::Edited(_));
        for entry in &self.hooks.entries {
            let own: Vec<&Found> = found.iter().filter(|found| found.event == entry.event && found.is_own()).collect();
            let is_right = |found: &Found| {
                let wanted = object(entry, self.hooks.shape);
                theirs_or_current(found, self.options.force)
                    && (is_theirs(found) || self.document.root.at(&found.path).is_some_and(|node| is_exactly(node, &wanted)))
            };
            let count_is_right = own.len() == 1 || (!own.is_empty() && own.iter().all(|found| is_theirs(found)));
            if !count_is_right || !own.iter().all(|found| is_right(found)) {
                return Err(internal("an event would not have exactly one entry"));
            }
        }
        let keys: Vec<&str> =
            self.hooks.settings.iter().map(|setting| setting.key).chain(self.memory.replaced.iter().map(|(key, _)| key.as_str())).collect();
        let is_same = |left: &Node, right: &Node| take::foreign(left, self.hooks, &keys).same(&take::foreign(right, self.hooks, &keys));
        if is_same(&before.root, &self.document.root) { Ok(()) } else { Err(internal("a value that is not ours would change")) }
    }
}

fn theirs_or_current(found: &Found, force: bool) -> bool {
    match found.standing {
        Standing::Current => true,
        Standing::Edited(_) => !force,
        Standing::Stale | Standing::Misplaced | Standing::Wrapped => false,
    }
}
