//! Requests that are decided elsewhere, one by one: at an owner, who is one of the clients, or at a store.
//!
//! Also what lies in the parts of a bucket that is cut. A question or an answer that is lost is not repeated: the
//! request is refused. Not here: leases.

use tollgate_lease::{Key, Need, Question, Stamp};
use tollgate_limit::Instant;

use super::bench::Bench;
use super::client::{Client, Side};
use super::grantor::Desk;
use super::sim::{What, World};
use crate::lease::design::Design;

impl World<'_> {
    /// Sends a request to whoever decides.
    pub(super) fn ask_one(&mut self, client: u16) {
        let now = self.now();
        if self.is_owner(client) {
            let is_allowed = self.judge_one(client);
            return self.hear(client, now, is_allowed);
        }
        self.bench.tally.waited += 1;
        self.post(client, true, What::One(client, now));
    }

    /// Decides a request that has arrived.
    pub(super) fn decide(&mut self, client: u16, since: u64) {
        if self.grantor.hears(self.now()) {
            let is_allowed = self.judge_one(client);
            self.post(client, false, What::Said(client, since, is_allowed));
        }
    }

    /// The answer is there.
    pub(super) fn hear(&mut self, client: u16, since: u64, is_allowed: bool) {
        self.bench.tally.wait_ns += self.now() - since;
        if is_allowed {
            self.admit(client, false);
        }
    }

    fn is_owner(&self, client: u16) -> bool {
        let clients = u64::from(self.plot.setting.clients.max(1));
        self.design == Design::Owner && self.plot.seed % clients == u64::from(client)
    }

    /// Takes a token from the pool, of which nothing is ever lent.
    fn judge_one(&mut self, client: u16) -> bool {
        let now = self.now();
        let Desk::Pool(pool) = &mut self.grantor.desk else {
            return false;
        };
        let question = question(client.into());
        let grant = pool.handle_question(&question, Instant::from_nanos(now));
        let served = grant.map_or(0, |grant| grant.served);
        self.bench.charge(served, now);
        served > 0
    }
}

/// Tokens in the parts of a bucket that is cut.
fn parts(clients: &[Client], now: u64) -> i128 {
    let part = |client: &Client| match &client.side {
        Side::Replica(replica) => i128::from(replica.peek(client.local(now))),
        _ => 0,
    };
    clients.iter().map(part).sum()
}

/// Notes what lies in the parts of a bucket.
pub(super) fn note_parts(bench: &mut Bench, clients: &[Client], now: u64) {
    bench.idle += parts(clients, now) << 28;
    bench.ghost.checks += 1;
}

/// One request, and no wish for a lease.
fn question(client: u64) -> Question {
    Question {
        client,
        boot: 1,
        key: Key(1),
        seq: 1,
        got: Stamp::default(),
        session: Stamp::default(),
        rate: 0,
        cap: 0,
        have: 0,
        give: 0,
        want: 0,
        need: Need { cost: 1, count: 1 },
        seen: 1,
        charge: 0,
        is_ask: true,
    }
}
