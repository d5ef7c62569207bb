//! Random schedules of faults: whatever happens, nothing is admitted too much and no book is wrong.

use tollgate_sim::Weather;

use super::ghost::Broken;
use super::world::{CALM, Event, World, thousandths};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// What a schedule showed.
pub(crate) struct Shown {
    pub(crate) broken: Broken,
    pub(crate) checks: u64,
    pub(crate) admitted: u64,
    pub(crate) promised: u64,
    /// By grantors.
    pub(crate) granted: u64,
}

impl Shown {
    pub(crate) fn of(world: &World) -> Self {
        Self {
            broken: world.ghost.broken,
            checks: world.ghost.checks,
            admitted: world.ghost.admitted,
            promised: world.tally.promised,
            granted: world.tally.granted,
        }
    }
}

/// A schedule in which nothing fails, but every clock runs as fast as it may and everybody wants more than there is.
fn run_fast(seed: u64) -> Shown {
    let mut world = World::new(seed, 300, 600, 2, CALM);
    world.tune(2 * SECOND, 20_000);
    world.hurry();
    for client in 0..2 {
        world.at(0, Event::Demand(client, 300_000));
    }
    world.run(8 * SECOND);
    Shown::of(&world)
}

/// Runs the schedule of that seed.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn run(seed: u64, has_steps: bool) -> Shown {
    if seed % 50 == 49 {
        return run_fast(seed);
    }
    let mut dice = super::dice::Dice::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x4d);
    let count = usize::try_from(dice.between(2, 6)).unwrap();
    let per_second = [20, 100, 300, 1_000][usize::try_from(dice.below(4)).unwrap()];
    let burst = (per_second * dice.between(1, 30) / 10).max(4);
    let delay = dice.between(MS / 10, 20 * MS);
    let jitter = dice.below(80 * MS);
    let weather = Weather {
        loss: thousandths(dice.below(200)),
        copies: thousandths(dice.below(200)),
        ..Weather::between(delay, delay + jitter)
    };
    let mut world = World::new(dice.roll(), per_second, burst, count, weather);
    let drift = if dice.below(2) == 0 { 500 } else { 20_000 };
    world.tune(dice.between(300 * MS, 2 * SECOND), drift);
    // What was promised by a clock that steps back is outside of what is promised here.
    if seed % 3 == 1 && !has_steps {
        let direct = [0, 1, 2, 8][usize::try_from(dice.below(4)).unwrap()] * per_second;
        world.delay(dice.between(MS, SECOND), direct as f64 / 4.0);
    }
    let length = 8 * SECOND;
    for client in 0..count {
        for second in 0..8 {
            // Up to five times the limit in all, and sometimes nothing.
            let milli = per_second * 1_000 / count as u64 * dice.below(6);
            let milli = if dice.below(4) == 0 {
                0
            } else {
                milli.min(1_500_000)
            };
            let time = second * SECOND + dice.below(SECOND);
            world.at(time, Event::Demand(client, milli));
        }
        let time = dice.below(length);
        match dice.below(5) {
            0 => world.at(time, Event::Crash(client, 3 * MS)),
            // A step back of a clock that nobody looks at is outside of what is promised.
            1 if !has_steps => world.at(time, Event::Pause(client, dice.below(3 * SECOND))),
            2 => world.at(time, Event::Cut(client, dice.below(3 * SECOND))),
            3 => world.at(time, Event::Crash(client, dice.below(3 * SECOND))),
            _ => {}
        }
        if has_steps {
            let by = dice.between(25 * MS, 3 * SECOND);
            world.at(dice.between(SECOND, length), Event::StepBack(client, by));
        }
    }
    if dice.below(2) == 0 {
        let is_kept = dice.below(3) == 0;
        world.at(
            dice.below(length),
            Event::Fall(dice.below(400 * MS), is_kept),
        );
    }
    world.run(length);
    Shown::of(&world)
}

#[test]
fn no_schedule_of_faults_breaks_anything() {
    let (mut checks, mut admitted, mut promised, mut granted) = (0, 0, 0, 0);
    for seed in 0..300 {
        let shown = run(seed, seed % 4 == 3);
        assert!(!shown.broken.is_any(), "seed {seed}: {:?}", shown.broken);
        checks += shown.checks;
        admitted += shown.admitted;
        promised += shown.promised;
        granted += shown.granted;
    }
    assert!(checks > 500_000, "{checks} checks");
    assert!(admitted > 100_000, "{admitted} admitted");
    assert!(promised > 5_000, "{promised} promised");
    assert!(granted > 5_000, "{granted} granted");
    println!("{checks} checks, {admitted} admitted, {promised} and {granted} promised");
}
