//! What a transaction does beyond files, after its commit: written into the journal by name, so that another process can finish
//! it. The engine holds one effect of its own; others live beside what they touch and are handed in.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journal::Intended;
use super::store::{Store, hash};
use crate::error::Error;
use crate::files::{self, Change, New, Target, Trouble};

/// Something that is no file, or follows upon one.
pub trait Effect: Debug {
    /// For the journal: the same for ever.
    fn name(&self) -> &'static str;
    /// One line for a person, in the future: `~/.cursor/hooks.json will be removed`.
    fn describe(&self) -> String;
    /// What the registry needs to make it again.
    fn data(&self) -> Value;
    /// Does it. Doing it twice is the same as once.
    ///
    /// # Errors
    /// It did not work: reported, never a reason to undo the files.
    fn apply(&self) -> Result<(), Error>;
    /// Whether it is so already.
    fn verify(&self) -> bool;
    /// Takes it back, if it is still as [`Effect::apply`] left it.
    ///
    /// # Errors
    /// It did not work.
    fn undo(&self) -> Result<(), Error>;
    /// The file that is gone afterwards, although the transaction wrote it.
    fn removes(&self) -> Option<&Path> {
        None
    }
    /// Whether the next command tries again what did not work. Elsewhere a failure is told once, and that is that.
    fn is_retried(&self) -> bool {
        false
    }
    /// It is the taking back of an effect.
    fn is_reversed(&self) -> bool {
        false
    }
}

/// Makes effects again from their names and data.
pub type Registry = dyn Fn(&str, &Value) -> Option<Box<dyn Effect>>;

/// For the journal.
pub(super) fn intended(effect: &dyn Effect) -> Intended {
    Intended { name: effect.name().to_owned(), data: effect.data(), reversed: effect.is_reversed() }
}

/// From the journal. `None`: an effect of another version of the program.
pub(super) fn revive(intended: &Intended, store: &Store, registry: &Registry) -> Option<Box<dyn Effect>> {
    let plain: Box<dyn Effect> = if intended.name == DeleteLater::NAME {
        Box::new(DeleteLater { data: serde_json::from_value(intended.data.clone()).ok()?, store: store.clone() })
    } else {
        registry(&intended.name, &intended.data)?
    };
    Some(if intended.reversed { Box::new(Reversed(plain)) } else { plain })
}

/// The taking back of an effect, as an effect.
#[derive(Debug)]
struct Reversed(Box<dyn Effect>);

impl Effect for Reversed {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn describe(&self) -> String {
        format!("taken back: {}", self.0.describe())
    }
    fn data(&self) -> Value {
        self.0.data()
    }
    fn apply(&self) -> Result<(), Error> {
        self.0.undo()
    }
    fn verify(&self) -> bool {
        // Only the effect knows whether it is still in force, not what was there before.
        false
    }
    fn undo(&self) -> Result<(), Error> {
        self.0.apply()
    }
    fn is_reversed(&self) -> bool {
        true
    }
}

/// How long an agent needs to notice an emptied file: Cursor's watcher drops hooks when it reads an empty list, and keeps them
/// when the file merely vanishes (measured; its own delay is 250 ms).
pub const WATCH_PAUSE: Duration = Duration::from_secs(1);

/// The second half of removing a file that its agent watches: the transaction wrote it without hooks; after a pause it goes,
/// unless somebody wrote it meanwhile.
#[derive(Debug)]
pub(super) struct DeleteLater {
    data: Data,
    store: Store,
}

#[derive(Debug, Serialize, Deserialize)]
struct Data {
    path: PathBuf,
    /// Hash of the emptied file.
    content: String,
    /// To be removed if they are empty then, outermost first.
    folders: Vec<PathBuf>,
    milliseconds: u64,
}

impl DeleteLater {
    const NAME: &str = "delete-later";

    pub(super) fn new(path: &Path, content: &[u8], folders: &[PathBuf], pause: Duration, store: &Store) -> Self {
        let milliseconds = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let data = Data { path: path.to_owned(), content: hash(content), folders: folders.to_vec(), milliseconds };
        Self { data, store: store.clone() }
    }

    /// The file, if it is still the emptied one.
    fn emptied(&self) -> Result<Option<Target>, Error> {
        match files::look(&self.data.path) {
            Ok(target) => Ok(target.content().is_some_and(|content| hash(content) == self.data.content).then_some(target)),
            // Something that is not ours.
            Err(Trouble::NotAFile(_) | Trouble::NotAFolder(_) | Trouble::LinkLoop | Trouble::TooLarge) => Ok(None),
            Err(trouble) => Err(self.failed(&trouble)),
        }
    }

    fn failed(&self, trouble: &Trouble) -> Error {
        let error = Error::new("the emptied file could not be removed").path(&self.data.path);
        error.because(trouble.to_string()).hint(trouble.hint())
    }
}

impl Effect for DeleteLater {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn describe(&self) -> String {
        format!("{} is removed once its agent has seen it empty", self.data.path.display())
    }

    fn data(&self) -> Value {
        serde_json::to_value(&self.data).unwrap_or_default()
    }

    fn apply(&self) -> Result<(), Error> {
        if self.emptied()?.is_some() {
            std::thread::sleep(Duration::from_millis(self.data.milliseconds));
        }
        if let Some(target) = self.emptied()? {
            let change = Change {
                path: &self.data.path,
                target: &target.path,
                temporary: &target.path,
                before: target.content(),
                after: None,
                new: New::Mode(0),
                owners: self.store.owners(),
            };
            match files::change(&change) {
                // Written at this very moment: it is not ours any more.
                Ok(()) | Err(Trouble::Changed) => {}
                Err(trouble) => return Err(self.failed(&trouble)),
            }
        }
        remove_folders(&self.data.folders)
            .map_err(|error| Error::new("an empty folder is left").path(&self.data.path).because(error.to_string()))
    }

    fn verify(&self) -> bool {
        self.emptied().is_ok_and(|target| target.is_none()) && !self.data.folders.iter().any(|folder| is_empty(folder))
    }

    fn undo(&self) -> Result<(), Error> {
        // Its file belongs to the transaction, which puts it back.
        Ok(())
    }

    fn removes(&self) -> Option<&Path> {
        Some(&self.data.path)
    }

    fn is_retried(&self) -> bool {
        true
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Innermost first, as far as they are empty.
///
/// # Errors
/// One could not be removed although it is empty.
pub(super) fn remove_folders(folders: &[PathBuf]) -> io::Result<()> {
    folders.iter().rev().try_for_each(|folder| files::remove_folder_if_empty(folder).map(|_| ()))
}
