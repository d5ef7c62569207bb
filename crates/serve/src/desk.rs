//! Whoever answers below `/admin`, `/console` and `/my`: whole requests in, whole responses out.
//!
//! The door reads the request and sends the answer; a desk does what takes longer than deciding, on threads of its own.
//! Not here: any desk. Whoever puts a server together sets one up, as a desk knows the server and not the other way
//! round.

use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response};

use crate::shared::Peer;

/// A request with its body, and who sent it.
#[derive(Debug)]
pub struct Visit {
    /// The request.
    pub request: Request<Bytes>,
    /// Who sent it.
    pub peer: Peer,
}

/// An answer, once it is there.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Response<Bytes>> + Send + 'a>>;

/// Whether a request's body is worth waiting for.
#[derive(Debug)]
pub enum Knock {
    /// Its head shows somebody who may ask.
    Known,
    /// Anybody may ask that, as the way in.
    Unknown,
    /// It will be refused, whatever its body says.
    Refused(Response<Bytes>),
}

/// The outcome of a knock, once it is there.
pub type Knocking<'a> = Pin<Box<dyn Future<Output = Knock> + Send + 'a>>;

/// Somebody who answers below the paths that no decision is asked at.
pub trait AdminApi: Send + Sync {
    /// Whether somebody can sign in; where nobody can, no page leads to the desk.
    fn lets_in(&self) -> bool {
        true
    }

    /// Looks at a request whose body has not come yet.
    fn knock(&self, _visit: Visit) -> Knocking<'_> {
        Box::pin(std::future::ready(Knock::Unknown))
    }

    /// Answers. The threads that poll this decide about requests as well, so that it must not keep them.
    fn answer(&self, visit: Visit) -> Answering<'_>;
}

/// Whether a path belongs to a desk.
#[inline]
pub(crate) fn is_for(path: &str) -> bool {
    // The paths that are asked most are told apart by one letter.
    matches!(path.as_bytes().get(1), Some(b'a' | b'c' | b'm')) && is_below(path)
}

fn is_below(path: &str) -> bool {
    PLACES.iter().any(|place| {
        let rest = path.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Where desks answer.
const PLACES: [&str; 3] = ["/admin", "/console", "/my"];
/// The most bytes of a body that a desk is given.
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
