//! A server for one test.

use std::net::SocketAddr;

pub(crate) use tollgate_parts::wire::command;
pub(crate) use tollgate_parts::{Wire, until};
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{ContractSource, Listener, RequestLimits, Runtime, Settings, Token};

/// A server with a RESP port of its own.
pub(crate) struct RespServer {
    running: Option<Running>,
    pub(crate) address: SocketAddr,
}

impl RespServer {
    /// Without authentication or contracts.
    pub(crate) fn open() -> Self {
        Self::with(|_| {})
    }

    /// One that decides by these contracts.
    pub(crate) fn by(contracts: &str) -> Self {
        let text = contracts.to_owned();
        Self::with(|settings| settings.contracts = ContractSource::Text(text))
    }

    /// One that requires this token.
    pub(crate) fn guarded(token: &str) -> Self {
        Self::with(|settings| settings.tokens = vec![Token::new(token)].into())
    }

    pub(crate) fn limited(change: impl FnOnce(&mut RequestLimits)) -> Self {
        Self::with(|settings| change(&mut settings.limits))
    }

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings {
            resp: vec![Listener::loopback()],
            runtime: Runtime {
                threads: Some(1),
                ..Runtime::default()
            },
            ..Settings::default()
        };
        change(&mut settings);
        let running = start(settings).unwrap();
        let address = running.resp().unwrap();
        Self {
            running: Some(running),
            address,
        }
    }

    pub(crate) fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    pub(crate) fn connect(&self) -> Wire {
        Wire::to(self.address)
    }

    /// Stops as an operator would, and waits for the end.
    pub(crate) fn stop(&mut self) {
        self.running.take().unwrap().stop().unwrap();
    }
}
