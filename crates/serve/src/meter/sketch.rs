//! The busiest keys, in constant memory.
//!
//! Space-saving in small sets: the hash of a key picks a set of eight places; a key without a place takes over the
//! smallest and records its count as the error. A count is never too low, and too high by at most an eighth of what
//! went to its set. Compared with one big summary, which must keep all places in order, a set is one or two cache
//! lines, and heavy keys rarely share one. A count-min sketch would need a heap beside it to name keys, and over-counts
//! by collisions without saying by how much.
//!
//! Counts fade: weights grow with time instead of counts shrinking, so that adding touches one place only.

use tollgate_limit::Instant;

pub(super) struct Sketch {
    sets: Box<[Set]>,
    /// The instant whose weight is one.
    origin: Instant,
    /// Weight of a request, and the instant it was computed for.
    weight: f64,
    weighed: Instant,
}

#[derive(Clone, Copy, Default)]
struct Set {
    hashes: [u64; WAYS],
    counts: [f64; WAYS],
    errors: [f64; WAYS],
    denied: [f64; WAYS],
    texts: [SketchText; WAYS],
}

/// The beginning of a key's text.
#[derive(Clone, Copy)]
pub(super) struct SketchText {
    bytes: [u8; TEXT_MAX],
    len: u8,
}

/// What is known of one key, at the time of the query.
#[derive(Clone, Copy)]
pub(super) struct KeySketch {
    pub(super) hash: u64,
    pub(super) count: f64,
    /// How much too high the count may be.
    pub(super) error: f64,
    pub(super) denied: f64,
    pub(super) text: SketchText,
}

/// Requests of a key with the same outcome.
#[derive(Clone, Copy)]
pub(super) struct SketchSample {
    pub(super) times: f64,
    pub(super) is_denied: bool,
    pub(super) now: Instant,
}

impl Sketch {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            sets: vec![Set::default(); SETS].into(),
            origin: now,
            weight: 1.0,
            weighed: now,
        }
    }

    /// Adds `times` requests of a key; `text` is called only for a new key.
    pub(super) fn add(&mut self, hash: u64, seen: SketchSample, text: impl FnOnce() -> SketchText) {
        let SketchSample {
            times,
            is_denied,
            now,
        } = seen;
        let weight = times * self.weight_at(now);
        let Some(set) = self.sets.get_mut(place(hash)) else {
            return;
        };
        let way = if let Some(way) = set.find(hash) {
            way
        } else {
            let way = set.smallest();
            set.take_over(way, hash, text());
            way
        };
        set.counts[way] += weight;
        if is_denied {
            set.denied[way] += weight;
        }
    }

    /// Every known key.
    pub(super) fn tallies(&mut self, now: Instant) -> impl Iterator<Item = KeySketch> + '_ {
        let weight = self.weight_at(now);
        let each = move |set: &Set| {
            let set = *set;
            (0..WAYS).map(move |way| KeySketch {
                hash: set.hashes[way],
                count: set.counts[way] / weight,
                error: set.errors[way] / weight,
                denied: set.denied[way] / weight,
                text: set.texts[way],
            })
        };
        let all = self.sets.iter().flat_map(each);
        all.filter(|tally| tally.count > 0.0)
    }

    /// How often a key may have come while unknown; zero if it is known.
    pub(super) fn missed(&mut self, hash: u64, now: Instant) -> f64 {
        let weight = self.weight_at(now);
        match self.sets.get(place(hash)) {
            Some(set) if set.find(hash).is_none() => set.counts[set.smallest()] / weight,
            Some(_) | None => 0.0,
        }
    }

    /// The weight of a request now: e-fold every [`FADE_NS`].
    #[allow(clippy::cast_precision_loss)] // A weight need not be exact.
    fn weight_at(&mut self, now: Instant) -> f64 {
        if now.nanos_since(self.weighed) < WEIGH_EVERY_NS {
            return self.weight;
        }
        let age = now.nanos_since(self.origin) as f64 / FADE_NS as f64;
        if age > AGE_MAX {
            self.rebase(now, age);
        } else {
            self.weight = age.exp();
        }
        self.weighed = now;
        self.weight
    }

    /// Makes `now` the instant whose weight is one, before numbers grow too large.
    fn rebase(&mut self, now: Instant, age: f64) {
        let faded = (-age).exp();
        for set in &mut *self.sets {
            for way in 0..WAYS {
                set.counts[way] *= faded;
                set.errors[way] *= faded;
                set.denied[way] *= faded;
            }
        }
        self.origin = now;
        self.weight = 1.0;
    }
}

impl Set {
    #[inline]
    fn find(&self, hash: u64) -> Option<usize> {
        (0..WAYS).find(|way| self.hashes[*way] == hash && self.counts[*way] > 0.0)
    }

    fn smallest(&self) -> usize {
        let smaller = |a: usize, b: usize| {
            if self.counts[b] < self.counts[a] {
                b
            } else {
                a
            }
        };
        (1..WAYS).fold(0, smaller)
    }

    fn take_over(&mut self, way: usize, hash: u64, text: SketchText) {
        self.hashes[way] = hash;
        self.errors[way] = self.counts[way];
        self.denied[way] = 0.0;
        self.texts[way] = text;
    }
}

impl SketchText {
    pub(super) const NONE: Self = Self {
        bytes: [0; TEXT_MAX],
        len: 0,
    };

    /// The first bytes of these parts, concatenated.
    pub(super) fn of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut text = Self::NONE;
        for part in parts {
            let free = TEXT_MAX - usize::from(text.len);
            let taken = part.len().min(free);
            let start = usize::from(text.len);
            text.bytes[start..start + taken].copy_from_slice(&part[..taken]);
            text.len += u8::try_from(taken).unwrap_or(0);
        }
        text
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Default for SketchText {
    fn default() -> Self {
        Self::NONE
    }
}

#[allow(clippy::cast_possible_truncation)] // Masked.
const fn place(hash: u64) -> usize {
    (hash >> 32) as usize & (SETS - 1)
}

/// After this time a request counts for a third (1/e).
pub(super) const FADE_NS: u64 = 10_000_000_000;
/// Bytes kept of a key's text.
pub(super) const TEXT_MAX: usize = 63;
/// A power of two.
const SETS: usize = 128;
const WAYS: usize = 8;
/// Weights a hundredth of a second old are good enough.
const WEIGH_EVERY_NS: u64 = 10_000_000;
/// Greater ages make weights too large: e^200 is 10^86, of at most 10^308.
const AGE_MAX: f64 = 200.0;

#[cfg(test)]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a stream drawn by shares"
)]
mod tests {
    use tollgate_kit::Dice;

    use super::*;

    const START: Instant = Instant::from_nanos(1_790_000_000_000_000_000);

    fn after(nanos: u64) -> Instant {
        Instant::from_nanos(START.as_nanos() + nanos)
    }

    fn spread(key: u64) -> u64 {
        let key = (key + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (key ^ key >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    const fn seen(times: f64, is_denied: bool, now: Instant) -> SketchSample {
        SketchSample {
            times,
            is_denied,
            now,
        }
    }

    #[test]
    fn counts_fade_to_a_third_in_ten_seconds_and_rates_stay() {
        let mut sketch = Sketch::new(START);
        sketch.add(7, seen(1_000.0, false, START), || SketchText::NONE);
        let later: Vec<_> = sketch.tallies(after(FADE_NS)).collect();
        assert!((later[0].count - 367.9).abs() < 1.0);
        for second in 0..10_000_u64 {
            let now = after(second * 1_000_000_000);
            sketch.add(8, seen(50.0, true, now), || SketchText::NONE);
        }
        let now = after(10_000 * 1_000_000_000);
        let tally = sketch.tallies(now).find(|tally| tally.hash == 8).unwrap();
        assert!((tally.count - 475.0).abs() < 5.0, "{}", tally.count);
        assert!(
            sketch
                .tallies(now)
                .all(|tally| tally.hash == 8 || tally.count < 1e-9)
        );
    }

    #[test]
    fn heavy_keys_of_a_skewed_stream_are_known_within_their_errors() {
        let mut sketch = Sketch::new(START);
        let mut exact = vec![0_u32; 100_000];
        let mut dice = Dice::new(1);
        for _ in 0..1_000_000 {
            // About zipf with exponent one: uniform in the logarithm.
            let key = (100_000_f64.powf(dice.unit()) as usize).saturating_sub(1);
            exact[key] += 1;
            sketch.add(spread(key as u64), seen(1.0, false, START), || {
                SketchText::NONE
            });
        }
        let mut tallies: Vec<_> = sketch.tallies(START).collect();
        tallies.sort_by(|a, b| b.count.total_cmp(&a.count));
        for (key, count) in exact.iter().enumerate().take(40) {
            let tally = tallies
                .iter()
                .take(60)
                .find(|tally| tally.hash == spread(key as u64));
            let tally = tally.unwrap_or_else(|| panic!("key {key}, {count} times"));
            let count = f64::from(*count);
            assert!(tally.count >= count && tally.count - tally.error <= count);
            assert!(tally.count <= count * 1.25, "{} of {count}", tally.count);
        }
    }

    #[test]
    fn a_text_is_cut_at_its_end() {
        let long = [b'x'; 100];
        let text = SketchText::of([b"user=".as_slice(), &long].into_iter());
        assert_eq!(text.as_bytes().len(), TEXT_MAX);
        assert!(text.as_bytes().starts_with(b"user=xxx"));
    }
}
