//! What nobody has told the node yet of keys: it is asked for before the key is decided about.
//!
//! An operation waits where terms of its key are missed, or counts of it are on disk, and goes on once they are there.
//! Who has no terms in time is counted by the policies of the contract; who has no counts is denied. Not here: where
//! they are written (`Registrar`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tollgate_contract::{Coordination, NamedPolicy};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Node, Receipt, Spot, Spots, Stranger};

use super::super::op::Op;
use super::super::{EngineRequest, Turn};
use super::{Question, Unknown, UnknownPart, Verb};

/// Done once all is learnt that could be.
pub type Learning<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Somebody who knows the terms of keys, or their counts.
pub trait Registrar: Send + Sync {
    /// Tells the node what it misses of these keys, or that it has to do without.
    fn learn<'a>(
        &'a self,
        node: &'a Arc<Node>,
        unknown: Vec<Unknown>,
        now: Instant,
    ) -> Learning<'a>;
}

impl Turn<'_> {
    /// What has to be learnt before an operation is carried out that waited so often for that.
    pub(super) fn unknown(&self, op: &Op<'_>, learnt: usize) -> Vec<Unknown> {
        // So that none waits for ever.
        let reads = self.engine.has_away() && learnt < READS_MAX;
        match *op {
            Op::Key(_, ask) if learnt < WAITS_MAX => self.unknown_of(&ask, reads),
            Op::Lend(key, _) if learnt < WAITS_MAX => {
                self.unknown_of(&EngineRequest::new(key, Cost::PEEK), false)
            }
            Op::Commit(id, _) if reads => {
                let id = self.reservation(id).ok();
                let known = id.and_then(|id| self.node.recall(&id, self.now));
                let known = known.and_then(Result::ok);
                known.map_or_else(Vec::new, |answer| self.away(&answer.receipt))
            }
            Op::Settle(settle) if reads => {
                let receivable = self.receivable(settle.receipt);
                receivable.map_or_else(|_| Vec::new(), |of| self.away(&of.receipt))
            }
            Op::GiveBack(receipt) if reads => self.away(receipt),
            _ => Vec::new(),
        }
    }

    /// What is not known of a key.
    fn unknown_of(&self, ask: &EngineRequest<'_>, reads: bool) -> Vec<Unknown> {
        let has_terms = self.engine.registrar().is_some();
        // No key is looked up to be denied.
        if !has_terms && !reads || self.banned(ask).is_some() {
            return Vec::new();
        }
        let Ok(within) = self.within(ask.scope) else {
            return Vec::new();
        };
        let mut unknown = Vec::new();
        if has_terms {
            let strangers = within.strangers(ask.key, self.now).into_iter();
            unknown.extend(strangers.map(|stranger| Unknown {
                values: self.values(stranger.contract, ask.key),
                ..self.missing(UnknownPart::Terms, stranger)
            }));
        }
        if reads {
            let away = within.away(ask.key).into_iter();
            unknown.extend(away.map(|stranger| self.missing(UnknownPart::Counts, stranger)));
        }
        unknown
    }

    /// The counts that a receipt was charged to, where they are on disk.
    fn away(&self, receipt: &Receipt) -> Vec<Unknown> {
        let bookings = receipt.bookings().iter();
        let spots = bookings.filter_map(|booking| Some(self.node.spot_of(booking)?.0));
        let away = spots.filter(|spot| self.node.is_away(spot.contract, spot.print));
        let away = away.map(|spot| Stranger {
            contract: spot.contract,
            print: spot.print,
        });
        away.map(|stranger| self.missing(UnknownPart::Counts, stranger))
            .collect()
    }

    fn missing(&self, what: UnknownPart, stranger: Stranger) -> Unknown {
        Unknown {
            what,
            stranger,
            contract: self.contract_id(stranger.contract),
            values: Vec::new(),
        }
    }

    /// A question about a key, with its values where whoever owns it may have to look up its terms.
    pub(in super::super) fn question(
        &self,
        verb: Verb,
        spots: Spots,
        ask: &EngineRequest<'_>,
    ) -> Question {
        let is_looked_up = |spot: &Spot| {
            let contract = self.node.contracts().get(spot.contract);
            let is_owned = |policy: &NamedPolicy| {
                matches!(
                    policy.coordination,
                    Coordination::Owner | Coordination::Lease
                )
            };
            let is_owned = contract.is_some_and(|of| of.policies.iter().any(is_owned));
            let has_owners = is_owned || self.node.has_beside(spot.contract);
            has_owners && self.node.has_terms(spot.contract)
        };
        let values = |spot: &Spot| {
            let values = is_looked_up(spot).then(|| self.values(spot.contract, ask.key));
            values.unwrap_or_default()
        };
        let elsewhere = self.engine.elsewhere();
        let names = if elsewhere.is_some_and(|elsewhere| elsewhere.decides_all()) {
            whole(ask)
        } else if spots.iter().any(is_looked_up) {
            spots.iter().map(values).collect()
        } else {
            Vec::new()
        };
        Question {
            verb,
            cost: ask.cost,
            names,
            spots,
        }
    }

    fn contract_id(&self, place: usize) -> String {
        let contract = self.node.contracts().get(place);
        contract.map_or_else(String::new, |contract| contract.id.clone())
    }

    /// The values by which a contract counts a key.
    fn values(&self, contract: usize, key: Key<'_>) -> Vec<String> {
        let contract = self.node.contracts().get(contract);
        let names = contract.map_or(&[][..], |contract| &contract.key).iter();
        let text = match key {
            Key::Entries(entries) => {
                let value = |name: &String| entries.iter().find(|(is, _)| is == name);
                return names
                    .filter_map(value)
                    .map(|(_, value)| (*value).to_owned())
                    .collect();
            }
            Key::Word(_) | Key::Text(_) if names.len() == 0 => return Vec::new(),
            Key::Word(word) => word.to_string(),
            Key::Text(text) => String::from_utf8_lossy(text).into_owned(),
        };
        vec![text]
    }
}

/// A key as the request brought it.
fn whole(ask: &EngineRequest<'_>) -> Vec<Vec<String>> {
    vec![match ask.key {
        Key::Word(word) => vec![word.to_string()],
        Key::Text(text) => vec![String::from_utf8_lossy(text).into_owned()],
        Key::Entries(entries) => {
            let words = entries.iter().flat_map(|(name, value)| [*name, *value]);
            words.map(str::to_owned).collect()
        }
    }]
}

/// Times that one operation may wait for what must be learnt.
const WAITS_MAX: usize = 4;
/// How often it waits for counts to be read.
const READS_MAX: usize = 2;
