//! Contracts as this server counts them: read, and divided among the nodes of its roster.

use tollgate_contract::Contracts;
use tollgate_node::Roster;

use super::StartError;
use crate::settings::Settings;
use crate::source::SourceError;
use crate::supply::{self, view::ByOwnerView};

/// Contracts, and the policies that are too small to be divided.
pub type Loaded = (Contracts, Vec<ByOwnerView>);

/// The contracts that settings name, as a server with these settings counts them.
pub fn contracts(settings: &Settings) -> Result<Loaded, StartError> {
    as_counted(settings, settings.contracts.read()?)
}

/// These contracts, as a server with these settings counts them.
pub(super) fn as_counted(settings: &Settings, contracts: Contracts) -> Result<Loaded, StartError> {
    let cluster = settings.cluster.as_ref();
    let roster = cluster.and_then(|cluster| cluster.roster.as_ref());
    let divided = divided(contracts, roster, cluster.is_none());
    divided.map_err(|what| SourceError::Wrong(what).into())
}

/// Contracts as they are counted: by a server that is in no cluster, all alone.
pub(super) fn divided(
    contracts: Contracts,
    roster: Option<&Roster>,
    is_alone: bool,
) -> Result<Loaded, String> {
    if is_alone {
        return Ok((contracts, Vec::new()));
    }
    supply::divided(contracts, roster)
}
