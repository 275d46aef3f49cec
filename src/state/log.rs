//! The log of decisions: one JSON object a line, appended in one write; kept in two files of bounded size.

use std::io;
use std::path::PathBuf;

use serde::Serialize;

use super::{LOCK_PATIENCE, State};
use crate::event::Text;
use crate::files::{self, Lock};

/// A file that has grown beyond this becomes the older of the two, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Of one text from outside, in bytes: a session's id, a title, a reason.
const MOST_OF_A_TEXT: usize = 200;
/// Of a list, in items. With [`MOST_OF_A_TEXT`] it keeps a line below 8 KiB, which one write appends whole.
const MOST_OF_A_LIST: usize = 6;

/// One decision. Never holds prompts, answers, tool input or secrets; the title is what the person was shown.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Entry {
    /// Milliseconds since the epoch.
    pub time: u64,
    pub agent: String,
    /// `stop`, `input`, …; absent for messages that never notify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The agent's own name of the event.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// `deliver`, `defer`, `suppress`.
    pub decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Milliseconds since the epoch until which a deferred event waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What became of each way that was tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carriers: Vec<Carried>,
    /// The way to the desk, as one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// What was odd about input, configuration or state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One carrier's result.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Carried {
    pub carrier: &'static str,
    pub ok: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Entry {
    /// The same with every text cut that may have any length.
    fn bounded(&self) -> Self {
        let cut = |text: &String| Text::new(text).cut(MOST_OF_A_TEXT).to_string();
        let optional = |text: &Option<String>| text.as_ref().map(cut);
        let mut notes: Vec<_> = self.notes.iter().take(MOST_OF_A_LIST).map(cut).collect();
        if let Some(more) = self.notes.len().checked_sub(MOST_OF_A_LIST).filter(|more| *more > 0) {
            notes.push(format!("{more} more notes"));
        }
        Self {
            agent: cut(&self.agent),
            event: cut(&self.event),
            session: optional(&self.session),
            turn: optional(&self.turn),
            reason: optional(&self.reason),
            title: optional(&self.title),
            route: self.route.as_ref().map(|route| Text::new(route).cut(2 * MOST_OF_A_TEXT).to_string()),
            carriers: self
                .carriers
                .iter()
                .take(MOST_OF_A_LIST)
                .map(|carried| Carried { detail: cut(&carried.detail), ..*carried })
                .collect(),
            notes,
            ..*self
        }
    }
}

impl State {
    /// Appends one decision; keeps the file below its bound.
    ///
    /// # Errors
    /// There is no place for state, or it cannot be written; nothing depends on it.
    pub fn log(&self, entry: &Entry) -> io::Result<()> {
        let Some(path) = self.log_file() else { return Ok(()) };
        let mut line = serde_json::to_vec(&entry.bounded())?;
        line.push(b'\n');
        if files::append(&path, &line)? > MOST_BYTES {
            self.rotate(&path)?;
        }
        Ok(())
    }

    /// The last `most` decisions, oldest first, as they stand in the files. Lines that are no JSON object (a disk was full)
    /// are left out.
    ///
    /// # Errors
    /// A file exists but cannot be read.
    pub fn read_log(&self, most: usize) -> io::Result<Vec<serde_json::Map<String, serde_json::Value>>> {
        let Some(path) = self.log_file() else { return Ok(Vec::new()) };
        let mut text = String::new();
        for file in [older(&path), path] {
            // Far more than it ever holds.
            match files::read_small(&file, 64 * MOST_BYTES) {
                Ok(bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let mut entries: Vec<_> = text.lines().rev().filter_map(|line| serde_json::from_str(line).ok()).take(most).collect();
        entries.reverse();
        Ok(entries)
    }

    /// `None` without a state folder.
    #[must_use]
    pub fn log_file(&self) -> Option<PathBuf> {
        Some(self.folder()?.join("log.jsonl"))
    }

    fn rotate(&self, path: &PathBuf) -> io::Result<()> {
        let Some(folder) = self.folder() else { return Ok(()) };
        let Some(_lock) = Lock::acquire(&folder.join("lock"), LOCK_PATIENCE)? else { return Ok(()) };
        // Another process may have done it while we waited.
        if path.metadata()?.len() > MOST_BYTES {
            std::fs::rename(path, older(path))?;
            self.remove_old_spans(super::now());
        }
        Ok(())
    }
}

fn older(path: &std::path::Path) -> PathBuf {
    path.with_file_name("log.1.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Env;

    #[test]
    fn the_log_is_read_back_and_stays_bounded() {
        let home = tempfile::tempdir().expect("a folder");
        let state = State::of(&Env::from_iter([("HOME", home.path())]));
        let entry =
            |time| Entry { time, agent: "claude".to_owned(), decision: "deliver", title: Some("x".repeat(1000)), ..Entry::default() };
        for time in 0..9000 {
            state.log(&entry(time)).expect("logged");
        }
        let times: Vec<_> = state.read_log(3).expect("read").iter().map(|entry| entry["time"].as_u64()).collect();
        assert_eq!(times, [Some(8997), Some(8998), Some(8999)]);
        let path = state.log_file().expect("a file");
        let size = path.metadata().map_or(0, |metadata| metadata.len()) + older(&path).metadata().map_or(0, |metadata| metadata.len());
        assert!(size < 2 * MOST_BYTES + 4096, "{size}");
    }

    #[test]
    fn no_line_is_long_whatever_is_logged() {
        let home = tempfile::tempdir().expect("a folder");
        let state = State::of(&Env::from_iter([("HOME", home.path())]));
        let long = "\"\u{1b}".repeat(9000);
        let entry = Entry {
            agent: long.clone(),
            event: long.clone(),
            session: Some(long.clone()),
            turn: Some(long.clone()),
            reason: Some(long.clone()),
            title: Some(long.clone()),
            route: Some(long.clone()),
            carriers: vec![Carried { carrier: "terminal", ok: false, detail: long.clone() }; 50],
            notes: vec![long; 50],
            ..Entry::default()
        };
        state.log(&entry).expect("logged");
        let size = state.log_file().expect("a file").metadata().expect("metadata").len();
        assert!(size < 8 << 10, "{size}");
        let read = state.read_log(1).expect("read");
        assert_eq!(read[0]["notes"].as_array().and_then(|notes| notes.last()?.as_str()), Some("44 more notes"));
    }

    #[test]
    fn a_torn_line_hides_nothing_else() {
        let home = tempfile::tempdir().expect("a folder");
        let state = State::of(&Env::from_iter([("HOME", home.path())]));
        state.log(&Entry { time: 1, ..Entry::default() }).expect("logged");
        files::append(&state.log_file().expect("a file"), b"{\"time\":2\n\xff\n").expect("append");
        state.log(&Entry { time: 3, ..Entry::default() }).expect("logged");
        assert_eq!(state.read_log(9).expect("read").len(), 2);
    }
}
