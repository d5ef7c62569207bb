//! Asking nodes from tasks: where a lease is at hand at once, else on a thread that may block, so that the tasks beside it go on.
//!
//! Not here: leases and nodes (`remote`), when to come back (`backoff`).

use std::sync::Arc;

use tokio::task::JoinHandle;
use tollgate_node::Key;

use crate::backoff::{Backoff, BackoffConfig, Draws, GiveUp};
use crate::clock::{Clock, SystemClock};
use crate::remote::{Client, Outcome};
use crate::retry_after::RetryAfter;

impl Client {
    /// May this key spend `cost` now? As [`Self::check`], for tasks; it needs a tokio runtime. A future that is dropped while it waits
    /// may have been charged.
    pub fn check_in_task<'k>(
        self: &Arc<Self>,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> impl Future<Output = Outcome> + Send {
        let key = key.into();
        async move {
            if let Some(at_once) = self.check_at_once(key, cost) {
                return at_once;
            }
            let owned = Owned::from(key);
            let waited = self.on_a_thread(move |client| owned.with(|key| client.check(key, cost)));
            // Where the runtime ends nobody is left to wait for.
            waited.await.unwrap_or_else(|_| self.try_check(key, cost))
        }
    }

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
                    return Ok(outcome);
                }
                let told = outcome.retry_after;
                let told = told.map_or(RetryAfter::Unknown, |span| RetryAfter::After(span.into()));
                let wait = backoff.refused(told, clock.now(), draws.draw())?;
                clock.sleep(wait).await;
            }
        }
    }

    /// Asks on a thread that may block; an error where the runtime ends meanwhile.
    pub(crate) fn on_a_thread(
        self: &Arc<Self>,
        ask: impl FnOnce(&Self) -> Outcome + Send + 'static,
    ) -> JoinHandle<Outcome> {
        let client = Arc::clone(self);
        tokio::task::spawn_blocking(move || ask(&client))
    }
}

/// A key that goes to another thread.
enum Owned {
    Word(u64),
    Text(Vec<u8>),
    Entries(Vec<(String, String)>),
}

impl From<Key<'_>> for Owned {
    fn from(key: Key<'_>) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        match key {
            Key::Word(word) => Self::Word(word),
            Key::Text(text) => Self::Text(text.to_vec()),
            Key::Entries(entries) => Self::Entries(entries.iter().map(owned).collect()),
        }
    }
}

impl Owned {
    fn with<R>(&self, run: impl FnOnce(Key<'_>) -> R) -> R {
        match self {
            Self::Word(word) => run(Key::Word(*word)),
            Self::Text(text) => run(Key::Text(text)),
            Self::Entries(entries) => {
                let entries: Vec<(&str, &str)> = entries
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                run(Key::Entries(&entries))
            }
        }
    }
}
