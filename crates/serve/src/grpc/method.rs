//! The methods that are answered by hand: their paths, and who answers them.

use bytes::Bytes;
use prost::Message;

use super::frame::{decode, encode};
use super::status::{Code, Status};
use crate::engine::EngineError;
use crate::meter::Door;
use crate::rls::{self, RlsError};
use crate::shared::{Peer, Shared};

/// A method with one message each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    ShouldRateLimit,
}

impl Method {
    /// The method with this path.
    pub(super) fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" => Self::ShouldRateLimit,
            _ => return None,
        })
    }

    /// Answers a message: the answer in its frame.
    pub(super) fn answer(
        self,
        message: Bytes,
        _peer: &Peer,
        shared: &Shared,
    ) -> Result<Bytes, Status> {
        let turn = shared.engine.turn().by(Door::Grpc);
        match self {
            Self::ShouldRateLimit => call(message, |request| {
                rls::decide(&turn, &request, shared.settings.dialect).map_err(Status::from)
            }),
        }
    }
}

/// Reads the question, asks, and writes the answer.
fn call<Q: Message + Default, A: Message>(
    message: Bytes,
    ask: impl FnOnce(Q) -> Result<A, Status>,
) -> Result<Bytes, Status> {
    ask(decode(message)?).map(|answer| encode(&answer))
}

impl From<RlsError> for Status {
    fn from(error: RlsError) -> Self {
        let code = match &error {
            RlsError::Full => Code::Unavailable,
            RlsError::Engine(error) => return error.clone().into(),
            _ => Code::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}

impl From<EngineError> for Status {
    fn from(error: EngineError) -> Self {
        let code = match error {
            EngineError::TooManyPolicies => Code::Unavailable,
            _ => Code::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}
