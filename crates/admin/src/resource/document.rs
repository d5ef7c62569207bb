//! The description of the interface, for programs and people.

use http::Method;

use crate::answer::{JSON, Reply};
use crate::fault::Fault;

/// `GET /openapi.json`: the only route without a token.
pub(crate) fn openapi(method: &Method) -> Result<Reply, Fault> {
    if *method != Method::GET && *method != Method::HEAD {
        return Err(Fault::wrong_method("GET"));
    }
    Ok(Reply::text(JSON, OPENAPI))
}

const OPENAPI: &str = include_str!("../../../../docs/admin-openapi.json");
