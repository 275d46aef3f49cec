//! Changing a whole file: readers see the old one or the new one, never a part; symbolic links stay and their target is
//! replaced. Where a rename cannot be (hard link, mount, an owner that cannot be given away) the content is written over in
//! place, which a journal has to cover.
//!
//! Durability: when a function here returns without error, content, attributes and name have been handed to the disk (fsync of
//! the file before the rename, of its folder after it).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::attributes::Attributes;
use super::resolve::resolve;
use super::target::{self, Existing, Owners};
use super::{Trouble, fault};

/// One file from one content to another.
#[derive(Clone, Copy, Debug)]
pub struct Change<'plan> {
    /// As the person knows it: where it leads must still be `target`.
    pub path: &'plan Path,
    /// Without links.
    pub target: &'plan Path,
    /// Where the new content is written before it takes the target's name; in the target's folder.
    pub temporary: &'plan Path,
    /// What must stand there now; `None` = nothing.
    pub before: Option<&'plan [u8]>,
    /// What shall stand there; `None` = nothing.
    pub after: Option<&'plan [u8]>,
    /// For a file that is not there yet.
    pub new: New<'plan>,
    pub owners: Owners,
}

/// What a new file gets beside its content.
#[derive(Clone, Copy, Debug)]
pub enum New<'plan> {
    /// This mode.
    Mode(u32),
    /// What a removed file had.
    As(&'plan Attributes),
}

/// Carries one change out; compares right before the file changes its content.
///
/// # Errors
/// [`Trouble::Changed`] if something else stands there: nothing was done. Others: the file holds the old or the new content (in
/// place also a part of both), and the temporary file may be left.
pub fn change(change: &Change<'_>) -> Result<(), Trouble> {
    let existing = compare(change)?;
    let folder = folder_of(change.target);
    match (change.after, existing) {
        (None, None) => return Ok(()),
        (None, Some(_)) => {
            fault::point("unlink").and_then(|()| std::fs::remove_file(change.target)).map_err(|error| refused("remove", &error))?;
        }
        (Some(after), Some(existing)) if existing.in_place => return overwrite(change.target, after),
        (Some(after), existing) => {
            let wanted = match (&existing, change.new) {
                (Some(existing), _) => Some(existing.attributes.clone()),
                (None, New::As(attributes)) => Some(attributes.clone()),
                (None, New::Mode(_)) => None,
            };
            match write_temporary(change, after, wanted.as_ref()) {
                Ok(()) => {}
                // What cannot be copied to another inode is kept by keeping the inode.
                Err(Failure::Attributes(_)) if existing.is_some() => {
                    drop_temporary(change.temporary);
                    compare(change)?;
                    return overwrite(change.target, after);
                }
                Err(Failure::Attributes(error) | Failure::Content(error)) => {
                    drop_temporary(change.temporary);
                    return Err(refused("write", &error));
                }
            }
            let renamed = compare(change).and_then(|_| rename(change, existing.is_some()));
            if renamed.is_err() {
                drop_temporary(change.temporary);
            }
            if matches!(renamed, Err(Trouble::Mounted)) {
                return overwrite(change.target, after);
            }
            renamed?;
        }
    }
    sync_folder(folder).map_err(|error| Trouble::at("fsync", &error))
}

/// What stands there, if it is what was planned with.
fn compare(change: &Change<'_>) -> Result<Option<Existing>, Trouble> {
    if resolve(change.path)? != change.target {
        return Err(Trouble::Changed);
    }
    let existing = target::read(change.target)?;
    if existing.as_ref().map(|file| file.content.as_slice()) != change.before {
        return Err(Trouble::Changed);
    }
    Ok(existing)
}

enum Failure {
    Content(io::Error),
    Attributes(io::Error),
}

fn write_temporary(change: &Change<'_>, content: &[u8], wanted: Option<&Attributes>) -> Result<(), Failure> {
    let mut file = create(change.temporary).map_err(Failure::Content)?;
    write_all(&mut file, content).map_err(Failure::Content)?;
    match (wanted, change.new) {
        (Some(attributes), _) => attributes.give_to(&file).map_err(Failure::Attributes)?,
        (None, New::Mode(mode)) => {
            if let Some((uid, gid)) = change.owners.of_new_file(folder_of(change.target)) {
                let (uid, gid) = (rustix::fs::Uid::from_raw(uid), rustix::fs::Gid::from_raw(gid));
                rustix::fs::fchown(&file, Some(uid), Some(gid)).map_err(|error| Failure::Attributes(error.into()))?;
            }
            set_mode(&file, mode).map_err(Failure::Content)?;
        }
        (None, New::As(_)) => {}
    }
    sync(&file).map_err(Failure::Content)
}

fn rename(change: &Change<'_>, replaces: bool) -> Result<(), Trouble> {
    fault::point("rename").map_err(|error| Trouble::at("rename", &error))?;
    let here = rustix::fs::CWD;
    if !replaces {
        // Whoever makes the file at this moment keeps it. Not every file system can do that.
        match rustix::fs::renameat_with(here, change.temporary, here, change.target, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(Errno::EXIST) => return Err(Trouble::Changed),
            result => return result.map_err(|error| refused("rename", &error.into())),
        }
    }
    std::fs::rename(change.temporary, change.target).map_err(|error| refused("rename", &error))
}

/// The names behind what the kernel says of a rename or a removal.
fn refused(step: &'static str, error: &io::Error) -> Trouble {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::BUSY) => Trouble::Mounted,
        Some(Errno::PERM) => Trouble::Immutable,
        _ => Trouble::at(step, error),
    }
}

/// Writes over the content, keeping the inode. Front to back, so that what an interruption leaves is the new content's
/// beginning and the old one's rest: [`is_torn`] knows it again.
///
/// # Errors
/// The content may be a part of both.
fn overwrite(target: &Path, content: &[u8]) -> Result<(), Trouble> {
    let failed = |step| move |error: io::Error| Trouble::at(step, &error);
    let file = OpenOptions::new().write(true).open(target).map_err(failed("open"))?;
    let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
    // A full disk is better found before the first byte. Not every file system can tell.
    fault::point("fallocate").map_err(failed("write"))?;
    if size > 0 && reserve(&file, size) == Err(Errno::NOSPC) {
        return Err(Trouble::at("write", &Errno::NOSPC.into()));
    }
    if let Err(error) = fault::point("half a write") {
        let _ = file.write_all_at(&content[..content.len() / 2], 0);
        return Err(Trouble::at("write", &error));
    }
    fault::point("pwrite").and_then(|()| file.write_all_at(content, 0)).map_err(failed("write"))?;
    fault::point("ftruncate").and_then(|()| file.set_len(size)).map_err(failed("truncate"))?;
    sync(&file).map_err(failed("fsync"))
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, size: u64) -> rustix::io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, size)
}

/// What macOS offers counts from the end of the file, whose whole size would have to be free once more.
#[cfg(target_os = "macos")]
fn reserve(_: &File, _: u64) -> rustix::io::Result<()> {
    Ok(())
}

/// Whether `current` is what interrupted overwritings in place leave, of `before` by `after` and back again: at every place a byte
/// of one of the two.
#[must_use]
pub fn is_torn(current: &[u8], before: &[u8], after: &[u8]) -> bool {
    let lengths = before.len().min(after.len())..=before.len().max(after.len());
    let of = |content: &[u8], at: usize, byte: u8| content.get(at) == Some(&byte);
    lengths.contains(&current.len()) && current.iter().enumerate().all(|(at, byte)| of(before, at, *byte) || of(after, at, *byte))
}

/// Replaces the content of `path`, keeping symlinks and the target's attributes; a new file gets `mode`, missing folders are
/// made. Without comparison: for files that only we write.
///
/// # Errors
/// The chain of links loops, or the target's folder cannot be written: the file is as it was.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let target = resolve(path).map_err(io::Error::other)?;
    let folder = folder_of(&target);
    super::create_private_folder(folder)?;
    let temporary = temporary(&target, &std::process::id().to_string());
    let existing = target::read(&target).map_err(io::Error::other)?;
    // Of a process that had this number and was killed.
    drop_temporary(&temporary);
    let written = create(&temporary).and_then(|mut file| {
        write_all(&mut file, content)?;
        existing.map_or_else(|| set_mode(&file, mode), |existing| existing.attributes.give_to(&file))?;
        sync(&file)?;
        fault::point("rename")?;
        std::fs::rename(&temporary, &target)
    });
    if written.is_err() {
        drop_temporary(&temporary);
    }
    written?;
    sync_folder(folder)
}

/// A new private file, durable with [`sync_folder`].
///
/// # Errors
/// It is there already, or cannot be written.
pub fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = create(path)?;
    write_all(&mut file, content)?;
    sync(&file)
}

/// Makes names in a folder durable.
///
/// # Errors
/// As open and fsync.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    fault::point("fsync folder")?;
    File::open(folder)?.sync_all()
}

/// The name beside `target` under which its next content is written: `.NAME.an-ID`.
#[must_use]
pub fn temporary(target: &Path, id: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".an-{id}"));
    target.with_file_name(name)
}

fn create(path: &Path) -> io::Result<File> {
    fault::point("create")?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn write_all(file: &mut File, content: &[u8]) -> io::Result<()> {
    fault::point("write")?;
    file.write_all(content)
}

fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    fault::point("fchmod")?;
    file.set_permissions(PermissionsExt::from_mode(mode))
}

fn sync(file: &File) -> io::Result<()> {
    fault::point("fsync")?;
    file.sync_all()
}

fn drop_temporary(path: &Path) {
    if fault::point("unlink").is_ok() {
        let _ = std::fs::remove_file(path);
    }
}

fn folder_of(target: &Path) -> &Path {
    target.parent().unwrap_or(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_mode_is_kept_and_a_new_file_gets_the_given_one() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("new/config.toml");
        let mode = || file.metadata().expect("metadata").permissions().mode() & 0o777;
        replace(&file, b"a", 0o600).expect("replace");
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("chmod");
        replace(&file, b"b", 0o600).expect("replace");
        assert_eq!((mode(), std::fs::read(&file).expect("read")), (0o640, b"b".to_vec()));
        assert_eq!(std::fs::read_dir(file.parent().expect("a parent")).expect("list").count(), 1, "no temporary file is left");
    }

    #[test]
    fn links_stay_and_their_target_is_written() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("dotfiles");
        std::fs::create_dir(&folder).expect("mkdir");
        let link = home.path().join("config.toml");
        symlink("dotfiles/chain", &link).expect("link");
        symlink("real", folder.join("chain")).expect("link");
        replace(&link, b"x", 0o600).expect("replace");
        assert!(link.is_symlink() && folder.join("chain").is_symlink());
        assert_eq!(std::fs::read(folder.join("real")).expect("read"), b"x");
    }

    #[test]
    fn a_loop_of_links_is_an_error() {
        let home = tempfile::tempdir().expect("a folder");
        let link = home.path().join("loop");
        symlink("loop", &link).expect("link");
        assert!(replace(&link, b"x", 0o600).is_err());
    }

    #[test]
    fn an_interrupted_overwriting_is_known_again() {
        let (before, after) = (b"{\"a\": 1}\n", b"{\"a\": 1, \"hooks\": {}}\n");
        for (common, current) in (0..=after.len()).map(|at| (at, [&after[..at], before.get(at..).unwrap_or_default()].concat())) {
            assert!(is_torn(&current, before, after), "{common}");
        }
        // Shrinking: everything written, not yet cut.
        assert!(is_torn(b"{}\n\": 1}\n", before, b"{}\n"));
        // Half of the way there, then a quarter of the way back.
        assert!(is_torn(b"abCDef", b"abcdef", b"ABCDEF"));
        assert!(!is_torn(b"{\"a\": 2}\n", before, after));
        assert!(!is_torn(b"", before, after));
    }
}
