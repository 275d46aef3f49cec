//! Which events were attempted: one file per key, made with O_EXCL. Reserving never waits, needs no lock, and holds even after
//! a crash: at most one attempt per key.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::{LOCK_PATIENCE, State};
use crate::files::{self, Lock};

/// Keys are kept this long; turns are over by then.
const KEPT_FOR: Duration = Duration::from_secs(48 * 60 * 60);
/// More files than this are cut down to the newest half, whatever their age.
const MOST_FILES: usize = 4096;

/// For how long a key blocks a second attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lifetime {
    /// For ever: the key holds an id that the agent never uses twice.
    Once,
    /// Without such an id: the same again within this time is a duplicate.
    Within(Duration),
}

/// The answer to a reservation.
#[derive(Debug)]
pub enum Reservation {
    /// Ours: attempt it.
    Fresh,
    /// Attempted before.
    Duplicate,
    /// No place for state: attempt it, nobody will remember.
    Unavailable(Option<io::Error>),
}

impl State {
    /// Reserves `key` at `now` (milliseconds since the epoch).
    #[must_use]
    pub fn reserve(&self, key: u128, lifetime: Lifetime, now: u64) -> Reservation {
        let Some(folder) = self.ledger_folder() else { return Reservation::Unavailable(None) };
        let file = match lifetime {
            Lifetime::Once => folder.join(format!("{key:032x}")),
            Lifetime::Within(window) => {
                // One file per span of time, so that O_EXCL decides within a span; a key of the span before still counts if
                // it is younger than the window.
                let window = u64::try_from(window.as_millis()).unwrap_or(u64::MAX).max(1);
                let span = now / window;
                let before = folder.join(format!("{key:032x}-{}", span.wrapping_sub(1)));
                if read_time(&before).is_some_and(|time| now.abs_diff(time) < window) {
                    return Reservation::Duplicate;
                }
                folder.join(format!("{key:032x}-{span}"))
            }
        };
        match files::create_exclusive(&file, now.to_string().as_bytes()) {
            Ok(true) => {
                // About once in 256 keys, chosen by the key: no counter, no extra file.
                if key.to_le_bytes()[0] == 0 {
                    self.prune_ledger();
                }
                Reservation::Fresh
            }
            Ok(false) => Reservation::Duplicate,
            // Made, but not written (disk full): the name is what counts.
            Err(_) if file.exists() => Reservation::Fresh,
            Err(error) => Reservation::Unavailable(Some(error)),
        }
    }

    /// Remembers that a turn has an open ask.
    pub fn open_ask(&self, turn: u128, now: u64) {
        if let Some(folder) = self.ledger_folder() {
            // A failure costs at most one double notification; the reservation has told of a broken state folder already.
            let _ = files::overwrite(&folder.join(format!("ask-{turn:032x}")), now.to_string().as_bytes());
        }
    }

    /// Whether the turn has an open ask; with `within`, only one as young as that.
    #[must_use]
    pub fn has_open_ask(&self, turn: u128, within: Option<Duration>, now: u64) -> bool {
        let Some(folder) = self.ledger_folder() else { return false };
        let Some(time) = read_time(&folder.join(format!("ask-{turn:032x}"))) else { return false };
        within.is_none_or(|window| u128::from(now.abs_diff(time)) < window.as_millis())
    }

    /// The ask was answered.
    pub fn close_ask(&self, turn: u128) {
        if let Some(folder) = self.ledger_folder() {
            let _ = std::fs::remove_file(folder.join(format!("ask-{turn:032x}")));
        }
    }

    fn ledger_folder(&self) -> Option<PathBuf> {
        Some(self.folder()?.join("ledger"))
    }

    /// Removes what is old, and the older half where there is too much. Skipped while another process does it.
    fn prune_ledger(&self) {
        let (Some(folder), Some(ledger)) = (self.folder(), self.ledger_folder()) else { return };
        let Ok(Some(_lock)) = Lock::acquire(&folder.join("lock"), LOCK_PATIENCE) else { return };
        let Ok(list) = std::fs::read_dir(ledger) else { return };
        let age = |entry: &std::fs::DirEntry| {
            let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok()?;
            SystemTime::now().duration_since(modified).ok()
        };
        let mut kept: Vec<_> = list.flatten().map(|entry| (age(&entry).unwrap_or_default(), entry.path())).collect();
        kept.sort();
        let most = if kept.len() > MOST_FILES { MOST_FILES / 2 } else { kept.len() };
        for (place, (age, path)) in kept.iter().enumerate() {
            if place >= most || *age > KEPT_FOR {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// The time that a key was reserved at; that of the file where the content is missing.
fn read_time(path: &PathBuf) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    text.parse().ok().or_else(|| {
        let modified = path.metadata().and_then(|metadata| metadata.modified()).ok()?;
        u64::try_from(modified.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis()).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Env;

    fn state(home: &tempfile::TempDir) -> State {
        State::of(&Env::from_iter([("HOME", home.path())]))
    }

    fn is_fresh(reservation: &Reservation) -> bool {
        matches!(reservation, Reservation::Fresh)
    }

    #[test]
    fn a_key_is_reserved_once() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        assert!(is_fresh(&state.reserve(7, Lifetime::Once, 1000)));
        assert!(matches!(state.reserve(7, Lifetime::Once, 9_000_000), Reservation::Duplicate));
        assert!(is_fresh(&state.reserve(8, Lifetime::Once, 1000)));
    }

    #[test]
    fn a_window_slides_over_the_borders_of_its_spans() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        let reserve = |now| is_fresh(&state.reserve(7, Lifetime::Within(Duration::from_secs(10)), now));
        let times = [19_999, 20_001, 29_998, 29_999, 30_000, 39_998, 39_999, 50_000];
        let fresh: Vec<_> = times.into_iter().filter(|now| reserve(*now)).collect();
        assert_eq!(fresh, [19_999, 29_999, 39_999, 50_000]);
    }

    #[test]
    fn one_of_many_threads_wins() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        let wins = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| is_fresh(&state.reserve(9, Lifetime::Once, 1)))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).filter(|won| *won).count()
        });
        assert_eq!(wins, 1);
    }

    #[test]
    fn without_a_place_everything_is_attempted() {
        let state = State::of(&Env::from_iter([("HOME", "")]));
        assert!(matches!(state.reserve(1, Lifetime::Once, 1), Reservation::Unavailable(None)));
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("file");
        std::fs::write(&file, "").expect("write");
        let state = State::of(&Env::from_iter([("XDG_STATE_HOME", &file)]));
        assert!(matches!(state.reserve(1, Lifetime::Once, 1), Reservation::Unavailable(Some(_))));
        assert!(!state.has_open_ask(1, None, 1));
    }

    #[test]
    fn an_ask_is_open_until_it_is_closed() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        assert!(!state.has_open_ask(3, None, 1000));
        state.open_ask(3, 1000);
        state.open_ask(3, 5000);
        assert!(state.has_open_ask(3, None, 900_000));
        assert!(state.has_open_ask(3, Some(Duration::from_secs(10)), 14_000));
        assert!(!state.has_open_ask(3, Some(Duration::from_secs(10)), 16_000));
        state.close_ask(3);
        assert!(!state.has_open_ask(3, None, 5000));
    }

    #[test]
    fn old_keys_are_pruned_and_the_number_is_bounded() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        let ledger = state.ledger_folder().expect("a folder");
        for key in 1..=(MOST_FILES as u128 + 8) {
            assert!(is_fresh(&state.reserve(key << 8 | 1, Lifetime::Once, 1)));
        }
        let old = ledger.join(format!("{:032x}", 1_u128 << 8 | 1));
        let long_ago = SystemTime::now() - KEPT_FOR - Duration::from_secs(1);
        std::fs::File::options().write(true).open(&old).and_then(|file| file.set_modified(long_ago)).expect("a time");
        state.prune_ledger();
        assert!(!old.exists());
        assert_eq!(std::fs::read_dir(&ledger).expect("list").count(), MOST_FILES / 2);
    }
}
