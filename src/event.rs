//! What an agent says and what is decided about it: plain data that every other module may use.
//! Knows nothing of files, processes or terminals.

use std::fmt;
use std::path::PathBuf;

/// The five kinds of event that a person can be told of (`events.*` in the configuration).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// A turn has finished.
    Stop,
    /// A permission, a question or a plan waits for the person.
    Input,
    /// A turn has failed.
    Error,
    /// The agent has been waiting for a while.
    Idle,
    /// A tool has run.
    Tool,
}

impl Kind {
    /// Every kind, in the order of the configuration.
    pub const ALL: [Self; 5] = [Self::Stop, Self::Input, Self::Error, Self::Idle, Self::Tool];

    /// The name used in configuration, arguments and log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Input => "input",
            Self::Error => "error",
            Self::Idle => "idle",
            Self::Tool => "tool",
        }
    }

    /// Reads a name or one of its aliases (`finished`, `settled`, `needs_input`, `prompt`), in any letter case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        Some(match () {
            () if is("stop") || is("finished") || is("settled") => Self::Stop,
            () if is("input") || is("needs_input") || is("prompt") => Self::Input,
            () if is("error") => Self::Error,
            () if is("idle") => Self::Idle,
            () if is("tool") => Self::Tool,
            () => return None,
        })
    }

    /// Which of two pending notifications of one session stays: the higher one.
    #[must_use]
    pub const fn priority(self) -> Priority {
        match self {
            Self::Input => Priority(2),
            Self::Error => Priority(1),
            Self::Stop | Self::Idle | Self::Tool => Priority(0),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// 0 (least) to 2.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Priority(pub u8);

/// What an agent's message means for us.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Signal {
    /// The person may want to know.
    Attention(Kind),
    /// The person has sent a prompt; a turn begins.
    TurnStarted,
    /// An ask was answered, a tool has run: the agent goes on.
    Resumed,
    /// The session is over.
    Ended,
    /// Never notifies, whatever the configuration; the reason goes into the log.
    Silent(Silence),
}

/// Why a message never notifies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Silence {
    /// The turn goes on because of a Stop hook (`stop_hook_active`).
    StopHookActive,
    /// Codex generates a title in a thread of its own.
    TitleThread,
    /// The person has just acted: an answer, Escape, an interrupt.
    PersonActed,
    /// A message of no interest here: session start, sign-in, compaction, a task that the agent tells itself.
    NotForThePerson,
    /// An event name that this version does not know.
    UnknownEvent,
    /// Neither the payload nor the arguments name an event.
    NoEvent,
}

impl Silence {
    /// The reason as it stands in the log.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::StopHookActive => "stop hook active: the turn goes on",
            Self::TitleThread => "title generation thread",
            Self::PersonActed => "the person has just acted",
            Self::NotForThePerson => "not an event for the person",
            Self::UnknownEvent => "unknown event",
            Self::NoEvent => "no event named",
        }
    }
}

/// Who speaks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Speaker {
    /// Part of duplicate keys and the log: `claude`, `cursor`, `codex`, `pi`, else the lower-case label.
    pub id: String,
    /// What the person reads: `Claude`. From outside for the generic agent, so sanitised like all text.
    pub label: Text,
}

impl Speaker {
    /// A speaker by its display name; the id is the lower-case name.
    #[must_use]
    pub fn named(label: &str) -> Self {
        let label = Text::new(label);
        Self { id: label.as_str().to_lowercase(), label }
    }
}

/// One message of an agent, understood. Texts are raw, as the agent sent them; `notify::message` sanitises.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Event {
    pub speaker: Speaker,
    /// The agent's own name of the event, for the log; empty if there was none.
    pub source: String,
    pub session: Option<String>,
    /// The pane that a message without a session comes from: two of them are not one.
    pub pane: Option<String>,
    /// The turn within the session; without one, duplicates are found by time.
    pub turn: Option<String>,
    /// Project folder: a workspace root or the agent's working folder.
    pub project: Option<PathBuf>,
    /// What the person is asked, for `Kind::Input`; the id of the call, for `Kind::Tool`.
    pub ask: Option<Ask>,
    /// Asks before this message that it shows to be answered.
    pub answers: Answers,
    /// The agent's words; shown only with `content.message`.
    pub words: Option<String>,
    /// A turn of a subagent.
    pub subagent: bool,
    /// A run without a person at it (`-p`, exec, print, rpc).
    pub headless: bool,
    /// Cursor's IDE rather than its command line.
    pub ide: bool,
    /// Work that goes on after a Stop.
    pub background: Background,
    /// The answer was cut at the model's output limit.
    pub answer_cut: bool,
}

impl Event {
    /// An event of which only the speaker is known.
    #[must_use]
    pub fn of(speaker: Speaker) -> Self {
        Self {
            speaker,
            source: String::new(),
            session: None,
            pane: None,
            turn: None,
            project: None,
            ask: None,
            answers: Answers::None,
            words: None,
            subagent: false,
            headless: false,
            ide: false,
            background: Background::None,
            answer_cut: false,
        }
    }
}

/// Work that still runs when a turn ends.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Background {
    #[default]
    None,
    /// A shell command, which may be a server that never ends.
    Shell,
    /// A subagent: another Stop follows.
    Subagent,
}

/// What the person is asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ask {
    pub identity: AskIdentity,
    /// Question, title or command; shown only with `content.prompt_title`.
    pub title: Option<String>,
}

/// How one ask is told from another in the same turn.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AskIdentity {
    /// The agent's id of the ask (`tool_use_id`, a request id): unique for ever.
    Id(String),
    /// Hash of what is asked: the same content again within seconds is the same ask.
    Content(u128),
    /// A reminder that belongs to the newest open ask of its turn; the hash counts where there is none.
    Newest(u128),
}

/// Which open asks of its turn a message shows to be answered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Answers {
    #[default]
    None,
    /// The newest one: the message says that the person has answered, not what.
    Newest,
    /// Those of one of these identities: a call is known by its id and by its content.
    Asks(Vec<AskIdentity>),
}

/// Keys of the ledger and identities of asks: FNV-1a, 128 bits, over some parts. The same for every version and machine, since
/// two installations may write one ledger; not for secrets.
#[must_use]
pub fn fingerprint(parts: &[&[u8]]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash = OFFSET;
    for part in parts {
        // 0xFF ends a part: no byte of UTF-8 text can forge the border between two.
        for byte in part.iter().chain(std::iter::once(&0xff)) {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }
    hash
}

/// How the agent wants to be answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReplyForm {
    /// Claude Code: one JSON line, which may carry a `terminalSequence`.
    ClaudeSequence,
    /// One line `{}`: Cursor, generic agents, and Claude where a sequence would be ignored or harmful.
    EmptyObject,
    /// Nothing at all: Codex (any other stdout fails a Stop hook) and Pi.
    Nothing,
}

/// A payload, understood.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Parsed {
    /// Who has sent it, whatever it is called: an agent's name in `hook AGENT`, or `copilot`.
    pub origin: &'static str,
    pub signal: Signal,
    pub event: Event,
    pub reply: ReplyForm,
    /// What was odd about the input, for the log; never the input itself, which may hold secrets.
    pub notes: Vec<String>,
}

/// The verdict on one event; goes into the log as it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Decision {
    Deliver,
    /// Waits; looked at again at `until` (milliseconds since the epoch; `None` = when the event that it waits for comes),
    /// unless something ends the wait.
    Defer {
        until: Option<u64>,
        reason: &'static str,
    },
    Suppress {
        reason: String,
    },
}

/// Text from outside that is safe in a terminal, a title and a log: no C0, DEL, C1, bidi control or line separator; runs of
/// space folded to one; no space at either end.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Text(String);

impl Text {
    /// Sanitises.
    #[must_use]
    pub fn new(raw: &str) -> Self {
        let mut clean = String::with_capacity(raw.len());
        for character in raw.chars() {
            if is_unsafe(character) || character.is_whitespace() {
                if !clean.is_empty() && !clean.ends_with(' ') {
                    clean.push(' ');
                }
            } else {
                clean.push(character);
            }
        }
        clean.truncate(clean.trim_end().len());
        Self(clean)
    }

    /// The first line of a longer text that has anything to read.
    #[must_use]
    pub fn first_line(raw: &str) -> Self {
        raw.lines().map(Self::new).find(|line| !line.is_blank()).unwrap_or_default()
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Nothing that a person could see.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.0.chars().all(is_invisible)
    }

    /// Cut to at most `limit` bytes at a character boundary; a cut text ends in `…` where there is room for it.
    #[must_use]
    pub fn cut(&self, limit: usize) -> Self {
        const ELLIPSIS: char = '…';
        if self.0.len() <= limit {
            return self.clone();
        }
        let room = limit.saturating_sub(ELLIPSIS.len_utf8());
        let mut end = if room == 0 { limit } else { room };
        while !self.0.is_char_boundary(end) {
            end -= 1;
        }
        let mut cut = self.0[..end].trim_end().to_owned();
        if room > 0 {
            cut.push(ELLIPSIS);
        }
        Self(cut)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Characters that could end or start a control sequence, or reorder what stands around them.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Space and characters of no width.
fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '\u{00ad}' | '\u{034f}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_read_back() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.name()), Some(kind));
        }
        assert_eq!(Kind::parse("Finished"), Some(Kind::Stop));
        assert_eq!(Kind::parse("settled"), Some(Kind::Stop));
        assert_eq!(Kind::parse("needs_input"), Some(Kind::Input));
        assert_eq!(Kind::parse("prompt"), Some(Kind::Input));
        assert_eq!(Kind::parse("compacted"), None);
    }

    #[test]
    fn text_loses_controls_and_folds_space() {
        assert_eq!(Text::new("a\x1b]777;x\x07b\u{9c}c\u{202e}d\n\n e\t").as_str(), "a ]777;x b c d e");
        assert_eq!(Text::new(" \x00 ").as_str(), "");
        assert_eq!(Text::first_line("\n  \nfirst\nsecond").as_str(), "first");
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(Text::new("项目项目").cut(9).as_str(), "项目…");
        assert_eq!(Text::new("项目项目").cut(12).as_str(), "项目项目");
        assert_eq!(Text::new("abcdef").cut(5).as_str(), "ab…");
        assert_eq!(Text::new("项").cut(2).as_str(), "");
    }

    #[test]
    fn invisible_text_is_blank() {
        assert!(Text::new("\u{200b}\u{feff} ").is_blank());
        assert!(!Text::new("x").is_blank());
    }

    #[test]
    fn fingerprints_tell_borders_apart() {
        assert_ne!(fingerprint(&[b"ab", b"c"]), fingerprint(&[b"a", b"bc"]));
        assert_eq!(fingerprint(&[b"a"]), fingerprint(&[b"a"]));
    }
}
