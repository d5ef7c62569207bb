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

/// No port is open then.
#[derive(Debug)]
pub enum StartError {
    Contracts(SourceError),
    Tls(TlsError),
    Store(StoreError),
    /// Listening at an address failed.
    Bind(BindError),
    Cluster(ClusterError),
    /// The shared store cannot be used.
    Engine(ConnectError),
    Catalogue(CatalogueError),
    Upstream(ClientError),
    /// The system gives no threads.
    Thread(io::Error),
    /// Another resource of the system is missing.
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
