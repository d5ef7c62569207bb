//! What one run gave.
//!
//! Not here: means over many runs, which a report has.

use std::collections::BTreeSet;

use tollgate_gossip::{Bucket, ModeKey};

use crate::nodes::{Member, Net};
use crate::truth::{self, Judgement};
use crate::world::Request;
use crate::world::meter::Grid;

/// What one run gave.
#[derive(Clone, Debug, Default)]
pub struct RunOutcome {
    /// The seed that decided it.
    pub seed: u64,
    /// A hash of every event in order.
    pub hash: u64,
    /// Requests.
    pub requests: u64,
    /// The answers beside those of the central bucket.
    pub judged: Judgement,
    /// What the nodes sent each other.
    pub traffic: FrameTraffic,
    /// Bytes of state of a node, mean over nodes and time, until the last request.
    pub state_bytes: f64,
    /// Of these, bytes that decisions are made from.
    pub local_bytes: f64,
    /// Seconds from the last request until the last frame; `None` if the run was cut off before all was said.
    pub quiet_s: Option<f64>,
    /// Bytes of state of all nodes at the very end.
    pub left_bytes: u64,
    /// What the nodes know at the end, if that was asked for.
    pub probes: Vec<KeyProbe>,
    /// Curves over time, if they were asked for.
    pub curves: Curves,
}

/// What is left of a key's bucket, in whole tokens rounded down; below zero is debt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyProbe {
    /// Whose.
    pub key: ModeKey,
    /// In the bucket that saw everything.
    pub truth: i64,
    /// To the node that believes least.
    pub least: i64,
    /// To the node that believes most.
    pub most: i64,
}

/// What the nodes sent each other. Each frame counts 28 bytes for IP and UDP on top of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameTraffic {
    /// Bytes sent.
    pub bytes: u64,
    /// Frames sent.
    pub messages: u64,
    /// Bytes sent and received by the busiest node.
    pub busiest_bytes: u64,
    /// Bytes sent by the node that sent most.
    pub busiest_sent_bytes: u64,
    /// Frames that arrived, copies made by the network included.
    pub received: u64,
    /// Frames lost on the way, or for want of a receiver.
    pub lost: u64,
    /// Copies made by the network.
    pub copies: u64,
    /// Frames their receiver could not read, though it knew the sender.
    pub malformed: u64,
}

impl FrameTraffic {
    /// What was counted on a network.
    pub(crate) fn of<M: Member>(net: &Net<M>) -> Self {
        let mut each = vec![(0, 0); net.nodes.len()];
        for ((from, to), sent) in net.links() {
            if let Some(own) = each.get_mut(usize::from(*from)) {
                own.0 += sent.bytes;
            }
            if let Some(own) = each.get_mut(usize::from(*to)) {
                own.1 += sent.bytes_arrived;
            }
        }
        let most = |pick: fn(&(u64, u64)) -> u64| each.iter().map(pick).max().unwrap_or(0);
        let (sent, missed) = (net.sent(), net.missed());
        Self {
            bytes: sent.bytes,
            messages: sent.messages,
            busiest_bytes: most(|own| own.0 + own.1),
            busiest_sent_bytes: most(|own| own.0),
            received: (sent.messages + sent.copies).saturating_sub(sent.lost + missed),
            lost: sent.lost + missed,
            copies: sent.copies,
            malformed: 0,
        }
    }
}

/// What is plotted, one value per step of the time grid.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    /// Seconds per step.
    pub step_s: f64,
    /// Cumulative requests.
    pub requests: Vec<u64>,
    /// Cumulative rejections.
    pub rejected: Vec<u64>,
    /// Cumulative rejections of the central bucket.
    pub central_rejected: Vec<u64>,
    /// Bytes of state of a node, mean over nodes.
    pub state_bytes: Vec<f64>,
    /// Bytes sent during the step by all nodes.
    pub sent_bytes: Vec<u64>,
    /// Keys seen so far.
    pub keys: Vec<u64>,
}

impl Curves {
    /// Adds what follows from the answers alone.
    pub(crate) fn follow(&mut self, bucket: Bucket, trace: &[Request], admitted: &[bool]) {
        let central = truth::central(bucket, trace);
        let mut grid = Grid::of_curves(trace);
        let mut seen: BTreeSet<ModeKey> = BTreeSet::new();
        let (mut requests, mut rejected, mut central_rejected) = (0, 0, 0);
        let mut answers = trace.iter().zip(admitted).zip(&central).peekable();
        for _ in 0..self.state_bytes.len() {
            let now = grid.take();
            while let Some(((request, did), should)) =
                answers.next_if(|((request, _), _)| request.at.as_nanos() <= now)
            {
                seen.insert(request.key);
                requests += 1;
                rejected += u64::from(!did);
                central_rejected += u64::from(!should);
            }
            self.requests.push(requests);
            self.rejected.push(rejected);
            self.central_rejected.push(central_rejected);
            self.keys.push(seen.len() as u64);
        }
    }
}
