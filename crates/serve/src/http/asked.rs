//! A request as handlers see it, however it came.
//!
//! Not here: reading requests, and what is answered (`reply`).

use http::HeaderMap;

use super::ListenerSite;
use crate::shared::{Peer, Shared};

/// A whole request.
#[derive(Clone, Copy)]
pub(crate) struct ReceivedRequest<'a> {
    /// What the server was set up with.
    pub(crate) shared: &'a Shared,
    /// What the listener answers to.
    pub(crate) site: &'a ListenerSite,
    /// Who is at the other end of the connection.
    pub(crate) peer: Peer,
    /// The method, as it was written.
    pub(crate) method: &'a str,
    /// The path, with nothing decoded.
    pub(crate) path: &'a str,
    /// What follows the question mark; empty where there is none.
    pub(crate) query: &'a str,
    /// The header fields.
    pub(crate) lines: HeaderLines<'a>,
    /// The body.
    pub(crate) body: &'a [u8],
}

impl<'a> ReceivedRequest<'a> {
    /// The value of a header field: the first, where there are several.
    pub(crate) fn line(&self, name: &str) -> Option<&'a [u8]> {
        self.lines.get(name)
    }
}

/// The header fields of a request.
#[derive(Clone, Copy)]
pub(crate) enum HeaderLines<'a> {
    /// As the lean loop reads them.
    Raw(&'a [httparse::Header<'a>]),
    /// As others read them.
    Map(&'a HeaderMap),
}

impl<'a> HeaderLines<'a> {
    /// The value of a field by its name in lower case: the first, where there are several.
    pub(crate) fn get(&self, name: &str) -> Option<&'a [u8]> {
        match self {
            Self::Raw(lines) => lines
                .iter()
                .find(|line| line.name.eq_ignore_ascii_case(name))
                .map(|line| line.value),
            Self::Map(map) => map.get(name).map(http::HeaderValue::as_bytes),
        }
    }

    /// Hands over every value of a field by its name in lower case, in order.
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
