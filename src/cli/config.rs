//! `config path|show|init|set`.

use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;

use super::changes::{self, Manner};
use super::{install, output};
use crate::config::{self, Loaded};
use crate::engine::{FileChange, Kind, Plan, Store};
use crate::environment::Env;
use crate::error::Error;
use crate::files;
use crate::install::gather;

#[derive(Subcommand)]
pub(super) enum Action {
    /// Where the file is
    Path,
    /// Every key with the value in force, and what is wrong with the file
    Show {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Write a file in which every key is explained
    Init,
    /// Change one key; comments and layout stay
    #[command(
        after_help = "Examples:\n  agent-notify config set events.idle true\n  agent-notify config set policy.quiet_hours '[\"22:00-07:30\"]'\n  agent-notify config set notify.terminals.WezTerm osc9"
    )]
    Set {
        /// Dotted name, as `config show` lists them
        key: String,
        /// TOML, or a plain text
        value: String,
        /// Run `install` where the key decides which hooks are registered
        #[arg(long)]
        apply: bool,
    },
}

pub(super) fn run(action: Action, env: &Env) -> Result<ExitCode, Error> {
    let loaded = config::load(env);
    let path = loaded.path.clone().ok_or_else(|| {
        Error::new("no place for a configuration").because("neither HOME nor XDG_CONFIG_HOME names a folder").hint("set HOME")
    })?;
    match action {
        Action::Path => output::line(&output::visible(&path.to_string_lossy())),
        Action::Show { json } => show(&loaded, &path, json),
        Action::Init => return init(&path, env),
        Action::Set { key, value, apply } => return set(&path, &key, &value, apply, env),
    }
    Ok(ExitCode::SUCCESS)
}

fn show(loaded: &Loaded, path: &Path, json: bool) {
    let keys = config::effective(&loaded.config);
    if json {
        let values: serde_json::Map<_, _> = keys.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        let warnings: Vec<_> = loaded
            .warnings
            .iter()
            .map(|warning| serde_json::json!({ "line": warning.line, "column": warning.column, "message": warning.message }))
            .collect();
        output::json(&serde_json::json!({ "path": path.to_string_lossy(), "values": values, "warnings": warnings }));
        return;
    }
    let state = if path.exists() { "" } else { " (absent: all defaults)" };
    output::line(&format!("# {}{state}", output::visible(&path.to_string_lossy())));
    for (key, value) in keys {
        output::line(&format!("{key} = {}", output::visible(&value)));
    }
    for warning in &loaded.warnings {
        output::warning(&format!("{}:{}:{}: {}", path.display(), warning.line, warning.column, warning.message));
    }
}

fn init(path: &Path, env: &Env) -> Result<ExitCode, Error> {
    // A link that leads nowhere yet is followed.
    if path.exists() {
        output::line(&format!("{} is there already; nothing was changed", output::visible(&path.to_string_lossy())));
        return Ok(ExitCode::SUCCESS);
    }
    let status = write(path, env, &|_| Ok(Some(config::template())))?;
    if status == ExitCode::SUCCESS {
        output::line(&format!("wrote {}", output::visible(&path.to_string_lossy())));
    }
    Ok(status)
}

/// Keys by which the installer decides which hooks are registered.
const REGISTERED_BY: [&str; 6] =
    ["events.tool", "policy.grace", "policy.min_turn", "policy.headless", "content.message", "herdr.report_state"];

fn set(path: &Path, key: &str, value: &str, apply: bool, env: &Env) -> Result<ExitCode, Error> {
    let told = RefCell::new(format!("{key} has that value already"));
    let change = |old: Option<&str>| {
        let template = config::template();
        let old_text = old.unwrap_or(&template);
        let edit = config::set(old_text, key, value).map_err(|error| if error.position.is_some() { error.path(path) } else { error })?;
        if Some(edit.text.as_str()) == old {
            return Ok(None);
        }
        let shown = |value: &str| if config::is_secret(key) { "(redacted)".to_owned() } else { value.to_owned() };
        let before = edit.old.as_deref().map_or_else(|| "(unset)".to_owned(), shown);
        *told.borrow_mut() = format!("{key}: {before} → {}", shown(&edit.new));
        Ok(Some(edit.text))
    };
    let status = write(path, env, &change)?;
    if status != ExitCode::SUCCESS {
        return Ok(status);
    }
    output::line(&output::visible(&told.into_inner()));
    if !REGISTERED_BY.contains(&key) {
        return Ok(status);
    }
    if apply {
        return install::again(env);
    }
    output::note("this key decides which hooks are registered: run `agent-notify install`, or set it with --apply");
    Ok(status)
}

/// From the old text, if there is a file, to the new one; `None` = nothing to do.
type Change<'a> = dyn Fn(Option<&str>) -> Result<Option<String>, Error> + 'a;

/// One transaction: `change` makes the new text from the old one, under the lock. `None` = nothing to do.
fn write(path: &Path, env: &Env, change: &Change<'_>) -> Result<ExitCode, Error> {
    // Whoever has made it so, or whatever makes the file anew, would not expect it to change; root could.
    if path.metadata().is_ok_and(|metadata| metadata.permissions().readonly()) {
        return Err(Error::new("the configuration is read-only")
            .path(path)
            .hint("if that is not meant, run `chmod u+w` on it; if something else writes this file, change it there"));
    }
    let make = |store: &Store| {
        let before = read(path)?;
        let after = change(before.as_deref())?;
        let mut plan = Plan::new(Kind::Config);
        if let Some(after) = after {
            let receipt = changes::receipts(store)?.get(gather::CONFIG, path).cloned();
            let (before, after) = (before.map(String::into_bytes), Some(after.into_bytes()));
            plan.changes.push(FileChange { receipt, ..FileChange::plain(gather::CONFIG, path, before, after, files::PRIVATE) });
        }
        Ok(plan)
    };
    let ended = changes::carry_out(Manner { yes: true, json: false }, env, &make)?;
    Ok(changes::status_of(&ended))
}

/// `None` = there is no file.
fn read(path: &Path) -> Result<Option<String>, Error> {
    match files::read_small(path, config::MOST_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
            Error::new("the configuration is not valid UTF-8")
                .path(path)
                .because(format!("line {line}"))
                .hint("mend that line, then run the command again")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::new("the configuration cannot be read").path(path).because(error.to_string())),
    }
}
