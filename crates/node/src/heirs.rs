//! How the cells of a contract pass to those of its next version, while requests are decided.
//!
//! When the policies of a contract change, new cells are made for it: the *heir* of the old ones, which are its
//! *origin*. From one instant on ([`Swap`]) nobody writes to the old cells any more: who holds the lock of one of their
//! pages and sees that the instant has passed lets go and asks the node that follows. A key that the heir does not know
//! is taken over first: its old cell is removed under the lock of its old page and put in, changed as its policies say,
//! while the new page is held. So a key's cell is in one place at any time, and whatever was charged to it comes along.
//!
//! Locks are taken in one order: contracts by [`Cells::order`], which heirs share with their origin, and of one
//! contract the new page before the old.
//!
//! Not here: which contracts follow on which (`succession`).

use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, OnceLock, Weak};

use tollgate_limit::{Charge, Instant};
use tollgate_table::Print;

use crate::cells::{Cells, on_table};
use crate::company::CoordinatedPolicies;
use crate::node::Node;
use crate::terms::CellSlot;

/// For each policy, the place of its namesake before.
pub(crate) type FormerPlaces = Box<[Option<usize>]>;

/// The instant at which all contracts that change together do, and the node that decides from then on.
#[derive(Debug, Default)]
pub(crate) struct Swap(OnceLock<Arc<Node>>);

impl Swap {
    /// Lets it happen; it does once.
    pub(crate) fn open(&self, next: &Arc<Node>) {
        let _ = self.0.set(Arc::clone(next));
    }

    /// The node that decides, once it has happened.
    pub(crate) fn next(&self) -> Option<&Node> {
        self.0.get().map(|node| &**node)
    }
}

/// Who has the cells from an instant on.
#[derive(Debug)]
pub(crate) struct Heir {
    pub(crate) swap: Arc<Swap>,
    pub(crate) cells: Arc<Cells>,
}

/// Whose cells are taken over.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Held by whoever carries them over; gone once nothing is left.
    cells: Weak<Cells>,
    /// For each policy, its place in the origin.
    places: FormerPlaces,
    /// The same for those in the cells alone.
    states: FormerPlaces,
    /// Whether something may be left.
    open: AtomicBool,
}

impl Origin {
    /// `parts` are the policies of the heir that are in no cells.
    pub(crate) fn new(
        cells: &Arc<Cells>,
        places: FormerPlaces,
        parts: Option<&CoordinatedPolicies>,
    ) -> Self {
        let before = |place: usize| match cells.parts() {
            None => Some(place),
            Some(parts) => parts.local(place),
        };
        let here = places.iter().enumerate();
        let here = here.filter(|(place, _)| parts.is_none_or(|p| p.local(*place).is_some()));
        let states = here.map(|(_, origin)| origin.and_then(before));
        Self {
            cells: Arc::downgrade(cells),
            states: states.collect(),
            places,
            open: AtomicBool::new(true),
        }
    }
}

impl Origin {
    /// The same for cells beside the origin's.
    pub(crate) fn beside(&self, own: &Arc<Cells>) -> Self {
        Self::new(own, self.places.clone(), None)
    }
}

impl Cells {
    /// Whether an heir has the cells; exact for who holds the lock of a page.
    #[inline]
    pub(crate) fn is_left(&self) -> bool {
        match self.heir.get() {
            None => false,
            Some(heir) => heir.swap.next().is_some(),
        }
    }

    /// Who has the cells, where it is not these.
    pub(crate) fn heir(&self) -> Option<&Arc<Self>> {
        let heir = self.heir.get()?;
        heir.swap.next().map(|_| &heir.cells)
    }

    /// These cells, or those that follow on them, whichever have the number.
    pub(crate) fn heir_with(&self, id: u64) -> Option<&Self> {
        let mut cells = self;
        while cells.id != id {
            cells = cells.heir()?;
        }
        Some(cells)
    }

    /// Takes a key over from the origin, where there is something to take. Afterwards the origin does not know the key,
    /// and will not come to.
    #[inline]
    pub(crate) fn adopt(&self, print: Print, now: Instant) {
        if let Some(origin) = &self.origin
            && origin.open.load(Acquire)
        {
            self.adopt_from(origin, print, now);
        }
        if self.beside.is_some() {
            self.adopt_beside(print, now);
        }
    }

    #[cold]
    fn adopt_from(&self, origin: &Origin, print: Print, now: Instant) {
        let Some(old) = origin.cells.upgrade() else {
            return;
        };
        let places = &origin.states;
        on_table!(self, table => table.adopt(print, now.as_nanos(), || {
            let slot = on_table!(old, from => from
                .remove(print)
                .map(|slot| CellSlot::adopted(self, &old, places, slot, now)));
            if slot.is_some() {
                self.changed(print);
            }
            slot
        }));
    }

    /// Removes a key from the origin.
    pub(crate) fn disown(&self, print: Print) {
        let open = self.origin.as_ref().filter(|o| o.open.load(Acquire));
        if let Some(old) = open.and_then(|origin| origin.cells.upgrade()) {
            on_table!(old, table => drop(table.remove(print)));
        }
    }

    /// Takes over every key of one page of the origin; `false` where it has no such page.
    pub(crate) fn adopt_page(&self, page: usize, now: Instant) -> bool {
        let Some(old) = self.origin.as_ref().and_then(|o| o.cells.upgrade()) else {
            return false;
        };
        let mut prints = Vec::new();
        let there = on_table!(old, table => table.prints_of_page(page, &mut prints));
        for print in prints {
            self.adopt(print, now);
        }
        there
    }

    /// Notes that nothing is left in the origin.
    pub(crate) fn close_origin(&self) {
        if let Some(origin) = &self.origin {
            origin.open.store(false, Release);
        }
    }

    /// A receipt of the origin as one of these cells.
    pub(crate) fn translate(&self, receipt: &Charge) -> Charge {
        let Some(origin) = &self.origin else {
            return *receipt;
        };
        translate(&origin.places, receipt)
    }
}

/// A receipt by policies of before as one by policies of which these are the places they had.
pub(crate) fn translate(places: &[Option<usize>], receipt: &Charge) -> Charge {
    let charged = |place: &usize| receipt.charged >> place & 1 != 0;
    let kept = places.iter().enumerate();
    let kept = kept.filter(|(_, origin)| origin.as_ref().is_some_and(charged));
    Charge {
        charged: kept.fold(0, |bits, (place, _)| bits | 1 << place),
        ..*receipt
    }
}
