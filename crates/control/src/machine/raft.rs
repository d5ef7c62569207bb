//! Drives the library: messages in, what it wants written and sent out, and what is committed applied.
//!
//! Not here: elections, the leader's terms, snapshots.

use std::sync::Arc;

use noraft::{Action, LogEntries, LogEntry, LogIndex, Message};
use tollgate_kit::{FNV, fnv};
use tollgate_mode::planted;

use super::lead::Lead;
use super::{Control, ControlTime};
use crate::command::{ControlCommand, ControlError};
use crate::event::ControlEvent;
use crate::frame::{FrameBody, NodeReply, RaftFrame};
use crate::log::Commands;

impl Control {
    /// Takes a message of Raft that is none of a node to its leader.
    pub(super) fn handle_raft(&mut self, from: u64, frame: &RaftFrame, now: ControlTime) {
        if matches!(frame.message, Message::RequestVoteCall { .. }) && !self.votes(now) {
            return;
        }
        let is_leaders = matches!(frame.message, Message::AppendEntriesCall { .. });
        self.tenure.answering = frame.round;
        if !self.feed(&frame.message, &frame.commands, now) {
            return;
        }
        if is_leaders && frame.message.term().get() == self.log.term() && self.lead.is_none() {
            (self.election.heard, self.election.leader) = (Some(now.steady), Some(from));
            self.take_word(frame.word, frame.message.term().get());
        }
    }

    /// Feeds a message to the library, with the commands it carries; whether that made sense.
    pub(super) fn feed(&mut self, message: &Message, carried: &Commands, now: ControlTime) -> bool {
        if self.log.raft.handle_message(message).is_err() {
            self.become_new(now);
            return false;
        }
        self.drain_with(carried, now);
        true
    }

    pub(super) fn drain(&mut self, now: ControlTime) {
        self.drain_with(&Commands::new(), now);
    }

    /// Carries out what the library wants.
    fn drain_with(&mut self, carried: &Commands, now: ControlTime) {
        self.follow_role(now);
        let actions: Vec<Action> = self.log.raft.actions_mut().collect();
        for action in actions {
            match action {
                Action::SetElectionTimeout => self.reset_deadline(now),
                Action::SaveCurrentTerm | Action::SaveVotedFor => {
                    let voted = self.log.raft.voted_for().map(noraft::NodeId::get);
                    self.disk.vote(self.log.term(), voted);
                }
                Action::AppendLogEntries(entries) => self.append(&entries, carried),
                Action::BroadcastMessage(message) => {
                    let peers: Vec<u64> = self.log.raft.peers().map(noraft::NodeId::get).collect();
                    for peer in peers {
                        self.send_raft(peer, message.clone(), now);
                    }
                }
                Action::SendMessage(to, message) => self.send_raft(to.get(), message, now),
                Action::InstallSnapshot(to) => self.send_parts(to.get()),
            }
        }
        if !self.disk.is_waiting() {
            self.apply(now);
        }
    }

    /// Begins to lead, or stops.
    fn follow_role(&mut self, now: ControlTime) {
        let is_leader = self.log.is_leader() && !self.disk.is_failed();
        let term = self.log.term();
        if self
            .lead
            .as_ref()
            .is_some_and(|lead| !is_leader || lead.term != term)
        {
            self.lead = None;
            self.reset_deadline(now);
            self.event(ControlEvent::Changed);
        }
        if is_leader && self.lead.is_none() {
            let first = self.log.last().index.get();
            self.lead = Some(Lead::new(term, first, now));
            self.election.leader = Some(self.me.id);
            self.start_round(now);
            self.event(ControlEvent::Leads { term });
        }
    }

    fn append(&mut self, entries: &LogEntries, carried: &Commands) {
        let mut commands = Commands::new();
        for (at, entry) in entries.iter_with_positions() {
            let index = at.index.get();
            let bytes = carried
                .get(&index)
                .or_else(|| self.log.commands.get(&index));
            if let (LogEntry::Command, Some(bytes)) = (entry, bytes) {
                commands.insert(index, Arc::clone(bytes));
            }
        }
        let before = entries.prev_position().index.get();
        self.log.commands.retain(|index, _| *index <= before);
        self.log.commands.extend(commands);
        self.disk.entries(entries, &self.log.commands);
    }

    /// Sends a message of the library: an answer to the leader renews what this node is in charge of.
    fn send_raft(&mut self, to: u64, message: Message, now: ControlTime) {
        if matches!(message, Message::AppendEntriesReply { .. }) {
            let reply = self.reply(Some(message), now);
            self.send(to, FrameBody::Reply(reply));
            return;
        }
        let is_leaders = matches!(message, Message::AppendEntriesCall { .. });
        let Some((message, commands)) = self.log.cut(message) else {
            return;
        };
        let word = if is_leaders {
            self.word_for(to, now)
        } else {
            None
        };
        let round = self.lead.as_ref().map_or(0, |lead| lead.round);
        let frame = RaftFrame {
            round: if is_leaders { round } else { 0 },
            word,
            message,
            commands,
        };
        self.send(to, FrameBody::Raft(frame));
    }

    /// An answer to the leader.
    pub(super) fn reply(&mut self, message: Option<Message>, now: ControlTime) -> NodeReply {
        let seq = self.tenure.next_seq(now);
        NodeReply {
            round: self.tenure.answering,
            seq,
            is_leaving: self.tenure.is_leaving,
            stops: self.stops(),
            uses: self.tenure.uses.clone(),
            message,
        }
    }

    /// Applies what is committed and written.
    pub(super) fn apply(&mut self, now: ControlTime) {
        let commit = self.log.raft.commit_index().get();
        let before = self.applied;
        while self.applied < commit {
            let index = self.applied + 1;
            let entry = self
                .log
                .raft
                .log()
                .entries()
                .get_entry(LogIndex::new(index));
            let Some(entry) = entry else {
                break;
            };
            if entry == LogEntry::Command {
                let Some(bytes) = self.log.commands.get(&index).cloned() else {
                    break;
                };
                self.applied = index;
                self.apply_command(index, &bytes);
            } else {
                self.applied = index;
            }
        }
        if self.applied > before {
            self.event(ControlEvent::Changed);
            self.compact();
            self.hand_on(now);
        }
    }

    fn apply_command(&mut self, index: u64, bytes: &[u8]) {
        let hash = fnv(FNV, bytes);
        self.event(ControlEvent::Committed { index, hash });
        let Some(command) = ControlCommand::decode(bytes) else {
            self.settle(index, Err(ControlError::Stale));
            return;
        };
        let result = Arc::make_mut(&mut self.state).apply(index, &command);
        self.announce(&command);
        self.settle(index, result);
    }

    /// Takes a snapshot in the place of the log, when that is long.
    fn compact(&mut self) {
        let length = self.log.raft.log().entries().len() as u64;
        let log = self.log.raft.log();
        let at = log.get_position_and_config(LogIndex::new(self.applied));
        let Some((position, config)) = at.filter(|_| length > self.config.log_max) else {
            return;
        };
        let config = config.clone();
        let bytes = planted!(
            "control-snapshot-old",
            self.state.encode(),
            self.snapshot.bytes.to_vec()
        );
        if self
            .log
            .raft
            .handle_snapshot_installed(position, config.clone())
        {
            self.snapshot = crate::file::StateSnapshot {
                position,
                config,
                bytes: bytes.into(),
            };
            self.log.trim();
            self.disk.rewrite();
        }
    }
}
