//! A topic that is run: every broker has a machine of `tollgate-split`, which messages of its publishers come to.
//!
//! Sub-buckets on their own need no world around them and are run one after the other; borrowing and adapting need one
//! (`world`). Not here: what brokers do with messages afterwards.

use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Span};
use tollgate_split::{Begin, Borrow, Share, SplitConfig, SplitMachine, SplitSetup, TopicLimits};

use super::traffic::{Burst, SECOND};
use super::world::{self, Near};
use crate::nodes::OneBucket;

/// A message that had its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DepartedMessage {
    pub(super) arrived: u64,
    pub(super) at: u64,
    /// Its batch, by its place in the trace.
    pub(super) burst: u32,
}

/// The bucket of a topic, in thousandths of messages per second, and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TopicBucket {
    pub(super) rate_milli: u64,
    pub(super) burst: u64,
}

impl TopicBucket {
    pub(super) const fn per_second(messages: u64, burst: u64) -> Self {
        Self {
            rate_milli: messages * 1_000,
            burst,
        }
    }

    /// What is cut. A rate or burst of zero is one.
    pub(super) fn limits(self) -> TopicLimits {
        let period = Span::from_nanos(u128::from(PERIOD_NS));
        TopicLimits::new(self.rate_milli.max(1), period, self.burst.max(1))
            .unwrap_or_else(|_| unreachable!("a lab's bucket is small"))
    }

    fn undivided(self) -> OneBucket {
        let message = i128::from(PERIOD_NS);
        OneBucket::of(self.rate_milli, message, i128::from(self.burst) * message)
    }
}

/// Rates are in thousandths per second, so a thousand seconds are their period.
const PERIOD_NS: u64 = 1_000 * SECOND;

/// Who publishes where, and which part of the bucket each broker has.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// The broker of every publisher; `None`: it does not publish.
    pub(super) places: Vec<Option<u16>>,
    /// The part of every broker.
    pub(super) shares: Vec<Share>,
}

impl Cut {
    pub(super) fn whole(bucket: TopicBucket, publishers: u32) -> Self {
        Self {
            places: vec![Some(0); publishers as usize],
            shares: vec![bucket.limits().whole()],
        }
    }

    pub(super) fn place(&self, publisher: u32) -> Option<u16> {
        self.places.get(publisher as usize).copied().flatten()
    }
}

#[derive(Clone, Debug)]
pub(super) struct TopicResults {
    /// What left each broker's sub-bucket, in order.
    pub(super) lefts: Vec<Vec<DepartedMessage>>,
    /// Frames between machines, and to and from an adaptor.
    pub(super) frames: u64,
    /// Messages that left although the undivided bucket had no token for them.
    pub(super) violations: u64,
}

impl TopicResults {
    pub(super) fn new(bucket: TopicBucket, lefts: Vec<Vec<DepartedMessage>>, frames: u64) -> Self {
        let mut all: Vec<u64> = lefts.iter().flatten().map(|left| left.at).collect();
        all.sort_unstable();
        let violations = bucket
            .undivided()
            .violations(all.into_iter().map(|at| (at, 1)));
        let violations = violations.count() as u64;
        Self {
            lefts,
            frames,
            violations,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.lefts.iter().map(Vec::len).sum()
    }

    /// Waits for tokens of messages that arrived within a time.
    pub(super) fn waits(&self, from: u64, until: u64) -> Vec<u64> {
        let all = self.lefts.iter().flatten();
        all.filter(|left| (from..until).contains(&left.arrived))
            .map(|left| left.at - left.arrived)
            .collect()
    }
}

/// Runs a topic whose sub-buckets are on their own.
pub(super) fn run_apart(bucket: TopicBucket, cut: &Cut, bursts: &[Burst]) -> TopicResults {
    let config = SplitConfig {
        borrow: Borrow::Off,
        ..config()
    };
    let mut machines: Vec<SplitMachine> = machines(bucket, cut, &config, None);
    let mut lefts = vec![Vec::new(); machines.len()];
    for (number, burst) in (0..).zip(bursts) {
        let Some(place) = cut.place(burst.publisher).map(usize::from) else {
            continue;
        };
        let (Some(machine), Some(lefts)) = (machines.get_mut(place), lefts.get_mut(place)) else {
            continue;
        };
        arrive(machine, number, burst);
        take(machine, lefts);
    }
    for (machine, lefts) in machines.iter_mut().zip(&mut lefts) {
        machine.handle_timeout(Instant::from_nanos(FAR_NS));
        take(machine, lefts);
    }
    TopicResults::new(bucket, lefts, 0)
}

/// Runs a topic whose sub-buckets are in a world.
pub(super) fn run_near(
    bucket: TopicBucket,
    cut: &Cut,
    bursts: &[Burst],
    near: &Near,
) -> TopicResults {
    world::run(bucket, cut, bursts, near)
}

/// Clocks of the lab's topics run right; drifting ones are tested with the machine.
pub(super) fn config() -> SplitConfig {
    SplitConfig {
        drift_ppm: 0,
        queue_max: 1 << 24,
        ..SplitConfig::default()
    }
}

pub(super) fn machines(
    bucket: TopicBucket,
    cut: &Cut,
    config: &SplitConfig,
    adaptor: Option<NodeId>,
) -> Vec<SplitMachine> {
    let limits = bucket.limits();
    let members: Vec<NodeId> = (0..).map(NodeId).take(cut.shares.len()).collect();
    let one = |(me, share): (NodeId, &Share)| {
        SplitMachine::new(SplitSetup {
            limits,
            share: *share,
            me,
            boot: 1,
            begin: Begin::Fresh,
            members: members.clone(),
            adaptor,
            start: Instant::from_nanos(0),
            config: config.clone(),
        })
        .ok()
    };
    members
        .iter()
        .copied()
        .zip(&cut.shares)
        .filter_map(one)
        .collect()
}

/// A batch comes to a machine, message by message.
pub(super) fn arrive(machine: &mut SplitMachine, number: u32, burst: &Burst) {
    let now = Instant::from_nanos(burst.at_ns);
    for _ in 0..burst.count {
        // A queue of the lab is larger than any run fills it.
        let taken = machine.handle_arrival(u64::from(number), 1, now, now);
        debug_assert_eq!(taken, Ok(()));
    }
}

pub(super) fn take(machine: &mut SplitMachine, lefts: &mut Vec<DepartedMessage>) {
    while let Some(left) = machine.poll_departure() {
        lefts.push(DepartedMessage {
            arrived: left.arrived.as_nanos(),
            at: left.at.as_nanos(),
            burst: u32::try_from(left.id).unwrap_or(u32::MAX),
        });
    }
}

/// Later than anything.
const FAR_NS: u64 = 1 << 60;
