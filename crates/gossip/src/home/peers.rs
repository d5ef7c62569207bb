//! Who is alive, which two of them collect a key, and along which tree news spreads.
//!
//! Not here: how anybody notices who is alive.

use tollgate_mode::{Key, NodeId};

use tollgate_kit::mix;

/// Of that many in a row at least one does not collect a given key.
const BUDDIES: usize = 3;

/// The nodes among `alive` that collect a key under [`Kind::Home`](crate::Kind::Home): its home and its standby.
pub fn collectors(key: Key, alive: &[NodeId]) -> (Option<NodeId>, Option<NodeId>) {
    let Some(&any) = alive.first() else {
        return (None, None);
    };
    let pair = Peers::new(any, alive.to_vec(), true).pair(key);
    (Some(pair.home), pair.standby)
}

/// The nodes believed alive, as one of them sees it.
#[derive(Clone, Debug)]
pub(super) struct Peers {
    me: NodeId,
    /// Ascending, this node included.
    alive: Vec<NodeId>,
    has_standby: bool,
}

/// The nodes that collect a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) home: NodeId,
    pub(super) standby: Option<NodeId>,
}

/// A node's part in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Collects and announces.
    Home,
    /// Collects, and announces when the home does not.
    Standby,
    /// Reports.
    Writer,
}

impl Peers {
    pub(super) fn new(me: NodeId, members: Vec<NodeId>, has_standby: bool) -> Self {
        let mut peers = Self {
            me,
            alive: Vec::new(),
            has_standby,
        };
        peers.set(members);
        peers
    }

    /// Hears who is alive; whether that is news.
    pub(super) fn set(&mut self, mut alive: Vec<NodeId>) -> bool {
        alive.push(self.me);
        alive.sort_unstable();
        alive.dedup();
        let is_news = alive != self.alive;
        self.alive = alive;
        is_news
    }

    pub(super) fn me(&self) -> NodeId {
        self.me
    }

    /// Everybody else.
    pub(super) fn others(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.alive.iter().copied().filter(|&node| node != self.me)
    }

    /// The node that keeps this one's copies of a key: the next in the ring that does not collect it, for what a
    /// collector kept to itself should outlive both of them. Where everybody collects, the next.
    pub(super) fn buddy(&self, pair: Pair) -> Option<NodeId> {
        let apart = self.buddies().find(|&node| !pair.has(node));
        apart.or_else(|| self.buddies().next())
    }

    /// Everybody who may keep this node's copies, whatever the key.
    pub(super) fn buddies(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ring(self.me).take(BUDDIES)
    }

    /// The two nodes with the greatest hash of key and node.
    pub(super) fn pair(&self, key: Key) -> Pair {
        let [high, low] = halves(key);
        let salt = mix(low ^ mix(high));
        let weight = |node: NodeId| (mix(salt ^ mix(u64::from(node.0) + 1)), node);
        let (mut first, mut second) = (None, None);
        for candidate in self.alive.iter().map(|&node| weight(node)) {
            if first.is_none_or(|first| candidate > first) {
                second = first.replace(candidate);
            } else if second.is_none_or(|second| candidate > second) {
                second = Some(candidate);
            }
        }
        Pair {
            home: first.map_or(self.me, |(_, node)| node),
            standby: second.filter(|_| self.has_standby).map(|(_, node)| node),
        }
    }

    /// The two that will collect a key once this node is gone.
    pub(super) fn pair_without_me(&self, key: Key) -> Option<Pair> {
        let others: Vec<_> = self.others().collect();
        let heir = others.first().copied()?;
        Some(Self::new(heir, others, self.has_standby).pair(key))
    }

    /// Whom this node passes news of `root` on to, in a heap of that arity laid over the ring from the root on.
    pub(super) fn children(&self, root: NodeId, arity: u16) -> Vec<NodeId> {
        let arity = usize::from(arity.max(2));
        let place = if root == self.me {
            Some(0)
        } else {
            self.ring(root)
                .position(|node| node == self.me)
                .map(|at| at + 1)
        };
        place.map_or_else(Vec::new, |place| {
            self.ring(root).skip(arity * place).take(arity).collect()
        })
    }

    /// Everybody but `root`, beginning after it.
    fn ring(&self, root: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let after = self.alive.partition_point(|&node| node <= root);
        let (before, after) = self.alive.split_at(after);
        let ring = after.iter().chain(before).copied();
        ring.filter(move |&node| node != root)
    }
}

/// The upper and the lower 64 bits.
fn halves(key: Key) -> [u64; 2] {
    let low = key.0 & u128::from(u64::MAX);
    [key.0 >> 64, low].map(|half| u64::try_from(half).unwrap_or(u64::MAX))
}

impl Pair {
    /// The part of `node`.
    pub(super) fn role(self, node: NodeId) -> Role {
        if node == self.home {
            Role::Home
        } else if Some(node) == self.standby {
            Role::Standby
        } else {
            Role::Writer
        }
    }

    /// Both, the home first.
    pub(super) fn nodes(self) -> impl Iterator<Item = NodeId> {
        std::iter::once(self.home).chain(self.standby)
    }

    /// Whether `node` is one of them.
    pub(super) fn has(self, node: NodeId) -> bool {
        self.role(node) != Role::Writer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(me: u16, count: u16) -> Peers {
        let members: Vec<_> = (0..count).map(NodeId).collect();
        Peers::new(NodeId(me), members, true)
    }

    #[test]
    fn everybody_names_the_same_pair_and_only_a_loss_in_it_changes_it() {
        for key in (0..200).map(|key| Key(key << 60 | key)) {
            let pair = peers(0, 9).pair(key);
            assert_eq!(peers(8, 9).pair(key), pair);
            let mut fewer = peers(0, 9);
            let gone = NodeId(5);
            let alive: Vec<_> = (0..9).map(NodeId).filter(|&node| node != gone).collect();
            assert!(fewer.set(alive));
            let after = fewer.pair(key);
            match pair.role(gone) {
                Role::Home => assert_eq!(Some(after.home), pair.standby),
                Role::Standby => assert_eq!(after.home, pair.home),
                Role::Writer => assert_eq!(after, pair),
            }
        }
    }

    #[test]
    fn a_copy_is_kept_by_nobody_who_collects_if_there_is_anybody_else() {
        for (me, key) in (0..9).flat_map(|me| (0..50).map(move |key| (me, Key(key)))) {
            let peers = peers(me, 9);
            let pair = peers.pair(key);
            let buddy = peers.buddy(pair).unwrap();
            assert!(buddy != NodeId(me) && !pair.has(buddy));
            assert!(peers.buddies().any(|node| node == buddy));
        }
        let three = peers(0, 3);
        assert!(three.buddy(three.pair(Key(7))).is_some());
        assert_eq!(peers(0, 1).buddy(peers(0, 1).pair(Key(7))), None);
    }

    #[test]
    fn homes_are_spread_evenly() {
        let peers = peers(0, 10);
        let mut homes = [0_u32; 10];
        for key in 0..10_000 {
            homes[usize::from(peers.pair(Key(key)).home.0)] += 1;
        }
        assert!(homes.iter().all(|&count| (850..1150).contains(&count)));
    }

    #[test]
    fn a_tree_reaches_everybody_once() {
        for (count, arity) in [(1, 2), (2, 4), (30, 4), (30, 16), (100, 3)] {
            for root in [0, count / 2, count - 1] {
                let mut reached: Vec<_> = (0..count)
                    .flat_map(|node| peers(node, count).children(NodeId(root), arity))
                    .collect();
                reached.sort_unstable();
                let all: Vec<_> = (0..count)
                    .filter(|&node| node != root)
                    .map(NodeId)
                    .collect();
                assert_eq!(reached, all);
            }
        }
    }
}
