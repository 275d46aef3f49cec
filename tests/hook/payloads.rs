//! The list of all hook payloads and what a notifier is to do with each: read from the notes beside the fixtures.

use std::collections::BTreeMap;

use super::support::payload::folder;

/// What a person is told with default settings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wanted {
    Stop,
    Input,
    Error,
    Nothing,
}

impl Wanted {
    /// The kind as it stands in the log.
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Self::Stop => Some("stop"),
            Self::Input => Some("input"),
            Self::Error => Some("error"),
            Self::Nothing => None,
        }
    }
}

/// Every hook payload with what it is to do. What extensions receive inside an agent, and socket replies, are no hook payloads.
pub fn all() -> BTreeMap<String, Wanted> {
    let mut all = BTreeMap::new();
    // Columns: file, version, action.
    read("README.md", 3, &mut all);
    read("README-cursor-pi-others.md", 3, &mut all);
    all
}

fn read(notes: &str, action: usize, all: &mut BTreeMap<String, Wanted>) {
    let text = std::fs::read_to_string(folder().join(notes)).expect("notes");
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let file = cells[0];
        let is_hook = file.ends_with(".json")
            && !["pi/events/", "pi/bus/"].iter().any(|part| file.starts_with(part))
            && !["cmux-", "herdr-"].iter().any(|part| file.contains(part));
        if is_hook {
            all.insert(file.to_owned(), wanted(file, cells[action]));
        }
    }
}

fn wanted(file: &str, action: &str) -> Wanted {
    // Captured from `codex exec`, as its field `client` says, whatever its row says.
    if file == "codex/notify-turn-complete-v0.120.0.json" {
        return Wanted::Nothing;
    }
    // Cursor's IDE is silent by default; so is what needs `policy.headless`.
    if (file.starts_with("cursor/") && is_ide(file)) || action.contains("only when") {
        return Wanted::Nothing;
    }
    match action.split_whitespace().next() {
        Some("finished") => Wanted::Stop,
        Some("needs_input") => Wanted::Input,
        Some("error") => Wanted::Error,
        Some("ignore" | "idle" | "tool") => Wanted::Nothing,
        other => panic!("{file}: what is {other:?}?"),
    }
}

fn is_ide(file: &str) -> bool {
    let text = std::fs::read_to_string(folder().join(file)).expect("a payload");
    text.contains("\"cursor_version\":\"3.")
}

#[test]
fn the_notes_name_every_payload() {
    let all = all();
    let mut missing = Vec::new();
    let mut folders = vec![folder()];
    while let Some(current) = folders.pop() {
        for entry in std::fs::read_dir(current).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder()).expect("inside").display().to_string();
            let other = name.starts_with("pi/events/") || name.starts_with("pi/bus/") || name.contains("cmux-") || name.contains("herdr-");
            if name.ends_with(".json") && !other && !all.contains_key(&name) {
                missing.push(name);
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert!(all.len() > 200, "{}", all.len());
}
