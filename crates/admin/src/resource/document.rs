//! The description of the interface, for programs and people.

use http::Method;

use crate::answer::{Answer, JSON};
use crate::fault::Fault;

/// `GET /openapi.json`: the one thing that needs no token.
pub(crate) fn openapi(method: &Method) -> Result<Answer, Fault> {
    if *method != Method::GET && *method != Method::HEAD {
        return Err(Fault::wrong_method("GET"));
    }
    Ok(Answer::text(JSON, OPENAPI))
}

const OPENAPI: &str = include_str!("../../../../docs/admin-openapi.json");
