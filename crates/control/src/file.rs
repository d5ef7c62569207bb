//! What a node keeps on its disk, as bytes of one append-only file, and what can be had back of it.
//!
//! Each record names its length and a hash of itself and of all before it. A file that ends in the middle of a record
//! was being written when the node died: that record was never answered for, and is dropped. Any other damage is
//! refused: the node joins again under a new number. Not here: the file system.

use std::fmt;
use std::sync::Arc;

use noraft::{Log, LogEntries, LogPosition, NodeId, Term};
use tollgate_kit::{Reader, put_varint, siphash24};

use crate::bytes::{
    PLACE_MAX, membership, place, position, put_block, put_membership, put_position, text,
};
use crate::command::FOUNDERS_MAX;
use crate::log::{Commands, ControlLog, Entries};
use crate::roster::{NAME_BYTES_MAX, NodeInfo};
use crate::state::{ControlState, STATE_BYTES_MAX};

const MAGIC: &[u8; 8] = b"TGCTRL\x01\n";
/// The longest record: a snapshot and what is around it.
const RECORD_BYTES_MAX: usize = STATE_BYTES_MAX + (64 << 10);
/// Length, a hash of it, and the hash of the record.
const HEAD_LEN: usize = 16;

/// Whose file it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) cluster: u64,
    pub(crate) id: u64,
    pub(crate) boot: u64,
    pub(crate) name: String,
    pub(crate) founders: Vec<NodeInfo>,
}

/// The state at a place of the log.
#[derive(Clone, Debug)]
pub(crate) struct StateSnapshot {
    pub(crate) position: LogPosition,
    pub(crate) config: noraft::ClusterConfig,
    pub(crate) bytes: Arc<[u8]>,
}

impl Default for StateSnapshot {
    fn default() -> Self {
        Self {
            position: LogPosition::ZERO,
            config: noraft::ClusterConfig::new(),
            bytes: Arc::default(),
        }
    }
}

/// What a file held.
#[derive(Clone, Debug, Default)]
pub struct ControlDisk {
    pub(crate) meta: Meta,
    pub(crate) term: u64,
    pub(crate) voted: Option<u64>,
    pub(crate) snapshot: StateSnapshot,
    pub(crate) state: ControlState,
    pub(crate) entries: Option<LogEntries>,
    pub(crate) commands: Commands,
}

/// Why a file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskError {
    /// It is no file of a control plane, or of another version.
    Foreign,
    /// A record at this place is damaged.
    Damaged {
        /// Its first byte.
        at: usize,
    },
    /// It belongs to a node of another name: the folder was copied.
    OtherName,
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("not a file of the control plane"),
            Self::Damaged { at } => write!(f, "the record at byte {at} is damaged"),
            Self::OtherName => f.write_str("the file belongs to a node of another name"),
        }
    }
}

impl std::error::Error for DiskError {}

/// Writes records behind each other.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    chain: u64,
}

impl Recorder {
    /// A new file, and its first bytes.
    pub(crate) fn start(into: &mut Vec<u8>) -> Self {
        into.extend(MAGIC);
        Self {
            chain: check(0, MAGIC),
        }
    }

    fn put(&mut self, into: &mut Vec<u8>, body: &[u8]) {
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        into.extend(length.to_le_bytes());
        into.extend(guard(self.chain, length).to_le_bytes());
        self.chain = check(self.chain, body);
        into.extend(self.chain.to_le_bytes());
        into.extend_from_slice(body);
    }

    pub(crate) fn meta(&mut self, into: &mut Vec<u8>, meta: &Meta) {
        let mut body = vec![1];
        for number in [meta.cluster, meta.id] {
            body.extend(number.to_le_bytes());
        }
        put_varint(&mut body, meta.boot);
        put_block(&mut body, meta.name.as_bytes());
        put_varint(&mut body, meta.founders.len() as u64);
        meta.founders.iter().for_each(|node| node.put(&mut body));
        self.put(into, &body);
    }

    pub(crate) fn vote(&mut self, into: &mut Vec<u8>, term: u64, voted: Option<u64>) {
        let mut body = vec![2];
        put_varint(&mut body, term);
        body.extend(voted.unwrap_or(0).to_le_bytes());
        self.put(into, &body);
    }

    pub(crate) fn snapshot(&mut self, into: &mut Vec<u8>, snapshot: &StateSnapshot) {
        let mut body = vec![3];
        put_position(&mut body, snapshot.position);
        put_membership(&mut body, &snapshot.config);
        put_block(&mut body, &snapshot.bytes);
        self.put(into, &body);
    }

    pub(crate) fn entries(
        &mut self,
        into: &mut Vec<u8>,
        entries: &LogEntries,
        commands: &Commands,
    ) {
        let mut body = vec![4];
        Entries::put(entries, commands, &mut body);
        self.put(into, &body);
    }
}

/// The hash of a record and of everything before it. Not a seal: who can write the file can make it.
fn check(chain: u64, body: &[u8]) -> u64 {
    let key = u128::from(chain) << 64 | u128::from(!chain);
    siphash24(&key.to_le_bytes(), body)
}

/// The hash of a length, so that a damaged one is not taken for the end of the file.
fn guard(chain: u64, length: u32) -> u32 {
    (check(!chain, &length.to_le_bytes()) >> 32) as u32
}

impl ControlDisk {
    /// What a file held, for the node of a name; `None` where there is nothing.
    pub fn recover(bytes: &[u8], name: &str) -> Result<Option<Self>, DiskError> {
        if bytes.len() < MAGIC.len() {
            return if MAGIC.starts_with(bytes) {
                Ok(None)
            } else {
                Err(DiskError::Foreign)
            };
        }
        let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
            return Err(DiskError::Foreign);
        };
        let mut it = Self::default();
        let mut chain = check(0, MAGIC);
        loop {
            let at = bytes.len() - rest.len();
            let damaged = DiskError::Damaged { at };
            let Some(Record { body, after }) = record(rest, &mut chain).map_err(|()| damaged)?
            else {
                break;
            };
            it.take(body).ok_or(damaged)?;
            rest = after;
        }
        if it.meta.id == 0 {
            return Ok(None);
        }
        if it.meta.name != name {
            return Err(DiskError::OtherName);
        }
        Ok(Some(it))
    }

    fn take(&mut self, body: &[u8]) -> Option<()> {
        let mut reader = Reader(body);
        match reader.u8()? {
            1 => self.meta = read_meta(&mut reader)?,
            2 => {
                self.term = place(&mut reader)?;
                self.voted = Some(reader.u64()?).filter(|voted| *voted > 0);
            }
            3 => {
                self.snapshot = StateSnapshot {
                    position: position(&mut reader)?,
                    config: membership(&mut reader)?,
                    bytes: Arc::from(reader.block()?),
                };
                self.state = ControlState::decode(&self.snapshot.bytes)?;
                (self.entries, self.commands) = (None, Commands::new());
            }
            4 => self.append(Entries::read(&mut reader)?)?,
            _ => return None,
        }
        reader.0.is_empty().then_some(())
    }

    fn append(&mut self, more: Entries) -> Option<()> {
        let start = self.snapshot.position;
        let entries = self.entries.get_or_insert_with(|| LogEntries::new(start));
        let before = more.entries.prev_position().index.get();
        entries.append_suffix(&more.entries).then_some(())?;
        self.commands.retain(|index, _| *index <= before);
        self.commands.extend(more.commands);
        Some(())
    }

    /// The log as it was.
    pub(crate) fn log(&self) -> ControlLog {
        let entries = self.entries.clone();
        let entries = entries.unwrap_or_else(|| LogEntries::new(self.snapshot.position));
        let log = Log::new(self.snapshot.config.clone(), entries);
        let (term, voted) = (Term::new(self.term), self.voted.map(NodeId::new));
        ControlLog {
            raft: noraft::Node::restart(NodeId::new(self.meta.id), term, voted, log),
            commands: self.commands.clone(),
        }
    }
}

/// A record and what is behind it.
struct Record<'a> {
    body: &'a [u8],
    after: &'a [u8],
}

/// The next record; none at the end, or where the end is missing.
fn record<'a>(rest: &'a [u8], chain: &mut u64) -> Result<Option<Record<'a>>, ()> {
    // A file system may have made the file longer before the bytes came.
    if rest.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let mut reader = Reader(rest);
    let (Some(length), Some(expected)) = (reader.u32(), reader.u32()) else {
        return Ok(None);
    };
    if guard(*chain, length) != expected || length as usize > RECORD_BYTES_MAX {
        return Err(());
    }
    let (length, expected) = (length as usize, reader.u64());
    let (Some(expected), Some(body)) = (expected, reader.take(length)) else {
        return Ok(None);
    };
    *chain = check(*chain, body);
    if *chain != expected {
        return Err(());
    }
    let after = rest.get(HEAD_LEN + length..);
    Ok(after.map(|after| Record { body, after }))
}

fn read_meta(reader: &mut Reader<'_>) -> Option<Meta> {
    let (cluster, id) = (reader.u64()?, reader.u64()?);
    let (boot, name) = (reader.number()?, text(reader, NAME_BYTES_MAX)?);
    let count = reader.count().filter(|count| *count <= FOUNDERS_MAX)?;
    let founders = (0..count).map(|_| NodeInfo::read(reader));
    Some(Meta {
        cluster,
        id,
        boot: (boot < PLACE_MAX).then_some(boot)?,
        name,
        founders: founders.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use noraft::{LogEntry, LogIndex};
    use proptest::prelude::*;

    use super::*;

    /// A file with a record of each kind, and where its records end.
    fn file() -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        let mut recorder = Recorder::start(&mut bytes);
        ends.push(bytes.len());
        let meta = Meta {
            cluster: 5,
            id: 7,
            boot: 2 << 16,
            name: String::from("n1"),
            founders: Vec::new(),
        };
        recorder.meta(&mut bytes, &meta);
        ends.push(bytes.len());
        let mut config = noraft::ClusterConfig::new();
        config.voters.insert(NodeId::new(7));
        let start = LogPosition::new(Term::new(1), LogIndex::new(3));
        let snapshot = StateSnapshot {
            position: start,
            config,
            bytes: ControlState::default().encode().into(),
        };
        recorder.snapshot(&mut bytes, &snapshot);
        ends.push(bytes.len());
        recorder.vote(&mut bytes, 2, Some(7));
        ends.push(bytes.len());
        let entries =
            LogEntries::from_iter(start, [LogEntry::Term(Term::new(2)), LogEntry::Command]);
        let commands = Commands::from([(5, Arc::from(&b"abc"[..]))]);
        recorder.entries(&mut bytes, &entries, &commands);
        ends.push(bytes.len());
        (bytes, ends)
    }

    #[test]
    fn what_was_written_comes_back() {
        let disk = ControlDisk::recover(&file().0, "n1").unwrap().unwrap();
        let log = disk.log();
        assert_eq!((disk.meta.cluster, disk.term, disk.voted), (5, 2, Some(7)));
        assert_eq!(log.last(), LogPosition::new(Term::new(2), LogIndex::new(5)));
        assert_eq!(log.commands[&5][..], *b"abc");
        assert!(ControlDisk::recover(&[], "n1").unwrap().is_none());
    }

    #[test]
    fn a_copied_folder_and_a_foreign_file_are_refused() {
        let (bytes, _) = file();
        let refused = |bytes: &[u8], name| ControlDisk::recover(bytes, name).unwrap_err();
        assert_eq!(refused(&bytes, "n2"), DiskError::OtherName);
        assert_eq!(refused(b"SQLite format 3", "n1"), DiskError::Foreign);
    }

    #[test]
    fn a_torn_end_loses_the_record_that_was_being_written() {
        let (bytes, ends) = file();
        for length in 0..=bytes.len() {
            let disk = ControlDisk::recover(&bytes[..length], "n1").unwrap();
            assert_eq!(disk.is_some(), length >= ends[1], "{length}");
            let term = disk.map_or(0, |disk| disk.term);
            assert_eq!(term, if length >= ends[3] { 2 } else { 0 });
        }
        let mut longer = bytes;
        longer.extend([0; 4_096]);
        assert!(ControlDisk::recover(&longer, "n1").unwrap().is_some());
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_found(at in 0..100_000_usize, bit in 0..8_u8) {
            let (mut bytes, _) = file();
            let at = at % bytes.len();
            bytes[at] ^= 1_u8 << bit;
            prop_assert!(ControlDisk::recover(&bytes, "n1").is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ControlDisk::recover(&bytes, "n1");
            let whole = [&MAGIC[..], &bytes].concat();
            let _ = ControlDisk::recover(&whole, "n1");
        }
    }
}
