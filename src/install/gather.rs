//! From what the person asked for to the claims: which agents are on the host, what each wants in its files, which program the
//! entries call, and what the person should know about all that.

use std::path::{Path, PathBuf};

use super::{project, target};
use crate::agents::{self, Agent, Command, Request, Scope};
use crate::claim::{Claim, Content, Hooks, MARK, Over, Whole};
use crate::config::{self, Config};
use crate::engine::{Conflict, Receipts, Refusal};
use crate::environment::Env;
use crate::error::Error;
use crate::files;
use crate::state::{State, VersionCache};

/// Owner of the configuration file.
pub const CONFIG: &str = "config";
/// Owner of the program itself.
pub const BINARY: &str = "binary";
/// Of a remembered `--command`, in bytes.
const LONGEST_COMMAND: u64 = 4096;

/// What the person asked for.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Ids of agents; empty = all that are on the host.
    pub agents: Vec<&'static str>,
    /// The project's files instead of the person's own.
    pub project: bool,
    /// `--command TEXT`.
    pub command: Option<String>,
    /// The agents' own notifications stay as they are.
    pub keep_builtin: bool,
    /// An agent may be started to tell its version.
    pub may_start: bool,
}

/// What came together.
#[derive(Debug, Default)]
pub struct Gathered {
    pub claims: Vec<Claim>,
    /// For the person; may quote paths.
    pub notes: Vec<String>,
    /// Labels of agents that were left out, with the reason.
    pub skipped: Vec<(&'static str, &'static str)>,
    /// Agents that cannot be served at all: like any conflict they stop everything.
    pub conflicts: Vec<Conflict>,
}

/// For `install`.
///
/// # Errors
/// The program cannot stand in a hook.
pub fn for_install(choice: &Choice, env: &Env, config: &Config) -> Result<Gathered, Error> {
    let running = std::env::current_exe()
        .map_err(|error| Error::new("the running program is not known").because(error.to_string()).hint("run it by its path"))?;
    let placement = target::placement(env, &running)?;
    // What the person gave once counts until they give another one.
    let remembered = remembered_command(env).filter(|_| choice.command.is_none());
    let command = match choice.command.as_ref().or(remembered.as_ref()) {
        Some(text) => Command::verbatim(text)?,
        None => Command::of_program(placement.program())?,
    };
    let scope = scope(choice)?;
    let mut gathered = Gathered::default();
    ask_agents(choice, env, config, &command, &scope, &mut gathered);
    if let Scope::Project(root) = &scope {
        for claim in &gathered.claims {
            if let Err(error) = project::check_inside(root, &claim.path) {
                // Told like any other conflict: the path stands before it already.
                let what = format!("{}: {}", error.what, error.why.unwrap_or_default());
                let refusal = Refusal { what, hint: error.hint, ..Refusal::default() };
                gathered.conflicts.push(Conflict { owner: claim.owner.to_owned(), path: claim.path.clone(), refusal });
            } else if project::is_tracked(env, root, &claim.path) == Some(true) {
                gathered.notes.push(format!("{} is tracked by git: the entry names a path of this host", claim.path.display()));
            }
        }
    }
    if gathered.claims.is_empty() && gathered.conflicts.is_empty() {
        return Ok(gathered);
    }
    if choice.command.is_none() && remembered.is_none() {
        gathered.notes.extend(target::dotfiles_hint(&gathered.claims).filter(|_| scope == Scope::User));
    }
    gathered.notes.extend(target::path_hint(env, &placement));
    gathered.claims.extend(placement.claim()?);
    gathered.claims.extend(config_claim(env));
    Ok(gathered)
}

/// Where `--command` is remembered.
fn command_file(env: &Env) -> Option<PathBuf> {
    Some(env.state_folder()?.join("install/command"))
}

/// The last `--command` of an installation, if it still is one.
fn remembered_command(env: &Env) -> Option<String> {
    let text = files::read_small(&command_file(env)?, LONGEST_COMMAND).ok().and_then(|bytes| String::from_utf8(bytes).ok())?;
    Command::verbatim(&text).is_ok().then_some(text)
}

/// Remembers `--command` after an installation; `None` forgets it, after everything was taken out. Not durable: at worst the
/// next installation writes the program's path.
pub fn remember_command(env: &Env, command: Option<&str>) {
    let Some(path) = command_file(env) else { return };
    if remembered_command(env).as_deref() == command {
        return;
    }
    let _ = match command {
        Some(text) => files::replace(&path, text.as_bytes(), files::PRIVATE),
        None => files::remove_if_there(&path).map(|_| ()),
    };
}

/// For `uninstall`: everything that an agent may have, and everything that was written down. `purge`: the configuration and the
/// program, too.
#[must_use]
pub fn for_uninstall(choice: &Choice, env: &Env, config: &Config, receipts: &Receipts, purge: bool) -> Gathered {
    let mut gathered = Gathered::default();
    // Any program will do: entries are recognised by its name.
    if let Ok(command) = Command::verbatim("agent-notify") {
        let scope = scope(choice).unwrap_or(Scope::User);
        let every = Choice { keep_builtin: false, may_start: false, ..choice.clone() };
        let cache = VersionCache::of(&State::of(env));
        for agent in chosen(&every) {
            let request = Request { env, config, command: &command, scope: &scope, keep_builtin: false, may_start: false, cache: &cache };
            if let Some(wanted) = agent.wanted(&request) {
                gathered.claims.extend(wanted.claims);
            }
        }
    }
    let shapes = gathered.claims.clone();
    for receipt in &receipts.files {
        let known = gathered.claims.iter().any(|claim| claim.owner == receipt.owner && claim.path == receipt.path);
        let like = shapes.iter().find(|claim| claim.owner == receipt.owner);
        if let Some(like) = like.filter(|_| !known) {
            gathered.claims.push(Claim { path: receipt.path.clone(), ..like.clone() });
        }
    }
    for claim in &mut gathered.claims {
        if let Content::Hooks(Hooks { entries, .. }) = &mut claim.content {
            // None is wanted any more; the settings stay, to be taken back.
            entries.clear();
        }
    }
    if purge {
        let ours = receipts.files.iter().filter(|receipt| [CONFIG, BINARY].contains(&receipt.owner.as_str()));
        gathered.claims.extend(ours.map(|receipt| whole(if receipt.owner == CONFIG { CONFIG } else { BINARY }, &receipt.path)));
        // Placed by hand or by an installer, it has no receipt.
        let local = env.home().map(|home| home.join(".local/bin/agent-notify")).filter(|path| path.symlink_metadata().is_ok());
        if let Some(path) = local.filter(|path| !gathered.claims.iter().any(|claim| claim.path == *path)) {
            gathered.claims.push(whole(BINARY, &path));
        }
        if let Some(path) = config::path(env).filter(|path| !gathered.claims.iter().any(|claim| claim.path == *path)) {
            gathered.claims.push(whole(CONFIG, &path));
        }
    }
    gathered
}

/// Agents' own notifications that may stay switched off: where nothing is remembered, nobody knows whether it was us.
#[must_use]
pub fn forgotten_mutes(choice: &Choice, env: &Env, config: &Config, receipts: &Receipts) -> Vec<String> {
    let claims = for_uninstall(choice, env, config, receipts, false).claims;
    let unknown = claims.iter().filter(|claim| receipts.get(claim.owner, &claim.path).is_none());
    let muted = unknown.filter_map(|claim| {
        let Content::Hooks(hooks) = &claim.content else { return None };
        let text = std::fs::read_to_string(&claim.path).ok()?;
        let setting = hooks.settings.iter().find(|setting| setting.over == Over::Replace && text.contains(&setting.value.to_string()))?;
        Some(format!(
            "{} may keep {} = {}: what was there before is not remembered; remove it by hand if you did not set it",
            claim.path.display(),
            setting.key,
            setting.value
        ))
    });
    muted.collect()
}

/// A file that goes as a whole: the program also where another version of it has taken its place.
fn whole(owner: &'static str, path: &Path) -> Claim {
    let mark: &[u8] = if owner == BINARY { MARK.as_bytes() } else { b"" };
    Claim { owner, path: path.to_owned(), content: Content::Whole(Whole { bytes: Vec::new(), mode: files::PRIVATE, mark }) }
}

/// Made where there is none; a person's own is never touched.
fn config_claim(env: &Env) -> Option<Claim> {
    let path = config::path(env)?;
    let bytes = config::template().into_bytes();
    path.symlink_metadata().is_err().then(|| Claim {
        owner: CONFIG,
        path,
        content: Content::Whole(Whole { bytes, mode: files::PRIVATE, mark: b"" }),
    })
}

fn ask_agents(choice: &Choice, env: &Env, config: &Config, command: &Command, scope: &Scope, gathered: &mut Gathered) {
    let cache = VersionCache::of(&State::of(env));
    for agent in chosen(choice) {
        if choice.agents.is_empty() && agent.presence(env).is_none() {
            if agent.id() != "generic" {
                gathered.skipped.push((agent.label(), "not on this host"));
            }
            continue;
        }
        let request =
            Request { env, config, command, scope, keep_builtin: choice.keep_builtin, may_start: choice.may_start, cache: &cache };
        match agent.wanted(&request) {
            None => gathered.skipped.push((agent.label(), "this version cannot install for it yet")),
            Some(wanted) => {
                gathered.claims.extend(wanted.claims);
                gathered.notes.extend(wanted.notes);
                if let Some(error) = wanted.refusal {
                    let path = error.path.clone().unwrap_or_else(|| PathBuf::from(agent.label()));
                    let refusal = Refusal { what: error.to_string(), hint: error.hint, ..Refusal::default() };
                    gathered.conflicts.push(Conflict { owner: agent.id().to_owned(), path, refusal });
                }
            }
        }
    }
}

fn chosen(choice: &Choice) -> impl Iterator<Item = &'static dyn Agent> {
    let agents = choice.agents.clone();
    agents::all().filter(move |agent| agents.is_empty() || agents.contains(&agent.id()))
}

fn scope(choice: &Choice) -> Result<Scope, Error> {
    if !choice.project {
        return Ok(Scope::User);
    }
    let folder = std::env::current_dir()
        .map_err(|error| Error::new("the working folder is not there").because(error.to_string()).hint("change into the project"))?;
    Ok(Scope::Project(project::root(&folder)))
}
