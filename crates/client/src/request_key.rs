//! Who an HTTP request is counted for, and ready ways to tell.
//!
//! Not here: telling by the body, which a layer does not read.

use std::borrow::Cow;
use std::net::IpAddr;

use http::header::HeaderName;
use http::request::Parts;
use tollgate_node::Key;

use tollgate_http::ClientAddress;

/// The key and the cost of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    name: Name,
    cost: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Text(Vec<u8>),
    Entries(Vec<(Cow<'static, str>, Cow<'static, str>)>),
}

impl RequestKey {
    /// A bare key, for contracts that count by at most one entry. The cost is 1.
    pub fn text(text: impl Into<Vec<u8>>) -> Self {
        Self {
            name: Name::Text(text.into()),
            cost: 1,
        }
    }

    /// Descriptor entries in order, for contracts that match by name. The cost is 1.
    pub fn entries<K, V>(entries: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<Cow<'static, str>>,
        V: Into<Cow<'static, str>>,
    {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()));
        Self {
            name: Name::Entries(entries.collect()),
            cost: 1,
        }
    }

    /// The same key at another cost.
    #[must_use]
    pub fn costing(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// The cost.
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// Lends the key to `run`.
    pub(crate) fn with<R>(&self, run: impl FnOnce(Key<'_>) -> R) -> R {
        run(self.name(&self.pairs()))
    }

    /// Names and values, which [`Self::name`] lends.
    pub(crate) fn pairs(&self) -> Vec<(&str, &str)> {
        match &self.name {
            Name::Text(_) => Vec::new(),
            Name::Entries(entries) => {
                let pairs = entries.iter().map(|(key, value)| (&**key, &**value));
                pairs.collect()
            }
        }
    }

    /// The key, by its pairs.
    pub(crate) fn name<'a>(&'a self, pairs: &'a [(&'a str, &'a str)]) -> Key<'a> {
        match &self.name {
            Name::Text(text) => Key::Text(text),
            Name::Entries(_) => Key::Entries(pairs),
        }
    }
}

/// Counts by the address of the client, as a bare key.
///
/// Only the server knows the address of its peer, so `peer` says where it put it. With axum:
/// `|parts| parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())`.
pub fn by_address(
    rules: ClientAddress,
    peer: impl Fn(&Parts) -> Option<IpAddr>,
) -> impl Fn(&Parts) -> Option<RequestKey> {
    move |parts| {
        let client = rules.of(peer(parts)?, &parts.headers);
        Some(RequestKey::text(client.to_string()))
    }
}

/// Counts by the value of a header, as a bare key; of several values the last counts.
///
/// Only for headers that somebody trusted has written or checked: whoever may write what they like there has a fresh
/// quota with every request.
pub fn by_header(name: HeaderName) -> impl Fn(&Parts) -> Option<RequestKey> {
    move |parts| {
        let value = parts.headers.get_all(&name).into_iter().next_back()?;
        Some(RequestKey::text(value.as_bytes()))
    }
}

/// Counts all requests together, by these entries.
pub fn by_entries<K, V>(
    entries: impl IntoIterator<Item = (K, V)>,
) -> impl Fn(&Parts) -> Option<RequestKey>
where
    K: Into<Cow<'static, str>>,
    V: Into<Cow<'static, str>>,
{
    let key = RequestKey::entries(entries);
    move |_| Some(key.clone())
}
