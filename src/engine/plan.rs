//! What would be done, as a value: made by reading only, shown by `--dry-run`, carried out by a transaction.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::effect::{DeleteLater, Effect};
use super::journal::{Kind, RECEIPTS};
use super::receipt::{Receipt, Receipts};
use super::store::{Store, hash};
use super::{Edit, Memory, Note, Options, Refusal, inspect, put, take};
use crate::claim::{Claim, Content, Shape};
use crate::files::{self, Attributes, Target, Trouble};

/// What Cursor reads as "no hooks at all".
const EMPTIED: &[u8] = b"{\n  \"version\": 1,\n  \"hooks\": {}\n}\n";

/// Everything that one command wants to do.
#[derive(Debug)]
pub struct Plan {
    pub kind: Kind,
    pub changes: Vec<FileChange>,
    /// Run after the commit, in this order.
    pub effects: Vec<Box<dyn Effect>>,
    pub notes: Vec<(PathBuf, Note)>,
    /// Of all files; a plan with one of them is not carried out.
    pub conflicts: Vec<Conflict>,
    pub unchanged: Vec<Unchanged>,
    /// The receipts as they shall be, where they do not follow from the changes.
    pub(super) receipts: Option<Receipts>,
    pub(super) undid: Option<String>,
    /// Bytes that receipts refer to beside those of the changes.
    pub(super) kept: Vec<Vec<u8>>,
}

/// One file from one content to another. Equal contents change the receipt only.
#[derive(Clone, Debug)]
pub struct FileChange {
    pub owner: String,
    /// As the person knows it.
    pub path: PathBuf,
    pub before: Option<Vec<u8>>,
    /// `None` = removed.
    pub after: Option<Vec<u8>>,
    /// Of a file that is made.
    pub mode: u32,
    /// `None` = forgotten.
    pub receipt: Option<Receipt>,
    /// What a removed file had, for its return; goes before `mode`.
    pub attributes: Option<Attributes>,
    /// Folders to be removed after the commit if they are empty, outermost first.
    pub emptied: Vec<PathBuf>,
}

/// A file that cannot be changed as wanted.
#[derive(Clone, Debug)]
pub struct Conflict {
    pub owner: String,
    pub path: PathBuf,
    pub refusal: Refusal,
}

/// A file that is right already.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unchanged {
    pub owner: String,
    pub path: PathBuf,
}

impl Plan {
    #[must_use]
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            changes: Vec::new(),
            effects: Vec::new(),
            notes: Vec::new(),
            conflicts: Vec::new(),
            unchanged: Vec::new(),
            receipts: None,
            undid: None,
            kept: Vec::new(),
        }
    }

    /// Nothing to be written. Conflicts do not count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.effects.is_empty() && self.receipts.is_none()
    }

    fn refuse(&mut self, claim: &Claim, refusal: Refusal) {
        self.conflicts.push(Conflict { owner: claim.owner.to_owned(), path: claim.path.clone(), refusal });
    }
}

impl FileChange {
    /// A change without a receipt: a file of a person that stays as it is now when everything else is uninstalled.
    #[must_use]
    pub fn plain(owner: &str, path: &Path, before: Option<Vec<u8>>, after: Option<Vec<u8>>, mode: u32) -> Self {
        let (owner, path) = (owner.to_owned(), path.to_owned());
        Self { owner, path, before, after, mode, receipt: None, attributes: None, emptied: Vec::new() }
    }
}

/// What it takes to fulfil all claims.
#[must_use]
pub fn install(claims: &[Claim], store: &Store, options: &Options) -> Plan {
    let mut plan = Plan::new(Kind::Install);
    let Some(receipts) = receipts(store, &mut plan) else { return plan };
    let mut seen = Vec::new();
    for claim in claims {
        match look(claim, &mut seen) {
            Ok(target) => install_one(claim, &target, receipts.get(claim.owner, &claim.path), store, options, &mut plan),
            Err(refusal) => plan.refuse(claim, refusal),
        }
    }
    plan
}

fn install_one(claim: &Claim, target: &Target, receipt: Option<&Receipt>, store: &Store, options: &Options, plan: &mut Plan) {
    let current = target.content();
    let memory = match receipt.map(|receipt| receipt.memory(store)).transpose() {
        Ok(memory) => memory.unwrap_or_default(),
        Err(error) => return plan.refuse(claim, unreadable(&error)),
    };
    let spliced = match put(&claim.content, current, &memory, options) {
        Ok(spliced) => spliced,
        Err(refusal) => {
            // The original was refused as well and edited by force (comments, say): with everything in place there is nothing
            // to refuse. What the person added since is another matter.
            let complete = current.is_some_and(|current| inspect(&claim.content, current).is_ok_and(|found| found.is_complete()));
            let was_forced =
                memory.base.as_deref().is_some_and(|base| put(&claim.content, Some(base), &Memory::default(), options).is_err());
            if !complete || !was_forced {
                return plan.refuse(claim, refusal);
            }
            plan.notes.push((claim.path.clone(), Note { position: refusal.position, text: refusal.what }));
            return plan.unchanged.push(Unchanged { owner: claim.owner.to_owned(), path: claim.path.clone() });
        }
    };
    plan.notes.extend(spliced.notes.into_iter().map(|note| (claim.path.clone(), note)));
    if current == Some(spliced.content.as_slice()) {
        return plan.unchanged.push(Unchanged { owner: claim.owner.to_owned(), path: claim.path.clone() });
    }
    if let Err(trouble) = target.check_writable(store.owners()) {
        return plan.refuse(claim, refusal(&trouble, claim));
    }
    let base = match base(claim, current, receipt, &memory) {
        Ok(base) => base,
        Err(refusal) => return plan.refuse(claim, refusal),
    };
    let (mode, edit) = match &claim.content {
        // Its edit would be the file once more.
        Content::Whole(whole) => (whole.mode, None),
        Content::Hooks(_) => (files::PRIVATE, edit(base.as_deref().unwrap_or_default(), &spliced.content)),
    };
    let mut folders = receipt.map(|receipt| receipt.folders.clone()).unwrap_or_default();
    folders.extend(target.missing.iter().filter(|folder| !folders.contains(folder)).cloned().collect::<Vec<_>>());
    let new = Receipt {
        owner: claim.owner.to_owned(),
        path: claim.path.clone(),
        base: base.as_deref().map(hash),
        written: hash(&spliced.content),
        edit,
        created: spliced.created,
        replaced: spliced.replaced,
        folders,
    };
    plan.changes.push(FileChange {
        receipt: Some(new),
        ..FileChange::plain(claim.owner, &claim.path, current.map(<[u8]>::to_vec), Some(spliced.content), mode)
    });
    if let Some(base) = base {
        plan.kept.push(base);
    }
}

/// The file without us: what uninstalling leads back to.
fn base(claim: &Claim, current: Option<&[u8]>, receipt: Option<&Receipt>, memory: &Memory) -> Result<Option<Vec<u8>>, Refusal> {
    match (current, receipt) {
        // The first time, or the person removed the file: what is there now is theirs.
        (None, _) => Ok(None),
        // Only ours was changed since: an upgrade.
        (Some(current), Some(receipt)) if hash(current) == receipt.written && (receipt.base.is_none() || memory.base.is_some()) => {
            Ok(memory.base.clone())
        }
        // Theirs is all but our entries: the person or the agent wrote it since, or the receipt of an earlier time is lost.
        (Some(current), _) => Ok(take(&claim.content, current, memory)?.content),
    }
}

/// `None` where one of the two is no text.
pub(super) fn edit(old: &[u8], new: &[u8]) -> Option<Edit> {
    Some(Edit::between(std::str::from_utf8(old).ok()?, std::str::from_utf8(new).ok()?))
}

/// What it takes to leave no trace of the claims. `pause` is how long an agent gets to see a file of its own emptied before that
/// file goes: [`super::effect::WATCH_PAUSE`].
#[must_use]
pub fn uninstall(claims: &[Claim], store: &Store, pause: Duration) -> Plan {
    let mut plan = Plan::new(Kind::Uninstall);
    let Some(receipts) = receipts(store, &mut plan) else { return plan };
    let mut seen = Vec::new();
    for claim in claims {
        match look(claim, &mut seen) {
            Ok(target) => uninstall_one(claim, &target, receipts.get(claim.owner, &claim.path), store, pause, &mut plan),
            Err(refusal) => plan.refuse(claim, refusal),
        }
    }
    plan
}

fn uninstall_one(claim: &Claim, target: &Target, receipt: Option<&Receipt>, store: &Store, pause: Duration, plan: &mut Plan) {
    let current = target.content();
    let memory = match receipt.map(|receipt| receipt.memory(store)).transpose() {
        Ok(memory) => memory.unwrap_or_default(),
        Err(error) => return plan.refuse(claim, unreadable(&error)),
    };
    let mut after = match current.map(|current| take(&claim.content, current, &memory)).transpose() {
        Ok(taken) => taken.and_then(|taken| taken.content),
        Err(refusal) => return plan.refuse(claim, refusal),
    };
    let folders = receipt.map(|receipt| receipt.folders.clone()).unwrap_or_default();
    let mut emptied = Vec::new();
    if current == after.as_deref() {
        plan.unchanged.push(Unchanged { owner: claim.owner.to_owned(), path: claim.path.clone() });
        if receipt.is_none() {
            return;
        }
    } else if let Err(trouble) = target.check_writable(store.owners()) {
        return plan.refuse(claim, refusal(&trouble, claim));
    } else if after.is_none() {
        if matches!(&claim.content, Content::Hooks(hooks) if hooks.shape == Shape::Flat) {
            plan.effects.push(Box::new(DeleteLater::new(&claim.path, EMPTIED, &folders, pause, store)));
            after = Some(EMPTIED.to_vec());
        } else {
            emptied = folders;
        }
    }
    plan.changes
        .push(FileChange { emptied, ..FileChange::plain(claim.owner, &claim.path, current.map(<[u8]>::to_vec), after, files::PRIVATE) });
}

/// `None`: a conflict, since guessing what is installed would lose what uninstalling needs.
fn receipts(store: &Store, plan: &mut Plan) -> Option<Receipts> {
    let failed = |error: io::Error| {
        plan.conflicts.push(Conflict { owner: RECEIPTS.to_owned(), path: store.receipts_path(), refusal: unreadable(&error) })
    };
    store.receipts().map_err(failed).ok()
}

fn unreadable(error: &io::Error) -> Refusal {
    plain_refusal(&format!("what was installed before cannot be read: {error}"), "check the state folder's owner and mode, and the disk")
}

/// Reads a claim's file; two claims on one file would each plan without the other.
fn look(claim: &Claim, seen: &mut Vec<PathBuf>) -> Result<Target, Refusal> {
    let target = files::look(&claim.path).map_err(|trouble| refusal(&trouble, claim))?;
    if seen.contains(&target.path) {
        return Err(plain_refusal(
            "another entry of this installation leads to the same file",
            "let the two paths lead to different files",
        ));
    }
    seen.push(target.path.clone());
    Ok(target)
}

/// A file that cannot be read or written, with what to put there by hand.
fn refusal(trouble: &Trouble, claim: &Claim) -> Refusal {
    let snippet = match &claim.content {
        Content::Whole(_) => None,
        content => put(content, None, &Memory::default(), &Options::default()).ok(),
    };
    let snippet = snippet.and_then(|spliced| String::from_utf8(spliced.content).ok()).unwrap_or_default();
    Refusal { snippet, ..plain_refusal(&trouble.to_string(), trouble.hint()) }
}

pub(super) fn plain_refusal(what: &str, hint: &str) -> Refusal {
    Refusal { what: what.to_owned(), hint: Some(hint.to_owned()), ..Refusal::default() }
}
