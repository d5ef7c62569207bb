//! Settings under construction: parts made from several settings, and parts that exist only if a setting names them.
//!
//! Not here: where a single setting goes (`kinds`).

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::str::FromStr;

use tollgate_client::ClientTls;

use super::setting::Form;
use super::{
    CataloguePlace, CatalogueSettings, ClusterSettings, ContractSource, DatabaseSettings,
    DatabaseUrl, ListenAddress, Listener, Settings, StoreSettings, StoreUrl, Tls, TraceProtocol,
    TraceSettings, UpstreamSettings, roster,
};

pub(super) struct Draft {
    /// What has no field of its own below.
    pub(super) settings: Settings,
    /// Relative paths start here: the folder of the file, or the working directory.
    pub(super) folder: PathBuf,
    /// Listeners that replace those in the settings.
    pub(super) moved: Moved,
    /// Certificates of every TCP listener without its own.
    pub(super) tls: Files,
    pub(super) traces: Maybe<TraceSettings>,
    pub(super) cluster: Maybe<ClusterSettings>,
    pub(super) store: Maybe<StoreSettings>,
    /// Our certificate for the store, and its key.
    pub(super) store_files: Files,
    pub(super) database: Maybe<DatabaseSettings>,
    pub(super) catalogue: Maybe<CatalogueSettings>,
    /// TLS to a management server.
    pub(super) xds: Files,
    pub(super) upstream: Maybe<UpstreamSettings>,
    /// TLS to the nodes of a sidecar.
    pub(super) upstream_files: Files,
}

/// A part of the settings that exists only if a setting names it.
pub(super) struct Maybe<T> {
    pub(super) value: T,
    is_there: bool,
    pub(super) is_off: bool,
}

impl<T> Maybe<T> {
    fn of(value: Option<T>, default: impl FnOnce() -> T) -> Self {
        Self {
            is_there: value.is_some(),
            value: value.unwrap_or_else(default),
            is_off: false,
        }
    }

    fn end(self) -> Option<T> {
        (self.is_there && !self.is_off).then_some(self.value)
    }
}

/// Addresses that replace those of listeners.
#[derive(Default)]
pub(super) struct Moved {
    pub(super) http: Option<Vec<ListenAddress>>,
    pub(super) resp: Option<Vec<ListenAddress>>,
    pub(super) admin: Option<Vec<ListenAddress>>,
}

/// Files of certificates that belong together.
#[derive(Default)]
pub(super) struct Files {
    pub(super) authority: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
}

impl Files {
    fn of(tls: Option<ClientTls>) -> Self {
        let Some(tls) = tls else {
            return Self::default();
        };
        Self {
            authority: Some(tls.authority),
            ..Self::identity(tls.certificate)
        }
    }

    fn identity(files: Option<(PathBuf, PathBuf)>) -> Self {
        let (certificate, key) = files.unzip();
        Self {
            authority: None,
            certificate,
            key,
        }
    }

    /// For connecting; `None` without an authority.
    fn client(self) -> Option<ClientTls> {
        Some(ClientTls {
            authority: self.authority?,
            certificate: self.certificate.zip(self.key),
        })
    }

    /// For listening; `None` if incomplete.
    fn server(self) -> Option<Tls> {
        Some(Tls {
            certificate: self.certificate?,
            key: self.key?,
            client_ca: self.authority,
        })
    }
}

impl Deref for Draft {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }
}

impl Default for Draft {
    fn default() -> Self {
        Self::of(Settings::served_by_default(), PathBuf::new())
    }
}

impl Draft {
    /// Takes settings apart; relative paths start at this folder.
    pub(super) fn of(mut settings: Settings, folder: PathBuf) -> Self {
        let keeping = &mut settings.keeping;
        let mut store = Maybe::of(keeping.store.take(), || {
            StoreSettings::new(StoreUrl::default())
        });
        let store_files = Files::identity(store.value.identity.take());
        let mut upstream = Maybe::of(keeping.upstream.take(), || UpstreamSettings {
            nodes: Vec::new(),
            token: None,
            zone: None,
            tls: None,
        });
        let upstream_files = Files::of(upstream.value.tls.take());
        Self {
            folder,
            moved: Moved::default(),
            tls: Files::default(),
            traces: Maybe::of(settings.telemetry.traces.take(), || TraceSettings {
                endpoint: String::new(),
                protocol: TraceProtocol::default(),
                one_in: 0,
            }),
            cluster: Maybe::of(settings.cluster.take(), ClusterSettings::default),
            store,
            store_files,
            database: Maybe::of(keeping.database.take(), || {
                DatabaseSettings::new(DatabaseUrl::default())
            }),
            catalogue: Maybe::of(keeping.catalogue.take(), || {
                CatalogueSettings::new(CataloguePlace::File(PathBuf::new()))
            }),
            xds: Files::of(keeping.rls.xds.take()),
            upstream,
            upstream_files,
            settings,
        }
    }

    /// The settings. A listener keeps its certificates if only its address is overridden.
    pub(super) fn finish(self) -> Settings {
        let mut settings = self.settings;
        let tls_of = |listeners: &[Listener]| listeners.iter().find_map(|l| l.tls.clone());
        let before = tls_of(&settings.http).or_else(|| tls_of(&settings.resp));
        let is_moved = self.moved.is_any();
        self.moved.apply(&mut settings);
        if let Some(tls) = self.tls.server().or(before.filter(|_| is_moved)) {
            settings.secure(&tls);
        }
        settings.telemetry.traces = self.traces.end();
        settings.cluster = self.cluster.end();
        let keeping = &mut settings.keeping;
        keeping.store = self.store.end().map(|store| StoreSettings {
            identity: self.store_files.certificate.zip(self.store_files.key),
            ..store
        });
        keeping.database = self.database.end();
        keeping.catalogue = self.catalogue.end();
        keeping.rls.xds = self.xds.client();
        keeping.upstream = self.upstream.end().map(|upstream| UpstreamSettings {
            tls: self.upstream_files.client(),
            ..upstream
        });
        settings
    }

    /// Creates the part that a setting of this name, or a section of the file, implies.
    pub(super) fn begin(&mut self, path: &str) {
        match path {
            "telemetry.otlp" => self.traces.is_there = true,
            "cluster" | "cluster.listen" | "cluster.join" | "cluster.key_file" => {
                self.cluster.is_there = true;
            }
            "store.url" => self.store.is_there = true,
            "database.url" => self.database.is_there = true,
            "catalogue" | "catalogue.path" | "catalogue.url" => self.catalogue.is_there = true,
            "upstream" => self.upstream.is_there = !self.upstream.value.nodes.is_empty(),
            _ => {}
        }
    }

    /// Whether the part exists that a setting of this name is in.
    pub(super) fn has(&self, path: &str) -> bool {
        match path.split('.').next().unwrap_or_default() {
            "cluster" => self.cluster.is_there,
            "store" => self.store.is_there,
            "database" => self.database.is_there,
            "catalogue" => self.catalogue.is_there,
            "upstream" => self.upstream.is_there,
            _ => true,
        }
    }

    /// Reads a text from outside the file into a setting with several forms.
    pub(super) fn put_form(&mut self, form: Form, text: &str) -> Result<(), String> {
        match form {
            Form::Http => self.moved.http = Some(addresses(text)?),
            Form::Resp => self.moved.resp = Some(addresses(text)?),
            Form::Admin => self.moved.admin = Some(addresses(text)?),
            Form::Contracts => {
                self.settings.contracts = match ContractSource::named(text.into()) {
                    ContractSource::File(path) => ContractSource::File(self.folder.join(path)),
                    followed => followed,
                };
            }
            Form::Roster => self.cluster.value.roster = Some(roster(text)?),
            // Only the file can set them.
            Form::Entries => {}
        }
        Ok(())
    }

    /// A setting with several forms, for display.
    pub(super) fn shown_form(&self, form: Form) -> Option<String> {
        let (admin, http): (Vec<_>, Vec<_>) = self.settings.http.iter().partition(|it| it.is_admin);
        match form {
            Form::Http => Some(listeners(http)),
            Form::Resp => Some(listeners(&self.settings.resp)),
            Form::Admin => (!admin.is_empty()).then(|| listeners(admin)),
            Form::Contracts => match &self.settings.contracts {
                ContractSource::None => None,
                ContractSource::File(file) | ContractSource::Within(file) => {
                    Some(file.display().to_string())
                }
                ContractSource::Text(_) => Some("a text".to_owned()),
                ContractSource::Xds(source) => {
                    source.parts().ok().map(|(at, _)| format!("xds://{at}"))
                }
            },
            Form::Roster | Form::Entries => None,
        }
    }
}

impl Moved {
    const fn is_any(&self) -> bool {
        self.http.is_some() || self.resp.is_some() || self.admin.is_some()
    }

    fn apply(self, settings: &mut Settings) {
        let plain = |list: Vec<ListenAddress>| -> Vec<Listener> {
            list.into_iter().map(Listener::plain).collect()
        };
        let listeners = std::mem::take(&mut settings.http).into_iter();
        let (apart, http): (Vec<_>, Vec<_>) = listeners.partition(|it| it.is_admin);
        settings.http = self.http.map_or(http, plain);
        let moved = |list| plain(list).into_iter().map(Listener::for_admin).collect();
        settings.http.extend(self.admin.map_or(apart, moved));
        if let Some(list) = self.resp {
            settings.resp = plain(list);
        }
    }
}

/// Addresses between commas, or `off`.
pub(super) fn addresses(text: &str) -> Result<Vec<ListenAddress>, String> {
    if text == "off" {
        return Ok(Vec::new());
    }
    // A comma also precedes the mode of a Unix socket.
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
    let read = parts.iter().map(|part| ListenAddress::from_str(part));
    read.collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
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
    use super::*;

    #[test]
    fn several_addresses_stand_between_commas() {
        let text = "127.0.0.1:1, unix:/run/a,mode=660,[::1]:2";
        let read = addresses(text).unwrap();
        let shown: Vec<_> = read.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["127.0.0.1:1", "unix:/run/a", "[::1]:2"]);
        assert!(matches!(read[1], ListenAddress::Unix { mode: 0o660, .. }));
    }
}
