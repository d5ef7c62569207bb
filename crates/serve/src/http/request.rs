//! A request as handlers see it, independent of HTTP's version, and its body under `/v1`: read, or refused with what is
//! wrong and where.
//!
//! Not here: reading requests, the shapes of bodies (`tollgate-wire`), and answers (`reply`).

use std::borrow::Cow;

use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use smallvec::SmallVec;
use tollgate_limit::Cost;
use tollgate_node::Key;
use tollgate_wire::v1::{self, BodyError};

use super::{ListenerSite, Reply};
use crate::engine::EngineError;
use crate::meter::{Door, Event};
use crate::shared::{Peer, Shared};

#[derive(Clone, Copy)]
pub(crate) struct ReceivedRequest<'a> {
    /// What the server was set up with.
    pub(crate) shared: &'a Shared,
    /// What the listener answers to.
    pub(crate) site: &'a ListenerSite,
    pub(crate) peer: Peer,
    /// The method, as it was sent.
    pub(crate) method: &'a str,
    /// The path, with nothing decoded.
    pub(crate) path: &'a str,
    /// What follows the question mark; may be empty.
    pub(crate) query: &'a str,
    pub(crate) lines: HeaderLines<'a>,
    pub(crate) body: &'a [u8],
}

impl<'a> ReceivedRequest<'a> {
    /// The first value of a header field.
    pub(crate) fn line(&self, name: &str) -> Option<&'a [u8]> {
        self.lines.get(name)
    }
}

#[derive(Clone, Copy)]
pub(crate) enum HeaderLines<'a> {
    /// As the fast path parses them.
    Raw(&'a [httparse::Header<'a>]),
    /// As other parsers have them.
    Map(&'a HeaderMap),
}

impl<'a> HeaderLines<'a> {
    /// The first value of a field; the name must be in lower case.
    pub(crate) fn get(&self, name: &str) -> Option<&'a [u8]> {
        match self {
            Self::Raw(lines) => lines
                .iter()
                .find(|line| line.name.eq_ignore_ascii_case(name))
                .map(|line| line.value),
            Self::Map(map) => map.get(name).map(http::HeaderValue::as_bytes),
        }
    }

    /// Passes every value of a field, in order; the name must be in lower case.
    pub(crate) fn each(&self, name: &str, mut take: impl FnMut(&'a [u8])) {
        match self {
            Self::Raw(lines) => lines
                .iter()
                .filter(|line| line.name.eq_ignore_ascii_case(name))
                .for_each(|line| take(line.value)),
            Self::Map(map) => map
                .get_all(name)
                .iter()
                .for_each(|value| take(value.as_bytes())),
        }
    }
}

/// Reads the body of a request, or answers with what is wrong with it.
pub(super) fn read<'a, T: Deserialize<'a>>(
    asked: &ReceivedRequest<'a>,
    reply: &mut Reply,
) -> Option<T> {
    if !is_json(asked) {
        malformed(asked);
        reply.line("accept", b"application/json");
        let detail = "The body must be JSON, and say so: `Content-Type: application/json`.";
        reply.refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail);
        return None;
    }
    match v1::decode(asked.body) {
        Ok(body) => Some(body),
        Err(error) => {
            malformed(asked);
            reply.refuse(StatusCode::BAD_REQUEST, &explain(&error, asked.body));
            None
        }
    }
}

/// Whether the content type is JSON, absent, or the one that `curl -d` always sends.
///
/// A browser has to send JSON's, which makes it send a preflight before a cross-origin request.
fn is_json(asked: &ReceivedRequest<'_>) -> bool {
    let Some(kind) = asked.line("content-type") else {
        return asked.line("origin").is_none();
    };
    if kind == b"application/json" {
        return true;
    }
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    let kind = kind.trim_ascii().to_ascii_lowercase();
    kind == b"application/json"
        || (kind.starts_with(b"application/") && kind.ends_with(b"+json"))
        || (kind == FORM && asked.line("origin").is_none())
}

const FORM: &[u8] = b"application/x-www-form-urlencoded";

fn malformed(asked: &ReceivedRequest<'_>) {
    let meter = asked.shared.engine.meter();
    meter.count(Event::Malformed(Door::Http));
}

fn explain(error: &BodyError, body: &[u8]) -> String {
    if body.trim_ascii().is_empty() {
        return "The body is empty; it must be JSON.".to_owned();
    }
    let text = error.to_string();
    let hint = meant(&text).map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
    let kind = if error.is_syntax() {
        "The body is not JSON"
    } else {
        "The body has the wrong shape"
    };
    format!("{kind}: {}.{hint}", shown(&text))
}

/// The known member closest to the unknown one that an error names.
fn meant(text: &str) -> Option<&str> {
    let text = text.strip_prefix("unknown field ")?;
    let mut names = text.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    tollgate_contract::nearest(unknown, names)
}

/// Input of a client, cut to a length fit for repeating.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_MAX) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}...", text.get(..end).unwrap_or_default())),
    }
}

pub(super) type KeyEntries<'a> = SmallVec<[(&'a str, &'a str); 8]>;

/// Why a readable body cannot be decided.
pub(super) enum BodyRefusal {
    /// A key is longer than the server accepts.
    KeyTooLong {
        /// The limit.
        max: usize,
    },
    /// A cost is larger than counts go.
    Cost(u64),
    Engine(EngineError),
}

impl From<EngineError> for BodyRefusal {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

pub(super) fn entries<'k>(key: &'k v1::WireKey<'_>) -> KeyEntries<'k> {
    match key {
        v1::WireKey::Bare(_) => KeyEntries::new(),
        v1::WireKey::Entries(entries) => entries
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect(),
    }
}

pub(super) fn key<'k>(
    key: &'k v1::WireKey<'_>,
    entries: &'k [(&'k str, &'k str)],
    asked: &ReceivedRequest<'_>,
) -> Result<Key<'k>, BodyRefusal> {
    let max = asked.shared.settings.limits.key_bytes_max;
    let (key, length) = match key {
        v1::WireKey::Bare(text) => (Key::Text(text.as_bytes()), text.len()),
        v1::WireKey::Entries(_) => {
            let length = entries.iter().map(|(name, value)| name.len() + value.len());
            (Key::Entries(entries), length.sum())
        }
    };
    if length > max {
        return Err(BodyRefusal::KeyTooLong { max });
    }
    Ok(key)
}

pub(super) fn cost(tokens: u64) -> Result<Cost, BodyRefusal> {
    Cost::new(tokens).map_err(|_| BodyRefusal::Cost(tokens))
}

/// Letters of a client's input that are repeated.
const SHOWN_MAX: usize = 200;
