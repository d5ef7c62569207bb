//! What a run is: a cluster, the requests it gets, and what happens to it.
//!
//! Not here: how it is carried out.

use tollgate_sim::Conditions;

use super::demand::Phase;
use super::units::{MILLI, PER_SECOND};

/// A rack: a quarter to half a millisecond, nothing lost.
pub(crate) const RACK: Conditions = Conditions::between(250, 500);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SupplySetting {
    /// Addresses of nodes; some may join later.
    pub(crate) nodes: u16,
    /// The first of these are there from the start.
    pub(crate) founders: u16,
    /// The limit, in millionths of a request per second.
    pub(crate) rate: u64,
    /// The bucket is what the limit brings in so many microseconds.
    pub(crate) depth_us: u64,
    pub(crate) round_us: u64,
    pub(crate) weather: Conditions,
    /// Clocks drift by up to so many millionths.
    pub(crate) drift: u64,
    pub(crate) until: u64,
    /// Sums are looked at after every so many events.
    pub(crate) look_every: u64,
    /// Books are compared at every so many of these looks.
    pub(crate) audit_every: u64,
    /// What the nodes hold is drawn so often; never if zero.
    pub(crate) sample_us: u64,
    /// The best sum between these times is noted.
    pub(crate) recovery: Option<(u64, u64)>,
}

impl SupplySetting {
    /// So many nodes in a rack share 10,000 requests per second and a bucket of 100 ms of it for a minute.
    pub(crate) fn rack(nodes: u16) -> Self {
        Self {
            nodes,
            founders: nodes,
            rate: 10_000 * PER_SECOND,
            depth_us: 100 * MILLI,
            round_us: 100 * MILLI,
            weather: RACK,
            drift: 0,
            until: 60_000 * MILLI,
            look_every: 1,
            audit_every: 1,
            sample_us: 0,
            recovery: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClusterChange {
    /// A node is gone, with its memory.
    Crash(u16),
    /// A node that is gone starts again.
    Restart(u16),
    /// Only nodes on one side reach each other; services are on side 0.
    Split(Vec<u8>),
    /// Everybody reaches everybody.
    Heal,
    /// A node enters the cluster.
    Join(u16),
    /// A node is asked to go, and goes.
    Leave(u16),
    /// Messages travel otherwise from here on.
    Weather(Conditions),
}

#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) setting: SupplySetting,
    pub(crate) phases: Vec<Phase>,
    pub(crate) changes: Vec<(u64, ClusterChange)>,
    pub(crate) seed: u64,
}
