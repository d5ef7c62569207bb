//! Flags of `modes`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::shape::Shape;
use crate::cli::Format;

/// Options of `modes`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct ModesOptions {
    /// Short rounds, one of each; no figure of such a run is worth quoting
    #[arg(long)]
    quick: bool,

    /// Measure this mode only; may be given several times
    #[arg(long, value_name = "MODE", value_enum)]
    only: Vec<BenchMode>,

    /// Measure this shape of traffic only; may be given several times
    #[arg(long, value_name = "SHAPE", value_enum)]
    shape: Vec<Shape>,

    /// Rounds of each cell; the median is reported [default: 3, quick: 1]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Seconds of one round [default: 2, quick: 0.5]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,

    /// The binary of the nodes; built from this repository unless given
    #[arg(long, value_name = "FILE")]
    pub(super) tollgate: Option<PathBuf>,

    /// How to print the figures
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
}

/// How three nodes agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BenchMode {
    /// Each node counts alone; what every other mode is compared with
    Local,
    /// Each node decides and reports
    Gossip,
    /// The node in charge of a key decides
    Owner,
    /// Nodes divide the rate
    Supply,
    /// Nodes divide the bucket
    Split,
    /// Leases, asked directly: no client holds any
    Lease,
    /// Every node has the whole bucket and reports now and then
    Sync,
    /// Redis decides
    Store,
}

impl BenchMode {
    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The value of `coordination` in the contract file.
    pub(super) const fn coordination(self) -> &'static str {
        match self {
            Self::Local => "coordination: local",
            Self::Gossip => "coordination: gossip",
            Self::Owner => "coordination: owner",
            Self::Supply => "coordination: supply",
            Self::Split => "coordination: split",
            Self::Lease => "coordination: lease",
            Self::Sync => "coordination: sync",
            Self::Store => "coordination: store",
        }
    }
}

impl ModesOptions {
    /// All modes that were asked for, besides `local`.
    pub(super) fn modes(&self) -> Vec<BenchMode> {
        let all = if self.only.is_empty() {
            BenchMode::value_variants()
        } else {
            &self.only
        };
        let others = all.iter().filter(|mode| **mode != BenchMode::Local);
        others.copied().collect()
    }

    pub(super) fn shapes(&self) -> Vec<Shape> {
        if self.shape.is_empty() {
            Shape::value_variants().to_vec()
        } else {
            self.shape.clone()
        }
    }

    pub(super) fn rounds(&self) -> usize {
        let usual = if self.quick { 1 } else { 3 };
        self.rounds.map_or(usual, usize::from)
    }

    /// How many unknown keys a flood brings.
    pub(super) const fn flood(&self) -> u64 {
        if self.quick { 100_000 } else { 2_000_000 }
    }

    pub(super) fn slice(&self) -> Duration {
        let usual = if self.quick { 0.5 } else { 2.0 };
        let seconds = self.seconds.unwrap_or(usual);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(2))
    }
}

const EXAMPLES: &str = "\
Examples:
  tollgate-bench modes                                      every cell, about fifteen minutes
  tollgate-bench modes --quick                              whether it all works
  tollgate-bench modes --only lease --shape calm-100k       one cell, beside `local`
  tollgate-bench modes --only owner --only store --format json

Needs redis-server for `store`.";
