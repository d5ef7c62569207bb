//! What can be seen of everybody at an instant: what is held, what is under way, what is reserved.
//!
//! Not here: whether it is too much.

use tollgate_lease::{Booked, HeldLease, Pool, Stamp};

use super::client::LeaseClient;
use super::sim::{KEY, LeaseWorld};
use crate::lease::check::Sight;

impl LeaseWorld<'_> {
    /// Compares what everybody has with the bucket. Books of a grantor that fell hold until it has a successor.
    pub(super) fn look(&mut self) {
        let (now, time, home) = (self.now(), self.time(), self.home());
        let Some(sight) = self.sight(home) else {
            return;
        };
        let window = self.plot.setting.window;
        if window.is_some_and(|(from, _)| now >= from) && self.bench.fair.is_none() {
            self.bench.fair = Some(self.bench.ghost.beside(sight.potential, time));
        }
        self.bench.ghost.look(&sight, time);
    }

    /// Everything that counts; `None` where everybody has a bucket of his own.
    fn sight(&mut self, home: u16) -> Option<Sight> {
        let at = self.clock(home);
        let site = self.site(home)?;
        let Some(pool) = site.pool(KEY, at) else {
            let potential = i128::from(site.decide(KEY, 0, at)?.remaining) << 48;
            return Some(Sight {
                potential,
                booked_depth: potential,
                ..Sight::default()
            });
        };
        let (mut sight, mut idle) = (booked(&pool, self.reigns.promised()), 0);
        for client in &self.clients {
            let Some(site) = self.site(client.address).filter(|site| site.is_up) else {
                continue;
            };
            let held = site.held(KEY, self.clock(client.address));
            idle += held.level.max(0);
            add(&mut sight, &pool, &held, client, self.now());
        }
        self.bench.idle += idle >> 20;
        self.bench.records = self.bench.records.max(pool.lessees());
        Some(sight)
    }

    /// Notes what lies in the parts of a bucket that is cut.
    pub(super) fn look_at_parts(&mut self) {
        let left = |client: &LeaseClient| {
            let site = self.site(client.address)?;
            let answer = site.decide(KEY, 0, self.clock(client.address))?;
            Some(i128::from(answer.remaining))
        };
        let idle: i128 = self.clients.iter().filter_map(left).sum();
        self.bench.idle += idle << 28;
        self.bench.ghost.checks += 1;
    }
}

/// Everything that counts now in the books of a grantor alone. What it promised of them has not passed; what a
/// predecessor promised comes out of what a successor does not have.
fn booked(pool: &Pool, promised: (u64, u64)) -> Sight {
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

fn add(sight: &mut Sight, pool: &Pool, held: &HeldLease, client: &LeaseClient, now: u64) {
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
fn flying(client: &LeaseClient, held: &HeldLease, booked: &Booked, now: u64) -> i128 {
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
fn given(held: &HeldLease, booked: &Booked) -> i128 {
    let is_same = booked.session == held.session && booked.session != Stamp::default();
    if is_same {
        (held.give - booked.give).max(0)
    } else {
        0
    }
}
