//! What listeners tell the meter.

use tollgate_limit::{Instant, Verdict};
use tollgate_node::{Answer, Key};

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
        Self {
            door,
            key,
            judgement: Judgement::of(answer.verdict, answer.shadowed),
            contract: answer.contract,
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
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [Self; JUDGEMENTS] = [
        Self::Allowed,
        Self::Delayed,
        Self::Denied,
        Self::ShadowDenied,
        Self::Failed,
    ];

    /// The name in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allow",
            Self::Delayed => "delay",
            Self::Denied => "deny",
            Self::ShadowDenied => "shadow_deny",
            Self::Failed => "error",
        }
    }

    /// Whether the request does not pass.
    pub(super) const fn is_denied(self) -> bool {
        matches!(self, Self::Denied)
    }

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
    /// A credential is not for what was asked.
    Forbidden(Door),
    /// A connection ended by a panic, which is a bug of ours.
    Panicked(Door),
    /// Connections could not be accepted for want of descriptors or memory.
    AcceptFailed(Door),
    /// Somebody did not get through the handshake of TLS.
    HandshakeFailed(Door),
    /// A key was asked for that no contract binds.
    Unmatched(Door),
    /// Contracts were read again and are in force.
    Reloaded,
    /// Contracts were read again and could not be used; the old ones stay.
    ReloadFailed,
    /// Envoy's rate limit service let a request pass that was over its limits.
    Shadowed,
}

impl Event {
    /// The number of its counter.
    pub(super) const fn number(self) -> usize {
        match self {
            Self::Opened(door) => door as usize,
            Self::Closed(door) => DOORS + door as usize,
            Self::Shed(door) => 2 * DOORS + door as usize,
            Self::Malformed(door) => 3 * DOORS + door as usize,
            Self::TimedOut(door) => 4 * DOORS + door as usize,
            Self::Unauthorized(door) => 5 * DOORS + door as usize,
            Self::Panicked(door) => 6 * DOORS + door as usize,
            Self::AcceptFailed(door) => 7 * DOORS + door as usize,
            Self::HandshakeFailed(door) => 8 * DOORS + door as usize,
            Self::Unmatched(door) => 9 * DOORS + door as usize,
            Self::Forbidden(door) => 10 * DOORS + door as usize,
            Self::Reloaded => 11 * DOORS,
            Self::ReloadFailed => 11 * DOORS + 1,
            Self::Shadowed => 11 * DOORS + 2,
        }
    }
}

impl Door {
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [Self; DOORS] = [Self::Http, Self::Grpc, Self::Resp, Self::Mqtt];

    /// The name in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Grpc => "grpc",
            Self::Resp => "resp",
            Self::Mqtt => "mqtt",
        }
    }
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
    /// MQTT, of a gateway.
    Mqtt,
}

pub(super) const JUDGEMENTS: usize = 5;
pub(super) const DOORS: usize = 4;
pub(super) const EVENTS: usize = 11 * DOORS + 3;
