//! Asking a program for its version by starting it: within a time limit, without the person's environment, and with a home of
//! its own, since some agents write there even when they are only asked for their version.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};

use super::{Product, Request, read_version};
use crate::environment::{Env, name};
use crate::files;
use crate::process::{self, Answer};
use crate::state::Version;

/// Hundreds of times what it takes.
const PATIENCE: Duration = Duration::from_secs(5);

/// More is not read, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// Homes for programs that are asked, in the state folder: `probe-PID`.
const PREFIX: &str = "probe-";

/// Starts `PROGRAM --version` and remembers the answer. What could not be started, or did not answer in time, is not
/// remembered: it may next time.
pub(super) fn version(product: &Product, program: &Path, request: &Request) -> Option<Version> {
    let home = Home::make(request.cache.folder()?).ok()?;
    let answer = ask(product, program, &home, request.env, Instant::now() + PATIENCE)?;
    let version = read_answer_line(&answer, product.signature);
    // Without it, it is asked again.
    let _ = request.cache.put(product.agent, program, version);
    version
}

/// What the program says; `None` if that is not all there in time.
fn ask(product: &Product, program: &Path, home: &Home, env: &Env, until: Instant) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command.arg("--version").env_clear().current_dir(&home.0);
    command.envs(env.os(name::PATH).map(|path| (name::PATH, path)));
    command.env(name::HOME, &home.0).envs(product.folders.iter().map(|folder| (folder, &home.0)));
    match process::ask(&mut command, until, MAX_ANSWER).ok()?.0 {
        Answer::Complete(bytes) => Some(bytes),
        // A helper that it left behind may hold its stdout.
        Answer::Partial(bytes) => bytes.contains(&b'\n').then_some(bytes),
    }
}

/// `2.1.332 (Claude Code)`: another program of the same name does not say that.
fn read_answer_line(answer: &[u8], signature: &str) -> Option<Version> {
    let text = String::from_utf8_lossy(answer);
    text.lines().find_map(|line| read_version(line.trim().strip_suffix(signature)?.trim_end()))
}

/// An empty home below the state folder, removed with everything in it when dropped.
struct Home(PathBuf);

impl Home {
    fn make(state: &Path) -> io::Result<Self> {
        files::create_private_folder(state)?;
        remove_abandoned(state);
        let folder = state.join(format!("{PREFIX}{}", std::process::id()));
        // One that exists is not ours: a process of this id runs, or a link is in the way.
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What stays is removed by the next one.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Homes of processes that were killed while they asked.
fn remove_abandoned(state: &Path) {
    let entries = std::fs::read_dir(state).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|pid| Pid::from_raw(pid.parse().ok()?));
        let gone = |pid| pid == rustix::process::getpid() || test_kill_process(pid) == Err(rustix::io::Errno::SRCH);
        if pid.is_some_and(gone) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
