//! How imported rules of Envoy's rate limit service are counted among nodes and answered, and how their management
//! server is reached.
//!
//! Not here: what rules mean (`tollgate_contract::envoy`).

use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_client::ClientTls;
use tollgate_contract::file::{Problem, Text, given, quote, switch};
use tollgate_contract::{Coordination, ErrorKind};

use super::file::Check;
use super::store::certificates;
use super::{ContractSource, Keeping, Settings};

/// How imported rules are counted and answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RlsSettings {
    /// How nodes agree about them; where nothing is said, by owners in a cluster and each alone elsewhere.
    pub coordination: Option<Coordination>,
    /// Whether no request is refused as a whole, whatever its descriptors say.
    pub shadow: bool,
    /// Whether every rule is in quota mode.
    pub quota: bool,
    /// Whether answers have dynamic metadata.
    pub metadata: bool,
    /// From which share of a limit on hits are counted as near it, in percent.
    pub near_limit: u64,
    /// Whom to believe and what to show where the management server is at `xdss://`.
    pub xds: Option<ClientTls>,
}

impl Default for RlsSettings {
    fn default() -> Self {
        Self {
            coordination: None,
            shadow: false,
            quota: false,
            metadata: false,
            near_limit: 80,
            xds: None,
        }
    }
}

impl Settings {
    /// How nodes agree about imported rules.
    pub fn rls_coordination(&self) -> Coordination {
        let by_place = if self.cluster.is_some() {
            Coordination::Owner
        } else {
            Coordination::Local
        };
        self.keeping.rls.coordination.unwrap_or(by_place)
    }

    /// What of the settings of imported rules does not go together.
    pub(crate) fn check_rls(&self) -> Result<(), String> {
        let Keeping {
            rls,
            store,
            upstream,
            ..
        } = &self.keeping;
        if self.rls_coordination() == Coordination::Store && store.is_none() && upstream.is_none() {
            return Err("`rls.coordination: store` needs a store; name one as `store: { url: … }` in the server's file or by --store".into());
        }
        match (&self.contracts, &rls.xds) {
            (ContractSource::Xds(source), None) if source.is_secure() => Err(
                "a management server at `xdss://` needs whom to believe; name the file of certificates as `rls: { xds: { ca_file: … } }` in \
                 the server's file or as TOLLGATE_XDS_CA".into(),
            ),
            (ContractSource::Xds(source), Some(_)) if !source.is_secure() => Err(
                "`rls.xds` is for a management server at `xdss://`, and `contracts` names one that is spoken to without TLS".into(),
            ),
            _ => Ok(()),
        }
    }

    /// Says so where a contract file says of keys without a contract what no catalogue keeps, and settings say
    /// otherwise.
    pub fn unmatched_note(&self) -> Option<String> {
        self.keeping.catalogue.as_ref()?;
        let said = self.contracts.read().ok()?.unmatched()?;
        let (said, here) = (said.name(), self.node.unmatched.name());
        (said != here).then(|| {
            let file = self.contracts.file();
            let file = file.map_or_else(|| "the contract file".to_owned(), |file| file.display().to_string());
            format!(
                "{file} says `unmatched: {said}`, which is not in force: contracts are in the catalogue, which keeps no such setting; say \
                 `access: {{ unmatched: {said} }}` in the server's file, which says `{here}`"
            )
        })
    }

    /// Says so where rules that nodes should agree about are counted by each node alone; `is_imported` where there are
    /// such rules.
    pub fn rls_note(&self, is_imported: bool) -> Option<String> {
        let is_one_of_many = self.cluster.is_some() || self.keeping.store.is_some();
        let is_alone =
            self.rls_coordination() == Coordination::Local && self.keeping.upstream.is_none();
        (is_imported && is_one_of_many && is_alone).then(|| {
            "imported rules are counted by each node alone, so that N nodes admit N times their limits; say `rls: { coordination: owner }` \
             (in a cluster) or `store` (with a store)"
                .to_owned()
        })
    }
}

/// How imported rules of Envoy's rate limit service are counted and answered.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Rls")]
pub(crate) struct RawRls {
    /// How nodes agree about imported rules: `local`, `owner`, `store` or `gossip`; `owner` in a cluster where absent,
    /// else `local`.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) coordination: Option<Text>,
    /// Whether no request is refused as a whole, whatever its descriptors say; `false` where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "bool")]
    pub(crate) shadow: Option<Text>,
    /// Whether every rule is in quota mode: a request is refused only when all its descriptors are; `false` where
    /// absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "bool")]
    pub(crate) quota: Option<Text>,
    /// Whether answers have dynamic metadata; `false` where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "bool")]
    pub(crate) metadata: Option<Text>,
    /// From which share of a limit on hits are counted as near it, in percent; 80 where absent.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u64")]
    pub(crate) near_limit: Option<Text>,
    /// TLS to a management server at `xdss://`.
    #[serde(deserialize_with = "given")]
    pub(crate) xds: Option<RawXds>,
}

/// TLS to a management server at `xdss://`: files in PEM.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "XdsTls")]
#[expect(clippy::struct_field_names, reason = "the names of the file")]
pub(crate) struct RawXds {
    /// Certificates of those who sign for it.
    #[schemars(with = "String")]
    pub(crate) ca_file: Text,
    /// The certificate that is shown to it.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) cert_file: Option<Text>,
    /// Its key.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String")]
    pub(crate) key_file: Option<Text>,
}

impl Check<'_> {
    /// The section about imported rules.
    pub(super) fn rls(&mut self, raw: RawRls, settings: &mut RlsSettings) {
        if let Some(text) = raw.coordination {
            let read = coordination(&text.value);
            let read = read.map_err(|what| Problem::new(ErrorKind::Conflict, text.place, what));
            settings.coordination = self.problems.keep(read);
        }
        for (text, name, into) in [
            (raw.shadow, "shadow", &mut settings.shadow),
            (raw.quota, "quota", &mut settings.quota),
            (raw.metadata, "metadata", &mut settings.metadata),
        ] {
            if let Some(text) = text {
                *into = self.problems.keep(switch(&text, name)).unwrap_or_default();
            }
        }
        if let Some(percent) = self.number(raw.near_limit.as_ref(), "near_limit", (1, 100)) {
            settings.near_limit = percent;
        }
        settings.xds = raw.xds.and_then(|raw| self.xds(&raw));
    }

    fn xds(&mut self, raw: &RawXds) -> Option<ClientTls> {
        Some(ClientTls {
            certificate: self.identity(raw.cert_file.as_ref(), raw.key_file.as_ref()),
            authority: self.usable(Some(&raw.ca_file), certificates)?,
        })
    }
}

/// A way for nodes to agree about imported rules: fixed windows that also count what they refuse.
pub(super) fn coordination(name: &str) -> Result<Coordination, String> {
    let found = Coordination::ALL.into_iter().find(|one| one.name() == name);
    let may = FIT.map(|one| format!("`{}`", one.name())).join(", ");
    match found {
        Some(fit) if FIT.contains(&fit) => Ok(fit),
        Some(_) => Err(format!(
            "imported rules are fixed windows that count refused requests too, which nodes cannot under `coordination: {name}`; use one of {may}"
        )),
        None => Err(format!(
            "unknown coordination {}; imported rules may have {may}",
            quote(name)
        )),
    }
}

/// What goes with fixed windows that count refused requests.
const FIT: [Coordination; 4] = [
    Coordination::Local,
    Coordination::Owner,
    Coordination::Store,
    Coordination::Gossip,
];
