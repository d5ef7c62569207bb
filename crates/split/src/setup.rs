//! What a machine is told at its start, and what it tells.
//!
//! Not here: what it does.

use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Span};

use crate::config::SplitConfig;
use crate::limits::{Share, TopicLimits};

/// One node's part in one topic.
#[derive(Clone, Debug)]
pub struct SplitSetup {
    /// The bucket that is cut.
    pub limits: TopicLimits,
    /// This node's part of it. All of them together must be within the bucket; [`TopicLimits::cut`] makes such.
    pub share: Share,
    /// This node.
    pub me: NodeId,
    /// This boot: above zero, and a later one has a larger one.
    pub boot: u64,
    /// What came before.
    pub begin: Begin,
    /// Who has a part, this node included or not.
    pub members: Vec<NodeId>,
    /// Who changes the parts; `None`: they stay.
    pub adaptor: Option<NodeId>,
    /// The time of the start, on a clock that never jumps.
    pub start: Instant,
    /// What may be tuned.
    pub config: SplitConfig,
}

/// What came before a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Nothing, anywhere: the topic is new, and its sub-buckets are full.
    Fresh,
    /// This node may have run before. Its bucket is empty and shallow until whatever it may have given away has arrived
    /// or never will; under an adaptor it has no share until it is given one.
    Restart,
    /// The same, and it may have promised messages that they may go, no later than this long from now: nothing comes
    /// back before.
    AfterPromises(Span),
}

/// Why a machine was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadSetup {
    /// The configuration cannot work.
    Config(crate::config::BadConfig),
    /// The share is more than the bucket.
    Share,
    /// The share cannot hold the dearest message.
    Shallow,
    /// A boot of zero.
    Boot,
}

impl std::fmt::Display for BadSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Config(why) => why.fmt(f),
            Self::Share => f.write_str("the share is more than the bucket"),
            Self::Shallow => {
                f.write_str("every part must be as deep as the dearest message, so fewer parts")
            }
            Self::Boot => f.write_str("a boot must be above zero"),
        }
    }
}

impl std::error::Error for BadSetup {}

/// A message that may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// As it was named.
    pub id: u64,
    /// When it arrived.
    pub arrived: Instant,
    /// When it had its tokens; it may go from then on.
    pub at: Instant,
}

/// Why a message was not taken. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalError {
    /// It costs nothing, or more than a sub-bucket is sure to hold.
    Cost,
    /// Too many wait.
    Full,
}

/// How a sub-bucket stands, in grains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// What it uses of the bucket.
    pub share: Share,
    /// What it has.
    pub tokens: u128,
    /// What it gave away and what is not confirmed.
    pub held: u128,
    /// Of the share, what is hired of others.
    pub hired: Share,
    /// What others have hired.
    pub lets: Share,
    /// Room for tokens of messages that were told to go later.
    pub reserved: u128,
    /// What those who wait need.
    pub queued: u128,
    /// How many wait.
    pub waiting: usize,
    /// One way to the nearest peer that answered, in nanoseconds.
    pub one_way_ns: Option<u64>,
}

/// What happened since the boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitCounts {
    /// Messages that came.
    pub arrived: u64,
    /// Of these, those that had to wait.
    pub waited: u64,
    /// Messages that were not taken.
    pub refused: u64,
    /// Asks for tokens.
    pub asks: u64,
    /// Of these, those that got some.
    pub hits: u64,
    /// Grains that came from others and were kept.
    pub borrowed: u128,
    /// Grains that went to others, less what came back.
    pub given: u128,
    /// Questions for a part of the bucket.
    pub hires: u64,
    /// Holds that ended by time.
    pub expired: u64,
    /// Frames that were sent.
    pub frames: u64,
    /// Frames that made no sense.
    pub malformed: u64,
}

impl SplitCounts {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            arrived: self.arrived.saturating_add(other.arrived),
            waited: self.waited.saturating_add(other.waited),
            refused: self.refused.saturating_add(other.refused),
            asks: self.asks.saturating_add(other.asks),
            hits: self.hits.saturating_add(other.hits),
            borrowed: self.borrowed.saturating_add(other.borrowed),
            given: self.given.saturating_add(other.given),
            hires: self.hires.saturating_add(other.hires),
            expired: self.expired.saturating_add(other.expired),
            frames: self.frames.saturating_add(other.frames),
            malformed: self.malformed.saturating_add(other.malformed),
        }
    }
}
