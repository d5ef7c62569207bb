//! What can be seen of everybody at an instant: what is held, what is under way, what is reserved.
//!
//! Not here: whether it is too much.

use tollgate_lease::{Booked, Held, Pool, Stamp};

use super::client::Client;
use crate::lease::check::Sight;

/// Everything that counts now in the books of a grantor alone. What it promised of them has not passed; what a
/// predecessor promised comes out of what a successor does not have.
pub(super) fn booked(pool: &Pool, promised: (u64, u64)) -> Sight {
    let (all, own) = promised;
    let level = pool.level() + (i128::from(own) << 48);
    let (rate, depth) = pool.reserved();
    let unknown = pool.unknown();
    Sight {
        potential: level,
        booked_depth: level.max(0) + depth + unknown.1,
        booked_rate: rate + unknown.0,
        beyond: (0, 0),
        unknown,
        is_late: all > own && !pool.is_learning(),
    }
}

/// Adds what a client holds.
pub(super) fn add(sight: &mut Sight, pool: &Pool, held: &Held, client: &Client, now: u64) {
    let booked = client.booked(pool).unwrap_or_default();
    let promised = i128::from(client.promised) << 48;
    let has =
        (held.level + promised).max(0) + flying(client, held, &booked, now) + given(held, &booked);
    sight.potential += has;
    if pool.is_learning() && held.rate == 0 && held.depth == 0 {
        // A late question said what it held once: that is others' by now, and it will not have it again.
        sight.unknown.0 += booked.rate;
        sight.unknown.1 += booked.depth;
    }
    sight.beyond.0 += (held.rate - booked.rate).max(0);
    sight.beyond.1 += (has.max(held.depth) - booked.depth).max(0);
}

/// Tokens of answers that are under way and would count.
fn flying(client: &Client, held: &Held, booked: &Booked, now: u64) -> i128 {
    let own = if held.got == booked.stamp {
        0
    } else {
        booked.tokens
    };
    let orphan = client.orphan.filter(|orphan| {
        let is_open = held.is_open && now < orphan.until;
        is_open && held.seq == orphan.stamp.seq && held.got != orphan.stamp
    });
    own + orphan.map_or(0, |orphan| orphan.tokens)
}

/// What was given back and is not credited yet.
fn given(held: &Held, booked: &Booked) -> i128 {
    let is_same = booked.session == held.session && booked.session != Stamp::default();
    if is_same {
        (held.give - booked.give).max(0)
    } else {
        0
    }
}
