//! The server's file as typed: what serde reads, and what its JSON schema describes.
//!
//! Not here: whether it makes sense (`check`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tollgate_contract::file::{Few, Node, Pairs, Text, given};

use super::catalogue::RawCatalogue;
use super::cluster::RawCluster;
use super::database::RawDatabase;
use super::forms::{RawContracts, RawListeners};
use super::rls::RawRls;
use super::statistics::RawStatistics;
use super::store::RawStore;

/// Settings of a Tollgate server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ServerFile")]
pub(crate) struct RawServer {
    /// Where HTTP and gRPC are served: an address, a list of them, or `off`. 127.0.0.1:8080 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "ListenersSchema")]
    pub(crate) http: Option<RawListeners>,
    /// Where RESP is served: an address, a list of them, or `off`. 127.0.0.1:6380 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "ListenersSchema")]
    pub(crate) resp: Option<RawListeners>,
    /// The management API and the console by themselves.
    #[serde(deserialize_with = "given")]
    pub(crate) admin: Option<RawAdmin>,
    /// Certificates of every TCP listener that names none of its own.
    #[serde(deserialize_with = "given")]
    pub(crate) tls: Option<RawTls>,
    /// The folder of durable counts; nothing is durable without.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) data_dir: Option<Text>,
    /// How often durable counts are written; 1s where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) flush_every: Option<Text>,
    /// The contract file, a management server (`xds://host:port`), or the contracts themselves.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "ContractsSchema")]
    pub(crate) contracts: Option<Node<RawContracts>>,
    /// Named sets of policies that contracts of this file follow.
    #[schemars(with = "serde_json::Value")]
    pub(crate) plans: Option<IgnoredAny>,
    /// Who may ask.
    #[serde(deserialize_with = "given")]
    pub(crate) access: Option<RawAccess>,
    /// Header fields that tell clients of their quota, where a contract says nothing else.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) headers: Option<Text>,
    /// Proxies whose word is taken for the address of a client.
    #[serde(deserialize_with = "given")]
    pub(crate) proxies: Option<RawProxies>,
    /// How requests that proxies ask about at /v1/auth become keys.
    #[serde(deserialize_with = "given")]
    pub(crate) auth: Option<RawAuth>,
    /// How much strangers may send and hold.
    #[serde(deserialize_with = "given")]
    pub(crate) limits: Option<RawLimits>,
    /// Memory for counting.
    #[serde(deserialize_with = "given")]
    pub(crate) memory: Option<RawMemory>,
    /// Threads that serve.
    #[serde(deserialize_with = "given")]
    pub(crate) runtime: Option<RawRuntime>,
    /// What the server tells of itself.
    #[serde(deserialize_with = "given")]
    pub(crate) telemetry: Option<RawTelemetry>,
    /// Several servers that count as one.
    #[serde(deserialize_with = "given")]
    pub(crate) cluster: Option<RawCluster>,
    /// An engine that many servers share.
    #[serde(deserialize_with = "given")]
    pub(crate) store: Option<RawStore>,
    /// The database of durable counts, where it is not a file in the data directory.
    #[serde(deserialize_with = "given")]
    pub(crate) database: Option<RawDatabase>,
    /// Where contracts, plans and assignments are live data.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Option<RawCatalogue>")]
    pub(crate) catalogue: Option<Node<RawCatalogue>>,
    /// What is kept of requests.
    #[serde(deserialize_with = "given")]
    pub(crate) statistics: Option<RawStatistics>,
    /// How imported rules of Envoy's rate limit service are counted and answered.
    #[serde(deserialize_with = "given")]
    pub(crate) rls: Option<RawRls>,
}

/// A listener.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Listener")]
pub(crate) struct RawListenerBody {
    /// Where: `127.0.0.1:8080`, `[::1]:0`, `unix:/run/tollgate.sock`.
    #[schemars(with = "String")]
    pub(crate) at: Text,
    /// The mode of a Unix socket in octal digits; 600 where absent.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) mode: Option<Text>,
    /// Certificates.
    #[serde(default, deserialize_with = "given")]
    pub(crate) tls: Option<RawTls>,
    /// Names that an HTTP listener at an address of this machine answers to, besides those of this machine.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Vec<String>")]
    pub(crate) hosts: Option<Few<Text, HOSTS_MAX>>,
}

/// The management API and the console by themselves.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Admin")]
pub(crate) struct RawAdmin {
    /// Where: an address, or a list of them. They are nowhere else then.
    #[schemars(with = "ListenersSchema")]
    pub(crate) listen: RawListeners,
}

/// Files of certificates, in PEM.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tls")]
pub(crate) struct RawTls {
    /// Our certificate, and those above it.
    #[schemars(with = "String")]
    pub(crate) certificate: Text,
    /// Its key.
    #[schemars(with = "String")]
    pub(crate) key: Text,
    /// Who must have signed a client's certificate; clients need none without.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) client_ca: Option<Text>,
}

/// Who may ask.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Access")]
pub(crate) struct RawAccess {
    /// Secrets of which a caller must show one, each of at least 16 bytes; behind it, where it is not for everything
    /// and for ever, ` scopes=check,write,observe` and ` expires=2027-01-01T00:00:00Z`.
    #[schemars(with = "Vec<String>", length(max = 64))]
    pub(crate) tokens: Few<Text, TOKENS_MAX>,
    /// A file with one of the same on every line, which only its owner may read; read again when it changes.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) token_file: Option<Text>,
    /// What becomes of a key that no contract binds, where the contract file does not say: `allow`, `warn` or `deny`;
    /// warn where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) unmatched: Option<Text>,
}

/// Proxies whose word is taken for the address of a client; one of `hops` and `networks`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Proxies")]
pub(crate) struct RawProxies {
    /// So many proxies in a row, where nobody can reach the server past them.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) hops: Option<Text>,
    /// Networks the proxies are in, as in 10.0.0.0/8.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Vec<String>")]
    pub(crate) networks: Option<Few<Text, 1024>>,
    /// The header they write: x-forwarded-for or forwarded.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) header: Option<Text>,
    /// How many first bits of an IPv6 address make a client; 64 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u8")]
    pub(crate) ipv6_prefix: Option<Text>,
}

/// How requests that proxies ask about become keys.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Auth")]
pub(crate) struct RawAuth {
    /// Entries beyond address, method, host and path: a name, and `header NAME` or `query NAME`.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) entries: Pairs<Text>,
    /// The longest an answer is held back for a proxy that asks with delay=hold; 5s where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) hold_max: Option<Text>,
}

/// How much strangers may send and hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Limits")]
pub(crate) struct RawLimits {
    /// Connections at once, all listeners together; 20000 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) connections: Option<Text>,
    /// Requests that are worked on at once; 10000 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) requests: Option<Text>,
    /// Bytes of one key; 4KiB where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) key: Option<Text>,
    /// Bytes of the head of an HTTP request; 16KiB where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) head: Option<Text>,
    /// Bytes of a body or a gRPC message; 1MiB where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) body: Option<Text>,
    /// Requests in one batch; 1000 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) batch: Option<Text>,
    /// Streams of one HTTP/2 connection; 256 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) streams: Option<Text>,
    /// How long a connection may be idle; 5m where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) idle: Option<Text>,
    /// How long a request may take to arrive, and an answer to be taken; 10s where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) slow: Option<Text>,
    /// How long connections may take to finish once the server stops; 10s where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) drain: Option<Text>,
    /// How long the server serves on after SIGTERM, while clients are sent elsewhere; 5s where absent, 0s not at all.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) shutdown_delay: Option<Text>,
    /// How old an HTTP connection may get, give or take a tenth, before its client is to connect again; any age where
    /// absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) connection_age: Option<Text>,
    /// How long the system's clock must stay where it was set before it is followed; 1m where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) clock_follow: Option<Text>,
    /// For how many seconds a quota that a data plane is assigned lives; nothing is assigned where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) quota_ttl: Option<Text>,
    /// The longest time that an assignment may be under way to a data plane; 5s where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) quota_delivery: Option<Text>,
    /// What a data plane is told of a bucket that cannot be served: `deny` or `allow`; `deny` where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) quota_unserved: Option<Text>,
}

/// Memory for counting.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Memory")]
pub(crate) struct RawMemory {
    /// The most that counting may take; 1GiB where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) max: Option<Text>,
    /// What happens to a new key when it is taken: evict forgets the key closest to fresh, refuse turns the new one
    /// away.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) when_full: Option<Text>,
    /// The most operation ids remembered at once; 1048576 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) ids: Option<Text>,
}

/// Threads that serve.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Runtime")]
pub(crate) struct RawRuntime {
    /// per-core gives each thread listeners and connections of its own, shared lets all serve all.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) kind: Option<Text>,
    /// How many; as many as there are cores where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) threads: Option<Text>,
}

/// What the server tells of itself.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Telemetry")]
pub(crate) struct RawTelemetry {
    /// What is logged: a level, or levels by part, as in `info,tollgate_serve::resp=debug`.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) log: Option<Text>,
    /// What a line of the log looks like: auto, text or json.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) log_format: Option<Text>,
    /// The collector of OpenTelemetry traces, as in `http://127.0.0.1:4317`.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) otlp: Option<Text>,
    /// How it is spoken to: grpc or http.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) otlp_protocol: Option<Text>,
    /// Of how many decisions one is traced; 0 traces none.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) trace_one_in: Option<Text>,
    /// Whether the texts of busy keys are shown; their hashes where not.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "bool")]
    pub(crate) show_keys: Option<Text>,
}

/// The JSON schema (draft 2020-12) of the server's file, indented, with a line end.
pub fn json_schema() -> String {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<RawServer>();
    format!("{:#}\n", schema.to_value())
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Listeners")]
#[expect(dead_code, reason = "only describes what `RawListeners` reads")]
enum ListenersSchema {
    One(ListenerSchema),
    Many(Vec<ListenerSchema>),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "AddressOrListener")]
#[expect(dead_code, reason = "only describes what `RawListener` reads")]
enum ListenerSchema {
    Address(String),
    Full(RawListenerBody),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Contracts")]
#[expect(dead_code, reason = "only describes what `RawContracts` reads")]
enum ContractsSchema {
    File(String),
    Here(Vec<serde_json::Value>),
}

/// The most names of a listener.
pub(crate) const HOSTS_MAX: usize = 64;
/// The most tokens in a file.
pub(crate) const TOKENS_MAX: usize = 64;
