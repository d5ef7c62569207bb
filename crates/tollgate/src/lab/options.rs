//! The words of `tollgate lab`, their help and their examples.
//!
//! Not here: what the commands do.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use tollgate_limit::Span;

use super::values::{self, Beta, Designs, Millionths, Refill};
use crate::cli::{Format, OutputFormat};
use crate::trace::TraceFormat;

/// Commands of the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Name every experiment, with what it shows and how long it takes
    #[command(after_help = LIST_EXAMPLES, after_long_help = LIST_EXAMPLES)]
    List(ListOptions),
    /// Run experiments and show what each design did
    #[command(after_help = RUN_EXAMPLES, after_long_help = RUN_EXAMPLES)]
    Run(RunOptions),
    /// Put recorded traffic through a simulated cluster: what would each design have done, and what would it have cost
    #[command(after_help = TRACE_EXAMPLES, after_long_help = TRACE_EXAMPLES)]
    Trace(Box<TraceOptions>),
    /// Run traffic through real processes in real time, and show it beside the simulation with the delay they had
    #[command(after_help = LIVE_EXAMPLES, after_long_help = LIVE_EXAMPLES)]
    Live(LiveOptions),
}

/// Options of `lab live`.
#[derive(Args, Debug)]
pub(crate) struct LiveOptions {
    /// Sets or experiments by name; see `tollgate lab list`
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,

    /// How many processes
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=i64::from(crate::cluster::options::NODES_MAX)))]
    pub nodes: u16,

    /// Run everything at the same time, each with a contract of its own
    #[arg(long)]
    pub together: bool,

    /// What goes wrong when, live and in the lab: a file of lines such as `at 0s delay 5ms`; see `tollgate cluster dev
    /// --help`
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,

    /// Each process in a network namespace with links of its own, instead of all on loopback; needs root, without
    /// faults
    #[arg(long, conflicts_with = "faults")]
    pub namespaces: bool,

    /// Decides arrivals, routing, and what is lost
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// What to print: a table for people, JSON, or one JSON object per row
    #[arg(long, value_enum, default_value = "human")]
    pub format: OutputFormat,
}

/// Options of `lab list`.
#[derive(Args, Debug)]
pub(crate) struct ListOptions {
    /// What to print
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// Options of `lab run`.
#[derive(Args, Debug)]
pub(crate) struct RunOptions {
    /// Experiments by name, or `all`; see `tollgate lab list`
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,

    /// Runs per row; each experiment has its own number unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    pub seeds: Option<u64>,

    /// A fifth of the usual runs, for a first look
    #[arg(long, conflicts_with = "seeds")]
    pub quick: bool,

    /// Run these designs instead of the usual ones: names with commas between, or `all`
    #[arg(long, value_name = "LIST", value_parser = values::designs)]
    pub designs: Option<Designs>,

    /// How it is run and shown
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Options of `lab trace`.
#[derive(Args, Debug)]
pub(crate) struct TraceOptions {
    /// Recorded traffic: JSON lines, a JSON array, CSV with a header row, or an access log; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Format of the trace; judged by its name and first bytes unless given
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub input_format: Option<TraceFormat>,

    /// Put the requests in order of time first; otherwise a trace out of order is refused
    #[arg(long)]
    pub sort: bool,

    /// Runs per design; a seed decides who gets which request, when gossip is due, and which messages are lost
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    pub seeds: u64,

    /// Designs to compare: names with commas between, `all`, or also lease, sync, owner, store, supply, split
    #[arg(long, value_name = "LIST", default_value = "counter,queue+freq+linf,links", value_parser = values::designs)]
    pub designs: Designs,

    /// The cluster
    #[command(flatten)]
    pub cluster: ClusterOptions,

    /// What may be tuned
    #[command(flatten)]
    pub tuning: TuningOptions,

    /// What is between the nodes
    #[command(flatten)]
    pub network: NetworkOptions,

    /// How it is run and shown
    #[command(flatten)]
    pub output: OutputOptions,
}

/// The cluster.
#[derive(Args, Debug)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterOptions {
    /// How many nodes
    #[arg(long, value_name = "N", default_value_t = 30, allow_hyphen_values = true, value_parser = clap::value_parser!(u64).range(1..=u64::from(tollgate_lab::NODES_MAX)))]
    pub nodes: u64,

    /// Tokens in a full bucket
    #[arg(long, value_name = "TOKENS", default_value_t = 300, allow_hyphen_values = true, value_parser = clap::value_parser!(u64).range(1..=tollgate_gossip::Bucket::TOKENS_MAX))]
    pub capacity: u64,

    /// Tokens regained: `0.3` per second, `1/3`, `18/min`
    #[arg(long, value_name = "RATE", default_value = "0.3", value_parser = values::refill, allow_hyphen_values = true)]
    pub refill: Refill,

    /// Which node gets a request that does not say; a `node` field of the trace decides before this
    #[arg(long, value_name = "HOW", value_enum, default_value = "hash")]
    pub routing: RoutingName,
}

/// What may be tuned.
#[derive(Args, Debug)]
#[command(next_help_heading = "Tuning")]
pub(crate) struct TuningOptions {
    /// Time between two rounds of gossip
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = values::span, allow_hyphen_values = true)]
    pub gossip: Span,

    /// queue+freq: elements looked at; a node's share of the bucket unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub window: Option<u64>,

    /// queue+freq: a mean gap below this is told at once
    #[arg(long, value_name = "TIME", default_value = "2400ms", value_parser = values::span, allow_hyphen_values = true)]
    pub threshold: Span,

    /// links: shares of the room a node keeps to itself; `1.25`, `5/4`
    #[arg(long, value_name = "RATIO", value_parser = values::beta, allow_hyphen_values = true)]
    pub beta: Option<Beta>,

    /// links: no copy of what is silent with the next node
    #[arg(long)]
    pub no_buddy: bool,
}

/// What is between the nodes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkOptions {
    /// How long every message takes
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = values::span, allow_hyphen_values = true)]
    pub delay: Span,

    /// How much longer it may take, each message its own
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = values::span, allow_hyphen_values = true)]
    pub jitter: Span,

    /// Messages that are lost: `5%`, `0.05`
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = values::share, allow_hyphen_values = true)]
    pub loss: Millionths,

    /// Messages that come twice: `20%`
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = values::share, allow_hyphen_values = true)]
    pub duplication: Millionths,

    /// How far each node's clock may be off, either way
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = values::span, allow_hyphen_values = true)]
    pub skew: Span,
}

/// How experiments are run and shown.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running and output")]
pub(crate) struct OutputOptions {
    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub first: u64,

    /// Threads to run on; every core unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,

    /// What to print: a table for people, JSON, or one JSON object per row
    #[arg(long, value_enum, default_value = "human")]
    pub format: OutputFormat,

    /// Also write a page per experiment, with plots, and an index into this folder
    #[arg(long, value_name = "DIR")]
    pub html: Option<PathBuf>,

    /// Show the single runs too
    #[arg(long)]
    pub per_seed: bool,
}

/// Which node gets a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoutingName {
    /// By the hash of its millisecond and key
    Hash,
    /// Any, each equally likely
    Uniform,
    /// By its key: always the same
    Sticky,
    /// Half of all to the first, the rest to any
    Hot,
}

const SEEDS_MAX: u64 = 100_000;

const LIST_EXAMPLES: &str = "\
Examples:
  tollgate lab list
  tollgate lab list --format json";

const RUN_EXAMPLES: &str = "\
Examples:
  tollgate lab run thesis-b --seeds 20
  tollgate lab run figure-5.5 figure-5.6 --html out/
  tollgate lab run growth --designs counter,links --seeds 3 --format json
  tollgate lab run bars --quick

Designs: central, local, counter, counter+fixed, queue, queue+linf, queue+freq, queue+freq+linf, links; and where no
node crashes lease, sync, owner, store, supply, split, which `all` leaves out. Links is what nodes do that gossip; counter and
queue are of a paper, and are simulated only.
Runs with one seed are alike on every machine: --per-seed shows the hash of all that happened.";

const LIVE_EXAMPLES: &str = "\
Examples:
  tollgate lab live b-extreme b-substantial b-barely --nodes 10
  tollgate lab live b-extreme b-barely --nodes 10 --together
  tollgate lab live thesis-b --nodes 5 --format json
  tollgate lab live b-extreme --faults faults.txt

Sets: a, b-extreme, b-substantial, b-barely, b-calm, c, d, idle, split, mob, two, drip and slower drips. Each takes as long
as it says: a minute for b-extreme, an hour for c. Faults of an experiment happen to the processes and the links between
them; experiments that turn knobs of the designs or clocks are simulated only.
Exit codes: 0 run, 64 bad usage, 69 a node does not start, 71 the system refuses.";

const TRACE_EXAMPLES: &str = "\
Examples:
  tollgate lab trace traffic.jsonl --nodes 30 --capacity 300 --refill 0.3
  tollgate lab trace access.log --capacity 100 --refill 18/min --designs all --html out/
  tollgate lab trace access.log --capacity 100 --refill 100 --delay 2ms --designs local,sync,lease,owner,store,links
  tollgate lab trace t.csv --delay 5ms --jitter 40ms --loss 5% --duplication 20% --skew 50ms --designs counter,links
  zcat log.gz | tollgate lab trace - --input-format clf --sort --format json

A trace line is {\"time\": unix ms, \"user\": \"…\", \"cost\": 1, \"node\": 0}. Who is counted is `user`, or all other
fields together where there is no user. `node`, from 0, sends a request to that node. The trace is held in memory:
at most 50 million requests over at most 31 days.";
