//! Undoing committed transactions, by the same ladder as uninstalling: exact bytes where nobody wrote since, else our edit turned
//! back in what stands there now, else a conflict. A rollback is a transaction like any other, and can be undone.

use std::io;
use std::path::PathBuf;

use super::effect::{Effect, Registry, revive};
use super::journal::{Intended, Journal, Kind, Step};
use super::plan::{Conflict, FileChange, Plan, Unchanged, edit, plain_refusal};
use super::receipt::{Receipt, Receipts};
use super::store::{Store, hash};
use super::{Memory, Options, put, take, without_ours};
use crate::claim::{Claim, Content};
use crate::error::Error;
use crate::files::{self, Attributes, Target, Trouble};

/// What it takes to undo the newest committed transaction, or all down to `id` and that one too. `claims` tell in which format a
/// file is where it was edited since; a file without a claim is then not judged by its format.
///
/// # Errors
/// There is no such transaction, or a backup is lost. No transaction at all and no `id`: an empty plan.
pub fn rollback_plan(store: &Store, claims: &[Claim], registry: &Registry, id: Option<&str>) -> Result<Plan, Error> {
    let mut plan = Plan::new(Kind::Rollback);
    let unreadable = |error: io::Error| Error::new("earlier transactions cannot be read").because(error.to_string());
    let journals = store.all_journals().map_err(unreadable)?;
    let journals: Vec<_> = journals.into_iter().filter(|(_, state)| state.is_committed()).map(|(journal, _)| journal).collect();
    let first = match id {
        None if journals.is_empty() => return Ok(plan),
        None => journals.len() - 1,
        Some(id) => journals
            .iter()
            .position(|journal| journal.id == id)
            .ok_or_else(|| Error::new(format!("no transaction {id}")).hint("`agent-notify history` lists those that can be undone"))?,
    };
    let undone = &journals[first..];
    let receipts = store.receipts().map_err(unreadable)?;
    let mut files: Vec<Undoing> = Vec::new();
    for journal in undone.iter().rev() {
        let effects: Vec<_> = journal.effects.iter().filter_map(|intended| revive(intended, store, registry)).collect();
        for step in journal.files() {
            let index = match files.iter().position(|file| file.step.target == step.target) {
                Some(index) => index,
                None => {
                    files.push(Undoing::new(step));
                    files.len() - 1
                }
            };
            let claim = claims.iter().find(|claim| claim.owner == step.owner && claim.path == step.path);
            let receipt = receipts.get(&step.owner, &step.path);
            files[index].undo(store, step, &effects, claim.map(|claim| &claim.content), receipt)?;
        }
        // Newest first, each the other way round.
        let back = journal.effects.iter().rev().map(|intended| Intended { reversed: !intended.reversed, ..intended.clone() });
        plan.effects.extend(back.filter_map(|intended| revive(&intended, store, registry)));
    }
    for file in files {
        file.into_plan(store, &mut plan);
    }
    // Of the oldest one that changed them: its time is what all goes back to.
    if let Some(step) = undone.iter().find_map(Journal::receipts) {
        let old = step.before.as_ref().map(|before| backup(store, &before.hash, step)).transpose()?;
        plan.receipts = Some(old.map(|bytes| Receipts::read(&bytes)).unwrap_or_default());
    }
    plan.undid = undone.first().map(|journal| journal.id.clone());
    Ok(plan)
}

fn backup(store: &Store, hash: &str, step: &Step) -> Result<Vec<u8>, Error> {
    let lost = |why: String| Error::new("cannot be undone").path(&step.path).because(why);
    let content = store.backup(hash).map_err(|error| lost(format!("the backup cannot be read: {error}")))?;
    content.ok_or_else(|| lost("the backup is missing or damaged".to_owned()))
}

/// One file on its way back through several transactions.
struct Undoing {
    /// The newest one that touched it.
    step: Step,
    /// As it stands.
    target: Result<Target, Trouble>,
    now: Option<Vec<u8>>,
    attributes: Option<Attributes>,
    emptied: Vec<PathBuf>,
    is_edited: bool,
}

impl Undoing {
    fn new(step: &Step) -> Self {
        let target = files::look(&step.path);
        let now = target.as_ref().ok().and_then(Target::content).map(<[u8]>::to_vec);
        Self { step: step.clone(), target, now, attributes: None, emptied: Vec::new(), is_edited: false }
    }

    /// One transaction back.
    fn undo(
        &mut self,
        store: &Store,
        step: &Step,
        effects: &[Box<dyn Effect>],
        content: Option<&Content>,
        receipt: Option<&Receipt>,
    ) -> Result<(), Error> {
        let before = step.before.as_ref().map(|before| backup(store, &before.hash, step)).transpose()?;
        let found = self.now.as_deref().map(hash);
        let removed_later = || found.is_none() && effects.iter().any(|effect| effect.removes() == Some(&step.path));
        if found == step.after || removed_later() {
            self.now = before;
        } else if self.now != before {
            let after = step.after.as_deref().and_then(|hash| store.backup(hash).ok()?);
            match ladder(self.now.as_deref(), before.as_deref(), after.as_deref(), content, receipt) {
                Some(content) => self.now = content,
                None => self.is_edited = true,
            }
        }
        if self.now.is_none() {
            self.emptied.extend(step.folders.iter().cloned());
        } else {
            self.emptied.clear();
        }
        self.attributes = step.before.as_ref().map(|before| before.attributes.clone());
        Ok(())
    }

    fn into_plan(self, store: &Store, plan: &mut Plan) {
        let (owner, path) = (self.step.owner, self.step.path);
        let before = self.target.as_ref().ok().and_then(Target::content).map(<[u8]>::to_vec);
        if self.target.is_ok() && !self.is_edited && self.now == before {
            return plan.unchanged.push(Unchanged { owner, path });
        }
        let refusal = match self.target.and_then(|target| target.check_writable(store.owners())) {
            Err(trouble) => plain_refusal(&trouble.to_string(), trouble.hint()),
            Ok(()) if self.is_edited => plain_refusal(
                "it was edited since in a way that cannot be kept",
                "undo your edit, or edit the file by hand: `agent-notify uninstall` takes only our entries out",
            ),
            Ok(()) => {
                let plain = FileChange::plain(&owner, &path, before, self.now, files::PRIVATE);
                return plan.changes.push(FileChange { attributes: self.attributes, emptied: self.emptied, ..plain });
            }
        };
        plan.conflicts.push(Conflict { owner, path, refusal });
    }
}

/// What the file is without the step, where somebody wrote it since; the outer `None` = not without loss.
fn ladder(
    now: Option<&[u8]>,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
    content: Option<&Content>,
    receipt: Option<&Receipt>,
) -> Option<Option<Vec<u8>>> {
    // Removed by the person, or removed by us and made anew by the person: there is nothing to turn back in.
    let (now, after) = (now?, after?);
    let edit = edit(before.unwrap_or_default(), after);
    let has_ours = |bytes: Option<&[u8]>| {
        let without = bytes.zip(content).map(|(bytes, content)| without_ours(content, bytes));
        without.is_some_and(|without| !without.is_ok_and(|without| without.as_deref() == bytes))
    };
    let memory = Memory {
        base: before.map(<[u8]>::to_vec),
        absent: before.is_none(),
        written: Some(after.to_vec()),
        edit: edit.clone(),
        created: receipt.map(|receipt| receipt.created.clone()).unwrap_or_default(),
        replaced: receipt.map(|receipt| receipt.replaced.clone()).unwrap_or_default(),
    };
    match (content, has_ours(before), has_ours(Some(after))) {
        // It put ours in: the ladder of uninstalling, which checks what it does.
        (Some(content), false, _) => {
            let taken = take(content, now, &memory).ok()?;
            (taken.content.as_deref() != Some(now)).then_some(taken.content)
        }
        // It took ours out: they go into what stands there now.
        (Some(content), true, false) => Some(Some(put(content, Some(now), &Memory::default(), &Options::default()).ok()?.content)),
        // It replaced ours by ours, or the file is nobody's format: our edit turned back, if it is still a file of its format.
        (content, ..) => {
            let reversed = edit?.reverse_in(std::str::from_utf8(now).ok()?)?.into_bytes();
            let is_whole = content.is_none_or(|content| without_ours(content, &reversed).is_ok());
            (before.is_some() && is_whole).then_some(Some(reversed))
        }
    }
}
