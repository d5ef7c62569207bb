//! A node and its adaptor: it reports, and takes the share that it is given.
//!
//! Not here: how shares are chosen.

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

use super::SplitMachine;
use crate::limits::{Share, TopicLimits};
use crate::wire::{Message, SplitReport};

/// What a node knows of its adaptor.
#[derive(Clone, Debug)]
pub(super) struct Follow {
    adaptor: Option<NodeId>,
    /// The latest boot of it that was heard; zero: none.
    boot: u64,
    /// The last share that boot gave.
    epoch: u64,
    report_at: Instant,
    /// Nothing is said before: what an earlier boot gave away may still arrive.
    clear_at: Instant,
    /// The largest backlog since the last report.
    peak: u128,
}

impl Follow {
    pub(super) fn new(adaptor: Option<NodeId>, clear_at: Instant) -> Self {
        Self {
            adaptor,
            boot: 0,
            epoch: 0,
            report_at: clear_at,
            clear_at,
            peak: 0,
        }
    }

    pub(super) fn peaked(&mut self, backlog: u128) {
        self.peak = self.peak.max(backlog);
    }

    pub(super) const fn is_on(&self) -> bool {
        self.adaptor.is_some()
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.adaptor.map(|_| self.report_at)
    }
}

impl SplitMachine {
    /// Somebody wants to know; from now on no earlier boot of the adaptor is heard.
    pub(super) fn handle_where(&mut self, from: NodeId, boot: u64, now: Instant) {
        if Some(from) != self.follow.adaptor || now < self.follow.clear_at {
            return;
        }
        if boot > self.follow.boot {
            (self.follow.boot, self.follow.epoch) = (boot, 0);
        }
        if boot == self.follow.boot {
            self.report(now);
        }
    }

    pub(super) fn handle_set(&mut self, from: NodeId, boot: u64, epoch: u64, share: Share) {
        let now = self.now;
        let is_heard = Some(from) == self.follow.adaptor && boot == self.follow.boot;
        if !is_heard || now < self.follow.clear_at || !share.is_within(self.limits.whole()) {
            return;
        }
        if epoch > self.follow.epoch {
            self.follow.epoch = epoch;
            self.run(now);
            self.bucket.pass(now);
            self.bucket.change(share);
            self.leave(now);
        }
        if epoch == self.follow.epoch {
            self.report(now);
        }
    }

    pub(super) fn report_if_due(&mut self, now: Instant) {
        if self.follow.due().is_some_and(|at| at <= now) {
            self.report(now);
            self.follow.report_at = now.saturating_add(self.config.report);
        }
    }

    fn report(&mut self, now: Instant) {
        let Some(adaptor) = self.follow.adaptor else {
            return;
        };
        self.run(now);
        let report = SplitReport {
            yours: self.follow.boot,
            epoch: self.follow.epoch,
            share: self.bucket.share(),
            arrived: self.counts.arrived,
            queued: self.queue.cost().min(TopicLimits::GRAINS_MAX),
            peak: std::mem::take(&mut self.follow.peak).min(TopicLimits::GRAINS_MAX),
        };
        self.send(adaptor, &Message::Report(report));
    }
}
