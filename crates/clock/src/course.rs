//! The time of day, followed by a clock that never jumps: small differences at once or slowly, steps only on request.
//!
//! A wall clock that is steered (by NTP) changes a little at a time. One that is set *steps*: between two readings it
//! moves further than steering could. A step may be wrong, and may be undone, so time goes on by the steady clock until
//! [`Course::follow`]. Not here: reading clocks, and how long a step must stand.

use std::time::Duration;

/// The wall clock has stepped if it gained or lost more than half a second
const STEER_NANOS: u64 = 500_000_000;
/// plus an eighth of the time between two readings; NTP daemons steer by up to a tenth.
const STEER_PART: u64 = 8;
/// A clock that is ahead slows down by at most this part of the time that passes.
const GIVE_WAY_PART: u64 = 1_000;

/// A step of the wall clock that is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// How far the wall clock went ahead, in nanoseconds; below zero it went back.
    pub by_ns: i64,
    /// For how long it has stood.
    pub stood: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockStanding {
    /// How far the wall clock is ahead, in nanoseconds.
    pub offset_ns: i64,
    /// The step in it that is not followed.
    pub step: Option<ClockStep>,
    pub steps: u64,
    /// Steps that were followed.
    pub followed: u64,
}

/// One reading of the wall clock, between two of the steady one, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockReading {
    pub(crate) before: u64,
    pub(crate) wall: u64,
    pub(crate) after: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// Time of day less steady time, wrapping.
    lead: u64,
    /// What is left to follow of the steering, in nanoseconds; below zero while time slows down.
    left: i64,
    /// When the wall clock was last read.
    looked: u64,
    /// By how much it stepped, and when it last did.
    step: Option<(i64, u64)>,
    steps: u64,
    followed: u64,
}

impl Course {
    /// Begins at the wall clock's time.
    pub(crate) const fn new(first: ClockReading) -> Self {
        Self {
            lead: first.wall.wrapping_sub(first.after),
            left: 0,
            looked: first.after,
            step: None,
            steps: 0,
            followed: 0,
        }
    }

    /// What is added to the steady time, wrapping.
    pub(crate) const fn lead(&self) -> u64 {
        self.lead
    }

    /// Takes one reading. A difference within the two readings of the steady clock is no change.
    pub(crate) fn look(&mut self, look: ClockReading) {
        let passed = look.before.saturating_sub(self.looked);
        self.looked = look.before;
        let known = self.left.saturating_add(self.step_by());
        let ahead = |steady: u64| {
            let ahead = look.wall.wrapping_sub(steady.wrapping_add(self.lead));
            ahead.cast_signed().saturating_sub(known)
        };
        let change = ahead(look.after).max(0) + ahead(look.before).min(0);
        if change.unsigned_abs() > STEER_NANOS.saturating_add(passed / STEER_PART) {
            self.note_step(change);
            return;
        }
        let left = self.left.saturating_add(change);
        let back = left.unsigned_abs().min(passed / GIVE_WAY_PART);
        let taken = if left > 0 { left } else { -back.cast_signed() };
        self.lead = self.lead.wrapping_add_signed(taken);
        self.left = left - taken;
    }

    /// A clock that is about where it was before has come back.
    fn note_step(&mut self, change: i64) {
        self.steps += 1;
        let by = self.step_by().saturating_add(change);
        if by.unsigned_abs() > STEER_NANOS {
            self.step = Some((by, self.looked));
        } else {
            self.step = None;
            self.left = self.left.saturating_add(by);
        }
    }

    /// Follows the step. Returns by how many nanoseconds, below zero for back.
    pub(crate) fn follow(&mut self) -> i64 {
        let by = self.step_by();
        self.lead = self.lead.wrapping_add_signed(by);
        self.followed += u64::from(self.step.take().is_some());
        by
    }

    pub(crate) fn standing(&self, steady: u64) -> ClockStanding {
        let step = self.step.map(|(by_ns, since)| ClockStep {
            by_ns,
            stood: Duration::from_nanos(steady.saturating_sub(since)),
        });
        ClockStanding {
            offset_ns: self.left.saturating_add(self.step_by()),
            step,
            steps: self.steps,
            followed: self.followed,
        }
    }

    fn step_by(&self) -> i64 {
        self.step.map_or(0, |(by, _)| by)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const DAYS_40: i64 = 40 * 86_400 * SECOND.cast_signed();
    /// A correct wall clock: 1,000,000 s after the epoch, 100 s after the machine started.
    const EPOCH: u64 = 1_000_000 * SECOND;

    fn look(steady: u64, off: i64) -> ClockReading {
        ClockReading {
            before: steady,
            wall: (EPOCH + steady).wrapping_add_signed(off),
            after: steady,
        }
    }

    /// How far a course is ahead of the right time.
    fn off(course: &Course) -> i64 {
        course.lead().wrapping_sub(EPOCH).cast_signed()
    }

    #[test]
    fn a_clock_that_jumps_forty_days_and_comes_back_moves_nothing() {
        let mut course = Course::new(look(0, 0));
        for second in 1..30 {
            course.look(look(second * SECOND, DAYS_40));
            assert_eq!(off(&course), 0);
        }
        let standing = course.standing(29 * SECOND);
        let step = standing.step.unwrap();
        assert_eq!((step.by_ns, step.stood), (DAYS_40, Duration::from_secs(28)));
        assert_eq!(standing.offset_ns, DAYS_40);
        course.look(look(30 * SECOND, 0));
        let standing = course.standing(30 * SECOND);
        assert_eq!((standing.step, standing.offset_ns), (None, 0));
        assert_eq!((standing.steps, standing.followed, off(&course)), (2, 0, 0));
    }

    #[test]
    fn a_step_is_followed_when_it_is_told_to_and_both_ways() {
        for by in [DAYS_40, -DAYS_40, 700_000_000, -700_000_000] {
            let mut course = Course::new(look(0, 0));
            course.look(look(SECOND, 0));
            course.look(look(2 * SECOND, by));
            assert_eq!(off(&course), 0, "{by}");
            assert_eq!(course.follow(), by);
            assert_eq!(off(&course), by);
            course.look(look(3 * SECOND, by));
            let standing = course.standing(3 * SECOND);
            assert_eq!((standing.step, standing.offset_ns), (None, 0), "{by}");
            assert_eq!((standing.steps, standing.followed), (1, 1), "{by}");
        }
    }

    #[test]
    fn a_clock_that_is_steered_back_gives_way_by_a_thousandth() {
        let mut course = Course::new(look(0, 0));
        course.look(look(SECOND, -100_000_000));
        assert_eq!(off(&course), -1_000_000);
        course.look(look(2 * SECOND, -100_000_000));
        assert_eq!(off(&course), -2_000_000);
        assert_eq!(course.standing(2 * SECOND).offset_ns, -98_000_000);
    }

    #[test]
    fn a_clock_that_is_steered_forward_is_followed_at_once() {
        let mut course = Course::new(look(0, 0));
        course.look(look(SECOND, 83_333_333));
        assert_eq!(off(&course), 83_333_333);
    }

    #[test]
    fn a_machine_that_slept_for_an_hour_has_taken_no_step() {
        let mut course = Course::new(look(0, 0));
        course.look(look(SECOND, 0));
        // The steady clock counts the sleep.
        course.look(look(3_600 * SECOND, 0));
        assert_eq!(course.standing(0).steps, 0);
    }

    #[test]
    fn a_thread_that_was_held_up_while_looking_corrects_nothing() {
        let mut course = Course::new(look(0, 0));
        let held_up = ClockReading {
            before: SECOND,
            wall: EPOCH + 2 * SECOND,
            after: 4 * SECOND,
        };
        course.look(held_up);
        assert_eq!((off(&course), course.standing(0).steps), (0, 0));
    }

    proptest! {
        #[test]
        fn what_ntp_steers_is_never_told_as_a_step(
            steered in prop::collection::vec((1_u64..200_000_000_000, -100_i64..=100), 1..50),
        ) {
            let mut course = Course::new(look(0, 0));
            let (mut steady, mut wall_off) = (0, 0_i64);
            for (passed, permille) in steered {
                steady += passed;
                wall_off += passed.cast_signed() / 1_000 * permille;
                course.look(look(steady, wall_off));
                prop_assert_eq!(course.standing(steady).steps, 0);
            }
        }

        #[test]
        fn time_never_stands_still_nor_runs_away_whatever_the_wall_clock_says(
            looks in prop::collection::vec((1_u64..5_000_000_000, any::<u64>()), 1..50),
        ) {
            let mut course = Course::new(look(0, 0));
            let mut steady = 0_u64;
            for (passed, wall) in looks {
                let before = course.lead();
                steady += passed;
                course.look(ClockReading { before: steady, wall, after: steady });
                let moved = course.lead().wrapping_sub(before).cast_signed();
                prop_assert!(moved >= -(passed / GIVE_WAY_PART).cast_signed());
                prop_assert!(moved.unsigned_abs() <= 2 * STEER_NANOS + passed / STEER_PART);
            }
        }
    }
}
