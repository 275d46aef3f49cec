//! The least that a hook can do: read all of stdin, parse it as JSON, print one line.

use std::io::{Read, Write};

fn main() {
    let mut input = Vec::new();
    let parsed = std::io::stdin().read_to_end(&mut input).ok().and_then(|_| serde_json::from_slice::<serde_json::Value>(&input).ok());
    let event = parsed.as_ref().and_then(|value| value["hook_event_name"].as_str()).unwrap_or("none");
    // A closed stdout is the caller's business.
    let _ = writeln!(std::io::stdout(), "{event}");
}
