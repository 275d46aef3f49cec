//! The command line: clap types without logic, one file a command. The only place that prints.

mod changes;
mod config;
mod history;
mod install;
mod log;
mod output;
mod self_update;
mod send;
mod status;
mod test;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::environment::Env;
use crate::error::Error;

/// Status codes beside 0 and that of wrong usage, 2.
const FAILED: u8 = 1;
const USAGE: u8 = 2;
const CONFLICT: u8 = 3;
const INCOMPLETE: u8 = 4;
const PENDING: u8 = 5;

/// Desktop notifications from coding agents, through any depth of tmux and ssh.
#[derive(Parser)]
#[command(
    name = "agent-notify",
    version,
    author = crate::claim::MARK,
    max_term_width = 100,
    after_help = "Try `agent-notify test` first: it shows a notification and the route it took."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Entry point for agents: payload on stdin; always ends with status 0
    #[command(after_help = "Examples:\n  agent-notify hook claude < payload.json\n  agent-notify hook generic --agent Aider finished")]
    Hook(HookHelp),
    /// Put the hooks in place: one transaction, reversible
    #[command(
        after_help = "Examples:\n  agent-notify install --all --dry-run\n  agent-notify install --claude --yes\n  agent-notify install --command '$HOME/.local/bin/agent-notify'"
    )]
    Install(install::Install),
    /// Take the hooks out again; every other byte stays
    Uninstall(install::Uninstall),
    /// What is installed, and whether it is in order
    Status(status::Arguments),
    /// The transactions so far
    History(history::History),
    /// Undo the last transaction, or down to one
    Rollback(history::Rollback),
    /// Send a notification from any script
    #[command(
        after_help = "Examples:\n  make; agent-notify send --title make --body \"finished with $?\"\n  agent-notify send --event input --agent deploy --body 'needs your password'"
    )]
    Send(send::Arguments),
    /// Show a notification and the route it took
    Test(test::Arguments),
    /// Why there was, or was not, a notification
    Log(log::Arguments),
    /// The configuration
    #[command(subcommand)]
    Config(config::Action),
    /// Newer releases
    SelfUpdate(self_update::Arguments),
}

/// Only for the help text: `hook` never gets here with anything else.
#[derive(Args)]
struct HookHelp {
    /// claude, cursor, codex, pi or generic
    agent: String,
    /// stop, input, error, idle or tool; the payload beats it
    event: Option<String>,
    /// Name of a generic agent
    #[arg(long = "agent", id = "name", value_name = "NAME")]
    name: Option<String>,
}

/// Whether a person asks how `hook` works: no agent gives its hook this argument and no other, or a terminal for stdout.
pub(crate) fn wants_hook_help(arguments: &[OsString]) -> bool {
    let asks = |word: &OsString| word == "--help" || word == "-h";
    matches!(arguments, [only] if asks(only)) || (arguments.iter().any(asks) && std::io::stdout().is_terminal())
}

/// Reads the arguments (without the program's name) and runs the command.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let program = OsString::from("agent-notify");
    let cli = match Cli::try_parse_from(std::iter::once(program).chain(arguments)) {
        Ok(cli) => cli,
        Err(error) => {
            let printed = error.print();
            // Wrong usage goes to stderr, and has its status whether or not anybody can read why.
            if !error.use_stderr() {
                output::note_trouble(printed);
            }
            return finish(Ok(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))));
        }
    };
    let env = Env::current();
    let result = match cli.command {
        Command::Hook(_) => Ok(ExitCode::SUCCESS),
        Command::Install(arguments) => install::install(&arguments, &env),
        Command::Uninstall(arguments) => install::uninstall(&arguments, &env),
        Command::Status(arguments) => status::run(&arguments, &env),
        Command::History(arguments) => history::history(&arguments, &env),
        Command::Rollback(arguments) => history::rollback(&arguments, &env),
        Command::Send(arguments) => send::run(&arguments, &env),
        Command::Test(arguments) => test::run(&arguments, &env),
        Command::Log(arguments) => log::run(&arguments, &env),
        Command::Config(action) => config::run(action, &env),
        Command::SelfUpdate(arguments) => self_update::run(&arguments, &env),
    };
    finish(result)
}

/// The status, after a word on what went wrong.
fn finish(result: Result<ExitCode, Error>) -> ExitCode {
    let result = match output::trouble() {
        Some(trouble) if result.is_ok() => Err(trouble),
        _ => result,
    };
    result.unwrap_or_else(|error| {
        output::error(&error);
        ExitCode::from(FAILED)
    })
}
