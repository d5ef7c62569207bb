//! Starts and stops a gateway.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tollgate_contract::Contracts;

use crate::connection::{self, Shared};
use crate::judge::{Idle, Judge, JudgeError};
use crate::meter::{Count, Meter};
use crate::page;
use crate::settings::Settings;

/// Why a gateway does not start.
#[derive(Debug)]
pub enum StartError {
    /// It cannot keep the contracts.
    Contracts(JudgeError),
    /// It cannot listen.
    Bind(SocketAddr, io::Error),
}

/// A gateway that runs. Dropping it cuts everybody off.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    listen: SocketAddr,
    metrics: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    clients: JoinHandle<()>,
    page: Option<JoinHandle<()>>,
}

/// Starts a gateway in the runtime that this is called in.
pub async fn start(settings: Settings, contracts: Contracts) -> Result<Running, StartError> {
    let judge = Judge::new(contracts).map_err(StartError::Contracts)?;
    let (listener, listen) = bind(settings.listen).await?;
    let page = match settings.metrics {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let meter = Meter::new(judge.contracts());
    let shared = Arc::new(Shared {
        settings,
        judge,
        meter,
    });
    let stop = watch::Sender::new(false);
    let clients = tokio::spawn(accept(listener, Arc::clone(&shared), stop.subscribe()));
    let metrics = page.as_ref().map(|(_, address)| *address);
    let page = page.map(|(listener, _)| tokio::spawn(page::serve(listener, Arc::clone(&shared))));
    Ok(Running {
        shared,
        listen,
        metrics,
        stop,
        clients,
        page,
    })
}

impl Running {
    /// Where clients connect.
    pub const fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Where metrics are shown.
    pub const fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// The metrics as Prometheus reads them.
    pub fn text(&self) -> String {
        self.shared.meter.text()
    }

    /// Contracts that bind no message.
    pub fn idle(&self) -> Vec<Idle> {
        self.shared.judge.idle()
    }

    /// Takes nobody in any more, tells clients of MQTT 5 that it stops, and waits a little for all to go.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let linger = self.shared.settings.patience.linger;
        // Each connection lingers twice at most: for its last words, and for the client to go.
        let _ = timeout(linger * 2 + SLACK, &mut self.clients).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.clients.abort();
        if let Some(page) = &self.page {
            page.abort();
        }
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

/// Takes clients in until it is told to stop, and then waits for them to go.
async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut clients = JoinSet::new();
    let told = stop.clone();
    loop {
        tokio::select! {
            () = connection::told(&mut stop) => break,
            Some(_) = clients.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((client, peer)) if clients.len() < shared.settings.connections_max => {
                    clients.spawn(connection::serve(Arc::clone(&shared), client, peer, told.clone()));
                }
                Ok(_) => shared.meter.one(Count::Full),
                // Out of files, most likely: somebody has to go first.
                Err(_) => sleep(Duration::from_millis(50)).await,
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
            Self::Bind(address, error) => write!(f, "cannot listen at {address}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
