//! `tollgate bench mqtt`: publishes to brokers, and sees what arrives.
//!
//! Not here: publishing (`tollgate-load`).

mod human;
mod json;
pub(crate) mod options;

use std::io::{IsTerminal, Write};

use rustix::process::{Resource, getrlimit, setrlimit};
use tollgate_load::{MqttError, MqttPhase, MqttPlan, MqttProgress};

use super::Line;
use crate::cli::Format;
use crate::failure::Failure;
use crate::report::{TerminalStyle, units};
use options::MqttOptions;

/// Runs the load, and prints what came of it.
pub(crate) fn run(options: &MqttOptions) -> Result<(), Failure> {
    let plan = options.plan();
    allow_files();
    let shown = options.format == Format::Human && std::io::stderr().is_terminal();
    let mut line = Line { shown };
    let report = tollgate_load::run_mqtt(&plan, |progress| {
        line.show(&progress_line(&plan, progress));
    });
    drop(line);
    let report = report.map_err(|error| failure(&error))?;
    let text = match options.format {
        Format::Human => human::text(&plan, &report, TerminalStyle::of_stdout()),
        Format::Json => json::text(&plan, &report),
    };
    write!(std::io::stdout(), "{text}").map_err(Failure::output)?;
    let is_watched = !plan.watch.at.is_empty();
    if plan.publishers > 0 && is_watched && report.counts.arrived == 0 {
        return Err(Failure::unavailable(
            "error: no message arrived at a subscriber\nName the broker behind the targets with --subscribe, or look whether it lets clients publish and subscribe.",
        ));
    }
    Ok(())
}

/// Thousands of connections need as many open files; what the system allows is taken.
fn allow_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is not allowed, connections say so.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn failure(error: &MqttError) -> Failure {
    let text = format!("error: {error}");
    match error {
        MqttError::Plan(_) => Failure::usage(text),
        MqttError::Refused { .. } => Failure::no_permission(text),
        MqttError::Malformed { .. } => Failure::protocol(text),
        MqttError::Connect { .. } | MqttError::System(_) => Failure::unavailable(text),
    }
}

fn progress_line(plan: &MqttPlan, progress: MqttProgress) -> String {
    let whole = (plan.timing.warm_up + plan.timing.duration).as_secs_f64();
    let errors = match progress.errors {
        0 => String::new(),
        errors => format!(" · {} connections lost", units::count(errors)),
    };
    let rates = format!(
        "sent {} · arrived {}{errors}",
        units::rate(progress.sent, 1000),
        units::rate(progress.arrived, 1000)
    );
    match progress.phase {
        MqttPhase::Connecting => format!(
            "connecting: {} of {}",
            units::exact(progress.connected),
            units::exact(u64::from(plan.publishers) + u64::from(plan.idle))
        ),
        MqttPhase::WarmUp(since) => format!("warm-up · {} of {whole} s · {rates}", since.as_secs()),
        MqttPhase::Measuring(since) => format!("{} of {whole} s · {rates}", since.as_secs()),
        MqttPhase::Draining => format!("waiting for what is under way · {rates}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use tollgate_load::{Arrivals, Assign, MqttPace};

    use super::*;
    use crate::bench::options::BenchCommand;
    use crate::cli::{Cli, Command};

    fn options(flags: &str) -> MqttOptions {
        let words = ["tollgate", "bench", "mqtt"];
        let words = words.into_iter().chain(flags.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Some(Command::Bench(command)) => match *command {
                BenchCommand::Mqtt(options) => *options,
                BenchCommand::Ask(_) => panic!("it asks"),
            },
            _ => panic!("not a bench"),
        }
    }

    #[test]
    fn flags_make_a_plan() {
        let plan = options(
            "--target a:1 --target b:1 --subscribe c:1 --assign groups --group 5 --spread 2.5 --rate 10 --arrivals periodic",
        )
        .plan();
        assert_eq!((plan.targets.len(), plan.watch.at.len()), (2, 1));
        assert_eq!(plan.assign, Assign::Groups);
        assert_eq!(plan.groups.spread, Duration::from_micros(2500));
        let pace = MqttPace::Open {
            rate: 10.0,
            arrivals: Arrivals::Even,
        };
        assert_eq!(plan.pace, pace);
        assert_eq!(options("--rate max").plan().pace, MqttPace::Closed);
    }

    #[test]
    fn messages_are_waited_for_where_they_are_sent_unless_told_otherwise() {
        let at = |flags: &str| options(flags).plan().watch.at;
        assert_eq!(at("--target a:1").len(), 1);
        assert_eq!(at("--target a:1 --no-subscribe"), []);
        assert_eq!(at("--publishers 0 --idle 9"), []);
    }

    #[test]
    fn progress_tells_what_is_being_done() {
        let plan = options("--publishers 2000 --idle 1").plan();
        let mut progress = MqttProgress {
            phase: MqttPhase::Connecting,
            connected: 7,
            sent: 20_000,
            arrived: 19_900,
            errors: 2,
        };
        assert_eq!(
            progress_line(&plan, progress),
            "connecting: 7 of 2\u{202f}001"
        );
        progress.phase = MqttPhase::Measuring(Duration::from_secs(3));
        let line = progress_line(&plan, progress);
        assert_eq!(
            line,
            "3 of 11 s · sent 20 k/s · arrived 19.9 k/s · 2 connections lost"
        );
    }
}
