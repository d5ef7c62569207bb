//! The log of Raft with the bytes of its commands, which the library does not keep.
//!
//! Not here: when entries are written or sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use noraft::{ClusterConfig, LogEntries, LogEntry, LogPosition, Message, Node, NodeId, Role, Term};
use tollgate_kit::{Reader, put_varint};

use crate::bytes::{
    PLACE_MAX, membership, place, position, put_block, put_membership, put_position,
};
use crate::command::COMMAND_BYTES_MAX;

/// Bytes of commands, by place in the log.
pub(crate) type Commands = BTreeMap<u64, Arc<[u8]>>;

/// One node's log and its part in Raft.
#[derive(Clone, Debug)]
pub(crate) struct ControlLog {
    pub(crate) raft: Node,
    pub(crate) commands: Commands,
}

/// Entries with the bytes of their commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entries {
    pub(crate) entries: LogEntries,
    pub(crate) commands: Commands,
}

/// The most bytes of commands, and the most entries, of one frame or record; at least one entry goes.
const BATCH_BYTES_MAX: usize = 32 << 10;
const BATCH_MAX: usize = 1_024;

impl ControlLog {
    pub(crate) fn fresh(id: u64) -> Self {
        Self {
            raft: Node::start(NodeId::new(id)),
            commands: Commands::new(),
        }
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.raft.role() == Role::Leader
    }

    pub(crate) fn term(&self) -> u64 {
        self.raft.current_term().get()
    }

    pub(crate) fn last(&self) -> LogPosition {
        self.raft.log().last_position()
    }

    pub(crate) fn config(&self) -> &ClusterConfig {
        self.raft.config()
    }

    pub(crate) fn is_voter(&self, id: u64) -> bool {
        let (config, id) = (self.config(), NodeId::new(id));
        config.voters.contains(&id) || config.new_voters.contains(&id)
    }

    /// Whether those of whom something holds are a majority of the voters, and of the next voters where there are any.
    pub(crate) fn is_majority(&self, holds: impl Fn(u64) -> bool) -> bool {
        let config = self.config();
        let has = |list: &std::collections::BTreeSet<NodeId>| {
            list.iter().filter(|id| holds(id.get())).count() > list.len() / 2
        };
        has(&config.voters) && (config.new_voters.is_empty() || has(&config.new_voters))
    }

    /// Starts again from what is written: a leader that is not heard steps down that way.
    pub(crate) fn step_down(&mut self) {
        let raft = &self.raft;
        let (id, term, voted) = (raft.id(), raft.current_term(), raft.voted_for());
        self.raft = Node::restart(id, term, voted, raft.log().clone());
    }

    /// Adds a command as the leader; its place in the log.
    pub(crate) fn propose(&mut self, bytes: Vec<u8>) -> Option<u64> {
        let position = self.raft.propose_command();
        if position == LogPosition::INVALID {
            return None;
        }
        self.commands.insert(position.index.get(), bytes.into());
        Some(position.index.get())
    }

    /// The commands of entries, where all are known.
    pub(crate) fn with_commands(&self, entries: &LogEntries) -> Option<Entries> {
        let mut commands = Commands::new();
        for (at, entry) in entries.iter_with_positions() {
            if entry == LogEntry::Command {
                let bytes = self.commands.get(&at.index.get())?;
                commands.insert(at.index.get(), Arc::clone(bytes));
            }
        }
        Some(Entries {
            entries: entries.clone(),
            commands,
        })
    }

    /// Drops commands behind the end of the log and before its beginning.
    pub(crate) fn trim(&mut self) {
        let first = self.raft.log().snapshot_position().index.get();
        let last = self.last().index.get();
        self.commands
            .retain(|index, _| (first + 1..=last).contains(index));
    }

    /// The entries of a message, cut to what one frame takes.
    pub(crate) fn cut(&self, message: Message) -> Option<(Message, Commands)> {
        let Message::AppendEntriesCall {
            from,
            term,
            commit_index,
            entries,
        } = message
        else {
            return Some((message, Commands::new()));
        };
        let (mut bytes, mut count) = (0, 0);
        for (at, entry) in entries.iter_with_positions() {
            bytes += match entry {
                LogEntry::Command => self.commands.get(&at.index.get())?.len() + 4,
                LogEntry::ClusterConfig(config) => 8 * config.unique_nodes().count() + 8,
                LogEntry::Term(_) => 4,
            };
            if count > 0 && (bytes > BATCH_BYTES_MAX || count >= BATCH_MAX) {
                break;
            }
            count += 1;
        }
        let entries = if count < entries.len() {
            LogEntries::from_iter(entries.prev_position(), entries.iter().take(count))
        } else {
            entries
        };
        let Entries { entries, commands } = self.with_commands(&entries)?;
        let message = Message::AppendEntriesCall {
            from,
            term,
            commit_index,
            entries,
        };
        Some((message, commands))
    }
}

impl Entries {
    pub(crate) fn put(entries: &LogEntries, commands: &Commands, into: &mut Vec<u8>) {
        put_position(into, entries.prev_position());
        put_varint(into, entries.len() as u64);
        for (at, entry) in entries.iter_with_positions() {
            match entry {
                LogEntry::Term(term) => {
                    into.push(0);
                    put_varint(into, term.get());
                }
                LogEntry::ClusterConfig(config) => {
                    into.push(1);
                    put_membership(into, &config);
                }
                LogEntry::Command => {
                    into.push(2);
                    let bytes = commands.get(&at.index.get());
                    put_block(into, bytes.map_or(&[], |bytes| &bytes[..]));
                }
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let before = position(reader)?;
        let count = reader.count()?;
        let mut entries = LogEntries::new(before);
        let mut commands = Commands::new();
        for _ in 0..count {
            let entry = match reader.u8()? {
                0 => {
                    let term = Term::new(place(reader)?);
                    if term < entries.last_position().term {
                        return None;
                    }
                    LogEntry::Term(term)
                }
                1 => {
                    LogEntry::ClusterConfig(membership(reader).filter(|it| !it.voters.is_empty())?)
                }
                2 => {
                    let bytes = reader.block().filter(|it| it.len() <= COMMAND_BYTES_MAX)?;
                    let index = entries.last_position().index.get() + 1;
                    commands.insert(index, Arc::from(bytes));
                    LogEntry::Command
                }
                _ => return None,
            };
            entries.push(entry);
        }
        (entries.last_position().index.get() < PLACE_MAX).then_some(Self { entries, commands })
    }
}
