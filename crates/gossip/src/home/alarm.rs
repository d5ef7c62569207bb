//! Keys by the time at which something has to be done about them.
//!
//! Not here: what.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_limit::Instant;
use tollgate_mode::Key;

/// Keys in order of their time; each has at most one.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    order: BTreeSet<(Instant, Key)>,
    times: BTreeMap<Key, Instant>,
}

impl Alarm {
    /// Sets or clears a key's time.
    pub(super) fn set(&mut self, key: Key, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.times.insert(key, at),
            None => self.times.remove(&key),
        };
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, key));
        }
        self.order.extend(at.map(|at| (at, key)));
    }

    /// Makes sure that the key comes up no later than `at`. For work that may as well be looked at too early.
    pub(super) fn by(&mut self, key: Key, at: Instant) {
        if self.times.get(&key).is_none_or(|&known| known > at) {
            self.set(key, Some(at));
        }
    }

    /// The next time.
    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|&(at, _)| at)
    }

    /// The key whose time is next.
    pub(super) fn first(&self) -> Option<Key> {
        self.order.first().map(|&(_, key)| key)
    }

    /// Takes the next key that is due.
    fn pop(&mut self, now: Instant) -> Option<Key> {
        let &(at, key) = self.order.first()?;
        (at <= now).then(|| self.set(key, None))?;
        Some(key)
    }

    /// Takes every key that is due. One that is set to a time that has come is not taken again.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Key> {
        std::iter::from_fn(|| self.pop(now)).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_up_in_order_and_once() {
        let at = Instant::from_nanos;
        let mut alarm = Alarm::default();
        alarm.set(Key(1), Some(at(30)));
        alarm.set(Key(2), Some(at(20)));
        alarm.by(Key(2), at(25));
        alarm.by(Key(1), at(10));
        alarm.set(Key(3), Some(at(5)));
        alarm.set(Key(3), None);
        assert_eq!(alarm.next(), Some(at(10)));
        assert_eq!(alarm.pop(at(9)), None);
        assert_eq!(alarm.pop(at(20)), Some(Key(1)));
        assert_eq!(alarm.pop(at(20)), Some(Key(2)));
        assert!(alarm.is_empty());
    }
}
