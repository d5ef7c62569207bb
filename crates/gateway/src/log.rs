//! What a gateway logs: what the operator must know, rate-limited, and no input of clients but their address.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tollgate_serve::logs::Rarely;

use crate::judge::Idle;
use crate::meter::Count;

pub(crate) struct GatewayLog {
    upstream: String,
    /// Whether the last connection to the broker failed.
    is_down: AtomicBool,
    turned_away: Rarely,
    not_accepted: Rarely,
}

impl GatewayLog {
    pub(crate) fn new(upstream: &str) -> Self {
        Self {
            upstream: upstream.to_owned(),
            is_down: AtomicBool::new(false),
            turned_away: Rarely::new(EVERY),
            not_accepted: Rarely::new(EVERY),
        }
    }

    pub(crate) fn answered(&self) {
        if self.is_down.load(Relaxed) && self.is_down.swap(false, Relaxed) {
            tracing::info!(upstream = self.upstream, "the broker is back");
        }
    }

    /// `accept` failed.
    pub(crate) fn not_accepted(&self, error: &io::Error) {
        if let Some(unsaid) = self.not_accepted.now() {
            tracing::error!(%error, unsaid, "clients cannot be taken in; raise `ulimit -n`");
        }
    }

    /// The broker failed independently of the client.
    pub(crate) fn failed(&self, why: Count) {
        if !self.is_down.swap(true, Relaxed) {
            let (upstream, reason) = (&self.upstream, why.label());
            tracing::error!(
                upstream,
                reason,
                "the broker cannot be used; clients are turned away"
            );
        }
    }

    pub(crate) fn turned_away(&self, why: Count, peer: SocketAddr) {
        if matches!(why, Count::NoBroker | Count::Distrusted) {
            return self.failed(why);
        }
        if let Some(unsaid) = self.turned_away.now() {
            let (address, reason) = (peer.ip(), why.label());
            tracing::warn!(%address, reason, unsaid, "a client was turned away");
        }
    }

    /// Contracts that bind no message are about to be in force.
    pub(crate) fn idle(idle: &[Idle]) {
        for Idle { contract, entry } in idle {
            tracing::warn!(
                contract,
                entry,
                "binds no message: messages have no such entry"
            );
        }
    }
}

/// The interval of repeated lines.
const EVERY: Duration = Duration::from_secs(10);
