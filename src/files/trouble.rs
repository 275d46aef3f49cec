//! Why a file is not written: one name for each reason, worded once.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

/// Why a file was left alone, or could not be changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Trouble {
    /// More than 40 symbolic links, which is a loop.
    LinkLoop,
    /// Something on the way is no folder.
    NotAFolder(PathBuf),
    /// What stands there is no regular file: `a folder`, `a named pipe`…
    NotAFile(&'static str),
    /// The path is not UTF-8: the journal could not name it.
    NotText,
    /// Bigger than anything that is edited here.
    TooLarge,
    ForeignOwner {
        uid: u32,
    },
    /// Nothing can be made in this folder by this user.
    ReadOnlyFolder(PathBuf),
    /// It can only be written in place (hard link, mount), and its mode forbids that.
    ReadOnlyFile,
    /// Below the store of a package manager: `Nix or home-manager`.
    Managed(&'static str),
    /// `chattr +i` or `+a`, on the file or its folder.
    Immutable,
    /// A mount of its own, which cannot be removed.
    Mounted,
    /// Its content is not what was planned with.
    Changed,
    Failed {
        /// What was being done: `rename`.
        step: &'static str,
        error: String,
    },
}

impl Trouble {
    pub(super) fn at(step: &'static str, error: &io::Error) -> Self {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::LOOP) => Self::LinkLoop,
            _ => Self::Failed { step, error: error.to_string() },
        }
    }

    /// What the person can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::LinkLoop | Self::NotAFolder(_) | Self::NotAFile(_) => "mend or remove what stands at that path, then run it again",
            Self::NotText => "use a path of plain text",
            Self::TooLarge => "that cannot be a settings file",
            Self::ForeignOwner { .. } => "run it as the owner of that file, or change its owner",
            Self::ReadOnlyFolder(_) | Self::ReadOnlyFile => "make it writable, or add the lines by hand",
            Self::Managed(_) => "add the lines where that file is generated from",
            Self::Immutable => "`chattr -i` makes it changeable; or add the lines by hand",
            Self::Mounted => "remove it outside the container, or unmount it",
            Self::Changed => "something else wrote it meanwhile: run it again",
            Self::Failed { .. } => "check the disk, and the folder's owner and mode",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkLoop => formatter.write_str("its symbolic links form a loop"),
            Self::NotAFolder(path) => write!(formatter, "{} is not a folder", path.display()),
            Self::NotAFile(what) => write!(formatter, "it is {what}, not a file"),
            Self::NotText => formatter.write_str("its path is not valid UTF-8"),
            Self::TooLarge => formatter.write_str("it is too large"),
            Self::ForeignOwner { uid } => write!(formatter, "it belongs to another user (id {uid})"),
            Self::ReadOnlyFolder(path) => write!(formatter, "the folder {} is read-only", path.display()),
            Self::ReadOnlyFile => formatter.write_str("it is read-only, and as a hard link or mount it can only be written in place"),
            Self::Managed(manager) => write!(formatter, "it is managed by {manager}"),
            Self::Immutable => formatter.write_str("it is marked immutable"),
            Self::Mounted => formatter.write_str("it is a mount of its own, which cannot be removed"),
            Self::Changed => formatter.write_str("it has changed meanwhile"),
            Self::Failed { step, error } => write!(formatter, "{step}: {error}"),
        }
    }
}

impl std::error::Error for Trouble {}
