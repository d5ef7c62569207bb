//! Each of the known ways to get it wrong is noticed.

use super::scenes;
use super::schedule;
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
    for number in 30..=32 {
        let seed = first_flagged(number, false);
        println!("mutant {number}: {seed:?}");
        assert!(seed.is_some(), "mutant {number} is not seen");
    }
}

#[test]
fn mutant_thirty_three_is_seen_by_the_schedule_that_found_it() {
    let is_right = || !schedule::run(1204, false).broken.is_any();
    assert!(is_right());
    plant(33);
    let is_right = is_right();
    plant(0);
    assert!(!is_right);
}

#[test]
fn mutant_fourteen_is_seen_by_its_scene() {
    assert!(scenes::returns_of_an_older_session_do_not_count());
    plant(14);
    let is_right = scenes::returns_of_an_older_session_do_not_count();
    plant(0);
    assert!(!is_right);
}

#[test]
fn mutant_fifteen_is_seen_by_its_scene() {
    assert!(scenes::what_was_voided_in_flight_is_lost());
    plant(15);
    let is_right = scenes::what_was_voided_in_flight_is_lost();
    plant(0);
    assert!(!is_right);
}
