//! The command line: its words, its help, its examples.
//!
//! Not here: what the commands do.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tollgate_serve::settings::StoreUrl;

use crate::bench::options::BenchCommand;
use crate::check::options::AskOptions;
use crate::cluster::options::{ClusterCommand, KeyOptions};
use crate::gateway::options::GatewayOptions;
use crate::lab::options::LabCommand;
use crate::manage::options::{
    AssignCommand, ContractCommand, KeyCommand, Managed, ThingCommand, TokenCommand,
};
use crate::serve::options::ServeCommand;
use crate::tail::options::TailOptions;
use crate::top::options::TopOptions;
use crate::trace::TraceFormat;
use crate::usage::options::UsageCommand;

/// Decides, for any key, whether a request may pass, must wait, or is refused.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version = VERSION, about, after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Cli {
    /// What to do; without one, `serve` with everything as it comes.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve: answer requests over HTTP, gRPC and RESP until told to stop
    Serve(Box<ServeCommand>),
    /// Ask a server about one key: exit code 0 is allowed, 1 denied
    Check(AskOptions),
    /// Watch a server: rates, latency, who comes most, who is refused
    Top(TopOptions),
    /// Watch decisions of a server as they are made, all or those of a contract, a key or a verdict
    Tail(TailOptions),
    /// Ask a server many times: how many answers a second, and how long they take
    #[command(subcommand)]
    Bench(Box<BenchCommand>),
    /// Run contracts over recorded traffic: what would have been refused, for whom, and when
    Replay(ReplayOptions),
    /// What identities used, as a running server counted it
    #[command(subcommand)]
    Usage(UsageCommand),
    /// Check contract files and server files
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Start a cluster to try things with, show one, write its keys
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Read and change contracts of a running server
    Contract(Managed<ContractCommand>),
    /// Read and change plans of a running server
    Plan(Managed<ThingCommand>),
    /// Give identities plans and overrides
    Assign(Managed<AssignCommand>),
    /// Explain a key of a running server, and help it
    Key(Managed<KeyCommand>),
    /// Tokens of the management API: who may do what
    Token(Managed<TokenCommand>),
    /// Stand in front of an MQTT broker and limit how often clients publish
    Gateway(Box<GatewayOptions>),
    /// Measure ways for nodes to agree, in a simulated cluster
    #[command(subcommand, after_help = LAB_EXAMPLES, after_long_help = LAB_EXAMPLES)]
    Lab(LabCommand),
    /// Print the completion script of a shell: `tollgate completions bash > /etc/bash_completion.d/tollgate`
    Completions {
        /// The shell that reads the script
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write one man page per command into a folder; `cargo xtask man` calls it
    #[command(hide = true)]
    Man {
        /// The folder, which is made where it is missing
        folder: PathBuf,
    },
}

/// Commands about contract files and server files.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Validate a contract file or a server file and exit: 0 when it is good, 64 when it is not
    Check(CheckOptions),
    /// Print the JSON Schema of contract files, for editors
    Schema(SchemaOptions),
    /// Write the file of the key that seals sessions and signed links of the console
    #[command(subcommand, after_help = SEAL_EXAMPLES, after_long_help = SEAL_EXAMPLES)]
    Key(SealCommand),
}

/// Commands about the key of sessions and links.
#[derive(Debug, Subcommand)]
pub(crate) enum SealCommand {
    /// Write a file with a fresh key; one that is there stays
    New(KeyOptions),
    /// Put a fresh key in the place of the one that is there: all sessions and links end
    Rotate(KeyOptions),
}

/// Options of `replay`.
#[derive(Args, Debug)]
#[command(after_help = REPLAY_EXAMPLES, after_long_help = REPLAY_EXAMPLES)]
pub(crate) struct ReplayOptions {
    /// Contract file, or an envoyproxy/ratelimit descriptor file
    #[arg(long, value_name = "FILE")]
    pub contracts: PathBuf,

    /// Recorded traffic: JSON lines, a JSON array, CSV with a header row, or an access log; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub trace: PathBuf,

    /// Format of the trace; judged by its name and first bytes unless given
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub input_format: Option<TraceFormat>,

    /// Count bad lines and skip them
    #[arg(long)]
    pub lenient: bool,

    /// Let this store decide, at the times of the trace, instead of a node in memory: `redis://127.0.0.1:6379`
    #[arg(long, value_name = "URL")]
    pub store: Option<StoreUrl>,

    /// What to print: a summary for people, a summary as JSON, or one JSON object per request
    #[arg(long, value_enum, default_value = "human")]
    pub format: OutputFormat,

    /// Also write a report with plots to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Memory for the state of all keys; beyond it the keys closest to fresh are forgotten, and the summary says so
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub memory: u64,
}

/// Options of `config schema`.
#[derive(Args, Debug)]
pub(crate) struct SchemaOptions {
    /// That of server files
    #[arg(long)]
    pub server: bool,
}

/// Options of `config check`.
#[derive(Args, Debug)]
#[command(after_help = CHECK_EXAMPLES, after_long_help = CHECK_EXAMPLES)]
pub(crate) struct CheckOptions {
    /// Contract file, server file, or an envoyproxy/ratelimit descriptor file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// What to print about a good file
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// What commands print that can also print line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text and tables for people
    Human,
    /// One JSON object, or an array of them for several experiments
    Json,
    /// One JSON object per request, or per row of an experiment
    Jsonl,
}

/// What commands print that show one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    #[default]
    Human,
    /// One JSON object; of what a server was asked, as it answered
    Json,
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("BUILT_FROM"), ")");

const EXAMPLES: &str = "\
Try:
  tollgate serve
  tollgate config check examples/contracts.yaml
  tollgate replay --contracts examples/contracts.yaml --trace examples/traffic.csv
  tollgate replay --contracts examples/contracts.yaml --trace examples/traffic.csv --html report.html
  tollgate cluster dev --nodes 5
  tollgate lab run thesis-b

Exit codes: 0 done, 64 bad usage, settings or contract file, 65 bad trace, 66 no such file, 69 an address is taken,
71 the system refuses, 74 input or output failed.";

const REPLAY_EXAMPLES: &str = "\
Examples:
  tollgate replay --contracts contracts.yaml --trace traffic.csv
  tollgate replay --contracts contracts.yaml --trace traffic.jsonl --format jsonl > decisions.jsonl
  zcat access.log.gz | tollgate replay --contracts contracts.yaml --trace - --input-format clf --html report.html

A trace line is {\"time\": unix ms, \"user\": \"…\", \"cost\": 1}; any other string field is a descriptor entry.";

const LAB_EXAMPLES: &str = "\
Examples:
  tollgate lab list
  tollgate lab run thesis-b --seeds 20 --html out/
  tollgate lab trace traffic.jsonl --nodes 30 --capacity 300 --refill 0.3 --designs counter,links";

const SEAL_EXAMPLES: &str = "\
Examples:
  tollgate config key new /etc/tollgate/console.key
  tollgate config key rotate /var/lib/tollgate/catalogue.db.key

A server reads the file once a second, so that a rotation needs no restart; within a second everybody is signed out, and links that
were given to customers open nothing any more. Give the same file to all servers on one database, as `catalogue.key_file`.
Exit codes: 0 written, 64 bad usage, 66 no such file, 74 it cannot be written.";

const CHECK_EXAMPLES: &str = "\
Examples:
  tollgate config check contracts.yaml
  tollgate config check tollgate.yaml
  tollgate config check ratelimit.yaml --format json";
