//! The ways in which a terminal can be asked for a notification: plain data.

use std::fmt;

/// Exactly one of these is sent to a terminal: several would notify twice (kitty, foot and Ghostty know more than one).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// `ESC ] 777 ; notify ; title ; body BEL`: Ghostty, foot, WezTerm, Konsole, …
    Osc777,
    /// `ESC ] 9 ; text BEL`: iTerm2.
    Osc9,
    /// `ESC ] 99 ; metadata ; payload ST`, kitty's own, in two chunks.
    Osc99,
    /// The terminal shows no notifications; a BEL is all it understands.
    Bel,
}

impl Protocol {
    pub const ALL: [Self; 4] = [Self::Osc777, Self::Osc9, Self::Osc99, Self::Bel];

    /// The name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Osc777 => "osc777",
            Self::Osc9 => "osc9",
            Self::Osc99 => "osc99",
            Self::Bel => "bell",
        }
    }

    /// Reads a name in any letter case; `bel` is `bell`, too.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("bel") { Self::Bel.name() } else { name };
        Self::ALL.into_iter().find(|protocol| protocol.name().eq_ignore_ascii_case(name))
    }

    /// The name for people: `OSC 777`.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Osc777 => "OSC 777",
            Self::Osc9 => "OSC 9",
            Self::Osc99 => "OSC 99",
            Self::Bel => "BEL",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_in_any_letter_case() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::parse(&protocol.name().to_uppercase()), Some(protocol));
        }
        assert_eq!(Protocol::parse("bel"), Some(Protocol::Bel));
        assert_eq!(Protocol::parse("osc7"), None);
    }
}
