//! OpenAI's Codex: hooks (stdin) and the older `notify` (JSON in the last argument).

mod daemon;
mod payload;
mod program;

use super::payload::Payload;
use super::probe;
use super::{Agent, Input, Owner, Presence};
use crate::config::Config;
use crate::environment::{Env, name};
use crate::event::{Event, Parsed, ReplyForm};

pub use program::version;

pub(super) struct Codex;

impl Agent for Codex {
    fn id(&self) -> &'static str {
        "codex"
    }

    fn label(&self) -> &'static str {
        "Codex"
    }

    fn parse(&self, payload: &Payload, input: &Input) -> Parsed {
        payload::parse(payload, input, self)
    }

    fn owner(&self, event: &Event, env: &Env, config: &Config) -> Owner {
        daemon::owner(event.project.as_deref(), env, config.policy.codex_same_dir)
    }

    /// A Stop hook that prints anything but JSON fails, and so does one with an unknown key (measured on 0.171.0).
    fn failure_reply(&self) -> ReplyForm {
        ReplyForm::Nothing
    }

    fn presence(&self, env: &Env) -> Option<Presence> {
        let folder = env.folder(name::CODEX_HOME).or_else(|| Some(env.home()?.join(".codex")));
        Presence::of(folder, probe::programs(env, "codex").next())
    }
}
