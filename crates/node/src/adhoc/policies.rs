//! Policies that requests describe, each kept once however many keys it counts.
//!
//! A policy is kept as long as a key needs it. Beyond [`SHARED_MAX`] different ones a key keeps a policy of its own,
//! and pays for it out of the byte budget of the table: nothing is refused, and memory stays bounded. Not here: cells.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use tollgate_limit::{Policy, PolicyConfig, PolicyError, PolicySet};

/// One policy, checked and compiled.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) config: PolicyConfig,
    pub(super) set: PolicySet,
    is_shared: bool,
}

impl Described {
    fn new(config: &PolicyConfig, is_shared: bool) -> Result<Self, PolicyError> {
        let policy = Policy::new(config.clone())?;
        Ok(Self {
            config: config.clone(),
            set: PolicySet::new(vec![policy])?,
            is_shared,
        })
    }

    /// Bytes that a key pays for besides its slot.
    pub(super) const fn bytes(&self) -> usize {
        if self.is_shared { 0 } else { OWN_BYTES }
    }
}

/// The policies that several keys share.
#[derive(Debug)]
pub(super) struct Policies {
    known: RwLock<Known>,
    shared_max: usize,
}

#[derive(Debug, Default)]
struct Known {
    /// Those of the same limit, burst and period, which are few, under one entry.
    by_numbers: BTreeMap<[u64; 3], Vec<Arc<Described>>>,
    count: usize,
    /// Strangers that were turned away since the unused ones were last looked for.
    turned_away: usize,
}

impl Policies {
    pub(super) fn new(shared_max: usize) -> Self {
        Self {
            known: RwLock::default(),
            shared_max,
        }
    }

    /// The policy that a request describes.
    pub(super) fn find(&self, config: &PolicyConfig) -> Result<Arc<Described>, PolicyError> {
        if let Some(known) = self.known.read().get(config) {
            return Ok(known);
        }
        let mut known = self.known.write();
        if let Some(known) = known.get(config) {
            return Ok(known);
        }
        let is_shared = known.makes_room(self.shared_max);
        let described = Arc::new(Described::new(config, is_shared)?);
        if is_shared {
            known.add(Arc::clone(&described));
        }
        Ok(described)
    }

    /// How many are shared.
    pub(super) fn count(&self) -> usize {
        self.known.read().count
    }
}

impl Known {
    fn get(&self, config: &PolicyConfig) -> Option<Arc<Described>> {
        let alike = self.by_numbers.get(&numbers(config))?;
        let found = alike.iter().find(|known| known.config == *config)?;
        Some(Arc::clone(found))
    }

    fn add(&mut self, described: Arc<Described>) {
        let alike = self.by_numbers.entry(numbers(&described.config));
        alike.or_default().push(described);
        self.count += 1;
    }

    /// Whether there is room for one more, once those that no key needs are forgotten.
    ///
    /// They are looked for once in a while, so that strangers who describe ever other policies cost little.
    fn makes_room(&mut self, shared_max: usize) -> bool {
        if self.count < shared_max {
            return true;
        }
        self.turned_away += 1;
        if self.turned_away < LOOK_EVERY {
            return false;
        }
        self.turned_away = 0;
        self.by_numbers.retain(|_, alike| {
            alike.retain(|known| Arc::strong_count(known) > 1);
            !alike.is_empty()
        });
        self.count = self.by_numbers.values().map(Vec::len).sum();
        self.count < shared_max
    }
}

fn numbers(config: &PolicyConfig) -> [u64; 3] {
    let burst = config.burst.unwrap_or(config.limit);
    [config.limit, burst, config.period.nanos()]
}

/// Different policies that keys share.
pub(super) const SHARED_MAX: usize = 4_096;
/// Strangers turned away between two searches for policies that no key needs.
const LOOK_EVERY: usize = 256;
/// A policy of a key's own: itself, its one policy, and what the allocator adds to both.
const OWN_BYTES: usize = size_of::<Described>() + size_of::<Policy>() + 48;

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_limit::{Algorithm, Period};

    fn config(limit: u64) -> PolicyConfig {
        PolicyConfig::token_bucket(limit, Period::SECOND)
    }

    #[test]
    fn the_same_policy_is_kept_once() {
        let policies = Policies::new(2);
        let first = policies.find(&config(1)).unwrap();
        assert!(Arc::ptr_eq(&first, &policies.find(&config(1)).unwrap()));
        let window = PolicyConfig::new(Algorithm::FixedWindow, 1, Period::SECOND);
        assert!(!Arc::ptr_eq(&first, &policies.find(&window).unwrap()));
        assert_eq!(policies.count(), 2);
    }

    #[test]
    fn one_too_many_is_a_key_s_own() {
        let policies = Policies::new(2);
        let kept: Vec<_> = (1..=3)
            .map(|limit| policies.find(&config(limit)).unwrap())
            .collect();
        let bytes: Vec<_> = kept.iter().map(|policy| policy.bytes()).collect();
        assert_eq!(bytes, [0, 0, OWN_BYTES]);
        assert_eq!(policies.count(), 2);
    }

    #[test]
    fn policies_that_no_key_needs_make_room() {
        let policies = Policies::new(8);
        for limit in 1..=8 {
            policies.find(&config(limit)).unwrap();
        }
        let needed = policies.find(&config(3)).unwrap();
        let strangers = (100..).take(LOOK_EVERY);
        let last = strangers.map(|limit| policies.find(&config(limit)).unwrap());
        assert_eq!(last.last().unwrap().bytes(), 0);
        assert_eq!(policies.count(), 2);
        assert!(Arc::ptr_eq(&needed, &policies.find(&config(3)).unwrap()));
    }

    #[test]
    fn a_policy_that_makes_no_sense_is_not_kept() {
        let policies = Policies::new(2);
        assert_eq!(
            policies.find(&config(0)).unwrap_err(),
            PolicyError::LimitZero
        );
        assert_eq!(policies.count(), 0);
    }
}
