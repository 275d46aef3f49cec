//! The installer through the real program, in a HOME of its own: what is written, what is refused, and that everything goes
//! back. The splicing of every fixture by itself is `formats.rs`; the transaction by itself, the crate's own tests.

mod support;

#[path = "install/conflicts.rs"]
mod conflicts;
#[path = "install/edits.rs"]
mod edits;
#[path = "install/fixtures.rs"]
mod fixtures;
#[path = "install/host.rs"]
mod host;
#[path = "install/places.rs"]
mod places;
