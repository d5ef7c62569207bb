//! The server's file: from what was typed to settings that make sense, or everything found wrong with it.
//!
//! Paths in the file are relative to its folder. Not here: flags and the environment (`overrides`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use tollgate_client::{Dialect, ForwardingHeader, Network, Trust};
use tollgate_contract::file::{self, Node, Problem, Problems, Text, choice, nanos, quote, whole};
use tollgate_contract::{Contracts, ErrorKind, Unmatched, decode};
use tollgate_table::WhenFull;

use super::forms::RawContracts;
use super::raw::{
    RawAccess, RawAuth, RawLimits, RawMemory, RawProxies, RawRuntime, RawServer, RawTelemetry,
};
use super::{
    ContractSource, EntrySource, Limits, Listener, LogFormat, RuntimeKind, Settings, Tokens,
    TraceProtocol, TraceSettings, size, token,
};
use crate::logs::LogError;
use crate::source::{self, SourceError};

impl Settings {
    /// Reads the server's file.
    pub fn read(path: &Path) -> Result<Self, SourceError> {
        let bytes = source::read(path)?;
        let name = path.display().to_string();
        let text = decode(&bytes).map_err(|errors| SourceError::Wrong(errors.render(&name)))?;
        Self::parse(text, path).map_err(SourceError::Wrong)
    }

    /// Settings from the text of the file at `path`; every mistake with its place where it is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let raw: RawServer = file::read(text).map_err(|errors| errors.render(&name))?;
        let mut check = Check {
            folder: path.parent().unwrap_or(Path::new("")),
            path,
            problems: Problems::default(),
        };
        let settings = check.server(raw);
        if !check.problems.is_empty() {
            return Err(check.problems.into_errors(text).render(&name));
        }
        if matches!(settings.contracts, ContractSource::Within(_)) {
            Contracts::parse_within(text).map_err(|errors| errors.render(&name))?;
        }
        Ok(settings)
    }
}

/// Goes through what was typed and remembers what is wrong.
pub(super) struct Check<'a> {
    path: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) problems: Problems,
}

impl Check<'_> {
    fn server(&mut self, raw: RawServer) -> Settings {
        let mut settings = Settings {
            file: Some(self.path.to_owned()),
            ..Settings::served_by_default()
        };
        let tls = raw.tls.map(|tls| self.tls(&tls));
        if let Some(listeners) = raw.http {
            settings.http = self.listeners(listeners);
        }
        if let Some(listeners) = raw.resp {
            settings.resp = self.listeners(listeners);
        }
        if let Some(admin) = raw.admin {
            let apart = self.listeners(admin.listen).into_iter();
            settings.http.extend(apart.map(Listener::for_admin));
        }
        if let Some(tls) = tls {
            settings.secure(&tls);
        }
        settings.data_dir = raw.data_dir.map(|text| self.under(&text.value));
        self.duration(raw.flush_every, &mut settings.keeping.flush_every);
        if let Some(contracts) = raw.contracts {
            settings.contracts = self.contracts(contracts);
        }
        if let Some(mut access) = raw.access {
            let what = "unknown word for keys that no contract binds";
            if let Some(place) = self.one_of(access.unmatched.take(), what, &Unmatched::NAMES) {
                settings.node.unmatched = Unmatched::ALL[place];
            }
            settings.tokens = self.access(access);
        }
        if let Some(place) = self.one_of(raw.headers, "unknown dialect", &Dialect::NAMES) {
            settings.dialect = Dialect::ALL[place];
        }
        self.proxies(raw.proxies.unwrap_or_default(), &mut settings);
        self.auth(raw.auth.unwrap_or_default(), &mut settings);
        self.limits(raw.limits.unwrap_or_default(), &mut settings.limits);
        self.memory(raw.memory.unwrap_or_default(), &mut settings);
        self.runtime(raw.runtime.unwrap_or_default(), &mut settings);
        self.telemetry(raw.telemetry.unwrap_or_default(), &mut settings);
        settings.cluster = raw.cluster.and_then(|cluster| self.cluster(cluster));
        settings.keeping.store = raw.store.and_then(|store| self.store(store));
        let statistics = raw.statistics.unwrap_or_default();
        self.statistics(statistics, &mut settings.keeping.statistics);
        self.rls(raw.rls.unwrap_or_default(), &mut settings.keeping.rls);
        settings.keeping.database = raw.database.and_then(|database| self.database(database));
        settings.keeping.catalogue = raw.catalogue.and_then(|raw| self.catalogue(raw));
        settings
    }

    fn contracts(&mut self, raw: Node<RawContracts>) -> ContractSource {
        match raw.value {
            RawContracts::File(name) => match ContractSource::named(name.clone().into()) {
                followed @ ContractSource::Xds(_) => followed,
                _ => ContractSource::File(self.under(&name)),
            },
            RawContracts::Here => ContractSource::Within(self.path.to_owned()),
        }
    }

    fn access(&mut self, raw: RawAccess) -> Tokens {
        let mut tokens = Vec::new();
        for text in &raw.tokens.0 {
            let token = token::checked(&text.value)
                .map_err(|what| Problem::new(ErrorKind::BadValue, text.place, what));
            tokens.extend(self.problems.keep(token));
        }
        let Some(text) = raw.token_file else {
            return tokens.into();
        };
        let read = Tokens::read(tokens, Some(self.under(&text.value)))
            .map_err(|what| Problem::new(ErrorKind::BadValue, text.place, what));
        self.problems.keep(read).unwrap_or_default()
    }

    fn proxies(&mut self, raw: RawProxies, settings: &mut Settings) {
        let address = &mut settings.client_address;
        match (raw.hops, raw.networks) {
            (None, None) => {}
            (Some(hops), None) => {
                if let Some(hops) = self.number(Some(&hops), "hops", (1, 32)) {
                    address.trust = Trust::Hops(narrow(hops));
                }
            }
            (None, Some(networks)) => {
                let read = networks.0.iter().filter_map(|text| self.network(text));
                address.trust = Trust::Networks(read.collect());
            }
            (Some(hops), Some(_)) => {
                let what = "`hops` and `networks` are two ways to say whom to trust; choose one";
                self.problems
                    .add(Problem::new(ErrorKind::Conflict, hops.place, what));
            }
        }
        match self.one_of(
            raw.header,
            "unknown header",
            &["x-forwarded-for", "forwarded"],
        ) {
            Some(0) => address.header = ForwardingHeader::XForwardedFor,
            Some(_) => address.header = ForwardingHeader::Forwarded,
            None => {}
        }
        if let Some(bits) = self.number(raw.ipv6_prefix.as_ref(), "ipv6_prefix", (1, 128)) {
            address.ipv6_prefix = u8::try_from(bits).unwrap_or(128);
        }
    }

    fn network(&mut self, text: &Text) -> Option<Network> {
        let wrong = |_| {
            let what = format!(
                "{} is no network; write for example 10.0.0.0/8",
                quote(&text.value)
            );
            Problem::new(ErrorKind::BadValue, text.place, what)
        };
        self.problems
            .keep(text.value.parse::<Network>().map_err(wrong))
    }

    fn auth(&mut self, raw: RawAuth, settings: &mut Settings) {
        self.duration(raw.hold_max, &mut settings.auth.hold_max);
        for (name, source) in &raw.entries.0 {
            let read = match source.value.split_once(' ') {
                Some(("header", field)) => {
                    Ok(EntrySource::Header(field.trim().to_ascii_lowercase()))
                }
                Some(("query", field)) => Ok(EntrySource::Query(field.trim().to_owned())),
                Some(_) | None => {
                    let what = "an entry is read from `header NAME` or `query NAME`";
                    Err(Problem::new(ErrorKind::BadValue, source.place, what))
                }
            };
            let name = self.problems.keep(file::name(name, "the name of an entry"));
            if let (Some(name), Some(source)) = (name, self.problems.keep(read)) {
                settings.auth.entries.push((name, source));
            }
        }
    }

    fn limits(&mut self, raw: RawLimits, limits: &mut Limits) {
        self.count(
            raw.connections,
            ("connections", (1, 1 << 20)),
            &mut limits.connections_max,
        );
        self.count(
            raw.requests,
            ("requests", (1, 1 << 20)),
            &mut limits.requests_max,
        );
        self.count(raw.batch, ("batch", (1, 100_000)), &mut limits.batch_max);
        self.size(raw.key, ("key", (16, 64 << 10)), &mut limits.key_bytes_max);
        self.size(
            raw.head,
            ("head", (1 << 10, 1 << 20)),
            &mut limits.head_bytes_max,
        );
        self.size(
            raw.body,
            ("body", (1 << 10, 64 << 20)),
            &mut limits.body_bytes_max,
        );
        if let Some(streams) = self.number(raw.streams.as_ref(), "streams", (1, 100_000)) {
            limits.streams_max = u32::try_from(streams).unwrap_or(u32::MAX);
        }
        self.duration(raw.idle, &mut limits.idle);
        self.duration(raw.slow, &mut limits.slow);
        if let Some(text) = raw.shutdown_delay {
            let nanos = self.problems.keep(nanos(&text));
            limits.shutdown_delay = nanos.map_or(limits.shutdown_delay, Duration::from_nanos);
        }
        self.duration(raw.drain, &mut limits.drain);
        if raw.connection_age.is_some() {
            let mut age = Duration::ZERO;
            self.duration(raw.connection_age, &mut age);
            limits.connection_age = Some(age);
        }
        self.duration(raw.clock_follow, &mut limits.clock_follow);
        if let Some(ttl) = self.number(raw.quota_ttl.as_ref(), "quota_ttl", (1, 3_600)) {
            limits.quota.ttl_s = u32::try_from(ttl).unwrap_or(u32::MAX);
        }
        self.duration(raw.quota_delivery, &mut limits.quota.delivery);
        if let Some(choice) = self.one_of(raw.quota_unserved, "unknown choice", &["deny", "allow"])
        {
            limits.quota.allows_unserved = choice == 1;
        }
    }

    fn memory(&mut self, raw: RawMemory, settings: &mut Settings) {
        let node = &mut settings.node;
        if let Some(text) = raw.max {
            let max = self.problems.keep(size::bytes(&text, "memory", MEMORY));
            node.bytes_max = max.unwrap_or(node.bytes_max);
        }
        match self.one_of(raw.when_full, "unknown choice", &["evict", "refuse"]) {
            Some(0) => node.when_full = WhenFull::Evict,
            Some(_) => node.when_full = WhenFull::Refuse,
            None => {}
        }
        self.count(raw.ids, ("ids", (1, 1 << 28)), &mut node.ids_max);
    }

    fn runtime(&mut self, raw: RawRuntime, settings: &mut Settings) {
        if let Some(kind) = self.one_of(raw.kind, "unknown runtime", &RuntimeKind::NAMES) {
            settings.runtime.kind = RuntimeKind::ALL[kind];
        }
        let threads = self.number(raw.threads.as_ref(), "threads", (1, THREADS_MAX));
        settings.runtime.threads = threads.map(narrow);
    }

    fn telemetry(&mut self, raw: RawTelemetry, settings: &mut Settings) {
        let telemetry = &mut settings.telemetry;
        if let Some(text) = raw.log {
            telemetry.logs.filter = text.value.into();
            let wrong =
                |error: LogError| Problem::new(ErrorKind::BadValue, text.place, error.to_string());
            self.problems.keep(telemetry.logs.check().map_err(wrong));
        }
        if let Some(format) = self.one_of(
            raw.log_format,
            "unknown format",
            &LOG_FORMATS.map(|(name, _)| name),
        ) {
            telemetry.logs.format = LOG_FORMATS[format].1;
        }
        let protocol = self.one_of(raw.otlp_protocol, "unknown protocol", &["grpc", "http"]);
        let one_in = self.number(
            raw.trace_one_in.as_ref(),
            "trace_one_in",
            (0, u64::from(u32::MAX)),
        );
        if let Some(endpoint) = raw.otlp {
            telemetry.traces = Some(TraceSettings {
                endpoint: endpoint.value.into(),
                protocol: match protocol {
                    Some(1) => TraceProtocol::Http,
                    Some(_) | None => TraceProtocol::Grpc,
                },
                one_in: one_in
                    .and_then(|n| u32::try_from(n).ok())
                    .unwrap_or_default(),
            });
        }
        if let Some(text) = raw.show_keys {
            let shown = self.problems.keep(file::switch(&text, "show_keys"));
            telemetry.show_keys = shown.unwrap_or(telemetry.show_keys);
        }
    }

    /// A path in the file, from where the file is.
    pub(super) fn under(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    fn one_of(&mut self, text: Option<Text>, unknown: &str, valid: &[&str]) -> Option<usize> {
        let text = text?;
        self.problems.keep(choice(&text, unknown, valid))
    }

    pub(super) fn number(
        &mut self,
        text: Option<&Text>,
        what: &str,
        bounds: (u64, u64),
    ) -> Option<u64> {
        self.problems.keep(whole(text?, what, bounds))
    }

    #[expect(clippy::needless_pass_by_value, reason = "each text is looked at once")]
    pub(super) fn count(
        &mut self,
        text: Option<Text>,
        (what, bounds): (&str, (u64, u64)),
        into: &mut usize,
    ) {
        *into = self
            .number(text.as_ref(), what, bounds)
            .map_or(*into, narrow);
    }

    pub(super) fn size(
        &mut self,
        text: Option<Text>,
        (what, bounds): (&str, (u64, u64)),
        into: &mut usize,
    ) {
        let given = text.and_then(|text| self.problems.keep(size::bytes(&text, what, bounds)));
        *into = given.map_or(*into, narrow);
    }

    /// At least a millisecond: no time at all would refuse everybody.
    pub(super) fn duration(&mut self, text: Option<Text>, into: &mut Duration) {
        let Some(text) = text else { return };
        match self.problems.keep(nanos(&text)) {
            Some(nanos) if nanos < NANOS_MIN => {
                let what = format!("{} is too short; the least is 1ms", quote(&text.value));
                self.problems
                    .add(Problem::new(ErrorKind::BadValue, text.place, what));
            }
            Some(nanos) => *into = Duration::from_nanos(nanos),
            None => {}
        }
    }
}

/// Whether a text is a server's file rather than a contract file.
pub fn is_server_file(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Top {
        contracts: Option<RawContracts>,
    }
    let Ok(keys) = file::read::<file::Pairs<serde::de::IgnoredAny>>(text) else {
        // Broken, so that it is told by how its lines begin.
        let mut names = text
            .lines()
            .filter_map(|line| Some(line.split_once(':')?.0));
        return names.any(|name| FIELDS.contains(&name));
    };
    let names = keys.0.iter().map(|(name, _)| &*name.value);
    let is_named = file::read::<Top>(text)
        .is_ok_and(|top| matches!(top.contracts, Some(RawContracts::File(_))));
    is_named
        || names
            .filter(|name| !CONTRACT_FIELDS.contains(name))
            .any(|name| tollgate_contract::nearest(name, FIELDS.into_iter()).is_some())
}

fn narrow(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Fields of contract files and of descriptor files.
const CONTRACT_FIELDS: [&str; 5] = ["contracts", "plans", "unmatched", "domain", "descriptors"];
/// Fields that only a server's file has.
const FIELDS: [&str; 17] = [
    "http",
    "resp",
    "admin",
    "tls",
    "data_dir",
    "flush_every",
    "access",
    "headers",
    "proxies",
    "auth",
    "limits",
    "memory",
    "runtime",
    "telemetry",
    "cluster",
    "store",
    "rls",
];
/// The least and the most memory for counting.
pub(crate) const MEMORY: (u64, u64) = (1 << 20, 1 << 50);
/// The most threads.
pub(crate) const THREADS_MAX: u64 = 1024;
/// What a line of the log may look like.
pub(crate) const LOG_FORMATS: [(&str, LogFormat); 3] = [
    ("auto", LogFormat::Auto),
    ("text", LogFormat::Text),
    ("json", LogFormat::Json),
];
const NANOS_MIN: u64 = 1_000_000;
