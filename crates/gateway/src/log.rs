//! What a gateway logs: what the operator must know, rarely, and nothing that a client chose but its address.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tollgate_serve::logs::Rarely;

use crate::meter::Count;

/// The log of one gateway.
pub(crate) struct Log {
    upstream: String,
    /// Whether the broker was not reached when that was tried last.
    is_down: AtomicBool,
    turned_away: Rarely,
    not_accepted: Rarely,
}

impl Log {
    pub(crate) fn new(upstream: &str) -> Self {
        Self {
            upstream: upstream.to_owned(),
            is_down: AtomicBool::new(false),
            turned_away: Rarely::new(EVERY),
            not_accepted: Rarely::new(EVERY),
        }
    }

    /// The broker was reached.
    pub(crate) fn reached(&self) {
        if self.is_down.load(Relaxed) && self.is_down.swap(false, Relaxed) {
            tracing::info!(upstream = self.upstream, "the broker is back");
        }
    }

    /// The system gives no connection.
    pub(crate) fn not_accepted(&self, error: &io::Error) {
        if let Some(unsaid) = self.not_accepted.now() {
            tracing::error!(%error, unsaid, "clients cannot be taken in; raise `ulimit -n`");
        }
    }

    /// A client was turned away.
    pub(crate) fn turned_away(&self, why: Count, peer: SocketAddr) {
        let upstream = &self.upstream;
        let reason = why.label();
        match why {
            Count::NoBroker | Count::NoGreeting => {
                if !self.is_down.swap(true, Relaxed) {
                    tracing::error!(upstream, "the broker is not there; clients are turned away");
                }
            }
            Count::Distrusted => {
                if !self.is_down.swap(true, Relaxed) {
                    tracing::error!(
                        upstream,
                        "the broker does not prove who it is; clients are turned away"
                    );
                }
            }
            _ => {
                if let Some(unsaid) = self.turned_away.now() {
                    let address = peer.ip();
                    tracing::warn!(%address, reason, unsaid, "a client was turned away");
                }
            }
        }
    }
}

/// How often something that happens to many is said.
const EVERY: Duration = Duration::from_secs(10);
