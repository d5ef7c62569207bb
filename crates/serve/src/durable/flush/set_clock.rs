//! Rows go with the clock where it is set ahead.
//!
//! What is in memory is moved by the engine. A row of a key that left memory would say nothing by the time that is
//! followed, and its key would get a second bucket: so all rows are moved first, and none is read or written until the
//! clock was followed. One that was moved and then not followed is brought back when it is read, as every row of a time
//! to come is. Rows of the time before a clock was set back are brought back likewise. Not here: rows of policies that
//! nodes count together, and of contracts that are not loaded.

use std::sync::{Arc, mpsc};

use tollgate_limit::Instant;
use tollgate_node::Node;

use super::{CellWrite, Order, Work};
use crate::durable::StoreError;
use crate::durable::counted::CountedContract;
use crate::engine::Rows;

/// The clock is set ahead.
pub(super) struct Move {
    from: Instant,
    to: Instant,
    moved: mpsc::SyncSender<Result<(), StoreError>>,
    /// Ends when the clock was followed.
    followed: mpsc::Receiver<()>,
}

/// A way to have rows moved.
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
        // The clock was followed, or the thread that does that is gone.
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
                // A row that cannot be read counts as none, before and after.
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
