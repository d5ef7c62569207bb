//! Parts of the bucket that are hired from others and let to others, each for a term that ends by itself.
//!
//! Whoever hires counts the term from its question, by its own clock; whoever lets counts a longer one, from its
//! answer. So a part is never used by both, whatever is lost and whoever crashes. Not here: how much is asked for, and
//! the bucket.

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

use crate::by_node::ByNode;
use crate::limits::Share;
use crate::pace::RecentDemand;

/// What is hired and let.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hires {
    /// What the node has where nothing is hired or let.
    pub(crate) right: Share,
    /// Nothing is let before: an earlier boot may have.
    pub(crate) clear_at: Instant,
    pub(crate) pace: RecentDemand,
    /// Somebody had to wait, or was refused, since the last look.
    pub(crate) is_short: bool,
    pub(crate) tick_at: Option<Instant>,
    /// Who is still to be asked.
    pub(crate) sweep: Vec<NodeId>,
    pub(crate) open: Option<OpenQuestion>,
    last: u64,
    hired: ByNode<Parts>,
    lets: ByNode<Let>,
    /// What others are asked for, in thousandths per second, and when they said so.
    demands: ByNode<(u64, Instant)>,
}

/// A question that is not answered yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenQuestion {
    pub(crate) to: NodeId,
    pub(crate) ticket: u64,
    pub(crate) at: Instant,
    pub(crate) deadline: Instant,
}

/// Names a question at the one who answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QuestionId {
    pub(crate) boot: u64,
    pub(crate) ticket: u64,
}

#[derive(Clone, Debug, Default)]
struct Let {
    asked: QuestionId,
    parts: Parts,
}

/// What may be in use between two nodes: the most of the parts whose terms are not over.
#[derive(Clone, Debug, Default)]
struct Parts(Vec<(Share, Instant)>);

impl Parts {
    fn most(&self) -> Share {
        let all = self.0.iter().map(|(share, _)| *share);
        all.fold(Share::NONE, Share::max)
    }

    /// Adds one, unless there are too many already. Those that it covers are forgotten.
    fn push(&mut self, share: Share, until: Instant) -> bool {
        self.0
            .retain(|(old, end)| !(old.is_within(share) && *end <= until));
        let has_room = self.0.len() < PARTS_MAX;
        if has_room && share != Share::NONE {
            self.0.push((share, until));
        }
        has_room
    }

    fn expire(&mut self, now: Instant) {
        self.0.retain(|(_, end)| *end > now);
    }

    fn next_end(&self) -> Option<Instant> {
        self.0.iter().map(|(_, end)| *end).min()
    }
}

impl Hires {
    pub(crate) fn new(right: Share, clear_at: Instant) -> Self {
        Self {
            right,
            clear_at,
            ..Self::default()
        }
    }

    /// All that is hired.
    pub(crate) fn hired(&self) -> Share {
        sum(self.hired.values())
    }

    /// All that is let.
    pub(crate) fn lets(&self) -> Share {
        sum(self.lets.values().map(|to| &to.parts))
    }

    pub(crate) fn hired_from(&self, node: NodeId) -> Share {
        self.hired.get(node).map_or(Share::NONE, Parts::most)
    }

    pub(crate) fn let_to(&self, node: NodeId) -> Share {
        self.lets
            .get(node)
            .map_or(Share::NONE, |to| to.parts.most())
    }

    /// What is hired is sure until then.
    pub(crate) fn hired_until(&self) -> Instant {
        let ends = self.hired.values().filter_map(Parts::next_end);
        ends.min().unwrap_or_default()
    }

    pub(crate) fn next_end(&self) -> Option<Instant> {
        let lets = self.lets.values().map(|to| &to.parts);
        let all = self.hired.values().chain(lets);
        all.filter_map(Parts::next_end).min()
    }

    /// Ends what is over.
    pub(crate) fn expire(&mut self, now: Instant) {
        self.hired.retain(|_, parts| {
            parts.expire(now);
            !parts.0.is_empty()
        });
        self.lets.retain(|_, to| {
            to.parts.expire(now);
            !to.parts.0.is_empty()
        });
    }

    /// Whether nothing is hired, let or asked for.
    pub(crate) fn is_idle(&self) -> bool {
        self.hired.is_empty() && self.lets.is_empty() && self.open.is_none()
    }

    pub(crate) const fn next_ticket(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Takes a part. What was taken before stays until its end where it is counted on.
    pub(crate) fn hire(&mut self, from: NodeId, part: (Share, Instant), counts_on_old: bool) {
        let Some(parts) = self.hired.get_or_default(from) else {
            return;
        };
        if !counts_on_old {
            parts.0.clear();
        }
        parts.push(part.0, part.1);
        if parts.0.is_empty() {
            self.hired.remove(from);
        }
    }

    /// A question came: `false` where a later one has been answered. Whoever asks has nothing of what it was let but
    /// what it says.
    pub(crate) fn hear(&mut self, from: NodeId, asked: QuestionId, have: Share) -> bool {
        let Some(to) = self.lets.get_mut(from) else {
            return true;
        };
        if asked <= to.asked {
            return false;
        }
        // What an earlier boot promised may still count on what it had.
        if asked.boot == to.asked.boot {
            for (share, _) in &mut to.parts.0 {
                *share = share.min(have);
            }
        }
        to.asked = asked;
        true
    }

    /// Lets a part: `false` where too many are out.
    pub(crate) fn let_out(
        &mut self,
        to: NodeId,
        asked: QuestionId,
        part: (Share, Instant),
    ) -> bool {
        let Some(record) = self.lets.get_or_default(to) else {
            return false;
        };
        record.asked = asked;
        let is_let = record.parts.push(part.0, part.1);
        if record.parts.0.is_empty() {
            self.lets.remove(to);
        }
        is_let
    }

    /// Notes what another one is asked for.
    pub(crate) fn heard_demand(&mut self, from: NodeId, milli: u64, now: Instant) {
        self.demands.insert(from, (milli, now));
    }

    /// What the others are asked for, but for one of them, as far as they said so since.
    pub(crate) fn demand_of_others(&self, but: Option<NodeId>, since: Instant) -> u64 {
        let others = self.demands.iter().filter(|(id, _)| Some(*id) != but);
        let lately = others.filter(|(_, (_, at))| *at >= since);
        lately.fold(0, |sum: u64, (_, (milli, _))| sum.saturating_add(*milli))
    }
}

fn sum<'a>(all: impl Iterator<Item = &'a Parts>) -> Share {
    all.map(Parts::most).fold(Share::NONE, Share::plus)
}

/// Parts between two nodes whose terms are not over.
const PARTS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const TO: NodeId = NodeId(1);

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn share(rate: u128) -> Share {
        Share { rate, depth: rate }
    }

    fn asked(boot: u64, ticket: u64) -> QuestionId {
        QuestionId { boot, ticket }
    }

    #[test]
    fn what_is_let_counts_until_it_is_over_or_said_to_be_less() {
        let mut hires = Hires::default();
        assert!(hires.hear(TO, asked(1, 5), Share::NONE));
        assert!(hires.let_out(TO, asked(1, 5), (share(10), at(100))));
        assert!(hires.hear(TO, asked(1, 6), share(10)));
        assert!(hires.let_out(TO, asked(1, 6), (share(4), at(150))));
        assert_eq!(hires.lets(), share(10));
        // A question that was overtaken says nothing.
        assert!(!hires.hear(TO, asked(1, 5), Share::NONE));
        // A later life of the one that hired does not know what its earlier one promised.
        let mut other = hires.clone();
        assert!(other.hear(TO, asked(2, 1), Share::NONE));
        assert_eq!(other.lets(), share(10));
        assert!(hires.hear(TO, asked(1, 7), share(4)));
        assert_eq!(hires.lets(), share(4));
        other.expire(at(100));
        assert_eq!(other.lets(), share(4));
        other.expire(at(150));
        assert!(other.is_idle());
    }

    #[test]
    fn what_is_counted_on_stays_until_its_end() {
        let mut hires = Hires::default();
        hires.hire(TO, (share(10), at(100)), false);
        hires.hire(TO, (share(3), at(120)), true);
        assert_eq!((hires.hired(), hires.hired_until()), (share(10), at(100)));
        hires.expire(at(100));
        assert_eq!((hires.hired(), hires.hired_until()), (share(3), at(120)));
        hires.hire(TO, (Share::NONE, at(200)), false);
        assert!(hires.is_idle());
    }
}
