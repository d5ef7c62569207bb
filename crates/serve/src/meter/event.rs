//! Events that listeners report to the meter.

use tollgate_limit::{Instant, Verdict};
use tollgate_node::{Answer, Key};

#[derive(Clone, Copy, Debug)]
pub struct Decided<'a> {
    pub door: Door,
    /// The key or client that was counted.
    pub key: Key<'a>,
    /// The outcome.
    pub judgement: Judgement,
    /// Place of the contract that refused, or else has the least left; `None` without contracts.
    pub contract: Option<usize>,
    pub now: Instant,
}

impl<'a> Decided<'a> {
    /// The event of a decision by contracts.
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

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    Allowed,
    /// It passes after a wait.
    Delayed,
    /// It does not pass.
    Denied,
    /// It passes, though a shadow policy would have refused it.
    ShadowDenied,
    /// It got no decision.
    Failed,
}

impl Judgement {
    /// In the order of their numbers.
    pub(super) const ALL: [Self; JUDGEMENTS] = [
        Self::Allowed,
        Self::Delayed,
        Self::Denied,
        Self::ShadowDenied,
        Self::Failed,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allow",
            Self::Delayed => "delay",
            Self::Denied => "deny",
            Self::ShadowDenied => "shadow_deny",
            Self::Failed => "error",
        }
    }

    pub(super) const fn is_denied(self) -> bool {
        matches!(self, Self::Denied)
    }

    /// `shadowed` if a shadow policy would have refused.
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

/// Events with a counter of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Opened(Door),
    Closed(Door),
    /// A connection or request was turned away because there were too many.
    Shed(Door),
    /// A client violated the protocol.
    Malformed(Door),
    TimedOut(Door),
    Unauthorized(Door),
    Forbidden(Door),
    /// A connection ended by a panic, which is a bug of ours.
    Panicked(Door),
    /// No connection could be accepted for lack of descriptors or memory.
    AcceptFailed(Door),
    /// A TLS handshake failed.
    HandshakeFailed(Door),
    /// No contract matched the key.
    Unmatched(Door),
    Reloaded,
    /// New contracts could not be used; the old ones stay.
    ReloadFailed,
    /// Envoy's rate limit service let a request over its limits pass in shadow mode.
    Shadowed,
}

impl Event {
    /// The index of its counter.
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
    /// In the order of their numbers.
    pub(super) const ALL: [Self; DOORS] = [Self::Http, Self::Grpc, Self::Resp, Self::Mqtt];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Grpc => "grpc",
            Self::Resp => "resp",
            Self::Mqtt => "mqtt",
        }
    }
}

/// The protocol of a listener, as a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    #[default]
    Http,
    Grpc,
    Resp,
    /// MQTT, of a gateway.
    Mqtt,
}

pub(super) const JUDGEMENTS: usize = 5;
pub(super) const DOORS: usize = 4;
pub(super) const EVENTS: usize = 11 * DOORS + 3;
