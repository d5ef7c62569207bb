//! Flags of `gateway`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use tollgate_gateway::{ArrivalTime, GatewaySettings, OnQuietRefusal, PlacementList, UpstreamTls};
use tollgate_serve::settings::{Settings as ServerSettings, Tls};

use super::fit::FitOptions;
use super::place::PlaceOptions;
use super::plan::PlanOptions;
use super::status::EXAMPLES as STATUS_EXAMPLES;
use crate::cluster::options::SupplyOptions;
use crate::failure::Failure;
use crate::serve::options::ServeOptions;

/// Options of `gateway`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct GatewayOptions {
    /// What else there is to do
    #[command(subcommand)]
    pub command: Option<GatewayCommand>,

    /// Where clients connect; port 0 is any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:1884")]
    pub listen: SocketAddr,

    /// The broker
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:1883", value_parser = upstream)]
    pub upstream: String,

    /// Where to answer `GET /metrics`, and everything else that HTTP is served for; as `--http`
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<SocketAddr>,

    /// What happens where the protocol has no words for a refusal: to messages that are not acknowledged, and in MQTT
    /// 3.1.1
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Quiet::Drop)]
    pub on_quiet_refusal: Quiet,

    /// The longest a message is held back; one that would wait longer is refused
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=3600))]
    pub delay_max: u64,

    /// The most clients at once
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub connections_max: u32,

    /// The most bytes of one packet of a client
    #[arg(long, value_name = "BYTES", default_value_t = 268_435_460, value_parser = clap::value_parser!(u32).range(2..))]
    pub packet_max: u32,

    /// The most clients at once from one address, or one IPv6 network of 64 bits
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub connections_per_address: Option<u32>,

    /// As of when a message is decided
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ArrivalChoice::Kernel)]
    pub arrival: ArrivalChoice,

    /// Which clients belong to which gateway, the same list for all of them; clients of MQTT 5 are told to go there
    #[arg(long, value_name = "FILE")]
    pub placement: Option<PathBuf>,

    /// How both sides speak TLS
    #[command(flatten)]
    pub tls: TlsFlags,

    /// The server that it is a door of
    #[command(flatten)]
    pub server: ServeOptions,
}

/// What else there is to do.
#[derive(Debug, Subcommand)]
pub(crate) enum GatewayCommand {
    /// Say how many brokers a topic needs, and what messages would wait
    Plan(Box<PlanOptions>),
    /// Show how the parts of a topic stand at its gateways
    #[command(after_help = STATUS_EXAMPLES, after_long_help = STATUS_EXAMPLES)]
    Status(Box<SupplyOptions>),
    /// Measure how few gateways of a topic keep an objective, and place its clients so
    Fit(Box<FitOptions>),
    /// Say to which gateways clients belong
    Place(PlaceOptions),
}

/// How both sides speak TLS.
#[derive(Args, Debug, Default)]
pub(crate) struct TlsFlags {
    /// The certificate that clients are shown, with those above it, in PEM; clients speak in clear without
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Who must have signed the certificates of clients; clients need none without
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,

    /// Speak TLS with the broker
    #[arg(long)]
    pub upstream_tls: bool,

    /// Who must have signed the broker's certificate; the system's authorities without
    #[arg(long, value_name = "FILE", requires = "upstream_tls")]
    pub upstream_ca: Option<PathBuf>,

    /// The name in the broker's certificate, where that is not the host of --upstream
    #[arg(long, value_name = "NAME", requires = "upstream_tls")]
    pub upstream_name: Option<String>,

    /// The gateway's own certificate, for a broker that asks for one
    #[arg(long, value_name = "FILE", requires_all = ["upstream_tls", "upstream_key"])]
    pub upstream_cert: Option<PathBuf>,

    /// Its key
    #[arg(long, value_name = "FILE", requires = "upstream_cert")]
    pub upstream_key: Option<PathBuf>,
}

impl TlsFlags {
    fn clients(&self) -> Option<Tls> {
        Some(Tls {
            certificate: self.tls_cert.clone()?,
            key: self.tls_key.clone()?,
            client_ca: self.tls_client_ca.clone(),
        })
    }

    fn broker(&self) -> Option<UpstreamTls> {
        self.upstream_tls.then(|| UpstreamTls {
            ca: self.upstream_ca.clone(),
            name: self.upstream_name.clone(),
            identity: self.upstream_cert.clone().zip(self.upstream_key.clone()),
        })
    }
}

/// As of when a message is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalChoice {
    /// As of when the system received it, where there is no TLS
    Kernel,
    /// As of when the gateway reads it
    Read,
}

/// What happens where the protocol has no words for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Quiet {
    /// The message is dropped, counted, and acknowledged as if it had been taken
    Drop,
    /// The connection ends
    Disconnect,
}

impl GatewayOptions {
    pub(super) fn settings(&self, server: &ServerSettings) -> Result<GatewaySettings, Failure> {
        Ok(GatewaySettings {
            listen: self.listen,
            upstream: self.upstream.clone(),
            on_quiet_refusal: match self.on_quiet_refusal {
                Quiet::Drop => OnQuietRefusal::Drop,
                Quiet::Disconnect => OnQuietRefusal::Disconnect,
            },
            delay_max: Duration::from_secs(self.delay_max),
            connections_max: usize::try_from(self.connections_max).unwrap_or(usize::MAX),
            packet_max: self.packet_max,
            connections_per_address: self.connections_per_address.map_or(usize::MAX, |most| {
                usize::try_from(most).unwrap_or(usize::MAX)
            }),
            tls: self.tls.clients(),
            upstream_tls: self.tls.broker(),
            arrival: match self.arrival {
                ArrivalChoice::Kernel => ArrivalTime::Kernel,
                ArrivalChoice::Read => ArrivalTime::Read,
            },
            placement: self.placement(server)?,
            ..GatewaySettings::default()
        })
    }

    /// The placement list, and this gateway's name in it.
    fn placement(&self, server: &ServerSettings) -> Result<Option<PlacementList>, Failure> {
        let Some(file) = self.placement.clone() else {
            return Ok(None);
        };
        let cluster = server
            .cluster
            .as_ref()
            .and_then(|cluster| cluster.name.clone());
        let name = self.server.settings.text("cluster.name");
        let me = name.map(str::to_owned).or(cluster);
        let me = me.ok_or_else(|| {
            Failure::usage("error: --placement needs to know which gateway this one is: say --name")
        })?;
        Ok(Some(PlacementList { file, me }))
    }
}

/// A name or an address, and a port.
fn upstream(text: &str) -> Result<String, String> {
    let port = text
        .rsplit_once(':')
        .filter(|(host, _)| !host.is_empty())
        .and_then(|(_, port)| port.parse::<u16>().ok());
    match port {
        Some(1..) => Ok(text.to_owned()),
        Some(0) | None => Err("write host:port, such as broker.example:1883".to_owned()),
    }
}

const EXAMPLES: &str = "\
Examples:
  tollgate gateway --contracts contracts.yaml
  tollgate gateway --contracts contracts.yaml --listen 127.0.0.1:1884 --upstream 127.0.0.1:1883 --metrics 127.0.0.1:9884
  tollgate gateway --contracts contracts.yaml --on-quiet-refusal disconnect
  tollgate gateway --contracts contracts.yaml --store redis://127.0.0.1:6379
  tollgate gateway --contracts contracts.yaml --cluster 10.0.0.7:7380 --join 10.0.0.8 --cluster-key cluster.key
  tollgate gateway --contracts contracts.yaml --listen 0.0.0.0:8883 --tls-cert server.pem --tls-key server.key
  tollgate gateway --contracts contracts.yaml --upstream broker.example:8883 --upstream-tls --upstream-ca ca.pem
  mosquitto_pub -p 1884 -V mqttv5 -q 1 -t sensors/7/temperature -m 21

A message has the entries topic, client, user, ip and property.NAME.
A value of `match` under `topic` may be a topic filter, such as sensors/+/temperature.
A gateway is a door of a server: settings, variables and signals are those of `tollgate serve`, but HTTP and RESP are served
only where --http, --metrics or --resp say so, and nothing is kept without --data-dir.";
