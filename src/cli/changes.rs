//! What the writing commands have in common: showing a plan, asking, running it under the lock, and saying how it ended.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::{CONFLICT, FAILED, INCOMPLETE, output};
use crate::engine::{self, Conflict, DiffKind, FileChange, Locked, Outcome, Plan, Receipts, Registry, Stopped, Store};
use crate::environment::Env;
use crate::error::Error;

/// Effects that are not the engine's own: none yet.
pub(super) const REGISTRY: &Registry = &|_, _| None;

/// Where the installer remembers.
pub(super) fn store(env: &Env) -> Result<Store, Error> {
    Store::of(env).ok_or_else(|| {
        Error::new("there is no place to remember what is installed")
            .because("neither HOME nor XDG_STATE_HOME names a folder")
            .hint("set HOME")
    })
}

/// What was written down so far.
pub(super) fn receipts(store: &Store) -> Result<Receipts, Error> {
    store.receipts().map_err(|error| {
        Error::new("what is installed cannot be read")
            .path(store.folder())
            .because(error.to_string())
            .hint("check the folder's owner and mode")
    })
}

/// How a writing command shows itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner {
    pub(super) json: bool,
    /// Nothing is asked.
    pub(super) yes: bool,
}

impl Manner {
    /// A person sits there and has not said yes in advance.
    fn asks(self) -> bool {
        !self.yes && !self.json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
    }
}

/// How it ended.
pub(super) enum Ended {
    Committed {
        id: String,
        plan: Shown,
    },
    Nothing(Shown),
    /// The person said no.
    Declined,
    /// Already told; the status to end with.
    Failed(ExitCode),
}

/// What is left of a plan for the summary.
pub(super) struct Shown {
    /// Owner, path, deed.
    pub(super) changes: Vec<(String, String, &'static str)>,
    pub(super) unchanged: Vec<(String, String)>,
    pub(super) notes: Vec<String>,
    pub(super) troubles: Vec<String>,
}

/// Shows, asks, locks, plans anew and runs. `make` is called under the lock, and before it where there is something to ask.
pub(super) fn carry_out(manner: Manner, env: &Env, make: &dyn Fn(&Store) -> Result<Plan, Error>) -> Result<Ended, Error> {
    let store = store(env)?;
    if manner.asks() {
        let plan = make(&store)?;
        if plan.conflicts.is_empty() && !plan.is_empty() {
            show_diff(&plan, env);
            show_notes(&plan, env);
            if !ask("Write these changes?") {
                return Ok(Ended::Declined);
            }
        }
    }
    let run = |locked: &Locked<'_>| {
        tell_recovered(locked, env);
        let plan = make(locked.store())?;
        let shown = Shown::of(&plan, env);
        Ok::<_, Error>((shown, locked.run(plan)))
    };
    let (mut shown, outcome) = match engine::with_lock(&store, REGISTRY, run) {
        Ok(result) => result?,
        Err(Stopped::Failed(error)) => return Err(*error),
        Err(Stopped::Incomplete { folder, reason }) => return Ok(incomplete(&folder, &reason, manner)),
    };
    Ok(match outcome {
        Outcome::Committed { id, troubles } => {
            shown.troubles = troubles;
            Ended::Committed { id, plan: shown }
        }
        Outcome::Nothing => Ended::Nothing(shown),
        Outcome::Conflicts(conflicts) => {
            tell_conflicts(&conflicts, env, manner);
            Ended::Failed(ExitCode::from(CONFLICT))
        }
        Outcome::RolledBack { reason, kept } => {
            let hint = reason.hint.clone().unwrap_or_else(|| "every file is as it was".to_owned());
            let why = format!("{reason}; every file is as it was");
            let mut error = Error::new("nothing was changed").because(why).hint(hint);
            for path in kept {
                error = error.path(path);
            }
            return Err(error);
        }
        Outcome::Incomplete { folder, reason } => incomplete(&folder, &reason, manner),
    })
}

fn incomplete(folder: &Path, reason: &Error, manner: Manner) -> Ended {
    let error = Error::new("the files could not be brought back as they were").path(folder).because(reason.to_string()).hint(
        "mend what stands in the way, then run `agent-notify rollback --recover`; that folder holds the journal and lists the backups",
    );
    if manner.json {
        output::json(&json!({ "error": error.to_string(), "folder": folder.to_string_lossy() }));
    } else {
        output::error(&error);
    }
    Ended::Failed(ExitCode::from(INCOMPLETE))
}

impl Shown {
    pub(super) fn of(plan: &Plan, env: &Env) -> Self {
        let changes = plan.changes.iter().filter(|change| change.before != change.after);
        Self {
            changes: changes.map(|change| (change.owner.clone(), short(&change.path, env), deed(change, plan))).collect(),
            unchanged: plan.unchanged.iter().map(|same| (same.owner.clone(), short(&same.path, env))).collect(),
            notes: notes(plan, env),
            troubles: Vec::new(),
        }
    }

    /// One line a file.
    pub(super) fn print(&self) {
        self.print_files(&self.unchanged);
    }

    /// One line a file that was changed.
    pub(super) fn print_changes(&self) {
        self.print_files(&[]);
    }

    fn print_files(&self, unchanged: &[(String, String)]) {
        for (owner, path, deed) in &self.changes {
            output::line(&format!("  {owner:<8} {} {deed}", output::visible(path)));
        }
        for (owner, path) in unchanged {
            output::line(&format!("  {owner:<8} {} unchanged", output::visible(path)));
        }
        self.notes.iter().for_each(|note| output::note(note));
        self.troubles.iter().for_each(|trouble| output::warning(trouble));
    }

    pub(super) fn json(&self) -> Value {
        let changes: Vec<_> =
            self.changes.iter().map(|(owner, path, deed)| json!({ "owner": owner, "path": path, "deed": deed })).collect();
        let unchanged: Vec<_> = self.unchanged.iter().map(|(owner, path)| json!({ "owner": owner, "path": path })).collect();
        json!({ "changes": changes, "unchanged": unchanged, "notes": self.notes, "troubles": self.troubles })
    }
}

fn deed(change: &FileChange, plan: &Plan) -> &'static str {
    match (&change.before, &change.after) {
        // Emptied first, for its agent to see.
        _ if plan.effects.iter().any(|effect| effect.removes() == Some(&change.path)) => "removed",
        (None, _) => "created",
        (_, None) => "removed",
        _ => "changed",
    }
}

/// Paths below HOME begin with `~`.
pub(super) fn short(path: &Path, env: &Env) -> String {
    match env.home().and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

fn notes(plan: &Plan, env: &Env) -> Vec<String> {
    let place = |position: Option<(usize, usize)>| position.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
    plan.notes.iter().map(|(path, note)| format!("{}{}: {}", short(path, env), place(note.position), note.text)).collect()
}

fn show_notes(plan: &Plan, env: &Env) {
    notes(plan, env).iter().for_each(|note| output::note(note));
}

/// The exact change of every file.
pub(super) fn show_diff(plan: &Plan, env: &Env) {
    const ADDED: Style = AnsiColor::Green.on_default();
    const REMOVED: Style = AnsiColor::Red.on_default();
    const HUNK: Style = AnsiColor::Cyan.on_default();
    const HEADER: Style = Style::new().bold();
    for change in plan.changes.iter().filter(|change| change.before != change.after) {
        for line in engine::diff(&short(&change.path, env), change.before.as_deref(), change.after.as_deref()) {
            let style = match line.kind {
                DiffKind::Added => ADDED,
                DiffKind::Removed => REMOVED,
                DiffKind::Hunk => HUNK,
                DiffKind::Header => HEADER,
                DiffKind::Context => Style::new(),
            };
            output::line(&format!("{style}{}{style:#}", line.text));
        }
    }
    for effect in &plan.effects {
        output::line(&output::visible(&effect.describe()));
    }
}

/// All of them, each with what to paste by hand.
pub(super) fn tell_conflicts(conflicts: &[Conflict], env: &Env, manner: Manner) {
    if manner.json {
        let list: Vec<_> = conflicts.iter().map(|conflict| conflict_json(conflict, env)).collect();
        output::json(&json!({ "conflicts": list }));
        return;
    }
    for conflict in conflicts {
        let refusal = &conflict.refusal;
        let mut error = Error::new(format!("{} is left untouched", short(&conflict.path, env))).because(refusal.what.clone());
        error.position = refusal.position;
        error.hint.clone_from(&refusal.hint);
        output::error(&error);
        if !refusal.snippet.is_empty() {
            output::detail("to do it by hand, put this in:");
            refusal.snippet.lines().for_each(|line| output::detail(&format!("  {line}")));
        }
    }
    output::detail("nothing was written");
}

fn conflict_json(conflict: &Conflict, env: &Env) -> Value {
    let refusal = &conflict.refusal;
    json!({
        "owner": conflict.owner,
        "path": short(&conflict.path, env),
        "line": refusal.position.map(|(line, _)| line),
        "column": refusal.position.map(|(_, column)| column),
        "byte": refusal.byte,
        "what": refusal.what,
        "hint": refusal.hint,
        "snippet": refusal.snippet,
    })
}

/// What an earlier command left half done.
pub(super) fn tell_recovered(locked: &Locked<'_>, env: &Env) {
    let recovered = locked.recovered();
    for id in &recovered.undone {
        output::warning(&format!("transaction {id} had been interrupted and was undone"));
    }
    for id in &recovered.finished {
        output::warning(&format!("transaction {id} had been interrupted and was finished"));
    }
    for path in &recovered.kept {
        output::warning(&format!("{} was edited meanwhile and left as it is", short(path, env)));
    }
    recovered.troubles.iter().for_each(|trouble| output::warning(trouble));
}

/// Yes or no at the terminal; anything but yes is no.
fn ask(question: &str) -> bool {
    output::to_stdout(&format!("{question} [y/N] "));
    let _ = std::io::stdout().flush();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// A plan that is only looked at: `--dry-run` and `--check`.
pub(super) fn only_look(plan: &Plan, env: &Env, manner: Manner, pending: Option<u8>) -> ExitCode {
    if !plan.conflicts.is_empty() {
        tell_conflicts(&plan.conflicts, env, manner);
        return ExitCode::from(CONFLICT);
    }
    let shown = Shown::of(plan, env);
    if manner.json {
        output::json(&shown.json());
    } else if pending.is_none() {
        show_diff(plan, env);
        shown.notes.iter().for_each(|note| output::note(note));
    } else {
        shown.print();
    }
    match pending {
        Some(status) if !plan.is_empty() => ExitCode::from(status),
        _ => ExitCode::SUCCESS,
    }
}

/// The status for what ended without a summary.
pub(super) fn status_of(ended: &Ended) -> ExitCode {
    match ended {
        Ended::Failed(status) => *status,
        Ended::Committed { plan, .. } if !plan.troubles.is_empty() => ExitCode::from(FAILED),
        Ended::Committed { .. } | Ended::Nothing(_) | Ended::Declined => ExitCode::SUCCESS,
    }
}
