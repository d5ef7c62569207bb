//! Servers side by side: ours, its peers, and what bounds them, driven in turns by the same tools.
//!
//! Every part starts its servers, asks them in rounds that take turns, and prints medians and ratios; what was promised
//! is judged at the end. Not here: decisions inside one process, which the rest of this program measures.

mod bars;
pub(crate) mod host;
mod human;
pub(crate) mod options;
mod parts;
mod peers;
mod rounds;
pub(crate) mod standin;
mod tools;

use anyhow::Result;
use serde::Serialize;

use crate::cli::Format;
use options::{ServerOptions, ServerPart};
use parts::Context;

#[derive(Debug, Default, Serialize)]
pub(crate) struct ServerReport {
    /// Tables, in the order in which they were measured.
    pub(crate) tables: Vec<FigureTable>,
    /// What was promised, and whether it was kept.
    pub(crate) bars: Vec<crate::bars::BenchBar>,
}

/// One table: a figure for each server.
#[derive(Debug, Serialize)]
pub(crate) struct FigureTable {
    /// Its name, by which bars find it.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    pub(crate) lines: Vec<ServerFigure>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ServerFigure {
    pub(crate) server: &'static str,
    /// The rounds.
    pub(crate) figure: crate::stopwatch::Spread,
}

impl ServerReport {
    /// The median of a server in a table.
    fn median(&self, table: &str, server: &str) -> Option<f64> {
        let table = self.tables.iter().find(|figures| figures.name == table)?;
        let line = table.lines.iter().find(|line| line.server == server)?;
        Some(line.figure.median)
    }
}

pub(crate) fn run(options: &ServerOptions) -> Result<()> {
    let context = Context::new(options)?;
    let mut report = ServerReport::default();
    for part in options.parts() {
        eprintln!("part {}", part.name());
        let tables = match part {
            ServerPart::Resp => parts::resp(&context)?,
            ServerPart::Http => parts::http(&context)?,
            ServerPart::Rls => parts::rls(&context)?,
            ServerPart::Batch => parts::batch(&context)?,
            ServerPart::Memory => parts::memory(&context)?,
            ServerPart::Open => parts::open(&context)?,
            ServerPart::Runtimes => parts::runtimes(&context)?,
        };
        if options.format == Format::Human {
            tables.iter().for_each(human::print_figures);
        }
        report.tables.extend(tables);
    }
    report.bars = bars::judge(&report);
    match options.format {
        Format::Human => crate::human::print_bars(&report.bars),
        Format::Json => println!("{}", serde_json::to_string_pretty(&report)?),
    }
    Ok(())
}
