//! Why a server does not start.

use std::fmt;
use std::io;

use tollgate_client::ClientError;

use crate::catalogue::CatalogueError;
use crate::cluster::ClusterError;
use crate::durable::StoreError;
use crate::listen::{BindError, TlsError};
use crate::source::SourceError;
use crate::store::ConnectError;

/// Why a server does not start. No port is open then.
#[derive(Debug)]
pub enum StartError {
    /// Contracts cannot be read, or are wrong.
    Contracts(SourceError),
    /// Certificates cannot be used.
    Tls(TlsError),
    /// Durable counts cannot be read.
    Store(StoreError),
    /// An address cannot be listened at.
    Bind(BindError),
    /// It cannot take part in the cluster.
    Cluster(ClusterError),
    /// The store that many nodes share cannot be used.
    Engine(ConnectError),
    /// The catalogue cannot be used.
    Catalogue(CatalogueError),
    /// The nodes of a sidecar cannot be used.
    Upstream(ClientError),
    /// The system gives no threads.
    Thread(io::Error),
    /// The system gives something else not.
    System(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contracts(error) => error.fmt(f),
            Self::Tls(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Bind(error) => error.fmt(f),
            Self::Cluster(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::Catalogue(error) => error.fmt(f),
            Self::Upstream(error) => write!(f, "--upstream: {error}"),
            Self::Thread(error) => write!(f, "cannot start threads: {error}"),
            Self::System(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StartError {}

impl From<SourceError> for StartError {
    fn from(error: SourceError) -> Self {
        Self::Contracts(error)
    }
}

impl From<ClusterError> for StartError {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error)
    }
}

impl From<TlsError> for StartError {
    fn from(error: TlsError) -> Self {
        Self::Tls(error)
    }
}
