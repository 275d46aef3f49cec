//! Replacing a whole file: readers see the old one or the new one, never a part; a symlink stays and its target is replaced.

use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fs_err as fs;

/// As the kernel's limit for a chain of symlinks.
const MOST_LINKS: usize = 40;

/// Replaces the content of `path`, keeping symlinks and the target's mode; a new file gets `mode`. Durable when it returns.
///
/// # Errors
/// The chain of links loops, or the target's folder cannot be written: the file is as it was.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let target = resolve(path)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    super::create_private_folder(folder)?;
    let mode = match fs::metadata(&target) {
        Ok(metadata) => metadata.permissions().mode() & 0o7777,
        Err(error) if error.kind() == io::ErrorKind::NotFound => mode,
        Err(error) => return Err(error),
    };
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = write(&temporary, content, mode).and_then(|()| fs::rename(&temporary, &target));
    if let Err(error) = written {
        let _ = std::fs::remove_file(&temporary);
        return Err(error);
    }
    // The rename itself must survive a power cut.
    fs::File::open(folder)?.sync_all()
}

fn write(temporary: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(temporary)?;
    file.write_all(content)?;
    file.set_permissions(PermissionsExt::from_mode(mode))?;
    file.sync_all()
}

/// Follows symlinks, relative and dangling ones too, to the file that is meant.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            // Not a link, or nothing there yet.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => return Ok(target),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("too many symbolic links: {}", path.display())))
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
}
