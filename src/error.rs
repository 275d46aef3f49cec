//! The one error type for people: what, where, why, what to do. Worded here and nowhere else.

use std::fmt;
use std::path::PathBuf;

/// An error that a person reads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    pub what: String,
    pub path: Option<PathBuf>,
    /// Line and column, both from 1.
    pub position: Option<(usize, usize)>,
    pub why: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Error {
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), path: None, position: None, why: None, hint: None }
    }

    #[must_use]
    pub fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    #[must_use]
    pub fn at(mut self, line: usize, column: usize) -> Self {
        self.position = Some((line, column));
        self
    }

    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// One line without the hint, which is printed apart: `what: PATH:LINE:COLUMN: why`.
impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)?;
        match (&self.path, self.position) {
            (Some(path), Some((line, column))) => write!(formatter, ": {}:{line}:{column}", path.display())?,
            (Some(path), None) => write!(formatter, ": {}", path.display())?,
            (None, Some((line, column))) => write!(formatter, ": line {line}, column {column}")?,
            (None, None) => {}
        }
        if let Some(why) = &self.why {
            write!(formatter, ": {why}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_where_and_why() {
        let error = Error::new("not read").path("/x").at(3, 7).because("bad").hint("mend it");
        assert_eq!(error.to_string(), "not read: /x:3:7: bad");
    }
}
