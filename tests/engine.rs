//! The installer's engine on real files: as people keep them, in unfriendly places, many processes at once, back and forth.

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agent_notify::claim::{Claim, Content, Whole};
use agent_notify::engine::{
    FileChange, Kind, Options, Outcome, Plan, Refusal, State, Stopped, Store, history, pending, plan, rollback_plan, store, transaction,
    with_lock,
};

const OLD: &[u8] = b"{\"a\": 1}\n";
const NEW: &[u8] = b"{\"a\": 1, \"b\": 2}\n";

/// A home folder and where the installer remembers.
struct Home {
    folder: tempfile::TempDir,
    store: Store,
}

impl Home {
    fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    fn within(parent: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("an-").tempdir_in(parent).expect("a folder");
        let store = Store::new(folder.path().join("state/install"), None);
        Self { folder, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
        std::fs::write(&path, content).expect("write");
        path
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.path(name)).ok()
    }

    fn run(&self, plan: impl FnOnce() -> Plan) -> Outcome {
        with_lock(&self.store, &|_, _| None, |locked| locked.run(plan())).expect("a lock")
    }

    /// One file from one content to another.
    fn change(&self, name: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Outcome {
        self.run(|| {
            let mut plan = Plan::new(Kind::Config);
            let bytes = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            plan.changes.push(FileChange::plain("test", &self.path(name), bytes(before), bytes(after), 0o600));
            plan
        })
    }

    fn roll_back(&self, id: Option<&str>) -> Outcome {
        self.run(|| rollback_plan(&self.store, &[], &|_, _| None, id).expect("a plan"))
    }

    /// A file of ours as a whole.
    fn claim(&self, name: &str) -> Claim {
        let whole = Whole { bytes: b"// agent-notify\n".to_vec(), mode: 0o644, mark: b"agent-notify" };
        Claim { owner: "test", path: self.path(name), content: Content::Whole(whole) }
    }

    /// The one conflict of an installation.
    fn refusal(&self, name: &str) -> Refusal {
        let mut plan = plan::install(&[self.claim(name)], &self.store, &Options::default());
        assert_eq!((plan.conflicts.len(), plan.changes.len()), (1, 0), "{plan:?}");
        plan.conflicts.remove(0).refusal
    }

    /// Temporary files anywhere.
    fn leftovers(&self) -> String {
        let found = Command::new("find").arg(self.folder.path()).args(["-name", ".*.an-*", "-o", "-name", "*.tmp"]).output();
        String::from_utf8(found.expect("find").stdout).expect("names")
    }
}

fn committed(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Committed { id, troubles } if troubles.is_empty() => id.clone(),
        other => panic!("not committed: {other:?}"),
    }
}

fn rolled_back(outcome: Outcome) -> String {
    match outcome {
        Outcome::RolledBack { reason, .. } => reason.to_string(),
        other => panic!("not rolled back: {other:?}"),
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("metadata").permissions().mode() & 0o7777
}

/// Runs a tool; whether it worked.
fn tool(words: &[&str]) -> bool {
    Command::new(words[0]).args(&words[1..]).output().is_ok_and(|output| output.status.success())
}

#[test]
fn links_stay_links_and_what_they_lead_to_changes() {
    let home = Home::new();
    home.write("dot/real.json", OLD);
    symlink("real.json", home.path("dot/chain.json")).expect("a link");
    symlink("dot", home.path("folder")).expect("a link");
    symlink("folder/chain.json", home.path("settings.json")).expect("a link");
    committed(&home.change("settings.json", Some(OLD), Some(NEW)));
    assert!(home.path("settings.json").is_symlink() && home.path("dot/chain.json").is_symlink() && home.path("folder").is_symlink());
    assert_eq!(home.read("dot/real.json").as_deref(), Some(NEW));
    committed(&home.roll_back(None));
    assert_eq!(home.read("dot/real.json").as_deref(), Some(OLD));
    assert_eq!(home.leftovers(), "");
}

#[test]
fn a_dangling_link_is_written_through_and_dangles_again_afterwards() {
    let home = Home::new();
    symlink("dot/not/there.json", home.path("settings.json")).expect("a link");
    committed(&home.change("settings.json", None, Some(NEW)));
    assert_eq!(home.read("dot/not/there.json").as_deref(), Some(NEW));
    committed(&home.roll_back(None));
    assert!(home.path("settings.json").is_symlink() && !home.path("dot").exists());
}

#[test]
fn a_loop_a_folder_and_a_pipe_are_refused_by_name() {
    let home = Home::new();
    symlink("b", home.path("a")).expect("a link");
    symlink("a", home.path("b")).expect("a link");
    assert_eq!(home.refusal("a").what, "its symbolic links form a loop");
    std::fs::create_dir(home.path("folder")).expect("mkdir");
    assert_eq!(home.refusal("folder").what, "it is a folder, not a file");
    assert!(tool(&["mkfifo", home.path("pipe").to_str().expect("text")]));
    assert_eq!(home.refusal("pipe").what, "it is a named pipe, not a file");
}

#[test]
fn modes_are_kept() {
    for wanted in [0o600, 0o640, 0o644, 0o444] {
        let home = Home::new();
        let path = home.write("settings.json", OLD);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(wanted)).expect("chmod");
        committed(&home.change("settings.json", Some(OLD), Some(NEW)));
        assert_eq!(mode(&path), wanted);
        committed(&home.change("settings.json", Some(NEW), None));
        committed(&home.roll_back(None));
        assert_eq!((mode(&path), home.read("settings.json").as_deref()), (wanted, Some(NEW)), "also of a file that comes back");
    }
}

#[test]
fn a_hard_link_keeps_its_other_name() {
    let home = Home::new();
    let path = home.write("settings.json", OLD);
    std::fs::hard_link(&path, home.path("other.json")).expect("a hard link");
    let inode = path.metadata().expect("metadata").ino();
    committed(&home.change("settings.json", Some(OLD), Some(NEW)));
    assert_eq!((home.read("other.json").as_deref(), path.metadata().expect("metadata").ino()), (Some(NEW), inode));
    committed(&home.roll_back(None));
    assert_eq!(home.read("other.json").as_deref(), Some(OLD), "shorter again");
}

#[test]
fn extended_attributes_and_acls_are_kept_and_a_default_acl_of_the_folder_does_not_show() {
    let home = Home::new();
    let path = home.write("settings.json", OLD);
    let set = |path: &Path, name: &str, value: &[u8]| rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty());
    let get = |path: &Path, name: &str| {
        let mut value = [0_u8; 128];
        let size = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
        Some(value[..size].to_vec())
    };
    // Version 2; user::rw-, user:1234:r--, group::r--, mask::r--, other::---.
    let entry = |tag: u16, rights: u16, id: u32| [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat();
    let acl = |rights| {
        let all = u32::MAX;
        [2_u32.to_le_bytes().to_vec(), entry(1, 6, all), entry(2, 4, 1234), entry(4, 4, all), entry(16, rights, all), entry(32, 0, all)]
            .concat()
    };
    if set(&path, "user.note", b"mine").is_err() || set(&path, "system.posix_acl_access", &acl(4)).is_err() {
        return support::skip("no extended attributes or ACLs on this file system");
    }
    committed(&home.change("settings.json", Some(OLD), Some(NEW)));
    assert_eq!(get(&path, "user.note").as_deref(), Some(&b"mine"[..]));
    assert_eq!(get(&path, "system.posix_acl_access"), Some(acl(4)));
    committed(&home.change("settings.json", Some(NEW), None));
    committed(&home.roll_back(None));
    assert_eq!((get(&path, "user.note").as_deref(), get(&path, "system.posix_acl_access")), (Some(&b"mine"[..]), Some(acl(4))));

    let plain = home.write("folder/plain.json", OLD);
    set(&home.path("folder"), "system.posix_acl_default", &acl(6)).expect("a default ACL");
    committed(&home.change("folder/plain.json", Some(OLD), Some(NEW)));
    assert_eq!(get(&plain, "system.posix_acl_access"), None);
}

#[test]
fn an_immutable_file_is_refused_by_name() {
    let home = Home::new();
    let path = home.write("it.ts", b"// agent-notify, old\n");
    let text = path.to_str().expect("text").to_owned();
    if !tool(&["chattr", "+i", &text]) {
        return support::skip("chattr +i is not possible here");
    }
    let _end = support::AtEnd(|| assert!(tool(&["chattr", "-i", &text])));
    assert_eq!(home.refusal("it.ts").what, "it is marked immutable");
}

#[test]
fn a_full_disk_changes_nothing() {
    let mount = tempfile::tempdir().expect("a folder");
    let place = mount.path().to_str().expect("text").to_owned();
    if !tool(&["mount", "-t", "tmpfs", "-o", "size=64k", "none", &place]) {
        return support::skip("no right to mount");
    }
    let _end = support::AtEnd(|| assert!(tool(&["umount", &place])));
    // The state has room: what fails is the second file of two.
    let home = Home::within(mount.path());
    let elsewhere = tempfile::tempdir().expect("a folder");
    let store = Store::new(elsewhere.path().join("install"), None);
    home.write("one.json", OLD);
    home.write("two.json", OLD);
    let big = vec![b'x'; 100 << 10];
    let outcome = with_lock(&store, &|_, _| None, |locked| {
        let mut plan = Plan::new(Kind::Install);
        plan.changes.push(FileChange::plain("test", &home.path("one.json"), Some(OLD.to_vec()), Some(NEW.to_vec()), 0o600));
        plan.changes.push(FileChange::plain("test", &home.path("two.json"), Some(OLD.to_vec()), Some(big), 0o600));
        locked.run(plan)
    });
    let reason = rolled_back(outcome.expect("a lock"));
    assert!(reason.contains("No space left") && reason.contains("two.json"), "{reason}");
    assert_eq!((home.read("one.json").as_deref(), home.read("two.json").as_deref()), (Some(OLD), Some(OLD)));
    assert_eq!(home.leftovers(), "");
    drop(home);
}

#[test]
fn a_file_that_is_a_mount_is_written_in_place() {
    if let Ok(folder) = std::env::var("AN_TEST_INSIDE_MOUNT") {
        let store = Store::new(Path::new(&folder).join("state/install"), None);
        let path = Path::new(&folder).join("settings.json");
        let outcome = with_lock(&store, &|_, _| None, |locked| {
            let mut plan = Plan::new(Kind::Install);
            plan.changes.push(FileChange::plain("test", &path, Some(OLD.to_vec()), Some(NEW.to_vec()), 0o600));
            locked.run(plan)
        });
        committed(&outcome.expect("a lock"));
        return;
    }
    let home = Home::new();
    let outside = home.write("outside.json", OLD);
    let inside = home.write("settings.json", b"");
    let inode = outside.metadata().expect("metadata").ino();
    let test = std::env::current_exe().expect("this test");
    let script = "mount --bind \"$1\" \"$2\" || exit 77; shift 2; exec \"$@\"";
    let mut command = Command::new("unshare");
    let user: &[&str] = if support::sandbox::is_root() { &["--mount"] } else { &["--mount", "--map-root-user"] };
    command.args(user).args(["sh", "-c", script, "sh"]).args([&outside, &inside]).arg(test);
    command.args(["--exact", "a_file_that_is_a_mount_is_written_in_place"]).env("AN_TEST_INSIDE_MOUNT", home.folder.path());
    let Ok(output) = command.output() else { return support::skip("no unshare") };
    if !output.status.success() && output.status.code() != Some(101) {
        return support::skip("no namespace, or no right to mount in it");
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((home.read("outside.json").as_deref(), outside.metadata().expect("metadata").ino()), (Some(NEW), inode));
}

/// As a user without rights: what root is allowed everywhere is refused by name.
#[test]
fn read_only_folders_and_files_of_others_are_refused_by_name() {
    if let Ok(folder) = std::env::var("AN_TEST_AS_NOBODY") {
        let state = tempfile::tempdir().expect("a folder");
        let store = Store::new(state.path().join("install"), None);
        let whole = Whole { bytes: b"// agent-notify\n".to_vec(), mode: 0o644, mark: b"agent-notify" };
        let names = ["closed/old.ts", "closed/new.ts", "closed/deep/er/new.ts", "open/theirs.ts", "open/linked.ts", "open/fine.ts"];
        let claims = names.map(|name| Claim { owner: name, path: Path::new(&folder).join(name), content: Content::Whole(whole.clone()) });
        let plan = plan::install(&claims, &store, &Options::default());
        let reasons: Vec<_> = plan.conflicts.iter().map(|conflict| (conflict.owner.as_str(), conflict.refusal.what.as_str())).collect();
        let closed = format!("the folder {folder}/closed is read-only");
        assert_eq!(
            reasons,
            [
                ("closed/old.ts", closed.as_str()),
                ("closed/new.ts", closed.as_str()),
                ("closed/deep/er/new.ts", closed.as_str()),
                ("open/theirs.ts", "it belongs to another user (id 0)"),
                ("open/linked.ts", "it is read-only, and as a hard link or mount it can only be written in place"),
            ],
            "all of them at once"
        );
        assert_eq!(plan.changes.len(), 1, "a file of one's own that is 0444 in a folder of one's own");
        let outcome = with_lock(&store, &|_, _| None, |locked| locked.run(plan::install(&claims[5..], &store, &Options::default())));
        committed(&outcome.expect("a lock"));
        return;
    }
    if !support::sandbox::is_root() {
        return support::skip("only root can become somebody else");
    }
    let home = Home::new();
    std::fs::set_permissions(home.folder.path(), PermissionsExt::from_mode(0o755)).expect("chmod");
    let old = b"// agent-notify, old\n";
    for name in ["closed/old.ts", "open/theirs.ts", "open/linked.ts", "open/fine.ts"] {
        home.write(name, old);
    }
    std::fs::hard_link(home.path("open/linked.ts"), home.path("open/other.ts")).expect("a hard link");
    for name in ["closed", "closed/old.ts", "open", "open/linked.ts", "open/fine.ts"] {
        std::os::unix::fs::chown(home.path(name), Some(65534), Some(65534)).expect("chown");
    }
    std::fs::set_permissions(home.path("closed"), PermissionsExt::from_mode(0o555)).expect("chmod");
    for name in ["open/linked.ts", "open/fine.ts"] {
        std::fs::set_permissions(home.path(name), PermissionsExt::from_mode(0o444)).expect("chmod");
    }
    // The test program may lie where nobody else can go.
    let test = home.path("test");
    std::fs::copy(std::env::current_exe().expect("this test"), &test).expect("a copy");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&test)
        .args(["--exact", "read_only_folders_and_files_of_others_are_refused_by_name"])
        .env("AN_TEST_AS_NOBODY", home.folder.path())
        .env("TMPDIR", "/tmp")
        .current_dir("/")
        .output()
        .expect("setpriv");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((mode(&home.path("open/fine.ts")), home.path("open/fine.ts").metadata().expect("metadata").uid()), (0o444, 65534));
}

#[test]
fn root_writes_files_of_the_homes_owner_and_leaves_them_theirs() {
    if !support::sandbox::is_root() {
        return support::skip("only root has files of others to write");
    }
    let home = Home::new();
    std::os::unix::fs::chown(home.folder.path(), Some(65534), Some(65534)).expect("chown");
    let path = home.write("settings.json", OLD);
    std::os::unix::fs::chown(&path, Some(65534), Some(65533)).expect("chown");
    assert!(rolled_back(home.change("settings.json", Some(OLD), Some(NEW))).contains("belongs to another user"));
    let store = Store::new(home.path("state/install"), Some(home.folder.path()));
    let home = Home { store, ..home };
    committed(&home.change("settings.json", Some(OLD), Some(NEW)));
    let metadata = path.metadata().expect("metadata");
    assert_eq!((metadata.uid(), metadata.gid()), (65534, 65533));
    committed(&home.change("new/folder/file", None, Some(NEW)));
    for name in ["new", "new/folder", "new/folder/file"] {
        assert_eq!(home.path(name).metadata().expect("metadata").uid(), 65534, "{name}");
    }
}

#[test]
fn a_file_that_changed_since_the_plan_is_not_written_and_the_others_go_back() {
    let home = Home::new();
    home.write("one.json", OLD);
    home.write("two.json", b"{\"theirs\": 1}\n");
    let reason = rolled_back(home.run(|| {
        let mut plan = Plan::new(Kind::Install);
        for name in ["one.json", "two.json"] {
            plan.changes.push(FileChange::plain("test", &home.path(name), Some(OLD.to_vec()), Some(NEW.to_vec()), 0o600));
        }
        plan
    }));
    assert!(reason.contains("two.json") && reason.contains("changed meanwhile"), "{reason}");
    assert_eq!((home.read("one.json").as_deref(), home.read("two.json").as_deref()), (Some(OLD), Some(&b"{\"theirs\": 1}\n"[..])));
}

#[test]
fn what_waits_in_vain_names_the_holder() {
    let home = Home::new();
    let stopped = with_lock(&home.store, &|_, _| None, |_| {
        transaction::with_lock_for(Duration::from_millis(20), &home.store, &|_, _| None, |_| ()).expect_err("busy")
    });
    let Ok(Stopped::Failed(error)) = stopped else { panic!("{stopped:?}") };
    assert!(error.to_string().contains(&format!("process {} holds the lock", std::process::id())), "{error}");
}

#[test]
fn the_state_is_private() {
    let home = Home::new();
    home.write("settings.json", OLD);
    committed(&home.run(|| plan::install(&[home.claim("made/it.ts")], &home.store, &Options::default())));
    committed(&home.change("settings.json", Some(OLD), Some(NEW)));
    let open = Command::new("find").arg(home.path("state")).args(["-perm", "/077"]).output().expect("find");
    assert_eq!(String::from_utf8_lossy(&open.stdout), "");
}

#[test]
fn a_second_installation_writes_nothing_and_uninstalling_leaves_nothing() {
    let home = Home::new();
    let claims = [home.claim("a/b/it.ts")];
    let install = || home.run(|| plan::install(&claims, &home.store, &Options::default()));
    committed(&install());
    let path = home.path("a/b/it.ts");
    assert_eq!(mode(&path), 0o644);
    let written = path.metadata().expect("metadata").modified().expect("a time");
    assert!(matches!(install(), Outcome::Nothing));
    assert_eq!(path.metadata().expect("metadata").modified().expect("a time"), written);
    assert_eq!(history(&home.store).len(), 1);
    let uninstall = || home.run(|| plan::uninstall(&claims, &home.store, Duration::ZERO));
    committed(&uninstall());
    assert!(!home.path("a").exists(), "made for it, and empty now");
    assert!(home.store.receipts().expect("receipts").files.is_empty());
    assert!(matches!(uninstall(), Outcome::Nothing));
    committed(&home.roll_back(None));
    assert_eq!((home.read("a/b/it.ts").is_some(), home.store.receipts().expect("receipts").files.len()), (true, 1));
}

#[test]
fn a_dry_run_reads_only() {
    let home = Home::new();
    let plan = plan::install(&[home.claim("a/it.ts")], &home.store, &Options::default());
    assert_eq!(plan.changes.len(), 1);
    assert_eq!((history(&home.store).len(), pending(&home.store).len()), (0, 0));
    assert_eq!(std::fs::read_dir(home.folder.path()).expect("a folder").count(), 0);
}

#[test]
fn two_paths_to_one_file_are_a_conflict() {
    let home = Home::new();
    symlink("it.ts", home.path("link.ts")).expect("a link");
    let plan = plan::install(&[home.claim("it.ts"), home.claim("link.ts")], &home.store, &Options::default());
    assert_eq!((plan.changes.len(), plan.conflicts.len()), (1, 1));
    assert!(matches!(home.run(|| plan), Outcome::Conflicts(conflicts) if conflicts.len() == 1));
    assert!(!home.path("it.ts").exists());
}

#[test]
fn rolling_back_goes_to_and_fro() {
    let home = Home::new();
    let text = |number: usize| format!("line\nnumber {number}\nend\n").into_bytes();
    home.write("file", &text(0));
    let ids: Vec<_> = (0..4).map(|at| committed(&home.change("file", Some(&text(at)), Some(&text(at + 1))))).collect();
    assert!(ids.is_sorted());
    committed(&home.roll_back(None));
    assert_eq!(home.read("file"), Some(text(3)));
    committed(&home.roll_back(None));
    assert_eq!(home.read("file"), Some(text(4)), "the rollback is rolled back");
    committed(&home.roll_back(Some(&ids[1])));
    assert_eq!(home.read("file"), Some(text(1)), "down to that one, and that one too");
    let entries = history(&home.store);
    assert_eq!((entries[0].kind, entries[0].undid.as_deref(), entries[0].state), (Kind::Rollback, Some(ids[1].as_str()), State::Finished));
    assert!(rollback_plan(&home.store, &[], &|_, _| None, Some("20000101-000000-000")).is_err());
}

#[test]
fn a_later_edit_survives_a_rollback_or_is_a_conflict() {
    let home = Home::new();
    home.write("file", b"one\n");
    committed(&home.change("file", Some(b"one\n"), Some(b"one\nours\n")));
    home.write("file", b"zero\none\nours\nmore\n");
    committed(&home.roll_back(None));
    assert_eq!(home.read("file").as_deref(), Some(&b"zero\none\nmore\n"[..]));
    committed(&home.change("file", Some(b"zero\none\nmore\n"), Some(b"zero\none\nmore\nours\n")));
    home.write("file", b"something else\n");
    let outcome = home.roll_back(None);
    assert!(matches!(&outcome, Outcome::Conflicts(conflicts) if conflicts.len() == 1), "{outcome:?}");
    assert_eq!(home.read("file").as_deref(), Some(&b"something else\n"[..]));
}

#[test]
fn ten_transactions_are_kept_and_the_first_original_for_ever() {
    let home = Home::new();
    let text = |number: usize| format!("{number}\n").into_bytes();
    home.write("file", &text(0));
    for at in 0..15 {
        committed(&home.change("file", Some(&text(at)), Some(&text(at + 1))));
    }
    assert_eq!(history(&home.store).len(), 10);
    assert_eq!(home.store.backup(&store::hash(&text(0))).expect("readable"), Some(text(0)), "the first original");
    assert_eq!(home.store.backup(&store::hash(&text(3))).expect("readable"), None);
    assert!(home.store.backup(&store::hash(&text(5))).expect("readable").is_some());
    // Contents 5 to 15, and the original.
    assert_eq!(std::fs::read_dir(home.store.folder().join("backups")).expect("a folder").count(), 12);
    let oldest = history(&home.store).last().expect("one").id.clone();
    committed(&home.roll_back(Some(&oldest)));
    assert_eq!(home.read("file"), Some(text(5)));
}

/// One of eight installers.
fn install_once(folder: &Path) -> Outcome {
    let store = Store::new(folder.join("state/install"), None);
    let outcome = with_lock(&store, &|_, _| None, |locked| {
        let mut plan = Plan::new(Kind::Install);
        for number in 0..3 {
            let path = folder.join(format!("{number}.json"));
            let before = std::fs::read(&path).ok();
            if before.as_deref() != Some(NEW) {
                plan.changes.push(FileChange::plain("test", &path, before, Some(NEW.to_vec()), 0o600));
            }
        }
        locked.run(plan)
    });
    outcome.expect("a lock")
}

#[test]
fn of_eight_installers_at_once_one_works_and_readers_see_whole_files() {
    if let Ok(folder) = std::env::var("AN_TEST_INSTALLER") {
        let outcome = install_once(Path::new(&folder));
        assert!(matches!(outcome, Outcome::Nothing | Outcome::Committed { .. }), "{outcome:?}");
        return;
    }
    let home = Home::new();
    for number in 0..3 {
        home.write(&format!("{number}.json"), OLD);
    }
    let test = std::env::current_exe().expect("this test");
    let mut installers: Vec<_> = (0..8)
        .map(|_| {
            let mut command = Command::new(&test);
            command.args(["--exact", "of_eight_installers_at_once_one_works_and_readers_see_whole_files"]);
            command.env("AN_TEST_INSTALLER", home.folder.path()).stdout(std::process::Stdio::null()).spawn().expect("a process")
        })
        .collect();
    loop {
        let running = installers.iter_mut().any(|installer| installer.try_wait().expect("a process").is_none());
        for number in 0..3 {
            let content = home.read(&format!("{number}.json")).expect("always there");
            assert!(content == OLD || content == NEW, "{content:?}");
        }
        if !running {
            break;
        }
    }
    assert!(installers.iter_mut().all(|installer| installer.wait().expect("a process").success()));
    assert_eq!((history(&home.store).len(), home.leftovers().as_str()), (1, ""));
    assert_eq!(home.read("2.json").as_deref(), Some(NEW));
}
