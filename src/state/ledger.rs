//! Which events were attempted: an append-only list, in which the first record of a key wins. Reserving is one append and one
//! look at what stands before it: no lock, no wait, and at most one attempt per key even after a crash. (One file per key made
//! with O_EXCL does the same, but costs a new inode and directory entry for each event: 14 µs against 3 on ext4.)

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use super::State;
use crate::files;

/// One file covers this span of time, in milliseconds; the one before it counts, too.
const SPAN: u64 = 2 * 60 * 60 * 1000;
/// Of a file that has grown beyond this only the end is read, in bytes: some 18,000 events in two hours.
const MOST_BYTES: u64 = 1 << 20;
/// The files' names begin with this; the number of the span follows.
const PREFIX: &str = "ledger-";

/// For how long a key blocks a second attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lifetime {
    /// For as long as the ledger remembers (2 to 4 hours): the key holds an id that the agent never uses twice.
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

/// Which open asks of a turn were answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answered<'a> {
    All,
    Newest,
    These(&'a [u128]),
}

/// What a record says of its key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Deed {
    /// The event of this key was attempted, or found to be a duplicate.
    Attempt,
    /// The turn of this key has this open ask.
    Open(u128),
    /// This ask of the turn was answered.
    Close(u128),
}

/// One line: `KEY TIME CALLER DEED`, the deed `a`, `o ASK` or `c ASK`, numbers in hexadecimal. It begins with the newline: a line that was torn by a full disk
/// spoils no other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Record {
    key: u128,
    /// Milliseconds since the epoch.
    time: u64,
    /// Process and call: tells apart two reservations of the same key in the same millisecond.
    caller: u64,
    deed: Deed,
}

impl Record {
    fn new(key: u128, time: u64, deed: Deed) -> Self {
        static CALLS: AtomicU16 = AtomicU16::new(0);
        let caller = u64::from(std::process::id()) << 16 | u64::from(CALLS.fetch_add(1, Ordering::Relaxed));
        Self { key, time, caller, deed }
    }

    fn line(&self) -> String {
        let deed = match self.deed {
            Deed::Attempt => "a".to_owned(),
            Deed::Open(ask) => format!("o {ask:x}"),
            Deed::Close(ask) => format!("c {ask:x}"),
        };
        format!("\n{:032x} {:x} {:x} {deed}", self.key, self.time, self.caller)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ');
        let key = fields.next().filter(|key| key.len() == 32)?;
        let record = Self {
            key: u128::from_str_radix(key, 16).ok()?,
            time: u64::from_str_radix(fields.next()?, 16).ok()?,
            caller: u64::from_str_radix(fields.next()?, 16).ok()?,
            deed: match fields.next()? {
                "a" => Deed::Attempt,
                "o" => Deed::Open(u128::from_str_radix(fields.next()?, 16).ok()?),
                "c" => Deed::Close(u128::from_str_radix(fields.next()?, 16).ok()?),
                _ => return None,
            },
        };
        fields.next().is_none().then_some(record)
    }
}

impl State {
    /// Reserves `key` at `now` (milliseconds since the epoch). If it is fresh and `opens` names a turn and an ask, that turn has
    /// that open ask from now on.
    #[must_use]
    pub fn reserve(&self, key: u128, lifetime: Lifetime, opens: Option<(u128, u128)>, now: u64) -> Reservation {
        let Some(path) = self.ledger_file(now / SPAN) else { return Reservation::Unavailable(None) };
        let own = Record::new(key, now, Deed::Attempt);
        let mut file = match files::append_and_keep(&path, own.line().as_bytes()) {
            Ok(done) => done,
            Err(error) => return Reservation::Unavailable(Some(error)),
        };
        let before = self.records(now / SPAN - 1, key);
        let here = read_end(&file, key).unwrap_or_default();
        if !is_fresh(before.iter().chain(&here), &own, lifetime) {
            return Reservation::Duplicate;
        }
        if let Some((turn, ask)) = opens {
            // A failure costs at most one double notification.
            let _ = file.write_all(Record::new(turn, now, Deed::Open(ask)).line().as_bytes());
        }
        Reservation::Fresh
    }

    /// Whether the turn has an open ask; with `within`, only one as young as that.
    #[must_use]
    pub fn has_open_ask(&self, turn: u128, within: Option<Duration>, now: u64) -> bool {
        let is_young = |time: u64| within.is_none_or(|window| u128::from(now.abs_diff(time)) < window.as_millis());
        self.open_asks(turn, now).iter().any(|(_, time)| is_young(*time))
    }

    /// Asks of the turn were answered.
    pub fn close_asks(&self, turn: u128, answered: Answered<'_>, now: u64) {
        let open = self.open_asks(turn, now);
        let closes = |at: usize, ask: u128| match answered {
            Answered::All => true,
            Answered::Newest => at + 1 == open.len(),
            Answered::These(asks) => asks.contains(&ask),
        };
        let closed = open.iter().enumerate().filter(|(at, (ask, _))| closes(*at, *ask));
        let lines: String = closed.map(|(_, (ask, _))| Record::new(turn, now, Deed::Close(*ask)).line()).collect();
        if let Some(path) = self.ledger_file(now / SPAN).filter(|_| !lines.is_empty()) {
            // As above: nothing is lost but a reminder that might have been held back.
            let _ = files::append_and_keep(&path, lines.as_bytes());
        }
    }

    /// The open asks of a turn with the times at which they were opened, oldest first.
    fn open_asks(&self, turn: u128, now: u64) -> Vec<(u128, u64)> {
        let mut open: Vec<(u128, u64)> = Vec::new();
        for record in self.records(now / SPAN - 1, turn).into_iter().chain(self.records(now / SPAN, turn)) {
            if let Deed::Open(ask) | Deed::Close(ask) = record.deed {
                open.retain(|(other, _)| *other != ask);
            }
            if let Deed::Open(ask) = record.deed {
                open.push((ask, record.time));
            }
        }
        open
    }

    fn ledger_file(&self, span: u64) -> Option<PathBuf> {
        Some(self.folder()?.join(format!("{PREFIX}{span}")))
    }

    /// The records of one key in one span, oldest first.
    fn records(&self, span: u64, key: u128) -> Vec<Record> {
        let read = |path: PathBuf| read_end(&files::open(&path).ok()?, key).ok();
        self.ledger_file(span).and_then(read).unwrap_or_default()
    }

    /// Removes the files that no longer count. Called when the log is full, so at most once in some thousand decisions; until
    /// then there is one file for each two hours in which an agent worked.
    pub(super) fn remove_old_spans(&self, now: u64) {
        let Some(folder) = self.folder() else { return };
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let number: Option<u64> = entry.file_name().to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
            if number.is_some_and(|number| number + 1 < now / SPAN) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Whether `own` is the attempt, by the order of the records: duplicates do not extend the time.
fn is_fresh<'records>(records: impl Iterator<Item = &'records Record>, own: &Record, lifetime: Lifetime) -> bool {
    let mut attempt: Option<&Record> = None;
    for record in records.filter(|record| record.deed == Deed::Attempt) {
        let blocked = attempt.is_some_and(|attempt| match lifetime {
            Lifetime::Once => true,
            Lifetime::Within(window) => u128::from(record.time.abs_diff(attempt.time)) < window.as_millis(),
        });
        if !blocked {
            attempt = Some(record);
        }
        if record == own {
            return !blocked;
        }
    }
    // Our own record is not there: somebody has cleared the file meanwhile.
    true
}

/// The records of one key in the last [`MOST_BYTES`] of a file.
fn read_end(file: &File, key: u128) -> io::Result<Vec<Record>> {
    let mut bytes = Vec::with_capacity(4 << 10);
    rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), 0)?;
    // A read that does not fill the buffer has met the end: of a regular file there is nothing more to come.
    if bytes.len() == bytes.capacity() {
        let size = file.metadata()?.len();
        let start = size.saturating_sub(MOST_BYTES);
        bytes = Vec::with_capacity(usize::try_from(size - start).unwrap_or_default());
        rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), start)?;
    }
    let mark = format!("\n{key:032x} ");
    let line =
        |at: usize| bytes[at + 1..].split(|byte| *byte == b'\n').next().and_then(|line| Record::parse(std::str::from_utf8(line).ok()?));
    Ok(memchr::memmem::find_iter(&bytes, mark.as_bytes()).filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Env;

    /// Any time well after the epoch.
    const NOW: u64 = 1_796_000_000_000;

    fn state(home: &tempfile::TempDir) -> State {
        State::of(&Env::from_iter([("HOME", home.path())]))
    }

    fn spans(state: &State) -> Vec<String> {
        let list = std::fs::read_dir(state.folder().expect("a folder")).expect("list");
        let mut names: Vec<_> = list.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn is_fresh(reservation: &Reservation) -> bool {
        matches!(reservation, Reservation::Fresh)
    }

    #[test]
    fn a_key_is_reserved_once_also_over_the_border_of_a_span() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        let border = NOW / SPAN * SPAN + SPAN;
        assert!(is_fresh(&state.reserve(7, Lifetime::Once, None, border - 1)));
        for now in [border - 1, border, border + SPAN - 1] {
            assert!(matches!(state.reserve(7, Lifetime::Once, None, now), Reservation::Duplicate), "{now}");
        }
        assert!(is_fresh(&state.reserve(8, Lifetime::Once, None, border)));
    }

    #[test]
    fn a_window_begins_anew_with_each_attempt() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        let reserve = |after: u64| is_fresh(&state.reserve(7, Lifetime::Within(Duration::from_secs(10)), None, NOW + after));
        let times = [0, 1, 9_999, 10_000, 10_001, 19_999, 20_000, 50_000];
        let fresh: Vec<_> = times.into_iter().filter(|after| reserve(*after)).collect();
        assert_eq!(fresh, [0, 10_000, 20_000, 50_000]);
    }

    #[test]
    fn one_of_many_wins_by_the_order_of_the_records() {
        let record = |caller| Record { caller, ..Record::new(1, NOW, Deed::Attempt) };
        let records = [record(5), record(3), record(9)];
        let winners: Vec<_> = records.iter().filter(|own| super::is_fresh(records.iter(), own, Lifetime::Once)).collect();
        assert_eq!(winners, [&records[0]]);
    }

    #[test]
    fn without_a_place_everything_is_attempted() {
        let state = State::of(&Env::from_iter([("HOME", "")]));
        assert!(matches!(state.reserve(1, Lifetime::Once, None, NOW), Reservation::Unavailable(None)));
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("file");
        std::fs::write(&file, "").expect("write");
        let state = State::of(&Env::from_iter([("XDG_STATE_HOME", &file)]));
        assert!(matches!(state.reserve(1, Lifetime::Once, None, NOW), Reservation::Unavailable(Some(_))));
        assert!(!state.has_open_ask(1, None, NOW));
        state.close_asks(1, Answered::All, NOW);
    }

    #[test]
    fn an_ask_is_open_until_it_is_closed() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        assert!(!state.has_open_ask(3, None, NOW));
        assert!(is_fresh(&state.reserve(1, Lifetime::Once, Some((3, 9)), NOW)));
        assert!(!is_fresh(&state.reserve(1, Lifetime::Once, Some((4, 9)), NOW)));
        assert!(!state.has_open_ask(4, None, NOW), "a duplicate opens nothing");
        assert!(state.has_open_ask(3, None, NOW + SPAN));
        assert!(state.has_open_ask(3, Some(Duration::from_secs(10)), NOW + 9_999));
        assert!(!state.has_open_ask(3, Some(Duration::from_secs(10)), NOW + 10_000));
        state.close_asks(3, Answered::All, NOW + 5);
        assert!(!state.has_open_ask(3, None, NOW + 6));
        assert!(is_fresh(&state.reserve(2, Lifetime::Once, Some((3, 9)), NOW + 7)));
        assert!(state.has_open_ask(3, None, NOW + 8));
    }

    #[test]
    fn of_several_open_asks_the_answered_ones_are_closed() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        let open = |at: u64| state.open_asks(3, NOW + at).into_iter().map(|(ask, _)| ask).collect::<Vec<_>>();
        for ask in [5, 6, 7] {
            assert!(is_fresh(&state.reserve(ask, Lifetime::Once, Some((3, ask)), NOW)));
        }
        state.close_asks(3, Answered::These(&[8, 6]), NOW + 1);
        assert_eq!(open(2), [5, 7]);
        state.close_asks(3, Answered::Newest, NOW + SPAN);
        assert_eq!(open(SPAN), [5]);
        state.close_asks(4, Answered::All, NOW + SPAN);
        assert_eq!(open(SPAN), [5]);
    }

    #[test]
    fn torn_lines_spoil_no_other() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        assert!(is_fresh(&state.reserve(7, Lifetime::Once, None, NOW)));
        let path = state.ledger_file(NOW / SPAN).expect("a file");
        for torn in [&b"\n0000000000"[..], b"\n\xff\xfe", b"\n00000000000000000000000000000008 1 1 ", b"\n"] {
            files::append(&path, torn).expect("append");
        }
        assert!(!is_fresh(&state.reserve(7, Lifetime::Once, None, NOW + 1)));
        assert!(is_fresh(&state.reserve(8, Lifetime::Once, None, NOW + 1)));
    }

    #[test]
    fn only_two_spans_are_kept_and_only_the_end_of_a_huge_one_is_read() {
        let home = tempfile::tempdir().expect("a folder");
        let state = state(&home);
        for after in 0..4 {
            assert!(is_fresh(&state.reserve(7 + u128::from(after), Lifetime::Once, None, NOW + after * SPAN)));
        }
        let span = NOW / SPAN + 3;
        assert_eq!(spans(&state).len(), 4);
        state.remove_old_spans(span * SPAN);
        assert_eq!(spans(&state), [format!("{PREFIX}{}", span - 1), format!("{PREFIX}{span}")]);

        let filler = Record::new(1, NOW, Deed::Close(1)).line().repeat(30_000);
        files::append(&state.ledger_file(span).expect("a file"), filler.as_bytes()).expect("append");
        let now = NOW + 3 * SPAN;
        assert!(is_fresh(&state.reserve(99, Lifetime::Once, None, now)));
        assert!(!is_fresh(&state.reserve(99, Lifetime::Once, None, now)));
    }
}
