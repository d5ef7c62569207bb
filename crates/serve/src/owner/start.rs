//! How a server begins to take part in owning keys, or to ask its store.

use std::sync::Arc;

use tollgate_owner::OwnerKey;

use super::{Mover, Owner, OwnerSettings, Responder};
use crate::shared::Shared;
use crate::store::Store;

/// Lets a server ask its store, where it is in no cluster.
pub(crate) fn ask_store(shared: &Arc<Shared>, store: Arc<Store>) {
    let owner = Arc::new(Owner::alone().with_store(Some(store)));
    shared.engine.set_elsewhere(Arc::clone(&owner) as _);
    // Nobody else sets it.
    let _ = shared.owner.set(owner);
}

/// Lets a server take part in owning keys, with the cluster it is in; nothing where it is in none.
pub(crate) fn start(
    shared: &Arc<Shared>,
    key: OwnerKey,
    settings: OwnerSettings,
    store: Option<Arc<Store>>,
) -> std::io::Result<Option<Mover>> {
    let Some(handle) = shared.cluster.get() else {
        return Ok(None);
    };
    let owner = Owner::new(key, settings, Arc::new(handle.clone()))
        .with_store(store)
        .arriving(shared.state.arrival());
    let owner = Arc::new(owner);
    shared.engine.set_elsewhere(Arc::clone(&owner) as _);
    handle.set_responder(Box::new(Responder::new(&owner, shared)));
    let mover = Mover::start(Arc::clone(&owner), shared, handle.changes())?;
    // Nobody else sets it.
    let _ = shared.owner.set(owner);
    Ok(Some(mover))
}
