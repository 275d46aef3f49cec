//! `config path|show|init|set`.

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;

use super::output;
use crate::config::{self, Loaded};
use crate::environment::Env;
use crate::error::Error;
use crate::files;

/// Mode of a file that is made here: it may hold secrets.
const PRIVATE: u32 = 0o600;

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
        Action::Init => init(&path)?,
        Action::Set { key, value } => set(&path, &key, &value)?,
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

fn init(path: &Path) -> Result<(), Error> {
    // A link that leads nowhere yet is followed.
    if path.exists() {
        output::line(&format!("{} is there already; nothing was changed", output::visible(&path.to_string_lossy())));
        return Ok(());
    }
    write(path, &config::template())?;
    output::line(&format!("wrote {}", output::visible(&path.to_string_lossy())));
    Ok(())
}

fn set(path: &Path, key: &str, value: &str) -> Result<(), Error> {
    let old = match files::read_small(path, config::MOST_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
            Error::new("the configuration is not valid UTF-8")
                .path(path)
                .because(format!("line {line}"))
                .hint("mend that line, then run the command again")
        })?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => config::template(),
        Err(error) => return Err(Error::new("the configuration cannot be read").path(path).because(error.to_string())),
    };
    let edit = config::set(&old, key, value).map_err(|error| if error.position.is_some() { error.path(path) } else { error })?;
    if edit.text == old && path.exists() {
        output::line(&format!("{key} has that value already"));
        return Ok(());
    }
    write(path, &edit.text)?;
    let shown = |value: &str| if config::is_secret(key) { "(redacted)".to_owned() } else { value.to_owned() };
    let before = edit.old.as_deref().map_or_else(|| "(unset)".to_owned(), shown);
    output::line(&output::visible(&format!("{key}: {before} → {}", shown(&edit.new))));
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    // Whoever has made it so, or whatever makes the file anew, would not expect it to change; root could.
    if path.metadata().is_ok_and(|metadata| metadata.permissions().readonly()) {
        return Err(Error::new("the configuration is read-only")
            .path(path)
            .hint("if that is not meant, run `chmod u+w` on it; if something else writes this file, change it there"));
    }
    files::replace(path, text.as_bytes(), PRIVATE).map_err(|error| {
        Error::new("the configuration cannot be written")
            .path(path)
            .because(error.to_string())
            .hint("check the folder's owner and mode; nothing was changed")
    })
}
