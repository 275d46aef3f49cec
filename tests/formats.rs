//! Every file of `tests/fixtures/configs` through the pure half of the engine: what its row in the README there says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use agent_notify::claim::{Content, Entry, Hooks, Over, Setting, Shape};
use agent_notify::engine::{DiffKind, Edit, EntryState, Memory, Options, Refusal, Rung, Spliced, diff, inspect, put, take, without_ours};
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

#[path = "formats/changes.rs"]
mod changes;
#[path = "formats/property.rs"]
mod property;

const CLAUDE_EVENTS: [&str; 8] =
    ["Stop", "StopFailure", "PermissionRequest", "Notification", "PostToolUse", "PreToolUse", "SessionStart", "SessionEnd"];
const CURSOR_EVENTS: [&str; 5] = ["stop", "afterFileEdit", "beforeShellExecution", "sessionEnd", "afterShellExecution"];

fn claude_at(path: &str) -> Content {
    let entry = |event| Entry { event, matcher: None, command: format!("{path} hook claude"), timeout: 10 };
    Content::Hooks(Hooks {
        agent: "claude",
        shape: Shape::Grouped,
        entries: ["Stop", "StopFailure", "PermissionRequest", "Notification"].map(entry).to_vec(),
        settings: vec![Setting { key: "preferredNotifChannel", value: "notifications_disabled".into(), over: Over::Replace }],
        known_events: &CLAUDE_EVENTS,
    })
}

fn cursor_at(path: &str) -> Content {
    Content::Hooks(Hooks {
        agent: "cursor",
        shape: Shape::Flat,
        entries: vec![Entry { event: "stop", matcher: None, command: format!("{path} hook cursor"), timeout: 10 }],
        settings: vec![Setting { key: "version", value: 1.into(), over: Over::Keep }],
        known_events: &CURSOR_EVENTS,
    })
}

const PLACE: &str = "/home/u/.local/bin/agent-notify";

fn content(agent: &str) -> Content {
    if agent == "claude" { claude_at(PLACE) } else { cursor_at(PLACE) }
}

const PLAIN: Options = Options { force: false };
const FORCE: Options = Options { force: true };

/// What a README row says about a fixture.
enum Row {
    Edit,
    /// Line of the note, and a part of its text.
    Note(usize, &'static str),
    /// Line and column, byte, a part of the text. With `--force` too.
    Refuse(Option<(usize, usize)>, Option<usize>, &'static str),
    /// The same without `--force`; an edit with it.
    Unless(usize, usize, &'static str),
}

fn row(name: &str) -> Row {
    use Row::{Edit, Note, Refuse, Unless};
    match name {
        "claude/comments.json" => Unless(2, 3, "comments"),
        "claude/trailing-comma.json" => Unless(5, 19, "trailing comma"),
        "claude/duplicate-hooks.json" => Refuse(Some((6, 3)), None, "\"hooks\" stands there twice"),
        "claude/duplicate-event.json" => Refuse(Some((5, 5)), None, "\"Stop\" stands there twice"),
        "claude/duplicate-elsewhere.json" => Note(2, "\"A\" stands there twice"),
        "claude/hooks-null.json" => Refuse(Some((3, 12)), None, "\"hooks\" is no object"),
        "claude/hooks-array.json" => Refuse(Some((2, 12)), None, "\"hooks\" is no object"),
        "claude/stop-object.json" => Refuse(Some((3, 13)), None, "\"Stop\" is no array"),
        "claude/flat-entry.json" => Note(4, "no inner \"hooks\": Claude Code drops it"),
        "claude/root-array.json" => Refuse(Some((1, 1)), None, "no JSON object"),
        "claude/too-deep.json" => Refuse(Some((2, 523)), None, "nested too deeply"),
        "claude/truncated.json" => Refuse(Some((11, 19)), None, "ends too early"),
        "claude/nul.json" => Refuse(Some((2, 15)), None, "NUL"),
        "claude/lone-surrogate.json" => Refuse(Some((2, 18)), None, "surrogate"),
        "claude/invalid-utf8.json" => Refuse(None, Some(25), "byte 25 is not UTF-8"),
        "claude/utf16.json" => Refuse(None, None, "UTF-16"),
        "claude/json5.json" => Refuse(Some((2, 3)), None, "no valid JSON"),
        "claude/disabled-hooks.json" => Note(2, "no hook at all"),
        "claude/unknown-event.json" => Note(3, "there is no event \"OnFinish\""),
        "cursor/no-version.json" => Note(1, "\"version\" is missing, and is added"),
        "cursor/unknown-event.json" => Note(4, "\"notification\": Cursor ignores every hook in this file"),
        "cursor/url-in-command.json" => Note(5, "URL in this command: Cursor ignores every hook in this file"),
        "cursor/claude-shape.json" => Note(5, "Cursor ignores every hook in this file"),
        "cursor/comments.json" => Unless(4, 5, "comments"),
        "cursor/version-2.json" => Refuse(Some((3, 12)), None, "\"hooks\" is no object"),
        _ => Edit,
    }
}

/// All fixtures of an agent by their names `AGENT/FILE`.
fn fixtures(agent: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/configs").join(agent);
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("an entry");
        (format!("{agent}/{}", entry.file_name().to_string_lossy()), std::fs::read(entry.path()).expect("a fixture"))
    };
    let all: BTreeMap<_, _> = std::fs::read_dir(folder).expect("fixtures").map(read).collect();
    assert!(all.len() > 5);
    all.into_iter().filter(|(name, _)| !name.contains(".after-uninstall.")).collect()
}

/// What the caller keeps of an installation.
fn remember(content: &Content, original: Option<&[u8]>, memory: &Memory, spliced: &Spliced) -> Memory {
    let base = match original {
        None => None,
        Some(_) if memory.written.as_deref() == original => memory.base.clone(),
        Some(bytes) if memory.written.is_some() => take(content, bytes, memory).expect("taken").content,
        Some(bytes) => without_ours(content, bytes).expect("without ours"),
    };
    let absent = original.is_none() || (memory.absent && base.is_none());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let edit = Edit::between(&text(base.as_deref().unwrap_or_default()), &text(&spliced.content));
    Memory {
        base,
        absent,
        written: Some(spliced.content.clone()),
        edit: Some(edit),
        created: spliced.created.clone(),
        replaced: spliced.replaced.clone(),
    }
}

fn shown_refusal(refusal: &Refusal) -> String {
    let place = match (refusal.position, refusal.byte) {
        (Some((line, column)), _) => format!("{line}:{column}: "),
        (None, Some(byte)) => format!("byte {byte}: "),
        (None, None) => String::new(),
    };
    format!("refused: {place}{}\n  hint: {}\n", refusal.what, refusal.hint.as_deref().unwrap_or("-"))
}

fn shown(path: &str, original: Option<&[u8]>, spliced: &Spliced) -> String {
    let mut text = String::new();
    for note in &spliced.notes {
        writeln!(text, "note: {:?}: {}", note.position, note.text).expect("a string");
    }
    for line in diff(path, original, Some(&spliced.content)) {
        writeln!(text, "{}", line.text).expect("a string");
    }
    text
}

/// All values with their raw text, in order, without ours: what a foreign reader has to find again. Reads with the parser
/// alone, and knows ours by the place of the program.
fn foreign_values(bytes: &[u8], agent: &str) -> String {
    let text = str::from_utf8(bytes).expect("text").trim_start_matches('\u{feff}');
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &Default::default()).expect("JSON");
    let mut out = String::new();
    if let Some(Value::Object(root)) = &parsed.value {
        for property in &root.properties {
            if ["preferredNotifChannel", "version"].contains(&property.name.as_str()) {
                continue;
            }
            let mut value = String::new();
            values(&property.value, text, agent, &mut value);
            if property.name.as_str() != "hooks" || !value.is_empty() {
                writeln!(out, "{}: {value}", property.name.range().text(text)).expect("a string");
            }
        }
    }
    out
}

fn is_ours(value: &Value, agent: &str) -> bool {
    let Some(command) = value.as_object().and_then(|object| object.get_string("command")) else { return false };
    let program = command.value.split(" hook ").next().unwrap_or_default().trim_matches('\'');
    let program = program.rsplit('/').next().unwrap_or_default();
    let is_call = command.value.contains(&format!(" hook {agent}")) || value.as_object().is_some_and(|object| object.get("args").is_some());
    program == "agent-notify" && is_call && !command.value.starts_with("env ")
}

/// Nothing for what is empty once ours is out.
fn values(value: &Value, text: &str, agent: &str, out: &mut String) {
    if is_ours(value, agent) {
        return;
    }
    match value {
        Value::Object(object) => {
            for property in &object.properties {
                let mut inner = String::new();
                values(&property.value, text, agent, &mut inner);
                if !inner.is_empty() {
                    write!(out, "{}={{{inner}}}", property.name.range().text(text)).expect("a string");
                }
            }
        }
        Value::Array(array) => {
            for element in &array.elements {
                let mut inner = String::new();
                values(element, text, agent, &mut inner);
                if !inner.is_empty() {
                    write!(out, "[{inner}]").expect("a string");
                }
            }
        }
        leaf => out.push_str(leaf.range().text(text)),
    }
}

/// Every comment, in the file's order.
fn comments(bytes: &[u8]) -> Vec<String> {
    let text = str::from_utf8(bytes).expect("text").trim_start_matches('\u{feff}');
    let options = jsonc_parser::CollectOptions { comments: jsonc_parser::CommentCollectionStrategy::AsTokens, tokens: true };
    let parsed = jsonc_parser::parse_to_ast(text, &options, &Default::default()).expect("JSON");
    let is_comment = |piece: &&str| piece.starts_with("//") || piece.starts_with("/*");
    parsed.tokens.expect("tokens").iter().map(|token| token.range.text(text)).filter(is_comment).map(str::to_owned).collect()
}

fn is_subsequence(part: &[u8], whole: &[u8]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|byte| whole.any(|other| other == byte))
}

/// The whole life of one file: what is put, put again, and taken out.
fn check_edit(name: &str, agent: &str, original: Option<&[u8]>, options: &Options) -> String {
    let content = content(agent);
    let spliced = put(&content, original, &Memory::default(), options).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
    let strict = serde_json::from_slice::<serde_json::Value>(spliced.content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&spliced.content));
    if !options.force && !name.contains("numbers") {
        strict.unwrap_or_else(|error| panic!("{name}: not strict JSON: {error}"));
    }
    let is_changed_in_place = ["/own-", "channel-set", "whitespace", "braces-space"].iter().any(|part| name.contains(part));
    if let Some(original) = original {
        assert_eq!(foreign_values(original, agent), foreign_values(&spliced.content, agent), "{name}: foreign values");
        assert_eq!(comments(original), comments(&spliced.content), "{name}: comments");
        assert!(is_changed_in_place || is_subsequence(original, &spliced.content), "{name}: a byte is gone");
        let ends = |bytes: &[u8]| bytes.ends_with(b"\n");
        assert!(original.trim_ascii().is_empty() || ends(original) == ends(&spliced.content), "{name}: final newline");
        let removed = diff(name, Some(original), Some(&spliced.content)).iter().filter(|line| line.kind == DiffKind::Removed).count();
        assert!(is_changed_in_place || removed <= 3, "{name}: {removed} lines removed");
    }
    let inspection = inspect(&content, &spliced.content).expect("inspected");
    assert!(inspection.is_complete(), "{name}: {inspection:?}");
    assert!(inspection.entries.iter().all(|(_, state)| *state == EntryState::Current), "{name}: {inspection:?}");

    let memory = remember(&content, original, &Memory::default(), &spliced);
    for memory in [&memory, &Memory::default()] {
        let again = put(&content, Some(&spliced.content), memory, options).expect("put again");
        assert_eq!(again.content, spliced.content, "{name}: a second put changes something");
    }
    assert_eq!(put(&content, Some(&spliced.content), &memory, options).expect("put again").created, memory.created, "{name}");

    let taken = take(&content, &spliced.content, &memory).expect("taken");
    let after = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/configs").join(name.replace(".json", ".after-uninstall.json"));
    let expected = if name.contains("/own-") { Some(std::fs::read(after).expect("a fixture")) } else { original.map(<[u8]>::to_vec) };
    let equal = |taken: &Option<Vec<u8>>| *taken == expected;
    assert!(equal(&taken.content), "{name}: {}", String::from_utf8_lossy(taken.content.as_deref().unwrap_or(b"(deleted)")));
    assert_eq!(taken.rung, Rung::Exact, "{name}");

    // The lower rungs, as if the file had been written by somebody else since; blanks inside empty braces excepted.
    let reversed = take(&content, &spliced.content, &Memory { written: None, ..memory.clone() }).expect("reversed");
    assert!(equal(&reversed.content), "{name}: reversed");
    let structural = take(&content, &spliced.content, &Memory { written: None, edit: None, ..memory.clone() }).expect("structural");
    let is_equal = equal(&structural.content) || name.contains("braces-space");
    assert!(is_equal || name == "absent", "{name}: {}", String::from_utf8_lossy(structural.content.as_deref().unwrap_or(b"(deleted)")));
    // A caller that kept the original as it was, with an entry of ours in it.
    let raw = Memory { base: original.map(<[u8]>::to_vec), ..memory };
    assert!(equal(&take(&content, &spliced.content, &raw).expect("taken").content), "{name}: with a raw base");
    shown(name, original, &spliced)
}

fn check_row(name: &str, agent: &str, original: &[u8]) -> String {
    let refuse = |options: &Options| put(&content(agent), Some(original), &Memory::default(), options).expect_err(name);
    match row(name) {
        Row::Edit => check_edit(name, agent, Some(original), &PLAIN),
        Row::Note(line, part) => {
            let spliced = put(&content(agent), Some(original), &Memory::default(), &PLAIN).expect(name);
            let has = spliced.notes.iter().any(|note| note.text.contains(part) && note.position.is_some_and(|(at, _)| at == line));
            assert!(has, "{name}: {:?}", spliced.notes);
            check_edit(name, agent, Some(original), &PLAIN)
        }
        Row::Refuse(position, byte, part) => {
            for options in [PLAIN, FORCE] {
                let refusal = refuse(&options);
                assert!(refusal.what.contains(part), "{name}: {refusal:?}");
                assert_eq!((refusal.position, refusal.byte), (position, byte), "{name}: {refusal:?}");
                assert!(refusal.snippet.contains("\"hooks\"") && refusal.hint.is_some(), "{name}");
            }
            shown_refusal(&refuse(&PLAIN))
        }
        Row::Unless(line, column, part) => {
            let refusal = refuse(&PLAIN);
            assert!(refusal.what.contains(part), "{name}: {refusal:?}");
            assert_eq!(refusal.position, Some((line, column)), "{name}");
            format!("{}--force:\n{}", shown_refusal(&refusal), check_edit(name, agent, Some(original), &FORCE))
        }
    }
}

fn table(agent: &str) -> String {
    let mut report = format!("## absent\n{}", check_edit("absent", agent, None, &PLAIN));
    for (name, original) in fixtures(agent) {
        write!(report, "\n## {name}\n{}", check_row(&name, agent, &original)).expect("a string");
    }
    report
}

#[test]
fn every_claude_file_is_edited_or_refused_as_its_row_says() {
    insta::assert_snapshot!(table("claude"));
}

#[test]
fn every_cursor_file_is_edited_or_refused_as_its_row_says() {
    insta::assert_snapshot!(table("cursor"));
}
