//! The catalogue of everything that is measured: one file per crate, one [`SubjectEntry`] per variant.
//!
//! Tollgate's own entries belong in `tollgate.rs` beside the others and are found by
//! [`SubjectRole::Ours`]; nothing else in this crate knows which limiter is whose.

mod floor;
mod governor;
mod hashbrown;
mod leaky_bucket;
mod limitador;
mod pingora;
mod quota;
mod ratelimit;
mod throttlecrab;
mod tollgate;

use crate::subject::Build;

/// Name of the peer that the bars and the first ratio refer to.
pub(crate) const GOVERNOR: &str = "governor";
/// Name of the bare map that the second ratio refers to.
pub(crate) const REFERENCE: &str = "hashbrown";
/// Name of our limiter on its real clock: the entry the bars judge.
pub(crate) const OURS: &str = "tollgate";

/// Why an entry is in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubjectRole {
    /// The cost of the loop itself; subtracted from nothing.
    Floor,
    /// A bare map: it counts, and decides nothing.
    Reference,
    /// Another project's limiter.
    Peer,
    /// Tollgate.
    Ours,
}

/// What an entry can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// One bucket for all keys.
    None,
    /// Every key exactly.
    Exact,
    /// Keys share counters by hash; memory does not grow with them.
    Shared,
}

/// One measured variant of a limiter.
pub(crate) struct SubjectEntry {
    pub(crate) name: &'static str,
    /// The algorithm, and the clock it reads.
    pub(crate) decides: &'static str,
    /// What the reader of its figures must know.
    pub(crate) note: &'static str,
    /// Why it is in the tables.
    pub(crate) role: SubjectRole,
    /// What it can tell apart.
    pub(crate) keys: Keys,
    /// The most keys it is asked to hold; beyond, its memory would not fit beside the others.
    pub(crate) keys_max: usize,
    /// Whether its memory per key is worth measuring: not if it has no keys, or keeps the very
    /// state of another entry.
    pub(crate) keeps_own_state: bool,
    /// Instructions per decision, to one digit, so that counting takes a few seconds.
    pub(crate) instructions_about: u64,
    /// Makes it for integer keys, where it takes them.
    pub(crate) number: Option<Build<u64>>,
    /// Makes it for string keys, where it takes them.
    pub(crate) text: Option<Build<String>>,
    /// Makes it for integer keys with two limits on each, where it can.
    pub(crate) two_limits: Option<Build<u64>>,
}

impl SubjectEntry {
    /// Says whether it can hold `count` separate keys.
    pub(crate) fn holds(&self, count: usize) -> bool {
        match self.keys {
            Keys::None => count <= 1,
            Keys::Exact | Keys::Shared => count <= self.keys_max,
        }
    }
}

/// What most entries share; each names only what sets it apart.
const USUAL: SubjectEntry = SubjectEntry {
    name: "",
    decides: "",
    note: "",
    role: SubjectRole::Peer,
    keys: Keys::Exact,
    keys_max: usize::MAX,
    keeps_own_state: true,
    instructions_about: 300,
    number: None,
    text: None,
    two_limits: None,
};

/// Lists every entry, in the order of the tables.
pub(crate) fn all() -> Vec<SubjectEntry> {
    let mut entries = vec![floor::entry(), hashbrown::entry()];
    entries.extend(tollgate::entries());
    entries.extend(governor::entries());
    entries.extend([
        quota::entry(),
        pingora::entry(),
        throttlecrab::entry(),
        ratelimit::entry(),
        leaky_bucket::entry(),
        limitador::entry(),
    ]);
    entries
}

/// Finds an entry by its name.
pub(crate) fn find(name: &str) -> Option<SubjectEntry> {
    all().into_iter().find(|entry| entry.name == name)
}
