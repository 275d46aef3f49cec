//! Payloads as agents send them, from `tests/fixtures/payloads/`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

/// Keys whose values name a session or a turn.
const IDS: [&str; 7] = ["session_id", "prompt_id", "turn_id", "thread-id", "turn-id", "conversation_id", "generation_id"];

static SESSIONS: AtomicU64 = AtomicU64::new(1);

/// Bytes for standard input (or, with Codex's `notify`, for the last argument).
#[derive(Clone, Debug)]
pub struct Payload(Vec<u8>);

impl Payload {
    /// As captured. Codex sends no final newline; its files have one, which is dropped.
    #[must_use]
    pub fn load(name: &str) -> Self {
        let mut bytes = std::fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        if name.starts_with("codex/") && bytes.ends_with(b"\n") {
            bytes.pop();
        }
        Self(bytes)
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8(self.0.clone()).expect("UTF-8")
    }

    /// The same with one field replaced or added.
    #[must_use]
    pub fn with(self, key: &str, value: impl Into<Value>) -> Self {
        self.edit(|object| {
            object.insert(key.to_owned(), value.into());
        })
    }

    /// The same from a session and a turn that nobody has seen before, so that nothing is a duplicate.
    #[must_use]
    pub fn fresh(self) -> Self {
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        self.edit(|object| {
            for key in IDS {
                if let Some(id) = object.get(key).and_then(Value::as_str) {
                    let stem: String = id.chars().take(24).collect();
                    object.insert(key.to_owned(), format!("{stem}{:06x}{number:06x}", std::process::id()).into());
                }
            }
        })
    }

    fn edit(self, change: impl FnOnce(&mut serde_json::Map<String, Value>)) -> Self {
        let newline = self.0.ends_with(b"\n");
        let mut value: Value = serde_json::from_slice(&self.0).expect("JSON");
        change(value.as_object_mut().expect("an object"));
        let mut bytes = serde_json::to_vec(&value).expect("JSON");
        if newline {
            bytes.push(b'\n');
        }
        Self(bytes)
    }
}

impl From<Payload> for Vec<u8> {
    fn from(payload: Payload) -> Self {
        payload.0
    }
}

/// The folder of all payloads.
#[must_use]
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads")
}
