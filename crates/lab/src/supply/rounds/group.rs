//! Rules in which a node asks several others at once and takes from the richest until all are level.
//!
//! Not here: the protocol that does so with real messages.

use super::RoundsCost;
use super::graph::{others, shuffled};
use super::state::RoundState;
use crate::dice::LabDice;

const COUNT_MIN: usize = 2;
const COUNT_MAX: usize = 64;
/// A gain below that part is not worth asking more.
const WORTH: f64 = 0.05;

/// Every node asks once per round, in random order, until even. It asks twice as many while that helps.
pub(super) fn ask(mut state: RoundState, rounds_max: u64, dice: &mut LabDice) -> RoundsCost {
    let nodes = state.nodes();
    let mut counts = vec![COUNT_MIN; nodes];
    let mut messages = 0_u64;
    for round in 0..=rounds_max {
        if state.is_even() {
            return RoundsCost::after(round, messages as f64 / nodes as f64);
        }
        for node in shuffled(nodes, dice) {
            let count = counts.get_mut(node);
            let asked = others(
                node,
                nodes,
                count.as_deref().copied().unwrap_or(COUNT_MIN),
                dice,
            );
            let before = state.at(node).0;
            let givers = pour(&mut state, node, &asked);
            messages += 2 * (asked.len() as u64 + givers);
            let helps = state.at(node).0 > before * (1.0 + WORTH);
            if let Some(count) = count {
                *count = if helps {
                    (2 * *count).min(COUNT_MAX)
                } else {
                    (*count / 2).max(COUNT_MIN)
                };
            }
        }
    }
    RoundsCost::never()
}

/// Takes from the richest until all who give are level; returns how many gave.
fn pour(state: &mut RoundState, node: usize, asked: &[usize]) -> u64 {
    let mut donors = asked.to_vec();
    donors.sort_by(|a, b| state.ratio(*b).total_cmp(&state.ratio(*a)));
    let (mut supply, mut weight) = state.at(node);
    let mut givers = Vec::new();
    for donor in donors {
        let (its_supply, its_weight) = state.at(donor);
        if its_supply / its_weight <= supply / weight {
            break;
        }
        supply += its_supply;
        weight += its_weight;
        givers.push(donor);
    }
    let level = supply / weight;
    for &giver in &givers {
        let (its_supply, its_weight) = state.at(giver);
        state.pass(giver, node, its_supply - level * its_weight);
    }
    givers.len() as u64
}
