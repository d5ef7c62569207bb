//! Snapshots on their way: the leader sends parts, a node that lacks too much puts them together.
//!
//! Not here: what is in them, and when they are taken.

use std::sync::Arc;

use noraft::LogPosition;

use super::{Control, ControlTime};
use crate::event::ControlEvent;
use crate::file::StateSnapshot;
use crate::frame::{FrameBody, SnapshotPart};
use crate::state::{ControlState, STATE_BYTES_MAX};

/// A snapshot that the leader sends to a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    index: u64,
    /// Up to where it has arrived, and was sent.
    arrived: u64,
    sent: u64,
}

/// A snapshot of which parts have come.
#[derive(Clone, Debug)]
pub(super) struct Incoming {
    position: LogPosition,
    bytes: Vec<u8>,
}

/// Bytes of one part, and parts under way at once.
const PART_BYTES: u64 = 8 << 10;
const PARTS_AT_ONCE: u64 = 8;

impl Control {
    /// Sends what a node lacks of the snapshot, again where nothing of it was answered for.
    pub(super) fn send_parts(&mut self, to: u64) {
        let index = self.snapshot.position.index.get();
        if let Some(lead) = self.lead.as_mut().filter(|_| index > 0) {
            let transfer = lead.transfers.entry(to).or_insert(Transfer {
                index,
                arrived: 0,
                sent: 0,
            });
            if transfer.index != index {
                (transfer.index, transfer.arrived) = (index, 0);
            }
            transfer.sent = transfer.arrived;
            self.send_more(to);
        }
    }

    fn send_more(&mut self, to: u64) {
        let (snapshot, term) = (self.snapshot.clone(), self.log.term());
        let total = snapshot.bytes.len() as u64;
        loop {
            let Some(lead) = &mut self.lead else {
                return;
            };
            let Some(transfer) = lead.transfers.get_mut(&to) else {
                return;
            };
            let open = transfer.sent < total.min(transfer.arrived + PARTS_AT_ONCE * PART_BYTES);
            if !open {
                return;
            }
            let (start, end) = (transfer.sent, total.min(transfer.sent + PART_BYTES));
            transfer.sent = end;
            let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
            let part = SnapshotPart {
                term,
                position: snapshot.position,
                config: snapshot.config.clone(),
                total,
                offset: start,
                bytes: Arc::from(snapshot.bytes.get(range).unwrap_or(&[])),
            };
            self.send(to, FrameBody::Snapshot(part));
        }
    }

    pub(super) fn handle_part_reply(&mut self, from: u64, index: u64, next: u64) {
        let Some(lead) = &mut self.lead else {
            return;
        };
        let total = self.snapshot.bytes.len() as u64;
        let transfer = lead
            .transfers
            .get_mut(&from)
            .filter(|transfer| transfer.index == index);
        if let Some(transfer) = transfer {
            transfer.arrived = transfer.arrived.max(next).min(total);
            if transfer.arrived == total {
                lead.transfers.remove(&from);
            } else {
                self.send_more(from);
            }
        }
    }

    pub(super) fn handle_part(&mut self, from: u64, part: &SnapshotPart, now: ControlTime) {
        let is_current = part.term == self.log.term() && self.election.leader == Some(from);
        let fits = usize::try_from(part.total).is_ok_and(|total| total <= STATE_BYTES_MAX);
        let index = part.position.index.get();
        if !is_current || !fits || index <= self.applied {
            return;
        }
        let incoming = self
            .tenure
            .incoming
            .get_or_insert_with(|| Incoming::new(part.position));
        if incoming.position != part.position {
            *incoming = Incoming::new(part.position);
        }
        if incoming.bytes.len() as u64 == part.offset {
            incoming.bytes.extend_from_slice(&part.bytes);
        }
        let next = incoming.bytes.len() as u64;
        self.send(from, FrameBody::SnapshotReply { index, next });
        if next == part.total {
            self.install(part, now);
        }
    }

    fn install(&mut self, part: &SnapshotPart, now: ControlTime) {
        let Some(incoming) = self.tenure.incoming.take() else {
            return;
        };
        let Some(state) = ControlState::decode(&incoming.bytes) else {
            return;
        };
        let (position, config) = (part.position, part.config.clone());
        if !self
            .log
            .raft
            .handle_snapshot_installed(position, config.clone())
        {
            return;
        }
        self.log.trim();
        self.applied = position.index.get();
        self.state = Arc::new(state);
        self.snapshot = StateSnapshot {
            position,
            config,
            bytes: incoming.bytes.into(),
        };
        self.disk.rewrite();
        self.event(ControlEvent::Changed);
        self.drain(now);
    }
}

impl Incoming {
    fn new(position: LogPosition) -> Self {
        Self {
            position,
            bytes: Vec::new(),
        }
    }
}
