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

use cli::{BenchTask, Cli, Format, RunPart};
use report::BenchReport;
use rows::BenchRow;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => {
            let code = if refusal.use_stderr() { EXIT_USAGE } else { 0 };
            // If printing fails, the exit code still reports it.
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
        Some(BenchTask::Count {
            subject,
            row,
            count,
        }) => instructions::run_counted(subject, *row, *count),
        Some(BenchTask::Memory {
            subject,
            keys,
            kind,
        }) => {
            println!("{}", memory::growth(subject, *keys, *kind)?);
            Ok(())
        }
        Some(BenchTask::Server(options)) => server::run(options),
        Some(BenchTask::Modes(options)) => modes::run(options),
        Some(BenchTask::StandIn { kind, port }) => server::standin::serve(*kind, *port),
        None => compare(cli),
    }
}

/// Runs the parts that were asked for, and prints each table as soon as it is complete.
fn compare(cli: &Cli) -> Result<()> {
    let mut report = BenchReport::default();
    let human = cli.format == Format::Human;
    if cli.wants(RunPart::Rows) {
        for row in cli.rows() {
            eprintln!("row {}", row.name());
            time_row(cli, row, &mut report)?;
        }
    }
    if cli.wants(RunPart::Instructions) {
        count_instructions(cli, &mut report)?;
    }
    if cli.wants(RunPart::Memory) {
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

fn time_row(cli: &Cli, row: BenchRow, report: &mut BenchReport) -> Result<()> {
    let (plan, human) = (cli.plan(), cli.format == Format::Human);
    match row {
        BenchRow::Clocks => {
            report.clocks = clocks::prices(plan)?;
            if human {
                human::print_clocks(&report.clocks);
            }
        }
        BenchRow::ThreadsHot | BenchRow::ThreadsDistinct => {
            let figures = rows::duo(row, plan)?;
            if human {
                human::print_threads(&figures);
            }
            report.threads.push(figures);
        }
        BenchRow::Hot
        | BenchRow::Denied
        | BenchRow::Number1M
        | BenchRow::Number10M
        | BenchRow::Text1M
        | BenchRow::Batch1M
        | BenchRow::Batch10M => {
            let figures = rows::solo(row, plan)?;
            if human {
                human::print_row(&figures);
            }
            report.rows.push(figures);
        }
    }
    Ok(())
}

fn count_instructions(cli: &Cli, report: &mut BenchReport) -> Result<()> {
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
