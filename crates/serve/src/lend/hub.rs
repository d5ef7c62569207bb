//! Who among the connected clients should speak.
//!
//! Hints are only hints: what finds nobody is dropped. A hint for a client that is connected elsewhere goes along with
//! the next answer to another node. Not here: how a hint is written.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tollgate_node::Nudge;

/// The clients that are connected.
#[derive(Debug, Default)]
pub struct Hub {
    boxes: Mutex<BTreeMap<u64, Arc<Mailbox>>>,
    away: Mutex<VecDeque<Nudge>>,
    lost: AtomicU64,
}

/// Hints for the clients of one connection.
#[derive(Debug, Default)]
pub struct Mailbox(Mutex<Mail>);

#[derive(Debug, Default)]
struct Mail {
    nudges: VecDeque<Nudge>,
    clients: Vec<u64>,
    waker: Option<Waker>,
}

impl Hub {
    /// A client speaks through this connection.
    pub fn heard(&self, client: u64, mailbox: &Arc<Mailbox>) {
        let mut mail = mailbox.0.lock();
        if mail.clients.contains(&client) || mail.clients.len() >= CLIENTS_MAX {
            return;
        }
        mail.clients.push(client);
        drop(mail);
        self.boxes.lock().insert(client, Arc::clone(mailbox));
    }

    /// A connection ended.
    pub fn gone(&self, mailbox: &Arc<Mailbox>) {
        let clients = std::mem::take(&mut mailbox.0.lock().clients);
        let mut boxes = self.boxes.lock();
        for client in clients {
            if boxes
                .get(&client)
                .is_some_and(|known| Arc::ptr_eq(known, mailbox))
            {
                boxes.remove(&client);
            }
        }
    }

    /// Clients that are connected.
    pub fn clients(&self) -> usize {
        self.boxes.lock().len()
    }

    /// Hints that found nobody.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// Tells clients to speak; those that are not connected here may be elsewhere.
    pub fn tell(&self, nudges: &[Nudge]) {
        for nudge in nudges {
            if !self.deliver(*nudge) {
                let mut away = self.away.lock();
                if away.len() >= AWAY_MAX {
                    away.pop_front();
                    self.lost.fetch_add(1, Relaxed);
                }
                away.push_back(*nudge);
            }
        }
    }

    /// Tells clients that are connected here, and leaves those that another node may know.
    pub fn tell_from(&self, nudges: &mut Vec<Nudge>) {
        nudges.retain(|nudge| !self.deliver(*nudge));
        let mut away = self.away.lock();
        while nudges.len() < AT_ONCE_MAX
            && let Some(nudge) = away.pop_front()
        {
            nudges.push(nudge);
        }
    }

    /// Tells clients to speak of whom another node said so.
    pub fn pass_on(&self, nudges: &[Nudge]) {
        let lost = nudges.iter().filter(|nudge| !self.deliver(**nudge));
        self.lost.fetch_add(lost.count() as u64, Relaxed);
    }

    fn deliver(&self, nudge: Nudge) -> bool {
        let mailbox = self.boxes.lock().get(&nudge.client).map(Arc::clone);
        let Some(mailbox) = mailbox else {
            return false;
        };
        let mut mail = mailbox.0.lock();
        if mail.nudges.len() < AWAY_MAX {
            mail.nudges.push_back(nudge);
        }
        if let Some(waker) = mail.waker.take() {
            drop(mail);
            waker.wake();
        }
        true
    }
}

impl Mailbox {
    /// The next hint.
    pub fn poll(&self, cx: &Context<'_>) -> Poll<Nudge> {
        let mut mail = self.0.lock();
        let next = mail.nudges.pop_front();
        if next.is_none() {
            mail.waker = Some(cx.waker().clone());
        }
        next.map_or(Poll::Pending, Poll::Ready)
    }
}

/// Clients of one connection that are told of hints.
const CLIENTS_MAX: usize = 16;
/// Hints that wait.
const AWAY_MAX: usize = 1024;
/// Hints that go along with an answer.
const AT_ONCE_MAX: usize = 16;
