//! Measures Tollgate and its peers side by side, in one process and one run.
//!
//! Every figure is a ratio's raw material: the peers and the bare map run in the same minutes on
//! the same machine, because absolute figures of a shared machine mean little. `server` does the same
//! for whole servers, `modes` for three of them that agree.

mod bars;
mod cli;
mod clocks;
mod human;
mod instructions;
mod keys;
mod measure;
mod memory;
mod modes;
mod report;
mod rows;
mod server;
mod stopwatch;
mod subject;
mod subjects;
mod table;
mod threads;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use cli::{Child, Cli, Format, Part};
use report::Report;
use rows::Row;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => {
            let code = if refusal.use_stderr() { EXIT_USAGE } else { 0 };
            // With nowhere to print to, the exit code still tells.
            let _ = refusal.print();
            return ExitCode::from(code);
        }
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<()> {
    match &cli.child {
        Some(Child::Count {
            subject,
            row,
            count,
        }) => instructions::run_counted(subject, *row, *count),
        Some(Child::Memory {
            subject,
            keys,
            kind,
        }) => {
            println!("{}", memory::growth(subject, *keys, *kind)?);
            Ok(())
        }
        Some(Child::Server(options)) => server::run(options),
        Some(Child::Modes(options)) => modes::run(options),
        Some(Child::StandIn { kind, port }) => server::standin::serve(*kind, *port),
        None => compare(cli),
    }
}

/// Runs the parts that were asked for, and prints each table as soon as it is known.
fn compare(cli: &Cli) -> Result<()> {
    let mut report = Report::default();
    let human = cli.format == Format::Human;
    if cli.wants(Part::Rows) {
        for row in cli.rows() {
            eprintln!("row {}", row.name());
            time_row(cli, row, &mut report)?;
        }
    }
    if cli.wants(Part::Instructions) {
        count_instructions(cli, &mut report)?;
    }
    if cli.wants(Part::Memory) {
        eprintln!("memory");
        report.memory = memory::measure_all(cli.memory_keys())?;
        if human {
            human::print_memory(&report.memory);
        }
    }
    report.bars = bars::judge(&report);
    if human {
        human::print_notes();
        human::print_bars(&report.bars);
    } else {
        println!("{}", serde_json::to_string_pretty(&report)?);
    }
    Ok(())
}

fn time_row(cli: &Cli, row: Row, report: &mut Report) -> Result<()> {
    let (plan, human) = (cli.plan(), cli.format == Format::Human);
    match row {
        Row::Clocks => {
            report.clocks = clocks::prices(plan)?;
            if human {
                human::print_clocks(&report.clocks);
            }
        }
        Row::ThreadsHot | Row::ThreadsDistinct => {
            let figures = rows::duo(row, plan)?;
            if human {
                human::print_threads(&figures);
            }
            report.threads.push(figures);
        }
        Row::Hot
        | Row::Denied
        | Row::Number1M
        | Row::Number10M
        | Row::Text1M
        | Row::Batch1M
        | Row::Batch10M => {
            let figures = rows::solo(row, plan)?;
            if human {
                human::print_row(&figures);
            }
            report.rows.push(figures);
        }
    }
    Ok(())
}

fn count_instructions(cli: &Cli, report: &mut Report) -> Result<()> {
    eprintln!("instructions");
    let Some(lines) = instructions::count_all(cli.quick)? else {
        eprintln!("  valgrind is not installed; instructions are not counted");
        return Ok(());
    };
    if cli.format == Format::Human {
        human::print_instructions(&lines);
    }
    report.instructions = lines;
    Ok(())
}

/// The conventional exit code for bad usage.
const EXIT_USAGE: u8 = 64;
