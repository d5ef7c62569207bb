//! A design that is simulated only, and a node's part in it behind the boundary.
//!
//! A design says what level it knows and hears what was admitted; the part decides. What only a daemon needs it has
//! not: nothing is kept for a restart, a newcomer asks nobody, and no key makes room for another. No paper says what a
//! refund is: what is given back is not counted less. Not here: any design.

use std::fmt;

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_gossip::{
    Bucket, Footprint, Malformed, ModeKey, ModeProbe, ModeVerdict, NodeId, Send, Standing, Writer,
};
use tollgate_limit::{Instant, Span};
use tollgate_mode::{Build, Figure, Mode, ModeEvent, ModeKind, Tag};

use super::{Frequency, design};
use crate::contender::Contender;

/// What a node is told at its start.
#[derive(Clone, Debug)]
pub struct PaperSetup {
    /// What is counted.
    pub bucket: Bucket,
    /// This node.
    pub me: NodeId,
    /// This boot; never used before in the cluster.
    pub writer: Writer,
    /// Every node of the cluster, this one included, in ascending order.
    pub members: Vec<NodeId>,
    /// Decides every random choice of this boot.
    pub seed: u64,
    /// The time of the start.
    pub start: Instant,
    /// Time between two rounds of gossip.
    pub interval: Span,
}

/// A way for nodes to agree about many keys of one bucket.
pub(super) trait PaperDesign: fmt::Debug + std::marker::Send {
    /// Grains of backlog that this node knows of; above the bucket's capacity it is debt.
    fn level(&mut self, key: ModeKey, now: Instant) -> u128;

    /// Counts `cost` tokens as admitted here, whatever the level.
    fn accept(&mut self, key: ModeKey, cost: u64, now: Instant);

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed>;

    /// Hears who is believed alive, this node included, in ascending order.
    fn handle_members(&mut self, _alive: &[NodeId]) {}

    fn handle_timeout(&mut self, _now: Instant) {}

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The next frame to send, oldest first.
    fn poll_send(&mut self) -> Option<Send> {
        None
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn footprint(&self) -> Footprint;

    /// Every key that is known, in ascending order.
    fn keys(&self) -> Vec<ModeKey>;

    fn keys_count(&self) -> usize;

    fn knows(&self, key: ModeKey) -> bool;
}

/// The mode of a contender that contracts cannot name.
#[derive(Clone, Debug)]
pub(crate) struct PaperMode {
    pub(crate) contender: Contender,
    pub(crate) frequency: Frequency,
    pub(crate) bucket: Bucket,
    pub(crate) interval: Span,
}

impl ModeKind for PaperMode {
    fn coordination(&self) -> Coordination {
        Coordination::Gossip
    }

    fn check(&self, _: &Contract, _: &NamedPolicy) -> Result<(), String> {
        Ok(())
    }

    fn tag(&self, tag: &mut Tag, _: &NamedPolicy) {
        tag.text(self.contender.name());
    }

    fn build(&self, build: &Build<'_>) -> Result<Box<dyn Mode>, String> {
        let numbers = build.numbers;
        let setup = PaperSetup {
            bucket: self.bucket,
            me: numbers.me,
            writer: numbers.writer,
            members: numbers.members.clone(),
            seed: numbers.seed,
            start: build.start,
            interval: self.interval,
        };
        let part = PaperPart::new(self.contender, self.frequency, &setup);
        Ok(Box::new(part))
    }
}

/// One node's part in one policy.
#[derive(Debug)]
pub struct PaperPart {
    name: &'static str,
    bucket: Bucket,
    design: Box<dyn PaperDesign>,
}

impl PaperPart {
    /// A part in the design of that contender.
    pub fn new(contender: Contender, frequency: Frequency, setup: &PaperSetup) -> Self {
        Self {
            name: contender.name(),
            bucket: setup.bucket,
            design: design(contender, frequency, setup),
        }
    }

    /// Decides one request and counts it if it passes.
    pub fn handle_request(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeVerdict {
        let ModeProbe { verdict, .. } = self.probe(key, cost, now);
        if verdict.is_allowed() {
            self.take(key, cost, now);
        }
        verdict
    }

    fn left(&self, level: u128) -> u64 {
        let room = self.bucket.capacity().saturating_sub(level);
        self.bucket.tokens(room)
    }
}

impl Mode for PaperPart {
    fn design(&self) -> &'static str {
        self.name
    }

    fn change(&mut self, _: &NamedPolicy, _: Instant) {}

    fn probe(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeProbe {
        let (bucket, asked) = (self.bucket, cost.max(1));
        let level = self.design.level(key, now);
        let after = |tokens| level.saturating_add(bucket.grains(tokens));
        let verdict = match after(asked).saturating_sub(bucket.capacity()) {
            _ if asked > bucket.burst() => ModeVerdict::Never,
            0 => ModeVerdict::Allow {
                remaining: self.left(after(cost)),
                wait: Span::ZERO,
            },
            short => ModeVerdict::Deny {
                retry_after: bucket.time_for(short),
            },
        };
        ModeProbe {
            verdict,
            remaining: self.left(level),
            over: bucket.tokens(level.saturating_sub(bucket.capacity())),
        }
    }

    fn take(&mut self, key: ModeKey, cost: u64, now: Instant) {
        if cost > 0 {
            self.design.accept(key, cost, now);
        }
    }

    fn charge(&mut self, key: ModeKey, cost: u64, debt_max: Option<u64>, now: Instant) {
        let level = self.design.level(key, now);
        let most = debt_max.map_or(cost, |debt| {
            let bound = self.bucket.capacity() + self.bucket.grains(debt);
            self.bucket.tokens(bound.saturating_sub(level))
        });
        self.take(key, cost.min(most), now);
    }

    fn refund(&mut self, _: ModeKey, _: u64, _: Instant) {}

    fn reset(&mut self, _: ModeKey, _: Instant) {}

    fn standing(&mut self, key: ModeKey, now: Instant) -> Standing {
        let level = self.design.level(key, now);
        Standing {
            remaining: self.left(level),
            reset_after: self.bucket.time_for(level),
        }
    }

    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        self.design.handle_frame(from, frame, now)
    }

    fn handle_event(&mut self, event: &ModeEvent<'_>, _: Instant) {
        if let ModeEvent::Members(alive) = event {
            self.design.handle_members(alive);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.design.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.design.poll_timeout()
    }

    fn poll_send(&mut self) -> Option<Send> {
        self.design.poll_send()
    }

    fn is_quiet(&self) -> bool {
        self.design.is_quiet()
    }

    fn keys(&self) -> Vec<ModeKey> {
        self.design.keys()
    }

    fn keys_count(&self) -> usize {
        self.design.keys_count()
    }

    fn knows(&self, key: ModeKey) -> bool {
        self.design.knows(key)
    }

    fn evict(&mut self, _: Instant) -> bool {
        false
    }

    fn footprint(&self) -> Footprint {
        self.design.footprint()
    }

    fn status(&mut self, _: Option<ModeKey>, _: Instant) -> Vec<Figure> {
        Vec::new()
    }
}
