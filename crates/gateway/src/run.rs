//! Starts and stops a gateway.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tollgate_contract::Contracts;
use tollgate_serve::annex::{Annex, GatewayView};
use tollgate_serve::meter::Exposition;
use tollgate_serve::shared::Shared as Server;

use crate::connection::{self, GatewayShared};
use crate::crowd::ConnectedAddresses;
use crate::judge::{self, Idle, JudgeError, MessageJudge};
use crate::log::GatewayLog;
use crate::meter::{Count, GatewayMeter};
use crate::placement::BadPlacement;
use crate::places::CurrentPlacement;
use crate::settings::GatewaySettings;
use crate::tls::{SealError, Seals};

#[derive(Debug)]
pub enum StartError {
    /// The contracts are not valid for a gateway.
    Contracts(JudgeError),
    Tls(SealError),
    /// The placement list cannot be used.
    Placement(BadPlacement),
    Bind(SocketAddr, io::Error),
}

/// A running gateway. Dropping it closes all connections.
pub struct Running {
    shared: Arc<GatewayShared>,
    listen: SocketAddr,
    stop: watch::Sender<bool>,
    clients: JoinHandle<()>,
}

/// Starts a gateway in the current runtime, as a listener of that server. A server has at most one.
pub async fn start(settings: GatewaySettings, server: &Arc<Server>) -> Result<Running, StartError> {
    let meter = Arc::new(GatewayMeter::new());
    let seals = Arc::new(Seals::read(&settings).map_err(StartError::Tls)?);
    let places =
        CurrentPlacement::read(settings.placement.clone()).map_err(StartError::Placement)?;
    let places = Arc::new(places);
    // From here on new contracts are checked first; those in force are checked below.
    let beside = Arc::new(Beside {
        meter: Arc::clone(&meter),
        seals: Arc::clone(&seals),
        places: Arc::clone(&places),
        upstream: settings.upstream.clone(),
        listen: OnceLock::new(),
    });
    let _ = server.annex.set(Arc::<Beside>::clone(&beside));
    let node = server.engine.node();
    judge::check(node.contracts()).map_err(StartError::Contracts)?;
    meter.load(node.contracts());
    let (listener, listen) = bind(settings.listen).await?;
    let _ = beside.listen.set(listen);
    tracing::info!(%listen, upstream = settings.upstream, "the gateway takes clients in");
    let shared = Arc::new(GatewayShared {
        server: Arc::clone(server),
        judge: MessageJudge::new(Arc::clone(server)),
        meter,
        seals,
        places,
        log: GatewayLog::new(&settings.upstream),
        settings,
    });
    let stop = watch::Sender::new(false);
    let clients = tokio::spawn(accept(listener, Arc::clone(&shared), stop.subscribe()));
    Ok(Running {
        shared,
        listen,
        stop,
        clients,
    })
}

/// The server's view of its gateway.
struct Beside {
    meter: Arc<GatewayMeter>,
    seals: Arc<Seals>,
    places: Arc<CurrentPlacement>,
    upstream: String,
    listen: OnceLock<SocketAddr>,
}

impl Annex for Beside {
    fn check(&self, contracts: &Contracts) -> Result<(), String> {
        judge::check(contracts).map_err(|error| error.to_string())?;
        GatewayLog::idle(&judge::idle(contracts));
        Ok(())
    }

    fn reload(&self) -> Result<(), String> {
        self.seals.reload().map_err(|error| error.to_string())?;
        self.places.reload().map_err(|error| error.to_string())
    }

    fn watched(&self) -> Option<&Path> {
        self.places.file()
    }

    fn changed(&self) -> Result<(), String> {
        self.places.reload().map_err(|error| error.to_string())
    }

    fn render(&self, text: &mut Exposition) {
        self.meter.write(text);
    }

    fn view(&self) -> GatewayView {
        let (name, placement) = self.places.in_force().unzip();
        GatewayView {
            on: true,
            name,
            listen: self
                .listen
                .get()
                .map(ToString::to_string)
                .unwrap_or_default(),
            upstream: self.upstream.clone(),
            placement,
            ..self.meter.view()
        }
    }
}

impl Running {
    pub const fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// The gateway's own metrics in the Prometheus format.
    pub fn text(&self) -> String {
        let mut text = Exposition::new();
        self.shared.meter.write(&mut text);
        text.finish()
    }

    /// Contracts in force that bind no message.
    pub fn idle(&self) -> Vec<Idle> {
        judge::idle(self.shared.server.engine.node().contracts())
    }

    /// Accepts no more clients, notifies those of MQTT 5, and waits a bounded time for all to close.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        tracing::info!("the gateway stops");
        let linger = self.shared.settings.patience.linger;
        // Each connection lingers a few times at most: for its final packet, and for both sides to close.
        let _ = timeout(linger * 3 + SLACK, &mut self.clients).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.clients.abort();
    }
}

const SLACK: Duration = Duration::from_millis(500);

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound
        .await
        .map_err(|error| StartError::Bind(address, error))
}

/// Accepts clients until the stop signal, then waits for them to close.
async fn accept(
    listener: TcpListener,
    shared: Arc<GatewayShared>,
    mut stop: watch::Receiver<bool>,
) {
    let mut clients = JoinSet::new();
    let crowd = ConnectedAddresses::new(shared.settings.connections_per_address);
    let told = stop.clone();
    loop {
        tokio::select! {
            () = connection::told(&mut stop) => break,
            Some(_) = clients.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((_, peer)) if clients.len() >= shared.settings.connections_max => {
                    shared.turn_away(Count::Full, peer);
                }
                Ok((client, peer)) => match crowd.enter(peer.ip()) {
                    None => shared.turn_away(Count::Crowded, peer),
                    Some(place) => {
                        let serving = connection::serve(Arc::clone(&shared), client, peer, told.clone());
                        clients.spawn(async move {
                            serving.await;
                            drop(place);
                        });
                    }
                },
                // Most likely out of file descriptors: wait until a client closes.
                Err(error) => {
                    shared.log.not_accepted(&error);
                    sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contracts(error) => error.fmt(f),
            Self::Placement(error) => error.fmt(f),
            Self::Tls(error) => error.fmt(f),
            Self::Bind(address, error) => write!(f, "cannot listen at {address}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
