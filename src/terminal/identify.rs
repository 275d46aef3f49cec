//! Which terminal it is, and which protocol it understands: tables over names. Pure but for the environment's values.
//!
//! Inside tmux a terminal is known by what it answered to XTVERSION (`client_termtype`), then by its TERM
//! (`client_termname`). The variables of a pane (TERM_PROGRAM and its kin) are those of whatever terminal once *started the
//! server*, and are never used there.

use crate::environment::{Env, name};
use crate::event::Text;
use crate::protocol::Protocol::{self, Bel, Osc9, Osc99, Osc777};

/// Bytes of a terminal's name in the route and the log.
const NAME_LIMIT: usize = 48;

/// What the person wants of the way to the terminal.
#[derive(Clone, Debug)]
pub struct Preferences {
    /// Beats everything that is known of a terminal.
    pub forced: Option<Protocol>,
    /// For a terminal that is not known.
    pub fallback: Protocol,
    /// Beginning of a terminal's name, in any letter case, to protocol; the longest one that fits wins over the table.
    pub terminals: Vec<(String, Protocol)>,
    /// Every attached client instead of the best one.
    pub all_clients: bool,
    /// tmux layers that cannot be seen from here, behind one that can.
    pub extra_layers: u8,
}

impl Default for Preferences {
    fn default() -> Self {
        Self { forced: None, fallback: Osc777, terminals: Vec::new(), all_clients: false, extra_layers: 0 }
    }
}

/// A terminal as far as it is known.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Identity {
    /// For people: `Ghostty 1.3.1`; empty if nothing is known.
    pub(super) name: String,
    /// The names that `Preferences::terminals` is compared with.
    pub(super) subjects: Vec<String>,
    /// From the table; `None` if the terminal is not in it.
    pub(super) protocol: Option<Protocol>,
}

struct Known {
    /// Beginning of the name, lower case.
    prefix: &'static str,
    title: &'static str,
    protocol: Protocol,
}

const fn known(prefix: &'static str, title: &'static str, protocol: Protocol) -> Known {
    Known { prefix, title, protocol }
}

/// Answers to XTVERSION.
const TERMTYPES: &[Known] = &[
    known("ghostty", "Ghostty", Osc777),
    known("kitty", "kitty", Osc99),
    known("wezterm", "WezTerm", Osc777),
    known("foot", "foot", Osc777),
    known("iterm2", "iTerm2", Osc9),
    known("konsole", "Konsole", Osc777),
    known("contour", "Contour", Osc777),
    known("rio ", "Rio", Osc777),
    known("warp", "Warp", Osc777),
    // Free text by OSC 777 exists only behind a legacy flag of VTE, and OSC 9 is ConEmu's progress.
    known("vte(", "VTE", Bel),
    known("xterm(", "xterm", Bel),
];

/// Values of TERM that name one terminal. `xterm-256color` names none: everybody uses it.
const TERMNAMES: &[Known] = &[
    known("xterm-ghostty", "Ghostty", Osc777),
    known("ghostty", "Ghostty", Osc777),
    known("xterm-kitty", "kitty", Osc99),
    known("foot", "foot", Osc777),
    known("wezterm", "WezTerm", Osc777),
    known("konsole", "Konsole", Osc777),
    known("contour", "Contour", Osc777),
    known("rio", "Rio", Osc777),
    known("xterm-rio", "Rio", Osc777),
    known("alacritty", "Alacritty", Bel),
    known("vte", "VTE", Bel),
    known("linux", "Linux console", Bel),
];

/// Values of TERM_PROGRAM.
const TERM_PROGRAMS: &[Known] = &[
    known("ghostty", "Ghostty", Osc777),
    known("wezterm", "WezTerm", Osc777),
    known("iterm.app", "iTerm2", Osc9),
    known("kitty", "kitty", Osc99),
    known("vscode", "VS Code", Osc99),
    known("warpterminal", "Warp", Osc777),
    known("rio", "Rio", Osc777),
    known("zed", "Zed", Osc9),
    known("apple_terminal", "Apple Terminal", Bel),
];

/// Variables whose mere presence tells the terminal, in this order.
const MARKS: &[(&str, &str, Protocol)] = &[
    (name::ITERM_SESSION_ID, "iTerm2", Osc9),
    (name::KITTY_WINDOW_ID, "kitty", Osc99),
    (name::GHOSTTY_RESOURCES_DIR, "Ghostty", Osc777),
    (name::WEZTERM_PANE, "WezTerm", Osc777),
    (name::KONSOLE_VERSION, "Konsole", Osc777),
    (name::WT_SESSION, "Windows Terminal", Osc777),
    (name::VTE_VERSION, "VTE", Bel),
];

impl Identity {
    /// A terminal behind a tmux client, by its answer to XTVERSION (may be empty: not answered, or not yet) and its TERM.
    pub(super) fn of_client(termtype: &str, termname: &str) -> Self {
        let by_type = find(TERMTYPES, termtype);
        let by_name = find(TERMNAMES, termname);
        let mut subjects = Vec::new();
        if !termtype.is_empty() {
            subjects.push(termtype.to_owned());
        }
        if by_type.is_none() && !termname.is_empty() {
            subjects.push(termname.to_owned());
        }
        let name = match (by_type, by_name) {
            (Some(found), _) => format!("{}{}", found.title, version_suffix(termtype)),
            (None, Some(found)) => found.title.to_owned(),
            (None, None) => clean(if termtype.is_empty() { termname } else { termtype }),
        };
        Self { subjects: with_title(subjects, &name), name, protocol: by_type.or(by_name).map(|found| found.protocol) }
    }

    /// The terminal of a process that is in no multiplexer, by its environment.
    ///
    /// A TERM that names one terminal comes first: it is set by every terminal, while TERM_PROGRAM leaks into terminals that
    /// are started from another one and do not set it themselves (kitty, foot, Alacritty).
    pub(super) fn of_environment(env: &Env) -> Self {
        let term = env.get(name::TERM).unwrap_or_default();
        if let Some(found) = find(TERMNAMES, &term) {
            return Self::titled(found.title, found.protocol, vec![term]);
        }
        let program = env.get(name::TERM_PROGRAM).unwrap_or_default();
        if let Some(found) = find(TERM_PROGRAMS, &program) {
            return Self::titled(found.title, found.protocol, vec![program]);
        }
        // Survives ssh, as LC_* does by default on Debian and macOS.
        let terminal = env.get(name::LC_TERMINAL).unwrap_or_default();
        if let Some(found) = find(TERMTYPES, &terminal) {
            return Self::titled(found.title, found.protocol, vec![terminal]);
        }
        if let Some((_, title, protocol)) = MARKS.iter().find(|(mark, ..)| env.has(mark)) {
            return Self::titled(title, *protocol, Vec::new());
        }
        // The program that was found at tmux's beginning says nothing where tmux is out of sight.
        let program = if program == "tmux" { String::new() } else { program };
        let name = clean(if program.is_empty() { &term } else { &program });
        let subjects = [program, term].into_iter().filter(|subject| !subject.is_empty()).collect();
        Self { name, subjects, protocol: None }
    }

    /// A terminal or multiplexer that was recognised otherwise.
    pub(super) fn titled(title: &str, protocol: Protocol, subjects: Vec<String>) -> Self {
        Self { name: title.to_owned(), subjects: with_title(subjects, title), protocol: Some(protocol) }
    }

    /// A terminal out of sight behind something whose name is all that is known.
    pub(super) fn behind(subject: &str) -> Self {
        Self { name: String::new(), subjects: vec![subject.to_owned()], protocol: None }
    }

    /// The name, or what to say where there is none.
    pub(super) fn title(&self) -> String {
        if self.name.is_empty() { "unknown terminal".to_owned() } else { self.name.clone() }
    }

    /// The one protocol to use.
    pub(super) fn choose(&self, preferences: &Preferences) -> Protocol {
        let fits = |prefix: &str| {
            self.subjects
                .iter()
                .any(|subject| subject.as_bytes().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes())))
        };
        let wanted = preferences.terminals.iter().filter(|(prefix, _)| fits(prefix)).max_by_key(|(prefix, _)| prefix.len());
        preferences.forced.or(wanted.map(|(_, protocol)| *protocol)).or(self.protocol).unwrap_or(preferences.fallback)
    }
}

/// The protocol and the terminal's name for a process that is not in tmux, without any input or output.
#[must_use]
pub fn outside_protocol(env: &Env, preferences: &Preferences) -> (Protocol, String) {
    let (identity, multiplexer) = Multiplexer::of(env);
    let name = match multiplexer {
        Multiplexer::None => identity.title(),
        Multiplexer::Tmux => format!("{} behind tmux", identity.title()),
        Multiplexer::TmuxOrScreen => format!("{} behind tmux or GNU screen", identity.title()),
        Multiplexer::Screen => format!("{} behind GNU screen", identity.title()),
        Multiplexer::Zellij => format!("{} behind Zellij", identity.title()),
    };
    (identity.choose(preferences), name)
}

/// Whether what a process writes to its terminal may pass GNU screen. STY alone says so too, whatever TERM says: agents that
/// wrap for screen go by it.
#[must_use]
pub fn may_pass_screen(env: &Env) -> bool {
    env.has(name::STY) || Multiplexer::of(env).1.may_be_screen()
}

/// What stands between a process without TMUX and its terminal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Multiplexer {
    None,
    /// tmux on the other side of an ssh connection, or one that cannot be asked.
    Tmux,
    /// TERM says screen, but STY is missing, as it is beyond an ssh connection: a tmux with the TERM that was its default for
    /// years, or GNU screen. Wrapped for tmux, which screen passes too, and written as for screen.
    TmuxOrScreen,
    Screen,
    Zellij,
}

impl Multiplexer {
    /// By the variables that the multiplexers set; TMUX is not looked at.
    pub(super) fn of(env: &Env) -> (Identity, Self) {
        let term = env.get(name::TERM).unwrap_or_default();
        // STY leaks into a terminal that was started from inside screen: a TERM that names the terminal tells.
        if env.has(name::STY) && !term.starts_with("tmux") && find(TERMNAMES, &term).is_none() {
            let inner = term.strip_prefix("screen.").unwrap_or(&term);
            let identity = match find(TERMNAMES, inner) {
                Some(found) => Identity::titled(found.title, found.protocol, vec![inner.to_owned(), "screen".to_owned()]),
                None => Identity::behind("screen"),
            };
            return (identity, Self::Screen);
        }
        if env.has(name::ZELLIJ) {
            // Zellij ≥ 0.45 translates OSC 777 into what each of its terminals understands.
            let identity = Identity { protocol: Some(Osc777), ..Identity::behind("zellij") };
            return (identity, Self::Zellij);
        }
        if is_multiplexer(&term) {
            return (Identity::behind(&term), if may_be_screen(&term) { Self::TmuxOrScreen } else { Self::Tmux });
        }
        (Identity::of_environment(env), Self::None)
    }

    pub(super) const fn may_be_screen(self) -> bool {
        matches!(self, Self::TmuxOrScreen | Self::Screen)
    }
}

/// A TERM that tmux or GNU screen sets.
pub(super) fn is_multiplexer(term: &str) -> bool {
    term.starts_with("tmux") || may_be_screen(term)
}

/// A TERM that GNU screen sets, and older or cautious tmuxes.
pub(super) fn may_be_screen(term: &str) -> bool {
    term.starts_with("screen")
}

/// An environment that was not emptied: its terminal is named in it. Then TMUX is absent because there is no tmux.
pub(super) fn names_terminal(env: &Env) -> bool {
    let program = env.get(name::TERM_PROGRAM).is_some_and(|program| program != "tmux");
    program || env.get(name::TERM).is_some_and(|term| find(TERMNAMES, &term).is_some())
}

fn find<'a>(table: &'a [Known], text: &str) -> Option<&'a Known> {
    let text = text.to_ascii_lowercase();
    table.iter().find(|entry| text.starts_with(entry.prefix))
}

/// ` 1.3.1` from `ghostty 1.3.1`, ` 0.41.1` from `kitty(0.41.1)`.
fn version_suffix(termtype: &str) -> String {
    match termtype.split_once([' ', '(']) {
        Some((_, version)) => format!(" {}", clean(version.trim_end_matches(')'))).trim_end().to_owned(),
        None => String::new(),
    }
}

/// A name from outside, fit for a line on a screen.
pub(super) fn clean(raw: &str) -> String {
    Text::new(raw).cut(NAME_LIMIT).to_string()
}

fn with_title(mut subjects: Vec<String>, title: &str) -> Vec<String> {
    if !title.is_empty() {
        subjects.push(title.to_owned());
    }
    subjects
}

#[cfg(test)]
#[path = "identify_tests.rs"]
mod tests;
