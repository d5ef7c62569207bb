//! What a client has of one key.
//!
//! Not here: finding it, and its lock (`slots`).

use tollgate_lease::{Holding, TOKEN};
use tollgate_limit::Instant;

use super::Inspected;
use super::kept::KeptRefusal;
use super::replies::CommandWords;

/// One key.
pub(super) struct KeySlot {
    pub(super) holding: Holding,
    /// The key as commands say it.
    pub(super) words: CommandWords,
    /// The refusal of a node that is kept, where the key is not lent.
    pub(super) refusal: Option<Box<KeptRefusal>>,
    pub(super) used: Instant,
    /// One, or two where it was asked for since room was last looked for.
    pub(super) uses: u8,
    /// Whether it is noted among those that have something to say.
    pub(super) is_noted: bool,
}

impl KeySlot {
    /// Whether it has something to say and is not noted yet; it is from here on.
    #[inline]
    pub(super) fn speaks_up(&mut self) -> bool {
        let has_more = !self.is_noted && self.holding.has_something_to_say();
        self.is_noted |= has_more;
        has_more
    }

    #[allow(clippy::cast_precision_loss)] // Shown, not decided by.
    pub(super) fn inspect(&self, now: Instant) -> Option<Inspected> {
        let tokens = self.holding.peek(now)?;
        let held = self.holding.held(now);
        let whole = |amount: i128| u64::try_from(amount.max(0) / TOKEN).unwrap_or(u64::MAX);
        let rates = held.iter().map(|(_, held)| held.rate);
        Some(Inspected {
            tokens,
            rate: rates.min().unwrap_or(0) as f64 * 1e9 / TOKEN as f64,
            depth: held
                .iter()
                .map(|(_, held)| whole(held.depth))
                .min()
                .unwrap_or(0),
        })
    }
}
