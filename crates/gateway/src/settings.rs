//! What a gateway is told. Not here: the command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tollgate_mqtt::PACKET_MAX;
use tollgate_serve::settings::Tls;

/// How a gateway is set up.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// The broker, as `host:port`.
    pub upstream: String,
    /// What becomes of a client whose refused message cannot be answered with a reason.
    pub on_quiet_refusal: OnQuietRefusal,
    /// The longest a message is held back; one that would wait longer is refused.
    pub delay_max: Duration,
    /// The most clients at once.
    pub connections_max: usize,
    /// The most bytes of one packet of a client.
    pub packet_max: u32,
    /// The most clients at once from one address.
    pub connections_per_address: usize,
    /// Certificates that clients are shown; in clear without.
    pub tls: Option<Tls>,
    /// How the broker proves who it is; in clear without.
    pub upstream_tls: Option<UpstreamTls>,
    /// As of when messages are decided.
    pub arrival: ArrivalTime,
    /// Which clients belong to which gateway; all stay where they are without.
    pub placement: Option<PlacementList>,
    /// How long things may take that should not.
    pub patience: GatewayTimeouts,
}

/// A list of which clients belong to which gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementList {
    /// The list; the same for all gateways.
    pub file: PathBuf,
    /// What this gateway is called there.
    pub me: String,
}

/// How the broker proves who it is, and who the gateway is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamTls {
    /// Who must have signed its certificate, in PEM; the system's authorities without.
    pub ca: Option<PathBuf>,
    /// The name in its certificate, where that is not the host that is dialled.
    pub name: Option<String>,
    /// Our own certificate with those above it, and its key, for a broker that asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// As of when a message is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalTime {
    /// As of when the system received it, so that it does not matter when the gateway gets to run.
    #[default]
    Kernel,
    /// As of when the gateway reads it.
    Read,
}

/// What happens where the protocol has no words for a refusal: under `QoS` 0, and in MQTT 3.1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnQuietRefusal {
    /// The message is dropped, counted, and acknowledged as if it had been taken.
    #[default]
    Drop,
    /// The connection ends.
    Disconnect,
}

/// How long things may take that should not.
#[derive(Clone, Copy, Debug)]
pub struct GatewayTimeouts {
    /// Until a client has sent its CONNECT.
    pub hello: Duration,
    /// Until the broker is reached.
    pub dial: Duration,
    /// Until the broker has said whether it lets a client in.
    pub greeting: Duration,
    /// Without a byte taken by whoever is written to.
    pub stall: Duration,
    /// Until what a client that has gone left behind has passed; the rest is dropped.
    pub leftovers: Duration,
    /// For last words, and for the other side to go when one has gone.
    pub linger: Duration,
}

impl Default for GatewaySettings {
    /// Loopback only, in front of a broker on its usual port.
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 1884).into(),
            upstream: "127.0.0.1:1883".to_owned(),
            on_quiet_refusal: OnQuietRefusal::Drop,
            delay_max: Duration::from_secs(10),
            connections_max: 10_000,
            // With the longest fixed header: as much as there can be.
            packet_max: PACKET_MAX + 5,
            connections_per_address: usize::MAX,
            tls: None,
            upstream_tls: None,
            arrival: ArrivalTime::default(),
            placement: None,
            patience: GatewayTimeouts::default(),
        }
    }
}

impl Default for GatewayTimeouts {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(10),
            dial: Duration::from_secs(5),
            greeting: Duration::from_secs(30),
            stall: Duration::from_mins(5),
            leftovers: Duration::from_secs(10),
            linger: Duration::from_secs(2),
        }
    }
}
