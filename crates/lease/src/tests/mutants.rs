//! Each of the known ways to get it wrong is noticed.

use super::schedule;
use super::{promising, scenes};
use crate::plant::plant;

/// The first schedule that shows the bug.
fn first_flagged(number: u8, has_steps: bool) -> Option<u64> {
    plant(number);
    let flagged = (0..600).find(|seed| schedule::run(*seed, has_steps).broken.is_any());
    plant(0);
    flagged
}

#[test]
fn mutants_one_to_thirteen_are_flagged_by_the_checker() {
    for number in 1..=13 {
        let seed = first_flagged(number, number == 10);
        println!("mutant {number}: {seed:?}");
        assert!(seed.is_some(), "mutant {number} is not seen");
    }
}

#[test]
fn mutants_of_promises_are_flagged_by_the_checker() {
    for number in [30, 31, 32, 34, 35, 36] {
        let seed = first_flagged(number, false);
        println!("mutant {number}: {seed:?}");
        assert!(seed.is_some(), "mutant {number} is not seen");
    }
}

/// Whether something is right, and is not with that bug.
fn is_seen(number: u8, is_right: fn() -> bool) -> bool {
    let was_right = is_right();
    plant(number);
    let is_right = is_right();
    plant(0);
    was_right && !is_right
}

#[test]
fn mutants_are_seen_by_the_schedules_that_found_them() {
    assert!(is_seen(33, || !schedule::run(72_238, false)
        .broken
        .is_any()));
    assert!(is_seen(39, || !schedule::run(37, false).broken.is_any()));
}

#[test]
fn mutants_are_seen_by_their_scenes() {
    assert!(is_seen(
        44,
        scenes::what_ended_is_not_had_again_of_a_successor
    ));
    assert!(is_seen(
        14,
        scenes::returns_of_an_older_session_do_not_count
    ));
    assert!(is_seen(15, scenes::what_was_voided_in_flight_is_lost));
    assert!(is_seen(
        37,
        promising::who_slept_has_left_room_for_what_passed
    ));
    assert!(is_seen(38, promising::books_tell_what_is_promised));
}
