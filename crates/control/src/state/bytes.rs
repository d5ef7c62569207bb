//! The state as the bytes of a snapshot. Not here: how snapshots travel and where they are kept.

use std::collections::BTreeMap;

use tollgate_kit::{Reader, put_varint};

use super::{ControlState, NODES_MAX, ZONES_MAX};
use crate::bytes::{put_block, text};
use crate::roster::{RosterNode, ZONE_BYTES_MAX};
use crate::slots::{SLOTS, Slot};

/// The longest snapshot, in bytes.
pub(crate) const STATE_BYTES_MAX: usize = 1 << 20;

impl ControlState {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::with_capacity(64 << 10);
        put_varint(&mut to, self.contracts);
        put_varint(&mut to, self.shares);
        put_varint(&mut to, self.zones.len() as u64);
        for zone in &self.zones {
            put_block(&mut to, zone.as_bytes());
        }
        put_varint(&mut to, self.nodes.len() as u64);
        for (place, node) in &self.nodes {
            to.extend(place.to_le_bytes());
            node.put(&mut to);
        }
        self.slots.iter().for_each(|slot| slot.put(&mut to));
        to
    }

    /// The state of all these bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let it = Self::read(&mut reader)?;
        (reader.0.is_empty() && bytes.len() <= STATE_BYTES_MAX).then_some(it)
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (contracts, shares) = (reader.number()?, reader.number()?);
        let count = reader.count().filter(|count| *count <= ZONES_MAX)?;
        let zones = (0..count).map(|_| text(reader, ZONE_BYTES_MAX));
        let zones = zones.collect::<Option<Vec<_>>>()?;
        let count = reader.count().filter(|count| *count <= NODES_MAX)?;
        let mut nodes = BTreeMap::new();
        for _ in 0..count {
            let place = reader.u16()?;
            let is_new = nodes.insert(place, RosterNode::read(reader)?).is_none();
            if !is_new || usize::from(place) >= NODES_MAX {
                return None;
            }
        }
        let slots = (0..SLOTS).map(|_| Slot::read(reader));
        Some(Self {
            nodes,
            slots: slots.collect::<Option<_>>()?,
            zones,
            contracts,
            shares,
        })
    }
}
