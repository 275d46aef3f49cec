//! Files in odd places: links of dotfile managers, modes, hard links, what is no file at all, what belongs to others.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FileType, Mode};

use crate::host::{HOOKS, Host, SETTINGS};
use crate::support::sandbox::is_root;
use crate::support::{Command, skip};

const ORIGINAL: &str = "{\n  \"model\": \"opus\"\n}\n";
/// An id that no one has, and another one.
const SOMEBODY: u32 = 54_321;
const SOMEBODY_ELSE: u32 = 54_322;

fn host() -> Host {
    Host::empty().with_claude()
}

/// In and out by a link: the link stays, and what it leads to is edited in its own place.
fn goes_round(host: &Host, real: &str) {
    let names = host.tree_without_memory().names();
    host.install();
    assert!(host.text(real).contains("agent-notify hook claude"), "{real}");
    assert_eq!(host.text(SETTINGS), host.text(real));
    let links = |host: &Host| {
        let all = host.tree_without_memory().names();
        all.into_iter().filter(|(_, seen)| seen.contains(" -> ")).collect::<Vec<_>>()
    };
    let before: Vec<_> = names.iter().filter(|(_, seen)| seen.contains(" -> ")).map(|(path, seen)| (path.clone(), seen.clone())).collect();
    assert_eq!(links(host), before);
    assert!(host.tree().0.keys().all(|path| !path.to_string_lossy().contains(".an-")), "no temporary file is left");
    host.run(&["install", "--check"]).success();
    host.uninstall();
    let left = host.tree_without_memory().names();
    for (path, seen) in &names {
        assert_eq!(left.get(path), Some(seen), "{}", path.display());
    }
}

#[test]
fn a_relative_link_stays() {
    let host = host();
    host.write("dotfiles/claude/settings.json", ORIGINAL);
    host.link("../dotfiles/claude/settings.json", SETTINGS);
    goes_round(&host, "dotfiles/claude/settings.json");
    assert_eq!(host.text(SETTINGS), ORIGINAL);
}

#[test]
fn a_chain_of_links_stays() {
    let host = host();
    host.write("dotfiles/real.json", ORIGINAL);
    host.link("real.json", "dotfiles/second.json");
    host.link(host.path("dotfiles/second.json").to_str().expect("text"), "dotfiles/first.json");
    host.link("../dotfiles/first.json", SETTINGS);
    goes_round(&host, "dotfiles/real.json");
    assert_eq!(host.text("dotfiles/real.json"), ORIGINAL);
}

#[test]
fn a_dangling_link_gets_its_file_and_loses_it_again() {
    let host = host();
    host.link("../dotfiles/not/yet.json", SETTINGS);
    goes_round(&host, "dotfiles/not/yet.json");
    assert!(!host.exists("dotfiles"), "folders that were made for it go, too");
    assert!(host.path(SETTINGS).read_link().is_ok());
}

#[test]
fn a_linked_folder_stays() {
    let host = host();
    host.write("dotfiles/claude/settings.json", ORIGINAL);
    host.link("dotfiles/claude", ".claude");
    goes_round(&host, "dotfiles/claude/settings.json");
    assert_eq!(host.text("dotfiles/claude/settings.json"), ORIGINAL);
}

#[test]
fn linked_dotfiles_under_version_control_are_hinted_at() {
    let host = host();
    host.write("dotfiles/.git/HEAD", "ref: refs/heads/main\n");
    host.write("dotfiles/claude/settings.json", ORIGINAL);
    host.link("../dotfiles/claude/settings.json", SETTINGS);
    host.install().stdout_has("--command '$HOME/.local/bin/agent-notify'");
}

/// Status 3, named, nothing written: neither here nor in the file of the other agent.
#[track_caller]
fn is_refused(host: &Host, command: Command<'_>, reason: &str) {
    let before = host.tree_without_memory();
    let outcome = command.run();
    outcome.code(3).stderr_has("~/.claude/settings.json is left untouched").stderr_has(reason).stderr_has("hint:");
    host.tree_without_memory().is(&before, reason);
    assert!(!host.exists(HOOKS));
}

fn install(host: &Host) -> Command<'_> {
    host.command(&["install", "--yes", "--no-test"])
}

#[test]
fn a_loop_of_links_is_refused() {
    let host = Host::new();
    host.link("other.json", SETTINGS);
    host.link("settings.json", ".claude/other.json");
    is_refused(&host, install(&host), "loop");
}

#[test]
fn what_is_no_file_is_refused() {
    let host = Host::new();
    std::fs::create_dir_all(host.path(SETTINGS)).expect("a folder");
    is_refused(&host, install(&host), "a folder, not a file");
    std::fs::remove_dir(host.path(SETTINGS)).expect("removed");
    rustix::fs::mknodat(rustix::fs::CWD, host.path(SETTINGS), FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
    is_refused(&host, install(&host), "a named pipe, not a file");
    std::fs::remove_file(host.path(SETTINGS)).expect("removed");
    host.link("/dev/null", SETTINGS);
    is_refused(&host, install(&host), "a device, not a file");
}

#[test]
fn a_file_where_the_folder_should_be_is_refused() {
    let host = Host::new();
    host.write(".claude", "no folder");
    is_refused(&host, install(&host), "not a folder");
}

#[test]
fn a_hard_link_is_written_in_place() {
    let host = host();
    host.write(SETTINGS, ORIGINAL);
    std::fs::hard_link(host.path(SETTINGS), host.path("second-name")).expect("a hard link");
    let inode = host.path(SETTINGS).metadata().expect("a file").ino();
    host.install();
    for path in [SETTINGS, "second-name"] {
        assert!(host.text(path).contains("agent-notify hook claude"), "{path}");
        assert_eq!(host.path(path).metadata().expect("a file").ino(), inode);
    }
    host.uninstall();
    for path in [SETTINGS, "second-name"] {
        assert_eq!(host.text(path), ORIGINAL, "{path}");
        assert_eq!(host.path(path).metadata().expect("a file").ino(), inode);
    }
}

#[test]
fn a_read_only_mode_stays() {
    let host = host();
    host.write(SETTINGS, ORIGINAL);
    host.set_mode(SETTINGS, 0o444);
    host.install();
    assert_eq!(host.mode(SETTINGS), 0o444);
    host.uninstall();
    assert_eq!((host.text(SETTINGS).as_str(), host.mode(SETTINGS)), (ORIGINAL, 0o444));
}

fn give(path: &Path, owner: u32) {
    std::os::unix::fs::lchown(path, Some(owner), Some(owner)).expect("another owner");
}

/// All of HOME, and a way to it.
fn give_all(host: &Host, owner: u32) {
    std::fs::set_permissions(host.sandbox.path(""), std::os::unix::fs::PermissionsExt::from_mode(0o711)).expect("a mode");
    give(&host.path(""), owner);
    host.tree().0.keys().for_each(|path| give(&host.path(path), owner));
}

/// As a user without root's rights: the tests' own one, or somebody to whom HOME is given.
fn as_somebody(host: &Host) -> Command<'_> {
    if !is_root() {
        return install(host);
    }
    give_all(host, SOMEBODY);
    let id = SOMEBODY.to_string();
    install(host).below(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--no-new-privs"])
}

#[test]
fn a_read_only_folder_is_refused() {
    let host = Host::new();
    host.write(SETTINGS, ORIGINAL);
    host.set_mode(".claude", 0o555);
    is_refused(&host, as_somebody(&host), "is read-only");
    host.set_mode(".claude", 0o755);
    as_somebody(&host).run().success();
}

#[test]
fn a_hard_link_that_may_not_be_written_is_refused() {
    let host = Host::new();
    host.write(SETTINGS, ORIGINAL);
    std::fs::hard_link(host.path(SETTINGS), host.path("second-name")).expect("a hard link");
    host.set_mode(SETTINGS, 0o444);
    is_refused(&host, as_somebody(&host), "it is read-only");
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    if !is_root() {
        return skip("only root can give a file away");
    }
    let host = Host::new();
    host.write(SETTINGS, ORIGINAL);
    let command = as_somebody(&host);
    give(&host.path(SETTINGS), SOMEBODY_ELSE);
    is_refused(&host, command, "belongs to another user (id 54322)");
}

#[test]
fn root_leaves_no_file_of_its_own_in_somebodys_home() {
    if !is_root() {
        return skip("only root can write for somebody else");
    }
    let host = Host::new();
    host.write(SETTINGS, ORIGINAL);
    give_all(&host, SOMEBODY);
    host.install();
    for path in [SETTINGS, HOOKS, ".cursor"] {
        let seen = host.path(path).metadata().expect("a file");
        assert_eq!((seen.uid(), seen.gid()), (SOMEBODY, SOMEBODY), "{path}");
    }
    give(&host.path(SETTINGS), SOMEBODY_ELSE);
    host.run(&["uninstall", "--yes"]).code(3).stderr_has("belongs to another user");
}

/// Else that person has no way to their own `.local` any more, and their next installation cannot take the lock.
#[test]
fn what_root_remembers_for_somebody_belongs_to_them() {
    if !is_root() {
        return skip("only root can write for somebody else");
    }
    let host = Host::empty();
    std::fs::create_dir(host.path(".claude")).expect("a folder");
    give_all(&host, SOMEBODY);
    host.install();
    let others: Vec<_> = host.tree().0.into_iter().filter(|(_, seen)| !seen.contains(&format!(" {SOMEBODY}:{SOMEBODY} "))).collect();
    assert!(others.is_empty(), "{others:#?}");
    let id = SOMEBODY.to_string();
    install(&host).below(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--no-new-privs"]).run().success();
}

/// Whatever the person's mask lets through: settings and what is remembered of them may hold secrets.
#[test]
fn what_is_made_is_private() {
    let host = Host::new();
    install(&host).after("umask 0").run().success();
    host.command(&["hook", "claude"]).after("umask 0").stdin(r#"{"hook_event_name":"Stop","session_id":"s"}"#).run().success();
    let names = host.tree().names();
    let ours = |path: &Path| [".claude", ".cursor", ".config", ".local/state"].iter().any(|folder| path.starts_with(folder));
    let mut seen = 0;
    for (path, line) in names.iter().filter(|(path, _)| ours(path)) {
        let is_private = line.starts_with("100600 ") || line.starts_with("40700 ");
        assert!(is_private, "{}: {line}", path.display());
        seen += 1;
    }
    assert!(seen > 10, "{names:?}");
}
