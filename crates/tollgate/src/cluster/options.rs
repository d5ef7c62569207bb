//! The words of `tollgate cluster`, their help and their examples.
//!
//! Not here: what the commands do.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tollgate_load::ServerAddress;

use crate::check::options::ServerOptions;
use crate::cli::Format;

/// Commands about clusters.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Start a cluster on this machine to try things with; it ends when this command does
    #[command(after_help = DEV_EXAMPLES, after_long_help = DEV_EXAMPLES)]
    Dev(DevOptions),
    /// Show the cluster as one node sees it: members, freshness, traffic, what agreeing costs
    #[command(after_help = STATUS_EXAMPLES, after_long_help = STATUS_EXAMPLES)]
    Status(StatusOptions),
    /// Forget a node that died and does not come back: no member names it as missing any more
    #[command(after_help = FORGET_EXAMPLES, after_long_help = FORGET_EXAMPLES)]
    Forget(ForgetOptions),
    /// Show how a contract's rate is divided among nodes: what each has by right, lends, borrows and may use
    #[command(after_help = SUPPLY_EXAMPLES, after_long_help = SUPPLY_EXAMPLES)]
    Supply(SupplyOptions),
    /// Hurt a cluster whose nodes divide a rate, and replay all that it admitted through one bucket
    #[command(after_help = PROVE_EXAMPLES, after_long_help = PROVE_EXAMPLES)]
    Prove(ProveOptions),
    /// Hurt clients and nodes that share a limit by leases, and replay all that they admitted through one bucket
    #[command(after_help = LEASE_EXAMPLES, after_long_help = LEASE_EXAMPLES)]
    ProveLease(ProveLeaseOptions),
    /// One client of `prove-lease`
    #[command(hide = true)]
    Lessee(LesseeOptions),
    /// Write the file of keys that all nodes of a cluster share
    #[command(subcommand, after_help = KEY_EXAMPLES, after_long_help = KEY_EXAMPLES)]
    Key(KeyCommand),
}

/// Commands about the file of keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Write a file of fresh keys; one that is there stays
    New(KeyOptions),
    /// Take the next of three steps to another key: it opens, it seals, the old one goes
    Rotate(KeyOptions),
}

/// Options of `cluster key`.
#[derive(Args, Debug)]
pub(crate) struct KeyOptions {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Options of `cluster dev`.
#[derive(Args, Debug)]
pub(crate) struct DevOptions {
    /// How many nodes
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=i64::from(NODES_MAX)))]
    pub nodes: u16,

    /// Contract file of all nodes; a sample with gossip, owner and local contracts unless given
    #[arg(long, value_name = "FILE")]
    pub contracts: Option<PathBuf>,

    /// What goes wrong between the nodes and to them, when: a file of lines such as `at 10s cut 0,1 | 2,3,4 for 5s`
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,

    /// Decides what is lost and delayed where faults are asked for
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// What to print once all nodes are ready
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Options of `cluster status`.
#[derive(Args, Debug)]
pub(crate) struct StatusOptions {
    /// The server.
    #[command(flatten)]
    pub at: ServerOptions,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Options of `cluster forget`.
#[derive(Args, Debug)]
pub(crate) struct ForgetOptions {
    /// What the node was called
    #[arg(value_name = "NAME")]
    pub name: String,

    /// The server.
    #[command(flatten)]
    pub at: ServerOptions,
}

/// Options of `cluster supply`.
#[derive(Args, Debug)]
pub(crate) struct SupplyOptions {
    /// The contract
    #[arg(value_name = "CONTRACT")]
    pub contract: String,

    /// An entry of the key, as `user=42`, where the contract counts by one; may be given again. All keys together
    /// unless given
    #[arg(long, value_name = "ENTRY=VALUE")]
    pub key: Vec<String>,

    /// A node to ask: `http://host:port`, `unix:/path`; give it again for every node
    #[arg(
        long = "server",
        value_name = "URL",
        env = "TOLLGATE_SERVER",
        default_value = "http://127.0.0.1:8080"
    )]
    pub at: Vec<ServerAddress>,

    /// A secret to show to the servers
    #[arg(
        long,
        value_name = "TOKEN",
        env = "TOLLGATE_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Options of `cluster prove`.
#[derive(Args, Debug)]
pub(crate) struct ProveOptions {
    /// Half a minute instead of two
    #[arg(long)]
    pub quick: bool,

    /// Let requests wait for up to 200 ms before they are refused (`on_limit: delay`)
    #[arg(long)]
    pub delay: bool,

    /// Tokens that every request takes; with more there are fewer requests, for a slow machine
    #[arg(long, value_name = "TOKENS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub cost: u64,

    /// Cut nodes off by a proxy between them also where network namespaces can be had
    #[arg(long)]
    pub proxy: bool,

    /// An empty folder in which to leave what all nodes wrote down that they admitted
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,

    /// What to print at the end
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Options of `cluster prove-lease`.
#[derive(Args, Debug)]
pub(crate) struct ProveLeaseOptions {
    /// A third of a minute instead of one
    #[arg(long)]
    pub quick: bool,

    /// Requests per second that all clients together may admit; the burst is a second of it
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(100..=20_000))]
    pub rate: u64,

    /// An empty folder in which to leave what all processes wrote down that they admitted
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,

    /// What to print at the end
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Options of `cluster lessee`.
#[derive(Args, Debug)]
pub(crate) struct LesseeOptions {
    /// A node's RESP door; give it again for every node
    #[arg(long = "node", value_name = "ADDR", required = true)]
    pub nodes: Vec<String>,

    /// Requests per second
    #[arg(long, value_name = "N")]
    pub rate: u64,

    /// The file to which every admission is written
    #[arg(long, value_name = "FILE")]
    pub log: PathBuf,

    /// The file to which counts are written
    #[arg(long, value_name = "FILE")]
    pub counts: PathBuf,
}

/// The most processes that are started on one machine.
pub(crate) const NODES_MAX: u16 = 100;

const DEV_EXAMPLES: &str = "\
Examples:
  tollgate cluster dev
  tollgate cluster dev --nodes 3 --contracts contracts.yaml
  tollgate cluster dev --nodes 5 --format json
  tollgate cluster dev --faults faults.txt

A file of faults has one step a line; nodes are numbered from 0:
  at 0s  delay 5ms jitter 2ms
  at 0s  loss 5%
  at 10s cut 0,1 | 2,3,4 for 5s
  at 20s cut 0 > 1 for 5s         only what 0 sends 1
  at 30s kill 4
  at 35s start 4 empty            without its disk; also stop, pause, resume, duplicate 20%, reorder 5% hold 40ms

With --format json: {\"nodes\": [{\"name\", \"http\", \"resp\", \"pid\"}]} on one line once all nodes are ready.
Exit codes: 0 ended by a signal, 64 bad usage or contract file, 66 no such file, 69 a node does not start,
71 the system refuses.";

const STATUS_EXAMPLES: &str = "\
Examples:
  tollgate cluster status
  tollgate cluster status --server http://10.0.0.7:8080
  tollgate cluster status --format json

A node that died without a goodbye stays named until it is back or `tollgate cluster forget NAME` says that it is gone for good.
Exit codes: 0 every node that is expected is there, 1 one is missing or the node asked is cut off, 64 bad usage or the server is in
no cluster, 69 no server, 76 not a Tollgate, 77 not let in.";

const FORGET_EXAMPLES: &str = "\
Examples:
  tollgate cluster forget n3
  tollgate cluster forget n3 --server http://10.0.0.7:8080

Asks one node, which tells all members. A member that cannot be reached at that moment goes on naming the node. A token needs the
scope `write`.
Exit codes: 0 forgotten, 1 a node of that name is a member, in the roster, or not missing, 69 no server, 76 not a Tollgate, 77 not let in.";

const SUPPLY_EXAMPLES: &str = "\
Examples:
  tollgate cluster supply whole-api --server http://10.0.0.7:8080 --server http://10.0.0.8:8080
  tollgate cluster supply per-tenant --key tenant=acme
  tollgate cluster supply whole-api --format json

With --format json: {\"nodes\": [what each server says at /v1/cluster/supply]} on one line; a server that does not answer is
{\"error\"}. Rates are requests per second.
Exit codes: 0 shown, 64 bad usage, no such contract or no roster, 69 no server answers, 76 not a Tollgate, 77 not let in.";

const PROVE_EXAMPLES: &str = "\
Examples:
  sudo tollgate cluster prove
  tollgate cluster prove --quick --format json
  tollgate cluster prove --delay --keep admitted

Five processes share 10,000 requests a second. Twice as much is asked, most of it of another node every second, while nodes are
killed, cut off, stopped, restarted, and lose their disk. Root's processes are in network namespaces, and the kernel cuts their
links; without root a proxy stands between them.
With --format json: {\"network\", \"phases\": [{\"name\", \"seconds\", \"live_percent\", \"simulated_percent\"}], \"all\", \"admissions\",
\"tokens\", \"offered\", \"violations\", \"worst\", \"recovered_s\"} on one line.
Exit codes: 0 nothing was beyond the limit, 1 something was, or not all of it could be used a minute later, 64 bad usage,
69 a node does not start, 71 the system refuses.";

const LEASE_EXAMPLES: &str = "\
Examples:
  tollgate cluster prove-lease
  tollgate cluster prove-lease --rate 10000
  tollgate cluster prove-lease --quick --format json

Two nodes lend one limit to three client processes, which ask for twice as much. A client is killed and started again, the node that
lends is killed, a client is stopped and goes on. Beside what was used stands the same simulated with nine seeds: the mean, the least and the most.
With --format json: {\"rate\", \"phases\": [{\"name\", \"seconds\", \"live_percent\", \"simulated_percent\", \"simulated_least\",
\"simulated_most\"}], \"messages\", \"messages_simulated\",
\"admissions\", \"tokens\", \"violations\", \"worst\"} on one line.
Exit codes: 0 nothing was beyond the limit, 1 something was, 64 bad usage, 69 a node does not start, 71 the system refuses.";

const KEY_EXAMPLES: &str = "\
Examples:
  tollgate cluster key new cluster.key
  tollgate cluster key rotate cluster.key

To change the key: three times `rotate` on one machine, and after each time copy the file to all nodes and let them read
it again (SIGHUP). With the first step every node learns the new key, with the second they seal with it, with the third
they forget the old one; so no node ever gets what it cannot open.
Exit codes: 0 written, 64 bad usage, 66 no such file, 74 it cannot be written.";
