//! Forward authorization: a proxy asks whether a request of its client may pass.
//!
//! The key consists of entries from the proxy's configuration, then those of the settings, then `address`, `method`,
//! `host` and `path`. The first of a name counts, so that no client can override the proxy's configuration. Not here:
//! how the question arrives (`http::auth`, `grpc`).

mod entries;
mod options;
pub(crate) mod query;
mod ruling;
mod settings;
mod uri;

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use http::StatusCode;
use tollgate_http::{ClientAddress, Trust};
use tollgate_limit::Span;
use tollgate_node::Key;

use crate::engine::{Act, EngineError, EngineRequest, Op, Scope, Started, Turn};
use crate::settings::Settings;

pub use ruling::AuthRuling;
pub(crate) use ruling::DENIED;
pub use settings::{AuthSettings, EntrySource};

use entries::{AddressText, AuthEntries};
use options::{DelayHandling, QuestionOptions};

#[derive(Clone, Copy)]
pub struct AuthJudge<'s> {
    settings: &'s Settings,
}

/// A request that a proxy asks about. Empty or `None` means unknown, and makes no entry.
pub struct Inquiry<'a, F: ?Sized> {
    pub client: Option<IpAddr>,
    pub method: &'a str,
    /// With or without a port.
    pub host: &'a [u8],
    /// Path and query, or the whole URI.
    pub uri: &'a [u8],
    pub fields: &'a F,
}

/// Header fields of a request, independent of how they are stored.
pub trait Fields {
    /// Passes every value of a field to `take`, in order; the name is case-insensitive.
    fn each<'a>(&'a self, name: &str, take: &mut dyn FnMut(&'a [u8]));

    /// The last value of a field: the one that the nearest proxy wrote.
    fn last<'a>(&'a self, name: &str) -> Option<&'a [u8]> {
        let mut last = None;
        self.each(name, &mut |value| last = Some(value));
        last
    }
}

/// Names are in lower case, as Envoy sends them.
impl Fields for std::collections::BTreeMap<String, Vec<u8>> {
    fn each<'a>(&'a self, name: &str, take: &mut dyn FnMut(&'a [u8])) {
        let found = self
            .get(name)
            .or_else(|| self.get(&name.to_ascii_lowercase()));
        if let Some(value) = found {
            take(value);
        }
    }
}

/// Why there is no decision. Nothing was charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthError {
    Malformed(MalformedQuestion),
    /// The client's request cannot become a key: it is denied.
    Unfit(Unfit),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedQuestion(pub String);

/// What is wrong with a client's request, which must be denied for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    pub what: String,
    pub status: StatusCode,
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(MalformedQuestion(what)) | Self::Unfit(Unfit { what, .. }) => {
                f.write_str(what)
            }
        }
    }
}

impl std::error::Error for AuthError {}

impl From<MalformedQuestion> for AuthError {
    fn from(malformed: MalformedQuestion) -> Self {
        Self::Malformed(malformed)
    }
}

impl<'s> AuthJudge<'s> {
    pub const fn new(settings: &'s Settings) -> Self {
        Self { settings }
    }

    /// The client of a request that the proxy at `peer` asks about, by the fields it sent; a peer on a Unix socket is
    /// on this machine.
    ///
    /// The proxy supplies everything about the request, so its address header is trusted too: one hop if the settings
    /// trust no proxy, otherwise as many as they say.
    pub fn client<F: Fields + ?Sized>(&self, peer: Option<IpAddr>, fields: &F) -> IpAddr {
        let rules = &self.settings.client_address;
        let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let mut lines: smallvec::SmallVec<[&[u8]; 4]> = smallvec::SmallVec::new();
        fields.each(rules.header.name(), &mut |line| lines.push(line));
        let lines = lines.into_iter();
        if rules.trust != Trust::Nobody {
            return rules.of_lines(peer, lines);
        }
        let one_hop = ClientAddress {
            trust: Trust::Hops(1),
            ..*rules
        };
        one_hop.of_lines(peer, lines)
    }

    /// Decides about one request and charges it. `given` is the proxy's own configuration: options and entries, as in
    /// the query of `/v1/auth`.
    pub fn judge<'a, F: Fields + ?Sized>(
        &self,
        turn: &Turn<'_>,
        inquiry: &Inquiry<'a, F>,
        given: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
    ) -> Result<Started<Result<AuthRuling, EngineError>>, AuthError> {
        let options = QuestionOptions::read(given)?;
        let client = inquiry.client.map(AddressText::of);
        let entries = AuthEntries::read(inquiry, client.as_ref(), &options, self.settings)?;
        let (deny, delay) = (options.deny, options.delay);
        let hold_max = Span::from_nanos(self.settings.auth.hold_max.as_nanos());
        let act = match delay {
            DelayHandling::Tell => Act::Check,
            DelayHandling::Hold => Act::CheckWithin(hold_max),
            DelayHandling::Deny => Act::CheckWithin(Span::ZERO),
        };
        Ok(entries.with(|entries| {
            let ask = EngineRequest {
                scope: match &options.contract {
                    Some(id) => Scope::Contract(id),
                    None => Scope::All,
                },
                ..EngineRequest::new(Key::Entries(entries), options.cost)
            };
            let started = turn.ask_answer(&Op::Key(act, ask));
            started.map(turn, move |_, answer| {
                answer.map(|answer| AuthRuling::of(answer, deny, delay))
            })
        }))
    }
}
