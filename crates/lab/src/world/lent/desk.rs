//! One key: who lends or counts, and what every node has of it.
//!
//! Not here: what is between them.

use std::collections::{BTreeMap, VecDeque};

use tollgate_gossip::Key;
use tollgate_lease::{Centre, Lessee, Need, Pool, Question, Replica, Stamp};
use tollgate_limit::Instant;

/// One key.
pub(super) struct Desk {
    pub(super) key: Key,
    /// Where it is lent or counted.
    pub(super) home: u16,
    pub(super) middle: Middle,
    pub(super) nodes: BTreeMap<u16, Side>,
}

/// What its home has.
pub(super) enum Middle {
    Pool(Box<Pool>),
    Centre(Centre),
}

/// What a node has of it.
pub(super) struct Side {
    pub(super) body: Body,
    /// When it is looked after.
    pub(super) timer: u64,
    /// When it was last asked.
    pub(super) asked: u64,
    /// Requests that wait: ticket, and place in the trace.
    pub(super) waiting: VecDeque<(u64, usize)>,
}

/// What a node runs.
pub(super) enum Body {
    Lessee(Box<Lessee>),
    Replica(Replica),
}

impl Desk {
    /// Decides a request here and now, at the home.
    pub(super) fn decide(&mut self, cost: u64, now: u64) -> bool {
        let Middle::Pool(pool) = &mut self.middle else {
            return false;
        };
        let question = Question {
            client: 0,
            boot: 1,
            key: self.key,
            seq: 1,
            got: Stamp::default(),
            session: Stamp::default(),
            rate: 0,
            cap: 0,
            have: 0,
            give: 0,
            want: 0,
            need: Need { cost, count: 1 },
            seen: cost,
            charge: 0,
            is_ask: true,
        };
        let grant = pool.handle_question(&question, Instant::from_nanos(now));
        cost == 0 || grant.is_some_and(|grant| grant.served > 0)
    }

    /// Bytes that it takes, everywhere.
    pub(super) fn bytes(&self) -> usize {
        let side = |side: &Side| match &side.body {
            Body::Lessee(_) => size_of::<Lessee>(),
            Body::Replica(_) => size_of::<Replica>(),
        };
        let middle = match &self.middle {
            Middle::Pool(pool) => size_of::<Pool>() + RECORD_BYTES * pool.lessees(),
            Middle::Centre(_) => size_of::<Centre>(),
        };
        middle + self.nodes.values().map(side).sum::<usize>()
    }
}

/// What a record takes, about.
const RECORD_BYTES: usize = 400;
