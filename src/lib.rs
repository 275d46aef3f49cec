//! agent-notify: from an agent's hook to a notification on the desk, and the installer that puts the hooks in place.
//!
//! Modules have ranks; one imports strictly lower ranks only (`tests/ranks.rs` checks it):
//! 0 `event`, `environment`, `process`, `files` · 1 `config`, `state` · 2 `terminal`, `release` · 3 `agents` · 4 `notify` · 6 `cli`.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::unwrap_used
    )
)]

pub mod environment;
pub mod event;
pub mod process;
pub mod protocol;
pub mod terminal;
