//! Stands in for `fetch` in a build without the updater.

use super::{Error, Source};

pub(super) fn newest_after(source: &Source, _current: &str) -> Result<Option<String>, Error> {
    Err(Error::not_built(&source.address))
}
