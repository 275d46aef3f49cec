//! Several installers at once, with an agent that reads its file all the time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;

use crate::host::{HOOKS, Host, SETTINGS};
use crate::support::Job;

const INSTALLERS: usize = 8;

/// Reads a file over and over while `during` runs: it always holds the whole of one content or the other.
fn while_read(host: &Host, path: &str, during: impl FnOnce()) {
    let (ended, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let bytes = std::fs::read(host.path(path)).expect("the file is there at any time");
                let value: Value = serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"));
                assert_eq!(value["mine"], "kept");
                reads.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        during();
        ended.store(true, Ordering::Relaxed);
    });
    assert!(reads.load(Ordering::Relaxed) > 10);
}

fn all_at_once(host: &Host, arguments: &[&str]) {
    let jobs: Vec<Job> = (0..INSTALLERS).map(|_| host.command(arguments).script()).collect();
    jobs.iter().for_each(Job::start_detached);
    for job in jobs {
        job.wait().success();
    }
}

#[test]
fn eight_installers_make_one_transaction() {
    let host = Host::new();
    let original = "{\n  \"mine\": \"kept\"\n}\n";
    host.write(SETTINGS, original);
    while_read(&host, SETTINGS, || all_at_once(&host, &["install", "--yes", "--no-test"]));
    assert_eq!(host.transactions().len(), 1);
    host.run(&["install", "--check"]).success();
    let settings = host.json(SETTINGS);
    for event in ["Stop", "StopFailure", "PermissionRequest", "Notification"] {
        assert_eq!(settings["hooks"][event].as_array().map(Vec::len), Some(1), "{event}");
    }
    assert_eq!(host.json(HOOKS)["hooks"]["stop"].as_array().map(Vec::len), Some(1));

    while_read(&host, SETTINGS, || all_at_once(&host, &["uninstall", "--yes"]));
    assert_eq!(host.transactions().len(), 2);
    assert_eq!(host.text(SETTINGS), original);
    assert!(!host.exists(HOOKS));
}

/// However the two kinds interleave, each run sees a whole state, and the last word is a valid one.
#[test]
fn installers_and_uninstallers_do_not_mix_up_a_file() {
    let host = Host::empty().with_claude();
    let original = "{ \"mine\": \"kept\" }";
    host.write(SETTINGS, original);
    while_read(&host, SETTINGS, || {
        let kinds = [["install", "--yes", "--no-test"].as_slice(), &["uninstall", "--yes"]];
        let jobs: Vec<Job> = (0..INSTALLERS).map(|index| host.command(kinds[index % 2]).script()).collect();
        jobs.iter().for_each(Job::start_detached);
        for job in jobs {
            job.wait().success();
        }
    });
    host.uninstall();
    assert_eq!(host.text(SETTINGS), original);
}
