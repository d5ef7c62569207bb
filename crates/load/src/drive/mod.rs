//! Runs a plan: threads that each poll their share of the connections.
//!
//! Not here: what the bytes mean.

mod connection;
mod record;
mod timer;
mod worker;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::address::{Resolved, ServerAddress};
use crate::call::{self, Call, CallError, Prepared, Protocol};
use crate::codec::{Http1, Http2, Resp};
use crate::plan::{LoadPlan, Pace};
use crate::report::{Latency, LoadReport};

use record::{CountedSpan, DriveRecord};
pub(crate) use timer::Timer;
use worker::{DriveWorker, ThreadShare};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Time since the start of the run.
    pub elapsed: Duration,
    /// Whether the warm-up is still going on.
    pub warming_up: bool,
    /// Decisions since the last report.
    pub decisions: u64,
    pub errors: u64,
}

/// Why a run could not start.
#[derive(Debug)]
pub enum LoadError {
    /// The server cannot be reached.
    Connect(io::Error),
    /// The call is invalid.
    Call(CallError),
    /// A system call failed.
    System(io::Error),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "the server cannot be reached: {error}"),
            Self::Call(error) => error.fmt(f),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

/// Running counters of the threads.
#[derive(Default)]
pub(crate) struct DriveProgress {
    pub(crate) decisions: AtomicU64,
    pub(crate) errors: AtomicU64,
}

/// Resolves a server's address, and checks that it is reachable before threads start.
fn reached(server: &ServerAddress) -> Result<Resolved, LoadError> {
    let server = server.resolve().map_err(LoadError::Connect)?;
    drop(server.dial(DIAL_PATIENCE).map_err(LoadError::Connect)?);
    Ok(server)
}

/// Runs a plan to its end. `progress` is called once a second.
pub fn run(plan: &LoadPlan, mut progress: impl FnMut(Progress)) -> Result<LoadReport, LoadError> {
    let server = reached(&plan.server)?;
    let others = plan.others.iter().map(reached);
    let servers: Arc<[Resolved]> = std::iter::once(Ok(server.clone()))
        .chain(others)
        .collect::<Result<_, _>>()?;
    let sha = match plan.call {
        Call::Lua(_) => {
            Some(call::load_script(&server, plan.token.as_deref()).map_err(LoadError::Call)?)
        }
        _ => None,
    };
    let prepared = call::prepare(plan, sha.as_deref()).map_err(LoadError::Call)?;
    let told = Arc::new(DriveProgress::default());
    let span = CountedSpan::new(plan);
    let threads = plan.threads.clamp(1, plan.connections.max(1));
    let start = Instant::now();
    let mut handles = Vec::new();
    for at in 0..threads {
        let share = ThreadShare {
            servers: Arc::clone(&servers),
            at,
            of: threads,
            start,
            span,
        };
        let (plan, prepared, told) = (plan.clone(), prepared.clone(), Arc::clone(&told));
        let work = move || work(&plan, prepared, share, &told);
        let builder = thread::Builder::new().name(format!("load-{at}"));
        handles.push(builder.spawn(work).map_err(LoadError::System)?);
    }
    watch(&handles, plan, start, &told, &mut progress);
    let mut record = DriveRecord::new(plan);
    for handle in handles {
        let done = handle.join();
        let done = done.unwrap_or_else(|_| Err(io::Error::other("a load thread panicked")));
        record.merge(done.map_err(LoadError::System)?);
    }
    Ok(report(plan, record))
}

/// One thread's part, by protocol.
fn work(
    plan: &LoadPlan,
    prepared: Prepared,
    share: ThreadShare,
    told: &DriveProgress,
) -> io::Result<DriveRecord> {
    let Prepared {
        protocol,
        template,
        judge,
    } = prepared;
    match protocol {
        Protocol::Resp { greeting, replies } => DriveWorker::new(plan, share, || {
            Resp::new(template.clone(), judge, (greeting.clone(), replies))
        })?
        .run(told),
        Protocol::Http1 => {
            DriveWorker::new(plan, share, || Http1::new(template.clone(), judge))?.run(told)
        }
        Protocol::Http2 { fields } => {
            DriveWorker::new(plan, share, || Http2::new(template.clone(), judge, &fields))?
                .run(told)
        }
    }
}

/// Reports progress until all threads are done.
fn watch<T>(
    handles: &[thread::JoinHandle<T>],
    plan: &LoadPlan,
    start: Instant,
    told: &DriveProgress,
    progress: &mut impl FnMut(Progress),
) {
    let (mut before, mut next) = (0, Duration::from_secs(1));
    while handles.iter().any(|handle| !handle.is_finished()) {
        thread::sleep(WATCH_EVERY);
        let elapsed = start.elapsed();
        if elapsed < next {
            continue;
        }
        next += Duration::from_secs(1);
        let decisions = told.decisions.load(Ordering::Relaxed);
        progress(Progress {
            elapsed,
            warming_up: elapsed < plan.warm_up,
            decisions: decisions - before,
            errors: told.errors.load(Ordering::Relaxed),
        });
        before = decisions;
    }
}

fn report(plan: &LoadPlan, record: DriveRecord) -> LoadReport {
    LoadReport {
        seconds: plan.duration.as_secs_f64(),
        replies: record.replies,
        decisions: record.allowed + record.denied,
        allowed: record.allowed,
        denied: record.denied,
        whole: record.whole,
        rate_due: match plan.pace {
            Pace::Closed => None,
            Pace::Open { rate, .. } => Some(rate),
        },
        latency: Latency::of(&record.latency),
        service: Latency::of(&record.service),
        parts: record
            .parts
            .iter()
            .map(|(_, part)| Latency::of(part))
            .collect(),
        errors: record.errors.into_list(),
    }
}

pub(crate) const DIAL_PATIENCE: Duration = Duration::from_secs(3);
const WATCH_EVERY: Duration = Duration::from_millis(20);
