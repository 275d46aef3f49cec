//! Versions that agents' programs told when they were started, so that each is started once: by agent and by the program's
//! resolved path, time of change and size. Knows nothing of how they are asked.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::State;
use crate::files;

/// Major, minor, patch.
pub type Version = (u32, u32, u32);

/// The file's name in the state folder.
const FILE: &str = "versions.json";

/// More programs than a host has; the oldest answers go.
const MOST: usize = 32;

/// What is read at most, in bytes.
const LIMIT: u64 = 1 << 20;

/// `versions.json` in the state folder. Whatever is wrong with it, it just knows nothing.
#[derive(Debug)]
pub struct VersionCache {
    file: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Content {
    #[serde(default)]
    versions: Vec<Known>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Known {
    #[serde(flatten)]
    key: Key,
    /// `None`: it was asked and said nothing that could be understood.
    version: Option<Version>,
}

/// One file can be the program of several agents (a version manager's shim): so the agent belongs to it.
#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
struct Key {
    agent: String,
    path: String,
    /// Nanoseconds since the epoch.
    modified: i64,
    size: u64,
}

impl VersionCache {
    /// Costs nothing: the file is read when somebody asks.
    #[must_use]
    pub fn of(state: &State) -> Self {
        Self { file: state.folder().map(|folder| folder.join(FILE)) }
    }

    /// The folder that the file is in; `None` where there is no place for state.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.file.as_deref()?.parent()
    }

    /// What the program said: `None` = not asked yet (in this form), `Some(None)` = asked in vain.
    #[must_use]
    pub fn get(&self, agent: &str, program: &Path) -> Option<Option<Version>> {
        let key = Key::of(agent, program)?;
        self.read().versions.into_iter().find(|known| known.key == key).map(|known| known.version)
    }

    /// Remembers what the program said.
    ///
    /// # Errors
    /// The file cannot be written. It will be asked again.
    pub fn put(&self, agent: &str, program: &Path, version: Option<Version>) -> io::Result<()> {
        let (Some(file), Some(key)) = (&self.file, Key::of(agent, program)) else { return Ok(()) };
        let mut content = self.read();
        // What it said before it was replaced is of no use to anyone.
        content.versions.retain(|known| (&known.key.agent, &known.key.path) != (&key.agent, &key.path));
        content.versions.push(Known { key, version });
        let surplus = content.versions.len().saturating_sub(MOST);
        content.versions.drain(..surplus);
        files::replace(file, &serde_json::to_vec(&content)?, files::PRIVATE)
    }

    fn read(&self) -> Content {
        let bytes = self.file.as_deref().and_then(|file| files::read_small(file, LIMIT).ok()).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

impl Key {
    fn of(agent: &str, program: &Path) -> Option<Self> {
        let path = program.canonicalize().ok()?;
        let metadata = path.metadata().ok()?;
        Some(Self {
            agent: agent.to_owned(),
            path: path.to_string_lossy().into_owned(),
            modified: modified(&metadata),
            size: metadata.len(),
        })
    }
}

fn modified(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Env;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Fixture {
        home: tempfile::TempDir,
        cache: VersionCache,
    }

    impl Fixture {
        fn new() -> Self {
            let home = tempfile::tempdir().expect("a folder");
            let cache = VersionCache::of(&State::of(&Env::from_iter([("HOME", home.path())])));
            Self { home, cache }
        }

        fn program(&self, name: &str, content: &str) -> PathBuf {
            let path = self.home.path().join(name);
            std::fs::write(&path, content).expect("a program");
            path
        }

        fn file(&self) -> PathBuf {
            self.home.path().join(".local/state/agent-notify/versions.json")
        }
    }

    #[test]
    fn a_version_is_remembered_until_the_program_changes() {
        let fixture = Fixture::new();
        let program = fixture.program("claude", "a");
        let link = fixture.home.path().join("link");
        symlink(&program, &link).expect("a link");
        assert_eq!(fixture.cache.get("claude", &program), None);
        fixture.cache.put("claude", &link, Some((2, 1, 332))).expect("put");
        assert_eq!(fixture.cache.get("claude", &program), Some(Some((2, 1, 332))));
        assert_eq!(fixture.cache.get("codex", &program), None, "another agent behind the same shim");
        std::fs::write(&program, "longer").expect("a program");
        assert_eq!(fixture.cache.get("claude", &program), None, "another size");
        fixture.cache.put("claude", &program, None).expect("put");
        assert_eq!(fixture.cache.get("claude", &program), Some(None), "asked in vain");
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(9);
        std::fs::File::options().write(true).open(&program).expect("open").set_modified(later).expect("a time");
        assert_eq!(fixture.cache.get("claude", &program), None, "another time of change");
        let content = std::fs::read_to_string(fixture.file()).expect("the file");
        assert_eq!(content.matches("\"path\"").count(), 1, "old answers go: {content}");
        assert_eq!(fixture.file().metadata().expect("metadata").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn garbage_is_nothing_known_and_is_overwritten() {
        let fixture = Fixture::new();
        let program = fixture.program("claude", "a");
        for garbage in ["", "{", "[]", "null", "{\"versions\":7}", "{\"versions\":[{\"agent\":1}]}", "\u{0}"] {
            files::replace(&fixture.file(), garbage.as_bytes(), 0o600).expect("garbage");
            assert_eq!(fixture.cache.get("claude", &program), None, "{garbage:?}");
            fixture.cache.put("claude", &program, Some((1, 2, 3))).expect("put");
            assert_eq!(fixture.cache.get("claude", &program), Some(Some((1, 2, 3))), "{garbage:?}");
        }
    }

    #[test]
    fn the_file_does_not_grow_without_end() {
        let fixture = Fixture::new();
        let programs: Vec<_> = (0..40).map(|number| fixture.program(&format!("p{number}"), "a")).collect();
        for program in &programs {
            fixture.cache.put("claude", program, None).expect("put");
        }
        let known = programs.iter().filter(|program| fixture.cache.get("claude", program).is_some()).count();
        assert!(known == MOST && fixture.cache.get("claude", &programs[39]).is_some());
    }

    #[test]
    fn without_a_place_for_state_nothing_is_known_and_nothing_fails() {
        let cache = VersionCache::of(&State::of(&Env::from_iter([("X", "y")])));
        cache.put("claude", Path::new("/bin/sh"), Some((1, 2, 3))).expect("no error");
        assert_eq!(cache.get("claude", Path::new("/bin/sh")), None);
    }
}
