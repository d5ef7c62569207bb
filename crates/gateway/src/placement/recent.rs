//! Whom this gateway sent elsewhere lately: whoever comes back is let in, so that lists that differ send nobody in
//! circles.
//!
//! Bounded: where too many were sent lately, nobody else is.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Clients that were sent elsewhere, by a hash of their identifiers.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    sent: Mutex<BTreeMap<u64, Instant>>,
}

impl Recent {
    /// Another list is in force: whoever was sent by the old one may be sent again.
    pub(crate) fn forget(&self) {
        self.sent.lock().clear();
    }

    /// Whether a client may be sent elsewhere now; it has not been lately.
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

/// Whoever comes back within that time is let in.
const LATELY: Duration = Duration::from_secs(30);
/// Clients that are remembered.
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
