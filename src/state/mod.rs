//! What is remembered between two hooks: which events were attempted (ledger) and what was decided
//! (log); and, for the installer, which version an agent's program said it is. Where there is no
//! place for state everything here answers "unknown", and notifications go out all the same.

mod ledger;
mod log;
mod versions;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use ledger::{Answered, Lifetime, Reservation};
pub use log::{Carried, Entry};
pub use versions::{Version, VersionCache};

use crate::environment::Env;

/// How long a hook waits for another one that is tidying up.
const LOCK_PATIENCE: Duration = Duration::from_millis(50);

/// The state folder, `$XDG_STATE_HOME/agent-notify`: 0700, its files 0600.
#[derive(Clone, Debug)]
pub struct State {
    folder: Option<PathBuf>,
}

impl State {
    /// Costs nothing: folders are made when something is written.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        Self { folder: env.state_folder() }
    }

    /// `None` without HOME and XDG_STATE_HOME.
    #[must_use]
    pub fn folder(&self) -> Option<&PathBuf> {
        self.folder.as_ref()
    }
}

/// Milliseconds since the epoch.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
