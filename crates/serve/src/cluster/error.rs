//! Why a node does not take part in a cluster.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a node does not take part in a cluster. Nobody has heard of it then.
#[derive(Debug)]
pub enum ClusterError {
    /// No key file is named.
    NoKeyFile,
    /// The key file cannot be used; the text says why, without a key.
    Key(PathBuf, String),
    /// The file of the node's identity cannot be read or written.
    Identity(PathBuf, io::Error),
    /// The file of the node's identity is not as it was written.
    BadIdentity(PathBuf),
    /// Streams cannot be secured by these keys.
    Tls(rustls::Error),
    /// The address cannot be listened at.
    Bind(SocketAddr, io::Error),
    /// Nobody can be told where this node is.
    NoAddress(SocketAddr),
    /// The system gives no randomness.
    Random(getrandom::Error),
    /// The system gives no thread.
    Thread(io::Error),
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKeyFile => f.write_str(
                "a cluster needs a key: write one with `tollgate cluster key new FILE`, give it to every node, and name it \
                 as `key_file` in the section `cluster`, by --cluster-key, or by TOLLGATE_CLUSTER_KEY_FILE",
            ),
            Self::Key(path, what) => write!(f, "{}: {what}", path.display()),
            Self::Identity(path, error) => write!(
                f,
                "{}: {error}: the identity of the node cannot be kept",
                path.display()
            ),
            Self::BadIdentity(path) => write!(
                f,
                "{}: this is no identity of a node; remove the file to get a new one",
                path.display()
            ),
            Self::Tls(error) => write!(f, "streams cannot be secured by the cluster's keys: {error}"),
            Self::Bind(address, error) => {
                write!(f, "cannot listen for other nodes at {address}: {error}")
            }
            Self::NoAddress(address) => write!(
                f,
                "other nodes cannot be told `{address}`; say where they reach this one with `advertise` in the section \
                 `cluster`, or by TOLLGATE_CLUSTER_ADVERTISE"
            ),
            Self::Random(error) => write!(f, "the system gives no randomness: {error}"),
            Self::Thread(error) => write!(f, "cannot start the thread of the cluster: {error}"),
        }
    }
}

impl std::error::Error for ClusterError {}

impl From<getrandom::Error> for ClusterError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}

/// Why a running node must stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fatal {
    /// Another live node has this node's identity, and was there first.
    IdentityTaken {
        /// Where the other is.
        at: SocketAddr,
        /// The file that holds the identity, where there is one.
        file: Option<PathBuf>,
    },
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdentityTaken { at, file } => {
                write!(f, "this node's identity is in use at {at}")?;
                match file {
                    Some(file) => write!(f, "; remove {} to get a new one", file.display()),
                    None => f.write_str("; start it again to get a new one"),
                }
            }
        }
    }
}

impl std::error::Error for Fatal {}
