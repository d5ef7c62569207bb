//! Whoever is denied whatever is left of his limits.
//!
//! Bans are few, all in memory, and asked before anything is counted; where there are none that costs one look at a
//! flag. Not here: where they are written (`tollgate-catalogue`), and keys of policies that requests describe, which
//! have no entries.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use arc_swap::ArcSwapOption;
use smallvec::SmallVec;
use tollgate_catalogue::{BAN, Ban, range};
use tollgate_contract::{Contracts, Terms};
use tollgate_limit::{Cost, Instant, Span};
use tollgate_node::{Answer, Key, Scope, Spots, Within};

use super::{Engine, EngineRequest, Turn};

/// The bans in force, where there are some.
#[derive(Default)]
pub(super) struct Barred {
    is_any: AtomicBool,
    bans: ArcSwapOption<Bans>,
}

/// Bans by the entries that they are about.
struct Bans {
    by_entry: BTreeMap<String, Named>,
    /// What answers call a ban.
    terms: Arc<Terms>,
}

/// Bans of one entry.
#[derive(Default)]
struct Named {
    values: BTreeMap<String, Vec<Ban>>,
    /// By the length of the range, and its first address.
    ranges: BTreeMap<u32, BTreeMap<IpAddr, Vec<Ban>>>,
    /// Whether some are about addresses, which are written in several ways.
    has_addresses: bool,
}

/// Bans that hold for a key.
pub(super) type Holding<'a> = SmallVec<[&'a Ban; 2]>;

impl Engine {
    /// From here on these are denied, and nobody else.
    pub fn set_bans(&self, bans: &[Ban]) {
        let bans = Bans::of(bans);
        let is_any = bans.is_some();
        self.barred.bans.store(bans.map(Arc::new));
        self.barred.is_any.store(is_any, Relaxed);
    }

    /// Whether anybody is banned.
    #[inline]
    pub(super) fn has_bans(&self) -> bool {
        self.barred.is_any.load(Relaxed)
    }
}

impl Turn<'_> {
    /// Whether a key is denied in a domain whatever is left.
    pub(crate) fn is_banned(&self, domain: &str, key: Key<'_>) -> bool {
        let ask = EngineRequest {
            scope: Scope::Domain(domain),
            ..EngineRequest::new(key, Cost::PEEK)
        };
        self.banned(&ask).is_some()
    }

    /// The answer to whoever is banned.
    #[inline]
    pub(super) fn banned(&self, ask: &EngineRequest<'_>) -> Option<Answer> {
        if !self.engine.has_bans() {
            return None;
        }
        self.banned_by(ask)
    }

    #[cold]
    fn banned_by(&self, ask: &EngineRequest<'_>) -> Option<Answer> {
        let bans = self.engine.barred.bans.load();
        let bans = bans.as_ref()?;
        let within = self.within(ask.scope).ok()?;
        let holding = bans.holding(self, within, ask.key);
        let until = holding.iter().map(|ban| end(ban)).max()?;
        let wait = || Span::from_nanos(u128::from(until.nanos_since(self.now)));
        let end = (until < ENDLESS).then(wait);
        let first = within
            .spots(ask.key)
            .first()
            .map_or(0, |spot| spot.contract);
        let answer = Answer::barred(first, &bans.terms, end);
        Some(Answer {
            version: self.node.version(),
            ..answer
        })
    }
}

impl Turn<'_> {
    /// The bans that hold for what a question is asked of.
    pub(super) fn bans(&self, ask: &EngineRequest<'_>) -> Vec<Ban> {
        let bans = self.engine.barred.bans.load();
        let Some((bans, within)) = bans.as_ref().zip(self.within(ask.scope).ok()) else {
            return Vec::new();
        };
        let holding = bans.holding(self, within, ask.key).into_iter();
        holding.cloned().collect()
    }
}

impl Bans {
    /// `None` where there are none.
    fn of(bans: &[Ban]) -> Option<Self> {
        let mut by_entry: BTreeMap<String, Named> = BTreeMap::new();
        for ban in bans {
            let named = by_entry.entry(ban.identity.entry().to_owned());
            named.or_default().add(ban);
        }
        let (_, terms) = by_entry.first_key_value().zip(ban_terms())?;
        Some(Self { by_entry, terms })
    }

    /// The bans that hold for a key now.
    fn holding(&self, turn: &Turn<'_>, within: Within<'_>, key: Key<'_>) -> Holding<'_> {
        let spots = within.spots(key);
        let contracts = turn.node.contracts();
        let is_bound = |id: &str| {
            let place = contracts.position(id);
            place.is_some_and(|place| spots.iter().any(|spot| spot.contract == place))
        };
        let holds =
            |ban: &&Ban| turn.now < end(ban) && ban.contract.as_deref().is_none_or(is_bound);
        let mut holding = Holding::new();
        let mut add = |name: &str, value: &str| {
            let bars = self.by_entry.get(name).map(|named| named.bars(value));
            holding.extend(bars.into_iter().flatten().filter(holds));
        };
        match key {
            Key::Entries(entries) => entries.iter().for_each(|(name, value)| add(name, value)),
            Key::Word(word) => Self::bare(contracts, &spots, |name| add(name, &word.to_string())),
            Key::Text(text) => {
                let text = String::from_utf8_lossy(text);
                Self::bare(contracts, &spots, |name| add(name, &text));
            }
        }
        holding
    }

    /// A bare key is the value of the one entry that a contract counts by.
    fn bare(contracts: &Contracts, spots: &Spots, add: impl FnMut(&str)) {
        let bound = spots.iter().filter_map(|spot| contracts.get(spot.contract));
        let names = bound.filter_map(|contract| match &*contract.key {
            [name] => Some(&**name),
            _ => None,
        });
        names.for_each(add);
    }
}

impl Named {
    fn add(&mut self, ban: &Ban) {
        let bar = ban.clone();
        let value = ban.identity.value();
        if let Some((first, length)) = range(value) {
            self.has_addresses = true;
            let of_length = self.ranges.entry(length).or_default();
            return of_length.entry(first).or_default().push(bar);
        }
        self.has_addresses |= value.parse::<IpAddr>().is_ok();
        self.values.entry(value.to_owned()).or_default().push(bar);
    }

    /// All that are about a value.
    fn bars(&self, value: &str) -> impl Iterator<Item = &Ban> {
        let mut found: SmallVec<[&[Ban]; 4]> = SmallVec::new();
        found.extend(self.values.get(value).map(Vec::as_slice));
        if self.has_addresses
            && let Ok(address) = value.parse::<IpAddr>()
        {
            let address = address.to_canonical();
            let shortest = address.to_string();
            let other = self.values.get(&shortest).filter(|_| shortest != value);
            found.extend(other.map(Vec::as_slice));
            for (length, of_length) in &self.ranges {
                let first = tollgate_catalogue::first_of(address, *length);
                let bars = first.and_then(|first| of_length.get(&first));
                found.extend(bars.map(Vec::as_slice));
            }
        }
        found.into_iter().flatten()
    }
}

/// When a ban ends.
fn end(ban: &Ban) -> Instant {
    ban.until.unwrap_or(ENDLESS)
}

/// Terms of one policy that is called a ban, so that every door finds its name where it finds others.
pub(crate) fn ban_terms() -> Option<Arc<Terms>> {
    let text =
        format!("contracts: [{{ id: b, policies: [{{ name: {BAN}, limit: 1, per: 1s }}] }}]");
    let contracts = Contracts::parse(&text).ok()?;
    let policies = contracts.get(0)?.policies.clone();
    Terms::new(policies, 0).ok().map(Arc::new)
}

/// When a ban without an end ends.
const ENDLESS: Instant = Instant::from_nanos(u64::MAX);
