//! What a node keeps of one key of a bucket: 24 bytes while the key is calm, and a record while it is busy.
//!
//! Not here: what follows from it (`level`).

use tollgate_limit::Instant;
use tollgate_mode::Weigh;

use crate::bucket::Bucket;

use super::interval::{Interval, Intervals};
use super::law::{CellMarks, Seg};

/// What is kept of one key.
#[derive(Debug)]
pub(super) enum BucketCell {
    /// Nothing is told, and what is silent began in one busy interval.
    Silent {
        at: Instant,
        /// From then on the silent tokens are forgotten,
        faded: Instant,
        /// if they fade as among so many nodes.
        nodes: u16,
        tokens: u32,
        marks: CellMarks,
    },
    /// One interval is told, which has not drained since anything was heard; nothing is silent.
    Told {
        start: Instant,
        end: Instant,
        /// Grains from `end` to the end of the interval.
        rest: u32,
        is_loose: bool,
    },
    /// Anything else.
    Busy(Box<BucketRecord>),
}

/// What is kept of a key on which more happens than fits into a cell.
#[derive(Debug, Default)]
pub(super) struct BucketRecord {
    pub(super) told: Intervals,
    /// Tokens admitted here and not reported, ascending by their first instants. What this node sees busy is truly
    /// busy, so the tokens of one segment lie in one busy interval of the true bucket.
    pub(super) own: Vec<Seg>,
    /// The last busy interval of both together.
    pub(super) view: Option<Interval>,
    /// Grains of `own` that have not faded at `secret_at`.
    pub(super) secret: u128,
    pub(super) secret_at: Instant,
    /// When something was last told.
    pub(super) heard: Instant,
    /// What came before then was given back.
    pub(super) reset: Instant,
    pub(super) marks: CellMarks,
}

impl Default for BucketCell {
    fn default() -> Self {
        Self::Silent {
            at: Instant::default(),
            faded: Instant::default(),
            nodes: 1,
            tokens: 0,
            marks: 0,
        }
    }
}

impl Weigh for BucketCell {
    fn heap_bytes(&self) -> u64 {
        let Self::Busy(record) = self else {
            return 0;
        };
        let own = record.own.capacity() * size_of::<Seg>();
        record.told.heap_bytes() + (own + size_of::<BucketRecord>()) as u64
    }
}

impl BucketRecord {
    /// Recomputes the view after anything but an admission changed.
    pub(super) fn look(&mut self, bucket: Bucket) {
        if self.own.is_empty() {
            self.view = self.told.last();
            return;
        }
        let mut all = self.told.clone();
        for seg in &self.own {
            all.push(bucket, *seg);
        }
        self.view = all.last();
    }

    /// Tokens that are not reported.
    pub(super) fn silent(&self) -> u64 {
        let tokens = self.own.iter().map(|seg| seg.n);
        tokens.fold(0, u64::saturating_add)
    }
}

/// Adds tokens to a list in ascending order. Where there are too many of them, the two that are closest are taken as if
/// both had come at the earlier instant; whether that is loose is up to who else knows them.
pub(super) fn add(list: &mut Vec<Seg>, seg: Seg, segs_max: usize, is_loose: bool) {
    let place = list.partition_point(|own| own.at <= seg.at);
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.insert(place, seg);
    if list.len() > segs_max.max(1) {
        let apart = |pair: &[Seg]| pair[1].at.nanos_since(pair[0].at);
        let pairs = list.windows(2).enumerate();
        let closest = pairs.min_by_key(|(_, pair)| apart(pair));
        let place = closest.map_or(0, |(place, _)| place);
        let later = list.remove(place + 1);
        let joined = &mut list[place];
        joined.n = joined.n.saturating_add(later.n);
        joined.is_loose |= later.is_loose || is_loose;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calm_key_takes_24_bytes() {
        assert_eq!(size_of::<BucketCell>(), 24);
        assert_eq!(BucketCell::default().heap_bytes(), 0);
    }
}
