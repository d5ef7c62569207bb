//! Commands that wait: each leaves a gap among the replies, and all of one read are asked together.
//!
//! Not here: asking (`engine`), and writing (`act`).

use std::pin::Pin;
use std::sync::Arc;

use tollgate_wire::resp::{Version, Writer};

use super::act;
use super::session::CommandContext;
use crate::engine::{Ticket, Turn, WaitingOps};
use crate::lend::Mailbox;
use crate::shared::Shared;

/// Replies that are not there yet.
pub(super) type DelayedReplies = Pin<Box<dyn Future<Output = Vec<u8>> + Send>>;

/// A command whose reply is missing.
#[derive(Debug)]
pub(super) struct Gap {
    /// The offset of its reply in the output.
    pub(super) at: usize,
    pub(super) version: Version,
    pub(super) ticket: Box<Ticket>,
}

/// The replies, once the gaps are filled; `None` without gaps.
pub(super) fn fill_later(
    mut gaps: Vec<Gap>,
    turn: &Turn<'_>,
    shared: &Arc<Shared>,
    mailbox: Option<&Arc<Mailbox>>,
    replies: &mut Vec<u8>,
) -> Option<DelayedReplies> {
    if gaps.is_empty() {
        return None;
    }
    let mut waiting = WaitingOps::of(turn);
    let (shared, mailbox) = (Arc::clone(shared), mailbox.map(Arc::clone));
    // The thread's buffer stays with the thread.
    let replies: Box<[u8]> = replies.drain(..).as_slice().into();
    Some(Box::pin(async move {
        let tickets = gaps.iter_mut().map(|gap| &mut *gap.ticket);
        waiting.wait(&shared.engine, tickets.collect()).await;
        let turn = waiting.turn(&shared.engine);
        let room = CommandContext::of(&shared, &turn);
        let mut out = Vec::with_capacity(replies.len() + gaps.len() * REPLY_BYTES);
        let mut written = 0;
        for Gap {
            at,
            version,
            ticket,
        } in gaps
        {
            out.extend_from_slice(replies.get(written..at).unwrap_or_default());
            written = at;
            turn.sent_by(ticket.sender());
            let mut writer = Writer::new(&mut out, version);
            ticket.finish(|op, outcome| {
                let done = act::reply(room, op, outcome, mailbox.as_ref(), &mut writer);
                done.unwrap_or_else(|refusal| writer.error(&refusal));
            });
        }
        out.extend_from_slice(replies.get(written..).unwrap_or_default());
        out
    }))
}

/// Bytes of a reply, rounded up.
const REPLY_BYTES: usize = 192;
