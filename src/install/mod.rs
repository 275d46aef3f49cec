//! The installer: what should stand where, gathered from the agents and carried out by the engine. Never reaches `notify`.

pub mod gather;
pub mod project;
pub mod target;
