//! Keys that move to another owner: their state goes there in pages.
//!
//! When members come or go, every node looks through the keys it holds of owned contracts. Those that are another's now
//! are taken out and sent to their owner, who keeps the charges of both where it has counted the key meanwhile. Only
//! keys that must move do. A page that is not taken goes back in, and is sent again later. Not here: what is in a page
//! (`page`), how cells are merged (`tollgate_node`).

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak, mpsc as std_mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tollgate_gossip::NodeId;
use tollgate_kit::{Reader, put_varint};
use tollgate_limit::Lot;
use tollgate_node::{Node, Spot};
use tollgate_table::Print;

use super::Owner;
use super::map::Map;
use super::page::{CellPage, page_of, take_page};
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
        if owner.has_strays.swap(false, Relaxed) {
            let is_over = owner.hand_over(&shared).await && rest >= REST_MAX;
            owner.has_strays.fetch_or(!is_over, Relaxed);
            rest = (rest * 2).min(REST_MAX);
        }
    }
}

impl Owner {
    /// Sends every key that is another's to its owner. Says whether all went.
    pub(super) async fn hand_over(&self, shared: &Shared) -> bool {
        let node = shared.engine.node();
        let map = Arc::clone(&self.map(&node));
        let mut all_went = true;
        let mut prints = Vec::new();
        for contract in map.owned() {
            if shared.is_in_doubt(&node, contract) {
                // Where another process has the seat there is nothing to hand over.
                all_went &= shared.standing.get().is_some_and(|seat| seat.is_lost());
                continue;
            }
            let mut pages: BTreeMap<NodeId, CellPage> = BTreeMap::new();
            let mut there: BTreeMap<NodeId, bool> = BTreeMap::new();
            for shard in 0..node.shards_count(contract) {
                prints.clear();
                node.prints_in(contract, shard, &mut prints);
                for print in &prints {
                    if self.is_ended.load(Relaxed) {
                        continue;
                    }
                    let Some(to) = self.moves_to(&map, &node, contract, *print) else {
                        continue;
                    };
                    // Cells leave only for who is there: meanwhile nobody counts by them.
                    let is_there = match there.get(&to) {
                        Some(is_there) => *is_there,
                        None => self.takes(to, CellPage::new(&node, &map, contract)).await,
                    };
                    there.insert(to, is_there);
                    all_went &= is_there;
                    if !is_there {
                        continue;
                    }
                    let page = pages.entry(to);
                    let page = page.or_insert_with(|| CellPage::new(&node, &map, contract));
                    page.take(&node, *print, shared.engine.now());
                    if page.bytes.len() >= PAGE_BYTES
                        && let Some(page) = pages.remove(&to)
                    {
                        all_went &= self.send_page(shared, &node, to, page).await;
                    }
                }
            }
            for (to, page) in pages {
                all_went &= self.send_page(shared, &node, to, page).await;
            }
        }
        all_went
    }

    /// Whether a node takes cells of a contract: it is sent a page without any.
    async fn takes(&self, to: NodeId, page: CellPage) -> bool {
        let sent = self.peers.request(to, HAND_OVER, page.bytes, PAGE_WITHIN);
        sent.await.is_ok()
    }

    fn moves_to(&self, map: &Map, node: &Node, contract: usize, print: Print) -> Option<NodeId> {
        let spot = Spot {
            contract,
            print,
            lot: Lot::ALWAYS,
        };
        self.owner_of(&self.crew.load(), map, node, &spot)
    }

    async fn send_page(&self, shared: &Shared, node: &Node, to: NodeId, page: CellPage) -> bool {
        let CellPage {
            contract,
            bytes,
            cells,
            ..
        } = page;
        if cells.is_empty() {
            return true;
        }
        let sent = self.peers.request(to, HAND_OVER, bytes, PAGE_WITHIN).await;
        let taken = sent.ok().and_then(|answer| Reader(&answer).number());
        let count = cells.len() as u64;
        let Some(taken) = taken else {
            let now = shared.engine.now();
            for (print, lifted) in cells {
                // Where there is no room any more, the table has counted it.
                let _ = node.newest().merge_cell((contract, print), &lifted, now);
            }
            return false;
        };
        self.counts.moved_out.add(taken.min(count));
        self.counts.move_failed.add(count.saturating_sub(taken));
        true
    }

    /// Takes over keys of another node; `None` where that makes no sense.
    pub(super) fn take_over(&self, shared: &Shared, page: &[u8]) -> Option<Vec<u8>> {
        let node = shared.engine.node();
        let map = Arc::clone(&self.map(&node));
        if page_of(&map, page).is_some_and(|contract| shared.is_in_doubt(&node, contract)) {
            return None;
        }
        let taken = take_page(&node, &map, page, shared.engine.now());
        if taken.is_none() {
            self.counts.malformed.add(1);
        }
        let taken = taken?;
        if taken == 0 {
            return Some(vec![0]);
        }
        self.counts.moved_in.add(taken);
        // By what this node knows of the members they may be another's still.
        self.has_strays.store(true, Relaxed);
        let mut answer = Vec::new();
        put_varint(&mut answer, taken);
        Some(answer)
    }

    /// Places of the durable contracts that have owners.
    pub(crate) fn durable_places(&self, node: &Node) -> Vec<usize> {
        let map = self.map(node);
        let durable = map
            .owned()
            .filter(|place| node.durable_policies(*place) != 0);
        durable.collect()
    }

    /// Whether this node owns a key.
    pub(crate) fn is_own(&self, node: &Node, contract: usize, print: Print) -> bool {
        self.moves_to(&self.map(node), node, contract, print)
            .is_none()
    }

    /// Keys may lie here that are another's.
    pub(crate) fn note_strays(&self) {
        self.has_strays.store(true, Relaxed);
    }

    /// Owns nothing from here on, and hands over everything.
    async fn leave(&self, shared: &Weak<Shared>, within: Duration) {
        self.is_leaving.store(true, Relaxed);
        let Some(shared) = shared.upgrade() else {
            return;
        };
        self.look_around(&shared.engine.node(), shared.engine.now());
        if self.crew.load().crew.alive.is_empty() {
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
/// About as many bytes as a page has.
const PAGE_BYTES: usize = 64 << 10;
/// How long a page may take.
const PAGE_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks at the keys after a change; it doubles, up to the second.
const REST_MIN: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(5);
