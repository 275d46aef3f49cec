//! The configuration `config.toml`: one table of keys (path, type, default, meaning), tolerant loading, edits that keep
//! comments. A broken file never silences notifications: what cannot be read has its default, and a warning says where.

mod edit;
mod keys;
mod load;
mod quiet;
mod render;
mod value;

use std::path::PathBuf;
use std::time::Duration;

pub use edit::{Edit, is_secret, set};
pub use keys::{KEYS, Key};
pub(crate) use load::MOST_BYTES;
pub use load::{Loaded, Warning, load, parse};
pub use quiet::QuietHours;
pub use render::{effective, template};
pub use value::parse_duration;

use crate::environment::Env;
use crate::event::Kind;
use crate::protocol::Protocol;

/// The file's name in the configuration folder.
const FILE: &str = "config.toml";

/// Where the file is or would be; `None` without HOME and XDG_CONFIG_HOME.
#[must_use]
pub fn path(env: &Env) -> Option<PathBuf> {
    Some(env.config_folder()?.join(FILE))
}

/// Every setting; [`KEYS`] lists them for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub events: Events,
    pub notify: Notify,
    pub content: Content,
    pub policy: Policy,
    pub channels: Channels,
    pub webhook: Webhook,
    pub cmux: Cmux,
    pub herdr: Herdr,
    pub self_update: SelfUpdate,
}

/// Which kinds of event notify.
#[derive(Clone, Debug, PartialEq)]
pub struct Events {
    pub stop: bool,
    pub input: bool,
    pub error: bool,
    pub idle: bool,
    pub tool: bool,
}

impl Events {
    #[must_use]
    pub const fn is_on(&self, kind: Kind) -> bool {
        match kind {
            Kind::Stop => self.stop,
            Kind::Input => self.input,
            Kind::Error => self.error,
            Kind::Idle => self.idle,
            Kind::Tool => self.tool,
        }
    }
}

/// Protocols, language and texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Notify {
    /// `None` = by terminal.
    pub protocol: Option<Protocol>,
    pub fallback: Protocol,
    pub language: LanguageChoice,
    pub title_template: String,
    pub body_stop: Option<String>,
    pub body_input: Option<String>,
    pub body_error: Option<String>,
    pub body_idle: Option<String>,
    pub body_tool: Option<String>,
    /// Protocol by the beginning of a terminal's name.
    pub terminals: Vec<(String, Protocol)>,
}

impl Notify {
    /// The person's own text for a kind of event.
    #[must_use]
    pub fn body(&self, kind: Kind) -> Option<&str> {
        match kind {
            Kind::Stop => &self.body_stop,
            Kind::Input => &self.body_input,
            Kind::Error => &self.body_error,
            Kind::Idle => &self.body_idle,
            Kind::Tool => &self.body_tool,
        }
        .as_deref()
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LanguageChoice {
    /// By LC_ALL, LC_MESSAGES, LANG.
    Auto,
    Chinese,
    English,
    German,
}

/// What the message contains.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    pub context: Context,
    pub host: Switch,
    pub place: bool,
    pub prompt_title: bool,
    pub message: bool,
    pub details: bool,
    pub full_path: bool,
}

/// What stands in the title.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Context {
    /// The window's name where the person gave it one, else the project.
    Auto,
    Window,
    Project,
}

/// `auto`, `on` or `off`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Switch {
    Auto,
    On,
    Off,
}

/// When to notify.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Zero = off.
    pub active_within: Duration,
    pub when_focused: WhenFocused,
    pub grace: Duration,
    pub min_turn: Duration,
    pub background_hold: Duration,
    pub quiet_hours: Vec<QuietHours>,
    pub subagents: bool,
    pub headless: bool,
    pub cursor_ide: bool,
    pub clients: Clients,
    /// 0 to 3.
    pub extra_layers: u8,
    pub codex_same_dir: SameFolder,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WhenFocused {
    Suppress,
    Notify,
}

/// Which attached tmux clients are written to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Clients {
    Best,
    All,
}

/// Which of several Codex sessions in one folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SameFolder {
    All,
    Newest,
}

/// Ways to the person.
#[derive(Clone, Debug, PartialEq)]
pub struct Channels {
    pub terminal: Switch,
    pub cmux: Switch,
    pub herdr: Switch,
    pub bell: Switch,
    pub webhook: bool,
}

/// A value that must not be shown: given in the file, or named by a variable or another file.
#[derive(Clone, Eq, PartialEq)]
pub enum Secret {
    Plain(String),
    Env(String),
    File(PathBuf),
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(_) => formatter.write_str("(redacted)"),
            Self::Env(name) => write!(formatter, "{{ env = {name:?} }}"),
            Self::File(path) => write!(formatter, "{{ file = {path:?} }}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    pub url: Option<Secret>,
    pub headers: Vec<(String, Secret)>,
    pub template: Option<String>,
    pub timeout: Duration,
    pub always: bool,
    pub ca_file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cmux {
    pub socket_path: Option<String>,
    pub surface_id: Option<String>,
    pub workspace_id: Option<String>,
    pub timeout: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Herdr {
    pub report_state: bool,
    pub pi_blocked_event: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SelfUpdate {
    pub base_url: Option<String>,
    pub public_key: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            events: Events { stop: true, input: true, error: true, idle: false, tool: false },
            notify: Notify {
                protocol: None,
                fallback: Protocol::Osc777,
                language: LanguageChoice::Auto,
                title_template: "{agent} — {context}".to_owned(),
                body_stop: None,
                body_input: None,
                body_error: None,
                body_idle: None,
                body_tool: None,
                terminals: Vec::new(),
            },
            content: Content {
                context: Context::Auto,
                host: Switch::On,
                place: true,
                prompt_title: false,
                message: false,
                details: false,
                full_path: false,
            },
            policy: Policy {
                active_within: Duration::from_secs(6),
                when_focused: WhenFocused::Suppress,
                grace: Duration::ZERO,
                min_turn: Duration::ZERO,
                background_hold: Duration::from_secs(60),
                quiet_hours: Vec::new(),
                subagents: false,
                headless: false,
                cursor_ide: false,
                clients: Clients::Best,
                extra_layers: 0,
                codex_same_dir: SameFolder::All,
            },
            channels: Channels { terminal: Switch::Auto, cmux: Switch::Auto, herdr: Switch::Auto, bell: Switch::Auto, webhook: false },
            webhook: Webhook {
                url: None,
                headers: Vec::new(),
                template: None,
                timeout: Duration::from_secs(5),
                always: false,
                ca_file: None,
            },
            cmux: Cmux { socket_path: None, surface_id: None, workspace_id: None, timeout: Duration::from_millis(500) },
            herdr: Herdr { report_state: false, pi_blocked_event: false },
            self_update: SelfUpdate { base_url: None, public_key: None },
        }
    }
}
