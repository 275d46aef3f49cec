//! The state folder of the installer: `$XDG_STATE_HOME/agent-notify/install/`, folders 0700, files 0600. Holds
//! `lock`, `receipts.json`, `originals.json`, `backups/SHA256`, `txn/ID/{journal.json, committed, finished, aborted}`.
//! Knows where things are, not when they are written.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::journal::{Journal, State};
use super::receipt::Receipts;
use crate::environment::Env;
use crate::files::{self, Owners};

/// Folders that may be made: `~/.local/state/agent-notify/install/txn`, but no HOME.
const MOST_MISSING: usize = 5;
/// Transactions that are kept.
const KEPT: usize = 10;

/// Where the installer remembers; costs nothing until something is asked for.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    owners: Owners,
}

/// For every file the hash of its very first content, `None` where there was no file.
type Originals = BTreeMap<PathBuf, Option<String>>;

impl Store {
    /// `None` without HOME and XDG_STATE_HOME.
    #[must_use]
    pub fn of(env: &Env) -> Option<Self> {
        Some(Self::new(env.state_folder()?.join("install"), env.home().as_deref()))
    }

    /// `folder` is the `install` folder itself; `home` decides whose files root may write.
    #[must_use]
    pub fn new(folder: PathBuf, home: Option<&Path>) -> Self {
        Self { folder, owners: Owners::of(home) }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    #[must_use]
    pub const fn owners(&self) -> Owners {
        self.owners
    }

    pub(super) fn transactions(&self) -> PathBuf {
        self.folder.join("txn")
    }

    pub(super) fn transaction(&self, id: &str) -> PathBuf {
        self.transactions().join(id)
    }

    pub(super) fn receipts_path(&self) -> PathBuf {
        self.folder.join("receipts.json")
    }

    fn backups(&self) -> PathBuf {
        self.folder.join("backups")
    }

    /// Makes the folders.
    pub(super) fn prepare(&self) -> io::Result<()> {
        for wanted in [self.transactions(), self.backups()] {
            let missing: Vec<_> = wanted.ancestors().take_while(|folder| !folder.exists()).collect();
            if missing.len() > MOST_MISSING {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the home folder does not exist"));
            }
            for folder in missing.iter().rev() {
                // Durable, as an intent is only if the way to it is; and its HOME's owner's, should root do this for somebody.
                files::create_folder(folder, self.owners)?;
            }
        }
        Ok(())
    }

    /// Where root has worked in another one's home: what is remembered there is theirs. Errors leave it to the next time.
    pub(super) fn give_to_owner(&self) {
        let Some((uid, gid)) = self.owners.of_new_file(self.folder.parent().unwrap_or(&self.folder)) else { return };
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let _ = std::os::unix::fs::lchown(&path, Some(uid), Some(gid));
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                }
            }
        }
    }

    /// What was installed so far; nothing where the file is missing or damaged: uninstalling then goes by what the files hold.
    ///
    /// # Errors
    /// It is there, but cannot be read.
    pub fn receipts(&self) -> io::Result<Receipts> {
        Ok(self.receipts_bytes()?.map(|bytes| Receipts::read(&bytes)).unwrap_or_default())
    }

    pub(super) fn receipts_bytes(&self) -> io::Result<Option<Vec<u8>>> {
        read_if_there(&self.receipts_path())
    }

    /// Keeps bytes under their hash, durable once [`Store::sync_backups`] has returned. Returns the hash.
    pub(super) fn keep(&self, content: &[u8]) -> io::Result<String> {
        let hash = hash(content);
        if !matches!(self.backup(&hash), Ok(Some(_))) {
            let path = self.backups().join(&hash);
            // Damaged, or half of it from a process that was killed: the name tells what belongs there.
            files::remove_if_there(&path)?;
            files::write_new(&path, content)?;
        }
        Ok(hash)
    }

    pub(super) fn sync_backups(&self) -> io::Result<()> {
        files::sync_folder(&self.backups())
    }

    /// Kept bytes; `None` if they are missing or damaged.
    ///
    /// # Errors
    /// They are there, but cannot be read.
    pub fn backup(&self, wanted: &str) -> io::Result<Option<Vec<u8>>> {
        // A name out of a damaged journal must not lead anywhere else.
        if wanted.len() != 64 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        Ok(read_if_there(&self.backups().join(wanted))?.filter(|content| hash(content) == wanted))
    }

    /// Every transaction with a readable journal, oldest first. For commands that only look.
    #[must_use]
    pub fn journals(&self) -> Vec<(Journal, State)> {
        self.names().unwrap_or_default().iter().filter_map(|name| self.journal(name).ok()?).collect()
    }

    /// Every transaction whose journal is not damaged, oldest first.
    ///
    /// # Errors
    /// One of them cannot be read: what is not known must not be taken for not there.
    pub(super) fn all_journals(&self) -> io::Result<Vec<(Journal, State)>> {
        self.names()?.iter().filter_map(|name| self.journal(name).transpose()).collect()
    }

    /// `None`: damaged, or nothing but an empty folder.
    fn journal(&self, name: &str) -> io::Result<Option<(Journal, State)>> {
        let folder = self.transaction(name);
        let Some(bytes) = read_if_there(&folder.join("journal.json"))? else { return Ok(None) };
        let Some(journal) = Journal::read(&bytes).filter(|journal| journal.id == name) else { return Ok(None) };
        Ok(Some((journal, State::of(&folder)?)))
    }

    /// Of transactions whose intent is complete.
    fn names(&self) -> io::Result<Vec<String>> {
        let entries = match std::fs::read_dir(self.transactions()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.file_name())).collect();
        let mut names: Vec<_> = names?.into_iter().filter_map(|name| name.into_string().ok()).collect();
        names.retain(|name| !is_unfinished_name(name));
        names.sort();
        Ok(names)
    }

    /// Leaves a mark in a transaction's folder; durable when it returns.
    pub(super) fn mark(&self, id: &str, mark: &str, text: &str) -> io::Result<()> {
        files::replace(&self.transaction(id).join(mark), text.as_bytes(), files::PRIVATE)
    }

    /// Leaves a mark that may be lost with the power: what it says can be found out again.
    pub(super) fn note(&self, id: &str, mark: &str, text: &str) -> io::Result<()> {
        files::note(&self.transaction(id).join(mark), text.as_bytes())
    }

    /// Removes what killed processes left among our own files: half-written journals, temporary files. Only under the lock.
    pub(super) fn sweep(&self) {
        for name in names(&self.transactions()).filter(|name| is_unfinished_name(name)) {
            let _ = std::fs::remove_dir_all(self.transactions().join(name));
        }
        let transactions: Vec<_> = names(&self.transactions()).map(|name| self.transactions().join(name)).collect();
        for folder in transactions.iter().chain([&self.folder, &self.backups()]) {
            for name in names(folder).filter(|name| name.starts_with('.') && name.contains(".an-")) {
                let _ = files::remove_if_there(&folder.join(name));
            }
        }
    }

    /// Forgets all but the newest transactions, and backups that nothing refers to. The first content of every file stays.
    /// Nothing depends on it: errors leave more than needed.
    pub(super) fn prune(&self) {
        let _ = self.try_prune();
    }

    fn try_prune(&self) -> io::Result<()> {
        let journals = self.all_journals()?;
        let originals = self.note_originals(&journals)?;
        let old = journals.len().saturating_sub(KEPT);
        for (journal, _) in journals[..old].iter().filter(|(_, state)| state.is_settled()) {
            // Under a name that `sweep` removes, so that half a removal is never taken for a transaction.
            let away = self.transactions().join(format!("{}.tmp", journal.id));
            files::rename(&self.transaction(&journal.id), &away)?;
            std::fs::remove_dir_all(&away)?;
        }
        let mut wanted: BTreeSet<String> = originals.into_values().flatten().collect();
        wanted.extend(self.receipts()?.files.into_iter().flat_map(|receipt| [receipt.base, Some(receipt.written)]).flatten());
        for (journal, _) in self.all_journals()? {
            wanted.extend(journal.steps.into_iter().flat_map(|step| [step.before.map(|before| before.hash), step.after]).flatten());
        }
        for name in names(&self.backups()).filter(|name| !wanted.contains(name)) {
            files::remove_if_there(&self.backups().join(name))?;
        }
        Ok(())
    }

    /// Writes down first contents that are not known yet; without that, nothing may be forgotten.
    fn note_originals(&self, journals: &[(Journal, State)]) -> io::Result<Originals> {
        let path = self.folder.join("originals.json");
        let bytes = read_if_there(&path)?.unwrap_or_default();
        let known: Originals = serde_json::from_slice(&bytes).unwrap_or_default();
        let mut all = known.clone();
        let steps = journals.iter().filter(|(_, state)| state.is_committed()).flat_map(|(journal, _)| journal.files());
        for step in steps {
            all.entry(step.path.clone()).or_insert_with(|| step.before.as_ref().map(|before| before.hash.clone()));
        }
        if all != known {
            files::replace(&path, &serde_json::to_vec_pretty(&all)?, files::PRIVATE)?;
        }
        Ok(all)
    }
}

fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        content => content.map(Some),
    }
}

/// A journal that is being written, or a transaction that is being removed.
fn is_unfinished_name(name: &str) -> bool {
    name.ends_with(".tmp")
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// SHA-256 in lower hexadecimal.
#[must_use]
pub fn hash(content: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(content) {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
