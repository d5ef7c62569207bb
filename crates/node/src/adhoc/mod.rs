//! Policies that requests describe themselves, and their cells.
//!
//! One table holds the keys of all such policies. A key remembers the policy that counted it last, so that a request
//! which describes the same one again is decided in its slot, and nothing else is looked up. A request that describes
//! another one takes the key's state over. Not here: contracts, and what protocols say.

mod policies;

use std::sync::Arc;

use tollgate_kit::{FNV, fnv};
use tollgate_limit::{
    Cell, Cost, Decision, Instant, Lot, Outcome, Plain, PlainDecision, PolicyConfig, PolicyError,
};
use tollgate_table::{
    Budget, CellRules, Counters, Full, Holder, MemoryShare, Print, Seed, Table, TableConfig,
};

use crate::key::Key;
use crate::node::NodeConfig;
use crate::set_clock::{move_cell, walk};
use policies::{Described, Policies, SHARED_MAX};

/// The keys of policies that requests describe themselves.
#[derive(Debug)]
pub struct Adhoc {
    table: Table<Kept, Worth>,
    policies: Policies,
    seed: Seed,
}

/// Keys of one kind: the same key is another one in another space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space(u64);

/// Why a request that describes its policy has no answer. Nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdhocError {
    /// The policy makes no sense.
    Policy(PolicyError),
    /// The table is full, and told to refuse keys it does not know.
    Full,
}

/// What a request asks of the policy it describes.
#[derive(Clone, Copy, Debug)]
pub struct AdhocAsk<'a> {
    /// The key, by [`Adhoc::print`].
    pub print: Print,
    /// Tokens it takes; zero is a peek.
    pub cost: Cost,
    /// The policy.
    pub policy: &'a PolicyConfig,
}

impl Adhoc {
    /// No keys yet; those to come are charged to a share of `budget`. The seed must be one that clients cannot guess.
    pub fn new(config: NodeConfig, seed: Seed, budget: &Arc<Budget>) -> Arc<Self> {
        let table = TableConfig {
            shards: Some(SHARDS),
            when_full: config.when_full,
            sweep: config.sweep,
        };
        let share = MemoryShare::equal(budget);
        let new = Arc::new(Self {
            table: Table::new(Worth, table, Arc::clone(&share)),
            policies: Policies::new(SHARED_MAX),
            seed,
        });
        let holder: Arc<dyn Holder> = Arc::clone(&new) as _;
        share.join(Arc::downgrade(&holder));
        new
    }

    /// The print of a key in a space. `within` sets a part of the space apart, as a domain does.
    #[inline]
    pub fn print(&self, space: Space, within: Option<&str>, key: Key<'_>) -> Print {
        let print = match (within, key) {
            (None, Key::Text(text)) => self.seed.bytes(text),
            (None, Key::Word(word)) => self.seed.word(word),
            (within, key) => self.print_parts(within, key),
        };
        // Prints are independent in pairs, so that a constant makes no two of them equal more often.
        Print(print.0 ^ space.0)
    }

    /// Decides one request by the policy it describes and charges it.
    ///
    /// A key that another policy counted keeps its state as far as the new policy's `inherit` says. A peek changes
    /// nothing.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The short way is worth it only as one function.
    pub fn check(&self, ask: &AdhocAsk<'_>, now: Instant) -> Result<Decision, AdhocError> {
        let taken = self
            .table
            .in_place(ask.print, |kept| kept.take(ask, now))
            .flatten();
        if let Some((plain, taken)) = taken {
            return Ok(plain.decision(taken));
        }
        self.check_any(ask, now)
    }

    /// Calls `decide` with the place of each print in turn, while what the next keys need is fetched from memory.
    pub fn in_turn(&self, prints: &[Print], mut decide: impl FnMut(usize)) {
        for step in 0..prints.len() + 2 * AHEAD {
            if let Some(print) = prints.get(step) {
                self.table.prefetch_page(*print);
            }
            let fetched = step.checked_sub(AHEAD);
            if let Some(print) = fetched.and_then(|place| prints.get(place)) {
                self.table.prefetch_slots(*print);
            }
            if let Some(place) = step.checked_sub(2 * AHEAD) {
                decide(place);
            }
        }
    }

    /// Decides one request, whatever its policy and whether its key is known or not.
    #[inline(never)]
    fn check_any(&self, ask: &AdhocAsk<'_>, now: Instant) -> Result<Decision, AdhocError> {
        let policy = self.policies.find(ask.policy);
        let policy = policy.map_err(AdhocError::Policy)?;
        let update = |kept: Option<&mut Kept>| Kept::check(kept, &policy, ask.cost, now);
        let outcome = self.table.update(ask.print, now.as_nanos(), update);
        let outcome = outcome.map_err(|Full| AdhocError::Full)?;
        Ok(outcome.decision)
    }

    /// How many keys there are.
    pub fn keys_count(&self) -> usize {
        self.table.len()
    }

    /// How many different policies keys share.
    pub fn policies_count(&self) -> usize {
        self.policies.count()
    }

    /// Bytes the keys take of the budget.
    pub fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// What happened at the limits of the table so far.
    pub fn counters(&self) -> Counters {
        self.table.counters()
    }

    /// Forgets fresh keys in the next few pages of the table; for whoever has a moment to spare.
    pub fn drop_fresh(&self, now: Instant, pages: usize) -> usize {
        self.table.drop_fresh(now.as_nanos(), pages)
    }

    /// Moves every key from one time to another, as [`Node::move_time`](crate::Node::move_time) does.
    pub fn move_time(&self, from: Instant, to: Instant) {
        walk(&self.table, from, |_, kept| {
            move_cell(&kept.policy.set, &mut kept.cell, from, to);
        });
    }

    #[inline(never)]
    fn print_parts(&self, within: Option<&str>, key: Key<'_>) -> Print {
        let mut hasher = self.seed.hasher();
        match within {
            Some(within) => hasher.bytes(within.as_bytes()),
            // Numbers cannot be mistaken for names.
            None => hasher.word(0),
        }
        match key {
            Key::Word(word) => hasher.word(word),
            Key::Text(text) => hasher.bytes(text),
            Key::Entries(entries) => {
                hasher.word(entries.len() as u64);
                for (name, value) in entries {
                    hasher.bytes(name.as_bytes());
                    hasher.bytes(value.as_bytes());
                }
            }
        }
        hasher.finish()
    }
}

impl Space {
    /// The space of this name; the same name is the same space everywhere.
    pub const fn named(name: &str) -> Self {
        Self(fnv(FNV, name.as_bytes()))
    }
}

/// What is remembered of a key: its state, and the policy that wrote it.
#[derive(Debug)]
struct Kept {
    cell: Cell<1>,
    policy: Arc<Described>,
}

impl Kept {
    /// The short way: the same policy as before, and a plain one.
    #[inline(always)]
    #[allow(clippy::inline_always)] // The short way is worth it only as one function.
    fn take(&mut self, ask: &AdhocAsk<'_>, now: Instant) -> Option<(Plain, PlainDecision)> {
        if self.policy.config != *ask.policy {
            return None;
        }
        let plain = self.policy.set.plain()?;
        let taken = plain.take(&mut self.cell, ask.cost, now)?;
        // The rest, with its divisions, needs no lock.
        Some((plain.clone(), taken))
    }

    /// Decides for a key that may not be known; returns what to remember of it where that is something else.
    fn check(
        kept: Option<&mut Self>,
        policy: &Arc<Described>,
        cost: Cost,
        now: Instant,
    ) -> (Outcome, Option<Self>) {
        let set = &policy.set;
        let is_known = kept.is_some();
        let mut cell = match kept {
            None => Cell::fresh(set),
            Some(kept) if kept.policy.config == policy.config => {
                return (set.check(&mut kept.cell, cost, now, Lot::ALWAYS), None);
            }
            Some(kept) => set.inherit(&kept.policy.set, &[Some(0)], &kept.cell, now),
        };
        let outcome = set.check(&mut cell, cost, now, Lot::ALWAYS);
        // The wait that a refusal names passes under the policy that refused.
        let keeps = outcome.receipt.charged != 0 || is_known && cost != Cost::PEEK;
        let policy = Arc::clone(policy);
        (outcome, keeps.then_some(Self { cell, policy }))
    }
}

impl Holder for Adhoc {
    fn give(&self, bytes: usize, now: u64) -> usize {
        self.table.give(bytes, now)
    }
}

/// Tells the table what a key is worth.
#[derive(Debug)]
struct Worth;

impl CellRules<Kept> for Worth {
    fn fresh_at(&self, kept: &Kept) -> u64 {
        kept.policy.set.fresh_at(&kept.cell).as_nanos()
    }

    fn used(&self, kept: &Kept, now: u64) -> u32 {
        let set = &kept.policy.set;
        set.used(&kept.cell, Instant::from_nanos(now))
    }

    #[inline]
    fn heap_bytes(&self, kept: &Kept) -> usize {
        kept.cell.heap_bytes() + kept.policy.bytes()
    }
}

/// Keys between fetching a page, fetching its slots, and deciding.
const AHEAD: usize = 8;
/// Shards of the table, each of 32 bytes from the start on; more come as keys do.
const SHARDS: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_takes_two_words_of_state_and_one_for_its_policy() {
        assert_eq!(size_of::<Kept>(), 24);
    }

    #[test]
    fn spaces_and_domains_set_keys_apart() {
        let budget = Arc::new(Budget::new(1 << 20));
        let adhoc = Adhoc::new(NodeConfig::default(), Seed::new([1, 2]), &budget);
        let (a, b) = (Space::named("a"), Space::named("b"));
        let pairs = [("name", "value")];
        let prints = [
            adhoc.print(a, None, "key".into()),
            adhoc.print(b, None, "key".into()),
            adhoc.print(a, Some("key"), "key".into()),
            adhoc.print(a, Some("other"), "key".into()),
            adhoc.print(a, None, 7.into()),
            adhoc.print(a, None, (&pairs).into()),
            adhoc.print(a, Some("name"), "value".into()),
        ];
        for (at, print) in prints.iter().enumerate() {
            assert!(!prints[..at].contains(print), "print {at}");
        }
    }
}
