//! Servers for one test.

use std::net::SocketAddr;

pub(crate) use tollgate_parts::until;
use tollgate_parts::wire::{self, Wire};
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{ContractSource, Listener, Runtime, Settings};

pub(crate) const CONTRACTS: &str =
    "contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 1000000, per: 1s }] }]";

/// Both protocols on free ports, on two threads.
pub(crate) fn settings() -> Settings {
    Settings {
        http: vec![Listener::loopback()],
        resp: vec![Listener::loopback()],
        contracts: ContractSource::Text(CONTRACTS.to_owned()),
        runtime: Runtime {
            threads: Some(2),
            ..Runtime::default()
        },
        ..Settings::default()
    }
}

/// A server with these changes.
pub(crate) fn server(change: impl FnOnce(&mut Settings)) -> Running {
    let mut settings = settings();
    change(&mut settings);
    start(settings).unwrap()
}

pub(crate) fn tcp(address: Option<SocketAddr>) -> Wire {
    Wire::to(address.unwrap())
}

/// A request that asks about a user.
pub(crate) fn check(user: &str) -> String {
    wire::check("user", user)
}
