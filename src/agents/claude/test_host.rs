//! A made-up host for tests of Claude's claims: a home, a PATH, installations, managed settings.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::super::{Command, Request, Scope, Wanted};
use super::claims;
use crate::config;
use crate::environment::Env;
use crate::state::{State, Version, VersionCache};

/// A home, a PATH and a folder of managed settings.
pub(super) struct Host {
    pub(super) root: tempfile::TempDir,
    pub(super) variables: Vec<(&'static str, PathBuf)>,
}

impl Host {
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("home")).expect("a home");
        let variables = vec![("HOME", root.path().join("home")), ("PATH", root.path().join("bin"))];
        Self { root, variables }
    }

    /// With a native installation of this version.
    pub(super) fn with(version: &str) -> Self {
        let host = Self::new();
        host.file(&format!("home/.local/share/claude/versions/{version}"), "");
        host.link(&format!("home/.local/share/claude/versions/{version}"), "bin/claude");
        host
    }

    pub(super) fn env(&self) -> Env {
        self.variables.iter().cloned().collect()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(super) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, content).expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a mode");
        path
    }

    /// A program that does nothing unless it is asked for its version.
    pub(super) fn script(&self, name: &str, body: &str) {
        let program = self.file(name, &format!("#!/bin/sh\n[ \"$1\" = --version ] || exit\n{body}\n"));
        // "Text file busy" while another test's child, just forked, still holds the file open for writing.
        while std::process::Command::new(&program).status().is_err() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    pub(super) fn link(&self, target: &str, name: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        symlink(self.path(target), path).expect("a link");
    }

    pub(super) fn wanted(&self, change: impl FnOnce(&mut Options)) -> Wanted {
        let mut options = Options::default();
        change(&mut options);
        self.ask(&options, |request| claims::wanted_below(&self.path("managed"), request))
    }

    pub(super) fn ask<T>(&self, options: &Options, ask: impl FnOnce(&Request) -> T) -> T {
        let env = self.env();
        let (config, warnings) = config::parse(&options.config);
        assert_eq!(warnings, [], "{}", options.config);
        let cache = VersionCache::of(&State::of(&env));
        let command = Command::of_program(Path::new("/opt/bin/agent-notify")).expect("a command");
        ask(&Request {
            env: &env,
            config: &config,
            command: &command,
            scope: &options.scope,
            keep_builtin: options.keep_builtin,
            may_start: options.may_start,
            cache: &cache,
        })
    }

    pub(super) fn version(&self, may_start: bool) -> Option<Version> {
        self.ask(&Options { may_start, ..Options::default() }, claims::version)
    }
}

pub(super) struct Options {
    pub(super) config: String,
    pub(super) scope: Scope,
    pub(super) keep_builtin: bool,
    pub(super) may_start: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { config: String::new(), scope: Scope::User, keep_builtin: false, may_start: false }
    }
}
