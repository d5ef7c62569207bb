//! The slots of the key space: which node is in charge of each, who stands by, since which epoch.
//!
//! A node's rank for a slot comes from its name and the slot alone, so that a node that goes or comes moves only what
//! it had or gets. Not here: when slots change hands.

use tollgate_kit::{FNV, Reader, fnv, put_varint, scramble};

use crate::bytes::place;

/// How many slots the key space has.
pub const SLOTS: usize = 4_096;

/// The slot of a key, given a hash of it whose upper bits are good.
pub fn slot_of(hash: u64) -> u16 {
    (hash >> 52) as u16
}

/// No node: the place in the roster that no node has.
pub(crate) const NO_NODE: u16 = u16::MAX;

/// A slot, and the node that it is to go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotMove {
    /// Which.
    pub slot: u16,
    /// The node's place in the roster.
    pub to: u16,
}

/// A hand-over under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handing {
    /// Who will be in charge, by place in the roster.
    pub to: u16,
    /// The place in the log of the command that asked for it.
    pub index: u64,
}

/// A slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The place in the roster of the node in charge.
    pub in_charge: u16,
    /// That of the node that has the second copy and comes next.
    pub standby: u16,
    /// Grows with each change of the node in charge, and with each of its starts.
    pub epoch: u64,
    /// What is under way.
    pub handing: Option<Handing>,
    /// The zone that uses it most, from one; zero where that is not known.
    pub zone: u8,
    /// Whether an operator put it where it is.
    pub is_pinned: bool,
}

impl Slot {
    pub(crate) const EMPTY: Self = Self {
        in_charge: NO_NODE,
        standby: NO_NODE,
        epoch: 0,
        handing: None,
        zone: 0,
        is_pinned: false,
    };

    /// Gives it to another node.
    pub(crate) fn give(&mut self, to: u16) {
        self.in_charge = to;
        self.epoch += 1;
        self.handing = None;
    }

    pub(crate) fn put(&self, into: &mut Vec<u8>) {
        into.extend(self.in_charge.to_le_bytes());
        into.extend(self.standby.to_le_bytes());
        put_varint(into, self.epoch);
        into.push(self.zone);
        into.push(u8::from(self.is_pinned) | u8::from(self.handing.is_some()) << 1);
        if let Some(handing) = self.handing {
            into.extend(handing.to.to_le_bytes());
            put_varint(into, handing.index);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (in_charge, standby) = (reader.u16()?, reader.u16()?);
        let (epoch, zone) = (place(reader)?, reader.u8()?);
        let flags = reader.u8().filter(|flags| *flags < 4)?;
        let mut handing = None;
        if flags & 2 > 0 {
            let (to, index) = (reader.u16()?, place(reader)?);
            handing = Some(Handing { to, index });
        }
        Some(Self {
            in_charge,
            standby,
            epoch,
            handing,
            zone,
            is_pinned: flags & 1 > 0,
        })
    }
}

/// What a node's rank is drawn from.
pub(crate) fn rank_seed(name: &str) -> u64 {
    scramble(fnv(FNV, name.as_bytes()))
}

/// A node's rank for a slot; the highest comes first.
pub(crate) fn rank(seed: u64, slot: usize) -> u64 {
    scramble(seed ^ scramble(slot as u64))
}
