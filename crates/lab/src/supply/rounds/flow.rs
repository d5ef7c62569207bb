//! Rules in which all edges move supply at once: the document's, on several graphs, and with momentum.
//!
//! Not here: rules of pairs.

use super::RoundsCost;
use super::graph::Graph;
use super::state::RoundState;

/// Moves on every edge what makes its ends even over the larger degree, once per round, until even.
pub(super) fn diffuse(mut state: RoundState, graph: &Graph, rounds_max: u64) -> RoundsCost {
    run(&mut state, graph, 1.0, rounds_max)
}

/// The same with a part of the last round's flow on top; the best of several parts is taken.
pub(super) fn with_momentum(state: &RoundState, graph: &Graph, rounds_max: u64) -> RoundsCost {
    let mut best = RoundsCost::never();
    for step in 1..=STEPS {
        // Gains close in on two, which a large graph needs.
        let gap = 2f64.powi(-step).sqrt();
        let gain = 2.0 / (1.0 + gap);
        let most = best
            .rounds
            .map_or(rounds_max, |rounds| rounds.min(rounds_max));
        let tally = run(&mut state.clone(), graph, gain, most);
        if tally
            .rounds
            .is_some_and(|own| best.rounds.is_none_or(|best| own < best))
        {
            best = tally;
        }
    }
    best
}

const STEPS: i32 = 16;

fn run(state: &mut RoundState, graph: &Graph, gain: f64, rounds_max: u64) -> RoundsCost {
    let mut last = vec![0.0; graph.edges.len()];
    let degree = |node: usize| graph.degrees.get(node).copied().unwrap_or(1) as f64;
    let per_round = 2.0 * graph.edges.len() as f64 / state.nodes() as f64;
    for round in 0..=rounds_max {
        if state.is_even() {
            return RoundsCost::after(round, per_round * round as f64);
        }
        for (flow, &(one, other)) in last.iter_mut().zip(&graph.edges) {
            let first = state.even(one, other) / degree(one).max(degree(other));
            *flow = (gain - 1.0) * *flow + gain * first;
        }
        for (flow, &(one, other)) in last.iter().zip(&graph.edges) {
            state.pass(one, other, *flow);
        }
    }
    RoundsCost::never()
}
