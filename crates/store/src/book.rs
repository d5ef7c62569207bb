//! The policies of a contract as an engine is asked by them, and what is made of the states it finds.
//!
//! Everything but the atomic change itself happens here, by the code that decides in memory: so an engine cannot round,
//! and what it does is checked against what this code would have done. Not here: how an engine keeps anything.

use tollgate_contract::{Contract, NamedPolicy, Terms};
use tollgate_kit::{FNV, fnv};
use tollgate_limit::{Cell, CellError, Instant, KeptState, PolicyError, PolicySet};

use crate::ask::{EngineAnswer, Verb};
use crate::shape::ContractShape;

/// The policies of one contract.
#[derive(Clone, Debug)]
pub struct Book {
    tag: u64,
    set: PolicySet,
    contract: Contract,
    shape: String,
    shape_id: u64,
}

/// What an engine found for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// When the key was last charged.
    pub at: Instant,
    /// What each policy remembers.
    pub kept: Vec<KeptState>,
}

/// What becomes of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyWrite {
    /// The answer.
    pub said: EngineAnswer,
    /// What is to be kept from now on; `None` where nothing changes.
    pub write: Option<Write>,
}

/// A change of what an engine keeps for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Forget the key.
    Forget,
    /// Keep this.
    Keep {
        /// The state.
        found: StoredKey,
        /// From when on it says no more than a key never seen.
        fresh_at: Instant,
    },
}

impl Book {
    /// The policies of a contract, all of them.
    pub fn of(contract: &Contract) -> Result<Self, PolicyError> {
        let policies = contract.policies.iter();
        let set = PolicySet::new(policies.map(|named| named.policy.clone()).collect())?;
        let shape = ContractShape::of(contract, &all(contract), |_| true).text();
        Ok(Self {
            tag: fnv(FNV, contract.id.as_bytes()),
            set,
            contract: contract.clone(),
            shape_id: fnv(FNV, shape.as_bytes()) >> 16,
            shape,
        })
    }

    /// The same for a key that has these terms of its own.
    pub fn of_terms(contract: &Contract, terms: &Terms) -> Result<Self, PolicyError> {
        let mut contract = contract.clone();
        contract.policies.clone_from(&terms.policies);
        Self::of(&contract)
    }

    /// Names of the policies, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.contract.policies.iter().map(|named| &*named.name)
    }

    /// By what an engine knows the contract.
    pub const fn tag(&self) -> u64 {
        self.tag
    }

    /// The policies.
    pub const fn set(&self) -> &PolicySet {
        &self.set
    }

    /// What states depend on, as text; an engine keeps it once, beside the states that name it.
    pub fn shape(&self) -> &str {
        &self.shape
    }

    /// The number of the shape, below 2^48.
    pub const fn shape_id(&self) -> u64 {
        self.shape_id
    }

    /// What states of another shape say to the policies of this one; `None` where they say nothing.
    pub fn inherit(&self, shape: &str, found: &StoredKey, now: Instant) -> Option<StoredKey> {
        let old = ContractShape::parse(shape)?;
        let old = old.for_contract(&self.contract, &all(&self.contract), |_| true)?;
        let cell: Cell<0> = old.set.recall(found.at, &found.kept).ok()?;
        let cell: Cell<0> = self.set.inherit(&old.set, &old.origins, &cell, now);
        let (at, kept) = self.set.keep(&cell);
        Some(StoredKey { at, kept })
    }

    /// From when on what an engine found says no more than a key never seen.
    pub(crate) fn fresh_at(&self, found: &StoredKey) -> Instant {
        let cell = self.set.recall(found.at, &found.kept);
        cell.map_or(found.at, |cell: Cell<0>| self.set.fresh_at(&cell))
    }

    /// What a question does to a key, by the same code that decides in memory.
    pub fn apply(
        &self,
        found: Option<&StoredKey>,
        verb: Verb,
        now: Instant,
    ) -> Result<KeyWrite, CellError> {
        let mut cell: Cell<0> = match found {
            Some(found) => self.set.recall(found.at, &found.kept)?,
            None => Cell::fresh(&self.set),
        };
        let mut outcome = None;
        match verb {
            Verb::Check { cost, lot } => {
                outcome = Some(self.set.check(&mut cell, cost, now, lot));
            }
            Verb::Show => {
                let said = EngineAnswer::Found(found.cloned());
                return Ok(KeyWrite { said, write: None });
            }
            Verb::Reset => {
                let (said, write) = (EngineAnswer::Done, found.map(|_| Write::Forget));
                return Ok(KeyWrite { said, write });
            }
            // Not even its time is written then.
            verb if verb.change(now).is_some_and(|change| change.tokens == 0) => {
                let (said, write) = (EngineAnswer::Done, None);
                return Ok(KeyWrite { said, write });
            }
            Verb::Charge(cost) => self.set.charge(&mut cell, cost, now),
            Verb::Refund(cost) => self.set.refund(&mut cell, cost, now),
            Verb::Settle { charge, actual } => self.set.settle(&mut cell, &charge, actual, now),
        }
        let (at, kept) = self.set.keep(&cell);
        let after = StoredKey { at, kept };
        let fresh_at = self.set.fresh_at(&cell);
        let is_written = outcome
            .as_ref()
            .is_none_or(|outcome| outcome.receipt.charged != 0);
        let write = is_written.then(|| Write::Keep {
            found: after.clone(),
            fresh_at,
        });
        let said = outcome.map_or(EngineAnswer::Done, |outcome| EngineAnswer::Outcome {
            outcome,
            after,
        });
        Ok(KeyWrite { said, write })
    }
}

fn all(contract: &Contract) -> Vec<&NamedPolicy> {
    contract.policies.iter().collect()
}
