//! All payloads in one table: arguments, reply, what the person sees, or why nothing. The notes beside the fixtures say what
//! must come out; the snapshot keeps the wording.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::invocation::invocation;
use super::payloads::{self, Wanted};
use super::support::{Notification, Persona, Sandbox, notifications, visible};

/// One row of the table.
struct Row {
    line: String,
    complaint: Option<String>,
}

#[test]
fn every_payload_gives_the_notification_that_its_notes_name() {
    let todo = Mutex::new(payloads::all().into_iter());
    let rows = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let next = todo.lock().expect("no panic").next();
                    let Some((file, wanted)) = next else { break };
                    let row = run(&file, wanted);
                    rows.lock().expect("no panic").insert(file, row);
                }
            });
        }
    });
    let rows = rows.into_inner().expect("no panic");
    let complaints: Vec<_> = rows.values().filter_map(|row| row.complaint.as_deref()).collect();
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), rows.len(), complaints.join("\n"));
    let table: Vec<_> = rows.values().map(|row| row.line.as_str()).collect();
    insta::assert_snapshot!("payloads", table.join("\n"));
}

/// Runs one payload on a terminal of its own, with an empty ledger.
fn run(file: &str, wanted: Wanted) -> Row {
    let sandbox = Sandbox::new();
    let invocation = invocation(&sandbox, file);
    let arguments = invocation.arguments;
    let (outcome, terminal) = invocation.command.run_on(Persona::GHOSTTY);
    let reply = outcome.text();
    let in_reply =
        serde_json::from_str(&reply).map(|value: serde_json::Value| value["terminalSequence"].as_str().unwrap_or_default().to_owned());
    let in_reply = in_reply.unwrap_or_default();
    let mut shown = notifications(in_reply.as_bytes());
    let written_at_once = wanted != Wanted::Nothing && shown.is_empty();
    shown.extend(terminal.notifications(usize::from(written_at_once)));
    let log = sandbox.log();
    let field = |name: &str| log.last().and_then(|line| line[name].as_str()).unwrap_or("-").to_owned();

    let right_reply = match (arguments[1].as_str(), in_reply.is_empty()) {
        ("codex" | "pi", _) => reply.is_empty(),
        (_, true) => reply == "{}\n",
        // Only Claude itself may be handed a sequence.
        (agent, false) => agent == "claude" && file.starts_with("claude/"),
    };
    let problem = if outcome.status != 0 {
        Some("exit status")
    } else if !right_reply {
        Some("reply")
    } else if shown.len() != usize::from(wanted.kind().is_some()) {
        Some("notifications")
    } else if wanted.kind().is_some_and(|kind| field("kind") != kind) {
        Some("kind in the log")
    } else {
        None
    };
    let told = match shown.as_slice() {
        [] => format!("{}: {}", field("decision"), field("reason")),
        [one] => told(one),
        _ => format!("{shown:?}"),
    };
    let form = if in_reply.is_empty() { reply.trim_end().to_owned() } else { "{terminalSequence}".into() };
    let line = format!("{file} | {} | {form} | {told}", arguments.join(" "));
    let complaint = problem.map(|problem| format!("{problem}: wanted {wanted:?}; {line}; {outcome:?}; log {log:?}"));
    Row { line: without_host(&line), complaint }
}

fn told(shown: &Notification) -> String {
    let Notification { protocol, title, body } = shown;
    format!("{protocol:?} {} / {}", visible(title.as_bytes()), visible(body.as_bytes()))
}

/// The same on every machine.
fn without_host(line: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let short = host.trim().split('.').next().unwrap_or_default().to_owned();
    if short.is_empty() {
        return line.to_owned();
    }
    line.split(" · ").map(|part| if part == host.trim() || part == short { "[HOST]" } else { part }).collect::<Vec<_>>().join(" · ")
}
