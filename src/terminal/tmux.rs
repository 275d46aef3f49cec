//! A tmux server, asked: which program to start, one typed query within a deadline, and the reading of its answer. Changes
//! nothing in the server and never starts one.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::socket::Socket;
use crate::environment::{Env, name};
use crate::process::{Answer, Process, on_path, program_name, read_answer, wait_until};

/// More is not read: 32 KiB would be hundreds of clients or panes, and a server that sends without end is broken.
const MAX_ANSWER: usize = 1 << 20;

/// The only variables that tmux is started with. None is a secret; without a UTF-8 locale tmux refuses to start where the C
/// library knows neither C.UTF-8 nor en_US.UTF-8, and a tmux from a module system may need its library path.
const PASSED_ON: [&str; 6] = [name::LC_ALL, name::LC_CTYPE, name::LANG, name::LOCPATH, name::LOCALE_ARCHIVE, name::LD_LIBRARY_PATH];

/// The window's name comes last: whatever it contains, it cannot be mistaken for another field or line.
const PANE_FORMAT: &str = "P\t#{pane_id}\t#{pane_tty}\t#{session_id}\t#{window_id}\t#{pane_active}\t#{allow-passthrough}\t\
    #{focus-events}\t#{version}\t#{window_index}\t#{pane_index}\t#{automatic-rename}\t#{session_name}\t#{window_name}";

const CLIENT_FORMAT: &str = "C\t#{client_tty}\t#{client_control_mode}\t#{client_activity}\t#{client_pid}\t#{session_id}\t\
    #{window_id}\t#{client_flags}\t#{client_termname}\t#{client_termtype}";

const PANES_FORMAT: &str = "#{pane_id}\t#{pane_tty}";

/// A pane as its server describes it; texts as they come.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Pane {
    pub(super) id: String,
    pub(super) tty: PathBuf,
    pub(super) session_id: String,
    pub(super) window_id: String,
    /// The active pane of its window.
    pub(super) active: bool,
    /// A DCS in this pane is passed on while the pane is on screen.
    pub(super) passthrough: bool,
    /// tmux asks terminals for focus reports; without it every client counts as focused.
    pub(super) focus_events: bool,
    pub(super) version: String,
    pub(super) window_index: Option<u32>,
    pub(super) pane_index: Option<u32>,
    /// The person named the window: its name does not follow the program in it.
    pub(super) window_named: bool,
    pub(super) session_name: String,
    pub(super) window_name: String,
}

/// An attached client.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Client {
    pub(super) tty: PathBuf,
    /// `tmux -C` or `-CC`: its tty carries the control protocol and is never written to.
    pub(super) control: bool,
    /// Seconds since the epoch of the last key, focus report or answer of the terminal.
    pub(super) activity: u64,
    pub(super) pid: Option<u32>,
    pub(super) session_id: String,
    /// The window that it shows.
    pub(super) window_id: String,
    /// Means something only with [`Pane::focus_events`].
    pub(super) focused: bool,
    /// TERM of the client.
    pub(super) termname: String,
    /// The terminal's answer to XTVERSION; empty if it has not answered (yet).
    pub(super) termtype: String,
}

/// Why a server could not be asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Failure {
    /// No tmux that could be started.
    ProgramMissing,
    /// Stopped, hung, or overloaded.
    Silent,
    /// Nobody listens at the socket.
    ServerGone,
    /// The server runs, the pane does not exist any more.
    PaneGone,
}

impl Failure {
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::ProgramMissing => "no tmux program found",
            Self::Silent => "server does not answer in time",
            Self::ServerGone => "server gone",
            Self::PaneGone => "pane gone",
        }
    }
}

/// How tmux is called.
#[derive(Debug)]
pub(super) struct Caller {
    /// The running server's own program, tried before the one in `path`.
    server: Option<PathBuf>,
    path: Option<OsString>,
    variables: Vec<(&'static str, OsString)>,
    /// When the last call must have ended.
    deadline: Instant,
}

impl Caller {
    /// The running server's own program is asked first: client and server of different versions may not understand each other.
    pub(super) fn new(server: Option<u32>, env: &Env, deadline: Instant) -> Self {
        let server = server.and_then(program_of_server);
        let variables = PASSED_ON.into_iter().filter_map(|name| Some((name, env.os(name)?))).collect();
        Self { server, path: env.os(name::PATH), variables, deadline }
    }

    /// Everything about a pane and all clients of its server, in one exec. Without a target tmux takes the pane that was used
    /// last.
    pub(super) fn query(&self, socket: &Socket, target: Option<&str>) -> Result<(Pane, Vec<Client>), Failure> {
        let mut arguments = vec!["list-clients", "-F", CLIENT_FORMAT, ";", "display-message", "-p"];
        arguments.extend(target.iter().flat_map(|target| ["-t", target]));
        arguments.push(PANE_FORMAT);
        let (pane, clients) = read_query(&self.ask(socket, &arguments, self.deadline)?);
        // A target that does not exist gives status 0 and empty fields.
        Ok((pane.ok_or(Failure::PaneGone)?, clients))
    }

    /// Tty and id of every pane of a server. A limit of its own keeps one hung server from using up the time of all others.
    pub(super) fn panes(&self, socket: &Socket, until: Instant) -> Result<Vec<(PathBuf, String)>, Failure> {
        let answer = self.ask(socket, &["list-panes", "-a", "-F", PANES_FORMAT], until.min(self.deadline))?;
        let pane = |line: &str| line.split_once('\t').map(|(id, tty)| (PathBuf::from(tty), id.to_owned()));
        Ok(answer.lines().filter_map(pane).collect())
    }

    fn ask(&self, socket: &Socket, arguments: &[&str], until: Instant) -> Result<String, Failure> {
        if Instant::now() >= until {
            return Err(Failure::Silent);
        }
        let start = |program: PathBuf| self.start(&program, &socket.path, arguments);
        let by_server = self.server.clone().and_then(start);
        // A folder of that name may lie before the program.
        let by_path = || on_path(self.path.as_ref()?, "tmux").filter(|program| program.is_file()).find_map(start);
        let mut child = by_server.or_else(by_path).ok_or(Failure::ProgramMissing)?;
        let answer = match read_answer(&mut child, until, MAX_ANSWER) {
            Answer::Complete(bytes) => Some(bytes),
            Answer::Partial(_) => None,
        };
        let ended = answer.is_some() && wait_until(&mut child, until);
        if !ended {
            // Errors mean that it has just ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        match answer {
            None => Err(Failure::Silent),
            // Nothing on stdout: `error connecting to …` or `no server running on …` on stderr.
            Some(bytes) if bytes.is_empty() => Err(Failure::ServerGone),
            Some(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    fn start(&self, program: &Path, socket: &Path, arguments: &[&str]) -> Option<Child> {
        Command::new(program)
            .arg0("tmux")
            .args(["-N", "-u", "-S"])
            .arg(socket)
            .args(arguments)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()
    }
}

/// `/proc/PID/exe` can be executed even after the file was replaced or removed. The pid comes from a variable and may have
/// been given to another program since.
fn program_of_server(pid: u32) -> Option<PathBuf> {
    let server = Process::read(pid)?;
    let own = server.user()? == rustix::process::geteuid().as_raw();
    (own && program_name(&server.program()?).starts_with("tmux")).then(|| PathBuf::from(format!("/proc/{pid}/exe")))
}

/// Clients stand before the pane and the pane's line ends the answer: what follows could only come out of a name.
fn read_query(answer: &str) -> (Option<Pane>, Vec<Client>) {
    let mut clients = Vec::new();
    let mut rest = answer;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if let Some(fields) = line.strip_prefix("C\t") {
            clients.extend(read_client(fields));
        } else if let Some(fields) = line.strip_prefix("P\t") {
            return (read_pane(fields), clients);
        }
        rest = after;
    }
    (None, clients)
}

fn read_client(fields: &str) -> Option<Client> {
    let [tty, control, activity, pid, session_id, window_id, flags, termname, termtype] = split(fields)?;
    Some(Client {
        tty: tty.into(),
        control: control == "1",
        activity: activity.parse().unwrap_or(0),
        pid: pid.parse().ok(),
        session_id: session_id.to_owned(),
        window_id: window_id.to_owned(),
        focused: flags.split(',').any(|flag| flag == "focused"),
        termname: termname.to_owned(),
        termtype: termtype.to_owned(),
    })
}

fn read_pane(fields: &str) -> Option<Pane> {
    let [
        id,
        tty,
        session_id,
        window_id,
        active,
        passthrough,
        focus_events,
        version,
        window_index,
        pane_index,
        automatic_rename,
        session_name,
        window_name,
    ] = split(fields)?;
    if id.is_empty() {
        return None;
    }
    Some(Pane {
        id: id.to_owned(),
        tty: tty.into(),
        session_id: session_id.to_owned(),
        window_id: window_id.to_owned(),
        active: active == "1",
        passthrough: is_passed_on(passthrough, version),
        focus_events: is_on(focus_events),
        version: version.to_owned(),
        window_index: window_index.parse().ok(),
        pane_index: pane_index.parse().ok(),
        window_named: matches!(automatic_rename, "0" | "off"),
        session_name: session_name.to_owned(),
        window_name: window_name.to_owned(),
    })
}

/// Exactly `COUNT` fields; TABs beyond belong to the last one.
fn split<const COUNT: usize>(line: &str) -> Option<[&str; COUNT]> {
    line.splitn(COUNT, '\t').collect::<Vec<_>>().try_into().ok()
}

fn is_on(value: &str) -> bool {
    matches!(value, "1" | "on")
}

/// The option is a flag in 3.3, a choice since 3.4; before 3.3 there is none and passthrough cannot be switched off.
fn is_passed_on(value: &str, version: &str) -> bool {
    match value {
        "" => number(version).is_none_or(|version| version < (3, 3)),
        value => is_on(value) || value == "all",
    }
}

/// `(3, 3)` from `3.3a` or `next-3.8`.
fn number(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.trim_start_matches(|first: char| !first.is_ascii_digit()).split_once('.')?;
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const CLIENT: &str = "C\t/dev/pts/4\t0\t1700000000\t77\t$1\t@2\tattached,focused,UTF-8\txterm-ghostty\tghostty 1.3.1\n";

    fn pane_line(window_name: &str) -> String {
        format!("P\t%3\t/dev/pts/7\t$1\t@2\t1\toff\t1\t3.3a\t4\t0\t0\tmain\t{window_name}\n")
    }

    #[test]
    fn an_answer_is_read_into_fields() {
        let (pane, clients) = read_query(&format!("{CLIENT}{}", pane_line("项目")));
        let pane = pane.expect("a pane");
        assert_eq!((pane.id.as_str(), pane.tty.as_path()), ("%3", Path::new("/dev/pts/7")));
        assert_eq!((pane.window_index, pane.pane_index), (Some(4), Some(0)));
        assert!(pane.active && pane.focus_events && pane.window_named && !pane.passthrough);
        assert_eq!((pane.session_name.as_str(), pane.window_name.as_str()), ("main", "项目"));
        assert_eq!(clients.len(), 1);
        assert_eq!((clients[0].activity, clients[0].pid, clients[0].focused), (1_700_000_000, Some(77), true));
        assert_eq!(clients[0].termtype, "ghostty 1.3.1");
    }

    #[test]
    fn a_hostile_window_name_forges_neither_field_nor_client() {
        let (pane, clients) = read_query(&format!("{CLIENT}{}", pane_line("a\tb\nC\t/dev/pts/9\t0\t9\t9\t$1\t@2\tx\tx\tx\nP\t%9")));
        assert_eq!(pane.expect("a pane").window_name, "a\tb");
        assert_eq!(clients.iter().map(|client| client.tty.as_path()).collect::<Vec<_>>(), [Path::new("/dev/pts/4")]);
    }

    #[test]
    fn a_pane_that_is_gone_has_no_id() {
        let (pane, clients) = read_query(&format!("{CLIENT}P\t\t\t\t\t\toff\t1\t3.3a\t\t\t\t\t\n"));
        assert_eq!((pane, clients.len()), (None, 1));
    }

    #[test]
    fn short_and_empty_answers_are_nothing() {
        for answer in ["", "\n", "P\t%1\n", "P", "C\t/dev/pts/1\t0\n", "error connecting to /tmp/x\n"] {
            assert_eq!(read_query(answer), (None, Vec::new()), "{answer:?}");
        }
    }

    #[test]
    fn passthrough_is_read_by_version() {
        for (value, version, wanted) in [
            ("", "3.2a", true),
            ("", "3.3", false),
            ("", "", true),
            ("1", "3.3a", true),
            ("0", "3.3a", false),
            ("on", "3.5a", true),
            ("all", "next-3.8", true),
            ("off", "next-3.8", false),
        ] {
            assert_eq!(is_passed_on(value, version), wanted, "{value:?} {version:?}");
        }
    }

    #[test]
    fn a_pid_that_is_no_tmux_server_is_not_executed() {
        assert_eq!(program_of_server(std::process::id()), None);
    }

    /// A program in place of tmux, and a socket that nothing listens at.
    fn stand_in(script: &str, patience: Duration) -> (Caller, Socket, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("tmux");
        std::fs::write(&program, format!("#!/bin/sh\n[ \"$1\" = probe ] && exit\n{script}\n")).expect("a file");
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
        // "Text file busy" while another test's child, just forked, still holds the file open for writing.
        while Command::new(&program).arg("probe").status().is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let socket = folder.path().join("socket");
        drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket"));
        let env = Env::from_iter([("PATH", folder.path().as_os_str().to_owned()), ("SECRET", "x".into()), ("LANG", "C.UTF-8".into())]);
        (Caller::new(None, &env, Instant::now() + patience), Socket::checked(&socket).expect("trusted"), folder)
    }

    #[test]
    fn a_program_that_never_answers_is_ended_at_the_deadline() {
        let (caller, socket, _folder) = stand_in("exec sleep 30", Duration::from_millis(100));
        let start = Instant::now();
        assert_eq!(caller.query(&socket, None), Err(Failure::Silent));
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_eq!(caller.query(&socket, None), Err(Failure::Silent), "the deadline has passed");
    }

    #[test]
    fn the_environment_of_tmux_holds_the_locale_and_nothing_else() {
        let (caller, socket, _folder) = stand_in("/usr/bin/env | /bin/grep -v -e ^PWD= -e ^SHLVL= -e ^_=", Duration::from_secs(5));
        assert_eq!(caller.ask(&socket, &[], caller.deadline).as_deref(), Ok("LANG=C.UTF-8\n"));
    }

    #[test]
    fn a_folder_of_that_name_does_not_hide_the_program() {
        let (caller, socket, folder) = stand_in("echo yes", Duration::from_secs(5));
        let before = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(before.path().join("tmux")).expect("a folder called tmux");
        let path = std::env::join_paths([before.path(), folder.path()]).expect("a path");
        let caller = Caller { path: Some(path), ..caller };
        assert_eq!(caller.ask(&socket, &[], caller.deadline).as_deref(), Ok("yes\n"));
    }

    #[test]
    fn without_output_there_is_no_server() {
        let (caller, socket, _folder) = stand_in("exit 1", Duration::from_secs(5));
        assert_eq!(caller.query(&socket, Some("%1")), Err(Failure::ServerGone));
    }
}
