//! Contracts as this server counts them: read, and divided among the nodes of its roster.

use tollgate_contract::Contracts;
use tollgate_node::{Roster, countable};

use super::StartError;
use crate::modes::view::ByOwnerView;
use crate::settings::Settings;
use crate::source::SourceError;
use crate::supply;

/// Contracts, and the policies too small to be divided.
pub type LoadedContracts = (Contracts, Vec<ByOwnerView>);

/// The contracts of the settings, adapted to a server with these settings.
pub fn contracts(settings: &Settings) -> Result<LoadedContracts, StartError> {
    as_counted(settings, settings.contracts.read()?)
}

/// These contracts, adapted to a server with these settings.
pub(super) fn as_counted(
    settings: &Settings,
    contracts: Contracts,
) -> Result<LoadedContracts, StartError> {
    settings.check_rls().map_err(SourceError::Wrong)?;
    let contracts = imported(settings, contracts);
    let cluster = settings.cluster.as_ref();
    let roster = cluster.and_then(|cluster| cluster.roster.as_ref());
    let divided = check_ledgers(settings, &contracts)
        .and_then(|()| divided(contracts, roster, cluster.is_none()));
    divided.map_err(|what| SourceError::Wrong(what).into())
}

/// Sets the coordination of imported rules as the settings say.
pub(super) fn imported(settings: &Settings, mut contracts: Contracts) -> Contracts {
    contracts.coordinate_imported(settings.rls_coordination());
    contracts
}

/// Refuses contracts whose ledgers are in a store if none is configured. A sidecar's nodes have one.
pub(super) fn check_ledgers(settings: &Settings, contracts: &Contracts) -> Result<(), String> {
    let keeping = &settings.keeping;
    if keeping.store.is_some() || keeping.upstream.is_some() {
        return Ok(());
    }
    let mut each = contracts.as_slice().iter();
    match each.find(|contract| contract.is_in_ledger()) {
        None => Ok(()),
        Some(contract) => Err(format!(
            "contract `{}` says `recovery: ledger`, and there is no store to keep a ledger in; name one as `store: {{ url: … }}` in the \
             server's file or by --store, or leave `recovery` out",
            contract.id
        )),
    }
}

/// Adapts contracts to this roster; a server outside a cluster counts alone. The error names what cannot be counted so.
pub(super) fn divided(
    contracts: Contracts,
    roster: Option<&Roster>,
    is_alone: bool,
) -> Result<LoadedContracts, String> {
    countable(&contracts, is_alone).map_err(|error| error.to_string())?;
    if is_alone {
        return Ok((contracts, Vec::new()));
    }
    supply::divided(contracts, roster)
}
