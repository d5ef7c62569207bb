//! The policies that bind one key, where they are not those of its contract.
//!
//! Not here: who has other terms, and until when (`tollgate-catalogue`).

use tollgate_limit::{PolicyError, PolicySet};

use crate::contract::NamedPolicy;

/// The policies that bind one key of one contract; all must admit, all or nothing.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The policies, in the order they are asked.
    pub policies: Vec<NamedPolicy>,
    /// All of them as the set that decides.
    pub set: PolicySet,
    /// Tells these terms from those of the same key at another time. The same version, the same policies; zero is left
    /// to the contract's own.
    pub version: u64,
}

impl Terms {
    /// Terms of one to [`tollgate_limit::POLICIES_MAX`] policies.
    pub fn new(policies: Vec<NamedPolicy>, version: u64) -> Result<Self, PolicyError> {
        let set = PolicySet::new(policies.iter().map(|named| named.policy.clone()).collect())?;
        Ok(Self {
            policies,
            set,
            version,
        })
    }
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        // The set is made of the policies.
        self.version == other.version && self.policies == other.policies
    }
}

impl Eq for Terms {}
