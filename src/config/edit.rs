//! Changing one key in the file's text. Everything else stays byte for byte (comments, order, newlines, a byte order mark, a
//! missing final newline): the text is cut open at the one place and never printed anew.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_edit::{Document, DocumentMut, InlineTable, Item, Key, Table, TomlError, Value};

use super::keys::KEYS;
use super::load::{position, suggestion};
use super::parse;
use crate::error::Error;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// What [`set`] makes of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Edit {
    pub text: String,
    /// The value that stood there, as it was written.
    pub old: Option<String>,
    /// The value that stands there now.
    pub new: String,
}

/// The text with `key` set to `value`.
///
/// `value` is TOML (`true`, `"6s"`, `["22:00-07:30"]`) or, where that does not fit, a plain text (`6s`, `osc9`). A key of
/// `notify.terminals` or `webhook.headers` may be given by its dotted name.
///
/// # Errors
/// The file has syntax errors, the key is unknown, or the value does not fit: nothing was changed. The value of a secret is
/// not repeated.
pub fn set(text: &str, key: &str, value: &str) -> Result<Edit, Error> {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let document = Document::parse(body).map_err(|error| syntax_error(body, &error))?;
    let owner = KEYS.iter().find(|candidate| candidate.path == key || is_entry(candidate.path, key)).ok_or_else(|| {
        let hint = suggestion(key);
        let error = Error::new(format!("unknown key {key}"));
        if hint.is_empty() {
            error.hint("`agent-notify config show` lists every key")
        } else {
            error.hint(hint.trim_start_matches("; ").to_owned())
        }
    })?;
    let path: Vec<&str> = if key == owner.path { key.split('.').collect() } else { entry_path(owner.path, key) };
    let new = fitting(&path, value).ok_or_else(|| {
        let shown = if is_secret(key) { "the value".to_owned() } else { format!("{value:?}") };
        Error::new(format!("{shown} does not fit {key}")).because(format!("it takes {}", owner.takes))
    })?;

    let splice = Splice::find(&document, body, &path, &new).map_err(|obstacle| obstacle.explain(body, key))?;
    let mut edited = body.to_owned();
    edited.replace_range(splice.range.clone(), &splice.text);
    if !changes_only(&path, &new, body, &edited) {
        return Err(Error::new(format!("{key} cannot be set")).because("the file's layout is too unusual").hint("edit the file by hand"));
    }
    let mark = &text[..text.len() - body.len()];
    Ok(Edit { text: format!("{mark}{edited}"), old: splice.replaces.then(|| body[splice.range].to_owned()), new })
}

/// Keys whose values must not reach a terminal that is shared or recorded.
#[must_use]
pub fn is_secret(key: &str) -> bool {
    key == "webhook" || key.starts_with("webhook.")
}

fn syntax_error(text: &str, error: &TomlError) -> Error {
    let (line, column) = position(text, error.span().map_or(0, |span| span.start));
    Error::new("the configuration has a syntax error")
        .at(line, column)
        .because(error.message().lines().next().unwrap_or_default())
        .hint("mend that line, then run the command again")
}

/// `notify.terminals.NAME` and `webhook.headers.NAME`: names may contain dots.
fn is_entry(owner: &str, key: &str) -> bool {
    matches!(owner, "notify.terminals" | "webhook.headers")
        && key.strip_prefix(owner).is_some_and(|rest| rest.len() > 1 && rest.starts_with('.'))
}

fn entry_path<'key>(owner: &'key str, key: &'key str) -> Vec<&'key str> {
    owner.split('.').chain([&key[owner.len() + 1..]]).collect()
}

/// The value as TOML: the first reading that would load without a warning.
fn fitting(path: &[&str], value: &str) -> Option<String> {
    let candidates = [value.parse::<Value>().ok(), Some(Value::from(value))];
    let mut texts = candidates.into_iter().flatten().map(|mut candidate| {
        candidate.decor_mut().clear();
        candidate.to_string()
    });
    texts.find(|text| parse(&format!("{} = {text}\n", dotted(path))).1.is_empty())
}

/// A dotted key, its parts quoted where they have to be.
fn dotted(path: &[&str]) -> String {
    path.iter().map(|part| Key::new(*part).display_repr().into_owned()).collect::<Vec<_>>().join(".")
}

/// Where the text is cut open, and what goes there.
struct Splice {
    range: Range<usize>,
    text: String,
    /// The range is an old value.
    replaces: bool,
}

/// Why there is no place.
enum Obstacle {
    /// The key stands in the file as a table of its own, whose entries begin there.
    Table(usize),
    /// Something on the way is a value.
    Value(usize),
}

impl Obstacle {
    fn explain(&self, text: &str, key: &str) -> Error {
        let (Self::Table(at) | Self::Value(at)) = *self;
        let (line, column) = position(text, at);
        let error = Error::new(format!("{key} cannot be set")).at(line, column);
        match self {
            Self::Table(_) if matches!(key, "notify.terminals" | "webhook.headers") => error
                .because("the file has it as a table of its own")
                .hint(format!("set its entries one by one (`agent-notify config set {key}.NAME VALUE`), or remove that table first")),
            Self::Table(_) => error.because("the file has a table of that name").hint("remove that table first"),
            Self::Value(_) => error.because("a part of its path is not a table in the file").hint("remove that line first"),
        }
    }
}

impl Splice {
    fn insert(at: usize, text: String) -> Self {
        Self { range: at..at, text, replaces: false }
    }

    fn find(document: &Document<&str>, text: &str, path: &[&str], value: &str) -> Result<Self, Obstacle> {
        let mut item = document.as_item();
        // From here on the path is written out in front of a new key.
        let mut body = 0;
        for (depth, part) in path.iter().enumerate() {
            if !is_dotted(item) {
                body = depth;
            }
            match item.get(part) {
                Some(next) => item = next,
                None => return Self::beside(item, text, path, [body, depth], value),
            }
        }
        match item {
            Item::Value(old) if !is_dotted(item) => {
                let range = old.span().ok_or(Obstacle::Value(0))?;
                Ok(Self { range, text: value.to_owned(), replaces: true })
            }
            _ => Err(Obstacle::Table(start_of(item))),
        }
    }

    /// Into the innermost table that is there. `depth` of the path lead to it, `body` to where its keys are written.
    fn beside(table: &Item, text: &str, path: &[&str], [body, depth]: [usize; 2], value: &str) -> Result<Self, Obstacle> {
        let entry = |from: usize| format!("{} = {value}", dotted(&path[from..]));
        match table {
            Item::Table(table) if table.is_dotted() => match last_value(table) {
                Some((indent, end)) => Ok(after_line(text, end, indent_at(text, indent), &entry(body))),
                None => Ok(at_the_end(text, path, value)),
            },
            Item::Table(table) if depth > 0 && depth + 1 == path.len() && !table.is_implicit() => {
                let header = table.span().ok_or(Obstacle::Table(0))?.start;
                let (indent, end) = last_value(table).unwrap_or((header, header));
                Ok(after_line(text, end, indent_at(text, indent), &entry(depth)))
            }
            Item::Table(_) => Ok(at_the_end(text, path, value)),
            Item::Value(Value::InlineTable(table)) => {
                within_braces(table, text, &entry(body)).ok_or_else(|| Obstacle::Table(table.span().map_or(0, |span| span.start)))
            }
            other => Err(Obstacle::Value(start_of(other))),
        }
    }
}

/// A table that only dotted keys make.
fn is_dotted(item: &Item) -> bool {
    item.as_table().is_some_and(Table::is_dotted) || item.as_inline_table().is_some_and(InlineTable::is_dotted)
}

fn start_of(item: &Item) -> usize {
    let own = item.span().map(|span| span.start);
    own.or_else(|| item.as_table().and_then(last_value).map(|(key, _)| key)).unwrap_or_default()
}

/// Where the last key that is written in a table's body begins, and where its value ends.
fn last_value(table: &Table) -> Option<(usize, usize)> {
    let ends = table.get_values().into_iter().filter_map(|(keys, value)| Some((keys.first()?.span()?.start, value.span()?.end)));
    ends.max_by_key(|(_, end)| *end)
}

/// A line of its own behind the line that holds `at`.
fn after_line(text: &str, at: usize, indent: &str, entry: &str) -> Splice {
    let newline = newline(text);
    match text[at..].find('\n') {
        Some(end) => Splice::insert(at + end + 1, format!("{indent}{entry}{newline}")),
        None => Splice::insert(text.len(), format!("{newline}{indent}{entry}")),
    }
}

/// A new table at the end of the file.
fn at_the_end(text: &str, path: &[&str], value: &str) -> Splice {
    let newline = newline(text);
    let (name, sections) = path.split_last().unwrap_or((&"", &[]));
    let table = format!("[{}]{newline}{} = {value}", dotted(sections), dotted(&[name]));
    let table = match text {
        "" => format!("{table}{newline}"),
        _ if text.ends_with('\n') => format!("{newline}{table}{newline}"),
        _ => format!("{newline}{newline}{table}"),
    };
    Splice::insert(text.len(), table)
}

fn within_braces(table: &InlineTable, text: &str, entry: &str) -> Option<Splice> {
    if let Some(end) = table.get_values().into_iter().filter_map(|(_, value)| value.span()).map(|span| span.end).max() {
        return Some(Splice::insert(end, format!(", {entry}")));
    }
    let range = table.span().filter(|range| text[range.clone()].starts_with('{'))?;
    Some(Splice { range, text: format!("{{ {entry} }}"), replaces: false })
}

/// What the file's first line ends with.
fn newline(text: &str) -> &'static str {
    text.find('\n').filter(|at| text[..*at].ends_with('\r')).map_or("\n", |_| "\r\n")
}

/// The white space in front of what begins at `at`, if nothing else stands there.
fn indent_at(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[line..at];
    &before[..before.len() - before.trim_start_matches([' ', '\t']).len()]
}

/// Read again, the file has the new value, and every other one as before.
fn changes_only(path: &[&str], new: &str, before: &str, after: &str) -> bool {
    let read = |text: &str| text.parse::<DocumentMut>().ok();
    let (Some(before), Some(after)) = (read(before), read(after)) else { return false };
    let set = path.iter().try_fold(after.as_item(), |item, part| item.get(part));
    let others = |document: &DocumentMut| {
        let mut values = BTreeMap::new();
        collect(document.as_item(), &mut Vec::new(), &mut values);
        values.retain(|other, _| !other.iter().map(String::as_str).take(path.len()).eq(path.iter().copied()));
        values
    };
    set.is_some_and(|item| bare(item) == new) && others(&before) == others(&after)
}

fn collect(item: &Item, path: &mut Vec<String>, values: &mut BTreeMap<Vec<String>, String>) {
    match item.as_table_like() {
        Some(table) => {
            for (name, item) in table.iter() {
                path.push(name.to_owned());
                collect(item, path, values);
                path.pop();
            }
        }
        None => {
            values.insert(path.clone(), bare(item));
        }
    }
}

/// A value without the comment behind it.
fn bare(item: &Item) -> String {
    let Some(value) = item.as_value() else { return item.to_string() };
    let mut value = value.clone();
    value.decor_mut().clear();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str, key: &str, value: &str) -> String {
        set(text, key, value).expect("fits").text
    }

    #[test]
    fn comments_and_order_survive_an_edit() {
        let text = "# mine\n[policy]\ngrace = \"1s\"  # why\nheadless = true\n\n[events] # e\nstop = true\n";
        let edit = set(text, "policy.grace", "3s").expect("fits");
        assert_eq!(edit, Edit { text: text.replace("\"1s\"", "\"3s\""), old: Some("\"1s\"".to_owned()), new: "\"3s\"".to_owned() });
    }

    #[test]
    fn byte_order_mark_newlines_and_a_missing_final_one_survive_an_edit() {
        let text =
            "\u{feff}# mine\r\n[policy]\r\ngrace = \"1s\" # why\r\n[notify]\r\nbody_stop = \"\"\"a\r\nb\"\"\"\r\n[events]\r\nidle = true";
        assert_eq!(text_of(text, "policy.grace", "3s"), text.replace("\"1s\"", "\"3s\""));
        assert_eq!(text_of(text, "events.stop", "false"), format!("{text}\r\nstop = false"));
        assert_eq!(text_of(text, "policy.headless", "true"), text.replace("# why\r\n", "# why\r\nheadless = true\r\n"));
        assert_eq!(text_of(text, "herdr.report_state", "true"), format!("{text}\r\n\r\n[herdr]\r\nreport_state = true"));
        let (config, warnings) = parse(&text_of(text, "herdr.report_state", "true"));
        assert_eq!((config.notify.body_stop.as_deref(), warnings), (Some("a\r\nb"), vec![]));
    }

    #[test]
    fn new_keys_go_into_their_table() {
        assert_eq!(text_of("", "events.stop", "false"), "[events]\nstop = false\n");
        assert_eq!(text_of("[events]\nidle = true\n", "events.stop", "false"), "[events]\nidle = true\nstop = false\n");
        assert_eq!(text_of("[events] # e\n# none\n[policy]\n", "events.stop", "false"), "[events] # e\nstop = false\n# none\n[policy]\n");
        assert_eq!(text_of("[events]\n  idle = true\n\n", "events.stop", "false"), "[events]\n  idle = true\n  stop = false\n\n");
        assert_eq!(text_of("", "notify.terminals.My Term 1.2", "osc9"), "[notify.terminals]\n\"My Term 1.2\" = \"osc9\"\n");
        let nested = "[notify]\nlanguage = \"de\"\n";
        assert_eq!(text_of(nested, "notify.terminals.X", "osc9"), format!("{nested}\n[notify.terminals]\nX = \"osc9\"\n"));
        let implied = "[notify.terminals]\nX = \"osc9\"\n";
        assert_eq!(text_of(implied, "notify.language", "de"), format!("{implied}\n[notify]\nlanguage = \"de\"\n"));
    }

    #[test]
    fn new_keys_go_beside_dotted_ones_and_into_braces() {
        let dotted = "policy.grace = \"1s\" # why\nevents.idle = true\n\n[webhook]\nheaders.A = \"x\"\ntimeout = 1\n";
        assert_eq!(text_of(dotted, "policy.headless", "true"), dotted.replace("why\n", "why\npolicy.headless = true\n"));
        assert_eq!(text_of(dotted, "webhook.headers.B", "y"), dotted.replace("\"x\"\n", "\"x\"\nheaders.B = \"y\"\n"));
        let braces = "notify = { language = \"de\", terminals.X = \"osc9\" } # n\nevents = {}\n";
        assert_eq!(text_of(braces, "events.stop", "false"), braces.replace("{}", "{ stop = false }"));
        assert_eq!(text_of(braces, "notify.terminals.Y", "bell"), braces.replace("\"osc9\"", "\"osc9\", terminals.Y = \"bell\""));
        assert_eq!(text_of(braces, "notify.fallback", "bell"), braces.replace("\"osc9\"", "\"osc9\", fallback = \"bell\""));
        assert_eq!(text_of("[webhook]\nheaders = { A = \"x\" }\n", "webhook.headers", "{}"), "[webhook]\nheaders = {}\n");
    }

    #[test]
    fn plain_words_become_texts_where_texts_fit() {
        assert_eq!(text_of("", "notify.protocol", "osc9"), "[notify]\nprotocol = \"osc9\"\n");
        assert_eq!(text_of("", "notify.title_template", "true"), "[notify]\ntitle_template = \"true\"\n");
        assert_eq!(text_of("", "policy.quiet_hours", "[\"22:00-07:30\"]"), "[policy]\nquiet_hours = [\"22:00-07:30\"]\n");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, key, value) in [
            ("", "events.stop", "maybe"),
            ("", "events.stp", "true"),
            ("", "policy.extra_layers", "4"),
            ("x = = 1\n", "events.stop", "true"),
            ("events = 3\n", "events.stop", "true"),
            ("[[events]]\nstop = true\n", "events.stop", "false"),
            ("[events.stop]\n", "events.stop", "true"),
            ("", "events", "true"),
        ] {
            assert!(set(text, key, value).is_err(), "{key} {value}");
        }
        let error = set("a = 1\nx = = 1\n", "events.stop", "true").expect_err("broken");
        assert_eq!(error.position, Some((2, 5)));
    }

    #[test]
    fn a_table_of_its_own_is_not_replaced_as_a_whole() {
        for text in ["[webhook.headers]\nA = \"x\"\n", "webhook.headers.A = \"x\"\n", "[webhook]\nheaders.A = \"x\"\n"] {
            for value in ["{}", "{ A = \"b\" }"] {
                let error = set(text, "webhook.headers", value).expect_err("a table");
                assert_eq!(error.why.as_deref(), Some("the file has it as a table of its own"), "{text}");
                assert!(error.hint.is_some_and(|hint| hint.contains("webhook.headers.NAME")) && error.position.is_some(), "{text}");
            }
        }
    }

    #[test]
    fn values_of_secrets_are_not_repeated() {
        for (key, value) in [
            ("webhook.headers", "Bearer S3CRET"),
            ("webhook.timeout", "https://S3CRET"),
            ("webhook.nothing", "S3CRET"),
            ("webhook", "S3CRET"),
        ] {
            let error = set("", key, value).expect_err("does not fit");
            assert!(!format!("{error:?}").contains("S3CRET"), "{error:?}");
        }
        assert!(set("", "policy.grace", "soon").expect_err("does not fit").what.contains("soon"));
    }
}
