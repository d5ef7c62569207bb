//! One node's part in one topic: messages wait here for tokens of their sub-bucket, and tokens are borrowed and lent.
//!
//! Not here: who changes the parts (`adaptor`), sockets, clocks.

mod borrow;
mod follow;
mod hire;
mod promise;

use std::collections::VecDeque;

use tollgate_gossip::{Malformed, NodeId, Send};
use tollgate_limit::{Instant, Span};

use crate::asks::SplitAsks;
use crate::bucket::SubBucket;
use crate::config::SplitConfig;
use crate::hires::Hires;
use crate::holds::{Gift, Holds};
use crate::limits::{Share, TopicLimits};
use crate::peers::SplitPeers;
use crate::setup::{ArrivalError, BadSetup, Begin, Departure, Inspection, SplitCounts, SplitSetup};
use crate::waiting::{SubBucketQueue, WaitingMessage};
use crate::wire::{self, Message, SplitStanding};
use follow::Follow;

/// One node's part in one topic.
///
/// `handle_arrival` for every message, with the time of its arrival, which may be before `now` but is best in order;
/// `handle_frame` for every frame; `handle_timeout` when `poll_timeout` says, or at any other time. After each,
/// `poll_departure` and `poll_send` until they are empty. Messages leave in the order in which they came. Departures
/// say from when on a message may go; these times, of all nodes together, conform to the one bucket that was cut,
/// whatever is lost, doubled, late or out of order, and whoever crashes, while clocks run no more wrong than the
/// configuration says.
#[derive(Debug)]
pub struct SplitMachine {
    me: NodeId,
    boot: u64,
    limits: TopicLimits,
    config: SplitConfig,
    bucket: SubBucket,
    queue: SubBucketQueue,
    holds: Holds,
    peers: SplitPeers,
    asks: SplitAsks,
    follow: Follow,
    hires: Hires,
    now: Instant,
    departures: VecDeque<Departure>,
    sends: VecDeque<Send>,
    counts: SplitCounts,
}

impl SplitMachine {
    /// A machine at its start.
    pub fn new(setup: SplitSetup) -> Result<Self, BadSetup> {
        let SplitSetup {
            limits,
            share,
            me,
            boot,
            begin,
            members,
            adaptor,
            start,
            config,
        } = setup;
        config.check().map_err(BadSetup::Config)?;
        check_share(&limits, share, &config)?;
        if boot == 0 {
            return Err(BadSetup::Boot);
        }
        let is_fresh = begin == Begin::Fresh;
        let has_share = is_fresh || adaptor.is_none();
        let share = if has_share { share } else { Share::NONE };
        let clear_at = if is_fresh {
            start
        } else {
            start.saturating_add(config.hold())
        };
        let dearest = limits.messages(u64::from(config.cost_max));
        let mut peers = SplitPeers::new(me, limits.lasts_ns());
        peers.tell(&members);
        let mut machine = Self {
            me,
            boot,
            bucket: SubBucket::new(share, config.drift_ppm, dearest, start),
            queue: SubBucketQueue::default(),
            holds: Holds::default(),
            peers,
            asks: SplitAsks::default(),
            follow: Follow::new(adaptor, clear_at),
            hires: Hires::new(share, clear_at),
            now: start,
            departures: VecDeque::new(),
            sends: VecDeque::new(),
            counts: SplitCounts::default(),
            limits,
            config,
        };
        if is_fresh {
            machine.bucket.fill();
        } else {
            machine.hold_what_is_forgotten(clear_at);
        }
        let promised = match begin {
            Begin::Fresh => start,
            Begin::Restart if machine.config.hire.is_none() => start,
            Begin::Restart => clear_at,
            Begin::AfterPromises(longest) => clear_at.max(start.saturating_add(longest)),
        };
        machine.bucket.dry_until(promised);
        Ok(machine)
    }

    /// An earlier boot may have given away all but a floor, and some of it may still arrive.
    fn hold_what_is_forgotten(&mut self, until: Instant) {
        let floor = self.floor();
        let grains = self.bucket.share().depth.saturating_sub(floor);
        self.bucket.hold(grains);
        let gift = Gift {
            to: self.me,
            boot: 0,
            ticket: 0,
        };
        self.holds.insert(gift, grains, until);
    }

    /// A message came. It leaves when there are tokens for it, after those that came before it.
    pub fn handle_arrival(
        &mut self,
        id: u64,
        cost: u32,
        arrived: Instant,
        now: Instant,
    ) -> Result<(), ArrivalError> {
        let now = self.clock(now);
        let is_dear = cost == 0 || cost > self.config.cost_max;
        if is_dear || self.queue.len() >= self.config.queue_max {
            self.counts.refused += 1;
            return Err(if is_dear {
                ArrivalError::Cost
            } else {
                ArrivalError::Full
            });
        }
        let arrived = arrived.min(now);
        let message = WaitingMessage {
            id,
            cost: self.limits.messages(u64::from(cost)),
            arrived,
        };
        self.counts.arrived += u64::from(cost);
        self.asked_for(u64::from(cost), true);
        // As if it had been taken when it arrived, unless something else has happened since.
        let at = arrived.max(self.bucket.at());
        self.run(at);
        self.bucket.pass(at);
        self.queue.push(message);
        self.leave(at);
        self.follow
            .peaked(self.bucket.missing().saturating_add(self.queue.cost()));
        if !self.queue.is_empty() {
            self.counts.waited += u64::from(cost);
            self.asked_for(0, false);
            self.run(now);
        }
        self.ask(now);
        Ok(())
    }

    /// Takes a message back that waits; `false` where none of that name does.
    pub fn handle_cancel(&mut self, id: u64, now: Instant) -> bool {
        let now = self.clock(now);
        self.run(now);
        let was_there = self.queue.remove(id);
        self.leave(now);
        was_there
    }

    /// A frame came. Frames of strangers and of earlier boots do nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let now = self.clock(now);
        let (boot, messages) = wire::read(frame).inspect_err(|_| self.counts.malformed += 1)?;
        for message in messages {
            self.handle_message(from, boot, message, now);
        }
        Ok(())
    }

    fn handle_message(&mut self, from: NodeId, boot: u64, message: Message, now: Instant) {
        if !message.is_for(self.boot) {
            return;
        }
        match message {
            Message::Where => self.handle_where(from, boot, now),
            Message::Set { epoch, share, .. } => self.handle_set(from, boot, epoch, share),
            Message::Report(_) => {}
            message => {
                if self.peers.hear(from, boot) {
                    self.handle_peer(from, boot, message, now);
                }
            }
        }
    }

    fn handle_peer(&mut self, from: NodeId, boot: u64, message: Message, now: Instant) {
        let gift = |ticket| Gift {
            to: from,
            boot,
            ticket,
        };
        match message {
            Message::Ask {
                ticket,
                want,
                standing,
            } => self.handle_ask(gift(ticket), want, standing, now),
            Message::Give {
                ticket,
                amount,
                standing,
                ..
            } => {
                self.peers.see(from, standing, now);
                self.handle_give(from, boot, ticket, amount);
            }
            Message::Confirm {
                ticket,
                returned,
                standing,
                ..
            } => {
                self.peers.see(from, standing, now);
                self.handle_confirm(gift(ticket), returned, now);
            }
            Message::Hire(request) => self.handle_hire(from, boot, request, now),
            Message::Let(grant) => self.handle_let(from, grant, now),
            Message::Where | Message::Set { .. } | Message::Report(_) => {}
        }
    }

    /// Whoever has a part has changed.
    pub fn handle_members(&mut self, members: &[NodeId]) {
        self.peers.tell(members);
    }

    /// Does what is due. Early or repeated calls do nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.clock(now);
        self.run(now);
        if let Some(peer) = self.asks.give_up(now) {
            self.peers.silent(peer, &self.config, now);
            self.had_nothing(peer, now);
        }
        if self.queued() > 0 {
            self.ask(now);
        }
        self.report_if_due(now);
        self.hire_if_due();
    }

    /// When to call `handle_timeout` next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let (mut leaves, mut asks) = (None, self.asks.deadline());
        if let Some(head) = self.queue.head() {
            leaves = earliest(self.bucket.when(head.cost), self.next_end());
        }
        if asks.is_none() && self.queued() > 0 && self.want(self.now) > 0 {
            asks = self.peers.next();
        }
        let moves = earliest(self.follow.due(), self.hire_due());
        earliest(earliest(leaves, asks), moves)
    }

    /// The next message that may go, in order.
    pub fn poll_departure(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// The next frame to send.
    pub fn poll_send(&mut self) -> Option<Send> {
        let send = self.sends.pop_front()?;
        self.counts.frames += 1;
        Some(send)
    }

    /// How the sub-bucket stands.
    pub fn inspect(&mut self, now: Instant) -> Inspection {
        let now = self.clock(now);
        self.run(now);
        let bucket = self.bucket.by(now);
        Inspection {
            share: bucket.share(),
            tokens: bucket.tokens(),
            held: bucket.held(),
            hired: self.hires.hired(),
            lets: self.hires.lets(),
            reserved: bucket.reserved(),
            queued: self.queue.cost().saturating_add(bucket.owed()),
            waiting: self.queue.len(),
            one_way_ns: self.peers.one_way_ns(),
        }
    }

    /// What happened so far.
    pub const fn counts(&self) -> SplitCounts {
        self.counts
    }

    /// What happened since that was asked last.
    pub(crate) fn take_counts(&mut self) -> SplitCounts {
        std::mem::take(&mut self.counts)
    }

    /// Time never runs backwards.
    fn clock(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    /// When the next hold or term ends.
    fn next_end(&self) -> Option<Instant> {
        earliest(self.holds.next_end(), self.hires.next_end())
    }

    /// Everything that time alone brings, in its order: messages leave, holds and terms end.
    fn run(&mut self, now: Instant) {
        loop {
            let end = self.next_end().filter(|end| *end <= now);
            self.leave(end.unwrap_or(now));
            let Some(end) = end else {
                return;
            };
            self.bucket.pass(end);
            while let Some(grains) = self.holds.expire(end) {
                self.bucket.free(grains);
                self.counts.expired += 1;
            }
            if self.hires.next_end().is_some_and(|next| next <= end) {
                self.hires.expire(end);
                self.share_anew();
            }
        }
    }

    /// Lets those go that have their tokens by `now`.
    fn leave(&mut self, now: Instant) {
        while let Some(head) = self.queue.head() {
            let Some(at) = self.bucket.when(head.cost).filter(|at| *at <= now) else {
                return;
            };
            self.bucket.pass(at);
            if !self.bucket.take(head.cost) {
                return;
            }
            self.queue.pop();
            self.departures.push_back(Departure {
                id: head.id,
                arrived: head.arrived,
                at,
            });
        }
    }

    fn standing(&self, now: Instant) -> SplitStanding {
        SplitStanding {
            tokens: self.bucket.tokens_at(now),
            queued: self.queued().min(TopicLimits::GRAINS_MAX),
        }
    }

    /// What those who wait need.
    fn queued(&self) -> u128 {
        self.queue.cost().saturating_add(self.bucket.owed())
    }

    /// A sub-bucket can always hold the dearest message, and at least one.
    fn floor(&self) -> u128 {
        self.limits.messages(u64::from(self.config.cost_max))
    }

    fn send(&mut self, to: NodeId, message: &Message) {
        self.sends.push_back(wire::frame(to, self.boot, message));
        if self.sends.len() > SENDS_MAX {
            self.sends.pop_front();
        }
    }

    /// The time in which one message comes back to the whole topic.
    fn rest(&self) -> Span {
        Span::from_nanos(u128::from(self.limits.gap_ns()))
    }
}

fn check_share(limits: &TopicLimits, share: Share, config: &SplitConfig) -> Result<(), BadSetup> {
    if !share.is_within(limits.whole()) {
        return Err(BadSetup::Share);
    }
    let floor = limits.messages(u64::from(config.cost_max));
    if share != Share::NONE && share.depth < floor {
        return Err(BadSetup::Shallow);
    }
    Ok(())
}

fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// Frames that may wait; the oldest are dropped, as on any network.
const SENDS_MAX: usize = 1 << 12;
