//! The knobs worked out, and what every key of a policy needs while it acts: time, peers and the post.
//!
//! Not here: any key's state.

use tollgate_limit::{Instant, Span};

use crate::bucket::{Bucket, Mark};
use crate::home::peers::Peers;
use crate::home::post::Post;
use crate::setup::{Ratio, Setup};

/// A node repeats its last report that much later.
pub(super) const SETTLE: Span = Span::from_nanos(1_000_000_000);
/// The home repeats an announcement after that long, and then after each [`SETTLE`].
pub(super) const REPEAT_FIRST: Span = Span::from_nanos(600_000_000);
/// How often an announcement is repeated.
pub(super) const REPEATS: u8 = 3;
/// The end that was announced is renewed when it is that near, or the others would forget.
pub(super) const REFRESH_NS: u64 = 2_000_000_000;
/// How much longer than two rounds the standby waits for the home.
const PATIENCE_NS: u128 = 50_000_000;
/// How much longer than two delays a new home waits for what the others know.
const GATHER_NS: u128 = 1_000_000;
/// A mean share of the burst up to which the default keeps a quarter more than a strict share.
const SHARE_LOOSE_MAX: u64 = 30;
/// The direct threshold chosen by rate and delay is at most that many tokens per node.
const NEAR_PER_NODE_MAX: u64 = 3;
/// It is what so many delays take,
const NEAR_DELAYS: u128 = 5;
/// and these tokens more.
const NEAR_MARGIN: u64 = 2;

/// The knobs worked out.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) bucket: Bucket,
    pub(super) nodes: u64,
    beta: Option<Ratio>,
    pub(super) fade: Ratio,
    pub(super) grace: Span,
    pub(super) delay: Span,
    pub(super) interval: Span,
    pub(super) near: Option<u64>,
    pub(super) tree: Option<u16>,
    pub(super) has_standby: bool,
    pub(super) repeats: bool,
    pub(super) has_buddy: bool,
}

/// What a key needs while it acts.
#[derive(Debug)]
pub(super) struct Desktop {
    pub(super) rules: Rules,
    pub(super) peers: Peers,
    pub(super) post: Post,
    pub(super) now: Instant,
    /// The greatest epoch number this boot has used.
    pub(super) epochs: u64,
    /// Until when a restarted node waits for what the others know.
    pub(super) gathered_at: Instant,
    /// Until when a newcomer is told what the others know.
    pub(super) learns_until: Instant,
}

impl Rules {
    pub(super) fn new(setup: &Setup) -> Self {
        let nodes = (setup.members.len() as u64).max(1);
        let knobs = &setup.knobs;
        Self {
            bucket: setup.bucket,
            nodes,
            beta: knobs.beta,
            fade: knobs.fade,
            grace: knobs.grace,
            delay: knobs.delay,
            interval: knobs.interval,
            near: knobs.direct,
            tree: knobs.tree,
            has_standby: knobs.standby,
            repeats: knobs.repeat,
            has_buddy: knobs.buddy,
        }
    }

    /// Hears how many nodes there are. Shares do not grow again when some go: they may be back at any time.
    pub(super) fn set_nodes(&mut self, nodes: usize) {
        self.nodes = self.nodes.max(nodes as u64);
    }

    /// How much of the room a node keeps to itself, in shares.
    fn beta(&self) -> Ratio {
        let is_loose = self.bucket.burst() <= SHARE_LOOSE_MAX.saturating_mul(self.nodes);
        let usual = Ratio::new(if is_loose { 5 } else { 4 }, 4);
        self.beta.unwrap_or(usual)
    }

    /// Tokens a node may keep to itself at that level: half of its share of the room, so that the room may halve before
    /// anybody must be told.
    pub(super) fn share(&self, level: u128) -> u64 {
        let room = self.bucket.capacity().saturating_sub(level);
        self.bucket.tokens(self.beta().of(room)) / (2 * self.nodes)
    }

    /// Whether fewer than `tokens` are left at that level.
    pub(super) fn leaves_less(&self, level: u128, tokens: u64) -> bool {
        level.saturating_add(self.bucket.grains(tokens)) > self.bucket.capacity()
    }

    /// Whether at most `tokens` are left at that level.
    pub(super) fn leaves_at_most(&self, level: u128, tokens: u64) -> bool {
        level.saturating_add(self.bucket.grains(tokens)) >= self.bucket.capacity()
    }

    /// The direct threshold for that many tokens reported per second, one where messages take no time. Until everybody
    /// has heard of what was under way when the threshold was crossed, four delays pass; a fifth and a little more are
    /// for a rate that lags behind.
    pub(super) fn near_for(&self, rate: u64) -> u64 {
        let delays = NEAR_DELAYS * self.delay.as_nanos();
        if delays == 0 {
            return 1;
        }
        let taken = u128::from(rate)
            .saturating_mul(delays)
            .div_ceil(1_000_000_000);
        let near = u64::try_from(taken).unwrap_or(u64::MAX);
        let most = NEAR_PER_NODE_MAX.saturating_mul(self.nodes);
        near.saturating_add(NEAR_MARGIN).min(most)
    }

    /// Half a token: smaller differences are not worth a message.
    pub(super) fn half(&self) -> u128 {
        self.bucket.grains(1) / 2
    }

    /// How long concurrent reports may be under way.
    pub(super) fn round(&self) -> Span {
        Span::from_nanos(2 * self.delay.as_nanos())
    }

    /// How long the standby waits for the home, which may itself wait for a round before it speaks.
    pub(super) fn patience(&self) -> Span {
        Span::from_nanos(2 * self.round().as_nanos() + PATIENCE_NS)
    }

    /// How long a new home waits for what the others know.
    pub(super) fn gather(&self) -> Span {
        Span::from_nanos(2 * self.delay.as_nanos() + GATHER_NS)
    }
}

impl Desktop {
    /// The present on the bucket's axis.
    pub(super) fn mark(&self) -> Mark {
        self.rules.bucket.mark(self.now)
    }

    /// Backlog left now until `end`.
    pub(super) fn level(&self, end: Mark) -> u128 {
        end.since(self.mark())
    }

    /// The time that much later.
    pub(super) fn after(&self, span: Span) -> Instant {
        self.now.saturating_add(span)
    }
}
