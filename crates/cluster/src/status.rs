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
    /// This node.
    pub node: NodeId,
    /// This boot.
    pub writer: Writer,
    /// Its generation.
    pub generation: u64,
    /// Where it says it is reached.
    pub advertise: SocketAddr,
    /// Whether it has left, or lost its identity.
    pub is_silent: bool,
    /// Every other member, by number.
    pub peers: Vec<PeerStatus>,
    /// Who was a member and is missing, by id.
    pub missing: Vec<MissingNode>,
    /// All that was sent and received.
    pub traffic: LinkTraffic,
    /// What was refused.
    pub refusals: Refusals,
    /// Frames of kinds that this version does not know.
    pub unknown_frames: u64,
    /// How often this node was declared gone while it was not.
    pub rejoins: u64,
}

/// One other member.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// Who it is.
    pub member: Member,
    /// How fresh what we know of it is.
    pub freshness: Freshness,
    /// How long a datagram takes to it, where that was measured: half the way there and back, smoothed.
    pub delay: Option<Span>,
    /// What went to it and came from it.
    pub traffic: LinkTraffic,
    /// Bytes that wait to be sent to it.
    pub queued_bytes: usize,
}

/// Sums since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTraffic {
    /// Bytes of datagrams sent, with seal and headers of IP and UDP.
    pub bytes_out: u64,
    /// Bytes of datagrams received, with seal and headers of IP and UDP.
    pub bytes_in: u64,
    /// Datagrams sent.
    pub datagrams_out: u64,
    /// Datagrams received.
    pub datagrams_in: u64,
    /// Frames sent in datagrams.
    pub frames_out: u64,
    /// Frames received in datagrams.
    pub frames_in: u64,
    /// Bytes of messages sent over streams, without what encryption adds.
    pub stream_bytes_out: u64,
    /// Bytes of messages received over streams, without what encryption adds.
    pub stream_bytes_in: u64,
    /// Frames that were dropped because too much waited before them.
    pub dropped: u64,
}

/// How fresh what we know of a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// When something last came from it.
    pub heard: Option<Instant>,
    /// How unlikely its silence is, in thousandths of phi: at 1000 one silence in ten lasts as long, at 2000 one in a
    /// hundred.
    pub phi_milli: u32,
    /// The same, as a word.
    pub grade: Grade,
}

/// How worrying a peer's silence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As usual: phi below 1.
    Fresh,
    /// Longer than usual: phi below 3.
    Late,
    /// What we know of it is old: phi below 8.
    Stale,
    /// It is most likely gone.
    Silent,
}

impl Grade {
    /// The name in metrics and pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Late => "late",
            Self::Stale => "stale",
            Self::Silent => "silent",
        }
    }
}

/// How often what was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals(BTreeMap<Refused, u64>);

impl Refusals {
    /// How often for that reason.
    pub fn of(&self, refused: Refused) -> u64 {
        self.0.get(&refused).copied().unwrap_or(0)
    }

    /// Every reason with how often, also those that never were.
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
