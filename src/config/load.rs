//! Reading the file: whatever is right counts, whatever is wrong has its default and a warning with its place.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::keys::{KEYS, Key};
use super::value::Value;
use super::{Config, FILE, is_secret};
use crate::environment::Env;
use crate::files;

/// Of a file that a person edits.
pub(crate) const MOST_BYTES: u64 = 1 << 20;

/// Something in the file that was not used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Warning {
    /// 1-based; 0 where the whole file is meant.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
    pub message: String,
}

/// With the file's name and the place in it, as the log has it.
impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{FILE}:{}:{}: {}", self.line, self.column, self.message)
    }
}

/// The configuration in force.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    pub warnings: Vec<Warning>,
    /// Where the file is or would be; `None` without HOME and XDG_CONFIG_HOME.
    pub path: Option<PathBuf>,
}

/// Loads the person's file; an absent one is all defaults.
#[must_use]
pub fn load(env: &Env) -> Loaded {
    let path = super::path(env);
    let (config, warnings) = path.as_deref().map_or_else(|| (Config::default(), Vec::new()), load_file);
    Loaded { config, warnings, path }
}

fn load_file(path: &Path) -> (Config, Vec<Warning>) {
    match files::read_small(path, MOST_BYTES) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => parse(&text),
            Err(error) => {
                let (line, column) = {
                    let good = error.utf8_error().valid_up_to();
                    position(&String::from_utf8_lossy(&error.as_bytes()[..good]), good)
                };
                // The good lines still count: a stray byte in a comment must not undo a person's settings.
                let (config, mut warnings) = parse(&String::from_utf8_lossy(error.as_bytes()));
                warnings.insert(0, Warning { line, column, message: "not valid UTF-8".to_owned() });
                (config, warnings)
            }
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Config::default(), Vec::new()),
        Err(error) => {
            (Config::default(), vec![Warning { line: 0, column: 0, message: format!("cannot be read ({error}); the defaults are used") }])
        }
    }
}

/// Reads a configuration from its text.
#[must_use]
pub fn parse(text: &str) -> (Config, Vec<Warning>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { text, config: Config::default(), warnings: Vec::new() };
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        reader.table(table.get_ref(), "");
    } else {
        let readable = reader.blank_broken_lines(errors);
        reader.table(DeTable::parse_recoverable(&readable).0.get_ref(), "");
    }
    reader.warnings.sort_by_key(|warning| (warning.line, warning.column));
    (reader.config, reader.warnings)
}

struct Reader<'text> {
    text: &'text str,
    config: Config,
    warnings: Vec<Warning>,
}

impl Reader<'_> {
    fn warn(&mut self, span: Option<Range<usize>>, message: String) {
        let (line, column) = span.map_or((0, 0), |span| position(self.text, span.start));
        self.warnings.push(Warning { line, column, message });
    }

    /// The text with every broken line as spaces, so that what stands around it still counts: the parser's own recovery
    /// swallows the line after an unfinished one. Positions stay as they are.
    fn blank_broken_lines(&mut self, mut errors: Vec<toml::de::Error>) -> String {
        const MOST_BROKEN_LINES: usize = 64;
        let mut readable = self.text.to_owned();
        for _ in 0..MOST_BROKEN_LINES {
            let Some(first) = errors.iter().min_by_key(|error| error.span().map_or(usize::MAX, |span| span.start)) else { break };
            let message = format!("syntax error: {}", first.message().lines().next().unwrap_or_default());
            self.warn(first.span(), message);
            let Some(line) = first.span().and_then(|span| line_around(&readable, span.start)) else { break };
            let blank = " ".repeat(line.len());
            readable.replace_range(line, &blank);
            errors = DeTable::parse_recoverable(&readable).1;
        }
        readable
    }

    fn table(&mut self, table: &DeTable<'_>, prefix: &str) {
        for (name, value) in table {
            let path = if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
            if let Some(key) = KEYS.iter().find(|key| key.path == path) {
                self.set(key, value.get_ref(), value.span());
            } else if is_section(&path) {
                match value.get_ref() {
                    DeValue::Table(inner) => self.table(inner, &path),
                    other => {
                        let found = Value::from_toml(other).describe(is_secret(&path));
                        self.warn(Some(value.span()), format!("{path}: expected a table, found {found}"));
                    }
                }
            } else {
                self.warn(Some(name.span()), format!("{path}: unknown key{}", suggestion(&path)));
            }
        }
    }

    fn set(&mut self, key: &Key, value: &DeValue<'_>, span: Range<usize>) {
        let value = Value::from_toml(value);
        if let Err(expected) = (key.set)(&mut self.config, &value) {
            let default = (key.show)(&Config::default()).map_or(String::new(), |default| format!("; the default {default} is used"));
            // The value itself is not repeated: it may be a secret in the wrong place.
            self.warn(Some(span), format!("{}: expected {expected}, found {}{default}", key.path, value.describe(is_secret(key.path))));
        }
    }
}

/// A path that is not a key itself but leads to some.
pub(super) fn is_section(path: &str) -> bool {
    KEYS.iter().any(|key| key.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// A known key that may have been meant: the same last name elsewhere, or one that differs by a letter or two.
pub(super) fn suggestion(path: &str) -> String {
    let last = path.rsplit('.').next().unwrap_or(path);
    let same_name = KEYS.iter().find(|key| key.path.rsplit('.').next() == Some(last));
    let close = || {
        KEYS.iter().map(|key| (distance(key.path, path), key)).filter(|(distance, _)| *distance <= 2).min_by_key(|(distance, _)| *distance)
    };
    same_name.or_else(|| close().map(|(_, key)| key)).map_or(String::new(), |key| format!("; did you mean {}?", key.path))
}

/// Levenshtein distance in bytes; paths are short.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let substitution = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

/// The line that holds a byte offset, without its end; `None` if there is nothing on it (left) to blank.
fn line_around(text: &str, offset: usize) -> Option<Range<usize>> {
    let mut at = offset.min(text.len());
    // An error "at the end of the line" is about the line before it.
    while at > 0 && (at == text.len() || !text.is_char_boundary(at) || text.as_bytes()[at] == b'\n') {
        at -= 1;
        if text.is_char_boundary(at) && text.as_bytes()[at] != b'\n' {
            break;
        }
    }
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    (!text[start..end].trim().is_empty()).then_some(start..end)
}

/// Line and column, both from 1, of a byte offset.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{QuietHours, Secret, Switch};
    use crate::protocol::Protocol;
    use std::time::Duration;

    #[test]
    fn good_keys_survive_syntax_errors_around_them() {
        let (config, warnings) = parse("[events]\nstop = false\nidle = = true\n[policy]\ngrace = \"3s\"\nbroken\nheadless = true\n");
        assert!(!config.events.stop);
        assert_eq!(config.policy.grace, Duration::from_secs(3));
        assert!(config.policy.headless);
        let lines: Vec<_> = warnings.iter().map(|warning| warning.line).collect();
        assert!(lines.contains(&3) && lines.contains(&6), "{warnings:?}");
    }

    #[test]
    fn wrong_and_unknown_keys_are_named_with_their_place() {
        let text = "\n[events]\nstop = \"yes\"\n[polcy]\nx = 1\n[content]\n  plase = true\nhost = \"auto\"\n[policy]\nextra_layers = 9\nplace = true\nnone = 1.5\n";
        let (config, warnings) = parse(text);
        assert_eq!(config.content.host, Switch::Auto);
        assert!(config.events.stop);
        let shown: Vec<_> = warnings.iter().map(|warning| format!("{}:{} {}", warning.line, warning.column, warning.message)).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        3:8 events.stop: expected true or false, found a text; the default true is used
        4:2 polcy: unknown key
        7:3 content.plase: unknown key; did you mean content.place?
        10:16 policy.extra_layers: expected a number from 0 to 3, found 9; the default 0 is used
        11:1 policy.place: unknown key; did you mean content.place?
        12:1 policy.none: unknown key
        "#);
    }

    #[test]
    fn tables_lists_and_secrets_are_read() {
        let (config, warnings) = parse(
            "notify.terminals = { WezTerm = \"osc9\", foo = \"bell\" }\npolicy.quiet_hours = [\"22:00-07:30\"]\n[webhook]\nurl = { env = \"HOOK\" }\nheaders = { Authorization = { file = \"/t\" }, X = \"y\" }\n",
        );
        assert_eq!(warnings, []);
        assert_eq!(config.notify.terminals, [("WezTerm".to_owned(), Protocol::Osc9), ("foo".to_owned(), Protocol::Bel)]);
        assert_eq!(config.policy.quiet_hours, [QuietHours { days: 0x7f, from: 1320, to: 450 }]);
        assert_eq!(config.webhook.url, Some(Secret::Env("HOOK".to_owned())));
        assert_eq!(config.webhook.headers.len(), 2);
    }

    #[test]
    fn a_secret_in_the_wrong_form_is_not_repeated() {
        for (text, secret) in [
            ("[webhook]\nurl = [\"https://secret.example/token\"]\n", "secret.example"),
            ("webhook = 4711\n", "4711"),
            ("webhook.url = 4711\n", "4711"),
            ("webhook.timeout = -4711\n", "4711"),
            ("webhook.headers = { A = 4711 }\n", "4711"),
        ] {
            let (_, warnings) = parse(text);
            assert_eq!(warnings.len(), 1, "{text}");
            assert!(!warnings[0].message.contains(secret), "{warnings:?}");
        }
    }

    #[test]
    fn any_text_is_survived() {
        for text in
            ["\u{feff}[events]\nstop = false", "[[events]]\n", "events = 3", "\0", "a.b.c = {", "[events]\nstop = false\nstop = true\n"]
        {
            let _ = parse(text);
        }
        assert!(!parse("\u{feff}[events]\nstop = false").0.events.stop);
    }
}
