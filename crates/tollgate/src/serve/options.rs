//! Flags of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tollgate_node::{Adapt, Roster};
use tollgate_serve::settings::{
    Address, CataloguePlace, ClientTls, ClusterOverrides, DatabaseUrl, Join, LogFormat, Overrides,
    RuntimeKind, RuntimeOverrides, Seat, StoreOverrides, StoreUrl, Tokens, UpstreamSettings,
};

use crate::failure::Failure;

/// Options of every server.
#[derive(Args, Debug, Default)]
pub struct ServeOptions {
    /// Settings of the server; the flags below win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Contract file, or an envoyproxy/ratelimit descriptor file or folder of such, read again when it changes; or a
    /// management server to follow, `xds://host:port?node=NAME`, with TLS `xdss://`
    #[arg(long, value_name = "FILE|xds://…")]
    pub contracts: Option<PathBuf>,

    /// Where durable counts are kept; without settings, the platform's folder for data
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,

    /// Where to serve HTTP and gRPC: `127.0.0.1:8080`, `[::1]:0`, `unix:/run/tollgate.sock`; may be given again
    #[arg(long, value_name = "ADDR")]
    pub http: Vec<Address>,

    /// Serve neither HTTP nor gRPC
    #[arg(long, conflicts_with = "http")]
    pub no_http: bool,

    /// Where to serve RESP: `127.0.0.1:6380`, `unix:/run/tollgate-resp.sock`; may be given again
    #[arg(long, value_name = "ADDR")]
    pub resp: Vec<Address>,

    /// Do not serve RESP
    #[arg(long, conflicts_with = "resp")]
    pub no_resp: bool,

    /// A file of secrets of which callers must show one, one on every line; only its owner may read it
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Threads with connections of their own, or threads that share all
    #[arg(long, value_enum, value_name = "KIND")]
    pub runtime: Option<RuntimeChoice>,

    /// How many threads serve; as many as there are cores unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// What is logged: error, warn, info, debug, or levels by part
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,

    /// What a line of the log looks like
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub log_format: Option<LogChoice>,

    /// What to print once it serves
    #[arg(long, value_enum, default_value_t)]
    pub format: ServeFormat,

    /// End when standard input does, so that no server outlives whoever started it
    #[arg(long, hide = true)]
    pub ends_with_stdin: bool,

    /// How it takes part in a cluster
    #[command(flatten)]
    pub cluster: ClusterFlags,
}

/// Options of `serve`: those of every server, and what only it can be.
#[derive(Args, Debug, Default)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct ServeCommand {
    /// Those of every server
    #[command(flatten)]
    pub server: ServeOptions,

    /// Whether it is a sidecar
    #[command(flatten)]
    pub beside: SidecarFlags,
}

/// How a server stands beside a program and lets nodes elsewhere decide.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Sidecar")]
pub struct SidecarFlags {
    /// Decide by leases of the nodes of --upstream, on Unix sockets unless told otherwise: ./tollgate.sock and
    /// ./tollgate-resp.sock
    #[arg(long, requires = "upstream")]
    pub sidecar: bool,

    /// The RESP door of a node, `10.0.0.7:6380`, `tls://node.example:6380`, `unix:/run/node.sock`, or
    /// `zone=10.0.0.7:6380`; may be given again. Contracts must be those of the nodes
    #[arg(long, value_name = "ADDR", requires = "sidecar", conflicts_with_all = ["cluster", "store"])]
    pub upstream: Vec<String>,

    /// Certificates of those who sign for nodes of `tls://`, in PEM
    #[arg(long, value_name = "FILE", requires = "sidecar")]
    pub upstream_ca: Option<PathBuf>,

    /// The certificate that is shown to them
    #[arg(long, value_name = "FILE", requires_all = ["upstream_ca", "upstream_key"])]
    pub upstream_cert: Option<PathBuf>,

    /// Its key
    #[arg(long, value_name = "FILE", requires = "upstream_cert")]
    pub upstream_key: Option<PathBuf>,
}

impl SidecarFlags {
    /// Adds what they say. The token of the nodes comes from the environment, where fewer people see it.
    pub(super) fn put(&self, said: &mut Overrides) {
        if !self.sidecar {
            return;
        }
        let socket = |name: &str| format!("unix:{name}").parse().ok().map(|at| vec![at]);
        said.http = said.http.take().or_else(|| socket("tollgate.sock"));
        said.resp = said.resp.take().or_else(|| socket("tollgate-resp.sock"));
        let told = said.stores.upstream.take();
        let (token, zone, tls) =
            told.map_or((None, None, None), |told| (told.token, told.zone, told.tls));
        let own = self.upstream_ca.clone().map(|authority| ClientTls {
            authority,
            certificate: self.upstream_cert.clone().zip(self.upstream_key.clone()),
        });
        said.stores.upstream = Some(UpstreamSettings {
            nodes: self.upstream.clone(),
            token,
            zone: said.cluster.zone.clone().or(zone),
            tls: own.or(tls),
        });
    }
}

/// How a server takes part in a cluster.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Cluster")]
pub struct ClusterFlags {
    /// The engine that contracts under `coordination: store` are decided by: `redis://127.0.0.1:6379`
    #[arg(long, value_name = "URL")]
    pub store: Option<StoreUrl>,

    /// Keep contracts, plans and assignments in this database, where they are live data: a file of `SQLite`, or
    /// `postgres://user:password@host/database`; `--contracts` is read once then, at the first start
    #[arg(long, value_name = "URL_OR_PATH")]
    pub catalogue: Option<CataloguePlace>,

    /// Keep durable counts in this database instead of the data directory: `postgres://user:password@host/database`
    #[arg(long, value_name = "URL")]
    pub database: Option<DatabaseUrl>,

    /// Whose rows in the database are ours, in no cluster; the rows of a node of a cluster go by its name
    #[arg(long, value_name = "NAME")]
    pub seat: Option<Seat>,

    /// Where other nodes reach this one, datagrams and streams at the same port: `10.0.0.7:7380`, `127.0.0.1:0`
    #[arg(id = "cluster", long = "cluster", value_name = "ADDR")]
    pub listen: Option<SocketAddr>,

    /// A node to join, by address or by name: `10.0.0.8:7380`, `tollgate.internal`; may be given again
    #[arg(long, value_name = "ADDR")]
    pub join: Vec<Join>,

    /// The file of the cluster's keys, the same on all nodes; `tollgate cluster key new FILE` writes one
    #[arg(long = "cluster-key", value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// Where other nodes are told to reach this one, where that is another address
    #[arg(long, value_name = "ADDR")]
    pub advertise: Option<SocketAddr>,

    /// What this node is called; the host's name and the port unless given
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// How many nodes the cluster is meant to have, the same on all of them: what the design `auto` goes by
    #[arg(long = "cluster-size", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    pub size: Option<u16>,

    /// Who has a home where rates are divided, the same on all nodes: `a,b,c`, or with weights `a,b=2,c`
    #[arg(long, value_name = "NAMES", value_parser = tollgate_serve::settings::roster)]
    pub roster: Option<Roster>,

    /// Whether nodes lend each other tokens of buckets that are cut (`coordination: split`), the same on all nodes
    #[arg(long, value_name = "ON|OFF", value_parser = tollgate_serve::settings::lends)]
    pub lend: Option<bool>,

    /// Whether parts of buckets that are cut follow traffic (`coordination: split`), the same on all nodes; `printed`:
    /// by ten seconds, to compare with
    #[arg(long, value_name = "ON|OFF|PRINTED")]
    pub adapt: Option<Adapt>,

    /// A folder in which to write down everything that divided rates admit
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub admission_log: Option<PathBuf>,

    /// Where it stands, such as a data centre
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
}

impl ClusterFlags {
    fn overrides(&self) -> ClusterOverrides {
        ClusterOverrides {
            listen: self.listen.map(Some),
            advertise: self.advertise,
            join: (!self.join.is_empty()).then(|| self.join.clone()),
            key_file: self.key_file.clone(),
            name: self.name.clone(),
            zone: self.zone.clone(),
            size: self.size.map(u64::from),
            roster: self.roster.clone(),
            admission_log: self.admission_log.clone(),
            lends: self.lend,
            adapt: self.adapt,
            ..ClusterOverrides::default()
        }
    }
}

/// How threads share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RuntimeChoice {
    /// Each has listeners and connections of its own
    PerCore,
    /// All serve all connections
    Shared,
}

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogChoice {
    /// For people on a terminal, JSON elsewhere
    Auto,
    /// For people
    Text,
    /// One JSON object a line
    Json,
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

impl ServeOptions {
    /// What the flags say.
    pub(crate) fn overrides(&self) -> Result<Overrides, Failure> {
        let some = |off: bool, list: &[Address]| (off || !list.is_empty()).then(|| list.to_vec());
        let tokens = self.token_file.as_deref().map(Tokens::of_file);
        let tokens = tokens.transpose();
        Ok(Overrides {
            config: self.config.clone(),
            contracts: self.contracts.clone(),
            data_dir: self.data_dir.clone(),
            http: some(self.no_http, &self.http),
            resp: some(self.no_resp, &self.resp),
            tokens: tokens
                .map_err(|error| Failure::usage(format!("error: --token-file: {error}")))?,
            runtime: RuntimeOverrides {
                kind: self.runtime.map(|kind| match kind {
                    RuntimeChoice::PerCore => RuntimeKind::PerCore,
                    RuntimeChoice::Shared => RuntimeKind::Shared,
                }),
                threads: self.threads.map(usize::from),
                shutdown_delay: None,
            },
            log: self.log.clone(),
            log_format: self.log_format.map(|format| match format {
                LogChoice::Auto => LogFormat::Auto,
                LogChoice::Text => LogFormat::Text,
                LogChoice::Json => LogFormat::Json,
            }),
            cluster: self.cluster.overrides(),
            stores: StoreOverrides {
                store: self.cluster.store.clone(),
                database: self.cluster.database.clone(),
                seat: self.cluster.seat.clone(),
                catalogue: self.cluster.catalogue.clone(),
                ..StoreOverrides::default()
            },
            ..Overrides::default()
        })
    }
}

const EXAMPLES: &str = "\
Examples:
  tollgate serve
  tollgate serve --contracts contracts.yaml --http 127.0.0.1:0 --no-resp --format json
  tollgate serve --config tollgate.yaml
  tollgate serve --contracts xds://control.internal:18000?node=edge-1
  tollgate serve --http unix:/run/tollgate.sock,mode=660 --no-resp
  tollgate serve --sidecar --upstream 10.0.0.7:6380 --upstream 10.0.0.8:6380 --contracts contracts.yaml
  tollgate serve --cluster 10.0.0.7:7380 --join 10.0.0.8 --cluster-key cluster.key --contracts contracts.yaml

Flags win over the environment (TOLLGATE_HTTP, TOLLGATE_RESP, TOLLGATE_CONTRACTS, TOLLGATE_DATA_DIR, TOLLGATE_TOKEN, …),
that over the file. SIGHUP reads contracts and certificates again; SIGTERM sends clients elsewhere for 5 s
(TOLLGATE_SHUTDOWN_DELAY) and stops once connections are done, SIGINT stops without the 5 s; a second one ends at once.";
