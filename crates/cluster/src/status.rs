//! How the cluster is doing, in figures.
//!
//! Not here: how the figures are shown.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Instant, Span};

use crate::event::Refused;
use crate::member::Member;
use crate::roll::MissingNode;

/// One node's view of its cluster.
#[derive(Clone, Debug)]
pub struct ClusterStatus {
    pub node: NodeId,
    pub writer: Writer,
    pub generation: u64,
    /// Its advertised address.
    pub advertise: SocketAddr,
    pub is_silent: bool,
    /// Without this node; by number.
    pub peers: Vec<PeerStatus>,
    /// By id.
    pub missing: Vec<MissingNode>,
    /// Totals over all peers.
    pub traffic: LinkTraffic,
    pub refusals: Refusals,
    /// Skipped frames of kinds that this version does not know.
    pub unknown_frames: u64,
    /// How often this node was declared gone while it ran.
    pub rejoins: u64,
}

#[derive(Clone, Debug)]
pub struct PeerStatus {
    pub member: Member,
    pub freshness: Freshness,
    /// One-way delay: half the round trip, smoothed; `None` before the first measurement.
    pub delay: Option<Span>,
    pub traffic: LinkTraffic,
    /// Bytes that wait in its queues.
    pub queued_bytes: usize,
}

/// Sums since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTraffic {
    /// Bytes of datagrams sent, with seal and headers of IP and UDP.
    pub bytes_out: u64,
    /// Bytes of datagrams received, with seal and headers of IP and UDP.
    pub bytes_in: u64,
    pub datagrams_out: u64,
    pub datagrams_in: u64,
    pub frames_out: u64,
    pub frames_in: u64,
    /// Bytes of messages sent over streams, without the overhead of encryption.
    pub stream_bytes_out: u64,
    /// Bytes of messages received over streams, without the overhead of encryption.
    pub stream_bytes_in: u64,
    /// Frames dropped from a full queue.
    pub dropped: u64,
}

/// How old the last information from a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Time of its last message.
    pub heard: Option<Instant>,
    /// How unlikely its silence is, in thousandths of phi: at 1000 one silence in ten lasts as long, at 2000 one in a
    /// hundred.
    pub phi_milli: u32,
    pub grade: Grade,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As usual: phi below 1.
    Fresh,
    /// Longer than usual: phi below 3.
    Late,
    /// Its state is out of date: phi below 8.
    Stale,
    /// It is most likely gone.
    Silent,
}

impl Grade {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Late => "late",
            Self::Stale => "stale",
            Self::Silent => "silent",
        }
    }
}

/// Counts by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals(BTreeMap<Refused, u64>);

impl Refusals {
    pub fn of(&self, refused: Refused) -> u64 {
        self.0.get(&refused).copied().unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Refused, u64)> + '_ {
        Refused::ALL
            .into_iter()
            .map(|refused| (refused, self.of(refused)))
    }

    pub(crate) fn count(&mut self, refused: Refused) {
        let count = self.0.entry(refused).or_default();
        *count = count.saturating_add(1);
    }
}
