//! Requests over time, in a fixed number of buckets that widen when the trace outgrows them.
//!
//! Times may run backwards and jump; every request is counted, only the resolution suffers.

use super::Meaning;

/// Requests of one stretch of time, by [`Meaning`].
type Stack = [u64; 4];

const BUCKETS: usize = 1024;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Round bucket widths; each divides the next, so buckets can be merged.
const WIDTHS_MS: [u64; 27] = [
    1,
    2,
    10,
    20,
    100,
    200,
    SECOND,
    2 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    10 * DAY,
    20 * DAY,
    100 * DAY,
    200 * DAY,
    1000 * DAY,
    10_000 * DAY,
    u64::MAX / 1024,
];

#[derive(Debug)]
pub(crate) struct Timeline {
    level: usize,
    /// Number of the first bucket, counted in widths since 1970.
    base: u64,
    stacks: Vec<Stack>,
    /// How often each policy refused or delayed, by bucket; empty until it does.
    bites: Vec<Vec<u64>>,
    span: Option<(u64, u64)>,
    /// The bucket of the last request: first and last millisecond, and slot.
    last: (u64, u64, usize),
}

/// A timeline in columns of equal width, for drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub start_ms: u64,
    pub width_ms: u64,
    /// The columns, in order and without gaps: requests by [`Meaning`].
    pub stacks: Vec<[u64; 4]>,
}

impl View {
    /// The most requests of any column.
    pub(crate) fn peak(&self) -> u64 {
        self.stacks
            .iter()
            .map(|stack| stack.iter().sum())
            .max()
            .unwrap_or(0)
    }

    /// When a column starts.
    pub(crate) fn time_ms(&self, column: usize) -> u64 {
        self.start_ms
            .saturating_add(self.width_ms.saturating_mul(column as u64))
    }
}

impl Timeline {
    pub(super) fn new(policies: usize) -> Self {
        Self {
            level: 0,
            base: 0,
            stacks: vec![[0; 4]; BUCKETS],
            bites: vec![Vec::new(); policies],
            span: None,
            last: (1, 0, 0),
        }
    }

    /// Counts a request and returns its bucket, which is valid until the next request.
    #[inline]
    pub(super) fn add(&mut self, time_ms: u64, meaning: Meaning) -> usize {
        let (from, to, slot) = self.last;
        let slot = if (from..=to).contains(&time_ms) {
            slot
        } else {
            self.find(time_ms)
        };
        let (first, last) = self.span.unwrap_or((time_ms, time_ms));
        self.span = Some((first.min(time_ms), last.max(time_ms)));
        self.stacks[slot][meaning as usize] += 1;
        slot
    }

    /// Counts a refusal or delay by a policy.
    pub(super) fn bite(&mut self, policy: usize, slot: usize) {
        let Some(bites) = self.bites.get_mut(policy) else {
            return;
        };
        if bites.is_empty() {
            bites.resize(BUCKETS, 0);
        }
        bites[slot] += 1;
    }

    /// The earliest and the latest time.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// At most `columns_max` columns of a round width that cover the span.
    pub(crate) fn view(&self, columns_max: usize) -> View {
        let Grouping { used, lead, group } = self.grouping(columns_max);
        let width_ms = WIDTHS_MS[self.level];
        let mut stacks = vec![[0; 4]; (used + lead).div_ceil(group)];
        for (slot, stack) in self.stacks[..used].iter().enumerate() {
            let column: &mut Stack = &mut stacks[(slot + lead) / group];
            *column = std::array::from_fn(|at| column[at] + stack[at]);
        }
        let start_ms = (self.base - lead as u64) * width_ms;
        View {
            start_ms,
            width_ms: width_ms.saturating_mul(group as u64),
            stacks,
        }
    }

    /// How often a policy refused or delayed, in the columns of [`view`](Self::view).
    pub(crate) fn bites(&self, policy: usize, columns_max: usize) -> Vec<u64> {
        let Grouping { used, lead, group } = self.grouping(columns_max);
        let mut columns = vec![0; (used + lead).div_ceil(group)];
        let bites = self
            .bites
            .get(policy)
            .and_then(|bites| bites.get(..used))
            .unwrap_or(&[]);
        for (slot, count) in bites.iter().enumerate() {
            columns[(slot + lead) / group] += count;
        }
        columns
    }

    fn grouping(&self, columns_max: usize) -> Grouping {
        let width_ms = WIDTHS_MS[self.level];
        let used = self
            .span
            .map_or(0, |(_, last)| last / width_ms - self.base + 1);
        let used = usize::try_from(used).unwrap_or(BUCKETS).min(BUCKETS);
        let fit = |group: usize| {
            let lead = usize::try_from(self.base % group as u64).unwrap_or(0);
            Grouping { used, lead, group }
        };
        let mut fits = (1..=BUCKETS)
            .map(fit)
            .filter(|fit| (used + fit.lead).div_ceil(fit.group) <= columns_max)
            .peekable();
        let Some(finest) = fits.peek().map(|fit| fit.group) else {
            return fit(used.max(1));
        };
        // A round width is worth some resolution, but not most of it.
        let round = fits
            .take_while(|fit| fit.group <= 4 * finest)
            .find(|fit| is_round(width_ms.saturating_mul(fit.group as u64)));
        round.unwrap_or(fit(finest))
    }

    /// The bucket of a time, after making room for it.
    fn find(&mut self, time_ms: u64) -> usize {
        let (first, last) = self.span.unwrap_or((time_ms, time_ms));
        let (first, last) = (first.min(time_ms), last.max(time_ms));
        let mut level = self.level;
        while level + 1 < WIDTHS_MS.len()
            && last / WIDTHS_MS[level] - first / WIDTHS_MS[level] >= BUCKETS as u64
        {
            level += 1;
        }
        let width = WIDTHS_MS[level];
        if level != self.level || first / width != self.base {
            self.rebase(level, first / width);
        }
        let number = time_ms / width;
        let slot = usize::try_from(number - self.base)
            .unwrap_or(BUCKETS)
            .min(BUCKETS - 1);
        self.last = (
            number * width,
            (number * width).saturating_add(width - 1),
            slot,
        );
        slot
    }

    fn rebase(&mut self, level: usize, base: u64) {
        if self.span.is_some() {
            let ratio = WIDTHS_MS[level] / WIDTHS_MS[self.level];
            let old_base = self.base;
            let target = |slot: usize| {
                usize::try_from((old_base + slot as u64) / ratio - base).unwrap_or(BUCKETS)
            };
            let mut stacks = vec![[0; 4]; BUCKETS];
            for (slot, stack) in self
                .stacks
                .iter()
                .enumerate()
                .filter(|(_, stack)| **stack != [0; 4])
            {
                let into: &mut Stack = &mut stacks[target(slot)];
                *into = std::array::from_fn(|at| into[at] + stack[at]);
            }
            self.stacks = stacks;
            for bites in self.bites.iter_mut().filter(|bites| !bites.is_empty()) {
                let mut wider = vec![0; BUCKETS];
                for (slot, count) in bites.iter().enumerate().filter(|(_, count)| **count > 0) {
                    wider[target(slot)] += count;
                }
                *bites = wider;
            }
        }
        (self.level, self.base) = (level, base);
    }
}

/// How buckets make columns.
struct Grouping {
    /// Buckets in use.
    used: usize,
    /// Buckets missing from the first column, which starts at a multiple of its width.
    lead: usize,
    /// Buckets of a column.
    group: usize,
}

/// Whether a whole number of such stretches makes the next larger unit.
fn is_round(ms: u64) -> bool {
    match ms {
        0..SECOND => SECOND.is_multiple_of(ms.max(1)),
        SECOND..MINUTE => MINUTE.is_multiple_of(ms) && ms.is_multiple_of(SECOND),
        MINUTE..HOUR => HOUR.is_multiple_of(ms) && ms.is_multiple_of(MINUTE),
        HOUR..DAY => DAY.is_multiple_of(ms) && ms.is_multiple_of(HOUR),
        _ => ms.is_multiple_of(DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_kit::Dice;

    use crate::trace::TIME_MS_MAX;

    fn total(view: &View) -> u64 {
        view.stacks.iter().flatten().sum()
    }

    #[test]
    fn each_width_divides_the_next() {
        for pair in WIDTHS_MS[..WIDTHS_MS.len() - 1].windows(2) {
            assert_eq!(pair[1] % pair[0], 0, "{pair:?}");
        }
        assert!(
            TIME_MS_MAX / (10_000 * DAY) < BUCKETS as u64,
            "the last width is never needed"
        );
    }

    #[test]
    fn requests_land_in_the_column_of_their_time() {
        let mut timeline = Timeline::new(1);
        for second in 0..7200u64 {
            let slot = timeline.add(1_700_000_000_000 + second * 1000, Meaning::Allowed);
            if second >= 3600 {
                timeline.bite(0, slot);
            }
        }
        let view = timeline.view(1000);
        assert_eq!((view.width_ms, view.stacks.len()), (10_000, 720));
        assert!(view.stacks.iter().all(|stack| *stack == [0, 10, 0, 0]));
        let bites = timeline.bites(0, 1000);
        assert_eq!((bites[359], bites[360], bites[719]), (0, 10, 10));
        let narrow = timeline.view(72);
        assert_eq!((narrow.width_ms, narrow.stacks.len()), (120_000, 61));
        assert_eq!(narrow.start_ms % narrow.width_ms, 0);
        assert_eq!(total(&narrow), 7200);
    }

    #[test]
    fn times_that_run_backwards_or_jump_are_all_counted() {
        for seed in 1..50 {
            let (mut timeline, mut dice) = (Timeline::new(1), Dice::new(seed));
            let mut time = TIME_MS_MAX / 2;
            for n in 1..=2000 {
                time = match dice.place(50) {
                    0 => time.saturating_add(1 << dice.place(44)).min(TIME_MS_MAX),
                    1 => time.saturating_sub(1 << dice.place(44)),
                    step => time
                        .saturating_sub(20)
                        .saturating_add(step as u64)
                        .min(TIME_MS_MAX),
                };
                let slot = timeline.add(time, Meaning::Denied);
                timeline.bite(0, slot);
                if n % 100 == 0 {
                    let view = timeline.view(200);
                    assert_eq!(total(&view), n);
                    assert!(view.stacks.len() <= 200);
                    assert_eq!(timeline.bites(0, 200).iter().sum::<u64>(), n);
                    let (first, last) = timeline.span().unwrap_or((0, 0));
                    assert!(view.start_ms <= first);
                    assert!(view.time_ms(view.stacks.len() - 1) <= last);
                }
            }
        }
    }

    #[test]
    fn the_whole_range_of_times_fits() {
        let mut timeline = Timeline::new(0);
        timeline.add(TIME_MS_MAX, Meaning::Allowed);
        timeline.add(0, Meaning::Denied);
        timeline.add(u64::MAX, Meaning::Delayed);
        assert_eq!(total(&timeline.view(10)), 3);
        assert_eq!(total(&Timeline::new(0).view(10)), 0);
    }
}
