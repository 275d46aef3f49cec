//! What only looks: writes nothing, not even a time of change, and starts nothing.

use crate::host::{HOOKS, Host, SETTINGS};
use crate::support::sandbox::installed;
use crate::support::skip;

/// Every command that only looks, with its status on a host where something is to be done, and on one where all is in place.
const LOOKS: [(&[&str], i32, i32); 10] = [
    (&["install", "--all", "--dry-run"], 0, 0),
    (&["install", "--all", "--dry-run", "--json"], 0, 0),
    (&["install", "--check"], 5, 0),
    (&["install", "--check", "--json"], 5, 0),
    (&["uninstall", "--dry-run"], 0, 0),
    (&["uninstall", "--purge", "--dry-run"], 0, 0),
    (&["status"], 0, 0),
    (&["history"], 0, 0),
    (&["rollback", "--dry-run"], 0, 0),
    (&["config", "show"], 0, 0),
];

/// Claude Code as a program that tells its version only when it is started.
fn host() -> Host {
    let host = Host::empty().with_cursor();
    host.write(".local/bin/claude", "#!/bin/sh\necho \"$0\" >>\"$HOME/../started\"\n");
    host.set_mode(".local/bin/claude", 0o755);
    host
}

#[test]
fn looking_writes_nothing_and_starts_nothing() {
    let host = host();
    let fresh = host.tree();
    for (arguments, status, _) in LOOKS {
        host.run(arguments).code(status);
        host.tree().is(&fresh, &format!("{arguments:?}"));
    }
    assert_eq!(host.started(), "");
    // As it is after a real installation.
    let host = Host::new();
    host.install();
    let installed = host.tree();
    for (arguments, _, status) in LOOKS {
        host.run(arguments).code(status);
        host.tree().is(&installed, &format!("{arguments:?}"));
    }
    assert_eq!(host.started(), "");
}

#[test]
fn a_dry_run_shows_exactly_what_is_written_then() {
    let host = Host::new();
    host.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    let shown = host.run(&["install", "--dry-run"]).success().text();
    let before = host.text(SETTINGS);
    host.install();
    for path in [SETTINGS, HOOKS] {
        let text = host.text(path);
        let added: Vec<_> = text.lines().filter(|line| !before.lines().any(|old| old == *line)).collect();
        assert!(!added.is_empty());
        for line in added {
            assert!(shown.lines().any(|diff| diff.strip_prefix('+') == Some(line)), "{line:?} of {path} in {shown}");
        }
    }
    // And the other way round: every line that the diff adds is in a file.
    let files = [SETTINGS, HOOKS, crate::host::CONFIG].map(|path| host.text(path)).concat();
    for line in shown.lines().filter(|line| !line.starts_with("+++")).filter_map(|line| line.strip_prefix('+')) {
        assert!(files.lines().any(|other| other == line), "{line:?}");
    }
}

/// A real installation may start an agent to learn its version, but once only, and nothing where all is in place.
#[test]
fn an_installation_starts_an_agent_once_at_most() {
    let host = host();
    host.install();
    let started = host.started();
    assert!(started.lines().count() <= 1 && !started.contains("cursor"), "{started}");
    host.install();
    host.run(&["install", "--check"]).success();
    assert_eq!(host.started(), started);
}

/// Calls that change something by a path.
const WRITING: [&str; 12] =
    ["creat(", "mkdir", "rename", "unlink", "rmdir(", "chmod", "chown", "link", "mknod", "utime", "truncate", "setxattr"];

#[test]
fn by_its_system_calls_looking_writes_nothing_and_starts_nothing() {
    let Some(strace) = installed("strace".as_ref()) else { return skip("strace is not installed") };
    let host = Host::new();
    host.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    let below_home = format!("{}/", host.path("").display().to_string().trim_end_matches('/'));
    for (number, (arguments, status, _)) in LOOKS.into_iter().enumerate() {
        let trace = host.sandbox.path(format!("trace-{number}"));
        let words = ["-f", "-qq", "-s", "4096", "-e", "trace=%file,%process", "-o"];
        let words = std::iter::once(strace.clone().into_os_string()).chain(words.into_iter().map(Into::into));
        let outcome = host.command(arguments).below(words.chain([trace.clone().into_os_string()])).run();
        let text = std::fs::read_to_string(&trace).unwrap_or_default();
        if outcome.status != status && !text.contains("execve(") {
            return skip(&format!("strace may not trace here: {}", outcome.errors()));
        }
        outcome.code(status);
        assert_eq!(text.matches("execve").count(), 1, "{arguments:?} starts something: {text}");
        for line in text.lines().filter(|line| line.contains(&below_home)) {
            let call = line.split_once('(').map_or(line, |(call, _)| call).rsplit(' ').next().unwrap_or_default();
            let writes = WRITING.iter().any(|name| format!("{call}(").contains(name)) && !call.starts_with("readlink");
            let opens = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| line.contains(flag));
            assert!(!writes && !opens, "{arguments:?}: {line}");
        }
        assert!(text.contains(&below_home), "something was looked at: {text}");
    }
}
