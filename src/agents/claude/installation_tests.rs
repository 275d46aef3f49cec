//! Where Claude Code is found, which version it has, and what happens where only the program itself can tell.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::super::find;
use super::test_host::Host;

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
    assert!(!host.path("home/.local").exists(), "nothing is written either");
    assert_eq!((host.version(true), starts(&host)), (Some((2, 1, 150)), 1));
    assert_eq!((host.version(false), host.version(true), starts(&host)), (Some((2, 1, 150)), Some((2, 1, 150)), 1), "remembered");

    let log = std::fs::read_to_string(host.path("log")).expect("the log");
    let state = host.path("home/.local/state/agent-notify").display().to_string();
    let scratch = format!("{state}/probe-{}", std::process::id());
    assert!(log.contains(&format!("HOME={scratch}\n")) && log.contains(&format!("CLAUDE_CONFIG_DIR={scratch}\n")), "{log}");
    assert!(log.contains(&format!("\n{scratch}\n700\n")), "in it, and it is private: {log}");
    let variables: Vec<_> = log.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let own_of_the_shell = ["OLDPWD", "PWD", "SHLVL", "_"];
    let passed_on: Vec<_> = variables.into_iter().filter(|name| !own_of_the_shell.contains(name)).collect();
    assert_eq!(passed_on, ["CLAUDE_CONFIG_DIR", "HOME", "PATH"]);
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
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let ended = |stat: &str| stat.is_empty() || stat.contains(") Z ") || stat.contains(") X ");
        // A process that was killed takes a moment to go.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !ended(&stat()) && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(ended(&stat()), "{pid} runs on: {}", stat());
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
