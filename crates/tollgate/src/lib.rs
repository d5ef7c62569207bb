//! The `tollgate` command, and the parts of it that its own tests and benchmarks also drive.
//!
//! Nothing here is a library for applications; those link the client crate.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod bench;
mod check;
mod civil;
pub mod cli;
pub mod cluster;
mod config;
pub mod failure;
mod gateway;
mod generate;
mod lab;
mod manage;
mod progress;
mod replay;
mod report;
mod serve;
mod tail;
mod top;
pub mod trace;
mod usage;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command, ConfigCommand};
use failure::{Failure, USAGE};
use serve::options::ServeCommand;

/// Reads the arguments, runs one command, turns errors into exit codes.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { USAGE } else { 0 };
            // Nothing can be done if the terminal is gone.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let text = failure.to_string();
            if !text.is_empty() {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
            ExitCode::from(failure.code())
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Some(Command::Check(options)) => check::run(&options),
        Some(Command::Bench(command)) => bench::run(&command),
        Some(Command::Top(options)) => top::run(&options),
        Some(Command::Tail(options)) => tail::run(&options),
        Some(Command::Usage(command)) => usage::run(&command),
        Some(Command::Replay(options)) => replay::run(&options),
        Some(Command::Config(ConfigCommand::Check(options))) => config::check(&options),
        Some(Command::Config(ConfigCommand::Schema(options))) => config::schema(options.server),
        Some(Command::Config(ConfigCommand::Key(command))) => config::key(&command),
        Some(Command::Cluster(command)) => cluster::run(&command),
        Some(Command::Lab(command)) => lab::run(&command),
        Some(Command::Contract(command)) => manage::contract(&command),
        Some(Command::Plan(command)) => manage::plan(&command),
        Some(Command::Assign(command)) => manage::assign(&command),
        Some(Command::Key(command)) => manage::key(&command),
        Some(Command::Token(command)) => manage::token(&command),
        Some(Command::Gateway(options)) => gateway::run(&options),
        Some(Command::Serve(options)) => serve::run(&options),
        Some(Command::Completions { shell }) => generate::completions(shell),
        Some(Command::Man { folder }) => generate::man(&folder),
        None => serve::run(&ServeCommand::default()),
    }
}
