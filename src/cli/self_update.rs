//! `self-update --check`.

use std::process::ExitCode;

use clap::Args;

use super::{PENDING, output};
use crate::config;
use crate::environment::Env;
use crate::error::Error;
use crate::release::{self, Check, Source};

#[derive(Args)]
pub(super) struct Arguments {
    /// Only say whether there is a newer release (status 5 if so)
    #[arg(long, required = true)]
    check: bool,
}

pub(super) fn run(_arguments: &Arguments, env: &Env) -> Result<ExitCode, Error> {
    let source = Source::find(env, config::load(env).config.self_update.base_url.as_deref())?;
    match release::check(&source, env!("CARGO_PKG_VERSION"))? {
        Check::UpToDate { current } => {
            output::line(&format!("agent-notify {current} is the newest release"));
            Ok(ExitCode::SUCCESS)
        }
        Check::Newer { current, latest } => {
            output::line(&format!("agent-notify {latest} is there; this is {current}"));
            Ok(ExitCode::from(PENDING))
        }
    }
}
