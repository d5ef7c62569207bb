//! What the home and the standby collect of one key, and when an announcement is due.
//!
//! Not here: what an announcement says and to whom it goes.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_limit::Instant;
use tollgate_mode::{NodeId, Writer, planted};

use crate::bucket::Mark;
use crate::home::epoch::EpochId;
use crate::home::rules::{REFRESH_NS, Rules};
use crate::home::wire::Held;
use crate::list::{Backlog, Segment, backlog};

/// The reports of one key.
#[derive(Debug, Default)]
pub(super) struct Desk {
    lists: BTreeMap<Writer, Stored>,
    segments: usize,
    /// What everybody has been sent.
    pub(super) told: Mark,
    /// What was last announced, and when.
    pub(super) announced: Mark,
    pub(super) announced_at: Instant,
    /// The epoch whose base this node may raise: its own, as long as every list came with its count.
    pub(super) raises: Option<EpochId>,
    /// When a new home speaks first.
    pub(super) gathered_at: Option<Instant>,
    /// When what is due is said, if it still is: a home waits for concurrent reports, a standby for the home.
    pub(super) due_at: Option<Instant>,
    /// When the announcement is repeated, and how often.
    pub(super) repeat_at: Option<Instant>,
    pub(super) repeats_left: u8,
    /// Who has reported since with an end as late as announced.
    pub(super) confirmed: BTreeSet<NodeId>,
    pub(super) rate: Rate,
    /// Until when lists may matter that a restarted node had told nobody of; only as long as the key is cold.
    pub(super) kept_until: Option<Instant>,
}

#[derive(Debug)]
struct Stored {
    version: u64,
    list: Vec<Segment>,
}

/// Why the end is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A writer reported.
    Report,
    /// Anything else.
    Other,
}

/// Whether an announcement is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// At once.
    Now,
    /// When concurrent reports have arrived.
    Soon,
    /// Not at all.
    No,
}

/// What is looked at to find out: the end as known to the collector, and the direct threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) end: Mark,
    pub(super) near: u64,
    pub(super) now: Instant,
    pub(super) cause: Cause,
}

impl Desk {
    /// Keeps a list if it is newer than the one held; whether it is.
    pub(super) fn put(&mut self, held: Held, now: Instant) -> bool {
        let before = self.lists.get(&held.writer);
        if before.is_some_and(|before| before.version >= held.version) {
            return false;
        }
        let known = before.map_or(0, |before| total(&before.list));
        self.segments -= before.map_or(0, |before| before.list.len());
        self.segments += held.list.len();
        self.rate.add(total(&held.list).saturating_sub(known), now);
        let stored = Stored {
            version: held.version,
            list: held.list,
        };
        self.lists.insert(held.writer, stored);
        true
    }

    /// The backlog of all lists and `own`.
    pub(super) fn count(&self, rules: &Rules, own: Vec<Segment>) -> Option<Backlog> {
        let mut all = own;
        for stored in self.lists.values() {
            all.extend_from_slice(&stored.list);
        }
        backlog(rules.bucket, &mut all)
    }

    /// Every list held.
    pub(super) fn all(&self) -> impl Iterator<Item = Held> + '_ {
        self.lists.iter().map(|(&writer, stored)| Held {
            writer,
            version: stored.version,
            list: stored.list.clone(),
        })
    }

    /// One writer's list.
    pub(super) fn of(&self, writer: Writer) -> Option<Held> {
        self.lists.get(&writer).map(|stored| Held {
            writer,
            version: stored.version,
            list: stored.list.clone(),
        })
    }

    /// Whether everybody must be told.
    ///
    /// The room may halve before that, because nobody keeps more than half of its share to itself. Once a share is less
    /// than a token every admission is reported at once and the home stays silent until the room is gone or nearly so.
    pub(super) fn due(&self, rules: &Rules, sight: Sight) -> Due {
        let mark = rules.bucket.mark(sight.now);
        if sight.end <= mark || sight.end <= self.told {
            return Due::No;
        }
        let level = sight.end.since(mark);
        let told = self.told.since(mark);
        let is_wake = sight.cause == Cause::Report && told == 0;
        let crosses =
            |tokens| rules.leaves_at_most(level, tokens) && !rules.leaves_at_most(told, tokens);
        let is_gone = rules.leaves_less(level, 1) && !rules.leaves_less(told, 1);
        let is_near = sight.near > 0 && crosses(sight.near);
        if is_wake || is_gone || is_near || has_halved(rules, level, told) {
            return Due::Now;
        }
        if rules.leaves_less(level, 1) || rules.leaves_at_most(level, sight.near) {
            return Due::Soon;
        }
        let runs_out = told > 0 && told < refresh_window(rules);
        if runs_out { Due::Now } else { Due::No }
    }

    /// When the end that was told has to be renewed, if `end` is later.
    pub(super) fn refresh_at(&self, rules: &Rules, end: Mark, now: Instant) -> Option<Instant> {
        let is_open = end > self.told && self.told > rules.bucket.mark(now);
        let from = Mark(self.told.0.saturating_sub(refresh_window(rules)));
        let at = rules.bucket.instant(from.plus(rules.bucket.refilled(1)));
        is_open.then(|| at.max(now))
    }

    /// Bytes held: for each writer its name, the version, and its list; four marks and instants, or five; who has
    /// confirmed.
    pub(super) fn bytes(&self) -> u64 {
        let lists = 8 * self.lists.len() + 9 * self.segments;
        let kept = self.kept_until.map_or(0, |_| 8);
        (36 + kept + lists + 2 * self.confirmed.len()) as u64
    }
}

/// An end this near is renewed; nearer for buckets that fill within seconds, which would be told of every token.
fn refresh_window(rules: &Rules) -> u128 {
    let usual = rules.bucket.refilled(REFRESH_NS);
    let window = usual.min(rules.bucket.capacity() / 8);
    planted!("home-refresh", window, 0)
}

fn has_halved(rules: &Rules, level: u128, told: u128) -> bool {
    let room = rules.bucket.capacity().saturating_sub(level);
    let believed = rules.bucket.capacity().saturating_sub(told);
    let is_less = planted!("home-half", 2 * room < believed, room < believed / 4);
    is_less && rules.share(told) >= 1
}

fn total(list: &[Segment]) -> u64 {
    list.iter()
        .map(|segment| segment.count)
        .fold(0, u64::saturating_add)
}

/// Tokens per second, over the last second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    since: Instant,
    current: u64,
    before: u64,
}

impl Rate {
    const WINDOW_NS: u64 = 1_000_000_000;

    fn add(&mut self, tokens: u64, now: Instant) {
        self.roll(now);
        self.current = self.current.saturating_add(tokens);
    }

    /// The rate now.
    pub(super) fn per_second(mut self, now: Instant) -> u64 {
        self.roll(now);
        let gone = now.nanos_since(self.since).min(Self::WINDOW_NS);
        let left = u128::from(self.before) * u128::from(Self::WINDOW_NS - gone);
        let left = left / u128::from(Self::WINDOW_NS);
        let left = u64::try_from(left).unwrap_or(u64::MAX);
        self.current.saturating_add(left)
    }

    fn roll(&mut self, now: Instant) {
        let gone = now.nanos_since(self.since);
        if gone < Self::WINDOW_NS {
            return;
        }
        self.before = if gone < 2 * Self::WINDOW_NS {
            self.current
        } else {
            0
        };
        self.current = 0;
        self.since = if self.before > 0 {
            Instant::from_nanos(self.since.as_nanos() + Self::WINDOW_NS)
        } else {
            now
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_rate_is_that_of_the_last_second() {
        let mut rate = Rate::default();
        for tick in 0..40 {
            rate.add(1, at(tick * 100));
        }
        assert!((9..=11).contains(&rate.per_second(at(3_999))));
        assert_eq!(rate.per_second(at(9_000)), 0);
    }

    #[test]
    fn an_older_list_changes_nothing() {
        let held = |version| Held {
            writer: Writer(1),
            version,
            list: Vec::new(),
        };
        let mut desk = Desk::default();
        assert!(desk.put(held(4), at(0)));
        assert!(!desk.put(held(4), at(0)));
        assert!(!desk.put(held(3), at(0)));
        assert_eq!(desk.of(Writer(1)).unwrap().version, 4);
    }
}
