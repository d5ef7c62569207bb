//! Requests to an engine, and their rate.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use tollgate_contract::Contracts;
use tollgate_kit::Dice;
use tollgate_limit::{Cost, Lot};
use tollgate_store::{Book, Engine, Name, StoreRequest, Verb};

/// Only a hang takes this long.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) const ONE: [&str; 1] = ["name: second, limit: 1000000, per: 1s"];
pub(crate) const FIVE: [&str; 5] = [
    "name: second, limit: 1000000, per: 1s",
    "name: minute, limit: 10000000, per: 1m, algorithm: sliding-weighted",
    "name: hour, limit: 100000000, per: 1h, algorithm: fixed-window",
    "name: day, limit: 100000000, per: 1d",
    "name: month, limit: 1000000000, per: month, algorithm: fixed-window",
];

/// The contract of these policies, in the format of a contract file.
pub(crate) fn book(policies: &[&str]) -> Result<Arc<Book>> {
    let policies: Vec<String> = policies
        .iter()
        .map(|line| format!("      - {{ {line} }}\n"))
        .collect();
    let policies = policies.concat();
    // Other policies get other keys.
    let mut hasher = DefaultHasher::new();
    policies.hash(&mut hasher);
    let id = hasher.finish();
    let file =
        format!("contracts:\n  - id: bench{id:x}\n    key: [user]\n    policies:\n{policies}");
    let contracts = Contracts::parse(&file).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let contract = contracts.get(0).context("one contract")?;
    Ok(Arc::new(Book::of(contract)?))
}

/// Callers, keys and batches.
#[derive(Clone, Copy)]
pub(crate) struct StoreLoad {
    pub(crate) callers: u64,
    pub(crate) keys: u64,
    /// Keys in one call.
    pub(crate) batch: u64,
}

/// Decisions per second of all callers together, during `time`.
pub(crate) async fn rate<E: Engine>(
    engine: &Arc<E>,
    book: &Arc<Book>,
    load: StoreLoad,
    time: Duration,
) -> Result<f64> {
    let (stop, done) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let callers: Vec<_> = (0..load.callers)
        .map(|caller| {
            let (engine, book) = (Arc::clone(engine), Arc::clone(book));
            let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
            tokio::spawn(async move {
                let mut dice = Dice::new(caller);
                while !stop.load(Ordering::Relaxed) {
                    let asks = (0..load.batch).map(|_| ask(&book, dice.below(load.keys)));
                    for said in engine.ask(asks.collect(), PATIENCE).await {
                        if let Err(failure) = said {
                            bail!("{failure}");
                        }
                    }
                    done.fetch_add(load.batch, Ordering::Relaxed);
                }
                Ok(())
            })
        })
        .collect();
    let start = Instant::now();
    tokio::time::sleep(time).await;
    let (count, elapsed) = (done.load(Ordering::Relaxed), start.elapsed());
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await??;
    }
    #[allow(clippy::cast_precision_loss)] // a rate to print
    Ok(count as f64 / elapsed.as_secs_f64())
}

fn ask(book: &Arc<Book>, name: u64) -> StoreRequest {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    StoreRequest {
        book: Arc::clone(book),
        name: Name(u128::from(name)),
        verb: Verb::Check {
            cost: Cost::ONE,
            lot: Lot::ALWAYS,
        },
        now: tollgate_limit::Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(0)),
    }
}

pub(crate) fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}
