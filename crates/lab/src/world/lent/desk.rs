//! One key: its pool, and what every node has of it.
//!
//! Not here: what is between them.

use std::collections::{BTreeMap, VecDeque};

use tollgate_gossip::Key;
use tollgate_lease::{Lessee, Need, Pool, Question, Stamp};
use tollgate_limit::Instant;

/// One key.
pub(super) struct Desk {
    pub(super) key: Key,
    /// Where it is lent.
    pub(super) home: u16,
    pub(super) pool: Box<Pool>,
    pub(super) nodes: BTreeMap<u16, Side>,
}

/// What a node has of it.
pub(super) struct Side {
    pub(super) lessee: Box<Lessee>,
    /// When it is looked after.
    pub(super) timer: u64,
    /// Requests that wait: ticket, and place in the trace.
    pub(super) waiting: VecDeque<(u64, usize)>,
}

impl Desk {
    /// Decides a request here and now, at the home.
    pub(super) fn decide(&mut self, cost: u64, now: u64) -> bool {
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
        let grant = self
            .pool
            .handle_question(&question, Instant::from_nanos(now));
        cost == 0 || grant.is_some_and(|grant| grant.served > 0)
    }

    /// Bytes that it takes, everywhere.
    pub(super) fn bytes(&self) -> usize {
        let pool = size_of::<Pool>() + RECORD_BYTES * self.pool.lessees();
        pool + self.nodes.len() * size_of::<Lessee>()
    }
}

/// What a record takes, about.
const RECORD_BYTES: usize = 400;
