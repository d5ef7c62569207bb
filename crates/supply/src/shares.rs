//! Who has which part of the rate by right: weights in, homes out.
//!
//! Not here: how nodes change from one division to another (`stand`).

use std::fmt;

use tollgate_gossip::NodeId;
use tollgate_kit::{GOLDEN, scramble};

/// How a rate is divided among nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    tag: u64,
    /// In ascending order of nodes, each once.
    homes: Vec<(NodeId, u32)>,
    weights: u64,
}

/// Why a division was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadShares {
    /// Nobody has a weight above zero.
    NoWeight,
    /// A node is named twice.
    Twice(NodeId),
    /// More than [`Shares::NODES_MAX`] nodes.
    TooMany,
}

impl fmt::Display for BadShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWeight => f.write_str("at least one node needs a weight above zero"),
            Self::Twice(node) => write!(f, "node {} is named twice", node.0),
            Self::TooMany => write!(f, "at most {} nodes can share", Shares::NODES_MAX),
        }
    }
}

impl std::error::Error for BadShares {}

impl Shares {
    /// The most nodes that can share.
    pub const NODES_MAX: usize = 4096;

    /// A division by weights. `tag` names it, in whatever way makes two that differ have different ones; contents count
    /// as well.
    pub fn new(
        tag: u64,
        homes: impl IntoIterator<Item = (NodeId, u32)>,
    ) -> Result<Self, BadShares> {
        let mut homes: Vec<_> = homes.into_iter().take(Self::NODES_MAX + 1).collect();
        if homes.len() > Self::NODES_MAX {
            return Err(BadShares::TooMany);
        }
        homes.sort_unstable();
        if let Some(pair) = homes.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(BadShares::Twice(pair[0].0));
        }
        let weights = homes.iter().map(|(_, weight)| u64::from(*weight)).sum();
        if weights == 0 {
            return Err(BadShares::NoWeight);
        }
        Ok(Self {
            tag,
            homes,
            weights,
        })
    }

    /// Everybody the same.
    pub fn equal(tag: u64, nodes: impl IntoIterator<Item = NodeId>) -> Result<Self, BadShares> {
        Self::new(tag, nodes.into_iter().map(|node| (node, 1)))
    }

    /// The name of this division.
    pub const fn tag(&self) -> u64 {
        self.tag
    }

    /// Every node that is named, in ascending order; some may have no weight.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.homes.iter().map(|(node, _)| *node)
    }

    /// What each node has of `rate`, in ascending order. The sum is exactly `rate`: what is left by rounding down goes
    /// to the largest remainders, the first node first.
    pub fn homes(&self, rate: u64) -> Vec<(NodeId, u64)> {
        let weights = u128::from(self.weights);
        let product = |weight: u32| u128::from(rate) * u128::from(weight);
        let mut homes: Vec<_> = self
            .homes
            .iter()
            .collect::<Vec<_>>()
            .iter()
            .map(|(node, weight)| (*node, low(product(*weight) / weights)))
            .collect();
        let given: u64 = homes.iter().map(|(_, home)| home).sum();
        let mut order: Vec<_> = self
            .homes
            .iter()
            .enumerate()
            .map(|(place, (_, weight))| (std::cmp::Reverse(product(*weight) % weights), place))
            .collect();
        order.sort_unstable();
        let left = usize::try_from(rate - given).unwrap_or(usize::MAX);
        for (_, place) in order.into_iter().take(left) {
            if let Some((_, home)) = homes.get_mut(place) {
                *home += 1;
            }
        }
        homes
    }

    /// What one node has of `rate`; nothing where it is not named.
    pub fn home(&self, node: NodeId, rate: u64) -> u64 {
        let homes = self.homes(rate);
        let place = homes.binary_search_by_key(&node, |(node, _)| *node);
        place
            .ok()
            .and_then(|place| homes.get(place))
            .map_or(0, |(_, home)| *home)
    }

    /// A number for the contents, so that two divisions of one tag are told apart.
    pub(crate) fn number(&self) -> u64 {
        let words = self
            .homes
            .iter()
            .map(|(node, weight)| u64::from(node.0) << 32 | u64::from(*weight));
        words.fold(scramble(self.tag), |sum, word| {
            scramble(sum ^ word.wrapping_add(GOLDEN))
        })
    }
}

/// A part of a rate is no larger than the rate.
fn low(part: u128) -> u64 {
    u64::try_from(part).unwrap_or(u64::MAX)
}
