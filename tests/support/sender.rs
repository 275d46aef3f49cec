//! The three ways in which the tmux tests raise a notification, and what each must look like on the desk.

use super::command::{Command, Outcome};
use super::payload::Payload;
use super::reader::{Notification, Protocol};
use super::sandbox::Sandbox;

/// What a person could write: a separator, CJK, a leading digit, a newline.
pub const TITLE: &str = "Claude — 项目; x";
pub const BODY: &str = "5 tests failed; 等待输入\nrm";
/// The same as it must arrive: `;` and newline replaced.
pub const TITLE_SHOWN: &str = "Claude — 项目, x";
pub const BODY_SHOWN: &str = "5 tests failed, 等待输入 rm";

/// Hooks that are to speak at once, although a client was just active.
pub const AT_ONCE: &str = "[policy]\nactive_within = \"0s\"\n";

/// Who raises the notification.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sender {
    /// `agent-notify send`.
    Send,
    /// A captured Stop of Claude Code 2.1.332.
    Claude,
    /// A captured Stop of Codex 0.171.0.
    Codex,
}

impl Sender {
    pub const ALL: [Self; 3] = [Self::Send, Self::Claude, Self::Codex];

    /// The command with input and the agent's own variables, from a session that was not seen before.
    pub fn command(self, sandbox: &Sandbox) -> Command<'_> {
        match self {
            Self::Send => sandbox.command(["send", "--title", TITLE, "--body", BODY]),
            Self::Claude => claude(sandbox, Payload::load("claude/stop.json").fresh()),
            Self::Codex => sandbox.command(["hook", "codex"]).stdin(Payload::load("codex/stop.json").fresh()),
        }
    }

    /// What goes back to the agent when the notification is out. (`send` has no form of its own to check.)
    #[track_caller]
    pub fn check_reply(self, outcome: &Outcome) {
        outcome.success();
        match self {
            Self::Send => {}
            Self::Claude => {
                outcome.stdout_is("{}\n");
            }
            Self::Codex => {
                outcome.stdout_is("");
            }
        }
    }

    /// Exactly one notification with the right text, by this protocol.
    #[track_caller]
    pub fn check_shown(self, shown: &[Notification], protocol: Protocol, situation: &str) {
        assert_eq!(shown.len(), 1, "{self:?}, {situation}: one notification, not {shown:?}");
        let Notification { protocol: came, title, body } = &shown[0];
        assert_eq!(*came, protocol, "{self:?}, {situation}");
        let (wanted_title, wanted_body) = match self {
            Self::Send => (TITLE_SHOWN, BODY_SHOWN),
            Self::Claude => ("Claude — proj", "Waiting for input"),
            Self::Codex => ("Codex — proj", "Waiting for input"),
        };
        if protocol == Protocol::Osc9 {
            assert!(body.contains(wanted_title) && body.contains(wanted_body), "{self:?}, {situation}: {body}");
            assert!(!body.starts_with(|first: char| first.is_ascii_digit()), "{self:?}, {situation}: {body}");
            return;
        }
        assert_eq!(title, wanted_title, "{self:?}, {situation}");
        match self {
            Self::Send => assert_eq!(body, wanted_body, "{situation}"),
            Self::Claude | Self::Codex => assert!(body.starts_with(wanted_body), "{self:?}, {situation}: {body}"),
        }
    }
}

/// `hook claude` as Claude Code 2.1.332 starts it in its terminal interface.
pub fn claude(sandbox: &Sandbox, payload: impl Into<Vec<u8>>) -> Command<'_> {
    claude_version(sandbox, "2-1-332", payload)
}

/// The same by another version, written `2-1-138`.
pub fn claude_version<'sandbox>(sandbox: &'sandbox Sandbox, version: &str, payload: impl Into<Vec<u8>>) -> Command<'sandbox> {
    sandbox
        .command(["hook", "claude"])
        .env("CLAUDE_CODE_ENTRYPOINT", "cli")
        .env("AI_AGENT", format!("claude-code_{version}_harness"))
        .stdin(payload)
}
