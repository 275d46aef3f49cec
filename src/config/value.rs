//! One value of the configuration file, apart from the TOML parser, and its reading as the types that keys have.

use std::borrow::Cow;
use std::time::Duration;

use toml::de::DeValue;

use crate::protocol::Protocol;

/// A value as it stands in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Integer(i64),
    Text(String),
    List(Vec<Value>),
    Table(Vec<(String, Value)>),
    /// A float or a date: no key takes one.
    Other(&'static str),
}

/// What the key takes instead; ends the sentence "expected …".
pub(super) type Expected = &'static str;

impl Value {
    pub(super) fn from_toml(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::Boolean(value) => Self::Bool(*value),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).map_or(Self::Other("a number out of range"), Self::Integer)
            }
            DeValue::String(text) => Self::Text(text.to_string()),
            DeValue::Array(list) => Self::List(list.iter().map(|item| Self::from_toml(item.get_ref())).collect()),
            DeValue::Table(table) => {
                Self::Table(table.iter().map(|(key, value)| (key.get_ref().to_string(), Self::from_toml(value.get_ref()))).collect())
            }
            DeValue::Float(_) => Self::Other("a fraction"),
            DeValue::Datetime(_) => Self::Other("a date"),
        }
    }

    /// What it is, for messages. Its kind only where it is a text, or stands in the place of a secret.
    pub(super) fn describe(&self, is_secret: bool) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Integer(number) if !is_secret => return Cow::Owned(number.to_string()),
            Self::Bool(true) if !is_secret => "true",
            Self::Bool(false) if !is_secret => "false",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(what) => what,
        })
    }

    pub(super) fn bool(&self) -> Result<bool, Expected> {
        if let Self::Bool(value) = self { Ok(*value) } else { Err("true or false") }
    }

    pub(super) fn text(&self) -> Result<String, Expected> {
        if let Self::Text(text) = self { Ok(text.clone()) } else { Err("a text in quotes") }
    }

    /// A text that is set: blank counts as unset.
    pub(super) fn optional_text(&self) -> Result<Option<String>, Expected> {
        self.text().map(|text| (!text.trim().is_empty()).then_some(text))
    }

    /// A whole number from 0 to `most`.
    pub(super) fn small(&self, most: u8, expected: Expected) -> Result<u8, Expected> {
        match self {
            Self::Integer(number) => u8::try_from(*number).ok().filter(|number| *number <= most).ok_or(expected),
            _ => Err(expected),
        }
    }

    /// `"500ms"`, `"6s"`, `"2m"`, `"1h"`, or a number of seconds.
    pub(super) fn duration(&self) -> Result<Duration, Expected> {
        const EXPECTED: Expected = "a duration such as \"6s\", \"500ms\", \"2m\" or \"1h\"";
        match self {
            Self::Integer(seconds) => parse_duration(&seconds.to_string()).ok_or(EXPECTED),
            Self::Text(text) => parse_duration(text).ok_or(EXPECTED),
            _ => Err(EXPECTED),
        }
    }

    pub(super) fn protocol(&self) -> Result<Protocol, Expected> {
        const EXPECTED: Expected = "\"osc777\", \"osc9\", \"osc99\" or \"bell\"";
        Protocol::parse(&self.text().map_err(|_| EXPECTED)?).ok_or(EXPECTED)
    }

    /// One of several words.
    pub(super) fn word<Choice: Copy>(&self, choices: &[(&str, Choice)], expected: Expected) -> Result<Choice, Expected> {
        let word = self.text().map_err(|_| expected)?;
        choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(word.trim())).map(|(_, choice)| *choice).ok_or(expected)
    }

    pub(super) fn texts(&self, expected: Expected) -> Result<Vec<String>, Expected> {
        let Self::List(items) = self else { return Err(expected) };
        items.iter().map(|item| item.text().map_err(|_| expected)).collect()
    }

    pub(super) fn entries(&self, expected: Expected) -> Result<&[(String, Self)], Expected> {
        if let Self::Table(entries) = self { Ok(entries) } else { Err(expected) }
    }
}

/// Reads `500ms`, `6s`, `2m`, `1h`; a bare number is seconds. At most about 24 days, so that sums never overflow.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    const MOST_MILLISECONDS: u64 = 1 << 31;
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "ms" => 1,
        "" | "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(unit).filter(|milliseconds| *milliseconds <= MOST_MILLISECONDS).map(Duration::from_millis)
}

/// The shortest text that [`parse_duration`] reads back as the same duration.
pub(super) fn duration_text(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    match milliseconds {
        0 => "0s".to_owned(),
        _ if milliseconds.is_multiple_of(3_600_000) => format!("{}h", milliseconds / 3_600_000),
        _ if milliseconds.is_multiple_of(60_000) && milliseconds > 60_000 => format!("{}m", milliseconds / 60_000),
        _ if milliseconds.is_multiple_of(1000) => format!("{}s", milliseconds / 1000),
        _ => format!("{milliseconds}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_seconds_has_the_limit_of_a_text() {
        assert_eq!(Value::Integer(7).duration(), Ok(Duration::from_secs(7)));
        assert_eq!(Value::Integer(2_147_483).duration(), Ok(Duration::from_secs(2_147_483)));
        for wrong in [-1, 2_147_484, i64::MAX, i64::MIN] {
            assert!(Value::Integer(wrong).duration().is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_read_back() {
        for text in ["0s", "500ms", "6s", "2m", "1h", "90s"] {
            let duration = parse_duration(text).expect(text);
            assert_eq!(parse_duration(&duration_text(duration)), Some(duration));
        }
        assert_eq!(parse_duration("7"), Some(Duration::from_secs(7)));
        for wrong in ["", "s", "-1s", "1.5s", "1d", "99999999999999999999s", "99999h"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }
}
