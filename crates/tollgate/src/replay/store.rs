//! A trace decided by a store, at the trace's own times.
//!
//! Every contract is asked of the store, whatever its coordination. Keys are named anew in every run, so that one does not
//! go on where another ended; what is left in the store expires. Not here: falling back. A store that does not answer ends
//! the replay.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Answer, Key, Node, Scope};
use tollgate_serve::engine::{Elsewhere, Question, Said, Verb};
use tollgate_serve::owner::Owner;
use tollgate_serve::settings::{StoreSettings, StoreUrl};
use tollgate_serve::store::{Connected, connect};

use crate::failure::Failure;

/// A store that decides.
pub(super) struct Stored {
    owner: Owner,
    runtime: Runtime,
    url: StoreUrl,
    _connected: Connected,
}

impl Stored {
    pub(super) fn open(url: &StoreUrl) -> Result<Self, Failure> {
        let mut settings = StoreSettings::new(url.clone());
        settings.deadline = DEADLINE;
        let connected = connect(&settings).map_err(|error| Failure::usage(error.to_string()))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            owner: Owner::of_store(Arc::clone(&connected.store)),
            runtime: runtime.map_err(Failure::output)?,
            url: url.clone(),
            _connected: connected,
        })
    }

    /// Decides one request.
    pub(super) fn check(
        &self,
        node: &Arc<Node>,
        key: Key<'_>,
        (cost, now): (Cost, Instant),
    ) -> Result<Answer, Failure> {
        let spots = node.within(Scope::All).map(|within| within.spots(key));
        let Some(spots) = spots.ok().filter(|spots| !spots.is_empty()) else {
            return Ok(Answer::unbound());
        };
        let question = Question {
            verb: Verb::Check,
            spots,
            cost,
        };
        let heard = self.owner.ask(node, vec![question], now);
        let heard = self.runtime.block_on(heard).into_iter().next();
        match heard.map(|heard| (heard.said, heard.fell_back)) {
            Some((Some(Said::Answer(answer)), None)) => Ok(answer),
            _ => Err(Failure::unavailable(format!(
                "error: {} did not answer within {} s; is it there, and does it let us in?",
                self.url,
                DEADLINE.as_secs()
            ))),
        }
    }
}

const DEADLINE: Duration = Duration::from_secs(10);
