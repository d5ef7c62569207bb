//! Flags of `serve`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tollgate_serve::settings::Address;

/// Options of `serve`.
#[derive(Args, Debug, Default)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct ServeOptions {
    /// Settings of the server; the flags below win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Contract file, or an envoyproxy/ratelimit descriptor file; read again when it changes
    #[arg(long, value_name = "FILE")]
    pub contracts: Option<PathBuf>,

    /// Where durable counts are kept
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,

    /// Where to serve HTTP and gRPC: 127.0.0.1:8080, [::1]:0, unix:/run/tollgate.sock; may be given again
    #[arg(long, value_name = "ADDR")]
    pub http: Vec<Address>,

    /// Serve neither HTTP nor gRPC
    #[arg(long, conflicts_with = "http")]
    pub no_http: bool,

    /// Where to serve RESP: 127.0.0.1:6380, unix:/run/tollgate-resp.sock; may be given again
    #[arg(long, value_name = "ADDR")]
    pub resp: Vec<Address>,

    /// Do not serve RESP
    #[arg(long, conflicts_with = "resp")]
    pub no_resp: bool,

    /// What to print once it serves
    #[arg(long, value_enum, default_value_t)]
    pub format: ServeFormat,
}

/// What `serve` prints once it serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ServeFormat {
    /// One screen for people
    #[default]
    Human,
    /// The addresses as one JSON object on one line
    Json,
}

const EXAMPLES: &str = "\
Examples:
  tollgate serve
  tollgate serve --contracts contracts.yaml --http 127.0.0.1:0 --no-resp --format json
  tollgate serve --config tollgate.yaml
  tollgate serve --http unix:/run/tollgate.sock,mode=660 --no-resp

Flags win over the environment (TOLLGATE_HTTP, TOLLGATE_RESP, TOLLGATE_CONTRACTS, TOLLGATE_DATA_DIR, TOLLGATE_TOKEN, …),
that over the file. SIGHUP reads contracts and certificates again; SIGTERM or SIGINT stops once connections are done, a
second one at once.";
