//! tmux sockets: what `TMUX` says, which sockets are trusted, and where those of other servers lie. Starts nothing.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::environment::{Env, name};

/// Sockets looked at in the search for an outer server; each costs about 2.4 ms.
pub(super) const MAX_SOCKETS: usize = 32;

/// Bits of a mode.
const STICKY: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The value of `TMUX`: `<socket>,<server pid>,<session>`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Variable {
    pub(super) socket: PathBuf,
    pub(super) server: Option<u32>,
    /// Number of the session in which the process was started; for a popup the only hint there is.
    pub(super) session: Option<u32>,
}

impl Variable {
    /// Cuts at the last two commas: a path may contain commas itself.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let mut fields = value.rsplitn(3, ',');
        let session = fields.next()?.parse().ok();
        let server = fields.next()?.parse().ok();
        let socket = PathBuf::from(fields.next()?);
        socket.is_absolute().then_some(Self { socket, server, session })
    }
}

/// A socket that belongs to this user, in a folder where nobody else can replace it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Socket {
    pub(super) path: PathBuf,
    /// Device and inode: two paths may lead to one socket.
    identity: (u64, u64),
}

impl Socket {
    /// Checks a path; the error says in words what is wrong. Root is held to the same rule: it could open the socket of
    /// anybody, and would then trust what that person's server answers.
    pub(super) fn checked(path: &Path) -> Result<Self, String> {
        let user = rustix::process::geteuid().as_raw();
        let (Some(parent), Some(base)) = (path.parent(), path.file_name()) else { return Err("no path of a socket".to_owned()) };
        let missing = |_| format!("no socket {}", path.display());
        let mut folder = parent.to_path_buf();
        let mut facts = folder.symlink_metadata().map_err(missing)?;
        if facts.file_type().is_symlink() {
            folder = folder.canonicalize().map_err(missing)?;
            facts = folder.symlink_metadata().map_err(missing)?;
        }
        if !is_safe_folder(&facts, user) {
            return Err(format!("folder {} is open to other users", folder.display()));
        }
        let path = folder.join(base);
        let facts = path.symlink_metadata().map_err(missing)?;
        if !facts.file_type().is_socket() {
            return Err(format!("{} is no socket", path.display()));
        }
        if facts.uid() != user {
            return Err(format!("socket {} belongs to another user", path.display()));
        }
        Ok(Self { path, identity: (facts.dev(), facts.ino()) })
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

fn is_safe_folder(facts: &Metadata, user: u32) -> bool {
    facts.is_dir() && is_safe(facts.uid(), facts.mode(), user)
}

/// Nobody but the user and root can replace what lies in a folder of this owner and mode.
const fn is_safe(owner: u32, mode: u32, user: u32) -> bool {
    let guarded = mode & STICKY != 0 || mode & WRITABLE_BY_OTHERS == 0;
    owner == user || (owner == 0 && guarded)
}

/// Sockets of other servers of this user: beside the given one, in `$TMUX_TMPDIR/tmux-UID` and `/tmp/tmux-UID`; checked, each
/// once, at most [`MAX_SOCKETS`], those of one folder in the order of their names.
pub(super) fn neighbours(of: &Socket, env: &Env) -> Vec<Socket> {
    let own = format!("tmux-{}", rustix::process::geteuid().as_raw());
    let beside = of.path.parent().map(Path::to_path_buf);
    let folders = [beside, env.folder(name::TMUX_TMPDIR).map(|base| base.join(&own)), Some(Path::new("/tmp").join(&own))];
    let mut found: Vec<Socket> = Vec::new();
    let mut looked: Vec<PathBuf> = Vec::new();
    for folder in folders.into_iter().flatten() {
        if looked.contains(&folder) {
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        // A socket may lie in /tmp itself, among thousands of other things.
        let mut paths: Vec<PathBuf> =
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket())).map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let Ok(socket) = Socket::checked(&path) else { continue };
            if found.len() < MAX_SOCKETS && !socket.is(of) && !found.iter().any(|known| known.is(&socket)) {
                found.push(socket);
            }
        }
        looked.push(folder);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    fn private_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("a mode");
        folder
    }

    #[test]
    fn the_variable_is_cut_at_its_last_two_commas() {
        let read = Variable::parse("/tmp/a,b/so,ck,1234,7").expect("a value");
        assert_eq!(read, Variable { socket: "/tmp/a,b/so,ck".into(), server: Some(1234), session: Some(7) });
        assert_eq!(Variable::parse("/tmp/x,,").map(|read| (read.server, read.session)), Some((None, None)));
        for broken in ["", "/tmp/x", "/tmp/x,1", "relative,1,0", ",1,0"] {
            assert_eq!(Variable::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_socket_of_the_user_in_a_private_folder_is_trusted() {
        let folder = private_folder();
        let path = folder.path().join("default");
        let _listener = UnixListener::bind(&path).expect("a socket");
        let socket = Socket::checked(&path).expect("trusted");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).expect("a link");
        assert!(Socket::checked(&link.join("default")).expect("trusted").is(&socket));
    }

    #[test]
    fn in_a_folder_of_root_others_must_not_replace_the_socket() {
        const USER: u32 = 1000;
        for (owner, mode, safe) in [
            (USER, 0o700, true),
            (0, 0o755, true),
            (0, 0o1777, true),
            (0, 0o777, false),
            (0, 0o775, false),
            (0, 0o757, false),
            (1001, 0o700, false),
            (1001, 0o1777, false),
        ] {
            assert_eq!(is_safe(owner, mode, USER), safe, "{owner} {mode:o}");
        }
    }

    #[test]
    fn whatever_is_no_socket_is_refused() {
        let folder = private_folder();
        let path = folder.path().join("file");
        std::fs::write(&path, "").expect("a file");
        assert!(Socket::checked(&path).is_err_and(|reason| reason.ends_with("is no socket")));
        assert!(Socket::checked(&folder.path().join("none")).is_err_and(|reason| reason.starts_with("no socket")));
        let socket = folder.path().join("real");
        let _listener = UnixListener::bind(&socket).expect("a socket");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&socket, &link).expect("a link");
        assert!(Socket::checked(&link).is_err());
    }

    #[test]
    fn neighbours_leave_out_the_socket_itself_and_other_files() {
        let folder = private_folder();
        let bind = |name: &str| UnixListener::bind(folder.path().join(name)).expect("a socket");
        let _listeners = [bind("a"), bind("b"), bind("c")];
        std::fs::write(folder.path().join("file"), "").expect("a file");
        let own = Socket::checked(&folder.path().join("b")).expect("trusted");
        let env = Env::from_iter([("TMUX_TMPDIR", "/nowhere")]);
        let found: Vec<_> = neighbours(&own, &env).into_iter().map(|socket| socket.path).collect();
        assert_eq!(found[..2], [folder.path().join("a"), folder.path().join("c")]);
    }
}
