//! Bytes per second, by peer: sums looked at once a second, over the last ten.

use std::collections::{BTreeMap, VecDeque};

use tollgate_cluster::{ClusterStatus, LinkTraffic};
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

/// Sums as they were at recent looks.
#[derive(Default)]
pub(super) struct TrafficRates {
    looks: VecDeque<(Instant, BTreeMap<NodeId, LinkTraffic>)>,
}

impl TrafficRates {
    /// Whether a second has passed.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let last = self.looks.back();
        last.is_none_or(|(at, _)| now.nanos_since(*at) >= EVERY_NANOS)
    }

    /// Looks at the sums.
    pub(super) fn look(&mut self, status: &ClusterStatus, now: Instant) {
        let sums = status.peers.iter();
        let sums = sums.map(|peer| (peer.member.node, peer.traffic)).collect();
        self.looks.push_back((now, sums));
        if self.looks.len() > LOOKS_MAX {
            self.looks.pop_front();
        }
    }

    /// Bytes per second to and from a peer; none before there were two looks.
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub(super) fn of(&self, peer: NodeId) -> (f64, f64) {
        let seen = || {
            let looks = self.looks.iter();
            looks.filter_map(|(at, sums)| Some((*at, sums.get(&peer)?)))
        };
        let (Some((from, before)), Some((to, after))) = (seen().next(), seen().next_back()) else {
            return (0.0, 0.0);
        };
        let seconds = to.nanos_since(from) as f64 / 1e9;
        let rate = |sum: fn(&LinkTraffic) -> u64| {
            if seconds > 0.0 {
                sum(after).saturating_sub(sum(before)) as f64 / seconds
            } else {
                0.0
            }
        };
        (rate(bytes_out), rate(bytes_in))
    }
}

/// All bytes sent.
pub(super) const fn bytes_out(traffic: &LinkTraffic) -> u64 {
    traffic.bytes_out.saturating_add(traffic.stream_bytes_out)
}

/// All bytes received.
pub(super) const fn bytes_in(traffic: &LinkTraffic) -> u64 {
    traffic.bytes_in.saturating_add(traffic.stream_bytes_in)
}

const EVERY_NANOS: u64 = 1_000_000_000;
const LOOKS_MAX: usize = 11;
