//! The settings of a server: listeners, authorization, limits.
//!
//! Not here: contracts, which change while the server runs.

mod address;
mod catalogue;
mod cluster;
mod database;
mod draft;
mod file;
mod forms;
mod kinds;
mod listeners;
mod overrides;
mod reference;
mod rls;
mod roster;
mod setting;
mod size;
mod slot;
mod statistics;
mod store;
mod token;
mod xds;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tollgate_contract::Dialect;
use tollgate_http::ClientAddress;
use tollgate_node::{NodeConfig, QuotaRules};

pub use crate::auth::{AuthSettings, EntrySource};
pub use crate::logs::{LogFormat, LogSettings};
pub use crate::traces::{TraceProtocol, TraceSettings};
pub use crate::upstream::UpstreamSettings;
pub use address::{AddressError, ListenAddress};
pub use catalogue::{CataloguePlace, CatalogueSettings, KeyPlace};
pub use cluster::{CLUSTER_DEFAULT, ClusterSettings, Join};
pub use database::{DatabaseSettings, DatabaseUrl, WriterName};
pub use file::is_server_file;
pub use overrides::{OverrideError, Overrides, misspelt};
pub use reference::json_schema;
pub use rls::RlsSettings;
pub use roster::{ROSTER_MAX, roster};
pub use setting::{Setting, flags};
pub use statistics::StatisticsSettings;
pub use store::{StoreSettings, StoreUrl};
pub use token::{Scopes, TOKEN_BYTES_MIN, Token, TokenScope, Tokens};
pub use tollgate_client::ClientTls;
pub use xds::XdsSource;

#[derive(Clone, Debug)]
pub struct Settings {
    pub file: Option<PathBuf>,
    /// Where durable counts are kept; nothing is durable without this or a database.
    pub data_dir: Option<PathBuf>,
    pub contracts: ContractSource,
    /// HTTP and gRPC, followed by listeners of the admin API alone, if it is separate.
    pub http: Vec<Listener>,
    pub resp: Vec<Listener>,
    /// Every request on the data plane must present one; if empty, everyone may ask.
    pub tokens: Tokens,
    /// Header fields with a client's quota, unless a contract names others.
    pub dialect: Dialect,
    /// How the address of a client behind proxies is found.
    pub client_address: ClientAddress,
    pub auth: AuthSettings,
    /// Limits on clients.
    pub limits: RequestLimits,
    pub node: NodeConfig,
    /// Persistence besides memory.
    pub keeping: Keeping,
    /// Which threads serve.
    pub runtime: Runtime,
    /// Logs, traces, and what is shown.
    pub telemetry: Telemetry,
    pub cluster: Option<ClusterSettings>,
}

/// Where counts and contracts are kept besides memory, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Interval of writes of durable counts.
    pub flush_every: Duration,
    /// The shared store, if any.
    pub store: Option<StoreSettings>,
    /// The database of durable counts, if they are not in a file in the data directory.
    pub database: Option<DatabaseSettings>,
    /// The catalogue, if contracts are live data.
    pub catalogue: Option<CatalogueSettings>,
    /// What is kept of requests.
    pub statistics: StatisticsSettings,
    /// The nodes that decide in this server's place, if it is a sidecar.
    pub upstream: Option<UpstreamSettings>,
    pub rls: RlsSettings,
}

impl Default for Keeping {
    fn default() -> Self {
        Self {
            flush_every: Duration::from_secs(1),
            store: None,
            database: None,
            catalogue: None,
            statistics: StatisticsSettings::default(),
            upstream: None,
            rls: RlsSettings::default(),
        }
    }
}

/// What a server reports about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telemetry {
    pub logs: LogSettings,
    /// Traces, if there is a collector.
    pub traces: Option<TraceSettings>,
    /// Whether `/v1/top` shows the texts of busy keys, or only their hashes.
    pub show_keys: bool,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            logs: LogSettings::default(),
            traces: None,
            show_keys: true,
        }
    }
}

/// Where contracts come from. Files are read again when they change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ContractSource {
    /// Nothing is limited.
    #[default]
    None,
    /// A contract file, or a descriptor file of envoyproxy/ratelimit.
    File(PathBuf),
    /// The server's own file, among its settings.
    Within(PathBuf),
    /// A constant text.
    Text(String),
    /// A management server, which is followed.
    Xds(XdsSource),
}

/// Which threads serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// How they share the work.
    pub kind: RuntimeKind,
    /// As many as there are cores if absent.
    pub threads: Option<usize>,
}

/// How threads share the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuntimeKind {
    /// Each has its own listeners and connections.
    #[default]
    PerCore,
    /// All serve all connections.
    Shared,
}

impl RuntimeKind {
    pub const ALL: [Self; 2] = [Self::PerCore, Self::Shared];
    /// Their names in files and flags.
    pub const NAMES: [&'static str; 2] = ["per-core", "shared"];
}

/// The default listener of HTTP and gRPC.
pub const HTTP_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// The default listener of RESP: beside the usual port of Redis, not in its place.
pub const RESP_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 6380);

/// A listener of one protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    pub at: ListenAddress,
    /// Certificates, for TLS.
    pub tls: Option<Tls>,
    /// Accepted names besides those of this machine, if only this machine reaches it.
    pub hosts: Vec<String>,
    /// Whether it is for the admin API alone, which then is on no other listener.
    pub is_admin: bool,
}

impl Listener {
    pub const fn plain(at: ListenAddress) -> Self {
        Self {
            at,
            tls: None,
            hosts: Vec::new(),
            is_admin: false,
        }
    }

    /// The same for the admin API alone.
    #[must_use]
    pub fn for_admin(self) -> Self {
        let is_admin = true;
        Self { is_admin, ..self }
    }

    /// A free port of this machine that other machines cannot reach.
    pub const fn loopback() -> Self {
        let anywhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Self::plain(ListenAddress::Tcp(anywhere))
    }
}

/// Files of certificates, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Our certificate chain.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The authority of client certificates; without one, clients need none.
    pub client_ca: Option<PathBuf>,
}

/// Limits on what clients may send and hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Over all protocols.
    pub connections_max: usize,
    /// Requests beyond are shed.
    pub requests_max: usize,
    /// Bytes of one key, all its entries together.
    pub key_bytes_max: usize,
    /// Bytes of the head of an HTTP request.
    pub head_bytes_max: usize,
    /// Bytes of a body or of a gRPC message.
    pub body_bytes_max: usize,
    pub batch_max: usize,
    /// Per HTTP/2 connection.
    pub streams_max: u32,
    /// How long a connection may be idle.
    pub idle: Duration,
    /// How long a request may take to arrive once it began, and an answer to be read.
    pub slow: Duration,
    /// How long the server serves on after the stop signal, while clients are sent elsewhere.
    pub shutdown_delay: Duration,
    /// How long connections may take to finish once the server stops.
    pub drain: Duration,
    /// The age at which an HTTP client has to reconnect, if limited.
    pub connection_age: Option<Duration>,
    /// How long the system's clock must stay where it was set before it is followed.
    pub clock_follow: Duration,
    pub quota: QuotaLimits,
}

/// How data planes are assigned quotas (RLQS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaLimits {
    /// Lifetime of an assignment in seconds; zero disables assignments.
    pub ttl_s: u32,
    /// The longest transit of an assignment; slower connections are closed.
    pub delivery: Duration,
    /// Whether requests pass if their bucket cannot be served.
    pub allows_unserved: bool,
}

impl QuotaLimits {
    /// The rules by which quotas are assigned, if they are.
    pub(crate) fn rules(&self) -> Option<QuotaRules> {
        (self.ttl_s > 0).then(|| QuotaRules {
            ttl_s: self.ttl_s,
            delivery_ns: u64::try_from(self.delivery.as_nanos()).unwrap_or(u64::MAX),
            ..QuotaRules::default()
        })
    }

    /// The same in a cluster: an assignment may be in transit from the owner of the key to the node that has the
    /// stream.
    pub(crate) fn rules_among_nodes(&self) -> Option<QuotaRules> {
        let delivery = self.delivery.saturating_add(QUOTA_HOP);
        let rules = Self { delivery, ..*self }.rules()?;
        // Reports about a stream are late as well.
        let stale_ns = rules.delivery_ns;
        Some(QuotaRules { stale_ns, ..rules })
    }

    /// How long a new owner of a key assigns nothing: assignments of the last owner may be in use, and nodes may not
    /// know yet who joined or left.
    pub(crate) fn silence_among_nodes(&self) -> Option<Duration> {
        let rules = self.rules_among_nodes()?;
        Some(Duration::from_nanos(rules.hold_ns()) + UNHEARD)
    }
}

/// The longest transit of an assignment from the owner of a key to the node that has the stream; a later one is
/// dropped.
pub(crate) const QUOTA_HOP: Duration = Duration::from_secs(1);
/// How long nodes may not know who joined or left.
const UNHEARD: Duration = Duration::from_secs(1);

impl Default for QuotaLimits {
    fn default() -> Self {
        Self {
            ttl_s: 0,
            delivery: Duration::from_secs(1),
            allows_unserved: false,
        }
    }
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            connections_max: 20_000,
            requests_max: 10_000,
            key_bytes_max: 4 << 10,
            head_bytes_max: 16 << 10,
            body_bytes_max: 1 << 20,
            batch_max: 1_000,
            streams_max: 256,
            idle: Duration::from_mins(5),
            slow: Duration::from_secs(10),
            shutdown_delay: Duration::from_secs(5),
            drain: Duration::from_secs(10),
            connection_age: None,
            clock_follow: Duration::from_mins(1),
            quota: QuotaLimits::default(),
        }
    }
}

impl Settings {
    /// Settings with every listener at its default.
    pub fn served_by_default() -> Self {
        let at = |address| vec![Listener::plain(ListenAddress::Tcp(address))];
        Self {
            http: at(HTTP_DEFAULT),
            resp: at(RESP_DEFAULT),
            ..Self::default()
        }
    }

    /// Sets the certificates of every TCP listener without its own.
    pub(crate) fn secure(&mut self, tls: &Tls) {
        let bare = |listener: &&mut Listener| {
            listener.tls.is_none() && matches!(listener.at, ListenAddress::Tcp(_))
        };
        for listener in self.http.iter_mut().chain(&mut self.resp).filter(bare) {
            listener.tls = Some(tls.clone());
        }
    }

    /// Names of the fields, as in the file, that differ and cannot change while the server runs.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let is_same = [
            ("http, admin", self.http == other.http),
            ("resp", self.resp == other.resp),
            ("data_dir", self.data_dir == other.data_dir),
            (
                "flush_every",
                self.keeping.flush_every == other.keeping.flush_every,
            ),
            ("store", self.keeping.store == other.keeping.store),
            ("database", self.keeping.database == other.keeping.database),
            (
                "catalogue",
                self.keeping.catalogue == other.keeping.catalogue,
            ),
            (
                "statistics",
                self.keeping.statistics == other.keeping.statistics,
            ),
            ("rls", self.keeping.rls == other.keeping.rls),
            ("contracts", self.contracts == other.contracts),
            (
                "access.unmatched",
                self.node.unmatched == other.node.unmatched,
            ),
            ("headers", self.dialect == other.dialect),
            ("proxies", self.client_address == other.client_address),
            ("auth", self.auth == other.auth),
            ("limits", self.limits == other.limits),
            (
                "memory",
                self.node
                    == NodeConfig {
                        unmatched: self.node.unmatched,
                        ..other.node
                    },
            ),
            ("runtime", self.runtime == other.runtime),
            ("telemetry", self.telemetry == other.telemetry),
            ("cluster", self.lasting_cluster() == other.lasting_cluster()),
        ];
        let changed = is_same.into_iter().filter(|(_, is_same)| !is_same);
        changed.map(|(name, _)| name).collect()
    }

    /// The cluster settings that cannot change while the server runs.
    fn lasting_cluster(&self) -> Option<ClusterSettings> {
        let cluster = self.cluster.clone();
        cluster.map(|cluster| ClusterSettings {
            // A roster may change, but not appear.
            roster: None,
            ..cluster
        })
    }

    /// Listeners that other machines can reach without credentials.
    pub fn open_to_all(&self) -> impl Iterator<Item = &Listener> {
        let listeners = self.http.iter().chain(&self.resp);
        listeners.filter(|listener| {
            let asks = listener
                .tls
                .as_ref()
                .is_some_and(|tls| tls.client_ca.is_some());
            !listener.at.is_near() && self.tokens.is_empty() && !asks
        })
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            file: None,
            data_dir: None,
            contracts: ContractSource::None,
            http: Vec::new(),
            resp: Vec::new(),
            tokens: Tokens::default(),
            dialect: Dialect::default(),
            client_address: ClientAddress::default(),
            auth: AuthSettings::default(),
            limits: RequestLimits::default(),
            node: NodeConfig::default(),
            keeping: Keeping::default(),
            runtime: Runtime::default(),
            telemetry: Telemetry::default(),
            cluster: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_is_silent_about_quotas_for_as_long_as_docs_say() {
        let off = QuotaLimits::default();
        assert_eq!(off.silence_among_nodes(), None);
        let on = QuotaLimits { ttl_s: 20, ..off };
        let silent = on.silence_among_nodes().expect("quotas are on");
        assert_eq!(silent.as_secs(), 23);
    }
}
