//! Reads the scene: environment, ancestors, tmux and the outer layers on this host. Never fails: what cannot be found out is
//! unknown, with the reason.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::identify::{Identity, Multiplexer, is_multiplexer, names_terminal};
use super::scene::{Behind, Layer, Link, Origin, OwnWay, Place, Reach, Scene, Tmux};
use super::socket::{self, Socket, Variable};
use super::tmux::{Caller, Client, Failure, Pane};
use super::tty;
use crate::environment::{Env, name};
use crate::event::Text;
use crate::process::{self, Process};

/// Layers of tmux on this host that are followed.
const MAX_DEPTH: usize = 4;
/// For each of the other servers in the search for an outer one.
const NEIGHBOUR_PATIENCE: Duration = Duration::from_millis(100);

impl Scene {
    /// Looks. All tmux calls together end by the deadline; in the plain case there is one, outside tmux none.
    #[must_use]
    pub fn look(env: &Env, origin: Origin, reach: Reach, deadline: Instant) -> Self {
        let look = Look { env, origin, deadline, lineage: OnceCell::new() };
        let everywhere = reach == Reach::Everywhere;
        let (tmux, certain) = match env.get(name::TMUX) {
            Some(value) => look.at_tmux(&value),
            None if everywhere => look.at_lost_tmux().map_or((Tmux::Absent, false), |layer| (Tmux::Known(layer), true)),
            None => (Tmux::Absent, false),
        };
        let place = match &tmux {
            Tmux::Absent => None,
            Tmux::Known(layer) if certain => Some(Place::of(&layer.pane)),
            _ => Some(Place::default()),
        };
        let own = if everywhere && !matches!(tmux, Tmux::Known(_)) { look.at_own_terminals() } else { Vec::new() };
        let (identity, multiplexer) = Multiplexer::of(env);
        Self { tmux, own, identity, multiplexer, ssh: env.has(name::SSH_CONNECTION), place }
    }
}

/// One look: what was asked for, and what has been read on the way.
struct Look<'a> {
    env: &'a Env,
    origin: Origin,
    deadline: Instant,
    lineage: OnceCell<Vec<Process>>,
}

impl Look<'_> {
    /// The ancestors of this process, or another process and its ancestors.
    fn lineage(&self) -> &[Process] {
        self.lineage.get_or_init(|| match self.origin {
            Origin::Here => process::ancestors().collect(),
            Origin::Process(pid) => process::lineage(pid).collect(),
        })
    }

    fn nearest_terminal(&self) -> Option<PathBuf> {
        self.lineage().iter().find_map(Process::terminal)
    }

    /// The tmux that `TMUX` names, and whether the pane is certainly ours.
    fn at_tmux(&self, value: &str) -> (Tmux, bool) {
        let asked = self.find_server(value).and_then(|(caller, socket, variable)| {
            let failed = |failure: Failure| failure.reason().to_owned();
            let (pane, clients, certain) = match self.env.get(name::TMUX_PANE).filter(|id| is_pane(id)) {
                Some(pane) => caller.query(&socket, Some(&pane)).map(|(pane, clients)| (pane, clients, true)).map_err(failed)?,
                None => self.without_pane(&caller, &socket, variable.session).map_err(failed)?,
            };
            Ok((self.layer(&caller, &socket, pane, clients), certain))
        });
        match asked {
            Ok((layer, certain)) => (Tmux::Known(layer), certain),
            Err(reason) => (Tmux::Unknown(Text::new(&reason).to_string()), false),
        }
    }

    fn find_server(&self, value: &str) -> Result<(Caller, Socket, Variable), String> {
        let variable = Variable::parse(value).ok_or_else(|| "TMUX is malformed".to_owned())?;
        let socket = Socket::checked(&variable.socket)?;
        Ok((Caller::new(variable.server, self.env, self.deadline), socket, variable))
    }

    /// `TMUX_PANE` is missing: removed, or never there, as in a popup. Ours is then the pane whose tty an ancestor has; a popup
    /// belongs to a session, whose current pane is what lies below it.
    fn without_pane(&self, caller: &Caller, socket: &Socket, session: Option<u32>) -> Result<(Pane, Vec<Client>, bool), Failure> {
        let panes = caller.panes(socket, self.deadline)?;
        let terminals: Vec<PathBuf> = self.lineage().iter().filter_map(Process::terminal).collect();
        if let Some((_, id)) = terminals.iter().find_map(|terminal| panes.iter().find(|(tty, _)| tty == terminal)) {
            return caller.query(socket, Some(id)).map(|(pane, clients)| (pane, clients, true));
        }
        if let Some(session) = session
            && let Ok((pane, clients)) = caller.query(socket, Some(&format!("${session}")))
        {
            return Ok((pane, clients, true));
        }
        caller.query(socket, None).map(|(pane, clients)| (pane, clients, false))
    }

    /// `TMUX` was removed from the environment; the nearest ancestor that still has it tells. Only if the pane's tty is ours:
    /// otherwise a terminal, an sshd or a screen was started from inside tmux and has left it since.
    fn at_lost_tmux(&self) -> Option<Layer> {
        if names_terminal(self.env) {
            return None;
        }
        let kept = self.lineage().iter().filter_map(Process::environment).find(|env| env.has(name::TMUX))?;
        let pane = kept.get(name::TMUX_PANE).filter(|id| is_pane(id))?;
        let terminal = self.nearest_terminal()?;
        let (caller, socket, _) = self.find_server(&kept.get(name::TMUX)?).ok()?;
        let (pane, clients) = caller.query(&socket, Some(&pane)).ok()?;
        (pane.tty == terminal).then(|| self.layer(&caller, &socket, pane, clients))
    }

    fn layer(&self, caller: &Caller, socket: &Socket, pane: Pane, clients: Vec<Client>) -> Layer {
        Outwards { env: self.env, caller, neighbours: OnceCell::new(), own: socket }.layer(socket, pane, clients, &mut Vec::new())
    }

    fn at_own_terminals(&self) -> Vec<(PathBuf, OwnWay)> {
        if self.origin == Origin::Here && tty::has_controlling() {
            return vec![(tty::CONTROLLING.into(), OwnWay::Controlling)];
        }
        let terminals: Vec<PathBuf> = self.lineage().iter().filter_map(Process::terminal).collect();
        let nearest = terminals.first().cloned();
        // SSH_TTY outlives its connection in a tmux or screen, and the number is then given to somebody else.
        let by_ssh = self.env.os(name::SSH_TTY).map(PathBuf::from);
        let by_ssh = by_ssh.filter(|path| terminals.contains(path) && nearest.as_ref() != Some(path));
        let nearest = nearest.map(|path| (path, OwnWay::Ancestor));
        nearest.into_iter().chain(by_ssh.map(|path| (path, OwnWay::SshTty))).collect()
    }
}

/// `%3`: anything else would be another kind of target, or end tmux's command.
fn is_pane(id: &str) -> bool {
    id.strip_prefix('%').is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The search from one server outwards, through the other servers of this host.
struct Outwards<'a> {
    env: &'a Env,
    caller: &'a Caller,
    /// The innermost server's.
    own: &'a Socket,
    /// Other servers with their panes; asked once, and only if a client sits in a tmux.
    neighbours: OnceCell<Vec<(Socket, Panes)>>,
}

type Panes = Vec<(PathBuf, String)>;

impl Outwards<'_> {
    /// `path` holds the servers on the way so far: a client may sit in a pane of its own server.
    fn layer(&self, socket: &Socket, pane: Pane, clients: Vec<Client>, path: &mut Vec<Socket>) -> Layer {
        path.push(socket.clone());
        let clients = clients
            .into_iter()
            .map(|client| {
                let behind = self.behind(&client, path);
                Link { client, behind }
            })
            .collect();
        path.pop();
        Layer { pane, clients }
    }

    fn behind(&self, client: &Client, path: &mut Vec<Socket>) -> Behind {
        if client.termtype.starts_with("tmux ") || (client.termtype.is_empty() && is_multiplexer(&client.termname)) {
            if client.control {
                return Behind::HiddenTmux;
            }
            let outer = self.outer(client, path);
            // GNU screen does not answer XTVERSION; what tmux's client was started in tells the two apart.
            let in_screen = || client.termtype.is_empty() && client.pid.and_then(Env::of).is_some_and(|env| env.has(name::STY));
            return match outer {
                Some(layer) => Behind::Outer(Box::new(layer)),
                None if in_screen() => Behind::Screen,
                None => Behind::HiddenTmux,
            };
        }
        let identity = Identity::of_client(&client.termtype, &client.termname);
        if identity.protocol.is_some() {
            return Behind::Terminal(identity);
        }
        // The terminal gives no name. The client's own environment is that of the terminal it was started in (unlike a
        // pane's, which is that of whatever started the server): iTerm2's control mode, VS Code and Zed are known by it.
        let by_environment = client.pid.and_then(Env::of).map(|env| Identity::of_environment(&env));
        Behind::Terminal(by_environment.filter(|found| found.protocol.is_some()).unwrap_or(identity))
    }

    /// The pane of another server in which a client sits.
    fn outer(&self, client: &Client, path: &mut Vec<Socket>) -> Option<Layer> {
        let lineage: Vec<Process> = client.pid.map(|pid| process::lineage(pid).collect()).unwrap_or_default();
        // A client in a pane descends from that pane's server; one that does not (but from sshd) saves the search.
        let is_tmux = |process: &Process| process.program().is_some_and(|path| process::program_name(&path).contains("tmux"));
        if path.len() >= MAX_DEPTH || (!lineage.is_empty() && !lineage.iter().skip(1).any(is_tmux)) {
            return None;
        }
        let on_path = |socket: &Socket, path: &[Socket]| path.iter().any(|known| known.is(socket));
        let in_panes = |panes: &Panes| panes.iter().find(|(tty, _)| *tty == client.tty).map(|(_, id)| id.clone());
        let (socket, id) = self
            .hint(&lineage)
            .filter(|socket| !on_path(socket, path))
            .and_then(|socket| {
                let id = in_panes(&self.panes(&socket)?)?;
                Some((socket, id))
            })
            .or_else(|| {
                let mut others = self.neighbours().iter().filter(|(socket, _)| !on_path(socket, path));
                others.find_map(|(socket, panes)| Some((socket.clone(), in_panes(panes)?)))
            })?;
        let (pane, clients) = self.caller.query(&socket, Some(&id)).ok()?;
        // The pane may have gone since, and its number may stand for another one after a restart.
        (pane.tty == client.tty).then(|| self.layer(&socket, pane, clients, path))
    }

    /// The shell in the outer pane still has the outer TMUX, which the client was started without: this finds servers whose
    /// sockets lie anywhere, and saves asking all others.
    fn hint(&self, lineage: &[Process]) -> Option<Socket> {
        let values = lineage.iter().filter_map(|process| process.environment()?.get(name::TMUX));
        let mut sockets = values.filter_map(|value| Socket::checked(&Variable::parse(&value)?.socket).ok());
        sockets.find(|socket| !socket.is(self.own))
    }

    fn neighbours(&self) -> &[(Socket, Panes)] {
        self.neighbours.get_or_init(|| {
            let sockets = socket::neighbours(self.own, self.env);
            sockets.into_iter().filter_map(|socket| Some((socket.clone(), self.panes(&socket)?))).collect()
        })
    }

    fn panes(&self, socket: &Socket) -> Option<Panes> {
        self.caller.panes(socket, Instant::now() + NEIGHBOUR_PATIENCE).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_of_a_pane_is_a_target() {
        assert!(is_pane("%0") && is_pane("%123"));
        for other in ["", "%", "0", "%0;", "$1", "%1 ", "main:1.0", "{last}"] {
            assert!(!is_pane(other), "{other}");
        }
    }
}
