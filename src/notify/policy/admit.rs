//! The first question, answered from the event and the configuration alone: an event that stays silent never pays for a look
//! at tmux.

use crate::config::Config;
use crate::event::{Background, Decision, Event, Kind, Signal};

/// The kind to notify of, or the decision against it. `now` in milliseconds since the epoch.
///
/// # Errors
/// The decision, when it is not to deliver at once.
pub fn admit(signal: &Signal, event: &Event, config: &Config, now: u64) -> Result<Kind, Decision> {
    let suppress = |reason: &str| Err(Decision::Suppress { reason: reason.to_owned() });
    let kind = match signal {
        Signal::Attention(kind) => *kind,
        Signal::Silent(silence) => return suppress(silence.reason()),
        Signal::TurnStarted => return suppress("state only: a turn has started"),
        Signal::Resumed => return suppress("state only: the agent goes on"),
        Signal::Ended => return suppress("state only: the session has ended"),
    };
    if !config.events.is_on(kind) {
        return suppress(&format!("events.{kind} is off"));
    }
    if event.ide && !config.policy.cursor_ide {
        return suppress("Cursor IDE (policy.cursor_ide is off)");
    }
    if event.headless && !config.policy.headless {
        return suppress("headless run (policy.headless is off)");
    }
    // A blocked subagent needs the person like any other.
    if event.subagent && kind != Kind::Input && !config.policy.subagents {
        return suppress("subagent (policy.subagents is off)");
    }
    if kind == Kind::Stop {
        let hold = u64::try_from(config.policy.background_hold.as_millis()).unwrap_or(u64::MAX);
        match event.background {
            Background::Subagent => {
                return Err(Decision::Defer { until: None, reason: "a subagent still runs: the Stop that follows notifies" });
            }
            Background::Shell if hold > 0 => {
                return Err(Decision::Defer { until: Some(now.saturating_add(hold)), reason: "a background command still runs" });
            }
            Background::Shell | Background::None => {}
        }
    }
    Ok(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use crate::event::{Silence, Speaker};

    fn verdict(config: &str, signal: &Signal, change: impl Fn(&mut Event)) -> String {
        let (config, warnings) = parse(config);
        assert_eq!(warnings, []);
        let mut event = Event::of(Speaker::named("Claude"));
        change(&mut event);
        match admit(signal, &event, &config, 1000) {
            Ok(kind) => kind.name().to_owned(),
            Err(Decision::Suppress { reason }) => format!("suppress: {reason}"),
            Err(decision) => format!("{decision:?}"),
        }
    }

    #[test]
    fn the_table_of_admissions() {
        let attention = Signal::Attention;
        let lines = [
            verdict("", &attention(Kind::Stop), |_| ()),
            verdict("events.stop = false", &attention(Kind::Stop), |_| ()),
            verdict("", &attention(Kind::Idle), |_| ()),
            verdict("events.idle = true", &attention(Kind::Idle), |_| ()),
            verdict("", &attention(Kind::Stop), |event| event.ide = true),
            verdict("policy.cursor_ide = true", &attention(Kind::Stop), |event| event.ide = true),
            verdict("", &attention(Kind::Error), |event| event.headless = true),
            verdict("policy.headless = true", &attention(Kind::Error), |event| event.headless = true),
            verdict("", &attention(Kind::Stop), |event| event.subagent = true),
            verdict("", &attention(Kind::Input), |event| event.subagent = true),
            verdict("policy.subagents = true", &attention(Kind::Stop), |event| event.subagent = true),
            verdict("", &attention(Kind::Stop), |event| event.background = Background::Shell),
            verdict("policy.background_hold = 0", &attention(Kind::Stop), |event| event.background = Background::Shell),
            verdict("", &attention(Kind::Stop), |event| event.background = Background::Subagent),
            verdict("", &attention(Kind::Input), |event| event.background = Background::Subagent),
            verdict("", &Signal::Silent(Silence::StopHookActive), |_| ()),
            verdict("", &Signal::TurnStarted, |_| ()),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r#"
        stop
        suppress: events.stop is off
        suppress: events.idle is off
        idle
        suppress: Cursor IDE (policy.cursor_ide is off)
        stop
        suppress: headless run (policy.headless is off)
        error
        suppress: subagent (policy.subagents is off)
        input
        stop
        Defer { until: Some(61000), reason: "a background command still runs" }
        stop
        Defer { until: None, reason: "a subagent still runs: the Stop that follows notifies" }
        input
        suppress: stop hook active: the turn goes on
        suppress: state only: a turn has started
        "#);
    }

    #[test]
    fn every_kind_is_switched_by_its_own_key_and_by_no_other() {
        let kinds = [Kind::Stop, Kind::Input, Kind::Error, Kind::Idle, Kind::Tool];
        for off in kinds {
            let config: String = kinds.iter().map(|kind| format!("events.{kind} = {}\n", *kind != off)).collect();
            for kind in kinds {
                let expected = if kind == off { format!("suppress: events.{kind} is off") } else { kind.to_string() };
                assert_eq!(verdict(&config, &Signal::Attention(kind), |_| ()), expected, "without {off}");
            }
        }
    }
}
