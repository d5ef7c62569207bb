//! The thread that sends keys to another owner: it looks through them when members come or go, and some times after.
//!
//! Not here: which keys go where, what is in a page (`tollgate_owner`).

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak, mpsc as std_mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tollgate_gossip::NodeId;
use tollgate_kit::{Reader, put_varint};

use super::Owner;
use crate::shared::Shared;

/// A thread that sends keys to their new owners.
pub struct Mover {
    owner: Arc<Owner>,
    leave: mpsc::Sender<Leave>,
    thread: Option<JoinHandle<()>>,
}

/// How long handing over may take, and whom to tell when it is done.
type Leave = (Duration, std_mpsc::Sender<()>);

impl Mover {
    /// Starts to look after the keys of a server, whenever `changes` tells that members came or went.
    pub fn start(
        owner: Arc<Owner>,
        shared: &Arc<Shared>,
        changes: watch::Receiver<u64>,
    ) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let (leave, asked) = mpsc::channel(1);
        let shared = Arc::downgrade(shared);
        let mover = Arc::clone(&owner);
        let thread = thread::Builder::new()
            .name("owner".to_owned())
            .spawn(move || {
                runtime.block_on(run(owner, shared, changes, asked));
            })?;
        Ok(Self {
            owner: mover,
            leave,
            thread: Some(thread),
        })
    }

    /// Hands over everything before this node goes; gives up after a while.
    pub fn leave(&self, within: Duration) {
        let (done, wait) = std_mpsc::channel();
        if self.leave.blocking_send((within, done)).is_ok() {
            // Whoever waits no longer loses what is left.
            let _ = wait.recv_timeout(within);
        }
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        self.owner.is_ended.store(true, Relaxed);
        let (never, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut self.leave, never));
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to move.
            let _ = thread.join();
        }
    }
}

async fn run(
    owner: Arc<Owner>,
    shared: Weak<Shared>,
    mut changes: watch::Receiver<u64>,
    mut asked: mpsc::Receiver<Leave>,
) {
    let mut rest = REST_MIN;
    loop {
        tokio::select! {
            told = changes.changed() => {
                if told.is_err() {
                    return;
                }
                rest = REST_MIN;
            }
            () = sleep(rest) => {}
            // A newcomer waits: what fails is tried again soon.
            () = owner.is_pass_wanted.notified() => rest = REST_MIN,
            leaving = asked.recv() => {
                let Some((within, done)) = leaving else {
                    return;
                };
                owner.leave(&shared, within).await;
                let _ = done.send(());
            }
        }
        let Some(shared) = shared.upgrade() else {
            return;
        };
        owner.look_around(&shared.engine.node(), shared.engine.now());
        owner.ask_for_proof(&shared).await;
        // Nodes learn of a change one by one: for a while keys come in that are another's.
        if owner.owners.take_strays() {
            let is_over = owner.hand_over(&shared).await && rest >= REST_MAX;
            if !is_over {
                owner.note_strays();
            }
            rest = (rest * 2).min(REST_MAX);
        }
    }
}

impl Owner {
    /// Sends every key that is another's to its owner. Says whether all went.
    async fn hand_over(&self, shared: &Shared) -> bool {
        let node = shared.engine.node();
        let in_doubt = |contract: usize| shared.is_in_doubt(&node, contract);
        // Where another process has the seat there is nothing to hand over.
        let is_all_lost = || shared.standing.get().is_some_and(|seat| seat.is_lost());
        let mut all_went = true;
        let mut pass = self.owners.pass(&node, |contract| {
            let is_in_doubt = in_doubt(contract);
            all_went &= !is_in_doubt || is_all_lost();
            is_in_doubt
        });
        while let Some((to, page)) = pass.poll(&self.owners, shared.engine.now()) {
            let sent = self.peers.request(to, HAND_OVER, page, PAGE_WITHIN).await;
            let taken = sent.ok().and_then(|answer| Reader(&answer).number());
            pass.handle(taken, shared.engine.now());
            if self.is_ended.load(Relaxed) {
                break;
            }
        }
        let end = pass.end(&self.owners);
        self.counts.moved_out.add(end.moved);
        self.counts.move_failed.add(end.failed);
        all_went && end.all_went
    }

    /// Has keys looked through at once; the number of that pass.
    pub fn next_pass(&self) -> u64 {
        let pass = self.owners.next_pass();
        self.is_pass_wanted.notify_one();
        pass
    }

    /// Whether that pass, or a later one, is over and sent a node all that is its own.
    pub fn has_passed(&self, pass: u64, to: NodeId) -> bool {
        self.owners.has_passed(pass, to)
    }

    /// Takes over keys of another node; `None` where that makes no sense.
    pub(super) fn take_over(&self, shared: &Shared, page: &[u8]) -> Option<Vec<u8>> {
        let (node, now) = (shared.engine.node(), shared.engine.now());
        let contract = self.owners.page_of(&node, page);
        if contract.is_some_and(|contract| shared.is_in_doubt(&node, contract)) {
            return None;
        }
        let Some(taken) = self.owners.take_over(&node, page, now) else {
            self.counts.malformed.add(1);
            return None;
        };
        self.counts.moved_in.add(taken);
        let mut answer = Vec::new();
        put_varint(&mut answer, taken);
        Some(answer)
    }

    /// Owns nothing from here on, and hands over everything.
    async fn leave(&self, shared: &Weak<Shared>, within: Duration) {
        self.owners.leave();
        let Some(shared) = shared.upgrade() else {
            return;
        };
        self.look_around(&shared.engine.node(), shared.engine.now());
        if self.owners.is_alone() {
            return;
        }
        let attempts = async {
            while !self.hand_over(&shared).await {
                sleep(REST_MIN).await;
            }
        };
        // What did not go in time is lost with this node.
        let _ = timeout(within, attempts).await;
    }
}

/// The kind of a page.
pub(super) const HAND_OVER: u8 = tollgate_cluster::FrameKind::HandOver as u8;
/// How long a page may take.
const PAGE_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks at the keys after a change; it doubles, up to the second.
const REST_MIN: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(5);
