//! Control sequences that make a terminal notify, and the wraps that carry them through a multiplexer. Pure: bytes from text.
//! Sends no sequence that makes a terminal answer: the answer would be typed into the person's agent.

use crate::event::Text;
use crate::protocol::Protocol;

/// Bytes of a title that Ghostty keeps; releases up to 1.3.1 cut in the middle of a character, and macOS then drops all.
const TITLE_LIMIT: usize = 63;
/// Bytes of a body that Ghostty keeps; also the limit of an OSC 9 text.
const BODY_LIMIT: usize = 255;
/// Bytes of an OSC 99 id.
const ID_LIMIT: usize = 64;
/// Four layers that can be seen and three that cannot are more than anybody has; a wrap grows with 2ⁿ.
const MAX_LAYERS: u8 = 7;
/// GNU screen 4.09 passes 600 bytes; with 800 the tail is printed as text.
const SCREEN_LIMIT: usize = 700;
/// Of it, for the wraps of five tmux layers, the most that are ever put around one sequence; screen's own takes four bytes.
const SCREEN_ROOM: usize = SCREEN_LIMIT - 200;

const FALLBACK_TITLE: &str = "agent-notify";
/// Older Ghostty parsers reject an empty body.
const FALLBACK_BODY: &str = "-";
const FALLBACK_ID: &str = "agent-notify";
/// Put before a text that would mean something else at its very beginning.
const GUARD: &str = "· ";

const BEL: u8 = 0x07;
const ESC: char = '\x1b';
/// String terminator, in the only form that every layer understands.
const ST: &str = "\x1b\\";

/// What a terminal is asked to show.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    pub title: &'a Text,
    pub body: &'a Text,
    pub urgency: Urgency,
    /// Unique for each notification; the same id again replaces the earlier one (OSC 99).
    pub id: &'a str,
    /// The terminal itself holds the notification back while its window has the focus (OSC 99 only).
    pub unfocused_only: bool,
}

/// How loudly the desktop presents it (OSC 99 only).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Urgency {
    Low,
    #[default]
    Normal,
    Critical,
}

/// What is put around a sequence so that a multiplexer passes it on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wrap {
    None,
    /// `ESC P tmux ; … ESC \` with every inner ESC doubled, once for each layer. Never one too many: kitty drops those.
    Tmux(u8),
    /// `ESC P … ESC \` of GNU screen: ASCII only, inner strings ended by BEL.
    Screen,
}

/// The bytes of a notification, not wrapped; for [`Protocol::Bel`] a single BEL.
#[must_use]
pub fn sequence(protocol: Protocol, notice: &Notice) -> Vec<u8> {
    let title = payload(notice.title, TITLE_LIMIT, FALLBACK_TITLE);
    let body = payload(notice.body, BODY_LIMIT, FALLBACK_BODY);
    match protocol {
        Protocol::Bel => vec![BEL],
        Protocol::Osc777 => {
            // Warp takes such a title for a structured event of an agent.
            let title = if starts_like_warp_event(&title) { guarded(&title, TITLE_LIMIT) } else { title };
            format!("{ESC}]777;notify;{title};{body}\x07").into_bytes()
        }
        Protocol::Osc9 => {
            let text = Text::new(&format!("{title}: {body}"));
            // "5 tests failed" or "4;1" are ConEmu's commands to Ghostty and iTerm2, and vanish.
            let text = if starts_with_digit(&text) { guarded(&text, BODY_LIMIT) } else { text.cut(BODY_LIMIT) };
            format!("{ESC}]9;{text}\x07").into_bytes()
        }
        Protocol::Osc99 => {
            let id = identifier(notice.id);
            let urgency = notice.urgency as u8;
            let occasion = if notice.unfocused_only { ":o=unfocused" } else { "" };
            format!("{ESC}]99;i={id}:d=0:u={urgency}{occasion};{title}{ST}{ESC}]99;i={id}:p=body;{body}{ST}").into_bytes()
        }
    }
}

/// Wraps a sequence. A lone BEL passes every multiplexer by itself and stays as it is.
#[must_use]
pub fn wrap(sequence: &[u8], wrap: Wrap) -> Vec<u8> {
    if sequence == [BEL] {
        return sequence.to_vec();
    }
    match wrap {
        Wrap::None => sequence.to_vec(),
        Wrap::Tmux(layers) => (0..layers.min(MAX_LAYERS)).fold(sequence.to_vec(), |inner, _| wrap_once(&inner)),
        Wrap::Screen => wrap_screen(sequence),
    }
}

/// The same sequence for a way that may lead through GNU screen. Screen keeps the low byte of each character inside a DCS:
/// `ě` (U+011B) becomes an ESC, `ć` (U+0107) a BEL, `Ļ` (U+013B) a `;`, and a folder's name could write control sequences.
/// So nothing but ASCII is left, strings end in BEL (an ST would end screen's own), and it is short enough to pass.
#[must_use]
pub fn for_screen(sequence: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(sequence).replace(ST, "\x07");
    let mut ascii: Vec<u8> = text.chars().map(to_ascii).collect();
    // Cannot happen within the limits of `sequence`; a cut string must still end.
    if ascii.len() > SCREEN_ROOM {
        ascii.truncate(SCREEN_ROOM - 1);
        ascii.push(BEL);
    }
    ascii
}

/// A title for a multiplexer that puts it at the beginning of an OSC 9 (Zellij), where a digit would make it a command.
pub(super) fn guard_digits(title: &Text) -> Text {
    if starts_with_digit(title) { guarded(title, TITLE_LIMIT) } else { title.clone() }
}

fn wrap_once(inner: &[u8]) -> Vec<u8> {
    let mut outer = b"\x1bPtmux;".to_vec();
    for byte in inner {
        if *byte == ESC as u8 {
            outer.push(*byte);
        }
        outer.push(*byte);
    }
    outer.extend_from_slice(ST.as_bytes());
    outer
}

fn wrap_screen(sequence: &[u8]) -> Vec<u8> {
    [b"\x1bP".as_slice(), &for_screen(sequence), ST.as_bytes()].concat()
}

/// The marks of our own texts have a plain relative; everything else becomes `?`.
fn to_ascii(character: char) -> u8 {
    match character {
        '—' | '–' | '·' => b'-',
        '…' => b'.',
        other => u8::try_from(other).ok().filter(u8::is_ascii).unwrap_or(b'?'),
    }
}

/// `;` ends the body in WezTerm, Konsole and Rio and voids the sequence in Contour.
fn payload(text: &Text, limit: usize, fallback: &str) -> Text {
    let text = Text::new(&text.as_str().replace(';', ",")).cut(limit);
    if text.is_blank() { Text::new(fallback) } else { text }
}

fn guarded(text: &Text, limit: usize) -> Text {
    Text::new(&format!("{GUARD}{text}")).cut(limit)
}

fn starts_with_digit(text: &Text) -> bool {
    text.as_str().starts_with(|first: char| first.is_ascii_digit())
}

fn starts_like_warp_event(title: &Text) -> bool {
    title.as_str().get(..7).is_some_and(|start| start.eq_ignore_ascii_case("warp://"))
}

/// OSC 99 allows `[a-zA-Z0-9_+.-]`; the id `0` is reserved.
fn identifier(id: &str) -> String {
    let allowed = |character: &char| character.is_ascii_alphanumeric() || "_+.-".contains(*character);
    let id: String = id.chars().filter(allowed).take(ID_LIMIT).collect();
    if id.is_empty() || id == "0" { FALLBACK_ID.to_owned() } else { id }
}

#[cfg(test)]
#[path = "osc_tests.rs"]
mod tests;
