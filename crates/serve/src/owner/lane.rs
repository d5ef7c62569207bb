//! The way to one node: while a batch is under way, the next one collects.
//!
//! So a batch is as large as the way is long, and a lone request waits for nobody. Bounded: past the bound a request is
//! turned away. Not here: what is in a parcel.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tollgate_gossip::NodeId;
use tollgate_owner::{Parcel, batch, parcels};

use super::counts::OwnerCounts;
use super::peers::NodePeers;
use crate::cluster::RequestError;

/// The way to one node.
pub(super) struct NodeLane {
    to: NodeId,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    /// Questions that wait.
    questions: usize,
    is_busy: bool,
}

impl State {
    /// Whoever has stopped waiting has done without: nothing is charged for it any more.
    fn forget_gone(&mut self) {
        self.waiting.retain(|waiting| !waiting.answer.is_closed());
        self.questions = self.waiting.iter().map(|w| w.parcel.count()).sum();
    }
}

struct Waiting {
    parcel: Parcel,
    within: Duration,
    answer: oneshot::Sender<Answer>,
}

type Answer = Result<Bytes, RequestError>;

impl NodeLane {
    pub(super) fn new(to: NodeId) -> Self {
        Self {
            to,
            state: Mutex::default(),
        }
    }

    /// Sends a parcel with the next batch, and waits for its answers.
    pub(super) async fn send(
        self: &Arc<Self>,
        parcel: Parcel,
        peers: &Arc<dyn NodePeers>,
        counts: &Arc<OwnerCounts>,
        within: Duration,
    ) -> Answer {
        let (sender, answer) = oneshot::channel();
        {
            let mut state = self.state.lock();
            if state.questions + parcel.count() > QUESTIONS_MAX {
                return Err(RequestError::Busy);
            }
            state.questions += parcel.count();
            state.waiting.push(Waiting {
                parcel,
                within,
                answer: sender,
            });
            if !std::mem::replace(&mut state.is_busy, true) {
                drop(state);
                let driver = Driver {
                    lane: Arc::clone(self),
                    under_way: Vec::new(),
                    is_over: false,
                };
                tokio::spawn(driver.drive(Arc::clone(peers), Arc::clone(counts)));
            }
        }
        match tokio::time::timeout(within, answer).await {
            Ok(answer) => answer.unwrap_or(Err(RequestError::Unreachable)),
            Err(_) => Err(RequestError::Late),
        }
    }
}

/// Whoever carries batches as long as there are some.
struct Driver {
    lane: Arc<NodeLane>,
    under_way: Vec<oneshot::Sender<Answer>>,
    /// Whether the lane is somebody else's by now.
    is_over: bool,
}

impl Driver {
    async fn drive(mut self, peers: Arc<dyn NodePeers>, counts: Arc<OwnerCounts>) {
        while let Some((body, within)) = self.next(&counts) {
            let answer = peers.request(self.lane.to, FORWARD, body, within).await;
            self.deliver(answer, &counts);
        }
    }

    /// The next batch, and how long somebody waits for it; `None` where nobody waits, and then the lane is free.
    fn next(&mut self, counts: &OwnerCounts) -> Option<(Vec<u8>, Duration)> {
        let mut state = self.lane.state.lock();
        state.forget_gone();
        if state.waiting.is_empty() {
            state.is_busy = false;
            self.is_over = true;
            return None;
        }
        let mut body = batch();
        let (mut taken, mut questions, mut within) = (0, 0, Duration::ZERO);
        for waiting in &state.waiting {
            let parcel = &waiting.parcel;
            if taken > 0 && body.len() > BATCH_BYTES {
                break;
            }
            parcel.write(&mut body);
            taken += 1;
            questions += parcel.count();
            within = within.max(waiting.within);
        }
        state.questions -= questions;
        let senders = state.waiting.drain(..taken).map(|waiting| waiting.answer);
        self.under_way.extend(senders);
        drop(state);
        counts.batches.add(1);
        counts.forwarded.add(questions as u64);
        Some((body, within))
    }

    fn deliver(&mut self, answer: Answer, counts: &OwnerCounts) {
        let senders = self.under_way.drain(..);
        let bytes = match answer {
            Ok(bytes) => bytes,
            Err(error) => {
                // Whoever stopped waiting need not be told.
                return senders.for_each(|sender| drop(sender.send(Err(error))));
            }
        };
        let parcels = parcels(&bytes).filter(|parcels| parcels.len() == senders.len());
        let Some(parcels) = parcels else {
            counts.malformed.add(1);
            return senders.for_each(|sender| drop(sender.send(Err(RequestError::Refused))));
        };
        for (sender, parcel) in senders.zip(parcels) {
            let _ = sender.send(Ok(bytes.slice_ref(parcel)));
        }
    }
}

impl Drop for Driver {
    /// A runtime that ends takes the driver with it: those who wait hear so, and the next one finds the lane free.
    fn drop(&mut self) {
        if !self.is_over {
            *self.lane.state.lock() = State::default();
        }
    }
}

/// Waits for all, in any order.
pub(crate) async fn join_all<T>(
    futures: impl Iterator<Item = impl Future<Output = T> + Send>,
) -> Vec<T> {
    let mut futures: Vec<Pin<Box<_>>> = futures.map(Box::pin).collect();
    let mut done = Vec::with_capacity(futures.len());
    poll_fn(|context| {
        futures.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Ready(output) => {
                done.push(output);
                false
            }
            Poll::Pending => true,
        });
        if futures.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    done
}

/// The kind of a batch of questions.
pub(super) const FORWARD: u8 = tollgate_cluster::FrameKind::Forward as u8;
/// The most questions that wait for one node.
const QUESTIONS_MAX: usize = 1 << 16;
/// About as many bytes as a batch has.
const BATCH_BYTES: usize = 256 << 10;
