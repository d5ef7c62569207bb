//! Estimates that are spent first and settled later.
//!
//! Not here: reservations by an id, which another process could settle (see `tollgate_node`).

use std::time::Duration;

use tollgate_limit::{Instant, Span};
use tollgate_node::{Answer, Key};

use crate::limiter::{Limiter, cost_of};
use tollgate_clock::Clock;

impl<C: Clock> Limiter<C> {
    /// Spends an estimate now, to be settled within `ttl`. A refusal is returned as the answer it is.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_client::{Limiter, Period, PolicyConfig};
    ///
    /// // Tokens of a language model: nobody knows how many before the answer is there.
    /// let limiter = Limiter::new([PolicyConfig::token_bucket(10_000, Period::HOUR)])?;
    /// match limiter.reserve("ada", 4_000, Duration::from_secs(60)) {
    ///     Ok(reservation) => assert!(reservation.commit(1_250)),
    ///     Err(refusal) => println!("later: {:?}", refusal.verdict.retry_after()),
    /// }
    /// assert_eq!(limiter.check("ada", 0).remaining, 8_750);
    /// # Ok::<(), tollgate_client::LimiterError>(())
    /// ```
    #[allow(
        clippy::result_large_err,
        reason = "the refusal is the answer, no larger than the reservation"
    )]
    pub fn reserve<'k>(
        &self,
        key: impl Into<Key<'k>>,
        estimate: u64,
        ttl: Duration,
    ) -> Result<Reservation<'_, C>, Answer> {
        let now = self.clock().now();
        let answer = self.node().check(key.into(), cost_of(estimate), now);
        if !answer.is_allowed() {
            return Err(answer);
        }
        let expires = now.saturating_add(Span::from(ttl));
        Ok(Reservation {
            limiter: self,
            answer,
            expires,
        })
    }
}

/// An estimate that was spent and waits for the actual cost. Dropped or expired, it stays spent in full.
#[derive(Debug)]
#[must_use = "an estimate stays spent in full unless it is committed or cancelled"]
pub struct Reservation<'l, C: Clock> {
    limiter: &'l Limiter<C>,
    answer: Answer,
    expires: Instant,
}

impl<C: Clock> Reservation<'_, C> {
    /// The answer to the estimate: what remains, and how long to wait.
    pub const fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Settles at the actual cost. Says whether it was in time; after the ttl the estimate stands.
    pub fn commit(self, actual: u64) -> bool {
        let now = self.limiter.clock().now();
        let in_time = now < self.expires;
        if in_time {
            self.limiter
                .node()
                .settle(&self.answer.receipt, cost_of(actual), now);
        }
        in_time
    }

    /// Gives everything back. Says whether it was in time.
    pub fn cancel(self) -> bool {
        self.commit(0)
    }
}
