//! Claude's claims over made-up hosts: versions, configurations, managed settings, places.

use std::path::Path;

use super::super::test_host::Host;
use super::*;

fn hooks(wanted: &Wanted) -> &Hooks {
    match wanted.claims.as_slice() {
        [Claim { content: Content::Hooks(hooks), .. }] => hooks,
        other => panic!("one claim of hooks: {other:?}"),
    }
}

/// `Stop StopFailure PostToolUse[Bash]`.
fn events(wanted: &Wanted) -> String {
    let entry = |entry: &Entry| entry.matcher.map_or_else(|| entry.event.to_owned(), |matcher| format!("{}[{matcher}]", entry.event));
    hooks(wanted).entries.iter().map(entry).collect::<Vec<_>>().join(" ")
}

fn mutes(wanted: &Wanted) -> bool {
    hooks(wanted).settings.iter().any(|setting| setting.key == "preferredNotifChannel")
}

const EVERYTHING: &str = "events.tool = true\npolicy.grace = \"2s\"\n";

#[test]
fn a_default_installation() {
    let host = Host::with("2.1.332");
    let wanted = host.wanted(|_| {});
    let shown = format!("{wanted:#?}").replace(&host.root.path().display().to_string(), "[ROOT]");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_version_gets_the_events_that_it_knows() {
    let default = |version: &str| events(&Host::with(version).wanted(|_| {}));
    assert_eq!(default("2.1.78"), "Stop StopFailure PermissionRequest Notification");
    assert_eq!(default("2.1.77"), "Stop PermissionRequest Notification");
    assert_eq!(default("2.0.45"), "Stop PermissionRequest Notification");
    assert_eq!(default("2.0.44"), "Stop Notification");
    assert_eq!(default("3.0.0"), "Stop StopFailure PermissionRequest Notification");
    let all = |version: &str| events(&Host::with(version).wanted(|options| EVERYTHING.clone_into(&mut options.config)));
    assert_eq!(all("2.1.332"), "Stop StopFailure PermissionRequest Notification PostToolUse UserPromptSubmit SessionEnd");
    assert_eq!(all("1.0.85"), "Stop Notification PostToolUse UserPromptSubmit SessionEnd");
    assert_eq!(all("1.0.84"), "Stop Notification PostToolUse UserPromptSubmit");
    assert_eq!(all("1.0.53"), "Stop Notification PostToolUse");
    assert_eq!(all("1.0.37"), "Stop Notification");
}

#[test]
fn an_unknown_version_gets_what_every_version_knows_and_a_note() {
    let host = Host::new();
    let wanted = host.wanted(|options| EVERYTHING.clone_into(&mut options.config));
    assert_eq!(events(&wanted), "Stop Notification");
    assert!(mutes(&wanted), "its hooks run all the same");
    assert!(wanted.notes[0].contains("no program found"), "{:?}", wanted.notes);
    host.script("bin/claude", "exit 1");
    let note = |may_start| host.wanted(|options| options.may_start = may_start).notes.remove(0);
    assert!(note(false).contains("only by starting"), "a dry run shows less than it will be");
    assert!(note(true).contains("does not tell its version"));
    assert!(note(false).contains("does not tell its version"), "asked in vain is known");
}

#[test]
fn what_an_earlier_installation_put_there_stays_while_the_version_is_unknown() {
    let host = Host::new();
    let entry = |command: &str| format!(r#"[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]"#);
    let own = entry("'/a b/agent-notify' hook claude");
    host.file(
        "home/.claude/settings.json",
        &format!(r#"{{"hooks":{{"StopFailure":{own},"SessionEnd":{own},"PermissionRequest":{}}}}}"#, entry("other")),
    );
    assert_eq!(events(&host.wanted(|_| {})), "Stop StopFailure Notification");
    assert_eq!(events(&host.wanted(|options| EVERYTHING.clone_into(&mut options.config))), "Stop StopFailure Notification SessionEnd");
    host.file("bin/node_modules/@anthropic-ai/claude-code/package.json", r#"{"name":"@anthropic-ai/claude-code","version":"2.0.0"}"#);
    host.file("bin/claude", "");
    assert_eq!(events(&host.wanted(|_| {})), "Stop Notification", "a known version decides");
}

#[test]
fn only_what_a_feature_needs_is_registered() {
    let added = |config: &str| {
        let all = events(&Host::with("2.1.332").wanted(|options| config.clone_into(&mut options.config)));
        all.strip_prefix("Stop StopFailure PermissionRequest Notification").expect("the default ones").trim().to_owned()
    };
    for off in [
        "",
        "events.stop = false\nevents.input = false\nevents.error = false",
        "events.idle = true",
        "policy.headless = true\npolicy.subagents = true",
        "content.message = true\ncontent.prompt_title = true",
        "policy.grace = \"0s\"\npolicy.min_turn = \"0s\"",
        "policy.background_hold = \"5s\"\nherdr.pi_blocked_event = true\nchannels.webhook = \"on\"",
    ] {
        assert_eq!(added(off), "", "{off}");
    }
    assert_eq!(added("events.tool = true"), "PostToolUse[Bash]");
    assert_eq!(added("policy.grace = \"1s\""), "PostToolUse UserPromptSubmit SessionEnd");
    assert_eq!(added("policy.min_turn = \"1s\""), "UserPromptSubmit");
    assert_eq!(added("herdr.report_state = true"), "PostToolUse UserPromptSubmit SessionEnd");
    assert_eq!(added("events.tool = true\npolicy.min_turn = \"1s\""), "PostToolUse[Bash] UserPromptSubmit");
    assert_eq!(added("events.tool = true\npolicy.grace = \"1s\""), "PostToolUse UserPromptSubmit SessionEnd", "once, for every tool");
}

#[test]
fn its_own_notifications_are_muted_only_where_our_hooks_run() {
    let settings = "home/.claude/settings.json";
    let case = |files: &[(&str, &str)]| {
        let host = Host::with("2.1.332");
        for (name, content) in files {
            host.file(name, content);
        }
        let wanted = host.wanted(|_| {});
        assert_eq!(wanted.notes.is_empty(), mutes(&wanted), "a note says why: {files:?}");
        assert_eq!(hooks(&wanted).entries.len(), 4, "the entries stand there all the same");
        mutes(&wanted)
    };
    let (managed, first, second) =
        ("managed/managed-settings.json", "managed/managed-settings.d/10.json", "managed/managed-settings.d/20.json");
    let (all, only) = (r#"{"disableAllHooks":true}"#, r#"{"allowManagedHooksOnly":true}"#);
    let (not_all, not_only) = (r#"{"disableAllHooks":false}"#, r#"{"allowManagedHooksOnly":false}"#);
    assert!(case(&[]));
    assert!(case(&[(settings, "{}")]) && case(&[(settings, not_all)]) && case(&[(settings, only)]), "a person cannot say managed only");
    assert!(case(&[(settings, r#"{"disableAllHooks":"true"}"#)]), "no boolean");
    assert!(!case(&[(settings, all)]) && !case(&[(settings, "\u{feff}{\"disableAllHooks\": true}\r\n")]));
    assert!(case(&[(settings, "{\"disableAllHooks\":true,}")]) && case(&[(settings, "")]), "Claude reads no such file either");
    assert!(!case(&[(managed, all)]) && !case(&[(managed, only)]));
    assert!(!case(&[(first, only)]) && !case(&[(managed, not_only), (second, all)]));
    assert!(case(&[(managed, only), (first, not_only)]), "a drop-in lies over the file");
    assert!(!case(&[(first, not_only), (second, only)]) && case(&[(first, only), (second, not_only)]), "in the order of names");
    assert!(case(&[("managed/managed-settings.d/x.txt", only), ("managed/managed-settings.d/y.json/z", only), (managed, "[]")]));
    assert!(!case(&[(managed, not_all), (settings, all)]));
}

#[test]
fn the_note_names_the_file() {
    let host = Host::with("2.1.332");
    host.file("managed/managed-settings.d/10.json", r#"{"allowManagedHooksOnly":true}"#);
    let notes = host.wanted(|_| {}).notes.join("\n").replace(&host.root.path().display().to_string(), "[ROOT]");
    insta::assert_snapshot!(notes, @"Claude Code runs no hook of yours while allowManagedHooksOnly is true in [ROOT]/managed/managed-settings.d/10.json; its own notifications stay on");
}

#[test]
fn a_fifo_in_place_of_the_settings_makes_nobody_wait() {
    let host = Host::with("2.1.332");
    std::fs::create_dir_all(host.path("home/.claude")).expect("a folder");
    let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, host.path("home/.claude/settings.json"), fifo, mode, 0).expect("a FIFO");
    assert_eq!(hooks(&host.wanted(|_| {})).entries.len(), 4);
}

#[test]
fn the_person_may_keep_its_own_notifications() {
    assert!(!mutes(&Host::with("2.1.332").wanted(|options| options.keep_builtin = true)));
}

#[test]
fn a_project_has_a_file_of_its_own_and_is_not_muted() {
    let host = Host::with("2.1.332");
    let project = || host.wanted(|options| options.scope = Scope::Project("/p".into()));
    assert!(!mutes(&project()) && project().notes.is_empty());
    assert_eq!(project().claims[0].path, Path::new("/p/.claude/settings.local.json"));
    assert_eq!(events(&project()), "Stop StopFailure PermissionRequest Notification");
    host.file("home/.claude/settings.json", r#"{"disableAllHooks":true}"#);
    assert_eq!(project().notes.len(), 1, "the person's own file switches them off, too");
    let homeless = Host { variables: Vec::new(), ..Host::new() };
    assert_eq!(homeless.wanted(|options| options.scope = Scope::Project("/p".into())).claims.len(), 1);
    assert!(homeless.wanted(|_| {}).claims.is_empty());
}

#[test]
fn the_folder_can_be_moved_by_a_variable() {
    let mut host = Host::with("2.1.332");
    assert_eq!(host.wanted(|_| {}).claims[0].path, host.path("home/.claude/settings.json"));
    host.variables.push(("CLAUDE_CONFIG_DIR", host.path("moved")));
    host.file("home/.claude/settings.json", r#"{"disableAllHooks":true}"#);
    let moved = host.wanted(|_| {});
    assert!(mutes(&moved) && moved.claims[0].path == host.path("moved/settings.json"));
    for (value, notes) in [(" ", 0), ("relative", 1), ("~/x", 1)] {
        host.variables.pop();
        host.variables.push(("CLAUDE_CONFIG_DIR", value.into()));
        let wanted = host.wanted(|options| options.keep_builtin = true);
        assert_eq!(wanted.claims[0].path, host.path("home/.claude/settings.json"), "{value:?}");
        assert_eq!(wanted.notes.iter().filter(|note| note.contains("CLAUDE_CONFIG_DIR")).count(), notes, "{value:?}");
    }
}

#[test]
fn every_claimed_event_is_a_known_one() {
    let wanted = Host::with("2.1.332").wanted(|options| EVERYTHING.clone_into(&mut options.config));
    assert!(hooks(&wanted).entries.iter().all(|entry| KNOWN_EVENTS.contains(&entry.event)));
    assert!(FIRST_WITH.iter().all(|(event, _)| KNOWN_EVENTS.contains(event)));
}
