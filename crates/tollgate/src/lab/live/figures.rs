//! Traffic as the processes report it.
//!
//! Not here: what the client saw.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use tollgate_limit::Span;
use tollgate_serve::cluster::view::ClusterView;

use super::lanes::LiveLane;
use crate::cluster::fleet::Fleet;
use crate::failure::Failure;

#[derive(Clone, Debug, Default)]
pub(super) struct LiveFigures {
    /// By contract.
    lanes: BTreeMap<String, ContractTraffic>,
    /// The contracts that some node still has updates for.
    loud: Vec<String>,
    /// Datagrams and their bytes on the wire, with seals and headers, of everything.
    pub(super) wire_bytes: u64,
    /// The mean over all links.
    pub(super) delay: Span,
    /// Whether every node has measured the delay to some peer.
    pub(super) is_measured: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ContractTraffic {
    /// Frames of the design, each with 28 bytes for IP and UDP, as the lab counts.
    pub(super) bytes: u64,
    pub(super) messages: u64,
    /// Bytes on the wire meanwhile, of everything: sealed, with headers, probes included.
    pub(super) wire_bytes: u64,
}

/// Timeout of waiting for quiet.
const QUIET_MAX: Duration = Duration::from_secs(90);
const TICK: Duration = Duration::from_millis(100);

impl LiveFigures {
    pub(super) fn read(fleet: &Fleet) -> Result<Self, Failure> {
        let mut figures = Self::default();
        let (mut delays, mut knowing) = (Vec::new(), 0);
        let running = (0_u16..).zip(fleet.nodes());
        let running: Vec<u16> = running
            .filter(|(_, node)| node.pid().is_some())
            .map(|(number, _)| number)
            .collect();
        for &node in &running {
            let status = fleet.status(node)?;
            let own = figures.add(&status);
            knowing += usize::from(!own.is_empty());
            delays.extend(own);
        }
        let count = delays.len().max(1) as u128;
        figures.delay = Span::from_nanos(delays.iter().sum::<u128>() / count);
        figures.is_measured = knowing == running.len();
        Ok(figures)
    }

    /// Adds one node's report; returns the delays it knows, in nanoseconds.
    fn add(&mut self, status: &ClusterView) -> Vec<u128> {
        for policy in &status.policies {
            let sent = self.lanes.entry(policy.contract.clone()).or_default();
            sent.bytes += policy.bytes;
            sent.messages += policy.frames;
            if !policy.quiet {
                self.loud.push(policy.contract.clone());
            }
        }
        self.wire_bytes += status.traffic.bytes_out;
        let known = status.peers.iter().filter_map(|peer| peer.delay_us);
        known.map(|micros| u128::from(micros) * 1_000).collect()
    }

    /// What was sent about a lane since `before`.
    pub(super) fn of(&self, lane: &LiveLane, before: &Self) -> ContractTraffic {
        let of = |figures: &Self| figures.lanes.get(&lane.id).copied().unwrap_or_default();
        let (now, then) = (of(self), of(before));
        ContractTraffic {
            bytes: now.bytes.saturating_sub(then.bytes),
            messages: now.messages.saturating_sub(then.messages),
            wire_bytes: self.wire_bytes.saturating_sub(before.wire_bytes),
        }
    }
}

/// The totals once no node has updates about these lanes, as the lab's count ends.
pub(super) fn when_quiet(
    fleet: &Fleet,
    lanes: &[LiveLane],
    before: &LiveFigures,
) -> Result<LiveFigures, Failure> {
    let begun = Instant::now();
    let mut delays = vec![before.delay];
    loop {
        let mut figures = LiveFigures::read(fleet)?;
        delays.push(figures.delay);
        let is_loud = |lane: &LiveLane| figures.loud.contains(&lane.id);
        if !lanes.iter().any(is_loud) || begun.elapsed() > QUIET_MAX {
            let sum: u128 = delays.iter().map(|delay| delay.as_nanos()).sum();
            figures.delay = Span::from_nanos(sum / delays.len() as u128);
            return Ok(figures);
        }
        thread::sleep(TICK);
    }
}
