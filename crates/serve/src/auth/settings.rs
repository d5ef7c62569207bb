//! What a proxy's request says about its client, as far as that is not always the same.

use std::time::Duration;

/// How requests that proxies ask about become keys.
///
/// Every request has the entries `address`, `method`, `host` and `path`, as far as the proxy tells them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthSettings {
    /// Entries beyond those, by name, in this order; one with such a name takes its place.
    pub entries: Vec<(String, EntrySource)>,
    /// The longest an answer is held back for a proxy that asks with `delay=hold`; a request that would wait longer is
    /// refused.
    pub hold_max: Duration,
}

/// Where an entry is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntrySource {
    /// In the header field with this name, in any case; of several the last counts.
    Header(String),
    /// In the query of the client's request, under this name; of several the first counts.
    Query(String),
}

impl Default for AuthSettings {
    /// No more entries, and answers held back for at most 5 seconds.
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            hold_max: Duration::from_secs(5),
        }
    }
}
