//! agent-notify: from an agent's hook to a notification on the desk, and the installer that puts the hooks in place.
//!
//! Modules have ranks; one imports strictly lower ranks only (`tests/ranks.rs` checks it):
//! 0 `claim`, `event`, `environment`, `error`, `files`, `process`, `protocol` · 1 `config`, `state` · 2 `engine`, `terminal`, `release` ·
//! 3 `agents` · 4 `notify` · 6 `cli`.

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

pub mod agents;
pub mod claim;
mod cli;
pub mod config;
pub mod engine;
pub mod environment;
pub mod error;
pub mod event;
pub mod files;
pub mod notify;
pub mod process;
pub mod protocol;
pub mod release;
pub mod state;
pub mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

/// `agent-notify hook …`: whatever happens, the agent gets its reply and status 0.
#[must_use]
pub fn hook(arguments: Vec<OsString>) -> ExitCode {
    if cli::wants_hook_help(&arguments) {
        return cli::run(vec!["hook".into(), "--help".into()]);
    }
    notify::hook(&arguments);
    ExitCode::SUCCESS
}

/// Every other command. `arguments` without the program's name.
#[must_use]
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    cli::run(arguments)
}
