//! Keys that have terms of their own, instead of the policies of their contract.
//!
//! Whoever knows the terms of a key tells the node (`known`); what the node knows it forgets in time, when room is
//! short, and when told to. A cell remembers the terms that counted it last. When a key has newer ones its cell is
//! changed as their policies say (`inherit`), under the lock of its page: no charge is lost, and none is counted twice.
//!
//! Not here: who has which terms, and where that is written (`tollgate-catalogue`). Where keys of a contract are
//! counted with other nodes, those with terms of their own are not (`beside`).

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};

use tollgate_contract::{Contract, NamedPolicy, Terms};
use tollgate_limit::{Cell, CellError, Charge, Instant, PolicySet};
use tollgate_table::{CellRules, MemoryShare, Print, Table, TableConfig};

use crate::apart::merge;
use crate::cells::{Cells, durable, restored};
use crate::durable::WrittenCell;
use crate::heirs::{FormerPlaces, translate};

/// What somebody knows of the terms of a key.
#[derive(Clone, Debug)]
pub struct Knowledge {
    /// The terms; `None` where they are the policies of the contract.
    pub terms: Option<Arc<Terms>>,
    /// Whether other keys have the same, so that they cost this one nothing.
    pub is_shared: bool,
    /// Of two that differ the later counts, and of one revision what is sure for longer. Zero is nobody's word:
    /// whatever counted the key before still does.
    pub revision: u64,
    /// When somebody has to be asked again.
    pub until: Instant,
}

impl Knowledge {
    /// Nobody knows; to be asked again at `until`.
    pub const fn none(until: Instant) -> Self {
        Self {
            terms: None,
            is_shared: true,
            revision: 0,
            until,
        }
    }

    fn is_after(&self, other: &Self) -> bool {
        (self.revision, self.until) > (other.revision, other.until)
    }

    pub(crate) fn set<'a>(&'a self, of_contract: &'a PolicySet) -> &'a PolicySet {
        self.terms.as_ref().map_or(of_contract, |terms| &terms.set)
    }

    fn heap_bytes(&self) -> usize {
        let terms = self.terms.as_ref();
        terms.map_or(0, |terms| own_bytes(terms, self.is_shared))
    }
}

/// What is known of the terms of the keys of one contract.
#[derive(Debug)]
pub(crate) struct Assigned {
    known: Table<Knowledge, Learnt>,
    /// How often something that was known became something else.
    turned: AtomicU64,
    /// The terms of keys of which nothing is known: the contract's own policies.
    default: Arc<Terms>,
}

impl Assigned {
    pub(crate) fn new(contract: &Contract, config: TableConfig, share: Arc<MemoryShare>) -> Self {
        Self {
            known: Table::new(Learnt, config, share),
            turned: AtomicU64::new(0),
            default: Arc::new(Terms {
                policies: contract.policies.clone(),
                set: contract.policy_set().clone(),
                version: 0,
            }),
        }
    }

    pub(crate) fn learn(&self, print: Print, knowledge: Knowledge, now: Instant) {
        let put = self
            .known
            .update(print, now.as_nanos(), |known| match known {
                Some(known) if knowledge.revision == 0 => {
                    known.until = known.until.max(knowledge.until);
                    (false, None)
                }
                Some(known) if known.revision > knowledge.revision => (false, None),
                known => (known.is_some(), Some(knowledge)),
            });
        // A full table has counted the key it turned away; the key is asked for again.
        if let Ok(true) = put {
            self.turned.fetch_add(1, Release);
        }
    }

    pub(crate) fn known(&self, print: Print, now: Instant) -> Option<Wanted> {
        // Read first: what turns meanwhile makes nobody sure of what was before.
        let as_of = self.turned.load(Acquire);
        let wanted = |known: &Knowledge| (now < known.until).then(|| known.clone());
        let knowledge = self.known.get(print, wanted).flatten()?;
        Some(Wanted { knowledge, as_of })
    }

    /// Whether a key has terms of its own, as far as that is known; `None` where it is not.
    pub(crate) fn has_own(&self, print: Print) -> Option<bool> {
        let told = |known: &Knowledge| (known.revision != 0).then_some(known.terms.is_some());
        self.known.get(print, told).flatten()
    }

    pub(crate) fn is_known(&self, print: Print, now: Instant) -> bool {
        let is_sure = |known: &Knowledge| now < known.until;
        self.known.get(print, is_sure).unwrap_or(false)
    }

    /// What is not sure any more is kept for as long as there is room, for when nobody can be asked.
    pub(crate) fn forget(&self, print: Print) {
        let unsure = |known: &mut Knowledge| known.until = Instant::default();
        let _ = self.known.in_place(print, unsure);
        self.turned.fetch_add(1, Release);
    }

    /// Frees bytes for others who share the budget.
    pub(crate) fn give(&self, bytes: usize, now: u64) -> usize {
        self.known.give(bytes, now)
    }

    pub(crate) fn forget_all(&self) {
        let mut prints = Vec::new();
        for shard in 0..self.known.shards_count() {
            self.known.for_each_in(shard, |print, _| prints.push(print));
            for print in prints.drain(..) {
                drop(self.known.remove(print));
            }
        }
        self.turned.fetch_add(1, Release);
    }
}

/// Terms that a key is known to have, as of some turn of what is known.
pub(crate) struct Wanted {
    pub(crate) knowledge: Knowledge,
    as_of: u64,
}

/// As of which turn, and until when, nobody has to be asked which terms a slot is to follow.
#[derive(Clone, Copy, Debug)]
struct Sure {
    as_of: u64,
    until: Instant,
}

/// Tells the table what knowledge is worth.
#[derive(Debug)]
struct Learnt;

impl CellRules<Knowledge> for Learnt {
    fn fresh_at(&self, known: &Knowledge) -> u64 {
        known.until.as_nanos()
    }

    fn heap_bytes(&self, known: &Knowledge) -> usize {
        known.heap_bytes()
    }
}

/// What is remembered of a key: its state, the terms that wrote it, and those before.
#[derive(Clone, Debug)]
pub(crate) struct TermsCell {
    pub(crate) cell: Cell<1>,
    pub(crate) by: Knowledge,
    /// And whether other keys have them too.
    before: Option<(Arc<Terms>, bool)>,
    /// Whether it follows the terms that are wanted.
    sure: Sure,
}

impl TermsCell {
    /// A key never seen by whoever knows of terms.
    const fn with(cell: Cell<1>, by: Knowledge) -> Self {
        Self {
            cell,
            by,
            before: None,
            sure: Sure::NOT,
        }
    }

    /// Bytes on the heap that this key alone has.
    pub(crate) fn heap_bytes(&self) -> usize {
        let before = self.before.as_ref();
        let before = before.map_or(0, |(terms, is_shared)| own_bytes(terms, *is_shared));
        self.cell.heap_bytes() + self.by.heap_bytes() + before
    }

    /// Changes the cell where newer terms are wanted. Nobody's word changes nothing.
    fn follow(&mut self, cells: &Cells, wanted: Option<&Wanted>, now: Instant) {
        let Some(Wanted { knowledge, as_of }) = wanted else {
            return;
        };
        self.sure = Sure {
            as_of: *as_of,
            until: knowledge.until,
        };
        if knowledge.revision != 0 && knowledge.is_after(&self.by) {
            self.change(cells, knowledge, now);
        }
    }

    /// Changes the cell to one of these terms.
    pub(crate) fn change(&mut self, cells: &Cells, wanted: &Knowledge, now: Instant) {
        let Some(assigned) = &cells.assigned else {
            return;
        };
        let default = &assigned.default;
        let old = self.by.terms.as_ref().unwrap_or(default);
        let new = wanted.terms.as_ref().unwrap_or(default);
        // What was kept of terms tells their version, and not all of their policies.
        if old.version != new.version && old.policies != new.policies {
            let places = places(&old.policies, &new.policies);
            self.cell = new.set.inherit(&old.set, &places, &self.cell, now);
            let is_shared = self.by.terms.is_none() || self.by.is_shared;
            self.before = Some((Arc::clone(old), is_shared));
        }
        self.by = wanted.clone();
    }
}

impl Sure {
    const NOT: Self = Self {
        as_of: 0,
        until: Instant::from_nanos(0),
    };
}

/// What a table of cells holds for a key.
pub(crate) trait CellSlot<const N: usize>: Clone {
    /// The slot of a key never seen.
    fn fresh(cells: &Cells, wanted: Option<&Wanted>) -> Self;

    /// The cell, and the policies that count it once it follows the terms that are wanted.
    fn open<'a>(
        &'a mut self,
        cells: &'a Cells,
        wanted: Option<&Wanted>,
        now: Instant,
    ) -> (&'a PolicySet, &'a mut Cell<N>);

    /// The cell, and the policies that counted it last.
    fn read<'a>(&'a self, cells: &'a Cells) -> (&'a PolicySet, &'a Cell<N>);

    /// Whether it follows the terms that are wanted, so that nobody has to look for them.
    fn is_sure(&self, cells: &Cells, now: Instant) -> bool;

    /// The terms that counted it last, where they are a key's own.
    fn terms(&self) -> Option<&Arc<Terms>>;

    /// A charge of before as its policies see it today; `None` where that is too long ago to know.
    fn translate(&self, cells: &Cells, receipt: &Charge, made_by: u64) -> Option<Charge>;

    /// A slot with this cell, of the contract's own policies.
    fn of(cells: &Cells, cell: Cell<N>) -> Self;

    /// The slot whose cell was written, perhaps by policies of before.
    fn written(cells: &Cells, cell: WrittenCell<'_>, now: Instant) -> Result<Self, CellError> {
        Ok(Self::of(cells, restored(&cells.set, cell, now)?))
    }

    /// Adds what another slot of the same key has taken.
    fn merge(&mut self, cells: &Cells, other: Self, now: Instant);

    /// Bits of its policies that are durable.
    fn durable(&self, cells: &Cells) -> u64 {
        cells.durable
    }

    /// What becomes of a slot of the contract before. `places` are those that the contract's own policies had there.
    fn adopted<const M: usize, O: CellSlot<M>>(
        cells: &Cells,
        old: &Cells,
        places: &[Option<usize>],
        slot: O,
        now: Instant,
    ) -> Self {
        let (set, cell) = slot.read(old);
        let places = slot.origins(old, places);
        Self::of(cells, cells.set.inherit(set, &places, cell, now))
    }

    /// Where policies were in the terms that counted it, by where they were in the contract.
    fn origins<'a>(&self, _: &Cells, places: &'a [Option<usize>]) -> Cow<'a, [Option<usize>]> {
        Cow::Borrowed(places)
    }

    /// The same, where it has terms of its own.
    fn into_own(self) -> Result<TermsCell, Self> {
        Err(self)
    }
}

impl<const N: usize> CellSlot<N> for Cell<N> {
    #[inline]
    fn fresh(cells: &Cells, _: Option<&Wanted>) -> Self {
        Self::fresh(&cells.set)
    }

    #[inline]
    fn open<'a>(
        &'a mut self,
        cells: &'a Cells,
        _: Option<&Wanted>,
        _: Instant,
    ) -> (&'a PolicySet, &'a mut Self) {
        (&cells.set, self)
    }

    #[inline]
    fn read<'a>(&'a self, cells: &'a Cells) -> (&'a PolicySet, &'a Self) {
        (&cells.set, self)
    }

    #[inline]
    fn is_sure(&self, _: &Cells, _: Instant) -> bool {
        true
    }

    fn terms(&self) -> Option<&Arc<Terms>> {
        None
    }

    fn translate(&self, _: &Cells, receipt: &Charge, made_by: u64) -> Option<Charge> {
        // Places of policies in terms are not those in the contract.
        (made_by == 0).then_some(*receipt)
    }

    fn of(_: &Cells, cell: Self) -> Self {
        cell
    }

    fn merge(&mut self, cells: &Cells, other: Self, now: Instant) {
        merge(&cells.set, self, other, now);
    }
}

impl CellSlot<1> for TermsCell {
    fn fresh(cells: &Cells, wanted: Option<&Wanted>) -> Self {
        let by = wanted.map(|wanted| wanted.knowledge.clone());
        let by = by.unwrap_or_else(|| Knowledge::none(Instant::default()));
        Self::with(Cell::fresh(by.set(&cells.set)), by)
    }

    fn open<'a>(
        &'a mut self,
        cells: &'a Cells,
        wanted: Option<&Wanted>,
        now: Instant,
    ) -> (&'a PolicySet, &'a mut Cell<1>) {
        self.follow(cells, wanted, now);
        (self.by.set(&cells.set), &mut self.cell)
    }

    fn read<'a>(&'a self, cells: &'a Cells) -> (&'a PolicySet, &'a Cell<1>) {
        (self.by.set(&cells.set), &self.cell)
    }

    #[inline]
    fn is_sure(&self, cells: &Cells, now: Instant) -> bool {
        let turned = cells.assigned.as_ref().map(|is| is.turned.load(Acquire));
        now < self.sure.until && turned == Some(self.sure.as_of)
    }

    fn terms(&self) -> Option<&Arc<Terms>> {
        self.by.terms.as_ref()
    }

    fn translate(&self, cells: &Cells, receipt: &Charge, made_by: u64) -> Option<Charge> {
        let default = &cells.assigned.as_ref()?.default;
        let today = self.terms().unwrap_or(default);
        if today.version == made_by {
            return Some(*receipt);
        }
        let before = self.before.as_ref().map(|(terms, _)| terms);
        let before = before.filter(|terms| terms.version == made_by)?;
        let places = places(&before.policies, &today.policies);
        Some(translate(&places, receipt))
    }

    fn of(_: &Cells, cell: Cell<1>) -> Self {
        Self::with(cell, Knowledge::none(Instant::default()))
    }

    /// Terms that wrote it count it until somebody knows newer ones.
    fn written(cells: &Cells, cell: WrittenCell<'_>, now: Instant) -> Result<Self, CellError> {
        let Some(terms) = cell.by.and_then(|by| by.terms) else {
            return Ok(Self::of(cells, restored(&cells.set, cell, now)?));
        };
        let by = Knowledge {
            terms: Some(Arc::clone(terms)),
            is_shared: false,
            ..Knowledge::none(Instant::default())
        };
        Ok(Self::with(terms.set.restore(cell.bytes)?, by))
    }

    /// Both are counted by the terms of the one of which more is known.
    fn merge(&mut self, cells: &Cells, mut other: Self, now: Instant) {
        let rank = |own: &Self| (own.by.revision, own.by.terms.is_some());
        if rank(&other) > rank(self) {
            self.change(cells, &other.by, now);
        } else {
            other.change(cells, &self.by, now);
        }
        merge(self.by.set(&cells.set), &mut self.cell, other.cell, now);
    }

    fn durable(&self, cells: &Cells) -> u64 {
        let own = self.by.terms.as_ref();
        own.map_or(cells.durable, |terms| durable(&terms.policies))
    }

    /// Terms of its own stay until newer ones are known.
    fn adopted<const M: usize, O: CellSlot<M>>(
        cells: &Cells,
        old: &Cells,
        places: &[Option<usize>],
        slot: O,
        now: Instant,
    ) -> Self {
        let mut own = match slot.into_own() {
            Ok(own) => own,
            Err(slot) => {
                let (set, cell) = slot.read(old);
                return Self::of(cells, cells.set.inherit(set, places, cell, now));
            }
        };
        if own.by.terms.is_none() {
            own.cell = cells.set.inherit(&old.set, places, &own.cell, now);
        }
        own.sure = Sure::NOT;
        own
    }

    fn origins<'a>(&self, old: &Cells, places: &'a [Option<usize>]) -> Cow<'a, [Option<usize>]> {
        let (Some(terms), Some(assigned)) = (&self.by.terms, &old.assigned) else {
            return Cow::Borrowed(places);
        };
        let of_contract = self::places(&terms.policies, &assigned.default.policies);
        let origin = |place: &Option<usize>| of_contract.get((*place)?).copied().flatten();
        places.iter().map(origin).collect()
    }

    fn into_own(self) -> Result<Self, Self> {
        Ok(self)
    }
}

impl Cells {
    /// The terms that a key is known to have, where keys have their own.
    #[inline]
    pub(crate) fn wanted(&self, print: Print, now: Instant) -> Option<Wanted> {
        self.assigned.as_ref()?.known(print, now)
    }
}

/// For each policy of `new`, the place of its namesake in `old`.
pub(crate) fn places(old: &[NamedPolicy], new: &[NamedPolicy]) -> FormerPlaces {
    let place = |name: &str| old.iter().position(|old| old.name == name);
    new.iter().map(|policy| place(&policy.name)).collect()
}

/// Bytes of terms that one key alone has.
fn own_bytes(terms: &Terms, is_shared: bool) -> usize {
    if is_shared {
        return 0;
    }
    let each = size_of::<NamedPolicy>() + size_of::<tollgate_limit::Policy>() + NAME_BYTES;
    size_of::<Terms>() + terms.policies.len() * each
}

/// What the name of a policy takes, with what the allocator adds.
const NAME_BYTES: usize = 32;
