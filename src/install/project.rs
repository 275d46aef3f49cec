//! `--scope project`: which folder is the project, and whether its settings may be written. A repository may come from anyone:
//! nothing in it leads us out of it, and nothing in it is executed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::environment::{Env, name};
use crate::error::Error;
use crate::process::{self, on_path};

/// As the kernel's limit for a chain of symlinks.
const MOST_LINKS: usize = 40;

/// How long git may take; a repository on a slow disk needs a second.
const PATIENCE: Duration = Duration::from_secs(3);

/// The nearest folder that is a repository or a work tree, else the working folder itself.
#[must_use]
pub fn root(working_folder: &Path) -> PathBuf {
    working_folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(working_folder).to_owned()
}

/// Refuses a settings file that lies, links followed, outside the project.
///
/// # Errors
/// It does, or its links lead nowhere.
pub fn check_inside(root: &Path, path: &Path) -> Result<(), Error> {
    let refuse = |why: String| {
        Error::new("the project's settings are not written")
            .path(path)
            .because(why)
            .hint("remove the link, or install without --scope project")
    };
    let target = resolve(path).ok_or_else(|| refuse("its links lead nowhere".to_owned()))?;
    let root = resolve(root).ok_or_else(|| refuse("the project's folder is not there".to_owned()))?;
    if target.starts_with(&root) { Ok(()) } else { Err(refuse(format!("a link leads out of the project, to {}", target.display()))) }
}

/// Where a path leads, links followed, whether or not there is something. `None` for a loop.
pub(super) fn resolve(path: &Path) -> Option<PathBuf> {
    let mut links = MOST_LINKS;
    resolve_within(path, &mut links)
}

fn resolve_within(path: &Path, links: &mut usize) -> Option<PathBuf> {
    if let Ok(resolved) = path.canonicalize() {
        return Some(resolved);
    }
    let parent = resolve_within(path.parent()?, links)?;
    let Ok(link) = path.read_link() else { return Some(parent.join(path.file_name()?)) };
    *links = links.checked_sub(1)?;
    resolve_within(&parent.join(link), links)
}

/// Whether git tracks a file, as it is named or where its links lead: then writing it changes what others get. `None` if that
/// cannot be told (no git, no answer in time).
#[must_use]
pub fn is_tracked(env: &Env, root: &Path, path: &Path) -> Option<bool> {
    if !root.join(".git").exists() {
        return Some(false);
    }
    let git = on_path(&env.os(name::PATH)?, "git").find(|program| program.is_file())?;
    let until = Instant::now() + PATIENCE;
    let mut paths = vec![path.to_owned()];
    paths.extend(resolve(path).filter(|resolved| resolved != path));
    let answers: Option<Vec<bool>> = paths.iter().map(|path| ask(env, &git, root, path.as_os_str(), until)).collect();
    answers.map(|answers| answers.contains(&true))
}

fn ask(env: &Env, git: &Path, root: &Path, path: &OsStr, until: Instant) -> Option<bool> {
    let mut command = Command::new(git);
    // A repository's own configuration may name a program for this one.
    command.args(["--literal-pathspecs", "-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--"]).arg(path);
    command.current_dir(root).env_clear();
    command.envs([name::PATH, name::HOME, name::XDG_CONFIG_HOME].into_iter().filter_map(|name| Some((name, env.os(name)?))));
    match process::ask(&mut command, until, 1 << 16).ok()?.1?.code()? {
        0 => Some(true),
        1 => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path").join("project");
        std::fs::create_dir_all(root.join("a/b")).expect("folders");
        (folder, root)
    }

    fn env(path: &str) -> Env {
        Env::from_iter([(name::PATH, path)])
    }

    #[test]
    fn the_project_is_the_repository_else_the_working_folder() {
        let (_folder, project) = project();
        assert_eq!(root(&project.join("a/b")), project.join("a/b"));
        std::fs::create_dir(project.join(".git")).expect("a folder");
        assert_eq!(root(&project.join("a/b")), project);
        std::fs::write(project.join("a/.git"), "gitdir: elsewhere\n").expect("a file");
        assert_eq!(root(&project.join("a/b")), project.join("a"), "a work tree of its own");
    }

    #[test]
    fn a_link_may_not_leave_the_project() {
        let (_folder, root) = project();
        let check = |name: &str| check_inside(&root, &root.join(name)).map_err(|error| error.why.expect("a reason"));
        assert_eq!(check(".claude/settings.local.json"), Ok(()), "nothing there yet");
        let link = |target: &str, name: &str| symlink(target, root.join(name)).expect("a link");
        link("a", "inside");
        link("chain/not-there", "chained");
        link("second", "chain");
        link("a", "second");
        link("../outside", "dangling");
        link("b/../../a/b/file", "a/dotted");
        link("/", "folder");
        link("loop", "loop");
        assert_eq!(check("inside/settings.json"), Ok(()));
        assert_eq!(check("a/dotted"), Ok(()));
        assert_eq!(check("chained"), Ok(()));
        assert!(check("dangling").expect_err("outside").contains("out of the project"));
        assert!(check("folder/etc/x").expect_err("outside").contains("out of the project, to /etc/x"));
        assert!(check("../sibling").expect_err("outside").contains("out of the project"));
        assert!(check("loop").expect_err("a loop").contains("nowhere"));
        std::fs::create_dir(root.with_file_name("project-2")).expect("a folder");
        link("../project-2/x", "prefix");
        assert!(check("prefix").is_err(), "a name that only begins alike");
    }

    #[test]
    fn a_tracked_file_is_known_where_git_is() {
        let (_folder, root) = project();
        let path = std::env::var("PATH").expect("PATH");
        let file = root.join(".cursor/hooks.json");
        assert_eq!(is_tracked(&env("/nowhere"), &root, &file), Some(false), "no repository");
        let git = |arguments: &[&str]| {
            let status = Command::new("git").args(arguments).current_dir(&root).env_clear().env("PATH", &path).status();
            assert!(status.expect("git").success(), "{arguments:?}");
        };
        git(&["init", "--quiet"]);
        assert_eq!(is_tracked(&env("/nowhere"), &root, &file), None, "no git");
        let env = env(&path);
        assert_eq!(is_tracked(&env, &root, &file), Some(false));
        std::fs::create_dir(root.join(".cursor")).expect("a folder");
        std::fs::write(&file, "{}").expect("a file");
        assert_eq!(is_tracked(&env, &root, &file), Some(false));
        git(&["add", ".cursor/hooks.json"]);
        assert_eq!(is_tracked(&env, &root, &file), Some(true));
        assert_eq!(is_tracked(&env, &root, &root.join(".cursor/*")), Some(false), "no pattern");
        symlink(".cursor/hooks.json", root.join("link")).expect("a link");
        assert_eq!(is_tracked(&env, &root, &root.join("link")), Some(true), "by where it leads");
    }

    #[test]
    fn nothing_of_the_repository_is_executed() {
        let (_folder, root) = project();
        let path = std::env::var("PATH").expect("PATH");
        let proof = root.join("proof");
        let hook = root.join("a/monitor");
        std::fs::write(&hook, format!("#!/bin/sh\necho x >'{}'\n", proof.display())).expect("a program");
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).expect("a mode");
        for arguments in [vec!["init", "--quiet"], vec!["config", "core.fsmonitor", hook.to_str().expect("UTF-8")]] {
            assert!(Command::new("git").args(arguments).current_dir(&root).env_clear().env("PATH", &path).status().expect("git").success());
        }
        assert_eq!(is_tracked(&env(&path), &root, &root.join("x")), Some(false));
        assert!(!proof.exists());
    }
}
