//! How a server is set up: where it listens, whom it lets in, how much it takes.
//!
//! Not here: contracts, which have a file of their own and change while the server runs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_client::{ClientAddress, Dialect};
use tollgate_node::NodeConfig;

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where durable counts are kept; nothing is durable without.
    pub data_dir: Option<PathBuf>,
    /// The contract file.
    pub contracts: Option<PathBuf>,
    /// Where HTTP and gRPC are served.
    pub http: Vec<Listener>,
    /// Where RESP is served.
    pub resp: Vec<Listener>,
    /// Secrets of which every request on the data plane must show one; empty where everybody may ask.
    pub tokens: Vec<String>,
    /// Header fields that tell clients of their quota, where a contract says nothing else.
    pub dialect: Dialect,
    /// How the address of a client behind proxies is told.
    pub client_address: ClientAddress,
    /// How much strangers may send and hold.
    pub limits: Limits,
    /// How much memory counting may take.
    pub node: NodeConfig,
    /// How often durable counts are written.
    pub flush_every: Duration,
}

/// Where one door is.
#[derive(Clone, Debug)]
pub struct Listener {
    /// Where.
    pub at: Address,
    /// Certificates, where it speaks TLS.
    pub tls: Option<Tls>,
}

/// A place to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Port 0 is any free one.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// Files of certificates, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Our certificate, and those above it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Who must have signed a client's certificate; clients need none without.
    pub client_ca: Option<PathBuf>,
}

/// How much strangers may send and hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once, all doors together.
    pub connections_max: usize,
    /// Requests that are worked on at once; beyond, they are shed.
    pub requests_max: usize,
    /// Bytes of one key, all its entries together.
    pub key_bytes_max: usize,
    /// Bytes of the head of an HTTP request.
    pub head_bytes_max: usize,
    /// Bytes of a body or of a gRPC message.
    pub body_bytes_max: usize,
    /// Requests in one batch.
    pub batch_max: usize,
    /// Streams of one HTTP/2 connection.
    pub streams_max: u32,
    /// How long a connection may be idle.
    pub idle: Duration,
    /// How long a request may take to arrive once it began, and an answer to be taken.
    pub slow: Duration,
    /// How long connections may take to finish once the server stops.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 20_000,
            requests_max: 10_000,
            key_bytes_max: 4 << 10,
            head_bytes_max: 16 << 10,
            body_bytes_max: 1 << 20,
            batch_max: 1_000,
            streams_max: 256,
            idle: Duration::from_secs(300),
            slow: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            data_dir: None,
            contracts: None,
            http: Vec::new(),
            resp: Vec::new(),
            tokens: Vec::new(),
            dialect: Dialect::default(),
            client_address: ClientAddress::default(),
            limits: Limits::default(),
            node: NodeConfig::default(),
            flush_every: Duration::from_secs(1),
        }
    }
}
