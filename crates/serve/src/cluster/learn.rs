//! Has everything arrived that a newcomer asked for?
//!
//! A node that does not know the newcomer yet takes nothing from it, and answers come in many pieces of which none says
//! that it was the last. So the newcomer puts the same question to everybody by stream, twice: before it asks for what
//! they know, and afterwards. A node answers once it knows who asks, has read all that came before the question, and
//! all that it had to say to the newcomer is on its way. The second time it first sends the newcomer the keys that the
//! newcomer owns (`owner`): by then all nodes know whom to ask for them. Not here: what is told.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

use super::handle::{Handle, Hub, NodeQuestion};
use crate::owner::{Arrival, Owner};

/// How far a newcomer has come, and newcomers that ask us.
#[derive(Default)]
pub(super) struct Learn {
    rounds: Rounds,
    /// Asks for keys alone, where the node has met others when it was ready already, at the latest until then.
    keys: Option<(Rounds, Instant)>,
    /// When everybody was done.
    done: Option<Instant>,
    /// When something last came.
    heard: Option<Instant>,
    /// Newcomers that ask us.
    pub(super) asked: Vec<AskedByNewcomer>,
}

/// A newcomer's question.
pub(super) struct AskedByNewcomer {
    pub(super) question: NodeQuestion,
    /// Whether all that came before it was read.
    pub(super) is_read: bool,
    /// The pass over the keys that has to be over first.
    pass: Option<u64>,
}

impl AskedByNewcomer {
    /// Whether the newcomer has all keys of this node's that it owns, where it asks for them; begins to send them.
    pub(super) fn has_keys(&mut self, owner: Option<&Owner>) -> bool {
        let Some(owner) = owner.filter(|_| *self.question.body == *SECOND) else {
            return true;
        };
        let pass = *self.pass.get_or_insert_with(|| owner.next_pass());
        owner.has_passed(pass, self.question.from)
    }
}

/// What a newcomer does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LearnStep {
    /// Waits.
    Wait,
    /// Asks what the others know, as they know it now.
    Ask,
    /// Knows all.
    Over,
}

impl Learn {
    /// Something came.
    pub(super) const fn heard(&mut self, now: Instant) {
        self.heard = Some(now);
    }

    /// A newcomer asks.
    pub(super) fn asked(&mut self, question: NodeQuestion) {
        // Beyond, dropping refuses, and the newcomer does without.
        if self.asked.len() < ASKED_MAX {
            self.asked.push(AskedByNewcomer {
                question,
                is_read: false,
                pass: None,
            });
        }
    }

    /// Whether the others may be asked what they know.
    pub(super) const fn is_known(&self) -> bool {
        self.rounds.is_known
    }

    /// The others may be asked what they know, whoever of them knows this node.
    pub(super) const fn set_known(&mut self) {
        self.rounds.is_known = true;
    }

    /// Asks others for the keys that this node owns, as it meets them only now.
    pub(super) fn begin_keys(&mut self, now: Instant) {
        let until = now.as_nanos().saturating_add(KEYS_NANOS_MAX);
        self.keys = Some((Rounds::default(), Instant::from_nanos(until)));
    }

    /// Goes on with that.
    pub(super) fn step_keys(&mut self, hub: &Arc<Hub>, arrival: &Arrival, now: Instant) {
        let Some((rounds, until)) = &mut self.keys else {
            return;
        };
        if !rounds.is_known && rounds.greet(hub, now) {
            arrival.set_known();
        }
        if now >= *until || rounds.is_known && rounds.ask(hub, now) {
            arrival.end();
            self.keys = None;
        }
    }

    /// Whether somebody waits for what a moment may bring.
    pub(super) fn is_busy(&self) -> bool {
        !self.asked.is_empty() || self.keys.is_some()
    }

    /// Goes on. `is_caught_up` is what the node thinks, which cannot tell a pause from the end.
    pub(super) fn step(&mut self, hub: &Arc<Hub>, is_caught_up: bool, now: Instant) -> LearnStep {
        if !self.rounds.is_known {
            return if self.rounds.greet(hub, now) {
                LearnStep::Ask
            } else {
                LearnStep::Wait
            };
        }
        if !is_caught_up || !self.rounds.ask(hub, now) {
            return LearnStep::Wait;
        }
        let done = *self.done.get_or_insert(now);
        let last = self.heard.map_or(done, |heard| heard.max(done));
        let is_calm = now.nanos_since(last) >= CALM_NANOS;
        if is_calm || now.nanos_since(done) >= CALM_NANOS_MAX {
            return LearnStep::Over;
        }
        LearnStep::Wait
    }
}

/// What a newcomer asks, before it asks for what the others know, and afterwards.
#[derive(Default)]
struct Rounds {
    greeting: Round,
    asking: Round,
    /// Whether the others know this node, so that it may ask what they know.
    is_known: bool,
}

impl Rounds {
    /// Waits until the others know this node; whether they do.
    fn greet(&mut self, hub: &Arc<Hub>, now: Instant) -> bool {
        self.greeting.ask(hub, FIRST, now);
        self.is_known = self.greeting.is_over(SETTLE_NANOS, now);
        self.is_known
    }

    /// Waits until the others have told all; whether they have.
    fn ask(&mut self, hub: &Arc<Hub>, now: Instant) -> bool {
        self.asking.ask(hub, SECOND, now);
        self.asking.is_over(0, now)
    }
}

/// A question put once to everybody, also to those who are heard of later.
#[derive(Default)]
struct Round {
    asked: BTreeSet<NodeId>,
    left: Arc<AtomicUsize>,
    /// When somebody was last asked.
    last: Option<Instant>,
}

impl Round {
    fn ask(&mut self, hub: &Arc<Hub>, body: &'static [u8], now: Instant) {
        for to in hub.company().outlets.keys().copied() {
            if !self.asked.insert(to) {
                continue;
            }
            self.last = Some(now);
            self.left.fetch_add(1, Relaxed);
            let (hub, left) = (Arc::clone(hub), Arc::clone(&self.left));
            tokio::spawn(async move {
                let handle = Handle::new(Arc::clone(&hub));
                // Who cannot answer cannot tell either.
                let _ = handle.request(to, ARE_YOU_DONE, body, PATIENCE).await;
                left.fetch_sub(1, Relaxed);
                hub.wake.notify_one();
            });
        }
    }

    fn is_over(&self, settle_nanos: u64, now: Instant) -> bool {
        let is_settled = |last| now.nanos_since(last) >= settle_nanos;
        self.left.load(Relaxed) == 0 && self.last.is_some_and(is_settled)
    }
}

/// The kind of the question.
pub(super) const ARE_YOU_DONE: u8 = 255;
/// The question before the others are asked for what they know, and the one afterwards.
const FIRST: &[u8] = &[];
const SECOND: &[u8] = &[2];
/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(4);
/// Newcomers that are answered at the same time.
const ASKED_MAX: usize = 256;
/// Others are heard of one by one, and all are after that.
const SETTLE_NANOS: u64 = 250_000_000;
/// What was on its way is there after that.
const CALM_NANOS: u64 = 100_000_000;
/// How long keys are waited for where others are met late.
const KEYS_NANOS_MAX: u64 = 10_000_000_000;
/// In a busy cluster it is never calm.
const CALM_NANOS_MAX: u64 = 1_000_000_000;
