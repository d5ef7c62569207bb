//! Keys that this node leases of others: a thread that brings its questions to the nodes in charge, and tells requests
//! that wait for a lease what was decided.
//!
//! Questions go the way of requests that are left to other nodes, in the same batches. Not here: what is held
//! (`tollgate-node`), and who is in charge (`owner`).

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Answer, HeldDecision, HeldInquiry, HeldName, Node};

use crate::engine::{Elsewhere, Question, QuestionReply, RemoteAnswer, Verb};
use crate::shared::Shared;
use crate::supply::steady_now;

/// A decision that is waited for; `None` where the node in charge must be asked.
pub(crate) type PendingHeld = oneshot::Receiver<Option<Answer>>;

/// Requests that wait for leases.
#[derive(Debug, Default)]
pub(crate) struct HeldWaits(Mutex<BTreeMap<HeldName, Waits>>);

#[derive(Debug)]
enum Waits {
    For(oneshot::Sender<Option<Answer>>),
    /// It was decided before it was waited for.
    Decided(Box<Option<Answer>>),
}

impl HeldWaits {
    /// Waits for the decision of this name.
    pub(crate) fn wait(&self, name: HeldName) -> PendingHeld {
        let (sender, receiver) = oneshot::channel();
        let mut waits = self.0.lock();
        match waits.remove(&name) {
            Some(Waits::Decided(answer)) => drop(sender.send(*answer)),
            Some(Waits::For(_)) | None => drop(waits.insert(name, Waits::For(sender))),
        }
        receiver
    }

    fn tell(&self, decision: HeldDecision) {
        let HeldDecision { name, answer, .. } = decision;
        let mut waits = self.0.lock();
        match waits.remove(&name) {
            // A request that is gone was charged all the same.
            Some(Waits::For(sender)) => drop(sender.send(answer)),
            Some(Waits::Decided(_)) | None => {
                waits.insert(name, Waits::Decided(Box::new(answer)));
            }
        }
    }
}

/// The thread that asks for leases.
pub(crate) struct LeaseAsker {
    over: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl LeaseAsker {
    /// Starts to ask for what a server's node wants to lease; nothing where it leases nothing.
    pub(crate) fn start(shared: &Arc<Shared>) -> std::io::Result<Option<Self>> {
        let node = shared.engine.node();
        let Some(elsewhere) = shared.engine.remote().filter(|_| node.is_holder()) else {
            return Ok(None);
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let (woken, over) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let wakes = Arc::clone(&woken);
        node.set_held_waker(Arc::new(move || wakes.notify_one()));
        let asking = Asking {
            shared: Arc::downgrade(shared),
            elsewhere: Arc::clone(elsewhere),
            woken,
        };
        let ends = Arc::clone(&over);
        let thread = thread::Builder::new().name("leases".to_owned());
        let thread = thread.spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = ends.notified() => {}
                    () = asking.run() => {}
                }
            });
        })?;
        Ok(Some(Self {
            over,
            thread: Some(thread),
        }))
    }
}

impl Drop for LeaseAsker {
    fn drop(&mut self) {
        self.over.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked asks for nothing more.
            let _ = thread.join();
        }
    }
}

#[derive(Clone)]
struct Asking {
    shared: Weak<Shared>,
    elsewhere: Arc<dyn Elsewhere>,
    woken: Arc<Notify>,
}

impl Asking {
    async fn run(self) {
        let mut rest = REST_MAX;
        loop {
            // A timeout is as good as being woken.
            let _ = tokio::time::timeout(rest, self.woken.notified()).await;
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let (node, now) = (shared.engine.node(), shared.engine.now());
            node.handle_held_timeout(now);
            self.ask(&node, now);
            tell(&shared, &node, now);
            let due = node.poll_held_timeout();
            let left = due.map(|due| Duration::from_nanos(due.nanos_since(steady_now())));
            rest = left.map_or(REST_MAX, |left| left.clamp(REST_MIN, REST_MAX));
        }
    }

    /// Asks all that is to be asked, and does not wait for it.
    fn ask(&self, node: &Arc<Node>, now: Instant) {
        let mut inquiries = Vec::new();
        node.poll_inquiries(now, |inquiry| inquiries.push(inquiry));
        if !inquiries.is_empty() {
            tokio::spawn(self.clone().carry(Arc::clone(node), inquiries, now));
        }
    }

    async fn carry(self, node: Arc<Node>, inquiries: Vec<HeldInquiry>, now: Instant) {
        let question = |inquiry: &HeldInquiry| Question {
            verb: Verb::Lend(Arc::clone(&inquiry.bytes)),
            spots: [inquiry.spot].into_iter().collect(),
            cost: Cost::PEEK,
            names: Vec::new(),
        };
        let questions = inquiries.iter().map(question).collect();
        let replies = self.elsewhere.ask(&node, questions, now).await;
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let now = shared.engine.now();
        for (inquiry, QuestionReply { said, .. }) in inquiries.iter().zip(replies) {
            if let Some(RemoteAnswer::Lent(lent)) = said {
                shared.lend.pass_on(&lent.nudges);
                node.handle_lent(inquiry.name, &lent.reply, now);
            }
        }
        tell(&shared, &node, now);
        self.woken.notify_one();
    }
}

/// Tells requests that waited what was decided.
fn tell(shared: &Shared, node: &Node, now: Instant) {
    for decided in node.poll_held(now) {
        shared.engine.held().tell(decided);
    }
}

/// How long the thread rests where nothing is due, and at least.
const REST_MAX: Duration = Duration::from_secs(1);
const REST_MIN: Duration = Duration::from_millis(1);
