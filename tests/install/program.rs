//! A program that runs from a build folder is copied to where it stays, never over somebody else's.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::host::{Host, SETTINGS};
use crate::support::{Command, sandbox};

const LOCAL: &str = ".local/bin/agent-notify";

/// `target/debug/agent-notify` in a project of the person.
fn build(host: &Host) -> PathBuf {
    let folder = host.sandbox.path("project/target/debug");
    std::fs::create_dir_all(&folder).expect("folders");
    std::fs::write(host.sandbox.path("project/target/CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55\n").expect("a tag");
    let program = folder.join("agent-notify");
    // A debug build is large, and each of its bytes is hashed several times, slowly.
    let stripped = std::process::Command::new("strip").arg("-o").arg(&program).arg(sandbox::binary()).status();
    if !stripped.is_ok_and(|status| status.success()) {
        std::fs::copy(sandbox::binary(), &program).expect("a copy");
    }
    std::fs::remove_file(host.program()).expect("removed");
    program
}

fn run<'host>(host: &'host Host, program: &std::path::Path, arguments: &[&str]) -> Command<'host> {
    host.command_of(program, arguments)
}

#[test]
fn what_runs_from_a_build_folder_is_copied_and_purged() {
    let host = Host::empty().with_claude();
    let before = host.tree_without_memory();
    let program = build(&host);
    run(&host, &program, &["install", "--yes", "--no-test"]).run().success().stdout_has("~/.local/bin/agent-notify created");
    assert_eq!(host.mode(LOCAL), 0o755);
    assert!(host.read(LOCAL) == std::fs::read(&program).expect("the program"), "a copy");
    let wanted = format!("{} hook claude", host.path(LOCAL).display());
    assert!(host.text(SETTINGS).contains(&wanted), "{}", host.text(SETTINGS));
    run(&host, &program, &["install", "--check"]).run().success();
    // The copy itself agrees.
    run(&host, &host.path(LOCAL), &["install", "--check"]).run().success();
    run(&host, &program, &["uninstall", "--yes"]).run().success();
    assert!(host.exists(LOCAL), "other things may call it");
    run(&host, &program, &["uninstall", "--purge", "--yes"]).run().success();
    host.tree_without_memory().has_the_names_of(&before, "after a purge");
}

#[test]
fn a_foreign_program_of_that_name_is_not_overwritten() {
    let host = Host::empty().with_claude();
    let program = build(&host);
    host.write(LOCAL, "#!/bin/sh\necho another tool of this name\n");
    std::fs::set_permissions(host.path(LOCAL), PermissionsExt::from_mode(0o755)).expect("a mode");
    let before = host.tree_without_memory();
    let outcome = run(&host, &program, &["install", "--yes", "--no-test"]).run();
    outcome.code(3).stderr_has("~/.local/bin/agent-notify is left untouched").stderr_has("hint:");
    host.tree_without_memory().is(&before, "after a conflict");
    // Nor does a purge take it.
    run(&host, &program, &["uninstall", "--purge", "--yes"]).run().success();
    host.tree_without_memory().is(&before, "after a purge");
}

/// An older build of this program is replaced, and comes back.
#[test]
fn an_older_build_is_replaced() {
    let host = Host::empty().with_claude();
    let program = build(&host);
    let older = format!("an older build, {}", agent_notify::claim::MARK);
    host.write(LOCAL, &older);
    host.set_mode(LOCAL, 0o755);
    run(&host, &program, &["install", "--check"]).run().code(5).stdout_has("~/.local/bin/agent-notify changed");
    run(&host, &program, &["install", "--yes", "--no-test"]).run().success();
    assert!(host.read(LOCAL) == std::fs::read(&program).expect("the program"), "replaced");
    run(&host, &program, &["rollback", "--yes"]).run().success();
    assert_eq!(host.text(LOCAL), older);
    assert!(!host.exists(SETTINGS));
}

/// As after an update of its own.
#[test]
fn a_purge_takes_whatever_version_is_there_by_then() {
    let host = Host::empty().with_claude();
    let program = build(&host);
    run(&host, &program, &["install", "--yes", "--no-test"]).run().success();
    let newer = format!("a newer version, {}", agent_notify::claim::MARK);
    std::fs::remove_file(host.path(LOCAL)).expect("removed");
    host.write(LOCAL, newer);
    run(&host, &program, &["uninstall", "--purge", "--yes"]).run().success();
    assert!(!host.exists(LOCAL));
}
