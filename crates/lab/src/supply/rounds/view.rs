//! Rules that first learn how all stand: an estimate that spreads, and tables of everybody.
//!
//! Not here: rules that only know whom they ask.

use super::RoundsCost;
use super::graph::{below, others, shuffled};
use super::state::RoundState;
use crate::dice::LabDice;

/// Every node passes half of its estimate of the level on each round (push-sum), and asks three others for what they
/// have above it while it has less.
pub(super) fn push_sum(mut state: RoundState, rounds_max: u64, dice: &mut LabDice) -> RoundsCost {
    let nodes = state.nodes();
    let (mut sums, mut weights) = (state.supply.clone(), state.weight.clone());
    let mut messages = 0_u64;
    for round in 0..=rounds_max {
        if state.is_even() {
            return RoundsCost::after(round, messages as f64 / nodes as f64);
        }
        messages += spread(&mut sums, &dice_peers(nodes, dice), &mut weights);
        let levels: Vec<f64> = sums.iter().zip(&weights).map(|(s, w)| s / w).collect();
        let above = |state: &RoundState, node: usize| {
            let (supply, weight) = state.at(node);
            supply - levels.get(node).copied().unwrap_or(0.0) * weight
        };
        for node in shuffled(nodes, dice) {
            let need = -above(&state, node);
            if need <= WORTH * state.at(node).0 {
                continue;
            }
            let mut rest = need;
            for peer in others(node, nodes, 3, dice) {
                let given = above(&state, peer).clamp(0.0, rest);
                messages += 1 + u64::from(given > 0.0);
                state.pass(peer, node, given);
                rest -= given;
                if rest <= 0.0 {
                    break;
                }
            }
        }
    }
    RoundsCost::never()
}

/// Less than that part is not worth a message.
const WORTH: f64 = 0.002;

fn dice_peers(nodes: usize, dice: &mut LabDice) -> Vec<usize> {
    (0..nodes)
        .map(|node| (node + 1 + below(nodes - 1, dice)) % nodes)
        .collect()
}

fn spread(sums: &mut [f64], peers: &[usize], weights: &mut [f64]) -> u64 {
    for values in [sums, weights] {
        let halves: Vec<f64> = values.iter().map(|value| value / 2.0).collect();
        values.copy_from_slice(&halves);
        for (half, &peer) in halves.iter().zip(peers) {
            if let Some(value) = values.get_mut(peer) {
                *value += half;
            }
        }
    }
    peers.len() as u64
}

/// Every node swaps tables with another each round; when all know all, each sends what the same sums tell everybody to
/// send.
pub(super) fn full_view(state: &RoundState, rounds_max: u64, dice: &mut LabDice) -> RoundsCost {
    let nodes = state.nodes();
    let words = nodes.div_ceil(64);
    let mut known: Vec<Vec<u64>> = (0..nodes)
        .map(|node| {
            (0..words)
                .map(|word| {
                    if node / 64 == word {
                        1 << (node % 64)
                    } else {
                        0
                    }
                })
                .collect()
        })
        .collect();
    let is_whole = |table: &Vec<u64>| -> bool {
        table
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum::<usize>()
            == nodes
    };
    for round in 0..=rounds_max {
        if known.iter().all(is_whole) {
            return RoundsCost::after(round, 2.0 * round as f64 + 1.0);
        }
        for node in shuffled(nodes, dice) {
            let peer = (node + 1 + below(nodes - 1, dice)) % nodes;
            let union: Vec<u64> = known
                .get(node)
                .into_iter()
                .flatten()
                .zip(known.get(peer).into_iter().flatten())
                .map(|(one, other)| one | other)
                .collect();
            for end in [node, peer] {
                if let Some(table) = known.get_mut(end) {
                    table.clone_from(&union);
                }
            }
        }
    }
    RoundsCost::never()
}
