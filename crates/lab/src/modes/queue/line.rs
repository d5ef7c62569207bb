//! The elements of one key in order of birth, each with its time of death.
//!
//! The elements are always *chained*: each dies at least one step after the one before it. A merge takes the greater
//! death of each element and chains again; both are maxima, so whatever is merged in whatever order, however often,
//! ends in the same line. Not here: whom a line is told to, and bytes.

use tollgate_gossip::{Mark, planted};
use tollgate_limit::Instant;

use crate::modes::rounds::Bits;

/// The most elements of a line. A debt beyond that is forgiven; of what others tell, the oldest goes first.
pub(crate) const ELEMENTS_MAX: usize = 1 << 17;

/// Which element: its birth in units of 16 µs in the upper 48 bits, its node in the lower 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) u64);

/// One request, or as many tokens as an element stands for.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) id: Id,
    pub(crate) death: Mark,
    /// The neighbours it waits for.
    pub(crate) waiting: Bits,
}

/// An element as a frame tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementReport {
    pub(crate) id: Id,
    pub(crate) death: Mark,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct KeyQueue {
    pub(crate) elements: Vec<Element>,
    /// The neighbours any of them waits for.
    pub(crate) waiting: Bits,
    /// Tokens that the newest element of this node stands for and that nobody has used.
    pub(crate) paid: u64,
    /// When something dies or is dropped next, as it is kept in order elsewhere.
    pub(crate) wake: Option<Instant>,
}

#[derive(Debug, Default)]
pub(crate) struct QueueCounts {
    /// Elements by slot.
    pub(crate) elements: Vec<u64>,
    /// Elements in all delta states together.
    pub(crate) total: u64,
}

/// What a change of a line needs to know.
#[derive(Debug)]
pub(crate) struct QueueChange<'a> {
    /// Grains between two deaths.
    pub(crate) step: u128,
    pub(crate) now: Mark,
    /// Everyone who is told what changed.
    pub(crate) all: &'a Bits,
    pub(crate) counts: &'a mut QueueCounts,
}

impl Id {
    const BIRTH_MAX: u64 = (1 << 48) - 1;
    /// Nanoseconds in a unit of birth.
    const UNIT_NS: u64 = 16_000;

    /// The element that `node` bears in that unit of time.
    pub(crate) fn new(birth: u64, node: u16) -> Self {
        Self(birth.min(Self::BIRTH_MAX) << 16 | u64::from(node))
    }

    /// The unit that holds an instant.
    pub(crate) fn unit_of(nanos: u64) -> u64 {
        nanos / Self::UNIT_NS
    }

    /// The birth in units.
    fn birth(self) -> u64 {
        self.0 >> 16
    }

    /// The birth in nanoseconds since the epoch.
    pub(crate) fn birth_ns(self) -> u64 {
        self.birth() * Self::UNIT_NS
    }

    /// Eight bytes: the birth in six, the node in two.
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        self.0.rotate_right(16).to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(bytes).rotate_left(16))
    }
}

impl QueueCounts {
    fn replace(&mut self, old: &Bits, new: &Bits) {
        for slot in new.without(old) {
            if slot >= self.elements.len() {
                self.elements.resize(slot + 1, 0);
            }
            if let Some(count) = self.elements.get_mut(slot) {
                *count += 1;
                self.total += 1;
            }
        }
        for slot in old.without(new) {
            self.drop_one(slot);
        }
    }

    fn drop_one(&mut self, slot: usize) {
        if let Some(count) = self.elements.get_mut(slot) {
            *count -= 1;
            self.total -= 1;
        }
    }
}

impl Element {
    /// The element does not wait for that neighbour.
    fn settle(&mut self, slot: usize, counts: &mut QueueCounts) {
        if self.waiting.remove(slot) {
            counts.drop_one(slot);
        }
    }

    fn silence(&mut self, counts: &mut QueueCounts) {
        let none = Bits::default();
        counts.replace(&self.waiting, &none);
        self.waiting = none;
    }
}

impl QueueChange<'_> {
    /// The element changed: it waits for everyone, if it lives.
    fn announce(&mut self, element: &mut Element) {
        if element.death > self.now {
            self.counts.replace(&element.waiting, self.all);
            element.waiting.clone_from(self.all);
        }
    }
}

impl KeyQueue {
    pub(crate) fn dead(&self, now: Mark) -> usize {
        self.elements
            .partition_point(|element| element.death <= now)
    }

    /// Grains of backlog: a step for each element that lives, of the first what is left of it.
    pub(crate) fn level(&self, step: u128, now: Mark) -> u128 {
        let living = self.elements.get(self.dead(now)..).unwrap_or_default();
        living.first().map_or(0, |first| {
            let behind = living.len() as u128 - planted!("queue-level", 1, 0);
            step * behind + first.death.since(now).min(step)
        })
    }

    /// Drops what is dead for longer than `margin`; what is merely dead waits for nobody.
    pub(crate) fn refill(&mut self, margin: u128, change: &mut QueueChange<'_>) {
        let dead = self.dead(change.now);
        for element in self.elements.iter_mut().take(dead) {
            element.silence(change.counts);
        }
        let gone = self
            .elements
            .partition_point(|element| element.death.plus(margin) <= change.now);
        self.elements.drain(..gone);
    }

    /// Adds an element born here, in its place by birth. `false` if the line is full.
    pub(crate) fn bear(&mut self, id: Id, change: &mut QueueChange<'_>) -> bool {
        if self.elements.len() >= ELEMENTS_MAX {
            return false;
        }
        let at = self.elements.partition_point(|element| element.id < id);
        let before = at.checked_sub(1).and_then(|at| self.elements.get(at));
        let last = before.map_or(change.now, |element| element.death);
        let start = planted!("queue-birth", last.max(change.now), last);
        let mut element = Element {
            id,
            death: start.plus(change.step),
            waiting: Bits::default(),
        };
        change.announce(&mut element);
        self.elements.insert(at, element);
        self.chain(at, change);
        true
    }

    /// Moves deaths after `from` so that each is a step after the one before.
    fn chain(&mut self, from: usize, change: &mut QueueChange<'_>) {
        let mut elements = self.elements.iter_mut().skip(from);
        let Some(mut before) = elements.next().map(|element| element.death) else {
            return;
        };
        for element in elements {
            before = before.plus(change.step);
            if element.death >= before {
                return;
            }
            element.death = before;
            change.announce(element);
        }
    }

    /// Merges elements that the neighbour in slot `from` knows, in ascending order.
    pub(crate) fn absorb(
        &mut self,
        heard: &[ElementReport],
        from: usize,
        change: &mut QueueChange<'_>,
    ) {
        if !self.holds(heard) {
            self.merge(heard, from, change);
        }
    }

    /// Whether nothing in `heard` is news.
    fn holds(&self, heard: &[ElementReport]) -> bool {
        let mut rest = self.elements.as_slice();
        heard.iter().all(|told| {
            let at = rest.partition_point(|mine| mine.id < told.id);
            rest = rest.get(at..).unwrap_or_default();
            rest.first()
                .is_some_and(|mine| mine.id == told.id && mine.death >= told.death)
        })
    }

    /// What changed waits for everyone; but for the neighbour who told the same only if it did before.
    fn merge(&mut self, heard: &[ElementReport], from: usize, change: &mut QueueChange<'_>) {
        let room = self.elements.len() + heard.len();
        let mut mine = std::mem::replace(&mut self.elements, Vec::with_capacity(room))
            .into_iter()
            .peekable();
        for told in heard {
            while let Some(element) = mine.next_if(|element| element.id < told.id) {
                self.append(element, None, change);
            }
            let known = mine.next_if(|element| element.id == told.id);
            let is_new = known.is_none();
            let element = known.unwrap_or(Element {
                id: told.id,
                death: told.death,
                waiting: Bits::default(),
            });
            let was = element.waiting.contains(from);
            self.append(element, Some((told.death, is_new)), change);
            if let Some(mine) = self.elements.last_mut()
                && mine.death == told.death
                && !was
            {
                mine.settle(from, change.counts);
            }
        }
        for element in mine {
            self.append(element, None, change);
        }
        self.shorten(change);
    }

    /// Appends an element, chained to the last; announces it if it is new or its death moved.
    fn append(
        &mut self,
        mut element: Element,
        told: Option<(Mark, bool)>,
        change: &mut QueueChange<'_>,
    ) {
        let chained = self
            .elements
            .last()
            .map_or(Mark(0), |last| last.death.plus(change.step));
        let (heard, is_new) = told.unwrap_or((Mark(0), false));
        let death = element
            .death
            .max(heard)
            .max(planted!("queue-chain", chained, Mark(0)));
        if is_new || death > element.death {
            element.death = death;
            change.announce(&mut element);
        }
        self.elements.push(element);
    }

    fn shorten(&mut self, change: &mut QueueChange<'_>) {
        let excess = self.elements.len().saturating_sub(ELEMENTS_MAX);
        for mut element in self.elements.drain(..excess) {
            element.silence(change.counts);
        }
    }

    pub(crate) fn waiting_for(&self, slot: usize) -> impl DoubleEndedIterator<Item = &Element> {
        self.elements
            .iter()
            .filter(move |element| element.waiting.contains(slot))
    }

    /// What waits for a neighbour, and no longer does.
    pub(crate) fn take_waiting(
        &mut self,
        slot: usize,
        counts: &mut QueueCounts,
    ) -> Vec<ElementReport> {
        let mut taken = Vec::new();
        for element in &mut self.elements {
            if element.waiting.remove(slot) {
                counts.drop_one(slot);
                taken.push(ElementReport {
                    id: element.id,
                    death: element.death,
                });
            }
        }
        taken
    }

    /// Nothing waits for that neighbour any more.
    pub(crate) fn settle(&mut self, slot: usize, counts: &mut QueueCounts) {
        for element in &mut self.elements {
            element.settle(slot, counts);
        }
    }

    /// The neighbours that any element waits for.
    pub(crate) fn audience(&self) -> Bits {
        let mut all = Bits::default();
        for element in &self.elements {
            all.join(&element.waiting);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const STEP: u128 = 10;

    fn heard() -> impl Strategy<Value = Vec<ElementReport>> {
        prop::collection::btree_map((0_u64..8, 0_u16..3), 1_u128..60, 1..8).prop_map(|elements| {
            elements
                .into_iter()
                .map(|((birth, node), death)| ElementReport {
                    id: Id::new(birth, node),
                    death: Mark(death),
                })
                .collect()
        })
    }

    /// A line that heard all that, one after the other.
    fn line_of(parts: &[Vec<ElementReport>]) -> Vec<(Id, Mark)> {
        let (mut line, mut counts, all) =
            (KeyQueue::default(), QueueCounts::default(), Bits::default());
        for part in parts {
            let mut change = QueueChange {
                step: STEP,
                now: Mark(0),
                all: &all,
                counts: &mut counts,
            };
            line.absorb(part, 0, &mut change);
        }
        line.elements
            .iter()
            .map(|element| (element.id, element.death))
            .collect()
    }

    /// The same, slowly: the greatest death of each, then each a step after the one before.
    fn model_of(parts: &[Vec<ElementReport>]) -> Vec<(Id, Mark)> {
        let mut deaths = BTreeMap::<Id, Mark>::new();
        for told in parts.iter().flatten() {
            let death = deaths.entry(told.id).or_insert(told.death);
            *death = told.death.max(*death);
        }
        let mut least = Mark(0);
        for death in deaths.values_mut() {
            *death = least.max(*death);
            least = death.plus(STEP);
        }
        deaths.into_iter().collect()
    }

    proptest! {
        #[test]
        fn any_order_and_number_of_hearings_gives_one_line(
            parts in prop::collection::vec(heard(), 1..6),
            again in prop::collection::vec(0_usize..6, 0..6),
        ) {
            let wanted = model_of(&parts);
            prop_assert_eq!(&line_of(&parts), &wanted);
            let mut other: Vec<_> = parts.iter().rev().cloned().collect();
            other.extend(again.iter().filter_map(|&at| parts.get(at).cloned()));
            prop_assert_eq!(&line_of(&other), &wanted);
            // Relayed by another line, and grouped otherwise.
            let (left, right) = parts.split_at(parts.len() / 2);
            let relay: Vec<_> = line_of(right)
                .into_iter()
                .map(|(id, death)| ElementReport { id, death })
                .collect();
            let mut grouped = left.to_vec();
            grouped.push(relay);
            prop_assert_eq!(&line_of(&grouped), &wanted);
        }

        #[test]
        fn what_waits_is_counted(
            parts in prop::collection::vec((heard(), 0_usize..3, 0_u64..80), 1..8),
        ) {
            let (mut line, mut counts) = (KeyQueue::default(), QueueCounts::default());
            let mut all = Bits::default();
            for slot in 0..3 {
                all.insert(slot);
            }
            let mut time = 0;
            for (node, (part, from, later)) in (3_u16..).zip(&parts) {
                time = time.max(*later);
                let now = Mark(u128::from(time));
                let mut change = QueueChange { step: STEP, now, all: &all, counts: &mut counts };
                line.absorb(part, *from, &mut change);
                line.bear(Id::new(time / 8, node), &mut change);
                line.refill(5, &mut change);
                if node % 3 == 2 {
                    line.take_waiting(*from, &mut counts);
                }
                let counted: Vec<_> = (0..3).map(|slot| line.waiting_for(slot).count() as u64).collect();
                prop_assert_eq!(counted.iter().sum::<u64>(), counts.total);
                prop_assert!(counts.elements.iter().eq(counted.iter().take(counts.elements.len())));
                prop_assert!(line.elements.is_sorted_by(|a, b| a.id < b.id && a.death.plus(STEP) <= b.death));
                prop_assert!(line.waiting_for(0).all(|element| element.death > now));
            }
        }
    }
}
