//! By what a store is asked about keys that have terms of their own.
//!
//! Kept for as long as there is room, as many keys on one plan have the same; also to follow a receipt by the names of
//! its policies when the terms have changed since. Not here: asking (`stored`).

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_contract::Terms;
use tollgate_limit::Charge;
use tollgate_node::{Due, Node, Spot};
use tollgate_store::Book;

use crate::asking::At;
use crate::question::{Question, Verb};

/// Books by the version of their terms, the place of their contract, and the version of the node that has it there.
#[derive(Default)]
pub(crate) struct Books(Mutex<BTreeMap<(u64, usize, u64), Arc<Book>>>);

/// By what a key is asked about.
#[derive(Clone)]
pub(crate) struct Basis {
    pub(crate) book: Arc<Book>,
    /// The key's terms, where they are its own.
    pub(crate) terms: Option<Arc<Terms>>,
}

impl Basis {
    fn version(&self) -> u64 {
        self.terms.as_ref().map_or(0, |terms| terms.version)
    }
}

impl Books {
    /// The book of these terms; `None` where they are none for a contract there.
    fn of(&self, node: &Node, contract: usize, terms: &Terms) -> Option<Arc<Book>> {
        let place = (terms.version, contract, node.version());
        let mut kept = self.0.lock();
        if let Some(book) = kept.get(&place) {
            return Some(Arc::clone(book));
        }
        let book = Arc::new(Book::of_terms(node.contracts().get(contract)?, terms).ok()?);
        if kept.len() >= BOOKS_MAX {
            kept.clear();
        }
        kept.insert(place, Arc::clone(&book));
        Some(book)
    }

    /// The newest book of terms of this version, where it is still known.
    fn known(&self, contract: usize, terms: u64) -> Option<Arc<Book>> {
        let kept = self.0.lock();
        let mut same = kept.range((terms, contract, 0)..=(terms, contract, u64::MAX));
        same.next_back().map(|(_, book)| Arc::clone(book))
    }
}

impl At<'_> {
    /// By what the store is asked about a question, and what to ask; `None` where no store decides.
    pub(crate) fn book(&self, question: &Question, spot: &Spot) -> Option<(Basis, Question)> {
        let book = self.map.book(spot.contract)?;
        let own = self.node.terms_at(spot, self.now);
        let own = own.and_then(|terms| {
            let book = self.owners.books.of(self.node, spot.contract, &terms)?;
            let terms = Some(terms);
            Some(Basis { book, terms })
        });
        let of_contract = |book: &Arc<Book>| Basis {
            book: Arc::clone(book),
            terms: None,
        };
        let today = own.unwrap_or_else(|| of_contract(book));
        let due = match &question.verb {
            Verb::Settle(dues) => dues.first().copied(),
            _ => None,
        };
        let Some(due) = due.filter(|due| due.terms != today.version()) else {
            return Some((today, question.clone()));
        };
        let then = match due.terms {
            0 => Some(Arc::clone(book)),
            terms => self.owners.books.known(spot.contract, terms),
        };
        let is_stranger = self.node.is_stranger(spot, self.now);
        let (today, charge) = match then {
            // Nobody knows whether they changed.
            Some(then) if is_stranger => (of_contract(&then), due.charge),
            Some(then) => {
                let charge = followed(&then, &today.book, due.charge);
                (today, charge)
            }
            // Terms of which nothing is known any more give nothing back.
            None => (
                today,
                Charge {
                    charged: 0,
                    ..due.charge
                },
            ),
        };
        let due = Due { charge, ..due };
        let verb = Verb::Settle(vec![due]);
        let settled = Question {
            verb,
            ..question.clone()
        };
        Some((today, settled))
    }
}

/// A charge by the policies of `then`, by those of the same names in `today`.
fn followed(then: &Book, today: &Book, charge: Charge) -> Charge {
    let was_charged = |name: &str| {
        let place = then.names().position(|then| then == name);
        place.is_some_and(|place| charge.charged >> place & 1 != 0)
    };
    let places = today.names().enumerate();
    let charged = places.filter(|(_, name)| was_charged(name));
    Charge {
        charged: charged.fold(0, |bits, (place, _)| bits | 1 << place),
        ..charge
    }
}

/// Books that are kept.
const BOOKS_MAX: usize = 1 << 12;
