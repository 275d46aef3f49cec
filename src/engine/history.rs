//! The transactions so far, as a person sees them.

use std::path::PathBuf;

use serde::Serialize;

use super::journal::{Kind, State};
use super::store::Store;

/// One transaction.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    pub id: String,
    /// Milliseconds since the epoch.
    pub time: u64,
    pub kind: Kind,
    pub state: State,
    pub files: Vec<Touched>,
    /// The oldest transaction that this one undid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undid: Option<String>,
}

/// One file of it.
#[derive(Clone, Debug, Serialize)]
pub struct Touched {
    pub owner: String,
    pub path: PathBuf,
    pub deed: Deed,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    Created,
    Changed,
    Removed,
}

/// Newest first. Changes nothing.
#[must_use]
pub fn history(store: &Store) -> Vec<Entry> {
    let entries = store.journals().into_iter().rev().map(|(journal, state)| {
        let files = journal.files().map(|step| Touched {
            owner: step.owner.clone(),
            path: step.path.clone(),
            deed: match (&step.before, &step.after) {
                (None, _) => Deed::Created,
                (_, None) => Deed::Removed,
                _ => Deed::Changed,
            },
        });
        let files = files.collect();
        Entry { id: journal.id, time: journal.time, kind: journal.kind, state, files, undid: journal.undid }
    });
    entries.collect()
}
