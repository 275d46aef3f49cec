//! All changes of a plan, or none. Order: lock → recover → plan under the lock → journal durable → each file compared, written
//! beside, synced, renamed, folder synced → commit mark → effects. What has no commit mark is undone, what has one is finished,
//! by this process or by the next one that takes the lock.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::effect::{Registry, intended, remove_folders};
use super::journal::{Before, COMMITTED, Journal, RECEIPTS, Step, new_id};
use super::plan::{Conflict, FileChange, Plan};
use super::recover::{Recovered, finish, recover, undo};
use super::store::{Store, hash};
use crate::error::Error;
use crate::files::{self, Busy, Change, Lock, New, Trouble};

/// How long a writing command waits for another one.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Of the journal's form.
const VERSION: u32 = 1;

/// How a transaction ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every file has its new content. `troubles`: effects that did not work, in words.
    Committed { id: String, troubles: Vec<String> },
    /// Every file has its old content; `kept` were written by somebody else meanwhile and left alone.
    RolledBack { reason: Error, kept: Vec<PathBuf> },
    /// Neither: recovery is to be tried again. The folder holds the journal.
    Incomplete { folder: PathBuf, reason: Error },
    /// The plan has conflicts; nothing was written.
    Conflicts(Vec<Conflict>),
    /// There was nothing to do.
    Nothing,
}

/// Why nothing could begin.
#[derive(Debug)]
pub enum Stopped {
    /// Nothing was done.
    Failed(Box<Error>),
    /// An earlier transaction is neither finished nor undone.
    Incomplete { folder: PathBuf, reason: Box<Error> },
}

/// Proof that this process is alone, and that nothing is interrupted.
pub struct Locked<'store> {
    store: &'store Store,
    registry: &'store Registry,
    recovered: Recovered,
    _lock: Lock,
}

/// Takes the lock, recovers, and lets the caller plan and run.
///
/// # Errors
/// Another process works for longer than [`PATIENCE`], the state folder cannot be written, or recovery fails.
pub fn with_lock<T>(store: &Store, registry: &Registry, work: impl FnOnce(&Locked<'_>) -> T) -> Result<T, Stopped> {
    with_lock_for(PATIENCE, store, registry, work)
}

/// As [`with_lock`], with another patience.
///
/// # Errors
/// As [`with_lock`].
pub fn with_lock_for<T>(patience: Duration, store: &Store, registry: &Registry, work: impl FnOnce(&Locked<'_>) -> T) -> Result<T, Stopped> {
    let failed = |error: io::Error| {
        let error = Error::new("the state folder cannot be written").path(store.folder()).because(error.to_string());
        Stopped::Failed(Box::new(error.hint("check its owner and mode, and the disk; nothing was changed")))
    };
    store.prepare().map_err(failed)?;
    let lock = Lock::acquire_by_name(&store.folder().join("lock"), patience).map_err(|busy| match busy {
        Busy::Held { by } => {
            let by = by.map_or_else(|| "another process".to_owned(), |number| format!("process {number}"));
            let error = Error::new("another installation is at work").because(format!("{by} holds the lock"));
            Stopped::Failed(Box::new(error.path(store.folder().join("lock")).hint("wait for it to end, then run it again")))
        }
        Busy::Failed(error) => failed(error),
    })?;
    let recovered = recover(store, registry).map_err(|unsettled| {
        if unsettled.id.is_empty() {
            return Stopped::Failed(unsettled.reason);
        }
        Stopped::Incomplete { folder: store.transaction(&unsettled.id), reason: unsettled.reason }
    })?;
    let worked = work(&Locked { store, registry, recovered, _lock: lock });
    store.give_to_owner();
    Ok(worked)
}

impl Locked<'_> {
    #[must_use]
    pub const fn store(&self) -> &Store {
        self.store
    }

    /// What was interrupted before.
    #[must_use]
    pub const fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// Carries a plan out that was made under this lock.
    #[must_use]
    pub fn run(&self, plan: Plan) -> Outcome {
        Transaction { locked: self, plan }.run()
    }
}

/// A plan on its way.
pub struct Transaction<'locked> {
    locked: &'locked Locked<'locked>,
    plan: Plan,
}

impl<'locked> Transaction<'locked> {
    #[must_use]
    pub const fn new(locked: &'locked Locked<'locked>, plan: Plan) -> Self {
        Self { locked, plan }
    }

    /// All or nothing. Dropping a transaction does nothing: a panic in here is a crash, and recovered from like one.
    #[must_use]
    pub fn run(mut self) -> Outcome {
        if !self.plan.conflicts.is_empty() {
            return Outcome::Conflicts(self.plan.conflicts);
        }
        let store = self.locked.store;
        let prepared = self.prepare();
        let (journal, changes) = match prepared {
            Ok(Some(prepared)) => prepared,
            Ok(None) => return Outcome::Nothing,
            Err(reason) => return Outcome::RolledBack { reason, kept: Vec::new() },
        };
        if let Err(error) = self.write_intent(&journal, &changes) {
            let reason = Error::new("the state folder cannot be written").path(store.folder()).because(error.to_string());
            // The journal may stand there although its way to the disk failed.
            return back(store, &journal, 0, reason);
        }
        for (reached, (step, change)) in journal.steps.iter().zip(&changes).enumerate() {
            if let Err(trouble) = apply(store, step, change) {
                let reason = Error::new("not written").path(&step.path).because(trouble.to_string()).hint(trouble.hint());
                // What is not ours to undo was not touched.
                let touched = if trouble == Trouble::Changed { reached } else { reached + 1 };
                if trouble == Trouble::Changed {
                    let _ = files::remove_if_there(&step.temporary);
                    let _ = remove_folders(&step.folders);
                }
                return back(store, &journal, touched, reason);
            }
        }
        if let Err(error) = store.mark(&journal.id, COMMITTED, "") {
            let reason = Error::new("the state folder cannot be written").path(store.folder()).because(error.to_string());
            return back(store, &journal, journal.steps.len(), reason);
        }
        let troubles = finish(store, &journal, self.locked.registry);
        Outcome::Committed { id: journal.id, troubles }
    }

    /// Looks at every file once more and lays down the steps. `None`: nothing to do.
    fn prepare(&mut self) -> Result<Option<(Journal, Vec<FileChange>)>, Error> {
        let store = self.locked.store;
        let unreadable = |error: io::Error| Error::new("earlier transactions cannot be read").because(error.to_string());
        let before = store.receipts().map_err(unreadable)?;
        let mut receipts = self.plan.receipts.take().unwrap_or_else(|| before.clone());
        let own = |error: serde_json::Error| Error::new("the receipts cannot be written").because(error.to_string());
        let mut changes = std::mem::take(&mut self.plan.changes);
        for change in &changes {
            match &change.receipt {
                Some(receipt) => receipts.set(receipt.clone()),
                None if self.plan.undid.is_none() => receipts.forget(&change.owner, &change.path),
                // A rollback brings the receipts of its time with it.
                None => {}
            }
        }
        changes.retain(|change| change.before != change.after);
        // As it is on the disk, in case it is damaged.
        let there = store.receipts_bytes().map_err(unreadable)?;
        let wanted = receipts.text().map_err(own)?;
        if wanted != there && wanted != before.text().map_err(own)? {
            changes.push(FileChange::plain(RECEIPTS, &store.receipts_path(), there, wanted, files::PRIVATE));
        }
        if changes.is_empty() && self.plan.effects.is_empty() {
            return Ok(None);
        }
        let newest = store.all_journals().map_err(unreadable)?.last().map(|(journal, _)| journal.time);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(0));
        let (id, time) = new_id(now, newest);
        let steps = changes.iter().map(|change| step(store, &id, change)).collect::<Result<_, _>>()?;
        let effects = self.plan.effects.iter().map(|effect| intended(effect.as_ref())).collect();
        let tool = env!("CARGO_PKG_VERSION").to_owned();
        let journal = Journal { version: VERSION, id, kind: self.plan.kind, time, tool, undid: self.plan.undid.take(), steps, effects };
        Ok(Some((journal, changes)))
    }

    /// Backups first, then the journal that refers to them.
    fn write_intent(&self, journal: &Journal, changes: &[FileChange]) -> io::Result<()> {
        let store = self.locked.store;
        let contents = changes.iter().flat_map(|change| [&change.before, &change.after]).flatten().chain(&self.plan.kept);
        for content in contents {
            store.keep(content)?;
        }
        store.sync_backups()?;
        journal.write(store)
    }
}

/// One file of the journal, as it stands now.
fn step(store: &Store, id: &str, change: &FileChange) -> Result<Step, Error> {
    let refused = |trouble: Trouble| Error::new("not written").path(&change.path).because(trouble.to_string()).hint(trouble.hint());
    let target = files::look(&change.path).map_err(refused)?;
    if target.content() != change.before.as_deref() {
        return Err(refused(Trouble::Changed));
    }
    target.check_writable(store.owners()).map_err(refused)?;
    Ok(Step {
        owner: change.owner.clone(),
        path: change.path.clone(),
        temporary: files::temporary(&target.path, id),
        before: target.file.map(|file| Before { hash: hash(&file.content), attributes: file.attributes }),
        after: change.after.as_deref().map(hash),
        folders: if change.after.is_some() { target.missing } else { Vec::new() },
        emptied: change.emptied.clone(),
        target: target.path,
    })
}

fn apply(store: &Store, step: &Step, change: &FileChange) -> Result<(), Trouble> {
    for folder in &step.folders {
        files::create_folder(folder, store.owners())
            .map_err(|error| Trouble::Failed { step: "make a folder", error: error.to_string() })?;
    }
    files::change(&Change {
        path: &step.path,
        target: &step.target,
        temporary: &step.temporary,
        before: change.before.as_deref(),
        after: change.after.as_deref(),
        new: change.attributes.as_ref().map_or(New::Mode(change.mode), New::As),
        owners: store.owners(),
    })
}

/// The way back.
fn back(store: &Store, journal: &Journal, reached: usize, reason: Error) -> Outcome {
    let folder = store.transaction(&journal.id);
    if !folder.exists() {
        // It did not come to an intent.
        store.sweep();
        return Outcome::RolledBack { reason, kept: Vec::new() };
    }
    match undo(store, journal, reached) {
        Ok(kept) => Outcome::RolledBack { reason, kept },
        Err(error) => Outcome::Incomplete { folder, reason: reason.hint(error.to_string()) },
    }
}
