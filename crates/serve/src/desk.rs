//! The handler below `/admin`, `/console` and `/my`: whole requests in, whole responses out.
//!
//! The listener reads the request and sends the answer; the handler does what takes longer than a decision, on its own
//! threads. Not here: any handler; the crate that builds a server sets one up, so that the server does not depend on
//! it.

use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response};

use crate::shared::Peer;

#[derive(Debug)]
pub struct Visit {
    pub request: Request<Bytes>,
    pub peer: Peer,
}

/// A response to come.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Response<Bytes>> + Send + 'a>>;

/// Whether to read a request's body.
#[derive(Debug)]
pub enum Knock {
    /// The head authenticates the caller.
    Known,
    /// The request needs no authentication, such as signing in.
    Unknown,
    /// Refused whatever the body is.
    Refused(Response<Bytes>),
}

/// A [`Knock`] to come.
pub type Knocking<'a> = Pin<Box<dyn Future<Output = Knock> + Send + 'a>>;

/// The handler of all paths that do not ask for decisions.
pub trait AdminApi: Send + Sync {
    /// Whether anyone can sign in; if not, no page links to the admin API.
    fn lets_in(&self) -> bool {
        true
    }

    /// Judges a request by its head, before the body is read.
    fn knock(&self, _visit: Visit) -> Knocking<'_> {
        Box::pin(std::future::ready(Knock::Unknown))
    }

    /// Must not block: the threads that poll this also decide about requests.
    fn answer(&self, visit: Visit) -> Answering<'_>;
}

/// Whether a path belongs to the admin API.
#[inline]
pub(crate) fn is_for(path: &str) -> bool {
    // One letter rules out the most frequent paths.
    matches!(path.as_bytes().get(1), Some(b'a' | b'c' | b'm')) && is_below(path)
}

fn is_below(path: &str) -> bool {
    PLACES.iter().any(|place| {
        let rest = path.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

const PLACES: [&str; 3] = ["/admin", "/console", "/my"];
/// Limit on a request's body.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_desk_has_its_paths_and_no_others() {
        for path in [
            "/admin",
            "/admin/",
            "/admin/v1/x",
            "/console",
            "/my/abc",
            "/my",
        ] {
            assert!(is_for(path), "{path}");
        }
        for path in [
            "/",
            "",
            "/v1/check",
            "/auth",
            "/administrator",
            "/metrics",
            "/mya",
            "admin",
            "/x/admin",
        ] {
            assert!(!is_for(path), "{path}");
        }
    }
}
