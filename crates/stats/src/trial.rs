//! What a change of contracts would have done to recorded requests.
//!
//! Two empty nodes, one with the present contracts and one with the changed ones, decide every
//! request at its own time. Assignments and coordination are ignored. Not here: the source of requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant, Verdict};
use tollgate_node::{Key, Node};

use crate::offline::Offline;
use crate::record::Recorded;

/// The effect of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    pub requests: u64,
    /// One key out of this many is among them.
    pub one_in: u32,
    /// Whether there were more requests than the bound.
    pub is_cut: bool,
    /// Keys that were evicted, so that answers are too generous.
    pub forgotten: u64,
    pub sums: TriedSums,
    /// Oldest first.
    pub buckets: Vec<TrialBucket>,
    /// The keys that the change affects most, in that order.
    pub changed: Vec<Changed>,
    /// Affected keys; a lower bound.
    pub changed_keys: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedSums {
    pub allowed_before: u64,
    pub delayed_before: u64,
    pub denied_before: u64,
    pub allowed_after: u64,
    pub delayed_after: u64,
    pub denied_after: u64,
}

impl TriedSums {
    const fn add(&mut self, before: Verdict, after: Verdict) {
        *match before {
            Verdict::Allow => &mut self.allowed_before,
            Verdict::Delay { .. } => &mut self.delayed_before,
            Verdict::Deny { .. } | Verdict::Never => &mut self.denied_before,
        } += 1;
        *match after {
            Verdict::Allow => &mut self.allowed_after,
            Verdict::Delay { .. } => &mut self.delayed_after,
            Verdict::Deny { .. } | Verdict::Never => &mut self.denied_after,
        } += 1;
    }

    /// How much the change affects a key.
    const fn weight(&self) -> u64 {
        self.denied_after.abs_diff(self.denied_before)
            + self.delayed_after.abs_diff(self.delayed_before)
    }
}

/// Requests of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialBucket {
    /// Start, in milliseconds since the epoch.
    pub at_ms: u64,
    pub length_ms: u64,
    #[serde(flatten)]
    pub sums: TriedSums,
}

/// An affected key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// As `user=42,route=/tiles`.
    pub key: String,
    #[serde(flatten)]
    pub sums: TriedSums,
}

/// `requests` must be in the order of time.
pub fn try_change(before: &Contracts, after: &Contracts, requests: &[Recorded]) -> Tried {
    let offline = Offline {
        bytes_max: BYTES_MAX,
    };
    let nodes = (offline.node(before.clone()), offline.node(after.clone()));
    let run = requests.get(..REQUESTS_MAX).unwrap_or(requests);
    let mut tried = Tried {
        requests: run.len().try_into().unwrap_or(u64::MAX),
        one_in: run.iter().map(|row| row.one_in).max().unwrap_or(1),
        is_cut: run.len() < requests.len(),
        buckets: buckets(run),
        ..Tried::default()
    };
    let mut keys: BTreeMap<String, TriedSums> = BTreeMap::new();
    let mut text = String::new();
    for row in run {
        let (was, will) = (decide(&nodes.0, row), decide(&nodes.1, row));
        tried.sums.add(was, will);
        let first = tried
            .buckets
            .first()
            .map_or((0, 1), |b| (b.at_ms, b.length_ms));
        let place = row.at_ms.saturating_sub(first.0) / first.1;
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if let Some(bucket) = tried.buckets.get_mut(place) {
            bucket.sums.add(was, will);
        }
        key_text(row, &mut text);
        if let Some(sums) = keys.get_mut(&text) {
            sums.add(was, will);
        } else if keys.len() < KEYS_MAX {
            let mut sums = TriedSums::default();
            sums.add(was, will);
            keys.insert(text.clone(), sums);
        }
    }
    tried.forgotten = nodes.0.counters().evicted_live + nodes.1.counters().evicted_live;
    most_changed(keys, &mut tried);
    tried
}

fn decide(node: &Node, row: &Recorded) -> Verdict {
    let cost = Cost::new(row.cost).unwrap_or(Cost::MAX);
    let now = Instant::from_millis(row.at_ms).unwrap_or(Instant::LAST);
    if let [(name, value)] = &*row.key
        && name.is_empty()
    {
        return node.check(Key::from(value), cost, now).verdict;
    }
    let entries: Vec<_> = row.key.iter().map(|(n, v)| (&**n, &**v)).collect();
    node.check(Key::Entries(&entries), cost, now).verdict
}

/// Empty buckets over the time of the requests.
fn buckets(run: &[Recorded]) -> Vec<TrialBucket> {
    let times = || run.iter().map(|row| row.at_ms);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return Vec::new();
    };
    let length_ms = ((last - first) / (BUCKETS_MAX - 1))
        .max(SECOND_MS)
        .next_multiple_of(SECOND_MS);
    let count = (last - first) / length_ms + 1;
    let bucket = |place| TrialBucket {
        at_ms: first + place * length_ms,
        length_ms,
        sums: TriedSums::default(),
    };
    (0..count).map(bucket).collect()
}

fn key_text(row: &Recorded, text: &mut String) {
    text.clear();
    for (name, value) in &row.key {
        if !text.is_empty() {
            text.push(',');
        }
        if !name.is_empty() {
            text.push_str(name);
            text.push('=');
        }
        text.push_str(value);
    }
}

fn most_changed(keys: BTreeMap<String, TriedSums>, tried: &mut Tried) {
    let changed = keys.into_iter().filter(|(_, sums)| sums.weight() > 0);
    let mut changed: Vec<_> = changed.map(|(key, sums)| Changed { key, sums }).collect();
    tried.changed_keys = changed.len().try_into().unwrap_or(u64::MAX);
    changed.sort_by_key(|changed| core::cmp::Reverse(changed.sums.weight()));
    changed.truncate(CHANGED_MAX);
    tried.changed = changed;
}

/// Requests that are replayed at most.
const REQUESTS_MAX: usize = 1_000_000;
/// Bytes for the state of keys, for each of the two nodes.
const BYTES_MAX: u64 = 256 << 20;
/// Bound on intervals.
const BUCKETS_MAX: u64 = 120;
const SECOND_MS: u64 = 1_000;
/// Keys that are counted one by one.
const KEYS_MAX: usize = 100_000;
/// Keys that are named.
const CHANGED_MAX: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordedVerdict;

    fn contracts(limit: u64) -> Contracts {
        let file = format!(
            "contracts: [{{ id: c, key: [user], policies: [{{ name: p, limit: {limit}, per: 1m }}] }}]"
        );
        Contracts::parse(&file).unwrap()
    }

    #[test]
    fn a_lower_limit_shows_whom_it_would_refuse_and_when() {
        let row = |at_ms, user: &str| {
            let key = [("user", user)];
            Recorded::new(at_ms, Key::Entries(&key), 1, RecordedVerdict::Allow)
        };
        let start = 1_790_000_000_000;
        // One sends ten requests in a second, another once a second.
        let mut rows: Vec<_> = (0..10).map(|i| row(start + i * 50, "burst")).collect();
        rows.extend((0..4).map(|i| row(start + 30_000 + i * 1_000, "calm")));
        let tried = try_change(&contracts(10), &contracts(4), &rows);
        assert_eq!((tried.requests, tried.is_cut, tried.one_in), (14, false, 1));
        assert_eq!((tried.sums.denied_before, tried.sums.denied_after), (0, 6));
        assert_eq!(tried.changed_keys, 1);
        assert_eq!(tried.changed[0].key, "user=burst");
        assert_eq!(tried.buckets[0].sums.denied_after, 6);
        let asked: u64 = tried.buckets.iter().map(|b| b.sums.allowed_before).sum();
        assert_eq!((asked, tried.buckets.len()), (14, 34));
        let same = try_change(&contracts(4), &contracts(4), &rows);
        assert_eq!((same.changed_keys, same.sums.denied_before), (0, 6));
        assert_eq!(try_change(&contracts(1), &contracts(2), &[]).requests, 0);
    }
}
