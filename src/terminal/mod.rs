//! The way from a process to the person's outer terminal, through any depth of tmux and ssh: [`Scene::look`] reads the world
//! once, [`route`] decides (pure), [`deliver`] writes. Knows nothing of agents, events or policy: a notice is a title and a body.
//!
//! The rules come from measurements with tmux 3.2a–3.8, kitty, foot and Ghostty's engine. The central one: a raw OSC written
//! to a client's own tty arrives whatever tmux is showing, while DCS passthrough through the pane's tty is lost for every pane
//! that is not on screen, in copy-mode and under load.

mod deliver;
mod explain;
mod identify;
mod look;
mod osc;
mod route;
mod scene;
mod socket;
mod tmux;
mod tty;

pub use deliver::{Delivery, Sent, deliver, ring};
pub use explain::explain;
pub use identify::{Preferences, may_pass_screen, outside_protocol};
pub use osc::{Notice, Urgency, Wrap, for_screen, sequence, wrap};
pub use route::{Attempt, Hop, Route, Through, Trouble, route};
pub use scene::{Attention, Origin, Place, Reach, Scene};
pub use tty::is_terminal_path;
