//! `tollgate gateway`: combines settings, starts a server with the gateway as its listener, and handles signals.
//!
//! Not here: what a gateway does (`tollgate-gateway`), what a server does (`tollgate-serve`).

mod fit;
pub(crate) mod options;
pub(crate) mod place;
pub(crate) mod plan;
mod status;

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tollgate_gateway::{Running, SealError, StartError, check};
use tollgate_serve::desk::AdminApi;
use tollgate_serve::run::{self, StartError as ServerError};
use tollgate_serve::settings::{ContractSource, Settings};
use tollgate_serve::shared::Shared;
use tollgate_serve::source::SourceError;

use crate::failure::Failure;
use crate::serve::{self, desk, options::ServeFormat};
use options::{GatewayCommand, GatewayOptions};

/// Runs in front of a broker until a stop signal.
pub(crate) fn run(options: &GatewayOptions) -> Result<(), Failure> {
    match &options.command {
        None => stand(options),
        Some(GatewayCommand::Plan(options)) => plan::run(options),
        Some(GatewayCommand::Status(options)) => status::run(options),
        Some(GatewayCommand::Fit(options)) => fit::run(options),
        Some(GatewayCommand::Place(options)) => place::run(options),
    }
}

fn stand(options: &GatewayOptions) -> Result<(), Failure> {
    let mut settings = settle(options, |name| std::env::var(name).ok())?;
    let told = options.settings(&settings)?;
    let mut warnings = serve::warnings(&settings);
    let signals = serve::prepare(&options.server, &settings)?;
    let threads = threads(settings.runtime.count())?;
    if settings.http.is_empty() && settings.resp.is_empty() {
        // The server's own listeners have little traffic.
        settings.runtime.threads = Some(1);
    }
    let server = run::start_with(settings, open).map_err(|error| Failure::start(&error))?;
    let started = threads.block_on(tollgate_gateway::start(told, server.shared()));
    let gateway = started.map_err(failure)?;
    warnings.extend(concerns(options, &gateway));
    serve::tell(&warnings, &show(options, &gateway, &server))?;
    signals.obey(server, || threads.block_on(gateway.stop()))
}

fn threads(count: usize) -> Result<Runtime, Failure> {
    let mut builder = Builder::new_multi_thread();
    let built = builder.worker_threads(count).thread_name("gateway");
    let built = built.enable_all().build();
    built.map_err(|error| Failure::system("start threads", &error))
}

/// As for `serve`, but nothing is served or kept unless requested.
fn settle(
    options: &GatewayOptions,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Settings, Failure> {
    let mut said = serve::said(&options.server, variable)?;
    let http = said.text("http").filter(|http| *http != "off");
    let metrics = options.metrics.map(|address| address.to_string());
    let http: Vec<String> = http.map(str::to_owned).into_iter().chain(metrics).collect();
    let http = if http.is_empty() {
        "off".to_owned()
    } else {
        http.join(",")
    };
    said.say("http", "--http", http).map_err(serve::wrong)?;
    if said.text("resp").is_none() {
        said.say("resp", "--resp", "off").map_err(serve::wrong)?;
    }
    let mut settings = serve::read(&said)?.unwrap_or_default();
    said.apply(&mut settings).map_err(serve::wrong)?;
    if settings.contracts == ContractSource::None && settings.keeping.catalogue.is_none() {
        let text =
            "error: a gateway needs contracts: say --contracts FILE, --catalogue, or --config";
        return Err(Failure::usage(text));
    }
    Ok(settings)
}

/// Checks the contracts before clients connect, and sets up the admin API if a listener leads to it.
fn open(shared: &Arc<Shared>) -> Result<Option<Arc<dyn AdminApi>>, ServerError> {
    let node = shared.engine.node();
    let wrong = |text: String| ServerError::Contracts(SourceError::Wrong(text));
    check(node.contracts()).map_err(|error| wrong(format!("error: {error}")))?;
    if node.contracts().is_empty() && shared.settings.keeping.catalogue.is_none() {
        let text = "error: there are no contracts in the file, so that nothing would be limited";
        return Err(wrong(text.to_owned()));
    }
    if shared.settings.http.is_empty() {
        return Ok(None);
    }
    desk::open(shared)
}

fn failure(error: StartError) -> Failure {
    match error {
        StartError::Tls(SealError::File(error)) => Failure::start(&ServerError::Tls(error)),
        StartError::Contracts(_) | StartError::Tls(_) | StartError::Placement(_) => {
            Failure::config(format!("error: {error}"))
        }
        StartError::Bind(..) => Failure::unavailable(format!("error: {error}")),
    }
}

fn concerns(options: &GatewayOptions, gateway: &Running) -> Vec<String> {
    let idle = gateway.idle().into_iter().map(|idle| {
        let (contract, entry) = (idle.contract, idle.entry);
        format!("contract `{contract}` binds no message: messages have no entry `{entry}`")
    });
    let address = options.listen;
    let is_open = !address.ip().is_loopback() && options.tls.tls_cert.is_none();
    let clear = is_open.then(|| {
        format!(
            "{address} can be reached from other machines, and whatever passes there is in clear"
        )
    });
    idle.chain(clear).collect()
}

fn show(options: &GatewayOptions, gateway: &Running, server: &run::Running) -> String {
    let (listen, http) = (gateway.listen(), server.http());
    let upstream = &options.upstream;
    match options.server.format {
        ServeFormat::Json => {
            let metrics = http.map(|address| address.to_string());
            let resp = server.resp().map(|address| address.to_string());
            let cluster = server.cluster().map(|address| address.to_string());
            let facts = json!({
                "listen": listen.to_string(),
                "upstream": upstream,
                "metrics": metrics,
                "resp": resp,
                "cluster": cluster,
                "pid": std::process::id(),
            });
            format!("{facts}\n")
        }
        ServeFormat::Human => {
            let mut text = format!("listen {listen}\nupstream {upstream}\n");
            if let Some(address) = http {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "metrics http://{address}/metrics");
            }
            text + "ready\n"
        }
    }
}
