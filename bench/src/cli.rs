//! The command line.

use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use crate::instructions::CountedWork;
use crate::measure::MeasurePlan;
use crate::memory::KeyKind;
use crate::modes::options::ModesOptions;
use crate::rows::BenchRow;
use crate::server::options::ServerOptions;
use crate::server::standin::StandIn;

/// Measures Tollgate and its peers side by side, in one process and one run
///
/// Without options every row is timed, instructions are counted and memory is measured, in about
/// five minutes.
#[derive(Debug, Parser)]
#[command(name = "tollgate-bench", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Leave out ten million keys and take fewer rounds
    #[arg(long)]
    pub(crate) quick: bool,

    /// Time this row only; may be given several times
    #[arg(long, value_name = "ROW")]
    pub(crate) only: Vec<BenchRow>,

    /// Count instructions per decision under callgrind, and nothing else
    #[arg(long)]
    pub(crate) instructions: bool,

    /// Measure memory per key, and nothing else
    #[arg(long)]
    pub(crate) memory: bool,

    /// Rounds per subject and row; the median is reported [default: 7, quick: 3]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: Option<u16>,

    /// How to print the figures
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// What else this program does
    #[command(subcommand)]
    pub(crate) child: Option<BenchTask>,
}

/// How to print the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables, each as soon as it is known
    Human,
    /// One JSON object at the end
    Json,
}

/// Other comparisons, and parts of the work that need a process of their own.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchTask {
    /// Compares whole servers, each driven by the usual tools of its protocol
    Server(ServerOptions),
    /// Measures what agreeing costs: three nodes in every mode, each beside `local` in the same run
    Modes(ModesOptions),
    /// Serves, to be compared
    #[command(hide = true)]
    StandIn {
        /// Which server
        kind: StandIn,
        /// Where
        port: u16,
    },
    /// Makes decisions, to be counted by callgrind
    #[command(hide = true)]
    Count {
        /// Name of the entry
        subject: String,
        /// What to count
        row: CountedWork,
        /// How many decisions
        count: u64,
    },
    /// Fills a table and prints by how many bytes the process grew
    #[command(hide = true)]
    Memory {
        /// Name of the entry
        subject: String,
        /// How many keys
        keys: usize,
        /// What they are
        kind: KeyKind,
    },
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunPart {
    /// The timed rows.
    Rows,
    /// Instructions per decision.
    Instructions,
    /// Memory per key.
    Memory,
}

impl Cli {
    /// Says whether a part was asked for; with no part named, all are.
    pub(crate) fn wants(&self, part: RunPart) -> bool {
        let rows = !self.only.is_empty();
        let all = !(rows || self.instructions || self.memory);
        all || match part {
            RunPart::Rows => rows,
            RunPart::Instructions => self.instructions,
            RunPart::Memory => self.memory,
        }
    }

    /// Lists the rows to time.
    pub(crate) fn rows(&self) -> Vec<BenchRow> {
        if self.only.is_empty() {
            BenchRow::usual(self.quick)
        } else {
            self.only.clone()
        }
    }

    /// Says how long to measure.
    pub(crate) fn plan(&self) -> MeasurePlan {
        let usual = if self.quick { 3 } else { 7 };
        let rounds = self.rounds.map_or(usual, usize::from);
        MeasurePlan {
            rounds,
            slice: Duration::from_millis(100),
        }
    }

    /// Says how many keys memory is measured with.
    pub(crate) fn memory_keys(&self) -> usize {
        if self.quick { 1_000_000 } else { 10_000_000 }
    }
}

const EXAMPLES: &str = "\
Examples:
  tollgate-bench                           everything
  tollgate-bench --quick                   everything, smaller and rougher
  tollgate-bench --only hot --rounds 21    one row, with more rounds
  tollgate-bench --only u64-1m --only batch-1m
  tollgate-bench --instructions            counts only, steady on a busy machine
  tollgate-bench --memory --format json    bytes per key, for a program to read";
