//! Names of keys in Redis. Everything of one key has one hash tag, so it is in one slot of a Cluster.

use tollgate_store::{LedgerId, Name, StoreRequest};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RedisKey {
    tag: u64,
    name: Name,
}

impl RedisKey {
    pub(crate) fn of(ask: &StoreRequest) -> Self {
        Self {
            tag: ask.book.tag(),
            name: ask.name,
        }
    }

    pub(crate) const fn of_ledger(id: LedgerId) -> Self {
        Self {
            tag: id.tag,
            name: id.name,
        }
    }

    pub(crate) fn head(&self) -> String {
        format!("tg:{{{:016x}{:032x}}}", self.tag, self.name.0)
    }

    /// The list of the policy at `place`.
    pub(crate) fn list(&self, place: usize) -> String {
        format!("{}:{place}", self.head())
    }

    /// The ledger, which is independent of a state.
    pub(crate) fn ledger(&self) -> String {
        format!("{}:ledger", self.head())
    }

    /// A number that distributes keys over connections.
    #[allow(clippy::cast_possible_truncation)] // the low bits spread as well as all of them
    pub(crate) const fn spread(&self) -> usize {
        self.tag as usize ^ self.name.0 as usize
    }
}

/// Where the text of a shape is.
pub(crate) fn shape(id: u64) -> String {
    format!("tg:shape:{id:012x}")
}
