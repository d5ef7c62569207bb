//! Each known way to get it wrong is noticed by the schedules.

use super::schedule;
use crate::plant::plant;

/// The first schedule that shows the bug.
fn first_flagged(number: u8) -> Option<u64> {
    plant(number);
    let flagged = (0..600).find(|seed| {
        let world = schedule::run(*seed, (0, 0));
        world.ghost.debt > world.excuse || world.broken_books > 0
    });
    plant(0);
    flagged
}

#[test]
fn every_mutant_is_flagged() {
    for number in (16..=23).chain(40..=44) {
        let seed = first_flagged(number);
        println!("mutant {number}: {seed:?}");
        assert!(seed.is_some(), "mutant {number} is not seen");
    }
}
