//! Flags of `server`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::Format;

/// Options of `server`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct ServerOptions {
    /// Shorter rounds, three of them, and fewer keys; no figure of such a run is worth quoting
    #[arg(long)]
    pub(crate) quick: bool,

    /// Measure this part only; may be given several times
    #[arg(long, value_name = "PART", value_enum)]
    pub(crate) only: Vec<ServerPart>,

    /// Rounds per server; the median is reported [default: 5, quick: 3]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Seconds of one round [default: 2, quick: 0.5]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,

    /// The binary of the server; built from this repository unless given
    #[arg(long, value_name = "FILE")]
    pub(crate) tollgate: Option<PathBuf>,

    /// Where peers are installed [default: tollgate-peers in the system's temporary folder]
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,

    /// How to print the figures
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerPart {
    /// RESP by redis-benchmark, at depths 1, 16 and 64, and CPU time at depth 1
    Resp,
    /// HTTP/1.1 by wrk
    Http,
    /// Envoy's rate limit service by h2load
    Rls,
    /// Many decisions to a call
    Batch,
    /// Resident bytes per key
    Memory,
    /// Latency at half of what the server can do
    Open,
    /// One runtime per core against one for all cores
    Runtimes,
}

impl ServerPart {
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl ServerOptions {
    pub(crate) fn parts(&self) -> Vec<ServerPart> {
        if self.only.is_empty() {
            ServerPart::value_variants().to_vec()
        } else {
            self.only.clone()
        }
    }

    pub(crate) fn rounds(&self) -> usize {
        let usual = if self.quick { 3 } else { 5 };
        self.rounds.map_or(usual, usize::from)
    }

    pub(crate) fn slice(&self) -> Duration {
        let usual = if self.quick { 0.5 } else { 2.0 };
        let seconds = self.seconds.unwrap_or(usual);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(2))
    }

    pub(crate) fn keys_in_memory(&self) -> u64 {
        if self.quick { 500_000 } else { 5_000_000 }
    }

    pub(crate) fn peers_dir(&self) -> PathBuf {
        let usual = || std::env::temp_dir().join("tollgate-peers");
        self.peers.clone().unwrap_or_else(usual)
    }
}

const EXAMPLES: &str = "\
Examples:
  tollgate-bench server                            every part, about ten minutes
  tollgate-bench server --quick                    whether it all works
  tollgate-bench server --only resp --rounds 9
  tollgate-bench server --only http --only rls --format json

Needs redis-server, redis-tools, nginx-light, wrk and nghttp2-client from Debian; protobuf-compiler and cargo to install
throttlecrab-server once; and a C compiler.";
