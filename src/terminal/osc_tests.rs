use proptest::prelude::*;

use super::*;

fn notice<'a>(title: &'a Text, body: &'a Text) -> Notice<'a> {
    Notice { title, body, urgency: Urgency::Normal, id: "n1", unfocused_only: false }
}

fn text_of(protocol: Protocol, title: &str, body: &str) -> String {
    let (title, body) = (Text::new(title), Text::new(body));
    String::from_utf8(sequence(protocol, &notice(&title, &body))).expect("UTF-8")
}

/// What a terminal understood.
#[derive(Debug, Eq, PartialEq)]
enum Seen {
    Bell,
    Osc(Vec<u8>),
    /// Anything that a notification must not contain: text on the screen, another kind of string, an unfinished one.
    Other(u8),
}

/// kitty and tmux: a string runs to its terminator, and an ESC that does not begin one belongs to the string.
fn strict(mut bytes: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(first) = bytes.first() {
        let Some(string) = bytes.strip_prefix(b"\x1b]") else {
            seen.push(if *first == BEL { Seen::Bell } else { Seen::Other(*first) });
            bytes = &bytes[1..];
            continue;
        };
        let Some(end) = (0..string.len()).find(|at| string[*at] == BEL || string[*at..].starts_with(b"\x1b\\")) else {
            seen.push(Seen::Other(b']'));
            break;
        };
        seen.push(Seen::Osc(string[..end].to_vec()));
        bytes = &string[end + if string[end] == BEL { 1 } else { 2 }..];
    }
    seen
}

/// xterm, Ghostty, foot, VTE: a state machine in which ESC ends any string and begins the next sequence.
fn vt500(bytes: &[u8]) -> Vec<Seen> {
    enum State {
        Ground,
        Escape,
        /// Of an ST whose ESC has ended the string already.
        EscapeAfterString,
        Osc(Vec<u8>),
    }
    let (mut seen, mut state) = (Vec::new(), State::Ground);
    for byte in bytes {
        state = match (state, *byte) {
            (State::Osc(text), BEL) => {
                seen.push(Seen::Osc(text));
                State::Ground
            }
            (State::Osc(text), 0x1b) => {
                seen.push(Seen::Osc(text));
                State::EscapeAfterString
            }
            (State::Osc(_), byte @ (0x18 | 0x1a)) => {
                seen.push(Seen::Other(byte));
                State::Ground
            }
            (State::Osc(mut text), byte) => {
                text.push(byte);
                State::Osc(text)
            }
            (State::EscapeAfterString, b'\\') => State::Ground,
            (State::Escape | State::EscapeAfterString, b']') => State::Osc(Vec::new()),
            (State::Ground, 0x1b) => State::Escape,
            (State::Ground, BEL) => {
                seen.push(Seen::Bell);
                State::Ground
            }
            (_, byte) => {
                seen.push(Seen::Other(byte));
                State::Ground
            }
        };
    }
    if !matches!(state, State::Ground) {
        seen.push(Seen::Other(0x1b));
    }
    seen
}

/// What tmux passes on: everything between `ESC P tmux;` and the first ESC that is not doubled, which must be an ST and the end.
fn unwrap_tmux(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = bytes.strip_prefix(b"\x1bPtmux;")?;
    let mut inner = Vec::new();
    loop {
        match rest {
            b"\x1b\\" => return Some(inner),
            [0x1b, 0x1b, after @ ..] => {
                inner.push(0x1b);
                rest = after;
            }
            [0x1b, ..] | [] => return None,
            [byte, after @ ..] => {
                inner.push(*byte);
                rest = after;
            }
        }
    }
}

fn unwrapped(bytes: &[u8], wrap: Wrap) -> Option<Vec<u8>> {
    match wrap {
        Wrap::None => Some(bytes.to_vec()),
        Wrap::Tmux(layers) => (0..layers).try_fold(bytes.to_vec(), |bytes, _| unwrap_tmux(&bytes)),
        Wrap::Screen => {
            let inner = bytes.strip_prefix(b"\x1bP")?.strip_suffix(b"\x1b\\")?;
            let passed = inner.is_ascii() && bytes.len() < 700 && !inner.windows(2).any(|pair| pair == b"\x1b\\");
            passed.then(|| inner.to_vec())
        }
    }
}

fn assert_payload(bytes: &[u8], limit: usize) {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    assert!(!text.is_empty() && text.len() <= limit, "{} bytes: {text:?}", text.len());
    assert!(!text.chars().any(|character| character.is_control() || character == ';'), "{text:?}");
    assert!(!Text::new(text).is_blank(), "{text:?}");
}

fn assert_well_formed(protocol: Protocol, seen: &[Seen]) {
    let fields = |seen: &Seen| match seen {
        Seen::Osc(text) => text.split(|byte| *byte == b';').map(<[u8]>::to_vec).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    match (protocol, seen) {
        (Protocol::Bel, [Seen::Bell]) => {}
        (Protocol::Osc777, [osc]) => {
            let fields = fields(osc);
            assert_eq!((fields.len(), fields[0].as_slice(), fields[1].as_slice()), (4, b"777".as_slice(), b"notify".as_slice()));
            assert_payload(&fields[2], 63);
            assert_payload(&fields[3], 255);
            assert!(!fields[2].to_ascii_lowercase().starts_with(b"warp://"));
        }
        (Protocol::Osc9, [osc]) => {
            let fields = fields(osc);
            assert_eq!((fields.len(), fields[0].as_slice()), (2, b"9".as_slice()));
            assert_payload(&fields[1], 255);
            assert!(!fields[1][0].is_ascii_digit());
        }
        (Protocol::Osc99, [title, body]) => {
            let (title, body) = (fields(title), fields(body));
            assert_eq!((title.len(), body.len()), (3, 3));
            let metadata = |fields: &[Vec<u8>]| String::from_utf8(fields[1].clone()).expect("ASCII");
            let (of_title, of_body) = (metadata(&title), metadata(&body));
            let id = of_title.strip_prefix("i=").and_then(|rest| rest.split(':').next()).expect("an id");
            assert!(!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+.-".contains(&byte)), "{id}");
            assert_eq!(of_body, format!("i={id}:p=body"));
            assert!(of_title.starts_with(&format!("i={id}:d=0:u=")), "{of_title}");
            assert_payload(&title[2], 63);
            assert_payload(&body[2], 255);
        }
        (_, other) => panic!("{protocol}: {other:?}"),
    }
}

fn any_wrap() -> impl Strategy<Value = Wrap> {
    prop_oneof![Just(Wrap::None), (1_u8..=7).prop_map(Wrap::Tmux), Just(Wrap::Screen)]
}

/// Any text, and text made of what could break a sequence.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = proptest::sample::select(vec![
        "\x1b",
        "\x1b\\",
        "\x07",
        ";",
        "\u{9c}",
        "\u{9d}",
        "\x18",
        "\x1a",
        "\n",
        "777;notify;",
        "5 tests",
        "4;1",
        "warp://cli-agent",
        "WARP://",
        "tmux;",
        "\x1bP",
        "等待输入",
        "🦀",
        "—",
        "\u{200b}",
        "\u{202e}",
        // Their low bytes are ESC, BEL, `;`, ST, CAN and `\\`.
        "ě",
        "ć",
        "Ļ",
        "Ɯ",
        "Ę",
        "Ŝ",
        " ",
        "a",
    ]);
    prop_oneof![any::<String>(), proptest::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat()), ".{0,400}"]
}

proptest! {
    #[test]
    fn any_text_gives_exactly_one_notification_in_every_protocol_and_wrap(
        title in any_text(),
        body in any_text(),
        id in any_text(),
        protocol in proptest::sample::select(Protocol::ALL.to_vec()),
        wanted in any_wrap(),
        unfocused_only in any::<bool>(),
    ) {
        let (title, body) = (Text::new(&title), Text::new(&body));
        let notice = Notice { title: &title, body: &body, urgency: Urgency::Critical, id: &id, unfocused_only };
        let bytes = wrap(&sequence(protocol, &notice), wanted);
        prop_assert!(bytes.len() <= 2048 || matches!(wanted, Wrap::Tmux(5..)), "{} bytes", bytes.len());
        let plain = if protocol == Protocol::Bel { Some(bytes) } else { unwrapped(&bytes, wanted) };
        let plain = plain.expect("the multiplexers take the wraps off");
        prop_assert_eq!(strict(&plain), vt500(&plain));
        assert_well_formed(protocol, &strict(&plain));
    }

    #[test]
    fn gnu_screen_can_make_nothing_else_of_what_may_pass_it(
        title in any_text(),
        body in any_text(),
        id in any_text(),
        protocol in proptest::sample::select(Protocol::ALL.to_vec()),
        layers in 0_u8..=5,
    ) {
        let (title, body) = (Text::new(&title), Text::new(&body));
        let plain = for_screen(&sequence(protocol, &Notice { id: &id, ..notice(&title, &body) }));
        prop_assert!(plain.is_ascii(), "one byte, whichever half of a character is kept");
        prop_assert_eq!(strict(&plain), vt500(&plain));
        assert_well_formed(protocol, &strict(&plain));
        prop_assert!(!plain.windows(2).any(|pair| pair == b"\x1b\\"), "an ST would end screen's string");
        for wrapped in [wrap(&plain, Wrap::Tmux(layers)), wrap(&plain, Wrap::Screen)] {
            prop_assert!(wrapped.is_ascii() && wrapped.len() < SCREEN_LIMIT, "{} bytes", wrapped.len());
        }
        prop_assert_eq!(for_screen(&plain), plain);
    }

    #[test]
    fn a_guarded_title_never_begins_with_a_digit(title in any_text()) {
        let guarded = guard_digits(&Text::new(&title));
        prop_assert!(!guarded.as_str().starts_with(|first: char| first.is_ascii_digit()));
    }
}

#[test]
fn each_protocol_has_its_form() {
    let (title, body) = (Text::new("Claude — demo; x"), Text::new("5 tests failed; 等待输入"));
    let text = |protocol| String::from_utf8(sequence(protocol, &notice(&title, &body))).expect("UTF-8");
    assert_eq!(text(Protocol::Osc777), "\x1b]777;notify;Claude — demo, x;5 tests failed, 等待输入\x07");
    assert_eq!(text(Protocol::Osc9), "\x1b]9;Claude — demo, x: 5 tests failed, 等待输入\x07");
    assert_eq!(text(Protocol::Osc99), "\x1b]99;i=n1:d=0:u=1;Claude — demo, x\x1b\\\x1b]99;i=n1:p=body;5 tests failed, 等待输入\x1b\\");
    assert_eq!(text(Protocol::Bel), "\x07");
}

#[test]
fn kitty_is_told_urgency_and_occasion() {
    let (title, body) = (Text::new("t"), Text::new("b"));
    let notice = Notice { urgency: Urgency::Critical, unfocused_only: true, id: "a:b;\x1b", ..notice(&title, &body) };
    let bytes = sequence(Protocol::Osc99, &notice);
    assert!(bytes.starts_with(b"\x1b]99;i=ab:d=0:u=2:o=unfocused;t\x1b\\"), "{}", String::from_utf8_lossy(&bytes));
    for id in ["", "0", "::"] {
        let bytes = sequence(Protocol::Osc99, &Notice { id, ..notice });
        assert!(bytes.starts_with(b"\x1b]99;i=agent-notify:"), "{id:?}");
    }
}

#[test]
fn blank_texts_are_replaced() {
    assert_eq!(text_of(Protocol::Osc777, "", "\u{200b}"), "\x1b]777;notify;agent-notify;-\x07");
    assert_eq!(text_of(Protocol::Osc9, " ", ""), "\x1b]9;agent-notify: -\x07");
}

#[test]
fn text_that_would_be_a_command_is_guarded() {
    assert_eq!(text_of(Protocol::Osc9, "5 tests", "failed"), "\x1b]9;· 5 tests: failed\x07");
    assert_eq!(text_of(Protocol::Osc777, "warp://cli-agent", "x"), "\x1b]777;notify;· warp://cli-agent;x\x07");
    assert_eq!(text_of(Protocol::Osc777, "5 tests", "failed"), "\x1b]777;notify;5 tests;failed\x07");
    assert_eq!(guard_digits(&Text::new("5 tests")).as_str(), "· 5 tests");
}

#[test]
fn wraps_nest() {
    assert_eq!(wrap(b"\x1b]9;x\x07", Wrap::Tmux(1)), b"\x1bPtmux;\x1b\x1b]9;x\x07\x1b\\");
    assert_eq!(wrap(b"\x1b]9;x\x07", Wrap::Tmux(2)), b"\x1bPtmux;\x1b\x1bPtmux;\x1b\x1b\x1b\x1b]9;x\x07\x1b\x1b\\\x1b\\");
    assert_eq!(wrap(b"\x1b]9;x\x07", Wrap::Tmux(0)), b"\x1b]9;x\x07");
    assert_eq!(wrap(b"\x07", Wrap::Tmux(1)), b"\x07");
}

#[test]
fn screen_gets_ascii_ended_by_bel() {
    let sequence = "\x1b]99;i=a;Claude — 项目\x1b\\\x1b]99;i=a:p=body;x · y…\x1b\\";
    assert_eq!(wrap(sequence.as_bytes(), Wrap::Screen), b"\x1bP\x1b]99;i=a;Claude - ??\x07\x1b]99;i=a:p=body;x - y.\x07\x1b\\");
    let long = format!("\x1b]9;{}\x07", "x".repeat(900));
    let wrapped = wrap(long.as_bytes(), Wrap::Screen);
    assert!(wrapped.len() < SCREEN_LIMIT && wrapped.ends_with(b"x\x07\x1b\\"));
}
