//! What a machine gives up for want of room, and in which order.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a broken set-up must stop the test"
)]

mod flooded;

use flooded::{KEYS, flooded, key};

#[test]
fn everything_that_is_held_can_be_given_up_and_keys_that_are_used_up_go_last() {
    for name in ["segments", "home", "window"] {
        let (_, mut other, now) = flooded(name, 1);
        for number in 0..1_000 {
            other.take(key(KEYS * 2 + number), 10, now);
        }
        let before = other.held();
        while other.exchange_mut().drop_copy() {}
        assert!(other.held() < before / 2, "{name}: copies were most of it");
        for number in 0..5_000 {
            other.take(key(KEYS * 3 + number), 1, now);
        }
        let many = other.keys_count();
        // Of a table in which nearly all keys are used up only a part is looked at.
        for _ in 1_300..many {
            assert!(other.evict(now), "{name}");
            while other.poll_send().is_some() {}
        }
        let left = (0..1_000).filter(|number| other.knows(key(KEYS * 2 + number)));
        assert_eq!(left.count(), 1_000, "{name}");
        while other.evict(now) {}
        assert_eq!((other.keys_count(), other.held()), (0, 0), "{name}");
    }
}
