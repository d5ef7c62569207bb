//! A pass over the keys of a node: those that are another's leave for their owner, in pages of cells.
//!
//! [`Pass::poll`] gives one page after the other and [`Pass::handle`] takes the answer to each. Cells leave only for who
//! is there, so the first page for each node has none. Owners keep the charges of both where they have counted the key
//! meanwhile; a page that is not taken goes back in. Until it is taken nobody counts by its cells. Not here: what is in a
//! page (`page`), how cells are merged (`tollgate-node`), when to begin.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_node::Node;
use tollgate_table::Print;

use crate::map::Map;
use crate::owners::Owners;
use crate::page::CellPage;

/// A pass over all keys of a node.
pub struct Pass {
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

/// Keys of a contract that leave for a node.
struct Leaving {
    contract: usize,
    to: NodeId,
    prints: Vec<Print>,
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
    pub fn pass(&self, node: &Arc<Node>, mut is_in_doubt: impl FnMut(usize) -> bool) -> Pass {
        let map = Arc::clone(&self.map(node));
        Pass {
            contracts: map.owned().filter(|place| !is_in_doubt(*place)).collect(),
            number: self.passes.begun.fetch_add(1, Relaxed) + 1,
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

impl Pass {
    /// The next page and the node it is for, once the one before is answered; `None` when the pass is over.
    pub fn poll(&mut self, owners: &Owners, now: Instant) -> Option<(NodeId, Vec<u8>)> {
        while self.sent.is_none() {
            let contract = *self.contracts.front()?;
            let Some(print) = self.next_print(contract) else {
                if let Some((to, prints)) = self.leaving.pop_first() {
                    self.lift(
                        Leaving {
                            contract,
                            to,
                            prints,
                        },
                        now,
                    );
                    continue;
                }
                self.contracts.pop_front();
                self.shard = 0;
                continue;
            };
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
                let prints = std::mem::take(leaving);
                self.lift(
                    Leaving {
                        contract,
                        to,
                        prints,
                    },
                    now,
                );
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
    }

    /// What came of it, once it is over.
    pub fn end(mut self, owners: &Owners) -> PassEnd {
        self.end.all_went = self.unreached.is_empty();
        let unreached = std::mem::take(&mut self.unreached);
        *owners.passes.over.lock() = (self.number, unreached);
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
    fn lift(&mut self, leaving: Leaving, now: Instant) {
        let Leaving {
            contract,
            to,
            mut prints,
        } = leaving;
        let mut page = CellPage::new(&self.node, &self.map, contract);
        while page.bytes.len() < PAGE_BYTES
            && let Some(print) = prints.pop()
        {
            page.take(&self.node, print, now);
        }
        if !prints.is_empty() {
            self.leaving.entry(to).or_default().append(&mut prints);
        }
        if !page.cells.is_empty() {
            self.sent = Some((to, page));
        }
    }
}

/// The most keys that leave at once.
const KEYS_MAX: usize = 1 << 12;
/// About as many bytes as a page has.
const PAGE_BYTES: usize = 64 << 10;
