//! Settings: which parts of a client's request become entries.

use std::time::Duration;

/// How requests that proxies ask about become keys.
///
/// Every request has the entries `address`, `method`, `host` and `path`, as far as the proxy tells them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthSettings {
    /// Additional entries, by name, in this order; one named like a built-in entry replaces it.
    pub entries: Vec<(String, EntrySource)>,
    /// The longest an answer is held back for a proxy that asks with `delay=hold`; a request that would wait longer is
    /// refused.
    pub hold_max: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntrySource {
    /// The header field with this name, case-insensitive; the last value counts.
    Header(String),
    /// The parameter with this name in the client's query; the first value counts.
    Query(String),
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            hold_max: Duration::from_secs(5),
        }
    }
}
