//! An advisory lock between processes of ours, with a bound on the wait.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
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
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        Ok(wait(&file, patience)?.then_some(Self(file)))
    }

    /// As [`Lock::acquire`], with the number of the holding process in the file, so that whoever waits in vain can name it.
    ///
    /// # Errors
    /// The lock file cannot be made or written, or another process holds it for all of `patience`.
    pub fn acquire_by_name(path: &Path, patience: Duration) -> Result<Self, Busy> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        if !wait(&file, patience)? {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(Busy::Held { by: holder.trim().parse().ok() });
        }
        let number = format!("{}\n", std::process::id());
        file.set_len(0)?;
        file.write_all_at(number.as_bytes(), 0)?;
        Ok(Self(file))
    }
}

/// Why there is no lock.
#[derive(Debug)]
pub enum Busy {
    /// By the process of this number, where it could be read.
    Held {
        by: Option<u32>,
    },
    Failed(io::Error),
}

impl From<io::Error> for Busy {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Whether the lock was given in time.
fn wait(file: &File, patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(false),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
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

    #[test]
    fn the_holder_is_named() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("lock");
        let first = Lock::acquire_by_name(&path, Duration::ZERO).expect("a lock");
        let second = Lock::acquire_by_name(&path, Duration::from_millis(5)).expect_err("busy");
        assert!(matches!(second, Busy::Held { by: Some(number) } if number == std::process::id()), "{second:?}");
        drop(first);
        assert!(Lock::acquire_by_name(&path, Duration::ZERO).is_ok());
    }
}
