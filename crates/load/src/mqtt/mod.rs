//! Load for MQTT brokers: publishers by the thousand, and subscribers that measure arrivals.
//!
//! A [`MqttPlan`] says who publishes what where; [`run_mqtt`] does it and returns a [`MqttReport`]. First all connect,
//! then all publish. In an open loop times are fixed beforehand and latency counts from them to the arrival at a
//! subscriber; in a closed one every publisher keeps a number of messages under way. Deliberately not here: TLS,
//! sessions that outlive a connection, printing.

mod agenda;
mod clock;
mod link;
mod plan;
mod publisher;
mod record;
mod report;
mod say;
mod stamp;
mod subscriber;
mod tally;
#[cfg(test)]
mod tests;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_mqtt::{Qos, Version};

use crate::address::{Resolved, ServerAddress};
use clock::RunShared;
pub use plan::{
    Assign, Groups, Login, Messages, MqttPace, MqttPlan, SIZE_MIN, SubscriberPlan, Timing,
    TopicError, TopicTemplate,
};
use record::PublisherRecord;
pub use report::{MessageCounts, MqttReport, TargetReport};
pub use say::MqttError;
use subscriber::Subscribers;
use tally::ArrivalTally;
use worker::{PublishWorker, PublisherShare};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MqttProgress {
    pub phase: MqttPhase,
    /// Open connections of publishers and silent clients.
    pub connected: u64,
    /// Messages sent since the last report.
    pub sent: u64,
    /// Messages arrived since then.
    pub arrived: u64,
    /// Connections lost since the start.
    pub errors: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MqttPhase {
    Connecting,
    /// Time since publishing began; nothing is recorded yet.
    WarmUp(Duration),
    /// Time since publishing began.
    Measuring(Duration),
    /// Nothing more is sent; what is under way is awaited.
    Draining,
}

/// Runs a plan to its end. `progress` is called once a second.
pub fn run_mqtt(
    plan: &MqttPlan,
    progress: impl FnMut(MqttProgress),
) -> Result<MqttReport, MqttError> {
    judge(plan)?;
    let targets: Arc<[SocketAddr]> = plan
        .targets
        .iter()
        .map(resolved)
        .collect::<Result<_, _>>()?;
    let watched: Vec<SocketAddr> = plan
        .watch
        .at
        .iter()
        .map(resolved)
        .collect::<Result<_, _>>()?;
    let plan = Arc::new(plan.clone());
    let shared = Arc::new(RunShared::new(plan.timing, run_number()));
    let groups = plan.publishers.div_ceil(plan.groups.size.max(1));
    let most = groups.max(plan.idle).max(1);
    let threads = u32::try_from(plan.threads)
        .unwrap_or(u32::MAX)
        .clamp(1, most);
    let mut workers = Vec::new();
    for at in 0..threads {
        let share = PublisherShare {
            at,
            of: threads,
            targets: Arc::clone(&targets),
        };
        let worker = PublishWorker::new(&plan, share, &shared)?;
        workers.push(spawn(format!("mqtt-{at}"), &shared, || worker.run())?);
    }
    let subscribers = if watched.is_empty() {
        None
    } else {
        let subscribers = Subscribers::new(&plan, &shared, &watched)?;
        let work = || subscribers.run();
        Some(spawn("mqtt-subscriber".to_owned(), &shared, work)?)
    };
    let all = workers.len() + usize::from(subscribers.is_some());
    watch(&shared, workers.len(), all, !watched.is_empty(), progress);
    // Clients that are disconnecting still count.
    let connected = shared.told.connected.load(Ordering::Relaxed);
    shared.stop();
    let (record, tally) = gather(workers, subscribers, targets.len())?;
    Ok(MqttReport::new(&plan, record, tally, connected))
}

/// Rejects plans that cannot measure what they claim, before the run starts.
fn judge(plan: &MqttPlan) -> Result<(), MqttError> {
    let fail = |text: &str| Err(MqttError::Plan(text.to_owned()));
    if plan.targets.is_empty() {
        return fail("there is no target: name a broker with --target host:port");
    }
    if plan.publishers == 0 && plan.idle == 0 {
        return fail("there is nobody to connect: give --publishers or --idle");
    }
    if plan.messages.size < SIZE_MIN {
        return fail("a payload has at least 32 bytes: who sent it, which it is, and when");
    }
    if plan.pace == MqttPace::Closed && plan.messages.qos == Qos::AtMostOnce {
        return fail(
            "QoS 0 is not acknowledged, so that nothing says when to send the next: give --qos 1 or 2, or a --rate",
        );
    }
    if plan.messages.group_property.is_some() && plan.login.version == Version::V311 {
        return fail("MQTT 3.1.1 has no user properties: give --version 5");
    }
    Ok(())
}

fn resolved(address: &ServerAddress) -> Result<SocketAddr, MqttError> {
    let found = address.resolve().map_err(|error| MqttError::Connect {
        address: address.to_string(),
        error: error.to_string(),
    })?;
    match found {
        Resolved::Tcp(found) => Ok(found),
        Resolved::Unix(_) => Err(MqttError::Plan(format!(
            "{address}: brokers are reached by TCP; write host:port"
        ))),
    }
}

/// Differs between two runs at one broker.
fn run_number() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    let mixed = now ^ (u128::from(std::process::id()) << 13);
    u32::try_from(mixed & u128::from(u32::MAX)).unwrap_or(0)
}

/// A thread that stops the others when it fails.
fn spawn<T: Send + 'static>(
    name: String,
    shared: &Arc<RunShared>,
    work: impl FnOnce() -> Result<T, MqttError> + Send + 'static,
) -> Result<JoinHandle<Result<T, MqttError>>, MqttError> {
    let stopped = Arc::clone(shared);
    let work = move || {
        let done = work();
        if done.is_err() {
            stopped.stop();
        }
        done
    };
    let spawned = thread::Builder::new().name(name).spawn(work);
    if spawned.is_err() {
        shared.stop();
    }
    Ok(spawned?)
}

/// Starts the run when all are connected, reports progress, and returns at the end.
fn watch(
    shared: &RunShared,
    workers: usize,
    all: usize,
    is_watched: bool,
    mut progress: impl FnMut(MqttProgress),
) {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let told = &shared.told;
    let (mut before, mut next) = ((0, 0), NS_PER_S);
    while !shared.is_over() {
        thread::sleep(WATCH_EVERY);
        let now = shared.now();
        if shared.span().is_none() && shared.ready.load(Ordering::Acquire) == all {
            shared.start();
        }
        if let Some(span) = shared.span() {
            let is_sent = shared.done.load(Ordering::Acquire) == workers;
            let expected = read(&told.sent).saturating_sub(read(&told.refused));
            let is_there = !is_watched || read(&told.arrived) >= expected;
            if now >= span.give_up || (is_sent && is_there) {
                return;
            }
        }
        if now >= next {
            next += NS_PER_S;
            let (sent, arrived) = (read(&told.sent), read(&told.arrived));
            progress(MqttProgress {
                phase: phase(shared, now),
                connected: read(&told.connected),
                sent: sent - before.0,
                arrived: arrived - before.1,
                errors: read(&told.errors),
            });
            before = (sent, arrived);
        }
    }
}

fn phase(shared: &RunShared, now: u64) -> MqttPhase {
    let Some(span) = shared.span() else {
        return MqttPhase::Connecting;
    };
    let since = Duration::from_nanos(now.saturating_sub(span.begin));
    match now {
        now if now < span.from => MqttPhase::WarmUp(since),
        now if now < span.to => MqttPhase::Measuring(since),
        _ => MqttPhase::Draining,
    }
}

type Thread<T> = JoinHandle<Result<T, MqttError>>;

/// The results of all threads, or the first error.
fn gather(
    workers: Vec<Thread<PublisherRecord>>,
    subscribers: Option<Thread<(ArrivalTally, PublisherRecord)>>,
    targets: usize,
) -> Result<(PublisherRecord, Option<ArrivalTally>), MqttError> {
    let panicked = || MqttError::System("a thread of the generator panicked".to_owned());
    let workers: Vec<_> = workers.into_iter().map(JoinHandle::join).collect();
    let subscribers = subscribers.map(JoinHandle::join);
    let mut record = PublisherRecord::new(targets);
    for done in workers {
        record.merge(done.unwrap_or_else(|_| Err(panicked()))?);
    }
    let mut tally = None;
    if let Some(done) = subscribers {
        let (seen, errors) = done.unwrap_or_else(|_| Err(panicked()))?;
        record.merge(errors);
        tally = Some(seen);
    }
    Ok((record, tally))
}

const WATCH_EVERY: Duration = Duration::from_millis(5);
const NS_PER_S: u64 = 1_000_000_000;
