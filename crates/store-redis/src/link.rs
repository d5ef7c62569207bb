//! Connections: opened in the background, shared by many callers, dropped when broken.
//!
//! A request never waits for a connection: without one it fails at once. Not here: what is sent.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster_async::ClusterConnection;
use redis::{Cmd, RedisError, Value};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tollgate_store::Failure;

use crate::dial::Dialer;
use crate::failure;

/// How long one attempt to connect may take.
const DIAL_TIME: Duration = Duration::from_secs(2);
/// Waits between attempts: the first, and the longest.
const WAIT_MIN: Duration = Duration::from_millis(20);
const WAIT_MAX: Duration = Duration::from_secs(2);
/// A connection on which requests timed out and nothing arrived for so long counts as dead.
const SILENCE_MAX: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(crate) enum RedisConnection {
    Server(MultiplexedConnection),
    /// To all servers of a Cluster; it manages its own.
    Cluster(ClusterConnection),
}

/// One connection that is reopened whenever it is lost.
pub(crate) struct RedisLink {
    current: ArcSwapOption<RedisConnection>,
    /// Why there is none.
    why: Mutex<Failure>,
    wanted: Notify,
    is_over: AtomicBool,
    /// Whether the first attempt to connect is over.
    is_tried: AtomicBool,
    start: Instant,
    /// Time of the last answer, in milliseconds since the start.
    heard_ms: AtomicU64,
    dials: AtomicU64,
}

impl RedisLink {
    pub(crate) fn open(dialer: Arc<Dialer>) -> Arc<Self> {
        let link = Arc::new(Self {
            current: ArcSwapOption::empty(),
            why: Mutex::new(Failure::Unreachable("not connected yet".into())),
            wanted: Notify::new(),
            is_over: AtomicBool::new(false),
            is_tried: AtomicBool::new(false),
            start: Instant::now(),
            heard_ms: AtomicU64::new(0),
            dials: AtomicU64::new(0),
        });
        tokio::spawn(keep(Arc::clone(&link), dialer));
        link
    }

    pub(crate) fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        self.current.store(None);
        self.wanted.notify_one();
    }

    pub(crate) fn is_up(&self) -> bool {
        self.current.load().is_some()
    }

    pub(crate) fn is_tried(&self) -> bool {
        self.is_tried.load(Ordering::Acquire)
    }

    /// Counts attempts to connect.
    pub(crate) fn dials(&self) -> u64 {
        self.dials.load(Ordering::Relaxed)
    }

    /// Sends one command and waits for its answer, without a deadline.
    pub(crate) async fn call(&self, command: &Cmd) -> Result<Value, Error> {
        let Some(connection) = self.current.load_full() else {
            return Err(Error::Down(self.why.lock().clone()));
        };
        let result = match RedisConnection::clone(&connection) {
            RedisConnection::Server(mut to) => to.send_packed_command(command).await,
            RedisConnection::Cluster(mut to) => to.req_packed_command(command).await,
        };
        // Errors of a server come as values.
        match result.and_then(Value::extract_error) {
            Ok(value) => {
                self.heard();
                Ok(value)
            }
            Err(error) => {
                if failure::ends_connection(&error) {
                    self.lose(&connection, failure::of(&error));
                } else {
                    self.heard();
                }
                Err(Error::Redis(error))
            }
        }
    }

    /// Call after a timeout: reopens a connection that has been silent for long.
    pub(crate) fn timed_out(&self) {
        let silence = self
            .now_ms()
            .saturating_sub(self.heard_ms.load(Ordering::Relaxed));
        if u128::from(silence) > SILENCE_MAX.as_millis()
            && let Some(connection) = self.current.load_full()
        {
            self.lose(&connection, Failure::Late);
        }
    }

    /// Reopens the connection: the server is not the primary any more.
    pub(crate) fn renew(&self, why: Failure) {
        if let Some(connection) = self.current.load_full() {
            self.lose(&connection, why);
        }
    }

    fn lose(&self, connection: &Arc<RedisConnection>, why: Failure) {
        let before = self.current.compare_and_swap(connection, None);
        let was_current = before
            .as_ref()
            .is_some_and(|before| Arc::ptr_eq(before, connection));
        if was_current {
            *self.why.lock() = why;
            self.wanted.notify_one();
        }
    }

    fn heard(&self) {
        self.heard_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

pub(crate) enum Error {
    /// There is no connection.
    Down(Failure),
    /// An error of Redis, or of the connection.
    Redis(RedisError),
}

impl Error {
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Down(why) => why.clone(),
            Self::Redis(error) => failure::of(error),
        }
    }
}

async fn keep(link: Arc<RedisLink>, dialer: Arc<Dialer>) {
    let mut wait = WAIT_MIN;
    while !link.is_over.load(Ordering::Acquire) {
        link.dials.fetch_add(1, Ordering::Relaxed);
        match timeout(DIAL_TIME, dialer.dial()).await {
            Ok(Ok(connection)) => {
                wait = WAIT_MIN;
                link.heard();
                link.current.store(Some(Arc::new(connection)));
                link.is_tried.store(true, Ordering::Release);
                link.wanted.notified().await;
            }
            Ok(Err(error)) => *link.why.lock() = failure::of(&error),
            Err(_) => *link.why.lock() = Failure::Late,
        }
        link.is_tried.store(true, Ordering::Release);
        sleep(jittered(wait)).await;
        wait = (wait * 2).min(WAIT_MAX);
    }
}

/// Between half and the whole of a wait, so that nodes do not reconnect in step.
fn jittered(wait: Duration) -> Duration {
    let half = wait / 2;
    let chance = getrandom::u32().unwrap_or(u32::MAX);
    half + half.mul_f64(f64::from(chance) / f64::from(u32::MAX))
}
