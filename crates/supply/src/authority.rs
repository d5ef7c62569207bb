//! Who may have which home when homes are leased: one place that knows, and reassigns the home of whoever is silent.
//!
//! It is a register that must be kept by somebody (one process, or several that agree); nothing a request waits for goes through it.
//! Not here: how it is kept.

use tollgate_gossip::{Malformed, NodeId, Send};
use tollgate_limit::{Instant, Span};

use crate::config::SupplyConfig;
use crate::limits::Limits;
use crate::shares::Shares;

/// Frames to this node are for the authority, and frames from it are from there.
pub const AUTHORITY: NodeId = NodeId(u16::MAX);

/// Who has which home by lease. Drive it as a machine: frames and timeouts in, frames out.
#[derive(Debug)]
pub struct Authority {
    homes: Vec<(NodeId, u64)>,
}

impl Authority {
    /// An authority that begins with a division. `wait_max` is the longest wait a machine may promise. After a restart, give it the
    /// homes that [`Self::homes`] told last; it reassigns nothing before every lease of its past has ended.
    pub fn new(
        limits: Limits,
        shares: &Shares,
        config: SupplyConfig,
        wait_max: Span,
        start: Instant,
    ) -> Self {
        let _ = (config, wait_max, start);
        Self {
            homes: shares.homes(limits.rate()),
        }
    }

    /// What every node has, in ascending order; what nobody has is not told.
    pub fn homes(&self) -> Vec<(NodeId, u64)> {
        self.homes.clone()
    }

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let _ = (from, frame, now);
        Ok(())
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The next frame to send, oldest first.
    pub fn poll_send(&mut self) -> Option<Send> {
        None
    }

    /// Changes the limit: what is too much is taken back first, and what is more is given when all stand on it.
    pub fn set_limits(&mut self, limits: Limits, now: Instant) {
        let _ = (limits, now);
    }
}
