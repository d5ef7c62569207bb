//! Identities: links by which customers see their own limits.

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use tollgate_catalogue::{Identity, NAME_BYTES_MAX};

use crate::access::links;
use crate::answer::Reply;
use crate::call::Call;
use crate::fault::Fault;
use crate::time::{self, SECOND_NS};

/// `POST /identities/{identity}/link`.
pub(crate) async fn link(call: &Call) -> Result<Reply, Fault> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        days: Option<u64>,
    }
    let Body { days } = call.json()?;
    let days = days.unwrap_or(DAYS_DEFAULT);
    if !(1..=DAYS_MAX).contains(&days) {
        return Err(Fault::invalid(format!("a link lasts 1 to {DAYS_MAX} days")));
    }
    let name = call.name();
    if name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(Fault::invalid(
            "no identity is as long, or has a control character",
        ));
    }
    let identity = Identity::parse(name).map_err(Fault::invalid)?;
    let expires = time::now_ns().saturating_add(days * 86_400 * SECOND_NS);
    let signed = links::make(&call.office.access.seal, &identity, expires)?;
    call.audit("make link", name, &format!("{days} days")).await;
    let told = json!({ "identity": identity.to_string(), "path": format!("/my/{signed}"), "expires": time::told(expires) });
    Ok(Reply::json(&told).with(StatusCode::CREATED))
}

const DAYS_DEFAULT: u64 = 30;
const DAYS_MAX: u64 = 366;
