//! What a person reads: every word of it, with paths, ids and times replaced.

use std::fmt::Write as _;

use crate::host::{CONFIG, HOOKS, Host, SETTINGS};
use crate::support::{Command, Outcome};

/// Commands and what they printed, one after the other.
struct Session<'host> {
    host: &'host Host,
    text: String,
}

impl<'host> Session<'host> {
    fn new(host: &'host Host) -> Self {
        Self { host, text: String::new() }
    }

    #[track_caller]
    fn run(&mut self, arguments: &[&str], status: i32) -> Outcome {
        self.show(arguments, self.host.command(arguments), status)
    }

    #[track_caller]
    fn show(&mut self, arguments: &[&str], command: Command<'_>, status: i32) -> Outcome {
        let outcome = command.run();
        outcome.code(status);
        write!(self.text, "$ agent-notify {}", arguments.join(" ")).expect("a string");
        writeln!(self.text, "{}", if status == 0 { String::new() } else { format!("    [{status}]") }).expect("a string");
        self.text.push_str(&without_template(&self.host.shown(&outcome.text())));
        for line in self.host.shown(&outcome.errors()).lines() {
            writeln!(self.text, "! {line}").expect("a string");
        }
        for line in outcome.text().lines().chain(outcome.errors().lines()) {
            assert!(!line.ends_with([' ', '\t']), "blanks at the end of {line:?}");
            assert!(!line.contains('\x1b'), "colour in a pipe: {line:?}");
        }
        self.text.push('\n');
        outcome
    }
}

/// The configuration's template is not the installer's business: its lines in a diff are left out.
fn without_template(text: &str) -> String {
    let mut shown = String::new();
    let mut is_template = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_header = |line: &str| line.starts_with("--- ") || line.starts_with("+++ ");
        if is_header(line) {
            let next = lines.peek().copied().unwrap_or_default();
            is_template = line.contains("config.toml")
                || (line.starts_with("--- ") && next.contains("config.toml"))
                || (is_template && line == "+++ /dev/null");
        } else if is_template && line.starts_with("@@") {
            writeln!(shown, "(the template)").expect("a string");
            continue;
        } else if is_template && line.starts_with(['+', '-']) {
            continue;
        }
        writeln!(shown, "{line}").expect("a string");
    }
    shown
}

const FOREIGN: &str = r#"{
  "model": "opus",
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "/home/u/bin/chime" } ] }
    ]
  }
}
"#;

#[test]
fn a_first_installation() {
    let host = Host::new();
    host.write(SETTINGS, FOREIGN);
    let mut session = Session::new(&host);
    session.run(&["status"], 0);
    session.run(&["history"], 0);
    session.run(&["install", "--check"], 5);
    session.run(&["install", "--dry-run"], 0);
    // Whether there is a terminal for the test notification is not this program's doing.
    session.run(&["install", "--no-test"], 0);
    session.run(&["install"], 0);
    session.run(&["install", "--check"], 0);
    session.run(&["install", "--dry-run"], 0);
    session.run(&["status"], 0);
    session.run(&["history"], 0);
    insta::assert_snapshot!(session.text);
}

#[test]
fn an_upgrade_from_an_old_path() {
    let host = Host::new();
    let fixture = |name: &str| std::fs::read(format!("{}/tests/fixtures/configs/{name}", env!("CARGO_MANIFEST_DIR"))).expect(name);
    host.write(SETTINGS, fixture("claude/own-duplicates.json"));
    host.write(HOOKS, fixture("cursor/own-old-path.json"));
    host.write(CONFIG, "");
    let mut session = Session::new(&host);
    session.run(&["status"], 0);
    session.run(&["install", "--dry-run"], 0);
    session.run(&["install", "--no-test"], 0);
    session.run(&["status"], 0);
    insta::assert_snapshot!(session.text);
}

#[test]
fn nothing_on_the_host() {
    let host = Host::empty();
    let mut session = Session::new(&host);
    session.run(&["install"], 0);
    session.run(&["install", "--dry-run"], 0);
    session.run(&["install", "--check"], 0);
    session.run(&["status"], 0);
    session.run(&["uninstall"], 0);
    session.run(&["history"], 0);
    session.run(&["rollback"], 0);
    session.run(&["rollback", "--recover"], 0);
    session.run(&["install", "--json"], 0);
    session.run(&["uninstall", "--json"], 0);
    session.run(&["status", "--json"], 0);
    session.run(&["history", "--json"], 0);
    session.run(&["rollback", "--json"], 0);
    session.run(&["rollback", "--recover", "--json"], 0);
    insta::assert_snapshot!(session.text);
}

#[test]
fn conflicts() {
    let host = Host::new();
    host.write(SETTINGS, "{\n  // mine\n  \"model\": \"opus\"\n}\n");
    host.write(HOOKS, "{ \"version\": 1, \"hooks\": [] }");
    let mut session = Session::new(&host);
    session.run(&["install"], 3);
    session.run(&["install", "--json"], 3);
    session.run(&["status"], 0);
    host.write(SETTINGS, b"{ \"caf\xe9\": 1 }");
    session.run(&["install", "--check"], 3);
    std::fs::remove_file(host.path(HOOKS)).expect("removed");
    std::fs::remove_file(host.path(SETTINGS)).expect("removed");
    host.link("settings.json", SETTINGS);
    session.run(&["install", "--dry-run"], 3);
    insta::assert_snapshot!(session.text);
}

#[test]
fn what_is_odd_but_no_conflict() {
    let host = Host::empty().with_cursor();
    host.write(
        SETTINGS,
        r#"{ "disableAllHooks": true, "hooks": { "OnFinish": [], "Stop": [ { "hooks": [ { "type": "command", "command": "env X=1 agent-notify hook claude" } ] } ] } }"#,
    );
    host.write(HOOKS, r#"{ "hooks": { "stop": [ { "command": "curl https://example.org" } ] } }"#);
    let mut session = Session::new(&host);
    session.run(&["install", "--check"], 5);
    session.run(&["install", "--no-test"], 0);
    session.run(&["status"], 0);
    insta::assert_snapshot!(session.text);
}

#[test]
fn going_back() {
    let host = Host::new();
    host.write(SETTINGS, FOREIGN);
    host.install();
    let first = host.transactions().remove(0);
    let mut session = Session::new(&host);
    session.run(&["rollback", "--dry-run"], 0);
    session.run(&["rollback"], 0);
    session.run(&["rollback"], 0);
    session.run(&["history"], 0);
    session.run(&["rollback", &first], 0);
    session.run(&["rollback", "19700101-000000-000"], 1);
    session.run(&["rollback", "--recover"], 0);
    session.run(&["history"], 0);
    let mut text = session.text;
    text = text.replace(&first, "[ID]");
    insta::assert_snapshot!(text);
}

#[test]
fn taking_out() {
    let host = Host::new();
    host.write(SETTINGS, FOREIGN);
    host.install();
    let mut session = Session::new(&host);
    session.run(&["uninstall", "--dry-run"], 0);
    session.run(&["uninstall"], 0);
    session.run(&["uninstall"], 0);
    session.run(&["uninstall", "--purge"], 0);
    host.install();
    session.run(&["uninstall", "--purge"], 0);
    host.install();
    host.write(SETTINGS, "{ broken");
    session.run(&["uninstall"], 3);
    insta::assert_snapshot!(session.text);
}

/// Times in JSON differ from run to run, too.
fn without_times(text: &str) -> String {
    let mut parts = text.split("\"time\":");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str("\"time\":[TIME]");
        shown.push_str(part.trim_start_matches(|character: char| character.is_ascii_digit()));
    }
    shown
}

#[test]
fn everything_for_programs() {
    let host = Host::new();
    host.write(SETTINGS, FOREIGN);
    let mut session = Session::new(&host);
    for (arguments, status) in [
        (&["install", "--check", "--json"][..], 5),
        (&["install", "--dry-run", "--json"], 0),
        (&["install", "--json"], 0),
        (&["install", "--json"], 0),
        (&["status", "--json"], 0),
        (&["history", "--json"], 0),
        (&["rollback", "--json"], 0),
        (&["rollback", "--json"], 0),
        (&["rollback", "--recover", "--json"], 0),
        (&["uninstall", "--dry-run", "--json"], 0),
        (&["uninstall", "--json"], 0),
        (&["uninstall", "--json"], 0),
        (&["uninstall", "--purge", "--json"], 0),
    ] {
        let outcome = session.run(arguments, status);
        assert!(outcome.json().is_object());
        assert_eq!(outcome.errors(), "", "{arguments:?}");
    }
    insta::assert_snapshot!(without_times(&session.text));
}

#[test]
fn the_help() {
    let host = Host::empty();
    let mut session = Session::new(&host);
    for command in ["install", "uninstall", "status", "history", "rollback"] {
        let outcome = host.command(&[command, "--help"]).run();
        outcome.success();
        writeln!(session.text, "$ agent-notify {command} --help").expect("a string");
        for line in outcome.text().lines() {
            // clap leaves blanks on an empty line.
            writeln!(session.text, "{}", line.trim_end()).expect("a string");
        }
        session.text.push('\n');
    }
    insta::assert_snapshot!(session.text);
}

/// A diff in colour where it is asked for; `Session` checks that a pipe has none.
#[test]
fn colour_is_for_terminals_or_on_request() {
    let host = Host::empty().with_claude();
    host.write(SETTINGS, FOREIGN);
    host.write(CONFIG, "");
    let forced = |arguments: &[&str]| host.command(arguments).env("CLICOLOR_FORCE", "1").run();
    let diff = forced(&["install", "--dry-run"]).success().text();
    for coloured in ["\x1b[32m+", "\x1b[31m-", "\x1b[36m@@", "\x1b[1m---"] {
        assert!(diff.contains(coloured), "{coloured:?} in {diff:?}");
    }
    let plain = host.run(&["install", "--dry-run"]).success().text();
    assert_eq!(anstream::adapter::strip_str(&diff).to_string(), plain);
    assert_eq!(host.command(&["install", "--dry-run"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").run().text(), plain);
    host.write(SETTINGS, "{ broken");
    let outcome = forced(&["install"]);
    assert!(outcome.code(3).errors().contains("\x1b[1m\x1b[31merror:"), "{:?}", outcome.errors());
}

/// Text from a file reaches the terminal only made visible.
#[test]
fn hostile_text_is_made_visible() {
    let host = Host::new();
    let key = "\\u001b]0;title\\u0007\u{9b}31m\u{202e}";
    host.write(SETTINGS, format!("{{\n  \"hooks\": {{ \"{key}\": [] }}\n}}\n"));
    host.write(HOOKS, format!("{{ \"version\": 1, \"hooks\": {{ \"{key}\": [] }} }}"));
    for arguments in
        [&["install", "--dry-run"][..], &["install", "--check"], &["install"], &["status"], &["status", "--json"], &["uninstall"]]
    {
        let outcome = host.run(arguments);
        for text in [outcome.text(), outcome.errors()] {
            let unsafe_one = text.chars().find(|character| (character.is_control() && *character != '\n') || *character == '\u{202e}');
            assert_eq!(unsafe_one, None, "{arguments:?}: {text:?}");
        }
    }
}
