//! The shape of the source: a module imports strictly lower ranks only (its own top folder excepted), and no file grows
//! beyond 400 lines of code. Reads the text of `src/`; needs no program.

use std::path::{Path, PathBuf};

/// Top modules by rank. `main.rs` and `lib.rs` may use everything.
const RANKS: [&[&str]; 7] = [
    &["event", "environment", "error", "process", "protocol", "files", "claim"],
    &["config", "state"],
    &["engine", "terminal", "release"],
    &["agents"],
    // These two never reach each other.
    &["notify", "install"],
    &["doctor", "deploy"],
    &["cli"],
];

/// Imports within a rank that are meant: who imports whom, and why.
const MEANT: [(&str, &str); 1] = [
    // A process hands out its environment as the value that everyone else reads.
    ("process", "environment"),
];

/// Code lines of one file, without comments, blank lines and tests.
const LIMIT: usize = 400;

#[test]
fn modules_import_lower_ranks_only() {
    let violations: Vec<_> = sources().iter().flat_map(|(path, text)| violations(path, text)).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn no_file_has_more_than_400_lines_of_code() {
    let long: Vec<_> = sources()
        .iter()
        .map(|(path, text)| (path, code_lines(text)))
        .filter(|(_, lines)| *lines > LIMIT)
        .map(|(path, lines)| format!("{}: {lines} lines of code", path.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// Every Rust file below `src/`, by its path there.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                files.push((path.strip_prefix(&root).expect("below src").to_owned(), text));
            }
        }
    }
    assert!(!files.is_empty());
    files.sort();
    files
}

fn rank(module: &str) -> Option<usize> {
    RANKS.iter().position(|modules| modules.contains(&module))
}

/// The top module that a file belongs to: `terminal/osc.rs` and `terminal.rs` to `terminal`.
fn top_module(path: &Path) -> String {
    let first = path.iter().next().expect("a path").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// What one file imports against the order.
fn violations(path: &Path, text: &str) -> Vec<String> {
    let own = top_module(path);
    let code = without_comments(text);
    let mut found = Vec::new();
    let mut complain = |what: String| found.push(format!("{}: {what}", path.display()));
    if own == "main" || own == "lib" {
        return found;
    }
    let Some(own_rank) = rank(&own) else {
        complain(format!("module {own} has no rank"));
        return found;
    };
    let mut imported = targets(&code, "crate::");
    imported.extend(targets_above(path, &code));
    imported.sort();
    imported.dedup();
    for module in imported.into_iter().filter(|module| *module != own) {
        match rank(&module) {
            Some(other) if other < own_rank => {}
            Some(other) if other == own_rank && MEANT.contains(&(own.as_str(), module.as_str())) => {}
            Some(other) => complain(format!("{own} (rank {own_rank}) imports {module} (rank {other})")),
            // A function or type at the crate's root.
            None => complain(format!("{own} imports {module}, which has no rank")),
        }
    }
    found
}

/// The first component after every `prefix`, also in groups: `crate::{event::{A, B}, process}` gives event and process.
fn targets(code: &str, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        // `some_crate::` and `$crate::` end in the same letters.
        if code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':') {
            continue;
        }
        found.extend(heads(&code[at + prefix.len()..]));
    }
    found
}

/// The first components of what follows `crate::`: one name or a group.
fn heads(rest: &str) -> Vec<String> {
    let rest = rest.trim_start();
    match rest.strip_prefix('{') {
        Some(group) => group_heads(group),
        None => identifier(rest).into_iter().collect(),
    }
}

/// What is imported by `super::…` that leads out of the top module to the crate's root.
fn targets_above(path: &Path, code: &str) -> Vec<String> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    // `terminal/tty.rs` is `terminal::tty`; tests in a file of their own are a module below it.
    let depth = path.iter().count() - usize::from(name == "mod") + usize::from(name.ends_with("_tests"));
    let tests = code.find("#[cfg(test)]").unwrap_or(code.len());
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = code[at..].find("super::").map(|offset| at + offset) {
        let rest = code[start..].trim_start_matches("super::");
        let supers = (code.len() - start - rest.len()) / "super::".len();
        if supers >= depth + usize::from(start > tests) {
            found.extend(heads(rest));
        }
        at = code.len() - rest.len();
    }
    found
}

/// The identifiers at depth 0 of a `{…}` group, whose opening brace is already gone.
fn group_heads(group: &str) -> Vec<String> {
    let (mut heads, mut depth, mut item) = (Vec::new(), 0_usize, String::new());
    for character in group.chars() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                heads.extend(identifier(item.trim_start()));
                item.clear();
                continue;
            }
            _ => {}
        }
        item.push(character);
    }
    heads.extend(identifier(item.trim_start()));
    heads
}

/// The identifier at the start, `r#` left out.
fn identifier(text: &str) -> Option<String> {
    let name: String = text.trim_start_matches("r#").chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty() && name != "self").then_some(name)
}

/// The text without `//` comments; good enough for paths, which strings do not hold.
fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code)).collect::<Vec<_>>().join("\n")
}

/// Lines that hold code, up to the tests.
fn code_lines(text: &str) -> usize {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    code.lines().map(str::trim).filter(is_code).count()
}

#[test]
fn made_up_violations_are_found() {
    let count = |path: &str, text: &str| violations(Path::new(path), text).len();
    assert_eq!(count("event.rs", "use crate::config::Config;"), 1, "a higher rank");
    assert_eq!(count("state/mod.rs", "use crate::config::Config;"), 1, "the same rank");
    assert_eq!(count("notify/mod.rs", "fn f() { crate::install::run() }"), 1, "inline, the same rank");
    assert_eq!(count("agents/pi.rs", "use crate::{event::{Event, Kind}, notify::{x, cli}, process};"), 1, "in a group");
    assert_eq!(count("config/mod.rs", "use crate::{\n    cli::{A},\n    files,\n    doctor,\n};"), 2, "two in a group over lines");
    assert_eq!(count("terminal/osc.rs", "use super::super::agents::Agent;"), 1, "super::super out of the module");
    assert_eq!(count("terminal/osc.rs", "use super::super::{event::Text, cli};"), 1, "in a group");
    assert_eq!(count("agents/codex/payload.rs", "use super::super::super::notify::hook;"), 1, "three levels");
    assert_eq!(count("terminal/mod.rs", "use super::agents::Agent;"), 1, "super of a top module is the crate");
    assert_eq!(count("terminal/tty.rs", "#[cfg(test)]\nmod tests { use super::super::super::cli::run; }"), 1, "in tests");
    assert_eq!(count("agents/codex/payload.rs", "use super::super::pi; pub(in super::super) fn f() {}"), 0, "inside the module");
    assert_eq!(count("terminal/tty.rs", "#[cfg(test)]\nmod tests { use super::super::osc; use super::*; }"), 0);
    assert_eq!(count("terminal/route_tests.rs", "use super::super::osc;"), 0);
    assert_eq!(count("novel.rs", ""), 1, "a module without a rank");
    assert_eq!(count("main.rs", "use crate::cli::run;"), 0);
    assert_eq!(count("cli/mod.rs", "use crate::{doctor, notify::{self}, event as e}; use crate::cli::log;"), 0);
    assert_eq!(count("terminal/osc.rs", "use super::tmux; use crate::terminal::tty; use other_crate::cli; // crate::cli"), 0);
}

#[test]
fn meant_imports_within_a_rank_exist() {
    let all = sources();
    for (own, other) in MEANT {
        let needed = all.iter().any(|(path, text)| top_module(path) == own && targets(text, "crate::").contains(&other.to_owned()));
        assert!(needed, "{own} does not import {other} any more");
    }
}

#[test]
fn code_is_counted_without_comments_blank_lines_and_tests() {
    assert_eq!(code_lines("//! Doc\n\nfn a() {\n    // why\n    b()\n}\n#[cfg(test)]\nmod tests {\n}\n"), 3);
}
