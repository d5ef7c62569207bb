//! What must be remembered by id for a while: reservations, and operations already done.
//!
//! A bounded map whose entries expire. Not here: what expiry means. A reservation was charged in full when it was
//! made, so forgetting it settles it; an operation id that expired may be used again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::time::Instant;

/// A caller's name for an operation, 1 to 128 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(Arc<[u8]>);

impl OperationId {
    /// The longest id.
    pub const BYTES_MAX: usize = 128;

    /// An id of these bytes; `None` where there are none or too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (1..=Self::BYTES_MAX)
            .contains(&bytes.len())
            .then(|| Self(bytes.into()))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Why an id was not written down. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerError<V> {
    /// The id is there already, with this value.
    Present(V),
    /// There is no room before something expires.
    Full,
}

/// Values by id, each until its time, at most a fixed number of them.
#[derive(Clone, Debug)]
pub struct Ledger<V> {
    entries: BTreeMap<OperationId, (Instant, V)>,
    expiries: BTreeSet<(Instant, OperationId)>,
    entries_max: usize,
}

impl<V: Clone> Ledger<V> {
    /// An empty ledger for at most `entries_max` ids.
    pub const fn new(entries_max: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            expiries: BTreeSet::new(),
            entries_max,
        }
    }

    /// Writes down what `make` returns under `id` until `expires`, and returns it too.
    pub fn insert_with(
        &mut self,
        id: &OperationId,
        expires: Instant,
        now: Instant,
        make: impl FnOnce() -> V,
    ) -> Result<V, LedgerError<V>> {
        self.expire(now);
        if let Some((_, present)) = self.entries.get(id) {
            return Err(LedgerError::Present(present.clone()));
        }
        if self.entries.len() >= self.entries_max {
            return Err(LedgerError::Full);
        }
        let value = make();
        self.expiries.insert((expires, id.clone()));
        self.entries.insert(id.clone(), (expires, value.clone()));
        Ok(value)
    }

    /// The value under `id`, where it has not expired.
    pub fn get_mut(&mut self, id: &OperationId, now: Instant) -> Option<&mut V> {
        self.expire(now);
        self.entries.get_mut(id).map(|(_, value)| value)
    }

    /// How many ids are written down, expired ones perhaps included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is written down.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets what has expired: an entry is gone at its instant.
    fn expire(&mut self, now: Instant) {
        while let Some((expires, _)) = self.expiries.first() {
            if *expires > now {
                return;
            }
            if let Some((_, id)) = self.expiries.pop_first() {
                self.entries.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> OperationId {
        OperationId::new(text.as_bytes()).expect("a short id")
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn an_id_is_taken_once_and_free_again_when_it_expires() {
        let mut ledger = Ledger::new(2);
        assert_eq!(ledger.insert_with(&id("a"), at(10), at(0), || 1), Ok(1));
        let again = ledger.insert_with(&id("a"), at(10), at(9), || unreachable!("already there"));
        assert_eq!(again, Err(LedgerError::Present(1)));
        assert_eq!(ledger.insert_with(&id("a"), at(20), at(10), || 3), Ok(3));
        assert_eq!(ledger.get_mut(&id("a"), at(19)), Some(&mut 3));
        assert_eq!(ledger.get_mut(&id("a"), at(20)), None);
    }

    #[test]
    fn a_full_ledger_refuses_until_something_expires() {
        let mut ledger = Ledger::new(1);
        assert_eq!(ledger.insert_with(&id("a"), at(10), at(0), || 1), Ok(1));
        assert_eq!(
            ledger.insert_with(&id("b"), at(10), at(0), || 1),
            Err(LedgerError::Full)
        );
        assert_eq!(ledger.insert_with(&id("b"), at(20), at(10), || 1), Ok(1));
    }

    #[test]
    fn ids_have_a_length() {
        assert!(OperationId::new(b"").is_none());
        assert!(OperationId::new(&[0; 129]).is_none());
    }
}
