//! Contracts from a management server: rules of Envoy's rate limit service as resources of xDS, state of the world.
//!
//! A thread of its own subscribes, and reconnects when the stream ends. Invalid rules are rejected with the reason, and
//! those in force stay. Before the first configuration the server is not ready. Not here: what rules mean (`contract`),
//! and incremental discovery.

mod dialogue;
mod text;

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use http::uri::PathAndQuery;
use tokio::sync::{mpsc, watch};
use tollgate_contract::Contracts;
use tollgate_wire::xds::{self, DiscoveryRequest, DiscoveryResponse};
use tonic::client::Grpc;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic_prost::ProstCodec;

use crate::meter::Exposition;
use crate::settings::{ClientTls, ContractSource, XdsSource};
use crate::shared::{ServerPhase, Shared, Stop};
use crate::source;
use dialogue::Dialogue;

/// Puts contracts into force, or remembers why there are none.
type Adopt = Box<dyn Fn(Result<Contracts, String>) -> Result<(), String> + Send>;

/// Counters of the stream.
#[derive(Debug, Default)]
pub struct XdsFigures {
    is_connected: AtomicBool,
    connects: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
}

impl XdsFigures {
    /// Adds the metrics of the stream.
    pub(crate) fn render(&self, text: &mut Exposition) {
        text.one(
            "tollgate_xds_connected",
            u8::from(self.is_connected.load(Relaxed)),
        );
        text.one("tollgate_xds_connects_total", self.connects.load(Relaxed));
        text.one("tollgate_xds_accepted_total", self.accepted.load(Relaxed));
        text.one("tollgate_xds_refused_total", self.refused.load(Relaxed));
    }
}

/// Follows a management server until it is dropped.
pub(crate) struct Follower {
    stop: watch::Sender<ServerPhase>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Follows the configured management server, if any; `adopt` puts its contracts into force, or remembers why there
    /// are none.
    pub(crate) fn of(
        shared: &Arc<Shared>,
        adopt: impl Fn(Result<Contracts, String>) -> Result<(), String> + Send + 'static,
    ) -> io::Result<Option<Self>> {
        let ContractSource::Xds(source) = &shared.settings.contracts else {
            return Ok(None);
        };
        if shared.catalogue().database().is_some() {
            tracing::warn!("the management server is not followed: contracts are in the catalogue");
            return Ok(None);
        }
        shared.state.set_awaiting(true);
        Self::start(source, shared, Box::new(adopt)).map(Some)
    }

    fn start(source: &XdsSource, shared: &Arc<Shared>, adopt: Adopt) -> io::Result<Self> {
        let (stop, stopping) = Stop::new();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let figures = Arc::clone(shared.xds.get_or_init(Arc::default));
        let follow = Follow {
            dialogue: Dialogue::new(source.node()),
            source: source.clone(),
            shared: Arc::clone(shared),
            figures,
            adopt,
        };
        let run = move || runtime.block_on(follow.run(stopping));
        let thread = std::thread::Builder::new().name("xds".into()).spawn(run)?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.stop.send(ServerPhase::Stopping);
        if let Some(thread) = self.thread.take() {
            // The panic was logged already.
            let _ = thread.join();
        }
    }
}

/// The management server's endpoint. Files of certificates are read each time, so that new ones are used at the next
/// stream.
fn endpoint(source: &XdsSource, tls: Option<&ClientTls>) -> Result<Endpoint, String> {
    let (at, _) = source.parts()?;
    let is_secure = source.is_secure();
    let scheme = if is_secure { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{at}")).map_err(|e| e.to_string())?;
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true);
    let Some(tls) = tls.filter(|_| is_secure) else {
        return Ok(endpoint);
    };
    let authority = Certificate::from_pem(read(&tls.authority)?);
    let mut config = ClientTlsConfig::new().ca_certificate(authority);
    if let Some((certificate, key)) = &tls.certificate {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    endpoint.tls_config(config).map_err(|error| told(&error))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    source::read(path).map_err(|error| error.to_string())
}

/// The thread's state.
struct Follow {
    dialogue: Dialogue,
    source: XdsSource,
    shared: Arc<Shared>,
    figures: Arc<XdsFigures>,
    adopt: Adopt,
}

impl Follow {
    async fn run(mut self, mut stop: Stop) {
        let mut pause = PAUSE_MIN;
        while !stop.is_given() {
            let accepted = self.figures.accepted.load(Relaxed);
            let ended = tokio::select! {
                () = stop.given() => return,
                ended = self.talk() => ended,
            };
            self.figures.is_connected.store(false, Relaxed);
            let error = ended.err().unwrap_or_else(|| "the stream ended".to_owned());
            if self.figures.accepted.load(Relaxed) > accepted {
                pause = PAUSE_MIN;
            }
            tracing::warn!(
                error,
                pause_s = pause.as_secs_f64(),
                "the management server is not followed; it is tried again"
            );
            let trouble = format!("the management server is not followed: {error}");
            self.shared.state.set_source_error(Some(trouble));
            tokio::select! {
                () = stop.given() => return,
                () = tokio::time::sleep(spread(pause)) => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// One stream, until it ends.
    async fn talk(&mut self) -> Result<(), String> {
        let tls = self.shared.settings.keeping.rls.xds.as_ref();
        let endpoint = endpoint(&self.source, tls)?;
        let channel = endpoint.connect().await.map_err(|error| told(&error))?;
        let (up, requests) = mpsc::channel(UNSAID_MAX);
        let said = |_| "the stream ended".to_owned();
        up.send(self.dialogue.hello()).await.map_err(said)?;
        let mut responses = opened(channel, requests).await?;
        self.figures.connects.fetch_add(1, Relaxed);
        self.figures.is_connected.store(true, Relaxed);
        self.shared.state.set_source_error(None);
        while let Some(response) = responses.message().await.map_err(|status| shown(&status))? {
            if let Some(answer) = self.answer(&response) {
                up.send(answer).await.map_err(said)?;
            }
        }
        Ok(())
    }

    /// Handles a response; returns the reply, unless it is about something else.
    fn answer(&mut self, response: &DiscoveryResponse) -> Option<DiscoveryRequest> {
        if response.type_url != xds::RATE_LIMIT_CONFIG {
            tracing::warn!(
                kind = response.type_url,
                "resources that nobody asked for are ignored"
            );
            return None;
        }
        let outcome = self.take(response);
        let counter = match &outcome {
            Ok(()) => &self.figures.accepted,
            Err(_) => &self.figures.refused,
        };
        counter.fetch_add(1, Relaxed);
        Some(self.dialogue.answer(response, outcome))
    }

    fn take(&mut self, response: &DiscoveryResponse) -> Result<(), String> {
        let text = text::of(&response.resources);
        if text
            .as_ref()
            .is_ok_and(|text| self.dialogue.is_in_force(text))
        {
            return Ok(());
        }
        let contracts = text
            .as_ref()
            .map_err(Clone::clone)
            .and_then(text::XdsRules::contracts);
        (self.adopt)(contracts)?;
        if let Ok(text) = text {
            self.dialogue.set_in_force(text);
        }
        self.shared.state.set_awaiting(false);
        Ok(())
    }
}

async fn opened(
    channel: Channel,
    requests: mpsc::Receiver<DiscoveryRequest>,
) -> Result<tonic::Streaming<DiscoveryResponse>, String> {
    let mut grpc = Grpc::new(channel).max_decoding_message_size(RESPONSE_BYTES_MAX);
    grpc.ready().await.map_err(|error| told(&error))?;
    let codec = ProstCodec::<DiscoveryRequest, DiscoveryResponse>::default();
    let path = PathAndQuery::from_static(xds::STREAM);
    let request = tonic::Request::new(ReceiverStream::new(requests));
    let answered = grpc.streaming(request, path, codec).await;
    answered
        .map(tonic::Response::into_inner)
        .map_err(|status| shown(&status))
}

/// An error with its sources.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(error) = behind {
        let _ = write!(text, ": {error}");
        behind = error.source();
    }
    text
}

fn shown(status: &tonic::Status) -> String {
    format!("{}: {}", status.code().description(), status.message())
}

/// Between a half and the whole, so that servers do not reconnect all at once.
fn spread(pause: Duration) -> Duration {
    let mut byte = [0];
    // Without randomness it is the whole.
    let share = getrandom::fill(&mut byte).map_or(255, |()| u32::from(byte[0]));
    pause / 2 + pause / 2 * share / 255
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// The first pause before a retry; it doubles until something came into force.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Replies that the management server has not read yet.
const UNSAID_MAX: usize = 4;
/// The longest response that is read.
const RESPONSE_BYTES_MAX: usize = tollgate_contract::TEXT_BYTES_MAX;
