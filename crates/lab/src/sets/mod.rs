//! Traffic made to description, by seed: the data sets of the thesis and some shapes of our own.
//!
//! Lengths, shares and totals are the thesis' (Henriksson and Bennhage, *Trading performance for precision in a
//! CRDT-based rate-limiting system*, 2021, section 4.3.4); instants are drawn, since its data are not public. All
//! counts scale with the burst and all slow rates with the refill. Not here: traces of others, which the `tollgate`
//! command reads.

mod draw;
mod many;
mod single;

use tollgate_gossip::Bucket;

use crate::world::Request;
use draw::Draw;

/// Traffic with a name.
#[derive(Clone, Copy)]
pub struct Set {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    burst: u64,
    /// Tokens regained in ten seconds.
    refill_10s: u64,
    make: fn(&mut Draw),
}

impl Set {
    /// The bucket it is made for.
    pub fn bucket(&self) -> Bucket {
        thesis_bucket(self.burst, self.refill_10s)
    }

    /// Its requests, in order, for a cluster of that many nodes that all enforce `bucket`.
    pub fn trace(&self, bucket: Bucket, nodes: u16, seed: u64) -> Vec<Request> {
        let mut draw = Draw::new(bucket, nodes, seed);
        (self.make)(&mut draw);
        draw.finish()
    }
}

/// The set of that name.
pub fn set(name: &str) -> Option<Set> {
    sets().iter().find(|set| set.name == name).copied()
}

/// Every set, in the order to list.
pub fn sets() -> &'static [Set] {
    SETS
}

const fn usual(name: &'static str, about: &'static str, make: fn(&mut Draw)) -> Set {
    Set {
        name,
        about,
        burst: 300,
        refill_10s: 3,
        make,
    }
}

#[rustfmt::skip]
const SETS: &[Set] = &[
    usual("a", "ten users, all limited, 68.3c in five minutes", many::ten),
    usual("b-extreme", "one user, 21.5c in a minute", single::extreme),
    usual("b-substantial", "one user, 3.2c in a minute", single::substantial),
    usual("b-barely", "one user, 1.1c in a minute", single::barely),
    usual("b-calm", "one user a little below the refill for two minutes", single::calm),
    usual("c", "5000 users in an hour, 15 of them limited", many::crowd),
    Set { burst: 5, refill_10s: 10, ..usual("d", "one user a little above a small bucket's refill for 100 s", single::above) },
    usual("idle", "three single requests 1000 s apart, then 5c in ten seconds", single::idle),
    usual("drip-1.11", "one user at 1.11 times the refill, for hours", |draw| single::drip(draw, 111)),
    usual("drip-1.5", "one user at 1.5 times the refill", |draw| single::drip(draw, 150)),
    usual("drip-2.2", "one user at 2.2 times the refill", |draw| single::drip(draw, 220)),
    usual("drip-5", "one user at 5 times the refill", |draw| single::drip(draw, 500)),
    usual("split", "half the nodes at their share of the refill, half at twice, then 3c", single::split),
    usual("mob", "one user behind whom a crowd gathers and goes", single::mob),
    usual("two", "two users, one burst after the other", many::two),
    usual("drip", "one user at ten times the refill for five minutes", single::steady),
];

/// The bucket closest to what was asked for that exists.
fn thesis_bucket(burst: u64, refill_10s: u64) -> Bucket {
    let burst = burst.clamp(1, Bucket::TOKENS_MAX);
    let refill = refill_10s.clamp(1, Bucket::TOKENS_MAX);
    match Bucket::new(burst, refill, 10_000_000_000) {
        Ok(bucket) => bucket,
        Err(error) => unreachable!("clamped: {error}"),
    }
}
