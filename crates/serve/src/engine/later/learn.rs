//! What nobody has told the node yet of keys: it is asked for before the key is decided about.
//!
//! A turn with notes writes down whose terms it misses, and whose counts are on disk, and goes on once they are there. Who has
//! no terms in time is counted by the policies of the contract; who has no counts is denied. Not here: where they are written
//! (`Registrar`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tollgate_contract::{Coordination, NamedPolicy};
use tollgate_limit::Instant;
use tollgate_node::{Key, Node, OwnTerms, Receipt, Spot, Spots, Stranger, Within};

use super::super::{Ask, Turn};
use super::notes::Notes;
use super::unknown::{Missing, Unknown};
use super::{Question, Verb};

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
    /// Whether the terms or the counts of a key have to be waited for.
    pub(super) fn waits_to_learn(&self, notes: &Notes, ask: &Ask<'_>) -> bool {
        let has_terms = self.engine.registrar().is_some();
        if !has_terms && !self.engine.has_away() {
            return false;
        }
        let Ok(within) = self.within(ask.scope) else {
            return false;
        };
        // Nobody is looked up to be denied.
        if !notes.pad().may_learn() || self.banned(ask).is_some() {
            return false;
        }
        let mut unknown = Vec::new();
        if has_terms {
            let strangers = within.strangers(ask.key, self.now).into_iter();
            unknown.extend(strangers.map(|stranger| Unknown {
                values: self.values(stranger.contract, ask.key),
                ..self.missing(Missing::Terms, stranger)
            }));
        }
        if self.reads_counts(notes) {
            let away = within.away(ask.key).into_iter();
            unknown.extend(away.map(|stranger| self.missing(Missing::Counts, stranger)));
        }
        Self::learns(notes, unknown)
    }

    /// Whether the counts that a receipt was charged to have to be waited for.
    pub(super) fn waits_to_settle(&self, notes: &Notes, receipt: &Receipt) -> bool {
        if !self.reads_counts(notes) || !notes.pad().may_learn() {
            return false;
        }
        let bookings = receipt.bookings().iter();
        let spots = bookings.filter_map(|booking| Some(self.node.spot_of(booking)?.0));
        let away = spots.filter(|spot| self.node.is_away(spot.contract, spot.print));
        let away = away.map(|spot| Stranger {
            contract: spot.contract,
            print: spot.print,
        });
        let unknown = away.map(|stranger| self.missing(Missing::Counts, stranger));
        Self::learns(notes, unknown.collect())
    }

    fn reads_counts(&self, notes: &Notes) -> bool {
        self.engine.has_away() && notes.pad().may_read()
    }

    fn learns(notes: &Notes, unknown: Vec<Unknown>) -> bool {
        let waits = !unknown.is_empty();
        if waits {
            notes.pad().learn(unknown);
        }
        waits
    }

    fn missing(&self, what: Missing, stranger: Stranger) -> Unknown {
        Unknown {
            what,
            stranger,
            contract: self.contract_id(stranger.contract),
            values: Vec::new(),
        }
    }

    /// A question about a key, with its values where whoever owns it may have to look up its terms.
    pub(super) fn question(&self, verb: Verb, spots: Spots, ask: &Ask<'_>) -> Question {
        let is_looked_up = |spot: &Spot| {
            let contract = self.node.contracts().get(spot.contract);
            let is_owned = |policy: &NamedPolicy| {
                matches!(
                    policy.coordination,
                    Coordination::Owner | Coordination::Lease
                )
            };
            let is_owned = contract.is_some_and(|of| of.policies.iter().any(is_owned));
            is_owned && self.node.has_terms(spot.contract)
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

    /// The terms of its own that a key is known to have.
    pub(in super::super) fn own_terms(&self, within: Within<'_>, key: Key<'_>) -> Vec<OwnTerms> {
        let spots = within.spots(key);
        let own = |spot: &Spot| Some((spot.contract, self.node.terms_at(spot, self.now)?));
        spots.iter().filter_map(own).collect()
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
fn whole(ask: &Ask<'_>) -> Vec<Vec<String>> {
    vec![match ask.key {
        Key::Word(word) => vec![word.to_string()],
        Key::Text(text) => vec![String::from_utf8_lossy(text).into_owned()],
        Key::Entries(entries) => {
            let words = entries.iter().flat_map(|(name, value)| [*name, *value]);
            words.map(str::to_owned).collect()
        }
    }]
}
