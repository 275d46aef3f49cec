//! `send`: a notification from any script.

use std::process::ExitCode;

use clap::Args;

use super::{FAILED, output};
use crate::environment::Env;
use crate::error::Error;
use crate::event::Kind;
use crate::notify::{Announcement, Report, announce};

#[derive(Args)]
pub(super) struct Arguments {
    /// Title; without one, the configured title
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// Body; without one, the event's text and where it happened
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    body: Option<String>,
    /// stop, input, error, idle or tool
    #[arg(long, short, value_name = "EVENT", value_parser = kind)]
    event: Option<Kind>,
    /// Who speaks
    #[arg(long, short, value_name = "NAME")]
    agent: Option<String>,
    /// Tell what became of it as one JSON object
    #[arg(long)]
    json: bool,
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::parse(name).ok_or_else(|| format!("known events: {}", Kind::ALL.map(Kind::name).join(", ")))
}

pub(super) fn run(arguments: &Arguments, env: &Env) -> Result<ExitCode, Error> {
    let announcement = Announcement {
        title: arguments.title.clone(),
        body: arguments.body.clone(),
        kind: arguments.event,
        agent: arguments.agent.clone(),
        is_test: false,
    };
    let report = announce(&announcement, env);
    if arguments.json {
        output::json(&json(&report));
    } else if !report.settled {
        return Err(failure(&report));
    } else if let Some(reason) = &report.reason {
        output::warning(&format!("not shown: {reason}"));
    }
    Ok(if report.settled { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// What a program wants to know of it; also of `test`.
pub(super) fn json(report: &Report) -> serde_json::Value {
    serde_json::json!({
        "delivered": report.carriers.iter().any(|carried| carried.ok),
        "title": report.message.title.as_str(),
        "body": report.message.body.as_str(),
        "carriers": report.carriers,
        "writes": report.writes,
        "route": report.route,
        "reason": report.reason,
        "warnings": report.warnings,
    })
}

/// Nothing took it.
pub(super) fn failure(report: &Report) -> Error {
    let reasons: Vec<_> = report.carriers.iter().map(|carried| format!("{}: {}", carried.carrier, carried.detail)).collect();
    let why = if reasons.is_empty() { "there is no way to you from here".to_owned() } else { reasons.join("; ") };
    Error::new("the notification was not delivered")
        .because(why)
        .hint("run it in a terminal or a tmux pane; `agent-notify test` shows the route")
}
