//! Who belongs to the cluster, and in what state each node is.
//!
//! Not here: who is in charge of what, and how states change.

use tollgate_kit::{Reader, put_varint};

use crate::bytes::{put_block, text};

/// A node as it introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Its name, which is its own as long as the cluster lives.
    pub name: String,
    /// The number of its data directory, by chance; another directory, another number.
    pub id: u64,
    /// How often it has started with this directory.
    pub boot: u64,
    /// Where it is reached.
    pub address: String,
    /// The zone it is in; empty where zones are not used.
    pub zone: String,
}

/// The longest name and address, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 128;
/// The longest name of a zone, in bytes.
pub(crate) const ZONE_BYTES_MAX: usize = 32;

impl NodeInfo {
    /// Appends it.
    pub(crate) fn put(&self, into: &mut Vec<u8>) {
        put_block(into, self.name.as_bytes());
        into.extend(self.id.to_le_bytes());
        put_varint(into, self.boot);
        put_block(into, self.address.as_bytes());
        put_block(into, self.zone.as_bytes());
    }

    /// Reads one.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let it = Self {
            name: text(reader, NAME_BYTES_MAX)?,
            id: reader.u64()?,
            boot: reader.number()?,
            address: text(reader, NAME_BYTES_MAX)?,
            zone: text(reader, ZONE_BYTES_MAX)?,
        };
        (!it.name.is_empty() && it.id > 0).then_some(it)
    }
}

/// What a node of the roster is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// It is there.
    Present,
    /// It is there, and what it is in charge of moves to others.
    Draining,
    /// It has not answered since that time of day, in milliseconds since 1970.
    Dead {
        /// By the leader's clock.
        since: u64,
    },
    /// It said that it goes.
    Left,
}

impl NodeState {
    /// Whether it can be in charge of slots.
    pub fn is_there(self) -> bool {
        matches!(self, Self::Present | Self::Draining)
    }

    pub(crate) fn put(self, into: &mut Vec<u8>) {
        match self {
            Self::Present => into.push(0),
            Self::Draining => into.push(1),
            Self::Dead { since } => {
                into.push(2);
                put_varint(into, since);
            }
            Self::Left => into.push(3),
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(match reader.u8()? {
            0 => Self::Present,
            1 => Self::Draining,
            2 => Self::Dead {
                since: reader.number()?,
            },
            3 => Self::Left,
            _ => return None,
        })
    }
}

/// A node of the roster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterNode {
    /// Who it is.
    pub info: NodeInfo,
    /// What it is doing.
    pub state: NodeState,
    /// Whether it is expected to be there: a node that is dead and expected is a fault.
    pub is_expected: bool,
    /// Whether its share of `supply` and `split` is its own; else others have it.
    pub has_share: bool,
    /// The place in the log at which it joined: nodes that joined earlier vote first.
    pub joined: u64,
}

impl RosterNode {
    pub(crate) fn put(&self, into: &mut Vec<u8>) {
        self.info.put(into);
        self.state.put(into);
        into.push(u8::from(self.is_expected) | u8::from(self.has_share) << 1);
        put_varint(into, self.joined);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (info, state) = (NodeInfo::read(reader)?, NodeState::read(reader)?);
        let flags = reader.u8().filter(|flags| *flags < 4)?;
        Some(Self {
            info,
            state,
            is_expected: flags & 1 > 0,
            has_share: flags & 2 > 0,
            joined: reader.number()?,
        })
    }
}
