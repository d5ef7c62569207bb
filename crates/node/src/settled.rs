//! Which receipts were settled, by the numbers they were handed out under.
//!
//! Smaller than the ledger of callers' ids, as there may be one for every request. Bounded: past the bound a receipt is
//! refused rather than settled twice. Not here: sealing.

use std::collections::BTreeMap;

use tollgate_limit::{Instant, Span};

use crate::ids::IdError;

/// Numbers of receipts, and what they were settled at.
#[derive(Debug)]
pub(crate) struct Settled {
    receipts: BTreeMap<u64, (Instant, u64)>,
    receipts_max: usize,
    /// When all may be looked at again for want of room.
    scan_at: Instant,
}

impl Settled {
    pub(crate) fn new(receipts_max: usize) -> Self {
        Self {
            receipts: BTreeMap::new(),
            receipts_max,
            scan_at: Instant::default(),
        }
    }

    /// Notes that a receipt is settled at `actual`; says whether it was not before.
    pub(crate) fn note(
        &mut self,
        number: u64,
        actual: u64,
        (expires, now): (Instant, Instant),
    ) -> Result<bool, IdError> {
        match self.receipts.get(&number) {
            Some((_, before)) if *before == actual => return Ok(false),
            Some((_, before)) => return Err(IdError::SettledOtherwise { actual: *before }),
            None => {}
        }
        self.expire(now);
        if self.receipts.len() >= self.receipts_max {
            return Err(IdError::TooManyIds);
        }
        self.receipts.insert(number, (expires, actual));
        Ok(true)
    }

    /// Forgets what has expired. Most numbers go up as time does, so the oldest come first; the others are found when there
    /// is no room, and then not again for a while.
    fn expire(&mut self, now: Instant) {
        let due = |(expires, _): &(Instant, u64)| *expires <= now;
        while let Some(first) = self.receipts.first_entry()
            && due(first.get())
        {
            first.remove();
        }
        if self.receipts.len() >= self.receipts_max && now >= self.scan_at {
            self.scan_at = now.saturating_add(SCAN_EVERY);
            self.receipts.retain(|_, entry| !due(entry));
        }
    }
}

/// The time between two looks at all.
const SCAN_EVERY: Span = Span::from_nanos(1_000_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_receipt_is_settled_once_and_at_one_cost() {
        let mut settled = Settled::new(9);
        assert_eq!(settled.note(1, 5, (at(10), at(0))), Ok(true));
        assert_eq!(settled.note(1, 5, (at(10), at(1))), Ok(false));
        let otherwise = Err(IdError::SettledOtherwise { actual: 5 });
        assert_eq!(settled.note(1, 6, (at(10), at(1))), otherwise);
    }

    #[test]
    fn no_more_are_kept_than_allowed_and_those_that_expired_make_room() {
        let mut settled = Settled::new(2);
        assert_eq!(settled.note(7, 5, (at(10), at(0))), Ok(true));
        assert_eq!(settled.note(3, 5, (at(20), at(0))), Ok(true));
        assert_eq!(
            settled.note(8, 5, (at(20), at(9))),
            Err(IdError::TooManyIds)
        );
        let later = at(SECOND + 9);
        assert_eq!(settled.note(8, 5, (at(2 * SECOND), later)), Ok(true));
        assert_eq!(settled.receipts.len(), 1);
    }

    #[test]
    fn expired_receipts_are_found_behind_others_for_want_of_room() {
        let mut settled = Settled::new(2);
        assert_eq!(settled.note(3, 5, (at(9 * SECOND), at(0))), Ok(true));
        assert_eq!(settled.note(7, 5, (at(10), at(0))), Ok(true));
        assert_eq!(settled.note(8, 5, (at(20), at(10))), Ok(true));
        assert_eq!(settled.receipts.len(), 2);
    }
}
