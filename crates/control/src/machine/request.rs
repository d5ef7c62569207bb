//! Commands that people ask for, on any node: they go to the leader, and what became of them comes back.
//!
//! Not here: what they do.

use std::collections::BTreeMap;

use super::{Control, ControlTime};
use crate::command::{ControlCommand, ControlError};
use crate::config::MS;
use crate::event::ControlEvent;
use crate::frame::FrameBody;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    /// Asked for on this node, and until when an answer is waited for.
    waiting: BTreeMap<u64, u64>,
    /// Taken into the log by this node, by place.
    proposed: BTreeMap<u64, TicketAsker>,
}

/// Who asked, and by which number.
#[derive(Clone, Copy, Debug)]
pub(super) struct TicketAsker {
    from: u64,
    ticket: u64,
}

impl From<(u64, u64)> for TicketAsker {
    fn from((from, ticket): (u64, u64)) -> Self {
        Self { from, ticket }
    }
}

/// How long an answer is waited for, and how many at once.
const WAIT: u64 = 5_000 * MS;
const WAITING_MAX: usize = 256;

impl Requests {
    pub(super) fn next_at(&self) -> Option<u64> {
        self.waiting.values().min().copied()
    }
}

impl Control {
    /// Asks for a command; an event says what became of it.
    pub fn request(&mut self, ticket: u64, command: &ControlCommand, now: ControlTime) {
        let requests = &mut self.requests;
        if requests.waiting.len() >= WAITING_MAX {
            let result = Err(ControlError::Busy);
            self.event(ControlEvent::Outcome { ticket, result });
            return;
        }
        requests.waiting.insert(ticket, now.steady + WAIT);
        let (asker, command) = ((self.me.id, ticket).into(), command.encode());
        if self.lead.is_some() {
            self.handle_request(asker, &command, now);
        } else if let Some(leader) = self.election.leader {
            self.send(leader, FrameBody::Request { ticket, command });
        }
    }

    /// Takes in a command that people asked for; only those that are theirs to ask for.
    pub(super) fn handle_request(&mut self, asker: TicketAsker, bytes: &[u8], now: ControlTime) {
        let Some(command) = ControlCommand::decode(bytes) else {
            return;
        };
        let is_theirs = matches!(
            command,
            ControlCommand::Forget { .. }
                | ControlCommand::Drain { .. }
                | ControlCommand::Move { .. }
                | ControlCommand::Contracts { .. }
                | ControlCommand::Expect { .. }
        );
        if !is_theirs || self.lead.is_none() || self.requests.proposed.len() >= WAITING_MAX {
            return;
        }
        // With a single voter it is applied at once.
        let next = self.log.last().index.get() + 1;
        self.requests.proposed.insert(next, asker);
        if self.propose(&command, now) != Some(next) {
            self.requests.proposed.remove(&next);
        }
    }

    /// A command was applied: its asker learns what became of it.
    pub(super) fn settle(&mut self, index: u64, result: Result<(), ControlError>) {
        if let Some(TicketAsker { from, ticket }) = self.requests.proposed.remove(&index) {
            let error = result.err();
            if from == self.me.id {
                self.finish(ticket, error);
            } else {
                self.send(from, FrameBody::Outcome { ticket, error });
            }
        }
        // Another leader's entries took the place of what was before.
        self.requests.proposed.retain(|at, _| *at > index);
    }

    /// A command that was asked for here is done with.
    pub(super) fn finish(&mut self, ticket: u64, error: Option<ControlError>) {
        if self.requests.waiting.remove(&ticket).is_some() {
            let result = error.map_or(Ok(()), Err);
            self.event(ControlEvent::Outcome { ticket, result });
        }
    }

    /// Gives up on what no majority has answered.
    pub(super) fn expire_requests(&mut self, now: ControlTime) {
        let waiting = &self.requests.waiting;
        let late = waiting.iter().filter(|(_, until)| **until <= now.steady);
        let late: Vec<u64> = late.map(|(ticket, _)| *ticket).collect();
        for ticket in late {
            self.finish(ticket, Some(ControlError::NoMajority));
        }
        if self.lead.is_none() {
            self.requests.proposed.clear();
        }
    }
}
