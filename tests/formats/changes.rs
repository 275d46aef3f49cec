//! Edits by the person between installation and removal, upgrades, and what else the table does not show.

use super::*;

/// A file with ours in it, and what is remembered of that.
fn installed(content: &Content, original: Option<&str>) -> (String, Memory) {
    let spliced = put(content, original.map(str::as_bytes), &Memory::default(), &FORCE).expect("put");
    let memory = remember(content, original.map(str::as_bytes), &Memory::default(), &spliced);
    (String::from_utf8(spliced.content).expect("text"), memory)
}

fn taken(content: &Content, current: &str, memory: &Memory) -> (Option<String>, Rung) {
    let taken = take(content, current.as_bytes(), memory).expect("taken");
    (taken.content.map(|bytes| String::from_utf8(bytes).expect("text")), taken.rung)
}

/// Claude's content with one event and no setting.
fn stop_only(path: &str) -> Content {
    let Content::Hooks(hooks) = claude_at(path) else { unreachable!("hooks") };
    let entries = hooks.entries.into_iter().filter(|entry| entry.event == "Stop").collect();
    Content::Hooks(Hooks { entries, settings: Vec::new(), ..hooks })
}

fn stop_with(entry: &str) -> String {
    format!("{{\n  \"hooks\": {{\n    \"Stop\": [\n      {{ \"hooks\": [ {entry} ] }}\n    ]\n  }}\n}}\n")
}

#[test]
fn a_key_added_elsewhere_stays_and_our_edit_is_turned_back() {
    let original = "{\n  \"model\": \"opus\"\n}\n";
    let content = stop_only(PLACE);
    let (text, memory) = installed(&content, Some(original));
    let changed = text.replace("{\n  \"model\"", "{\n  \"added\": 1,\n  \"model\"");
    assert_eq!(taken(&content, &changed, &memory), (Some(original.replace("  \"model\"", "  \"added\": 1,\n  \"model\"")), Rung::Reversed));
}

#[test]
fn a_file_that_was_not_there_is_deleted_unless_something_of_the_persons_is_in_it() {
    let content = cursor_at(PLACE);
    let (text, memory) = installed(&content, None);
    assert_eq!(taken(&content, &text, &memory), (None, Rung::Exact));
    let reformatted = text.replace("\n", "\n ");
    assert_eq!(taken(&content, &reformatted, &memory), (None, Rung::Structural));
    let emptied = "{\"version\":1,\"hooks\":{\"stop\":[]}}";
    assert_eq!(taken(&content, emptied, &memory), (None, Rung::Structural), "the person took the entry out");
    let commented = text.replace("{\n  \"version\"", "{\n  // mine\n  \"version\"");
    assert_eq!(taken(&content, &commented, &memory).0.as_deref(), Some("{\n  // mine\n}\n"));
}

#[test]
fn the_version_that_the_persons_own_cursor_hooks_need_stays_with_them() {
    let content = cursor_at(PLACE);
    let (text, memory) = installed(&content, None);
    let own = text.replace("\"stop\": [", "\"afterFileEdit\": [ { \"command\": \"fmt\" } ],\n    \"stop\": [");
    let (left, rung) = taken(&content, &own, &memory);
    assert_eq!(rung, Rung::Structural);
    assert_eq!(
        left.as_deref(),
        Some("{\n  \"version\": 1,\n  \"hooks\": {\n    \"afterFileEdit\": [ { \"command\": \"fmt\" } ]\n  }\n}\n")
    );
    // The same after another installation, whose original is the file with the person's hook.
    let again = put(&content, Some(own.as_bytes()), &memory, &PLAIN).expect("put");
    assert_eq!(again.content, own.as_bytes());
    let memory = remember(&content, Some(own.as_bytes()), &memory, &again);
    assert_eq!(taken(&content, &own, &memory).0, left);
    assert_eq!(taken(&content, &own, &Memory { written: None, edit: None, ..memory }).0, left);
}

#[test]
fn comments_inside_our_own_entry_survive_its_removal() {
    let content = stop_only(PLACE);
    let (text, memory) = installed(&content, Some("{\n  \"model\": \"opus\"\n}\n"));
    let changed = text.replace("\"timeout\": 10", "// why ten?\n            \"timeout\": 10 /* seconds */");
    let (left, rung) = taken(&content, &changed, &memory);
    let left = left.expect("a file");
    assert_eq!(rung, Rung::Structural);
    assert_eq!(comments(left.as_bytes()), ["// why ten?", "/* seconds */"]);
    assert_eq!(foreign_values(left.as_bytes(), "claude"), "\"model\": \"opus\"\n");
}

#[test]
fn an_upgrade_updates_the_path_in_place_and_the_first_original_comes_back() {
    let original = "{\n  \"hooks\": {}\n}\n";
    let old = claude_at("/opt/old/agent-notify");
    let (text, memory) = installed(&old, Some(original));
    let new = claude_at("'/opt/new place/agent-notify'");
    let spliced = put(&new, Some(text.as_bytes()), &memory, &PLAIN).expect("put");
    let upgraded = String::from_utf8(spliced.content.clone()).expect("text");
    assert_eq!(upgraded, text.replace("/opt/old/agent-notify", "'/opt/new place/agent-notify'"));
    let memory = remember(&new, Some(text.as_bytes()), &memory, &spliced);
    assert_eq!(memory.replaced, [("preferredNotifChannel".to_owned(), None)]);
    assert_eq!(taken(&new, &upgraded, &memory), (Some(original.to_owned()), Rung::Exact));
}

#[test]
fn own_entries_of_events_that_are_no_longer_wanted_go_with_what_was_made_for_them() {
    let (text, memory) = installed(&claude_at(PLACE), Some("{\n  \"hooks\": {\n    \"Notification\": []\n  }\n}\n"));
    let spliced = put(&stop_only(PLACE), Some(text.as_bytes()), &memory, &PLAIN).expect("put");
    insta::assert_snapshot!(str::from_utf8(&spliced.content).expect("text"), @r#"
    {
      "hooks": {
        "Notification": [],
        "Stop": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "/home/u/.local/bin/agent-notify hook claude",
                "timeout": 10
              }
            ]
          }
        ]
      }
    }
    "#);
    assert!(spliced.replaced.is_empty(), "the setting is no longer claimed and went back");
    assert_eq!(spliced.created, [vec!["hooks".to_owned(), "Stop".to_owned()]]);
}

#[test]
fn what_the_person_changed_in_our_entry_is_kept_and_reported_until_forced() {
    let content = stop_only(PLACE);
    let right = format!(r#"{{ "type": "command", "command": "{PLACE} hook claude", "timeout": 10 }}"#);
    for (entry, what) in [
        (right.replace("10", "30"), "timeout"),
        (right.replace("10", "10.0"), "timeout"),
        (right.replace(r#""timeout""#, r#""async": true, "timeout""#), "further keys"),
        (right.replace("hook claude", "hook claude --quiet"), "further arguments"),
        (right.replace("hook claude", "hook claude 2>/dev/null"), "further arguments"),
        (right.replace("hook claude", "hook claude || true"), "further arguments"),
    ] {
        let file = stop_with(&entry);
        let kept = put(&content, Some(file.as_bytes()), &Memory::default(), &PLAIN).expect("put");
        assert_eq!(str::from_utf8(&kept.content), Ok(file.as_str()));
        assert!(kept.notes.iter().any(|note| note.text.contains(what) && note.position == Some((4, 20))), "{entry}: {:?}", kept.notes);
        assert_eq!(inspect(&content, file.as_bytes()).expect("inspected").entries, [("Stop".to_owned(), EntryState::Edited)]);
        let forced = put(&content, Some(file.as_bytes()), &Memory::default(), &FORCE).expect("put");
        assert_eq!(str::from_utf8(&forced.content), Ok(stop_with(&right).as_str()), "{entry}");
        assert!(forced.notes.is_empty(), "{:?}", forced.notes);
        assert_eq!(taken(&content, &file, &Memory::default()).0.as_deref(), Some("{}\n"), "{entry}: ours, whoever changed it");
    }
}

#[test]
fn shipped_forms_become_exactly_our_entry() {
    let content = stop_only(PLACE);
    let right = stop_with(&format!(r#"{{ "type": "command", "command": "{PLACE} hook claude", "timeout": 10 }}"#));
    for entry in [
        r#"{ "type": "command", "command": "agent-notify hook claude" }"#,
        r#"{ "type": "command", "command": "agent-notify hook claude stop", "timeout": 5 }"#,
        r#"{ "type": "command", "command": "/x/agent-notify", "args": ["hook", "claude", "Stop"], "timeout": 10 }"#,
        r#"{ "type": "command", "command": "/x/agent-notify", "timeout": 10, "args": [ "hook", "claude" ] }"#,
    ] {
        let file = stop_with(entry);
        assert_eq!(inspect(&content, file.as_bytes()).expect("inspected").entries, [("Stop".to_owned(), EntryState::Stale)]);
        let spliced = put(&content, Some(file.as_bytes()), &Memory::default(), &PLAIN).expect("put");
        assert_eq!(str::from_utf8(&spliced.content), Ok(right.as_str()), "{entry}");
    }
    // Another order of keys means the same: Claude Code sorts them when it writes.
    let sorted = right.replace(r#""type": "command", "#, "").replace(r#""timeout": 10"#, r#""timeout": 10, "type": "command""#);
    assert_eq!(put(&content, Some(sorted.as_bytes()), &Memory::default(), &PLAIN).expect("put").content, sorted.as_bytes());
}

#[test]
fn an_entry_under_another_matcher_is_the_persons_and_force_gives_ours_a_group_of_its_own() {
    let content = stop_only(PLACE);
    let own = format!(r#"{{ "type": "command", "command": "{PLACE} hook claude", "timeout": 10 }}"#);
    for matcher in ["", "*"] {
        let file = stop_with(&own).replace("{ \"hooks\"", &format!("{{ \"matcher\": \"{matcher}\", \"hooks\""));
        let spliced = put(&content, Some(file.as_bytes()), &Memory::default(), &FORCE).expect("put");
        assert_eq!(str::from_utf8(&spliced.content), Ok(file.as_str()), "means everything");
    }
    let file = stop_with(&format!("{own}, {{ \"type\": \"command\", \"command\": \"chime\" }}"))
        .replace("{ \"hooks\"", "{ \"matcher\": \"x\", \"hooks\"");
    let kept = put(&content, Some(file.as_bytes()), &Memory::default(), &PLAIN).expect("put");
    assert_eq!(str::from_utf8(&kept.content), Ok(file.as_str()));
    let forced = put(&content, Some(file.as_bytes()), &Memory::default(), &FORCE).expect("put");
    insta::assert_snapshot!(str::from_utf8(&forced.content).expect("text"), @r#"
    {
      "hooks": {
        "Stop": [
          { "matcher": "x", "hooks": [ { "type": "command", "command": "chime" } ] },
          {
            "hooks": [
              {
                "type": "command",
                "command": "/home/u/.local/bin/agent-notify hook claude",
                "timeout": 10
              }
            ]
          }
        ]
      }
    }
    "#);
}

#[test]
fn wrapped_commands_are_kept_and_reported_and_stay_after_removal() {
    let content = stop_only(PLACE);
    let file = stop_with(r#"{ "type": "command", "command": "env X=1 agent-notify hook claude" }"#);
    let spliced = put(&content, Some(file.as_bytes()), &Memory::default(), &PLAIN).expect("put");
    assert!(spliced.notes.iter().any(|note| note.text.contains("may notify twice")), "{:?}", spliced.notes);
    let inspection = inspect(&content, &spliced.content).expect("inspected");
    assert_eq!((inspection.wrapped, inspection.surplus), (vec!["Stop".to_owned()], vec![]));
    let text = String::from_utf8(spliced.content).expect("text");
    assert_eq!(taken(&content, &text, &Memory::default()).0, Some(file));
}

#[test]
fn a_setting_that_the_person_changed_since_is_left_alone() {
    let original = "{\n  \"preferredNotifChannel\": \"iterm2\",\n  \"model\": \"opus\"\n}\n";
    let content = claude_at(PLACE);
    let (text, memory) = installed(&content, Some(original));
    assert_eq!(memory.replaced, [("preferredNotifChannel".to_owned(), Some("\"iterm2\"".to_owned()))]);
    let changed = text.replace("notifications_disabled", "terminal_bell");
    assert_eq!(taken(&content, &changed, &memory).0, Some(original.replace("iterm2", "terminal_bell")));
    let reformatted = text.replace("\n", "\n\n");
    let left = taken(&content, &reformatted, &memory).0.expect("a file");
    assert!(left.contains("\"preferredNotifChannel\": \"iterm2\""), "{left}");
}

#[test]
fn built_in_alerts_are_not_muted_while_no_hook_runs() {
    let content = claude_at(PLACE);
    let disabled = "{\n  \"disableAllHooks\": true,\n  \"preferredNotifChannel\": \"iterm2\"\n}\n";
    let (text, _) = installed(&content, Some(disabled));
    assert!(text.contains("\"iterm2\""), "{text}");
    // Disabled later: the next installation gives them back.
    let (text, memory) = installed(&content, Some("{\n  \"preferredNotifChannel\": \"iterm2\"\n}\n"));
    let later = text.replacen("{\n", "{\n  \"disableAllHooks\": true,\n", 1);
    let spliced = put(&content, Some(later.as_bytes()), &memory, &PLAIN).expect("put");
    assert!(str::from_utf8(&spliced.content).expect("text").contains("\"iterm2\""));
    assert!(spliced.replaced.is_empty());
}

#[test]
fn without_ours_is_the_same_bytes_where_there_is_nothing_of_ours() {
    let content = claude_at(PLACE);
    for file in ["", " \n", "{}", "{ // c\n}", "{\"hooks\":{\"Stop\":[]}}"] {
        assert_eq!(without_ours(&content, file.as_bytes()).expect("read"), Some(file.as_bytes().to_vec()));
        let expected = (Some(file.to_owned()), Rung::Untouched);
        assert_eq!(taken(&content, file, &Memory::default()), expected);
    }
    assert!(take(&content, b"{", &Memory::default()).is_err(), "a broken file is never guessed at");
}

#[test]
fn what_strict_json_does_not_have_is_refused_with_its_place() {
    for (text, position) in [
        ("{\"a\": 007}", (1, 8)),
        ("{\"a\": \"b\tc\"}", (1, 9)),
        ("{\u{a0}\"a\": 1}", (1, 2)),
        ("{\"é\": 1} x", (1, 10)),
        ("{\"a\": 1 \"b\": 2}", (1, 8)),
        ("{\"a\":\n", (1, 6)),
        ("{\"a\": 'b'}", (1, 7)),
        ("{\"a\": \"b", (1, 7)),
        ("null", (1, 1)),
        ("\r\n\r{]", (3, 2)),
    ] {
        for options in [PLAIN, FORCE] {
            let refusal = put(&claude_at(PLACE), Some(text.as_bytes()), &Memory::default(), &options).expect_err(text);
            assert_eq!(refusal.position, Some(position), "{text:?}: {refusal:?}");
        }
    }
    let large = vec![b' '; 4 * 1024 * 1024 + 1];
    assert!(put(&claude_at(PLACE), Some(&large), &Memory::default(), &PLAIN).expect_err("too large").what.contains("4 MiB"));
}

#[test]
fn large_files_of_one_line_and_of_many_take_no_time_that_grows_with_the_square() {
    for separator in ["", "\n  "] {
        let members: Vec<String> = (0..6_000).map(|number| format!("{separator}\"key-{number}\": [1, 2]")).collect();
        let text = format!("{{{}{}}}", members.join(","), if separator.is_empty() { "" } else { "\n" });
        let started = std::time::Instant::now();
        let (current, memory) = installed(&claude_at(PLACE), Some(&text));
        assert_eq!(taken(&claude_at(PLACE), &current, &Memory { written: None, edit: None, ..memory }).0, Some(text));
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    }
}

#[test]
fn turning_our_edit_back_never_changes_a_comment() {
    // Of `"hooks" // mine` only the comment is left as the original; a key appended behind our entries would end up in it.
    let content = cursor_at(PLACE);
    let (text, memory) = installed(&content, None);
    let text = text.replace("\"hooks\":", "\"hooks\" // mine\n:");
    let again = put(&content, Some(text.as_bytes()), &memory, &FORCE).expect("put");
    let memory = remember(&content, Some(text.as_bytes()), &memory, &again);
    assert_eq!(memory.base.as_deref().and_then(|base| str::from_utf8(base).ok()), Some("{\n  // mine\n}\n"));
    let appended = text.replace("\n  }\n}", "\n  },\n  \"a\": true\n}");
    assert_eq!(taken(&content, &appended, &memory), (Some("{\n  // mine\n  \"a\": true\n}\n".to_owned()), Rung::Structural));
}

#[test]
fn our_edit_is_not_turned_back_where_that_would_leave_an_entry_of_ours() {
    let content = stop_only(PLACE);
    let original = "{\n  \"hooks\": {\n    \"SessionStart\": [],\n    \"Stop\": []\n  }\n}\n";
    let (text, memory) = installed(&content, Some(original));
    let copied =
        text.replace("\"SessionStart\": []", "\"SessionStart\": [ { \"hooks\": [ { \"command\": \"/x/agent-notify hook claude\" } ] } ]");
    assert_ne!(copied, text);
    assert_eq!(taken(&content, &copied, &memory), (Some(original.to_owned()), Rung::Structural));
}

#[test]
fn a_comment_behind_the_last_value_stays_with_it() {
    let original =
        "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [] } // theirs\n    ],\n    \"x\": [ 1 /* one */ ]\n  } /* a */ // b\n}\n";
    let content = stop_only(PLACE);
    let (text, memory) = installed(&content, Some(original));
    assert!(text.contains("{ \"hooks\": [] }, // theirs\n      {\n"), "{text}");
    assert_eq!(taken(&content, &text, &Memory { written: None, edit: None, ..memory }).0.as_deref(), Some(original));
    let inline = "{ \"hooks\": { \"Stop\": [ { \"hooks\": [] } /* theirs */ ] } }";
    let (text, memory) = installed(&content, Some(inline));
    assert!(text.contains("{ \"hooks\": [] } /* theirs */, { \"hooks\": [ {"), "{text}");
    assert_eq!(taken(&content, &text, &Memory { written: None, edit: None, ..memory }).0.as_deref(), Some(inline));
}

#[test]
fn of_a_key_that_stands_twice_the_last_one_counts() {
    let content = stop_only(PLACE);
    let own = format!("\"command\": \"{PLACE} hook claude\"");
    let state = |entry: &str| inspect(&content, stop_with(entry).as_bytes()).expect("inspected").entries[0].1;
    assert_eq!(state(&format!("{{ \"command\": \"chime\", {own} }}")), EntryState::Edited);
    assert_eq!(state(&format!("{{ {own}, \"command\": \"chime\" }}")), EntryState::Missing);
}
