//! One request to the API: caller, route, parameters and body.

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

pub(crate) struct Call {
    pub(crate) office: Arc<Office>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) caller: Caller,
    /// The kind of object that the route is about; of no meaning for other routes.
    pub(crate) kind: Kind,
    /// The parts of the path at the route's names in braces.
    pub(crate) names: Vec<String>,
    pub(crate) query: Query,
    pub(crate) request: Request<Bytes>,
    pub(crate) client: ClientOrigin,
}

impl Call {
    /// The part of the path at the first name in braces.
    pub(crate) fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    pub(crate) fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Fault> {
        body::json(self.request.headers(), self.request.body())
    }

    /// The database, or why changes are not possible.
    pub(crate) fn database(&self) -> Result<&Database, Fault> {
        self.office.books.database()
    }

    /// The parameter `reason`, or else the header field.
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

    pub(crate) fn origin(&self) -> String {
        self.client.to_string()
    }

    /// Audits an attempt.
    ///
    /// If this fails the change stays, so that the answer is true; the log has the entry instead.
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

/// A reason that can be stored.
pub(crate) fn checked(reason: String) -> Result<String, Fault> {
    if reason.len() > REASON_BYTES_MAX || reason.contains('\0') {
        let what = format!("a reason has at most {REASON_BYTES_MAX} bytes, and no NUL");
        return Err(Fault::malformed(what));
    }
    Ok(reason)
}
