//! Which pool a bucket of Envoy is about: its names and values are the entries of a key, in the order of the names.
//!
//! Contracts of the contract file bind it in every domain, imported rules in theirs, as for Envoy's rate limit service. Not here: what
//! is assigned.

use smallvec::SmallVec;
use tollgate_contract::{Coordination, NamedPolicy};
use tollgate_lease::Limits;
use tollgate_node::{Key, Scope};
use tollgate_table::Print;
use tollgate_wire::rlqs::BucketId;
use tonic::Status;

use crate::engine::Turn;

/// What binds a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Nothing limits it.
    Free,
    /// It is denied whatever is left.
    Barred,
    /// One policy that can be lent.
    Lent(Place, Limits),
}

/// A key in a contract.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The contract's id.
    pub(super) contract: String,
    /// The print of the key in it.
    pub(super) print: Print,
}

/// What binds a bucket in a domain; a status that says what to do where that cannot be lent.
pub(super) fn bind(turn: &Turn<'_>, domain: &str, bucket: &BucketId) -> Result<Bound, Status> {
    let entries = bucket.bucket.iter();
    let entries = entries.map(|(name, value)| (name.as_str(), value.as_str()));
    let entries: SmallVec<[(&str, &str); 8]> = entries.collect();
    let key = Key::Entries(&entries);
    if turn.is_banned(domain, key) {
        return Ok(Bound::Barred);
    }
    let Ok(within) = turn.node().within(Scope::Domain(domain)) else {
        return Ok(Bound::Free);
    };
    let spots = within.spots(key);
    let Some(first) = spots.first() else {
        return Ok(Bound::Free);
    };
    let read = within.status(key, turn.now());
    let contracts = read.node.contracts();
    let mut found = None;
    for (place, policies) in &read.each {
        let Some(contract) = contracts.get(*place) else {
            continue;
        };
        for at in 0..policies.len() {
            let Some(policy) = read.policy(*place, contract, at) else {
                continue;
            };
            let limits = lent(&contract.id, &policy)?;
            if found.replace((contract.id.clone(), limits)).is_some() {
                return Err(several(&contract.id));
            }
        }
    }
    Ok(found.map_or(Bound::Free, |(contract, limits)| {
        let print = first.print;
        Bound::Lent(Place { contract, print }, limits)
    }))
}

/// Limit, period and burst of a policy that can be lent.
fn lent(contract: &str, policy: &NamedPolicy) -> Result<Limits, Status> {
    let config = policy.policy.config();
    let name = &policy.name;
    if policy.coordination != Coordination::Lease {
        return Err(Status::failed_precondition(format!(
            "policy `{name}` of contract `{contract}` cannot be assigned as a quota: it is under `coordination: {}`; \
             put it under `lease`, or ask the rate limit service for this descriptor",
            policy.coordination.name()
        )));
    }
    if !config.algorithm.is_bucket() || config.count_refused || config.enforce_percent != 100 {
        return Err(Status::failed_precondition(format!(
            "policy `{name}` of contract `{contract}` cannot be assigned as a quota: only a bucket that is enforced \
             for everybody and does not count what it refuses can; make it `algorithm: token-bucket`"
        )));
    }
    let limits = Limits::new(
        config.limit,
        config.period.nanos(),
        policy.policy.capacity(),
    );
    limits.map_err(|error| Status::failed_precondition(error.to_string()))
}

fn several(contract: &str) -> Status {
    Status::failed_precondition(format!(
        "more than one policy binds this bucket, `{contract}` among others; only a single one can be assigned as a quota"
    ))
}
