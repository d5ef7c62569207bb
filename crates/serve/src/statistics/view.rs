//! Reads of request statistics: usage, series, ranks, load, last requests, and simulated changes.
//!
//! Not here: listeners. Callers may be on any runtime; the database is queried on that of statistics.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tollgate_contract::Contracts;
use tollgate_node::{Key, Scope};
use tollgate_stats::{
    By, Counts, LoadOf, NodeLoad, Point, Ranking, Recorded, Step, TopRow, Tried, Usage, UsagePage,
    UsageRow, try_change,
};
use tollgate_stats_sql::{Cursor, Error, UsageBook};

use super::Statistics;
use crate::engine::Engine;

#[derive(Clone)]
pub struct StatisticsReader {
    statistics: Arc<Statistics>,
    book: Option<UsageBook>,
    runtime: Handle,
    node: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// Statistics are kept nowhere: there is no database.
    NotKept,
    Database(Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotKept => f.write_str("statistics are not kept, as there is no database"),
            Self::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl StatisticsReader {
    pub(super) fn new(
        statistics: Arc<Statistics>,
        book: Option<UsageBook>,
        runtime: Handle,
        node: String,
    ) -> Self {
        Self {
            statistics,
            book,
            runtime,
            node,
        }
    }

    /// Has everything counted on this node until now written, and waits for it, a second at most.
    pub async fn catch_up(&self, engine: &Engine) {
        let now = engine.now().as_nanos();
        let Statistics {
            figures, wanted, ..
        } = &*self.statistics;
        wanted.notify_one();
        let written = async {
            while self.book.is_some() && figures.written_until() < now {
                sleep(CATCH_UP_EVERY).await;
            }
        };
        // On a timeout the reader gets what is written; the lag shows the rest.
        let _ = timeout(CATCH_UP_WITHIN, written).await;
    }

    /// Usage of identities, by day, contract and identity, after the end of the previous page.
    pub async fn usage(
        &self,
        asked: Usage,
        after: Option<Cursor>,
        rows_max: usize,
    ) -> Result<UsagePage, ReadError> {
        self.ask(|book| async move { book.usage(&asked, after, rows_max).await })
            .await
    }

    /// The counts from `from_s` until `until_s` in steps: for an identity of a contract, for a contract if the identity
    /// is empty, or for all if both are.
    pub async fn series(
        &self,
        contract: String,
        identity: String,
        range_s: Range<u64>,
        step: Step,
    ) -> Result<Vec<Point>, ReadError> {
        self.ask(|book| async move { book.series(&contract, &identity, range_s, step).await })
            .await
    }

    /// The counts of contracts from `from_s` until `until_s`, in whole minutes or hours.
    pub async fn tallies(
        &self,
        contracts: Vec<String>,
        range_s: Range<u64>,
        step: Step,
    ) -> Result<Vec<(String, Counts)>, ReadError> {
        self.ask(|book| async move { book.tallies(&contracts, range_s, step).await })
            .await
    }

    /// The top identities in the last `window_s` seconds, at most a week; of all contracts if none is named.
    pub async fn top(
        &self,
        ranking: Ranking,
        window_s: u64,
        now_s: u64,
    ) -> Result<Vec<TopRow>, ReadError> {
        let from_s = now_s.saturating_sub(window_s);
        self.ask(|book| async move { book.top(&ranking, from_s, now_s).await })
            .await
    }

    /// Total usage, in hours or days.
    pub async fn usage_sums(&self, asked: Usage, step: Step) -> Result<Vec<Point>, ReadError> {
        self.ask(|book| async move { book.usage_sums(&asked, step).await })
            .await
    }

    /// The first rows of usage by an order other than that of days.
    pub async fn usage_first(
        &self,
        asked: Usage,
        by: By,
        rows_max: usize,
    ) -> Result<Vec<UsageRow>, ReadError> {
        self.ask(|book| async move { book.usage_first(&asked, by, rows_max).await })
            .await
    }

    /// The load of this node, and that of others in the last whole minute.
    pub async fn load(&self, engine: &Engine) -> NodeLoad {
        let mut load = self.load_here(engine);
        let minute = (load.at_ms / 60_000).saturating_sub(1);
        let others = self.ask(|book| async move { book.load_in(minute).await });
        // This node's load must not wait for what the database knows of others.
        if let Ok(Ok(others)) = timeout(OTHERS_WITHIN, others).await {
            let others = others.into_iter().filter(|of| of.node != self.node);
            load.contracts.extend(others);
        }
        load
    }

    /// The load of this node, over the last ten seconds.
    pub fn load_here(&self, engine: &Engine) -> NodeLoad {
        let pace = self.statistics.ledger.lock().pace(LOAD_OVER_MS);
        let mut all = Counts::ZERO;
        let mut over_ms = 0;
        let mut contracts = Vec::with_capacity(pace.len());
        for (contract, pace) in pace {
            all.add(&pace.counts);
            over_ms = pace.over_ms;
            let mut of = LoadOf::of(&self.node, &contract, &pace.counts, pace.over_ms);
            if let Some(used) = used(engine, &contract) {
                of.saturation = used;
            }
            contracts.push(of);
        }
        NodeLoad {
            node: self.node.clone(),
            at_ms: engine.now().as_nanos() / 1_000_000,
            all: LoadOf::of(&self.node, "", &all, over_ms),
            contracts,
        }
    }

    /// The last requests for a contract that have an entry, as `user=42`; newest first, limited.
    pub fn recent(
        &self,
        contract: Option<&str>,
        entry: Option<&str>,
        rows_max: usize,
    ) -> Vec<Recorded> {
        self.statistics
            .kept
            .lock()
            .recent(contract, entry, rows_max)
    }

    /// Requests since a time, of as many keys as were recorded all the time.
    pub fn trace(&self, since_ms: u64) -> Vec<Recorded> {
        self.statistics.kept.lock().trace(since_ms)
    }

    /// Simulates a change of contracts on the requests since a time.
    pub async fn try_change(&self, before: Contracts, after: Contracts, since_ms: u64) -> Tried {
        let trace = self.trace(since_ms);
        self.try_on(before, after, trace).await
    }

    /// Simulates a change of contracts on requests, in the order of time.
    pub async fn try_on(&self, before: Contracts, after: Contracts, trace: Vec<Recorded>) -> Tried {
        let run = move || try_change(&before, &after, &trace);
        self.runtime.spawn_blocking(run).await.unwrap_or_default()
    }

    async fn ask<T, F>(&self, ask: impl FnOnce(UsageBook) -> F) -> Result<T, ReadError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let book = self.book.clone().ok_or(ReadError::NotKept)?;
        let asked = self.runtime.spawn(ask(book)).await;
        let gone = |_| Error::Away("the server stops".to_owned());
        asked.map_err(gone).flatten().map_err(ReadError::Database)
    }
}

/// The used share of the tightest policy of a contract that counts all requests together.
#[allow(clippy::cast_precision_loss)] // A share for balancers.
fn used(engine: &Engine, contract: &str) -> Option<f64> {
    let node = engine.node();
    let counts_all = node.contracts().as_slice().iter();
    let mut counts_all = counts_all.filter(|of| of.id == contract && of.key.is_empty());
    counts_all.next()?;
    let within = node.within(Scope::Contract(contract)).ok()?;
    let status = within.status(Key::Text(b""), engine.now());
    let each = status.each.iter().flat_map(|(_, statuses)| statuses);
    let used = each.filter(|status| status.limit > 0).map(|status| {
        let left = status.remaining.min(status.limit);
        (status.limit - left) as f64 / status.limit as f64
    });
    used.reduce(f64::max)
}

const LOAD_OVER_MS: u64 = 10_000;
const OTHERS_WITHIN: Duration = Duration::from_millis(500);
const CATCH_UP_WITHIN: Duration = Duration::from_secs(1);
const CATCH_UP_EVERY: Duration = Duration::from_millis(10);
