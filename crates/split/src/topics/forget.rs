//! Which keys of a policy are forgotten, and which machines let go.
//!
//! Not here: what is kept of a calm key (`calm`).

use tollgate_limit::Instant;

use super::Topics;

impl Topics {
    /// Drops a key that stands as if it had never been seen; `false` where none of those that were looked at does.
    pub fn evict(&mut self, now: Instant) -> bool {
        (0..EVICT_LOOKS).any(|_| {
            self.settle_one(now);
            self.forget_one(now)
        })
    }

    /// Looks, every so many calls, whether a busy key is calm and a calm one full.
    pub(super) fn tidy(&mut self, now: Instant) {
        self.calls += 1;
        if self.calls.is_multiple_of(TIDY_EVERY) {
            self.settle_one(now);
            self.forget_one(now);
        }
    }

    /// Lets the machine of the next key go, if it has no need of others any more.
    fn settle_one(&mut self, now: Instant) {
        let Some(key) = self.busy.sweep() else {
            return;
        };
        let topic = self.busy.get_mut(key);
        let calm = topic.and_then(|topic| self.full.calm(&mut topic.machine, now));
        let Some((calm, topic)) = calm.and_then(|calm| Some((calm, self.busy.remove(key)?))) else {
            return;
        };
        let mut machine = topic.machine;
        self.counts = self.counts.plus(machine.take_counts());
        if let Some(due) = topic.due {
            self.due.remove(&(due, key));
        }
        self.calm.insert(key, calm);
    }

    /// Forgets the next calm key if it stands as if it had never been seen.
    fn forget_one(&mut self, now: Instant) -> bool {
        let Some(key) = self.calm.sweep() else {
            return false;
        };
        let calm = self.calm.get(key);
        calm.is_some_and(|calm| self.full.is_new(calm, now)) && self.calm.remove(key).is_some()
    }
}

/// So many calls are answered between two looks at what may be forgotten.
const TIDY_EVERY: u64 = 8;
/// Keys that are looked at for one that can be dropped.
const EVICT_LOOKS: usize = 64;
