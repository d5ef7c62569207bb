//! Finds the contracts that may apply without looking at all of them.
//!
//! Each contract stands in exactly one list: under its rarest `match` entry, else under the name of an entry it needs,
//! else under nothing. A request looks up the lists of its own entries and walks them side by side, in file order.

use std::collections::BTreeMap;

use crate::contract::{ANY, Contract};
use crate::entries::CounterIdentity;

/// Lists of contract positions, each ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// By key and value, sorted.
    pairs: Vec<(String, String, Vec<u32>)>,
    /// By key alone, sorted.
    keys: Vec<(String, Vec<u32>)>,
    /// Contracts that bind every request.
    all: Vec<u32>,
}

impl Index {
    pub(crate) fn of(contracts: &[Contract]) -> Self {
        let mut counts: BTreeMap<&(String, String), usize> = BTreeMap::new();
        for pair in contracts.iter().flat_map(exact) {
            *counts.entry(pair).or_default() += 1;
        }
        let mut pairs: BTreeMap<&(String, String), Vec<u32>> = BTreeMap::new();
        let mut keys: BTreeMap<&String, Vec<u32>> = BTreeMap::new();
        let mut all = Vec::new();
        for (position, contract) in (0..).zip(contracts) {
            let any = contract
                .matches
                .iter()
                .map(|(key, _)| key)
                .chain(&contract.key)
                .next();
            if let Some(rarest) = exact(contract).min_by_key(|pair| counts.get(pair)) {
                pairs.entry(rarest).or_default().push(position);
            } else if let Some(key) = any {
                keys.entry(key).or_default().push(position);
            } else {
                all.push(position);
            }
        }
        let pairs = pairs
            .into_iter()
            .map(|((key, value), list)| (key.clone(), value.clone(), list));
        let keys = keys.into_iter().map(|(key, list)| (key.clone(), list));
        Self {
            pairs: pairs.collect(),
            keys: keys.collect(),
            all,
        }
    }

    /// The contracts that apply, in file order.
    pub(crate) fn matching<'a>(
        &'a self,
        contracts: &'a [Contract],
        entries: &'a [(&'a str, &'a str)],
    ) -> Matching<'a> {
        let mut lists = Lists::default();
        lists.add(&self.all);
        for (key, value) in entries {
            let pair = self
                .pairs
                .binary_search_by(|(k, v, _)| (&**k, &**v).cmp(&(key, value)));
            lists.add(pair.map_or(&[], |at| &self.pairs[at].2));
            let named = self.keys.binary_search_by(|(k, _)| (**k).cmp(key));
            lists.add(named.map_or(&[], |at| &self.keys[at].1));
        }
        Matching {
            contracts,
            entries,
            lists,
        }
    }
}

fn exact(contract: &Contract) -> impl Iterator<Item = &(String, String)> {
    contract.matches.iter().filter(|(_, value)| value != ANY)
}

/// The contracts that apply to a request, each with its position and identity.
#[derive(Debug)]
pub(crate) struct Matching<'a> {
    contracts: &'a [Contract],
    entries: &'a [(&'a str, &'a str)],
    lists: Lists<'a>,
}

impl<'a> Iterator for Matching<'a> {
    type Item = (usize, &'a Contract, CounterIdentity<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let position = self.lists.next()?;
            let contract = self.contracts.get(position)?;
            if contract.applies(self.entries) {
                return Some((position, contract, contract.identity(self.entries)));
            }
        }
    }
}

/// Ascending lists walked side by side. A few stand in place, so that most requests allocate nothing.
#[derive(Debug, Default)]
struct Lists<'a> {
    near: [&'a [u32]; NEAR],
    near_count: usize,
    far: Vec<&'a [u32]>,
}

impl<'a> Lists<'a> {
    fn add(&mut self, list: &'a [u32]) {
        if list.is_empty() {
            return;
        }
        if let Some(free) = self.near.get_mut(self.near_count) {
            *free = list;
            self.near_count += 1;
        } else {
            self.far.push(list);
        }
    }

    /// The smallest position not yet given. A list that was added twice gives each of its positions once.
    fn next(&mut self) -> Option<usize> {
        let lists = self.near[..self.near_count].iter().chain(&self.far);
        let least = *lists.filter_map(|list| list.first()).min()?;
        for list in self.near[..self.near_count].iter_mut().chain(&mut self.far) {
            if let [first, rest @ ..] = *list
                && *first == least
            {
                *list = rest;
            }
        }
        usize::try_from(least).ok()
    }
}

/// Lists held in place: one for every request, and the hits of a handful of entries.
const NEAR: usize = 8;
