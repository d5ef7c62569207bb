//! State of the caller, the server and the cluster, and the audit.

use serde::Serialize;
use serde_json::json;
use tollgate_catalogue_sql::AuditEntry;
use tollgate_serve::cluster;

use crate::access::sessions;
use crate::admin::Books;
use crate::answer::Reply;
use crate::call::Call;
use crate::fault::Fault;
use crate::page::{self, AFTER};
use crate::time;

/// `GET /whoami`.
pub(crate) fn whoami(call: &Call) -> Result<Reply, Fault> {
    let caller = &call.caller;
    let csrf = match &caller.session {
        Some(session) => Some(sessions::csrf(&call.office, session)?),
        None => None,
    };
    Ok(Reply::json(
        &json!({ "name": caller.name, "role": caller.role, "token": caller.token, "csrf": csrf }),
    ))
}

/// `GET /status`: where contracts come from, and the state of the server.
pub(crate) fn status(call: &Call) -> Reply {
    let state = &call.shared.state;
    let live = call.shared.catalogue();
    let catalogue = match &call.office.books {
        Books::Database(_) => json!({
            "source": "database",
            "read_only": false,
            "revision": live.snapshot().revision,
            "stale_ms": u64::try_from(live.staleness().as_millis()).unwrap_or(u64::MAX),
            "trouble": live.trouble(),
        }),
        Books::File(path) => {
            let path = path.as_ref().map(|path| path.display().to_string());
            let source = if path.is_some() { "file" } else { "none" };
            json!({ "source": source, "read_only": true, "file": path })
        }
    };
    Reply::json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "at": time::told(time::now_ns()),
        "ready": state.is_ready(),
        "troubles": call.shared.troubles(),
        "contracts": call.shared.engine.node().contracts().as_slice().len(),
        "catalogue": catalogue,
        "unmatched": call.shared.engine.meter().unmatched(),
    }))
}

/// `GET /cluster`: members and traffic.
pub(crate) fn cluster(call: &Call) -> Reply {
    Reply::json(&cluster::view(&call.shared))
}

/// `GET /top`: current activity of this node.
pub(crate) fn top(call: &Call) -> Reply {
    let engine = &call.shared.engine;
    Reply::json(&engine.meter().top(engine))
}

/// `GET /audit`: attempts, newest first.
pub(crate) async fn audit(call: &Call) -> Result<Reply, Fault> {
    #[derive(Serialize)]
    struct Told {
        id: String,
        at: String,
        who: String,
        origin: String,
        what: String,
        object: String,
        outcome: String,
    }
    let tell = |entry: AuditEntry| Told {
        id: entry.id,
        at: time::told(entry.at_ns),
        who: entry.who,
        origin: entry.origin,
        what: entry.what,
        object: entry.object,
        outcome: entry.outcome,
    };
    let (limit, before) = (page::limit(&call.query)?, call.query.text(AFTER)?);
    let entries = call
        .database()?
        .audited(before.map(str::to_owned), limit)
        .await?;
    let told: Vec<Told> = entries.into_iter().map(tell).collect();
    Ok(page::page(&told, limit, |entry| entry.id.clone()))
}
