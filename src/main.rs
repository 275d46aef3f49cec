//! The program. `hook …` goes straight to the pipeline, never through the argument parser: its usage errors end with status 2,
//! which blocks a Claude Stop and loops a Codex one. Everything else goes to `cli`.

#![forbid(unsafe_code)]
#![deny(
    clippy::dbg_macro,
    clippy::exit,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

use std::ffi::OsString;
use std::process::ExitCode;

/// musl's own allocator is several times slower, and this program lives for a few hundred microseconds.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(first) if first == "hook" => agent_notify::hook(arguments.collect()),
        first => agent_notify::run(first.into_iter().chain(arguments).collect::<Vec<OsString>>()),
    }
}
