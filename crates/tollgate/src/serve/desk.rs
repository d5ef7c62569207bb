//! The management API beside the server, and the first token for whoever runs it.

use std::io::Write;
use std::sync::Arc;

use tollgate_admin::{Admin, AdminConfig};
use tollgate_serve::desk::AdminApi;
use tollgate_serve::run::StartError;
use tollgate_serve::shared::Shared;

/// Sets the desk up; a sidecar has nothing to manage.
pub(crate) fn open(shared: &Arc<Shared>) -> Result<Option<Arc<dyn AdminApi>>, StartError> {
    if shared.settings.keeping.upstream.is_some() {
        return Ok(None);
    }
    let preset = std::env::var(PRESET).ok();
    let config = AdminConfig {
        preset: preset.filter(|secret| !secret.is_empty()),
        tell: Box::new(tell),
    };
    let admin = Admin::open(shared, config).map_err(StartError::System)?;
    Ok(Some(Arc::new(admin)))
}

/// Tells the secret once; it is kept nowhere.
fn tell(secret: &str) {
    // Where standard error is gone there is nobody to tell; another token can be preset.
    let _ = writeln!(
        std::io::stderr(),
        "\nThe first management token, shown this once (role admin):\n\n    {secret}\n\nUse it as {PRESET}, or to log in. Make others with `tollgate token create`.\n"
    );
}

const PRESET: &str = "TOLLGATE_ADMIN_TOKEN";
