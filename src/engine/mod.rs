//! The installer's engine: what should stand in which file becomes a plan, a plan becomes a transaction over all files, and a
//! transaction can be recovered, listed and undone. Knows no agent; writes only through `files`. `formats`, `edit`, `diff` and
//! `own` are pure: bytes in, bytes out.
//!
//! The contract: after a crash at any instruction, and the next start of a writing command, every file is entirely old or entirely
//! new, across all files of the transaction; nothing is lost; no temporary file of ours remains. A rename makes one file
//! atomic; several files need the journal. Checked by `tests/stages/crash` with a fault at every system call.
//!
//! `formats`, `edit`, `diff` and `own` are pure: bytes in, bytes out.

#[cfg(test)]
mod crash_tests;
mod diff;
mod edit;
pub mod effect;
mod formats;
pub mod history;
pub mod journal;
mod own;
pub mod plan;
pub mod receipt;
pub mod recover;
mod rollback;
pub mod store;
pub mod transaction;

pub use diff::{DiffKind, DiffLine, diff};
pub use edit::Edit;
pub use effect::{Effect, Registry};
pub use formats::{EntryState, Inspection, Memory, Note, Options, Refusal, Rung, Spliced, Taken, inspect, put, take, without_ours};
pub use history::{Entry, history};
pub use journal::{Kind, State};
pub use own::{Runs, runs};
pub use plan::{Conflict, FileChange, Plan, Unchanged};
pub use receipt::{Receipt, Receipts};
pub use recover::{Recovered, pending};
pub use rollback::rollback_plan;
pub use store::Store;
pub use transaction::{Locked, Outcome, Stopped, with_lock};
