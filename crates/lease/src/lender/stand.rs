//! How the keys of a grantor stand: the sums of their pools, and one as it is.
//!
//! Not here: who is shown it.

use tollgate_limit::Instant;

use super::begin::Beginning;
use super::{Lender, add};
use crate::ModeKey;
use crate::amount::tokens;
use crate::pool::{Pool, PoolFigures};

/// How the keys of a grantor stand together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LenderStand {
    /// What was counted.
    pub figures: PoolFigures,
    /// Questions that were taken.
    pub questions: u64,
    /// Times that it began anew after a pause.
    pub pauses: u64,
    /// Keys that it keeps.
    pub keys: u64,
    /// Keys of which a predecessor's leases may be out.
    pub learning: u64,
    /// Leases that are out.
    pub lessees: u64,
    /// Whole tokens in pools.
    pub level: u64,
    /// Whole tokens of depth that are reserved.
    pub depth: u64,
    /// Tokens per second that are reserved, in thousandths.
    pub rate: u64,
    /// What lessees say they use, in thousandths of a token per second.
    pub want: u64,
    /// What those without a lease use, likewise.
    pub asked: u64,
}

impl Lender {
    /// How many questions of a key were answered again: what those let pass has passed before.
    pub fn repeated(&self, key: ModeKey) -> u64 {
        let pool = self.pools.get(key);
        pool.map_or(0, |pool| pool.figures().repeated)
    }

    /// The pool of a key at a time, or the one it would begin with: a copy, for those who judge.
    pub fn shown(&self, key: ModeKey, now: Instant) -> Pool {
        let clock = self.truly();
        let Some(pool) = self.pools.get(key) else {
            return Beginning {
                clock,
                ..self.beginning()
            }
            .fresh(now);
        };
        let mut pool = pool.clone();
        pool.tell_time(clock);
        pool.advance(now);
        pool
    }
}

impl LenderStand {
    pub(super) fn add(&mut self, pool: &Pool) {
        add(&mut self.figures, &pool.figures());
        let ((rate, depth), (want, asked)) = (pool.reserved(), pool.demand());
        self.keys += 1;
        self.learning += u64::from(pool.is_learning());
        self.lessees += pool.lessees() as u64;
        self.level = self.level.saturating_add(tokens(pool.level()));
        self.depth = self.depth.saturating_add(tokens(depth));
        let rate = tokens(rate.saturating_mul(1_000_000_000_000));
        self.rate = self.rate.saturating_add(rate);
        self.want = self.want.saturating_add(want);
        self.asked = self.asked.saturating_add(asked);
    }
}
