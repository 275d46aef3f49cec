//! Every file of `tests/fixtures/configs` for Claude Code and Cursor through its whole life in a HOME: what its row in the
//! README there says, read from that README.

use std::path::{Path, PathBuf};

use crate::host::{CONFIG, HOOKS, Host, SETTINGS};
use crate::support::Outcome;

/// A row of the README: a file, what `install` does with it, what `uninstall` leaves.
#[derive(Clone, Debug)]
struct Row {
    file: String,
    install: String,
    uninstall: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/configs")
}

fn rows(agent: &str) -> Vec<Row> {
    let readme = std::fs::read_to_string(folder().join("README.md")).expect("the README");
    let section = readme.split("\n## ").find(|section| section.starts_with(&format!("{agent}/"))).expect("a section");
    let mut rows = Vec::new();
    for line in section.lines().filter(|line| line.starts_with('|') && line.contains(".json")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned()).collect();
        let (install, uninstall) = (&cells[cells.len() - 2], &cells[cells.len() - 1]);
        for file in cells[0].split(", ") {
            rows.push(Row { file: file.to_owned(), install: install.clone(), uninstall: uninstall.clone() });
        }
    }
    let files = std::fs::read_dir(folder().join(agent)).expect("fixtures").map(|entry| entry.expect("an entry").file_name());
    let mut files: Vec<_> = files.map(|name| name.into_string().expect("text")).filter(|name| !name.contains(".after-")).collect();
    let mut named: Vec<_> = rows.iter().map(|row| row.file.clone()).collect();
    files.sort();
    named.sort();
    assert_eq!(files, named, "a row for every file");
    rows
}

/// The number behind a word: `line 2 column 3`.
fn number(text: &str, word: &str) -> Option<usize> {
    let (_, rest) = text.split_once(&format!("{word} "))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

struct Case<'row> {
    host: Host,
    row: &'row Row,
    /// Of the agent's file, below HOME.
    path: &'static str,
    agent: &'static str,
    original: Vec<u8>,
    mode: u32,
}

impl<'row> Case<'row> {
    fn new(agent: &'static str, row: &'row Row, mode: u32) -> Self {
        let (host, path) = match agent {
            "claude" => (Host::empty().with_claude(), SETTINGS),
            _ => (Host::empty().with_cursor(), HOOKS),
        };
        let original = std::fs::read(folder().join(agent).join(&row.file)).expect("a fixture");
        host.write(path, &original);
        host.set_mode(path, mode);
        Self { host, row, path, agent, original, mode }
    }

    fn is_refused(&self) -> bool {
        self.row.install.starts_with("refuse")
    }

    fn has_force(&self) -> bool {
        self.row.install.contains("`--force`: edit")
    }

    fn install(&self, force: bool) -> Outcome {
        let arguments = ["install", "--yes", "--no-test", "--force"];
        self.host.run(&arguments[..if force { 4 } else { 3 }])
    }

    /// Status 3, the place in the message, nothing written anywhere.
    fn refuses(&self, force: bool) {
        let Row { file, install, .. } = self.row;
        let before = self.host.tree_without_memory();
        let outcome = self.install(force);
        outcome.code(3).stderr_has(&format!("~/{}", self.path)).stderr_has("nothing was written").stderr_has("hint:");
        outcome.stderr_has("\"hooks\"").stderr_has("agent-notify hook");
        assert_eq!(outcome.text(), "", "{file}");
        self.host.tree_without_memory().is(&before, file);
        assert_eq!(self.host.transactions(), [""; 0], "{file}");
        if let Some(line) = number(install, "line") {
            outcome.stderr_has(&format!("line {line}, column "));
        }
        if let Some(column) = number(install, "column") {
            outcome.stderr_has(&format!(", column {column}:"));
        }
        if let Some(byte) = number(install, "byte") {
            outcome.stderr_has(&format!("byte {byte}"));
        }
        if let Some(words) = install.split('"').nth(1) {
            outcome.stderr_has(words);
        }
        if force {
            return;
        }
        // Once more for programs, and by those who only look.
        let json = self.host.run(&["install", "--check", "--json"]).code(3).json();
        assert_eq!(json["conflicts"].as_array().map(Vec::len), Some(1), "{file}: {json}");
        assert_eq!(json["conflicts"][0]["owner"], self.agent, "{file}");
        self.host.tree_without_memory().is(&before, file);
        let status = self.host.run(&["status", "--json"]).success().json();
        assert!(self.has_force() || status["agents"][0]["problem"].is_string(), "{file}: {status}");
    }

    /// In, in again, out.
    fn goes_round(&self, force: bool) {
        let file = &self.row.file;
        let host = &self.host;
        let before = host.tree_without_memory();
        let outcome = self.install(force);
        outcome.success();
        if self.row.install.contains("note") {
            let line = number(&self.row.install, "line").map(|line| format!("{line}:")).unwrap_or_default();
            outcome.stdout_has(&format!("note: ~/{}:{line}", self.path));
        }
        assert_eq!(host.mode(self.path), self.mode, "{file}");
        let installed = host.read(self.path);
        assert_ne!(installed, self.original, "{file}");
        let ids = host.transactions();
        assert_eq!(ids.len(), 1, "{file}");

        let tree = host.tree_without_lock();
        self.install(force).success().stdout_has("everything is in place");
        host.tree_without_lock().is(&tree, &format!("{file}: the second install"));
        let tree = host.tree();
        assert_eq!(host.transactions(), ids, "{file}");
        let look: &[&str] = if force { &["install", "--check", "--force"] } else { &["install", "--check"] };
        host.run(look).success();
        assert_eq!(host.state(self.agent), "installed", "{file}");
        host.tree().is(&tree, &format!("{file}: looking"));
        assert_eq!(host.started(), "", "{file}");

        host.uninstall();
        let after = folder().join(self.agent).join(file.replace(".json", ".after-uninstall.json"));
        let wanted =
            if self.row.uninstall.contains(".after-uninstall.") { std::fs::read(after).expect("a fixture") } else { self.original.clone() };
        let left = host.read(self.path);
        assert!(left == wanted, "{file} after uninstall: {}", String::from_utf8_lossy(&left));
        assert_eq!(host.mode(self.path), self.mode, "{file}");
        let new: Vec<_> = host.tree_without_memory().0.into_keys().filter(|path| !before.0.contains_key(path)).collect();
        // The person's configuration stays until a purge.
        assert_eq!(new, [".config", ".config/agent-notify", CONFIG].map(PathBuf::from), "{file}: left behind");
    }
}

fn check(agent: &'static str) {
    for (index, row) in rows(agent).iter().enumerate() {
        let mode = [0o600, 0o640][index % 2];
        let case = Case::new(agent, row, mode);
        if case.is_refused() {
            case.refuses(false);
            if case.has_force() {
                case.goes_round(true);
            } else {
                case.refuses(true);
            }
        } else {
            assert!(row.install.starts_with("edit"), "{row:?}");
            case.goes_round(false);
        }
    }
}

#[test]
fn every_claude_file_goes_in_and_out_as_its_row_says() {
    check("claude");
}

#[test]
fn every_cursor_file_goes_in_and_out_as_its_row_says() {
    check("cursor");
}

#[test]
fn the_mode_stays_whatever_it_is() {
    for mode in [0o600, 0o640, 0o644, 0o664] {
        let host = Host::new();
        for path in [SETTINGS, HOOKS] {
            host.write(path, "{}");
            host.set_mode(path, mode);
        }
        host.install();
        assert_eq!([host.mode(SETTINGS), host.mode(HOOKS)], [mode, mode]);
        host.uninstall();
        assert_eq!([host.mode(SETTINGS), host.mode(HOOKS)], [mode, mode]);
    }
}

#[test]
fn a_file_that_was_not_there_is_not_there_again() {
    let host = Host::new();
    let before = host.tree();
    host.install();
    for path in [SETTINGS, HOOKS] {
        assert_eq!(host.mode(path), 0o600, "{path}");
        assert!(host.text(path).ends_with("}\n"), "{path}");
    }
    let tree = host.tree_without_lock();
    host.install();
    host.tree_without_lock().is(&tree, "the second install");
    host.run(&["install", "--check"]).success();
    for agent in ["claude", "cursor"] {
        assert_eq!(host.state(agent), "installed", "{agent}");
    }
    host.uninstall().within(std::time::Duration::from_secs(5));
    for path in [SETTINGS, HOOKS, ".claude", ".cursor"] {
        assert!(!host.exists(path), "{path} was made by the installer");
    }
    host.run(&["uninstall", "--yes"]).success().stdout_has("nothing of agent-notify is installed");
    host.run(&["uninstall", "--purge", "--yes"]).success();
    host.tree().has_the_names_of(&before, "after a purge");
}

#[test]
fn a_folder_that_the_agent_used_meanwhile_stays() {
    let host = Host::new();
    host.install();
    host.write(".claude/projects/x.jsonl", "{}\n");
    host.write(".cursor/cli-config.json", "{}\n");
    host.uninstall();
    assert!(host.exists(".claude/projects/x.jsonl") && host.exists(".cursor/cli-config.json"));
    assert!(!host.exists(SETTINGS) && !host.exists(HOOKS));
}

#[test]
fn a_folder_that_was_there_before_stays_even_if_it_is_empty() {
    let host = Host::new();
    for folder in [".claude", ".cursor", ".config"] {
        std::fs::create_dir_all(host.path(folder)).expect("a folder");
    }
    let before = host.tree();
    host.install();
    host.run(&["uninstall", "--purge", "--yes"]).success();
    host.tree().has_the_names_of(&before, "after a purge");
}
