//! Where the pages are: a list that grows by linear hashing, never moves, and is read without a lock.
//!
//! Every page has its own lock, beside the little that is known of it: one line of memory holds two of them. Their
//! number only grows. Who has entered a page looks at the number again: while it is the same, the page is still the
//! right one, and while the page is held it stays so, as a page is split only by who holds it.
//!
//! Not here: when a page is split (`growth.rs`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release};

use crate::lock::{Guard, Lock};
use crate::page::Page;

/// Some pages that were made at once.
type Segment<C> = Box<[Lock<Page<C>>]>;

/// Pages `0..count`; of a round that began with `n` pages, those from `count - n` to `n - 1` are yet to be split.
#[derive(Debug)]
pub(crate) struct Directory<C> {
    count: AtomicUsize,
    /// What of a print chooses a page, in this round.
    mask: AtomicUsize,
    /// The pages there were from the start, a power of two.
    first: Segment<C>,
    /// As many while a key may be looked for in them alone ([`Self::spot`]), else zero.
    near: AtomicUsize,
    /// The pages that came later, a quarter of a round at a time.
    later: Box<[OnceLock<Segment<C>>]>,
}

impl<C> Directory<C> {
    /// That many empty pages, a power of two.
    pub(crate) fn new(pages: usize) -> Self {
        Self {
            count: AtomicUsize::new(pages),
            mask: AtomicUsize::new(pages - 1),
            first: segment(pages),
            near: AtomicUsize::new(pages),
            later: (0..SEGMENTS).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The bytes of that many pages without their slots.
    pub(crate) const fn bytes_of(pages: usize) -> usize {
        pages * size_of::<Lock<Page<C>>>()
    }

    /// The number of pages.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count.load(Acquire)
    }

    /// The number of pages there were from the start.
    pub(crate) fn first_count(&self) -> usize {
        self.first.len()
    }

    /// The page with a number.
    #[inline]
    pub(crate) fn page(&self, number: usize) -> Option<&Lock<Page<C>>> {
        if let Some(page) = self.first.get(number) {
            return Some(page);
        }
        let (segment, at) = place(number);
        self.later.get(segment)?.get()?.get(at)
    }

    /// The page in which a print belongs, by what is known without a lock.
    #[inline]
    pub(crate) fn page_of(&self, print: u64) -> Option<&Lock<Page<C>>> {
        self.page(self.number(print, self.count()))
    }

    /// Enters the page in which a print belongs; returns its number too.
    ///
    /// The answer is `None` only for a number without a page, and there is none such.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A part of every decision.
    pub(crate) fn enter(&self, print: u64) -> Option<(usize, Guard<'_, Page<C>>)> {
        let count = self.count();
        let number = self.number(print, count);
        let page = self.page(number)?.lock();
        if self.count() == count {
            return Some((number, page));
        }
        drop(page);
        // Taken apart, so that what comes back in memory does not make the usual case go through memory too.
        let (number, page) = self.enter_again(print)?;
        Some((number, page))
    }

    /// Where a print belongs, if a key may be looked for in the pages of the start alone.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A part of every decision.
    #[allow(clippy::cast_possible_truncation)] // Only low bits are used.
    pub(crate) fn spot(&self, print: u64) -> Option<(&Self, &Lock<Page<C>>)> {
        let number = print as usize & self.near.load(Acquire).wrapping_sub(1);
        Some((self, self.first.get(number)?))
    }

    /// Whether what [`Self::spot`] said is so; exact for who holds the lock of a page.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A part of every decision.
    pub(crate) fn is_near(&self) -> bool {
        self.near.load(Acquire) == self.first.len()
    }

    /// Nobody looks in the pages of the start alone from here on.
    pub(crate) fn part(&self) {
        self.near.store(0, Release);
    }

    /// A key may be looked for in the pages of the start alone, if there are no others. For who holds the lock of
    /// growth.
    pub(crate) fn rejoin(&self) {
        if self.count() == self.first.len() {
            self.near.store(self.first.len(), Release);
        }
    }

    /// Enters the page in which a print belongs while there come to be more of them.
    #[cold]
    fn enter_again(&self, print: u64) -> Option<(usize, Guard<'_, Page<C>>)> {
        loop {
            let number = self.number(print, self.count());
            let page = self.page(number)?.lock();
            if self.number(print, self.count()) == number {
                return Some((number, page));
            }
        }
    }

    /// The number of the page in which a print belongs, of `count` pages.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // Only low bits are used.
    fn number(&self, print: u64, count: usize) -> usize {
        // Never older than the count, which was loaded before it and is stored after it. If it is newer, the number may
        // be that of another page, but of one that was there before the mask was.
        let mask = self.mask.load(Acquire);
        let page = print as usize & mask;
        if page < count {
            page
        } else {
            page & (mask >> 1)
        }
    }

    /// The page to be split next, and how many pages the round began with. For who holds the lock of growth.
    pub(crate) fn next_split(&self) -> (usize, usize) {
        let count = self.count();
        let round = 1 << count.ilog2();
        (count - round, round)
    }

    /// The bytes that [`Self::widen`] will take. For who holds the lock of growth.
    pub(crate) fn bytes_to_widen(&self) -> usize {
        let count = self.count();
        match self.page(count) {
            Some(_) => 0,
            None => Self::bytes_of(segment_len(count)),
        }
    }

    /// Makes a place for one more page. For who holds the lock of growth.
    pub(crate) fn widen(&self) {
        let count = self.count();
        if self.page(count).is_none()
            && let Some(later) = self.later.get(place(count).0)
        {
            later.get_or_init(|| segment(segment_len(count)));
        }
    }

    /// Adds a page where there is a place for it. For who holds the lock of growth and the page that was split.
    pub(crate) fn add(&self, page: Page<C>) {
        let count = self.count();
        if let Some(lock) = self.page(count) {
            *lock.lock() = page;
            self.part();
            if count.is_power_of_two() {
                self.mask.store(2 * count - 1, Release);
            }
            self.count.store(count + 1, Release);
        }
    }
}

fn segment<C>(pages: usize) -> Segment<C> {
    (0..pages).map(|_| Lock::new(Page::new())).collect()
}

/// The segment of a page that came later, and the page's place in it.
#[inline]
const fn place(number: usize) -> (usize, usize) {
    let shift = (number | LEAST).ilog2() - STEP_BITS;
    let segment = ((shift as usize - 1) << STEP_BITS) + (number >> shift);
    (segment, number & ((1 << shift) - 1))
}

/// The number of pages in the segment of a page that came later.
const fn segment_len(number: usize) -> usize {
    1 << ((number | LEAST).ilog2() - STEP_BITS)
}

/// Segments in which the number of pages doubles, as a power of two.
const STEP_BITS: u32 = 2;
/// Fewer pages than this come two at a time.
const LEAST: usize = (1 << (STEP_BITS + 2)) - 1;
/// Enough for 2^37 pages.
const SEGMENTS: usize = 35 << STEP_BITS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_place_of_its_own() {
        let (mut last, mut filled) = (0, 0);
        for number in 0..100_000 {
            let (segment, at) = place(number);
            if segment != last {
                assert_eq!((segment, at), (last + 1, 0));
                assert_eq!(filled, segment_len(number - 1), "segment {last}");
                (last, filled) = (segment, 0);
            }
            assert_eq!(at, filled);
            filled += 1;
        }
        assert!(place((1 << 37) - 1).0 < SEGMENTS);
    }

    #[test]
    fn rounds_double_from_any_start() {
        for start in [1, 2, 64] {
            let directory = Directory::<()>::new(start);
            let mut expected =
                (0..).flat_map(|n| (0..start << n).map(move |from| (from, start << n)));
            for count in start..5 * start {
                assert_eq!(directory.count(), count);
                assert_eq!(expected.next(), Some(directory.next_split()));
                directory.widen();
                assert_eq!(directory.bytes_to_widen(), 0);
                directory.add(Page::new());
            }
        }
    }
}
