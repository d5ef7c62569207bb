//! What a proxy is answered: a status, header fields, a body, and how long the answer is held back.

use std::time::Duration;

use http::StatusCode;
use tollgate_contract::Dialect;
use tollgate_http::LimitReport;
use tollgate_node::Answer;

use super::options::DelayHandling;
use crate::engine::Turn;
use crate::value::millis;

/// The decision about a request that a proxy asked about.
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

    /// Whether the request may pass.
    pub const fn is_allowed(&self) -> bool {
        self.answer.is_allowed()
    }

    /// What was decided.
    pub const fn answer(&self) -> &Answer {
        &self.answer
    }

    /// How long to hold the answer back; mostly not at all.
    pub const fn hold(&self) -> Duration {
        self.hold
    }

    /// How the policies stand; in the turn of the decision.
    pub fn report<'t>(&'t self, turn: &'t Turn<'_>) -> LimitReport<'t> {
        turn.report(&self.answer)
    }

    /// The status: 200 for what may pass, and otherwise that of the refusal or the one that was asked for.
    pub fn status(&self, report: &LimitReport<'_>) -> StatusCode {
        match report.status() {
            None => StatusCode::OK,
            Some(usual) => self.deny.unwrap_or(usual),
        }
    }

    /// Hands over the header fields of the answer.
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
        // What was waited for here need not be waited for again.
        let wait = self.answer.verdict.wait();
        if wait.as_nanos() > 0 && self.hold.is_zero() {
            put(WAIT_MS, itoa::Buffer::new().format(millis(wait)).as_bytes());
        }
    }
}

/// Tells our refusals from those of others with the same status.
pub(crate) const DENIED: &str = "x-tollgate-denied";
/// How long whoever asked should hold the request back.
const WAIT_MS: &str = "x-tollgate-wait-ms";
