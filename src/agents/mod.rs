//! The agents: what each of them says, understood as a [`Signal`] and an [`Event`], and what should stand in its files. One file
//! or folder an agent, all behind [`Agent`]. For a hook nothing is read but its input (and, for Codex, the processes around it and
//! the package file that tells its version); for the installer, files that tell of presence and version, and nothing is written
//! but the memory of versions. Knows nothing of terminals and delivery.
//!
//! [`Signal`]: crate::event::Signal

use std::path::PathBuf;

use crate::config::Config;
use crate::environment::{Env, name};
use crate::event::{Event, Kind, Parsed, ReplyForm, Signal, Silence, Speaker};

pub mod claude;
pub mod codex;
mod cursor;
mod generic;
pub mod payload;
mod pi;
mod probe;
mod shape;
mod wanted;

use payload::{Payload, Source};
pub use wanted::{Command, Presence, Request, Scope, Wanted};

/// One call of `agent-notify hook AGENT [EVENT]`.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// What stood on stdin; for Codex's `notify` the JSON argument.
    pub payload: &'a [u8],
    /// EVENT: one of ours (`stop`, `finished`, …) or the agent's own name (`Stop`, `afterShellExecution`).
    pub argument: Option<&'a str>,
    /// `--agent NAME`.
    pub agent: Option<&'a str>,
    pub env: &'a Env,
    /// Where the hook runs: the project of an agent whose payload names none. Asked for only there.
    pub folder: &'a dyn Fn() -> Option<PathBuf>,
    /// Argument vectors of the ancestor processes, nearest first. Called at most once, and only where an agent's payload
    /// leaves something open (about 10 µs an ancestor).
    pub ancestors: &'a dyn Fn() -> Vec<Vec<String>>,
}

/// A coding agent whose hooks call this program.
pub trait Agent: Sync {
    /// The name in `hook AGENT`, in duplicate keys and in the log: `claude`.
    fn id(&self) -> &'static str;

    /// The name that a person reads: `Claude`.
    fn label(&self) -> &'static str;

    /// Understands a message. Any payload and any argument give an answer.
    fn parse(&self, payload: &Payload, input: &Input) -> Parsed;

    /// What to answer when nothing was understood, or after a panic.
    fn failure_reply(&self) -> ReplyForm;

    /// Whose terminal the notification belongs to.
    fn owner(&self, _event: &Event, _env: &Env, _config: &Config) -> Owner {
        Owner::ThisProcess
    }

    /// Signs of it on this host; `None` if there is none, or if it is nothing to install for.
    fn presence(&self, _env: &Env) -> Option<Presence> {
        None
    }

    /// What should stand in its files; `None` for one that this program does not install for.
    fn wanted(&self, _request: &Request) -> Option<Wanted> {
        None
    }
}

/// Whose terminal a notification belongs to.
#[derive(Debug)]
pub enum Owner {
    /// That of the hook, whose environment is the agent's.
    ThisProcess,
    /// Those of other processes, best first: the agent runs its hooks in a process without a terminal. None where none was
    /// found.
    Interfaces(Vec<Interface>),
}

/// An agent's interface in a terminal of its own.
#[derive(Debug)]
pub struct Interface {
    pub pid: u32,
    pub environment: Env,
}

static CLAUDE: claude::Claude = claude::Claude;
static CODEX: codex::Codex = codex::Codex;
static CURSOR: cursor::Cursor = cursor::Cursor;
static PI: pi::Pi = pi::Pi;
static GENERIC: generic::Generic = generic::Generic::any();
/// Not to be called for by name: it reads Claude's files and runs what stands there.
static COPILOT: generic::Generic = generic::Generic::copilot();

/// All that `hook` takes as AGENT.
static AGENTS: [&dyn Agent; 5] = [&CLAUDE, &CURSOR, &CODEX, &PI, &GENERIC];

/// The agent of this name, in any letter case: `claude`, `cursor`, `codex`, `pi`, `generic`.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Agent> {
    AGENTS.into_iter().find(|agent| agent.id().eq_ignore_ascii_case(name))
}

/// Every agent, in the order in which people see them.
pub fn all() -> impl Iterator<Item = &'static dyn Agent> {
    AGENTS.into_iter()
}

/// The names that [`find`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.id())
}

/// Understands one call: reads the payload, finds out who speaks (the origin counts more than the label in the command),
/// and puts what the person has set over what the payload says.
///
/// Precedence of facts: `--agent` > `AGENT_NOTIFY_AGENT`, `_CWD`, `_EVENT` > payload > argument.
#[must_use]
pub fn parse(agent: &dyn Agent, input: &Input) -> Parsed {
    let source = Source::new(input.payload);
    let payload = source.payload();
    let mut parsed =
        origin(&payload, input.env).map_or_else(|| agent.parse(&payload, input), |origin| origin.of(agent).parse(&payload, input));
    if parsed.event.session.is_none() {
        let part = |name| input.env.get(name);
        parsed.event.pane = part(name::TMUX_PANE).map(|pane| format!("{} {pane}", part(name::TMUX).unwrap_or_default()));
    }
    parsed.notes.splice(0..0, payload.notes().iter().cloned());
    apply_overrides(&mut parsed, input);
    parsed
}

/// Agents that run hooks which were installed for another one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Origin {
    /// Says its version in the payload.
    Cursor,
    /// Names the event in lower camel case, as Claude never does: Cursor, if the hook is Claude's.
    LowerCamel,
    /// Says so in the environment.
    Copilot,
}

impl Origin {
    /// Who really speaks, given whose hook was called.
    fn of(self, called: &dyn Agent) -> &dyn Agent {
        match self {
            Self::Cursor => &CURSOR,
            // Kiro's names are lower case at `hook generic`, ours for Pi are too.
            Self::LowerCamel if called.id() == CLAUDE.id() => &CURSOR,
            Self::Copilot if called.id() == CLAUDE.id() => &COPILOT,
            Self::LowerCamel | Self::Copilot => called,
        }
    }
}

/// Cursor imports Claude's hooks (on by default on macOS and Linux); the variable `CURSOR_VERSION` proves nothing, a Claude
/// started within Cursor inherits it. Copilot reads a repository's `.claude/settings.json`; a Claude started within Copilot
/// inherits its variable, but names the prompt (2.1.197 and later: measured), which Copilot does not.
fn origin(payload: &Payload, env: &Env) -> Option<Origin> {
    let root = payload.root();
    if root.text(&["cursor_version"]).is_some() {
        Some(Origin::Cursor)
    } else if root.get("prompt_id").is_none() && env.get(name::COPILOT_CLI).is_some_and(|value| value == "1") {
        Some(Origin::Copilot)
    } else if claude::event_name(root).is_some_and(|name| name.starts_with(char::is_lowercase)) {
        Some(Origin::LowerCamel)
    } else {
        None
    }
}

/// A speaker by a name from outside; the known agents keep their ids and labels. `None` for a blank name.
#[must_use]
pub fn speaker(name: &str) -> Option<Speaker> {
    let known = find(name.trim()).filter(|agent| agent.id() != GENERIC.id());
    let speaker = Speaker::named(known.map_or(name, |agent| agent.label()));
    (!speaker.label.is_blank()).then_some(speaker)
}

/// The speaker that the person has set, by flag or environment.
fn set_speaker(input: &Input) -> Option<Speaker> {
    input.agent.and_then(speaker).or_else(|| speaker(&input.env.get(name::AGENT_NOTIFY_AGENT)?))
}

fn apply_overrides(parsed: &mut Parsed, input: &Input) {
    if let Some(speaker) = set_speaker(input) {
        parsed.event.speaker = speaker;
    }
    if let Some(folder) = input.env.os(name::AGENT_NOTIFY_CWD) {
        parsed.event.project = Some(PathBuf::from(folder));
    }
    let Some(event) = input.env.get(name::AGENT_NOTIFY_EVENT) else { return };
    match Kind::parse(event.trim()) {
        Some(kind) => override_kind(parsed, kind),
        None => parsed.notes.push("AGENT_NOTIFY_EVENT names no event".to_owned()),
    }
}

/// Another kind for what would notify, and a kind for what nobody has named. What never notifies stays silent, whatever the
/// environment of a whole session says.
fn override_kind(parsed: &mut Parsed, kind: Kind) {
    if matches!(parsed.signal, Signal::Attention(_) | Signal::Silent(Silence::NoEvent | Silence::UnknownEvent)) {
        parsed.signal = Signal::Attention(kind);
        if kind != Kind::Input {
            parsed.event.ask = None;
        }
    }
}

#[cfg(test)]
mod testing {
    use super::{Input, find, parse};
    use crate::environment::Env;
    use crate::event::Parsed;

    /// One call of `hook`, for tests.
    #[derive(Clone, Copy, Default)]
    pub(super) struct Call<'a> {
        hook: &'a str,
        argument: Option<&'a str>,
        agent: Option<&'a str>,
        env: &'a [(&'a str, &'a str)],
        folder: Option<&'a str>,
        ancestors: Option<&'a [&'a str]>,
    }

    impl<'a> Call<'a> {
        pub(super) fn new(hook: &'a str) -> Self {
            Self { hook, ..Self::default() }
        }

        pub(super) fn argument(self, argument: &'a str) -> Self {
            Self { argument: Some(argument), ..self }
        }

        pub(super) fn agent(self, agent: &'a str) -> Self {
            Self { agent: Some(agent), ..self }
        }

        pub(super) fn env(self, env: &'a [(&'a str, &'a str)]) -> Self {
            Self { env, ..self }
        }

        pub(super) fn folder(self, folder: &'a str) -> Self {
            Self { folder: Some(folder), ..self }
        }

        /// Command lines, split at spaces. Without this, asking for ancestors fails the test.
        pub(super) fn ancestors(self, ancestors: &'a [&'a str]) -> Self {
            Self { ancestors: Some(ancestors), ..self }
        }

        pub(super) fn json(self, payload: &str) -> Parsed {
            self.bytes(payload.as_bytes())
        }

        pub(super) fn bytes(self, payload: &[u8]) -> Parsed {
            let asked = std::cell::Cell::new(0);
            let ancestors = || {
                asked.set(asked.get() + 1);
                let lines = self.ancestors.expect("nobody asks for ancestors");
                lines.iter().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
            };
            let env = Env::from_iter(self.env.iter().copied());
            let folder = || self.folder.map(std::path::PathBuf::from);
            let input = Input { payload, argument: self.argument, agent: self.agent, env: &env, folder: &folder, ancestors: &ancestors };
            let parsed = parse(find(self.hook).expect("a known agent"), &input);
            assert!(asked.get() <= 1, "ancestors are asked for once at most");
            parsed
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::testing::Call;
    use super::*;

    const STOP: &str = r#"{"hook_event_name":"Stop","session_id":"s","cwd":"/p"}"#;

    #[test]
    fn agents_are_found_by_name_in_any_letter_case() {
        for agent in AGENTS {
            assert_eq!(find(agent.id()).map(Agent::label), Some(agent.label()));
        }
        assert_eq!(find("Claude").map(Agent::id), Some("claude"));
        assert!(find("copilot").is_none() && find("").is_none());
    }

    #[test]
    fn without_a_payload_the_argument_decides() {
        let signal = |hook: &str, argument: &str| Call::new(hook).argument(argument).json("").signal;
        assert_eq!(signal("claude", "stop"), Signal::Attention(Kind::Stop));
        assert_eq!(signal("claude", "StopFailure"), Signal::Attention(Kind::Error));
        assert_eq!(signal("claude", "idle"), Signal::Attention(Kind::Idle));
        assert_eq!(signal("cursor", "tool"), Signal::Attention(Kind::Tool));
        assert_eq!(signal("cursor", "afterShellExecution"), Signal::Attention(Kind::Tool));
        assert_eq!(signal("codex", "needs_input"), Signal::Attention(Kind::Input));
        assert_eq!(signal("pi", "settled"), Signal::Attention(Kind::Stop));
        assert_eq!(signal("generic", "finished"), Signal::Attention(Kind::Stop));
        for agent in AGENTS {
            assert_eq!(signal(agent.id(), "nonsense"), Signal::Silent(Silence::UnknownEvent));
            assert_eq!(Call::new(agent.id()).argument("nonsense").json("").event.source, "", "what names no event is not repeated");
            assert_eq!(signal(agent.id(), " "), Signal::Silent(Silence::NoEvent));
            assert_eq!(Call::new(agent.id()).json("").signal, Signal::Silent(Silence::NoEvent));
        }
    }

    #[test]
    fn a_broken_payload_with_an_argument_still_notifies() {
        let parsed = Call::new("claude").argument("Stop").json(r#"{"hook_event_name":"Sto"#);
        assert_eq!(parsed.signal, Signal::Attention(Kind::Stop));
        assert_eq!(parsed.notes, ["payload: ends too early at line 1 column 23"]);
    }

    #[test]
    fn the_payload_counts_more_than_the_argument() {
        assert_eq!(Call::new("claude").argument("Notification").json(STOP).signal, Signal::Attention(Kind::Stop));
        let unknown = Call::new("claude").argument("stop").json(r#"{"hook_event_name":"SomeFutureEvent"}"#);
        assert_eq!((unknown.signal, unknown.event.source.as_str()), (Signal::Silent(Silence::UnknownEvent), "SomeFutureEvent"));
    }

    #[test]
    fn the_environment_counts_more_than_the_payload_and_the_flag_most() {
        let env = [("AGENT_NOTIFY_AGENT", "Wrapper"), ("AGENT_NOTIFY_CWD", "/q"), ("AGENT_NOTIFY_EVENT", "needs_input")];
        let parsed = Call::new("claude").env(&env).json(STOP);
        assert_eq!(parsed.signal, Signal::Attention(Kind::Input));
        assert_eq!(parsed.event.speaker, Speaker::named("Wrapper"));
        assert_eq!(parsed.event.project.as_deref(), Some(Path::new("/q")));
        let parsed = Call::new("generic").agent("Flag").env(&env).json(STOP);
        assert_eq!(parsed.event.speaker, Speaker::named("Flag"));
        let parsed = Call::new("generic").agent(" \u{200b}").env(&[("AGENT_NOTIFY_AGENT", "CODEX")]).json(STOP);
        assert_eq!(parsed.event.speaker, Speaker::named("Codex"));
    }

    #[test]
    fn an_event_from_the_environment_does_not_wake_what_never_notifies() {
        let call = Call::new("claude").env(&[("AGENT_NOTIFY_EVENT", "stop")]);
        assert_eq!(call.json(r#"{"hook_event_name":"SessionEnd"}"#).signal, Signal::Ended);
        assert_eq!(call.json(r#"{"hook_event_name":"Stop","stop_hook_active":true}"#).signal, Signal::Silent(Silence::StopHookActive));
        assert_eq!(call.json("").signal, Signal::Attention(Kind::Stop));
        let odd = Call::new("claude").env(&[("AGENT_NOTIFY_EVENT", "secret")]).json(STOP);
        assert_eq!((odd.signal, odd.notes), (Signal::Attention(Kind::Stop), vec!["AGENT_NOTIFY_EVENT names no event".to_owned()]));
    }

    #[test]
    fn cursor_that_imports_claudes_hooks_is_cursor() {
        let imported = r#"{"hook_event_name":"stop","conversation_id":"c","generation_id":"g","cursor_version":"2026.09.28-64d2043"}"#;
        let (own, foreign) = (Call::new("cursor").json(imported), Call::new("claude").argument("Stop").json(imported));
        assert_eq!(own, foreign);
        assert_eq!((own.event.speaker.id.as_str(), own.reply), ("cursor", ReplyForm::EmptyObject));
        let lower = Call::new("claude").json(r#"{"hook_event_name":"stop"}"#);
        assert_eq!((lower.event.speaker.id.as_str(), lower.reply), ("cursor", ReplyForm::EmptyObject));
        let inherited = Call::new("claude").env(&[("CURSOR_VERSION", "3.7.21")]).json(STOP);
        assert_eq!(inherited.event.speaker.id, "claude");
    }

    #[test]
    fn without_a_session_the_pane_tells_two_apart() {
        let env = [("TMUX", "/tmp/tmux-0/default,1,0"), ("TMUX_PANE", "%3")];
        let pane = |json: &str| Call::new("generic").env(&env).json(json).event.pane;
        assert_eq!(pane(r#"{"event":"stop"}"#).as_deref(), Some("/tmp/tmux-0/default,1,0 %3"));
        assert_eq!(pane(r#"{"event":"stop","session_id":"s"}"#), None);
    }

    #[test]
    fn copilot_that_reads_claudes_files_is_copilot() {
        let call = Call::new("claude").env(&[("COPILOT_CLI", "1")]);
        let stop = call.json(STOP);
        assert_eq!(
            (stop.signal, stop.event.speaker, stop.reply),
            (Signal::Attention(Kind::Stop), Speaker::named("Copilot"), ReplyForm::EmptyObject)
        );
        let permission = call.json(r#"{"hook_event_name":"PermissionRequest","tool_name":"shell"}"#);
        assert_eq!(permission.signal, Signal::Silent(Silence::NotForThePerson));
        assert_eq!(call.json(r#"{"hook_event_name":"Stop","prompt_id":"p"}"#).event.speaker.id, "claude", "started within Copilot");
        assert_eq!(Call::new("codex").env(&[("COPILOT_CLI", "1")]).json(STOP).event.speaker.id, "codex");
    }
}
