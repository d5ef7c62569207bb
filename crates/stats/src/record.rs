//! The last requests in full: time, key, cost and verdict.
//!
//! Bounded in bytes: the oldest are dropped first. At high rates, all requests of some keys are recorded and
//! none of other keys, so that the record of a key is complete; one key out of `one_in` is recorded.
//! Not here: clocks.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tollgate_node::Key;

/// Decides which requests of a thread are recorded, and buffers them until they are taken.
#[derive(Debug, Default)]
pub struct Recorder {
    /// One key out of `2^shift` is recorded.
    shift: u32,
    second: u64,
    taken: u32,
    rows: Vec<Recorded>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// The entries of the key; a bare key is one entry without a name.
    pub key: Vec<(String, String)>,
    pub cost: u64,
    /// The verdict.
    pub said: RecordedVerdict,
    /// The contract that refused, or has the fewest tokens left; empty if none binds the request.
    pub contract: String,
    /// The policy that refused.
    pub policy: Option<String>,
    /// One key out of this many was recorded then.
    pub one_in: u32,
    /// Decides which keys are recorded if not all are.
    #[serde(skip)]
    lot: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordedVerdict {
    Allow,
    Delay,
    Deny,
}

impl Recorder {
    /// Whether to record a request of this key now.
    #[inline]
    pub fn wants(&mut self, hash: u64, second: u64) -> bool {
        if second != self.second {
            self.begin(second);
        }
        lot(hash) & ((1 << self.shift) - 1) == 0 && self.has_room()
    }

    #[cold]
    fn begin(&mut self, second: u64) {
        self.second = second;
        if self.taken < A_SECOND_MAX / 4 {
            self.shift = self.shift.saturating_sub(1);
        }
        self.taken = 0;
    }

    fn has_room(&mut self) -> bool {
        self.taken += 1;
        if self.taken > A_SECOND_MAX && self.shift < SHIFT_MAX {
            self.shift += 1;
            self.taken /= 2;
        }
        self.rows.len() < WAITING_MAX
    }

    /// Call only after [`Self::wants`]; fills in `one_in`.
    pub fn push(&mut self, hash: u64, mut row: Recorded) {
        row.one_in = 1 << self.shift;
        row.lot = lot(hash);
        self.rows.push(row);
    }

    /// Recorded since the last call.
    pub fn take(&mut self) -> Vec<Recorded> {
        std::mem::take(&mut self.rows)
    }
}

/// Bits of a fingerprint that no table uses first.
const fn lot(hash: u64) -> u64 {
    hash.rotate_left(24)
}

impl Recorded {
    /// The caller fills in the other fields.
    pub fn new(at_ms: u64, key: Key<'_>, cost: u64, said: RecordedVerdict) -> Self {
        let bare = |text: String| vec![(String::new(), text)];
        Self {
            at_ms,
            key: match key {
                Key::Entries(entries) => {
                    let own = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
                    entries.iter().map(own).collect()
                }
                Key::Text(text) => bare(String::from_utf8_lossy(text).into_owned()),
                Key::Word(word) => bare(word.to_string()),
            },
            cost,
            said,
            contract: String::new(),
            policy: None,
            one_in: 1,
            lot: 0,
        }
    }

    fn bytes(&self) -> usize {
        let texts = self.key.iter();
        let texts = texts.map(|(name, value)| name.len() + value.len() + 2 * size_of::<String>());
        let policy = self.policy.as_ref().map_or(0, String::len);
        size_of::<Self>() + texts.sum::<usize>() + self.contract.len() + policy
    }

    /// Whether some entry has this value, or is this entry as `name=value`.
    fn is_of(&self, wanted: &str) -> bool {
        let mut entries = self.key.iter();
        entries.any(|(name, value)| {
            let rest = wanted.strip_prefix(name.as_str());
            value == wanted || rest.and_then(|rest| rest.strip_prefix('=')) == Some(value)
        })
    }
}

/// Oldest first.
#[derive(Debug)]
pub struct RecentRequests {
    rows: VecDeque<Recorded>,
    bytes: usize,
    bytes_max: usize,
}

impl RecentRequests {
    pub const fn new(bytes_max: usize) -> Self {
        Self {
            rows: VecDeque::new(),
            bytes: 0,
            bytes_max,
        }
    }

    /// Adds requests; rows of one call are sorted by time.
    pub fn add(&mut self, mut rows: Vec<Recorded>) {
        rows.sort_by_key(|row| row.at_ms);
        for row in rows {
            self.bytes += row.bytes();
            self.rows.push_back(row);
            while self.bytes > self.bytes_max {
                let Some(oldest) = self.rows.pop_front() else {
                    break;
                };
                self.bytes -= oldest.bytes();
            }
        }
    }

    /// The last requests of a contract with an entry, newest first; at most `most`.
    pub fn recent(
        &self,
        contract: Option<&str>,
        entry: Option<&str>,
        rows_max: usize,
    ) -> Vec<Recorded> {
        let rows = self.rows.iter().rev();
        let rows = rows.filter(|row| contract.is_none_or(|id| row.contract == id));
        let rows = rows.filter(|row| entry.is_none_or(|entry| row.is_of(entry)));
        rows.take(rows_max).cloned().collect()
    }

    /// Requests since a time, of keys that were recorded throughout; in the order of time.
    pub fn trace(&self, since_ms: u64) -> Vec<Recorded> {
        let rows = || self.rows.iter().filter(|row| row.at_ms >= since_ms);
        let coarsest = rows().map(|row| row.one_in).max().unwrap_or(1);
        let all_the_time = |row: &&Recorded| row.lot & u64::from(coarsest - 1) == 0;
        let mut trace: Vec<_> = rows().filter(all_the_time).cloned().collect();
        trace.sort_by_key(|row| row.at_ms);
        for row in &mut trace {
            row.one_in = coarsest;
        }
        trace
    }

    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Requests recorded by a thread in a second, before the number of keys is reduced.
const A_SECOND_MAX: u32 = 2_000;
/// Requests of a thread that wait to be taken.
const WAITING_MAX: usize = 8_192;
const SHIFT_MAX: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at_ms: u64, user: u64) -> Recorded {
        let user = user.to_string();
        let key = [("user", &*user)];
        Recorded::new(at_ms, Key::Entries(&key), 1, RecordedVerdict::Allow)
    }

    fn print(user: u64) -> u64 {
        (user + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    #[test]
    fn all_is_recorded_when_it_is_slow_and_whole_keys_when_it_is_fast() {
        let mut recorder = Recorder::default();
        let mut kept = RecentRequests::new(16 << 20);
        for second in 0..30 {
            // Ten seconds at 100 per second, ten at 100,000, ten at 100.
            let is_fast = (10..20).contains(&second);
            for each in 0..if is_fast { 100_000 } else { 100_u64 } {
                let user = each % 1_000;
                if recorder.wants(print(user), second) {
                    recorder.push(print(user), row(second * 1_000, user));
                }
            }
            kept.add(recorder.take());
        }
        let slow = kept.trace(29_000);
        assert_eq!((slow.len(), slow[0].one_in), (100, 1));
        let all = kept.trace(0);
        assert!(all[0].one_in > 16, "{}", all[0].one_in);
        // The record of each key is complete.
        let users: std::collections::BTreeSet<_> = all.iter().map(|row| &row.key[0].1).collect();
        for user in users {
            let count = all.iter().filter(|row| row.key[0].1 == *user).count();
            let slow = if user.parse::<u64>().unwrap() < 100 {
                20
            } else {
                0
            };
            assert!(count >= slow + 1_000 * 8 / 10, "{user}: {count}");
        }
    }

    #[test]
    fn the_oldest_make_room_and_the_newest_come_first() {
        let mut kept = RecentRequests::new(10_000);
        for at in 0..1_000 {
            kept.add(vec![row(at, at % 7)]);
        }
        assert!(kept.bytes() <= 10_000);
        let recent = kept.recent(None, Some("user=3"), 2);
        assert_eq!(recent.len(), 2);
        assert!(recent[0].at_ms > recent[1].at_ms && recent[1].key[0].1 == "3");
        assert!(kept.recent(Some("other"), None, 9).is_empty());
        assert!(kept.recent(None, Some("us=er=3"), 9).is_empty());
    }
}
