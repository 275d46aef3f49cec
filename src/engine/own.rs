//! Whose command is this? Own entries are known by their parsed command, never by a part of its text and never by an extra
//! key, which Claude Code deletes when it rewrites its file (measured on 2.1.332).

/// What a hook's command runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Runs {
    /// `PATH/agent-notify hook AGENT`, and whatever follows.
    Own {
        further: Vec<String>,
    },
    /// The same through something else (`env X=1 agent-notify …`, `sh -c '…'`) or beside another command: not ours to change.
    Wrapped,
    Foreign,
}

/// Judges a command: a line for the shell, or with `arguments` a program as it is (Claude's exec form).
#[must_use]
pub fn runs(command: &str, arguments: Option<&[String]>, agent: &str) -> Runs {
    if let Some(arguments) = arguments {
        let words: Vec<String> = std::iter::once(command.to_owned()).chain(arguments.iter().cloned()).collect();
        return judge(&words, false, agent);
    }
    let Some(mut line) = parse(command) else { return Runs::Foreign };
    // `|| true` changes nothing but the status: still nobody else's command.
    if let [.., operator, word] = line.as_slice()
        && *operator == Word::Operator("||".into())
        && matches!(word, Word::Text(text) if text == "true" || text == ":")
    {
        line.truncate(line.len() - 2);
        line.push(Word::Text("|| true".into()));
    }
    let compound = line.iter().any(|word| matches!(word, Word::Operator(_)));
    let words: Vec<String> = line.into_iter().map(Word::into_text).collect();
    judge(&words, compound, agent)
}

fn judge(words: &[String], compound: bool, agent: &str) -> Runs {
    let is_call = |words: &[String]| matches!(words, [program, hook, name, ..] if base_name(program) == "agent-notify" && hook == "hook" && name == agent);
    if is_call(words) && !compound {
        return Runs::Own { further: words[3..].to_vec() };
    }
    let inside_shell = || {
        let [program, .., script] = words else { return false };
        let is_shell = matches!(base_name(program), "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" | "env");
        is_shell && script.contains(char::is_whitespace) && runs(script, None, agent) != Runs::Foreign
    };
    // Behind any word: `echo agent-notify hook claude` is a false alarm that costs one line.
    if (0..words.len()).any(|start| is_call(&words[start..])) || inside_shell() { Runs::Wrapped } else { Runs::Foreign }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[derive(Debug, Eq, PartialEq)]
enum Word {
    Text(String),
    /// Unquoted `;`, `&`, `|`, `(`, `)`, a newline: a second command.
    Operator(String),
}

impl Word {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) | Self::Operator(text) => text,
        }
    }
}

/// The words of a POSIX shell command line, quotes and backslashes resolved, nothing expanded. None = a quote is not closed.
fn parse(line: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '\'' => break,
                        quoted => word.push(quoted),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '"' => break,
                        '\\' => match characters.next()? {
                            escaped @ ('$' | '`' | '"' | '\\') => word.push(escaped),
                            '\n' => {}
                            other => word.extend(['\\', other]),
                        },
                        quoted => word.push(quoted),
                    }
                }
            }
            '\\' => match characters.next()? {
                '\n' => {}
                escaped => word.get_or_insert_default().push(escaped),
            },
            // A redirection is part of the command: `2>&1`, `&>file`.
            '&' if word.as_ref().is_some_and(|word| word.ends_with(['>', '<'])) => word.get_or_insert_default().push('&'),
            '&' if characters.peek() == Some(&'>') => word.get_or_insert_default().push('&'),
            ';' | '&' | '|' | '(' | ')' | '\n' | '`' => {
                words.extend(word.take().map(Word::Text));
                let mut operator = character.to_string();
                if matches!(character, '&' | '|') && characters.peek() == Some(&character) {
                    operator.extend(characters.next());
                }
                words.push(Word::Operator(operator));
            }
            blank if blank.is_ascii_whitespace() => words.extend(word.take().map(Word::Text)),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word.map(Word::Text));
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(further: &[&str]) -> Runs {
        Runs::Own { further: further.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn own_commands_are_known_whatever_their_path_and_quoting() {
        for command in [
            "agent-notify hook claude",
            "/home/u/.local/bin/agent-notify hook claude",
            "'/home/u/old place/agent-notify' hook claude",
            "\"/home/u/old place/agent-notify\"  hook\tclaude ",
            "/home/u/old\\ place/agent-notify hook claude",
            "$HOME/.local/bin/agent-notify hook claude",
            "~/bin/agent-notify hook 'claude'",
            "\"$(brew --prefix)/bin/agent-notify\" hook claude",
        ] {
            assert_eq!(runs(command, None, "claude"), own(&[]), "{command}");
        }
        assert_eq!(runs("agent-notify hook claude Stop", None, "claude"), own(&["Stop"]));
        assert_eq!(runs("agent-notify hook claude 2>&1", None, "claude"), own(&["2>&1"]));
        assert_eq!(runs("agent-notify hook claude || true", None, "claude"), own(&["|| true"]));
        let arguments = ["hook".to_owned(), "claude".to_owned()];
        assert_eq!(runs("/a b/agent-notify", Some(&arguments), "claude"), own(&[]));
    }

    #[test]
    fn what_only_contains_the_name_is_foreign() {
        for command in [
            "/home/u/bin/my-agent-notify-wrapper.sh hook claude",
            "echo 'agent-notify hook claude' >> /home/u/hooks.log",
            "logger -t agent-notify done",
            "/opt/agent-notify-tools/bin/ring",
            "python3 /home/u/tools/agent-notify-bridge.py hook cursor stop",
            "agent-notify send hello",
            "agent-notify hook cursor",
            "agent-notify hook",
            "agent-notify 'hook claude",
            "",
        ] {
            assert_eq!(runs(command, None, "claude"), Runs::Foreign, "{command}");
        }
    }

    #[test]
    fn what_runs_it_through_or_beside_something_else_is_wrapped() {
        for command in [
            "env X=1 agent-notify hook claude",
            "X=1 agent-notify hook claude",
            "sh -c 'agent-notify hook claude'",
            "bash -lc \"exec /x/agent-notify hook claude\"",
            "agent-notify hook claude && say done",
            "say done; agent-notify hook claude",
            "agent-notify hook claude\nsay done",
            "agent-notify hook claude &",
            "(agent-notify hook claude)",
        ] {
            assert_eq!(runs(command, None, "claude"), Runs::Wrapped, "{command}");
        }
        let arguments = ["agent-notify".to_owned(), "hook".to_owned(), "claude".to_owned()];
        assert_eq!(runs("env", Some(&arguments), "claude"), Runs::Wrapped);
    }
}
