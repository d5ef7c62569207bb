//! What listeners tell the meter.

use tollgate_limit::{Instant, Verdict};
use tollgate_node::{Answer, Key, RefusedBy};

/// One decision, as the meter sees it.
#[derive(Clone, Copy, Debug)]
pub struct Decided<'a> {
    /// Where it was asked.
    pub door: Door,
    /// Who or what was counted.
    pub key: Key<'a>,
    /// What was said.
    pub judgement: Judgement,
    /// Place of the contract that refused, or else that has the least left; `None` where there is none.
    pub contract: Option<usize>,
    /// When.
    pub now: Instant,
}

impl<'a> Decided<'a> {
    /// What an answer by contracts is to the meter.
    #[inline]
    pub fn of(door: Door, key: Key<'a>, answer: &Answer, now: Instant) -> Self {
        let contract = match answer.refused_by {
            Some(RefusedBy::Policy { contract, .. }) => Some(contract),
            Some(RefusedBy::FullTable) | None => answer.contract,
        };
        Self {
            door,
            key,
            judgement: Judgement::of(answer.verdict, answer.shadowed),
            contract,
            now,
        }
    }
}

/// What was said to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It passes at once.
    Allowed,
    /// It passes after a wait.
    Delayed,
    /// It does not pass.
    Denied,
    /// It passes, though a policy that is not enforced would have refused it.
    ShadowDenied,
    /// It got no decision.
    Failed,
}

impl Judgement {
    /// What a verdict is; `shadowed` where a policy that is not enforced would have refused.
    #[inline]
    pub const fn of(verdict: Verdict, shadowed: bool) -> Self {
        match verdict {
            Verdict::Deny { .. } | Verdict::Never => Self::Denied,
            Verdict::Allow | Verdict::Delay { .. } if shadowed => Self::ShadowDenied,
            Verdict::Delay { .. } => Self::Delayed,
            Verdict::Allow => Self::Allowed,
        }
    }
}

/// What has a counter of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A connection was opened.
    Opened(Door),
    /// A connection was closed.
    Closed(Door),
    /// A connection or request was turned away because there were too many.
    Shed(Door),
    /// Somebody sent what the protocol does not allow.
    Malformed(Door),
    /// Somebody was too slow.
    TimedOut(Door),
    /// Somebody had no credential, or a wrong one.
    Unauthorized(Door),
    /// A connection ended by a panic, which is a bug of ours.
    Panicked(Door),
    /// Connections could not be accepted for want of descriptors or memory.
    AcceptFailed(Door),
    /// Somebody did not get through the handshake of TLS.
    HandshakeFailed(Door),
    /// Contracts were read again and are in force.
    Reloaded,
    /// Contracts were read again and could not be used; the old ones stay.
    ReloadFailed,
}

/// A way in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    /// HTTP of any kind, but for gRPC.
    #[default]
    Http,
    /// gRPC.
    Grpc,
    /// RESP.
    Resp,
}
