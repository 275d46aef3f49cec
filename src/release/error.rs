//! What can go wrong with releases, worded in one place: what happened, and what to do about it.

use std::fmt;

use super::Address;

/// What a caller can tell apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorKind {
    /// No base URL is set.
    NoSource,
    /// The base URL is not of the accepted form.
    BadSource,
    /// Built without the feature `self-update`.
    NotBuilt,
    /// No connection, or it broke.
    Unreachable,
    /// No full answer in time.
    TimedOut,
    /// The server counts requests, and these were too many.
    RateLimited,
    /// The server answered with a status that is no success.
    Refused,
    /// The server answered something that is no list of releases.
    Malformed,
    /// The updater itself failed.
    Internal,
}

/// An error of this module. Holds no text from a server, so it is safe to print.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    hint: &'static str,
}

impl Error {
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What happened, as it is displayed.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What the person can do.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        self.hint
    }

    const fn new(kind: ErrorKind, what: String, hint: &'static str) -> Self {
        Self { kind, what, hint }
    }

    pub(super) fn no_source() -> Self {
        let what = "no release source is set, and there is no default".to_owned();
        Self::new(ErrorKind::NoSource, what, "set AGENT_NOTIFY_BASE_URL or self_update.base_url to https://HOST/OWNER/REPOSITORY")
    }

    /// Does not repeat the URL: it may hold a password or control characters.
    pub(super) fn bad_source(reason: &str) -> Self {
        let what = format!("the base URL for releases cannot be used: {reason}");
        Self::new(ErrorKind::BadSource, what, "it has the form https://HOST[:PORT][/PREFIX]/OWNER/REPOSITORY")
    }

    #[cfg(not(feature = "self-update"))]
    pub(super) fn not_built(address: &Address) -> Self {
        let what = format!("{address} was not asked: this build has no updater");
        Self::new(ErrorKind::NotBuilt, what, "update it the way it was installed, or build it with the feature self-update")
    }
}

#[cfg(feature = "self-update")]
impl Error {
    pub(super) fn unreachable(address: &Address, reason: &str) -> Self {
        let what = format!("{address} cannot be reached: {reason}");
        Self::new(ErrorKind::Unreachable, what, "check the network, the proxy variables and the base URL")
    }

    pub(super) fn timed_out(address: &Address, limit: std::time::Duration) -> Self {
        let what = format!("{address} gave no full answer within {limit:?}");
        Self::new(ErrorKind::TimedOut, what, "try again later, or check the network and the proxy variables")
    }

    pub(super) fn rate_limited(address: &Address, wait: Option<std::time::Duration>) -> Self {
        let wait = wait.map_or_else(String::new, |wait| format!("; it asks to wait {} min", wait.as_secs().div_ceil(60)));
        let what = format!("{address} takes no more requests from this address for now{wait}");
        Self::new(ErrorKind::RateLimited, what, "try again later; the limit is shared by all behind one public address")
    }

    pub(super) fn refused(address: &Address, status: u16) -> Self {
        let hint = match status {
            404 => "the base URL is that of a releases API followed by /OWNER/REPOSITORY, such as https://api.github.com/OWNER/REPOSITORY",
            500..=599 => "the server has a fault: try again later",
            _ => "check the base URL; a private repository is not supported",
        };
        Self::new(ErrorKind::Refused, format!("{address} answered with HTTP status {status}"), hint)
    }

    pub(super) fn malformed(address: &Address) -> Self {
        let what = format!("the answer of {address} is no list of releases");
        Self::new(ErrorKind::Malformed, what, "check that the base URL names a releases API, not a web page")
    }

    pub(super) fn internal(what: String) -> Self {
        Self::new(ErrorKind::Internal, what, "please report this")
    }
}

/// One line, without the hint, which is printed apart.
impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for Error {}
impl From<Error> for crate::error::Error {
    fn from(error: Error) -> Self {
        Self::new(error.what).hint(error.hint)
    }
}
