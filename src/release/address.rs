//! The base URL of a release source, taken apart. Knows nothing of requests.

use std::fmt;
use std::net::IpAddr;

use super::Error;

/// A base URL: `SCHEME://HOST[:PORT][/PREFIX…]/OWNER/REPOSITORY`. The last two parts of the path name the repository; what
/// stands before them is the address of a releases API of GitHub's form, which is asked for
/// `…/repos/OWNER/REPOSITORY/releases`. Examples:
///
/// - `https://api.github.com/OWNER/REPOSITORY`
/// - `https://git.example.org/api/v3/OWNER/REPOSITORY` (GitHub Enterprise)
/// - `http://127.0.0.1:8000/OWNER/REPOSITORY` (a mirror or a test on this host)
///
/// `http` is accepted for loopback hosts only. No user name or password, query or fragment; a slash at the end is ignored.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    /// Scheme, host, port and prefix, without a slash at the end.
    api: String,
    owner: String,
    repository: String,
    loopback: bool,
}

impl Address {
    pub(super) fn parse(base_url: &str) -> Result<Self, Error> {
        let bad = Error::bad_source;
        let (scheme, rest) = base_url.trim().split_once("://").ok_or_else(|| bad("it does not begin with https://"))?;
        let mut parts = rest.trim_end_matches('/').split('/');
        let authority = parts.next().unwrap_or_default();
        let host = host(authority).ok_or_else(|| bad("the host or port is not valid"))?;
        let loopback = is_loopback(host);
        if scheme.eq_ignore_ascii_case("http") {
            if !loopback {
                return Err(bad("plain http is accepted for loopback hosts only"));
            }
        } else if !scheme.eq_ignore_ascii_case("https") {
            return Err(bad("the scheme is neither https nor http"));
        }
        let mut path: Vec<&str> = parts.collect();
        if !path.iter().all(|part| is_plain(part)) {
            return Err(bad("the path has a part that is empty or not plain text"));
        }
        let (Some(repository), Some(owner)) = (path.pop(), path.pop()) else {
            return Err(bad("the path does not end in OWNER/REPOSITORY"));
        };
        let mut api = format!("{}://{}", scheme.to_ascii_lowercase(), authority.to_ascii_lowercase());
        for part in path {
            api.push('/');
            api.push_str(part);
        }
        Ok(Self { api, owner: owner.to_owned(), repository: repository.to_owned(), loopback })
    }

    #[cfg(feature = "self-update")]
    pub(super) fn api(&self) -> &str {
        &self.api
    }

    #[cfg(feature = "self-update")]
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    #[cfg(feature = "self-update")]
    pub(super) fn repository(&self) -> &str {
        &self.repository
    }

    /// The host is this machine: no proxy, and plain http is acceptable.
    #[must_use]
    pub const fn is_loopback(&self) -> bool {
        self.loopback
    }
}

/// The base URL in its plain form: holds letters, digits and `-._:/[]` only.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.api, self.owner, self.repository)
    }
}

/// The host of `HOST[:PORT]`, brackets of an IPv6 address kept; `None` if one of the two cannot be right.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.rfind(']') {
        Some(end) => authority.split_at(end + 1),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port_is_right = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let host_is_right = match bracketed(host) {
        Some(inner) => matches!(inner.parse(), Ok(IpAddr::V6(_))),
        None => is_plain(host),
    };
    (port_is_right && host_is_right).then_some(host)
}

fn bracketed(host: &str) -> Option<&str> {
    host.strip_prefix('[')?.strip_suffix(']')
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || bracketed(host).unwrap_or(host).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A name that needs no escaping and is no step of a path.
fn is_plain(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::ErrorKind;

    #[test]
    fn the_last_two_parts_of_the_path_are_owner_and_repository() {
        for (base_url, api, shown) in [
            ("https://api.example.org/o/r", "https://api.example.org", "https://api.example.org/o/r"),
            (" HTTPS://Host.example:8443/api/v3/O/R.x/ ", "https://host.example:8443/api/v3", "https://host.example:8443/api/v3/O/R.x"),
            ("http://[::1]:80/o/r", "http://[::1]:80", "http://[::1]:80/o/r"),
            ("http://LOCALHOST/o/r", "http://localhost", "http://localhost/o/r"),
        ] {
            let address = Address::parse(base_url).unwrap();
            assert_eq!((address.api.as_str(), address.to_string().as_str()), (api, shown));
        }
    }

    #[test]
    fn plain_http_is_for_loopback_hosts_only() {
        for host in ["127.0.0.1", "127.255.0.9:1", "localhost:65535", "[::1]"] {
            assert!(Address::parse(&format!("http://{host}/o/r")).unwrap().is_loopback(), "{host}");
        }
        for host in ["host.example", "10.0.0.1", "localhost.example", "127.0.0.1.example", "[::2]", "0.0.0.0"] {
            assert_eq!(Address::parse(&format!("http://{host}/o/r")).unwrap_err().kind(), ErrorKind::BadSource, "{host}");
            assert!(!Address::parse(&format!("https://{host}/o/r")).unwrap().is_loopback(), "{host}");
        }
    }

    #[test]
    fn what_is_not_a_base_url_is_refused() {
        for base_url in [
            "",
            "host.example/o/r",
            "file:///o/r",
            "ftp://host.example/o/r",
            "https://",
            "https://host.example",
            "https://host.example/",
            "https://host.example/r",
            "https://host.example//r",
            "https://host.example/../r",
            "https://host.example/o/r?x=1",
            "https://host.example/o/r#x",
            "https://host.example/o/r%2f",
            "https://host.example/o/r\u{1b}]0;x\u{7}",
            "https://user:secret@host.example/o/r",
            "https://host.example:0/o/r",
            "https://host.example:65536/o/r",
            "https://host.example:/o/r",
            "https://[::1/o/r",
            "https://[127.0.0.1]/o/r",
            "http://user@127.0.0.1/o/r",
        ] {
            assert_eq!(Address::parse(base_url).unwrap_err().kind(), ErrorKind::BadSource, "{base_url}");
        }
    }
}
