//! Codex's shared daemon: from 0.171 (between 0.155 and it) the terminal interface is a thin client of `codex app-server`,
//! and hooks are the daemon's children. Their environment is that of whichever interface once started the daemon, and they
//! have no terminal (measured, 0.171.0). So the interface that the event belongs to is looked for among the processes.

use std::path::{Path, PathBuf};

use super::super::{Interface, Owner};
use super::program;
use crate::config::SameFolder;
use crate::environment::{Env, name};
use crate::process::{self, Process};

/// Whose terminal a hook's notification belongs to. Costs 10 µs per ancestor; below the daemon also one scan of all processes
/// (0.84 ms at 165 of them).
pub(super) fn owner(project: Option<&Path>, env: &Env, choice: SameFolder) -> Owner {
    let codex = process::ancestors().find_map(|process| Some((process, program::arguments_of_codex(&process.arguments())?)));
    match codex {
        Some((process, arguments)) if is_daemon(&arguments) || (!process.has_terminal() && !program::is_exec_call(&arguments)) => {
            Owner::Interfaces(interfaces(project, env, choice))
        }
        // The interface itself, `exec`, or `--no-daemon`: the hook's environment is right.
        _ => Owner::ThisProcess,
    }
}

fn is_daemon(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument == "app-server")
}

/// Interfaces of this user in the folder, with the same `CODEX_HOME`.
fn interfaces(project: Option<&Path>, env: &Env, choice: SameFolder) -> Vec<Interface> {
    let Some(project) = project.map(canonical) else { return Vec::new() };
    let user = rustix::process::geteuid().as_raw();
    let mut found: Vec<(u64, Interface)> = process::all()
        .filter(Process::has_terminal)
        .filter_map(|process| {
            let arguments = program::arguments_of_codex(&process.arguments())?;
            if is_daemon(&arguments) || program::is_exec_call(&arguments) || process.user() != Some(user) {
                return None;
            }
            let folder = folder(&process, &arguments)?;
            let environment = process.environment()?;
            let same = canonical(&folder) == project && codex_home(&environment) == codex_home(env);
            same.then_some((process.started, Interface { pid: process.pid, environment }))
        })
        .collect();
    // The npm package runs `node codex.js`, which runs the program: one interface, of which the child is the real one.
    let wrappers: Vec<u32> = found.iter().filter_map(|(_, interface)| Some(Process::read(interface.pid)?.parent)).collect();
    found.retain(|(_, interface)| !wrappers.contains(&interface.pid));
    found.sort_by_key(|(started, _)| std::cmp::Reverse(*started));
    found.truncate(if choice == SameFolder::Newest { 1 } else { usize::MAX });
    found.into_iter().map(|(_, interface)| interface).collect()
}

/// What `-C` or `--cd` says, relative to where it was said; else the working folder.
fn folder(process: &Process, arguments: &[String]) -> Option<PathBuf> {
    let here = process.working_folder()?;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let inline = argument.strip_prefix("--cd=").or_else(|| argument.strip_prefix("-C").filter(|folder| !folder.is_empty()));
        match (argument.as_str(), inline) {
            (_, Some(folder)) => return Some(here.join(folder)),
            ("-C" | "--cd", None) => return Some(here.join(rest.next()?)),
            _ => {}
        }
    }
    Some(here)
}

/// `/proc` names folders without symlinks, the payload as the person typed them.
fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn codex_home(env: &Env) -> Option<PathBuf> {
    let home = env.folder(name::CODEX_HOME).or_else(|| Some(env.home()?.join(".codex")))?;
    Some(canonical(&home))
}
