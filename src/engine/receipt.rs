//! What is needed to take back what was put into a file, long after the transaction that did it is forgotten.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::store::Store;
use super::{Edit, Memory};

/// One owner's part of one file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Receipt {
    pub owner: String,
    /// As the person knows it.
    pub path: PathBuf,
    /// Hash of the file without us, kept as a backup; `None` = there was no file.
    pub base: Option<String>,
    /// Hash of what was last written.
    pub written: String,
    /// From base to written; not for files that are ours as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// Containers in the document that are there only because of us.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<Vec<String>>,
    /// Settings of ours, with the raw text of the value that stood there before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<(String, Option<String>)>,
    /// Folders that were made for the file, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
}

/// All of them: `receipts.json`, a file of each transaction like the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Receipts {
    /// Of this format.
    version: u32,
    pub files: Vec<Receipt>,
}

impl Default for Receipts {
    fn default() -> Self {
        Self { version: 1, files: Vec::new() }
    }
}

impl Receipts {
    /// Nothing where the bytes are damaged.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// `None` = no file, since nothing is installed.
    pub(super) fn text(&self) -> serde_json::Result<Option<Vec<u8>>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(Some(text))
    }

    #[must_use]
    pub fn get(&self, owner: &str, path: &Path) -> Option<&Receipt> {
        self.files.iter().find(|receipt| receipt.is_of(owner, path))
    }

    pub(super) fn set(&mut self, receipt: Receipt) {
        match self.files.iter_mut().find(|other| other.is_of(&receipt.owner, &receipt.path)) {
            Some(other) => *other = receipt,
            None => self.files.push(receipt),
        }
    }

    pub(super) fn forget(&mut self, owner: &str, path: &Path) {
        self.files.retain(|receipt| !receipt.is_of(owner, path));
    }
}

impl Receipt {
    fn is_of(&self, owner: &str, path: &Path) -> bool {
        self.owner == owner && self.path == path
    }

    /// What a format needs to know of what was done before.
    ///
    /// # Errors
    /// A backup is there, but cannot be read.
    pub(super) fn memory(&self, store: &Store) -> io::Result<Memory> {
        Ok(Memory {
            base: self.base.as_deref().map(|hash| store.backup(hash)).transpose()?.flatten(),
            absent: self.base.is_none(),
            written: store.backup(&self.written)?,
            edit: self.edit.clone(),
            created: self.created.clone(),
            replaced: self.replaced.clone(),
        })
    }
}
