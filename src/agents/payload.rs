//! JSON from an agent, read as tolerantly as can be: no input panics, and a field of a wrong type is as good as absent.
//! Strings are borrowed from the input where they hold no escapes. Knows nothing of events.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Number;
use serde_json::error::Category;

/// So many values are kept of one field of the payload, and of all together: far more than any agent's hook sends, and few
/// enough for a payload of many small values not to grow to a hundred times its size.
const MOST_OF_A_FIELD: usize = 20_000;
const MOST: usize = 100_000;

/// An agent's bytes as text, mended as far as a JSON parser needs it; [`Payload`] borrows from it.
#[derive(Debug)]
pub struct Source<'a> {
    text: Cow<'a, str>,
    notes: Vec<String>,
}

impl<'a> Source<'a> {
    /// Takes off a UTF-8 byte order mark (Cursor on Windows sends one), replaces bytes that are not UTF-8, and replaces
    /// escapes of lone surrogates (JavaScript agents cut texts between the halves of a pair; JSON parsers refuse that).
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut text = String::from_utf8_lossy(bytes);
        let mut notes = Vec::new();
        if matches!(text, Cow::Owned(_)) {
            notes.push("payload: bytes that are not UTF-8 were replaced".to_owned());
        }
        if let Some(mended) = replace_lone_surrogates(&text) {
            text = Cow::Owned(mended);
            notes.push("payload: lone surrogates were replaced".to_owned());
        }
        Self { text, notes }
    }

    /// Parses, once. What cannot be read leaves an empty payload and a note.
    #[must_use]
    pub fn payload(&self) -> Payload<'_> {
        let mut notes = self.notes.clone();
        let root = if self.text.trim_ascii().is_empty() {
            notes.push("no payload".to_owned());
            Json::Null
        } else {
            read_object(&self.text, &mut notes)
        };
        Payload { root, notes }
    }
}

/// What an agent sent: a JSON object, or nothing that can be read.
#[derive(Debug)]
pub struct Payload<'a> {
    root: Json<'a>,
    notes: Vec<String>,
}

impl<'a> Payload<'a> {
    /// There is a JSON object.
    #[must_use]
    pub const fn is_present(&self) -> bool {
        matches!(self.root, Json::Object(_))
    }

    /// The object; [`Json::Null`], which has no fields, where there is none.
    #[must_use]
    pub const fn root(&self) -> &Json<'a> {
        &self.root
    }

    /// What was odd about the input; never a part of it.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// A JSON value. Objects keep the order in which the agent wrote them.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// A field of an object; the last one where a name stands twice.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    /// The first field of these names that is there and not null, of whatever type.
    #[must_use]
    pub fn any(&self, names: &[&str]) -> Option<&Self> {
        names.iter().filter_map(|name| self.get(name)).find(|value| **value != Self::Null)
    }

    /// The first field of these names that is a text with anything in it.
    #[must_use]
    pub fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().filter_map(|name| self.get(name)).find_map(Self::as_text)
    }

    /// The first field of these names that can name something: a text, or a whole number.
    #[must_use]
    pub fn identifier(&self, names: &[&str]) -> Option<String> {
        names.iter().filter_map(|name| self.get(name)).find_map(|value| match value {
            Self::Number(number) if !number.is_f64() => Some(number.to_string()),
            other => other.as_text().map(str::to_owned),
        })
    }

    /// One of these fields is `true`.
    #[must_use]
    pub fn flag(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.get(name) == Some(&Self::Bool(true)))
    }

    /// The first field of these names that is a list; empty where none is.
    #[must_use]
    pub fn list(&self, names: &[&str]) -> &[Json<'a>] {
        names
            .iter()
            .filter_map(|name| self.get(name))
            .find_map(|value| if let Self::List(list) = value { Some(&**list) } else { None })
            .unwrap_or(&[])
    }

    /// A text with anything but white space in it.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        let Self::Text(text) = self else { return None };
        (!text.trim_ascii().is_empty()).then_some(&**text)
    }

    /// Compact JSON: what identities of asks are hashed from. The same value gives the same bytes.
    #[must_use]
    pub fn compact(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Parses the first JSON value of a text, which has to be an object.
fn read_object<'a>(text: &'a str, notes: &mut Vec<String>) -> Json<'a> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let left = Cell::new(MOST);
    match (Builder { left: &left, is_root: true }).deserialize(&mut deserializer) {
        Ok(object @ Json::Object(_)) => {
            if left.get() == 0 {
                notes.push("payload: too many values; some were ignored".to_owned());
            }
            if deserializer.end().is_err() {
                notes.push("payload: what stands behind the first JSON value was ignored".to_owned());
            }
            object
        }
        Ok(_) => {
            notes.push("payload: JSON, but no object".to_owned());
            Json::Null
        }
        Err(error) => {
            // Only place and class: messages of the parser could quote the payload.
            let class = match error.classify() {
                Category::Eof => "ends too early",
                Category::Io | Category::Syntax | Category::Data => "is no JSON",
            };
            notes.push(format!("payload: {class} at line {} column {}", error.line(), error.column()));
            Json::Null
        }
    }
}

/// Replaces `\uD800`–`\uDFFF` that are no half of a pair by `\ufffd`; `None` where there are none, the usual case.
fn replace_lone_surrogates(text: &str) -> Option<String> {
    if !text.contains(r"\ud") && !text.contains(r"\uD") {
        return None;
    }
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix(r"\u")?.get(..4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let mut mended = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        let escape = at + found;
        match unit(escape) {
            Some(0xd800..=0xdbff) if matches!(unit(escape + 6), Some(0xdc00..=0xdfff)) => at = escape + 12,
            Some(0xd800..=0xdfff) => {
                let target: &mut String = mended.get_or_insert_default();
                target.push_str(&text[copied..escape]);
                target.push_str(r"\ufffd");
                at = escape + 6;
                copied = at;
            }
            Some(_) => at = escape + 6,
            // Any other escape: its second character may be a backslash and must not begin another one.
            None => at = escape + 1 + text[escape + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    let mut mended = mended?;
    mended.push_str(&text[copied..]);
    Some(mended)
}

/// Builds a value; reads over what is too much of it.
struct Builder<'budget> {
    /// How many more values are kept.
    left: &'budget Cell<usize>,
    /// The payload itself: each of its fields has a budget of its own, so that a huge one hides no other.
    is_root: bool,
}

impl Builder<'_> {
    /// One value more, if there is room for it.
    fn take(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }
}

impl<'de> DeserializeSeed<'de> for Builder<'_> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Builder<'_> {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while self.take() {
            match items.next_element_seed(Builder { left: self.left, is_root: false })? {
                Some(item) => list.push(item),
                None => return Ok(Json::List(list)),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while self.take() {
            let Some(FieldName(name)) = entries.next_key()? else { return Ok(Json::Object(fields)) };
            let share = Cell::new(self.left.get().min(MOST_OF_A_FIELD));
            let left = if self.is_root { &share } else { self.left };
            let before = left.get();
            let value = entries.next_value_seed(Builder { left, is_root: false })?;
            if self.is_root {
                self.left.set(self.left.get() - (before - left.get()));
            }
            fields.push((name, value));
        }
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Json::Object(fields))
    }
}

/// A name borrowed where possible (`Cow` alone always copies).
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct FieldName<'a>(#[serde(borrow)] Cow<'a, str>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => serializer.collect_seq(list),
            Self::Object(fields) => serializer.collect_map(fields.iter().map(|(name, value)| (name, value))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compact JSON and notes of what is read from these bytes.
    fn read(bytes: &[u8]) -> (String, Vec<String>) {
        let source = Source::new(bytes);
        let payload = source.payload();
        (String::from_utf8(payload.root().compact()).expect("UTF-8"), payload.notes().to_vec())
    }

    #[test]
    fn of_many_values_the_first_are_kept_and_no_field_hides_another() {
        let zeros = "[0],".repeat(30_000);
        let text = format!(r#"{{"a":[{zeros}0],"b":{{"c":[{zeros}0]}},"event":"stop"}}"#);
        let source = Source::new(text.as_bytes());
        let payload = source.payload();
        let kept = payload.root().list(&["a"]).len();
        assert!((5_000..=MOST_OF_A_FIELD).contains(&kept), "{kept}");
        assert_eq!(payload.root().text(&["event"]), Some("stop"));
        let (json, notes) = read(format!("{{{}\"z\":1}}", r#""a":[[[]]],"#.repeat(60_000)).as_bytes());
        assert!(json.starts_with(r#"{"a":[[[]]],"#) && notes == ["payload: too many values; some were ignored"], "{notes:?}");
    }

    #[test]
    fn a_byte_order_mark_is_taken_off_without_a_word() {
        assert_eq!(read(b"\xef\xbb\xbf{\"a\":1}\n"), (r#"{"a":1}"#.to_owned(), vec![]));
    }

    #[test]
    fn values_come_back_as_they_were_written() {
        let text = r#"{"z":[null,true,-3,18446744073709551615,1.5,"\u00e9\n"],"a":{"b":{}}}"#;
        assert_eq!(read(text.as_bytes()).0, r#"{"z":[null,true,-3,18446744073709551615,1.5,"é\n"],"a":{"b":{}}}"#);
    }

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_are_kept() {
        let (json, notes) = read(br#"{"a":"x\ud83d","b":"\uDE00 \\ud83d \ud83d\ude00","c":"\ud83d\ud83d\ude00","d":"\ud83"#);
        assert_eq!((json.as_str(), notes.len()), ("null", 2), "the text ends within an escape");
        let (json, notes) = read(br#"{"a":"x\ud83d","b":"\uDE00 \\ud83d \ud83d\ude00","c":"\ud83d\ud83d\ude00\ud83dx"}"#);
        assert_eq!(json, "{\"a\":\"x\u{fffd}\",\"b\":\"\u{fffd} \\\\ud83d 😀\",\"c\":\"\u{fffd}😀\u{fffd}x\"}");
        assert_eq!(notes, ["payload: lone surrogates were replaced"]);
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced() {
        let (json, notes) = read(b"{\"a\":\"\xff\"}");
        assert_eq!(json, "{\"a\":\"\u{fffd}\"}");
        assert_eq!(notes, ["payload: bytes that are not UTF-8 were replaced"]);
    }

    #[test]
    fn what_stands_behind_the_first_value_is_ignored_with_a_note() {
        assert_eq!(read(b"{\"a\":1}\0{}").0, r#"{"a":1}"#);
        assert_eq!(read(b"{\"a\":1} secret").1, ["payload: what stands behind the first JSON value was ignored"]);
    }

    #[test]
    fn what_is_no_object_is_no_payload_and_notes_quote_nothing() {
        assert_eq!(read(b"").1, ["no payload"]);
        assert_eq!(read(b" \n").1, ["no payload"]);
        assert_eq!(read(b"[1]").1, ["payload: JSON, but no object"]);
        assert_eq!(read(b"\"secret\"").1, ["payload: JSON, but no object"]);
        assert_eq!(read(b"secret").1, ["payload: is no JSON at line 1 column 1"]);
        assert_eq!(read(b"\0{}").1, ["payload: is no JSON at line 1 column 1"]);
        assert_eq!(read(b"{\"token\":\"secr").1, ["payload: ends too early at line 1 column 14"]);
        let deep = [b"{\"a\":".repeat(5000), b"1".to_vec(), b"}".repeat(5000)].concat();
        assert_eq!(read(&deep), ("null".to_owned(), vec!["payload: is no JSON at line 1 column 636".to_owned()]));
    }

    #[test]
    fn a_wrong_type_is_as_good_as_absent() {
        let source = Source::new(br#"{"a":7,"b":"","c":"x","d":[1],"e":true,"f":1.5,"c":"y","n":null}"#);
        let payload = source.payload();
        let root = payload.root();
        assert_eq!(root.text(&["a", "b", "missing", "c"]), Some("y"));
        assert_eq!(root.text(&["a", "b", "d", "n"]), None);
        assert_eq!(root.identifier(&["f", "a"]).as_deref(), Some("7"));
        assert_eq!(root.list(&["a", "d"]).len(), 1);
        assert!(root.flag(&["a", "e"]) && !root.flag(&["a", "c"]));
        assert_eq!(root.any(&["n", "e"]), Some(&Json::Bool(true)));
    }

    #[test]
    fn nothing_is_copied_from_a_plain_text() {
        let source = Source::new(br#"{"name":"plain"}"#);
        let payload = source.payload();
        let Json::Object(fields) = payload.root() else { panic!("no object") };
        assert!(matches!(&fields[0], (Cow::Borrowed("name"), Json::Text(Cow::Borrowed("plain")))));
    }
}
