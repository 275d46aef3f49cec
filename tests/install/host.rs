//! A made-up person's host: the program in a folder where it stays, Claude Code and Cursor as far as the installer can tell,
//! and a look at every file that remembers inode and times.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::sandbox::binary;
use crate::support::{Command, Outcome, Sandbox};

pub const SETTINGS: &str = ".claude/settings.json";
pub const HOOKS: &str = ".cursor/hooks.json";
pub const CONFIG: &str = ".config/agent-notify/config.toml";
const STATE: &str = ".local/state/agent-notify";
/// The version that the made-up Claude Code has by its files.
const CLAUDE: &str = ".local/share/claude/versions/2.1.332";

/// One person on one host.
pub struct Host {
    pub sandbox: Sandbox,
    home: PathBuf,
}

impl Host {
    /// Nothing there but the program, on PATH.
    pub fn empty() -> Self {
        Self::at("home")
    }

    /// With a HOME of this name.
    pub fn at(home: &str) -> Self {
        let sandbox = Sandbox::new();
        let home = sandbox.path(home);
        std::fs::create_dir_all(&home).expect("a home");
        place(&sandbox.path("bin/agent-notify"));
        Self { sandbox, home }
    }

    /// Claude Code and Cursor are installed, but have never been started.
    pub fn new() -> Self {
        Self::empty().with_claude().with_cursor()
    }

    /// Tells its version by its files; leaves a trace if it is started.
    pub fn with_claude(self) -> Self {
        self.trap(CLAUDE);
        self.link("../share/claude/versions/2.1.332", ".local/bin/claude");
        self
    }

    pub fn with_cursor(self) -> Self {
        self.trap(".local/bin/cursor-agent");
        self
    }

    fn trap(&self, path: &str) {
        self.write(path, "#!/bin/sh\necho \"$0\" >>\"$HOME/../started\"\n");
        self.set_mode(path, 0o755);
    }

    /// Programs of agents that were started.
    pub fn started(&self) -> String {
        std::fs::read_to_string(self.home.with_file_name("started")).unwrap_or_default()
    }

    /// A path below HOME.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.home.join(relative)
    }

    pub fn program(&self) -> PathBuf {
        self.sandbox.path("bin/agent-notify")
    }

    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, content).unwrap_or_else(|error| panic!("{relative}: {error}"));
    }

    #[track_caller]
    pub fn read(&self, relative: &str) -> Vec<u8> {
        std::fs::read(self.path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
    }

    #[track_caller]
    pub fn text(&self, relative: &str) -> String {
        String::from_utf8(self.read(relative)).expect("text")
    }

    #[track_caller]
    pub fn json(&self, relative: &str) -> Value {
        serde_json::from_slice(&self.read(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
    }

    pub fn exists(&self, relative: &str) -> bool {
        self.path(relative).symlink_metadata().is_ok()
    }

    pub fn set_mode(&self, relative: &str, mode: u32) {
        std::fs::set_permissions(self.path(relative), PermissionsExt::from_mode(mode)).expect("a mode");
    }

    pub fn mode(&self, relative: &str) -> u32 {
        self.path(relative).metadata().expect("a file").permissions().mode() & 0o7777
    }

    pub fn link(&self, target: &str, relative: &str) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        symlink(target, path).expect("a link");
    }

    /// `agent-notify ARGUMENTS` with the folders of a person who set no variable.
    pub fn command(&self, arguments: &[&str]) -> Command<'_> {
        self.command_of(&self.program(), arguments)
    }

    /// The same with the program at another path.
    pub fn command_of(&self, program: &Path, arguments: &[&str]) -> Command<'_> {
        let words = std::iter::once(program.as_os_str().to_owned()).chain(arguments.iter().map(Into::into));
        let command = self.sandbox.program(words).env("HOME", &self.home).working_folder(&self.home);
        command.without("XDG_CONFIG_HOME").without("XDG_STATE_HOME")
    }

    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.command(arguments).run()
    }

    #[track_caller]
    pub fn install(&self) -> Outcome {
        let outcome = self.run(&["install", "--yes", "--no-test"]);
        outcome.success();
        outcome
    }

    #[track_caller]
    pub fn uninstall(&self) -> Outcome {
        let outcome = self.run(&["uninstall", "--yes"]);
        outcome.success();
        outcome
    }

    /// Ids of the transactions, newest first.
    #[track_caller]
    pub fn transactions(&self) -> Vec<String> {
        let history = self.run(&["history", "--json"]).success().json();
        let all = history["transactions"].as_array().expect("transactions");
        all.iter().map(|entry| entry["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// What `status` says of an agent: `installed`, or what it is instead.
    #[track_caller]
    pub fn state(&self, agent: &str) -> Value {
        let status = self.run(&["status", "--json"]).success().json();
        let all = status["agents"].as_array().expect("agents");
        let found = all.iter().find(|entry| entry["agent"] == agent);
        found.unwrap_or_else(|| panic!("no {agent} in {status}"))["state"].clone()
    }

    /// Everything below HOME.
    pub fn tree(&self) -> Tree {
        Tree::of(&self.home)
    }

    /// Everything below HOME but the lock, in which whoever takes it leaves its process id.
    pub fn tree_without_lock(&self) -> Tree {
        let mut tree = self.tree();
        tree.0.remove(&Path::new(STATE).join("install/lock"));
        tree
    }

    /// Everything below HOME but what the installer remembers.
    pub fn tree_without_memory(&self) -> Tree {
        let mut tree = self.tree();
        tree.0.retain(|path, _| !Path::new(STATE).starts_with(path) && !path.starts_with(STATE));
        tree
    }

    /// Text with everything replaced that differs from run to run.
    pub fn shown(&self, text: &str) -> String {
        let text = text.replace(&self.sandbox.path("").display().to_string(), "[ROOT]/");
        replace_ids(&text)
    }
}

/// `20261201-031126-700` becomes `[ID]`.
fn replace_ids(text: &str) -> String {
    const FORM: &[u8] = b"00000000-000000-000";
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let head = rest.as_bytes().get(..FORM.len()).unwrap_or_default();
        let alike = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
        if head.len() == FORM.len() && head.iter().zip(FORM).all(alike) {
            shown.push_str("[ID]");
            rest = &rest[FORM.len()..];
        } else {
            let next = rest.chars().next().map_or(0, char::len_utf8);
            shown.push_str(&rest[..next]);
            rest = &rest[next..];
        }
    }
    shown
}

/// A hard link where that is possible: the program is large, and hashing or copying it is slow.
fn place(to: &Path) {
    if std::fs::hard_link(binary(), to).is_err() {
        std::fs::copy(binary(), to).expect("a copy of the program");
    }
}

/// Kind, mode, owner, size, time of change and inode of every file, and where links lead.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tree(pub BTreeMap<PathBuf, String>);

impl Tree {
    pub fn of(root: &Path) -> Self {
        let mut all = BTreeMap::new();
        walk(root, root, &mut all);
        Self(all)
    }

    /// Only what is there, with modes, sizes and links: what is equal after something was removed and made again.
    pub fn names(&self) -> BTreeMap<PathBuf, String> {
        let short = |seen: &String| seen.split(" / ").next().unwrap_or_default().to_owned();
        self.0.iter().map(|(path, seen)| (path.clone(), short(seen))).collect()
    }

    /// Fails with what is new, gone or different.
    #[track_caller]
    pub fn is(&self, before: &Self, what: &str) {
        assert_same(&before.0, &self.0, what);
    }

    #[track_caller]
    pub fn has_the_names_of(&self, before: &Self, what: &str) {
        assert_same(&before.names(), &self.names(), what);
    }
}

#[track_caller]
fn assert_same(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>, what: &str) {
    let mut differences = Vec::new();
    for path in before.keys().chain(after.keys()) {
        let (old, new) = (before.get(path), after.get(path));
        if old != new {
            differences.push(format!("{}: {old:?} -> {new:?}", path.display()));
        }
    }
    differences.dedup();
    assert!(differences.is_empty(), "{what}: {differences:#?}");
}

fn walk(root: &Path, folder: &Path, all: &mut BTreeMap<PathBuf, String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let seen = path.symlink_metadata().expect("a file");
        let link = path.read_link().map(|to| format!(" -> {}", to.display())).unwrap_or_default();
        // A folder's size is the file system's own business.
        let size = if seen.is_dir() { 0 } else { seen.len() };
        let line = format!(
            "{:o} {}:{} {size}{link} / inode {} {}.{:09}",
            seen.mode(),
            seen.uid(),
            seen.gid(),
            seen.ino(),
            seen.mtime(),
            seen.mtime_nsec()
        );
        all.insert(path.strip_prefix(root).expect("below").to_owned(), line);
        if seen.is_dir() {
            walk(root, &path, all);
        }
    }
}
