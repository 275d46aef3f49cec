//! `test`: a notification past every policy, and the route it took.

use std::process::ExitCode;

use clap::Args;

use super::send::{failure, json};
use super::{FAILED, output};
use crate::environment::Env;
use crate::error::Error;
use crate::notify::{Announcement, Report, announce};

#[derive(Args)]
pub(super) struct Arguments {
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, env: &Env) -> Result<ExitCode, Error> {
    let report = announce(&Announcement { is_test: true, ..Announcement::default() }, env);
    let sent = report.carriers.iter().any(|carried| carried.ok);
    if arguments.json {
        output::json(&json(&report));
    } else {
        print(&report);
        if !sent && !report.settled {
            return Err(failure(&report));
        }
    }
    Ok(if report.settled { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn print(report: &Report) {
    let show = |name: &str, value: &str| output::line(&format!("{name:<9} {}", output::visible(value)));
    show("title", report.message.title.as_str());
    show("body", report.message.body.as_str());
    if let Some(route) = &report.route {
        show("route", route);
    }
    for write in &report.writes {
        show("sent", &format!("{} bytes to {} ({}, wrap {})", write.bytes, write.tty, write.protocol, write.wrap));
    }
    for carried in &report.carriers {
        let state = if carried.ok { "ok" } else { "failed" };
        let detail = if carried.detail.is_empty() { String::new() } else { format!(": {}", carried.detail) };
        show(carried.carrier, &format!("{state}{detail}"));
    }
    for warning in &report.warnings {
        output::warning(warning);
    }
    for line in advice(report) {
        output::line(line);
    }
}

/// What to look at when nothing was seen.
fn advice(report: &Report) -> &'static [&'static str] {
    if !report.writes.is_empty() {
        &[
            "",
            "Nothing on your desk? Check, from near to far:",
            "  - the terminal's own switch (Ghostty: desktop-notifications; iTerm2: Profiles > Terminal > Notification center alerts)",
            "  - whether the terminal holds notifications back while it has the focus: look at another window and test again",
            "  - the desktop: do not disturb, and permission for this terminal to notify",
            "  - whether it is the protocol of your terminal: agent-notify config set notify.terminals.NAME osc777|osc9|osc99|bell",
        ]
    } else if report.carriers.iter().any(|carried| carried.ok) {
        &["", "A bell only: nobody is attached to this tmux session, or the terminal is known to show no notifications."]
    } else {
        &[]
    }
}
