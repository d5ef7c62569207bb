//! The node: contracts and the cells of every contract.
//!
//! Every method takes the time and answers at once; nothing here waits, reads a clock or draws a random number.
//! Any number of threads may call it. Not here: what is counted with other nodes (`company`), listeners, reservations
//! by id (`ids`).

use std::sync::Arc;

use tollgate_contract::{Contract, Contracts, Unmatched};
use tollgate_limit::{Cost, Instant, KeyStatus, Lot};
use tollgate_table::{Budget, Counters, Print, Seed, Sweep, WhenFull};

use crate::answer::{Answer, Booking, KeyLocation, Receipt};
use crate::apart::Due;
use crate::batch::{self, Printed};
use crate::cells::Cells;
use crate::company::{Company, CoordinatedPolicies, Membership, Seats};
use crate::decide::Bound;
use crate::heirs::Swap;
use crate::ids::Ids;
use crate::key::Key;
use crate::succession::Lasting;

/// How much a node may hold, and what it does when that is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// The most bytes that all cells and operation ids together may take. Each contract can count on an equal part of
    /// it.
    pub bytes_max: u64,
    /// What happens to a new key when they are taken.
    pub when_full: WhenFull,
    /// When cells that equal a fresh one are dropped.
    pub sweep: Sweep,
    /// The most operation ids remembered at once. They take a quarter of `bytes_max` at most.
    pub ids_max: usize,
    /// Whether keys of contracts that follow a plan may have terms of their own ([`Node::learn`]).
    pub is_assigned: bool,
    /// What becomes of a key that no contract binds, where the contracts do not say.
    pub unmatched: Unmatched,
}

impl Default for NodeConfig {
    /// One gibibyte; the key closest to fresh makes room.
    fn default() -> Self {
        Self {
            bytes_max: 1 << 30,
            when_full: WhenFull::Evict,
            sweep: Sweep::BeforeGrowth,
            ids_max: 1 << 20,
            is_assigned: false,
            unmatched: Unmatched::default(),
        }
    }
}

/// Contracts and the cells of every contract.
#[derive(Debug)]
pub struct Node {
    /// How many nodes came before it.
    version: u64,
    contracts: Contracts,
    cells: Box<[Arc<Cells>]>,
    /// What is counted with other nodes, by its name among them.
    seats: Seats,
    /// When and by which node it is followed.
    swap: Arc<Swap>,
    /// Contracts that a bare key binds: their place, and whether they count by it.
    bare: Box<[(usize, bool)]>,
    /// The contract that every bare key binds and no other does, where keys need no lot.
    pub(crate) lone: Option<Lone>,
    /// The same, where keys may have terms of their own.
    lone_own: Option<Lone>,
    pub(crate) seed: Seed,
    /// Gives keys their lots: the same on every node and after every start, so no secret.
    lots: Seed,
    budget: Arc<Budget>,
    lasting: Arc<Lasting>,
}

/// A contract that is all a bare key binds.
#[derive(Debug)]
pub(crate) struct Lone {
    pub(crate) place: usize,
    pub(crate) cells: Arc<Cells>,
}

impl Node {
    /// A node that decides by these contracts. The seed must be one that clients cannot guess.
    pub fn new(contracts: Contracts, config: NodeConfig, seed: Seed) -> Self {
        Self::begin(contracts, config, None, seed, Instant::default())
    }

    /// A node that counts what is under `coordination: gossip` together with others. They must have the same seed.
    pub fn with_company(
        contracts: Contracts,
        config: NodeConfig,
        seed: Seed,
        membership: Membership,
    ) -> Self {
        let now = membership.start;
        Self::begin(contracts, config, Some(membership), seed, now)
    }

    fn begin(
        contracts: Contracts,
        config: NodeConfig,
        membership: Option<Membership>,
        seed: Seed,
        now: Instant,
    ) -> Self {
        let lasting = Arc::new(Lasting::new(config, membership, seed.clone()));
        let cells = lasting.cells_for(&contracts, now);
        if let Some(company) = &lasting.company {
            company.has_begun();
        }
        Self::of(contracts, cells, lasting, seed)
    }

    /// The same node with other contracts and their cells.
    pub(crate) fn with(&self, contracts: Contracts, cells: Box<[Arc<Cells>]>) -> Self {
        let (lasting, seed) = (Arc::clone(&self.lasting), self.seed.clone());
        Self {
            version: self.version + 1,
            ..Self::of(contracts, cells, lasting, seed)
        }
    }

    fn of(
        contracts: Contracts,
        cells: Box<[Arc<Cells>]>,
        lasting: Arc<Lasting>,
        seed: Seed,
    ) -> Self {
        let budget = Arc::clone(&lasting.budget);
        let each = contracts.as_slice().iter().enumerate();
        let bare = each.filter(|(_, contract)| contract.binds_bare_keys());
        let bare: Box<[_]> = bare
            .map(|(place, contract)| (place, !contract.key.is_empty()))
            .collect();
        let lone = match *bare {
            [(place, true)] => cells.get(place).map(|cells| Lone {
                place,
                cells: Arc::clone(cells),
            }),
            _ => None,
        };
        let lone = lone.filter(|lone| lone.cells.parts().is_none());
        let (lone_own, lone) = match lone {
            Some(lone) if lone.cells.assigned.is_some() => (Some(lone), None),
            lone => (None, lone.filter(|lone| !lone.cells.is_staged())),
        };
        let parts = cells.iter().filter_map(|cells| cells.parts());
        let each: Vec<_> = parts.flat_map(CoordinatedPolicies::each).collect();
        let shards = each.iter().flat_map(|part| &part.shards);
        let seats: Seats = shards.map(|seat| (seat.tag, Arc::clone(seat))).collect();
        if let Some(company) = &lasting.company {
            company.set_policies(each.len());
        }
        Self {
            version: 0,
            seats,
            contracts,
            swap: Arc::default(),
            bare,
            lone,
            lone_own,
            seed,
            lots: Seed::new([0, 0]),
            budget,
            lasting,
            cells,
        }
    }

    /// The contracts, by place.
    pub fn contracts(&self) -> &Contracts {
        &self.contracts
    }

    /// Decides one request and charges it.
    #[inline]
    pub fn check(&self, key: Key<'_>, cost: Cost, now: Instant) -> Answer {
        self.check_when(key, cost, || Some(now), || now)
    }

    /// Where a bare key is that binds one contract only, in which keys may have terms of their own.
    #[inline]
    pub(crate) fn lone_own(&self, key: Key<'_>) -> Option<(KeyLocation, &Cells)> {
        let Lone { place, cells } = self.lone_own.as_ref()?;
        if let Key::Entries(_) = key {
            return None;
        }
        let place = KeyLocation {
            contract: *place,
            cells: cells.id,
            print: bare_print(&self.seed, key),
        };
        Some((place, cells))
    }

    /// Decides many requests at one time, in order, and hands each answer over; faster than one by one.
    pub fn check_many(
        &self,
        requests: &[(Key<'_>, Cost)],
        now: Instant,
        mut answer: impl FnMut(Answer),
    ) {
        let bare = |request: &(Key<'_>, Cost)| !matches!(request.0, Key::Entries(_));
        let Some(bound) = self.lone().filter(|_| requests.iter().all(bare)) else {
            for chunk in requests.chunks(batch::CHUNK) {
                self.whole().check_ahead(chunk, now, &mut answer);
            }
            return;
        };
        for chunk in requests.chunks(batch::CHUNK) {
            let mut printed = [Printed {
                print: Print(0),
                cost: Cost::PEEK,
            }; batch::CHUNK];
            for (to, (key, cost)) in printed.iter_mut().zip(chunk) {
                *to = Printed {
                    print: bare_print(&self.seed, *key),
                    cost: *cost,
                };
            }
            let printed = printed.get(..chunk.len()).unwrap_or(&printed);
            let decided = batch::check_chunk(bound, printed, now, |decided| {
                answer(decided.by(self.version));
            });
            for (key, cost) in chunk.iter().skip(decided) {
                answer(self.check(*key, *cost, now));
            }
        }
    }

    /// Charges the difference between `actual` and what a receipt says was charged. Valid once per receipt.
    pub fn settle(&self, receipt: &Receipt, actual: Cost, now: Instant) {
        for booking in receipt.bookings() {
            if let Some((cells, charge)) = self.cells_for(booking) {
                // A full table has counted the key it turned away; there is nobody else to tell.
                let terms = booking.terms;
                let cells = cells.of(booking.print);
                let _ = cells.settle(booking.print, Due { charge, terms }, actual, now);
            }
        }
    }

    /// Whether a contract that a receipt was charged to is still there.
    pub fn knows(&self, receipt: &Receipt) -> bool {
        let mut bookings = receipt.bookings().iter();
        bookings.any(|booking| self.cells_for(booking).is_some())
    }

    /// Charges without asking; the key may go into debt. Says whether every contract had room for the key.
    pub fn charge(&self, key: Key<'_>, cost: Cost, now: Instant) -> bool {
        self.whole().charge(key, cost, now)
    }

    /// Gives tokens back, the last taken first.
    pub fn refund(&self, key: Key<'_>, cost: Cost, now: Instant) {
        self.whole().refund(key, cost, now);
    }

    /// Forgets everything about a key.
    pub fn reset(&self, key: Key<'_>) {
        self.whole().reset(key);
    }

    /// How each policy of each contract that binds the key stands.
    pub fn status(&self, key: Key<'_>, now: Instant) -> Vec<(usize, Vec<KeyStatus>)> {
        self.whole().status(key, now).each
    }

    /// How each policy of the contract of a booking stands for its key; `None` where the contract was followed by
    /// another.
    pub fn standing(&self, booking: &Booking, now: Instant) -> Option<Vec<KeyStatus>> {
        let cells = self.cells_of(booking.contract)?;
        let statuses = cells.status(booking.print, now);
        (cells.id == booking.cells && !cells.is_left()).then_some(statuses)
    }

    /// What happened at the limits of the table so far.
    pub fn counters(&self) -> Counters {
        let (former, _) = self.former();
        let counters = self.each_cells().map(Cells::counters);
        counters.fold(former, Counters::plus)
    }

    /// How many cells there are.
    pub fn cells_count(&self) -> usize {
        let (_, former) = self.former();
        let counts = self.each_cells().map(Cells::len);
        former + counts.sum::<usize>()
    }

    /// How many bytes the cells take.
    pub fn bytes(&self) -> u64 {
        self.budget.used()
    }

    /// How many bytes the cells may take.
    pub fn bytes_max(&self) -> u64 {
        self.budget.limit()
    }

    /// Drops fresh cells from the next few pages of every table; for whoever has a moment to spare.
    pub fn drop_fresh(&self, now: Instant, pages: usize) -> usize {
        self.each_cells()
            .map(|cells| cells.drop_fresh(now, pages))
            .sum()
    }

    /// The bytes that the cells may take, to be shared with whoever keeps some beside the node.
    pub const fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.lasting.ids
    }

    pub(crate) fn lasting(&self) -> &Lasting {
        &self.lasting
    }

    /// What becomes of a key that no contract binds.
    pub fn unmatched(&self) -> Unmatched {
        let default = self.lasting.config.unmatched;
        self.contracts.unmatched().unwrap_or(default)
    }

    /// How many nodes came before it.
    pub const fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn company(&self) -> Option<&Arc<Company>> {
        self.lasting.company.as_ref()
    }

    pub(crate) const fn seats(&self) -> &Seats {
        &self.seats
    }

    /// Contracts with policies that are counted with other nodes, and these.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&Contract, &CoordinatedPolicies)> {
        let contracts = self.contracts.as_slice().iter();
        let both = contracts.zip(&self.cells);
        both.filter_map(|(contract, cells)| Some((contract, cells.parts()?)))
    }

    /// The same, each with its place.
    pub(crate) fn placed_parts(
        &self,
    ) -> impl Iterator<Item = (usize, &Contract, &CoordinatedPolicies)> {
        let contracts = self.contracts.as_slice().iter();
        let both = contracts.zip(&self.cells).enumerate();
        both.filter_map(|(place, (contract, cells))| Some((place, contract, cells.parts()?)))
    }

    pub(crate) const fn swap(&self) -> &Arc<Swap> {
        &self.swap
    }

    pub(crate) const fn all_cells(&self) -> &[Arc<Cells>] {
        &self.cells
    }

    /// The same, and those of keys with terms of their own beside them.
    pub(crate) fn each_cells(&self) -> impl Iterator<Item = &Cells> {
        self.cells.iter().flat_map(|cells| cells.with_own())
    }

    /// Contracts that a bare key binds: their place, and whether they count by it.
    pub(crate) const fn bare(&self) -> &[(usize, bool)] {
        &self.bare
    }

    pub(crate) fn cells_of(&self, contract: usize) -> Option<&Cells> {
        self.cells.get(contract).map(|cells| &**cells)
    }

    pub(crate) const fn seed(&self) -> &Seed {
        &self.seed
    }

    pub(crate) const fn lots(&self) -> &Seed {
        &self.lots
    }

    /// The lone contract, without a print yet.
    fn lone(&self) -> Option<Bound<'_>> {
        let Lone { place, cells } = self.lone.as_ref()?;
        Some(Bound {
            contract: *place,
            cells,
            print: Print(0),
            lot: Lot::ALWAYS,
        })
    }
}

#[inline(always)]
#[allow(clippy::inline_always)] // The short way is worth it only as one function.
pub(crate) fn bare_print(seed: &Seed, key: Key<'_>) -> Print {
    match key {
        Key::Word(word) => seed.word(word),
        Key::Text(text) => seed.bytes(text),
        Key::Entries(_) => seed.hasher().finish(),
    }
}

/// Shards of one contract's table: few where there are many contracts, as each shard has a price.
pub(crate) fn shards_each(contracts: usize, bytes_max: u64) -> usize {
    let all = usize::try_from(bytes_max / SHARD_BYTES)
        .unwrap_or(SHARDS_MAX)
        .clamp(SHARDS_MIN, SHARDS_MAX);
    (all / contracts.max(1)).max(1)
}

/// The bytes for which there is one shard, which takes 32 of them.
const SHARD_BYTES: u64 = 16 << 10;
const SHARDS_MIN: usize = 64;
const SHARDS_MAX: usize = 1 << 16;
