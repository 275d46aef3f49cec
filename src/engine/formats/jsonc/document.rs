//! A JSON text and its values with their positions. Reads what the file's reader would accept, and says where it would not.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};

use super::gap;
use crate::engine::formats::Refusal;

/// No settings file comes near; parsing one of this size takes a second.
const LIMIT: usize = 4 * 1024 * 1024;

const MARK: &str = "\u{feff}";

/// A value with its place. Two values are the same whatever their places: see `same`.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar {
        /// As it is written: numbers and escapes keep their form.
        raw: String,
        /// The decoded text of a string.
        text: Option<String>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Where the key begins.
    pub start: usize,
    /// Decoded.
    pub key: String,
    pub raw_key: String,
    pub value: Node,
}

impl Node {
    /// The same values in the same order with the same raw text, wherever they stand.
    pub fn same(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Object(left), Kind::Object(right)) => {
                let same = |(left, right): (&Member, &Member)| left.raw_key == right.raw_key && left.value.same(&right.value);
                left.len() == right.len() && left.iter().zip(right).all(same)
            }
            (Kind::Array(left), Kind::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.same(right))
            }
            (Kind::Scalar { raw: left, .. }, Kind::Scalar { raw: right, .. }) => left == right,
            _ => false,
        }
    }

    pub fn members(&self) -> &[Member] {
        if let Kind::Object(members) = &self.kind { members } else { &[] }
    }

    pub fn elements(&self) -> &[Self] {
        if let Kind::Array(elements) = &self.kind { elements } else { &[] }
    }

    pub fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    pub fn is_array(&self) -> bool {
        matches!(self.kind, Kind::Array(_))
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&str> {
        if let Kind::Scalar { text, .. } = &self.kind { text.as_deref() } else { None }
    }

    /// A scalar as it is written.
    pub fn raw(&self) -> Option<&str> {
        if let Kind::Scalar { raw, .. } = &self.kind { Some(raw) } else { None }
    }

    /// The last member of this name, which is the one that JSON readers take.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.position(key).and_then(|index| self.members().get(index)).map(|member| &member.value)
    }

    pub fn position(&self, key: &str) -> Option<usize> {
        self.members().iter().rposition(|member| member.key == key)
    }

    /// Nothing in it.
    pub fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Object(members) => members.is_empty(),
            Kind::Array(elements) => elements.is_empty(),
            Kind::Scalar { .. } => false,
        }
    }

    /// Where the members or elements begin and end, keys included.
    pub fn spans(&self) -> Vec<(usize, usize)> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| (member.start, member.value.end)).collect(),
            Kind::Array(elements) => elements.iter().map(|element| (element.start, element.end)).collect(),
            Kind::Scalar { .. } => Vec::new(),
        }
    }

    /// The value of the member or element `index`.
    pub fn child(&self, index: usize) -> Option<&Self> {
        match &self.kind {
            Kind::Object(members) => members.get(index).map(|member| &member.value),
            Kind::Array(elements) => elements.get(index),
            Kind::Scalar { .. } => None,
        }
    }

    fn child_mut(&mut self, index: usize) -> Option<&mut Self> {
        match &mut self.kind {
            Kind::Object(members) => members.get_mut(index).map(|member| &mut member.value),
            Kind::Array(elements) => elements.get_mut(index),
            Kind::Scalar { .. } => None,
        }
    }

    pub fn at(&self, path: &[usize]) -> Option<&Self> {
        path.iter().try_fold(self, |node, index| node.child(*index))
    }

    pub fn at_mut(&mut self, path: &[usize]) -> Option<&mut Self> {
        path.iter().try_fold(self, |node, index| node.child_mut(*index))
    }
}

/// A text that was read, without its byte order mark.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub has_mark: bool,
    pub text: String,
    pub root: Node,
    /// Comments and trailing commas are accepted.
    pub loose: bool,
}

impl Document {
    /// An object without members, for a file that is absent.
    pub fn fresh() -> Self {
        let root = Node { start: 0, end: 2, kind: Kind::Object(Vec::new()) };
        Self { has_mark: false, text: "{}\n".into(), root, loose: false }
    }

    /// Reads a file. One without a value counts as an empty object, which is added to its text.
    pub fn read(bytes: &[u8], loose: bool) -> Result<Self, Refusal> {
        let (has_mark, text) = decode(bytes)?;
        if let Some(root) = parse(text, loose)? {
            return Ok(Self { has_mark, text: text.to_owned(), root, loose });
        }
        let newline = super::layout::newline(text);
        let text = match text.trim_end() {
            "" => format!("{{}}{newline}"),
            comments => format!("{comments}{newline}{{}}{newline}"),
        };
        let Some(root) = parse(&text, loose)? else { return Err(internal("an empty object could not be added")) };
        Ok(Self { has_mark, text, root, loose })
    }

    pub fn bytes(&self) -> Vec<u8> {
        format!("{}{}", if self.has_mark { MARK } else { "" }, self.text).into_bytes()
    }

    /// Line and column of a byte.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        position(&self.text, offset)
    }
}

/// The text without its byte order mark, and whether there was one.
pub(super) fn decode(bytes: &[u8]) -> Result<(bool, &str), Refusal> {
    if bytes.len() > LIMIT {
        return Err(refusal("the file is larger than 4 MiB", None, "add the entry by hand"));
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(refusal("the file is UTF-16, not UTF-8", None, "save it as UTF-8"));
    }
    match str::from_utf8(bytes) {
        Ok(text) => Ok((text.starts_with(MARK), text.strip_prefix(MARK).unwrap_or(text))),
        Err(error) => {
            let byte = error.valid_up_to();
            Err(Refusal { byte: Some(byte), ..refusal(&format!("byte {byte} is not UTF-8"), None, "save it as UTF-8") })
        }
    }
}

/// The text's value; None = blank but for comments. Loose: comments and trailing commas are no error.
pub(super) fn parse(text: &str, loose: bool) -> Result<Option<Node>, Refusal> {
    if let Some(at) = text.find('\0') {
        return Err(refusal("there is a NUL byte in the file", Some(position(text, at)), "remove it"));
    }
    let options = ParseOptions {
        allow_comments: loose,
        allow_trailing_commas: loose,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let result = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| syntax(text, &error))?;
    let root = result.value.as_ref().map(|value| node(text, value));
    if root.is_some() {
        strict(text)?;
    }
    Ok(root)
}

/// What the parser lets pass and JSON does not (leading zeros, raw control characters, odd blanks): a second parser, which
/// gets the text without comments and trailing commas, every byte at its old place.
fn strict(text: &str) -> Result<(), Refusal> {
    let plain = gap::blanked(text);
    let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&plain) else { return Ok(()) };
    let line_start: usize = plain.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut offset = (line_start + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let why = error.to_string();
    if why.starts_with("control character") {
        // It counts the bytes before it.
        offset += text[offset..].find(|character: char| character < ' ').unwrap_or_default();
    }
    let why = why.split(" at line ").next().unwrap_or_default();
    Err(refusal(&format!("this is no valid JSON: {why}"), Some(position(text, offset)), "mend that place"))
}

fn syntax(text: &str, error: &jsonc_parser::errors::ParseError) -> Refusal {
    let start = error.range().start.min(text.len());
    let end = text.trim_end().len();
    let (what, at, hint) = match error.kind() {
        ParseErrorKind::CommentsNotAllowed => ("there are comments in the file, which strict JSON does not have".to_owned(), start, FORCE),
        ParseErrorKind::TrailingCommasNotAllowed => ("there is a trailing comma, which strict JSON does not have".to_owned(), start, FORCE),
        ParseErrorKind::NestingDepthExceeded => ("the values are nested too deeply".to_owned(), start, "add the entry by hand"),
        ParseErrorKind::UnterminatedArray | ParseErrorKind::UnterminatedObject => ("the file ends too early".to_owned(), end, MEND),
        ParseErrorKind::ExpectedObjectValue | ParseErrorKind::ExpectedColonAfterObjectKey if start >= end => {
            ("the file ends too early".to_owned(), end, MEND)
        }
        ParseErrorKind::String(ParseStringErrorKind::InvalidUnicodeEscapeSequence(_)) => {
            ("half of a surrogate pair stands alone: no text in UTF-8 can hold it".to_owned(), start, MEND)
        }
        kind => {
            let kind = kind.to_string();
            let mut letters = kind.chars();
            let lower: String = letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect();
            (format!("this is no valid JSON: {lower}"), start, MEND)
        }
    };
    refusal(&what, Some(position(text, at)), hint)
}

const FORCE: &str = "remove it, or use --force: the entry is added and every comment and comma kept";
const MEND: &str = "mend that place, then run the command again";

fn node(text: &str, value: &ast::Value) -> Node {
    let range = value.range();
    let kind = match value {
        ast::Value::Object(object) => Kind::Object(object.properties.iter().map(|property| member(text, property)).collect()),
        ast::Value::Array(array) => Kind::Array(array.elements.iter().map(|element| node(text, element)).collect()),
        ast::Value::StringLit(string) => {
            Kind::Scalar { raw: text[range.start..range.end].to_owned(), text: Some(string.value.clone().into_owned()) }
        }
        _ => Kind::Scalar { raw: text[range.start..range.end].to_owned(), text: None },
    };
    Node { start: range.start, end: range.end, kind }
}

fn member(text: &str, property: &ast::ObjectProp) -> Member {
    let range = property.name.range();
    Member {
        start: range.start,
        key: property.name.as_str().to_owned(),
        raw_key: text[range.start..range.end].to_owned(),
        value: node(text, &property.value),
    }
}

/// Line and column of a byte, both from 1. A lone carriage return ends a line too.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let line_start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let carriages = before.match_indices('\r').filter(|(at, _)| text.as_bytes().get(at + 1) != Some(&b'\n')).count();
    (before.matches('\n').count() + carriages + 1, before[line_start..].chars().count() + 1)
}

pub(super) fn refusal(what: &str, position: Option<(usize, usize)>, hint: &str) -> Refusal {
    Refusal { what: what.into(), position, hint: Some(hint.into()), ..Refusal::default() }
}

/// A splice did not give what it should have given: nothing is written.
pub(super) fn internal(what: &str) -> Refusal {
    Refusal { what: format!("internal error, nothing was changed: {what}"), hint: Some("please report it".into()), ..Refusal::default() }
}
