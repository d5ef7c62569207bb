//! A pass over the keys of a node: those that are another's leave for their owner, in pages of cells.
//!
//! [`Pass::poll`] gives one page after the other and [`Pass::handle`] takes the answer to each. Cells leave only for who
//! is there, so the first page for each node has none. Owners keep the charges of both where they have counted the key
//! meanwhile; a page that is not taken goes back in. Until it is taken nobody counts by its cells. Not here: what is in a
//! page (`page`), how cells are merged (`tollgate-node`), when to begin.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_node::Node;
use tollgate_table::Print;

use crate::map::Map;
use crate::owners::Owners;
use crate::page::CellPage;

/// Keys on their way, by the tag of their contract: here nobody counts by them any more, there nobody does yet.
#[derive(Default)]
pub(crate) struct UnderWay {
    keys: Mutex<BTreeSet<(u64, u64)>>,
    is_some: AtomicBool,
}

impl UnderWay {
    /// These keys of a contract leave, and no others.
    fn begin(&self, tag: u64, prints: &[Print]) {
        *self.keys.lock() = prints.iter().map(|print| (tag, print.0)).collect();
        self.is_some.store(!prints.is_empty(), Relaxed);
    }

    fn end(&self) {
        self.is_some.store(false, Relaxed);
        self.keys.lock().clear();
    }

    /// Whether a key is on its way.
    #[inline]
    pub(crate) fn has(&self, tag: u64, print: Print) -> bool {
        self.is_some.load(Relaxed) && self.keys.lock().contains(&(tag, print.0))
    }
}

/// A pass over all keys of a node.
pub struct Pass<'a> {
    owners: &'a Owners,
    node: Arc<Node>,
    map: Arc<Map>,
    number: u64,
    /// Contracts to look through, the one that is being looked through first.
    contracts: VecDeque<usize>,
    shard: usize,
    /// Keys of the shard that were not looked at.
    prints: Vec<Print>,
    /// Keys that leave, by node.
    leaving: BTreeMap<NodeId, Vec<Print>>,
    /// What was sent and is not answered.
    sent: Option<(NodeId, CellPage)>,
    unreached: BTreeSet<NodeId>,
    end: PassEnd,
}

/// What came of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassEnd {
    /// Keys that were taken.
    pub moved: u64,
    /// Keys for which the new owner had no room.
    pub failed: u64,
    /// Whether all went that is another's.
    pub all_went: bool,
}

impl Owners {
    /// Begins a pass over the keys of contracts that are not in doubt.
    pub fn pass(&self, node: &Arc<Node>, mut is_in_doubt: impl FnMut(usize) -> bool) -> Pass<'_> {
        let map = Arc::clone(&self.map(node));
        Pass {
            contracts: map.owned().filter(|place| !is_in_doubt(*place)).collect(),
            number: self.passes.begun.fetch_add(1, Relaxed) + 1,
            owners: self,
            node: Arc::clone(node),
            map,
            shard: 0,
            prints: Vec::new(),
            leaving: BTreeMap::new(),
            sent: None,
            unreached: BTreeSet::new(),
            end: PassEnd::default(),
        }
    }
}

impl Pass<'_> {
    /// The next page and the node it is for, once the one before is answered; `None` when the pass is over.
    pub fn poll(&mut self, now: Instant) -> Option<(NodeId, Vec<u8>)> {
        while self.sent.is_none() {
            let contract = *self.contracts.front()?;
            let Some(print) = self.next_print(contract) else {
                if let Some((to, prints)) = self.leaving.pop_first() {
                    self.lift(contract, to, prints, now);
                    continue;
                }
                self.contracts.pop_front();
                self.shard = 0;
                continue;
            };
            let owners = self.owners;
            let Some(to) = owners.moves_to(&self.map, &self.node, contract, print) else {
                continue;
            };
            if self.unreached.contains(&to) {
                continue;
            }
            let Some(leaving) = self.leaving.get_mut(&to) else {
                self.leaving.insert(to, vec![print]);
                self.sent = Some((to, CellPage::new(&self.node, &self.map, contract)));
                break;
            };
            leaving.push(print);
            if leaving.len() >= KEYS_MAX {
                let leaving = std::mem::take(leaving);
                self.lift(contract, to, leaving, now);
            }
        }
        let (to, page) = self.sent.as_ref()?;
        Some((*to, page.bytes.clone()))
    }

    /// Takes how many cells of the page were taken; `None` where it was not taken.
    pub fn handle(&mut self, taken: Option<u64>, now: Instant) {
        let Some((to, page)) = self.sent.take() else {
            return;
        };
        let count = page.cells.len() as u64;
        match taken {
            None => {
                for (print, lifted) in page.cells {
                    // Where there is no room any more, the table has counted it.
                    let node = self.node.newest();
                    let _ = node.merge_cell((page.contract, print), &lifted, now);
                }
                self.leaving.remove(&to);
                self.unreached.insert(to);
            }
            Some(taken) => {
                self.end.moved += taken.min(count);
                self.end.failed += count.saturating_sub(taken);
            }
        }
        self.owners.under_way.end();
    }

    /// What came of it, once it is over.
    pub fn end(mut self) -> PassEnd {
        self.end.all_went = self.unreached.is_empty();
        let unreached = std::mem::take(&mut self.unreached);
        *self.owners.passes.over.lock() = (self.number, unreached);
        self.end
    }

    fn next_print(&mut self, contract: usize) -> Option<Print> {
        while self.prints.is_empty() {
            if self.shard >= self.node.shards_count(contract) {
                return None;
            }
            self.node.prints_in(contract, self.shard, &mut self.prints);
            self.shard += 1;
        }
        self.prints.pop()
    }

    /// Takes cells out, as many as a page has; the others leave later.
    fn lift(&mut self, contract: usize, to: NodeId, mut prints: Vec<Print>, now: Instant) {
        let mut page = CellPage::new(&self.node, &self.map, contract);
        self.owners.under_way.begin(self.map.tag(contract), &prints);
        while page.bytes.len() < PAGE_BYTES
            && let Some(print) = prints.pop()
        {
            page.take(&self.node, print, now);
        }
        if !prints.is_empty() {
            self.leaving.entry(to).or_default().append(&mut prints);
        }
        let lifted: Vec<Print> = page.cells.iter().map(|(print, _)| *print).collect();
        self.owners.under_way.begin(self.map.tag(contract), &lifted);
        if !lifted.is_empty() {
            self.sent = Some((to, page));
        }
    }
}

impl Drop for Pass<'_> {
    /// A pass that ends early leaves everything where it was.
    fn drop(&mut self) {
        self.handle(None, Instant::default());
    }
}

/// The most keys that leave at once.
const KEYS_MAX: usize = 1 << 12;
/// About as many bytes as a page has.
const PAGE_BYTES: usize = 64 << 10;
