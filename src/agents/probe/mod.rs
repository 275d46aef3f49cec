//! Where an agent's program is and which version it has: from links, folder names and package files where that is possible, by
//! starting it where it is not. Never on the path of a hook, but for the reading of package files.

mod ask;

use std::path::{Path, PathBuf};

use super::Request;
use crate::environment::{Env, name};
use crate::files;
use crate::process::on_path;
use crate::state::Version;

/// How many folders above the program a package file is looked for (`vendor/<target>/codex/codex` needs four).
const PACKAGE_DEPTH: usize = 6;

/// The largest package file that is read, in bytes.
const LARGEST_PACKAGE: u64 = 1 << 20;

/// What a product's installations have in common.
#[derive(Debug)]
pub(super) struct Product {
    /// Our name for the agent, by which answers are remembered.
    pub(super) agent: &'static str,
    /// The beginning of its npm package's name; packages by platform go on from there.
    pub(super) package: &'static str,
    /// What `--version` prints behind the number.
    pub(super) signature: &'static str,
    /// Variables that lead to its settings, beside HOME: a started program must not see the person's.
    pub(super) folders: &'static [&'static str],
}

/// Programs of this name: on PATH, then in `~/.local/bin`, where official installers put them without asking for a place on
/// PATH.
pub(super) fn programs(env: &Env, program: &str) -> impl Iterator<Item = PathBuf> {
    let path = env.os(name::PATH).unwrap_or_default();
    let found: Vec<_> = on_path(&path, program).collect();
    found.into_iter().chain(env.home().map(|home| home.join(".local/bin").join(program))).filter(|path| is_program(path))
}

/// An executable file, links followed.
pub(super) fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The first program of a name that others use, too, which resolves to a path with `part` in it, whatever the letter case. The
/// person's own name does not count.
pub(super) fn program_with(env: &Env, program: &str, part: &str) -> Option<PathBuf> {
    let home = env.home().and_then(|home| home.canonicalize().ok());
    programs(env, program).find(|path| {
        let Ok(resolved) = path.canonicalize() else { return false };
        let below = home.as_deref().and_then(|home| resolved.strip_prefix(home).ok()).unwrap_or(&resolved);
        below.to_string_lossy().to_lowercase().contains(part)
    })
}

/// The version of a program: from its files, else as remembered, else (only if that is allowed) by starting it. The last
/// answer is remembered.
pub(super) fn version(product: &Product, program: &Path, request: &Request) -> Option<Version> {
    let from_files = installed(product, program);
    from_files.or_else(|| match request.cache.get(product.agent, program) {
        Some(known) => known,
        None if request.may_start => ask::version(product, program, request),
        None => None,
    })
}

/// Whether [`version`] would have to start the program.
pub(super) fn must_be_asked(product: &Product, program: &Path, request: &Request) -> bool {
    installed(product, program).is_none() && request.cache.get(product.agent, program).is_none()
}

/// From the files of an installation.
fn installed(product: &Product, program: &Path) -> Option<Version> {
    let resolved = program.canonicalize().ok()?;
    packaged(&resolved, product.package).or_else(|| beside(&resolved, product.package)).or_else(|| named(&resolved, product.agent))
}

/// The version of the npm package around a file (links already followed), if its name begins so.
pub(super) fn packaged(file: &Path, package: &str) -> Option<Version> {
    file.ancestors().skip(1).take(PACKAGE_DEPTH).find_map(|folder| package_version(folder, package))
}

/// The version of the npm package in a folder of its own beside the file: Claude Code's local installation starts with a script
/// there.
fn beside(file: &Path, package: &str) -> Option<Version> {
    package_version(&file.parent()?.join("node_modules").join(package), package)
}

fn package_version(folder: &Path, package: &str) -> Option<Version> {
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let bytes = files::read_small(&folder.join("package.json"), LARGEST_PACKAGE).ok()?;
    let found: Package = serde_json::from_slice(&bytes).ok()?;
    if found.name.starts_with(package) { read_version(&found.version) } else { None }
}

/// A version in the path itself: `…/claude/versions/2.1.332`, `…/claude-code/2.1.332/bin/claude`, `…/HASH-claude-code-2.1.332/…`.
/// Only next to the product's name: other folders are those of Node and of version managers.
fn named(path: &Path, product: &str) -> Option<Version> {
    let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap_or_default()).collect();
    let names_product = |at: Option<usize>| at.and_then(|at| parts.get(at)).is_some_and(|part| part.contains(product));
    (0..parts.len()).rev().find_map(|at| {
        let above = match at.checked_sub(1) {
            Some(above) if parts[above] == "versions" => above.checked_sub(1),
            above => above,
        };
        if names_product(Some(at)) {
            parts[at].match_indices(['-', '@']).find_map(|(end, _)| read_version(&parts[at][end + 1..]))
        } else if names_product(above) {
            read_version(parts[at])
        } else {
            None
        }
    })
}

/// `0.171.0`, also with something behind it (`0.171.0-linux-x64`).
pub(super) fn read_version(text: &str) -> Option<Version> {
    let mut numbers = text.splitn(3, '.');
    let (major, minor, patch) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let patch = patch.split(|character: char| !character.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?, patch.parse().ok()?))
}
