//! The configuration as text: what is in force (`config show`), and the file with every key explained (`config init`).

use super::Config;
use super::keys::KEYS;

/// One line a key, `path = value`, secrets redacted. Keys without a value are left out.
#[must_use]
pub fn effective(config: &Config) -> Vec<(&'static str, String)> {
    KEYS.iter().filter_map(|key| Some((key.path, (key.show)(config)?))).collect()
}

/// A file in which every key stands with its meaning and its default, commented out: the defaults stay in force, also those
/// of later versions.
#[must_use]
pub fn template() -> String {
    let defaults = Config::default();
    let mut text = String::from(
        "# agent-notify. Every key with its default; remove the # before a key to change it.\n# What is in force: agent-notify config show\n",
    );
    let mut section = "";
    for key in KEYS {
        let (table, name) = key.path.split_once('.').unwrap_or(("", key.path));
        if table != section {
            text.push_str(&format!("\n[{table}]\n"));
            section = table;
        }
        let value = (key.show)(&defaults).unwrap_or_else(|| "\"\"".to_owned());
        text.push_str(&format!("# {}\n# ({})\n#{name} = {value}\n", key.meaning, key.takes));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn the_template_is_all_defaults() {
        let (config, warnings) = parse(&template());
        assert_eq!((config, warnings), (Config::default(), Vec::new()));
    }

    #[test]
    fn the_template_without_its_comment_marks_is_all_defaults_too() {
        let uncommented: String = template()
            .lines()
            .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n");
        let (config, warnings) = parse(&uncommented);
        assert_eq!(warnings, []);
        assert_eq!(config, Config::default());
    }

    #[test]
    fn what_is_shown_reads_back() {
        let shown: String = effective(&Config::default()).iter().map(|(path, value)| format!("{path} = {value}\n")).collect();
        assert_eq!(parse(&shown), (Config::default(), Vec::new()));
    }

    #[test]
    fn secrets_are_not_shown() {
        let (config, _) = parse("[webhook]\nurl = \"https://example.org/TOKEN\"\nheaders = { A = \"TOKEN\" }\n");
        let shown = format!("{:?} {config:?}", effective(&config));
        assert!(!shown.contains("TOKEN"), "{shown}");
    }
}
