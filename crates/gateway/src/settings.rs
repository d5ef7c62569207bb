//! Settings of a gateway. Not here: the command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tollgate_mqtt::PACKET_MAX;
use tollgate_serve::settings::Tls;

#[derive(Clone, Debug)]
pub struct GatewaySettings {
    pub listen: SocketAddr,
    /// The broker, as `host:port`.
    pub upstream: String,
    /// For refused messages that cannot be answered with a reason.
    pub on_quiet_refusal: OnQuietRefusal,
    /// The longest a message is held back; one that would wait longer is refused.
    pub delay_max: Duration,
    /// The most clients at once.
    pub connections_max: usize,
    /// The most bytes of one packet of a client.
    pub packet_max: u32,
    /// The most clients at once from one address.
    pub connections_per_address: usize,
    /// The server certificate; `None` for plain TCP.
    pub tls: Option<Tls>,
    /// `None` for plain TCP to the broker.
    pub upstream_tls: Option<UpstreamTls>,
    pub arrival: ArrivalTime,
    /// Without it, all clients stay where they connect.
    pub placement: Option<PlacementList>,
    pub patience: GatewayTimeouts,
}

/// A list of which clients belong to which gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementList {
    /// Must be the same for all gateways.
    pub file: PathBuf,
    /// The name of this gateway in the list.
    pub me: String,
}

/// TLS to the broker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamTls {
    /// Certificate authorities in PEM; `None` for those of the system.
    pub ca: Option<PathBuf>,
    /// The name in its certificate, if it is not the host in `upstream`.
    pub name: Option<String>,
    /// Client certificate chain and key, for a broker that asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// The time as of which a message is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalTime {
    /// When the kernel received it, so that scheduling of the gateway does not matter.
    #[default]
    Kernel,
    /// When the gateway reads it.
    Read,
}

/// For refusals that the protocol cannot express: under `QoS` 0, and in MQTT 3.1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnQuietRefusal {
    /// The message is dropped, counted, and acknowledged as if it had been accepted.
    #[default]
    Drop,
    /// The connection ends.
    Disconnect,
}

#[derive(Clone, Copy, Debug)]
pub struct GatewayTimeouts {
    /// Until a client has sent its CONNECT.
    pub hello: Duration,
    /// Until the broker is reached.
    pub dial: Duration,
    /// Until the broker's CONNACK.
    pub greeting: Duration,
    /// Without a byte accepted by the peer.
    pub stall: Duration,
    /// For pending messages of a closed client; the rest is dropped.
    pub leftovers: Duration,
    /// For the final packet, and for the other side to close after one has closed.
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
            // With the longest fixed header: the maximum.
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
