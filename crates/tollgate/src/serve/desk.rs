//! The admin API of the server, and the operator's first token.

use std::io::Write;
use std::sync::Arc;

use tollgate_admin::{Admin, AdminConfig};
use tollgate_serve::desk::AdminApi;
use tollgate_serve::run::StartError;
use tollgate_serve::shared::Shared;

/// Sets up the admin API; a sidecar has nothing to manage.
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

/// Prints the secret once; it is not stored.
fn tell(secret: &str) {
    // If standard error is closed the token is lost; another one can be preset.
    let _ = writeln!(
        std::io::stderr(),
        "\nThe first management token, shown this once (role admin):\n\n    {secret}\n\nUse it as {PRESET}, or to log in. Make others with `tollgate token create`.\n"
    );
}

const PRESET: &str = "TOLLGATE_ADMIN_TOKEN";
