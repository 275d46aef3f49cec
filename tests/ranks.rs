//! The shape of the source: a module imports strictly lower ranks only (its own top folder excepted), and no file grows
//! beyond 400 lines of code. Reads the text of `src/`; needs no program.

use std::path::{Path, PathBuf};

/// Top modules by rank. `main.rs` and `lib.rs` may use everything.
const RANKS: [&[&str]; 7] = [
    &["event", "environment", "process", "protocol", "files", "claim"],
    &["config", "state"],
    &["engine", "terminal", "release"],
    &["agents"],
    // These two never reach each other.
    &["notify", "install"],
    &["doctor", "deploy"],
    &["cli"],
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
    if code.contains("super::super") {
        complain("super::super hides where an import comes from".into());
    }
    if own == "main" || own == "lib" {
        return found;
    }
    let Some(own_rank) = rank(&own) else {
        complain(format!("module {own} has no rank"));
        return found;
    };
    // `super::` in a top module (`terminal.rs`, `terminal/mod.rs`) is the crate; deeper it stays inside the folder.
    let is_top = path.iter().count() == 1 || (path.iter().count() == 2 && path.ends_with("mod.rs"));
    let outside_tests = code.split("#[cfg(test)]").next().unwrap_or_default();
    let mut imported = targets(&code, "crate::");
    if is_top {
        imported.extend(targets(outside_tests, "super::"));
    }
    imported.sort();
    imported.dedup();
    for module in imported.into_iter().filter(|module| *module != own) {
        match rank(&module) {
            Some(other) if other < own_rank => {}
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
        let rest = code[at + prefix.len()..].trim_start();
        match rest.strip_prefix('{') {
            Some(group) => found.extend(group_heads(group)),
            None => found.extend(identifier(rest)),
        }
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
    assert_eq!(count("terminal/osc.rs", "use super::super::event::Text;"), 1, "super::super");
    assert_eq!(count("terminal/mod.rs", "use super::agents::Agent;"), 1, "super of a top module is the crate");
    assert_eq!(count("novel.rs", ""), 1, "a module without a rank");
    assert_eq!(count("main.rs", "use crate::cli::run;"), 0);
    assert_eq!(count("cli/mod.rs", "use crate::{doctor, notify::{self}, event as e}; use crate::cli::log;"), 0);
    assert_eq!(count("terminal/osc.rs", "use super::tmux; use crate::terminal::tty; use other_crate::cli; // crate::cli"), 0);
}

#[test]
fn code_is_counted_without_comments_blank_lines_and_tests() {
    assert_eq!(code_lines("//! Doc\n\nfn a() {\n    // why\n    b()\n}\n#[cfg(test)]\nmod tests {\n}\n"), 3);
}
