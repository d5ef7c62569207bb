//! Maps a bucket of Envoy to a pool: its names and values are the entries of a key, in the order of the names.
//!
//! Contracts of the contract file apply in every domain, imported rules in their own, as for Envoy's rate limit
//! service. Not here: what is assigned.

use crate::engine::Turn;
use crate::value::text;
use smallvec::SmallVec;
use tollgate_contract::{Contract, Coordination};
use tollgate_limit::{Algorithm, Lot};
use tollgate_node::{Key, Node, Scope, Spot};
use tollgate_table::Print;
use tollgate_wire::rlqs::BucketId;

/// What limits a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BucketBinding {
    Free,
    /// Denied always.
    Barred,
    /// One policy with leases.
    Lent(BucketPlace),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BucketPlace {
    contract: String,
    /// The key's fingerprint in it.
    print: Print,
}

impl BucketPlace {
    /// The same in the contracts of this node; `None` if it lacks the contract.
    pub(super) fn spot(&self, node: &Node) -> Option<Spot> {
        Some(Spot {
            contract: node.contracts().position(&self.contract)?,
            print: self.print,
            lot: Lot::ALWAYS,
        })
    }
}

/// Why a bucket cannot be served, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unserved(pub(super) String);

/// What limits a bucket in a domain; the error says what to do if it cannot be leased.
pub(super) fn bind(
    turn: &Turn<'_>,
    domain: &str,
    bucket: &BucketId,
) -> Result<BucketBinding, Unserved> {
    let texts = bucket.bucket.iter();
    let texts: SmallVec<[_; 8]> = texts.map(|(name, value)| (name, text(value))).collect();
    let entries = texts.iter().map(|(name, value)| (name.as_str(), &**value));
    let entries: SmallVec<[(&str, &str); 8]> = entries.collect();
    let key = Key::Entries(&entries);
    if turn.is_banned(domain, key) {
        return Ok(BucketBinding::Barred);
    }
    let node = turn.node();
    let Ok(within) = node.within(Scope::Domain(domain)) else {
        return Ok(BucketBinding::Free);
    };
    let spots = within.spots(key);
    let contract = |spot: &Spot| node.contracts().get(spot.contract);
    match &*spots {
        [] => Ok(BucketBinding::Free),
        [spot] => match contract(spot) {
            None => Ok(BucketBinding::Free),
            Some(found) => {
                check(found)?;
                Ok(BucketBinding::Lent(BucketPlace {
                    contract: found.id.clone(),
                    print: spot.print,
                }))
            }
        },
        [first, ..] => Err(several(contract(first).map_or("", |found| &found.id))),
    }
}

/// Whether a contract can be assigned as a quota; the error says what to do if not.
fn check(contract: &Contract) -> Result<(), Unserved> {
    let id = &contract.id;
    let [policy] = &*contract.policies else {
        return Err(several(id));
    };
    let name = &policy.name;
    if policy.coordination != Coordination::Lease {
        return Err(Unserved(format!(
            "policy `{name}` of contract `{id}` cannot be assigned as a quota: it is under `coordination: {}`; put it under \
             `lease`, or ask the rate limit service for this descriptor",
            policy.coordination.name()
        )));
    }
    if contract.is_in_ledger() {
        return Err(Unserved(format!(
            "policy `{name}` of contract `{id}` cannot be assigned as a quota: its books are in a store, and data planes cannot say \
             what they hold; leave `recovery: ledger` out, or ask the rate limit service for this descriptor"
        )));
    }
    let is_bucket = policy.policy.config().algorithm == Algorithm::TokenBucket;
    if !contract.is_lent() || !is_bucket || policy.delays() {
        return Err(Unserved(format!(
            "policy `{name}` of contract `{id}` cannot be assigned as a quota: only a bucket that is enforced for everybody, \
             denies at once and does not count what it refuses can; make it `algorithm: token-bucket` without `on_limit: delay`"
        )));
    }
    Ok(())
}

fn several(contract: &str) -> Unserved {
    Unserved(format!(
        "more than one policy binds this bucket, `{contract}` among others; only a single one can be assigned as a quota"
    ))
}
