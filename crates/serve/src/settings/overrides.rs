//! What flags and the environment say; each beats what is below it.
//!
//! Flags beat the environment, the environment beats the file, the file beats the defaults.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_contract::file::nanos_of;
use tollgate_contract::{Coordination, nearest};

use super::cluster::{self, ClusterOverrides};
use super::file::{LOG_FORMATS, MEMORY, THREADS_MAX};
use super::{
    Address, CataloguePlace, CatalogueSettings, ClientTls, ContractSource, DatabaseSettings,
    DatabaseUrl, Keeping, Listener, LogFormat, RuntimeKind, Seat, Settings, StoreSettings,
    StoreUrl, Tls, Tokens, TraceProtocol, TraceSettings, UpstreamSettings, rls, size, token,
};

/// What is said outside the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The server's file.
    pub config: Option<PathBuf>,
    /// The contract file.
    pub contracts: Option<PathBuf>,
    /// The folder of durable counts.
    pub data_dir: Option<PathBuf>,
    /// Where HTTP and gRPC are served; nowhere where empty.
    pub http: Option<Vec<Address>>,
    /// Where RESP is served; nowhere where empty.
    pub resp: Option<Vec<Address>>,
    /// Where the management API is by itself; with the rest of HTTP where empty.
    pub admin: Option<Vec<Address>>,
    /// Secrets of which callers must show one.
    pub tokens: Option<Tokens>,
    /// Certificates of every TCP listener that names none of its own.
    pub tls: Option<Tls>,
    /// Which threads serve, and for how long once they should not.
    pub runtime: RuntimeOverrides,
    /// The most bytes that counting may take.
    pub memory: Option<u64>,
    /// What is logged.
    pub log: Option<String>,
    /// What a line of the log looks like.
    pub log_format: Option<LogFormat>,
    /// The collector of traces.
    pub otlp: Option<String>,
    /// How it takes part in a cluster.
    pub cluster: ClusterOverrides,
    /// Where counts are kept besides memory.
    pub stores: StoreOverrides,
}

/// What is said of threads and of the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuntimeOverrides {
    /// How threads share the work.
    pub kind: Option<RuntimeKind>,
    /// How many threads serve.
    pub threads: Option<usize>,
    /// How long the server serves on after it was told to stop.
    pub shutdown_delay: Option<Duration>,
}

/// What is said of engines and databases.
#[derive(Clone, Debug, Default)]
pub struct StoreOverrides {
    /// The engine that many nodes share.
    pub store: Option<StoreUrl>,
    /// The database of durable counts.
    pub database: Option<DatabaseUrl>,
    /// Whose rows there are ours.
    pub seat: Option<Seat>,
    /// Where contracts are live data.
    pub catalogue: Option<CataloguePlace>,
    /// The key of its sessions and links.
    pub catalogue_key: Option<PathBuf>,
    /// Nodes that decide in this server's place.
    pub upstream: Option<UpstreamSettings>,
    /// How imported rules are counted and answered.
    pub rls: RlsOverrides,
}

/// What is said of imported rules.
#[derive(Clone, Debug, Default)]
pub struct RlsOverrides {
    /// How nodes agree about them.
    pub coordination: Option<Coordination>,
    /// Whether no request is refused as a whole.
    pub shadow: Option<bool>,
    /// TLS to the management server that they come from.
    pub xds: Option<ClientTls>,
}

/// What is wrong with a value from outside the file, and where it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverrideError {
    /// The variable or flag.
    pub name: String,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for OverrideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

impl std::error::Error for OverrideError {}

impl Overrides {
    /// What the environment says; `variable` looks one up.
    pub fn of_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, OverrideError> {
        let path = |name| variable(name).map(PathBuf::from);
        Ok(Self {
            config: path("TOLLGATE_CONFIG"),
            contracts: path("TOLLGATE_CONTRACTS"),
            data_dir: path("TOLLGATE_DATA_DIR"),
            http: read(&variable, "TOLLGATE_HTTP", addresses)?,
            resp: read(&variable, "TOLLGATE_RESP", addresses)?,
            admin: read(&variable, "TOLLGATE_ADMIN_LISTEN", addresses)?,
            tokens: tokens(&variable)?,
            tls: tls(&variable)?,
            runtime: RuntimeOverrides {
                kind: read(&variable, "TOLLGATE_RUNTIME", runtime)?,
                threads: read(&variable, "TOLLGATE_THREADS", threads)?,
                shutdown_delay: read(&variable, "TOLLGATE_SHUTDOWN_DELAY", delay)?,
            },
            memory: read(&variable, "TOLLGATE_MEMORY", memory)?,
            log: variable("TOLLGATE_LOG"),
            log_format: read(&variable, "TOLLGATE_LOG_FORMAT", log_format)?,
            otlp: variable("TOLLGATE_OTLP"),
            cluster: ClusterOverrides::of_environment(&variable).map_err(|(name, what)| {
                OverrideError {
                    name: name.to_owned(),
                    what,
                }
            })?,
            stores: StoreOverrides {
                store: read(&variable, "TOLLGATE_STORE", str::parse)?,
                database: read(&variable, "TOLLGATE_DATABASE", str::parse)?,
                seat: read(&variable, "TOLLGATE_SEAT", str::parse)?,
                catalogue: read(&variable, "TOLLGATE_CATALOGUE", str::parse)?,
                catalogue_key: path("TOLLGATE_CATALOGUE_KEY_FILE"),
                upstream: upstream(&variable),
                rls: RlsOverrides {
                    coordination: read(&variable, "TOLLGATE_RLS_COORDINATION", rls::coordination)?,
                    shadow: read(&variable, "TOLLGATE_RLS_SHADOW", switch)?,
                    xds: client_tls(&variable, "TOLLGATE_XDS"),
                },
            },
        })
    }

    /// These, and where they are silent those below.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            config: self.config.or(below.config),
            contracts: self.contracts.or(below.contracts),
            data_dir: self.data_dir.or(below.data_dir),
            http: self.http.or(below.http),
            resp: self.resp.or(below.resp),
            admin: self.admin.or(below.admin),
            tokens: self.tokens.or(below.tokens),
            tls: self.tls.or(below.tls),
            runtime: RuntimeOverrides {
                kind: self.runtime.kind.or(below.runtime.kind),
                threads: self.runtime.threads.or(below.runtime.threads),
                shutdown_delay: self.runtime.shutdown_delay.or(below.runtime.shutdown_delay),
            },
            memory: self.memory.or(below.memory),
            log: self.log.or(below.log),
            log_format: self.log_format.or(below.log_format),
            otlp: self.otlp.or(below.otlp),
            cluster: self.cluster.over(below.cluster),
            stores: self.stores.over(below.stores),
        }
    }

    /// Changes settings to what is said here. A listener keeps its certificates where only its address is said again.
    pub fn apply(self, settings: &mut Settings) {
        let plain = |list: Vec<Address>| -> Vec<Listener> {
            list.into_iter().map(Listener::plain).collect()
        };
        let tls_of = |listeners: &[Listener]| listeners.iter().find_map(|l| l.tls.clone());
        let of_file = tls_of(&settings.http).or_else(|| tls_of(&settings.resp));
        let moves = self.http.is_some() || self.resp.is_some() || self.admin.is_some();
        let listeners = std::mem::take(&mut settings.http).into_iter();
        let (mut apart, http): (Vec<_>, Vec<_>) = listeners.partition(|it| it.is_admin);
        settings.http = self.http.map_or(http, plain);
        let said = |list| plain(list).into_iter().map(Listener::for_admin);
        replace(&mut apart, self.admin.map(|list| said(list).collect()));
        settings.http.append(&mut apart);
        replace(&mut settings.resp, self.resp.map(plain));
        if let Some(tls) = self.tls.or(of_file.filter(|_| moves)) {
            settings.secure(&tls);
        }
        replace(
            &mut settings.contracts,
            self.contracts.map(ContractSource::named),
        );
        replace(&mut settings.tokens, self.tokens);
        replace(&mut settings.runtime.kind, self.runtime.kind);
        replace(
            &mut settings.limits.shutdown_delay,
            self.runtime.shutdown_delay,
        );
        replace(&mut settings.node.bytes_max, self.memory);
        replace(&mut settings.telemetry.logs.filter, self.log);
        replace(&mut settings.telemetry.logs.format, self.log_format);
        self.cluster.apply(&mut settings.cluster);
        self.stores.apply(&mut settings.keeping);
        settings.data_dir = self.data_dir.or(settings.data_dir.take());
        settings.runtime.threads = self.runtime.threads.or(settings.runtime.threads);
        if let Some(endpoint) = self.otlp {
            let before = settings.telemetry.traces.take();
            settings.telemetry.traces = Some(TraceSettings {
                endpoint,
                protocol: before
                    .as_ref()
                    .map_or(TraceProtocol::Grpc, |traces| traces.protocol),
                one_in: before.map_or(0, |traces| traces.one_in),
            });
        }
    }
}

impl StoreOverrides {
    fn over(self, below: Self) -> Self {
        Self {
            store: self.store.or(below.store),
            database: self.database.or(below.database),
            seat: self.seat.or(below.seat),
            catalogue: self.catalogue.or(below.catalogue),
            catalogue_key: self.catalogue_key.or(below.catalogue_key),
            upstream: match (self.upstream, below.upstream) {
                (Some(own), Some(below)) => Some(UpstreamSettings {
                    token: own.token.or(below.token),
                    zone: own.zone.or(below.zone),
                    tls: own.tls.or(below.tls),
                    ..own
                }),
                (own, below) => own.or(below),
            },
            rls: RlsOverrides {
                coordination: self.rls.coordination.or(below.rls.coordination),
                shadow: self.rls.shadow.or(below.rls.shadow),
                xds: self.rls.xds.or(below.rls.xds),
            },
        }
    }

    fn apply(self, keeping: &mut Keeping) {
        replace(
            &mut keeping.upstream,
            self.upstream
                .filter(|told| !told.nodes.is_empty())
                .map(Some),
        );
        if let Some(url) = self.store {
            match &mut keeping.store {
                Some(store) => store.url = url,
                store => *store = Some(StoreSettings::new(url)),
            }
        }
        if let Some(url) = self.database {
            match &mut keeping.database {
                Some(database) => database.url = url,
                database => *database = Some(DatabaseSettings::new(url)),
            }
        }
        if let Some(at) = self.catalogue {
            match &mut keeping.catalogue {
                Some(catalogue) => catalogue.at = at,
                catalogue => *catalogue = Some(CatalogueSettings::new(at)),
            }
        }
        if let (Some(file), Some(catalogue)) = (self.catalogue_key, &mut keeping.catalogue) {
            catalogue.key_file = Some(file);
        }
        let rls = &mut keeping.rls;
        replace(&mut rls.coordination, self.rls.coordination.map(Some));
        replace(&mut rls.shadow, self.rls.shadow);
        replace(&mut rls.xds, self.rls.xds.map(Some));
        if let Some(database) = &mut keeping.database {
            database.seat = self.seat.or(database.seat.take());
        }
    }
}

/// The variable that a name was probably meant to be, where it is none.
pub fn misspelt(name: &str) -> Option<&'static str> {
    let all = || VARIABLES.into_iter().chain(cluster::VARIABLES);
    let is_ours = name.starts_with("TOLLGATE_") && !all().any(|known| known == name);
    is_ours.then(|| nearest(name, all())).flatten()
}

/// Addresses between commas, or `off`.
fn addresses(text: &str) -> Result<Vec<Address>, String> {
    if text == "off" {
        return Ok(Vec::new());
    }
    // A comma also stands before the mode of a Unix socket.
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',') {
        match parts.last_mut() {
            Some(last) if part.starts_with("mode=") => {
                last.push(',');
                last.push_str(part);
            }
            _ => parts.push(part.trim().to_owned()),
        }
    }
    let read = parts.iter().map(|part| part.parse::<Address>());
    read.collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

fn runtime(text: &str) -> Result<RuntimeKind, String> {
    let place = RuntimeKind::NAMES.iter().position(|name| *name == text);
    place
        .map(|place| RuntimeKind::ALL[place])
        .ok_or_else(|| one_of(&RuntimeKind::NAMES))
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    let format = LOG_FORMATS.iter().find(|(name, _)| *name == text);
    format
        .map(|(_, format)| *format)
        .ok_or_else(|| one_of(&LOG_FORMATS.map(|(name, _)| name)))
}

fn one_of(names: &[&str]) -> String {
    format!("must be one of {}", names.join(", "))
}

fn threads(text: &str) -> Result<usize, String> {
    let number = text
        .parse::<u64>()
        .ok()
        .filter(|number| (1..=THREADS_MAX).contains(number));
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| format!("must be a whole number from 1 to {THREADS_MAX}"))
}

fn delay(text: &str) -> Result<Duration, String> {
    nanos_of(text).map(Duration::from_nanos)
}

fn memory(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    let (least, most) = MEMORY;
    let is_fit = (least..=most).contains(&bytes);
    is_fit.then_some(bytes).ok_or_else(|| {
        format!(
            "must be from {} to {}",
            size::shown(least),
            size::shown(most)
        )
    })
}

type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Nodes of a sidecar: `TOLLGATE_UPSTREAM`, a comma between them, with `TOLLGATE_UPSTREAM_TOKEN`, `TOLLGATE_ZONE` and,
/// for TLS, `TOLLGATE_UPSTREAM_CA`, `TOLLGATE_UPSTREAM_CERT` and `TOLLGATE_UPSTREAM_KEY`.
fn upstream(variable: &impl Fn(&str) -> Option<String>) -> Option<UpstreamSettings> {
    let nodes = variable("TOLLGATE_UPSTREAM").unwrap_or_default();
    let nodes = nodes
        .split(',')
        .map(str::trim)
        .filter(|node| !node.is_empty());
    let told = UpstreamSettings {
        nodes: nodes.map(str::to_owned).collect(),
        token: variable("TOLLGATE_UPSTREAM_TOKEN"),
        zone: variable("TOLLGATE_ZONE"),
        tls: client_tls(variable, "TOLLGATE_UPSTREAM"),
    };
    let is_told = told.token.is_some() || told.zone.is_some() || told.tls.is_some();
    let is_told = is_told || !told.nodes.is_empty();
    is_told.then_some(told)
}

/// Whom to believe over TLS, and what to show: `…_CA`, `…_CERT` and `…_KEY`.
fn client_tls(variable: &impl Fn(&str) -> Option<String>, of: &str) -> Option<ClientTls> {
    let path = |what| variable(&format!("{of}_{what}")).map(PathBuf::from);
    Some(ClientTls {
        authority: path("CA")?,
        certificate: path("CERT").zip(path("KEY")),
    })
}

fn switch(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| one_of(&["true", "false"]))
}

fn read<T>(
    variable: Variable<'_>,
    name: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, OverrideError> {
    let parsed = variable(name).map(|text| parse(&text)).transpose();
    parsed.map_err(|what| OverrideError {
        name: name.to_owned(),
        what,
    })
}

/// A token in the environment, and those in a file.
fn tokens(variable: Variable<'_>) -> Result<Option<Tokens>, OverrideError> {
    let token = read(variable, "TOLLGATE_TOKEN", token::checked)?;
    let said = Vec::from_iter(token);
    let has_one = !said.is_empty();
    let read = read(variable, "TOLLGATE_TOKEN_FILE", |path| {
        Tokens::read(said.clone(), Some(path.into()))
    })?;
    Ok(read.or_else(|| has_one.then(|| said.into())))
}

fn tls(variable: Variable<'_>) -> Result<Option<Tls>, OverrideError> {
    let path = |name: &str| variable(name).map(PathBuf::from);
    let client_ca = path("TOLLGATE_TLS_CLIENT_CA");
    match (path("TOLLGATE_TLS_CERTIFICATE"), path("TOLLGATE_TLS_KEY")) {
        (Some(certificate), Some(key)) => Ok(Some(Tls {
            certificate,
            key,
            client_ca,
        })),
        (None, None) if client_ca.is_none() => Ok(None),
        _ => Err(OverrideError {
            name: "TOLLGATE_TLS_CERTIFICATE".to_owned(),
            what: "a certificate and its key (TOLLGATE_TLS_KEY) must be given together".to_owned(),
        }),
    }
}

fn replace<T>(old: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *old = new;
    }
}

/// Every variable.
const VARIABLES: [&str; 32] = [
    "TOLLGATE_ADMIN_LISTEN",
    "TOLLGATE_SHUTDOWN_DELAY",
    "TOLLGATE_CONFIG",
    "TOLLGATE_CONTRACTS",
    "TOLLGATE_DATA_DIR",
    "TOLLGATE_HTTP",
    "TOLLGATE_RESP",
    "TOLLGATE_TOKEN",
    "TOLLGATE_TOKEN_FILE",
    "TOLLGATE_TLS_CERTIFICATE",
    "TOLLGATE_TLS_KEY",
    "TOLLGATE_TLS_CLIENT_CA",
    "TOLLGATE_RUNTIME",
    "TOLLGATE_THREADS",
    "TOLLGATE_MEMORY",
    "TOLLGATE_LOG",
    "TOLLGATE_LOG_FORMAT",
    "TOLLGATE_OTLP",
    "TOLLGATE_STORE",
    "TOLLGATE_DATABASE",
    "TOLLGATE_SEAT",
    "TOLLGATE_CATALOGUE",
    "TOLLGATE_CATALOGUE_KEY_FILE",
    "TOLLGATE_UPSTREAM",
    "TOLLGATE_UPSTREAM_TOKEN",
    "TOLLGATE_ZONE",
    "TOLLGATE_ADMIN_TOKEN",
    "TOLLGATE_RLS_COORDINATION",
    "TOLLGATE_RLS_SHADOW",
    "TOLLGATE_XDS_CA",
    "TOLLGATE_XDS_CERT",
    "TOLLGATE_XDS_KEY",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Result<Overrides, OverrideError> {
        Overrides::of_environment(|name| {
            let pair = pairs.iter().find(|(key, _)| *key == name);
            pair.map(|(_, value)| (*value).to_owned())
        })
    }

    fn shown(listeners: &[Listener]) -> Vec<String> {
        listeners
            .iter()
            .map(|listener| listener.at.to_string())
            .collect()
    }

    #[test]
    fn flags_beat_the_environment_and_that_beats_the_file() {
        let mut settings = Settings::served_by_default();
        settings.data_dir = Some("of-file".into());
        let below = environment(&[
            ("TOLLGATE_HTTP", "127.0.0.1:1"),
            ("TOLLGATE_RESP", "off"),
            ("TOLLGATE_DATA_DIR", "of-environment"),
            ("TOLLGATE_MEMORY", "64MiB"),
        ]);
        let flags = Overrides {
            http: Some(vec!["127.0.0.1:2".parse().unwrap()]),
            ..Overrides::default()
        };
        flags.over(below.unwrap()).apply(&mut settings);
        assert_eq!(shown(&settings.http), ["127.0.0.1:2"]);
        assert!(settings.resp.is_empty());
        assert_eq!(settings.data_dir, Some("of-environment".into()));
        assert_eq!(settings.node.bytes_max, 64 << 20);
    }

    #[test]
    fn the_management_api_keeps_its_listeners_where_only_the_others_move() {
        let mut settings = Settings::served_by_default();
        let apart = Listener::plain("127.0.0.1:9".parse().unwrap()).for_admin();
        settings.http.push(apart);
        let moved = environment(&[
            ("TOLLGATE_HTTP", "127.0.0.1:1"),
            ("TOLLGATE_SHUTDOWN_DELAY", "0s"),
        ]);
        moved.unwrap().apply(&mut settings);
        assert_eq!(shown(&settings.http), ["127.0.0.1:1", "127.0.0.1:9"]);
        assert_eq!(settings.limits.shutdown_delay, Duration::ZERO);
        let moved = environment(&[("TOLLGATE_ADMIN_LISTEN", "127.0.0.1:8")]);
        moved.unwrap().apply(&mut settings);
        assert_eq!(shown(&settings.http), ["127.0.0.1:1", "127.0.0.1:8"]);
        assert!(!settings.http[0].is_admin && settings.http[1].is_admin);
        assert!(environment(&[("TOLLGATE_SHUTDOWN_DELAY", "5")]).is_err());
    }

    #[test]
    fn several_addresses_stand_between_commas() {
        let text = "127.0.0.1:1, unix:/run/a,mode=660,[::1]:2";
        let read = addresses(text).unwrap();
        let shown: Vec<_> = read.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["127.0.0.1:1", "unix:/run/a", "[::1]:2"]);
        assert!(matches!(read[1], Address::Unix { mode: 0o660, .. }));
    }

    #[test]
    fn a_bad_variable_is_named_and_a_secret_is_not() {
        let cases = [
            ("TOLLGATE_HTTP", "nowhere", "nowhere"),
            ("TOLLGATE_THREADS", "0", "from 1"),
            ("TOLLGATE_MEMORY", "1KiB", "1MiB"),
            ("TOLLGATE_RUNTIME", "fast", "per-core, shared"),
            ("TOLLGATE_TLS_KEY", "k", "together"),
        ];
        for (name, value, said) in cases {
            let error = environment(&[(name, value)]).unwrap_err().to_string();
            assert!(
                error.starts_with("TOLLGATE_") && error.contains(said),
                "{error}"
            );
        }
        let error = environment(&[("TOLLGATE_TOKEN", "se cret")]).unwrap_err();
        assert!(!error.to_string().contains("cret"), "{error}");
    }

    #[test]
    fn certificates_of_the_file_stay_when_only_the_address_changes() {
        let tls = Tls {
            certificate: "c".into(),
            key: "k".into(),
            client_ca: None,
        };
        let mut settings = Settings::served_by_default();
        settings.secure(&tls);
        let moved = environment(&[("TOLLGATE_HTTP", "127.0.0.1:1")]).unwrap();
        moved.apply(&mut settings);
        assert_eq!(settings.http[0].tls, Some(tls));
    }

    #[test]
    fn a_misspelt_variable_is_noticed() {
        assert_eq!(misspelt("TOLLGATE_HTPP"), Some("TOLLGATE_HTTP"));
        assert_eq!(misspelt("TOLLGATE_HTTP"), None);
        assert_eq!(misspelt("TOLLGATE_SERVICE_HOST"), None);
        assert_eq!(misspelt("HTTP"), None);
    }
}
