//! Settings as one line of a log: those that are not as they come, and no secret of them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use tollgate_contract::Unmatched;
use tollgate_table::WhenFull;

use super::file::LOG_FORMATS;
use super::{ContractSource, Limits, Listener, RuntimeKind, Settings, Telemetry, size};

/// Settings by the names that the file has for them; what is not set has no value.
#[derive(Default)]
struct Words(BTreeMap<&'static str, String>);

impl Settings {
    /// The settings that are not as they come, as `name=value`. Where a value may hold a secret or is long, only its
    /// name is there.
    pub fn told(&self) -> String {
        let default = Self::served_by_default();
        let usual = default.words();
        let words = self.words();
        let named = |(name, value): (&&'static str, &String)| format!("{name}={value}");
        let different = words
            .0
            .iter()
            .filter(|(name, value)| usual.0.get(*name) != Some(value));
        let mut told: Vec<String> = different.map(named).collect();
        for group in default.differences(self) {
            let parts = group.split(", ");
            let is_told = |name: &str| told.iter().any(|word| word.starts_with(name));
            if !parts.clone().any(is_told) {
                told.push(format!("{group}=set"));
            }
        }
        told.join(" ")
    }

    fn words(&self) -> Words {
        let mut words = Words::default();
        let path = |path: &Option<std::path::PathBuf>| path.as_deref().map(shown);
        let (admin, http): (Vec<_>, Vec<_>) = self.http.iter().partition(|it| it.is_admin);
        words.put("config", path(&self.file));
        words.put("http", Some(listeners(http)));
        words.put(
            "admin.listen",
            (!admin.is_empty()).then(|| listeners(admin)),
        );
        words.put("resp", Some(listeners(&self.resp)));
        words.put(
            "contracts",
            match &self.contracts {
                ContractSource::None => None,
                ContractSource::File(file) | ContractSource::Within(file) => Some(shown(file)),
                ContractSource::Text(_) => Some("a text".to_owned()),
                ContractSource::Xds(source) => {
                    source.parts().ok().map(|(at, _)| format!("xds://{at}"))
                }
            },
        );
        words.put("data_dir", path(&self.data_dir));
        let tokens = self.tokens.iter().count();
        words.put("access.tokens", (tokens > 0).then_some(tokens));
        words.put("access.token_file", self.tokens.file().map(shown));
        let unmatched = Unmatched::ALL
            .iter()
            .position(|it| *it == self.node.unmatched);
        words.put(
            "access.unmatched",
            unmatched.map(|place| Unmatched::NAMES[place]),
        );
        words.put("headers", Some(self.dialect.name()));
        words.put("memory.max", Some(size::shown(self.node.bytes_max)));
        let refuses = self.node.when_full == WhenFull::Refuse;
        words.put("memory.when_full", refuses.then_some("refuse"));
        words.put("memory.ids", Some(self.node.ids_max));
        let shared = self.runtime.kind == RuntimeKind::Shared;
        words.put("runtime.kind", shared.then_some("shared"));
        words.put("runtime.threads", self.runtime.threads);
        words.keeping(self);
        words.limits(&self.limits);
        words.telemetry(&self.telemetry);
        words
    }
}

impl Words {
    fn put(&mut self, name: &'static str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.0.insert(name, value.to_string());
        }
    }

    fn put_length(&mut self, name: &'static str, value: Duration) {
        self.put(name, Some(format!("{}s", value.as_secs_f64())));
    }

    /// Addresses of databases show no passwords.
    fn keeping(&mut self, settings: &Settings) {
        let keeping = &settings.keeping;
        self.put_length("flush_every", keeping.flush_every);
        self.put("store.url", keeping.store.as_ref().map(|store| &store.url));
        self.put(
            "database.url",
            keeping.database.as_ref().map(|database| &database.url),
        );
        self.put(
            "catalogue",
            keeping.catalogue.as_ref().map(|catalogue| &catalogue.at),
        );
        self.put(
            "upstream",
            keeping
                .upstream
                .as_ref()
                .map(|upstream| upstream.nodes.join(",")),
        );
        if let Some(cluster) = &settings.cluster {
            self.put("cluster.listen", Some(cluster.listen));
            self.put("cluster.name", cluster.name.as_ref());
            self.put("cluster.zone", cluster.zone.as_ref());
            let join: Vec<String> = cluster.join.iter().map(ToString::to_string).collect();
            self.put("cluster.join", (!join.is_empty()).then(|| join.join(",")));
        }
    }

    fn limits(&mut self, limits: &Limits) {
        let numbers = [
            ("limits.connections", limits.connections_max),
            ("limits.requests", limits.requests_max),
            ("limits.key", limits.key_bytes_max),
            ("limits.head", limits.head_bytes_max),
            ("limits.body", limits.body_bytes_max),
            ("limits.batch", limits.batch_max),
        ];
        for (name, number) in numbers {
            self.put(name, Some(number));
        }
        self.put("limits.streams", Some(limits.streams_max));
        let lengths = [
            ("limits.idle", limits.idle),
            ("limits.slow", limits.slow),
            ("limits.shutdown_delay", limits.shutdown_delay),
            ("limits.drain", limits.drain),
            ("limits.clock_follow", limits.clock_follow),
            ("limits.quota_delivery", limits.quota.delivery),
        ];
        for (name, length) in lengths {
            self.put_length(name, length);
        }
        if let Some(age) = limits.connection_age {
            self.put_length("limits.connection_age", age);
        }
        self.put("limits.quota_ttl", Some(limits.quota.ttl_s));
        let allows = limits.quota.allows_unserved;
        self.put("limits.quota_unserved", allows.then_some("allow"));
    }

    fn telemetry(&mut self, telemetry: &Telemetry) {
        self.put("telemetry.log", Some(&telemetry.logs.filter));
        let format = telemetry.logs.format;
        let format = LOG_FORMATS.iter().find(|(_, known)| *known == format);
        self.put("telemetry.log_format", format.map(|(name, _)| name));
        // The address of a collector may hold a password.
        self.put("telemetry.otlp", telemetry.traces.as_ref().map(|_| "set"));
        self.put("telemetry.show_keys", Some(telemetry.show_keys));
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn listeners<'l>(list: impl IntoIterator<Item = &'l Listener>) -> String {
    let each: Vec<String> = list
        .into_iter()
        .map(|listener| listener.at.to_string())
        .collect();
    if each.is_empty() {
        "off".to_owned()
    } else {
        each.join(",")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn told(text: &str) -> String {
        Settings::parse(text, Path::new("/etc/tollgate.yaml"))
            .unwrap()
            .told()
    }

    #[test]
    fn only_what_is_not_as_it_comes_is_told() {
        assert_eq!(Settings::served_by_default().told(), "");
        assert_eq!(told("{}"), "config=/etc/tollgate.yaml");
        let text = "http: off\nlimits: { drain: 1500ms, body: 2MiB }\nauth: { hold_max: 9s }\n\
                    access: { unmatched: deny }";
        assert_eq!(
            told(text),
            "access.unmatched=deny config=/etc/tollgate.yaml http=off limits.body=2097152 limits.drain=1.5s auth=set"
        );
    }

    #[test]
    fn secrets_are_not_told() {
        let text = "access: { tokens: [a-secret-of-callers] }\nstore: { url: 'redis://:a-secret-of-redis@host:1' }\n\
                    database: { url: 'postgres://user:a-secret-of-sql@host/db' }\n\
                    telemetry: { otlp: 'http://user:a-secret-of-otlp@host:1' }";
        let told = told(text);
        assert!(!told.contains("a-secret"), "{told}");
        for part in [
            "access.tokens=1",
            "store.url=redis://",
            "database.url=postgres://",
            "telemetry.otlp=set",
        ] {
            assert!(told.contains(part), "no {part} in {told}");
        }
    }
}
