//! Terminal devices: which may be opened, and one write that either goes through or is given up in time.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The controlling terminal of this process, whichever it is.
pub(super) const CONTROLLING: &str = "/dev/tty";

/// After this pause a write is tried again whatever `poll` says: it called a frozen terminal not writable that took 136 bytes.
const RETRY_EVERY: Duration = Duration::from_millis(20);

/// `/dev/pts/N`, `/dev/ttyN` or macOS's `/dev/ttysN`: all that a person sits at. Nothing is opened.
#[must_use]
pub fn is_terminal_path(path: &Path) -> bool {
    let number = |text: &str| (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(path) = path.to_str() else { return false };
    if let Some(rest) = path.strip_prefix("/dev/pts/") {
        return number(rest);
    }
    path.strip_prefix("/dev/tty").is_some_and(|rest| number(rest.strip_prefix('s').unwrap_or(rest)))
}

/// Opens a terminal for writing, without ever making it the controlling one and without waiting.
///
/// # Errors
/// In words: the path is none of [`is_terminal_path`], no character device, of another user, or cannot be opened.
pub(super) fn open(path: &Path) -> Result<OwnedFd, String> {
    let checked = if path == Path::new(CONTROLLING) { None } else { Some(check(path)?) };
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let terminal = rustix::fs::open(path, flags, Mode::empty()).map_err(words)?;
    if let Some((device, inode, special)) = checked {
        let facts = rustix::fs::fstat(&terminal).map_err(words)?;
        // The types of these fields differ between systems.
        #[allow(clippy::unnecessary_cast)]
        let opened = (facts.st_dev as u64, facts.st_ino as u64, facts.st_rdev as u64);
        if opened != (device, inode, special) {
            return Err("was replaced while it was opened".to_owned());
        }
    }
    if rustix::termios::isatty(&terminal) { Ok(terminal) } else { Err("is no terminal".to_owned()) }
}

/// Device, inode and device number of a terminal of this user.
fn check(path: &Path) -> Result<(u64, u64, u64), String> {
    if !is_terminal_path(path) {
        return Err("is no path of a terminal".to_owned());
    }
    let facts = path.symlink_metadata().map_err(|error| error.kind().to_string())?;
    if !facts.file_type().is_char_device() {
        return Err("is no character device".to_owned());
    }
    if facts.uid() != rustix::process::geteuid().as_raw() {
        return Err("belongs to another user".to_owned());
    }
    Ok((facts.dev(), facts.ino(), facts.rdev()))
}

/// This process has a controlling terminal.
pub(super) fn has_controlling() -> bool {
    open(Path::new(CONTROLLING)).is_ok()
}

/// Writes everything, in one `write` where the terminal takes it: the kernel never lets another writer in between. A terminal
/// that is full is tried again until `until`; one that has no time left still gets one try.
///
/// # Errors
/// In words: what [`open`] says, or that the terminal does not take it.
pub(super) fn write(path: &Path, bytes: &[u8], until: Instant) -> Result<(), String> {
    let terminal = open(path)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::io::write(&terminal, rest) {
            Ok(count) => rest = &rest[count.min(rest.len())..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
                let Some(left) = left else { return Err(stuck(bytes.len() - rest.len(), bytes.len())) };
                pause(&terminal, left.min(RETRY_EVERY));
            }
            Err(error) => return Err(words(error)),
        }
    }
    Ok(())
}

fn stuck(written: usize, all: usize) -> String {
    if written == 0 { "takes nothing, its output may be stopped".to_owned() } else { format!("took {written} of {all} bytes only") }
}

fn pause(terminal: &OwnedFd, time: Duration) {
    let writable = time.try_into().ok().and_then(|time| poll(&mut [PollFd::new(terminal, PollFlags::OUT)], Some(&time)).ok());
    // Writable and yet full, or a poll that fails: do not turn in a tight circle.
    if writable != Some(0) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn words(error: Errno) -> String {
    std::io::Error::from(error).kind().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_terminals_are_accepted() {
        for good in ["/dev/pts/0", "/dev/pts/257", "/dev/tty1", "/dev/tty63", "/dev/ttys003"] {
            assert!(is_terminal_path(Path::new(good)), "{good}");
        }
        for bad in [
            "",
            "/dev/tty",
            "/dev/ttys",
            "/dev/pts/",
            "/dev/pts/ptmx",
            "/dev/pts/../sda",
            "/dev/pts/1/x",
            "/dev/pts/-1",
            "/dev/pts/١",
            "/dev/pts/123456789",
            "/dev/null",
            "/dev/sda1",
            "/dev/ttyS0",
            "dev/pts/1",
            "/dev/pts/1 ",
            "/tmp/pts/1",
            "/dev//pts/1",
        ] {
            assert!(!is_terminal_path(Path::new(bad)), "{bad}");
        }
    }

    #[test]
    fn files_and_devices_that_are_no_terminals_are_refused() {
        let now = Instant::now();
        for path in ["/dev/null", "/etc/passwd", "/dev/pts/99999999"] {
            assert!(write(Path::new(path), b"x", now).is_err(), "{path}");
        }
    }

    #[test]
    fn a_terminal_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give a terminal away");
            return;
        }
        let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).expect("a pty");
        let path = pair.master.tty_name().expect("a name");
        assert!(open(&path).is_ok());
        std::os::unix::fs::chown(&path, Some(65534), None).expect("chown");
        assert_eq!(open(&path).map(drop), Err("belongs to another user".to_owned()));
        assert_eq!(write(&path, b"x", Instant::now()), Err("belongs to another user".to_owned()));
    }

    #[test]
    fn a_terminal_takes_the_bytes_as_they_are() {
        use std::io::Read;
        let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).expect("a pty");
        let path = pair.master.tty_name().expect("a name");
        write(&path, b"\x1b]9;x\x07", Instant::now()).expect("written");
        let mut buffer = [0; 6];
        pair.master.try_clone_reader().expect("a reader").read_exact(&mut buffer).expect("bytes");
        assert_eq!(&buffer, b"\x1b]9;x\x07");
    }

    #[test]
    fn a_stopped_terminal_is_given_up_in_time() {
        let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).expect("a pty");
        let path = pair.master.tty_name().expect("a name");
        let flood = vec![b'x'; 1 << 20];
        let start = Instant::now();
        let failure = write(&path, &flood, start + Duration::from_millis(100)).expect_err("nobody reads");
        assert!(failure.starts_with("took "), "{failure}");
        let failure = write(&path, b"x", Instant::now()).expect_err("nobody reads");
        assert_eq!(failure, "takes nothing, its output may be stopped");
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
