//! Releases: where they are published and whether one is newer than this program. Shared by everything that fetches a
//! binary. Knows nothing of the command line and of what becomes of a release; prints nothing, asks nothing.

mod address;
mod error;
#[cfg_attr(not(feature = "self-update"), path = "no_fetch.rs")]
mod fetch;

use std::time::Duration;

use crate::environment::{Env, name};

pub use address::Address;
pub use error::{Error, ErrorKind};

/// How long one request may take, from name look-up to the last byte.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where releases come from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Source {
    pub address: Address,
    /// Limit for each request.
    pub timeout: Duration,
}

impl Source {
    /// Reads a base URL; its form is described at [`Address`].
    ///
    /// # Errors
    /// [`ErrorKind::BadSource`].
    pub fn new(base_url: &str) -> Result<Self, Error> {
        Ok(Self { address: Address::parse(base_url)?, timeout: TIMEOUT })
    }

    /// `$AGENT_NOTIFY_BASE_URL`, else the value of `self_update.base_url`. There is no default: a program must not fetch
    /// its successor from a place that nobody has chosen.
    ///
    /// # Errors
    /// [`ErrorKind::NoSource`], [`ErrorKind::BadSource`].
    pub fn find(env: &Env, configured: Option<&str>) -> Result<Self, Error> {
        let from_environment = env.get(name::AGENT_NOTIFY_BASE_URL);
        let chosen = from_environment.as_deref().or(configured).map(str::trim).filter(|url| !url.is_empty());
        Self::new(chosen.ok_or_else(Error::no_source)?)
    }
}

/// The outcome of asking for a newer release.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Check {
    UpToDate {
        current: String,
    },
    /// `latest` is a semantic version without a leading `v`, so it is safe to print.
    Newer {
        current: String,
        latest: String,
    },
}

/// Asks the source whether it has a release newer than `current`. A version with a prerelease part (`1.2.0-rc.1`) is
/// never newer; tags that are no semantic version are passed over. One GET for each hundred releases; no retry.
///
/// # Errors
/// Each kind of [`ErrorKind`] but the two of [`Source::find`].
pub fn check(source: &Source, current: &str) -> Result<Check, Error> {
    let newest = fetch::newest_after(source, current)?;
    let current = current.to_owned();
    Ok(match newest {
        Some(latest) => Check::Newer { current, latest },
        None => Check::UpToDate { current },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_beats_the_configuration_and_nothing_is_the_default() {
        let env = Env::from_iter([("AGENT_NOTIFY_BASE_URL", "http://127.0.0.1:1/o/r")]);
        let found = Source::find(&env, Some("https://host.example/o/r")).unwrap();
        assert_eq!(found.address.to_string(), "http://127.0.0.1:1/o/r");

        let blank = Env::from_iter([("AGENT_NOTIFY_BASE_URL", " ")]);
        let found = Source::find(&blank, Some("https://host.example/o/r")).unwrap();
        assert_eq!(found.address.to_string(), "https://host.example/o/r");

        assert_eq!(Source::find(&blank, Some("")).unwrap_err().kind(), ErrorKind::NoSource);
        assert_eq!(Source::find(&blank, None).unwrap_err().kind(), ErrorKind::NoSource);
    }

    #[cfg(not(feature = "self-update"))]
    #[test]
    fn a_build_without_the_updater_says_so() {
        let source = Source::new("https://host.example/o/r").unwrap();
        assert_eq!(check(&source, "0.1.0").unwrap_err().kind(), ErrorKind::NotBuilt);
    }
}
