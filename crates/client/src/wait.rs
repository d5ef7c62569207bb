//! Waiting for a turn: bounded in time and in number, and safe to cancel.
//!
//! Not here: an order among those who wait. Whoever asks first after tokens came back gets them; a policy that delays
//! (a leaky bucket, or a token bucket with `OnLimit::Delay`) hands out turns in the order of asking.

use std::fmt;
use std::time::Duration;

use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_node::{Answer, Key};

use crate::limiter::{Limiter, cost_of};
use crate::turns::{WaiterSlot, WaitingRequest};
use tollgate_clock::Clock;

/// How long a caller is willing to wait, and among how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitLimits {
    /// The longest wait, all tries together.
    pub wait_max: Duration,
    /// The most that may wait for the limiter at once, this caller among them.
    pub waiters_max: usize,
    /// How much longer than necessary a denied request sleeps at most, in percent from 0 to 100, so that those who
    /// were denied together do not come back together. More counts as 100.
    pub jitter_percent: u8,
}

impl Default for WaitLimits {
    /// A minute, among 10 000, with up to a tenth of jitter.
    fn default() -> Self {
        Self {
            wait_max: Duration::from_mins(1),
            waiters_max: 10_000,
            jitter_percent: 10,
        }
    }
}

/// Why a request did not get its turn. It has charged nothing, except to policies that count refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The cost is more than a policy can ever hold.
    Never,
    /// The turn would come later than the caller is willing to wait for.
    TooLong {
        /// When the same request could pass.
        retry_after: Duration,
    },
    /// As many as may are waiting.
    TooManyWaiting,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("the cost is more than a policy can ever hold"),
            Self::TooLong { retry_after } => {
                write!(
                    f,
                    "the turn would come in {retry_after:?}, later than the wait allowed"
                )
            }
            Self::TooManyWaiting => f.write_str("too many are waiting for the limiter"),
        }
    }
}

impl std::error::Error for WaitError {}

impl<C: Clock> Limiter<C> {
    /// Waits until this key may spend `cost`, with the default [`WaitLimits`].
    ///
    /// The answer is the one that let the request pass; where its verdict is a delay, the delay is over. A future
    /// dropped before that has charged nothing, or has given its charge back; whoever was told to wait behind it keeps
    /// the turn it was told.
    ///
    /// ```
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use tollgate_client::{Limiter, Period, PolicyConfig};
    ///
    /// let limiter = Limiter::new([PolicyConfig::token_bucket(100, Period::SECOND)])?;
    /// for page in 0..1_000 {
    ///     limiter.until_ready("crawler", 1).await?;
    ///     // Fetch the page.
    /// #   let _ = page;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "tokio")]
    pub fn until_ready<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> impl Future<Output = Result<Answer, WaitError>> + Send {
        self.until_ready_with(WaitLimits::default(), key, cost)
    }

    /// Waits until this key may spend `cost`, for as long as `patience` allows.
    ///
    /// ```
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use tollgate_client::{FakeClock, Limiter, WaitLimits, Period, PolicyConfig, WaitError};
    ///
    /// let policy = PolicyConfig::token_bucket(1, Period::MINUTE);
    /// let limiter = Limiter::with_clock([policy], FakeClock::default())?;
    /// let patience = WaitLimits { wait_max: Duration::from_secs(5), ..WaitLimits::default() };
    ///
    /// assert!(limiter.until_ready_with(patience, "report", 1).await.is_ok());
    /// let refused = limiter.until_ready_with(patience, "report", 1).await;
    /// assert_eq!(refused, Err(WaitError::TooLong { retry_after: Duration::from_secs(60) }));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    #[cfg(feature = "tokio")]
    pub fn until_ready_with<'k>(
        &self,
        patience: WaitLimits,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> impl Future<Output = Result<Answer, WaitError>> + Send {
        let key = key.into();
        async move {
            let mut wait = Wait::new(self, patience);
            loop {
                match wait.ask(key, cost_of(cost))? {
                    Turn::Now(answer) => return Ok(answer),
                    Turn::Again(span) => self.clock().sleep(span).await,
                    Turn::After(admitted, span) => {
                        self.clock().sleep(span).await;
                        return Ok(admitted.keep());
                    }
                }
            }
        }
    }

    /// Blocks the thread until this key may spend `cost`, with the default [`WaitLimits`].
    ///
    /// ```
    /// use tollgate_client::{Clock, FakeClock, Instant, Limiter, Period, PolicyConfig};
    ///
    /// let policy = PolicyConfig::token_bucket(1, Period::SECOND);
    /// let limiter = Limiter::with_clock([policy], FakeClock::default())?;
    /// limiter.until_ready_blocking("job", 1)?;
    /// limiter.until_ready_blocking("job", 1)?;
    /// assert!(limiter.clock().now() >= Instant::from_nanos(1_000_000_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn until_ready_blocking<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Result<Answer, WaitError> {
        self.until_ready_blocking_with(WaitLimits::default(), key, cost)
    }

    /// Blocks the thread until this key may spend `cost`, for as long as `patience` allows.
    pub fn until_ready_blocking_with<'k>(
        &self,
        patience: WaitLimits,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Result<Answer, WaitError> {
        let key = key.into();
        let mut wait = Wait::new(self, patience);
        loop {
            match wait.ask(key, cost_of(cost))? {
                Turn::Now(answer) => return Ok(answer),
                Turn::Again(span) => self.clock().sleep_blocking(span),
                Turn::After(admitted, span) => {
                    self.clock().sleep_blocking(span);
                    return Ok(admitted.keep());
                }
            }
        }
    }

    /// How many wait for this limiter: in `until_ready` and its kin, and in the layer for the end of a delay.
    pub fn waiting(&self) -> usize {
        self.turns().waiting()
    }
}

/// What a caller who waits is told to do.
enum Turn<'l, C: Clock> {
    /// Go.
    Now(Answer),
    /// Go after this long.
    After(WaitingRequest<&'l Limiter<C>, C>, Duration),
    /// Ask again after this long.
    Again(Duration),
}

/// One caller's wait.
struct Wait<'l, C> {
    limiter: &'l Limiter<C>,
    patience: WaitLimits,
    began: Option<Instant>,
    /// What the caller was told to sleep so far: bounds the wait where the clock stands still.
    slept: Duration,
    place: Option<WaiterSlot>,
}

impl<'l, C: Clock> Wait<'l, C> {
    const fn new(limiter: &'l Limiter<C>, patience: WaitLimits) -> Self {
        Self {
            limiter,
            patience,
            began: None,
            slept: Duration::ZERO,
            place: None,
        }
    }

    fn ask(&mut self, key: Key<'_>, cost: Cost) -> Result<Turn<'l, C>, WaitError> {
        let now = self.limiter.clock().now();
        let answer = self.limiter.node().check(key, cost, now);
        match answer.verdict {
            Verdict::Allow => Ok(Turn::Now(answer)),
            Verdict::Never => Err(WaitError::Never),
            Verdict::Delay { wait } => {
                // From here on every way out but the last gives the charge back.
                let admitted = WaitingRequest::new(self.limiter, answer);
                let span = self.line_up(wait, now)?;
                Ok(Turn::After(admitted, span))
            }
            Verdict::Deny { retry_after } => {
                let left = self.left(now);
                let span = self.line_up(retry_after, now)?.max(SLEEP_MIN);
                let span = span
                    .saturating_add(self.jitter(span))
                    .min(left.max(SLEEP_MIN));
                self.slept = self.slept.saturating_add(span);
                Ok(Turn::Again(span))
            }
        }
    }

    /// Takes a place for a wait of this length, where both are within bounds.
    fn line_up(&mut self, span: Span, now: Instant) -> Result<Duration, WaitError> {
        let span = Duration::from(span);
        if span > self.left(now) {
            return Err(WaitError::TooLong { retry_after: span });
        }
        if self.place.is_none() {
            let place = WaiterSlot::take(self.limiter.turns(), self.patience.waiters_max);
            self.place = Some(place.ok_or(WaitError::TooManyWaiting)?);
        }
        Ok(span)
    }

    fn left(&mut self, now: Instant) -> Duration {
        let began = *self.began.get_or_insert(now);
        let passed = Duration::from_nanos(now.nanos_since(began)).max(self.slept);
        self.patience.wait_max.saturating_sub(passed)
    }

    fn jitter(&self, span: Duration) -> Duration {
        let percent = u128::from(self.patience.jitter_percent.min(100));
        let most = span.as_nanos().saturating_mul(percent) / 100;
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        Duration::from_nanos(self.limiter.turns().draw(most))
    }
}

/// The shortest sleep of a denied request, so that every try takes something off what is left.
const SLEEP_MIN: Duration = Duration::from_nanos(1);
