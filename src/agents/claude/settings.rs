//! What stands in Claude Code's settings already, as far as it decides what should: whether hooks run at all, and which events
//! are ours. Reads settings as Claude does: what is no strict JSON does not count.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::files;

/// Where an administrator puts settings that beat all others.
#[cfg(not(target_os = "macos"))]
pub(super) const MANAGED: &str = "/etc/claude-code";
#[cfg(target_os = "macos")]
pub(super) const MANAGED: &str = "/Library/Application Support/ClaudeCode";

/// The largest file that is looked at, in bytes; the engine refuses a larger one.
const LARGEST: u64 = 4 << 20;

/// What keeps hooks from running.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Off {
    pub(super) switch: Switch,
    pub(super) file: PathBuf,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Switch {
    /// `disableAllHooks`, in any file.
    AllHooks,
    /// `allowManagedHooksOnly`, in managed settings.
    ManagedOnly,
}

/// The first switch that keeps our hooks from running: in the managed settings, else in `files`,
/// the stronger one first.
pub(super) fn off(managed: &Path, files: &[&Path]) -> Option<Off> {
    let found = |switch, file: PathBuf| Some(Off { switch, file });
    let managed = settings_of(managed);
    for (switch, key) in [(Switch::ManagedOnly, "allowManagedHooksOnly"), (Switch::AllHooks, "disableAllHooks")] {
        // Drop-ins are laid over the file in the order of their names.
        if let Some((true, file)) = managed.iter().rev().find_map(|(file, settings)| Some((settings.get(key)?.as_bool()?, file))) {
            return found(switch, file.clone());
        }
    }
    // The first that says anything about it beats those after it.
    let said = files.iter().find_map(|file| Some((read(file)?.get("disableAllHooks")?.as_bool()?, file)));
    said.filter(|(disabled, _)| *disabled).and_then(|(_, file)| found(Switch::AllHooks, file.to_path_buf()))
}

/// Whether an entry that looks like ours stands under an event. Only for what may stay: which entries are ours is for the engine
/// to say.
pub(super) fn stands(file: &Path, event: &str) -> bool {
    let is_ours = |hook: &Value| {
        hook.get("command")
            .and_then(Value::as_str)
            .is_some_and(|command| command.contains("agent-notify") && command.contains(" hook claude"))
    };
    let hooks = |group: &Value| group.get("hooks").and_then(Value::as_array).is_some_and(|hooks| hooks.iter().any(is_ours));
    let groups = |settings: Value| settings.get("hooks")?.get(event)?.as_array().map(|groups| groups.iter().any(hooks));
    read(file).and_then(groups).unwrap_or(false)
}

/// `managed-settings.json` and the files in `managed-settings.d`, each over those before it.
fn settings_of(folder: &Path) -> Vec<(PathBuf, Value)> {
    let entries = std::fs::read_dir(folder.join("managed-settings.d")).into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    files.sort();
    files.insert(0, folder.join("managed-settings.json"));
    files.into_iter().filter_map(|file| read(&file).map(|settings| (file, settings))).collect()
}

fn read(file: &Path) -> Option<Value> {
    let bytes = files::read_small(file, LARGEST).ok()?;
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).ok()
}
