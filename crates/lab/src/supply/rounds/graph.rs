//! Who talks to whom: rings, random graphs.
//!
//! Not here: what they say.

use crate::dice::LabDice;

/// Edges, each once.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) edges: Vec<(usize, usize)>,
    /// How many edges each node has.
    pub(super) degrees: Vec<usize>,
}

impl Graph {
    fn of(nodes: usize, mut edges: Vec<(usize, usize)>) -> Self {
        for edge in &mut edges {
            *edge = (edge.0.min(edge.1), edge.0.max(edge.1));
        }
        edges.retain(|edge| edge.0 != edge.1);
        edges.sort_unstable();
        edges.dedup();
        let mut degrees = vec![0; nodes];
        for (one, other) in &edges {
            for end in [*one, *other] {
                if let Some(degree) = degrees.get_mut(end) {
                    *degree += 1;
                }
            }
        }
        Self { edges, degrees }
    }

    pub(super) fn ring(nodes: usize) -> Self {
        Self::of(
            nodes,
            (0..nodes).map(|node| (node, (node + 1) % nodes)).collect(),
        )
    }

    /// Rings in random order laid over each other: about `degree` edges each, and always connected.
    pub(super) fn random(nodes: usize, degree: usize, dice: &mut LabDice) -> Self {
        let mut edges = Vec::new();
        for _ in 0..degree.div_ceil(2) {
            let order = shuffled(nodes, dice);
            let next = order.iter().skip(1).chain(order.first());
            edges.extend(order.iter().copied().zip(next.copied()));
        }
        Self::of(nodes, edges)
    }

    /// Each picks two others.
    pub(super) fn two_each(nodes: usize, dice: &mut LabDice) -> Self {
        let mut edges = Vec::new();
        for node in 0..nodes {
            for peer in others(node, nodes, 2, dice) {
                edges.push((node, peer));
            }
        }
        Self::of(nodes, edges)
    }
}

pub(super) fn shuffled(nodes: usize, dice: &mut LabDice) -> Vec<usize> {
    let mut order: Vec<usize> = (0..nodes).collect();
    for at in (1..nodes).rev() {
        order.swap(at, below(at + 1, dice));
    }
    order
}

pub(super) fn others(me: usize, nodes: usize, count: usize, dice: &mut LabDice) -> Vec<usize> {
    let count = count.min(nodes.saturating_sub(1));
    if 2 * count >= nodes {
        let mut order = shuffled(nodes, dice);
        order.retain(|&node| node != me);
        order.truncate(count);
        return order;
    }
    let mut chosen = Vec::with_capacity(count);
    while chosen.len() < count {
        let peer = below(nodes, dice);
        if peer != me && !chosen.contains(&peer) {
            chosen.push(peer);
        }
    }
    chosen
}

pub(super) fn below(bound: usize, dice: &mut LabDice) -> usize {
    usize::try_from(dice.below(bound as u64)).unwrap_or(0)
}
