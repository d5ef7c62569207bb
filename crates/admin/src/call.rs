//! One request at the desk: who asks, what for, and what it is asked of.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use serde::Deserialize;
use tollgate_catalogue::{Kind, REASON_BYTES_MAX};
use tollgate_catalogue_sql::{AuditEntry, Database};
use tollgate_serve::shared::Shared;

use crate::access::{Caller, ClientOrigin};
use crate::admin::Office;
use crate::body;
use crate::fault::Fault;
use crate::query::Query;

/// One request.
pub(crate) struct Call {
    pub(crate) office: Arc<Office>,
    /// The server.
    pub(crate) shared: Arc<Shared>,
    pub(crate) caller: Caller,
    /// What the route is about, where that is a kind of thing.
    pub(crate) kind: Kind,
    /// What stands in the path where the route has a name in braces.
    pub(crate) names: Vec<String>,
    pub(crate) query: Query,
    pub(crate) request: Request<Bytes>,
    pub(crate) client: ClientOrigin,
}

impl Call {
    /// What stands in the path at the first name in braces.
    pub(crate) fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// Reads the body as JSON.
    pub(crate) fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Fault> {
        body::json(self.request.headers(), self.request.body())
    }

    /// The database, where there is one that takes changes.
    pub(crate) fn database(&self) -> Result<&Database, Fault> {
        self.office.books.database()
    }

    /// Why something is changed: the parameter `reason`, or else the header field.
    pub(crate) fn reason(&self) -> Result<String, Fault> {
        let told = self.query.text("reason")?.map(str::to_owned);
        let reason = match told {
            Some(reason) => reason,
            None => match self.request.headers().get("tollgate-reason") {
                None => String::new(),
                Some(line) => {
                    let text = std::str::from_utf8(line.as_bytes());
                    text.map_err(|_| Fault::malformed("the reason is not UTF-8"))?
                        .to_owned()
                }
            },
        };
        checked(reason)
    }

    /// Where the request comes from, for the audit.
    pub(crate) fn origin(&self) -> String {
        self.client.to_string()
    }

    /// Writes down what was tried.
    ///
    /// What was done stays done where that fails, so that the answer is the truth; the log has it then.
    pub(crate) async fn audit(&self, what: &str, object: &str, outcome: &str) {
        let who = &*self.caller.name;
        tracing::info!(who, what, object, outcome, "management");
        let Ok(database) = self.database() else {
            return;
        };
        let entry = AuditEntry {
            who: who.to_owned(),
            origin: self.origin(),
            what: what.to_owned(),
            object: object.to_owned(),
            outcome: outcome.to_owned(),
            ..AuditEntry::default()
        };
        if let Err(error) = database.audit(&entry).await {
            tracing::warn!(%error, "the audit could not be written");
        }
    }
}

/// A reason that can be kept.
pub(crate) fn checked(reason: String) -> Result<String, Fault> {
    if reason.len() > REASON_BYTES_MAX || reason.contains('\0') {
        let what = format!("a reason has at most {REASON_BYTES_MAX} bytes, and no NUL");
        return Err(Fault::malformed(what));
    }
    Ok(reason)
}
