//! What a file has beside its content: mode, owner, extended attributes (an ACL is one of them).

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rustix::fs::{Gid, Uid, XattrFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::fault;

/// To be kept when a file is replaced, and given back when a removed one returns.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Attributes {
    /// The twelve bits.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Name and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<(String, Vec<u8>)>,
}

/// The extended attributes; none where the file system has none. Names that are not UTF-8 are left out.
///
/// # Errors
/// They cannot be read: replacing the file would lose them.
pub(super) fn extended(file: &File) -> io::Result<Vec<(String, Vec<u8>)>> {
    let size = match rustix::fs::flistxattr_query(file) {
        Err(Errno::NOTSUP | Errno::NOSYS) | Ok(0) => return Ok(Vec::new()),
        size => size?,
    };
    let mut names = vec![0; size];
    let size = rustix::fs::flistxattr(file, &mut names[..])?;
    let names = names[..size].split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok()).filter(|name| !name.is_empty());
    names.map(|name| Ok((name.to_owned(), value(file, name)?))).collect()
}

fn value(file: &File, name: &str) -> io::Result<Vec<u8>> {
    let mut value = vec![0; rustix::fs::fgetxattr_query(file, name)?];
    if !value.is_empty() {
        let size = rustix::fs::fgetxattr(file, name, &mut value[..])?;
        value.truncate(size);
    }
    Ok(value)
}

impl Attributes {
    /// Gives a new file these attributes, and none beside them: a folder's default ACL must not show in a replaced file.
    ///
    /// # Errors
    /// The user may not set one of them (a group without membership, a trusted attribute).
    pub(super) fn give_to(&self, file: &File) -> io::Result<()> {
        let found = file.metadata()?;
        // Owner first: it clears set-id bits. Mode before the ACL: it would change the ACL's mask.
        if (found.uid(), found.gid()) != (self.uid, self.gid) {
            fault::point("fchown")?;
            rustix::fs::fchown(file, Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)))?;
        }
        fault::point("fchmod")?;
        file.set_permissions(Permissions::from_mode(self.mode))?;
        let present = extended(file)?;
        for (name, _) in present.iter().filter(|(name, _)| !self.extended.iter().any(|(wanted, _)| wanted == name)) {
            tolerate(name, rustix::fs::fremovexattr(file, name.as_str()))?;
        }
        for wanted in self.extended.iter().filter(|wanted| !present.contains(wanted)) {
            fault::point("fsetxattr")?;
            tolerate(&wanted.0, rustix::fs::fsetxattr(file, wanted.0.as_str(), &wanted.1, XattrFlags::empty()))?;
        }
        Ok(())
    }
}

/// Labels of a security module are given by its policy, to the new file as to the old one, and are not ours to set.
fn tolerate(name: &str, result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::PERM | Errno::ACCESS | Errno::NOTSUP) if name.starts_with("security.") => Ok(()),
        result => Ok(result?),
    }
}
