//! The `codex` program among the ancestors: what it was started for, and its version. Never starts it.

use std::path::Path;

use super::super::probe::{self, read_version};
use crate::state::Version;

/// Options of 0.171.0 whose value is an argument of its own, by which no sub-command must be guessed.
const WITH_VALUE: &[&str] = &[
    "-a",
    "-c",
    "-C",
    "-i",
    "-m",
    "-p",
    "-s",
    "--add-dir",
    "--ask-for-approval",
    "--cd",
    "--config",
    "--disable",
    "--enable",
    "--image",
    "--local-provider",
    "--model",
    "--profile",
    "--remote",
    "--sandbox",
];

/// The arguments behind the program, if this is Codex.
pub(super) fn arguments_of_codex(arguments: &[String]) -> Option<Vec<String>> {
    codex(arguments).map(|(_, rest)| rest.to_vec())
}

/// `codex exec` (or its alias `e`), by the arguments behind the program.
pub(super) fn is_exec_call(arguments: &[String]) -> bool {
    matches!(sub_command(arguments), Some("exec" | "e"))
}

/// An ancestor is `codex exec` (or its alias `e`): a run without a person.
pub(super) fn is_exec(ancestors: &[Vec<String>]) -> bool {
    ancestors.iter().filter_map(|arguments| codex(arguments)).any(|(_, arguments)| is_exec_call(arguments))
}

/// The version of the nearest `codex` among these argument vectors: from a path that names it (`…/@openai/codex@0.100.0/…`),
/// else from the npm package the program belongs to. `None` where it cannot be told; reads at most a few small files.
#[must_use]
pub fn version(ancestors: &[Vec<String>]) -> Option<Version> {
    let (program, _) = ancestors.iter().find_map(|arguments| codex(arguments))?;
    let program = Path::new(program);
    let named = program.iter().filter_map(|part| part.to_str()).find_map(|part| read_version(part.rsplit('@').next().unwrap_or(part)));
    named.or_else(|| packaged(program))
}

/// Program and arguments, if this is Codex: the native program, or `node …/codex.js`.
fn codex(arguments: &[String]) -> Option<(&str, &[String])> {
    let is_codex = |path: &str| matches!(base_name(path), "codex" | "codex.js");
    let (program, rest) = arguments.split_first()?;
    if is_codex(program) {
        return Some((program, rest));
    }
    if !matches!(base_name(program), "node" | "bun" | "nodejs") {
        return None;
    }
    let script = rest.iter().position(|argument| !argument.starts_with('-'))?;
    let path = &rest[script];
    is_codex(path).then(|| (path.as_str(), &rest[script + 1..]))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The first argument that is neither an option nor an option's value.
fn sub_command(arguments: &[String]) -> Option<&str> {
    let mut rest = arguments.iter().map(String::as_str);
    loop {
        let argument = rest.next()?;
        if WITH_VALUE.contains(&argument) {
            rest.next();
        } else if !argument.starts_with('-') {
            return Some(argument);
        }
    }
}

/// The version of the package `@openai/codex` around a program, links followed (npm puts a link into its folder of programs).
fn packaged(program: &Path) -> Option<Version> {
    // A name without folders was found in PATH; whether this is the same file is anybody's guess.
    let program = program.parent().filter(|folder| !folder.as_os_str().is_empty()).and_then(|_| program.canonicalize().ok())?;
    probe::packaged(&program, "@openai/codex")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn exec_is_found_among_the_ancestors() {
        let exec = |line: &str| is_exec(&[arguments("/bin/sh -c x"), arguments(line)]);
        assert!(exec("codex exec hi"));
        assert!(exec("/usr/lib/node_modules/@openai/codex/vendor/x/codex/codex --yolo e hi"));
        assert!(exec("node --no-warnings /usr/bin/codex -m gpt-5 --cd /p exec hi"));
        assert!(exec("/usr/bin/node /x/bin/codex.js --model=gpt-5 exec hi"));
        assert!(!exec("codex"));
        assert!(!exec("codex exec-server"));
        assert!(!exec("codex fix exec"));
        assert!(!exec("codex -m exec"));
        assert!(!exec("node /x/server.js exec"));
        assert!(!exec("bash codex exec"));
        assert!(!is_exec(&[vec![]]));
    }

    #[test]
    fn a_path_may_name_the_version() {
        let of = |line: &str| version(&[arguments("bash"), arguments(line)]);
        assert_eq!(of("/s/.pnpm/@openai+codex@0.100.0/node_modules/@openai/codex/bin/codex.js"), Some((0, 100, 0)));
        assert_eq!(of("node /s/.pnpm/@openai+codex@0.100.0/node_modules/@openai/codex/bin/codex.js"), Some((0, 100, 0)));
        assert_eq!(of("/opt/homebrew/Cellar/codex/0.171.0/bin/codex exec"), Some((0, 171, 0)));
        assert_eq!(of("/h/.codex/releases/0.171.0-x86_64-unknown-linux-musl/codex"), Some((0, 171, 0)));
        assert_eq!(of("codex"), None);
        assert_eq!(of("bash"), None);
    }

    #[test]
    fn the_package_around_the_program_names_the_version() {
        let folder = tempfile::tempdir().expect("a folder");
        let package = folder.path().join("node_modules/@openai/codex");
        let program = package.join("vendor/x86_64-unknown-linux-musl/codex/codex");
        std::fs::create_dir_all(program.parent().expect("a folder")).expect("folders");
        std::fs::write(&program, "").expect("a program");
        std::fs::write(package.join("package.json"), r#"{"name":"@openai/codex","version":"0.171.0-linux-x64","bin":{}}"#)
            .expect("a package");
        let of = |path: &Path| version(&[vec![path.to_string_lossy().into_owned()]]);
        assert_eq!(of(&program), Some((0, 171, 0)));
        let link = folder.path().join("codex");
        std::os::unix::fs::symlink(&program, &link).expect("a link");
        assert_eq!(of(&link), Some((0, 171, 0)));
        std::fs::write(package.join("package.json"), r#"{"name":"other","version":"1.2.3"}"#).expect("a package");
        assert_eq!(of(&program), None);
    }
}
