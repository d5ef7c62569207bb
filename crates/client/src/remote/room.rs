//! Room for another key: the lease that was not asked for in the longest time, or nearly so, is given back.
//!
//! A hand goes round the keys of a shard and passes over those that were asked for since it last came by, a few at a
//! time, so that a request never waits for a search. Not here: keys that nobody uses (`slots`).

use tollgate_lease::{Inquiry, LesseeFigures};
use tollgate_limit::Instant;

use super::replies::CommandWords;
use super::slot::KeySlot;
use super::slots::SlotTable;

/// What a shard needs to make room.
#[derive(Default)]
pub(super) struct ShardRoom {
    /// The key that the hand points at.
    hand: u64,
    /// The largest number of a question about a key that is no more: a key that comes back goes on from there.
    pub(super) seq: u64,
    /// What keys that are no more have yet to say.
    pub(super) leaving: Vec<(u64, CommandWords, Inquiry)>,
    /// Leases given back to make room.
    pub(super) returned: u64,
}

impl ShardRoom {
    /// A key is no more.
    pub(super) fn forget(&mut self, slot: &KeySlot) {
        self.seq = self.seq.max(slot.holding.seq());
    }
}

impl SlotTable {
    /// Gives a key up, with its lease; what it counted. `None` where all are waited for.
    pub(super) fn make_room(&mut self, now: Instant) -> Option<LesseeFigures> {
        let print = self.point()?;
        let mut slot = self.by_print.remove(&print)?;
        let holds = slot.holding.held(now);
        let is_held = holds.iter().any(|(_, held)| held.depth > 0);
        self.room.returned += u64::from(is_held);
        slot.holding.release(now);
        while let Some(inquiry) = slot.holding.poll_inquiry(now) {
            // What is not said for lack of room ends with its term.
            if !inquiry.is_empty() && self.room.leaving.len() < LEAVING_MAX {
                let said = (print, slot.words.clone(), inquiry);
                self.room.leaving.push(said);
            }
        }
        self.room.forget(&slot);
        Some(slot.holding.figures())
    }

    /// The key that goes.
    fn point(&mut self) -> Option<u64> {
        let mut last = None;
        for _ in 0..LOOKS_MAX {
            let hand = self.room.hand;
            let next = self.by_print.range_mut(hand..).next();
            let (print, slot) = match next {
                Some(next) => next,
                // Once round.
                None => self.by_print.iter_mut().next()?,
            };
            self.room.hand = print.wrapping_add(1);
            if slot.holding.has_waiting() {
                continue;
            }
            last = Some(*print);
            if std::mem::replace(&mut slot.uses, 1) < 2 {
                break;
            }
        }
        last
    }
}

/// Keys that are looked at to make room for one.
const LOOKS_MAX: usize = 8;
/// What keys of a shard that are no more have to say at a time.
const LEAVING_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tollgate_lease::Holding;

    use super::super::ClientConfig;
    use super::super::slots::Slots;

    #[test]
    fn a_million_keys_are_asked_for_and_a_thousand_kept() {
        let config = ClientConfig {
            keys_max: 1_000,
            ..ClientConfig::new(["127.0.0.1:1"])
        };
        let slots = Slots::new(Arc::new(config)).unwrap();
        let ask = |key: u64| {
            let print = slots.print(key.into());
            slots.decide(print, key.into(), 1, Holding::try_check)
        };
        (0..1_000).for_each(|key| drop(ask(key)));
        let kept = |key: u64| slots.known(slots.print(key.into()), |_, _| ()).is_some();
        for key in 1_000..1_000_000 {
            assert!(ask(key).is_some(), "there is room for {key}");
            // One that is asked for all the time stays.
            if key % 10 == 0 {
                assert!(kept(7), "{key}");
            }
        }
        assert_eq!(slots.count(), 1_000);
        let lately = (999_900..1_000_000).filter(|key| kept(*key)).count();
        assert!(lately > 75, "{lately}");
        let mut said = 0;
        slots.drain(|_, _, _| said += 1);
        assert!(said <= 1_000, "{said}");
    }
}
