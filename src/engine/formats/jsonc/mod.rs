//! Hook entries in JSON files, with or without comments: Claude Code's `settings.json`, Cursor's `hooks.json`.
//!
//! `document` reads, `gap` and `layout` see how the text is laid out, `splice` changes it; `hooks` and `notes` know what
//! the values mean; `put` and `take` are the two ways.

mod document;
mod gap;
mod hooks;
mod layout;
mod notes;
mod put;
mod splice;
mod take;

pub(super) use put::put;
pub(super) use take::take;

use super::{EntryState, Inspection, Refusal};
use crate::claim::{Hooks, Over};
use document::Document;
use hooks::{Found, Standing};

/// What of ours stands in the file.
pub(super) fn inspect(hooks: &Hooks, current: &[u8]) -> Result<Inspection, Refusal> {
    let document = Document::read(current, true)?;
    notes::check(&document, hooks)?;
    let found = hooks::find(&document.root, hooks);
    let of = |event: &str| found.iter().filter(|found| found.event == event && found.is_own()).collect::<Vec<_>>();
    let entries = hooks.entries.iter().map(|entry| (entry.event.to_owned(), state(&of(entry.event)))).collect();
    let mut surplus = Vec::new();
    let mut wrapped = Vec::new();
    for Found { event, standing, .. } in &found {
        let is_wanted = hooks.entries.iter().any(|entry| entry.event == event);
        if *standing == Standing::Wrapped {
            wrapped.push(event.clone());
        } else if (of(event).len() > 1 || !is_wanted || *standing == Standing::Misplaced) && !surplus.contains(event) {
            surplus.push(event.clone());
        }
    }
    let settings = hooks::settings(&document.root, hooks);
    let is_set = |key: &str, value: &serde_json::Value, over: Over| {
        document.root.get(key).is_some_and(|found| over == Over::Keep || hooks::is_value(found, value))
    };
    let settings = settings.iter().map(|setting| (setting.key.to_owned(), is_set(setting.key, &setting.value, setting.over))).collect();
    Ok(Inspection { entries, surplus, wrapped, settings, notes: notes::notes(&document, hooks) })
}

fn state(own: &[&Found]) -> EntryState {
    let has = |wanted: fn(&Standing) -> bool| own.iter().any(|found| wanted(&found.standing));
    if has(|standing| matches!(standing, Standing::Edited(_))) {
        EntryState::Edited
    } else if has(|standing| *standing == Standing::Current) {
        EntryState::Current
    } else if has(|standing| *standing == Standing::Stale) {
        EntryState::Stale
    } else {
        EntryState::Missing
    }
}
