//! What is put to the test, by name.
//!
//! Not here: what each of them does, and which are usual in an experiment.

use std::fmt;

use crate::world::LendingMode;

/// What is put to the test: a design, or the one bucket that sees everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// One bucket that sees every request at once.
    Central,
    /// Each node counts alone.
    Local,
    /// Counters per node, a limit and a refill instant, as the thesis prints them. Simulated only, as are the next
    /// five.
    Counter,
    /// The same with the limit clamped and compared at a common instant.
    CounterFixed,
    /// Elements with a time of birth and a time of death.
    Queue,
    /// The same; gossips with the neighbour that lacks most.
    QueueLinf,
    /// The same; sends at once what came fast.
    QueueFreq,
    /// Both.
    QueueFreqLinf,
    /// The daemon's gossip: reports that count once on their link, and one level per key.
    Links,
    /// Every node has the whole bucket, and tells the key's centre now and then what it spent.
    Sync,
    /// Somebody else decides or lends.
    Lent(LendingMode),
}

impl Contender {
    /// Every design: nodes that count by themselves or together with others.
    pub const DESIGNS: [Self; 8] = [
        Self::Local,
        Self::Counter,
        Self::CounterFixed,
        Self::Queue,
        Self::QueueLinf,
        Self::QueueFreq,
        Self::QueueFreqLinf,
        Self::Links,
    ];

    /// What is put to the test only where it is named.
    pub const OTHERS: [Self; 6] = [
        Self::Sync,
        Self::Lent(LendingMode::Lease),
        Self::Lent(LendingMode::Owner),
        Self::Lent(LendingMode::Store),
        Self::Lent(LendingMode::Supply),
        Self::Lent(LendingMode::Split),
    ];

    /// Every design, the central bucket first.
    pub fn all() -> Vec<Self> {
        [&[Self::Central], Self::DESIGNS.as_slice()].concat()
    }

    /// The name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Central => "central",
            Self::Local => "local",
            Self::Counter => "counter",
            Self::CounterFixed => "counter+fixed",
            Self::Queue => "queue",
            Self::QueueLinf => "queue+linf",
            Self::QueueFreq => "queue+freq",
            Self::QueueFreqLinf => "queue+freq+linf",
            Self::Links => "links",
            Self::Sync => "sync",
            Self::Lent(lent) => lent.name(),
        }
    }

    /// The contender of that name.
    pub fn named(name: &str) -> Option<Self> {
        let mut every = Self::all().into_iter().chain(Self::OTHERS);
        every.find(|own| own.name() == name)
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
