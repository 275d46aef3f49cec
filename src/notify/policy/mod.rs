//! Whether and when to notify: pure functions of the event, the configuration and what was attempted before.

mod admit;
mod duplicates;

pub use admit::admit;
pub use duplicates::{Duplicates, close_answered};
