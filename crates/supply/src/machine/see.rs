//! What can be seen of a machine without changing it.
//!
//! Not here: names and forms of metrics.

use tollgate_gossip::{Footprint, ModeKey, NodeId};
use tollgate_limit::Instant;

use super::Machine;
use crate::cell::SupplyCell;
use crate::figures::{Inspection, SupplyFigures};
use crate::loans::{BookedLoan, Borrowed};
use crate::setup::Boot;

impl Machine {
    /// This node.
    pub fn me(&self) -> NodeId {
        self.own.me
    }

    /// This boot.
    pub fn boot(&self) -> Boot {
        self.own.boot
    }

    /// Whether nothing is asked, lent or borrowed, and every node has agreed to where this one stands.
    pub fn is_quiet(&self) -> bool {
        let is_quiet = |cell: &SupplyCell| {
            cell.lent.is_empty() && cell.borrowed.is_empty() && cell.asking.is_quiet()
        };
        self.cells.values().all(is_quiet) && self.home.is_settled()
    }

    /// How a key stands, in full.
    pub fn inspect(&self, key: ModeKey, now: Instant) -> Inspection {
        let now = now.max(self.now);
        self.inspection(&self.view(key, now), now)
    }

    fn inspection(&self, cell: &SupplyCell, now: Instant) -> Inspection {
        let ground = &self.home.ground;
        let party = self.party(cell, now);
        let leased = self.own.config.lease.map(|_| ground.until);
        Inspection {
            usable: party.supply,
            home: ground.home,
            lent: cell.lent(),
            borrowed: cell.borrowed(),
            asked: cell.asking.wanted(),
            demand: cell.demand.rate(self.own.config.round, now),
            fill_milli: party.fill_milli(),
            tokens: cell.bucket.tokens,
            depth: ground.depth(party.supply),
            quarantine_until: Some(ground.from).filter(|from| now < *from),
            lease_until: leased,
            loans: u32::try_from(cell.lent.len() + cell.borrowed.len()).unwrap_or(u32::MAX),
            is_settled: self.home.is_settled(),
            boot: self.own.boot,
        }
    }

    /// What was counted since the start.
    pub fn figures(&self) -> SupplyFigures {
        SupplyFigures {
            frames_sent: self.post.frames_sent,
            bytes_sent: self.post.bytes_sent,
            authority_heard: self.tenure.heard,
            ..self.figures
        }
    }

    /// Bytes of state held now.
    pub fn footprint(&self) -> Footprint {
        let one = size_of::<SupplyCell>() + size_of::<ModeKey>();
        Footprint {
            local: (self.cells.len() * one) as u64,
            extra: self.cells.heap_bytes(),
        }
    }

    /// Bytes of memory that it takes.
    pub fn held(&self) -> u64 {
        self.cells.held() + self.busy.len() as u64 * BUSY_BYTES
    }

    /// Every key that is known, in ascending order.
    pub fn keys(&self) -> Vec<ModeKey> {
        self.cells.keys()
    }

    /// So many of the keys that are known.
    pub(crate) fn some_keys(&self, count: usize) -> Vec<ModeKey> {
        self.cells.iter().take(count).map(|(key, _)| key).collect()
    }

    /// How many keys are known.
    pub fn keys_count(&self) -> usize {
        self.cells.len()
    }

    /// Whether something is known of a key.
    pub fn knows(&self, key: ModeKey) -> bool {
        self.cells.contains_key(key)
    }

    /// How a key stands at `now`, its books, and from when on the home is valid.
    pub(crate) fn books(
        &self,
        key: ModeKey,
        now: Instant,
    ) -> (Inspection, Vec<BookedLoan>, Vec<Borrowed>, Instant) {
        let now = now.max(self.now);
        let cell = self.view(key, now);
        let (seen, from) = (self.inspection(&cell, now), self.home.ground.from);
        (seen, cell.lent.clone(), cell.borrowed.clone(), from)
    }
}

/// About what a place in a tree takes.
const BUSY_BYTES: u64 = 24;
