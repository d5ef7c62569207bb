//! What nodes send each other, as bytes and back: one codec, bounded, with a typed refusal of what cannot be read.
//!
//! Not here: seals, streams, and what frames do.

use std::sync::Arc;

use noraft::{ClusterConfig, LogEntries, LogIndex, LogPosition, Message, NodeId, Term};
use tollgate_kit::{Reader, put_varint};
use tollgate_mode::Malformed;

use crate::bytes::{membership, place, position, put_block, put_membership, put_position, text};
use crate::command::{
    COMMAND_BYTES_MAX, ControlError, FOUNDERS_MAX, LIST_MAX, SlotStop, put_stop_list, slot, stops,
};
use crate::log::{Commands, Entries};
use crate::roster::{NAME_BYTES_MAX, NodeInfo, ZONE_BYTES_MAX};

/// The longest frame.
pub const CONTROL_FRAME_MAX: usize = 64 << 10;
const VERSION: u8 = 1;

/// A frame: who sends it to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlFrame {
    /// The cluster of the sender; zero for a node that has none.
    pub(crate) cluster: u64,
    /// The sender's number.
    pub(crate) from: u64,
    /// The receiver's number; zero where it is not known.
    pub(crate) to: u64,
    /// Which start of the sender it is from.
    pub(crate) boot: u64,
    pub(crate) body: FrameBody,
}

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FrameBody {
    /// Who the sender is, and what it remembers.
    Hello(Hello),
    /// Answers a hello.
    Welcome(Welcome),
    /// A cluster is founded by these nodes.
    Found(Vec<NodeInfo>),
    /// A message of Raft other than an answer to the leader.
    Raft(RaftFrame),
    /// Answers the leader, and renews what the sender is in charge of.
    Reply(NodeReply),
    /// Would the receiver vote for the sender?
    PreVote(LogPosition),
    /// It would or would not.
    PreVoteReply(bool),
    /// A part of a snapshot.
    Snapshot(SnapshotPart),
    /// Up to where parts of a snapshot have arrived.
    SnapshotReply { index: u64, next: u64 },
    /// A command for the leader.
    Request { ticket: u64, command: Vec<u8> },
    /// What became of it.
    Outcome {
        ticket: u64,
        error: Option<ControlError>,
    },
    /// The sender does not work with the receiver.
    Refused(ControlError),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) info: NodeInfo,
    pub(crate) seen: SeenPosition,
}

/// The furthest that a node was seen: its log never goes back behind that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenPosition {
    pub(crate) boot: u64,
    pub(crate) term: u64,
    pub(crate) last: LogPosition,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) info: NodeInfo,
    /// The leader's name; empty where it is not known.
    pub(crate) leader: String,
    pub(crate) seen: Option<SeenPosition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RaftFrame {
    /// The leader's round; zero in messages that are none of a leader.
    pub(crate) round: u64,
    pub(crate) word: Option<Word>,
    pub(crate) message: Message,
    pub(crate) commands: Commands,
}

/// The leader's word that no other node is put in charge of what the receiver has, for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The reply of the receiver that it answers.
    pub(crate) seq: u64,
    /// The lower half of the number of the receiver's start.
    pub(crate) boot: u32,
    /// For so long from when that reply arrived, in nanoseconds.
    pub(crate) span: u64,
    /// To the one who has applied the log up to here.
    pub(crate) need: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeReply {
    pub(crate) round: u64,
    pub(crate) seq: u64,
    pub(crate) is_leaving: bool,
    pub(crate) stops: Vec<SlotStop>,
    pub(crate) uses: Vec<SlotUse>,
    /// The answer of Raft; none from a node whose disk does not work.
    pub(crate) message: Option<Message>,
}

/// A slot, and the zone that sends most of its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlotUse {
    pub(crate) slot: u16,
    pub(crate) zone: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotPart {
    pub(crate) term: u64,
    pub(crate) position: LogPosition,
    pub(crate) config: ClusterConfig,
    pub(crate) total: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: Arc<[u8]>,
}

impl ControlFrame {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = vec![VERSION];
        for number in [self.cluster, self.from, self.to] {
            to.extend(number.to_le_bytes());
        }
        put_varint(&mut to, self.boot);
        self.body.put(&mut to);
        to
    }

    /// The frame of all these bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > CONTROL_FRAME_MAX {
            return Err(Malformed::TooLong);
        }
        let mut reader = Reader(bytes);
        let version = reader.u8().ok_or(Malformed::Truncated)?;
        if version != VERSION {
            return Err(Malformed::Version(version));
        }
        let it = Self::read(&mut reader)?;
        if reader.0.is_empty() {
            Ok(it)
        } else {
            Err(Malformed::Trailing)
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut numbers = [0; 3];
        for number in &mut numbers {
            *number = reader.u64().ok_or(Malformed::Truncated)?;
        }
        let [cluster, from, to] = numbers;
        let boot = reader.number().ok_or(Malformed::Truncated)?;
        let kind = reader.u8().ok_or(Malformed::Truncated)?;
        if !(1..=12).contains(&kind) {
            return Err(Malformed::Kind(kind));
        }
        let body = FrameBody::read(kind, from, reader).ok_or(Malformed::Value)?;
        Ok(Self {
            cluster,
            from,
            to,
            boot,
            body,
        })
    }
}

impl FrameBody {
    fn put(&self, to: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => {
                to.push(1);
                hello.info.put(to);
                hello.seen.put(to);
            }
            Self::Welcome(welcome) => {
                to.push(2);
                welcome.info.put(to);
                put_block(to, welcome.leader.as_bytes());
                to.push(u8::from(welcome.seen.is_some()));
                if let Some(seen) = welcome.seen {
                    seen.put(to);
                }
            }
            Self::Found(nodes) => {
                to.push(3);
                put_varint(to, nodes.len() as u64);
                for node in nodes {
                    node.put(to);
                }
            }
            Self::Raft(frame) => frame.put(to),
            Self::Reply(reply) => reply.put(to),
            Self::PreVote(last) => {
                to.push(6);
                put_position(to, *last);
            }
            Self::PreVoteReply(is_granted) => to.extend([7, u8::from(*is_granted)]),
            Self::Snapshot(part) => part.put(to),
            Self::SnapshotReply { index, next } => {
                to.push(9);
                put_varint(to, *index);
                put_varint(to, *next);
            }
            Self::Request { ticket, command } => {
                to.push(10);
                put_varint(to, *ticket);
                put_block(to, command);
            }
            Self::Outcome { ticket, error } => {
                to.push(11);
                put_varint(to, *ticket);
                to.push(error.map_or(0, |error| error as u8));
            }
            Self::Refused(error) => to.extend([12, *error as u8]),
        }
    }

    fn read(kind: u8, from: u64, reader: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            1 => Self::Hello(Hello {
                info: NodeInfo::read(reader)?,
                seen: SeenPosition::read(reader)?,
            }),
            2 => Self::Welcome(Welcome {
                info: NodeInfo::read(reader)?,
                leader: text(reader, NAME_BYTES_MAX)?,
                seen: match reader.u8()? {
                    0 => None,
                    1 => Some(SeenPosition::read(reader)?),
                    _ => return None,
                },
            }),
            3 => {
                let count = reader.count().filter(|count| *count <= FOUNDERS_MAX)?;
                let nodes = (0..count).map(|_| NodeInfo::read(reader));
                Self::Found(nodes.collect::<Option<_>>()?)
            }
            4 => Self::Raft(RaftFrame::read(from, reader)?),
            5 => Self::Reply(NodeReply::read(from, reader)?),
            6 => Self::PreVote(position(reader)?),
            7 => Self::PreVoteReply(reader.u8()? > 0),
            8 => Self::Snapshot(SnapshotPart::read(reader)?),
            9 => Self::SnapshotReply {
                index: place(reader)?,
                next: reader.number()?,
            },
            10 => Self::Request {
                ticket: reader.number()?,
                command: reader
                    .block()
                    .filter(|it| it.len() <= COMMAND_BYTES_MAX)?
                    .to_vec(),
            },
            11 => Self::Outcome {
                ticket: reader.number()?,
                error: match reader.u8()? {
                    0 => None,
                    number => Some(ControlError::of(number)?),
                },
            },
            _ => Self::Refused(ControlError::of(reader.u8()?)?),
        })
    }
}

impl SeenPosition {
    fn put(self, to: &mut Vec<u8>) {
        put_varint(to, self.boot);
        put_varint(to, self.term);
        put_position(to, self.last);
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            boot: reader.number()?,
            term: place(reader)?,
            last: position(reader)?,
        })
    }
}

impl RaftFrame {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(4);
        put_varint(to, self.round);
        to.push(u8::from(self.word.is_some()));
        if let Some(word) = self.word {
            put_varint(to, word.seq);
            to.extend(word.boot.to_le_bytes());
            put_varint(to, word.span);
            put_varint(to, word.need);
        }
        put_message(to, &self.message, &self.commands);
    }

    fn read(from: u64, reader: &mut Reader<'_>) -> Option<Self> {
        let round = reader.number()?;
        let word = match reader.u8()? {
            0 => None,
            1 => Some(Word {
                seq: reader.number()?,
                boot: reader.u32()?,
                span: reader.number()?,
                need: place(reader)?,
            }),
            _ => return None,
        };
        let mut commands = Commands::new();
        let message = message(from, reader, &mut commands)?;
        Some(Self {
            round,
            word,
            message,
            commands,
        })
    }
}

impl NodeReply {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(5);
        put_varint(to, self.round);
        put_varint(to, self.seq);
        to.push(u8::from(self.is_leaving) | u8::from(self.message.is_some()) << 1);
        put_stop_list(to, &self.stops);
        put_varint(to, self.uses.len() as u64);
        for one in &self.uses {
            put_varint(to, one.slot);
            put_block(to, one.zone.as_bytes());
        }
        if let Some(message) = &self.message {
            put_message(to, message, &Commands::new());
        }
    }

    fn read(from: u64, reader: &mut Reader<'_>) -> Option<Self> {
        let (round, seq) = (reader.number()?, reader.number()?);
        let flags = reader.u8().filter(|flags| *flags < 4)?;
        let stops = stops(reader)?;
        let count = reader.count().filter(|count| *count <= LIST_MAX)?;
        let uses = (0..count).map(|_| {
            Some(SlotUse {
                slot: slot(reader)?,
                zone: text(reader, ZONE_BYTES_MAX)?,
            })
        });
        let uses = uses.collect::<Option<_>>()?;
        let message = match flags & 2 {
            0 => None,
            _ => Some(message(from, reader, &mut Commands::new())?),
        };
        Some(Self {
            round,
            seq,
            is_leaving: flags & 1 > 0,
            stops,
            uses,
            message,
        })
    }
}

impl SnapshotPart {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(8);
        put_varint(to, self.term);
        put_position(to, self.position);
        put_membership(to, &self.config);
        put_varint(to, self.total);
        put_varint(to, self.offset);
        put_block(to, &self.bytes);
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let it = Self {
            term: place(reader)?,
            position: position(reader)?,
            config: membership(reader).filter(|it| !it.voters.is_empty())?,
            total: reader.number()?,
            offset: reader.number()?,
            bytes: Arc::from(reader.block()?),
        };
        let end = it.offset.checked_add(it.bytes.len() as u64)?;
        (end <= it.total && it.position.term.get() <= it.term).then_some(it)
    }
}

fn put_message(to: &mut Vec<u8>, message: &Message, commands: &Commands) {
    match message {
        Message::RequestVoteCall {
            term,
            last_position,
            ..
        } => {
            to.push(0);
            put_varint(to, term.get());
            put_position(to, *last_position);
        }
        Message::RequestVoteReply {
            term, vote_granted, ..
        } => {
            to.push(1 + u8::from(*vote_granted));
            put_varint(to, term.get());
        }
        Message::AppendEntriesCall {
            term,
            commit_index,
            entries,
            ..
        } => {
            to.push(3);
            put_varint(to, term.get());
            put_varint(to, commit_index.get());
            Entries::put(entries, commands, to);
        }
        Message::AppendEntriesReply {
            term,
            last_position,
            ..
        } => {
            to.push(4);
            put_varint(to, term.get());
            put_position(to, *last_position);
        }
    }
}

fn message(from: u64, reader: &mut Reader<'_>, commands: &mut Commands) -> Option<Message> {
    let kind = reader.u8()?;
    let (from, term) = (NodeId::new(from), Term::new(place(reader)?));
    Some(match kind {
        0 => Message::RequestVoteCall {
            from,
            term,
            last_position: position(reader)?,
        },
        1 | 2 => Message::RequestVoteReply {
            from,
            term,
            vote_granted: kind == 2,
        },
        3 => {
            let commit_index = LogIndex::new(place(reader)?);
            let read = Entries::read(reader)?;
            *commands = read.commands;
            let entries: LogEntries = read.entries;
            if entries.last_position().term > term {
                return None;
            }
            Message::AppendEntriesCall {
                from,
                term,
                commit_index,
                entries,
            }
        }
        4 => Message::AppendEntriesReply {
            from,
            term,
            last_position: position(reader).filter(|last| last.term <= term)?,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use noraft::LogEntry;
    use proptest::prelude::*;

    use super::*;

    fn frame(body: FrameBody) -> ControlFrame {
        ControlFrame {
            cluster: 1,
            from: 7,
            to: 9,
            boot: 3 << 16,
            body,
        }
    }

    fn info() -> NodeInfo {
        NodeInfo {
            name: String::from("n1"),
            id: 7,
            boot: 1 << 16,
            address: String::from("10.0.0.1:7380"),
            zone: String::from("east"),
        }
    }

    fn position(term: u64, index: u64) -> LogPosition {
        LogPosition::new(Term::new(term), LogIndex::new(index))
    }

    fn config() -> ClusterConfig {
        let mut config = ClusterConfig::new();
        config.voters.extend([7, 9, 11].map(NodeId::new));
        config.non_voters.insert(NodeId::new(13));
        config
    }

    fn raft() -> FrameBody {
        let entries = [
            LogEntry::Term(Term::new(3)),
            LogEntry::ClusterConfig(config()),
            LogEntry::Command,
        ];
        FrameBody::Raft(RaftFrame {
            round: 5,
            word: Some(Word {
                seq: 900,
                boot: 77,
                span: 1_200_000_000,
                need: 6,
            }),
            message: Message::AppendEntriesCall {
                from: NodeId::new(7),
                term: Term::new(4),
                commit_index: LogIndex::new(6),
                entries: LogEntries::from_iter(position(2, 5), entries),
            },
            commands: Commands::from([(8, Arc::from(&b"abc"[..]))]),
        })
    }

    fn reply() -> FrameBody {
        let (slot, hand, zone) = (4_095, 77, String::from("west"));
        FrameBody::Reply(NodeReply {
            round: 5,
            seq: 12,
            is_leaving: true,
            stops: vec![SlotStop { slot, hand }],
            uses: vec![SlotUse { slot, zone }],
            message: Some(Message::AppendEntriesReply {
                from: NodeId::new(7),
                term: Term::new(4),
                last_position: position(3, 8),
            }),
        })
    }

    /// One frame of each kind.
    fn frames() -> Vec<ControlFrame> {
        let seen = SeenPosition {
            boot: 9,
            term: 3,
            last: position(2, 5),
        };
        let error = Some(ControlError::StillThere);
        let bodies = vec![
            FrameBody::Hello(Hello { info: info(), seen }),
            FrameBody::Welcome(Welcome {
                info: info(),
                leader: String::from("n2"),
                seen: Some(seen),
            }),
            FrameBody::Found(vec![info(), info()]),
            raft(),
            reply(),
            FrameBody::PreVote(position(3, 8)),
            FrameBody::PreVoteReply(true),
            FrameBody::Snapshot(SnapshotPart {
                term: 4,
                position: position(3, 8),
                config: config(),
                total: 10,
                offset: 3,
                bytes: Arc::from(&b"seven b"[..]),
            }),
            FrameBody::SnapshotReply { index: 8, next: 10 },
            FrameBody::Request {
                ticket: 6,
                command: vec![14, 3],
            },
            FrameBody::Outcome { ticket: 6, error },
            FrameBody::Refused(ControlError::NameTaken),
        ];
        bodies.into_iter().map(frame).collect()
    }

    #[test]
    fn every_frame_comes_back_whole_and_none_of_its_beginnings() {
        for frame in frames() {
            let bytes = frame.encode();
            assert_eq!(ControlFrame::decode(&bytes), Ok(frame));
            for length in 0..bytes.len() {
                assert!(ControlFrame::decode(&bytes[..length]).is_err());
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_a_reason() {
        let bytes = frames()[5].encode();
        let mut other = bytes.clone();
        other[0] = 9;
        assert_eq!(ControlFrame::decode(&other), Err(Malformed::Version(9)));
        assert_eq!(
            ControlFrame::decode(&vec![0; CONTROL_FRAME_MAX + 1]),
            Err(Malformed::TooLong)
        );
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(ControlFrame::decode(&longer), Err(Malformed::Trailing));
        assert_eq!(ControlFrame::decode(&bytes[..5]), Err(Malformed::Truncated));
        let mut kind = bytes;
        kind[28] = 99;
        assert_eq!(ControlFrame::decode(&kind), Err(Malformed::Kind(99)));
    }

    #[test]
    fn a_beat_and_its_answer_are_small() {
        let beat = Message::AppendEntriesCall {
            from: NodeId::new(7),
            term: Term::new(40),
            commit_index: LogIndex::new(100_000),
            entries: LogEntries::new(position(40, 100_000)),
        };
        let raft = RaftFrame {
            round: 1 << 20,
            word: Some(Word {
                seq: 1 << 20,
                boot: 77,
                span: 1_200_000_000,
                need: 100_000,
            }),
            message: beat,
            commands: Commands::new(),
        };
        let length = frame(FrameBody::Raft(raft)).encode().len();
        assert!(length < 72, "{length}");
    }

    proptest! {
        #[test]
        fn a_changed_frame_is_a_frame_or_refused(which in 0..12_usize, at in 0..400_usize, byte in any::<u8>()) {
            let mut bytes = frames()[which].encode();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(frame) = ControlFrame::decode(&bytes) {
                prop_assert_eq!(ControlFrame::decode(&frame.encode()), Ok(frame));
            }
        }
    }
}
