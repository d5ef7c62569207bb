//! How the cluster is seen from this node, as `/v1/cluster` and `tollgate cluster status` show it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::absent::RollView;

/// How the cluster is seen from this node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterView {
    /// Whether this server takes part in a cluster. All the rest is empty where not.
    pub on: bool,
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// This node.
    pub me: Option<MeView>,
    /// How it takes part.
    #[serde(flatten)]
    pub part: PartView,
    /// Who is expected, and who of them is there.
    #[serde(flatten)]
    pub roll: RollView,
    /// Everybody else, by number.
    pub peers: Vec<PeerView>,
    /// Everything that was sent and received, all peers together.
    pub traffic: TrafficView,
    /// What came and was not taken, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Datagrams that the system did not take.
    pub unsent: u64,
    /// Streams.
    pub streams: StreamsView,
    /// Policies that are counted together.
    pub policies: Vec<PolicyView>,
    /// Frames of policies that were dropped because too many waited to be sent.
    pub gossip_dropped: u64,
    /// Frames that came for policies that are not here: contracts differ.
    pub gossip_unknown: u64,
    /// Frames of kinds that this version does not know, by datagram and by stream: skipped.
    #[serde(default)]
    pub unknown_frames: u64,
    /// What somebody should look at, one sentence each.
    pub troubles: Vec<String>,
}

/// How a node takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartView {
    /// Whether it does; where not, its thread broke, it counts alone and is not ready.
    #[serde(default)]
    pub running: bool,
    /// Whether it still learns from the others, and so is not ready.
    pub joining: bool,
}

/// This node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeView {
    /// What people call it.
    pub name: String,
    /// Its id, 32 hexadecimal digits.
    pub id: String,
    /// Its number on the wire.
    pub node: u16,
    /// The number of this boot.
    pub writer: u16,
    /// How often it was started.
    pub generation: u64,
    /// Where others are told to reach it.
    pub address: String,
    /// Where it stands.
    pub zone: Option<String>,
    /// How much it can take.
    pub capacity: u32,
    /// The version of its program.
    pub version: String,
    /// How often the others took it for gone while it was not.
    pub rejoins: u64,
}

/// Another node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerView {
    /// What people call it.
    pub name: String,
    /// Its id, 32 hexadecimal digits.
    pub id: String,
    /// Its number on the wire.
    pub node: u16,
    /// The number of its boot.
    pub writer: u16,
    /// Where it is reached.
    pub address: String,
    /// Where it stands.
    pub zone: Option<String>,
    /// How much it can take.
    pub capacity: u32,
    /// The version of its program.
    pub version: String,
    /// `alive` or `suspect`.
    pub state: String,
    /// How fresh what we know of it is: `fresh`, `late`, `stale` or `silent`.
    pub freshness: String,
    /// How unlikely its silence is: at 1 one in ten lasts as long, at 2 one in a hundred.
    pub phi: f64,
    /// Milliseconds since something came from it.
    pub heard_ms_ago: Option<u64>,
    /// How long a datagram takes to it, in microseconds.
    pub delay_us: Option<u64>,
    /// What went to it and came from it.
    pub traffic: TrafficView,
    /// Bytes that wait to be sent to it.
    pub queued_bytes: u64,
}

/// Sums since the start, and rates of the last seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficView {
    /// Bytes sent, headers of datagrams included.
    pub bytes_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// The same in the last seconds, per second.
    pub bytes_out_per_s: f64,
    /// The same in the last seconds, per second.
    pub bytes_in_per_s: f64,
    /// Datagrams sent.
    pub datagrams_out: u64,
    /// Datagrams received.
    pub datagrams_in: u64,
    /// Frames sent in datagrams.
    pub frames_out: u64,
    /// Frames received in datagrams.
    pub frames_in: u64,
    /// Bytes sent over streams, before they are sealed; in `bytes_out` as well.
    pub stream_bytes_out: u64,
    /// Bytes received over streams, before they are sealed; in `bytes_in` as well.
    pub stream_bytes_in: u64,
    /// Frames dropped because too much waited.
    pub dropped: u64,
}

/// What is counted of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamsView {
    /// Open now, either way.
    pub open: u64,
    /// Ever opened, either way.
    pub opened: u64,
    /// Could not be opened.
    pub failed: u64,
    /// Opened by others who are no members.
    pub refused: u64,
}

/// The memory of a policy that nodes count together by gossip.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoomView {
    /// Bytes that it takes, about.
    #[serde(default)]
    pub held_bytes: u64,
    /// Keys that made room for others, and requests for keys that found none.
    pub crowded_out: u64,
    /// Copies for other nodes that made room.
    #[serde(default)]
    pub copies_dropped: u64,
}

/// A policy that is counted together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyView {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// How nodes agree about it.
    pub design: String,
    /// Keys that are known here.
    pub keys: u64,
    /// Frames it sent.
    pub frames: u64,
    /// Bytes it sent, with 28 for the headers of each frame, as the lab counts.
    pub bytes: u64,
    /// Frames among them that told what was admitted.
    pub publications: u64,
    /// Frames it took.
    pub heard: u64,
    /// Frames it could not read.
    pub malformed: u64,
    /// The most tokens that a key was seen above its limit.
    pub over_max: u64,
    /// Bytes of its state, as the lab counts.
    pub state_bytes: u64,
    /// Its memory.
    #[serde(flatten)]
    pub room: RoomView,
    /// Whether nothing waits to be told.
    pub quiet: bool,
}
