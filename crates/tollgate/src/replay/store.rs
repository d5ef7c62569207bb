//! A trace decided by a store, at the trace's own times.
//!
//! Every contract uses the store, regardless of its coordination. Key names differ in every run, so that no run
//! continues another; what is left in the store expires. Not here: falling back. A store that does not answer ends the
//! replay.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate_limit::{Cost, Instant, Lot};
use tollgate_node::{Answer, Key, Node, Scope, Spot, Spots};
use tollgate_serve::engine::{Elsewhere, Question, RemoteAnswer, Verb};
use tollgate_serve::owner::Owner;
use tollgate_serve::settings::{StoreSettings, StoreUrl};
use tollgate_serve::store::{Connected, connect};
use tollgate_table::Print;

use crate::failure::Failure;

pub(super) struct ReplayStore {
    owner: Owner,
    runtime: Runtime,
    url: StoreUrl,
    _connected: Connected,
}

impl ReplayStore {
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

    pub(super) fn check(
        &self,
        node: &Arc<Node>,
        key: Key<'_>,
        cost: Cost,
        now: Instant,
    ) -> Result<Answer, Failure> {
        let spots = node.within(Scope::All).map(|within| within.spots(key));
        let Some(spots) = spots.ok().filter(|spots| !spots.is_empty()) else {
            return Ok(Answer::unbound());
        };
        match self.ask(node, asked(Verb::Check, spots, cost), now) {
            Some(RemoteAnswer::Answer(answer)) => Ok(answer),
            _ => Err(self.silent()),
        }
    }

    /// Waits until the store answers, by peeking at an unused key.
    pub(super) fn wait(&self, node: &Arc<Node>) -> Result<(), Failure> {
        let spot = Spot {
            contract: 0,
            print: Print(0),
            lot: Lot::ALWAYS,
        };
        let look = || asked(Verb::Status, Spots::from_slice(&[spot]), Cost::PEEK);
        let is_empty = node.contracts().as_slice().is_empty();
        let began = std::time::Instant::now();
        while !is_empty && self.ask(node, look(), Instant::default()).is_none() {
            if began.elapsed() > DEADLINE {
                return Err(self.silent());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn ask(&self, node: &Arc<Node>, question: Question, now: Instant) -> Option<RemoteAnswer> {
        let heard = self.owner.ask(node, vec![question], now);
        let heard = self.runtime.block_on(heard).into_iter().next()?;
        heard.said.filter(|_| heard.fell_back.is_none())
    }

    fn silent(&self) -> Failure {
        let (url, seconds) = (&self.url, DEADLINE.as_secs());
        Failure::unavailable(format!(
            "error: {url} did not answer within {seconds} s; is it there, and does it let us in?"
        ))
    }
}

fn asked(verb: Verb, spots: Spots, cost: Cost) -> Question {
    Question {
        verb,
        spots,
        cost,
        names: Vec::new(),
    }
}

const DEADLINE: Duration = Duration::from_secs(10);
