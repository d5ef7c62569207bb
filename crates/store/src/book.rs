//! The policies of a contract as engines use them, and the evaluation of the states they return.
//!
//! Everything but the atomic change itself happens here, by the code that decides in memory: so an engine does not
//! round,
//! and its verdicts are compared with this code's. Not here: how an engine stores anything.

use tollgate_contract::{Contract, NamedPolicy, Terms};
use tollgate_kit::{FNV, fnv};
use tollgate_limit::{Cell, CellError, Instant, KeptState, PolicyError, PolicySet};

use crate::ask::{EngineAnswer, Verb};
use crate::shape::ContractShape;

#[derive(Clone, Debug)]
pub struct Book {
    tag: u64,
    set: PolicySet,
    contract: Contract,
    shape: String,
    shape_id: u64,
}

/// A key's state in an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// The last charge.
    pub at: Instant,
    /// By policy.
    pub kept: Vec<KeptState>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyWrite {
    pub said: EngineAnswer,
    /// `None` if nothing changes.
    pub write: Option<Write>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    Forget,
    /// Keep this.
    Keep {
        found: StoredKey,
        /// From then on it is the same as an unknown key.
        fresh_at: Instant,
    },
}

impl Book {
    /// All policies of a contract.
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

    /// The same for a key with these terms.
    pub fn of_terms(contract: &Contract, terms: &Terms) -> Result<Self, PolicyError> {
        let mut contract = contract.clone();
        contract.policies.clone_from(&terms.policies);
        Self::of(&contract)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.contract.policies.iter().map(|named| &*named.name)
    }

    /// Identifies the contract in engines.
    pub const fn tag(&self) -> u64 {
        self.tag
    }

    pub const fn set(&self) -> &PolicySet {
        &self.set
    }

    /// The configuration that states depend on, as text; an engine stores it once, apart from the states that name it.
    pub fn shape(&self) -> &str {
        &self.shape
    }

    /// The number of the shape, below 2^48.
    pub const fn shape_id(&self) -> u64 {
        self.shape_id
    }

    /// Converts states of another shape to the policies of this one; `None` if nothing is usable.
    pub fn inherit(&self, shape: &str, found: &StoredKey, now: Instant) -> Option<StoredKey> {
        let old = ContractShape::parse(shape)?;
        let old = old.for_contract(&self.contract, &all(&self.contract), |_| true)?;
        let cell: Cell<0> = old.set.recall(found.at, &found.kept).ok()?;
        let cell: Cell<0> = self.set.inherit(&old.set, &old.origins, &cell, now);
        let (at, kept) = self.set.keep(&cell);
        Some(StoredKey { at, kept })
    }

    /// From then on the state is the same as that of an unknown key.
    pub(crate) fn fresh_at(&self, found: &StoredKey) -> Instant {
        let cell = self.set.recall(found.at, &found.kept);
        cell.map_or(found.at, |cell: Cell<0>| self.set.fresh_at(&cell))
    }

    /// Applies a request to a key, by the code that decides in memory.
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
            // Then not even its time is written.
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
