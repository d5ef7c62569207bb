//! Commands whose decisions come later: all of one read are asked together, and replies keep the order of the commands.
//!
//! Such a command leaves a gap among the replies, and its bytes are kept. Once the decisions are there the gaps are
//! filled. Not here: who decides (`engine`).

use std::pin::Pin;
use std::sync::Arc;

use tollgate_wire::resp::{Command, Limits, Parser, Step, Version, Writer};

use super::act;
use super::refusal::Refusal;
use crate::engine::{Engine, EngineError, Notes, Sender, Turn};
use crate::lend::Mailbox;
use crate::meter::Door;
use crate::shared::Shared;

/// Replies that are not there yet.
pub(super) type Later = Pin<Box<dyn Future<Output = Vec<u8>> + Send>>;

/// Commands of one read, where some are decided elsewhere: one turn asks for all of them.
pub(super) struct Apart<'n> {
    notes: &'n Notes,
    turn: Turn<'n>,
    gaps: Gaps,
}

/// Commands that are yet to be answered.
#[derive(Default)]
pub(super) struct Gaps {
    /// Their bytes, one after the other.
    commands: Vec<u8>,
    each: Vec<Gap>,
    /// Of the connection, where its client has leases.
    mailbox: Option<Arc<Mailbox>>,
}

/// One of them.
struct Gap {
    /// Where its reply belongs, among those there are.
    at: usize,
    /// Where its bytes end.
    end: usize,
    /// The number of its question.
    question: usize,
    version: Version,
    sender: Sender,
}

impl<'n> Apart<'n> {
    pub(super) fn new(engine: &'n Engine, notes: &'n Notes) -> Self {
        Self {
            notes,
            turn: engine.turn_with(notes).by(Door::Resp),
            gaps: Gaps::default(),
        }
    }

    /// Answers a command of these bytes by asking a turn, or leaves a gap.
    pub(super) fn answer<T>(
        &mut self,
        (said, version): (&[u8], Version),
        replies: &mut Vec<u8>,
        answer: impl FnOnce(&Turn<'_>, &mut Vec<u8>) -> T,
    ) -> T {
        let (at, question, open) = (replies.len(), self.notes.len(), self.notes.open());
        let answered = answer(&self.turn, replies);
        if self.notes.open() > open {
            replies.truncate(at);
            let Gaps { commands, each, .. } = &mut self.gaps;
            commands.extend_from_slice(said);
            each.push(Gap {
                at,
                end: commands.len(),
                question,
                version,
                sender: self.turn.sender(),
            });
        } else {
            self.notes.forget_from(question);
        }
        answered
    }
}

impl Gaps {
    /// Those that were left.
    pub(super) fn of(apart: Option<Apart<'_>>, mailbox: Option<&Arc<Mailbox>>) -> Self {
        let gaps = apart.map_or_else(Self::default, |apart| apart.gaps);
        Self {
            mailbox: mailbox.map(Arc::clone),
            ..gaps
        }
    }

    /// The replies, once the gaps are filled; `None` where there are none.
    pub(super) fn later(
        self,
        notes: Option<Notes>,
        shared: &Arc<Shared>,
        replies: &mut Vec<u8>,
    ) -> Option<Later> {
        let mut notes = notes.filter(|_| !self.each.is_empty())?;
        let (shared, replies) = (Arc::clone(shared), std::mem::take(replies));
        Some(Box::pin(async move {
            loop {
                notes.decide(&shared.engine).await;
                let filled = self.fill(&shared, &notes, &replies);
                if !notes.wait() {
                    return filled;
                }
            }
        }))
    }

    fn fill(&self, shared: &Shared, notes: &Notes, replies: &[u8]) -> Vec<u8> {
        let turn = shared.engine.turn_with(notes).by(Door::Resp);
        let mut out = Vec::with_capacity(replies.len() + self.each.len() * REPLY_BYTES);
        let mut parser = Parser::new(Limits::STANDARD);
        let (mut written, mut start) = (0, 0);
        for gap in &self.each {
            out.extend_from_slice(replies.get(written..gap.at).unwrap_or_default());
            written = gap.at;
            let command = self.commands.get(start..gap.end).unwrap_or_default();
            start = gap.end;
            let before = out.len();
            notes.read_from(gap.question);
            turn.sent_by(gap.sender);
            let mut writer = Writer::new(&mut out, gap.version);
            if let Ok(Step::Command { request, .. }) = parser.parse(command)
                && let Ok(command) = Command::decode(request)
            {
                let at = (shared, &turn);
                act::answer(at, &command, self.mailbox.as_ref(), &mut writer);
            }
            // One reply each, or the client takes every later one for another's.
            if out.len() == before {
                let refusal = Refusal::Engine(EngineError::Unreachable);
                Writer::new(&mut out, gap.version).error(&refusal);
            }
        }
        out.extend_from_slice(replies.get(written..).unwrap_or_default());
        out
    }
}

/// Bytes of a reply, or a bit more.
const REPLY_BYTES: usize = 192;
