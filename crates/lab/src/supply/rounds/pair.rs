//! Rules in which one node at a time exchanges with another.
//!
//! Not here: rules that ask several at once.

use super::RoundsCost;
use super::graph::{below, others, shuffled};
use super::state::RoundState;
use crate::dice::LabDice;

#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// One of the two beside it.
    Beside,
    /// Whoever there is most to move with, of so many.
    Best(usize),
    /// The richest of so many, and only to take.
    Richest(usize),
}

/// Every node exchanges once per round, in random order, until even.
pub(super) fn exchange(
    mut state: RoundState,
    choice: Choice,
    rounds_max: u64,
    dice: &mut LabDice,
) -> RoundsCost {
    let nodes = state.nodes();
    let mut messages = 0_u64;
    for round in 0..=rounds_max {
        if state.is_even() {
            return RoundsCost::after(round, messages as f64 / nodes as f64);
        }
        for node in shuffled(nodes, dice) {
            messages += turn(&mut state, node, choice, dice);
        }
    }
    RoundsCost::never()
}

fn turn(state: &mut RoundState, node: usize, choice: Choice, dice: &mut LabDice) -> u64 {
    let nodes = state.nodes();
    match choice {
        Choice::Beside => {
            let by = if below(2, dice) == 0 { 1 } else { nodes - 1 };
            let peer = (node + by) % nodes;
            state.pass(node, peer, state.even(node, peer));
            3
        }
        Choice::Best(count) => {
            let asked = others(node, nodes, count, dice);
            let much = |peer: &&usize| state.even(node, **peer).abs();
            let best = asked.iter().max_by(|a, b| much(a).total_cmp(&much(b)));
            if let Some(&peer) = best {
                state.pass(node, peer, state.even(node, peer));
            }
            // A probe of one is the exchange itself.
            if count == 1 {
                3
            } else {
                2 * asked.len() as u64 + 2
            }
        }
        Choice::Richest(count) => {
            let asked = others(node, nodes, count, dice);
            let rich = |peer: &&usize| state.ratio(**peer);
            let best = asked.iter().max_by(|a, b| rich(a).total_cmp(&rich(b)));
            let gained = best.map(|&peer| (peer, state.even(peer, node)));
            match gained.filter(|(_, gained)| *gained > 0.0) {
                Some((peer, gained)) => {
                    state.pass(peer, node, gained);
                    2 * asked.len() as u64 + 2
                }
                None => 2 * asked.len() as u64,
            }
        }
    }
}
