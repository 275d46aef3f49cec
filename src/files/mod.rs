//! The only writer of files: private folders and files of our own, appends, whole-file replacement through symlinks, refusals by
//! name, locks. Knows nothing of what the files mean.

mod atomic;
mod attributes;
pub(crate) mod fault;
mod lock;
mod resolve;
mod target;
mod trouble;

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

pub use atomic::{Change, New, change, is_torn, replace, sync_folder, temporary, write_new};
pub use attributes::Attributes;
pub use lock::{Busy, Lock};
pub use resolve::resolve;
pub use target::{Existing, Owners, Target, look};
pub use trouble::Trouble;

/// Mode of a file that is made here, where no other one is known: it may hold secrets.
pub const PRIVATE: u32 = 0o600;

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

/// Creates one folder for a file of a person, and makes its name durable. An existing one stays as it is. Mode 0700; owned as the
/// folder above where root works in another one's home.
///
/// # Errors
/// As `mkdir`, chown and fsync.
pub fn create_folder(path: &Path, owners: Owners) -> io::Result<()> {
    let above = path.parent().unwrap_or(Path::new("/"));
    fault::point("mkdir")?;
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {
            if let Some((uid, gid)) = owners.of_new_file(above) {
                std::os::unix::fs::chown(path, Some(uid), Some(gid))?;
            }
            sync_folder(above)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes a folder if there is nothing in it; whether it is gone.
///
/// # Errors
/// As `rmdir` and fsync, other than for a folder that is in use.
pub fn remove_folder_if_empty(path: &Path) -> io::Result<bool> {
    fault::point("rmdir")?;
    match std::fs::remove_dir(path) {
        Ok(()) => sync_folder(path.parent().unwrap_or(Path::new("/"))).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::ResourceBusy) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a file; one that is not there is no error.
///
/// # Errors
/// As `unlink`.
pub fn remove_if_there(path: &Path) -> io::Result<()> {
    fault::point("unlink")?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Renames within a file system and makes it durable.
///
/// # Errors
/// As `rename` and fsync of the target's folder.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fault::point("rename")?;
    std::fs::rename(from, to)?;
    sync_folder(to.parent().unwrap_or(Path::new("/")))
}

/// Leaves a small file whose existence says something. Not durable.
///
/// # Errors
/// As open and write.
pub fn note(path: &Path, text: &[u8]) -> io::Result<()> {
    fault::point("create")?;
    append(path, text).map(|_| ())
}

/// Appends in one write, which is never mixed with that of another process. Returns about the size after it, in bytes.
///
/// # Errors
/// As open and write; missing folders are made. What is no regular file is `InvalidInput`: nobody waits for its reader.
pub fn append(path: &Path, content: &[u8]) -> io::Result<u64> {
    let mut file = with_folder(path, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NONBLOCK)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    file.write_all(content)?;
    Ok(metadata.len() + content.len() as u64)
}

/// As [`append`], but keeps the file open for reading and writing at its end.
///
/// # Errors
/// As open and write; missing folders are made.
pub fn append_and_keep(path: &Path, content: &[u8]) -> io::Result<File> {
    let mut file = with_folder(path, OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NONBLOCK)?;
    file.write_all(content)?;
    Ok(file)
}

/// Opens a file for reading, without waiting for anybody.
///
/// # Errors
/// As open.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(path, OFlags::RDONLY | OFlags::NONBLOCK)
}

/// A whole regular file of at most `limit` bytes; what a person keeps in such a place may be anything, and a FIFO must not make
/// anyone wait.
///
/// # Errors
/// As open and read; no regular file, or too large, is `InvalidInput`.
pub fn read_small(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        return Err(not_regular());
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too large"));
    }
    Ok(bytes)
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
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

    #[test]
    fn only_a_small_regular_file_is_read_whole() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("file");
        std::fs::write(&file, "1234").expect("a file");
        assert_eq!(read_small(&file, 4).expect("read"), b"1234");
        assert_eq!(read_small(&file, 3).expect_err("too large").kind(), io::ErrorKind::InvalidInput);
        assert!(read_small(home.path(), 9).is_err(), "a folder");
        let fifo = home.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        assert!(read_small(&fifo, 9).is_err(), "nobody waits for a writer");
        assert!(append(&fifo, b"x").is_err(), "nobody waits for a reader");
        let _reader = open(&fifo).expect("a reader");
        assert_eq!(append(&fifo, b"x").expect_err("a pipe").kind(), io::ErrorKind::InvalidInput);
        let mut full = append_and_keep(&fifo, b"x").expect("it is open");
        assert!((0..99).any(|_| full.write_all(&[0; 4096]).is_err()), "nobody waits for room");
    }
}
