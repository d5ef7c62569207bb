//! Clients that this gateway redirected recently: one that comes back is accepted, so that differing lists do not
//! send it in
//! circles.
//!
//! Bounded: beyond the bound, no more clients are redirected.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Clients that were redirected, by a hash of their identifiers.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    sent: Mutex<BTreeMap<u64, Instant>>,
}

impl Recent {
    /// The list changed: clients redirected by the old one may be redirected again.
    pub(crate) fn forget(&self) {
        self.sent.lock().clear();
    }

    /// Whether a client may be redirected now: it was not redirected recently.
    pub(crate) fn sends(&self, client: &str, now: Instant) -> bool {
        let mut sent = self.sent.lock();
        let is_recent = |then: &Instant| now.saturating_duration_since(*then) < LATELY;
        let name = super::hash(client);
        if sent.get(&name).is_some_and(is_recent) {
            return false;
        }
        if sent.len() >= SENT_MAX {
            sent.retain(|_, then| is_recent(then));
            if sent.len() >= SENT_MAX {
                return false;
            }
        }
        sent.insert(name, now);
        true
    }
}

/// A client that comes back within this time is accepted.
const LATELY: Duration = Duration::from_secs(30);
const SENT_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_back_is_let_in_and_sent_again_much_later() {
        let recent = Recent::default();
        let now = Instant::now();
        assert!(recent.sends("a", now));
        assert!(!recent.sends("a", now + LATELY / 2));
        assert!(recent.sends("b", now));
        assert!(recent.sends("a", now + LATELY));
        for number in 0..SENT_MAX {
            recent.sends(&number.to_string(), now + LATELY);
        }
        assert!(!recent.sends("one more", now + LATELY));
        assert!(recent.sends("one more", now + LATELY * 3));
    }
}
