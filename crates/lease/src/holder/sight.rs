//! Which keys are asked for so often that a lease may be worth it: a table of a fixed size.
//!
//! A key that is asked for now and then leaves nothing behind but a place that the next key takes. Not here: whether a
//! lease is given, which the grantor decides.

use tollgate_limit::Instant;

/// Keys that were seen lately.
#[derive(Debug, Default)]
pub struct Sightings(Vec<Sighting>);

/// One of them.
#[derive(Clone, Copy, Debug, Default)]
struct Sighting {
    name: u64,
    since: Instant,
    /// Uses since then.
    uses: u64,
}

impl Sightings {
    /// Counts the uses of a key; how many there were within the last `within_ns`, as far as is known.
    pub fn see(&mut self, name: u64, uses: u64, within_ns: u64, now: Instant) -> u64 {
        if self.0.is_empty() {
            self.0.resize(PLACES, Sighting::default());
        }
        let place = usize::try_from(name % PLACES as u64).unwrap_or(0);
        let Some(seen) = self.0.get_mut(place) else {
            return 0;
        };
        let is_over = now.nanos_since(seen.since) > within_ns;
        if seen.name == name && !is_over {
            seen.uses = seen.uses.saturating_add(uses);
            return seen.uses;
        }
        if is_over || seen.uses <= uses {
            let since = now;
            *seen = Sighting { name, since, uses };
            return uses;
        }
        // A key that is asked for more often keeps its place.
        seen.uses -= uses;
        0
    }

    /// Forgets a key, which has to show again that it is asked for.
    pub fn forget(&mut self, name: u64) {
        for seen in self.0.iter_mut().filter(|seen| seen.name == name) {
            *seen = Sighting::default();
        }
    }
}

/// Keys that are watched at a time.
const PLACES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(SECOND + millis * 1_000_000)
    }

    #[test]
    fn counts_a_key_that_is_asked_for_often_and_no_other() {
        let mut seen = Sightings::default();
        for turn in 0..100 {
            // Ten thousand keys, one of which comes every time.
            for name in 0..100 {
                seen.see(1_000 + turn * 100 + name, 1, SECOND, at(turn));
            }
            let uses = seen.see(7, 1, SECOND, at(turn));
            assert!(uses <= turn + 1);
        }
        assert!(seen.see(7, 1, SECOND, at(100)) > 60);
        assert!(seen.see(2_000, 1, SECOND, at(100)) <= 2);
    }

    #[test]
    fn begins_again_after_the_time() {
        let mut seen = Sightings::default();
        for _ in 0..5 {
            seen.see(7, 1, SECOND, at(0));
        }
        assert_eq!(seen.see(7, 1, SECOND, at(1_000)), 6);
        assert_eq!(seen.see(7, 1, SECOND, at(1_001)), 1);
        seen.see(7, 1, SECOND, at(1_002));
        seen.forget(7);
        assert_eq!(seen.see(7, 1, SECOND, at(1_003)), 1);
    }
}
