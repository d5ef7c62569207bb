//! Traces for OpenTelemetry, if configured.
//!
//! Spans of requests off the hot path, and of a share of decisions, are sent to a collector by OTLP. A server without a
//! collector pays nothing; one with it never waits for it: spans go into a bounded queue, and those that do not fit or
//! that the collector rejects are counted and dropped. The few messages of OTLP that are needed are encoded here, as
//! the usual crates bring a second HTTP client and a queue of their own. Collectors behind TLS need a local one that
//! forwards. Not here: logs (`logs.rs`), metrics (`meter`).

mod otlp;
mod parent;
mod send;
mod span;

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;
use tollgate_kit::{GOLDEN, scramble};

use crate::logs::Rarely;
use crate::shared::Shared;
use send::Collector;

pub use parent::Parent;
pub use span::TraceSpan;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSettings {
    /// The collector, as in `http://127.0.0.1:4317`.
    pub endpoint: String,
    pub protocol: TraceProtocol,
    /// One of this many decisions is traced; zero traces none, and only requests off the hot path. A busy thread traces
    /// at most one of sixteen.
    pub one_in: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceProtocol {
    /// OTLP over gRPC.
    #[default]
    Grpc,
    /// OTLP as protobuf over HTTP.
    Http,
}

/// Why traces cannot be sent.
#[derive(Debug)]
pub enum TraceError {
    /// The collector's address is invalid.
    Endpoint(String),
    /// There is no thread to send from.
    Thread(std::io::Error),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(text) => write!(
                f,
                "`{text}` is no address of a collector: it must be like `http://127.0.0.1:4317`"
            ),
            Self::Thread(error) => write!(f, "no thread to send traces from: {error}"),
        }
    }
}

impl std::error::Error for TraceError {}

impl TraceSettings {
    /// Whether the collector's address is valid.
    pub fn check(&self) -> Result<(), TraceError> {
        Collector::new(self).map(drop)
    }
}

/// Sends traces while it lives. What is queued when it is dropped is sent first, if that is quick.
pub struct Traces {
    tracer: Arc<Tracer>,
    stop: Option<mpsc::Sender<otlp::OtlpSpan>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts tracing, if configured.
pub fn start(shared: &Shared) -> Result<Option<Traces>, TraceError> {
    let Some(settings) = &shared.settings.telemetry.traces else {
        return Ok(None);
    };
    let traces = Traces::start(settings)?;
    shared.engine.meter().trace(Arc::clone(&traces.tracer));
    Ok(Some(traces))
}

impl Traces {
    fn start(settings: &TraceSettings) -> Result<Self, TraceError> {
        let collector = Collector::new(settings)?;
        let (queue, spans) = mpsc::channel(QUEUE_MAX);
        let tracer = Arc::new(Tracer {
            queue: queue.downgrade(),
            one_in: settings.one_in,
            seed: std::hash::RandomState::new().build_hasher().finish(),
            number: AtomicU64::new(0),
            figures: Figures::default(),
        });
        let told = Arc::clone(&tracer);
        let thread = std::thread::Builder::new()
            .name("tollgate-traces".into())
            .spawn(move || export(collector, spans, &told));
        Ok(Self {
            tracer,
            stop: Some(queue),
            thread: Some(thread.map_err(TraceError::Thread)?),
        })
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to send.
            let _ = thread.join();
        }
    }
}

pub struct Tracer {
    queue: mpsc::WeakSender<otlp::OtlpSpan>,
    one_in: u32,
    seed: u64,
    number: AtomicU64,
    figures: Figures,
}

#[derive(Default)]
struct Figures {
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

impl Tracer {
    /// One of this many decisions is traced; zero for none.
    pub const fn one_in(&self) -> u32 {
        self.one_in
    }

    /// Spans that reached the collector, that did not, and that did not fit in the queue.
    pub fn figures(&self) -> [(&'static str, u64); 3] {
        let Figures {
            sent,
            failed,
            dropped,
        } = &self.figures;
        [
            ("sent", sent.load(Relaxed)),
            ("failed", failed.load(Relaxed)),
            ("dropped", dropped.load(Relaxed)),
        ]
    }

    /// Starts a span; it is sent when it is dropped.
    pub fn span(&self, name: impl Into<String>, parent: Option<Parent>) -> TraceSpan<'_> {
        TraceSpan::begin(self, name.into(), parent)
    }

    /// A number that no other span has, drawn from a seed of this process.
    fn draw(&self) -> u64 {
        let number = self.number.fetch_add(1, Relaxed);
        scramble(self.seed.wrapping_add(number.wrapping_mul(GOLDEN)))
    }

    fn put(&self, span: otlp::OtlpSpan) {
        let placed = self
            .queue
            .upgrade()
            .is_some_and(|queue| queue.try_send(span).is_ok());
        if !placed {
            self.figures.dropped.fetch_add(1, Relaxed);
        }
    }
}

/// Sends spans until all senders are dropped.
fn export(mut collector: Collector, mut spans: mpsc::Receiver<otlp::OtlpSpan>, tracer: &Tracer) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%error, "traces cannot be sent"),
    };
    let warnings = Rarely::new(WARN_EVERY);
    runtime.block_on(async {
        while let Some(batch) = next_batch(&mut spans).await {
            let count = batch.len() as u64;
            let sending = collector.send(otlp::request(batch));
            let sent = tokio::time::timeout(SEND_MAX, sending).await;
            let failure = match sent {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error),
                Err(_) => Some("no answer in time".into()),
            };
            let Some(error) = failure else {
                tracer.figures.sent.fetch_add(count, Relaxed);
                continue;
            };
            collector.forget();
            tracer.figures.failed.fetch_add(count, Relaxed);
            if let Some(unsaid) = warnings.now() {
                tracing::warn!(error, unsaid, "traces did not reach the collector");
            }
        }
    });
}

/// The spans of the next moment; `None` at the end.
async fn next_batch(spans: &mut mpsc::Receiver<otlp::OtlpSpan>) -> Option<Vec<otlp::OtlpSpan>> {
    let first = spans.recv().await?;
    let mut batch = vec![first];
    let until = tokio::time::Instant::now() + SEND_EVERY;
    while batch.len() < BATCH_MAX {
        match tokio::time::timeout_at(until, spans.recv()).await {
            Ok(Some(span)) => batch.push(span),
            Ok(None) | Err(_) => break,
        }
    }
    Some(batch)
}

/// Limit on queued spans.
const QUEUE_MAX: usize = 2_048;
/// Spans in one message.
const BATCH_MAX: usize = 512;
/// How long the first span of a message waits for others.
const SEND_EVERY: Duration = Duration::from_secs(1);
/// Timeout of the collector.
const SEND_MAX: Duration = Duration::from_secs(5);
/// Interval between warnings about an unreachable collector.
const WARN_EVERY: Duration = Duration::from_mins(1);
