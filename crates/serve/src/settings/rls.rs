//! How imported rules of Envoy's rate limit service are counted among nodes and answered, and how their management
//! server is reached.
//!
//! Not here: what rules mean (`tollgate_contract::envoy`).

use tollgate_client::ClientTls;
use tollgate_contract::Coordination;
use tollgate_contract::file::quote;

use super::{ContractSource, Keeping, Settings};

/// How imported rules are counted and answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RlsSettings {
    /// How nodes agree about them; by default by owners in a cluster, and each alone otherwise.
    pub coordination: Option<Coordination>,
    /// Whether no request is refused as a whole, whatever its descriptors say.
    pub shadow: bool,
    /// Whether every rule is in quota mode.
    pub quota: bool,
    /// Whether answers have dynamic metadata.
    pub metadata: bool,
    /// The share of a limit from which hits count as near it, in percent.
    pub near_limit: u64,
    /// TLS to a management server at `xdss://`.
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
    pub fn rls_coordination(&self) -> Coordination {
        let by_place = if self.cluster.is_some() {
            Coordination::Owner
        } else {
            Coordination::Local
        };
        self.keeping.rls.coordination.unwrap_or(by_place)
    }

    /// Checks that the settings of imported rules fit together.
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

    /// A warning if a contract file's rule for unmatched keys is lost in the catalogue and the settings differ.
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

    /// A warning if rules that nodes should agree about are counted by each node alone; `is_imported` if there are such
    /// rules.
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

/// A coordination fit for imported rules: fixed windows that also count what they refuse.
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

/// Coordinations that support fixed windows which count refused requests.
const FIT: [Coordination; 4] = [
    Coordination::Local,
    Coordination::Owner,
    Coordination::Store,
    Coordination::Gossip,
];
