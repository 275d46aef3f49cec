//! The table of keys: the one place that names a key. Loading, `config show`, `config init`, `config set` and the
//! documentation all read it.

use std::path::PathBuf;
use std::time::Duration;

use super::value::{Expected, Value, duration_text};
use super::{Clients, Config, Context, LanguageChoice, QuietHours, SameFolder, Secret, Switch, WhenFocused};
use crate::protocol::Protocol;

/// One key of the configuration.
pub struct Key {
    /// Dotted path.
    pub path: &'static str,
    /// What it takes, for people.
    pub takes: &'static str,
    /// What it is for, in one sentence.
    pub meaning: &'static str,
    pub(super) set: fn(&mut Config, &Value) -> Result<(), Expected>,
    /// The value in force as TOML; `None` where nothing is set and there is no default. Secrets are never shown.
    pub(super) show: fn(&Config) -> Option<String>,
}

/// Stores what was read, if it could be read.
fn put<Setting>(place: &mut Setting, read: Result<Setting, Expected>) -> Result<(), Expected> {
    *place = read?;
    Ok(())
}

/// A text as a TOML string.
fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string().trim().to_owned()
}

fn optional(text: Option<&String>) -> Option<String> {
    text.map(|text| quoted(text))
}

fn seconds(duration: Duration) -> Option<String> {
    Some(quoted(&duration_text(duration)))
}

const SWITCH: &[(&str, Switch)] = &[("auto", Switch::Auto), ("on", Switch::On), ("off", Switch::Off)];
const AUTO_ON_OFF: Expected = "\"auto\", \"on\" or \"off\"";

fn switch(value: &Value) -> Result<Switch, Expected> {
    match value {
        // `true` and `false` say the same thing and are what people type first.
        Value::Bool(true) => Ok(Switch::On),
        Value::Bool(false) => Ok(Switch::Off),
        _ => value.word(SWITCH, AUTO_ON_OFF),
    }
}

fn name_of<Choice: Copy + PartialEq>(choices: &[(&str, Choice)], choice: Choice) -> Option<String> {
    choices.iter().find(|(_, candidate)| *candidate == choice).map(|(name, _)| quoted(name))
}

const PROTOCOL_OR_AUTO: Expected = "\"auto\", \"osc777\", \"osc9\", \"osc99\" or \"bell\"";
const LANGUAGES: &[(&str, LanguageChoice)] =
    &[("auto", LanguageChoice::Auto), ("zh", LanguageChoice::Chinese), ("en", LanguageChoice::English), ("de", LanguageChoice::German)];
const CONTEXTS: &[(&str, Context)] = &[("auto", Context::Auto), ("window", Context::Window), ("project", Context::Project)];
const WHEN_FOCUSED: &[(&str, WhenFocused)] = &[("suppress", WhenFocused::Suppress), ("notify", WhenFocused::Notify)];
const CLIENTS: &[(&str, Clients)] = &[("best", Clients::Best), ("all", Clients::All)];
const SAME_FOLDER: &[(&str, SameFolder)] = &[("all", SameFolder::All), ("newest", SameFolder::Newest)];

const SECRET: Expected = "a text, { env = \"NAME\" } or { file = \"PATH\" }";

fn secret(value: &Value) -> Result<Secret, Expected> {
    match value {
        Value::Text(text) => Ok(Secret::Plain(text.clone())),
        Value::Table(entries) => match entries.as_slice() {
            [(key, Value::Text(name))] if key == "env" => Ok(Secret::Env(name.clone())),
            [(key, Value::Text(path))] if key == "file" => Ok(Secret::File(PathBuf::from(path))),
            _ => Err(SECRET),
        },
        _ => Err(SECRET),
    }
}

fn secret_text(secret: &Secret) -> String {
    match secret {
        Secret::Plain(_) => quoted("(redacted)"),
        Secret::Env(name) => format!("{{ env = {} }}", quoted(name)),
        Secret::File(path) => format!("{{ file = {} }}", quoted(&path.to_string_lossy())),
    }
}

fn table_text(entries: impl Iterator<Item = (String, String)>) -> Option<String> {
    let entries: Vec<_> = entries.map(|(name, value)| format!("{} = {value}", quoted(&name))).collect();
    if entries.is_empty() { Some("{}".to_owned()) } else { Some(format!("{{ {} }}", entries.join(", "))) }
}

fn quiet_hours(value: &Value) -> Result<Vec<QuietHours>, Expected> {
    const EXPECTED: Expected = "a list such as [\"22:00-07:30\"] or [\"Mon-Fri 22:00-07:30\"]";
    value.texts(EXPECTED)?.iter().map(|text| QuietHours::parse(text).ok_or(EXPECTED)).collect()
}

fn quiet_hours_text(spans: &[QuietHours]) -> String {
    const NAMES: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let time = |minutes: u16| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let spans = spans.iter().map(|span| {
        let days: Vec<_> = NAMES.iter().enumerate().filter(|(day, _)| span.days & (1 << day) != 0).map(|(_, name)| *name).collect();
        let days = if days.len() == NAMES.len() { String::new() } else { format!("{} ", days.join(",")) };
        quoted(&format!("{days}{}-{}", time(span.from), time(span.to)))
    });
    format!("[{}]", spans.collect::<Vec<_>>().join(", "))
}

/// A key that is true or false.
macro_rules! flag {
    ($path:literal, $($field:ident).+, $meaning:literal) => {
        Key {
            path: $path,
            takes: "true or false",
            meaning: $meaning,
            set: |config, value| put(&mut config.$($field).+, value.bool()),
            show: |config| Some(config.$($field).+.to_string()),
        }
    };
}

/// A key that is a text; blank = unset.
macro_rules! text {
    ($path:literal, $($field:ident).+, $meaning:literal) => {
        Key {
            path: $path,
            takes: "text",
            meaning: $meaning,
            set: |config, value| put(&mut config.$($field).+, value.optional_text()),
            show: |config| optional(config.$($field).+.as_ref()),
        }
    };
}

macro_rules! duration {
    ($path:literal, $($field:ident).+, $meaning:literal) => {
        Key {
            path: $path,
            takes: "duration",
            meaning: $meaning,
            set: |config, value| put(&mut config.$($field).+, value.duration()),
            show: |config| seconds(config.$($field).+),
        }
    };
}

macro_rules! switch {
    ($path:literal, $($field:ident).+, $meaning:literal) => {
        Key {
            path: $path,
            takes: "auto, on or off",
            meaning: $meaning,
            set: |config, value| put(&mut config.$($field).+, switch(value)),
            show: |config| name_of(SWITCH, config.$($field).+),
        }
    };
}

/// A key that is one word of several.
macro_rules! choice {
    ($path:literal, $($field:ident).+, $choices:ident, $takes:literal, $expected:literal, $meaning:literal) => {
        Key {
            path: $path,
            takes: $takes,
            meaning: $meaning,
            set: |config, value| put(&mut config.$($field).+, value.word($choices, $expected)),
            show: |config| name_of($choices, config.$($field).+),
        }
    };
}

/// Every key, in the order in which `config show` and `config init` list them.
pub const KEYS: &[Key] = &[
    flag!("events.stop", events.stop, "Notify when a turn has finished."),
    flag!("events.input", events.input, "Notify when a permission, a question or a plan waits for you."),
    flag!("events.error", events.error, "Notify when a turn has failed."),
    flag!("events.idle", events.idle, "Notify when the agent has waited for 60 s."),
    flag!("events.tool", events.tool, "Notify when a shell command of the agent has run."),
    Key {
        path: "notify.protocol",
        takes: "auto, osc777, osc9, osc99 or bell",
        meaning: "Force one protocol everywhere; auto = by terminal.",
        set: |config, value| {
            let word = value.text().map_err(|_| PROTOCOL_OR_AUTO)?;
            config.notify.protocol =
                if word.eq_ignore_ascii_case("auto") { None } else { Some(Protocol::parse(&word).ok_or(PROTOCOL_OR_AUTO)?) };
            Ok(())
        },
        show: |config| Some(quoted(config.notify.protocol.map_or("auto", Protocol::name))),
    },
    Key {
        path: "notify.fallback",
        takes: "osc777, osc9, osc99 or bell",
        meaning: "Protocol for a terminal that is not known.",
        set: |config, value| put(&mut config.notify.fallback, value.protocol()),
        show: |config| Some(quoted(config.notify.fallback.name())),
    },
    choice!(
        "notify.language",
        notify.language,
        LANGUAGES,
        "auto, zh, en or de",
        "\"auto\", \"zh\", \"en\" or \"de\"",
        "Language of the texts; auto = LC_ALL, LC_MESSAGES, LANG."
    ),
    Key {
        path: "notify.title_template",
        takes: "text with placeholders",
        meaning: "Title. Placeholders: {agent} {context} {project} {host} {session} {window} {pane} {event} {message} {prompt_title} {cwd} {session_id} {tmux_ids}.",
        set: |config, value| put(&mut config.notify.title_template, value.text()),
        show: |config| Some(quoted(&config.notify.title_template)),
    },
    text!("notify.body_stop", notify.body_stop, "Text of a finished turn, instead of the one in your language; the same placeholders."),
    text!("notify.body_input", notify.body_input, "Text of a request for you."),
    text!("notify.body_error", notify.body_error, "Text of a failed turn."),
    text!("notify.body_idle", notify.body_idle, "Text of an idle agent."),
    text!("notify.body_tool", notify.body_tool, "Text of a finished command."),
    Key {
        path: "notify.terminals",
        takes: "table: beginning of a terminal's name = protocol",
        meaning: "Protocol by terminal, for example { WezTerm = \"osc9\" }; the longest matching beginning counts.",
        set: |config, value| {
            const EXPECTED: Expected = "a table of terminals, each \"osc777\", \"osc9\", \"osc99\" or \"bell\"";
            let entries = value.entries(EXPECTED)?;
            config.notify.terminals = entries
                .iter()
                .map(|(name, value)| Ok((name.clone(), value.protocol().map_err(|_| EXPECTED)?)))
                .collect::<Result<_, Expected>>()?;
            Ok(())
        },
        show: |config| table_text(config.notify.terminals.iter().map(|(name, protocol)| (name.clone(), quoted(protocol.name())))),
    },
    choice!(
        "content.context",
        content.context,
        CONTEXTS,
        "auto, window or project",
        "\"auto\", \"window\" or \"project\"",
        "What {context} is: auto = the tmux window's name if you gave it one, else the project."
    ),
    switch!("content.host", content.host, "Name the host; auto = only over ssh."),
    flag!("content.place", content.place, "Name tmux session, window and pane."),
    flag!("content.prompt_title", content.prompt_title, "Show what is asked: question, title or command."),
    flag!("content.message", content.message, "Show the first line of the agent's words."),
    flag!("content.details", content.details, "Show tmux ids and the shortened session id."),
    flag!("content.full_path", content.full_path, "Show the whole path of the project."),
    duration!(
        "policy.active_within",
        policy.active_within,
        "Someone who pressed a key this recently in the visible pane is looking; 0 = off."
    ),
    choice!(
        "policy.when_focused",
        policy.when_focused,
        WHEN_FOCUSED,
        "suppress or notify",
        "\"suppress\" or \"notify\"",
        "What to do when you are looking at the pane."
    ),
    duration!("policy.grace", policy.grace, "How long a request for you waits for an answer before it notifies."),
    duration!("policy.min_turn", policy.min_turn, "Turns shorter than this do not notify."),
    duration!("policy.background_hold", policy.background_hold, "How long a finished turn waits for a command in the background."),
    Key {
        path: "policy.quiet_hours",
        takes: "list of spans",
        meaning: "No notifications in these hours, local time, for example [\"22:00-07:30\", \"Sat,Sun 00:00-24:00\"].",
        set: |config, value| put(&mut config.policy.quiet_hours, quiet_hours(value)),
        show: |config| Some(quiet_hours_text(&config.policy.quiet_hours)),
    },
    flag!("policy.subagents", policy.subagents, "Notify for subagents too; their requests for you always notify."),
    flag!("policy.headless", policy.headless, "Notify for runs without a person at them (-p, exec, print)."),
    flag!("policy.cursor_ide", policy.cursor_ide, "Notify for the Cursor IDE too, not only for its command line."),
    choice!("policy.clients", policy.clients, CLIENTS, "best or all", "\"best\" or \"all\"", "Which attached tmux clients are notified."),
    Key {
        path: "policy.extra_layers",
        takes: "0 to 3",
        meaning: "tmux layers between here and your terminal that cannot be seen from here (tmux over ssh in tmux over ssh in tmux).",
        set: |config, value| put(&mut config.policy.extra_layers, value.small(3, "a number from 0 to 3")),
        show: |config| Some(config.policy.extra_layers.to_string()),
    },
    choice!(
        "policy.codex_same_dir",
        policy.codex_same_dir,
        SAME_FOLDER,
        "all or newest",
        "\"all\" or \"newest\"",
        "Which of several Codex sessions in one folder is notified."
    ),
    switch!("channels.terminal", channels.terminal, "Notify through the terminal."),
    switch!("channels.cmux", channels.cmux, "Notify through cmux when in one of its panes."),
    switch!("channels.herdr", channels.herdr, "Notify through Herdr when in one of its panes."),
    switch!(
        "channels.bell",
        channels.bell,
        "Ring the pane's bell; auto = only when nobody is attached or the terminal shows no notifications."
    ),
    Key {
        path: "channels.webhook",
        takes: "on or off",
        meaning: "Send each notification to webhook.url.",
        set: |config, value| {
            config.channels.webhook = match value {
                Value::Bool(on) => *on,
                _ => value.word(&[("on", true), ("off", false)], "\"on\" or \"off\"")?,
            };
            Ok(())
        },
        show: |config| Some(quoted(if config.channels.webhook { "on" } else { "off" })),
    },
    Key {
        path: "webhook.url",
        takes: "text, { env = \"NAME\" } or { file = \"PATH\" }",
        meaning: "Where to POST; a secret.",
        set: |config, value| {
            put(&mut config.webhook.url, if value == &Value::Text(String::new()) { Ok(None) } else { secret(value).map(Some) })
        },
        show: |config| config.webhook.url.as_ref().map(secret_text),
    },
    Key {
        path: "webhook.headers",
        takes: "table of headers",
        meaning: "Headers of the request; their values are secrets.",
        set: |config, value| {
            let entries = value.entries("a table of headers")?;
            config.webhook.headers =
                entries.iter().map(|(name, value)| Ok((name.clone(), secret(value)?))).collect::<Result<_, Expected>>()?;
            Ok(())
        },
        show: |config| table_text(config.webhook.headers.iter().map(|(name, value)| (name.clone(), secret_text(value)))),
    },
    text!("webhook.template", webhook.template, "Body as JSON with placeholders in its texts; without one the whole event is sent."),
    duration!("webhook.timeout", webhook.timeout, "How long one request may take."),
    flag!("webhook.always", webhook.always, "Send even when you are looking at the pane."),
    Key {
        path: "webhook.ca_file",
        takes: "path",
        meaning: "Certificates to trust for the webhook, in PEM form.",
        set: |config, value| put(&mut config.webhook.ca_file, value.optional_text().map(|path| path.map(PathBuf::from))),
        show: |config| config.webhook.ca_file.as_ref().map(|path| quoted(&path.to_string_lossy())),
    },
    text!("cmux.socket_path", cmux.socket_path, "cmux's socket where the environment does not name it."),
    text!("cmux.surface_id", cmux.surface_id, "cmux's surface where the environment does not name it."),
    text!("cmux.workspace_id", cmux.workspace_id, "cmux's workspace where the environment does not name it."),
    duration!("cmux.timeout", cmux.timeout, "How long cmux may take to answer."),
    flag!("herdr.report_state", herdr.report_state, "Report blocked, working and idle to Herdr."),
    flag!("herdr.pi_blocked_event", herdr.pi_blocked_event, "Mirror Pi's requests as Herdr's own event inside Pi."),
    text!("self_update.base_url", self_update.base_url, "Where releases are fetched from."),
    text!("self_update.public_key", self_update.public_key, "Key with which releases are signed."),
];
