//! What a node is told about the terms of keys, and what it says of them.
//!
//! Keys are named by their place, as whoever decides for other nodes knows no more of them. Not here: how cells follow
//! terms (`terms`).

use std::sync::Arc;

use tollgate_contract::Terms;
use tollgate_limit::Instant;
use tollgate_table::Print;

use crate::apart::Spot;
use crate::node::Node;
use crate::terms::{Assigned, Knowledge, Wanted};

/// A contract in which the terms of a key are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Place of the contract.
    pub contract: usize,
    /// The print of the key in it.
    pub print: Print,
}

impl Node {
    /// Takes note of the terms of a key. Nothing where the contract's keys have none of their own.
    pub fn learn(&self, stranger: Stranger, knowledge: Knowledge, now: Instant) {
        if let Some(assigned) = self.assigned(stranger.contract) {
            assigned.learn(stranger.print, knowledge, now);
        }
    }

    /// The same by the id of a contract and by the newest contracts, whichever came since.
    pub fn learn_of(&self, contract: &str, print: Print, knowledge: Knowledge, now: Instant) {
        let node = self.newest();
        if let Some(contract) = node.contracts().position(contract) {
            node.learn(Stranger { contract, print }, knowledge, now);
        }
    }

    /// Forgets the terms of the key of a contract that counts by one entry, however it was written.
    pub fn unlearn_value(&self, contract: usize, value: &str) {
        let word = value.parse::<u64>().ok();
        let word = word.map(|word| self.seed().word(word));
        for print in word
            .into_iter()
            .chain([self.seed().bytes(value.as_bytes())])
        {
            self.unlearn(Stranger { contract, print });
        }
    }

    /// Forgets the terms of a key: they have to be learnt again.
    pub fn unlearn(&self, stranger: Stranger) {
        if let Some(assigned) = self.assigned(stranger.contract) {
            assigned.forget(stranger.print);
        }
    }

    /// Forgets the terms of all keys of a contract.
    pub fn unlearn_all(&self, contract: usize) {
        if let Some(assigned) = self.assigned(contract) {
            assigned.forget_all();
        }
    }

    /// Whether keys of a contract may have terms of their own.
    pub fn has_terms(&self, contract: usize) -> bool {
        self.assigned(contract).is_some()
    }

    /// Whether a key is counted by terms of its own where other keys of the contract are counted with other nodes: it
    /// has an owner then.
    pub fn is_beside(&self, contract: usize, print: Print) -> bool {
        let cells = self.cells_of(contract);
        cells.is_some_and(|cells| !std::ptr::eq(cells.of(print), cells))
    }

    /// Whether there may be such keys.
    pub fn has_beside(&self, contract: usize) -> bool {
        let cells = self.cells_of(contract);
        cells.is_some_and(|cells| cells.own().is_some())
    }

    /// Whether terms have to be learnt before anything is decided at a spot.
    pub fn is_stranger(&self, spot: &Spot, now: Instant) -> bool {
        let assigned = self.assigned(spot.contract);
        assigned.is_some_and(|assigned| !assigned.is_known(spot.print, now))
    }

    /// The terms that a key is known to have, where they are its own.
    pub fn terms_at(&self, spot: &Spot, now: Instant) -> Option<Arc<Terms>> {
        let known = self.assigned(spot.contract)?.known(spot.print, now)?;
        known.knowledge.terms
    }

    /// Tells what is known of the terms at a spot from what was known before or will be: terms may come back, and what
    /// was spent under them need not. With it the version of the terms, or zero where they are the contract's.
    pub fn terms_mark(&self, spot: &Spot, now: Instant) -> (u64, Instant, u64) {
        let assigned = self.assigned(spot.contract);
        let known = assigned.and_then(|assigned| assigned.known(spot.print, now));
        known.map_or(
            (0, Instant::default(), 0),
            |Wanted {
                 knowledge: known, ..
             }| {
                let version = known.terms.map_or(0, |terms| terms.version);
                (known.revision, known.until, version)
            },
        )
    }

    /// Whether a print is that of the key with these values, however they are written.
    pub fn is_print_of(&self, print: Print, values: &[&str]) -> bool {
        let mut hasher = self.seed().hasher();
        for value in values {
            hasher.bytes(value.as_bytes());
        }
        let word = match values {
            [value] => value.parse().ok().map(|word| self.seed().word(word)),
            _ => None,
        };
        hasher.finish() == print || word == Some(print)
    }

    fn assigned(&self, contract: usize) -> Option<&Assigned> {
        self.cells_of(contract)?.assigned()
    }
}
