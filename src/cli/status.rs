//! `status`: what stands where, agent by agent. Starts nothing and writes nothing.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};

use super::changes::{self, Manner};
use super::{install, output};
use crate::agents;
use crate::claim::{Claim, Content};
use crate::config;
use crate::engine::{self, EntryState};
use crate::environment::Env;
use crate::error::Error;
use crate::install::gather::{self, Choice};
use crate::state::State;

#[derive(Args)]
pub(super) struct Arguments {
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, env: &Env) -> Result<ExitCode, Error> {
    let config = config::load(env).config;
    let store = changes::store(env)?;
    let gathered = gather::for_install(&Choice::default(), env, &config)?;
    let log = State::of(env).read_log(2000).unwrap_or_default();
    let agents: Vec<_> = gathered.claims.iter().filter_map(|claim| agent(claim, env, &log)).collect();
    let pending: Vec<_> = engine::pending(&store).into_iter().map(|(journal, _)| journal.id).collect();
    if arguments.json {
        let skipped = install::skipped_json(&gathered.skipped);
        output::json(&json!({ "agents": agents, "skipped": skipped, "notes": gathered.notes, "interrupted": pending }));
        return Ok(ExitCode::SUCCESS);
    }
    install::tell_pending(&store, Manner::default());
    if agents.is_empty() {
        output::line("no agent to install for was found on this host");
    }
    agents.iter().for_each(print);
    for (label, reason) in &gathered.skipped {
        output::line(&format!("{label}: {reason}"));
    }
    gathered.notes.iter().for_each(|note| output::note(note));
    Ok(ExitCode::SUCCESS)
}

/// What stands in one agent's file; `None` for files that are ours as a whole.
fn agent(claim: &Claim, env: &Env, log: &[Map<String, Value>]) -> Option<Value> {
    let Content::Hooks(hooks) = &claim.content else { return None };
    let label = agents::find(hooks.agent).map_or(hooks.agent, agents::Agent::label);
    let path = changes::short(&claim.path, env);
    let last = log.iter().rev().find(|entry| entry.get("agent").and_then(Value::as_str) == Some(hooks.agent));
    let last = last.map(|entry| json!({ "time": entry.get("time"), "event": entry.get("event"), "decision": entry.get("decision") }));
    let mut value = json!({ "agent": hooks.agent, "label": label, "path": path, "last": last });
    match std::fs::read(&claim.path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => value["state"] = json!("not installed"),
        Err(error) => value["problem"] = json!(error.to_string()),
        Ok(bytes) => match engine::inspect(&claim.content, &bytes) {
            Err(refusal) => {
                let place = refusal.position.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default();
                value["problem"] = json!(format!("{place}{}", refusal.what));
            }
            Ok(inspection) => {
                let entries: Map<_, _> = inspection.entries.iter().map(|(event, state)| (event.clone(), json!(word(*state)))).collect();
                let missing = inspection.entries.iter().filter(|(_, state)| *state == EntryState::Missing).count();
                let state = match () {
                    () if inspection.is_complete() => "installed",
                    () if missing == inspection.entries.len() && inspection.surplus.is_empty() => "not installed",
                    () => "incomplete: run `agent-notify install`",
                };
                value["state"] = json!(state);
                value["entries"] = json!(entries);
                value["duplicates"] = json!(inspection.surplus);
                value["possible_doubles"] = json!(inspection.wrapped);
                let notes: Vec<_> = inspection.notes.iter().map(|note| note.text.clone()).collect();
                value["notes"] = json!(notes);
            }
        },
    }
    Some(value)
}

const fn word(state: EntryState) -> &'static str {
    match state {
        EntryState::Current => "current",
        EntryState::Stale => "stale",
        EntryState::Edited => "edited by you",
        EntryState::Missing => "missing",
    }
}

fn print(agent: &Value) {
    let text = |key: &str| agent[key].as_str().unwrap_or_default();
    let state = if agent["problem"].is_null() { text("state").to_owned() } else { format!("problem: {}", text("problem")) };
    output::line(&output::visible(&format!("{}: {} ({state})", text("label"), text("path"))));
    for (event, state) in agent["entries"].as_object().into_iter().flatten() {
        output::line(&output::visible(&format!("  {event:<18} {}", state.as_str().unwrap_or_default())));
    }
    for (key, before) in [("duplicates", "duplicate entries"), ("possible_doubles", "also run through another command")] {
        let events: Vec<_> = agent[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !events.is_empty() {
            output::note(&format!("{before}: {}", events.join(", ")));
        }
    }
    for note in agent["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        output::note(note);
    }
    if let (Some(time), Some(decision)) = (agent["last"]["time"].as_u64(), agent["last"]["decision"].as_str()) {
        let event = agent["last"]["event"].as_str().unwrap_or_default();
        output::line(&output::visible(&format!("  last event         {} {event}: {decision}", super::log::timestamp(time))));
    }
}
