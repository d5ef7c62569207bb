//! `tollgate bench`: asks a server, this one or another, as fast as it answers or at a fixed rate; `mqtt` loads
//! brokers.
//!
//! Not here: asking (`tollgate-load`), and comparisons of several servers (`bench/`).

mod human;
mod json;
pub(crate) mod mqtt;
pub(crate) mod options;
mod plot;

use std::io::{IsTerminal, Write};

use tollgate_load::{LoadError, LoadPlan, Progress};

use crate::cli::Format;
use crate::failure::Failure;
use crate::report::{TerminalStyle, units};
use options::{AskCommand, BenchCommand};

/// Runs the load, and prints what came of it.
pub(crate) fn run(command: &BenchCommand) -> Result<(), Failure> {
    match command {
        BenchCommand::Ask(command) => ask(command),
        BenchCommand::Mqtt(options) => mqtt::run(options),
    }
}

fn ask(command: &AskCommand) -> Result<(), Failure> {
    let load = command.load();
    let plan = command
        .plan()
        .map_err(|text| Failure::usage(format!("error: {text}")))?;
    let shown = load.format == Format::Human && std::io::stderr().is_terminal();
    let mut line = Line { shown };
    let report = tollgate_load::run(&plan, |progress| line.show(&progress_line(&plan, progress)));
    drop(line);
    let report = report.map_err(|error| failure(&plan, &error))?;
    let text = match load.format {
        Format::Human => human::text(&plan, &report, TerminalStyle::of_stdout()),
        Format::Json => json::text(&plan, &report),
    };
    write!(std::io::stdout(), "{text}").map_err(Failure::output)?;
    if report.decisions == 0 {
        let first = report.errors.first();
        let why = first.map_or("no reply came", |error| error.example.as_str());
        return Err(Failure::unavailable(format!(
            "error: {} answered nothing that could be counted: {why}",
            plan.server
        )));
    }
    Ok(())
}

fn failure(plan: &LoadPlan, error: &LoadError) -> Failure {
    match error {
        LoadError::Connect(error) => Failure::unavailable(format!(
            "error: nothing answers at {}: {error}\nStart a server with `tollgate serve`, or name one with --server.",
            plan.server
        )),
        LoadError::Call(error) => Failure::usage(format!("error: {error}")),
        LoadError::System(error) => Failure::unavailable(format!("error: {error}")),
    }
}

/// The line that tells how far a run is; dropping it wipes the line.
struct Line {
    shown: bool,
}

impl Line {
    fn show(&mut self, text: &str) {
        if self.shown {
            // Who cannot be shown progress is not to be stopped for it.
            let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn progress_line(plan: &LoadPlan, progress: Progress) -> String {
    let whole = plan.warm_up + plan.duration;
    let phase = if progress.warming_up {
        "warm-up · "
    } else {
        ""
    };
    let errors = match progress.errors {
        0 => String::new(),
        errors => format!(" · {} errors", units::count(errors)),
    };
    format!(
        "{phase}{} of {} s · {}{errors}",
        progress.elapsed.as_secs(),
        whole.as_secs_f64(),
        units::rate(progress.decisions, 1000)
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn progress_tells_rate_and_errors() {
        let cli = Cli::try_parse_from(["tollgate", "bench", "resp", "--duration", "5"]).unwrap();
        let Some(Command::Bench(command)) = cli.command else {
            panic!("not a bench");
        };
        let BenchCommand::Ask(command) = *command else {
            panic!("it asks nothing");
        };
        let plan = command.plan().unwrap();
        let progress = Progress {
            elapsed: Duration::from_millis(1010),
            warming_up: true,
            decisions: 123_456,
            errors: 3,
        };
        assert_eq!(
            progress_line(&plan, progress),
            "warm-up · 1 of 6 s · 123 k/s · 3 errors"
        );
    }
}
