//! The intent, written down before the first file changes: enough to undo every step, or to know that there is nothing to undo.
//! `txn/ID/journal.json`; how far it got is told by the marks beside it. No content in it: that lies in the backups, 0600.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::store::Store;
use crate::files::{self, Attributes};

/// The owner under which the receipts' own file stands in a journal.
pub(super) const RECEIPTS: &str = "receipts";
/// Every file has its new content: from here on the transaction is finished, not undone.
pub(super) const COMMITTED: &str = "committed";
/// The effects have run too.
pub(super) const FINISHED: &str = "finished";
/// Every file has its old content.
pub(super) const ABORTED: &str = "aborted";

/// Which command made a transaction.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Install,
    Uninstall,
    Rollback,
    Config,
    SelfUpdate,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Install => "install",
            Self::Uninstall => "uninstall",
            Self::Rollback => "rollback",
            Self::Config => "config",
            Self::SelfUpdate => "self-update",
        })
    }
}

/// How far a transaction got.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Interrupted: to be undone.
    Open,
    /// Interrupted after the last file: its effects are to be finished.
    Committed,
    Finished,
    Aborted,
}

impl State {
    /// # Errors
    /// Whether a mark is there cannot be told: neither may be assumed.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        for (mark, state) in [(ABORTED, Self::Aborted), (FINISHED, Self::Finished), (COMMITTED, Self::Committed)] {
            if folder.join(mark).try_exists()? {
                return Ok(state);
            }
        }
        Ok(Self::Open)
    }

    /// Nothing left to do.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Finished | Self::Aborted)
    }

    /// Its changes are in force.
    #[must_use]
    pub const fn is_committed(self) -> bool {
        matches!(self, Self::Finished | Self::Committed)
    }
}

/// One transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Journal {
    /// Of this format.
    pub version: u32,
    /// Sorts by time: `20261130-090000-123`, in UTC.
    pub id: String,
    pub kind: Kind,
    /// Milliseconds since the epoch.
    pub time: u64,
    /// The version of the program.
    pub tool: String,
    /// The oldest transaction that this one undid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undid: Option<String>,
    pub steps: Vec<Step>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Intended>,
}

/// One file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    pub owner: String,
    /// As the person knows it.
    pub path: PathBuf,
    /// Without links.
    pub target: PathBuf,
    pub temporary: PathBuf,
    pub before: Option<Before>,
    /// Hash; `None` = removed.
    pub after: Option<String>,
    /// Folders that were missing, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
    /// Folders to be removed after the commit if they are empty, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emptied: Vec<PathBuf>,
}

/// What stood there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Before {
    pub hash: String,
    pub attributes: Attributes,
}

/// An effect by its name, so that another process can finish it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Intended {
    pub name: String,
    pub data: Value,
    /// To be undone rather than applied.
    #[serde(default)]
    pub reversed: bool,
}

impl Journal {
    /// `None` where it is damaged.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Makes the intent durable: a folder under another name first, so that there is never half a journal.
    pub(super) fn write(&self, store: &Store) -> io::Result<()> {
        let folder = store.transaction(&self.id);
        let unfinished = folder.with_file_name(format!("{}.tmp", self.id));
        files::create_private_folder(&unfinished)?;
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        files::write_new(&unfinished.join("journal.json"), &text)?;
        files::sync_folder(&unfinished)?;
        files::rename(&unfinished, &folder)
    }

    /// The files of people, without our own receipts.
    pub fn files(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.owner != RECEIPTS)
    }

    pub(super) fn receipts(&self) -> Option<&Step> {
        self.steps.iter().find(|step| step.owner == RECEIPTS)
    }
}

/// An id for a transaction that begins now, later than all others even where the clock went back; with its time.
pub(super) fn new_id(now: u64, newest: Option<u64>) -> (String, u64) {
    let time = newest.map_or(now, |newest| now.max(newest + 1));
    (id(time), time)
}

/// UTC, to the millisecond.
fn id(time: u64) -> String {
    let (seconds, milliseconds) = (time / 1000, time % 1000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days to a date of the Gregorian calendar: eras of 400 years that begin on 1 March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{milliseconds:03}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_time_in_utc() {
        assert_eq!(id(0), "19700101-000000-000");
        assert_eq!(id(951_782_400_000 + 86_399_999), "20000229-235959-999");
        assert_eq!(id(1_796_029_200_007), "20261130-090000-007");
    }

    #[test]
    fn an_id_is_newer_than_the_newest_one() {
        assert_eq!(new_id(5, Some(7)), ("19700101-000000-008".to_owned(), 8));
        assert_eq!(new_id(9, Some(7)).1, 9);
    }
}
