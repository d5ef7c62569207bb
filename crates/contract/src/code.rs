//! Contracts made in code rather than read from a file.

use tollgate_limit::{Policy, PolicyError, PolicySet};

use crate::contract::{Contract, NamedPolicy};
use crate::contracts::Contracts;

impl Contracts {
    /// One contract that binds every key by these policies, named `policy-1`, `policy-2` and so on.
    pub fn for_every_key(policies: Vec<Policy>) -> Result<Self, PolicyError> {
        let set = PolicySet::new(policies.clone())?;
        let named = |(place, policy)| NamedPolicy::plain(format!("policy-{}", place + 1), policy);
        let policies = policies.into_iter().enumerate().map(named).collect();
        let key = vec!["key".to_owned()];
        let contract = Contract {
            id: "every-key".to_owned(),
            matches: Vec::new(),
            key,
            headers: None,
            plan: None,
            policies,
            set,
            source: None,
        };
        Ok(Self::of(vec![contract]))
    }
}

impl Contract {
    /// Whether a bare value, without the name of an entry, is enough to count by.
    pub fn binds_bare_keys(&self) -> bool {
        self.matches.is_empty() && self.key.len() <= 1
    }
}
