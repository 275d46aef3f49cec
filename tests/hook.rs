//! The hook without tmux, as a real process: what it answers, what reaches the terminal, and that nothing it is fed makes it
//! fail an agent's turn. A build with the feature `test-panic` shows that not even a panic does.

mod support;

#[path = "hook/acceptance.rs"]
mod acceptance;
#[path = "hook/bad_input.rs"]
mod bad_input;
#[path = "hook/hostile.rs"]
mod hostile;
#[path = "hook/invocation.rs"]
mod invocation;
#[path = "hook/payloads.rs"]
mod payloads;
#[path = "hook/sequences.rs"]
mod sequences;
#[path = "hook/table.rs"]
mod table;
