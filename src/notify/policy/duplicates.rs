//! What counts as the same event, and which asks are still open: keys for the ledger, which knows nothing of events.

use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use crate::event::{Answers, AskIdentity, Event, Kind, Signal, fingerprint};
use crate::state::{Answered, Lifetime, Reservation, State};

/// Without a turn id the same kind within this time is one event.
const WITHOUT_TURN: Duration = Duration::from_secs(10);
/// An ask without an id of its own, asked again within this time, is one ask: parallel hooks of two installations.
const SAME_ASK: Duration = Duration::from_secs(2);

/// The keys of one event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Duplicates {
    key: u128,
    lifetime: Lifetime,
    /// The turn, for open asks.
    turn: u128,
    has_turn: bool,
    role: Role,
}

/// What an event has to do with open asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Role {
    /// Opens one, known by this key.
    Ask(u128),
    /// Reminds of the newest one.
    Reminder,
    Other,
}

/// Takes note of what a message shows to be answered: all asks of a turn that is over, else no more than what it names. A call
/// of another tool, or of a subagent beside it, says nothing about a question that is still on the screen.
pub fn close_answered(signal: &Signal, event: &Event, state: &State, now: u64) {
    let turn = turn_key(event);
    match &event.answers {
        _ if matches!(signal, Signal::TurnStarted | Signal::Ended) => state.close_asks(turn, Answered::All, now),
        Answers::None => {}
        Answers::Newest => state.close_asks(turn, Answered::Newest, now),
        Answers::Asks(asks) => state.close_asks(turn, Answered::These(&asks.iter().map(ask_key).collect::<Vec<_>>()), now),
    }
}

/// By what an open ask is known again.
fn ask_key(identity: &AskIdentity) -> u128 {
    match identity {
        AskIdentity::Id(id) => fingerprint(&[id.as_bytes()]),
        AskIdentity::Content(hash) | AskIdentity::Newest(hash) => *hash,
    }
}

/// The turn of an event, or its session where turns have no id. Without a session, pane and project have to tell apart who
/// speaks.
fn turn_key(event: &Event) -> u128 {
    let text = |text: &Option<String>| text.as_deref().unwrap_or_default().as_bytes().to_vec();
    let (speaker, turn) = (event.speaker.id.as_bytes(), text(&event.turn));
    match &event.session {
        Some(session) => fingerprint(&[speaker, session.as_bytes(), &turn]),
        None => {
            let project = event.project.as_deref().map(|folder| folder.as_os_str().as_bytes()).unwrap_or_default();
            fingerprint(&[speaker, b"", &turn, &text(&event.pane), project])
        }
    }
}

impl Duplicates {
    #[must_use]
    pub fn of(event: &Event, kind: Kind) -> Self {
        let turn = turn_key(event);
        let has_turn = event.turn.is_some();
        let identity = event.ask.as_ref().map(|ask| &ask.identity);
        let asks = Role::Ask(identity.map(ask_key).unwrap_or_default());
        let (ask, role, repeats_within) = match (kind, identity) {
            (Kind::Input, Some(AskIdentity::Newest(hash))) => (hash.to_le_bytes().to_vec(), Role::Reminder, Some(SAME_ASK)),
            (Kind::Input, Some(AskIdentity::Content(hash))) => (hash.to_le_bytes().to_vec(), asks, Some(SAME_ASK)),
            (Kind::Input, None) => (Vec::new(), asks, Some(SAME_ASK)),
            (Kind::Input, Some(AskIdentity::Id(id))) => (id.as_bytes().to_vec(), asks, None),
            // Several tools run in one turn; the id of the call tells them apart, else what is called and when.
            (Kind::Tool, Some(AskIdentity::Id(id))) => (id.as_bytes().to_vec(), Role::Other, None),
            (Kind::Tool, Some(AskIdentity::Content(hash))) => (hash.to_le_bytes().to_vec(), Role::Other, Some(SAME_ASK)),
            (Kind::Tool, _) => (Vec::new(), Role::Other, Some(SAME_ASK)),
            (Kind::Stop | Kind::Error | Kind::Idle, _) => (Vec::new(), Role::Other, None),
        };
        let has_id = matches!(identity, Some(AskIdentity::Id(_)));
        let lifetime = match repeats_within {
            Some(window) if kind == Kind::Tool && identity.is_some() => Lifetime::Within(window),
            _ if !has_turn && !has_id => Lifetime::Within(WITHOUT_TURN),
            Some(window) => Lifetime::Within(window),
            None => Lifetime::Once,
        };
        // Some agents give a subagent's end the ids of the turn that it belongs to.
        let whose = if event.subagent && kind != Kind::Input { "subagent" } else { "" };
        let key = fingerprint(&[&turn.to_le_bytes(), kind.name().as_bytes(), &ask, whose.as_bytes()]);
        Self { key, lifetime, turn, has_turn, role }
    }

    /// Reserves the event in the ledger; an ask that is fresh becomes the newest open one of its turn.
    #[must_use]
    pub fn reserve(&self, state: &State, now: u64) -> Reservation {
        let within = (!self.has_turn).then_some(WITHOUT_TURN);
        if self.role == Role::Reminder && state.has_open_ask(self.turn, within, now) {
            return Reservation::Duplicate;
        }
        let opens = match self.role {
            Role::Ask(ask) => Some((self.turn, ask)),
            // Nothing is open: the reminder is the only sign of an ask. It has no answer that we could know again.
            Role::Reminder | Role::Other => None,
        };
        state.reserve(self.key, self.lifetime, opens, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Env;
    use crate::event::{Ask, Speaker};

    /// Any time well after the real one.
    const EPOCH: u64 = 1_796_000_000_000;

    struct Desk {
        _home: tempfile::TempDir,
        state: State,
    }

    impl Desk {
        fn new() -> Self {
            let home = tempfile::tempdir().expect("a folder");
            let state = State::of(&Env::from_iter([("HOME", home.path())]));
            Self { _home: home, state }
        }

        fn attempts(&self, kind: Kind, event: &Event, now: u64) -> bool {
            matches!(Duplicates::of(event, kind).reserve(&self.state, EPOCH + now), Reservation::Fresh)
        }
    }

    fn event(turn: Option<&str>, identity: Option<AskIdentity>) -> Event {
        Event {
            session: Some("s".to_owned()),
            turn: turn.map(str::to_owned),
            ask: identity.map(|identity| Ask { identity, title: None }),
            ..Event::of(Speaker::named("Claude"))
        }
    }

    #[test]
    fn a_turn_stops_once_and_may_fail_besides() {
        let desk = Desk::new();
        assert!(desk.attempts(Kind::Stop, &event(Some("1"), None), 0));
        assert!(!desk.attempts(Kind::Stop, &event(Some("1"), None), 3_600_000));
        assert!(desk.attempts(Kind::Error, &event(Some("1"), None), 0));
        assert!(desk.attempts(Kind::Idle, &event(Some("1"), None), 0));
        assert!(desk.attempts(Kind::Stop, &event(Some("2"), None), 0));
    }

    #[test]
    fn two_questions_in_one_turn_are_two_and_the_reminder_belongs_to_the_newest() {
        let desk = Desk::new();
        let content = |hash| event(Some("1"), Some(AskIdentity::Content(hash)));
        let reminder = event(Some("1"), Some(AskIdentity::Newest(9)));
        assert!(desk.attempts(Kind::Input, &content(1), 0));
        assert!(!desk.attempts(Kind::Input, &content(1), 1500));
        assert!(!desk.attempts(Kind::Input, &reminder, 6000));
        assert!(desk.attempts(Kind::Input, &content(2), 8000));
        assert!(!desk.attempts(Kind::Input, &reminder, 14_000));
        assert!(desk.attempts(Kind::Input, &content(1), 60_000), "asked again much later");
    }

    #[test]
    fn a_reminder_without_an_ask_is_an_ask() {
        let desk = Desk::new();
        let reminder = |turn| event(turn, Some(AskIdentity::Newest(9)));
        assert!(desk.attempts(Kind::Input, &reminder(Some("1")), 0));
        assert!(desk.attempts(Kind::Input, &reminder(Some("1")), 10_000), "the next question of the turn");
        desk.state.close_asks(turn_key(&reminder(Some("1"))), Answered::All, EPOCH + 10_000);
        assert!(desk.attempts(Kind::Input, &reminder(None), 0));
    }

    #[test]
    fn an_answered_ask_has_no_reminder() {
        let desk = Desk::new();
        let ask = event(Some("1"), Some(AskIdentity::Content(1)));
        assert!(desk.attempts(Kind::Input, &ask, 0));
        let reminder = event(Some("1"), Some(AskIdentity::Newest(9)));
        let goes_on = |answers| close_answered(&Signal::Resumed, &Event { answers, ..ask.clone() }, &desk.state, EPOCH);
        goes_on(Answers::None);
        goes_on(Answers::Asks(vec![AskIdentity::Id("call_1".to_owned()), AskIdentity::Content(2)]));
        assert!(!desk.attempts(Kind::Input, &reminder, 6000), "another call has ended");
        goes_on(Answers::Asks(vec![AskIdentity::Id("call_1".to_owned()), AskIdentity::Content(1)]));
        assert!(desk.attempts(Kind::Input, &reminder, 12_000));
    }

    #[test]
    fn a_new_prompt_and_the_end_of_the_session_close_every_ask() {
        for signal in [Signal::TurnStarted, Signal::Ended] {
            let desk = Desk::new();
            let ask = event(Some("1"), Some(AskIdentity::Content(1)));
            assert!(desk.attempts(Kind::Input, &ask, 0));
            close_answered(&signal, &event(Some("1"), None), &desk.state, EPOCH);
            assert!(desk.attempts(Kind::Input, &event(Some("1"), Some(AskIdentity::Newest(9))), 6000));
        }
    }

    #[test]
    fn the_same_ask_is_one_for_two_seconds() {
        let desk = Desk::new();
        let ask = event(Some("1"), Some(AskIdentity::Content(1)));
        assert!(desk.attempts(Kind::Input, &ask, 0));
        assert!(!desk.attempts(Kind::Input, &ask, 1900));
        assert!(desk.attempts(Kind::Input, &ask, 2100));
    }

    #[test]
    fn without_a_turn_time_decides() {
        let desk = Desk::new();
        assert!(desk.attempts(Kind::Stop, &event(None, None), 0));
        assert!(!desk.attempts(Kind::Stop, &event(None, None), 9_999));
        assert!(desk.attempts(Kind::Stop, &event(None, None), 10_000));
        assert!(desk.attempts(Kind::Input, &event(None, Some(AskIdentity::Content(1))), 0));
        assert!(!desk.attempts(Kind::Input, &event(None, Some(AskIdentity::Newest(2))), 6000));
        assert!(desk.attempts(Kind::Input, &event(None, Some(AskIdentity::Newest(2))), 16_000));
    }

    #[test]
    fn without_a_session_pane_and_project_decide() {
        let desk = Desk::new();
        let stop = |pane: Option<&str>, project: &str| {
            let event = Event { pane: pane.map(str::to_owned), project: Some(project.into()), ..Event::of(Speaker::named("Aider")) };
            desk.attempts(Kind::Stop, &event, 0)
        };
        assert!(stop(Some("%1"), "/p") && stop(Some("%2"), "/p") && stop(Some("%1"), "/q") && stop(None, "/p"));
        assert!(!stop(Some("%1"), "/p") && !stop(None, "/p"));
    }

    #[test]
    fn calls_without_an_id_are_told_apart_by_content_and_time() {
        let desk = Desk::new();
        for turn in [Some("1"), None] {
            let call = |hash| event(turn, Some(AskIdentity::Content(hash)));
            assert!(desk.attempts(Kind::Tool, &call(1), 0));
            assert!(!desk.attempts(Kind::Tool, &call(1), 1900), "the hook of a second installation");
            assert!(desk.attempts(Kind::Tool, &call(2), 0));
            assert!(desk.attempts(Kind::Tool, &call(1), 2100), "run again");
        }
        assert!(desk.attempts(Kind::Tool, &event(Some("2"), None), 0));
        assert!(desk.attempts(Kind::Tool, &event(Some("2"), None), 2100));
    }

    #[test]
    fn ids_are_for_ever() {
        let desk = Desk::new();
        let ask = event(None, Some(AskIdentity::Id("call_1".to_owned())));
        assert!(desk.attempts(Kind::Input, &ask, 0));
        assert!(!desk.attempts(Kind::Input, &ask, 3_600_000));
        assert!(desk.attempts(Kind::Tool, &ask, 0));
    }
}
