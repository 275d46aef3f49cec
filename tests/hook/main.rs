//! The hook without tmux, as a real process: what it answers, what reaches the terminal, and that nothing it is fed makes it
//! fail an agent's turn.

#[path = "../support/mod.rs"]
mod support;

mod acceptance;
mod bad_input;
mod hostile;
mod invocation;
mod payloads;
mod sequences;
mod table;
