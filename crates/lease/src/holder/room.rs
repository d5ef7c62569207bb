//! Room for another key: the lease that was not asked for in the longest time, or nearly so, is given back.
//!
//! A hand goes round the keys and passes over those that were asked for since it last came by, a few at a time, so that
//! a request never waits for a search. Not here: keys that are not used (`Holder::handle_timeout`).

use tollgate_limit::Instant;

use super::Holder;

impl<T> Holder<T> {
    /// Gives a key up, with its lease; whether there was one that is not waited for.
    pub fn make_room(&mut self, now: Instant) -> bool {
        let Some(name) = self.point() else {
            return false;
        };
        let mut said = Vec::new();
        if let Some(key) = self.each.get_mut(&name) {
            let held = key.holding.held(now);
            self.returned += u64::from(held.iter().any(|(_, held)| held.depth > 0));
            key.holding.release(now);
            said.extend(std::iter::from_fn(|| key.holding.poll_inquiry(now)));
        }
        let Some(of) = self.forget(name) else {
            return false;
        };
        // What is not said for lack of room ends with its term.
        said.retain(|inquiry| !inquiry.is_empty());
        if !said.is_empty() && self.leaving.len() < LEAVING_MAX {
            self.leaving.push((name, of, said));
        }
        true
    }

    /// The key that goes.
    fn point(&mut self) -> Option<u64> {
        let mut last = None;
        for _ in 0..LOOKS_MAX {
            let next = self.each.range_mut(self.hand..).next();
            let (name, key) = match next {
                Some(next) => next,
                // Once round.
                None => self.each.iter_mut().next()?,
            };
            self.hand = name.wrapping_add(1);
            if key.holding.has_waiting() {
                continue;
            }
            last = Some(*name);
            if std::mem::replace(&mut key.uses, 1) < 2 {
                break;
            }
        }
        last
    }
}

/// Keys that are looked at to make room for one.
const LOOKS_MAX: usize = 8;
/// What keys that are no more have to say at a time.
const LEAVING_MAX: usize = 128;
