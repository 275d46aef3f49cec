//! Cursor's hooks.json: which entries should stand there. One event name that it does not know, or a URL in one command, and
//! it ignores the whole file without a word: so nothing but what is documented.

use std::path::PathBuf;

use super::super::probe;
use super::super::{Presence, Request, Scope, Wanted};
use crate::claim::{Claim, Content, Entry, Hooks, Over, Setting, Shape};
use crate::environment::Env;
use crate::error::Error;

const AGENT: &str = "cursor";

/// Seconds.
const TIMEOUT: u32 = 10;

/// The 21 events (documented, 2026-11).
const KNOWN_EVENTS: &[&str] = &[
    "sessionStart",
    "sessionEnd",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "subagentStart",
    "subagentStop",
    "beforeShellExecution",
    "afterShellExecution",
    "beforeMCPExecution",
    "afterMCPExecution",
    "beforeReadFile",
    "afterFileEdit",
    "beforeSubmitPrompt",
    "preCompact",
    "stop",
    "afterAgentResponse",
    "afterAgentThought",
    "beforeTabFileRead",
    "afterTabFileEdit",
    "workspaceOpen",
];

pub(super) fn presence(env: &Env) -> Option<Presence> {
    let folder = env.home().map(|home| home.join(".cursor"));
    // Many programs are called agent.
    let program = probe::programs(env, "cursor-agent")
        .next()
        .or_else(|| probe::program_with(env, "agent", "cursor"))
        .or_else(|| probe::programs(env, "cursor").next());
    Presence::of(folder, program)
}

pub(super) fn wanted(request: &Request) -> Wanted {
    let folder = match request.scope {
        Scope::User => request.env.home(),
        Scope::Project(root) => Some(root.clone()),
    };
    let Some(path) = folder.map(|folder: PathBuf| folder.join(".cursor/hooks.json")) else {
        return Wanted { notes: vec!["Cursor: no HOME, so no hooks file".to_owned()], ..Wanted::default() };
    };
    let command = request.command.line(AGENT);
    if command.contains("://") {
        return Wanted::refused(
            Error::new("Cursor would ignore every hook in its file")
                .path(path)
                .because("the command holds ://, which it takes for a URL")
                .hint("give a command without :// with --command"),
        );
    }
    let mut notes = Vec::new();
    if command.contains(['\'', '"', '\\', '$', '~']) {
        notes.push(format!(
            "Cursor: the command needs a shell ({command}), and on Linux it is not established that Cursor uses one; a path of plain \
             letters is safer"
        ));
    }
    let hooks = Hooks {
        agent: AGENT,
        shape: Shape::Flat,
        entries: entries(&command, request),
        // Cursor 3 ignores a file without it.
        settings: vec![Setting { key: "version", value: 1.into(), over: Over::Keep }],
        known_events: KNOWN_EVENTS,
    };
    Wanted { claims: vec![Claim { owner: AGENT, path, content: Content::Hooks(hooks) }], notes, refusal: None }
}

fn entries(command: &str, request: &Request) -> Vec<Entry> {
    let config = request.config;
    let events = [
        (true, "stop"),
        (config.events.tool, "afterShellExecution"),
        // The only sign that a run with `-p` is over.
        (config.policy.headless, "sessionEnd"),
        // The answer's text; `stop` has none.
        (config.content.message, "afterAgentResponse"),
        // There are no asks here that a settled one could end, so `grace` needs nothing.
        (request.state_events().turn_started, "beforeSubmitPrompt"),
    ];
    let entry = |event| Entry { event, matcher: None, command: command.to_owned(), timeout: TIMEOUT };
    events.into_iter().filter(|(needed, _)| *needed).map(|(_, event)| entry(event)).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::super::super::{Command, find};
    use super::*;
    use crate::config;
    use crate::environment::name;
    use crate::state::{State, VersionCache};

    fn ask(config: &str, command: &Command, scope: &Scope, env: &Env) -> Wanted {
        let (config, warnings) = config::parse(config);
        assert_eq!(warnings, []);
        let cache = VersionCache::of(&State::of(env));
        let request = Request { env, config: &config, command, scope, keep_builtin: false, may_start: true, cache: &cache };
        find(AGENT).expect("Cursor").wanted(&request).expect("something to install")
    }

    fn command() -> Command {
        Command::of_program(Path::new("/opt/bin/agent-notify")).expect("a command")
    }

    fn home() -> Env {
        Env::from_iter([(name::HOME, "/home/u")])
    }

    fn events(config: &str) -> Vec<&'static str> {
        match ask(config, &command(), &Scope::User, &home()).claims.remove(0).content {
            Content::Hooks(hooks) => hooks.entries.into_iter().map(|entry| entry.event).collect(),
            Content::Whole(_) => Vec::new(),
        }
    }

    #[test]
    fn a_default_installation() {
        insta::assert_debug_snapshot!(ask("", &command(), &Scope::User, &home()));
    }

    #[test]
    fn only_what_a_feature_needs_is_registered() {
        assert_eq!(events("events.stop = false\nevents.input = false\npolicy.cursor_ide = true"), ["stop"]);
        assert_eq!(events("policy.grace = \"2s\""), ["stop"], "there are no asks that could wait");
        assert_eq!(events("events.tool = true"), ["stop", "afterShellExecution"]);
        assert_eq!(events("policy.headless = true"), ["stop", "sessionEnd"]);
        assert_eq!(events("content.message = true"), ["stop", "afterAgentResponse"]);
        assert_eq!(events("policy.min_turn = \"2s\""), ["stop", "beforeSubmitPrompt"]);
        assert_eq!(events("herdr.report_state = true"), ["stop", "beforeSubmitPrompt"]);
        let all = events("events.tool = true\npolicy.headless = true\ncontent.message = true\npolicy.min_turn = \"2s\"");
        assert_eq!(all, ["stop", "afterShellExecution", "sessionEnd", "afterAgentResponse", "beforeSubmitPrompt"]);
        assert!(all.iter().all(|event| KNOWN_EVENTS.contains(event)));
        assert_eq!(KNOWN_EVENTS.len(), 21);
    }

    #[test]
    fn a_project_has_a_file_of_its_own() {
        let wanted = ask("", &command(), &Scope::Project("/p".into()), &Env::from_iter([("X", "y")]));
        assert_eq!(wanted.claims[0].path, Path::new("/p/.cursor/hooks.json"));
        let homeless = ask("", &command(), &Scope::User, &Env::from_iter([("X", "y")]));
        assert!(homeless.claims.is_empty() && homeless.notes.len() == 1);
    }

    #[test]
    fn a_command_with_a_url_is_refused() {
        let command = Command::verbatim("file:///opt/agent-notify").expect("one word");
        let wanted = ask("", &command, &Scope::User, &home());
        assert!(wanted.claims.is_empty());
        let refusal = wanted.refusal.expect("a refusal");
        insta::assert_snapshot!(refusal, @"Cursor would ignore every hook in its file: /home/u/.cursor/hooks.json: the command holds ://, which it takes for a URL");
        assert!(refusal.hint.is_some());
    }

    #[test]
    fn a_command_that_needs_a_shell_is_noted() {
        let notes = |command: Result<Command, Error>| ask("", &command.expect("a command"), &Scope::User, &home()).notes.len();
        assert_eq!(notes(Command::of_program(Path::new("/a b/agent-notify"))), 1);
        assert_eq!(notes(Command::verbatim("$HOME/.local/bin/agent-notify")), 1);
        assert_eq!(notes(Command::of_program(Path::new("/opt/bin/agent-notify"))), 0);
    }

    /// A folder with these programs, folders (ending in `/`) and links (`LINK > TARGET`).
    fn host(entries: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for entry in entries {
            let (name, target) = entry.split_once(" > ").unwrap_or((entry, ""));
            let path = root.path().join(name);
            std::fs::create_dir_all(if name.ends_with('/') { &path } else { path.parent().expect("a parent") }).expect("folders");
            if !target.is_empty() {
                symlink(root.path().join(target), path).expect("a link");
            } else if !name.ends_with('/') {
                std::fs::write(&path, "").expect("a file");
                std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a mode");
            }
        }
        root
    }

    /// `FOLDER|PROGRAM`, `-` for none of it.
    fn presence(agent: &str, variables: &[(&str, &str)], entries: &[&str]) -> String {
        let root = host(entries);
        let below = |name: &str| root.path().join(name);
        let fixed = [(name::HOME, below("home/cursor")), (name::PATH, below("bin"))];
        let env = fixed.into_iter().chain(variables.iter().map(|(name, value)| (*name, below(value)))).collect();
        let Some(found) = find(agent).expect("an agent").presence(&env) else { return "-".to_owned() };
        let shown = |path: Option<PathBuf>| {
            path.map_or("-".to_owned(), |path| path.strip_prefix(root.path()).expect("below").display().to_string())
        };
        format!("{}|{}", shown(found.folder), shown(found.program))
    }

    #[test]
    fn it_is_present_by_its_folder_or_one_of_its_programs() {
        let cursor = |entries: &[&str]| presence("cursor", &[], entries);
        assert_eq!(cursor(&["home/cursor/"]), "-");
        assert_eq!(cursor(&["home/cursor/.cursor/"]), "home/cursor/.cursor|-");
        assert_eq!(cursor(&["bin/cursor-agent"]), "-|bin/cursor-agent");
        assert_eq!(cursor(&["bin/cursor"]), "-|bin/cursor");
        assert_eq!(cursor(&["home/cursor/.local/bin/cursor-agent"]), "-|home/cursor/.local/bin/cursor-agent");
        assert_eq!(cursor(&["bin/agent"]), "-", "anybody's agent");
        assert_eq!(cursor(&["home/cursor/.local/bin/agent"]), "-", "the person's name is not the program's");
        let own = "home/cursor/.local/share/cursor-agent/versions/2026.09.28-64d2043/cursor-agent";
        let link = format!("home/cursor/.local/bin/agent > {own}");
        assert_eq!(cursor(&[own, &link]), "-|home/cursor/.local/bin/agent");
        assert_eq!(cursor(&[own, "bin/agent", &link]), "-|home/cursor/.local/bin/agent", "behind somebody else's");
        assert_eq!(cursor(&["bin/agent > nowhere/cursor-agent"]), "-", "a dangling link");
        assert_eq!(cursor(&["opt/Cursor.app/cursor", "bin/agent > opt/Cursor.app/cursor"]), "-|bin/agent", "in any letter case");
    }

    #[test]
    fn the_agents_that_come_later_are_named_by_their_folder_or_program() {
        assert_eq!(presence("codex", &[], &["home/cursor/"]), "-");
        assert_eq!(presence("codex", &[], &["home/cursor/.codex/", "bin/codex"]), "home/cursor/.codex|bin/codex");
        assert_eq!(presence("codex", &[(name::CODEX_HOME, "moved")], &["home/cursor/.codex/", "moved/"]), "moved|-");
        assert_eq!(presence("pi", &[], &["bin/pi"]), "-", "others are called pi, too");
        let program = "lib/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js";
        assert_eq!(presence("pi", &[], &[program, &format!("bin/pi > {program}")]), "-|bin/pi");
        assert_eq!(presence("pi", &[], &["home/cursor/.pi/agent/"]), "home/cursor/.pi/agent|-");
        assert_eq!(presence("pi", &[(name::PI_CODING_AGENT_DIR, "moved")], &["home/cursor/.pi/agent/", "moved/"]), "moved|-");
        assert_eq!(presence("generic", &[], &["home/cursor/", "bin/generic"]), "-");
    }

    #[test]
    fn nothing_is_wanted_for_the_agents_that_come_later() {
        let (env, config) = (home(), config::Config::default());
        let cache = VersionCache::of(&State::of(&env));
        let (command, scope) = (command(), Scope::User);
        let request =
            Request { env: &env, config: &config, command: &command, scope: &scope, keep_builtin: false, may_start: false, cache: &cache };
        for agent in ["codex", "pi", "generic"] {
            assert!(find(agent).expect("an agent").wanted(&request).is_none(), "{agent}");
        }
    }
}
