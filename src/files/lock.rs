//! An advisory lock between processes of ours, with a bound on the wait.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Held until dropped, or until the process ends in whatever way.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl Lock {
    /// `Ok(None)` if another process holds it for all of `patience`.
    ///
    /// # Errors
    /// The lock file cannot be made.
    pub fn acquire(path: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let deadline = Instant::now() + patience;
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self(file))),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_waits_and_gives_up() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("lock");
        let first = Lock::acquire(&path, Duration::ZERO).expect("a lock");
        assert!(first.is_some());
        assert!(Lock::acquire(&path, Duration::from_millis(5)).expect("no error").is_none());
        drop(first);
        assert!(Lock::acquire(&path, Duration::ZERO).expect("a lock").is_some());
    }
}
