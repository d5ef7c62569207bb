//! A reply that is waited for, by a thread or by a task.
//!
//! Not here: who puts it there, and by when (`pump`).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use tollgate_lease::Joined;

use super::replies::RespValue;
use super::slots::Slots;

/// A reply that is waited for.
#[derive(Default)]
pub(super) struct ReplyTicket {
    heard: Mutex<Heard>,
    there: Condvar,
}

/// What became of a question.
#[derive(Default)]
enum Heard {
    #[default]
    Nothing,
    /// Nothing yet, and a task waits.
    Awaited(Waker),
    /// Nobody will answer, or nobody listens.
    Lost,
    Reply(RespValue),
}

impl ReplyTicket {
    /// Puts the reply there; none where nobody will answer.
    pub(super) fn put(&self, value: Option<RespValue>) {
        let mut heard = self.heard.lock();
        if matches!(*heard, Heard::Lost) {
            return;
        }
        let before = std::mem::replace(&mut *heard, value.map_or(Heard::Lost, Heard::Reply));
        drop(heard);
        self.there.notify_all();
        if let Heard::Awaited(waker) = before {
            waker.wake();
        }
    }

    /// Whether nobody listens any more.
    pub(super) fn is_lost(&self) -> bool {
        matches!(*self.heard.lock(), Heard::Lost)
    }

    /// Nobody listens any more; the reply, where there is one.
    fn leave(&self) -> Option<RespValue> {
        match std::mem::replace(&mut *self.heard.lock(), Heard::Lost) {
            Heard::Reply(value) => Some(value),
            Heard::Nothing | Heard::Awaited(_) | Heard::Lost => None,
        }
    }

    /// Waits for the reply until then.
    pub(super) fn wait(&self, deadline: Instant) -> Option<RespValue> {
        let mut heard = self.heard.lock();
        while matches!(*heard, Heard::Nothing) {
            if self.there.wait_until(&mut heard, deadline).timed_out() {
                break;
            }
        }
        drop(heard);
        self.leave()
    }
}

/// The reply for a task. One that is dropped no longer listens.
pub(super) struct Awaiting(pub(super) Arc<ReplyTicket>);

impl Future for Awaiting {
    type Output = Option<RespValue>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut heard = self.0.heard.lock();
        if let Heard::Nothing | Heard::Awaited(_) = &*heard {
            *heard = Heard::Awaited(cx.waker().clone());
            return Poll::Pending;
        }
        drop(heard);
        Poll::Ready(self.0.leave())
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// The decision about a request that waits for leases, by the print of its key and its number, for a task. One that is
/// dropped no longer listens.
pub(super) struct PendingDecision<'s> {
    pub(super) slots: &'s Slots,
    pub(super) name: (u64, u64),
}

impl Future for PendingDecision<'_> {
    type Output = Joined;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Joined> {
        self.slots.poll_wait(self.name, cx.waker())
    }
}

impl Drop for PendingDecision<'_> {
    fn drop(&mut self) {
        self.slots.leave(self.name);
    }
}
