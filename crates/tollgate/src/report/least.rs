//! Counts of items with the least at hand: an indexed heap.
//!
//! Counts only grow, by one at a time. The order of items with one count depends only on the calls, so the same calls
//! find the same least item every time.

/// Counts by item, with the least at hand.
///
/// Three small arrays: what a step through the heap reads and writes stays in the nearest cache.
pub(super) struct Least {
    /// The heap: no count is above those of its two children.
    counts: Vec<u64>,
    /// The item of each place in the heap.
    items: Vec<u16>,
    /// The place in the heap of each item.
    places: Vec<u16>,
}

impl Least {
    /// Capacity in items, fewer than 65 536.
    pub(super) fn for_items(count: usize) -> Self {
        Self {
            counts: Vec::with_capacity(count),
            items: Vec::with_capacity(count),
            places: Vec::with_capacity(count),
        }
    }

    /// Adds the next item, with count zero.
    pub(super) fn push(&mut self) {
        let mut place = self.counts.len();
        let item = u16::try_from(place).unwrap_or(u16::MAX);
        self.counts.push(0);
        self.items.push(item);
        self.places.push(item);
        while place > 0 && self.counts[(place - 1) / 2] > 0 {
            self.shift((place - 1) / 2, place);
            place = (place - 1) / 2;
        }
        self.put(place, item, 0);
    }

    /// The item with the least count, and that count.
    pub(super) fn least(&self) -> Option<(usize, u64)> {
        self.iter().next()
    }

    /// All items and their counts, the least first and the others in arbitrary order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u64)> {
        let items = self.items.iter().map(|item| usize::from(*item));
        items.zip(self.counts.iter().copied())
    }

    #[inline]
    pub(super) fn count(&mut self, item: usize) {
        let mut place = usize::from(self.places[item]);
        let item = self.items[place];
        let count = self.counts[place] + 1;
        loop {
            let left = 2 * place + 1;
            let (child, below) = match self.counts.get(left..) {
                Some([a, b, ..]) => (left + usize::from(b < a), *a.min(b)),
                Some([a]) => (left, *a),
                _ => break,
            };
            if below >= count {
                break;
            }
            self.shift(child, place);
            place = child;
        }
        self.put(place, item, count);
    }

    /// Moves the item at one place to another.
    #[inline]
    fn shift(&mut self, from: usize, to: usize) {
        self.put(to, self.items[from], self.counts[from]);
    }

    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "places are numbered like items"
    )]
    fn put(&mut self, place: usize, item: u16, count: u64) {
        self.counts[place] = count;
        self.items[place] = item;
        self.places[usize::from(item)] = place as u16;
    }
}

#[cfg(test)]
impl Least {
    /// Panics unless items and places agree and no count is above those below it.
    pub(super) fn assert_sound(&self) {
        assert_eq!(self.counts.len(), self.items.len());
        assert_eq!(self.counts.len(), self.places.len());
        for (item, place) in self.places.iter().enumerate() {
            assert_eq!(usize::from(self.items[usize::from(*place)]), item);
        }
        for place in 1..self.counts.len() {
            assert!(self.counts[(place - 1) / 2] <= self.counts[place]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_kit::Dice;

    #[test]
    fn the_least_count_is_always_on_top_and_places_agree() {
        let (mut least, mut dice, mut truth) = (Least::for_items(300), Dice::new(3), Vec::new());
        for _ in 0..10_000 {
            if truth.is_empty() || (truth.len() < 300 && dice.place(3) == 0) {
                least.push();
                truth.push(0);
            }
            let item = dice.place(truth.len());
            least.count(item);
            truth[item] += 1;
            let (_, count) = least.least().unwrap();
            assert_eq!(Some(&count), truth.iter().min());
            assert_eq!(least.iter().count(), truth.len());
            assert!(least.iter().all(|(item, count)| truth[item] == count));
            least.assert_sound();
        }
    }
}
