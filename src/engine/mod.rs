//! The installer's engine: what should stand in files (`claim`) becomes edits that can be taken back. Knows no agent.
//!
//! `formats`, `edit`, `diff` and `own` are pure: bytes in, bytes out.

mod diff;
mod edit;
mod formats;
mod own;

pub use diff::{DiffKind, DiffLine, diff};
pub use edit::Edit;
pub use formats::{EntryState, Inspection, Memory, Note, Options, Refusal, Rung, Spliced, Taken, inspect, put, take, without_ours};
pub use own::{Runs, runs};
