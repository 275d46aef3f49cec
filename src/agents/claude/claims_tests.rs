//! Claude Code's claims over made-up hosts: versions, configurations, managed settings, presence, starts.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::agents::{Command, find};
use crate::config;
use crate::state::{State, VersionCache};

/// A home, a PATH and a folder of managed settings.
struct Host {
    root: tempfile::TempDir,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Host {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let variables = vec![("HOME", root.path().join("home")), ("PATH", root.path().join("bin"))];
        Self { root, variables }
    }

    /// With a native installation of this version.
    fn with(version: &str) -> Self {
        let host = Self::new();
        host.file(&format!("home/.local/share/claude/versions/{version}"), "");
        host.link(&format!("home/.local/share/claude/versions/{version}"), "bin/claude");
        host
    }

    fn env(&self) -> Env {
        self.variables.iter().cloned().collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, content).expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a mode");
        path
    }

    /// A program that does nothing unless it is asked for its version.
    fn script(&self, name: &str, body: &str) {
        let program = self.file(name, &format!("#!/bin/sh\n[ \"$1\" = --version ] || exit\n{body}\n"));
        // "Text file busy" while another test's child, just forked, still holds the file open for writing.
        while std::process::Command::new(&program).status().is_err() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    fn link(&self, target: &str, name: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        symlink(self.path(target), path).expect("a link");
    }

    fn wanted(&self, change: impl FnOnce(&mut Options)) -> Wanted {
        let mut options = Options::default();
        change(&mut options);
        self.ask(&options, |request| wanted_below(&self.path("managed"), request))
    }

    fn ask<T>(&self, options: &Options, ask: impl FnOnce(&Request) -> T) -> T {
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

    fn version(&self, may_start: bool) -> Option<Version> {
        self.ask(&Options { may_start, ..Options::default() }, version)
    }
}

struct Options {
    config: String,
    scope: Scope,
    keep_builtin: bool,
    may_start: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { config: String::new(), scope: Scope::User, keep_builtin: false, may_start: false }
    }
}

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

#[test]
fn it_is_present_by_its_folder_or_its_program() {
    let presence = |make: fn(&Host)| {
        let host = Host::new();
        make(&host);
        let strip = |path: PathBuf| path.strip_prefix(host.root.path()).expect("below").display().to_string();
        let env = host.env();
        let found = find("claude").expect("claude").presence(&env)?;
        Some((found.folder.map(strip), found.program.map(strip)))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(presence(|_| {}), None);
    assert_eq!(presence(|host| drop(host.file("home/.claude/settings.json", "{}"))), Some((some("home/.claude"), None)));
    assert_eq!(presence(|host| drop(host.file("home/.claude", ""))), None, "a file is no folder");
    assert_eq!(presence(|host| drop(host.file("bin/claude", ""))), Some((None, some("bin/claude"))));
    assert_eq!(presence(|host| drop(host.file("bin/claude/x", ""))), None, "a folder on PATH");
    assert_eq!(presence(|host| host.link("nowhere", "bin/claude")), None, "a dangling link");
    assert_eq!(presence(|host| drop(host.file("home/.local/bin/claude", ""))), Some((None, some("home/.local/bin/claude"))));
    let local = presence(|host| drop(host.file("home/.claude/local/claude", "")));
    assert_eq!(local, Some((some("home/.claude"), some("home/.claude/local/claude"))));
    let not_executable = presence(|host| {
        let path = host.file("bin/claude", "");
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o644)).expect("a mode");
    });
    assert_eq!(not_executable, None);
}

#[test]
fn the_version_is_read_from_the_files_of_each_kind_of_installation() {
    const PACKAGE: &str = "node_modules/@anthropic-ai/claude-code";
    let package = |name: &str, version: &str| format!(r#"{{"name":"{name}","version":"{version}","bin":{{"claude":"cli.js"}}}}"#);
    let of = |make: &dyn Fn(&Host)| {
        let host = Host::new();
        make(&host);
        host.version(false)
    };
    assert_eq!(Host::with("2.1.332").version(false), Some((2, 1, 332)), "native, by a link");
    let npm = |host: &Host| {
        host.file(&format!("lib/{PACKAGE}/package.json"), &package("@anthropic-ai/claude-code", "2.1.197"));
        host.file(&format!("lib/{PACKAGE}/cli.js"), "");
        host.link(&format!("lib/{PACKAGE}/cli.js"), "bin/claude");
    };
    assert_eq!(of(&npm), Some((2, 1, 197)), "npm");
    let platform = |host: &Host| {
        let folder = "node/v22.1.0/lib/node_modules/@anthropic-ai/claude-code-linux-x64";
        host.file(&format!("{folder}/package.json"), &package("@anthropic-ai/claude-code-linux-x64", "2.1.332"));
        host.file(&format!("{folder}/bin/claude"), "");
        host.link(&format!("{folder}/bin/claude"), "bin/claude");
    };
    assert_eq!(of(&platform), Some((2, 1, 332)), "npm, package by platform");
    let local = |host: &Host| {
        host.file(&format!("home/.claude/local/{PACKAGE}/package.json"), &package("@anthropic-ai/claude-code", "1.0.98"));
        host.file("home/.claude/local/package.json", &package("claude-local", "0.0.1"));
        host.file("home/.claude/local/claude", "#!/bin/sh\n");
    };
    assert_eq!(of(&local), Some((1, 0, 98)), "local, behind a script");
    for (folder, wanted) in [
        ("Caskroom/claude-code/2.1.332/claude", Some((2, 1, 332))),
        ("mise/installs/claude/2.1.332/claude", Some((2, 1, 332))),
        ("mise/installs/npm-anthropic-ai-claude-code/2.1.332/bin/claude", Some((2, 1, 332))),
        (".pnpm/@anthropic-ai+claude-code@2.1.332/x/cli.js", Some((2, 1, 332))),
        ("nix/store/abc-claude-code-2.1.332/bin/claude", Some((2, 1, 332))),
        ("share/claude/versions/2.1.332-beta.1", Some((2, 1, 332))),
        ("asdf/installs/nodejs/20.11.0/bin/claude", None),
        ("other/2.1.332/claude", None),
        ("claude/versions/latest", None),
        ("claude/versions/2.1", None),
        ("claude/versions/2.1.99999999999", None),
    ] {
        let host = Host::new();
        host.file(folder, "");
        host.link(folder, "bin/claude");
        assert_eq!(host.version(false), wanted, "{folder}");
    }
    let foreign = |host: &Host| {
        host.file("lib/x/package.json", &package("claude", "9.9.9"));
        host.file("lib/x/bin/claude", "");
        host.link("lib/x/bin/claude", "bin/claude");
    };
    assert_eq!(of(&foreign), None, "another package");
}

#[test]
fn what_the_person_would_start_counts() {
    let host = Host::with("2.1.332");
    host.file("home/.local/share/claude/versions/2.0.1", "");
    host.link("home/.local/share/claude/versions/2.0.1", "home/.local/bin/claude");
    assert_eq!(host.version(false), Some((2, 1, 332)), "PATH before ~/.local/bin");
}

/// A `claude` that tells where it was started, in a file beside it.
fn talkative(host: &Host, version: &str) {
    let log = host.path("log").display().to_string();
    let tell = format!("{{ echo \"$@\"; env | sort; pwd; stat -c %a .; echo '{{}}' > \"$HOME/.claude.json\"; }} >>'{log}'");
    host.script("bin/claude", &format!("{tell}\necho '{version}'"));
}

#[test]
fn a_program_is_started_once_at_most_and_only_if_that_is_allowed() {
    let mut host = Host::new();
    host.variables[1].1 = format!("{}:/usr/bin:/bin", host.path("bin").display()).into();
    host.variables.push(("ANTHROPIC_API_KEY", "secret".into()));
    host.variables.push(("CLAUDE_CONFIG_DIR", host.path("config")));
    let starts = |host: &Host| std::fs::read_to_string(host.path("log")).unwrap_or_default().matches("--version").count();
    talkative(&host, "2.1.150 (Claude Code)");
    assert_eq!((host.version(false), starts(&host)), (None, 0));
    assert!(!host.path("home").exists(), "nothing is written either");
    assert_eq!((host.version(true), starts(&host)), (Some((2, 1, 150)), 1));
    assert_eq!((host.version(false), host.version(true), starts(&host)), (Some((2, 1, 150)), Some((2, 1, 150)), 1), "remembered");

    let log = std::fs::read_to_string(host.path("log")).expect("the log");
    let state = host.path("home/.local/state/agent-notify").display().to_string();
    let scratch = format!("{state}/probe-{}", std::process::id());
    assert!(log.contains(&format!("HOME={scratch}\n")) && log.contains(&format!("CLAUDE_CONFIG_DIR={scratch}\n")), "{log}");
    assert!(log.contains(&format!("\n{scratch}\n700\n")), "in it, and it is private: {log}");
    assert!(!log.contains("secret") && !log.contains(&host.path("config").display().to_string()), "{log}");
    let left: Vec<_> = std::fs::read_dir(&state).expect("the state folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left, ["versions.json"], "the scratch home is gone");
    assert!(!host.path("config").exists());

    talkative(&host, "2.1.1500 (Claude Code)");
    assert_eq!((host.version(true), starts(&host)), (Some((2, 1, 1500)), 2), "another program is asked again");
    talkative(&host, "something 2.1.99 else");
    assert_eq!((host.version(true), host.version(true), starts(&host)), (None, None, 3), "asked in vain is asked once");
}

#[test]
fn files_that_tell_the_version_spare_the_start() {
    let host = Host::with("2.1.332");
    let log = host.path("log").display().to_string();
    host.file("home/.local/share/claude/versions/2.1.332", &format!("#!/bin/sh\necho x >'{log}'\n"));
    assert_eq!(host.version(true), Some((2, 1, 332)));
    assert!(!host.path("log").exists());
}

#[test]
fn a_program_that_hangs_is_ended_with_all_that_it_started() {
    let mut host = Host::new();
    host.variables[1].1 = format!("{}:/usr/bin:/bin", host.path("bin").display()).into();
    let pids = host.path("pids").display().to_string();
    host.script("bin/claude", &format!("sleep 60 &\necho $$ $! >'{pids}'\nwait"));
    let start = std::time::Instant::now();
    assert_eq!(host.version(true), None);
    assert!((4..20).contains(&start.elapsed().as_secs()));
    for pid in std::fs::read_to_string(&pids).expect("pids").split_whitespace() {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{pid} runs on: {stat}");
    }
    assert!(!host.path("home/.local/state/agent-notify/versions.json").exists(), "it may answer next time");
}

#[test]
fn homes_of_processes_that_were_killed_are_removed() {
    let mut host = Host::new();
    host.variables[1].1 = format!("{}:/usr/bin:/bin", host.path("bin").display()).into();
    talkative(&host, "2.1.150 (Claude Code)");
    // Beyond the largest pid there can be; and one that runs.
    host.file("home/.local/state/agent-notify/probe-2000000000/.claude/x", "");
    host.file("home/.local/state/agent-notify/probe-1/x", "");
    assert_eq!(host.version(true), Some((2, 1, 150)));
    let state = host.path("home/.local/state/agent-notify");
    assert!(!state.join("probe-2000000000").exists() && state.join("probe-1").exists());
}
