//! Grantors that fall, and those who come after them.
//!
//! Not here: what they grant.

use std::collections::BTreeMap;

use super::{Event, World};
use crate::{Pool, decode_ledger, encode_ledger};

/// Who has granted so far.
pub(super) struct Reigns {
    pub(super) generation: u64,
    /// The grantor whose books are gone on with.
    pub(super) book: u64,
    /// What was promised by the books of each and has not passed yet.
    pub(super) promised: BTreeMap<u64, u64>,
}

impl Reigns {
    pub(super) const fn first() -> Self {
        Self {
            generation: 1,
            book: 1,
            promised: BTreeMap::new(),
        }
    }
}

impl World {
    pub(super) fn fall(&mut self, time: u64, is_kept: bool) {
        let Some(mut pool) = self.pool.take() else {
            return;
        };
        pool.advance(self.instant());
        let until = self.now() + pool.term_ns();
        for (number, client) in self.clients.iter_mut().enumerate() {
            let booked = pool.booked(number as u64);
            client.orphan = booked.map(|booked| (booked.stamp, booked.tokens, until));
        }
        self.kept = Some(pool);
        self.at(self.now() + time, Event::Rise(is_kept));
    }

    pub(super) fn rise(&mut self, is_kept: bool) {
        let now = self.instant();
        self.reigns.generation += 1;
        let kept = self.kept.take().filter(|_| is_kept);
        if kept.is_none() {
            self.reigns.book = self.reigns.generation;
        }
        self.pool = Some(match kept {
            Some(pool) => {
                for client in &mut self.clients {
                    client.orphan = None;
                }
                let pool = if self.window.is_some() {
                    pool
                } else {
                    // Through the bytes that a store would keep.
                    let mut kept = decode_ledger(&encode_ledger(&[(0, pool)])).unwrap();
                    kept.pop().unwrap().1.under(self.rules)
                };
                pool.resume(self.reigns.generation)
            }
            None => self.fit(Pool::restating(
                self.limits,
                self.rules,
                self.reigns.generation,
                now,
            )),
        });
    }
}
