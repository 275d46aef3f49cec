//! The only writer of files: private folders and files of our own, appends, whole-file replacement through symlinks, locks.
//! Knows nothing of what the files mean.

mod atomic;
mod lock;

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

pub use atomic::replace;
pub use lock::Lock;

/// Creates a folder of our own, mode 0700, and up to three missing ones above it: `~/.local/state` is made, a HOME that does
/// not exist is not. An existing folder stays as it is.
///
/// # Errors
/// As `mkdir`; a file in the way is an error, too.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    const MOST_MISSING: usize = 3;
    create_folders(path, MOST_MISSING)
}

fn create_folders(path: &Path, missing_above: usize) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && missing_above > 1 => {
            create_folders(path.parent().ok_or(error)?, missing_above - 1)?;
            create_folders(path, 1)
        }
        result => result,
    }
}

/// Appends in one write, which is never mixed with that of another process. Returns the size after it, in bytes.
///
/// # Errors
/// As open and write; missing folders are made.
pub fn append(path: &Path, content: &[u8]) -> io::Result<u64> {
    let mut file = with_folder(path, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND)?;
    file.write_all(content)?;
    Ok(file.metadata()?.len())
}

/// As [`append`], but keeps the file open for reading and writing at its end.
///
/// # Errors
/// As open and write; missing folders are made.
pub fn append_and_keep(path: &Path, content: &[u8]) -> io::Result<File> {
    let mut file = with_folder(path, OFlags::RDWR | OFlags::CREATE | OFlags::APPEND)?;
    file.write_all(content)?;
    Ok(file)
}

/// Opens a file for reading.
///
/// # Errors
/// As open.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(path, OFlags::RDONLY)
}

/// Not through `std`: musl's open sets the close-on-exec flag a second time, and this is what a hook does most.
fn open_as(path: &Path, flags: OFlags) -> io::Result<File> {
    Ok(File::from(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?))
}

/// Opens; where the folder is missing, makes it and opens again. The common case costs nothing more.
fn with_folder(path: &Path, flags: OFlags) -> io::Result<File> {
    match open_as(path, flags) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private_folder(path.parent().unwrap_or(Path::new("/")))?;
            open_as(path, flags)
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_and_folders_of_our_own_are_private() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("a/b/log");
        assert_eq!(append(&file, b"one\n").expect("append"), 4);
        assert_eq!(append(&file, b"two\n").expect("append"), 8);
        let mode = |path: &Path| path.metadata().expect("metadata").permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().expect("a parent"))), (0o600, 0o700));
    }

    #[test]
    fn a_home_that_does_not_exist_is_not_made() {
        let base = tempfile::tempdir().expect("a folder");
        let home = base.path().join("nobody");
        assert!(append(&home.join(".local/state/agent-notify/log.jsonl"), b"x").is_err());
        assert!(!home.exists());
        assert!(append(&base.path().join(".local/state/agent-notify/log.jsonl"), b"x").is_ok());
    }
}
