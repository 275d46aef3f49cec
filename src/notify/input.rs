//! The payload on stdin, read within limits of time and size. Knows nothing of what it means but where a JSON object ends.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::de::IgnoredAny;

/// More than this is no payload: the rest is read and thrown away, so that the agent's write does not fail. Claude's largest
/// measured one has 31 kB.
const MOST_BYTES: usize = 16 << 20;
/// How much is asked for at a time.
const CHUNK: usize = 16 << 10;
/// How long the agent may take to send its payload; all of them have it ready at the start (0–10 ms measured).
const PATIENCE: Duration = Duration::from_secs(3);
/// How long the first byte may take where there may be no payload at all: the arguments or the environment name the event.
const PATIENCE_FOR_NOTHING: Duration = Duration::from_millis(100);
/// After a pause as long as this, it is worth looking whether everything is there already.
const PAUSE: Duration = Duration::from_millis(20);

/// Reads to the end, or to the end of a JSON object that nothing follows: whoever sends it may keep its end of the pipe open. A
/// terminal is not read at all. Returns what was read, and what was odd.
pub(super) fn read(stdin: &impl AsFd, may_be_nothing: bool) -> (Vec<u8>, Option<String>) {
    if rustix::termios::isatty(stdin) {
        return (Vec::new(), Some("stdin is a terminal: not read".to_owned()));
    }
    let mut payload = Vec::with_capacity(CHUNK);
    let start = Instant::now();
    let mut too_large = false;
    // Since the last look whether everything is there.
    let mut is_new = true;
    loop {
        let patience = if may_be_nothing && payload.is_empty() { PATIENCE_FOR_NOTHING } else { PATIENCE };
        let left = patience.saturating_sub(start.elapsed());
        if left.is_zero() {
            let nothing = may_be_nothing && payload.is_empty() && !too_large;
            return (payload, (!nothing).then(|| "the agent did not close stdin in time".to_owned()));
        }
        match wait(stdin, if is_new { left.min(PAUSE) } else { left }) {
            Ok(true) => {}
            Ok(false) if is_complete(&payload) => return (payload, None),
            Ok(false) => {
                is_new = false;
                continue;
            }
            Err(error) => return (payload, Some(format!("stdin: {error}"))),
        }
        payload.reserve(CHUNK);
        is_new = true;
        // Straight into the vector: pages that no payload needs are never touched.
        match rustix::io::read(stdin, spare_capacity(&mut payload)) {
            Ok(0) if too_large => return (Vec::new(), Some(format!("payload of more than {MOST_BYTES} bytes ignored"))),
            Ok(0) => return (payload, None),
            Ok(_) if too_large || payload.len() > MOST_BYTES => {
                too_large = true;
                payload.clear();
            }
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return (payload, Some(format!("stdin: {error}"))),
        }
    }
}

/// Whether there is something to read, or an end.
fn wait(stdin: &impl AsFd, limit: Duration) -> io::Result<bool> {
    let limit = Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&limit)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// One JSON object and nothing behind it.
fn is_complete(payload: &[u8]) -> bool {
    let payload = payload.strip_prefix(b"\xef\xbb\xbf").unwrap_or(payload).trim_ascii();
    payload.starts_with(b"{") && payload.ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(payload).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    /// What is read of this, while the other end stays open; and in how many milliseconds.
    fn from_open_pipe(content: &[u8], may_be_nothing: bool) -> (Vec<u8>, Option<String>, u128) {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(content).expect("room in the pipe");
        let start = Instant::now();
        let (payload, note) = read(&reader, may_be_nothing);
        let elapsed = start.elapsed().as_millis();
        drop(writer);
        (payload, note, elapsed)
    }

    #[test]
    fn a_complete_object_needs_no_end_of_the_pipe() {
        for content in [&b"{\"a\":{\"b\":\"}\"}}"[..], b"\xef\xbb\xbf {}\n \n"] {
            let (payload, note, elapsed) = from_open_pipe(content, false);
            assert_eq!((payload.as_slice(), note), (content, None));
            assert!(elapsed < 1500, "{elapsed} ms");
        }
    }

    #[test]
    fn an_incomplete_one_has_its_time() {
        let (payload, note, elapsed) = from_open_pipe(b"{\"a\":{}", true);
        assert_eq!((payload.as_slice(), note.is_some()), (&b"{\"a\":{}"[..], true));
        assert!(elapsed >= 3000, "{elapsed} ms");
    }

    #[test]
    fn where_there_may_be_nothing_nothing_is_not_waited_for() {
        let (payload, note, elapsed) = from_open_pipe(b"", true);
        assert!(payload.is_empty() && note.is_none());
        assert!((100..1500).contains(&elapsed), "{elapsed} ms");
    }

    #[test]
    fn a_stream_without_end_ends_with_the_time() {
        let start = Instant::now();
        let (payload, note) = read(&File::open("/dev/zero").expect("a device"), false);
        assert!(payload.len() <= MOST_BYTES && note.is_some());
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_terminal_is_not_read() {
        let system = portable_pty::native_pty_system();
        let pair = system.openpty(portable_pty::PtySize::default()).expect("a pty");
        let mut keyboard = pair.master.take_writer().expect("a writer");
        keyboard.write_all(b"{}\n").expect("typed");
        let terminal = File::open(pair.master.tty_name().expect("a name")).expect("the terminal");
        std::thread::sleep(Duration::from_millis(50));
        let (payload, note) = read(&terminal, false);
        assert!(payload.is_empty() && note.is_some(), "{payload:?}");
    }

    #[test]
    fn what_is_too_large_is_swallowed() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let agent = std::thread::spawn(move || (0..17).all(|_| writer.write_all(&vec![b' '; 1 << 20]).is_ok()));
        let (payload, note) = read(&reader, false);
        assert!(payload.is_empty() && note.is_some_and(|note| note.contains("bytes ignored")));
        assert!(agent.join().expect("no panic"), "the agent's write does not fail");
    }
}
