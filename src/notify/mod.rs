//! From one signal on stdin to the desk and the reply: pipeline, policy, message and the ways to the person. Never reaches
//! into `install`.

mod announce;
mod catalogue;
mod hook;
mod input;
pub mod message;
mod pipeline;
mod policy;
mod screen;

pub(crate) use announce::{Announcement, Report, announce};
pub use catalogue::Catalogue;
pub use hook::hook;
