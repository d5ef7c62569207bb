//! Random schedules of faults: crashes, quick restarts, cuts, heals, moving demand, loss, copies and disorder.
//!
//! Not here: the designs that must survive them.

use tollgate_sim::Conditions;

use super::stage::{ClusterChange, MILLI, PER_SECOND, Phase, Plot, SECOND, SupplySetting};
use crate::dice::{LabDice, Purpose};

/// Faults are over by then.
pub(super) const CALM_AT: u64 = 20 * SECOND;
/// The best sum in the last half second before the end tells whether all supply is back.
const UNTIL: u64 = 28 * SECOND;
const NODES: u16 = 5;

/// The setting that faults happen in: small, with clocks that drift by up to a thousandth.
pub(super) fn setting() -> SupplySetting {
    SupplySetting {
        rate: 1_000 * PER_SECOND,
        drift: 1_000,
        until: UNTIL,
        recovery: Some((UNTIL - 500 * MILLI, UNTIL)),
        sample_us: 100 * MILLI,
        ..SupplySetting::rack(NODES)
    }
}

pub(super) fn plot(seed: u64) -> Plot {
    let mut dice = LabDice::new(seed, Purpose::Worlds);
    let mut setting = setting();
    setting.weather = weather(&mut dice);
    let mut changes = Vec::new();
    let mut phases = vec![phase(&mut dice, &setting, 0)];
    let mut at = 0;
    loop {
        at += 50 * MILLI + dice.below(1_900 * MILLI);
        if at >= CALM_AT {
            break;
        }
        if dice.below(4) == 0 {
            phases.push(phase(&mut dice, &setting, at));
        } else {
            happen(&mut dice, at, &mut changes);
        }
    }
    phases.push(phase(&mut dice, &setting, CALM_AT));
    changes.extend((0..NODES).map(|node| (CALM_AT, ClusterChange::Restart(node))));
    changes.push((CALM_AT, ClusterChange::Heal));
    let calm = Conditions {
        loss: 0,
        copies: 0,
        ..setting.weather
    };
    changes.push((CALM_AT, ClusterChange::Weather(calm)));
    changes.sort_by_key(|change| change.0);
    Plot {
        setting,
        phases,
        changes,
        seed,
    }
}

/// Up to a fifth lost, up to a fifth doubled, up to 80 ms late.
fn weather(dice: &mut LabDice) -> Conditions {
    let odds = |dice: &mut LabDice| match dice.below(3) {
        0 => 0,
        1 => u32::try_from(dice.below(50_000)).unwrap_or(0),
        _ => u32::try_from(dice.below(200_001)).unwrap_or(0),
    };
    let late = [MILLI, 10 * MILLI, 80 * MILLI];
    let most = usize::try_from(dice.below(3)).unwrap_or(0);
    Conditions {
        loss: odds(dice),
        copies: odds(dice),
        ..Conditions::between(0, late.get(most).copied().unwrap_or(MILLI))
    }
}

/// Demand from a fifth of the limit to three times it, spread or on few nodes.
fn phase(dice: &mut LabDice, setting: &SupplySetting, at: u64) -> Phase {
    let whole = setting.rate / 100 * (20 + dice.below(280));
    let weights: Vec<u64> = (0..setting.nodes)
        .map(|_| match dice.below(4) {
            0 => 0,
            1 => 10_000,
            _ => 1 + dice.below(1_000),
        })
        .collect();
    let sum: u64 = weights.iter().sum::<u64>().max(1);
    Phase {
        at,
        rates: weights.iter().map(|weight| whole / sum * weight).collect(),
    }
}

fn happen(dice: &mut LabDice, at: u64, changes: &mut Vec<(u64, ClusterChange)>) {
    let node = dice.small(NODES);
    match dice.below(5) {
        // A crash that lasts for a while, past any lease or shorter.
        0 => {
            changes.push((at, ClusterChange::Crash(node)));
            let back = at + dice.below(4 * SECOND);
            changes.push((back.min(CALM_AT), ClusterChange::Restart(node)));
        }
        // A quick restart, within any term.
        1 => {
            changes.push((at, ClusterChange::Crash(node)));
            let back = at + dice.below(50 * MILLI);
            changes.push((back.min(CALM_AT), ClusterChange::Restart(node)));
        }
        2 | 3 => {
            let sides = (0..=NODES).map(|own| u8::from(own < NODES && dice.below(2) == 0));
            changes.push((at, ClusterChange::Split(sides.collect())));
            let healed = at + dice.below(5 * SECOND);
            changes.push((healed.min(CALM_AT), ClusterChange::Heal));
        }
        _ => changes.push((at, ClusterChange::Heal)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_schedule_and_every_fault_ends() {
        for seed in 0..200 {
            let plot = plot(seed);
            assert_eq!(plot.changes, super::plot(seed).changes);
            assert!(plot.changes.is_sorted_by_key(|change| change.0));
            assert!(plot.phases.is_sorted_by_key(|phase| phase.at));
            assert!(plot.changes.iter().all(|change| change.0 <= CALM_AT));
            let last = plot.changes.iter().rev().find(|(_, change)| {
                matches!(change, ClusterChange::Split(_) | ClusterChange::Heal)
            });
            assert_eq!(last.map(|(_, change)| change), Some(&ClusterChange::Heal));
        }
    }
}
