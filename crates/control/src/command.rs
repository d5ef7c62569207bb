//! What changes the replicated state, as bytes of the log.
//!
//! Not here: what each command does (`state`).

use std::fmt;

use tollgate_kit::{Reader, put_varint};

use crate::bytes::{put_block, text};
use crate::roster::{NAME_BYTES_MAX, NodeInfo, ZONE_BYTES_MAX};
use crate::slots::{SLOTS, SlotMove};

/// One change of the control state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlCommand {
    /// The first nodes, which get all slots.
    Found(Vec<NodeInfo>),
    /// A node joins, or comes back with another data directory.
    Join(NodeInfo),
    /// A node started again, or came back from the dead.
    Return(NodeInfo),
    /// A node answers no more, since a time of day in milliseconds.
    Dead {
        /// Its number.
        id: u64,
        /// Since when.
        since: u64,
    },
    /// The share by right of a dead node goes to the others.
    Lapse {
        /// Its number.
        id: u64,
    },
    /// A node goes, having stopped.
    Leave {
        /// Its number.
        id: u64,
    },
    /// A node that is gone for good is struck off.
    Forget {
        /// Its name.
        name: String,
    },
    /// What a node is in charge of moves to others.
    Drain {
        /// Its name.
        name: String,
    },
    /// A slot moves to a node and stays there.
    Move {
        /// Which.
        slot: u16,
        /// The node's name.
        name: String,
    },
    /// The nodes in charge are to hand over.
    Hand(Vec<SlotMove>),
    /// The nodes in charge have stopped: others are in charge. Each names the place of its `Hand`.
    Change(Vec<SlotStop>),
    /// Hand-overs that took too long are called off.
    CallOff(Vec<SlotStop>),
    /// A zone sends most requests of a slot.
    Prefer {
        /// Which.
        slot: u16,
        /// The zone's name.
        zone: String,
    },
    /// The revision of contracts that is in force.
    Contracts {
        /// Which.
        revision: u64,
    },
    /// Whether a node is expected to be there.
    Expect {
        /// Its name.
        name: String,
        /// Whether.
        is_expected: bool,
    },
}

/// A slot whose node in charge stopped, or is to go on, in one hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotStop {
    /// Which.
    pub slot: u16,
    /// The place in the log of the command that asked for the hand-over.
    pub hand: u64,
}

/// Why a command changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ControlError {
    /// The roster has no such node.
    UnknownNode = 1,
    /// The node is still there.
    StillThere = 2,
    /// The roster has as many nodes as it may.
    RosterFull = 3,
    /// There is no such slot.
    NoSuchSlot = 4,
    /// What it was about has changed since.
    Stale = 5,
    /// A node of that name is there.
    NameTaken = 6,
    /// No other node could be in charge.
    LastNode = 7,
    /// No majority has taken the command in; it may or may not happen.
    NoMajority = 8,
    /// Too many commands wait.
    Busy = 9,
    /// The node's number of starts is not above the one that is known: its disk is an old one or a copy.
    OldDisk = 10,
}

impl ControlError {
    /// The error of that number.
    pub(crate) fn of(number: u8) -> Option<Self> {
        [
            Self::UnknownNode,
            Self::StillThere,
            Self::RosterFull,
            Self::NoSuchSlot,
            Self::Stale,
            Self::NameTaken,
            Self::LastNode,
            Self::NoMajority,
            Self::Busy,
            Self::OldDisk,
        ]
        .into_iter()
        .find(|error| *error as u8 == number)
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownNode => "the roster has no such node",
            Self::StillThere => "the node is still there; drain and stop it first",
            Self::RosterFull => "the roster is full; forget nodes that are gone",
            Self::NoSuchSlot => "slots are numbered from 0 to 4095",
            Self::Stale => "what the command was about has changed since",
            Self::NameTaken => "another node of that name is there",
            Self::LastNode => "no other node could take over",
            Self::NoMajority => "no majority of voters answers; the command may or may not happen",
            Self::Busy => "too many commands wait; try again",
            Self::OldDisk => "the data directory is an old one or a copy",
        })
    }
}

impl std::error::Error for ControlError {}

/// The longest command, in bytes.
pub(crate) const COMMAND_BYTES_MAX: usize = 16 << 10;
/// The most slots of one command, and the most nodes that found a cluster.
pub(crate) const LIST_MAX: usize = 1_024;
pub(crate) const FOUNDERS_MAX: usize = 5;

impl ControlCommand {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Self::Found(nodes) => {
                to.push(1);
                put_varint(&mut to, nodes.len() as u64);
                nodes.iter().for_each(|node| node.put(&mut to));
            }
            Self::Join(info) => put_info(&mut to, 2, info),
            Self::Return(info) => put_info(&mut to, 3, info),
            Self::Dead { id, since } => {
                put_id(&mut to, 4, *id);
                put_varint(&mut to, *since);
            }
            Self::Lapse { id } => put_id(&mut to, 5, *id),
            Self::Leave { id } => put_id(&mut to, 6, *id),
            Self::Forget { name } => put_name(&mut to, 7, name),
            Self::Drain { name } => put_name(&mut to, 8, name),
            Self::Move { slot, name } => {
                put_name(&mut to, 9, name);
                put_varint(&mut to, *slot);
            }
            Self::Hand(moves) => {
                to.push(10);
                put_varint(&mut to, moves.len() as u64);
                for SlotMove { slot, to: node } in moves {
                    put_varint(&mut to, *slot);
                    put_varint(&mut to, *node);
                }
            }
            Self::Change(stops) => put_stops(&mut to, 11, stops),
            Self::CallOff(stops) => put_stops(&mut to, 12, stops),
            Self::Prefer { slot, zone } => {
                put_name(&mut to, 13, zone);
                put_varint(&mut to, *slot);
            }
            Self::Contracts { revision } => {
                to.push(14);
                put_varint(&mut to, *revision);
            }
            Self::Expect { name, is_expected } => {
                put_name(&mut to, 15, name);
                to.push(u8::from(*is_expected));
            }
        }
        to
    }

    /// The command of all these bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes.get(..bytes.len().min(COMMAND_BYTES_MAX))?);
        let it = Self::read(&mut reader)?;
        (reader.0.is_empty() && bytes.len() <= COMMAND_BYTES_MAX).then_some(it)
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(match reader.u8()? {
            1 => {
                let count = reader.count().filter(|count| *count <= FOUNDERS_MAX)?;
                let nodes = (0..count).map(|_| NodeInfo::read(reader));
                Self::Found(nodes.collect::<Option<_>>()?)
            }
            2 => Self::Join(NodeInfo::read(reader)?),
            3 => Self::Return(NodeInfo::read(reader)?),
            4 => Self::Dead {
                id: reader.u64()?,
                since: reader.number()?,
            },
            5 => Self::Lapse { id: reader.u64()? },
            6 => Self::Leave { id: reader.u64()? },
            7 => Self::Forget {
                name: name(reader)?,
            },
            8 => Self::Drain {
                name: name(reader)?,
            },
            9 => Self::Move {
                name: name(reader)?,
                slot: slot(reader)?,
            },
            10 => {
                let count = reader.count().filter(|count| *count <= LIST_MAX)?;
                let moves = (0..count).map(|_| {
                    let (slot, to) = (slot(reader)?, reader.number()?);
                    u16::try_from(to).ok().map(|to| SlotMove { slot, to })
                });
                Self::Hand(moves.collect::<Option<_>>()?)
            }
            11 => Self::Change(stops(reader)?),
            12 => Self::CallOff(stops(reader)?),
            13 => Self::Prefer {
                zone: text(reader, ZONE_BYTES_MAX)?,
                slot: slot(reader)?,
            },
            14 => Self::Contracts {
                revision: reader.number()?,
            },
            15 => Self::Expect {
                name: name(reader)?,
                is_expected: reader.u8()? > 0,
            },
            _ => return None,
        })
    }
}

fn put_info(to: &mut Vec<u8>, kind: u8, info: &NodeInfo) {
    to.push(kind);
    info.put(to);
}

fn put_id(to: &mut Vec<u8>, kind: u8, id: u64) {
    to.push(kind);
    to.extend(id.to_le_bytes());
}

fn put_name(to: &mut Vec<u8>, kind: u8, name: &str) {
    to.push(kind);
    put_block(to, name.as_bytes());
}

fn put_stops(to: &mut Vec<u8>, kind: u8, stops: &[SlotStop]) {
    to.push(kind);
    put_stop_list(to, stops);
}

pub(crate) fn put_stop_list(to: &mut Vec<u8>, stops: &[SlotStop]) {
    put_varint(to, stops.len() as u64);
    for stop in stops {
        put_varint(to, stop.slot);
        put_varint(to, stop.hand);
    }
}

fn name(reader: &mut Reader<'_>) -> Option<String> {
    text(reader, NAME_BYTES_MAX)
}

pub(crate) fn slot(reader: &mut Reader<'_>) -> Option<u16> {
    let slot = u16::try_from(reader.number()?).ok()?;
    (usize::from(slot) < SLOTS).then_some(slot)
}

pub(crate) fn stops(reader: &mut Reader<'_>) -> Option<Vec<SlotStop>> {
    let count = reader.count().filter(|count| *count <= LIST_MAX)?;
    let stops = (0..count).map(|_| {
        Some(SlotStop {
            slot: slot(reader)?,
            hand: reader.number()?,
        })
    });
    stops.collect()
}
