//! Who moves the cuts: reports of all nodes in, shares out.
//!
//! What is taken away is taken first; what is given is given when that was acknowledged, so that the shares in use are
//! never more than the bucket. It keeps nothing across a restart: it asks everybody, and does nothing until it has
//! heard from everybody. Not here: how a node changes.

use std::collections::{BTreeMap, VecDeque};

use tollgate_gossip::{Malformed, NodeId, Send};
use tollgate_limit::Instant;

use crate::config::{AdaptorConfig, BadConfig, Depths};
use crate::demand::NodeDemand;
use crate::limits::{Share, TopicLimits};
use crate::portion::portions;
use crate::wire::{self, Message, SplitReport};

/// Who moves the cuts of one topic. Driven as a [`Machine`](crate::SplitMachine) is; calls may be early, repeated and
/// late.
#[derive(Debug)]
pub struct Adaptor {
    boot: u64,
    limits: TopicLimits,
    config: AdaptorConfig,
    nodes: BTreeMap<NodeId, Follower>,
    epoch: u64,
    tick_at: Instant,
    sends: VecDeque<Send>,
    changes: u64,
}

/// A node as the adaptor knows it.
#[derive(Clone, Debug, Default)]
struct Follower {
    boot: u64,
    /// The most it uses but for what was sent; `None`: this boot of the adaptor has not heard of it yet.
    stands: Option<Share>,
    /// Whether its boot has said what it uses.
    is_heard: bool,
    /// The share that it acknowledged.
    given: Share,
    acknowledged: u64,
    /// A share that it has not acknowledged yet.
    sent: Option<(u64, Share)>,
    aim: Share,
    demand: NodeDemand,
    leaves: bool,
}

impl Follower {
    /// The most that it may use.
    fn bound(&self) -> Option<Share> {
        let stands = self.stands?;
        let sent = self.sent.map_or(Share::NONE, |(_, share)| share);
        Some(Share {
            rate: stands.rate.max(sent.rate),
            depth: stands.depth.max(sent.depth),
        })
    }
}

impl Adaptor {
    /// An adaptor at its start; a later boot has a larger number.
    pub fn new(
        limits: TopicLimits,
        boot: u64,
        members: &[NodeId],
        config: AdaptorConfig,
        start: Instant,
    ) -> Result<Self, BadConfig> {
        config.check()?;
        let mut adaptor = Self {
            boot: boot.max(1),
            limits,
            config,
            nodes: BTreeMap::new(),
            epoch: 0,
            tick_at: start,
            sends: VecDeque::new(),
            changes: 0,
        };
        adaptor.handle_members(members);
        Ok(adaptor)
    }

    /// Who has a part. One that is not named any more keeps nothing; it is forgotten once it has said so.
    pub fn handle_members(&mut self, members: &[NodeId]) {
        for (id, node) in &mut self.nodes {
            node.leaves = !members.contains(id);
        }
        for id in members {
            self.nodes.entry(*id).or_default();
        }
    }

    /// A frame came.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let (boot, messages) = wire::read(frame)?;
        for message in messages {
            if let Message::Report(report) = message {
                self.handle_report(from, boot, &report, now);
            }
        }
        Ok(())
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if now < self.tick_at {
            return;
        }
        self.tick_at = now.saturating_add(self.config.period);
        self.remind();
        if self.nodes.values().all(|node| node.stands.is_some()) {
            self.take_aim(now);
            self.step(true);
        }
    }

    /// When to call `handle_timeout` next.
    pub const fn poll_timeout(&self) -> Instant {
        self.tick_at
    }

    /// The next frame to send.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.sends.pop_front()
    }

    /// Shares that were given so far.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    fn handle_report(&mut self, from: NodeId, boot: u64, report: &SplitReport, now: Instant) {
        let window = self.config.window;
        let Some(node) = self.nodes.get_mut(&from) else {
            return;
        };
        if boot < node.boot {
            return;
        }
        if boot > node.boot {
            // Nothing that was sent to the boot before reaches this one.
            node.stands = node.bound();
            (node.boot, node.sent, node.acknowledged) = (boot, None, 0);
            (node.is_heard, node.demand) = (false, NodeDemand::default());
        }
        node.demand.add(report, window, now);
        if report.yours != self.boot {
            self.send(from, &Message::Where);
            return;
        }
        node.acknowledge(report);
        if node.leaves && node.given == Share::NONE && report.share == Share::NONE {
            self.nodes.remove(&from);
        }
        if self.nodes.values().all(|node| node.stands.is_some()) {
            self.step(false);
        }
    }

    /// Says again what was not acknowledged, and asks those who were not heard.
    fn remind(&mut self) {
        let mut says = Vec::new();
        for (id, node) in &self.nodes {
            if !node.is_heard {
                says.push((*id, Message::Where));
            } else if let Some((epoch, share)) = node.sent {
                says.push((*id, node.set(epoch, share)));
            }
        }
        for (id, message) in says {
            self.send(id, &message);
        }
    }

    /// What everybody should have, by demand. Whoever is silent keeps what it has, and so does everybody while nothing
    /// is asked for.
    fn take_aim(&mut self, now: Instant) {
        let window = self.config.window;
        let mut whole = self.limits.whole();
        let mut heard = Vec::new();
        for (id, node) in &mut self.nodes {
            node.demand.forget(window, now);
            node.aim = if node.leaves { Share::NONE } else { node.given };
            if !node.leaves && node.is_heard && node.demand.is_known(window, now) {
                heard.push(*id);
            } else {
                whole = whole.less(node.bound().unwrap_or_default());
            }
        }
        let (rates, peaks) = self.weights(&heard);
        if rates.iter().all(|rate| *rate == 0) {
            return;
        }
        let equal = whole.rate / (heard.len() as u128).max(1);
        let floor = equal / 1000 * u128::from(self.config.floor_milli);
        let rates = portions(whole.rate, &rates, floor);
        let floor = self.limits.messages(u64::from(self.config.floor_messages));
        let depths = match self.config.depths {
            Depths::Backlog if peaks.iter().any(|peak| *peak > 0) => Some(peaks),
            Depths::Backlog => None,
            Depths::Rate => Some(rates.iter().map(|rate| scaled(*rate, whole.rate)).collect()),
        };
        let depths = depths.map(|weights: Vec<u64>| portions(whole.depth, &weights, floor));
        for (place, (id, rate)) in heard.iter().zip(rates).enumerate() {
            if let Some(node) = self.nodes.get_mut(id) {
                node.aim.rate = rate;
                let depth = depths.as_ref().and_then(|depths| depths.get(place));
                node.aim.depth = depth.copied().unwrap_or(node.given.depth);
            }
        }
    }

    /// What is asked for, and the largest backlogs.
    fn weights(&self, heard: &[NodeId]) -> (Vec<u64>, Vec<u64>) {
        let message = self.limits.message();
        let depth = self.limits.whole().depth;
        let nodes = heard.iter().filter_map(|id| self.nodes.get(id));
        nodes
            .map(|node| {
                let rate = node.demand.rate_milli(self.config.horizon, message);
                (rate, scaled(node.demand.peak(), depth))
            })
            .unzip()
    }

    /// Takes away at once. Gives what is free, once all that was taken is acknowledged, or when a period is over.
    fn step(&mut self, is_tick: bool) {
        let mut sets = Vec::new();
        for (id, node) in &self.nodes {
            let low = node.given.min(node.aim);
            if node.may_be_set() && low != node.given {
                sets.push((*id, low));
            }
        }
        for (id, share) in sets {
            self.set(id, share);
        }
        if !is_tick && self.nodes.values().any(|node| node.sent.is_some()) {
            return;
        }
        let used = self.nodes.values().filter_map(Follower::bound);
        let used = used.fold(Share::NONE, Share::plus);
        let mut free = self.limits.whole().less(used);
        let ids: Vec<_> = self.nodes.keys().copied().collect();
        for id in ids {
            let Some(node) = self.nodes.get(&id).filter(|node| node.may_be_set()) else {
                continue;
            };
            let more = node.aim.less(node.given).min(free);
            if more != Share::NONE {
                free = free.less(more);
                self.set(id, node.given.plus(more));
            }
        }
    }

    fn set(&mut self, id: NodeId, share: Share) {
        self.epoch += 1;
        let epoch = self.epoch;
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        node.sent = Some((epoch, share));
        let message = node.set(epoch, share);
        self.changes += 1;
        self.send(id, &message);
    }

    fn send(&mut self, to: NodeId, message: &Message) {
        self.sends.push_back(wire::frame(to, self.boot, message));
        if self.sends.len() > SENDS_MAX {
            self.sends.pop_front();
        }
    }
}

impl Follower {
    /// One share at a time, so that it is known what may be in use.
    const fn may_be_set(&self) -> bool {
        self.is_heard && self.sent.is_none()
    }

    fn set(&self, epoch: u64, share: Share) -> Message {
        Message::Set {
            yours: self.boot,
            epoch,
            share,
        }
    }

    /// Notes what it uses. Reports may be overtaken: only one of a later share, or one that says less, counts.
    fn acknowledge(&mut self, report: &SplitReport) {
        let stands = match self.stands {
            Some(stands) if self.is_heard => stands,
            // A boot that has not been given anything yet: it uses what it says, and no other boot uses anything.
            Some(_) | None => {
                (self.stands, self.given) = (Some(report.share), report.share);
                self.is_heard = true;
                return;
            }
        };
        if report.epoch == self.acknowledged {
            self.stands = Some(stands.min(report.share));
        }
        if let Some((_, share)) = self.sent.take_if(|(epoch, _)| *epoch == report.epoch) {
            self.acknowledged = report.epoch;
            (self.stands, self.given) = (Some(report.share), share);
        }
    }
}

/// `part` of `whole` as a weight.
fn scaled(part: u128, whole: u128) -> u64 {
    let unit = (whole >> 40).max(1);
    u64::try_from(part / unit).unwrap_or(u64::MAX)
}

/// Frames that may wait; the oldest are dropped, as on any network.
const SENDS_MAX: usize = 1 << 12;
