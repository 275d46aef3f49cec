//! Other processes, read from `/proc`: ancestors, controlling terminals, working folders. Where there is no `/proc` (macOS)
//! everything here answers "unknown". Also programs on PATH, and what a child says within a deadline. Knows nothing of agents.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::environment::{Env, read_from_proc};

/// How many ancestors are looked at; deeper chains do not occur.
const MAX_ANCESTORS: usize = 64;

/// One process, as `/proc/PID/stat` describes it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// Device number of the controlling terminal; 0 = none.
    terminal: u32,
    /// Clock ticks between the start of the system and that of the process.
    pub started: u64,
}

impl Process {
    /// Reads `/proc/PID/stat`; `None` if there is no such process or no `/proc`.
    #[must_use]
    pub fn read(pid: u32) -> Option<Self> {
        let stat = read_from_proc(&format!("/proc/{pid}/stat"))?;
        Self::parse(pid, &String::from_utf8_lossy(&stat))
    }

    /// `pid (name) state ppid pgrp session tty_nr …`: the name may hold anything, also `)`.
    fn parse(pid: u32, stat: &str) -> Option<Self> {
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let terminal: i32 = fields.nth(2)?.parse().ok()?;
        let started = fields.nth(14)?.parse().ok()?;
        Some(Self { pid, parent, terminal: terminal.cast_unsigned(), started })
    }

    /// Path of the controlling terminal: `/dev/pts/N` (majors 136–143) or `/dev/ttyN` (major 4, minors 1–63).
    #[must_use]
    pub fn terminal(&self) -> Option<PathBuf> {
        let major = (self.terminal >> 8) & 0xfff;
        let minor = (self.terminal & 0xff) | ((self.terminal >> 12) & 0xf_ff00);
        match major {
            136..=143 => Some(PathBuf::from(format!("/dev/pts/{}", minor + ((major - 136) << 8)))),
            4 if (1..64).contains(&minor) => Some(PathBuf::from(format!("/dev/tty{minor}"))),
            _ => None,
        }
    }

    #[must_use]
    pub fn has_terminal(&self) -> bool {
        self.terminal != 0
    }

    /// The program's arguments, the program itself first; empty for kernel threads and zombies.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let bytes = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    /// The program's file; ends in " (deleted)" when it was replaced since.
    #[must_use]
    pub fn program(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/exe", self.pid)).ok()
    }

    #[must_use]
    pub fn working_folder(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/cwd", self.pid)).ok()
    }

    #[must_use]
    pub fn environment(&self) -> Option<Env> {
        Env::of(self.pid)
    }

    /// Effective user id of the process.
    #[must_use]
    pub fn user(&self) -> Option<u32> {
        use std::os::unix::fs::MetadataExt;
        Some(std::fs::metadata(format!("/proc/{}", self.pid)).ok()?.uid())
    }
}

/// All processes that can be seen: one `stat` each.
pub fn all() -> impl Iterator<Item = Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?))
}

/// The parent of this process, its parent, and so on, up to but without pid 1.
pub fn ancestors() -> impl Iterator<Item = Process> {
    lineage(std::os::unix::process::parent_id())
}

/// A process, its parent, and so on, up to but without pid 1.
pub fn lineage(pid: u32) -> impl Iterator<Item = Process> {
    let mut next = pid;
    std::iter::from_fn(move || {
        let process = if next > 1 { Process::read(next) } else { None }?;
        next = process.parent;
        Some(process)
    })
    .take(MAX_ANCESTORS)
}

/// The last component of a program's path, without the mark of a replaced file.
#[must_use]
pub fn program_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned()
}

/// What could be executed as `name`, in the order of PATH (folders among it). Empty and relative entries are left out: they
/// would start what lies in a project folder.
pub fn on_path(path: &OsStr, name: &str) -> impl Iterator<Item = PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(move |folder| folder.join(name)).filter(|program| rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok())
}

/// What a child said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer {
    /// All of it: its stdout is closed.
    Complete(Vec<u8>),
    /// What came in time, or before the limit.
    Partial(Vec<u8>),
}

/// Reads a child's stdout to its end, as far as it comes until then and below `limit` bytes. No thread.
pub fn read_answer(child: &mut Child, until: Instant, limit: usize) -> Answer {
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    let Some(mut stdout) = child.stdout.take() else { return Answer::Complete(answer) };
    while answer.len() < limit {
        let left = until.checked_duration_since(Instant::now()).and_then(|left| left.try_into().ok());
        let Some(left) = left else { break };
        match poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        match stdout.read(&mut buffer) {
            Ok(0) => return Answer::Complete(answer),
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    Answer::Partial(answer)
}

/// Waits for the end of a process that has closed its stdout: usually a matter of microseconds, for which a sleep would be
/// several times too long. `false` if it does not come in time.
pub fn wait_until(child: &mut Child, until: Instant) -> bool {
    const BRIEFLY: Duration = Duration::from_micros(300);
    let patience = Instant::now() + BRIEFLY;
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) if Instant::now() < patience => std::thread::yield_now(),
            Ok(None) if Instant::now() < until => std::thread::sleep(BRIEFLY),
            _ => return false,
        }
    }
}

/// Runs a program in a process group of its own, without stdin and stderr. What has not ended by then is killed, with all that it
/// has started: programs are often scripts around others. `None` for the status then.
///
/// # Errors
/// It cannot be started.
pub fn ask(command: &mut Command, until: Instant, limit: usize) -> io::Result<(Answer, Option<ExitStatus>)> {
    let mut child = command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let answer = read_answer(&mut child, until, limit);
    if matches!(answer, Answer::Complete(_)) && wait_until(&mut child, until) {
        return Ok((answer, child.wait().ok()));
    }
    // Errors mean that it has just ended by itself.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
    Ok((answer, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_heard_to_its_end_or_to_the_deadline() {
        let say = |script: &str, patience: u64| {
            let mut child = Command::new("/bin/sh").args(["-c", script]).stdout(Stdio::piped()).spawn().expect("a shell");
            let until = Instant::now() + Duration::from_millis(patience);
            let answer = read_answer(&mut child, until, 1 << 16);
            let ended = wait_until(&mut child, until);
            let _ = child.kill();
            let _ = child.wait();
            (answer, ended)
        };
        assert_eq!(say("echo a; echo b", 10_000), (Answer::Complete(b"a\nb\n".to_vec()), true));
        assert_eq!(say("echo a; exec sleep 60", 300), (Answer::Partial(b"a\n".to_vec()), false));
    }

    #[test]
    fn a_relative_entry_of_path_is_never_searched() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("tmux");
        std::fs::write(&program, "#!/bin/sh\n").expect("a file");
        let path = |text: String| on_path(OsStr::new(&text), "tmux").next();
        assert_eq!(path(format!("::.:{}", folder.path().display())), None);
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
        assert_eq!(path(format!("::.:bin:{}", folder.path().display())), Some(program));
        assert_eq!(path(":.".to_owned()), None);
    }

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let process = Process::parse(7, "7 (a) b) S 42 7 7 34819 7 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9876 0").expect("a process");
        assert_eq!((process.parent, process.terminal(), process.started), (42, Some(PathBuf::from("/dev/pts/3")), 9876));
    }

    #[test]
    fn device_numbers_become_paths() {
        let terminal = |terminal| Process { pid: 1, parent: 0, terminal, started: 0 }.terminal();
        assert_eq!(terminal(0), None);
        assert_eq!(terminal((136 << 8) | 5), Some(PathBuf::from("/dev/pts/5")));
        assert_eq!(terminal((137 << 8) | 1), Some(PathBuf::from("/dev/pts/257")));
        assert_eq!(terminal((136 << 8) | 0x10_0000 | 1), Some(PathBuf::from("/dev/pts/257")));
        assert_eq!(terminal((4 << 8) | 2), Some(PathBuf::from("/dev/tty2")));
        assert_eq!(terminal((4 << 8) | 64), None);
    }

    #[test]
    fn a_replaced_program_keeps_its_name() {
        assert_eq!(program_name(Path::new("/usr/bin/tmux (deleted)")), "tmux");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_chain_of_ancestors_begins_with_the_parent() {
        let first = ancestors().next().expect("a parent");
        assert_eq!(first.pid, std::os::unix::process::parent_id());
    }
}
