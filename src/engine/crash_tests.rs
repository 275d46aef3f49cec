//! A fault at every change of the file system, in one process: as an error of that call, and as the process's end. The stage
//! `crash` does the same to the program from outside.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::plan::FileChange;
use super::*;
use crate::files::fault::{Mode, inject};

/// A home with every kind of file a transaction meets.
struct Home {
    folder: tempfile::TempDir,
    store: Store,
}

/// Path, content before and after.
type Row = (&'static str, Option<&'static str>, Option<&'static str>);

const ROWS: [Row; 5] = [
    ("settings.json", Some("{\"a\": 1}\n"), Some("{\"a\": 1, \"hooks\": {}}\n")),
    ("hard.json", Some("{\"long\": \"before and longer\"}\n"), Some("{\"h\": 2}\n")),
    ("grown.json", Some("{}\n"), Some("{\"hooks\": {\"Stop\": [1, 2, 3]}}\n")),
    ("made/for/it.ts", None, Some("// agent-notify\n")),
    ("gone.json", Some("{\"hooks\": {}}\n"), None),
];

impl Home {
    fn new() -> Self {
        // In memory where there is such a place: thousands of syncs wait for a disk here, and nobody pulls the plug.
        let memory = Path::new("/dev/shm");
        let folder = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).expect("a folder");
        let path = folder.path();
        std::fs::create_dir(path.join("dot")).expect("mkdir");
        symlink("dot/settings.json", path.join("settings.json")).expect("a link");
        for (name, before, _) in ROWS {
            let Some(before) = before else { continue };
            std::fs::write(path.join(name), before).expect("write");
            std::fs::set_permissions(path.join(name), PermissionsExt::from_mode(0o640)).expect("chmod");
        }
        for name in ["hard.json", "grown.json"] {
            std::fs::hard_link(path.join(name), path.join(format!("{name}.other"))).expect("a hard link");
        }
        let store = Store::new(path.join("state/install"), None);
        Self { folder, store }
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(name)).ok()
    }

    fn install(&self) -> Result<Outcome, Stopped> {
        let mut plan = Plan::new(Kind::Install);
        for (name, before, after) in ROWS {
            let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
            let path = self.folder.path().join(name);
            let receipt = after.map(|after| Receipt {
                owner: name.to_owned(),
                path: path.clone(),
                base: before.map(|before| store::hash(before.as_bytes())),
                written: store::hash(after.as_bytes()),
                edit: None,
                created: Vec::new(),
                replaced: Vec::new(),
                folders: Vec::new(),
            });
            plan.changes.push(FileChange { receipt, ..FileChange::plain(name, &path, bytes(before), bytes(after), 0o600) });
        }
        with_lock(&self.store, &|_, _| None, |locked| locked.run(plan))
    }

    fn roll_back(&self) -> Result<Outcome, Stopped> {
        with_lock(&self.store, &|_, _| None, |locked| locked.run(rollback_plan(&self.store, &[], &|_, _| None, None).expect("a plan")))
    }

    fn recover(&self) -> Recovered {
        with_lock(&self.store, &|_, _| None, |locked| locked.recovered().clone()).expect("recovery works")
    }

    /// `Some(true)` all new, `Some(false)` all old, `None` a mixture.
    fn state(&self) -> Option<bool> {
        let new = ROWS.iter().all(|(name, _, after)| self.read(name).as_deref() == *after)
            && !self.store.receipts().expect("receipts").files.is_empty();
        let old = ROWS.iter().all(|(name, before, _)| self.read(name).as_deref() == *before)
            && self.store.receipts().expect("receipts").files.is_empty();
        (new || old).then_some(new)
    }

    /// What must hold whenever nothing is interrupted.
    fn check_whole(&self) -> Result<bool, String> {
        let new = self.state().ok_or("a mixture")?;
        let path = self.folder.path();
        if !path.join("settings.json").is_symlink() {
            return Err("the link is gone".to_owned());
        }
        for (name, before, after) in ROWS {
            if let (Some(_), Some(_)) = (before, after) {
                let mode = path.join(name).metadata().map_err(|error| error.to_string())?.permissions().mode() & 0o7777;
                if mode != 0o640 {
                    return Err(format!("{name} has mode {mode:o}"));
                }
            }
        }
        if self.read("hard.json") != self.read("hard.json.other") {
            return Err("the hard link was split".to_owned());
        }
        if !new && path.join("made").exists() {
            return Err("a folder of ours is left".to_owned());
        }
        let left = leftovers(path);
        if left.is_empty() { Ok(new) } else { Err(format!("left behind: {left:?}")) }
    }
}

/// Temporary files and half-made transactions.
fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
        if name.contains(".an-") || name.ends_with(".tmp") {
            found.push(entry.clone());
        }
        if entry.is_dir() && !entry.is_symlink() {
            found.extend(leftovers(&entry));
        }
    }
    found
}

fn every_fault(prepare: fn(&Home), command: fn(&Home) -> Result<Outcome, Stopped>, leads_to_new: bool) -> usize {
    let home = Home::new();
    prepare(&home);
    let (outcome, points) = inject(None, || command(&home));
    assert!(matches!(outcome, Ok(Outcome::Committed { .. })), "{outcome:?}");
    assert_eq!(home.check_whole(), Ok(leads_to_new));
    let mut violations_without_recovery = 0;
    for at in 0..points {
        for mode in [Mode::Once, Mode::Dead] {
            let home = Home::new();
            prepare(&home);
            let (outcome, _) = inject(Some((at, mode)), || command(&home));
            let done = matches!(outcome, Ok(Outcome::Committed { .. }));
            if mode == Mode::Once {
                // No other process has to come first.
                // An empty folder that the disk would not let go is tried again; the outcome says so.
                if !matches!(&outcome, Ok(Outcome::Committed { troubles, .. }) if !troubles.is_empty()) {
                    assert_eq!(home.check_whole(), Ok(if done { leads_to_new } else { !leads_to_new }), "{at} {outcome:?}");
                }
                assert!(!matches!(outcome, Ok(Outcome::Incomplete { .. })), "{at} {outcome:?}");
            } else if home.check_whole().is_err() {
                violations_without_recovery += 1;
            }
            let recovered = home.recover();
            assert_eq!(recovered.kept, Vec::<PathBuf>::new(), "{at} {mode:?}");
            let state = home.check_whole().unwrap_or_else(|why| panic!("{why} after {mode:?} at {at}: {outcome:?}, {recovered:?}"));
            assert!(!done || state == leads_to_new, "reported as done at {at}");
            assert_eq!(home.recover(), Recovered::default(), "the second recovery has nothing to do");
            // And it works the next time.
            if state != leads_to_new {
                assert!(matches!(command(&home), Ok(Outcome::Committed { .. })));
            }
            assert_eq!(home.check_whole(), Ok(leads_to_new));
        }
    }
    violations_without_recovery
}

#[test]
fn an_installation_is_whole_after_a_fault_at_any_point() {
    let violations = every_fault(|_| (), Home::install, true);
    assert!(violations > 10, "without recovery there must be violations, or the check is too weak: {violations}");
}

#[test]
fn a_rollback_is_whole_after_a_fault_at_any_point() {
    let installed = |home: &Home| assert!(matches!(home.install(), Ok(Outcome::Committed { .. })));
    let violations = every_fault(installed, Home::roll_back, false);
    assert!(violations > 10, "without recovery there must be violations, or the check is too weak: {violations}");
}

/// A home after a crash as late as there is still a file to come.
fn interrupted() -> Home {
    let (_, points) = inject(None, || Home::new().install());
    let crashed = |at| {
        let home = Home::new();
        let _ = inject(Some((at, Mode::Dead)), || home.install());
        (home.state().is_none() && home.read("settings.json").as_deref() == ROWS[0].2).then_some(home)
    };
    (0..points).rev().find_map(crashed).expect("a crash in the middle")
}

#[test]
fn recovery_itself_may_be_interrupted_at_any_point() {
    let home = interrupted();
    assert_eq!(home.state(), None, "it is a mixture");
    let (_, points) = inject(None, || home.recover());
    for at in 0..points {
        let home = interrupted();
        let _ = inject(Some((at, Mode::Dead)), || with_lock(&home.store, &|_, _| None, |_| ()).is_ok());
        home.recover();
        assert_eq!(home.check_whole(), Ok(false), "{at}");
    }
}

#[test]
fn an_edit_between_crash_and_recovery_stays() {
    let home = interrupted();
    let file = home.folder.path().join("settings.json");
    std::fs::write(&file, "{\"mine\": 1}\n").expect("write");
    assert_eq!(pending(&home.store).len(), 1);
    let recovered = home.recover();
    assert_eq!(recovered.kept, [file]);
    assert_eq!(home.read("settings.json").as_deref(), Some("{\"mine\": 1}\n"));
    assert_eq!(home.read("hard.json").as_deref(), ROWS[1].1, "the others are the old ones");
    assert!(
        home.store.backup(&store::hash(ROWS[0].1.expect("a content").as_bytes())).expect("readable").is_some(),
        "the old content is kept"
    );
    assert!(pending(&home.store).is_empty());
}
