//! The requests, by the `self_update` crate. It is handed an own HTTP agent: its default would send a request for this
//! host through a proxy, and follow a redirect from https to plain http.

use std::cmp::Ordering;
use std::error::Error as _;
use std::io;

use self_update::ureq;
use self_update::version::cmp_versions;

use super::{Address, Error, Source};

/// The triple of the released artefact for this machine: always the static one, whatever this build is linked against.
#[cfg(target_arch = "x86_64")]
const TARGET: &str = "x86_64-unknown-linux-musl";
#[cfg(target_arch = "aarch64")]
const TARGET: &str = "aarch64-unknown-linux-musl";
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const TARGET: &str = "unknown";

/// The highest released version above `current`, without its `v`.
pub(super) fn newest_after(source: &Source, current: &str) -> Result<Option<String>, Error> {
    // The crate takes an unreadable version of our own for "nothing is newer".
    cmp_versions(current, current).map_err(|_| Error::internal(format!("{current:?} is no semantic version")))?;
    let releases = self_update::backends::github::Update::configure()
        .api_base_url(source.address.api())
        .repo_owner(source.address.owner())
        .repo_name(source.address.repository())
        .bin_name("agent-notify")
        .target(TARGET)
        .current_version(current)
        .unattended()
        .ureq_agent(agent(source))
        .build()
        .and_then(|update| update.get_newer_releases())
        .map_err(|error| explain(source, &error))?;
    let versions = releases.all().iter().map(self_update::Release::version);
    Ok(versions
        .filter(|version| !is_prerelease(version))
        .max_by(|one, other| cmp_versions(one, other).unwrap_or(Ordering::Equal))
        .map(str::to_owned))
}

/// The part of a semantic version before its build data holds a hyphen.
fn is_prerelease(version: &str) -> bool {
    version.split('+').next().is_some_and(|part| part.contains('-'))
}

fn agent(source: &Source) -> ureq::Agent {
    let loopback = source.address.is_loopback();
    ureq::Agent::config_builder()
        .timeout_global(Some(source.timeout))
        .https_only(!loopback)
        .max_redirects(5)
        .proxy(if loopback { None } else { ureq::Proxy::try_from_env() })
        // The crate wants to see a failed answer's headers, for the rate limit.
        .http_status_as_error(false)
        .build()
        .into()
}

fn explain(source: &Source, error: &self_update::Error) -> Error {
    let address = &source.address;
    match error {
        self_update::Error::RateLimited { .. } => Error::rate_limited(address, error.rate_limit_delay()),
        self_update::Error::InvalidResponse { .. } | self_update::Error::Json(_) | self_update::Error::MissingAssetField { .. } => {
            // Also a body that broke off: the crate reads and parses in one go.
            transport(source, error.source()).unwrap_or_else(|| Error::malformed(address))
        }
        self_update::Error::Transport(_) | self_update::Error::Io(_) => {
            transport(source, Some(error)).unwrap_or_else(|| Error::unreachable(address, "the connection broke"))
        }
        other => match other.http_status() {
            Some(status) => Error::refused(address, status),
            None => Error::internal(other.to_string()),
        },
    }
}

/// Finds the transport's own error in a chain of sources. An `io::Error` hides the error that it wraps from `source()`.
fn transport(source: &Source, chain: Option<&(dyn std::error::Error + 'static)>) -> Option<Error> {
    let mut link = chain;
    while let Some(error) = link {
        if let Some(error) = error.downcast_ref::<ureq::Error>() {
            return Some(explain_transport(source, error));
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>()) {
                return Some(explain_transport(source, inner));
            }
            return Some(explain_io(source, error));
        }
        link = error.source();
    }
    None
}

fn explain_transport(source: &Source, error: &ureq::Error) -> Error {
    let address: &Address = &source.address;
    let reason = match error {
        ureq::Error::Timeout(_) => return Error::timed_out(address, source.timeout),
        ureq::Error::Io(error) => return explain_io(source, error),
        ureq::Error::HostNotFound => "the host name is not known",
        ureq::Error::TooManyRedirects | ureq::Error::RedirectFailed => "it redirects without end",
        ureq::Error::RequireHttpsOnly(_) => "it redirects to an address without TLS",
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "no trusted TLS connection",
        ureq::Error::Protocol(_) => "it does not speak HTTP",
        _ => "no connection",
    };
    Error::unreachable(address, reason)
}

fn explain_io(source: &Source, error: &io::Error) -> Error {
    let reason = match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => return Error::timed_out(&source.address, source.timeout),
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "the connection broke",
        // How rustls reports its errors.
        io::ErrorKind::InvalidData => "no trusted TLS connection",
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => "no route to the host",
        _ => "no connection, or the host name is not known",
    };
    Error::unreachable(&source.address, reason)
}
