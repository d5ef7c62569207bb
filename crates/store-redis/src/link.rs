//! Connections: made in the background, used by many at once, dropped when of no more use.
//!
//! An ask never waits for a connection to be made: where there is none, that is its answer. Not here: what is sent.

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
/// The waits between attempts: the first, and the longest.
const WAIT_MIN: Duration = Duration::from_millis(20);
const WAIT_MAX: Duration = Duration::from_secs(2);
/// A connection on which asks ran out of time and nothing came back for so long is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// A connection, once made.
#[derive(Clone)]
pub(crate) enum RedisConnection {
    /// To one server.
    Server(MultiplexedConnection),
    /// To all servers of a Cluster; it looks after its own.
    Cluster(ClusterConnection),
}

/// One connection that is made again whenever it is lost.
pub(crate) struct RedisLink {
    current: ArcSwapOption<RedisConnection>,
    /// Why there is none.
    why: Mutex<Failure>,
    wanted: Notify,
    is_over: AtomicBool,
    /// Whether the first attempt to connect is over.
    is_tried: AtomicBool,
    start: Instant,
    /// When something came back last, in milliseconds since the start.
    heard_ms: AtomicU64,
    dials: AtomicU64,
}

impl RedisLink {
    /// Begins to connect.
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

    /// Ends the background task.
    pub(crate) fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        self.current.store(None);
        self.wanted.notify_one();
    }

    /// Whether there is a connection.
    pub(crate) fn is_up(&self) -> bool {
        self.current.load().is_some()
    }

    /// Whether the first attempt to connect is over.
    pub(crate) fn is_tried(&self) -> bool {
        self.is_tried.load(Ordering::Acquire)
    }

    /// How often a connection was made or tried to be.
    pub(crate) fn dials(&self) -> u64 {
        self.dials.load(Ordering::Relaxed)
    }

    /// Sends one command and waits for its answer, however long that takes.
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

    /// An ask ran out of time: a connection that has been silent for long is made anew.
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

    /// What it leads to is not what is wanted: somebody else is the primary by now.
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

/// Why a command has no answer.
pub(crate) enum Error {
    /// There is no connection.
    Down(Failure),
    /// Redis, or the way to it, says no.
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

/// Connects whenever there is no connection.
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

/// Between half and the whole of a wait, so that many nodes do not come back at once.
fn jittered(wait: Duration) -> Duration {
    let half = wait / 2;
    let chance = getrandom::u32().unwrap_or(u32::MAX);
    half + half.mul_f64(f64::from(chance) / f64::from(u32::MAX))
}
