//! `history` and `rollback`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::changes::{self, Ended, Manner};
use super::output;
use crate::config;
use crate::engine::history::Deed;
use crate::engine::{self, State, Stopped, Store};
use crate::environment::Env;
use crate::error::Error;
use crate::install::gather::{self, Choice};

#[derive(Args)]
pub(super) struct History {
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct Rollback {
    /// Undo everything down to this transaction, and that one too; without it the last one
    id: Option<String>,
    /// Only finish or undo an interrupted transaction
    #[arg(long, conflicts_with = "id")]
    recover: bool,
    /// Show the exact change of every file; write nothing
    #[arg(long, conflicts_with = "recover")]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn history(arguments: &History, env: &Env) -> Result<ExitCode, Error> {
    let entries = engine::history(&changes::store(env)?);
    if arguments.json {
        output::json(&json!({ "transactions": entries }));
        return Ok(ExitCode::SUCCESS);
    }
    if entries.is_empty() {
        output::line("nothing yet: no file was changed by agent-notify on this host");
    }
    for entry in &entries {
        let state = match entry.state {
            State::Finished => "",
            State::Aborted => "  (undone at once: it failed)",
            State::Open | State::Committed => "  (interrupted: `agent-notify rollback --recover`)",
        };
        let undid = entry.undid.as_ref().map(|id| format!("  back to before {id}")).unwrap_or_default();
        output::line(format!("{}  {:<11}{undid}{state}", entry.id, entry.kind).trim_end());
        for file in &entry.files {
            let deed = match file.deed {
                Deed::Created => "created",
                Deed::Changed => "changed",
                Deed::Removed => "removed",
            };
            output::line(&format!("  {:<8} {} {deed}", file.owner, output::visible(&changes::short(&file.path, env))));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn rollback(arguments: &Rollback, env: &Env) -> Result<ExitCode, Error> {
    let manner = Manner { json: arguments.json, yes: arguments.yes };
    if arguments.recover {
        return recover(env, manner);
    }
    let config = config::load(env).config;
    let make = |store: &Store| {
        let gathered = gather::for_uninstall(&Choice::default(), env, &config, &changes::receipts(store)?, true);
        engine::rollback_plan(store, &gathered.claims, changes::REGISTRY, arguments.id.as_deref())
    };
    if arguments.dry_run {
        return Ok(changes::only_look(&make(&changes::store(env)?)?, env, manner, None));
    }
    let ended = changes::carry_out(manner, env, &make)?;
    match &ended {
        Ended::Committed { id, plan } if manner.json => {
            let mut value = plan.json();
            value["transaction"] = json!(id);
            output::json(&value);
        }
        Ended::Nothing(plan) if manner.json => output::json(&plan.json()),
        Ended::Committed { id, plan } => {
            output::line(&format!("rolled back (transaction {id}; rolling back again brings it back):"));
            plan.print();
        }
        Ended::Nothing(_) => output::line("there is nothing to roll back"),
        Ended::Declined => output::line("nothing was written"),
        Ended::Failed(_) => {}
    }
    Ok(changes::status_of(&ended))
}

/// Taking the lock recovers.
fn recover(env: &Env, manner: Manner) -> Result<ExitCode, Error> {
    let store = changes::store(env)?;
    let told = engine::with_lock(&store, changes::REGISTRY, |locked| {
        changes::tell_recovered(locked, env);
        let recovered = locked.recovered();
        (recovered.undone.clone(), recovered.finished.clone())
    });
    match told {
        Ok((undone, finished)) if manner.json => output::json(&json!({ "undone": undone, "finished": finished })),
        Ok((undone, finished)) if undone.is_empty() && finished.is_empty() => output::line("nothing was interrupted"),
        Ok(_) => {}
        Err(Stopped::Failed(error)) => return Err(*error),
        Err(Stopped::Incomplete { folder, reason }) => {
            output::error(&Error::new("it cannot be put right yet").path(folder).because(reason.to_string()));
            return Ok(ExitCode::from(super::INCOMPLETE));
        }
    }
    Ok(ExitCode::SUCCESS)
}
