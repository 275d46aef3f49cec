//! Edits by the person between installation and removal, and what else the table does not show.
