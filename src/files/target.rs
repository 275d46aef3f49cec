//! What stands at a path now, and whether it may be written: everything is refused by name before the first write.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags};

use super::Trouble;
use super::attributes::{self, Attributes};
use super::resolve::resolve;

/// Bytes. A guard for memory: a sparse file, a log. The formats have lower limits of their own.
const MOST_BYTES: u64 = 512 << 20;

/// Whose files may be written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Owners {
    effective: u32,
    /// The owner of the home folder, which may be another one for root only (`sudo` with HOME kept).
    home: Option<u32>,
}

impl Owners {
    /// The user's own files; for root also those of the owner of `home`.
    #[must_use]
    pub fn of(home: Option<&Path>) -> Self {
        let effective = rustix::process::geteuid().as_raw();
        let home = home.filter(|_| effective == 0).and_then(|home| Some(std::fs::metadata(home).ok()?.uid()));
        Self { effective, home }
    }

    pub(super) fn allow(self, uid: u32) -> bool {
        uid == self.effective || Some(uid) == self.home
    }

    /// Whom a new file in this folder should belong to, where that is somebody else: root does not leave files of its own in
    /// the home folder of a user.
    #[must_use]
    pub fn of_new_file(self, folder: &Path) -> Option<(u32, u32)> {
        let metadata = std::fs::metadata(folder).ok()?;
        (metadata.uid() != self.effective && self.allow(metadata.uid())).then(|| (metadata.uid(), metadata.gid()))
    }
}

/// What a path leads to.
#[derive(Clone, Debug)]
pub struct Target {
    /// Without any link in it.
    pub path: PathBuf,
    pub file: Option<Existing>,
    /// Folders that have to be made first, outermost first.
    pub missing: Vec<PathBuf>,
}

/// A regular file.
#[derive(Clone, Debug)]
pub struct Existing {
    pub content: Vec<u8>,
    pub attributes: Attributes,
    /// A hard link or a mount: a rename would split or fail (EBUSY), so the content is written over.
    pub in_place: bool,
}

/// Reads what `path` leads to.
///
/// # Errors
/// Whatever is no regular file, or cannot be reached or read.
pub fn look(path: &Path) -> Result<Target, Trouble> {
    let path = resolve(path)?;
    if path.to_str().is_none() {
        return Err(Trouble::NotText);
    }
    let mut missing = Vec::new();
    for folder in path.ancestors().skip(1) {
        if folder.try_exists().map_err(|error| Trouble::at("stat", &error))? {
            break;
        }
        missing.push(folder.to_owned());
    }
    missing.reverse();
    let file = read(&path)?;
    Ok(Target { path, file, missing })
}

impl Target {
    /// The content; `None` = absent.
    #[must_use]
    pub fn content(&self) -> Option<&[u8]> {
        self.file.as_ref().map(|file| file.content.as_slice())
    }

    /// Whether it could be written now. Answers without writing; a write may still fail.
    ///
    /// # Errors
    /// The reason, by name.
    pub fn check_writable(&self, owners: Owners) -> Result<(), Trouble> {
        if let Some(manager) = manager(&self.path) {
            return Err(Trouble::Managed(manager));
        }
        let existing = self.path.ancestors().nth(self.missing.len() + 1).unwrap_or(Path::new("/"));
        if let Some(file) = &self.file {
            if !owners.allow(file.attributes.uid) {
                return Err(Trouble::ForeignOwner { uid: file.attributes.uid });
            }
            if is_immutable(&self.path) {
                return Err(Trouble::Immutable);
            }
            if file.in_place {
                return if may(&self.path, Access::WRITE_OK) { Ok(()) } else { Err(Trouble::ReadOnlyFile) };
            }
        }
        if is_immutable(existing) {
            return Err(Trouble::Immutable);
        }
        if !may(existing, Access::WRITE_OK | Access::EXEC_OK) {
            return Err(Trouble::ReadOnlyFolder(existing.to_owned()));
        }
        Ok(())
    }
}

/// The package manager below whose store the path lies; its files are made anew by it, whoever may write them.
fn manager(path: &Path) -> Option<&'static str> {
    [("/nix/store", "Nix or home-manager"), ("/gnu/store", "Guix")]
        .into_iter()
        .find_map(|(store, manager)| path.starts_with(store).then_some(manager))
}

/// With the effective ids; a read-only file system counts.
fn may(path: &Path, access: Access) -> bool {
    rustix::fs::accessat(rustix::fs::CWD, path, access, AtFlags::EACCESS).is_ok()
}

/// By the inode's flags, where the file system has them.
#[cfg(target_os = "linux")]
fn is_immutable(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else { return false };
    let immutable = rustix::fs::IFlags::IMMUTABLE | rustix::fs::IFlags::APPEND;
    rustix::fs::ioctl_getflags(&file).is_ok_and(|flags| flags.intersects(immutable))
}

/// By the flags that `chflags` sets: uchg, uappnd, schg and sappnd.
#[cfg(target_os = "macos")]
fn is_immutable(path: &Path) -> bool {
    use std::os::macos::fs::MetadataExt;
    const IMMUTABLE: u32 = 0x2 | 0x4 | 0x2_0000 | 0x4_0000;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.st_flags() & IMMUTABLE != 0)
}

/// The regular file at a path without links; `None` if there is nothing.
pub(super) fn read(path: &Path) -> Result<Option<Existing>, Trouble> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Trouble::at("stat", &error)),
    };
    if !metadata.is_file() {
        return Err(Trouble::NotAFile(kind(metadata.file_type())));
    }
    if metadata.len() > MOST_BYTES {
        return Err(Trouble::TooLarge);
    }
    // Not to wait in case it became a pipe in between.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| Trouble::at("open", &error.into()))?;
    let mut file = File::from(file);
    let metadata = file.metadata().map_err(|error| Trouble::at("stat", &error))?;
    if !metadata.is_file() {
        return Err(Trouble::Changed);
    }
    let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.read_to_end(&mut content).map_err(|error| Trouble::at("read", &error))?;
    let extended = attributes::extended(&file).map_err(|error| Trouble::at("list attributes", &error))?;
    let attributes = Attributes { mode: metadata.permissions().mode() & 0o7777, uid: metadata.uid(), gid: metadata.gid(), extended };
    let in_place = metadata.nlink() > 1 || is_mount(&file);
    Ok(Some(Existing { content, attributes, in_place }))
}

/// A file that is a mount of its own, as containers have them. Known since Linux 5.8; before, the rename says EBUSY.
#[cfg(target_os = "linux")]
fn is_mount(file: &File) -> bool {
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, rustix::fs::StatxFlags::BASIC_STATS)
        .is_ok_and(|found| found.stx_attributes.contains(rustix::fs::StatxAttributes::MOUNT_ROOT))
}

/// Mounts are of folders only.
#[cfg(target_os = "macos")]
fn is_mount(_: &File) -> bool {
    false
}

fn kind(file_type: std::fs::FileType) -> &'static str {
    if file_type.is_dir() {
        "a folder"
    } else if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_store_are_managed() {
        assert_eq!(manager(Path::new("/nix/store/abc-home-manager-files/.claude/settings.json")), Some("Nix or home-manager"));
        assert_eq!(manager(Path::new("/gnu/store/x")), Some("Guix"));
        assert_eq!(manager(Path::new("/nix/storehouse")), None);
    }

    #[test]
    fn folders_and_pipes_are_refused_without_waiting() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("settings.json");
        std::fs::create_dir(&folder).expect("mkdir");
        assert_eq!(look(&folder).expect_err("refused"), Trouble::NotAFile("a folder"));
        let pipe = home.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
        assert_eq!(look(&pipe).expect_err("refused"), Trouble::NotAFile("a named pipe"));
    }

    #[test]
    fn missing_folders_are_listed_outermost_first() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path().canonicalize().expect("a path");
        let target = look(&home.join("a/b/c")).expect("nothing wrong");
        assert_eq!((target.missing, target.file.is_none()), (vec![home.join("a"), home.join("a/b")], true));
    }
}
