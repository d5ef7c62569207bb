//! What a client has of one key.
//!
//! Not here: finding it, and its lock (`slots`).

use tollgate_lease::{HeldKey, TOKEN};
use tollgate_limit::Instant;

use super::Inspected;
use super::kept::KeptRefusal;
use super::replies::CommandWords;

/// One key.
pub(super) type KeySlot = HeldKey<Kept>;

/// What a client remembers of a key besides.
pub(super) struct Kept {
    /// The key as commands say it.
    pub(super) words: CommandWords,
    /// The refusal of a node that is kept, where the key is not lent.
    pub(super) refusal: Option<Box<KeptRefusal>>,
}

#[allow(clippy::cast_precision_loss)] // Shown, not decided by.
pub(super) fn inspect(slot: &KeySlot, now: Instant) -> Option<Inspected> {
    let tokens = slot.holding.peek(now)?;
    let held = slot.holding.held(now);
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
