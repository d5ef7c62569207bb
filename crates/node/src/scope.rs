//! Which contracts a request is asked of: all that bind its key, those of a domain, or a single one.
//!
//! Not here: how a contract is found by the entries of a key (`contract`), and the short way of a bare key (`node`).

use core::fmt;
use std::borrow::Cow;

use smallvec::SmallVec;
use tollgate_contract::{Contract, Descriptor, NamedPolicy, Unmatched};
use tollgate_limit::{Cost, Forecast, Instant, KeyStatus, Lot};
use tollgate_table::{Print, Seed};

use crate::answer::{Answer, KeyLocation, OwnTerms};
use crate::batch::CHUNK;
use crate::cells::{Cells, PrefetchStep};
use crate::decide::{Bound, DecideRequest, decide};
use crate::key::Key;
use crate::node::{Node, bare_print};

/// Which contracts a request is asked of, among those that bind its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All.
    #[default]
    All,
    /// Those of a contract file, or those imported from this domain.
    Domain(&'a str),
    /// The one with this id. A bare key needs no `match` of it, as the caller has chosen.
    Contract(&'a str),
}

/// No contract has the id that was asked for. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownContract;

impl fmt::Display for UnknownContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no contract has this id")
    }
}

impl core::error::Error for UnknownContract {}

/// What is known of a key: something for each policy of each contract that binds it.
#[derive(Clone, Debug)]
pub struct PolicyReadings<'a, T> {
    /// The node whose contracts these are.
    pub node: &'a Node,
    /// The place of each contract, and what its policies say in order.
    pub each: Vec<(usize, Vec<T>)>,
    /// Contracts that the key has terms of its own in: it is those policies that say it.
    pub terms: Vec<OwnTerms>,
}

impl<'a, T> PolicyReadings<'a, T> {
    /// Each policy as it is for the key, its contract, whether it is of terms of the key's own, and what it says.
    pub fn policies(
        &mut self,
    ) -> impl Iterator<Item = (&'a Contract, Cow<'a, NamedPolicy>, bool, T)> {
        let Self { node, each, terms } = self;
        each.drain(..).flat_map(|(place, each)| {
            let contract = node.contracts().get(place);
            let own = terms.iter().find(|(at, _)| *at == place);
            each.into_iter().enumerate().filter_map(move |(nth, said)| {
                let policy = match own {
                    None => Cow::Borrowed(contract?.policies.get(nth)?),
                    Some((_, own)) => Cow::Owned(own.policies.get(nth)?.clone()),
                };
                Some((contract?, policy, own.is_some(), said))
            })
        })
    }
}

/// A node as far as a scope reaches.
#[derive(Clone, Copy, Debug)]
pub struct Within<'a> {
    pub(crate) node: &'a Node,
    part: Part<'a>,
}

/// A scope whose contract was found.
#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    All,
    Domain(&'a str),
    Contract(usize),
}

impl Node {
    /// The node as far as a scope reaches.
    pub fn within<'a>(&'a self, scope: Scope<'a>) -> Result<Within<'a>, UnknownContract> {
        let part = match scope {
            Scope::All => Part::All,
            Scope::Domain(name) => Part::Domain(name),
            Scope::Contract(id) => {
                Part::Contract(self.contracts().position(id).ok_or(UnknownContract)?)
            }
        };
        Ok(Within { node: self, part })
    }

    /// The whole node.
    pub const fn whole(&self) -> Within<'_> {
        Within {
            node: self,
            part: Part::All,
        }
    }
}

impl<'a> Within<'a> {
    /// Decides one request and charges it.
    #[inline]
    pub fn check(&self, key: Key<'_>, cost: Cost, now: Instant) -> Answer {
        if let Part::All = self.part {
            return self.node.check(key, cost, now);
        }
        self.check_any(key, DecideRequest { cost, now })
    }

    /// Decides one request, whatever its key and however many contracts bind it.
    #[inline(never)]
    pub(crate) fn check_any(&self, key: Key<'_>, ask: DecideRequest) -> Answer {
        let mut within = *self;
        loop {
            if let Some(answer) = within.decide(&mut within.bind(key), ask) {
                return answer.by(within.node.version());
            }
            let Some(next) = within.next() else {
                return Answer::full().by(within.node.version());
            };
            within = next;
        }
    }

    /// Decides one request of which it is known what binds it. A key that nothing binds is refused where the contracts
    /// say so; in a domain it passes, as those who ask by domains take it for.
    pub(crate) fn decide(&self, bound: &mut [Bound<'_>], ask: DecideRequest) -> Option<Answer> {
        let refuses = || self.node.unmatched() == Unmatched::Deny;
        let is_domain = matches!(self.part, Part::Domain(_));
        if bound.is_empty() && !is_domain && refuses() {
            return Some(Answer::unmatched());
        }
        decide(bound, ask)
    }

    /// The same scope in the node that follows. Cells are left to that node only, so whoever was sent away finds it,
    /// and in it the contract that was asked for.
    fn next(&self) -> Option<Self> {
        let node = self.node.next()?;
        let part = match self.part {
            Part::Contract(place) => {
                let id = &self.node.contracts().get(place)?.id;
                Part::Contract(node.contracts().position(id)?)
            }
            part @ (Part::All | Part::Domain(_)) => part,
        };
        Some(Self { node, part })
    }

    /// Charges without asking; the key may go into debt. Says whether every contract had room for the key.
    pub fn charge(&self, key: Key<'_>, cost: Cost, now: Instant) -> bool {
        let bound = self.bind(key);
        let charged = bound
            .iter()
            .filter(|b| b.cells.charge(b.print, cost, now).is_ok())
            .count();
        charged == bound.len()
    }

    /// Gives tokens back, the last taken first.
    pub fn refund(&self, key: Key<'_>, cost: Cost, now: Instant) {
        for bound in self.bind(key) {
            bound.cells.refund(bound.print, cost, now);
        }
    }

    /// Forgets everything about a key.
    pub fn reset(&self, key: Key<'_>) {
        for bound in self.bind(key) {
            bound.cells.reset(bound.print);
        }
    }

    /// How each policy of each contract that binds the key stands, by the newest contracts.
    pub fn status(&self, key: Key<'_>, now: Instant) -> PolicyReadings<'a, KeyStatus> {
        self.read(key, now, |bound| bound.cells.status(bound.print, now))
    }

    /// What each policy of each contract that binds the key would say to a request, by the newest contracts.
    pub fn foresee(&self, key: Key<'_>, cost: Cost, now: Instant) -> PolicyReadings<'a, Forecast> {
        self.read(key, now, |b| b.cells.foresee(b.print, cost, now, b.lot))
    }

    /// Reads what the newest contracts know of a key.
    fn read<T>(
        &self,
        key: Key<'_>,
        now: Instant,
        read: impl Fn(&Bound<'_>) -> Vec<T>,
    ) -> PolicyReadings<'a, T> {
        let mut within = *self;
        loop {
            let bound = within.bind(key);
            let each = bound.iter().map(|bound| (bound.contract, read(bound)));
            let each = each.collect();
            let own = |b: &Bound<'_>| Some((b.contract, b.cells.terms(b.print, now)?));
            let terms = bound.iter().filter_map(own).collect();
            match within.next() {
                Some(next) => within = next,
                None => {
                    return PolicyReadings {
                        node: within.node,
                        each,
                        terms,
                    };
                }
            }
        }
    }

    /// Decides requests in order, fetching ahead what they need.
    pub(crate) fn check_ahead(
        &self,
        requests: &[(Key<'_>, Cost)],
        now: Instant,
        answer: &mut impl FnMut(Answer),
    ) {
        let bound = requests.iter().map(|(key, _)| self.bind(*key));
        let mut bound: SmallVec<[_; CHUNK]> = bound.collect();
        for step in [PrefetchStep::Page, PrefetchStep::Slots] {
            for bound in bound.iter().flatten() {
                bound.cells.prefetch(bound.print, step);
            }
        }
        for (bound, (key, cost)) in bound.iter_mut().zip(requests) {
            let ask = DecideRequest { cost: *cost, now };
            answer(match self.decide(bound, ask) {
                Some(decided) => decided.by(self.node.version()),
                None => self.check_any(*key, ask),
            });
        }
    }

    /// Where a key is that binds one contract only, in which keys may have terms of their own; found without its lot.
    #[inline]
    pub(crate) fn lone_own(&self, key: Key<'_>) -> Option<(KeyLocation, &'a Cells)> {
        match self.part {
            Part::All => self.node.lone_own(key),
            Part::Domain(_) | Part::Contract(_) => None,
        }
    }

    /// The contracts that bind a key, in order.
    pub(crate) fn bind(&self, key: Key<'_>) -> SmallVec<[Bound<'a>; 4]> {
        match key {
            Key::Entries(entries) => self.bind_entries(entries),
            Key::Word(_) | Key::Text(_) => self.bind_bare(key),
        }
    }

    fn bind_entries(&self, entries: &[(&str, &str)]) -> SmallVec<[Bound<'a>; 4]> {
        let mut bound = SmallVec::new();
        let (domain, only) = match self.part {
            Part::All => (None, None),
            Part::Domain(name) => (Some(name), None),
            Part::Contract(place) => (None, Some(place)),
        };
        let request = Descriptor { domain, entries };
        self.node.contracts().bind(&request, |contract, identity| {
            if only.is_some_and(|only| only != contract) {
                return;
            }
            let print = |seed: &Seed| {
                let mut hasher = seed.hasher();
                identity
                    .clone()
                    .for_each(|value| hasher.bytes(value.as_bytes()));
                hasher.finish()
            };
            bound.extend(self.bound(contract, print));
        });
        bound
    }

    fn bind_bare(&self, key: Key<'_>) -> SmallVec<[Bound<'a>; 4]> {
        let mut bound = SmallVec::new();
        let mut add = |contract, counts_by_it| {
            let counted = if counts_by_it { key } else { NO_ENTRIES };
            bound.extend(self.bound(contract, |seed: &Seed| bare_print(seed, counted)));
        };
        if let Part::Contract(place) = self.part {
            let contract = self.node.contracts().get(place);
            if let Some(contract) = contract.filter(|contract| contract.key.len() <= 1) {
                add(place, !contract.key.is_empty());
            }
            return bound;
        }
        for (contract, counts_by_it) in self.node.bare() {
            add(*contract, *counts_by_it);
        }
        bound
    }

    /// A contract together with a key's place in it.
    #[inline]
    fn bound(&self, contract: usize, print: impl Fn(&Seed) -> Print) -> Option<Bound<'a>> {
        let cells = self.node.cells_of(contract)?;
        let seeded = print(self.node.seed());
        let cells = cells.of(seeded);
        let lot = if cells.is_staged() {
            Lot::from_hash(print(self.node.lots()).0)
        } else {
            Lot::ALWAYS
        };
        Some(Bound {
            contract,
            cells,
            print: seeded,
            lot,
        })
    }
}

/// The key of a contract that counts everybody together.
const NO_ENTRIES: Key<'static> = Key::Entries(&[]);
