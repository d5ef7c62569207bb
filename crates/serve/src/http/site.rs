//! The names and paths that a listener answers to.
//!
//! A web page can point its own name at this machine (DNS rebinding), and the browser would let it read the answers
//! under that name. A listener on loopback is called by names of this machine, so others are refused there.

use std::net::IpAddr;
use std::sync::Arc;

use super::auth;
use crate::desk::{self, AdminApi};
use crate::shared::Shared;

#[derive(Debug, Default)]
pub struct ListenerSite {
    /// Names besides those of this machine; `None` if any name is accepted.
    names: Option<Vec<String>>,
    paths: Paths,
}

/// The paths of a listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paths {
    #[default]
    All,
    /// All but the admin API, which has its own listener.
    NoDesk,
    /// The admin API, and other paths that need no token.
    Desk,
}

impl ListenerSite {
    /// A listener with these paths; `names` are set if it is reachable from this machine only.
    pub const fn new(names: Option<Vec<String>>, paths: Paths) -> Self {
        Self { names, paths }
    }

    /// Whether only the admin API is here, and what needs no token.
    pub(crate) fn is_desk(&self) -> bool {
        self.paths == Paths::Desk
    }

    /// The handler for paths of the admin API.
    #[inline]
    pub(super) fn desk<'s>(&self, shared: &'s Shared, path: &str) -> Option<&'s Arc<dyn AdminApi>> {
        if self.paths == Paths::NoDesk || !desk::is_for(path) {
            return None;
        }
        shared.desk.get()
    }

    /// Whether the host is not a name of this server.
    ///
    /// Proxies that ask whether a request may pass send its host, which can be any.
    pub(super) fn is_foreign(&self, host: Option<&[u8]>, path: &str) -> bool {
        let (Some(names), Some(host)) = (&self.names, host) else {
            return false;
        };
        let is_asked_by_proxies = path == auth::PATH || auth::mirrored(path).is_some();
        !is_asked_by_proxies && !is_near(host) && !names.iter().any(|name| is_named(host, name))
    }
}

/// Whether a host means this machine. A name without a dot cannot be registered.
fn is_near(host: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(without_port(host)) else {
        return false;
    };
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = literal.parse::<IpAddr>() {
        return address.to_canonical().is_loopback();
    }
    !literal.contains(['.', ':']) || ends_with(name.as_bytes(), b".localhost")
}

fn is_named(host: &[u8], name: &str) -> bool {
    let host = without_port(host);
    host.eq_ignore_ascii_case(name.as_bytes())
}

fn ends_with(name: &[u8], end: &[u8]) -> bool {
    let rest = name.len().checked_sub(end.len());
    rest.and_then(|rest| name.get(rest..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// A host without its port and trailing dot.
fn without_port(host: &[u8]) -> &[u8] {
    let is_digits = |port: &[u8]| port.iter().all(u8::is_ascii_digit);
    let name = match host.iter().rposition(|byte| *byte == b':') {
        Some(at) if host.get(at + 1..).is_some_and(is_digits) => host.get(..at).unwrap_or(host),
        Some(_) | None => host,
    };
    name.strip_suffix(b".").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_of_this_machine_answers_to_its_names_and_no_others() {
        let site = ListenerSite::new(Some(vec!["tollgate.example".to_owned()]), Paths::All);
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "app.localhost:1",
            "127.0.0.1",
            "127.1.2.3:8080",
            "[::1]:8080",
            "[::ffff:127.0.0.1]",
            "tollgate.example:8080",
            "Tollgate.Example",
            "tollgate",
            "",
        ] {
            assert!(!site.is_foreign(Some(host.as_bytes()), "/"), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "evil.example.",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evillocalhost.com",
            "10.0.0.1",
            "[2001:db8::1]:80",
            "sub.tollgate.example",
            "a:b",
        ] {
            assert!(site.is_foreign(Some(host.as_bytes()), "/"), "{host}");
            assert!(!site.is_foreign(Some(host.as_bytes()), "/v1/auth"));
            assert!(!ListenerSite::default().is_foreign(Some(host.as_bytes()), "/"));
        }
        assert!(!site.is_foreign(None, "/"));
    }
}
