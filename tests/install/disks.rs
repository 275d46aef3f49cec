//! What a file system can put in the way: attributes, immutable files, mounts, a full disk.

use std::os::unix::fs::MetadataExt;

use rustix::fs::XattrFlags;

use crate::host::{HOOKS, Host, SETTINGS};
use crate::support::sandbox::is_root;
use crate::support::{AtEnd, Outcome, skip};

const ORIGINAL: &str = "{\n  \"model\": \"opus\"\n}\n";

fn host() -> Host {
    let host = Host::empty().with_claude();
    host.write(SETTINGS, ORIGINAL);
    host
}

#[test]
fn extended_attributes_stay() {
    const NAME: &str = "user.agent-notify-test";
    let host = host();
    let path = host.path(SETTINGS);
    if rustix::fs::setxattr(&path, NAME, b"kept", XattrFlags::empty()).is_err() {
        return skip("this file system has no attributes for users");
    }
    let attribute = || {
        let mut value = [0; 16];
        rustix::fs::getxattr(&path, NAME, &mut value).map(|size| value[..size].to_vec())
    };
    host.install();
    assert_eq!(attribute().as_deref(), Ok(&b"kept"[..]));
    host.uninstall();
    assert_eq!(attribute().as_deref(), Ok(&b"kept"[..]));
    assert_eq!(host.text(SETTINGS), ORIGINAL);
}

fn chattr(host: &Host, flag: &str, path: &str) -> bool {
    host.sandbox.program(["chattr".as_ref(), flag.as_ref(), host.path(path).as_os_str()]).run().status == 0
}

#[test]
fn an_immutable_file_is_refused() {
    let host = host().with_cursor();
    for path in [SETTINGS, ".claude"] {
        if !chattr(&host, "+i", path) {
            return skip("nothing can be made immutable here");
        }
        let _at_end = AtEnd(|| assert!(chattr(&host, "-i", path)));
        let before = host.tree_without_memory();
        let outcome = host.run(&["install", "--yes", "--no-test"]);
        outcome.code(3).stderr_has("~/.claude/settings.json is left untouched").stderr_has("immutable").stderr_has("chattr -i");
        host.tree_without_memory().is(&before, path);
        assert!(!host.exists(HOOKS));
    }
    host.install();
}

/// Runs a shell script in a mount namespace, with the program and its arguments as `"$@"`.
fn among_mounts(host: &Host, script: &str, arguments: &[&str]) -> Option<Outcome> {
    let can = is_root() && host.sandbox.program(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]).run().status == 0;
    if !can {
        skip("nothing can be mounted here");
        return None;
    }
    let words = ["unshare", "--mount", "sh", "-c", script, "sh"];
    Some(host.command(arguments).below(words).run())
}

/// As containers have them: a rename over it fails (EBUSY), so it is written in place.
#[test]
fn a_file_that_is_a_mount_is_written_in_place() {
    let host = host();
    let inode = host.path(SETTINGS).metadata().expect("a file").ino();
    let script = r#"file=$HOME/.claude/settings.json; mount --bind "$file" "$file" && exec "$@""#;
    let Some(outcome) = among_mounts(&host, script, &["install", "--yes", "--no-test"]) else { return };
    outcome.success();
    assert!(host.text(SETTINGS).contains("agent-notify hook claude"));
    among_mounts(&host, script, &["install", "--check"]).expect("mounts").success();
    among_mounts(&host, script, &["uninstall", "--yes"]).expect("mounts").success();
    assert_eq!((host.text(SETTINGS).as_str(), host.path(SETTINGS).metadata().expect("a file").ino()), (ORIGINAL, inode));
}

#[test]
fn a_read_only_mount_is_refused() {
    let host = host().with_cursor();
    let script = r#"mount --bind "$HOME/.claude" "$HOME/.claude" && mount -o remount,ro,bind "$HOME/.claude" && exec "$@""#;
    let before = host.tree_without_memory();
    let Some(outcome) = among_mounts(&host, script, &["install", "--yes", "--no-test"]) else { return };
    outcome.code(3).stderr_has("~/.claude/settings.json is left untouched").stderr_has("read-only");
    host.tree_without_memory().is(&before, "after a refusal");
}

/// Whatever is full: the files are as they were, nothing temporary is left, and the message says so.
#[test]
fn a_full_disk_changes_nothing() {
    let full = |folder: &str| {
        let host = host().with_cursor();
        std::fs::create_dir_all(host.path(folder)).expect("a folder");
        let before = host.tree_without_memory();
        // The file stands in the small file system, and what is left of that is filled up.
        let script = format!(
            r#"cp "$HOME/.claude/settings.json" "$HOME/original"; folder="$HOME/{folder}"
            mount -t tmpfs -o size=16k none "$folder" || exit 91
            [ "{folder}" != .claude ] || cp "$HOME/original" "$folder/settings.json" || exit 92
            cat /dev/zero >"$folder/filler" 2>/dev/null
            "$@"; status=$?
            cmp "$HOME/original" "$HOME/.claude/settings.json" || exit 93
            [ -z "$(find "$HOME" -name '*.an-*')" ] || exit 94
            rm "$HOME/original"; exit $status"#
        );
        let outcome = among_mounts(&host, &script, &["install", "--yes", "--no-test"])?;
        outcome.code(1).explains().stderr_has("hint:");
        assert!(["nothing was changed", "every file is as it was"].iter().any(|text| outcome.errors().contains(text)), "{outcome:?}");
        host.tree_without_memory().has_the_names_of(&before, folder);
        Some(())
    };
    for folder in [".claude", ".cursor", ".local/state", ".config"] {
        if full(folder).is_none() {
            return;
        }
    }
}
