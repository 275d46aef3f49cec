//! Reads a recorded byte stream as terminals do. Two models are asked, and a sequence counts only if both recognise it: what
//! one of them misses gets lost in the terminals of that kind. Written from the terminals' documentation, not from the program.

/// How a notification came.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Protocol {
    Osc9,
    Osc99,
    Osc777,
}

/// One notification as the person would see it. OSC 9 knows no title.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Notification {
    pub protocol: Protocol,
    pub title: String,
    pub body: String,
}

/// A piece of a stream: kind and payload.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Bell,
    Osc(Vec<u8>),
    Other,
}

/// The notifications in a stream, in order.
#[must_use]
pub fn notifications(bytes: &[u8]) -> Vec<Notification> {
    let mut open = Vec::new();
    sequences(bytes).iter().filter_map(|payload| interpret(payload, &mut open)).collect()
}

/// The payloads of all OSC sequences that both models recognise, in order.
#[must_use]
pub fn sequences(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut other = vt500(bytes);
    let mut both = Vec::new();
    for piece in strict(bytes) {
        if let Some(at) = other.iter().position(|candidate| *candidate == piece) {
            other.remove(at);
            if let Piece::Osc(payload) = piece {
                both.push(payload);
            }
        }
    }
    both
}

/// How often the terminal rings: a BEL that ends an OSC does not count.
#[must_use]
pub fn bells(bytes: &[u8]) -> usize {
    let count = |pieces: Vec<Piece>| pieces.iter().filter(|piece| **piece == Piece::Bell).count();
    count(vt500(bytes)).max(count(strict(bytes)))
}

/// `ESC ] 99` of which more chunks are to come: id, title, body.
type Open = Vec<(String, String, String)>;

fn interpret(payload: &[u8], open: &mut Open) -> Option<Notification> {
    let text = String::from_utf8(payload.to_vec()).unwrap_or_else(|_| panic!("not UTF-8: {}", super::visible(payload)));
    if let Some(rest) = text.strip_prefix("777;notify;") {
        let (title, body) = rest.split_once(';')?;
        return Some(Notification { protocol: Protocol::Osc777, title: title.into(), body: body.into() });
    }
    if let Some(body) = text.strip_prefix("9;") {
        return Some(Notification { protocol: Protocol::Osc9, title: String::new(), body: body.into() });
    }
    chunk(text.strip_prefix("99;")?, open)
}

/// One chunk of kitty's protocol: `k=v:k=v ; payload`; `d=0` means that more follow.
fn chunk(text: &str, open: &mut Open) -> Option<Notification> {
    let (metadata, payload) = text.split_once(';').expect("metadata and payload");
    let value =
        |name: &str| metadata.split(':').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value);
    assert!(value("p") != Some("?") && value("c") != Some("1"), "the terminal would answer: {text}");
    assert!(!value("a").unwrap_or_default().contains("report"), "the terminal would answer: {text}");
    let id = value("i").unwrap_or("0");
    let payload = if value("e") == Some("1") { String::from_utf8(base64(payload)).expect("UTF-8") } else { payload.to_owned() };
    let at = open.iter().position(|(other, ..)| other == id).unwrap_or_else(|| {
        open.push((id.to_owned(), String::new(), String::new()));
        open.len() - 1
    });
    match value("p").unwrap_or("title") {
        "title" => open[at].1 += &payload,
        "body" => open[at].2 += &payload,
        _ => {}
    }
    (value("d") != Some("0")).then(|| {
        let (_, title, body) = open.remove(at);
        Notification { protocol: Protocol::Osc99, title, body }
    })
}

fn base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for character in text.bytes().filter(|character| *character != b'=') {
        let digit = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => panic!("not base64: {other}"),
        };
        bits = (bits << 6) | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).expect("a byte"));
        }
    }
    bytes
}

/// The VT500 state machine (xterm, Ghostty, foot, VTE, WezTerm): ESC ends any string and starts a new sequence.
fn vt500(bytes: &[u8]) -> Vec<Piece> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Ground,
        Escape,
        Csi,
        Osc,
        String,
    }
    let (mut pieces, mut state, mut text) = (Vec::new(), State::Ground, Vec::new());
    for byte in bytes {
        state = match (state, *byte) {
            (_, 0x18 | 0x1a) => State::Ground,
            (State::Osc, 0x1b) => {
                pieces.push(Piece::Osc(std::mem::take(&mut text)));
                State::Escape
            }
            (_, 0x1b) => State::Escape,
            (State::Ground, 7) => {
                pieces.push(Piece::Bell);
                State::Ground
            }
            (State::Ground, _) | (State::Csi, 0x40..=0x7e) => State::Ground,
            (State::Escape, 0x20..=0x2f) => State::Escape,
            (State::Escape, introducer) => {
                text.clear();
                match introducer {
                    b']' => State::Osc,
                    b'[' => State::Csi,
                    b'P' | b'X' | b'^' | b'_' => State::String,
                    _ => State::Ground,
                }
            }
            (State::Osc, 7) => {
                pieces.push(Piece::Osc(std::mem::take(&mut text)));
                State::Ground
            }
            (State::Osc, character) => {
                if character >= 0x20 {
                    text.push(character);
                }
                State::Osc
            }
            (other, _) => other,
        };
    }
    pieces
}

/// A string runs to BEL (OSC only) or `ESC \`; a lone ESC inside belongs to the string (kitty; tmux's own DCS).
fn strict(bytes: &[u8]) -> Vec<Piece> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (7, _) => {
                pieces.push(Piece::Bell);
                at += 1;
            }
            (0x1b, Some(introducer @ (b']' | b'P' | b'X' | b'^' | b'_'))) => {
                let osc = *introducer == b']';
                let start = at + 2;
                let ends = |end: &usize| (osc && bytes[*end] == 7) || bytes[*end..].starts_with(b"\x1b\\");
                let Some(end) = (start..bytes.len()).find(ends) else {
                    break;
                };
                pieces.push(if osc { Piece::Osc(bytes[start..end].to_vec()) } else { Piece::Other });
                at = end + if bytes[end] == 7 { 1 } else { 2 };
            }
            (0x1b, Some(b'[')) => {
                at += 2;
                while at < bytes.len() && bytes[at] != 0x1b && !(0x40..=0x7e).contains(&bytes[at]) {
                    at += 1;
                }
                // ESC cuts a torn sequence off and begins the next one.
                at += usize::from(bytes.get(at) != Some(&0x1b));
            }
            (0x1b, Some(_)) => at += 2,
            _ => at += 1,
        }
    }
    pieces
}
