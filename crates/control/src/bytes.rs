//! Bytes of frames, commands and files: short texts, and positions and memberships of the log.
//!
//! Everything that is read is bounded. Not here: what frames mean.

use noraft::{ClusterConfig, LogIndex, LogPosition, NodeId, Term};
use tollgate_kit::{Reader, put_varint};

/// Terms and places in the log are below this, so that adding one never overflows.
pub(crate) const PLACE_MAX: u64 = 1 << 48;

/// A text of at most `max` bytes behind its length.
pub(crate) fn text(reader: &mut Reader<'_>, max: usize) -> Option<String> {
    let bytes = reader.block().filter(|bytes| bytes.len() <= max)?;
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

pub(crate) fn put_block(into: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(into, bytes.len() as u64);
    into.extend_from_slice(bytes);
}

/// A number below [`PLACE_MAX`].
pub(crate) fn place(reader: &mut Reader<'_>) -> Option<u64> {
    reader.number().filter(|number| *number < PLACE_MAX)
}

pub(crate) fn position(reader: &mut Reader<'_>) -> Option<LogPosition> {
    let (term, index) = (place(reader)?, place(reader)?);
    Some(LogPosition::new(Term::new(term), LogIndex::new(index)))
}

pub(crate) fn put_position(into: &mut Vec<u8>, position: LogPosition) {
    put_varint(into, position.term.get());
    put_varint(into, position.index.get());
}

/// Voters, next voters and learners; one list is disjoint from the others where Raft wants it so.
pub(crate) fn membership(reader: &mut Reader<'_>) -> Option<ClusterConfig> {
    let mut config = ClusterConfig::new();
    for list in [
        &mut config.voters,
        &mut config.new_voters,
        &mut config.non_voters,
    ] {
        let count = reader
            .count()
            .filter(|count| *count <= reader.0.len() / 8)?;
        for _ in 0..count {
            list.insert(NodeId::new(reader.u64()?));
        }
    }
    let is_apart = config.voters.is_disjoint(&config.non_voters)
        && config.new_voters.is_disjoint(&config.non_voters);
    let is_whole = !config.voters.is_empty() || config.unique_nodes().count() == 0;
    (is_apart && is_whole).then_some(config)
}

pub(crate) fn put_membership(into: &mut Vec<u8>, config: &ClusterConfig) {
    for list in [&config.voters, &config.new_voters, &config.non_voters] {
        put_varint(into, list.len() as u64);
        for node in list {
            into.extend(node.get().to_le_bytes());
        }
    }
}
