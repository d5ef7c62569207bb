//! What each setting may hold, and where in a draft it goes, by the names of settings.
//!
//! Not here: their flags, variables and descriptions, which are in the table of docs/settings.md (`setting`).

use tollgate_cluster::{ClusterConfig, FailureTiming};
use tollgate_contract::{Dialect, Unmatched};
use tollgate_http::ForwardingHeader;
use tollgate_node::Adapt;
use tollgate_table::WhenFull;

use super::draft::Draft;
use super::setting::Form as Of;
use super::setting::SettingKind::{
    self, Choice, File, Form, Length, List, Name, Path, Size, Switch, Text, Typed, Whole,
};
use super::slot::{Items, NamedSlot};
use super::store::{certificates, private_key, readable};
use super::{CataloguePlace, RuntimeKind, TraceProtocol, cluster, rls};
use crate::logs::LogFormat;

pub(super) fn kind(path: &str) -> Option<SettingKind> {
    match path.split_once('.') {
        None => alone(path),
        Some(("limits", name)) => limits(name),
        Some(("cluster", name)) => in_cluster(name),
        Some(("store", name)) => store(name),
        Some(("database" | "catalogue", _)) => databases(path),
        Some(("rls" | "upstream" | "statistics", _)) => keeping(path),
        Some(_) => server(path),
    }
}

/// Settings outside sections.
fn alone(name: &str) -> Option<SettingKind> {
    Some(match name {
        "config" => Text(nothing, |d| Some(d.file.as_ref()?.display().to_string())),
        "http" => Form(Of::Http),
        "resp" => Form(Of::Resp),
        "contracts" => Form(Of::Contracts),
        "headers" => Choice(|d| &mut d.dialect),
        "data_dir" => Path(|d| &mut d.data_dir),
        "flush_every" => Length(MILLISECOND, |d| &mut d.keeping.flush_every),
        "catalogue" => Typed(|d| &mut d.catalogue.value.at),
        "upstream" => List(usize::MAX, |d| &mut d.upstream.value.nodes),
        _ => return None,
    })
}

/// Authorization, memory, threads and telemetry.
fn server(path: &str) -> Option<SettingKind> {
    Some(match path {
        "admin.listen" => Form(Of::Admin),
        "admin.token" => Text(nothing, |_| None),
        "tls.certificate" => Path(|d| &mut d.tls.certificate),
        "tls.key" => Path(|d| &mut d.tls.key),
        "tls.client_ca" => Path(|d| &mut d.tls.authority),
        "access.tokens" => List(64, |d| &mut d.tokens),
        "access.token" => Text(|d, text| Items::add(&mut d.tokens, text), |_| None),
        "access.token_file" => Text(
            |d, text| {
                let file = d.folder.join(text);
                d.tokens.follow(file)
            },
            |d| Some(d.tokens.file()?.display().to_string()),
        ),
        "access.unmatched" => Choice(|d| &mut d.node.unmatched),
        "proxies.hops" => Whole(1, 32, |d| &mut d.client_address.trust),
        "proxies.networks" => List(1024, |d| &mut d.client_address.trust),
        "proxies.header" => Choice(|d| &mut d.client_address.header),
        "proxies.ipv6_prefix" => Whole(1, 128, |d| &mut d.client_address.ipv6_prefix),
        "auth.entries" => Form(Of::Entries),
        "auth.hold_max" => Length(MILLISECOND, |d| &mut d.auth.hold_max),
        "memory.max" => Size(1 << 20, 1 << 50, |d| &mut d.node.bytes_max),
        "memory.when_full" => Choice(|d| &mut d.node.when_full),
        "memory.ids" => Whole(1, 1 << 28, |d| &mut d.node.ids_max),
        "runtime.kind" => Choice(|d| &mut d.runtime.kind),
        "runtime.threads" => Whole(1, 1024, |d| &mut d.runtime.threads),
        "telemetry.log" => Text(
            |d, text| {
                let logs = &mut d.telemetry.logs;
                text.clone_into(&mut logs.filter);
                logs.check().map_err(|error| error.to_string())
            },
            |d| Some(d.telemetry.logs.filter.clone()),
        ),
        "telemetry.log_format" => Choice(|d| &mut d.telemetry.logs.format),
        "telemetry.otlp" => Text(
            |d, text| {
                text.clone_into(&mut d.traces.value.endpoint);
                Ok(())
            },
            // The address of a collector may contain a password.
            |d| (!d.traces.value.endpoint.is_empty()).then(|| "set".to_owned()),
        ),
        "telemetry.otlp_protocol" => Choice(|d| &mut d.traces.value.protocol),
        "telemetry.trace_one_in" => Whole(0, u32::MAX.into(), |d| &mut d.traces.value.one_in),
        "telemetry.show_keys" => Switch(["false", "true"], |d| &mut d.telemetry.show_keys),
        _ => return None,
    })
}

/// Limits on clients.
fn limits(name: &str) -> Option<SettingKind> {
    Some(match name {
        "connections" => Whole(1, 1 << 20, |d| &mut d.limits.connections_max),
        "requests" => Whole(1, 1 << 20, |d| &mut d.limits.requests_max),
        "key" => Size(16, 64 << 10, |d| &mut d.limits.key_bytes_max),
        "head" => Size(1 << 10, 1 << 20, |d| &mut d.limits.head_bytes_max),
        "body" => Size(1 << 10, 64 << 20, |d| &mut d.limits.body_bytes_max),
        "batch" => Whole(1, 100_000, |d| &mut d.limits.batch_max),
        "streams" => Whole(1, 100_000, |d| &mut d.limits.streams_max),
        "idle" => Length(MILLISECOND, |d| &mut d.limits.idle),
        "slow" => Length(MILLISECOND, |d| &mut d.limits.slow),
        "shutdown_delay" => Length(0, |d| &mut d.limits.shutdown_delay),
        "drain" => Length(MILLISECOND, |d| &mut d.limits.drain),
        "connection_age" => Length(MILLISECOND, |d| &mut d.limits.connection_age),
        "clock_follow" => Length(MILLISECOND, |d| &mut d.limits.clock_follow),
        "quota_ttl" => Whole(1, 3_600, |d| &mut d.limits.quota.ttl_s),
        "quota_delivery" => Length(MILLISECOND, |d| &mut d.limits.quota.delivery),
        "quota_unserved" => Switch(["deny", "allow"], |d| &mut d.limits.quota.allows_unserved),
        _ => return None,
    })
}

/// The shared store.
fn store(name: &str) -> Option<SettingKind> {
    Some(match name {
        "url" => Typed(|d| &mut d.store.value.url),
        "deadline" => Length(MILLISECOND, |d| &mut d.store.value.deadline),
        "secret_file" => File(readable, |d| &mut d.store.value.secret_file),
        "ca_file" => File(certificates, |d| &mut d.store.value.ca_file),
        "cert_file" => File(certificates, |d| &mut d.store_files.certificate),
        "key_file" => File(private_key, |d| &mut d.store_files.key),
        "batches" => Whole(1, 1024, |d| &mut d.store.value.batches),
        _ => return None,
    })
}

/// The databases of durable counts and of the catalogue.
fn databases(path: &str) -> Option<SettingKind> {
    Some(match path {
        "database.url" => Typed(|d| &mut d.database.value.url),
        "database.ca_file" => Path(|d| &mut d.database.value.ca_file),
        "database.seat" => Text(
            |d, text| text.parse().map(|seat| d.database.value.seat = Some(seat)),
            |d| Some(d.database.value.seat.as_ref()?.as_str().to_owned()),
        ),
        "catalogue.path" => Text(
            |d, text| {
                d.catalogue.value.at = CataloguePlace::File(d.folder.join(text));
                Ok(())
            },
            |_| None,
        ),
        "catalogue.url" => Text(
            |d, text| {
                d.catalogue.value.at = CataloguePlace::Database(text.parse()?);
                Ok(())
            },
            |_| None,
        ),
        "catalogue.ca_file" => Path(|d| &mut d.catalogue.value.ca_file),
        "catalogue.deadline" => Length(MILLISECOND, |d| &mut d.catalogue.value.deadline),
        "catalogue.key_file" => Path(|d| &mut d.catalogue.value.key_file),
        _ => return None,
    })
}

/// Imported rules, a sidecar's nodes, and statistics.
fn keeping(path: &str) -> Option<SettingKind> {
    Some(match path {
        "rls.coordination" => Text(
            |d, text| {
                d.keeping.rls.coordination = Some(rls::coordination(text)?);
                Ok(())
            },
            |d| Some(d.keeping.rls.coordination?.name().to_owned()),
        ),
        "rls.shadow" => Switch(["false", "true"], |d| &mut d.keeping.rls.shadow),
        "rls.quota" => Switch(["false", "true"], |d| &mut d.keeping.rls.quota),
        "rls.metadata" => Switch(["false", "true"], |d| &mut d.keeping.rls.metadata),
        "rls.near_limit" => Whole(1, 100, |d| &mut d.keeping.rls.near_limit),
        "rls.xds.ca_file" => File(certificates, |d| &mut d.xds.authority),
        "rls.xds.cert_file" => File(certificates, |d| &mut d.xds.certificate),
        "rls.xds.key_file" => File(private_key, |d| &mut d.xds.key),
        "upstream.token" => Name(any, |d| &mut d.upstream.value.token),
        "upstream.zone" => Name(any, |d| &mut d.upstream.value.zone),
        "upstream.ca_file" => Path(|d| &mut d.upstream_files.authority),
        "upstream.cert_file" => Path(|d| &mut d.upstream_files.certificate),
        "upstream.key_file" => Path(|d| &mut d.upstream_files.key),
        "statistics.on" => Switch(["false", "true"], |d| &mut d.keeping.statistics.on),
        "statistics.identities" => Whole(1, 1_000_000, |d| &mut d.keeping.statistics.identities),
        "statistics.every" => Length(MILLISECOND, |d| &mut d.keeping.statistics.every),
        "statistics.record" => Size(1 << 16, 1 << 30, |d| &mut d.keeping.statistics.record_bytes),
        _ => return None,
    })
}

/// Membership in a cluster.
fn in_cluster(name: &str) -> Option<SettingKind> {
    Some(match name {
        "listen" => Text(
            |d, text| {
                match cluster::listen(text)? {
                    Some(listen) => d.cluster.value.listen = listen,
                    None => d.cluster.is_off = true,
                }
                Ok(())
            },
            |d| Some(d.cluster.value.listen.to_string()),
        ),
        "join" => List(cluster::JOINS_MAX, |d| &mut d.cluster.value.join),
        "key_file" => Path(|d| &mut d.cluster.value.key_file),
        "advertise" => Text(
            |d, text| {
                d.cluster.value.advertise = Some(cluster::advertise(text)?);
                Ok(())
            },
            |d| Some(d.cluster.value.advertise?.to_string()),
        ),
        "name" => Name(cluster::name, |d| &mut d.cluster.value.name),
        "zone" => Name(cluster::name, |d| &mut d.cluster.value.zone),
        "capacity" => Whole(1, 1_000_000, |d| &mut d.cluster.value.capacity),
        "mtu" => Size(MTU.0, MTU.1, |d| &mut d.cluster.value.mtu),
        "bandwidth" => Size(1 << 10, 1 << 40, |d| &mut d.cluster.value.bandwidth),
        "pace" => Choice(|d| &mut d.cluster.value.pace),
        "owner_deadline" => Length(MILLISECOND, |d| &mut d.cluster.value.owner.deadline),
        "roster" => Form(Of::Roster),
        "lend" => Switch(["off", "on"], |d| &mut d.cluster.value.split.borrow),
        "adapt" => Choice(|d| &mut d.cluster.value.split.adapt),
        "admission_log" => Path(|d| &mut d.cluster.value.admission_log),
        _ => return None,
    })
}

/// For settings that are read elsewhere.
#[expect(clippy::unnecessary_wraps, reason = "as all that read")]
fn nothing(_: &mut Draft, _: &str) -> Result<(), String> {
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "as all that look at names")]
fn any(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

macro_rules! named {
    ($type:ty, $names:expr, $all:expr) => {
        impl NamedSlot for $type {
            fn names(&self) -> &'static [&'static str] {
                &$names
            }

            fn place(&self) -> Option<usize> {
                $all.iter().position(|one| one == self)
            }

            fn choose(&mut self, place: usize) {
                *self = $all.get(place).copied().unwrap_or(*self);
            }
        }
    };
}
named!(Unmatched, Unmatched::NAMES, Unmatched::ALL);
named!(Dialect, Dialect::NAMES, Dialect::ALL);
named!(RuntimeKind, RuntimeKind::NAMES, RuntimeKind::ALL);
named!(WhenFull, ["evict", "refuse"], [Self::Evict, Self::Refuse]);
named!(TraceProtocol, ["grpc", "http"], [Self::Grpc, Self::Http]);
named!(FailureTiming, ["lan", "wan"], [Self::LAN, Self::WAN]);
named!(
    LogFormat,
    ["auto", "text", "json"],
    [Self::Auto, Self::Text, Self::Json]
);
named!(
    Adapt,
    ["on", "off", "printed"],
    [Self::On, Self::Off, Self::Printed]
);
named!(
    ForwardingHeader,
    ["x-forwarded-for", "forwarded"],
    [Self::XForwardedFor, Self::Forwarded]
);

/// The least duration for settings where zero would be invalid.
const MILLISECOND: u64 = 1_000_000;
/// Bounds on the bytes of a datagram.
const MTU: (u64, u64) = (ClusterConfig::MTU_MIN as u64, ClusterConfig::MTU_MAX as u64);
