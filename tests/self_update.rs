//! `release::check` against a real HTTP server on the loopback interface: what the server says, and every way to fail.
#![cfg(feature = "self-update")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use agent_notify::release::{Check, Error, ErrorKind, Source, check};

/// What the server does with each connection, after it has read the request.
type Answer = fn(path: &str, client: &mut TcpStream);

/// A server that is not stopped: its thread ends with the test process.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn that(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let mut lines = BufReader::new(client.try_clone().expect("a second handle")).lines();
                let Some(Ok(first)) = lines.next() else { continue };
                while matches!(lines.next(), Some(Ok(header)) if !header.is_empty()) {}
                let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                log.lock().expect("no panic in this thread").push(first);
                answer(&path, &mut client);
            }
        });
        Self { port, requests }
    }

    fn check(&self, current: &str) -> Result<Check, Error> {
        let mut source = Source::new(&format!("http://127.0.0.1:{}/some-owner/agent-notify", self.port)).expect("a valid base URL");
        source.timeout = Duration::from_secs(5);
        check(&source, current)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic in that thread").clone()
    }
}

fn respond(client: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    // The client may be gone on purpose.
    let _ = client.write_all(answer.as_bytes());
}

fn releases(client: &mut TcpStream, tags: &[&str]) {
    let list: Vec<String> = tags
        .iter()
        .map(|tag| {
            format!(r#"{{"tag_name":"{tag}","created_at":"2026-01-01T00:00:00Z","name":"{tag}","url":"x","body":null,"draft":false,"prerelease":false,"assets":[]}}"#)
        })
        .collect();
    respond(client, "200 OK", "", &format!("[{}]", list.join(",")));
}

fn newer(current: &str, latest: &str) -> Result<Check, Error> {
    Ok(Check::Newer { current: current.to_owned(), latest: latest.to_owned() })
}

fn up_to_date(current: &str) -> Result<Check, Error> {
    Ok(Check::UpToDate { current: current.to_owned() })
}

#[track_caller]
fn assert_fails(outcome: Result<Check, Error>, kind: ErrorKind, words: &str) {
    let error = outcome.expect_err("the check fails");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.what().contains(words), "{error}");
    assert!(!error.hint().is_empty());
}

#[test]
fn the_highest_release_is_newer_wherever_it_stands_in_the_list() {
    let server = Server::that(|_, client| releases(client, &["v0.1.9", "v0.10.0", "v0.9.0", "v0.1.0"]));
    assert_eq!(server.check("0.1.0"), newer("0.1.0", "0.10.0"));
    assert_eq!(server.requests(), ["GET /repos/some-owner/agent-notify/releases?per_page=100 HTTP/1.1"]);
}

#[test]
fn the_same_release_and_an_older_one_are_not_newer() {
    let server = Server::that(|_, client| releases(client, &["v0.2.0", "v0.1.0"]));
    assert_eq!(server.check("0.2.0"), up_to_date("0.2.0"));
    assert_eq!(server.check("0.3.0"), up_to_date("0.3.0"));
}

#[test]
fn a_prerelease_is_not_newer_but_a_release_is_newer_than_its_prerelease() {
    let server = Server::that(|_, client| releases(client, &["v2.0.0-rc.1", "v1.0.0", "v1.0.0+build-2"]));
    assert_eq!(server.check("1.0.0+build-2"), up_to_date("1.0.0+build-2"));
    assert_eq!(server.check("1.1.0"), up_to_date("1.1.0"));
    assert_eq!(server.check("1.0.0-rc.1"), newer("1.0.0-rc.1", "1.0.0+build-2"));
}

#[test]
fn tags_that_are_no_version_are_passed_over_and_no_release_is_up_to_date() {
    let server = Server::that(|_, client| releases(client, &["nightly", "v\\u001b[31m", "v0.2.0"]));
    assert_eq!(server.check("0.1.0"), newer("0.1.0", "0.2.0"));
    let empty = Server::that(|_, client| releases(client, &[]));
    assert_eq!(empty.check("0.1.0"), up_to_date("0.1.0"));
}

#[test]
fn an_answer_that_is_no_list_of_releases_is_malformed() {
    let answers: [Answer; 6] = [
        |_, client| respond(client, "200 OK", "", ""),
        |_, client| respond(client, "200 OK", "", "{"),
        |_, client| respond(client, "200 OK", "", "<html>"),
        |_, client| respond(client, "200 OK", "", r#"{"message":"x"}"#),
        |_, client| respond(client, "200 OK", "", "[1]"),
        |_, client| respond(client, "200 OK", "", r#"[{"tag_name":"v9.0.0"}]"#),
    ];
    for answer in answers {
        assert_fails(Server::that(answer).check("0.1.0"), ErrorKind::Malformed, "no list of releases");
    }
}

#[test]
fn a_spent_quota_is_told_from_a_refusal_and_says_how_long_to_wait() {
    let spent = Server::that(|_, client| respond(client, "403 Forbidden", "retry-after: 90\r\nx-ratelimit-remaining: 0\r\n", "{}"));
    assert_fails(spent.check("0.1.0"), ErrorKind::RateLimited, "wait 2 min");
    let forbidden = Server::that(|_, client| respond(client, "403 Forbidden", "", "{}"));
    assert_fails(forbidden.check("0.1.0"), ErrorKind::Refused, "403");
}

#[test]
fn other_statuses_are_named() {
    let broken = Server::that(|_, client| respond(client, "500 Internal Server Error", "", "\u{1b}]0;x\u{7}"));
    assert_fails(broken.check("0.1.0"), ErrorKind::Refused, "500");
    let absent = Server::that(|_, client| respond(client, "404 Not Found", "", "{}"));
    assert_fails(absent.check("0.1.0"), ErrorKind::Refused, "404");
    assert_eq!(broken.requests().len(), 1, "no retry");
}

#[test]
fn a_closed_port_is_unreachable() {
    // Bound and dropped, on an address where no other test listens.
    let port = TcpListener::bind("127.0.0.2:0").and_then(|listener| listener.local_addr()).expect("a free port").port();
    let source = Source::new(&format!("http://127.0.0.2:{port}/o/r")).expect("a valid base URL");
    assert_fails(check(&source, "0.1.0"), ErrorKind::Unreachable, "connection refused");
}

#[test]
fn a_server_without_tls_is_no_source_for_https() {
    // Not a `Server`: that one reads lines, and the beginning of a TLS connection has none.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 4096]);
            releases(&mut client, &["v0.2.0"]);
        }
    });
    let source = Source::new(&format!("https://127.0.0.1:{port}/o/r")).expect("a valid base URL");
    assert_fails(check(&source, "0.1.0"), ErrorKind::Unreachable, "TLS");
}

#[test]
fn a_connection_that_breaks_off_is_unreachable() {
    let silent = Server::that(|_, _| {});
    assert_fails(silent.check("0.1.0"), ErrorKind::Unreachable, "");
    let cut = Server::that(|_, client| {
        let _ = client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n[");
    });
    assert_fails(cut.check("0.1.0"), ErrorKind::Unreachable, "");
    let noise = Server::that(|_, client| {
        let _ = client.write_all(b"SSH-2.0-x\r\n\r\n");
    });
    assert_fails(noise.check("0.1.0"), ErrorKind::Unreachable, "HTTP");
}

#[test]
fn a_server_that_hangs_ends_in_time() {
    let before_the_answer: Answer = |_, _| thread::sleep(Duration::from_secs(20));
    let within_the_body: Answer = |_, client| {
        let _ = client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n[");
        thread::sleep(Duration::from_secs(20));
    };
    for answer in [before_the_answer, within_the_body] {
        let server = Server::that(answer);
        let mut source = Source::new(&format!("http://127.0.0.1:{}/o/r", server.port)).expect("a valid base URL");
        source.timeout = Duration::from_millis(300);
        let start = Instant::now();
        assert_fails(check(&source, "0.1.0"), ErrorKind::TimedOut, "300ms");
        // Bounded, not fast: far below the server's own patience.
        assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    }
}

#[test]
fn a_redirect_is_followed_but_not_without_end() {
    let server = Server::that(|path, client| {
        if path == "/moved" {
            releases(client, &["v0.2.0"]);
        } else {
            respond(client, "302 Found", "location: /moved\r\n", "");
        }
    });
    assert_eq!(server.check("0.1.0"), newer("0.1.0", "0.2.0"));
    let endless = Server::that(|_, client| respond(client, "302 Found", "location: /again\r\n", ""));
    assert_fails(endless.check("0.1.0"), ErrorKind::Unreachable, "redirects without end");
    assert!(endless.requests().len() < 10);
}

#[test]
fn an_own_version_that_is_none_is_an_error_not_up_to_date() {
    let server = Server::that(|_, client| releases(client, &["v0.2.0"]));
    assert_fails(server.check("one"), ErrorKind::Internal, "no semantic version");
}
