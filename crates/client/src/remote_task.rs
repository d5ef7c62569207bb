//! Waiting in tasks until nodes let a request pass.
//!
//! Not here: leases and nodes (`remote`), when to come back (`backoff`).

use std::sync::Arc;

use tollgate_node::Key;

use crate::backoff::{Backoff, BackoffConfig, Draws, GiveUp};
use crate::remote::{Client, Outcome};
use crate::retry_after::RetryAfter;
use tollgate_clock::{Clock, SystemClock};

impl Client {
    /// Waits until this key may spend `cost`, and comes back after refusals as `config` says; for tasks.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::Arc;
    /// use tollgate_client::{BackoffConfig, Client, ClientConfig};
    ///
    /// let client = Arc::new(Client::connect(ClientConfig::new(["127.0.0.1:6380"]))?);
    /// client.until_ready("crawler", 1, BackoffConfig::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn until_ready<'k>(
        self: &Arc<Self>,
        key: impl Into<Key<'k>>,
        cost: u64,
        config: BackoffConfig,
    ) -> impl Future<Output = Result<Outcome, GiveUp>> + Send {
        let key = key.into();
        async move {
            let clock = SystemClock::new();
            let seed = || Draws::seeded(clock.now().as_nanos());
            let mut draws = Draws::from_machine().unwrap_or_else(|_| seed());
            let mut backoff = Backoff::new(config);
            loop {
                let outcome = self.check_in_task(key, cost).await;
                if outcome.is_allowed {
                    clock.sleep(outcome.wait.into()).await;
                    return Ok(outcome);
                }
                let told = outcome.retry_after;
                let told = told.map_or(RetryAfter::Unknown, |span| RetryAfter::After(span.into()));
                let wait = backoff.refused(told, clock.now(), draws.draw())?;
                clock.sleep(wait).await;
            }
        }
    }
}
