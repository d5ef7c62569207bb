//! One node follows on another: other contracts, and what is known of every key.
//!
//! The grammar: [`Node::succeed`] on the newest node makes the next one, which answers at once; then whoever has a
//! moment calls [`Node::carry_over`] until nothing is left. Both nodes may be asked meanwhile, by any number of
//! threads: every key has one cell, wherever it is. Contracts that did not change keep their cells. Not here: how a
//! cell moves (`heirs`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tollgate_contract::{Contract, Contracts};
use tollgate_limit::{Charge, Instant, PolicySet};
use tollgate_table::{Budget, Counters, Holder, MemoryShare, Seed, TableConfig};

use crate::answer::{Answer, Booking};
use crate::beside::Beside;
use crate::cells::{Cells, Lineage, on_table};
use crate::company::{Company, CoordinatedPolicies, Membership, Seats};
use crate::dirty::Dirty;
use crate::heirs::{FormerPlaces, Heir, Origin, Swap, translate};
use crate::ids::Ids;
use crate::node::{Node, NodeConfig, shards_each};
use crate::terms;

/// What outlives the contracts of a node.
#[derive(Debug)]
pub(crate) struct Lasting {
    pub(crate) config: NodeConfig,
    pub(crate) ids: Ids,
    pub(crate) budget: Arc<Budget>,
    /// What is counted with other nodes, where anything is.
    pub(crate) company: Option<Arc<Company>>,
    /// Whether somebody writes the cells of durable policies.
    pub(crate) is_kept: AtomicBool,
    /// How many contracts have keys whose counts may be on disk only.
    pub(crate) away: Arc<AtomicUsize>,
    /// Numbers given to cells so far.
    made: AtomicU64,
    past: Mutex<Past>,
}

/// What counts a contract's policies besides its cells: parts, and cells beside them.
type Counted = (Option<(CoordinatedPolicies, PolicySet)>, Option<Beside>);

/// What came before the contracts there are.
#[derive(Debug, Default)]
struct Past {
    /// Cells with something left to carry over, and the page at which to go on.
    open: Vec<(Arc<Cells>, usize)>,
    /// By number of cells that have an heir: its number, and where its policies were.
    heirs: BTreeMap<u64, (u64, FormerPlaces)>,
    /// What happened in cells that are no more.
    counters: Counters,
}

impl Lasting {
    pub(crate) fn new(config: NodeConfig, membership: Option<Membership>, seed: Seed) -> Self {
        let budget = Arc::new(Budget::new(config.bytes_max));
        let company = |members| Arc::new(Company::new(members, &config, Arc::clone(&budget)));
        Self {
            config,
            ids: Ids::new(&config, seed, &budget),
            company: membership.map(company),
            budget,
            is_kept: AtomicBool::new(false),
            away: Arc::default(),
            made: AtomicU64::new(0),
            past: Mutex::default(),
        }
    }

    /// Empty cells for each contract.
    pub(crate) fn cells_for(&self, contracts: &Contracts, now: Instant) -> Box<[Arc<Cells>]> {
        let count = contracts.len();
        let each = contracts.as_slice().iter();
        each.map(|contract| {
            let parts = self.parts(contract, &Seats::new(), now);
            self.cells(contract, count, None, parts)
        })
        .collect()
    }

    /// The policies of a contract that are counted with other nodes, and those that are not; `None` where all are not.
    fn parts(
        &self,
        contract: &Contract,
        before: &Seats,
        now: Instant,
    ) -> Option<(CoordinatedPolicies, PolicySet)> {
        CoordinatedPolicies::of(self.company.as_ref()?, contract, before, now)
    }

    /// The cells of a contract, and beside them those of keys with terms of their own where others are counted with
    /// other nodes.
    fn cells(
        &self,
        contract: &Contract,
        contracts: usize,
        origin: Option<(&Cells, Origin)>,
        parts: Option<(CoordinatedPolicies, PolicySet)>,
    ) -> Arc<Cells> {
        let is_assigned = self.config.is_assigned && contract.plan.is_some();
        let beside = (is_assigned && parts.is_some()).then(|| {
            let own = origin.as_ref().and_then(|(old, origin)| {
                let own = old.own()?;
                Some((&**own, origin.beside(own)))
            });
            let others = Beside::Others(OnceLock::new());
            Beside::Own(self.table_of(contract, contracts, own, (None, Some(others))))
        });
        let cells = self.table_of(contract, contracts, origin, (parts, beside));
        if let Some(Beside::Others(others)) = cells.own().and_then(|own| own.beside.as_ref()) {
            // Nobody else sets it.
            let _ = others.set(Arc::downgrade(&cells));
        }
        cells
    }

    fn table_of(
        &self,
        contract: &Contract,
        contracts: usize,
        origin: Option<(&Cells, Origin)>,
        counted: Counted,
    ) -> Arc<Cells> {
        let (parts, beside) = counted;
        let NodeConfig {
            bytes_max,
            when_full,
            sweep,
            ..
        } = self.config;
        let is_shared = parts.is_some();
        let is_hollow = parts
            .as_ref()
            .is_some_and(|(_, set)| set.policies().is_empty());
        let shards = if contract.key.is_empty() || is_hollow {
            1
        } else {
            shards_each(contracts, bytes_max)
        };
        let config = TableConfig {
            shards: Some(shards),
            when_full,
            sweep,
        };
        let id = self.made.fetch_add(1, Relaxed);
        let share = match &origin {
            Some((old, _)) => Arc::clone(&old.share),
            // Machines hold their bytes without a share.
            None if is_hollow => MemoryShare::fixed(&self.budget, 0),
            None => MemoryShare::equal(&self.budget),
        };
        let before = origin.as_ref().and_then(|(old, _)| old.dirty.clone());
        let dirty = before.unwrap_or_else(|| {
            let dirty = Dirty::among(Arc::clone(&self.away));
            if self.is_kept.load(Relaxed) && contract.policies.iter().any(|policy| policy.durable) {
                dirty.keep();
            }
            Arc::new(dirty)
        });
        let order = origin.as_ref().map_or(id, |(old, _)| old.order);
        let lineage = Lineage {
            id,
            order,
            origin: origin.map(|(_, origin)| origin),
            parts,
            is_assigned: self.config.is_assigned && contract.plan.is_some() && !is_shared,
            dirty,
            beside,
        };
        let cells = Arc::new(Cells::new(contract, config, share, lineage));
        let holder: Arc<dyn Holder> = Arc::clone(&cells) as _;
        cells.share.join(Arc::downgrade(&holder));
        cells
    }
}

impl Node {
    /// The node that decides by other contracts from here on; for the newest node only.
    ///
    /// A contract keeps what is known of its keys when its id and the entries it counts by stay the same. Where its
    /// policies change, each policy inherits from the one of the same name, as it says. Operation ids and receipts stay
    /// valid.
    #[must_use]
    pub fn succeed(&self, contracts: Contracts, now: Instant) -> Arc<Self> {
        // At most one origin for any cells: chains would have no bound.
        while self.carry_over(now, PAGES_AT_ONCE) {}
        let lasting = self.lasting();
        let mut past = lasting.past.lock();
        let each = contracts.as_slice().iter();
        let cells = each.map(|contract| {
            let before = self.contracts().position(&contract.id);
            let before = before.and_then(|at| {
                let same_key = self.contracts().get(at)?.key == contract.key;
                Some((self.contracts().get(at)?, self.all_cells().get(at)?)).filter(|_| same_key)
            });
            match before {
                None => {
                    let parts = lasting.parts(contract, self.seats(), now);
                    lasting.cells(contract, contracts.len(), None, parts)
                }
                Some((old, cells)) if counts_alike(old, contract) => Arc::clone(cells),
                Some((old, cells)) => {
                    let parts = lasting.parts(contract, self.seats(), now);
                    let places = places(old, contract);
                    let left = parts.as_ref().map(|(parts, _)| parts);
                    let origin = Origin::new(cells, places.clone(), left);
                    let origin = Some((&**cells, origin));
                    let new = lasting.cells(contract, contracts.len(), origin, parts);
                    if let Some((own, next)) = cells.own().zip(new.own()) {
                        past.pass(own, next, places.clone(), self.swap());
                    }
                    past.pass(cells, &new, places, self.swap());
                    new
                }
            }
        });
        let cells: Box<[_]> = cells.collect();
        past.bury(self.all_cells(), &cells);
        drop(past);
        let next = Arc::new(self.with(contracts, cells));
        if let Some(company) = &lasting.company {
            company.close(self.seats(), next.seats());
        }
        self.swap().open(&next);
        next
    }

    /// The node that follows on this one, where there is one.
    pub(crate) fn next(&self) -> Option<&Self> {
        self.swap().next()
    }

    /// The newest of the nodes that follow on this one, or else this one.
    pub fn newest(&self) -> &Self {
        let mut node = self;
        while let Some(next) = node.next() {
            node = next;
        }
        node
    }

    /// The node that gave an answer, of this one and those that follow on it; `None` where it came before.
    ///
    /// The node that was asked gives most answers. A request that is overtaken by a change is answered whole by a later
    /// one.
    #[inline]
    pub fn giver(&self, answer: &Answer) -> Option<&Self> {
        let mut node = self;
        while node.version() < answer.version {
            node = node.next()?;
        }
        (node.version() == answer.version).then_some(node)
    }

    /// Takes over what the next pages of former cells hold; says whether there is more.
    ///
    /// For whoever has a moment to spare. No request waits for it: keys that are asked for are taken over by who asks.
    pub fn carry_over(&self, now: Instant, pages: usize) -> bool {
        let mut past = self.lasting().past.lock();
        for _ in 0..pages {
            if !past.step(now) {
                return false;
            }
        }
        !past.open.is_empty()
    }

    /// What happened in cells of former contracts, and how many are left of those to carry over.
    pub(crate) fn former(&self) -> (Counters, usize) {
        let past = self.lasting().past.lock();
        let open = past.open.iter().map(|(cells, _)| cells);
        let counters = open.clone().map(|cells| cells.counters());
        (
            counters.fold(past.counters, Counters::plus),
            open.map(|cells| cells.len()).sum(),
        )
    }

    /// The cells of a booking, and what it charged as they see it; `None` where its contract is no more.
    pub(crate) fn cells_for(&self, booking: &Booking) -> Option<(&Cells, Charge)> {
        let at_place = self.all_cells().get(booking.contract);
        if let Some(cells) = at_place.filter(|cells| cells.id == booking.cells) {
            return Some((cells, booking.receipt));
        }
        let mut each = self.each_cells();
        if let Some(cells) = each.find_map(|cells| cells.heir_with(booking.cells)) {
            return Some((cells, booking.receipt));
        }
        let past = self.lasting().past.lock();
        let (mut id, mut charge) = (booking.cells, booking.receipt);
        while let Some((heir, places)) = past.heirs.get(&id) {
            id = *heir;
            // Places in terms of a key's own are not those in its contract.
            if booking.terms == 0 {
                charge = translate(places, &charge);
            }
            if let Some(cells) = self.each_cells().find(|cells| cells.id == id) {
                return Some((cells, charge));
            }
        }
        None
    }
}

impl Past {
    /// Makes `new` the heir of `old`.
    fn pass(&mut self, old: &Arc<Cells>, new: &Arc<Cells>, places: FormerPlaces, swap: &Arc<Swap>) {
        let heir = Heir {
            swap: Arc::clone(swap),
            cells: Arc::clone(new),
        };
        on_table!(old, table => table.close_spots());
        if old.heir.set(heir).is_ok() {
            self.open.push((Arc::clone(old), 0));
            self.heirs.insert(old.id, (new.id, places));
        }
        while self.heirs.len() > HEIRS_MAX {
            self.heirs.pop_first();
        }
    }

    /// Keeps the counters of cells that go without an heir.
    fn bury(&mut self, old: &[Arc<Cells>], new: &[Arc<Cells>]) {
        for cells in old {
            let stays = new.iter().any(|new| Arc::ptr_eq(new, cells));
            if !stays && cells.heir.get().is_none() {
                self.counters = self.counters.plus(cells.counters());
            }
        }
    }

    /// Carries one page over; says whether there was one.
    fn step(&mut self, now: Instant) -> bool {
        let Some((old, page)) = self.open.last_mut() else {
            return false;
        };
        let Some(heir) = old.heir.get() else {
            self.open.pop();
            return true;
        };
        if heir.cells.adopt_page(*page, now) {
            *page += 1;
            return true;
        }
        *page = 0;
        if old.len() == 0 {
            heir.cells.close_origin();
            self.counters = self.counters.plus(old.counters());
            self.open.pop();
        }
        true
    }
}

/// Whether cells of one contract are cells of the other.
fn counts_alike(old: &Contract, new: &Contract) -> bool {
    old.policies.len() == new.policies.len()
        && old.policies.iter().zip(&new.policies).all(|(old, new)| {
            (&old.name, &old.policy, old.durable) == (&new.name, &new.policy, new.durable)
                && old.coordination == new.coordination
                && old.restarts_by().eq(new.restarts_by())
        })
        && old.plan.is_some() == new.plan.is_some()
}

/// For each policy of `new`, the place of its namesake in `old`.
fn places(old: &Contract, new: &Contract) -> FormerPlaces {
    terms::places(&old.policies, &new.policies)
}

/// Pages carried over without letting others at what came before.
const PAGES_AT_ONCE: usize = 64;
/// Changes of contracts through which receipts are followed.
const HEIRS_MAX: usize = 1 << 12;
