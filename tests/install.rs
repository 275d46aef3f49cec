//! The installer through the real program, in a HOME of its own: what is written, what is refused, and that everything goes
//! back. The splicing of every fixture by itself is `formats.rs`; the transaction by itself, the crate's own tests.

mod support;

#[path = "install/conflicts.rs"]
mod conflicts;
#[path = "install/disks.rs"]
mod disks;
#[path = "install/edits.rs"]
mod edits;
#[path = "install/fixtures.rs"]
mod fixtures;
#[path = "install/host.rs"]
mod host;
#[path = "install/looking.rs"]
mod looking;
#[path = "install/options.rs"]
mod options;
#[path = "install/places.rs"]
mod places;
#[path = "install/program.rs"]
mod program;
#[path = "install/project.rs"]
mod project;
#[path = "install/prompt.rs"]
mod prompt;
#[path = "install/race.rs"]
mod race;
#[path = "install/registered.rs"]
mod registered;
#[path = "install/rollback.rs"]
mod rollback;
#[path = "install/snapshots.rs"]
mod snapshots;
