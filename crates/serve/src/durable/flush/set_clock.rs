//! Moves rows when the clock is set ahead.
//!
//! The engine moves what is in memory. The row of a key that left memory would be outdated on the new clock, and its
//! key would get a second bucket: so all rows are moved first, and none is read or written until the clock has changed.
//! If the clock then does not change, moved rows are brought back when read, as is every row from the future, such as
//! those of before a clock was set back. Not here: rows of gossiped policies, and of contracts that are not loaded.

use std::sync::{Arc, mpsc};

use tollgate_limit::Instant;
use tollgate_node::Node;

use super::{CellWrite, Order, Work};
use crate::durable::StoreError;
use crate::durable::counted::CountedContract;
use crate::engine::Rows;

pub(super) struct Move {
    from: Instant,
    to: Instant,
    moved: mpsc::SyncSender<Result<(), StoreError>>,
    /// Disconnects when the clock has changed.
    followed: mpsc::Receiver<()>,
}

/// A handle to have rows moved.
pub(super) fn mover(orders: &mpsc::SyncSender<Order>) -> Arc<dyn Rows> {
    Arc::new(Mover(orders.clone()))
}

struct Mover(mpsc::SyncSender<Order>);

impl Rows for Mover {
    fn move_ahead(&self, from: Instant, to: Instant, follow: &dyn Fn()) -> Result<(), String> {
        let (moved, wait) = mpsc::sync_channel(1);
        let (_following, followed) = mpsc::sync_channel(1);
        let order = Order::Move(Move {
            from,
            to,
            moved,
            followed,
        });
        let gone = || StoreError::Gone.to_string();
        self.0.send(order).map_err(|_| gone())?;
        let done = wait.recv().map_err(|_| gone())?;
        done.map_err(|error| error.to_string())?;
        follow();
        Ok(())
    }
}

impl Work {
    pub(super) fn move_ahead(&mut self, order: &Move) {
        let store = Arc::clone(&self.store);
        let written = self.flush();
        let _moving = store.moving.write();
        let done = written.and_then(|()| self.move_rows(order.from, order.to));
        let _ = order.moved.send(done);
        // Either the clock has changed, or the thread that does it has ended.
        let _ = order.followed.recv();
    }

    fn move_rows(&mut self, from: Instant, to: Instant) -> Result<(), StoreError> {
        let node = Arc::clone(&self.node);
        for place in node.durable_contracts() {
            self.move_rows_of(&node, place, from, to)?;
        }
        Ok(())
    }

    fn move_rows_of(
        &mut self,
        node: &Node,
        place: usize,
        from: Instant,
        to: Instant,
    ) -> Result<(), StoreError> {
        let Some(of) = CountedContract::of(node, place) else {
            return Ok(());
        };
        let numbers = self.numbers(&of, from)?;
        let known = self.store.known_as(numbers, &of)?;
        let mut after = None;
        loop {
            let found = self
                .store
                .journal
                .cells_after(numbers.contract, after, from)?;
            let Some(last) = found.last() else {
                return Ok(());
            };
            after = Some(last.print);
            let mut rows = Vec::new();
            for row in &found {
                let Some(cell) = known.cell(row) else {
                    continue;
                };
                // A row that cannot be read counts as absent, before and after.
                let ahead = node.row_ahead(place, cell, from, to);
                let Some((stored, own)) = ahead.ok().flatten() else {
                    continue;
                };
                let shape = match own {
                    Some(terms) => self.shape_of(&terms, numbers.contract, of.contract, from)?,
                    None => numbers.shape,
                };
                rows.push(CellWrite {
                    contract: numbers.contract,
                    shape,
                    print: row.print,
                    state: Some((stored.bytes, stored.fresh_at.as_nanos())),
                });
            }
            self.store.journal.write(rows)?;
        }
    }
}
