//! One node's part in all topics of a policy: a machine for each key that has need of others.
//!
//! Every node of a roster has its share of every key by right, so that a key needs no introduction: a machine that is
//! made late begins as it would have at the node's start. While a key has tokens and owes, lends, borrows and hires
//! nothing, these are all there is to know, and they are kept without a machine ([`Calm`]). Messages are told at once
//! when they may go. Frames carry the key before what its machine says. Not here: sockets, clocks, who
//! lives.

mod calm;
mod forget;

use std::collections::{BTreeSet, VecDeque};

use tollgate_gossip::{
    Footprint, Malformed, ModeKey, ModeProbe, ModeVerdict, NodeId, Send, Standing,
};
use tollgate_limit::{Instant, Span};
use tollgate_mode::{Keyed, Weigh};

use crate::config::SplitConfig;
use crate::limits::TopicLimits;
use crate::machine::SplitMachine;
use crate::setup::{BadSetup, Begin, Inspection, SplitCounts, SplitSetup};
pub(crate) use calm::Resumed;
use calm::{Calm, Full};

/// What all topics of a policy have in common at one node.
#[derive(Clone, Debug)]
pub struct TopicsSetup {
    /// The bucket of every key.
    pub limits: TopicLimits,
    /// Who has a part, and which.
    pub roster: Vec<(NodeId, u32)>,
    /// This node, in the roster or not.
    pub me: NodeId,
    /// This boot: above zero, and a later one has a larger one; as many above it are used as keys come and go.
    pub boot: u64,
    /// Who lives.
    pub members: Vec<NodeId>,
    /// The time of the start, on a clock that never jumps.
    pub start: Instant,
    /// The longest wait that is promised, by this boot or one before.
    pub wait_max: Span,
    /// Whether messages that have their tokens leave one after the other, at the rate.
    pub leaks: bool,
    /// What may be tuned; the dearest message is chosen by the roster.
    pub config: SplitConfig,
}

/// One node's part in all topics of a policy.
#[derive(Debug)]
pub struct Topics {
    setup: TopicsSetup,
    wait_max: Span,
    /// As a machine is before anything happened.
    pattern: SplitSetup,
    busy: Keyed<Box<Topic>>,
    calm: Keyed<Calm>,
    full: Full,
    due: BTreeSet<(Instant, ModeKey)>,
    sends: VecDeque<Send>,
    /// What happened in all topics so far.
    counts: SplitCounts,
    made: u64,
    /// Calls so far, some of which look at what may be forgotten.
    calls: u64,
}

#[derive(Debug)]
struct Topic {
    machine: SplitMachine,
    due: Option<Instant>,
    /// When a leaking bucket is through with those it let in.
    through: Instant,
    bytes: u64,
}

impl Topics {
    /// The parts of a node at its start.
    pub fn new(setup: TopicsSetup) -> Result<Self, BadSetup> {
        let weights: Vec<u64> = setup
            .roster
            .iter()
            .map(|(_, weight)| u64::from(*weight))
            .collect();
        let nodes = weights.iter().filter(|weight| **weight > 0).count() as u64;
        let cost_max = dearest(setup.limits.burst(), nodes);
        let shares = setup.limits.cut(&weights, u64::from(cost_max));
        let mut roster = setup.roster.iter().zip(shares);
        let mine = roster.find(|((node, weight), _)| *node == setup.me && *weight > 0);
        let config = SplitConfig {
            cost_max,
            // Those who leave one after the other count on the rate for longer than a term.
            hire: setup.config.hire.clone().filter(|_| !setup.leaks),
            ..setup.config.clone()
        };
        let pattern = SplitSetup {
            limits: setup.limits,
            share: mine.map(|(_, share)| share).unwrap_or_default(),
            me: setup.me,
            boot: setup.boot,
            begin: Begin::AfterPromises(with_drift(setup.wait_max, config.drift_ppm)),
            members: peers(&setup.roster, &setup.members),
            adaptor: None,
            start: setup.start,
            config,
        };
        let full = Full::new(SplitMachine::new(pattern.clone())?, setup.leaks);
        Ok(Self {
            wait_max: setup.wait_max,
            setup,
            pattern,
            busy: Keyed::default(),
            calm: Keyed::default(),
            full,
            due: BTreeSet::new(),
            sends: VecDeque::new(),
            counts: SplitCounts::default(),
            made: 0,
            calls: 0,
        })
    }

    /// The bucket of every key.
    pub const fn limits(&self) -> TopicLimits {
        self.setup.limits
    }

    /// The most that one message may cost.
    pub const fn cost_max(&self) -> u32 {
        self.pattern.config.cost_max
    }

    /// Sets how long a message may be told to wait, at most as long as was said at the start.
    pub fn set_wait_max(&mut self, wait_max: Span) {
        self.wait_max = wait_max.min(self.setup.wait_max);
    }

    /// Who lives.
    pub fn handle_members(&mut self, members: &[NodeId]) {
        self.pattern.members = peers(&self.setup.roster, members);
        let members = &self.pattern.members;
        self.busy
            .each_mut(|_, topic| topic.machine.handle_members(members));
    }

    /// What a message of that cost would be told.
    pub fn probe(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeProbe {
        if let Some(probe) = self
            .calm_at(key, now)
            .and_then(|calm| self.full.probe(&calm, cost, now))
        {
            return probe;
        }
        self.wake(key, now);
        let message = self.setup.limits.message().max(1);
        let (leaks, wait_max) = (self.setup.leaks, self.wait_max);
        let (mut made, mut through) = (None, Instant::default());
        let machine = match self.busy.get_mut(key) {
            Some(topic) => {
                through = topic.through;
                &mut topic.machine
            }
            None => match made.insert(self.make()) {
                Ok(machine) => machine,
                Err(_) => return NOTHING,
            },
        };
        let stand = machine.inspect(now);
        let whole = |grains: u128| u64::try_from(grains).unwrap_or(u64::MAX);
        let remaining = whole(stand.tokens / message);
        // What drains is a queue, and no debt.
        let owed = if leaks { 0 } else { machine.owed(now) };
        let left = remaining.saturating_sub(cost);
        let goes = machine.foresee(cost.max(1), now);
        let wait = goes.map(|goes| since(goes, now));
        let may_wait = if leaks { Span::ZERO } else { wait_max };
        let queue = if leaks {
            since(through, now)
        } else {
            Span::ZERO
        };
        let verdict = match wait {
            None => ModeVerdict::Never,
            Some(_) if queue > wait_max => ModeVerdict::Deny {
                retry_after: Span::from_nanos(queue.as_nanos() - wait_max.as_nanos()),
            },
            Some(wait) if wait > may_wait => ModeVerdict::Deny {
                retry_after: Span::from_nanos(wait.as_nanos() - may_wait.as_nanos()),
            },
            Some(wait) => ModeVerdict::Allow {
                remaining: left,
                wait: wait.max(queue),
            },
        };
        ModeProbe {
            verdict,
            remaining,
            over: whole(owed / message),
        }
    }

    /// Admits a message, which goes when it was told.
    pub fn take(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.tidy(now);
        if let Some(mut calm) = self.calm_at(key, now)
            && self.full.probe(&calm, cost, now).is_some()
        {
            self.counts.arrived += cost;
            let is_low = self.full.take(&mut calm, cost, now);
            *self.calm.get_or_insert_with(key, || calm) = calm;
            if is_low {
                self.wake(key, now);
            }
            return;
        }
        self.with(key, now, |machine| {
            machine.take(cost, now);
        });
        if let Some(topic) = self.busy.get_mut(key).filter(|_| self.setup.leaks) {
            let rate = topic.machine.inspect(now).share.rate.max(1);
            let takes = self.setup.limits.messages(cost).div_ceil(rate);
            topic.through = topic
                .through
                .max(now)
                .saturating_add(Span::from_nanos(takes));
        }
    }

    /// A message was refused: others may have more.
    pub fn miss(&mut self, key: ModeKey, now: Instant) {
        self.with(key, now, |machine| machine.miss(now));
    }

    /// Charges without asking.
    pub fn charge(&mut self, key: ModeKey, cost: u64, debt_max: Option<u64>, now: Instant) {
        self.with(key, now, |machine| machine.charge(cost, debt_max, now));
    }

    /// Gives back what was charged here.
    pub fn refund(&mut self, key: ModeKey, cost: u64, now: Instant) {
        if let Some(mut calm) = self.calm_at(key, now) {
            self.full.refund(&mut calm, cost, now);
            self.calm.insert(key, calm);
            return;
        }
        self.with(key, now, |machine| machine.refund(cost, now));
    }

    /// Forgets what was charged here.
    pub fn reset(&mut self, key: ModeKey, now: Instant) {
        self.with(key, now, |machine| machine.reset(now));
    }

    /// How a key stands.
    pub fn standing(&mut self, key: ModeKey, now: Instant) -> Standing {
        if let Some(calm) = self.calm_at(key, now) {
            return self.full.standing(&calm, now);
        }
        let remaining = self.probe(key, 0, now).remaining;
        let topic = self.busy.get_mut(key);
        let reset_after = topic.map(|topic| topic.machine.full_after(now));
        Standing {
            remaining,
            reset_after: reset_after.unwrap_or(Span::ZERO),
        }
    }

    /// How the sub-bucket of a key stands; of one that was never seen, as it would.
    pub fn inspect(&mut self, key: ModeKey, now: Instant) -> Option<Inspection> {
        if let Some(topic) = self.busy.get_mut(key) {
            return Some(topic.machine.inspect(now));
        }
        let mut machine = self.make().ok()?;
        if let Some(calm) = self.calm.get(key) {
            machine.resume(&self.full.resumed(calm, now), now);
        }
        Some(machine.inspect(now))
    }

    /// What happened so far.
    pub const fn counts(&self) -> SplitCounts {
        self.counts
    }

    /// A frame came.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let Some((head, rest)) = frame.split_first_chunk::<KEY_BYTES>() else {
            return Err(Malformed::Truncated);
        };
        let key = ModeKey(u128::from_le_bytes(*head));
        // Whoever has no part, or is not believed to live, makes nobody remember anything.
        if !self.pattern.members.contains(&from) {
            return Ok(());
        }
        let mut taken = Ok(());
        self.with(key, now, |machine| {
            taken = machine.handle_frame(from, rest, now);
        });
        taken
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due: Vec<ModeKey> = self
            .due
            .iter()
            .take_while(|(at, _)| *at <= now)
            .map(|(_, key)| *key)
            .collect();
        for key in due {
            self.with(key, now, |machine| machine.handle_timeout(now));
        }
    }

    /// When to call `handle_timeout` next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The next frame to send.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.sends.pop_front()
    }

    /// Whether nobody waits for an answer.
    pub fn is_quiet(&self) -> bool {
        self.sends.is_empty() && self.due.is_empty()
    }

    /// About how many bytes it takes.
    pub fn footprint(&self) -> Footprint {
        let calm = self.calm.len() * (size_of::<Calm>() + size_of::<ModeKey>());
        Footprint {
            local: calm as u64 + self.busy.heap_bytes(),
            extra: 0,
        }
    }

    /// Bytes of memory that it takes.
    pub fn held(&self) -> u64 {
        self.calm.held() + self.busy.held() + self.due.len() as u64 * DUE_BYTES
    }

    /// Keys that are known, in ascending order.
    pub fn keys(&self) -> Vec<ModeKey> {
        let mut keys = [self.calm.keys(), self.busy.keys()].concat();
        keys.sort_unstable();
        keys
    }

    /// One of the keys that are known, a busy one if there is any.
    pub(crate) fn a_key(&self) -> Option<ModeKey> {
        let busy = self.busy.iter().map(|(key, _)| key);
        busy.chain(self.calm.iter().map(|(key, _)| key)).next()
    }

    /// How many keys are known.
    pub fn keys_count(&self) -> usize {
        self.calm.len() + self.busy.len()
    }

    /// Whether a key is known.
    pub fn knows(&self, key: ModeKey) -> bool {
        self.calm.contains_key(key) || self.busy.contains_key(key)
    }

    /// A key's tokens, where it has no need of others.
    fn calm_at(&self, key: ModeKey, now: Instant) -> Option<Calm> {
        let known = self.calm.get(key).copied();
        known.or_else(|| {
            self.full
                .new_at(now)
                .filter(|_| !self.busy.contains_key(key))
        })
    }

    /// Gives a calm key a machine.
    fn wake(&mut self, key: ModeKey, now: Instant) {
        if let Some(calm) = self.calm.remove(key)
            && let Ok(mut machine) = self.make()
        {
            machine.resume(&self.full.resumed(&calm, now), now);
            self.keep(key, machine);
        }
    }

    fn keep(&mut self, key: ModeKey, machine: SplitMachine) {
        self.made += 1;
        let topic = Topic {
            machine,
            due: None,
            through: Instant::default(),
            bytes: size_of::<Topic>() as u64 + self.pattern.members.len() as u64 * PEER_BYTES,
        };
        self.busy.insert(key, Box::new(topic));
    }

    /// A machine as it would stand if it had been there from the start.
    fn make(&self) -> Result<SplitMachine, BadSetup> {
        SplitMachine::new(SplitSetup {
            boot: self.pattern.boot.saturating_add(self.made),
            ..self.pattern.clone()
        })
    }

    fn with(&mut self, key: ModeKey, now: Instant, act: impl FnOnce(&mut SplitMachine)) {
        self.wake(key, now);
        if !self.busy.contains_key(key)
            && let Ok(machine) = self.make()
        {
            self.keep(key, machine);
        }
        let Some(topic) = self.busy.get_mut(key) else {
            return;
        };
        act(&mut topic.machine);
        while let Some(send) = topic.machine.poll_send() {
            let frame = [&key.0.to_le_bytes()[..], &send.frame].concat();
            self.sends.push_back(Send {
                to: send.to,
                frame: frame.into(),
            });
        }
        if self.sends.len() > SENDS_MAX {
            self.sends.pop_front();
        }
        self.counts = self.counts.plus(topic.machine.take_counts());
        let due = topic.machine.poll_timeout();
        if topic.due != due {
            if let Some(before) = std::mem::replace(&mut topic.due, due) {
                self.due.remove(&(before, key));
            }
            self.due.extend(due.map(|due| (due, key)));
        }
    }
}

impl Weigh for Box<Topic> {
    fn heap_bytes(&self) -> u64 {
        self.bytes
    }
}

/// The dearest message: every sub-bucket can hold it, however the depth is cut later, and most of it is left to be
/// lent.
fn dearest(burst: u64, nodes: u64) -> u32 {
    let part = burst / nodes.max(1) / DEAREST_PART;
    u32::try_from(part.max(1)).unwrap_or(u32::MAX)
}

/// Those of the roster that live.
fn peers(roster: &[(NodeId, u32)], members: &[NodeId]) -> Vec<NodeId> {
    let with_part = roster.iter().filter(|(_, weight)| *weight > 0);
    let living = with_part.filter(|(node, _)| members.contains(node));
    living.map(|(node, _)| *node).collect()
}

/// How long after `now`.
fn since(then: Instant, now: Instant) -> Span {
    Span::from_nanos(u128::from(then.nanos_since(now)))
}

/// A wait by any clock that runs no more wrong than that.
fn with_drift(wait: Span, ppm: u32) -> Span {
    let wait = wait.as_nanos();
    let more = wait.saturating_mul(u128::from(ppm) * 3).div_ceil(1_000_000);
    Span::from_nanos(wait.saturating_add(more))
}

const NOTHING: ModeProbe = ModeProbe {
    verdict: ModeVerdict::Never,
    remaining: 0,
    over: 0,
};
/// Bytes of a key before what its machine says.
const KEY_BYTES: usize = 16;
/// Bytes that a machine knows of a peer, about.
const PEER_BYTES: u64 = 160;
/// A message costs at most that part of an even share of the burst.
const DEAREST_PART: u64 = 4;
/// About what a place in a tree takes.
const DUE_BYTES: u64 = 40;
/// Frames that may wait; the oldest are dropped, as on any network.
const SENDS_MAX: usize = 1 << 14;
