//! What a proxy is answered: a status, header fields, a body, and how long the answer is held back.

use std::time::Duration;

use http::StatusCode;
use tollgate_client::{Dialect, Report};
use tollgate_limit::Verdict;
use tollgate_node::Answer;

use super::options::{Delay, Options};
use crate::engine::Turn;
use crate::fields;
use crate::settings::Settings;

/// The decision about a request that a proxy asked about.
#[derive(Clone, Debug)]
pub struct Ruling {
    answer: Answer,
    deny: Option<StatusCode>,
    hold: Duration,
}

impl Ruling {
    pub(super) fn of(
        turn: &Turn<'_>,
        answer: Answer,
        options: &Options<'_>,
        settings: &Settings,
    ) -> Self {
        let mut ruling = Self {
            answer,
            deny: options.deny,
            hold: Duration::ZERO,
        };
        let wait = Duration::from(ruling.answer.verdict.wait());
        match options.delay {
            _ if wait.is_zero() => {}
            Delay::Tell => {}
            Delay::Hold if wait <= settings.auth.hold_max => ruling.hold = wait,
            Delay::Hold | Delay::Deny => ruling.give_back(turn),
        }
        ruling
    }

    /// The charge is given back, and the answer is a denial for as long as the wait would have been.
    fn give_back(&mut self, turn: &Turn<'_>) {
        let receipt = &mut self.answer.receipt;
        turn.give_back(receipt);
        for booking in receipt.bookings_mut() {
            booking.receipt.charged = 0;
        }
        self.answer.verdict = Verdict::Deny {
            retry_after: self.answer.verdict.wait(),
        };
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
    pub fn report<'t>(&'t self, turn: &'t Turn<'_>) -> Report<'t> {
        fields::report(turn, &self.answer)
    }

    /// The status: 200 for what may pass, and otherwise that of the refusal or the one that was asked for.
    pub fn status(&self, report: &Report<'_>) -> StatusCode {
        match report.status() {
            None => StatusCode::OK,
            Some(usual) => self.deny.unwrap_or(usual),
        }
    }

    /// Hands over the header fields of the answer.
    pub fn each_field(
        &self,
        report: &Report<'_>,
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
            let millis = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
            put(WAIT_MS, itoa::Buffer::new().format(millis).as_bytes());
        }
    }
}

/// Tells our refusals from those of others with the same status.
pub(crate) const DENIED: &str = "x-tollgate-denied";
/// How long whoever asked should hold the request back.
const WAIT_MS: &str = "x-tollgate-wait-ms";
