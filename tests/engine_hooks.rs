//! The engine with hook entries: what comes, goes and comes back among a person's own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_notify::claim::{Claim, Content, Entry, Hooks, Over, Setting, Shape};
use agent_notify::engine::{Options, Outcome, Plan, Store, history, plan, rollback_plan, with_lock};

struct Home {
    folder: tempfile::TempDir,
    store: Store,
    command: &'static str,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::new(folder.path().join("state/install"), None);
        Self { folder, store, command: "/bin/agent-notify" }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn claude(&self) -> PathBuf {
        self.path(".claude/settings.json")
    }

    fn cursor(&self) -> PathBuf {
        self.path(".cursor/hooks.json")
    }

    fn claims(&self) -> [Claim; 2] {
        let entry = |event, agent| Entry { event, matcher: None, command: format!("{} hook {agent}", self.command), timeout: 10 };
        let hooks = |agent, shape, entries, settings| Content::Hooks(Hooks { agent, shape, entries, settings, known_events: &[] });
        let muted = Setting { key: "preferredNotifChannel", value: "notifications_disabled".into(), over: Over::Replace };
        let claude = hooks("claude", Shape::Grouped, vec![entry("Stop", "claude"), entry("Notification", "claude")], vec![muted]);
        let cursor = hooks("cursor", Shape::Flat, vec![entry("stop", "cursor")], Vec::new());
        [Claim { owner: "claude", path: self.claude(), content: claude }, Claim { owner: "cursor", path: self.cursor(), content: cursor }]
    }

    fn run(&self, plan: impl FnOnce() -> Plan) -> Outcome {
        with_lock(&self.store, &|_, _| None, |locked| locked.run(plan())).expect("a lock")
    }

    fn install(&self) -> Outcome {
        self.run(|| plan::install(&self.claims(), &self.store, &Options::default()))
    }

    fn uninstall(&self) -> Outcome {
        self.run(|| plan::uninstall(&self.claims(), &self.store, Duration::from_millis(1)))
    }

    fn roll_back(&self) -> Outcome {
        self.run(|| rollback_plan(&self.store, &self.claims(), &|_, _| None, None).expect("a plan"))
    }
}

fn committed(outcome: &Outcome) {
    assert!(matches!(outcome, Outcome::Committed { troubles, .. } if troubles.is_empty()), "{outcome:?}");
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
    std::fs::write(path, text).expect("write");
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

const CLAUDE: &str = "{\n    \"model\": \"opus\",\n    \"preferredNotifChannel\": \"iterm2\",\n    \"hooks\": {}\n}\n";

#[test]
fn uninstalling_gives_the_bytes_back_and_absent_files_are_absent_again() {
    let home = Home::new();
    write(&home.claude(), CLAUDE);
    committed(&home.install());
    assert!(matches!(home.install(), Outcome::Nothing));
    assert!(read(&home.claude()).contains("notifications_disabled") && read(&home.cursor()).contains("hook cursor"));
    committed(&home.uninstall());
    assert_eq!(read(&home.claude()), CLAUDE);
    assert!(!home.path(".cursor").exists());
    assert!(matches!(home.uninstall(), Outcome::Nothing));
}

#[test]
fn an_upgrade_keeps_the_original_and_an_edit_in_between_becomes_part_of_it() {
    let home = Home::new();
    write(&home.claude(), CLAUDE);
    committed(&home.install());
    let home = Home { command: "/opt/new/agent-notify", ..home };
    committed(&home.install());
    let edited = read(&home.claude()).replace("\"model\": \"opus\"", "\"model\": \"sonnet\",\n    \"mine\": [1, 2]");
    write(&home.claude(), &edited);
    let home = Home { command: "/opt/newer/agent-notify", ..home };
    committed(&home.install());
    assert_eq!(read(&home.claude()).matches("hook claude").count(), 2, "no old entry");
    committed(&home.uninstall());
    assert_eq!(read(&home.claude()), CLAUDE.replace("\"model\": \"opus\"", "\"model\": \"sonnet\",\n    \"mine\": [1, 2]"));
    assert!(!home.path(".cursor").exists());
}

#[test]
fn with_the_state_lost_an_older_installation_is_not_taken_for_the_persons_own() {
    let home = Home::new();
    let claude = CLAUDE.replace("iterm2", "notifications_disabled");
    write(&home.claude(), &claude);
    committed(&home.install());
    std::fs::remove_dir_all(home.store.folder()).expect("removed");
    let home = Home { command: "/opt/new/agent-notify", ..home };
    committed(&home.install());
    committed(&home.uninstall());
    let left = read(&home.claude());
    assert!(!left.contains("agent-notify") && left.contains("opus"), "{left}");
}

#[test]
fn a_rollback_of_each_kind_brings_back_what_was() {
    let home = Home::new();
    write(&home.claude(), CLAUDE);
    committed(&home.install());
    let (claude, cursor) = (read(&home.claude()), read(&home.cursor()));
    committed(&home.uninstall());
    committed(&home.roll_back());
    assert_eq!((read(&home.claude()), read(&home.cursor())), (claude.clone(), cursor.clone()), "also the file that went in two steps");
    committed(&home.roll_back());
    assert_eq!(read(&home.claude()), CLAUDE);
    assert!(!home.path(".cursor").exists(), "{:?}", history(&home.store));
    committed(&home.roll_back());
    assert_eq!((read(&home.claude()), read(&home.cursor())), (claude, cursor));
    committed(&home.uninstall());
    assert_eq!(read(&home.claude()), CLAUDE, "the receipts came back too");
    assert!(!home.path(".cursor").exists());
}

#[test]
fn what_the_person_added_to_a_file_of_ours_survives_the_rollback_of_its_installation() {
    let home = Home::new();
    write(&home.claude(), CLAUDE);
    committed(&home.install());
    let mine = read(&home.cursor()).replace("\"stop\": [", "\"afterFileEdit\": [{ \"command\": \"./mine.sh\" }],\n    \"stop\": [");
    assert!(mine.contains("mine.sh"), "{mine}");
    write(&home.cursor(), &mine);
    committed(&home.roll_back());
    let left = read(&home.cursor());
    assert!(left.contains("./mine.sh") && !left.contains("agent-notify"), "{left}");
    assert_eq!(read(&home.claude()), CLAUDE);
}

#[test]
fn rolling_an_uninstallation_back_keeps_what_the_person_wrote_since() {
    let home = Home::new();
    write(&home.claude(), CLAUDE);
    committed(&home.install());
    committed(&home.uninstall());
    write(&home.claude(), &CLAUDE.replace("opus", "sonnet"));
    committed(&home.roll_back());
    let text = read(&home.claude());
    assert!(text.contains("sonnet") && text.matches("hook claude").count() == 2, "{text}");
    committed(&home.uninstall());
    assert_eq!(read(&home.claude()), CLAUDE.replace("opus", "sonnet"));
}

#[test]
fn rolling_an_upgrade_back_keeps_what_the_person_wrote_since() {
    let home = Home::new();
    write(&home.claude(), CLAUDE);
    committed(&home.install());
    let home = Home { command: "/opt/new/agent-notify", ..home };
    committed(&home.install());
    write(&home.claude(), &read(&home.claude()).replace("opus", "sonnet"));
    committed(&home.roll_back());
    let text = read(&home.claude());
    assert!(text.contains("sonnet") && text.matches("/bin/agent-notify hook claude").count() == 2 && !text.contains("/opt/new"), "{text}");
}

#[test]
fn a_file_that_cannot_be_written_is_refused_with_what_to_paste() {
    let home = Home::new();
    std::fs::create_dir_all(home.claude()).expect("a folder in its place");
    let plan = plan::install(&home.claims(), &home.store, &Options::default());
    let refusal = &plan.conflicts[0].refusal;
    assert_eq!(refusal.what, "it is a folder, not a file");
    assert!(refusal.snippet.contains("/bin/agent-notify hook claude"), "{refusal:?}");
    assert_eq!(plan.changes.len(), 1, "the other file is planned all the same");
}

#[test]
fn a_file_written_between_the_two_steps_of_its_removal_stays() {
    let home = Home::new();
    committed(&home.install());
    let cursor = home.cursor();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while read(&cursor).contains("agent-notify") {
                std::thread::sleep(Duration::from_millis(1));
            }
            write(&cursor, "{\"version\": 1, \"hooks\": {\"stop\": []}}\n");
        });
        home.run(|| plan::uninstall(&home.claims(), &home.store, Duration::from_millis(400)))
    });
    committed(&outcome);
    assert!(read(&cursor).contains("\"stop\": []"));
}
