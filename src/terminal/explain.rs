//! A route in one line, for `test`, `doctor` and the log. Names come cleaned from the route; nothing is read.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::osc::Wrap;
use super::route::{Attempt, Hop, Route, Through, Trouble};
use crate::protocol::Protocol;

/// `tmux 3.3a client /dev/pts/4 → ssh → Ghostty 1.3.1 · OSC 777`: the way of one attempt (its number in the route, the first
/// likely one if `None`), or why there is none. `over_ssh` is what [`super::Scene::over_ssh`] says of that attempt's client.
#[must_use]
pub fn explain(route: &Route, attempt: Option<usize>, over_ssh: bool) -> String {
    let passed_over = route.tmux_trouble.as_ref().map(|reason| format!("tmux passed over ({reason}): ")).unwrap_or_default();
    let Some(attempt) = attempt.map_or_else(|| route.likely(), |number| route.attempts.get(number)) else {
        return match route.trouble {
            Some(Trouble::Detached) => {
                let way: Vec<String> = route.hops.iter().map(|hop| station(hop, None)).collect();
                format!("{passed_over}{}, nobody attached", way.join(" → "))
            }
            Some(Trouble::NoTerminal) | None => format!("{passed_over}no terminal above this process"),
        };
    };
    let mut line = passed_over;
    let mut crossed = !over_ssh;
    for hop in &attempt.hops {
        // Everything that was recognised by asking or by its own variables is on this host; only TERM and XTVERSION travel.
        if !crossed && matches!(hop, Hop::HiddenTmux { .. }) {
            line.push_str("ssh → ");
            crossed = true;
        }
        let _ = write!(line, "{} → ", station(hop, Some(attempt)));
    }
    if !crossed {
        line.push_str("ssh → ");
    }
    let _ = write!(line, "{} · {}", attempt.terminal, manner(attempt));
    let others = route.attempts.iter().filter(|other| !other.last_resort).count().saturating_sub(1);
    if route.all && others > 0 && !attempt.last_resort {
        let _ = write!(line, ", and {others} more");
    }
    line
}

fn station(hop: &Hop, attempt: Option<&Attempt>) -> String {
    let tmux = |version: &str| if version.is_empty() { "tmux".to_owned() } else { format!("tmux {version}") };
    let at = |tty: &PathBuf| tty.display().to_string();
    match (hop, attempt) {
        (Hop::Tmux { version, client: Some(client) }, _) => format!("{} client {}", tmux(version), at(client)),
        (Hop::Tmux { version, .. }, Some(attempt)) if attempt.through == Through::ControlMode => {
            format!("{} control mode by pane {}", tmux(version), at(&attempt.tty))
        }
        (Hop::Tmux { version, .. }, Some(attempt)) => format!("{} pane {}", tmux(version), at(&attempt.tty)),
        (Hop::Tmux { version, .. }, None) => tmux(version),
        (Hop::HiddenTmux { version }, _) => tmux(version.as_deref().unwrap_or_default()),
        (Hop::Screen, _) => "GNU screen".to_owned(),
        (Hop::Zellij, _) => "Zellij".to_owned(),
        (Hop::Own { tty }, _) => at(tty),
    }
}

fn manner(attempt: &Attempt) -> String {
    let protocol = attempt.protocol.title();
    match attempt.wrap {
        _ if attempt.protocol == Protocol::Bel => "shows no notifications, BEL only".to_owned(),
        Wrap::None => protocol.to_owned(),
        Wrap::Screen => format!("{protocol} wrapped for GNU screen"),
        Wrap::Tmux(1) => format!("{protocol} in 1 DCS wrap, needs allow-passthrough"),
        Wrap::Tmux(layers) => format!("{protocol} in {layers} DCS wraps, needs allow-passthrough"),
    }
}
