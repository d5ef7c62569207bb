//! Random schedules of faults: twelve seconds in which anything may fail, then eight in which nothing does.
//!
//! Not here: what must hold whatever happens.

use tollgate_sim::Conditions;

use super::world::{LeaseChange, LeaseSetting, MILLI, Plot, Recovery, SECOND};
use crate::dice::{LabDice, Purpose};
use crate::supply::stage::Phase;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduleKind {
    /// How successors learn what is out; at random where it is `None`.
    pub(crate) recovery: Option<Recovery>,
    /// Whether clocks jump.
    pub(crate) has_jumps: bool,
}

impl ScheduleKind {
    pub(crate) const ANY: Self = Self {
        recovery: None,
        has_jumps: false,
    };
}

/// Nothing fails, but clocks run faster than they may by so many millionths, and two clients want twice what there is.
pub(crate) fn fast(drift_more: u32, seed: u64) -> Plot {
    let setting = LeaseSetting {
        clients: 2,
        drift_more,
        until: 8 * SECOND,
        ..LeaseSetting::usual(300, 2_000)
    };
    let rates = vec![setting.demand(100); 2];
    Plot {
        phases: vec![Phase { at: 0, rates }],
        ..Plot::steady(setting, 200, seed)
    }
}

/// Until when something may fail.
const FAULTS: u64 = 12 * SECOND;

pub(crate) fn plot(kind: ScheduleKind, seed: u64) -> Plot {
    let mut dice = LabDice::new(seed, Purpose::Worlds);
    let mut setting = setting(&mut dice);
    let mut changes = Vec::new();
    for client in 0..setting.clients {
        own_faults(&mut dice, kind, client, &mut changes);
    }
    cut(&mut dice, setting.clients, &mut changes);
    for _ in 0..dice.below(3) {
        fall(&mut dice, kind, &mut changes);
    }
    changes.sort_by_key(|(at, _)| *at);
    let last = changes.last().map_or(0, |(at, _)| *at).max(4 * SECOND);
    changes.push((last, LeaseChange::Calm));
    setting.window = Some((last + 4 * SECOND, last + 8 * SECOND));
    setting.until = last + 8 * SECOND;
    let phases = phases(&mut dice, &setting, last);
    Plot {
        setting,
        phases,
        changes,
        seed,
    }
}

fn setting(dice: &mut LabDice) -> LeaseSetting {
    let per_second = 20 + dice.below(981);
    let delay_min = MILLI / 10 + dice.below(20 * MILLI);
    let jitter = if dice.below(4) == 0 {
        delay_min / 5
    } else {
        dice.below(80 * MILLI)
    };
    LeaseSetting {
        // Less is not lent.
        burst: (per_second * (1 + dice.below(30)) / 10).max(4),
        clients: 2 + dice.small(7),
        term_ns: 300 * MILLI + dice.below(1_700 * MILLI),
        drift_ppm: pick(dice, [500, 20_000]),
        weather: Conditions {
            loss: u32::from(dice.small(201)) * 1_000,
            copies: u32::from(dice.small(201)) * 1_000,
            ..Conditions::between(delay_min, delay_min + jitter)
        },
        ..LeaseSetting::usual(per_second, 1_000)
    }
}

fn pick<T: Copy, const N: usize>(dice: &mut LabDice, from: [T; N]) -> T {
    let at = usize::try_from(dice.below(N as u64)).unwrap_or(0);
    from[at.min(N - 1)]
}

/// What may happen to one client: it crashes for a while, or for three milliseconds, or its clock jumps.
fn own_faults(
    dice: &mut LabDice,
    kind: ScheduleKind,
    client: u16,
    changes: &mut Vec<(u64, LeaseChange)>,
) {
    for _ in 0..2 {
        let at = SECOND + dice.below(FAULTS - 4 * SECOND);
        let gone = match dice.below(4) {
            0 => 3 * MILLI,
            1 => dice.below(3 * SECOND),
            _ => continue,
        };
        changes.push((at, LeaseChange::Crash(client)));
        changes.push((at + gone, LeaseChange::Restart(client)));
    }
    if kind.has_jumps {
        let by = i64::try_from(MILLI + dice.below(3 * SECOND)).unwrap_or(0);
        let by = if dice.below(2) == 0 { by } else { -by };
        let at = SECOND + dice.below(FAULTS - SECOND);
        changes.push((at, LeaseChange::Step(client, by)));
    }
}

/// One client or half of them are cut off for a while.
fn cut(dice: &mut LabDice, clients: u16, changes: &mut Vec<(u64, LeaseChange)>) {
    let cut: Vec<u16> = match dice.below(3) {
        0 => return,
        1 => vec![dice.small(clients)],
        _ => (0..clients).step_by(2).collect(),
    };
    let at = SECOND + dice.below(FAULTS - 4 * SECOND);
    changes.push((at, LeaseChange::Cut(cut)));
    changes.push((at + dice.below(3 * SECOND), LeaseChange::Heal));
}

fn fall(dice: &mut LabDice, kind: ScheduleKind, changes: &mut Vec<(u64, LeaseChange)>) {
    let is_down = |at: u64, changes: &[(u64, LeaseChange)]| {
        let falls = changes
            .iter()
            .filter(|(_, change)| *change == LeaseChange::Fall);
        falls.clone().any(|(fall, _)| fall.abs_diff(at) < SECOND)
    };
    let at = SECOND + dice.below(FAULTS - 2 * SECOND);
    if is_down(at, changes) {
        return;
    }
    let recovery = kind.recovery.unwrap_or(pick(
        dice,
        [Recovery::Ledger, Recovery::Restate, Recovery::Quarantine],
    ));
    changes.push((at, LeaseChange::Fall));
    changes.push((at + dice.below(600 * MILLI), LeaseChange::Rise(recovery)));
}

/// Demand of every client from nothing to five times the limit in all, until the last fault.
fn phases(dice: &mut LabDice, setting: &LeaseSetting, last: u64) -> Vec<Phase> {
    let most = setting.demand(500) / u64::from(setting.clients);
    let mut rates = vec![0; usize::from(setting.clients)];
    let draw = |dice: &mut LabDice| match dice.below(4) {
        0 => 0,
        1 => dice.below(most / 5 + 1),
        _ => dice.below(most + 1),
    };
    let mut phases = Vec::new();
    for at in (0..=last / 1_000).step_by(700_000) {
        for rate in &mut rates {
            if at == 0 || dice.below(3) == 0 {
                *rate = draw(dice);
            }
        }
        phases.push(Phase {
            at,
            rates: rates.clone(),
        });
    }
    phases
}
