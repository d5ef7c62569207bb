//! `tollgate gateway`: puts settings together, starts the gateway, and waits for a signal.
//!
//! Not here: what a gateway does (`tollgate-gateway`).

pub mod options;

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde_json::json;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tollgate_gateway::{Running, StartError};

use crate::config;
use crate::failure::Failure;
use options::{GatewayFormat, GatewayOptions};

/// Stands in front of a broker until a signal says to stop.
pub fn run(options: &GatewayOptions) -> Result<(), Failure> {
    let contracts = config::read_contracts(&options.contracts)?;
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::system("start threads", &error))?;
    runtime.block_on(async {
        let mut signals = Signals::catch()?;
        let started = tollgate_gateway::start(options.settings(), contracts).await;
        let running = started.map_err(|error| failure(&error))?;
        for warning in warnings(options, &running) {
            // Nobody is left to warn when standard error is gone.
            let _ = writeln!(io::stderr(), "warning: {warning}");
        }
        let text = show(options, &running);
        let mut out = io::stdout();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(Failure::output)?;
        signals.next().await;
        tokio::select! {
            () = running.stop() => {}
            // Whoever asks twice will not wait for connections.
            () = signals.next() => {}
        }
        Ok(())
    })
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn catch() -> Result<Self, Failure> {
        let caught = || -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        };
        caught().map_err(|error| Failure::system("cannot catch signals", &error))
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

fn failure(error: &StartError) -> Failure {
    match error {
        StartError::Contracts(error) => Failure::config(format!("error: {error}")),
        StartError::Bind(..) => Failure::unavailable(format!("error: {error}")),
    }
}

/// What is not wrong but probably not meant.
fn warnings(options: &GatewayOptions, running: &Running) -> Vec<String> {
    let idle = running.idle().into_iter().map(|idle| {
        let (contract, entry) = (idle.contract, idle.entry);
        format!("contract `{contract}` binds no message: messages have no entry `{entry}`")
    });
    let open = |address: std::net::SocketAddr, what: &str| {
        let is_open = !address.ip().is_loopback();
        is_open.then(|| format!("{address} can be reached from other machines, and {what}"))
    };
    let clear = open(options.listen, "whatever passes there is in clear");
    let metrics = options
        .metrics
        .and_then(|address| open(address, "shows metrics to everybody"));
    idle.chain(clear).chain(metrics).collect()
}

/// What is said once it runs.
fn show(options: &GatewayOptions, running: &Running) -> String {
    let (listen, metrics) = (running.listen(), running.metrics());
    let upstream = &options.upstream;
    match options.format {
        GatewayFormat::Json => {
            let metrics = metrics.map(|address| address.to_string());
            let facts =
                json!({ "listen": listen.to_string(), "upstream": upstream, "metrics": metrics });
            format!("{facts}\n")
        }
        GatewayFormat::Human => {
            let mut text = format!("listen {listen}\nupstream {upstream}\n");
            if let Some(address) = metrics {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "metrics http://{address}/metrics");
            }
            text + "ready\n"
        }
    }
}
