//! `log`: the decisions, newest last.

use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use serde_json::{Map, Value};

use super::output;
use crate::environment::Env;
use crate::error::Error;
use crate::state::State;

#[derive(Args)]
pub(super) struct Arguments {
    /// How many decisions
    #[arg(short = 'n', value_name = "N", default_value_t = 20)]
    number: usize,
    /// One JSON object a line, as it is stored
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, env: &Env) -> Result<ExitCode, Error> {
    let state = State::of(env);
    let Some(path) = state.log_file() else {
        return Err(Error::new("there is no log").because("neither HOME nor XDG_STATE_HOME names a folder").hint("set HOME"));
    };
    let entries = state.read_log(arguments.number).map_err(|error| {
        Error::new("the log cannot be read").path(&path).because(error.to_string()).hint("check the file's owner and mode")
    })?;
    if entries.is_empty() && arguments.number > 0 && !arguments.json {
        output::line("nothing yet: no hook has run on this host");
    }
    for entry in &entries {
        if arguments.json {
            output::json(entry);
        } else {
            output::line(&output::visible(&describe(entry)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `2026-11-30 09:00:00Z  Claude stop (Stop): delivered by terminal: Claude — proj [route]`.
fn describe(entry: &Map<String, Value>) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let agent = if text("agent").is_empty() { "?" } else { text("agent") };
    let event = match (text("kind"), text("event")) {
        ("", event) => event.to_owned(),
        (kind, "") => kind.to_owned(),
        (kind, event) => format!("{kind} ({event})"),
    };
    let carriers: Vec<_> = entry.get("carriers").and_then(Value::as_array).into_iter().flatten().filter_map(carrier).collect();
    let mut line = format!("{}  {agent} {event}: ", timestamp(entry.get("time").and_then(Value::as_u64).unwrap_or_default()));
    line.push_str(&match text("decision") {
        "deliver" if carriers.is_empty() => "nowhere to deliver to".to_owned(),
        "deliver" => carriers.join(", "),
        "suppress" => "silent".to_owned(),
        "defer" => "waits".to_owned(),
        other => other.to_owned(),
    });
    for (before, key) in [(" · ", "reason"), (" · ", "title"), (" · ", "route")] {
        if !text(key).is_empty() {
            line.push_str(before);
            line.push_str(text(key));
        }
    }
    for note in entry.get("notes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        line.push_str(&format!(" · note: {note}"));
    }
    line
}

/// `terminal` or `terminal failed (reason)`.
fn carrier(value: &Value) -> Option<String> {
    let name = value.get("carrier")?.as_str()?;
    let detail = value.get("detail").and_then(Value::as_str).unwrap_or_default();
    Some(match value.get("ok").and_then(Value::as_bool) {
        Some(true) => format!("delivered by {name}"),
        _ => format!("{name} failed ({detail})"),
    })
}

/// UTC, to the second.
pub(super) fn timestamp(milliseconds: u64) -> String {
    let since = (UNIX_EPOCH + Duration::from_millis(milliseconds)).duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (since / 86_400, since % 86_400);
    let (year, month, day) = civil(i64::try_from(days).unwrap_or_default());
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Days since 1970-01-01 as a date of the Gregorian calendar (Howard Hinnant's `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_readable() {
        assert_eq!(timestamp(0), "1970-01-01 00:00:00Z");
        assert_eq!(timestamp(1_796_090_400_123), "2026-12-01 02:00:00Z");
        assert_eq!(timestamp(951_782_399_000), "2000-02-28 23:59:59Z");
    }

    #[test]
    fn entries_read_as_sentences() {
        let describe = |json: &str| describe(&serde_json::from_str(json).expect("an object"));
        let lines = [
            describe(
                r#"{"time":0,"agent":"claude","kind":"stop","event":"Stop","decision":"deliver","title":"Claude — proj","carriers":[{"carrier":"terminal","ok":true}],"route":"tmux 3.3a"}"#,
            ),
            describe(
                r#"{"time":0,"agent":"claude","event":"SessionStart","decision":"suppress","reason":"not an event for the person","notes":["odd"]}"#,
            ),
            describe(
                r#"{"time":0,"agent":"pi","kind":"stop","decision":"deliver","carriers":[{"carrier":"terminal","ok":false,"detail":"no tty"}]}"#,
            ),
            describe(r#"{}"#),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r#"
        1970-01-01 00:00:00Z  claude stop (Stop): delivered by terminal · Claude — proj · tmux 3.3a
        1970-01-01 00:00:00Z  claude SessionStart: silent · not an event for the person · note: odd
        1970-01-01 00:00:00Z  pi stop: terminal failed (no tty)
        1970-01-01 00:00:00Z  ? :
        "#);
    }
}
