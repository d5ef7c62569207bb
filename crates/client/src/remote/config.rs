//! How a client is set up, and what can be wrong with that.

use core::fmt;
use std::sync::Arc;
use std::time::Duration;

use tollgate_limit::Instant;

use super::link::Trust;

/// What a client does about keys of which nobody has told it anything, when nobody answers. Contracts say it for their
/// own keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenAway {
    /// Refuse.
    #[default]
    Deny,
    /// Admit everything.
    Allow,
}

/// A request that a client admitted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// When, on a clock that all processes of the machine share.
    pub at: Instant,
    /// Tokens it took.
    pub cost: u64,
}

/// Is told of what a client admits by itself, under a lock.
pub type AdmissionJournal = Arc<dyn Fn(&Admission) + Send + Sync>;

/// How a client is set up.
#[derive(Clone)]
pub struct ClientConfig {
    /// Nodes to talk to: `host:port`, `tls://host:port` or `unix:/path` of their RESP door, each with `zone=` before it
    /// where it is in one. The first that answers is taken, those of the client's own zone before others.
    pub nodes: Vec<String>,
    /// The zone the client is in.
    pub zone: Option<String>,
    /// A token of the nodes, where they have any.
    pub token: Option<String>,
    /// A name that no other client has and that stays over restarts: a node then frees at once what the last start
    /// held.
    pub name: Option<String>,
    /// How long a node may take before another is tried, and a request waits for terms of its key.
    pub timeout: Duration,
    /// What is done about unknown keys when nobody answers.
    pub when_away: WhenAway,
    /// The most keys of which something is kept. For one more, a lease that was not used lately is given back.
    pub keys_max: usize,
    /// Is told of what is admitted without asking, where anybody is.
    pub journal: Option<AdmissionJournal>,
    /// Whom to believe, where nodes are spoken to over TLS.
    #[cfg(feature = "tls")]
    pub tls: Option<super::ClientTls>,
}

impl ClientConfig {
    /// A client of these nodes with the usual settings.
    pub fn new(nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            nodes: nodes.into_iter().map(Into::into).collect(),
            zone: None,
            token: None,
            name: None,
            timeout: Duration::from_millis(200),
            when_away: WhenAway::Deny,
            keys_max: 65_536,
            journal: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// The same with nodes in the order in which they are tried.
    pub(super) fn checked(mut self) -> Result<Self, ClientError> {
        if self.nodes.is_empty() {
            return Err(ClientError::NoNodes);
        }
        if self.timeout.is_zero() || self.keys_max == 0 {
            return Err(ClientError::Zero);
        }
        for node in &self.nodes {
            let (_, address) = placed(node);
            let address = match address.strip_prefix("tls://") {
                Some(_) if !self.has_trust() => return Err(ClientError::NoAuthority(node.clone())),
                Some(rest) => rest,
                None => address,
            };
            let is_path = address
                .strip_prefix("unix:")
                .is_some_and(|path| !path.is_empty());
            let is_port = address
                .rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
            if !is_path && !is_port {
                return Err(ClientError::BadNode(node.clone()));
            }
        }
        let zone = self.zone.clone();
        self.nodes
            .sort_by_key(|node| zone.is_none() || placed(node).0 != zone.as_deref());
        Ok(self)
    }
}

impl ClientConfig {
    /// Whether it is said whom to believe over TLS.
    const fn has_trust(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        return false;
    }

    /// Reads whom to believe over TLS.
    pub(super) fn trust(&self) -> Result<Trust, ClientError> {
        Ok(Trust {
            #[cfg(feature = "tls")]
            config: self.tls.as_ref().map(super::ClientTls::read).transpose()?,
        })
    }
}

/// The zone and the address of a node.
pub(super) fn placed(node: &str) -> (Option<&str>, &str) {
    match node.split_once('=') {
        Some((zone, address)) => (Some(zone), address),
        None => (None, node),
    }
}

impl fmt::Debug for ClientConfig {
    /// Keeps the token out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig")
            .field("nodes", &self.nodes)
            .field("zone", &self.zone)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Why there is no client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientError {
    /// No node is named.
    NoNodes,
    /// That is no address.
    BadNode(String),
    /// A node is spoken to over TLS, and nobody says whom to believe.
    NoAuthority(String),
    /// A file of certificates cannot be used.
    Tls(String),
    /// A timeout or a bound is zero.
    Zero,
    /// The system gave no randomness or no thread.
    System(String),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNodes => {
                f.write_str("no node is named; give at least one, as `127.0.0.1:6379`")
            }
            Self::BadNode(node) => write!(
                f,
                "`{node}` is no node; write `host:port`, `tls://host:port` or `unix:/path`, with `zone=` before it where it is in one"
            ),
            Self::NoAuthority(node) => write!(
                f,
                "`{node}` needs a file of certificates that sign for nodes, and a client built with TLS"
            ),
            Self::Zero => f.write_str("`timeout` and `keys_max` must be above zero"),
            Self::Tls(what) | Self::System(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ClientError {}
