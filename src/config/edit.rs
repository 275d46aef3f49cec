//! Changing one key in the file's text: comments, order and layout of everything else stay.

use toml_edit::{DocumentMut, Item, Table};

use super::keys::KEYS;
use super::load::suggestion;
use super::parse;
use crate::error::Error;

/// The text with `key` set to `value`.
///
/// `value` is TOML (`true`, `"6s"`, `["22:00-07:30"]`) or, where that does not fit, a plain text (`6s`, `osc9`). A key of
/// `notify.terminals` or `webhook.headers` may be given by its dotted name.
///
/// # Errors
/// The file has syntax errors, the key is unknown, or the value does not fit: nothing was changed.
pub fn set(text: &str, key: &str, value: &str) -> Result<String, Error> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let offset = error.span().map_or(0, |span| span.start);
        let before = text.get(..offset).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Error::new("the configuration has a syntax error")
            .at(before.matches('\n').count() + 1, column)
            .because(error.message().lines().next().unwrap_or_default())
            .hint("mend that line, then run the command again")
    })?;
    let owner = KEYS.iter().find(|candidate| candidate.path == key || is_entry(candidate.path, key)).ok_or_else(|| {
        let hint = suggestion(key);
        let error = Error::new(format!("unknown key {key}"));
        if hint.is_empty() {
            error.hint("`agent-notify config show` lists every key")
        } else {
            error.hint(hint.trim_start_matches("; ").to_owned())
        }
    })?;

    let candidates = [value.parse::<toml_edit::Value>().ok(), Some(toml_edit::Value::from(value))];
    let path: Vec<&str> = if key == owner.path { key.split('.').collect() } else { entry_path(owner.path, key) };
    for candidate in candidates.into_iter().flatten() {
        if fits(&path, &candidate) {
            write(&mut document, &path, candidate)
                .ok_or_else(|| Error::new(format!("{key} cannot be set")).because("a part of its path is not a table in the file"))?;
            return Ok(document.to_string());
        }
    }
    Err(Error::new(format!("{value:?} does not fit {key}")).because(format!("it takes {}", owner.takes)))
}

/// `notify.terminals.NAME` and `webhook.headers.NAME`: names may contain dots.
fn is_entry(owner: &str, key: &str) -> bool {
    matches!(owner, "notify.terminals" | "webhook.headers")
        && key.strip_prefix(owner).is_some_and(|rest| rest.len() > 1 && rest.starts_with('.'))
}

fn entry_path<'key>(owner: &'key str, key: &'key str) -> Vec<&'key str> {
    owner.split('.').chain([&key[owner.len() + 1..]]).collect()
}

/// Whether loading a file with nothing but this would be without a warning.
fn fits(path: &[&str], value: &toml_edit::Value) -> bool {
    let mut scratch = DocumentMut::new();
    write(&mut scratch, path, value.clone()).is_some() && parse(&scratch.to_string()).1.is_empty()
}

/// `None` if something on the way is no table.
fn write(document: &mut DocumentMut, path: &[&str], mut value: toml_edit::Value) -> Option<()> {
    let (name, sections) = path.split_last()?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for section in sections {
        if !table.contains_key(section) {
            table.insert(section, Item::Table(Table::new()));
        }
        table = table.get_mut(section)?.as_table_like_mut()?;
    }
    if let Some(old) = table.get_mut(name) {
        let old_value = old.as_value_mut()?;
        // What stood around the old value (a comment behind it) stays.
        *value.decor_mut() = old_value.decor().clone();
        *old_value = value;
    } else {
        table.insert(name, Item::Value(value));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_order_survive_an_edit() {
        let text = "# mine\n[policy]\ngrace = \"1s\"  # why\nheadless = true\n\n[events] # e\nstop = true\n";
        let edited = set(text, "policy.grace", "3s").expect("fits");
        assert_eq!(edited, text.replace("\"1s\"", "\"3s\""));
    }

    #[test]
    fn new_keys_go_into_their_table() {
        assert_eq!(set("", "events.stop", "false").expect("fits"), "[events]\nstop = false\n");
        assert_eq!(set("[events]\nidle = true\n", "events.stop", "false").expect("fits"), "[events]\nidle = true\nstop = false\n");
        assert_eq!(
            set("", "notify.terminals.My Term 1.2", "osc9").expect("fits"),
            "[notify.terminals]\n\"My Term 1.2\" = \"osc9\"\n".replace("[notify.terminals]", "[notify]\n\n[notify.terminals]")
        );
    }

    #[test]
    fn plain_words_become_texts_where_texts_fit() {
        assert_eq!(set("", "notify.protocol", "osc9").expect("fits"), "[notify]\nprotocol = \"osc9\"\n");
        assert_eq!(set("", "notify.title_template", "true").expect("fits"), "[notify]\ntitle_template = \"true\"\n");
        assert_eq!(set("", "policy.quiet_hours", "[\"22:00-07:30\"]").expect("fits"), "[policy]\nquiet_hours = [\"22:00-07:30\"]\n");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, key, value) in [
            ("", "events.stop", "maybe"),
            ("", "events.stp", "true"),
            ("", "policy.extra_layers", "4"),
            ("x = = 1\n", "events.stop", "true"),
            ("events = 3\n", "events.stop", "true"),
            ("", "events", "true"),
        ] {
            assert!(set(text, key, value).is_err(), "{key} {value}");
        }
        let error = set("a = 1\nx = = 1\n", "events.stop", "true").expect_err("broken");
        assert_eq!(error.position, Some((2, 5)));
    }
}
