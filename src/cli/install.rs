//! `install` and `uninstall`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::changes::{self, Ended, Manner, Shown};
use super::{PENDING, USAGE, output};
use crate::agents;
use crate::config;
use crate::engine::effect::WATCH_PAUSE;
use crate::engine::{FileChange, Options, Plan, Receipts, Store, plan};
use crate::environment::Env;
use crate::error::Error;
use crate::install::gather::{self, Choice, Gathered};
use crate::notify::{Announcement, announce};

#[derive(Args)]
pub(super) struct Which {
    /// Claude Code
    #[arg(long)]
    claude: bool,
    /// Cursor CLI
    #[arg(long)]
    cursor: bool,
    /// Every agent on this host (the default)
    #[arg(long)]
    all: bool,
}

impl Which {
    fn agents(&self) -> Vec<&'static str> {
        if self.all {
            return Vec::new();
        }
        [(self.claude, "claude"), (self.cursor, "cursor")].into_iter().filter_map(|(chosen, id)| chosen.then_some(id)).collect()
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Place {
    /// Your own settings, for all projects
    User,
    /// The settings of the project you are in
    Project,
}

#[derive(Args)]
pub(super) struct Install {
    #[command(flatten)]
    which: Which,
    /// Show the exact change of every file; write nothing, start nothing
    #[arg(long)]
    dry_run: bool,
    /// Only say whether something is to be done (status 5 if so)
    #[arg(long, conflicts_with = "dry_run")]
    check: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Rewrite our entries that you edited; edit files with comments or trailing commas (they are kept)
    #[arg(long)]
    force: bool,
    /// Whose settings
    #[arg(long, value_enum, default_value = "user")]
    scope: Place,
    /// The program as the entries shall call it, for dotfiles that hosts share
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// Leave the agents' own notifications on
    #[arg(long)]
    keep_builtin: bool,
    /// No test notification at the end
    #[arg(long)]
    no_test: bool,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct Uninstall {
    #[command(flatten)]
    which: Which,
    /// Also the configuration, what is remembered, and the program
    #[arg(long, conflicts_with_all = ["claude", "cursor"])]
    purge: bool,
    /// Whose settings; entries that are remembered go in any case
    #[arg(long, value_enum, default_value = "user")]
    scope: Place,
    /// Show the exact change of every file; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

/// `install` with nothing chosen and nothing asked, after a change of the configuration.
pub(super) fn again(env: &Env) -> Result<ExitCode, Error> {
    let arguments = Install {
        which: Which { claude: false, cursor: false, all: true },
        dry_run: false,
        check: false,
        yes: true,
        force: false,
        scope: Place::User,
        command: None,
        keep_builtin: false,
        no_test: true,
        json: false,
    };
    install(&arguments, env)
}

/// A plan with what the gathering had to say.
struct Planned {
    plan: Plan,
    notes: Vec<String>,
    skipped: Vec<(&'static str, &'static str)>,
}

pub(super) fn install(arguments: &Install, env: &Env) -> Result<ExitCode, Error> {
    if let Some(Err(error)) = arguments.command.as_deref().map(agents::Command::verbatim) {
        output::error(&error);
        return Ok(ExitCode::from(USAGE));
    }
    let config = config::load(env).config;
    let look = arguments.dry_run || arguments.check;
    let choice = |may_start| Choice {
        agents: arguments.which.agents(),
        project: matches!(arguments.scope, Place::Project),
        command: arguments.command.clone(),
        keep_builtin: arguments.keep_builtin,
        may_start,
    };
    let make = |store: &Store, may_start: bool| -> Result<Planned, Error> {
        let gathered = gather::for_install(&choice(may_start), env, &config)?;
        let Gathered { claims, notes, skipped, conflicts } = gathered;
        let mut plan = plan::install(&claims, store, &Options { force: arguments.force });
        plan.conflicts.extend(conflicts);
        Ok(Planned { plan, notes, skipped })
    };
    let manner = Manner { json: arguments.json, yes: arguments.yes };
    let store = changes::store(env)?;
    if look {
        tell_pending(&store, manner);
        let planned = make(&store, false)?;
        if manner.json && planned.plan.conflicts.is_empty() {
            print_json(&Ended::Nothing(Shown::of(&planned.plan, env)), &planned.notes, &planned.skipped);
            let is_pending = arguments.check && !planned.plan.is_empty();
            return Ok(if is_pending { ExitCode::from(PENDING) } else { ExitCode::SUCCESS });
        }
        let status = changes::only_look(&planned.plan, env, manner, arguments.check.then_some(PENDING));
        if !manner.json {
            say(&planned.notes, &planned.skipped);
        }
        return Ok(status);
    }
    // A no-op starts no agent: only where something is to be done its version is worth a start.
    let first = make(&store, false)?;
    let may_start = !first.plan.is_empty();
    let extra = std::cell::RefCell::new((first.notes, first.skipped));
    let ended = changes::carry_out(manner, env, &|store| {
        let planned = make(store, may_start)?;
        *extra.borrow_mut() = (planned.notes, planned.skipped);
        Ok(planned.plan)
    })?;
    let (notes, skipped) = extra.into_inner();
    if let (Some(command), Ended::Committed { .. } | Ended::Nothing(_)) = (&arguments.command, &ended) {
        gather::remember_command(env, Some(command.trim()));
    }
    if manner.json {
        print_json(&ended, &notes, &skipped);
        return Ok(changes::status_of(&ended));
    }
    match &ended {
        Ended::Committed { id, plan } => {
            output::line(&format!("installed (transaction {id}; `agent-notify rollback` undoes it):"));
            plan.print();
            say(&notes, &skipped);
            output::line("Running sessions of Claude Code pick the hooks up within seconds; restart those of other agents.");
            if !arguments.no_test {
                test(env);
            }
        }
        Ended::Nothing(plan) => {
            output::line(if plan.unchanged.is_empty() {
                "no agent to install for was found on this host"
            } else {
                "everything is in place:"
            });
            plan.print();
            say(&notes, &skipped);
        }
        Ended::Declined => output::line("nothing was written"),
        Ended::Failed(_) => {}
    }
    Ok(changes::status_of(&ended))
}

pub(super) fn uninstall(arguments: &Uninstall, env: &Env) -> Result<ExitCode, Error> {
    let config = config::load(env).config;
    let project = matches!(arguments.scope, Place::Project);
    let choice = Choice { agents: arguments.which.agents(), project, ..Choice::default() };
    let make = |store: &Store| {
        let receipts = changes::receipts(store)?;
        let gathered = gather::for_uninstall(&choice, env, &config, &receipts, arguments.purge);
        let mut plan = plan::uninstall(&gathered.claims, store, WATCH_PAUSE);
        if arguments.purge {
            take_configuration(&mut plan, &receipts, env);
        }
        Ok(plan)
    };
    let manner = Manner { json: arguments.json, yes: arguments.yes };
    if arguments.dry_run {
        let store = changes::store(env)?;
        return Ok(changes::only_look(&make(&store)?, env, manner, None));
    }
    let mut forgotten = gather::forgotten_mutes(&choice, env, &config, &changes::receipts(&changes::store(env)?)?);
    let ended = changes::carry_out(manner, env, &make)?;
    if !matches!(ended, Ended::Committed { .. }) {
        forgotten.clear();
    }
    if matches!(ended, Ended::Committed { .. } | Ended::Nothing(_)) && choice.agents.is_empty() {
        gather::remember_command(env, None);
    }
    if manner.json {
        print_json(&ended, &forgotten, &[]);
    } else {
        match &ended {
            Ended::Committed { id, plan } => {
                output::line(&format!("uninstalled (transaction {id}):"));
                // What has nothing of ours may not even be there.
                plan.print_changes();
            }
            Ended::Nothing(_) => output::line("nothing of agent-notify is installed"),
            Ended::Declined => output::line("nothing was written"),
            Ended::Failed(_) => {}
        }
        forgotten.iter().for_each(|note| output::note(note));
    }
    if arguments.purge && matches!(ended, Ended::Committed { .. } | Ended::Nothing(_)) {
        purge(env)?;
    }
    Ok(changes::status_of(&ended))
}

/// The configuration goes, whatever the person wrote into it since; a link, and what it leads to, is their own.
fn take_configuration(plan: &mut Plan, receipts: &Receipts, env: &Env) {
    let Some(path) = config::path(env) else { return };
    let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let Some(bytes) = is_file.then(|| std::fs::read(&path).ok()).flatten() else { return };
    plan.unchanged.retain(|same| same.path != path);
    let emptied = receipts.get(gather::CONFIG, &path).map(|receipt| receipt.folders.clone()).unwrap_or_default();
    let removal = FileChange { emptied, ..FileChange::plain(gather::CONFIG, &path, Some(bytes), None, 0) };
    plan.changes.retain(|change| change.path != path);
    plan.changes.push(removal);
}

/// What is remembered goes last: until then everything could be undone.
fn purge(env: &Env) -> Result<(), Error> {
    let Some(state) = env.state_folder() else { return Ok(()) };
    match std::fs::remove_dir_all(&state) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::new("not removed").path(state).because(error.to_string()).hint("remove it by hand"));
        }
        _ => {}
    }
    // Folders that may have been made for it, if nothing else is in them; a refusal means that something is.
    let above: Vec<_> = state.ancestors().skip(1).take(2).filter(|folder| Some(*folder) != env.home().as_deref()).collect();
    for folder in env.config_folder().iter().map(std::path::PathBuf::as_path).chain(above) {
        let _ = std::fs::remove_dir(folder);
    }
    Ok(())
}

fn say(notes: &[String], skipped: &[(&'static str, &'static str)]) {
    for (label, reason) in skipped {
        output::line(&format!("  skipped  {label}: {reason}"));
    }
    notes.iter().for_each(|note| output::note(note));
}

pub(super) fn skipped_json(skipped: &[(&'static str, &'static str)]) -> serde_json::Value {
    skipped.iter().map(|(agent, reason)| json!({ "agent": agent, "reason": reason })).collect()
}

fn print_json(ended: &Ended, notes: &[String], skipped: &[(&'static str, &'static str)]) {
    let (id, shown) = match ended {
        Ended::Committed { id, plan } => (Some(id), plan),
        Ended::Nothing(plan) => (None, plan),
        Ended::Declined | Ended::Failed(_) => return,
    };
    let mut value = shown.json();
    value["transaction"] = json!(id);
    value["skipped"] = skipped_json(skipped);
    if let Some(list) = value["notes"].as_array_mut() {
        list.extend(notes.iter().map(|note| json!(note)));
    }
    output::json(&value);
}

/// An interrupted transaction: commands that only look report it.
pub(super) fn tell_pending(store: &Store, manner: Manner) {
    if manner.json {
        return;
    }
    for (journal, _) in crate::engine::pending(store) {
        output::warning(&format!("transaction {} was interrupted: `agent-notify rollback --recover` puts that right", journal.id));
    }
}

fn test(env: &Env) {
    let report = announce(&Announcement { is_test: true, ..Announcement::default() }, env);
    let route = report.route.as_deref().unwrap_or("no terminal");
    if report.carriers.iter().any(|carried| carried.ok) {
        output::line(&format!("test notification sent: {}", output::visible(route)));
    } else {
        output::line(&format!("no test notification from here ({}); `agent-notify test` in a terminal shows one", output::visible(route)));
    }
}
