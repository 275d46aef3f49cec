//! `hook AGENT [EVENT]`: reads what the agent sends, answers in its terms and never fails it. Arguments are read by hand;
//! what is odd about them is noted in the log.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::input;
use super::pipeline::{self, Request};
use crate::agents;
use crate::environment::{Env, name};
use crate::event::ReplyForm;
use crate::state::{self, Entry, State};

/// Whether the agent has its answer: the panic hook must not give a second one.
static ANSWERED: AtomicBool = AtomicBool::new(false);

/// What stands behind `hook` on the command line.
#[derive(Debug, Default, Eq, PartialEq)]
struct Arguments {
    agent: String,
    event: Option<String>,
    /// `--agent NAME`.
    label: Option<String>,
    /// Codex `notify` gives the payload as its last argument.
    payload: Option<Vec<u8>>,
    notes: Vec<String>,
}

impl Arguments {
    fn read(arguments: &[OsString]) -> Self {
        let mut read = Self::default();
        let mut words = arguments.iter().map(|word| word.to_string_lossy());
        read.agent = words.next().unwrap_or_default().into_owned();
        while let Some(word) = words.next() {
            if word == "--agent" {
                read.label = words.next().map(std::borrow::Cow::into_owned);
            } else if let Some(label) = word.strip_prefix("--agent=") {
                read.label = Some(label.to_owned());
            } else if word.starts_with('-') {
                // The word itself may be a secret that landed in the wrong place.
                read.notes.push("unknown flag ignored".to_owned());
            } else if word.trim_start().starts_with('{') {
                read.payload = Some(word.into_owned().into_bytes());
            } else if read.event.is_none() {
                read.event = Some(word.into_owned());
            } else {
                read.notes.push("further argument ignored".to_owned());
            }
        }
        read
    }
}

/// Runs one hook; the reply has been written when it returns.
pub fn hook(arguments: &[OsString]) {
    let env = Env::current();
    let mut arguments = Arguments::read(arguments);
    let agent = agents::find(&arguments.agent);
    let failure = agent.map_or(ReplyForm::EmptyObject, agents::Agent::failure_reply);
    answer_even_in_panic(failure);
    #[cfg(feature = "test-panic")]
    panic_if_asked(&env);

    let (payload, note) = match arguments.payload.take() {
        Some(payload) => (payload, None),
        None => input::read(&io::stdin(), arguments.event.is_some() || env.has(name::ASK_NOTIFY_EVENT)),
    };
    arguments.notes.extend(note);
    let Some(agent) = agent else {
        answer(&pipeline::reply(failure, None));
        let reason = Some(format!("unknown agent; known: {}", agents::names().collect::<Vec<_>>().join(", ")));
        let entry = Entry { time: state::now(), decision: "suppress", reason, notes: arguments.notes, ..Entry::default() };
        // The log is the only place for the reason; where it cannot be written there is none.
        let _ = State::of(&env).log(&entry);
        return;
    };
    let request = Request {
        agent,
        payload: &payload,
        argument: arguments.event.as_deref(),
        label: arguments.label.as_deref(),
        env: &env,
        notes: arguments.notes,
    };
    pipeline::run(request, &mut answer);
}

/// Writes the reply in one piece. A closed stdout is the agent's affair.
fn answer(reply: &[u8]) {
    if !ANSWERED.swap(true, Ordering::Relaxed) && !reply.is_empty() {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(reply).and_then(|()| stdout.flush());
    }
}

/// A panic (the build aborts on it) must not become the agent's problem: reply, a line in the log, status 0.
fn answer_even_in_panic(form: ReplyForm) {
    std::panic::set_hook(Box::new(move |panic| {
        answer(&pipeline::reply(form, None));
        let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line())).unwrap_or_default();
        // The message may quote the payload: only the place is told.
        let reason = Some(format!("internal error at {place}; please report it"));
        let entry = Entry { time: state::now(), decision: "suppress", reason, ..Entry::default() };
        let _ = State::of(&Env::current()).log(&entry);
        #[expect(clippy::exit, reason = "returning would abort with status 134")]
        std::process::exit(0);
    }));
}

#[cfg(feature = "test-panic")]
#[expect(clippy::panic, reason = "what this is for")]
fn panic_if_asked(env: &Env) {
    if env.has(name::AGENT_NOTIFY_TEST_PANIC) {
        panic!("asked for");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Arguments {
        Arguments::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_read_by_hand() {
        let generic = read(&["generic", "--agent", "Aider", "finished"]);
        assert_eq!((generic.label.as_deref(), generic.event.as_deref()), (Some("Aider"), Some("finished")));
        assert_eq!(read(&["generic", "stop", "--agent=X"]).label.as_deref(), Some("X"));
        assert_eq!(read(&["codex", "{\"type\":1}"]).payload.as_deref(), Some(b"{\"type\":1}".as_slice()));
        assert_eq!(read(&["claude"]), Arguments { agent: "claude".to_owned(), ..Arguments::default() });
    }

    #[test]
    fn odd_arguments_are_noted_and_not_repeated() {
        let odd = read(&["claude", "--token=SECRET", "stop", "more", "--agent"]);
        assert_eq!(odd.notes.len(), 2);
        assert!(!format!("{:?}", odd.notes).contains("SECRET"));
        assert_eq!((odd.event.as_deref(), odd.label), (Some("stop"), None));
        assert_eq!(read(&[]), Arguments::default());
    }
}
