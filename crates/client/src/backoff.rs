//! When a caller that was refused comes back, and when it gives up.
//!
//! Pure: what it was told, the time and random bits come in as values. Not here: asking (the caller's), waiting for a
//! turn at one's own limiter (`wait`), nor what a refusal said (`retry_after`).

#[cfg(test)]
mod laws;

use std::fmt;
use std::time::Duration;

use tollgate_kit::Dice;
use tollgate_limit::Instant;

use crate::error::LimiterError;
use crate::limiter::random;
use crate::retry_after::RetryAfter;
#[cfg(feature = "tokio")]
use tollgate_clock::Clock;

/// How a caller that was refused comes back; the default suits most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffConfig {
    /// How far the first wait is spread; each one after it twice as far.
    pub base: Duration,
    /// The farthest a wait is spread.
    pub cap: Duration,
    /// The most tries, the first among them.
    pub tries_max: u32,
    /// The most time from the first refusal to the last try.
    pub time_max: Duration,
}

impl Default for BackoffConfig {
    /// From 100 ms to 30 s, up to 8 tries within 2 minutes.
    fn default() -> Self {
        Self {
            base: Duration::from_millis(100),
            cap: Duration::from_secs(30),
            tries_max: 8,
            time_max: Duration::from_mins(2),
        }
    }
}

/// When one request that was refused is sent again.
///
/// Whoever was told when to come back never comes earlier. How much later is drawn anew for every wait, so that those
/// who were refused together do not come back together: anything from nothing to a spread that doubles with each
/// refusal, up to a cap. Whoever was told nothing waits anything up to that spread.
///
/// ```
/// use std::time::Duration;
/// use tollgate_client::{Backoff, BackoffConfig, GiveUp, Instant, RetryAfter};
///
/// let config = BackoffConfig { tries_max: 3, ..BackoffConfig::default() };
/// let mut backoff = Backoff::new(config);
/// let now = Instant::default();
///
/// // Told "one second", with the lowest and then the highest draw there is.
/// let told = RetryAfter::After(Duration::from_secs(1));
/// assert_eq!(backoff.refused(told, now, 0), Ok(Duration::from_secs(1)));
/// assert_eq!(backoff.refused(told, now, u64::MAX), Ok(Duration::from_millis(1_200)));
/// assert_eq!(backoff.refused(told, now, 0), Err(GiveUp::Tries { tries: 3 }));
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    config: BackoffConfig,
    tries: u32,
    began: Option<Instant>,
    /// All waits so far: bounds them where the clock stands still.
    waited: Duration,
}

impl Backoff {
    /// For one request that has not been sent yet.
    pub const fn new(config: BackoffConfig) -> Self {
        Self {
            config,
            tries: 0,
            began: None,
            waited: Duration::ZERO,
        }
    }

    /// The request was refused at `now`: how long to wait before it is sent again. `bits` are 64 random ones.
    pub fn refused(
        &mut self,
        told: RetryAfter,
        now: Instant,
        bits: u64,
    ) -> Result<Duration, GiveUp> {
        self.tries = self.tries.saturating_add(1);
        let least = match told {
            RetryAfter::After(least) => least,
            RetryAfter::Never => return Err(GiveUp::Never),
            RetryAfter::Unknown => Duration::ZERO,
        };
        if self.tries >= self.config.tries_max {
            return Err(GiveUp::Tries { tries: self.tries });
        }
        let left = self.left(now);
        if least > left || left.is_zero() {
            return Err(GiveUp::Time { retry_after: least });
        }
        // What is left cuts the spread, never what was told.
        let spread = self.spread().min(left.saturating_sub(least));
        let wait = least.saturating_add(part_of(spread, bits));
        self.waited = self.waited.saturating_add(wait);
        Ok(wait)
    }

    /// How often the request was refused.
    pub const fn tries(&self) -> u32 {
        self.tries
    }

    /// How far the next wait is spread.
    fn spread(&self) -> Duration {
        let BackoffConfig { base, cap, .. } = self.config;
        let doublings = self.tries.saturating_sub(1);
        let times = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        base.saturating_mul(times).min(cap)
    }

    fn left(&mut self, now: Instant) -> Duration {
        let began = *self.began.get_or_insert(now);
        let passed = Duration::from_nanos(now.nanos_since(began)).max(self.waited);
        self.config.time_max.saturating_sub(passed)
    }

    /// Tries until the request passes or it is time to give up. An attempt returns what came of it, or what its refusal
    /// said; errors that have nothing to do with limits are for the attempt to return as what came of it.
    ///
    /// ```
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use tollgate_client::{Backoff, BackoffConfig, Draws, FakeClock, Limiter, Period, PolicyConfig, RetryAfter};
    ///
    /// let limiter = Limiter::with_clock([PolicyConfig::token_bucket(1, Period::SECOND)], FakeClock::default())?;
    /// let mut draws = Draws::seeded(7);
    /// for _ in 0..3 {
    ///     let attempt = async || match limiter.check("ada", 1) {
    ///         answer if answer.is_allowed() => Ok(answer),
    ///         answer => Err(RetryAfter::from(answer.verdict)),
    ///     };
    ///     let backoff = Backoff::new(BackoffConfig::default());
    ///     backoff.retry(limiter.clock(), &mut draws, attempt).await?;
    /// }
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    #[cfg(feature = "tokio")]
    pub async fn retry<T, C: Clock>(
        mut self,
        clock: &C,
        draws: &mut Draws,
        mut attempt: impl AsyncFnMut() -> Result<T, RetryAfter>,
    ) -> Result<T, GiveUp> {
        loop {
            match attempt().await {
                Ok(done) => return Ok(done),
                Err(told) => {
                    let wait = self.refused(told, clock.now(), draws.draw())?;
                    clock.sleep(wait).await;
                }
            }
        }
    }
}

/// Why a request that was refused is not sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// It can never pass.
    Never,
    /// It was sent as often as it may be.
    Tries {
        /// How often.
        tries: u32,
    },
    /// It could pass only when the time for it is over.
    Time {
        /// What the last refusal said; zero where it said nothing.
        retry_after: Duration,
    },
}

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str(
                "refused for good: the cost is more than a policy can ever hold; ask for less at once",
            ),
            Self::Tries { tries } => write!(
                f,
                "refused {tries} times; come back later, or raise `BackoffConfig::tries_max`"
            ),
            Self::Time { retry_after } => write!(
                f,
                "refused for another {retry_after:?}, longer than there is time for; come back then, or raise \
                 `BackoffConfig::time_max`"
            ),
        }
    }
}

impl std::error::Error for GiveUp {}

/// Random bits, enough to spread callers out; not for secrets. The same seed gives the same bits.
#[derive(Clone, Debug)]
pub struct Draws(Dice);

impl Draws {
    /// Bits that follow from a seed.
    pub const fn seeded(seed: u64) -> Self {
        Self(Dice::new(seed))
    }

    /// Bits that differ in every process, by a seed from the machine.
    pub fn from_machine() -> Result<Self, LimiterError> {
        Ok(Self::seeded(u64::from_le_bytes(random()?)))
    }

    /// The next 64 bits (splitmix64).
    pub const fn draw(&mut self) -> u64 {
        self.0.roll()
    }
}

/// The part of a span, from nothing to all of it, that random bits choose.
fn part_of(span: Duration, bits: u64) -> Duration {
    let most = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let values = u128::from(most) + 1;
    let part = (u128::from(bits) * values) >> u64::BITS;
    Duration::from_nanos(u64::try_from(part).unwrap_or(most))
}
