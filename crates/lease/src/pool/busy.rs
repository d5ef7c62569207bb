//! What only a pool has that something was lent of: a key that is asked for each time does without.
//!
//! Not here: what it means.

use core::ops::{Deref, DerefMut};
use std::collections::{BTreeMap, VecDeque};

use tollgate_limit::Instant;

use super::promise::Promised;
use super::{Pool, PoolFigures, Record, Sums, Unknown};

/// Records, and what follows from there being some.
#[derive(Clone, Debug)]
pub(super) struct Busy {
    pub(super) records: BTreeMap<u64, Record>,
    pub(super) sums: Sums,
    pub(super) promised: Promised,
    /// No record ends before that.
    pub(super) ends: Instant,
    pub(super) nudges: VecDeque<u64>,
    /// What was counted, besides requests that passed.
    pub(super) figures: PoolFigures,
}

/// The same, made when it is changed first.
#[derive(Clone, Debug, Default)]
pub(super) struct MaybeBusy(Option<Box<Busy>>);

impl Busy {
    const NOTHING: Self = Self {
        records: BTreeMap::new(),
        sums: Sums {
            rate: 0,
            depth: 0,
            want: 0,
        },
        promised: Promised::nothing(),
        ends: Instant::LAST,
        nudges: VecDeque::new(),
        figures: PoolFigures::NOTHING,
    };
}

impl MaybeBusy {
    /// What there is of it.
    pub(super) fn there(&mut self) -> Option<&mut Busy> {
        self.0.as_deref_mut()
    }

    /// Lets it go where nothing is lent or promised at `now`: what it counted.
    pub(super) fn let_go(&mut self, now: Instant) -> Option<PoolFigures> {
        let is_over = |busy: &mut Box<Busy>| {
            busy.records.is_empty() && busy.nudges.is_empty() && !busy.promised.counts(now)
        };
        self.0.take_if(is_over).map(|busy| busy.figures)
    }

    /// Bytes of memory that it takes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |_| size_of::<Busy>())
    }
}

impl Deref for MaybeBusy {
    type Target = Busy;

    fn deref(&self) -> &Busy {
        static NOTHING: Busy = Busy::NOTHING;
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for MaybeBusy {
    fn deref_mut(&mut self) -> &mut Busy {
        self.0.get_or_insert_with(|| Box::new(Busy::NOTHING))
    }
}

impl Pool {
    /// Takes no more room than a key that nothing was ever lent of, where nothing is lent: what was counted.
    pub(crate) fn tidy(&mut self) -> Option<PoolFigures> {
        self.busy.let_go(self.level.at)
    }

    /// Bytes of memory that it takes beside its own.
    pub(crate) fn heap_bytes(&self) -> usize {
        let unknown = self.unknown.as_ref().map_or(0, |_| size_of::<Unknown>());
        let records = self.lessees() * size_of::<(u64, Record)>();
        self.count_bytes() + self.busy.heap_bytes() + unknown + records
    }
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::pool::Reserved;
    use crate::{Limits, Rules};

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * SECOND)
    }

    fn successor() -> Pool {
        let limits = Limits::new(100, SECOND, 100).unwrap();
        Pool::restating(limits, Rules::default(), 1, at(0))
    }

    #[test]
    fn a_key_that_nothing_is_lent_of_takes_112_bytes() {
        let mut pool = successor();
        assert!(pool.heap_bytes() > 0, "a predecessor may have lent");
        pool.spend(1, at(4));
        pool.charge(1, None, at(5));
        pool.reset(at(6));
        assert_eq!((size_of::<Pool>(), pool.heap_bytes()), (112, 0));
    }

    #[test]
    fn what_was_lent_takes_no_room_once_it_is_over_and_is_counted_once() {
        let mut pool = successor();
        pool.advance(at(4));
        let kept = Reserved {
            rate: 1,
            depth: 1,
            want: 1,
        };
        pool.reserve(7, &kept, at(5));
        assert!(pool.tidy().is_none());
        pool.advance(at(6));
        let counted = pool.tidy().unwrap();
        assert_eq!((counted.ended, pool.figures().ended), (1, 0));
        assert_eq!(pool.heap_bytes(), 0);
    }
}
