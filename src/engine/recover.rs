//! After an interruption: undo what was not committed, finish what was. Also the way back when a transaction fails halfway.

use std::io;
use std::path::PathBuf;

use super::effect::{Registry, remove_folders, revive};
use super::journal::{ABORTED, COMMITTED, FINISHED, Journal, State, Step};
use super::store::{Store, hash};
use crate::error::Error;
use crate::files::{self, Change, New, Target, Trouble, is_torn};

/// What recovery did. Empty: nothing was interrupted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Recovered {
    /// Ids of transactions whose files are the old ones again.
    pub undone: Vec<String>,
    /// Ids of transactions whose effects have run now.
    pub finished: Vec<String>,
    /// Files that were left as they are, since they hold neither the old nor the new content: somebody wrote them since.
    /// Their old content stays among the backups.
    pub kept: Vec<PathBuf>,
    /// Effects that did not work.
    pub troubles: Vec<String>,
}

/// A transaction that is neither undone nor finished; without an id if it is not known whether there is one.
#[derive(Debug)]
pub(super) struct Unsettled {
    pub(super) id: String,
    pub(super) reason: Box<Error>,
}

/// Transactions that were interrupted; changes nothing. For commands that only read.
#[must_use]
pub fn pending(store: &Store) -> Vec<(Journal, State)> {
    store.journals().into_iter().filter(|(_, state)| !state.is_settled()).collect()
}

/// Settles every interrupted transaction, newest first. Only under the lock.
///
/// # Errors
/// The files could not be made whole; trying again may help.
pub(super) fn recover(store: &Store, registry: &Registry) -> Result<Recovered, Unsettled> {
    let mut done = Recovered::default();
    store.sweep();
    let journals = store.all_journals().map_err(|error| {
        let reason = Error::new("earlier transactions cannot be read").path(store.transactions()).because(error.to_string());
        Unsettled { id: String::new(), reason: Box::new(reason.hint("check the folder's owner and mode, and the disk")) }
    })?;
    for (journal, state) in journals.into_iter().filter(|(_, state)| !state.is_settled()).rev() {
        if state == State::Open {
            let kept = undo(store, &journal, journal.steps.len())
                .map_err(|error| Unsettled { id: journal.id.clone(), reason: Box::new(error) })?;
            done.kept.extend(kept);
            done.undone.push(journal.id);
        } else {
            done.troubles.extend(finish(store, &journal, registry));
            done.finished.push(journal.id);
        }
    }
    Ok(done)
}

/// Puts the first `reached` files back, newest first, and marks the transaction as aborted. Returns files that were left alone,
/// since somebody wrote them.
///
/// # Errors
/// A file could not be put back. Nothing is marked: the next recovery tries again.
pub(super) fn undo(store: &Store, journal: &Journal, reached: usize) -> Result<Vec<PathBuf>, Error> {
    let mut kept = Vec::new();
    for step in journal.steps[..reached.min(journal.steps.len())].iter().rev() {
        match undo_step(store, step) {
            Ok(true) => {}
            Ok(false) => kept.push(step.path.clone()),
            Err(trouble) => {
                let error = Error::new("not put back").path(&step.path).because(trouble.to_string());
                return Err(error.hint(trouble.hint()));
            }
        }
    }
    let folder = store.transaction(&journal.id);
    // Where only the mark's way to the disk failed, it may stand there.
    files::remove_if_there(&folder.join(COMMITTED))
        .and_then(|()| store.mark(&journal.id, ABORTED, ""))
        .map_err(|error| Error::new("the state folder cannot be written").path(folder).because(error.to_string()))?;
    Ok(kept)
}

/// `Ok(false)`: somebody else's content stands there, or the old one is lost.
fn undo_step(store: &Store, step: &Step) -> Result<bool, Trouble> {
    let failed = |error: io::Error| Trouble::Failed { step: "remove", error: error.to_string() };
    let read = |error: io::Error| Trouble::Failed { step: "read the backup", error: error.to_string() };
    files::remove_if_there(&step.temporary).or_else(not_a_folder).map_err(failed)?;
    let target = match files::look(&step.target) {
        Ok(target) if target.path == step.target => target,
        // A link, a folder or a pipe that somebody made there.
        Ok(_) | Err(Trouble::NotAFile(_) | Trouble::NotAFolder(_) | Trouble::LinkLoop) => return Ok(false),
        Err(trouble) => return Err(trouble),
    };
    let current = target.content();
    let found = current.map(hash);
    let whole = if found.as_ref() == step.before.as_ref().map(|before| &before.hash) {
        true
    } else {
        let before = match &step.before {
            None => None,
            Some(before) => match store.backup(&before.hash).map_err(read)? {
                Some(content) => Some(content),
                None => return Ok(false),
            },
        };
        if found != step.after && !is_torn_by(store, step, &target, before.as_deref()) {
            return Ok(false);
        }
        for folder in &target.missing {
            files::create_folder(folder, store.owners()).map_err(failed)?;
        }
        let new = step.before.as_ref().map_or(New::Mode(files::PRIVATE), |before| New::As(&before.attributes));
        let (path, temporary, after) = (&step.target, &step.temporary, before.as_deref());
        let change = Change { path, target: &step.target, temporary, before: current, after, new, owners: store.owners() };
        match files::change(&change) {
            Ok(()) => true,
            Err(Trouble::Changed) => false,
            Err(trouble) => return Err(trouble),
        }
    };
    // An empty folder that stays is no reason to call the files anything but whole.
    let _ = remove_folders(&step.folders);
    Ok(whole)
}

/// The folder of a temporary file may be missing, or a file now.
fn not_a_folder(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotADirectory { Ok(()) } else { Err(error) }
}

/// An overwriting in place that was interrupted. A file that is renamed to is never half of each.
fn is_torn_by(store: &Store, step: &Step, target: &Target, before: Option<&[u8]>) -> bool {
    let after = step.after.as_deref().and_then(|hash| store.backup(hash).ok()?);
    let (Some(file), Some(before), Some(after)) = (&target.file, before, after) else { return false };
    file.in_place && is_torn(&file.content, before, &after)
}

/// After the commit: folders that are empty now, effects, the mark, and what is too old. Returns what did not work. Most effects
/// are tried once: a second time would not be better, and every later command would repeat the complaint.
pub(super) fn finish(store: &Store, journal: &Journal, registry: &Registry) -> Vec<String> {
    let mut troubles = Vec::new();
    for (step, error) in journal.steps.iter().filter_map(|step| Some((step, remove_folders(&step.emptied).err()?))) {
        troubles.push(format!("a folder is left: {}: {error}", step.path.display()));
        if error.kind() != io::ErrorKind::PermissionDenied {
            // The disk may do better the next time.
            return troubles;
        }
    }
    for intended in &journal.effects {
        let Some(effect) = revive(intended, store, registry) else {
            troubles.push(format!("{}: this version does not know how", intended.name));
            continue;
        };
        if effect.verify() {
            continue;
        }
        let trouble = match effect.apply() {
            Err(error) => error.to_string(),
            Ok(()) if !effect.is_reversed() && !effect.verify() => format!("it did not work: {}", effect.describe()),
            Ok(()) => continue,
        };
        troubles.push(trouble);
        if effect.is_retried() {
            return troubles;
        }
    }
    if let Err(error) = store.note(&journal.id, FINISHED, &troubles.join("\n")) {
        troubles.push(format!("the state folder cannot be written: {error}"));
    }
    store.prune();
    troubles
}
