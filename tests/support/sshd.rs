//! A private sshd on loopback with throw-away keys.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal};

use super::eventually;
use super::sandbox::{Sandbox, installed, is_root};

/// A running sshd; ends when dropped.
pub struct Sshd {
    folder: PathBuf,
    port: u16,
    pid: Pid,
}

impl Sshd {
    /// Starts it and logs in once; the reason where this user cannot.
    ///
    /// # Errors
    /// A sentence: not installed, or the account is locked.
    pub fn start(sandbox: &Sandbox) -> Result<Self, String> {
        let program = installed("sshd".as_ref()).ok_or("sshd is not installed")?;
        let folder = sandbox.path("sshd");
        std::fs::create_dir(&folder).expect("a folder for sshd");
        for name in ["host", "user"] {
            let keygen =
                std::process::Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(name)).status();
            assert!(keygen.expect("ssh-keygen").success());
        }
        if is_root() {
            std::fs::create_dir_all("/run/sshd").map_err(|error| format!("/run/sshd: {error}"))?;
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port").port();
        let at = folder.display();
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\nStrictModes no\nUsePAM no\n\
             PidFile {at}/pid\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nAcceptEnv LANG LC_*\n"
        );
        std::fs::write(folder.join("config"), config).expect("sshd's configuration");
        // It becomes a daemon: nothing of this process is among the ancestors of what runs at the far end.
        let started = std::process::Command::new(program)
            .arg("-f")
            .arg(folder.join("config"))
            .arg("-E")
            .arg(folder.join("log"))
            .env_clear()
            .envs(sandbox.variables())
            .stdin(Stdio::null())
            .status();
        assert!(started.expect("sshd").success());
        let pid = eventually("sshd tells its id", || Pid::from_raw(std::fs::read_to_string(folder.join("pid")).ok()?.trim().parse().ok()?));
        let sshd = Self { folder, port, pid };
        eventually("sshd listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        let probe = std::process::Command::new("sh").args(["-c", &sshd.line("true")]).stdin(Stdio::null()).output().expect("sh");
        if probe.status.success() { Ok(sshd) } else { Err("this user cannot log in (no shell, or a locked account)".into()) }
    }

    /// A line of shell that runs another line at the far end, on a terminal.
    #[must_use]
    pub fn line(&self, remote: &str) -> String {
        let user = std::process::Command::new("id").arg("-un").output().expect("id").stdout;
        format!(
            "ssh -tt -q -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes -i {}/user -p {} {}@127.0.0.1 {}",
            self.folder.display(),
            self.port,
            String::from_utf8_lossy(&user).trim(),
            String::from_utf8_lossy(&super::command::quote(remote.as_bytes())),
        )
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.pid, Signal::TERM);
    }
}
