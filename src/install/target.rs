//! Which program stands in the hook entries: one that stays where it is. A build folder is emptied one day, so what runs from
//! there is copied first.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::project;
use crate::claim::{Claim, Content, MARK, Whole};
use crate::environment::{Env, name};
use crate::error::Error;
use crate::process::on_path;

const PROGRAM: &str = "agent-notify";

/// What `/proc/self/exe` ends in once the running file was replaced.
const DELETED: &str = " (deleted)";

/// Where the program is that hooks will call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Placement {
    /// This one runs from a build folder; it is to be copied.
    BuildFolder { from: PathBuf, to: PathBuf },
    /// It is there already, by this path.
    AsIs(PathBuf),
}

impl Placement {
    /// The path for hook entries.
    #[must_use]
    pub fn program(&self) -> &Path {
        match self {
            Self::BuildFolder { to, .. } => to,
            Self::AsIs(path) => path,
        }
    }

    /// What must be put in place for that; `None` if it is there.
    ///
    /// # Errors
    /// The running program cannot be read.
    pub fn claim(&self) -> Result<Option<Claim>, Error> {
        let Self::BuildFolder { from, to } = self else { return Ok(None) };
        let bytes = fs::read(from).map_err(|error| Error::new("the program cannot be read").path(from).because(error.to_string()))?;
        let content = Content::Whole(Whole { bytes, mode: 0o755, mark: MARK.as_bytes() });
        Ok(Some(Claim { owner: "binary", path: to.clone(), content }))
    }
}

/// Where the running program is to be called from. A link to it on PATH is the best path, since it survives an update of what it
/// leads to.
///
/// # Errors
/// It runs from a build folder, and there is no HOME to copy it to; or the running file was removed.
pub fn placement(env: &Env, running: &Path) -> Result<Placement, Error> {
    let running = existing(running)?;
    let local = env.home().map(|home| home.join(".local/bin").join(PROGRAM));
    let path = env.os(name::PATH).unwrap_or_default();
    let stable = on_path(&path, PROGRAM).chain(local.clone());
    if let Some(stable) = stable.into_iter().find(|path| is_same(path, &running) && !is_build_folder(path.parent())) {
        return Ok(Placement::AsIs(stable));
    }
    if !is_build_folder(running.parent()) {
        return Ok(Placement::AsIs(running));
    }
    local.map(|to| Placement::BuildFolder { from: running.clone(), to }).ok_or_else(|| {
        Error::new("the program runs from a build folder, where it will not stay")
            .path(running)
            .because("HOME is not set")
            .hint("set HOME, or copy the program to where it can stay and run that")
    })
}

/// The running file by a path without links.
fn existing(running: &Path) -> Result<PathBuf, Error> {
    let replaced = || running.to_str().and_then(|path| path.strip_suffix(DELETED)).and_then(|path| Path::new(path).canonicalize().ok());
    running.canonicalize().ok().or_else(replaced).ok_or_else(|| {
        Error::new("the running program is not there any more").path(running).hint("run the command again with the program that is")
    })
}

/// Links followed.
fn is_same(left: &Path, right: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity(left).is_some_and(|left| Some(left) == identity(right))
}

/// A folder of cargo's: marked as a cache as a whole, or (where cargo did not make the target folder itself) by its lock or name.
fn is_build_folder(folder: Option<&Path>) -> bool {
    let Some(folder) = folder.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_owned())) else { return false };
    let has_profile_name = ["debug", "release"].iter().any(|profile| folder.ends_with(profile));
    folder.join(".cargo-lock").exists()
        || folder.ancestors().any(|ancestor| ancestor.join("CACHEDIR.TAG").exists())
        || (has_profile_name && folder.ancestors().skip(1).take(2).any(|ancestor| ancestor.ends_with("target")))
}

/// What a person who types `agent-notify` will meet: nothing, or another program.
#[must_use]
pub fn path_hint(env: &Env, placement: &Placement) -> Option<String> {
    let program = placement.program();
    let path = env.os(name::PATH).unwrap_or_default();
    let first = on_path(&path, PROGRAM).find(|path| path.is_file());
    let is_ours = |found: &Path| found == program || is_same(found, program);
    match first {
        Some(found) if is_ours(&found) => None,
        Some(found) => Some(format!(
            "the agent-notify that PATH finds is {}, not {}; hooks call the latter by its path",
            found.display(),
            program.display()
        )),
        // Not there yet, but it will be found.
        None if program.parent().is_some_and(|folder| std::env::split_paths(&path).any(|entry| entry == folder)) => None,
        None => {
            let folder = program.parent().unwrap_or(program).display();
            Some(format!("{folder} is not on PATH; hooks work all the same, but to type agent-notify add it to PATH"))
        }
    }
}

/// A settings file of a person who keeps it under version control, for several hosts: the program's path may be another one on
/// each of them. Not for a project's files, and not where the person gave the command.
#[must_use]
pub fn dotfiles_hint(claims: &[Claim]) -> Option<String> {
    let hooks = claims.iter().filter(|claim| matches!(claim.content, Content::Hooks(_)));
    let (path, folder) = hooks.filter_map(|claim| Some((&claim.path, repository(&project::resolve(&claim.path)?)?))).next()?;
    Some(format!(
        "{} lies in {}, which is under version control; if other hosts share it, install with --command '$HOME/.local/bin/agent-notify'",
        path.display(),
        folder.display()
    ))
}

fn repository(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::claim::{Hooks, Shape};

    struct Host(tempfile::TempDir);

    impl Host {
        fn new() -> Self {
            let host = Self(tempfile::tempdir().expect("a folder"));
            std::fs::create_dir_all(host.path("home")).expect("a home");
            host
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().expect("a folder").join(name)
        }

        fn file(&self, name: &str) -> PathBuf {
            let path = self.path(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(&path, name).expect("a file");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a mode");
            path
        }

        fn link(&self, target: &str, name: &str) -> PathBuf {
            let path = self.path(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            symlink(self.path(target), &path).expect("a link");
            path
        }

        fn env(&self) -> Env {
            let path = format!("relative:{}:{}", self.path("first").display(), self.path("second").display());
            Env::from_iter([(name::HOME, self.path("home").into_os_string()), (name::PATH, path.into())])
        }

        fn placement(&self, running: &str) -> Placement {
            placement(&self.env(), &self.path(running)).expect("a place")
        }
    }

    #[test]
    fn what_runs_from_a_build_folder_is_copied() {
        for running in [
            "project/target/debug/agent-notify",
            "project/target/release/agent-notify",
            "project/target/x86_64-unknown-linux-musl/release/agent-notify",
            "marked/any/dist/agent-notify",
            "locked/agent-notify",
        ] {
            let host = Host::new();
            host.file("marked/CACHEDIR.TAG");
            host.file("locked/.cargo-lock");
            let from = host.file(running);
            let to = host.path("home/.local/bin/agent-notify");
            assert_eq!(host.placement(running), Placement::BuildFolder { from, to: to.clone() }, "{running}");
            let claim = host.placement(running).claim().expect("readable").expect("a claim");
            let whole = Whole { bytes: running.as_bytes().to_vec(), mode: 0o755, mark: MARK.as_bytes() };
            assert_eq!(claim, Claim { owner: "binary", path: to, content: Content::Whole(whole) });
        }
    }

    #[test]
    fn without_a_home_there_is_no_place_for_a_copy() {
        let host = Host::new();
        let running = host.file("target/debug/agent-notify");
        let error = placement(&Env::from_iter([("X", "y")]), &running).expect_err("no place");
        assert!(error.hint.is_some() && error.to_string().contains("HOME is not set"));
    }

    #[test]
    fn a_program_that_stays_is_called_where_it_is() {
        for running in ["opt/agent-notify", "target/bin/agent-notify", "release/agent-notify", "target/a/b/release/agent-notify"] {
            let host = Host::new();
            let path = host.file(running);
            assert_eq!(host.placement(running), Placement::AsIs(path), "{running}");
            assert_eq!(host.placement(running).claim(), Ok(None));
        }
    }

    #[test]
    fn a_link_to_it_is_the_better_path() {
        let host = Host::new();
        host.file("opt/1.0/agent-notify");
        host.file("first/agent-notify");
        let local = host.link("opt/1.0/agent-notify", "home/.local/bin/agent-notify");
        assert_eq!(host.placement("opt/1.0/agent-notify"), Placement::AsIs(local.clone()), "not the foreign one on PATH");
        let second = host.link("opt/1.0/agent-notify", "second/agent-notify");
        assert_eq!(host.placement("opt/1.0/agent-notify"), Placement::AsIs(second.clone()), "PATH before ~/.local/bin");
        assert_eq!(host.placement("home/.local/bin/agent-notify"), Placement::AsIs(second));
        let build = Host::new();
        build.file("target/release/agent-notify");
        let local = build.link("target/release/agent-notify", "home/.local/bin/agent-notify");
        assert_eq!(build.placement("target/release/agent-notify"), Placement::AsIs(local), "a link into the build folder is meant so");
    }

    #[test]
    fn a_build_folder_on_path_is_no_place_to_stay() {
        let host = Host::new();
        host.file("first/agent-notify");
        host.file("first/.cargo-lock");
        assert!(matches!(host.placement("first/agent-notify"), Placement::BuildFolder { .. }));
    }

    #[test]
    fn a_replaced_program_is_found_again() {
        let host = Host::new();
        let path = host.file("opt/agent-notify");
        assert_eq!(host.placement("opt/agent-notify (deleted)"), Placement::AsIs(path));
        assert!(placement(&host.env(), &host.path("gone (deleted)")).is_err());
    }

    #[test]
    fn what_path_finds_is_hinted_at_if_it_is_not_this_program() {
        let host = Host::new();
        let root = host.path("").display().to_string();
        let hint = |placement: &Placement| path_hint(&host.env(), placement).map(|hint| hint.replace(&root, "/"));
        let opt = Placement::AsIs(host.file("opt/agent-notify"));
        assert_eq!(hint(&opt).as_deref(), Some("/opt is not on PATH; hooks work all the same, but to type agent-notify add it to PATH"));
        assert_eq!(hint(&Placement::BuildFolder { from: "/x".into(), to: host.path("second/agent-notify") }), None, "not there yet");
        host.link("opt/agent-notify", "second/agent-notify");
        assert_eq!(hint(&opt), None);
        host.file("first/agent-notify");
        assert_eq!(
            hint(&opt).as_deref(),
            Some("the agent-notify that PATH finds is /first/agent-notify, not /opt/agent-notify; hooks call the latter by its path")
        );
    }

    #[test]
    fn settings_under_version_control_are_hinted_at() {
        let host = Host::new();
        let claim = |name: &str| {
            let hooks = Hooks { agent: "claude", shape: Shape::Grouped, entries: vec![], settings: vec![], known_events: &[] };
            Claim { owner: "claude", path: host.path(name), content: Content::Hooks(hooks) }
        };
        host.file("home/.claude/settings.json");
        host.file("home/dotfiles/claude/settings.json");
        assert_eq!(dotfiles_hint(&[claim("home/.claude/settings.json")]), None);
        host.file("home/dotfiles/.git/HEAD");
        assert_eq!(dotfiles_hint(&[claim("home/.claude/settings.json")]), None, "no link leads there");
        host.link("home/dotfiles/claude/settings.json", "home/linked");
        host.link("home/dotfiles/claude", "home/.cursor");
        for name in ["home/linked", "home/.cursor/settings.json", "home/.cursor/not-there-yet.json"] {
            let hint = dotfiles_hint(&[claim("home/.claude/settings.json"), claim(name)]).expect(name);
            assert!(hint.contains("--command") && hint.contains(&host.path(name).display().to_string()), "{hint}");
        }
        let binary = Placement::BuildFolder { from: host.file("x"), to: host.path("home/dotfiles/agent-notify") };
        assert_eq!(dotfiles_hint(&[binary.claim().expect("readable").expect("a claim")]), None, "no hooks in it");
    }
}
