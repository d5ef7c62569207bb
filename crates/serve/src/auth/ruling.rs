//! The answer to a proxy: a status, header fields, a body, and how long the answer is held back.

use std::time::Duration;

use http::StatusCode;
use tollgate_contract::Dialect;
use tollgate_http::LimitReport;
use tollgate_node::Answer;

use super::options::DelayHandling;
use crate::engine::Turn;
use crate::value::millis;

#[derive(Clone, Debug)]
pub struct AuthRuling {
    answer: Answer,
    deny: Option<StatusCode>,
    hold: Duration,
}

impl AuthRuling {
    pub(super) fn of(answer: Answer, deny: Option<StatusCode>, delay: DelayHandling) -> Self {
        let hold = match delay {
            DelayHandling::Hold => answer.verdict.wait().into(),
            DelayHandling::Tell | DelayHandling::Deny => Duration::ZERO,
        };
        Self { answer, deny, hold }
    }

    pub const fn is_allowed(&self) -> bool {
        self.answer.is_allowed()
    }

    pub const fn answer(&self) -> &Answer {
        &self.answer
    }

    /// How long to hold the answer back; usually zero.
    pub const fn hold(&self) -> Duration {
        self.hold
    }

    /// How the policies stand; call it in the turn of the decision.
    pub fn report<'t>(&'t self, turn: &'t Turn<'_>) -> LimitReport<'t> {
        turn.report(&self.answer)
    }

    /// 200 if the request may pass, otherwise that of the refusal or the configured one.
    pub fn status(&self, report: &LimitReport<'_>) -> StatusCode {
        match report.status() {
            None => StatusCode::OK,
            Some(usual) => self.deny.unwrap_or(usual),
        }
    }

    pub fn each_field(
        &self,
        report: &LimitReport<'_>,
        dialect: Dialect,
        mut put: impl FnMut(&'static str, &[u8]),
    ) {
        report.each_field(dialect, &mut put);
        if !self.is_allowed() {
            put(DENIED, b"1");
        }
        // The wait that was served here must not be served again.
        let wait = self.answer.verdict.wait();
        if wait.as_nanos() > 0 && self.hold.is_zero() {
            put(WAIT_MS, itoa::Buffer::new().format(millis(wait)).as_bytes());
        }
    }
}

/// Distinguishes our refusals from those of others with the same status.
pub(crate) const DENIED: &str = "x-tollgate-denied";
/// How long the proxy should hold the request back.
const WAIT_MS: &str = "x-tollgate-wait-ms";
