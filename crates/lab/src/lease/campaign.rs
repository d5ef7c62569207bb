//! Random schedules in which anything may fail at once, of buckets and of windows: what the tests look for planted bugs
//! with.
//!
//! Not here: the schedules of `lease-faults`, after which everything must be back, and what must hold.

use tollgate_sim::Conditions;

use super::design::Design;
use super::world::{LeaseChange, LeaseSetting, MILLI, Plot, Recovery, SECOND, WindowOf};
use crate::dice::{LabDice, Purpose};
use crate::naive::NaiveShape;
use crate::supply::stage::{PER_SECOND, Phase};

/// How long a schedule is.
const LENGTH: u64 = 8 * SECOND;

/// The schedule of a seed for a bucket. Clocks step back where nobody waits by them.
fn bucket(seed: u64, has_steps: bool) -> Plot {
    if seed % 50 == 49 {
        return hurried(seed);
    }
    let mut dice = LabDice::new(seed, Purpose::Worlds);
    let per_second = pick(&mut dice, [20, 100, 300, 1_000]);
    let mut setting = LeaseSetting {
        burst: (per_second * between(&mut dice, 1, 30) / 10).max(4),
        clients: 2 + dice.small(5),
        term_ns: between(&mut dice, 300 * MILLI, 2 * SECOND),
        drift_ppm: pick(&mut dice, [500, 20_000]),
        weather: weather(&mut dice, 80 * MILLI),
        until: LENGTH,
        ..LeaseSetting::usual(per_second, 1_000)
    };
    let mut direct = 0;
    // What was promised by a clock that steps back is outside of what is promised here.
    if seed % 3 == 1 && !has_steps {
        direct = pick(&mut dice, [0, 1, 2, 8]) * per_second * PER_SECOND / 4;
        // What was promised must be over when a successor speaks.
        setting.max_wait_ns = between(&mut dice, MILLI, SECOND).min(setting.term_ns);
    }
    let phases = phases(&mut dice, &setting, 6, direct);
    let mut changes = Vec::new();
    for client in 0..setting.clients {
        let time = dice.below(LENGTH);
        match dice.below(5) {
            0 => crash(&mut changes, client, time, 3 * MILLI),
            // A step back of a clock that nobody looks at is outside of what is promised.
            1 if !has_steps => pause(&mut changes, client, time, dice.below(3 * SECOND)),
            2 => changes.push((time, LeaseChange::Away(client, dice.below(3 * SECOND)))),
            3 => crash(&mut changes, client, time, dice.below(3 * SECOND)),
            _ => {}
        }
        if has_steps {
            let by = between(&mut dice, 25 * MILLI, 3 * SECOND).cast_signed();
            let at = between(&mut dice, SECOND, LENGTH);
            changes.push((at, LeaseChange::Step(client, -by)));
        }
    }
    if dice.below(2) == 0 {
        fall(&mut dice, 3, &mut changes);
    }
    plot(setting, phases, changes, seed)
}

/// Nothing fails, but clocks run as fast as they may, and two clients want twice what there is.
fn hurried(seed: u64) -> Plot {
    let setting = LeaseSetting {
        clients: 2,
        drift_ppm: 20_000,
        is_hurried: true,
        until: LENGTH,
        ..LeaseSetting::usual(300, 2_000)
    };
    let rates = vec![300 * PER_SECOND; 2];
    plot(setting, vec![Phase { at: 0, rates }], Vec::new(), seed)
}

/// The schedule of a seed for a window.
fn window(shape: NaiveShape, seed: u64) -> Plot {
    let mut dice = LabDice::new(seed, Purpose::Windows);
    let limit = pick(&mut dice, [8, 40, 100, 200]);
    let period_ns = pick(&mut dice, [200 * MILLI, SECOND, 3 * SECOND]);
    let shape = match shape {
        NaiveShape::Fixed(_) => NaiveShape::Fixed(dice.below(period_ns)),
        NaiveShape::Counters(_) => NaiveShape::Counters(pick(&mut dice, [1, 4, 10])),
        other => other,
    };
    // A day like any other, and no round one.
    let day = 20_000 * 86_400 * SECOND + dice.below(86_400 * SECOND);
    let setting = LeaseSetting {
        burst: limit,
        clients: 2 + dice.small(3),
        term_ns: between(&mut dice, 300 * MILLI, 2 * SECOND),
        drift_ppm: pick(&mut dice, [500, 20_000]),
        weather: weather(&mut dice, 60 * MILLI),
        until: LENGTH,
        window_of: Some(WindowOf {
            shape,
            period_ns,
            day,
        }),
        ..LeaseSetting::usual(limit * SECOND / period_ns, 1_000)
    };
    let phases = phases(&mut dice, &setting, 5, 0);
    let mut changes = Vec::new();
    for client in 0..setting.clients {
        let time = dice.below(LENGTH);
        match dice.below(6) {
            0 => crash(&mut changes, client, time, 3 * MILLI),
            1 => pause(&mut changes, client, time, dice.below(3 * SECOND)),
            2 => changes.push((time, LeaseChange::Away(client, dice.below(3 * SECOND)))),
            3 => crash(&mut changes, client, time, dice.below(3 * SECOND)),
            4 => changes.push((time, LeaseChange::Crash(client))),
            _ => {}
        }
    }
    match dice.below(4) {
        0 | 1 => fall(&mut dice, 4, &mut changes),
        // A clock that is set while the grantor falls is outside of what is promised.
        2 => changes.push((
            dice.below(LENGTH),
            LeaseChange::Set(dice.below(2 * period_ns)),
        )),
        _ => {}
    }
    plot(setting, phases, changes, seed)
}

fn plot(
    setting: LeaseSetting,
    phases: Vec<Phase>,
    mut changes: Vec<(u64, LeaseChange)>,
    seed: u64,
) -> Plot {
    changes.sort_by_key(|(at, _)| *at);
    Plot {
        setting,
        phases,
        changes,
        seed,
    }
}

fn between(dice: &mut LabDice, low: u64, high: u64) -> u64 {
    low + dice.below(high - low + 1)
}

fn pick<T: Copy, const N: usize>(dice: &mut LabDice, from: [T; N]) -> T {
    let at = usize::try_from(dice.below(N as u64)).unwrap_or(0);
    from[at.min(N - 1)]
}

fn weather(dice: &mut LabDice, jitter: u64) -> Conditions {
    let delay = between(dice, MILLI / 10, 20 * MILLI);
    Conditions {
        loss: u32::from(dice.small(200)) * 1_000,
        copies: u32::from(dice.small(200)) * 1_000,
        ..Conditions::between(delay, delay + dice.below(jitter))
    }
}

fn crash(changes: &mut Vec<(u64, LeaseChange)>, client: u16, at: u64, gone: u64) {
    changes.push((at, LeaseChange::Crash(client)));
    changes.push((at + gone, LeaseChange::Restart(client)));
}

fn pause(changes: &mut Vec<(u64, LeaseChange)>, client: u16, at: u64, long: u64) {
    changes.push((at, LeaseChange::Pause(client)));
    changes.push((at + long, LeaseChange::GoOn(client)));
}

/// The grantor falls for a moment; one time in so many its books are kept.
fn fall(dice: &mut LabDice, kept: u64, changes: &mut Vec<(u64, LeaseChange)>) {
    let recovery = if dice.below(kept) == 0 {
        Recovery::Ledger
    } else {
        Recovery::Restate
    };
    let at = dice.below(LENGTH);
    changes.push((at, LeaseChange::Fall));
    changes.push((at + dice.below(400 * MILLI), LeaseChange::Rise(recovery)));
}

/// Every client wants something else each second, up to so many times its part, and sometimes nothing; and those who
/// ask each time want as much all the time.
fn phases(dice: &mut LabDice, setting: &LeaseSetting, times: u64, direct: u64) -> Vec<Phase> {
    let part = setting.demand(100) / u64::from(setting.clients);
    let mut starts = Vec::new();
    for client in 0..usize::from(setting.clients) {
        for second in 0..LENGTH / SECOND {
            let wants = part * dice.below(times);
            let wants = if dice.below(4) == 0 { 0 } else { wants };
            let at = second * SECOND + dice.below(SECOND);
            starts.push((at / 1_000, client, wants.min(1_500 * PER_SECOND)));
        }
    }
    starts.sort_unstable();
    let mut rates = vec![0; usize::from(setting.clients)];
    rates.push(direct);
    let mut phases = vec![Phase {
        at: 0,
        rates: rates.clone(),
    }];
    for (at, client, wants) in starts {
        if let Some(rate) = rates.get_mut(client) {
            *rate = wants;
        }
        phases.push(Phase {
            at,
            rates: rates.clone(),
        });
    }
    phases
}

/// What is lent while anything may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseTrial {
    /// A bucket; some requests wait, and some are never lent anything.
    Bucket,
    /// A bucket, to clients whose clocks step back.
    BucketAndSteps,
    /// A bucket, to whole nodes that decide for those who ask them.
    BucketToNodes,
    /// A fixed window.
    FixedWindow,
    /// A log.
    SlidingLog,
    /// A window in slices.
    SlidingCounters,
    /// A window and a part of the one before.
    SlidingWeighted,
}

/// What came of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseTried {
    /// Comparisons with one bucket or window.
    pub checks: u64,
    /// Requests that one would have refused, and instants at which a rule did not hold.
    pub broken: u64,
    /// Requests that passed.
    pub admitted: u64,
    /// Of those, requests that a lease let pass after a wait.
    pub promised: u64,
    /// The same, by the grantor.
    pub granted: u64,
}

impl LeaseTrial {
    /// Those of windows.
    pub const WINDOWS: [Self; 4] = [
        Self::FixedWindow,
        Self::SlidingLog,
        Self::SlidingCounters,
        Self::SlidingWeighted,
    ];

    /// Runs the schedule of a seed.
    pub fn run(self, seed: u64) -> LeaseTried {
        let plot = match self {
            Self::Bucket | Self::BucketToNodes => bucket(seed, false),
            Self::BucketAndSteps => bucket(seed, true),
            Self::FixedWindow => window(NaiveShape::Fixed(0), seed),
            Self::SlidingLog => window(NaiveShape::Log, seed),
            Self::SlidingCounters => window(NaiveShape::Counters(10), seed),
            Self::SlidingWeighted => window(NaiveShape::Weighted, seed),
        };
        let design = match self {
            Self::BucketToNodes => Design::Nodes,
            _ => Design::Lease,
        };
        let run = design.run(&plot);
        LeaseTried {
            checks: run.checks,
            broken: run.broken.sum()
                + if plot.setting.window_of.is_none() {
                    run.excess.over
                } else {
                    0
                },
            admitted: run.tally.admitted,
            promised: run.tally.promised,
            granted: run.tally.granted,
        }
    }
}
