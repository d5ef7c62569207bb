//! Contracts as nodes name them to each other: by a tag, which is the same wherever the id is.

use std::sync::Arc;

use tollgate_contract::{Contract, Coordination, NamedPolicy, OnFailure, Terms, are_lent};
use tollgate_node::Node;
use tollgate_store::Book;

/// The contracts of one node, by place and by tag.
#[derive(Debug)]
pub(crate) struct Map {
    /// Of the node whose contracts these are.
    pub(crate) version: u64,
    each: Box<[Entry]>,
    /// Tags in order, each with its place.
    places: Box<[(u64, usize)]>,
}

#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is asked alone")]
struct Entry {
    tag: u64,
    /// Tells whether cells of another node are cells of this contract.
    shape: u64,
    is_owned: bool,
    /// Whether keys of it with terms of their own have owners, whoever counts the others.
    has_beside: bool,
    /// Whether clients may hold leases of its keys.
    is_lent: bool,
    /// Whether their books are in the store.
    is_in_ledger: bool,
    /// By what a store is asked, where one decides.
    book: Option<Arc<Book>>,
    /// What the strictest owned policy does where the owner is not there.
    on_failure: FallbackRule,
}

impl Map {
    /// Of no node.
    pub(crate) fn none() -> Self {
        Self {
            version: u64::MAX,
            each: Box::default(),
            places: Box::default(),
        }
    }

    /// The contracts of a node; a store decides about those that say so, or about all.
    pub(crate) fn of(node: &Node, is_all_stored: bool, hash: TagHash) -> Self {
        let each = node.contracts().as_slice().iter().enumerate();
        let each: Box<[Entry]> = each
            .map(|(place, contract)| Entry {
                has_beside: node.has_beside(place),
                ..Entry::of(contract, is_all_stored || is_stored(contract), hash)
            })
            .collect();
        let places = each.iter().enumerate();
        let mut places: Vec<_> = places.map(|(place, entry)| (entry.tag, place)).collect();
        places.sort_unstable();
        Self {
            version: node.version(),
            each,
            places: places.into(),
        }
    }

    pub(crate) fn tag(&self, place: usize) -> u64 {
        self.each.get(place).map_or(0, |entry| entry.tag)
    }

    pub(crate) fn shape(&self, place: usize) -> u64 {
        self.each.get(place).map_or(0, |entry| entry.shape)
    }

    /// The place of the contract with this tag.
    pub(crate) fn place(&self, tag: u64) -> Option<usize> {
        let at = self.places.binary_search_by_key(&tag, |(tag, _)| *tag);
        Some(self.places.get(at.ok()?)?.1)
    }

    /// Whether the contract at this place has owners.
    pub(crate) fn is_owned(&self, place: usize) -> bool {
        self.each.get(place).is_some_and(|entry| entry.is_owned)
    }

    /// Whether clients may hold leases of the keys of the contract at this place.
    pub(crate) fn is_lent(&self, place: usize) -> bool {
        self.each.get(place).is_some_and(|entry| entry.is_lent)
    }

    /// Whether the books of the keys of the contract at this place are in the store.
    pub(crate) fn is_in_ledger(&self, place: usize) -> bool {
        self.each.get(place).is_some_and(|entry| entry.is_in_ledger)
    }

    /// By what the store is asked about the contract at this place, where a store decides.
    pub(crate) fn book(&self, place: usize) -> Option<&Arc<Book>> {
        self.each.get(place)?.book.as_ref()
    }

    /// Places of the contracts of which keys have owners.
    pub(crate) fn owned(&self) -> impl Iterator<Item = usize> + '_ {
        let each = self.each.iter().enumerate();
        each.filter(|(_, entry)| entry.is_owned || entry.has_beside)
            .map(|(place, _)| place)
    }

    /// What is done where the owner is not there: the strictest wish of the contract, or of the terms that a key has in
    /// it.
    pub(crate) fn on_failure(&self, place: usize, terms: Option<&Terms>) -> FallbackRule {
        let Some(entry) = self.each.get(place) else {
            return NO_WISH;
        };
        match terms {
            None => entry.on_failure,
            Some(terms) => {
                let is_stored = entry.book.is_some();
                let is_asked = |policy: &NamedPolicy| {
                    let is_shared = policy.coordination != Coordination::Local;
                    (entry.has_beside && is_shared) || is_elsewhere(policy, is_stored)
                };
                strictest(&terms.policies, is_asked).unwrap_or(NO_WISH)
            }
        }
    }
}

impl Entry {
    fn of(contract: &Contract, is_stored: bool, hash: TagHash) -> Self {
        let strictest = strictest(&contract.policies, |policy| is_elsewhere(policy, is_stored));
        let is_in_ledger = !is_stored && contract.is_in_ledger();
        let policies = contract.policies.iter();
        let shape: Vec<_> = policies.map(|policy| policy.policy.config()).collect();
        Self {
            tag: hash(contract.id.as_bytes()),
            shape: hash(format!("{:?}|{shape:?}", contract.key).as_bytes()),
            is_owned: strictest.is_some() && !is_stored && !is_in_ledger,
            has_beside: false,
            is_in_ledger,
            is_lent: !is_stored && !is_in_ledger && contract.is_lent(),
            // A contract's policies were a set before.
            book: is_stored
                .then(|| Book::of(contract).ok().map(Arc::new))
                .flatten(),
            on_failure: strictest.unwrap_or(NO_WISH),
        }
    }
}

/// Of policies that a store or an owner counts, the strictest wish for when that one is not there, the place of the
/// policy that has it, and its limit; `None` where there are none.
fn strictest(
    policies: &[NamedPolicy],
    is_asked: impl Fn(&NamedPolicy) -> bool,
) -> Option<FallbackRule> {
    let is_lent = are_lent(policies);
    // What is lent is never decided in two places.
    let wish = |policy: &NamedPolicy| match policy.on_failure {
        OnFailure::Local if is_lent => OnFailure::Deny,
        wish => wish,
    };
    let each = policies.iter().enumerate();
    let asked = each.filter(|(_, policy)| is_asked(policy));
    let strictest =
        asked.max_by_key(|(place, policy)| (strictness(wish(policy)), std::cmp::Reverse(*place)));
    let (place, policy) = strictest?;
    Some((wish(policy), place, policy.policy.config().limit))
}

fn is_elsewhere(policy: &NamedPolicy, is_stored: bool) -> bool {
    match policy.coordination {
        Coordination::Store => is_stored,
        Coordination::Owner | Coordination::Lease => !is_stored,
        _ => false,
    }
}

/// What is done where nobody else is there, the place of the policy that wishes so, and its limit.
pub(crate) type FallbackRule = (OnFailure, usize, u64);

const NO_WISH: FallbackRule = (OnFailure::Local, 0, 0);

/// Whether a store decides about a contract: about all of it, where one of its policies says so.
pub(crate) fn is_stored(contract: &Contract) -> bool {
    let mut policies = contract.policies.iter();
    policies.any(|policy| policy.coordination == Coordination::Store)
}

/// A request is refused if one policy wishes so, and let through only if all do.
pub(crate) const fn strictness(wish: OnFailure) -> u8 {
    match wish {
        OnFailure::Allow => 0,
        OnFailure::Local => 1,
        OnFailure::Deny => 2,
    }
}

/// By what contracts have names among nodes, and shapes: the first eight bytes of SHA-256, little-endian, in the daemon.
pub type TagHash = fn(&[u8]) -> u64;
