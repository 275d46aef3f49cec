//! From a path as a person knows it to the file that is meant: every symbolic link on the way followed, also where the end
//! does not exist yet.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::Trouble;

/// As the kernel's limit for one path.
const MOST_LINKS: usize = 40;

/// The path without symbolic links in any component, as `realpath --canonicalize-missing`: relative, chained and dangling links
/// are followed, in folders too. A name that does not exist stays as it is.
///
/// # Errors
/// A loop, a file where a folder should be, or a folder that may not be searched.
pub fn resolve(path: &Path) -> Result<PathBuf, Trouble> {
    let path = std::path::absolute(path).map_err(|error| Trouble::at("resolve", &error))?;
    let mut done = PathBuf::from("/");
    // What is still to be walked, the next one last.
    let mut rest = Vec::new();
    push(&mut rest, &path);
    let mut links = 0;
    while let Some(name) = rest.pop() {
        if name == ".." {
            // `done` holds no links: its parent is what the kernel would go to.
            done.pop();
            continue;
        }
        let next = done.join(name);
        match std::fs::read_link(&next) {
            Ok(_) if links == MOST_LINKS => return Err(Trouble::LinkLoop),
            Ok(link) => {
                links += 1;
                if link.is_absolute() {
                    done = PathBuf::from("/");
                }
                push(&mut rest, &link);
            }
            // No link, or nothing there yet.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => done = next,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(Trouble::NotAFolder(done)),
            Err(error) => return Err(Trouble::at("resolve", &error)),
        }
    }
    Ok(done)
}

fn push(rest: &mut Vec<OsString>, path: &Path) {
    rest.extend(path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A folder without links in its own path.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().canonicalize().expect("a path");
        (folder, path)
    }

    #[test]
    fn links_are_followed_relative_chained_and_dangling() {
        let (_folder, home) = place();
        std::fs::create_dir_all(home.join("dot/claude")).expect("mkdir");
        symlink("dot/claude", home.join(".claude")).expect("a folder's link");
        symlink("chain.json", home.join("dot/claude/settings.json")).expect("a link");
        symlink("../../real/not-there.json", home.join("dot/claude/chain.json")).expect("a link");
        assert_eq!(resolve(&home.join(".claude/settings.json")), Ok(home.join("real/not-there.json")));
        symlink(home.join("nowhere"), home.join("absolute")).expect("a link");
        assert_eq!(resolve(&home.join("absolute/x/./y")), Ok(home.join("nowhere/x/y")));
    }

    #[test]
    fn a_parent_of_a_link_is_the_parent_of_its_target() {
        let (_folder, home) = place();
        std::fs::create_dir_all(home.join("a/b")).expect("mkdir");
        symlink("a/b", home.join("link")).expect("a link");
        assert_eq!(resolve(&home.join("link/../x")), Ok(home.join("a/x")));
    }

    #[test]
    fn loops_and_files_in_place_of_folders_are_named() {
        let (_folder, home) = place();
        symlink("two", home.join("one")).expect("a link");
        symlink("one", home.join("two")).expect("a link");
        assert_eq!(resolve(&home.join("one")), Err(Trouble::LinkLoop));
        std::fs::write(home.join("file"), "").expect("write");
        assert_eq!(resolve(&home.join("file/x")), Err(Trouble::NotAFolder(home.join("file"))));
    }

    #[test]
    fn forty_links_are_followed_and_one_more_is_not() {
        let (_folder, home) = place();
        for number in 0..41 {
            symlink(format!("l{number}"), home.join(format!("l{}", number + 1))).expect("a link");
        }
        assert_eq!(resolve(&home.join("l40")), Ok(home.join("l0")));
        assert_eq!(resolve(&home.join("l41")), Err(Trouble::LinkLoop));
    }
}
