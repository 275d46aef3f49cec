//! OpenAI's Codex: hooks (stdin) and the older `notify` (JSON in the last argument).

mod payload;
mod program;

use super::payload::Payload;
use super::{Agent, Input};
use crate::event::{Parsed, ReplyForm};

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

    /// A Stop hook that prints anything but JSON fails, and so does one with an unknown key (measured on 0.171.0).
    fn failure_reply(&self) -> ReplyForm {
        ReplyForm::Nothing
    }
}
